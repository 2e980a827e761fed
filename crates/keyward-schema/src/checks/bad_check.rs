//! KW0208: the check cannot be read, or compares what cannot be compared.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::Located;
use crate::shape::{Field, Object, Operator};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0208",
    level: Level::Error,
    title: "the check cannot be read, or compares what cannot be compared",
    why: "
`check` compares a field with another field of the same object, or with a number:
`registered <= capacity`, `amount > 0`. Numbers are compared with numbers, times
with times, days with days, months with months; of other texts it can only be
said whether they are the same (`=`, `!=`).
",
    wrong: r#"
[keyspace]
name = "shop"

[key."event:{id}"]
type = "hash"
check = ["registered <= capcity"]
[key."event:{id}".fields]
registered = "uint"
capacity = "uint"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."event:{id}"]
type = "hash"
check = ["registered <= capacity"]
[key."event:{id}".fields]
registered = "uint"
capacity = "uint"
"#,
};

/// A check that cannot be read, and what was meant if that is known.
pub(crate) fn malformed(expected: &str, meant: Option<&str>, at: Span) -> Diagnostic {
    RULE.at(at, "cannot be read").saying(format!("expected {expected}")).help(match meant {
        Some(meant) => format!("write `{}`", meant.trim()),
        None => "check = [\"registered <= capacity\"]".to_owned(),
    })
}

/// A field is compared with a word.
pub(crate) fn word(word: &str, at: Span) -> Diagnostic {
    let word = word.trim_matches(['\'', '"']);
    RULE.at(at, "a word")
        .saying(format!(
            "a check compares a field with another one or a number, and `{word}` is a word"
        ))
        .help(format!(
            "the type says which words a field may be; where others hang on one, `when` tests it: \
             {{ check = \"total > 0\", when = \"status = {word}\" }}"
        ))
}

pub(crate) fn no_field(name: Located<&str>, object: &Object) -> Diagnostic {
    let names = || object.fields.iter().map(|field| &*field.name);
    let known: Vec<&str> = names().collect();
    let known = match known.is_empty() {
        true => "it declares none".to_owned(),
        false => format!("it has {}", known.join(", ")),
    };
    RULE.at(name.at, "no such field")
        .saying(format!("there is no field `{}` to compare; {known}", name.value))
        .maybe_help(nearest(name.value, names()).map(|near| format!("write `{near}`")))
}

pub(crate) fn number_first(number: &str, operator: Operator, field: &str, at: Span) -> Diagnostic {
    let turned = match operator {
        Operator::Equal | Operator::Unequal => operator,
        Operator::Less => Operator::More,
        Operator::AtMost => Operator::AtLeast,
        Operator::More => Operator::Less,
        Operator::AtLeast => Operator::AtMost,
    };
    RULE.at(at, "begins with a number")
        .saying("a check begins with a field")
        .help(format!("write `{field} {} {number}`", turned.name()))
}

pub(crate) fn bad_number(number: &str, at: Span) -> Diagnostic {
    RULE.at(at, "no plain number").saying(format!(
        "`{number}` is no plain number such as 0, -5 or 12.50: no plus sign, no needless zeros in \
         front, no exponent"
    ))
}

pub(crate) fn with_itself(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "always the same")
        .saying(format!("`{}` is compared with itself", field.name))
        .see(field.at, "declared here")
}

pub(crate) fn incomparable(
    field: &Field,
    operator: Operator,
    other: &Field,
    at: Span,
) -> Diagnostic {
    let in_words = |field: &Field| field.shape.ty.in_words();
    let sign = operator.name();
    RULE.at(at, "cannot be compared")
        .saying(format!(
            "`{}` is {}, and `{}` is {}: `{sign}` cannot compare them",
            field.name,
            in_words(field),
            other.name,
            in_words(other)
        ))
        .see(field.at, "declared here")
}

pub(crate) fn not_a_number(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "cannot be compared")
        .saying(format!(
            "`{}` is {} and cannot be compared with a number",
            field.name,
            field.shape.ty.in_words()
        ))
        .see(field.at, "declared here")
}

/// What has no fields has nothing to compare.
pub(crate) fn without_fields(at: Span) -> Diagnostic {
    RULE.at(at, "no fields beside it")
        .saying("`check` compares the fields beside it, and there are none")
        .help("fields = { min = \"int\", max = \"int\" }")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn signs_of_other_languages_are_offered_in_ours() {
        for (wrong, right) in
            [("n => 0", "n >= 0"), ("n=<5", "n<=5"), ("n == m", "n = m"), ("n <> 3", "n != 3")]
        {
            check_help(&key(&format!("\"{wrong}\"")), wrong, right);
        }
    }

    #[test]
    fn a_word_is_no_field() {
        for (wrong, word) in [("s == on", "on"), ("s = 'off'", "off"), ("s = on", "on")] {
            check(
                &key(&format!("\"{wrong}\"")),
                &format!(
                    r#"KW0208 3:10 a check compares a field with another one or a number, and `{word}` is a word [a word] | help: the type says which words a field may be; where others hang on one, `when` tests it: {{ check = "total > 0", when = "status = {word}" }}"#
                ),
            );
        }
    }

    fn key(checks: &str) -> String {
        format!(
            r#"
[key."e:{{id}}"]
type = "hash"
check = [{checks}]
[key."e:{{id}}".fields]
n = "uint"
m = "decimal(2)"
t = "timestamp"
u = "timestamp_ms?"
s = "on | off"
w = "str?"
d = "date?"
o = "date?"
j = "json?"
b = "bool?"
"#
        )
    }

    #[test]
    fn numbers_times_days_and_texts_are_compared_with_their_like() {
        check(
            &key(
                r#""n <= m", "n>0", "m != -1.50", "t < u", "t >= t2", "u > n", "d <= o", "s != w""#,
            )
            .replace("b = \"bool?\"", "t2 = \"timestamp?\""),
            "",
        );
        check(&key(r#"{ check = "n > 0", when = "s = on and w != x" }"#), "");
    }

    #[test]
    fn what_cannot_be_read_or_compared_is_told() {
        let bad = |checks: &str, expected: &str| check(&key(checks), expected);
        bad(
            r#""n 5""#,
            r#"KW0208 3:10 expected `=`, `!=`, `<`, `<=`, `>` or `>=` [cannot be read] | help: check = ["registered <= capacity"]"#,
        );
        bad(
            r#""n < m < 5""#,
            r#"KW0208 3:10 expected one field or number behind it [cannot be read] | help: check = ["registered <= capacity"]"#,
        );
        bad(
            r#""n < 1e5""#,
            "KW0208 3:10 `1e5` is no plain number such as 0, -5 or 12.50: no plus sign, no needless zeros in front, no exponent [no plain number]",
        );
        bad(
            r#""t > 5""#,
            "KW0208 3:10 `t` is a time as in 2025-12-25T10:00:00Z and cannot be compared with a number [cannot be compared] | see 7:1 declared here",
        );
        bad(
            r#""s < w""#,
            "KW0208 3:10 `s` is on or off, and `w` is text without a colon: `<` cannot compare them [cannot be compared] | see 9:1 declared here",
        );
        bad(
            r#""n = t""#,
            "KW0208 3:10 `n` is a whole number not below zero, and `t` is a time as in 2025-12-25T10:00:00Z: `=` cannot compare them [cannot be compared] | see 5:1 declared here",
        );
        bad(
            r#""j = b""#,
            "KW0208 3:10 `j` is JSON, and `b` is true or false: `=` cannot compare them [cannot be compared] | see 13:1 declared here",
        );
        bad(
            r#""n = n""#,
            "KW0208 3:10 `n` is compared with itself [always the same] | see 5:1 declared here",
        );
        bad(
            r#"{ check = "n > 0", when = "s = onn" }"#,
            r#"KW0511 3:36 `s` must be on or off and is never "onn" [never holds] | see 9:1 declared here | help: write `on`"#,
        );
        bad(
            r#"{ check = "n > 0", whn = "s = on" }"#,
            "KW0004 3:29 check has no setting `whn` [unknown] | help: write `when`",
        );
        bad(
            r#"{ when = "s = on" }"#,
            r#"KW0007 3:10 `check` is missing [missing here] | help: check = "amount > 0""#,
        );
        bad("5", "KW0006 3:10 `check` wants a text in quotes [this is a whole number]");
    }

    #[test]
    fn the_nearest_field_or_the_turned_check_is_offered() {
        check_help(
            &key(r#""registred <= n""#).replace("b = \"bool?\"", "registered = \"uint?\""),
            "registred",
            "registered",
        );
        check_help(&key(r#"{ check = "n > 0", when = "ss = on" }"#), "ss", "s");
        check_help(&key(r#""0 < n""#), "0 < n", "n > 0");
    }

    #[test]
    fn checks_stand_beside_fields_at_any_depth() {
        check(
            r#"
[key."e:{id}"]
type = "list"
ttl = "1h"
items = { fields = { a = "int", b = "int" }, check = ["a <= b"] }
"#,
            "",
        );
        check(
            r#"
[key."e:{id}"]
type = "json"
fields = { range = { fields = { min = "int", max = "int" }, check = ["min <= mx"] } }
"#,
            "KW0208 3:70 there is no field `mx` to compare; it has min, max [no such field] | help: write `max`",
        );
        check(
            r#"
[key."e:{id}"]
type = "json"
fields = { n = { type = "int", check = ["n > 0"] } }
"#,
            r#"KW0208 3:32 `check` compares the fields beside it, and there are none [no fields beside it] | help: fields = { min = "int", max = "int" }"#,
        );
        check(
            r#"
[key."e:{id}"]
type = "set"
ttl = "1h"
check = ["a > 0"]
"#,
            "KW0203 4:1 `check` is for json, hash, stream [the type is set] | help: write `items`",
        );
        check(
            r#"
[key."e:{id}"]
type = "hash"
check = ["a > 0"]
"#,
            "KW0208 3:10 there is no field `a` to compare; it declares none [no such field]",
        );
    }
}
