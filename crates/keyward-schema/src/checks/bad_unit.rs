//! KW0008: a duration, size or count cannot be read.

use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::{Entry, Value, integer};
use crate::toml_form::name_form;
use crate::units::{Duration, parse_size};

pub(crate) static RULE: Rule = Rule {
    code: "KW0008",
    level: Level::Error,
    title: "a duration, size or count cannot be read",
    why: "
Durations are written with their unit: `500ms`, `30s`, `5m`, `1h30m`, `14d`,
`2w`, `1y` (365 days). Sizes have redis.conf's units: `4kb` is 4096 bytes, `4k`
is 4000. Counts may be written `25k` or `2.5M`. None of them is zero.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = 1800
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
"#,
};

pub(crate) fn found(entry: Entry<'_>, expected: &str) -> Diagnostic {
    let better = match entry.value.get_ref() {
        _ if expected.starts_with("a duration") => duration_meant(entry.value),
        DeValue::String(text) if expected.starts_with("a size") => size_meant(text),
        _ => None,
    };
    RULE.at(entry.value.span().into(), "cannot be read")
        .saying(format!("`{}` wants {expected}", entry.name))
        .maybe_help(better.map(|better| format!("{} = \"{better}\"", name_form(entry.name))))
}

/// A lifetime without an end under another name, as in other programs.
pub(crate) fn endless(entry: Entry<'_>) -> Option<Diagnostic> {
    const NAMES: [&str; 10] =
        ["forever", "never", "infinite", "infinity", "permanent", "always", "no", "off", "-1", "0"];
    let is_endless = match entry.value.get_ref() {
        DeValue::String(text) => NAMES.contains(&&*text.trim().to_ascii_lowercase()),
        DeValue::Integer(number) => matches!(number.as_str(), "-1" | "0"),
        DeValue::Boolean(is_there) => !is_there,
        _ => false,
    };
    is_endless.then(|| {
        RULE.at(entry.value.span().into(), "cannot be read")
            .saying(format!(
                "`{}` wants a duration such as \"5m\", \"none\", or a table",
                entry.name
            ))
            .help(format!("{} = \"none\"", name_form(entry.name)))
    })
}

/// The duration in other words: a bare number of seconds, as Redis's commands
/// take it, or a unit spelled out.
fn duration_meant(value: &Value<'_>) -> Option<String> {
    let written = match value.get_ref() {
        // A minute to some and a month to others.
        DeValue::String(text) if text.trim().ends_with('M') => return None,
        DeValue::String(text) => text.trim().to_ascii_lowercase(),
        _ => integer(value)?.to_string(),
    };
    let digits = written.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = written.split_at(digits);
    if matches!(unit.trim(), "mo" | "month" | "months") {
        let days = number.parse::<u64>().ok()?.checked_mul(30)?;
        return Duration::parse(&format!("{days}d")).map(|meant| meant.to_string());
    }
    let unit = match unit.trim() {
        "" | "sec" | "secs" | "second" | "seconds" => "s",
        "millis" | "millisecond" | "milliseconds" => "ms",
        "mins" | "minute" | "minutes" => "m",
        "hr" | "hrs" | "hour" | "hours" => "h",
        "day" | "days" => "d",
        "week" | "weeks" => "w",
        "year" | "years" => "y",
        other if other.starts_with('.') => return fraction_meant(number, &other[1..]),
        other => other,
    };
    Duration::parse(&format!("{number}{unit}")).map(|meant| meant.to_string())
}

/// `1.5h` in whole numbers: what stands in front of the point, and what behind it, with its unit.
fn fraction_meant(whole: &str, rest: &str) -> Option<String> {
    const DIGITS_MAX: usize = 9;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, unit) = rest.split_at(digits);
    if fraction.is_empty() || fraction.len() > DIGITS_MAX {
        return None;
    }
    let one = Duration::parse(&format!("1{}", unit.trim()))?.as_ms();
    let parts = 10_u64.pow(fraction.len() as u32);
    let scaled = whole.parse::<u64>().ok()?.checked_mul(parts)?;
    let scaled = scaled.checked_add(fraction.parse().ok()?)?.checked_mul(one)?;
    let is_exact = scaled % parts == 0;
    Duration::parse(&format!("{}ms", scaled / parts)).filter(|_| is_exact).map(|it| it.to_string())
}

/// `4kib` is redis.conf's `4kb`.
fn size_meant(text: &str) -> Option<String> {
    let meant = text.trim().to_ascii_lowercase().replace("ib", "b");
    parse_size(&meant).map(|_| meant)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn fractions_are_translated_to_whole_numbers() {
        for (wrong, right) in [("1.5h", "1h30m"), ("0.5 d", "12h"), ("2.25s", "2s250ms")] {
            let schema =
                format!("[key.\"a:{x}\"]\ntype = \"hash\"\nttl = \"{wrong}\"\n", x = "{x}");
            check_help(&schema, wrong, right);
        }
    }

    #[test]
    fn durations_in_other_words_are_translated() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
ttl = 1800
"#,
            "ttl = 1800",
            r#"ttl = "30m""#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "30 minutes"
"#,
            r#"ttl = "30 minutes""#,
            r#"ttl = "30m""#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { after = "90" }
"#,
            r#"after = "90""#,
            r#"after = "1m30s""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "soon"
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "30s", "1h30m" or "14d" [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "0s"
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "30s", "1h30m" or "14d" [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = 99999999999999
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "5m", "none", or a table [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = true
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "5m", "none", or a table [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = ["5m"]
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "5m", "none", or a table [cannot be read]"#,
        );
    }

    #[test]
    fn a_lifetime_without_an_end_is_none() {
        for value in ["\"forever\"", "\"never\"", "\"-1\"", "\"0\"", "-1", "0", "false"] {
            let wrong = format!("ttl = {value}");
            let schema = format!("[key.\"a:{{x}}\"]\ntype = \"hash\"\n{wrong}\n");
            check_help(&schema, &wrong, "ttl = \"none\"");
        }
    }

    #[test]
    fn a_month_has_thirty_days_and_is_no_minute() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "2 months"
"#,
            r#"ttl = "2 months""#,
            r#"ttl = "60d""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "1M"
"#,
            r#"KW0008 3:7 `ttl` wants a duration such as "30s", "1h30m" or "14d" [cannot be read]"#,
        );
    }

    #[test]
    fn sizes_and_counts() {
        check_help(
            r#"
[key."a:{x}"]
type = "string"
max_size = "4KiB"
"#,
            r#"max_size = "4KiB""#,
            r#"max_size = "4kb""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
expect = "many"
"#,
            r#"KW0008 3:10 `expect` wants a count such as 100 or "2.5M" [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "list"
max_len = 0
"#,
            r#"KW0008 3:11 `max_len` wants a count such as 100 or "2.5M" [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "list"
max_len = -3
"#,
            r#"KW0008 3:11 `max_len` wants a count such as 100 or "2.5M" [cannot be read]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "list"
max_len = 0x10
[key."b:{x}"]
type = "list"
max_len = 1_000
"#,
            "",
        );
    }
}
