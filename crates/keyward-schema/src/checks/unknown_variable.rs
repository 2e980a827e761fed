//! KW0015: there is no such variable.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0015",
    level: Level::Error,
    title: "there is no such variable",
    why: "
A file that others include may declare variables with their defaults under
`[variables]`; `${name}` in its texts is then the value that `with` gives, or the
default. `$${` stands for `${` itself. In a file without that table `${` means
nothing.
",
    wrong: r#"
[variables]
prefix = ""

[keyspace]
name = "shop"

[key."${prefx}user:{id}"]
type = "hash"
"#,
    right: r#"
[variables]
prefix = ""

[keyspace]
name = "shop"

[key."${prefix}user:{id}"]
type = "hash"
"#,
};

/// A text names a variable that its file does not declare.
pub(crate) fn undeclared<'a>(
    name: &str,
    declared: impl IntoIterator<Item = &'a str>,
    at: Span,
) -> Diagnostic {
    let near = nearest(name, declared);
    let help = near.map_or_else(
        || format!("declare it under [variables], or write $${{{name}}} for the text"),
        |near| format!("${{{near}}}"),
    );
    RULE.at(at, "unknown").saying(format!("there is no variable `{name}`")).help(help)
}

/// A value is given for a variable that a file does not have.
pub(crate) fn not_of<'a>(
    file: &str,
    name: &str,
    declared: impl IntoIterator<Item = &'a str>,
    at: Span,
) -> Diagnostic {
    let near = nearest(name, declared);
    RULE.at(at, "unknown")
        .saying(format!("{file} declares no variable `{name}`"))
        .help(near.map_or_else(|| "remove it".to_owned(), |near| format!("write `{near}`")))
}

/// What is no name of a variable.
pub(crate) fn no_name(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "no name")
        .saying(format!("`{name}` is no name for a variable"))
        .help("a name has letters, digits and `_`, and begins with no digit")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn only_declared_variables_are_filled_in() {
        check_help(
            "[variables]\nprefix = 'shop:'\n[key.'${prefx}a']\ntype = 'hash'",
            "${prefx}",
            "${prefix}",
        );
        check("[variables]\nprefix = 'shop:'\n[key.'${prefix}a']\ntype = 'hash'", "");
        check(
            "[variables]\n1x = 'a'\ny = 7\n[key.'a']\ntype = 'hash'",
            "
KW0015 2:1 `1x` is no name for a variable [no name] | help: a name has letters, digits and `_`, and begins with no digit
KW0006 3:5 `y` wants a text in quotes [this is a whole number]
",
        );
    }

    #[test]
    fn without_variables_a_text_means_itself() {
        check("[key.'a']\ntype = 'hash'\ndoc = 'costs ${x}'", "");
        check("[variables]\nx = '7'\n[key.'a']\ntype = 'hash'\ndoc = 'costs $${y}'", "");
    }
}
