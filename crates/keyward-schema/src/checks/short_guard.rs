//! KW0311: a deduplication flag dies before what it guards.

use std::collections::HashMap;

use super::warnings::Warnings;
use crate::diagnostic::{Diagnostic, Level, Rule};
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

pub(crate) fn check(keys: &[Option<Key>], warnings: &mut Warnings<'_>) {
    let mut guarded: HashMap<Vec<&str>, (Duration, &Key)> = HashMap::new();
    for key in keys.iter().flatten().filter(|key| key.data != DataType::Flag) {
        let Some(life) = key.lifetime.longest() else { continue };
        let longest = guarded.entry(names(key)).or_insert((life, key));
        if life > longest.0 {
            *longest = (life, key);
        }
    }
    for (index, flag) in keys.iter().enumerate() {
        let Some(flag) = flag.as_ref().filter(|key| key.data == DataType::Flag) else { continue };
        let Some(flag_life) = flag.lifetime.longest() else { continue };
        match guarded.get(&names(flag)) {
            Some(&(life, guarded)) if !names(flag).is_empty() && flag_life < life => {
                warnings.push_with(index, &RULE, || found(flag, flag_life, guarded, life));
            }
            _ => {}
        }
    }
}

/// What a key speaks of: a flag guards what speaks of just the same.
fn names(key: &Key) -> Vec<&str> {
    key.pattern.placeholders().iter().map(|placeholder| &*placeholder.name).collect()
}

fn found(flag: &Key, flag_life: Duration, guarded: &Key, life: Duration) -> Diagnostic {
    RULE.at(flag.lifetime_at, format!("only {}", flag_life.in_words()))
        .saying(format!("`{}` ends before `{}`, which it guards", flag.pattern, guarded.pattern))
        .see(guarded.lifetime_at, life.in_words())
        .help(format!("ttl = \"{life}\""))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_flag_that_dies_first() {
        check_help(
            r#"
[key."seen:{id}"]
type = "flag"
ttl = "1h"
[key."event:{id}"]
type = "json"
ttl = "1d"
"#,
            r#"ttl = "1h""#,
            r#"ttl = "1d""#,
        );
        check(
            r#"
[key."seen:{id}"]
type = "flag"
ttl = "1h"
[key."event:{id}"]
type = "json"
ttl = "1d"
[key."log:{id}"]
type = "json"
ttl = "2d"
"#,
            r#"KW0311 3:7 `seen:{id}` ends before `log:{id}`, which it guards [only 1 hour] | see 9:7 2 days | help: ttl = "2d""#,
        );
        check(
            r#"
[key."seen:{id}"]
type = "flag"
ttl = "1d"
[key."event:{id}"]
type = "json"
ttl = "1d"
[key."other:{id}:{n}"]
type = "json"
ttl = "9d"
[key."on"]
type = "flag"
ttl = "1m"
[key."all"]
type = "json"
ttl = "9d"
"#,
            "",
        );
    }
}
