//! KW0117: a placeholder in another notation is taken literally.

use super::warnings::Warnings;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::{Element, Kind, Part, Pattern, is_name};
use crate::read::KeyDraft;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0117",
    level: Level::Warning,
    title: "a placeholder in another notation is taken literally",
    why: "
A placeholder is written `{id}`. The `*` of globs, `<id>`, `[id]`, `$id` and
`%d` are characters like others: the pattern accepts only keys that have just
these. So is the sign of `${id}` and `#{id}`: the keys begin with it. Where keys
do, `allow` says so.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:*"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
};

/// The signs in front of braces by which programs put values into texts.
const INTERPOLATING: [char; 2] = ['$', '#'];

pub(crate) fn check(drafts: &[KeyDraft<'_>], warnings: &mut Warnings<'_>) {
    for (owner, draft) in drafts.iter().enumerate() {
        let Some(pattern) = &draft.pattern else { continue };
        let foreign = pattern.elements().iter().find_map(|element| match element {
            Element::Literal(literal) => Foreign::first_in(literal).map(|(_, foreign)| foreign),
            Element::Placeholder(_) => None,
        });
        if let Some(foreign) = foreign {
            warnings.push_with(owner, &RULE, || found(pattern, &foreign, draft.at));
        } else if let Some((sign, name)) = interpolated(pattern) {
            warnings.push_with(owner, &RULE, || found_sign(pattern, (sign, name), draft.at));
        }
    }
}

fn found(pattern: &Pattern, foreign: &Foreign<'_>, at: Span) -> Diagnostic {
    let allowed = format!("allow = [\"{}: keys are called so\"]", RULE.code);
    let help = match in_our_notation(pattern) {
        Some(meant) => format!("{}, or {allowed}", text_form(&meant)),
        None => allowed,
    };
    RULE.at(at, "just these characters")
        .saying(format!("`{}` is no placeholder and is taken literally", foreign.written))
        .help(help)
}

/// The sign of a program's interpolation, as in `${id}` and `#{id}`, that a placeholder of this
/// name has in front of it.
fn interpolated(pattern: &Pattern) -> Option<(char, &str)> {
    pattern.elements().windows(2).find_map(|pair| match pair {
        [Element::Literal(text), Element::Placeholder(index)] => {
            let sign = text.chars().last().filter(|last| INTERPOLATING.contains(last))?;
            Some((sign, &*pattern.placeholders()[*index].name))
        }
        _ => None,
    })
}

fn found_sign(pattern: &Pattern, (sign, name): (char, &str), at: Span) -> Diagnostic {
    let allowed = format!("allow = [\"{}: keys are called so\"]", RULE.code);
    let meant = pattern.text().replace(&format!("{sign}{{"), "{");
    let help = match Pattern::parse(&meant) {
        Ok(_) => format!("{}, or {allowed}", text_form(&meant)),
        Err(_) => allowed,
    };
    RULE.at(at, format!("accepts keys with a `{sign}`"))
        .saying(format!("the `{sign}` in front of `{{{name}}}` is taken literally"))
        .help(help)
}

/// The pattern with placeholders of ours, if it can be read.
fn in_our_notation(pattern: &Pattern) -> Option<String> {
    if pattern.text() == "*" {
        return Some("{key:rest}".to_owned());
    }
    let mut names: Vec<Box<str>> =
        pattern.placeholders().iter().map(|known| known.name.clone()).collect();
    let mut parts = Vec::new();
    for element in pattern.elements() {
        let mut rest = match element {
            Element::Literal(literal) => &**literal,
            Element::Placeholder(index) => {
                let known = &pattern.placeholders()[*index];
                parts
                    .push(Part::Placeholder { name: known.name.clone(), kind: known.kind.clone() });
                continue;
            }
        };
        while let Some((start, foreign)) = Foreign::first_in(rest) {
            parts.push(Part::Literal(rest[..start].into()));
            let name = free_name(foreign.name.unwrap_or("id"), &names);
            names.push(name.clone());
            parts.push(Part::Placeholder { name, kind: foreign.kind });
            rest = &rest[start + foreign.written.len()..];
        }
        parts.push(Part::Literal(rest.into()));
    }
    Some(Pattern::of_parts(parts).ok()?.text().to_owned())
}

/// The name, with a number behind it where it is taken.
fn free_name(name: &str, taken: &[Box<str>]) -> Box<str> {
    let is_free = |name: &str| !taken.iter().any(|known| **known == *name);
    if is_free(name) {
        return name.into();
    }
    let mut numbered = (2..).map(|number| format!("{name}{number}"));
    numbered.find(|name| is_free(name)).expect("as many are taken as there are").into()
}

/// A placeholder in another notation.
struct Foreign<'t> {
    written: &'t str,
    name: Option<&'t str>,
    kind: Kind,
}

impl<'t> Foreign<'t> {
    /// The first one in a text, and where it begins.
    fn first_in(text: &'t str) -> Option<(usize, Foreign<'t>)> {
        let signs = text.match_indices(['*', '<', '[', '$', '%']).map(|(start, _)| start);
        signs.into_iter().find_map(|start| Some((start, Foreign::at_start(&text[start..])?)))
    }

    fn at_start(text: &'t str) -> Option<Foreign<'t>> {
        let (sign, rest) = text.split_at(1);
        let bracketed = |close: char| {
            let name = rest.split_once(close)?.0;
            let written = &text[..name.len() + 2];
            is_name(name).then_some(Foreign { written, name: Some(name), kind: Kind::Str })
        };
        match sign {
            "*" => {
                let stars = text.bytes().take_while(|byte| *byte == b'*').count();
                Some(Foreign { written: &text[..stars], name: None, kind: Kind::Str })
            }
            "<" => bracketed('>'),
            "[" => bracketed(']'),
            "$" => {
                let name = word(rest);
                let written = &text[..=name.len()];
                is_name(name).then_some(Foreign { written, name: Some(name), kind: Kind::Str })
            }
            _ => {
                let verb = word(rest);
                let kind = match verb.trim_start_matches('l') {
                    "d" | "i" => Kind::Int,
                    "u" => Kind::Uint,
                    "x" => Kind::Hex,
                    "s" => Kind::Str,
                    _ => return None,
                };
                Some(Foreign { written: &text[..=verb.len()], name: None, kind })
            }
        }
    }
}

/// The letters, digits and underscores that a text begins with.
fn word(text: &str) -> &str {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    &text[..text.bytes().take_while(is_part).count()]
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn other_notations_are_offered_in_ours() {
        let check = |wrong: &str, right: &str| {
            let schema = format!("[key.\"{wrong}\"]\ntype = \"hash\"\n");
            check_help(&schema, &format!("\"{wrong}\""), &format!("\"{right}\""));
        };
        check("user:*", "user:{id}");
        check("user:**:cart", "user:{id}:cart");
        check("*", "{key:rest}");
        check("u:<id>", "u:{id}");
        check("o:%d", "o:{id:int}");
        check("o:%lu:%s", "o:{id:uint}:{id2}");
        check("q:[id]", "q:{id}");
        check("v:$user_id", "v:{user_id}");
        check("a:{id}:*:<id>", "a:{id}:{id2}:{id3}");
        check("{{<shop>}}:n", "{{{shop}}}:n");
        check("user:${id}", "user:{id}");
        check("cust:#{id}:#{part:uint}", "cust:{id}:{part:uint}");
    }

    #[test]
    fn the_sign_of_an_interpolation_stays_where_keys_have_it() {
        check(
            r##"
[key."user:${id}"]
type = "hash"
"##,
            r#"KW0117 1:6 the `$` in front of `{id}` is taken literally [accepts keys with a `$`] | help: "user:{id}", or allow = ["KW0117: keys are called so"]"#,
        );
        check("[key.\"a#:{x}\"]\ntype = \"hash\"\n", "");
    }

    #[test]
    fn what_cannot_be_written_in_ours_is_told_all_the_same() {
        check(
            r#"
[key."a:<x><y>"]
type = "hash"
"#,
            r#"KW0117 1:6 `<x>` is no placeholder and is taken literally [just these characters] | help: allow = ["KW0117: keys are called so"]"#,
        );
    }

    #[test]
    fn what_keys_are_really_called_is_allowed() {
        check(
            r#"
[key."binding.*"]
type = "set"
max_members = 9
allow = ["KW0117: the exchange is called so"]
"#,
            "",
        );
    }

    #[test]
    fn other_signs_are_text() {
        for text in ["50%:{x}", "a%discount:{x}", "$:{x}", "a<b:{x}", "[]:{x}", "[a b]:{x}", "1>0"]
        {
            check(&format!("[key.\"{text}\"]\ntype = \"hash\"\n"), "");
        }
    }
}
