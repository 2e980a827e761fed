//! KW0701: the example is no key of its pattern.

use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::matcher::Matcher;
use crate::pattern::{Pattern, relate};
use crate::read::KeyDraft;
use crate::read::table::Located;
use crate::schema::Key;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0701",
    level: Level::Error,
    title: "the example is no key of its pattern",
    why: "
Examples are shown in documents and used in tests, so they must be true.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
example = "user:john"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
example = "user:42"
"#,
};

pub(crate) fn found(key: Located<&str>, pattern: &Pattern, pattern_at: Span) -> Diagnostic {
    let sample = relate(pattern, pattern).1.unwrap_or_default();
    let sample = String::from_utf8_lossy(&sample).into_owned();
    RULE.at(key.at, "does not match")
        .saying(format!("`{}` is no key of `{pattern}`", key.value.escape_debug()))
        .see(pattern_at, "the pattern")
        .help(format!("for instance {}", text_form(&sample)))
}

/// Reports examples that belong to a more specific pattern. The matcher counts
/// the drafts that have a pattern.
pub(crate) fn check_owners(
    drafts: &[KeyDraft<'_>],
    keys: &[Option<Key>],
    matcher: &Matcher,
    report: &mut Report,
) {
    let matched: Vec<usize> =
        (0..drafts.len()).filter(|&index| drafts[index].pattern.is_some()).collect();
    for (index, key) in keys.iter().enumerate() {
        let Some(example) = key.as_ref().and_then(|key| key.example.as_ref()) else { continue };
        let owner = matcher.find(example.key.as_bytes()).map(|found| matched[found.pattern]);
        if let Some(owner) = owner.filter(|&owner| owner != index) {
            let at = drafts[index]
                .table
                .entry("example")
                .map_or(drafts[index].at, |entry| entry.value.span().into());
            report.push(
                RULE.at(at, "claimed by another pattern")
                    .saying(format!(
                        "`{}` is a key of the more specific `{}`",
                        example.key.escape_debug(),
                        drafts[owner].text
                    ))
                    .see(drafts[owner].at, "this one"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn an_example_is_a_key_of_its_pattern() {
        check_help(
            r#"
[key."u:{id:uint}"]
type = "hash"
example = "u:john"
"#,
            r#""u:john""#,
            r#""u:42""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
example = "u:active"
[key."u:active"]
type = "string"
example = { key = "u:active" }
"#,
            "KW0701 3:11 `u:active` is a key of the more specific `u:active` [claimed by another pattern] | see 4:6 this one",
        );
    }
}
