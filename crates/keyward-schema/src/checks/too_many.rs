//! KW0009: there are too many of these.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0009",
    level: Level::Error,
    title: "there are too many of these",
    why: "
Every table has a limit, so that a broken or hostile file cannot take the
server's memory: 64 includes, 4096 keys with 8192 words in their placeholders,
1024 functions with 32 keys and 32 arguments, 256 fields in one object, 1024 words in
one type, 16 levels of nesting, 16 keys above each other that one lives `with`.
",
    wrong: "",
    right: "",
};

pub(crate) fn found(what: &str, limit: usize, at: Span) -> Diagnostic {
    RULE.at(at, "one too many").saying(format!("there are more than {limit} {what}"))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;
    use crate::lifetime::MAX_LEADERS;
    use crate::read::{MAX_FUNCTIONS, MAX_KEYS, MAX_PLACEHOLDER_WORDS};
    use crate::shape::MAX_FIELDS;

    fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
        (0..count).map(line).collect()
    }

    #[test]
    fn leaders_above_each_other_have_their_limit() {
        let chain = |count| {
            let with = |n| {
                format!(
                    "[key.\"k{n}:{{x}}\"]\ntype = \"hash\"\nttl = {{ with = \"k{}:{{x}}\" }}\n",
                    n + 1
                )
            };
            let first = format!("[key.\"k{count}:{{x}}\"]\ntype = \"hash\"\nttl = \"1h\"\n");
            lines(count, with) + &first
        };
        check(&chain(MAX_LEADERS), "");
        // However many follow, it is told once.
        for count in [MAX_LEADERS + 1, MAX_LEADERS + 5] {
            let at = 3 * (count - MAX_LEADERS);
            let told = "there are more than 16 leaders above each other [one too many]";
            check(&chain(count), &format!("KW0009 {at}:7 {told}"));
        }
    }

    #[test]
    fn every_table_has_its_limit() {
        let keys = |count| lines(count, |n| format!("[key.k{n}]\ntype = \"hash\"\n"));
        check(&keys(MAX_KEYS), "");
        check(&keys(MAX_KEYS + 1), "KW0009 8193:6 there are more than 4096 keys [one too many]");
        let functions = |count| keys(1) + &lines(count, |n| format!("[function.f{n}]\n"));
        check(&functions(MAX_FUNCTIONS), "");
        check(
            &functions(MAX_FUNCTIONS + 1),
            "KW0009 1027:11 there are more than 1024 functions [one too many]",
        );
        let fields = |count| {
            format!("{}[key.k0.fields]\n{}", keys(1), lines(count, |n| format!("f{n} = \"int\"\n")))
        };
        check(&fields(MAX_FIELDS), "");
        check(
            &fields(MAX_FIELDS + 1),
            "KW0009 260:1 there are more than 256 fields [one too many]",
        );
        let args = |count| {
            format!(
                "{}[function.f]\nargs = [\n{}]\n",
                keys(1),
                lines(count, |n| format!("\"a{n}: int\",\n"))
            )
        };
        check(&args(32), "");
        check(&args(33), "KW0009 37:1 there are more than 32 args [one too many]");
    }

    #[test]
    fn the_words_of_all_placeholders_have_their_limit() {
        let key = |n: usize| format!("[key.\"k{n}:{{w:a|b|c|d}}\"]\ntype = \"hash\"\n");
        check(&lines(MAX_PLACEHOLDER_WORDS / 4, key), "");
        check(
            &lines(MAX_PLACEHOLDER_WORDS / 4 + 2, key),
            "KW0009 4097:6 there are more than 8192 words in placeholders [one too many]",
        );
    }

    #[test]
    fn nested_tables_have_their_limit() {
        let nested = |depth: usize| {
            let open: String = lines(depth, |_| "{ f = ".to_owned());
            format!(
                "[key.k]\ntype = \"json\"\nfields = {{ f = {open}\"int\"{} }}\n",
                "}".repeat(depth)
            )
        };
        check(&nested(15), "");
        check(&nested(16), "KW0009 3:106 there are more than 16 levels of nesting [one too many]");
    }
}
