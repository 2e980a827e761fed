//! KW0805: two keys have the same table.

use std::collections::HashMap;

use crate::diagnostic::{Level, Report, Rule};
use crate::schema::Key;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0805",
    level: Level::Error,
    title: "two keys have the same table",
    why: "
A table has the rows of one key, in columns that are made for it. Two keys in one
table would overwrite each other's rows.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "people" }

[key."guest:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "people" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "users" }

[key."guest:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "guests" }
"#,
};

pub(crate) fn check(keys: &[Option<Key>], report: &mut Report) {
    let mut known: HashMap<&str, Span> = HashMap::new();
    for sink in keys.iter().flatten().filter_map(|key| key.sink.as_ref()) {
        if let Some(first) = known.get(&*sink.table) {
            let found = RULE.at(sink.at, "the second").see(*first, "the first");
            report.push(found.saying(format!("two keys have the table `{}`", sink.table)));
        }
        known.entry(&sink.table).or_insert(sink.at);
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn a_table_is_one_keys() {
        let key = |name: &str, table: &str| {
            format!(
                "[key.\"{name}:{{x}}\"]\ntype = 'string'\nttl = '1d'\nsink = {{ mirror = '{table}' }}\n"
            )
        };
        check(&format!("{}{}", key("a", "t"), key("b", "u")), "");
        check(
            &format!("{}{}", key("a", "t"), key("b", "t")),
            "KW0805 8:1 two keys have the table `t` [the second] | see 4:1 the first",
        );
    }
}
