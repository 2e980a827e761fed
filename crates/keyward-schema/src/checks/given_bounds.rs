//! KW0307: the bounds of a given lifetime contradict each other.

use crate::diagnostic::{Level, Report, Rule};
use crate::read::table::Located;
use crate::units::Duration;

pub(crate) static RULE: Rule = Rule {
    code: "KW0307",
    level: Level::Error,
    title: "the bounds of a given lifetime contradict each other",
    why: "
`min` is not above `max`, and `default` lies between them.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."page:{id}"]
type = "string"
ttl = { given = true, min = "1h", max = "1m" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."page:{id}"]
type = "string"
ttl = { given = true, min = "1m", max = "1h" }
"#,
};

type Bound = Option<Located<Duration>>;

/// `None` if they contradict each other.
pub(crate) fn check(min: Bound, max: Bound, default: Bound, report: &mut Report) -> Option<()> {
    let pairs = [
        ("min", min, "max", max),
        ("min", min, "default", default),
        ("default", default, "max", max),
    ];
    for (low_name, low, high_name, high) in pairs {
        let (Some(low), Some(high)) = (low, high) else { continue };
        if low.value > high.value {
            report.push(
                RULE.at(high.at, format!("below `{low_name}`"))
                    .saying(format!(
                        "`{low_name}` is {}, and `{high_name}` only {}",
                        low.value, high.value
                    ))
                    .see(low.at, format!("`{low_name}`"))
                    .help(format!(
                        "{low_name} = \"{}\", {high_name} = \"{}\"",
                        high.value, low.value
                    )),
            );
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn bounds_in_order() {
        check_help(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = true, min = "2h", max = "1h" }
"#,
            r#"min = "2h", max = "1h""#,
            r#"min = "1h", max = "2h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = true, min = "2h", default = "1h" }
"#,
            r#"KW0307 3:45 `min` is 2h, and `default` only 1h [below `min`] | see 3:29 `min` | help: min = "1h", default = "2h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = true, max = "2h", default = "3h" }
"#,
            r#"KW0307 3:29 `default` is 3h, and `max` only 2h [below `default`] | see 3:45 `default` | help: default = "2h", max = "3h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = true, min = "1h", max = "1h", default = "1h" }
"#,
            "",
        );
    }
}
