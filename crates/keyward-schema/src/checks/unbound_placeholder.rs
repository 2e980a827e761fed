//! KW0502: a placeholder has no value.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Pattern;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0502",
    level: Level::Error,
    title: "a placeholder has no value",
    why: "
A derived key or a key that lives `with` another must tell which one: each
placeholder needs a value. `with` takes them from the key itself; a `lookup`
has one placeholder more, for the indexed value; `rank` and `follows` have
those of their source only; a mirrored set has one that its mirror lacks.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[key."usage:{chat_id}"]
type = "string"
ttl = { with = "coupon:{code}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[key."usage:{code}:{chat_id}"]
type = "string"
ttl = { with = "coupon:{code}" }
"#,
};

pub(crate) fn found(setting: &str, unbound: &[&str], own: &Pattern, at: Span) -> Diagnostic {
    let names: Vec<String> = unbound.iter().map(|name| format!("{{{name}}}")).collect();
    RULE.at(at, "unbound")
        .saying(format!("`{setting}` uses {}, which `{own}` does not have", names.join(", ")))
        .help(format!("add it to the key: {}", text_form(&format!("{own}:{}", names.join(":")))))
}

pub(crate) fn lookup(own: &Pattern, unnamed: &[usize], at: Span) -> Diagnostic {
    let names: Vec<String> =
        unnamed.iter().map(|&index| format!("{{{}}}", own.placeholders()[index].name)).collect();
    match &names[..] {
        [] => RULE
            .at(at, "one placeholder more is needed")
            .saying(format!("`{own}` has no placeholder for the indexed value"))
            .help(text_form(&format!("{own}:{{value}}"))),
        several => RULE
            .at(at, format!("does not name {}", several.join(", ")))
            .saying(format!(
                "a lookup indexes one value, and any of {} could be it",
                several.join(", ")
            ))
            .help("drop all but one, or use the others in `of`"),
    }
}

pub(crate) fn of_source(setting: &str, own: &Pattern, unnamed: &[usize], at: Span) -> Diagnostic {
    let names: Vec<String> =
        unnamed.iter().map(|&index| format!("{{{}}}", own.placeholders()[index].name)).collect();
    RULE.at(at, format!("does not name {}", names.join(", ")))
        .saying(format!("nothing gives {} of `{own}` a value", names.join(", ")))
        .help(match setting {
            "rank" => {
                "leave it out of the key, or name it in `of` too: a rank is not split by a field, \
                 as `members` is"
            }
            _ => "use the same name in both",
        })
}

pub(crate) fn inverse(own: &Pattern, at: Span) -> Diagnostic {
    RULE.at(at, "its mirror")
        .saying(format!(
            "one placeholder of `{own}` must be a member of its mirror, and so not stand in it"
        ))
        .help("inverse = \"user:{member}:following\"")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn with_needs_every_placeholder() {
        check(
            r#"
[key."c:{code}"]
type = "hash"
[key."u:{chat}"]
type = "string"
ttl = { with = "c:{code}" }
"#,
            r#"KW0502 5:16 `with` uses {code}, which `u:{chat}` does not have [unbound] | see 3:6 this key | help: add it to the key: "u:{chat}:{code}""#,
        );
        check_help(
            r#"
[key."c:{code}"]
type = "hash"
[key."u:{chat}"]
type = "string"
ttl = { with = "c:{code}" }
"#,
            "u:{chat}",
            "u:{chat}:{code}",
        );
    }

    #[test]
    fn a_lookup_has_one_placeholder_more() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"KW0502 6:17 `by` has no placeholder for the indexed value [one placeholder more is needed] | see 4:6 this key | help: "by:{value}""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}:{f}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            "KW0502 6:17 a lookup indexes one value, and any of {e}, {f} could be it [does not name {e}, {f}] | see 4:6 this key | help: drop all but one, or use the others in `of`",
        );
    }

    #[test]
    fn a_rank_or_a_following_set_has_those_of_its_source_only() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."top:{x}"]
type = "zset"
rank = { of = "u:{id}", by = "n" }
"#,
            "KW0502 6:15 nothing gives {x} of `top:{x}` a value [does not name {x}] | see 4:6 this key | help: leave it out of the key, or name it in `of` too: a rank is not split by a field, as `members` is",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."top:{x}"]
type = "set"
follows = "u:{member}"
"#,
            "KW0502 6:11 nothing gives {x} of `top:{x}` a value [does not name {x}] | see 4:6 this key | help: use the same name in both",
        );
    }

    #[test]
    fn a_mirror_lacks_one() {
        check(
            r#"
[key."a:{x}:{y}"]
type = "set"
max_members = 5
inverse = "b:{member}"
[key."b:{x}"]
type = "set"
max_members = 5
"#,
            r#"KW0502 4:11 one placeholder of `a:{x}:{y}` must be a member of its mirror, and so not stand in it [its mirror] | see 1:6 this key | help: inverse = "user:{member}:following""#,
        );
    }
}
