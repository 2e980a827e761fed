//! KW0509: placeholders of the same name do not fit each other.

use crate::diagnostic::{Level, Report, Rule};
use crate::pattern::Pattern;
use crate::read::template::Resolved;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0509",
    level: Level::Error,
    title: "placeholders of the same name do not fit each other",
    why: "
A value is carried from a placeholder of one key to a placeholder of another.
Each value that the first accepts must be accepted by the second. Declare both
with the same type.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code:hex}"]
type = "json"
ttl = "30d"
[key."usage:{code}:{chat_id}"]
type = "string"
ttl = { with = "coupon:{code}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code:hex}"]
type = "json"
ttl = "30d"
[key."usage:{code:hex}:{chat_id}"]
type = "string"
ttl = { with = "coupon:{code}" }
"#,
};

/// `None` if one does not fit. For derived keys the source fills the derived
/// key, for the others the key fills the source, so either may be the wider
/// only where that is harmless: both must accept the same.
/// The places are those of the key itself and of the one that is named.
pub(crate) fn check(
    resolved: &Resolved<'_>,
    own: &Pattern,
    at: Span,
    [own_at, target_at]: [Span; 2],
    report: &mut Report,
) -> Option<()> {
    let mut sound = Some(());
    for (name, kind) in resolved.names() {
        let Some(index) = own.placeholder(name) else { continue };
        let own_kind = &own.placeholders()[index].kind;
        if own_kind.is_within(kind) && kind.is_within(own_kind) {
            continue;
        }
        report.push(
            RULE.at(at, format!("`{{{name}}}` is {} here", own_kind.in_words()))
                .saying(format!(
                    "`{{{name}}}` is {kind} in `{}` and {own_kind} in `{own}`",
                    resolved.target
                ))
                .see(own_at, "this key")
                .see(target_at, "the one it names")
                .help(format!("{{{name}:{kind}}}")),
        );
        sound = None;
    }
    sound
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_name_is_one_type() {
        check(
            r#"
[key."c:{code:hex}"]
type = "hash"
[key."u:{code}:{chat}"]
type = "string"
ttl = { with = "c:{code}" }
"#,
            "KW0509 5:16 `{code}` is hex in `c:{code:hex}` and str in `u:{code}:{chat}` [`{code}` is anything without a colon here] | see 3:6 this key | see 1:6 the one it names | help: {code:hex}",
        );
        check(
            r#"
[key."c:{w:a|b}"]
type = "hash"
[key."u:{w:b|a}"]
type = "string"
ttl = { with = "c:{w}" }
"#,
            "",
        );
    }
}
