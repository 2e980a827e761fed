//! KW0109: a secret stands in a key's name.

use toml::de::DeValue;

use super::warnings::Warnings;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Placeholder;
use crate::read::KeyDraft;
use crate::read::secrets::filled_from_values;
use crate::schema::{Content, Key};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0109",
    level: Level::Warning,
    title: "a secret stands in a key's name",
    why: "
Names of keys appear in SCAN, in notifications and in backups, and unless the
schema says otherwise in logs, MONITOR and the slow log. A password, a token or
an API key in a name is seen by everybody who sees those. Use a hash of it in
the name; or name the placeholder in `secret`, which keeps it out of logs,
refusals, MONITOR and the slow log, if it may be seen by whoever lists keys.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."reset:{token}"]
type = "string"
ttl = "1h"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."reset:{token_hash:hex}"]
type = "string"
ttl = "1h"
"#,
};

/// Names that speak of secrets.
const SECRET_NAMES: [&str; 16] = [
    "access_token",
    "api_key",
    "apikey",
    "auth_token",
    "bearer",
    "credential",
    "otp",
    "passphrase",
    "password",
    "pin",
    "private_key",
    "refresh_token",
    "secret",
    "session_token",
    "token",
    "api_token",
];

pub(crate) fn check(drafts: &[KeyDraft<'_>], keys: &[Option<Key>], warnings: &mut Warnings<'_>) {
    for (owner, (draft, key)) in drafts.iter().zip(keys).enumerate() {
        let Some(pattern) = &draft.pattern else { continue };
        let secrets = key.as_ref().map(|key| secret_slots(key, drafts, keys)).unwrap_or_default();
        for (index, placeholder) in pattern.placeholders().iter().enumerate() {
            let by_name = SECRET_NAMES.contains(&&*placeholder.name.to_ascii_lowercase());
            let by_field = secrets.iter().find(|(slot, _)| *slot == index);
            if (by_name || by_field.is_some()) && !is_named(draft, &placeholder.name) {
                let declared_at = by_field.map(|(_, at)| *at);
                warnings.push_with(owner, &RULE, || found(placeholder, draft.at, declared_at));
            }
        }
    }
}

/// Whether the key's `secret` names a placeholder: then it is known that it stands there.
fn is_named(draft: &KeyDraft<'_>, name: &str) -> bool {
    let named = draft.table.entry("secret").map(|entry| entry.value.get_ref());
    let Some(DeValue::Array(named)) = named else { return false };
    named.iter().any(|item| matches!(item.get_ref(), DeValue::String(text) if *text == name))
}

fn found(placeholder: &Placeholder, at: Span, declared_at: Option<Span>) -> Diagnostic {
    let name = &placeholder.name;
    let found = RULE
        .at(at, format!("`{{{name}}}` is readable by all who see key names"))
        .help(format!("use a hash: {{{name}_hash:hex}}; or secret = [\"{name}\"]"));
    match declared_at {
        Some(at) => found.see(at, "declared secret here"),
        None => found,
    }
}

/// The placeholders of a derived key that hold a secret of its source, and
/// where that is declared secret.
fn secret_slots(key: &Key, drafts: &[KeyDraft<'_>], keys: &[Option<Key>]) -> Vec<(usize, Span)> {
    let source = key.derived.iter().map(|derived| derived.source().key.index()).next();
    let Some((draft, Some(source))) = source.map(|index| (&drafts[index], &keys[index])) else {
        return Vec::new();
    };
    let secret_at = |field: Option<usize>| match (field, &source.content) {
        (Some(field), content) => {
            let field = content.object()?.fields.get(field)?;
            field.shape.secret.then_some(field.at)
        }
        (None, Content::Value(shape)) => shape.secret.then_some(draft.at),
        _ => None,
    };
    let slots = filled_from_values(key);
    slots.iter().filter_map(|&(slot, field)| Some((slot, secret_at(field)?))).collect()
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn names_that_speak_of_secrets() {
        check(
            r#"
[key."login:{token}"]
type = "hash"
"#,
            r#"KW0109 1:6 a secret stands in a key's name [`{token}` is readable by all who see key names] | help: use a hash: {token_hash:hex}; or secret = ["token"]"#,
        );
        check(
            r#"
[key."login:{API_KEY:hex}"]
type = "hash"
"#,
            r#"KW0109 1:6 a secret stands in a key's name [`{API_KEY}` is readable by all who see key names] | help: use a hash: {API_KEY_hash:hex}; or secret = ["API_KEY"]"#,
        );
        check(
            r#"
[key."login:{token_address}"]
type = "hash"
[key."b:{token_hash:hex}"]
type = "hash"
"#,
            "",
        );
        check(
            r#"
[key."login:{token}"]
type = "hash"
allow = ["KW0109: it lives a minute"]
"#,
            "",
        );
    }

    #[test]
    fn a_placeholder_that_is_named_in_secret_is_known_to_stand_there() {
        let of = |secret: &str| {
            format!("[key.\"reset:{{token}}\"]\ntype = 'string'\nttl = '1h'\nsecret = {secret}")
        };
        check(&of("['token']"), "");
        check(
            &of("true"),
            r#"KW0109 1:6 a secret stands in a key's name [`{token}` is readable by all who see key names] | help: use a hash: {token_hash:hex}; or secret = ["token"]"#,
        );
    }

    #[test]
    fn a_secret_of_the_source_in_a_derived_key() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { code = { type = "str", secret = true } }
[key."by:{c}"]
type = "string"
lookup = { of = "u:{id}", field = "code" }
"#,
            r#"KW0109 4:6 a secret stands in a key's name [`{c}` is readable by all who see key names] | see 3:12 declared secret here | help: use a hash: {c_hash:hex}; or secret = ["c"]"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { code = { type = "str", secret = true } }
[key."by:{code}"]
type = "set"
members = { of = "u:{id}" }
"#,
            r#"KW0109 4:6 a secret stands in a key's name [`{code}` is readable by all who see key names] | see 3:12 declared secret here | help: use a hash: {code_hash:hex}; or secret = ["code"]"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "string"
value = "str"
secret = true
[key."by:{v}"]
type = "string"
lookup = { of = "u:{id}" }
"#,
            r#"KW0109 5:6 a secret stands in a key's name [`{v}` is readable by all who see key names] | see 1:6 declared secret here | help: use a hash: {v_hash:hex}; or secret = ["v"]"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { code = "str", pin = { type = "str", secret = true } }
[key."by:{c}"]
type = "string"
lookup = { of = "u:{id}", field = "code" }
"#,
            "",
        );
    }
}
