//! KW0702: the example does not fit the shape.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::Misfit;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0702",
    level: Level::Error,
    title: "the example does not fit the shape",
    why: "
Examples are shown in documents and used in tests, so they must be true.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "json"
example = { key = "user:42", value = '{"name": 7}' }
[key."user:{id:uint}".fields]
name = "string"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "json"
example = { key = "user:42", value = '{"name": "Ann"}' }
[key."user:{id:uint}".fields]
name = "string"
"#,
};

pub(crate) fn found(misfit: &Misfit, at: Span) -> Diagnostic {
    RULE.at(at, "does not fit").saying(format!("in the example, {misfit}"))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn an_example_fits_its_shape() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
example = { key = "u:1", value = { e = "x", n = -1, s = "on" } }
"#,
            r#"KW0702 4:34 in the example, n must be a whole number not below zero, not "-1" [does not fit]"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
example = { key = "u:1", value = { e = "x", s = "on" } }
"#,
            "KW0702 4:34 in the example, the value lacks the required field n [does not fit]",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
example = { key = "u:1", value = "x" }
"#,
            "KW0006 4:34 `value` wants a table of fields [this is a text]",
        );
        check(
            r#"
[key."z"]
type = "zset"
ttl = "1h"
example = { key = "z", value = { a = "abc" } }
"#,
            "KW0702 4:32 in the example, the value is not a valid float [does not fit]",
        );
        check(
            r#"
[key."z"]
type = "zset"
ttl = "1h"
score = "decimal(2)"
example = { key = "z", value = { a = 1.255 } }
"#,
            r#"KW0702 5:32 in the example, the score must be a decimal number with at most 2 digits behind the point, not "1.255" [does not fit]"#,
        );
        check(
            r#"
[key."z"]
type = "zset"
ttl = "1h"
score = "decimal(2)"
example = { key = "z", value = { a = 1.25, b = 3 } }
"#,
            "",
        );
        check(
            r#"
[key."l"]
type = "list"
ttl = "1h"
items = "uint"
example = { key = "l", value = [1, "x"] }
"#,
            r#"KW0702 5:32 in the example, the value must be a whole number not below zero, not "x" [does not fit]"#,
        );
        check(
            r#"
[key."j"]
type = "json"
fields = { a = "int" }
example = { key = "j", value = "[1]" }
"#,
            "KW0702 4:32 in the example, the value must be a JSON object, not [1] [does not fit]",
        );
        check(
            r#"
[key."h"]
type = "hll"
example = { key = "h", value = "x" }
"#,
            "KW0006 3:32 `value` wants nothing: a key of this type has no example value [this is a text]",
        );
        check(
            r#"
[key."j"]
type = "json"
fields = { a = "int" }
example = { key = "j", value = """
{ "a": 1 }
""" }
"#,
            "",
        );
    }

    #[test]
    fn an_example_keeps_to_the_bounds_and_may_be_of_any_type() {
        let key = |settings: &str| format!("[key.\"k:{{id}}\"]\nttl = \"1h\"\n{settings}\n");
        check(
            &key("type = \"string\"\nmax_size = 2\nexample = { key = \"k:1\", value = \"abc\" }"),
            "KW0702 5:34 in the example, the value may hold at most 2 bytes (max_size), not 3 bytes [does not fit]",
        );
        check(
            &key("type = \"set\"\nmax_members = 1\nexample = { key = \"k:1\", value = [1, 2] }"),
            "KW0702 5:34 in the example, the value may have at most 1 members (max_members), not 2 [does not fit]",
        );
        check(
            &key(
                "type = \"zset\"\nmax_members = 1\nexample = { key = \"k:1\", value = { a = 1, b = 2 } }",
            ),
            "KW0702 5:34 in the example, the value has 2 elements, of which 1 are kept [does not fit]",
        );
        check(
            &key("type = \"list\"\nmax_len = 1\nexample = { key = \"k:1\", value = [1, 2] }"),
            "KW0702 5:34 in the example, the value has 2 elements, of which 1 are kept [does not fit]",
        );
        check(
            &key("type = \"set\"\nmax_members = 1\nexample = { key = \"k:1\", value = [1, 1] }"),
            "",
        );
        for value in ["\"x\"", "7", "[1, 2]", "{ a = 1 }"] {
            let example = format!("type = \"any\"\nexample = {{ key = \"k:1\", value = {value} }}");
            check(&key(&example), "");
        }
        let allowed =
            "type = \"stream\"\nmax_len = 9\nexample = { key = \"k:1\", value = { a = 1 } }";
        check(&key(allowed), "");
    }
}
