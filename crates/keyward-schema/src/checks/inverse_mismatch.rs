//! KW0512: two mirrored sets do not mirror each other.

use crate::diagnostic::{Level, Report, Rule};
use crate::read::KeyDraft;
use crate::read::template::resolve;
use crate::source::Span;
use toml::de::DeValue;

pub(crate) static RULE: Rule = Rule {
    code: "KW0512",
    level: Level::Error,
    title: "two mirrored sets do not mirror each other",
    why: "
If one set is the `inverse` of another, that other one mirrors this one and no
third, and is not derived in another way. It may say so itself, or say nothing.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}:following"]
type = "set"
max_members = 5000
inverse = "user:{member}:blocked"
[key."user:{id}:followers"]
type = "set"
max_members = 5000
inverse = "user:{member}:following"

[key."user:{id}:blocked"]
type = "set"
max_members = 5000
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}:following"]
type = "set"
max_members = 5000
inverse = "user:{member}:followers"
[key."user:{id}:followers"]
type = "set"
max_members = 5000
inverse = "user:{member}:following"
"#,
};

/// Whether `other`, which `draft` calls its mirror, agrees. `None` if not.
pub(crate) fn check(
    draft: &KeyDraft<'_>,
    other: &KeyDraft<'_>,
    at: Span,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<()> {
    let Some(declared) = other.derivations().next() else {
        return check_rivals(draft, other, at, drafts, report);
    };
    let DeValue::String(back) = declared.value.get_ref() else {
        report.push(
            RULE.at(at, "derived in another way")
                .saying(format!("`{}` is derived from something else", other.text))
                .see(declared.name_at, "so"),
        );
        return None;
    };
    let leads_back = declared.name == "inverse"
        && resolve(back, drafts).is_ok_and(|back| std::ptr::eq(&drafts[back.key.index()], draft));
    if !leads_back {
        report.push(
            RULE.at(at, "not mutual")
                .saying(format!("`{}` does not mirror `{}`", other.text, draft.text))
                .see(declared.value.span().into(), "names another key")
                .help("let each name the other, or only one of them name the other"),
        );
    }
    leads_back.then_some(())
}

/// Two sets that both call a silent third one their mirror.
fn check_rivals(
    draft: &KeyDraft<'_>,
    other: &KeyDraft<'_>,
    at: Span,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<()> {
    let rival = drafts.iter().find(|rival| {
        let claims = rival.table.entry("inverse").and_then(|entry| entry.value.get_ref().as_str());
        !std::ptr::eq(*rival, draft)
            && claims.is_some_and(|claim| {
                resolve(claim, drafts)
                    .is_ok_and(|found| std::ptr::eq(&drafts[found.key.index()], other))
            })
    });
    let Some(rival) = rival else { return Some(()) };
    report.push(
        RULE.at(at, "the mirror of two")
            .saying(format!("`{}` and `{}` both mirror `{}`", draft.text, rival.text, other.text))
            .see(rival.at, "the other one"),
    );
    None
}
