//! What a type that cannot be read most likely means: other languages' names and notations.
//!
//! Invariant: what is offered can be read.

use crate::nearest::nearest;
use crate::shape::{ExprError, ExprProblem, TYPE_NAMES, parse_expr};

/// What other languages call the types of values.
pub(super) const OTHER_NAMES: &[(&str, &str)] = &[
    ("text", "string"),
    ("varchar", "string"),
    ("nvarchar", "string"),
    ("char", "string"),
    ("character", "string"),
    ("id", "string"),
    ("email", "string"),
    ("url", "string"),
    ("uri", "string"),
    ("blob", "bytes"),
    ("binary", "bytes"),
    ("bytea", "bytes"),
    ("buffer", "bytes"),
    ("integer", "int"),
    ("long", "int"),
    ("short", "int"),
    ("bigint", "int"),
    ("smallint", "int"),
    ("counter", "int"),
    ("unsigned", "uint"),
    ("number", "float"),
    ("double", "float"),
    ("real", "float"),
    ("numeric", "decimal"),
    ("money", "decimal"),
    ("boolean", "bool"),
    ("flag", "bool"),
    ("time", "timestamp"),
    ("datetime", "timestamp"),
    ("timestamptz", "timestamp"),
    ("map", "{string: json}"),
    ("dict", "{string: json}"),
    ("hash", "{string: json}"),
    ("array", "json[]"),
    ("list", "json[]"),
    ("set", "json[]"),
    ("any", "json"),
];

/// Numbers by their width in bits, as in `int64`, `u8` and `float32`.
const NUMBERS: [(&str, &str); 6] = [
    ("int", "int"),
    ("i", "int"),
    ("uint", "uint"),
    ("u", "uint"),
    ("float", "float"),
    ("f", "float"),
];
const WIDTHS: [&str; 5] = ["8", "16", "32", "64", "128"];

const TEXTS: [&str; 7] = ["string", "str", "text", "varchar", "nvarchar", "char", "bytes"];
const LISTS: [&str; 6] = ["list", "array", "set", "vec", "sequence", "tuple"];
const MAPS: [&str; 5] = ["map", "dict", "hash", "hashmap", "record"];
const OPTIONAL: [&str; 3] = ["optional", "option", "maybe"];

/// How deep a foreign notation is followed.
const MAX_DEPTH: usize = 4;
/// The most words of a list that is taken for an enum.
const MAX_LISTED: usize = 32;

/// What was meant.
pub(super) enum Meant {
    /// A type.
    Type(String),
    /// A text of at most so many bytes, which only a table can say.
    Text { optional: bool, bytes_max: u64 },
}

/// What was most likely meant by a text that has this error.
pub(super) fn meant(text: &str, error: &ExprError) -> Option<Meant> {
    let (core, mark) = match text.trim().strip_suffix('?') {
        Some(core) => (core.trim_end(), "?"),
        None => (text.trim(), ""),
    };
    if let Some((name, inner, ')')) = generic(core)
        && TEXTS.contains(&&*name)
        && let Ok(bytes_max) = inner.parse()
    {
        return Some(Meant::Text { optional: !mark.is_empty(), bytes_max });
    }
    let whole = without_mark(core)
        .map(|required| format!("{required}?"))
        .or_else(|| Some(format!("{}{mark}", translated(core, 0)?)));
    let whole = whole.filter(|whole| parse_expr(whole, None).is_ok());
    whole.or_else(|| corrected(text, error)).map(Meant::Type)
}

/// The text with our name, or the nearest to it, in the place of one that is unknown.
fn corrected(text: &str, error: &ExprError) -> Option<String> {
    let ExprProblem::UnknownType(name) = &error.problem else { return None };
    let better = ours(name).or_else(|| nearest(name, TYPE_NAMES))?;
    let start = error.range.start;
    let mut text = text.to_owned();
    text.replace_range(start..start + name.len(), better);
    Some(text)
}

/// Our name for another language's.
fn ours(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let of_a_width = || {
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let stem = name.strip_suffix(digits).filter(|_| WIDTHS.contains(&digits))?;
        NUMBERS.iter().find(|(other, _)| *other == stem)
    };
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name);
    known.or_else(of_a_width).map(|(_, ours)| *ours)
}

/// What is in `optional int` and `Optional[int]`.
fn without_mark(text: &str) -> Option<String> {
    let (word, inner) = match generic(text) {
        Some((word, inner, _)) => (word, inner),
        None => {
            let (word, inner) = text.split_once(' ')?;
            (word.to_ascii_lowercase(), inner.trim())
        }
    };
    if OPTIONAL.contains(&&*word) { translated(inner, 1) } else { None }
}

/// A text of another language in our notation.
fn translated(text: &str, depth: usize) -> Option<String> {
    let text = text.trim();
    if depth > MAX_DEPTH {
        return None;
    }
    if parse_expr(text, None).is_ok_and(|(_, optional)| !optional) {
        return Some(text.to_owned());
    }
    if let Some(ours) = ours(text) {
        return Some(ours.to_owned());
    }
    let array = |item: &str| {
        let item = translated(item, depth + 1)?;
        Some(if item.contains('|') { format!("({item})[]") } else { format!("{item}[]") })
    };
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return array(inner);
    }
    let Some((name, inner, _)) = generic(text) else { return words(text) };
    match &*name {
        name if LISTS.contains(&name) => array(inner),
        name if MAPS.contains(&name) => {
            let (key, value) = inner.split_once([',', ':'])?;
            let (key, value) = (translated(key, depth + 1)?, translated(value, depth + 1)?);
            Some(format!("{{{key}: {value}}}"))
        }
        "enum" => words(inner),
        "decimal" | "numeric" if let Some((_, scale)) = inner.split_once(',') => {
            Some(format!("decimal({})", scale.trim()))
        }
        "numeric" => Some("decimal(0)".to_owned()),
        "decimal" => None,
        // The width of what is shown.
        name if inner.bytes().all(|byte| byte.is_ascii_digit()) => ours(name)
            .or_else(|| TYPE_NAMES.into_iter().find(|own| *own == name))
            .map(str::to_owned),
        _ => None,
    }
}

/// `name(inner)`, `name[inner]` or `name<inner>`: the name in small letters, what is within,
/// and what closes it.
fn generic(text: &str) -> Option<(String, &str, char)> {
    let (name, rest) = text.split_at(text.find(['(', '[', '<'])?);
    let mut rest = rest.chars();
    let close = match rest.next()? {
        '(' => ')',
        '[' => ']',
        _ => '>',
    };
    let inner = rest.as_str().strip_suffix(close)?.trim();
    let is_whole = !inner.is_empty() && !name.trim().is_empty();
    is_whole.then(|| (name.trim().to_ascii_lowercase(), inner, close))
}

/// The words of a list with commas as an enum.
fn words(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split(',').map(|word| word.trim().trim_matches('\'')).take(MAX_LISTED + 1).collect();
    let is_word = |word: &&str| !TYPE_NAMES.contains(word) && ours(word).is_none();
    let is_list = (2..=MAX_LISTED).contains(&words.len()) && words.iter().all(is_word);
    is_list.then(|| words.join(" | "))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn notations_of_other_languages_are_offered_in_ours() {
        let check = |other: &str, ours: &str| {
            let schema =
                format!("[key.\"a:{{x}}\"]\ntype = \"json\"\nfields = {{ f = \"{other}\" }}\n");
            check_help(&schema, &format!("\"{other}\""), ours);
        };
        check("a,b", "\"a | b\"");
        check("small, large?", "\"small | large?\"");
        check("enum('a', 'b')", "\"a | b\"");
        check("optional int", "\"int?\"");
        check("Optional[str]", "\"str?\"");
        check("decimal(10,2)", "\"decimal(2)\"");
        check("numeric(10, 2)?", "\"decimal(2)?\"");
        check("numeric(10)", "\"decimal(0)\"");
        check("int(11)", "\"int\"");
        check("string(80)", "{ type = \"string\", len = \"..80\" }");
        check("VARCHAR(80)?", "{ type = \"string?\", len = \"..80\" }");
        check("[string]", "\"string[]\"");
        check("list[string]", "\"string[]\"");
        check("List<text>?", "\"string[]?\"");
        check("[a, b]", "\"(a | b)[]\"");
        check("map<string, int64>", "\"{string: int}\"");
        check("int64", "\"int\"");
        check("u32[]", "\"uint[]\"");
        check("Float32 | null", "\"float | null\"");
        check("DateTime", "\"timestamp\"");
    }

    #[test]
    fn a_length_beside_the_type_stands_in_the_same_table() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { f = { type = "varchar(80)?", doc = "what" } }
"#,
            r#"type = "varchar(80)?""#,
            r#"type = "string?", len = "..80""#,
        );
    }

    #[test]
    fn what_has_no_meaning_is_not_guessed() {
        let none = |text: &str, expected: &str| {
            let schema =
                format!("[key.\"a:{{x}}\"]\ntype = \"json\"\nfields = {{ f = \"{text}\" }}\n");
            check(&schema, expected);
        };
        none("list[", "KW0202 3:22 expected `]` [here]");
        none("[]", "KW0202 3:17 expected a type [here]");
        none(
            "decimal(99)",
            "KW0202 3:25 expected the number of digits behind the point, 0 to 30 [here]",
        );
        none("decimal(10,99)", "KW0202 3:27 expected `)` [here]");
        none("list[list[list[list[list[list[int]]]]]]", "KW0202 3:22 expected `]` [here]");
    }

    #[test]
    fn functions_are_offered_whole_arguments() {
        let check = |arg: &str, ours: &str| {
            let schema = format!(
                "[key.\"a:{{x}}\"]\ntype = \"hash\"\n[function.f]\nkeys = [\"a:{{x}}\"]\nargs = [\"{arg}\"]\n"
            );
            check_help(&schema, &format!("\"{arg}\""), ours);
        };
        check("n: integer", "\"n: int\"");
        check("n: optional int", "\"n: int?\"");
        check("items: [text]...", "\"items: string[]...\"");
        check("name: varchar(80)", "\"name: string\"");
        check_help(
            "[key.\"a:{x}\"]\ntype = \"hash\"\n[function.f]\nreply = \"[integer]\"\n",
            "\"[integer]\"",
            "\"int[]\"",
        );
    }
}
