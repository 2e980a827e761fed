//! KW0116: two files of a database claim the same keys.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Pattern;
use crate::schema::Key;

pub(crate) static RULE: Rule = Rule {
    code: "KW0116",
    level: Level::Error,
    title: "two files of a database claim the same keys",
    why: "
Files that share a database each have keys of their own, so that what one team
writes in its file changes nothing for another. Within a file the narrower of two
patterns wins; between files no key may match two patterns at all. Give the keys
of one file a prefix, or one of the files another `db`.
",
    wrong: "",
    right: "",
};

/// A file that another one includes.
pub(crate) struct Included<'a> {
    pub(crate) file: &'a str,
    pub(crate) by: &'a str,
}

/// `included` are those of the two files that others include.
pub(crate) fn found(
    key: &Key,
    (rival, place): (&Pattern, &str),
    example: &[u8],
    included: &[Included<'_>],
) -> Diagnostic {
    let example = String::from_utf8_lossy(example);
    let own = &key.pattern;
    let prefixed: Vec<String> = included
        .iter()
        .map(|Included { file, by }| {
            format!("the include of {file} in {by} `with = {{ prefix = \"…\" }}`")
        })
        .collect();
    let help = match &prefixed[..] {
        [] => "give the keys of one file a prefix, or one of the files another `db`".to_owned(),
        prefixed => {
            format!("write {}, or give one of the files another `db`", prefixed.join(" or "))
        }
    };
    RULE.at(key.at, format!("also matches `{example}`"))
        .saying(format!("`{own}` accepts `{example}` as `{rival}` of another file does ({place})"))
        .help(help)
}

/// Says of a finding how many more patterns of the same two files there are.
pub(crate) fn add_more(found: &mut Diagnostic, count: usize) {
    let patterns = if count == 1 { "pattern" } else { "patterns" };
    found.message += &format!(", and {count} more {patterns} of the same two files likewise");
}
