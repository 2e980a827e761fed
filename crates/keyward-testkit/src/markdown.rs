//! Pages of Markdown with parts that a program can tell: fenced blocks, and what stands
//! between `<!-- name -->` and `<!-- end -->`.
//!
//! A test renews the parts it knows and holds the page against the result; with
//! `KEYWARD_WRITE_DOCS=1` it writes the page anew instead.

use std::path::Path;

/// A part of a page.
#[derive(Debug)]
pub struct Part<'a> {
    /// What is behind the opening fence, or the name in the marker.
    pub kind: &'a str,
    /// The line on which it opens.
    pub line: usize,
    /// What stands in it.
    pub text: String,
}

/// The page with parts in their renewed form; where `renewed` returns nothing a part stays.
pub fn renew(page: &str, mut renewed: impl FnMut(&Part<'_>) -> Option<String>) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut out = String::with_capacity(page.len());
    let mut next = 0;
    while let Some(&line) = lines.get(next) {
        next += 1;
        push_line(&mut out, line);
        let Some((kind, end)) = opening(line) else { continue };
        let Some(count) = lines[next..].iter().position(|line| *line == end) else { continue };
        let mut text = String::new();
        lines[next..next + count].iter().for_each(|line| push_line(&mut text, line));
        let part = Part { kind, line: next, text };
        let renewed = renewed(&part);
        out.push_str(&renewed.unwrap_or(part.text));
        push_line(&mut out, end);
        next += count + 1;
    }
    out
}

/// Holds a page against its renewed form, or writes that down.
///
/// # Panics
/// With the lines that differ.
pub fn keep(path: &Path, page: &str, renewed: &str) {
    if page == renewed {
        return;
    }
    if std::env::var_os("KEYWARD_WRITE_DOCS").is_some() {
        std::fs::write(path, renewed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let differs = page.lines().zip(renewed.lines()).position(|(old, new)| old != new);
    let first = differs.unwrap_or_else(|| page.lines().count().min(renewed.lines().count()));
    let shown = |text: &str| text.lines().skip(first).take(5).collect::<Vec<_>>().join("\n");
    panic!(
        "{}:{} says\n{}\nand it is\n{}\nKEYWARD_WRITE_DOCS=1 writes the page anew",
        path.display(),
        first + 1,
        shown(page),
        shown(renewed),
    );
}

/// The kind of the part that a line opens, and the line that closes it.
fn opening(line: &str) -> Option<(&str, &'static str)> {
    if let Some(kind) = line.strip_prefix("```") {
        return Some((kind, "```"));
    }
    let kind = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    Some((kind, "<!-- end -->"))
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n```sh\nls\n```\n<!-- table -->\nold\n<!-- end -->\n<!-- alone -->\n";

    #[test]
    fn parts_are_renewed_and_the_rest_stays() {
        let mut seen = Vec::new();
        let renewed = renew(PAGE, |part| {
            seen.push((part.kind.to_owned(), part.line, part.text.clone()));
            (part.kind == "table").then(|| "new\nnewer\n".to_owned())
        });
        assert_eq!(renewed, PAGE.replace("old", "new\nnewer"));
        let expected = [("sh", 2, "ls\n"), ("table", 5, "old\n")];
        let expected = expected.map(|(kind, line, text)| (kind.to_owned(), line, text.to_owned()));
        assert_eq!(seen, expected);
    }

    #[test]
    #[should_panic(expected = "page.md:2 says\nb\nand it is\nc\n")]
    fn a_page_that_is_behind_is_shown() {
        keep(Path::new("page.md"), "a\nb\n", "a\nc\n");
    }
}
