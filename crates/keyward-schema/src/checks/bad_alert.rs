//! KW0901: an alert cannot be evaluated.

use crate::alert::{Alert, AlertFigure, AlertUnit, MAX_OVER, MIN_OVER};
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::nearest::nearest;
use crate::read::Watched;
use crate::schema::{Key, Keyspace};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0901",
    level: Level::Error,
    title: "an alert cannot be evaluated",
    why: "
An alert compares a figure of the keyspace or of the key with a threshold. Each
figure has its unit: a ratio is compared with a share, a number of keys with a
count or with a share of `expect`, memory with an amount or, of the keyspace, a
share of its `max_memory`. A share needs something that it is a share of.
",
    wrong: r#"
[keyspace]
name = "shop"
alert.memory = "> 80%"

[key."page:{name}"]
type = "string"
ttl = "5m"
"#,
    right: r#"
[keyspace]
name = "shop"
max_memory = "1gb"
alert.memory = "> 80%"

[key."page:{name}"]
type = "string"
ttl = "5m"
alert.hit_ratio = { when = "< 70%", for = "10m", severity = "critical" }
"#,
};

/// What a figure is compared with there.
pub(crate) fn units(figure: AlertFigure, watched: Watched) -> &'static [AlertUnit] {
    match watched {
        Watched::Keyspace { .. } => figure.of_keyspace(),
        Watched::Key { .. } => figure.of_key(),
    }
}

pub(crate) fn unknown(name: &str, watched: Watched, at: Span) -> Diagnostic {
    let there = AlertFigure::ALL.iter().filter(|figure| !units(**figure, watched).is_empty());
    let there: Vec<&str> = there.map(|figure| figure.name()).collect();
    let help = nearest(name, there.iter().copied()).map(|near| format!("write `{near}`"));
    let help = help.unwrap_or_else(|| format!("there are {}", there.join(", ")));
    RULE.at(at, "unknown").saying(format!("there is no figure `{name}` to watch")).help(help)
}

pub(crate) fn elsewhere(figure: AlertFigure, at: Span) -> Diagnostic {
    let whose = if figure.is_of_sinks() { "of the whole keyspace" } else { "of the whole server" };
    RULE.at(at, whose)
        .saying(format!("`{}` is not known of a single key", figure.name()))
        .help("move it to [keyspace]")
}

pub(crate) fn threshold(figure: AlertFigure, expected: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not one").saying(format!("`{}` wants {expected}", figure.name()))
}

pub(crate) fn no_window(figure: AlertFigure, at: Span) -> Diagnostic {
    RULE.at(at, "no time to count over")
        .saying(format!("`{}` is what it is at an instant", figure.name()))
        .help("`for` says how long it must be so")
}

pub(crate) fn long_window(at: Span) -> Diagnostic {
    RULE.at(at, "too long")
        .saying(format!("figures are counted over at most {}", MAX_OVER.in_words()))
        .help("over = \"1h\"")
}

pub(crate) fn short_window(at: Span) -> Diagnostic {
    RULE.at(at, "too short")
        .saying(format!(
            "figures are counted over at least {}, within which Prometheus scrapes more than once",
            MIN_OVER.in_words()
        ))
        .help(format!("over = \"{MIN_OVER}\""))
}

/// Alerts about rows on their way to PostgreSQL, where none go there.
pub(crate) fn check_sinks(keyspace: Option<&Keyspace>, keys: &[Option<Key>], report: &mut Report) {
    // What could not be read may have one.
    let has_sinks = keys.iter().any(|key| key.as_ref().is_none_or(|key| key.sink.is_some()));
    let of_keyspace = keyspace.iter().filter(|_| !has_sinks).flat_map(|own| &own.alerts);
    let keys = keys.iter().flatten().filter(|key| key.sink.is_none());
    let of_keys = keys.flat_map(|key| &key.alerts);
    for alert in of_keyspace.chain(of_keys).filter(|alert| alert.figure.is_of_sinks()) {
        let found = RULE
            .at(alert.at, "nothing goes to PostgreSQL")
            .saying(format!("`{}` is known of what has a sink", alert.figure.name()))
            .help("sink = { mirror = \"users\" }");
        report.push(found);
    }
}

/// A share of nothing, if an alert is about one.
pub(crate) fn baseless(alert: &Alert, watched: Watched, at: Span) -> Option<Diagnostic> {
    let is_share = alert.threshold.unit == AlertUnit::Share;
    let (missing, help) = match (alert.figure, watched) {
        (AlertFigure::Memory, Watched::Keyspace { max_memory: None }) => {
            ("max_memory", "max_memory = \"1gb\"")
        }
        (AlertFigure::Keys, Watched::Key { expect: None }) => ("expect", "expect = \"10k\""),
        _ => return None,
    };
    let found = || {
        RULE.at(at, "a share of nothing")
            .saying(format!("there is no `{missing}` that this could be a share of"))
            .help(help)
    };
    is_share.then(found)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn alerts_have_figures_and_units() {
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.hit_rati = "< 70%"
"#,
            "KW0901 4:7 there is no figure `hit_rati` to watch [unknown] | help: write `hit_ratio`",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.clients = "> 1000"
"#,
            "KW0901 4:7 `clients` is not known of a single key [of the whole server] | help: move it to [keyspace]",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.hit_ratio = "< 70"
"#,
            r#"KW0901 4:19 `hit_ratio` wants a comparison such as "> 70%" [not one]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.keys = "> 120%"
"#,
            r#"KW0901 4:14 there is no `expect` that this could be a share of [a share of nothing] | help: expect = "10k""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.keys = { when = "> 100", over = "5m" }
"#,
            "KW0901 4:39 `keys` is what it is at an instant [no time to count over] | help: `for` says how long it must be so",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.refused = { when = "> 100", over = "2h" }
"#,
            r#"KW0901 4:42 figures are counted over at most 1 hour [too long] | help: over = "1h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.refused = { when = "> 100", over = "30s" }
"#,
            r#"KW0901 4:42 figures are counted over at least 1 minute, within which Prometheus scrapes more than once [too short] | help: over = "1m""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.refused = { severity = "warning" }
"#,
            r#"KW0007 4:7 `when` is missing [missing here] | help: when = "< 70%""#,
        );
    }

    #[test]
    fn what_is_on_its_way_to_postgresql_needs_a_sink() {
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.lag = "> 1m"
"#,
            "KW0901 4:7 `lag` is not known of a single key [of the whole keyspace] | help: move it to [keyspace]",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
alert.dead_letters = "> 0"
"#,
            r#"KW0901 4:7 `dead_letters` is known of what has a sink [nothing goes to PostgreSQL] | help: sink = { mirror = "users" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
sink = { mirror = "a" }
alert.dead_letters = "> 0"
"#,
            "",
        );
        let keyspace = |more: &str| {
            let text = format!(
                "[keyspace]\nname = 'shop'\nalert.lag = '> 1m'\nalert.waiting = '> 10k'\n\
                 alert.dead_letters = '> 0'\n[key.'a:{{x}}']\ntype = 'string'\nttl = '1h'\n{more}"
            );
            crate::check("shop.toml", text.as_bytes()).diagnostics.len()
        };
        assert_eq!((keyspace(""), keyspace("sink = { mirror = 'a' }")), (3, 0));
    }

    #[test]
    fn sound_alerts_pass() {
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = "1h"
expect = "10k"
alert.keys = "> 120%"
alert.hit_ratio = { when = "< 70%", for = "10m", over = "15m", severity = "critical", say = "Raise the lifetime." }
alert.memory = "> 1gb"
alert.misfits = "> 0"
alert.refused = ">= 10"
"#,
            "",
        );
    }
}
