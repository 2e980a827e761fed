//! KW0311: a deduplication flag dies before what it guards.

use crate::diagnostic::{Level, Report, Rule};
use crate::schema::{DataType, Key};
use crate::units::Duration;

pub(crate) static RULE: Rule = Rule {
    code: "KW0311",
    level: Level::Warning,
    title: "a deduplication flag dies before what it guards",
    why: "
A flag with the same placeholders as another key says that this other thing
was seen. Where the flag ends first, the thing is taken for new while it is
still there. Let the flag live at least as long.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."message:{id}"]
type = "json"
ttl = "1h"
[key."seen:{id}"]
type = "flag"
ttl = "30m"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."message:{id}"]
type = "json"
ttl = "1h"
[key."seen:{id}"]
type = "flag"
ttl = "2h"
"#,
};

pub(crate) fn check(keys: &[Option<Key>], report: &mut Report) {
    let keys: Vec<&Key> = keys.iter().flatten().collect();
    for flag in keys.iter().filter(|key| key.data == DataType::Flag) {
        let Some(flag_life) = flag.lifetime.longest() else { continue };
        let guarded = keys.iter().filter(|key| key.data != DataType::Flag && is_guarded(flag, key));
        let longest = guarded
            .filter_map(|key| Some((key.lifetime.longest()?, *key)))
            .max_by_key(|(life, _)| *life);
        if let Some((life, guarded)) = longest
            && flag_life < life
        {
            report.push(
                RULE.at(flag.lifetime_at, format!("only {}", flag_life.in_words()))
                    .saying(format!(
                        "`{}` ends before `{}`, which it guards",
                        flag.pattern, guarded.pattern
                    ))
                    .see(guarded.lifetime_at, life.in_words())
                    .help(format!(
                        "ttl = \"{}\"",
                        Duration::from_ms(life.as_ms().saturating_mul(2))
                    )),
            );
        }
    }
}

/// Whether a flag speaks of just the same thing.
fn is_guarded(flag: &Key, key: &Key) -> bool {
    let names = |key: &Key| -> Vec<Box<str>> {
        key.pattern.placeholders().iter().map(|placeholder| placeholder.name.clone()).collect()
    };
    let flag_names = names(flag);
    !flag_names.is_empty() && flag_names == names(key)
}
