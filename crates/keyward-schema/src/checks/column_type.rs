//! KW0804: a column cannot hold what it is filled from.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::Located;
use crate::shape::Shape;
use crate::sink::ColumnType;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0804",
    level: Level::Error,
    title: "a column cannot hold what it is filled from",
    why: "
PostgreSQL rounds without a word: `numeric(10,2)` makes 0.00 of 0.001, `real` and
`double precision` of a decimal something near it, and `timestamp` forgets the
zone of a time. So a column has a type that holds each value as it is; without
`type` it has the one that does. What is stripped is the `prefix` that the field
declares, or a part of it, so that every value has it.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { balance = "decimal" }
sink = { mirror = "users", columns = { balance = { type = "numeric(10,2)" } } }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { balance = "decimal(2)" }
sink = { mirror = "users", columns = { balance = { type = "numeric(10,2)" } } }
"#,
};

pub(crate) fn unknown(written: Located<&str>) -> Diagnostic {
    let near = nearest(written.value, ColumnType::NAMES);
    RULE.at(written.at, "not known here")
        .saying(format!(
            "`{}` is no type of a column; there are {}",
            written.value,
            ColumnType::NAMES.join(", ")
        ))
        .maybe_help(near.map(|near| format!("type = \"{near}\"")))
}

pub(crate) fn unfit(ty: ColumnType, shape: &Shape, at: Span) -> Diagnostic {
    RULE.at(at, "cannot hold it")
        .saying(format!("a column of type {ty} does not hold each value of type {shape} as it is"))
        .help(format!("type = \"{}\"", ColumnType::of_shape(shape)))
}

pub(crate) fn not_stripped(strip: Located<&str>) -> Diagnostic {
    RULE.at(strip.at, "not every value begins so")
        .saying(format!(
            "only what every value begins with is stripped: `{}` is no declared prefix",
            strip.value
        ))
        .help(format!("prefix = \"{}\" in the field", strip.value))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn types_hold_their_values() {
        let check = |column: &str, expected: &str| {
            let key = "[key.\"u:{id:uint}\"]\ntype = 'hash'\nttl = '1d'\nfields = { d = 'decimal', t = 'timestamp', h = { type = 'string', prefix = 'sha256:' } }";
            check(&format!("{key}\nsink = {{ mirror = 'u', columns = {{ {column} }} }}"), expected);
        };
        check("id = { from = '{id}', type = 'BIGINT' }", "");
        check("d = { type = 'numeric' }", "");
        check("h = { strip = 'sha256:', type = 'varchar(64)' }", "");
        check(
            "d = { type = 'double precision' }",
            "KW0804 5:49 a column of type double precision does not hold each value of type decimal as it is [cannot hold it] | help: type = \"numeric\"",
        );
        check(
            "t = { type = 'timestamp' }",
            "KW0804 5:49 `timestamp` is no type of a column; there are text, varchar(n), uuid, inet, smallint, integer, bigint, numeric, double precision, boolean, timestamptz, date, jsonb, bytea [not known here] | help: type = \"timestamptz\"",
        );
        check(
            "h = { strip = 'md5:' }",
            "KW0804 5:50 only what every value begins with is stripped: `md5:` is no declared prefix [not every value begins so] | help: prefix = \"md5:\" in the field",
        );
    }
}
