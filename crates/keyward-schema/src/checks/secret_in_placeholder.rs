//! KW0109: a secret stands in a key's name.

use crate::derived::Derived;
use crate::diagnostic::{Level, Report, Rule};
use crate::read::KeyDraft;
use crate::schema::Key;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0109",
    level: Level::Warning,
    title: "a secret stands in a key's name",
    why: "
Names of keys appear in logs, in SCAN and MONITOR, in the slow log and on
dashboards. A password, a token or an API key in a name is seen by everybody
who sees those. Use a hash of it in the name, or say why it may stand there.
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

pub(crate) fn check(drafts: &[KeyDraft<'_>], keys: &[Option<Key>], report: &mut Report) {
    for (draft, key) in drafts.iter().zip(keys) {
        let Some(pattern) = &draft.pattern else { continue };
        let indexed = key.as_ref().and_then(|key| indexed_secret(key, drafts));
        for (index, placeholder) in pattern.placeholders().iter().enumerate() {
            let by_name = SECRET_NAMES.contains(&&*placeholder.name.to_ascii_lowercase());
            let by_field = indexed.is_some_and(|(slot, _)| slot == index);
            if !by_name && !by_field {
                continue;
            }
            let name = &placeholder.name;
            let found = RULE
                .at(draft.at, format!("`{{{name}}}` is readable by all who see key names"))
                .help(format!(
                    "use a hash: {{{name}_hash:hex}}; or allow = [\"{}: the reason\"]",
                    RULE.code
                ));
            report.push(match indexed {
                Some((_, at)) if by_field => found.see(at, "declared secret here"),
                _ => found,
            });
        }
    }
}

/// The placeholder of a lookup that holds a secret field, and that field's place.
fn indexed_secret(key: &Key, drafts: &[KeyDraft<'_>]) -> Option<(usize, Span)> {
    let Some(Derived::Lookup { of, field: Some(field), slot }) = &key.derived else { return None };
    let field = drafts[of.key.index()].object()?.fields.get(*field)?;
    field.shape.secret.then_some((*slot, field.at))
}
