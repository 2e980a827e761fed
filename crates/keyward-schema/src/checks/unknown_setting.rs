//! KW0004: there is no such setting.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::schema::DataType;
use crate::settings::{Scope, Setting, settings_of};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0004",
    level: Level::Error,
    title: "there is no such setting",
    why: "
Each table of a schema knows its settings. One that does not exist would be
ignored silently, and what it was to say would not hold.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
maxlen = 20
"#,
    right: r#"
[keyspace]
name = "shop"

[key."recent:{user}"]
type = "list"
ttl = "7d"
max_len = 20
"#,
};

/// What settings are called elsewhere, as the scope has them.
const OTHER_NAMES: &[(&[&str], &str)] = &[
    (&["expire", "expires", "expiry", "expiration", "lifetime", "timeout", "max_age"], "ttl"),
    (&["description", "desc", "comment", "summary", "title", "help"], "doc"),
    (&["maxlength", "max_length", "length"], "max_len"),
    (&["maxlength", "max_length", "max_len", "length", "size"], "len"),
    (&["maxmemory", "memory"], "max_memory"),
    (&["database"], "db"),
    (&["eviction", "policy", "maxmemory_policy"], "evict"),
    (&["persistence", "durability"], "persist"),
    (&["minimum", "gte"], "min"),
    (&["maximum", "lte"], "max"),
    (&["format", "kind"], "type"),
    (&["arguments", "params", "parameters", "argv"], "args"),
    (&["returns", "return", "result"], "reply"),
    (&["readonly"], "read_only"),
    (&["properties", "columns", "schema", "attributes"], "fields"),
    (&["additional", "additional_properties", "additionalproperties"], "extra"),
    (&["team", "maintainer"], "owner"),
    (&["examples", "sample"], "example"),
    (&["from", "source"], "of"),
];

/// What the scope calls a setting that has this name elsewhere.
pub(crate) fn known_elsewhere(scope: Scope, name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let is_of_scope = |ours: &str| settings_of(scope).any(|setting| setting.name == ours);
    OTHER_NAMES
        .iter()
        .find(|(others, ours)| others.contains(&&*name) && is_of_scope(ours))
        .map(|(_, ours)| *ours)
}

/// What other languages say of a field that may be left out.
pub(crate) const OPTIONAL: [&str; 4] = ["default", "required", "optional", "nullable"];

/// How a field is told what one of `OPTIONAL` says elsewhere.
pub(crate) fn help_optional(scope: Scope, name: &str) -> Option<String> {
    let is_said = scope == Scope::Shape && OPTIONAL.contains(&name);
    is_said.then(|| {
        "a field is there always, or has a `?` behind its type: type = \"string?\"; the server fills in no defaults".to_owned()
    })
}

/// What other languages call the words that a value is one of.
pub(crate) const WORDS: [&str; 7] =
    ["values", "enum", "choices", "one_of", "oneof", "allowed", "options"];
/// What they call a form that a text must have.
const FORMS: [&str; 4] = ["regex", "regexp", "pattern", "matches"];
/// What they call a value that one row has at most.
pub(crate) const UNIQUE: [&str; 3] = ["unique", "index", "indexed"];

/// How a field is told what other languages have a setting for, and this one has not.
fn help_foreign(scope: Scope, name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_of = |names: &[&str]| scope == Scope::Shape && names.contains(&&*name);
    if is_of(&WORDS) {
        return Some("the words are the type: type = \"new | paid\"");
    }
    if is_of(&FORMS) {
        return Some(
            "there are no regular expressions: type = \"text(a-z0-9, 32)\" has an alphabet and a \
             length, prefix = \"a\" a beginning",
        );
    }
    is_of(&UNIQUE).then_some(
        "a lookup keeps a value unique and finds it: [key.\"user:by_email:{email}\"] with lookup \
         = { of = \"user:{id}\", field = \"email\" }",
    )
}

/// A setting that is not there, of a key of this type if that is known: others than it takes are
/// not offered.
pub(crate) fn found(scope: Scope, name: &str, at: Span, data: Option<DataType>) -> Diagnostic {
    let takes = |setting: &&Setting| {
        setting.types.is_empty() || data.is_none_or(|data| setting.types.contains(&data))
    };
    let names = || settings_of(scope).filter(takes).map(|setting| setting.name);
    let known = known_elsewhere(scope, name).filter(|ours| names().any(|name| name == *ours));
    let help = match known.or_else(|| nearest(name, names())) {
        _ if let Some(help) = help_optional(scope, name) => help,
        _ if let Some(help) = help_foreign(scope, name) => help.to_owned(),
        Some(near) => format!("write `{near}`"),
        None => {
            let of = match data {
                Some(data) => format!("{} of type \"{}\"", scope.name(), data.name()),
                None => scope.name().to_owned(),
            };
            let names = names().collect::<Vec<&str>>().join(", ");
            let object = match scope {
                Scope::Shape => "; an object with a field `type` is { fields = { type = … } }",
                _ => "",
            };
            format!("the settings of {of} are {names}{object}")
        }
    };
    RULE.at(at, "unknown").saying(format!("{} has no setting `{name}`", scope.name())).help(help)
}

#[cfg(test)]
mod tests {
    use super::OTHER_NAMES;
    use crate::checks::testing::{check, check as check_line, check_help, check_whole_file};
    use crate::settings::{SETTINGS, Scope, Setting};

    #[test]
    fn a_setting_of_another_name_is_offered() {
        let check = |wrong: &str, name: &str, right: &str| {
            let schema = format!("[key.\"a:{{x}}\"]\ntype = \"list\"\n{wrong}\n");
            check_help(&schema, name, right);
        };
        check("max_len = 9\nexpire = \"1h\"", "expire", "ttl");
        check("max_len = 9\ndescription = \"x\"", "description", "doc");
        check("ttl = \"1h\"\nmaxlength = 9", "maxlength", "max_len");
        check_whole_file(
            "[keyspace]\nname = \"x\"\ndatabase = 3\n[key.\"a\"]\ntype = \"hash\"\n",
            "KW0004 3:1 [keyspace] has no setting `database` [unknown] | help: write `db`",
        );
    }

    #[test]
    fn a_field_s_settings_of_other_languages() {
        let check = |wrong: &str, right: &str| {
            let schema = format!(
                "[key.\"a:{{x}}\"]\ntype = \"hash\"\nfields = {{ f = {{ type = \"string\", {wrong} }} }}\n"
            );
            check_help(&schema, wrong.split(' ').next().expect("a name"), right);
        };
        check("max_len = 80", "len");
        check("maxLength = \"..80\"", "len");
        check("description = \"What it is.\"", "doc");
        for (wrong, found) in [
            ("default = 0", "KW0005 3:35 `default` is a setting of ttl [not in a field]"),
            ("required = false", "KW0004 3:35 a field has no setting `required` [unknown]"),
        ] {
            let schema = format!(
                "[key.\"a:{{x}}\"]\ntype = \"hash\"\nfields = {{ f = {{ type = \"string\", {wrong} }} }}\n"
            );
            check_line(
                &schema,
                &format!(
                    "{found} | help: a field is there always, or has a `?` behind its type: type = \"string?\"; the server fills in no defaults"
                ),
            );
        }
    }

    /// The table was taken for an object, and every write refused because its value is no JSON.
    #[test]
    fn a_field_s_table_with_a_setting_of_other_languages_is_no_object() {
        let file = |field: &str| {
            format!(
                "[key.\"a:{{x}}\"]\ntype = \"hash\"\nttl = \"1h\"\nfields = {{ f = {field} }}\n"
            )
        };
        let check = |field: &str, name: &str, help: &str| {
            let column = file(field).lines().last().expect("a line").find(name).expect("it") + 1;
            let found = format!("KW0004 4:{column} a field has no setting `{name}` [unknown]");
            check_line(&file(field), &format!("{found} | help: {help}"));
        };
        let words = "the words are the type: type = \"new | paid\"";
        let forms = "there are no regular expressions: type = \"text(a-z0-9, 32)\" has an alphabet and a length, prefix = \"a\" a beginning";
        check("{ type = \"string\", values = \"new | paid\" }", "values", words);
        check("{ type = \"string\", enum = [\"new\", \"paid\"] }", "enum", words);
        check("{ type = \"string\", format = \"date\" }", "format", "write `type`");
        check("{ type = \"string?\", regex = \"^a\" }", "regex", forms);
        check(
            "{ type = \"decimal(2)\", currency = \"EUR!\" }",
            "currency",
            "the settings of a field are type, fields, extra, min, max, len, prefix, same, check, secret, personal, doc; an object with a field `type` is { fields = { type = … } }",
        );
        let unique = "a lookup keeps a value unique and finds it: [key.\"user:by_email:{email}\"] with lookup = { of = \"user:{id}\", field = \"email\" }";
        check("{ type = \"uint\", unique = \"bool\" }", "unique", unique);
        check("{ type = \"uint\", max = 9, unique = \"bool\" }", "unique", unique);
        // Objects that have a field `type`.
        for object in [
            "{ type = \"string\", size = \"uint\" }",
            "{ type = \"string\", title = \"string\", format = \"string\" }",
            "{ type = \"card | iban\", number = \"string\" }",
            "{ type = \"string\", values = \"string[]\" }",
            "{ fields = { type = \"string\", values = \"new | paid\" } }",
            "{ type = \"string\", at = { city = \"string\" } }",
        ] {
            check_line(&file(object), "");
        }
    }

    #[test]
    fn every_other_name_leads_to_a_setting() {
        for (others, ours) in OTHER_NAMES {
            assert!(SETTINGS.iter().any(|setting| setting.name == *ours), "{ours}");
            for other in *others {
                let clash =
                    |setting: &&Setting| setting.name == *other && setting.scope == Scope::Key;
                let is_named = SETTINGS.iter().filter(clash).count() > 0;
                assert!(!is_named || *ours == "len", "{other} is a setting of keys");
            }
        }
    }

    #[test]
    fn the_nearest_setting_is_offered() {
        check_help(
            r#"
[key."a:{x}"]
type = "list"
ttl = "7d"
maxlen = 20
"#,
            "maxlen",
            "max_len",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
colour = "red"
"#,
            r#"KW0004 3:1 [key."…"] has no setting `colour` [unknown] | help: the settings of [key."…"] of type "hash" are doc, group, owner, readers, writers, amend, type, fields, extra, check, ttl, compress, evict, expect, secret, personal, mode, max_fanout, sink, example, alert, allow"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { aftr = "1h", after = "1h" }
"#,
            "KW0004 3:9 ttl has no setting `aftr` [unknown] | help: write `after`",
        );
    }

    #[test]
    fn a_setting_that_the_type_does_not_take_is_not_offered() {
        check(
            r#"
[key."a:{x}"]
type = "set"
ttl = "1d"
member = { of = "b:{id}" }
"#,
            r#"KW0004 4:1 [key."…"] has no setting `member` [unknown] | help: write `members`"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "zset"
ttl = "1d"
member = { of = "b:{id}" }
"#,
            r#"KW0004 4:1 [key."…"] has no setting `member` [unknown] | help: the settings of [key."…"] of type "zset" are doc, group, owner, readers, writers, amend, type, items, score, ttl, max_members, evict, expect, secret, personal, mode, rank, follows, max_fanout, sink, example, alert, allow"#,
        );
    }

    #[test]
    fn settings_of_the_file_and_the_keyspace_are_offered() {
        check_whole_file(
            r#"
[keyspace]
nmae = "x"
name = "x"
[key."a"]
type = "hash"
[keey."b"]
type = "hash"
"#,
            r#"
KW0004 2:1 [keyspace] has no setting `nmae` [unknown] | help: write `name`
KW0004 6:2 the file has no setting `keey` [unknown] | help: write `key`
"#,
        );
    }
}
