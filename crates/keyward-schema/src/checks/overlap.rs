//! KW0107: two patterns accept the same keys.

use crate::checks::entangled_patterns;
use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::escape::escape;
use crate::pattern::{Part, Pattern, Relation, Steps, relate, relation_within};
use crate::read::KeyDraft;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0107",
    level: Level::Error,
    title: "two patterns accept the same keys",
    why: "
Each key belongs to one pattern. Where two accept the same key, the keys of
one must be a proper subset of the other's; then the smaller one wins, as
`user:active` does against `user:{id}`. Here neither is smaller.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{name}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:login:{name}"]
type = "hash"
"#,
};

/// How many rivals of one pattern are shown.
const MAX_SHOWN: usize = 4;

/// So many patterns are told that accept keys of others; those behind are not compared. Each
/// takes a comparison with all before it.
const MAX_FOUND: usize = 50;

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    let (mut count, steps) = (0, Steps::among(drafts.len()));
    let patterns: Vec<(&Pattern, &KeyDraft<'_>)> =
        drafts.iter().filter_map(|draft| Some((draft.pattern.as_ref()?, draft))).collect();
    for (index, (pattern, draft)) in patterns.iter().enumerate() {
        if report.is_full() {
            return;
        }
        let is_rival = |(earlier, _): &&(&Pattern, &KeyDraft<'_>)| {
            let relation = relation_within(earlier, pattern, &steps);
            matches!(relation, Relation::Equal | Relation::Overlap)
        };
        let rivals: Vec<_> = patterns[..index].iter().filter(is_rival).take(MAX_SHOWN).collect();
        let left = patterns.len() - index - 1;
        if steps.are_used_up() {
            // The last of them is the one that could not be told apart.
            let rival = rivals.last().map(|(_, draft)| draft.at);
            report.push(entangled_patterns::incomparable(draft.at, rival, (left, &steps)));
            return;
        }
        let mut rivals = rivals.into_iter();
        if let Some((first, first_draft)) = rivals.next() {
            let found = found(pattern, draft, first).see(first_draft.at, "first claimed here");
            let found = rivals.fold(found, |found, (_, other)| found.see(other.at, "and here"));
            count += 1;
            if count == MAX_FOUND && left > 0 {
                let last = format!("{left} patterns behind this one were not compared");
                report.push(found.see(draft.at, last));
                return;
            }
            report.push(found);
        }
    }
}

fn found(pattern: &Pattern, draft: &KeyDraft<'_>, rival: &Pattern) -> Diagnostic {
    let found = match relate(rival, pattern).1 {
        Some(key) => {
            RULE.at(draft.at, format!("also matches `{}`", escape(&String::from_utf8_lossy(&key))))
        }
        None => RULE
            .at(draft.at, "these are too large to compare")
            .saying("it cannot be told which keys both of two patterns accept"),
    };
    match with_literal(pattern) {
        // One file cannot have it twice: another one includes it.
        _ if pattern.text() == rival.text() => found.help(format!("{AMEND}; or {NARROWER}")),
        Some(mended) => {
            let mended = text_form(&mended);
            found.help(format!("{NARROWER}; or, if the keys are yours to name: {mended}"))
        }
        None => found.help(NARROWER),
    }
}

/// Offers no other name where a pattern stands in a file that is included: a program has named its
/// keys.
pub(crate) fn leave_name(found: &mut Diagnostic) {
    let amends = found.help.as_ref().is_some_and(|help| help.starts_with(AMEND));
    if found.rule.code == RULE.code && !amends {
        found.help = Some(NARROWER.to_owned());
    }
}

/// What can be done about a pattern that an included file has too.
const AMEND: &str =
    "to give settings to the key of an included file, add `amend = true` where it is included";

/// What can be done about keys that a program has named: they cannot be called otherwise.
const NARROWER: &str = "give one of them a narrower type or alphabet ({id:uint}, \
                        {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = \"…\" })";

/// The same pattern with the name of its first placeholder before it, if that placeholder is a
/// segment: what a program puts into one key cannot be moved apart.
fn with_literal(pattern: &Pattern) -> Option<String> {
    let mut parts: Vec<Part> = pattern.parts().collect();
    let is_segment = |at: usize| {
        let ends = |part: Option<&Part>, is_before: bool| match part {
            Some(Part::Literal(text)) if is_before => text.ends_with(':'),
            Some(Part::Literal(text)) => text.starts_with(':'),
            _ => true,
        };
        ends(at.checked_sub(1).map(|before| &parts[before]), true) && ends(parts.get(at + 1), false)
    };
    let is_tag = |at: usize| {
        let text = |part: Option<&Part>| match part {
            Some(Part::Literal(text)) => text.clone(),
            _ => "".into(),
        };
        at > 0
            && text(parts.get(at - 1)).ends_with(":{")
            && text(parts.get(at + 1)).starts_with('}')
    };
    let first = parts.iter().position(|part| matches!(part, Part::Placeholder { .. }));
    match first.map(|at| (at, parts[at].clone())) {
        Some((at, Part::Placeholder { name, .. })) if is_segment(at) => {
            parts.insert(at, Part::Literal(format!("{name}:").into()));
        }
        Some((at, Part::Placeholder { name, .. })) if is_tag(at) => {
            if let Part::Literal(text) = &mut parts[at - 1] {
                *text = format!("{}{name}:{{", &text[..text.len() - 1]).into();
            }
        }
        Some(_) => return None,
        None => parts.push(Part::Literal(":2".into())),
    }
    Pattern::of_parts(parts).ok().map(|pattern| pattern.text().to_owned())
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_key_that_both_claim_is_shown() {
        check(
            r#"
[key."user:{id}"]
type = "hash"

[key."user:{name}"]
type = "hash"
"#,
            r#"KW0107 4:6 two patterns accept the same keys [also matches `user:42`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "user:name:{name}""#,
        );
        check(
            r#"
[key."a:{x}:b"]
type = "hash"
[key."a:c:{y}"]
type = "hash"
"#,
            r#"KW0107 3:6 two patterns accept the same keys [also matches `a:c:b`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:c:y:{y}""#,
        );
        check(
            r#"
[key."a:{x:hex}"]
type = "hash"
[key."a:{y:base58}"]
type = "hash"
"#,
            r#"KW0107 3:6 two patterns accept the same keys [also matches `a:42`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:y:{y:base58}""#,
        );
        check(
            r#"
[key."a:{w:b|c}"]
type = "hash"
[key."a:{v:c|d}"]
type = "hash"
"#,
            r#"KW0107 3:6 two patterns accept the same keys [also matches `a:c`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:v:{v:c|d}""#,
        );
        check(
            r#"
[key."a:{r:rest}"]
type = "hash"
[key."{x}:b:{r:rest}"]
type = "hash"
"#,
            r#"KW0107 3:6 two patterns accept the same keys [also matches `a:b:42`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "x:{x}:b:{r:rest}""#,
        );
        check(
            r#"
[key."a:{{{x}}}"]
type = "hash"
[key."a:{{{y}}}"]
type = "hash"
"#,
            r#"KW0107 3:6 two patterns accept the same keys [also matches `a:{42}`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:y:{{{y}}}""#,
        );
    }

    #[test]
    fn keys_that_programs_name_are_not_to_be_called_otherwise() {
        check(
            r#"
[key."task-{id}.c"]
type = "hash"
[key."{queue}.c"]
type = "hash"
[key."{queue}-{n}"]
type = "hash"
"#,
            r#"KW0107 5:6 two patterns accept the same keys [also matches `123e4567-e89b-12d3-a456-426614174000.c`] | see 3:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" })"#,
        );
    }

    #[test]
    fn patterns_behind_too_many_overlaps_are_not_compared() {
        let keys: String =
            (0..400).map(|n| format!("[key.\"{{a{n}}}:x{{b:rest}}\"]\ntype = \"any\"\n")).collect();
        let checked = crate::check("many.toml", keys.as_bytes());
        let overlaps: Vec<_> =
            checked.diagnostics.iter().filter(|found| found.rule.code == "KW0107").collect();
        assert_eq!(overlaps.len(), super::MAX_FOUND);
        let last = overlaps.last().and_then(|found| found.related.last());
        let told = last.map(|label| label.text.as_str());
        assert_eq!(told, Some("349 patterns behind this one were not compared"));
    }

    #[test]
    fn the_help_mends_it() {
        check_help(
            r#"
[key."user:{id}"]
type = "hash"
[key."user:{name}"]
type = "hash"
"#,
            "user:{name}",
            "user:name:{name}",
        );
    }

    #[test]
    fn each_pattern_is_told_once_with_all_its_rivals() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
[key."a:{y}"]
type = "hash"
[key."a:{z}"]
type = "hash"
"#,
            r#"
KW0107 3:6 two patterns accept the same keys [also matches `a:42`] | see 1:6 first claimed here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:y:{y}"
KW0107 5:6 two patterns accept the same keys [also matches `a:42`] | see 1:6 first claimed here | see 3:6 and here | help: give one of them a narrower type or alphabet ({id:uint}, {id:text(a-z0-9)}), or an included file a prefix (with = { prefix = "…" }); or, if the keys are yours to name: "a:z:{z}"
"#,
        );
    }

    #[test]
    fn a_proper_subset_wins_and_is_no_overlap() {
        check(
            r#"
[key."user:{id}"]
type = "hash"
[key."user:active"]
type = "hash"
[key."user:{id:uint}"]
type = "hash"
[key."user:{id}:x"]
type = "hash"
[key."user:{r:rest}"]
type = "hash"
"#,
            "",
        );
        check(
            r#"
[key."use:{u}:{m:month}"]
type = "hash"
[key."use:{u}:{d:date}"]
type = "hash"
"#,
            "",
        );
    }
}
