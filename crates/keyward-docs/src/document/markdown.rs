//! A document as Markdown in GitHub's flavour.
//!
//! Links lead to the anchors that GitHub makes of headings, which GitLab and
//! the usual editors make alike.

use std::collections::BTreeMap;

use keyward_schema::facts::{Inline, Line};

use super::page::{Block, Language, Page, Role, Section, Table};
use super::prose;

/// Renders a document.
pub(super) fn render(page: &Page) -> String {
    let mut writer = Writer { out: String::new(), anchors: Anchors::of(page) };
    writer.block(&format!("# {}", escape(&page.title)));
    writer.blocks(&page.blocks, 1);
    writer.block("## Contents");
    writer.contents(&page.sections, 0);
    writer.out.push('\n');
    for section in &page.sections {
        writer.section(section, 2);
    }
    let end = writer.out.trim_end().len();
    writer.out.truncate(end);
    writer.out.push('\n');
    writer.out
}

struct Writer {
    out: String,
    anchors: Anchors,
}

impl Writer {
    fn block(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push_str("\n\n");
    }

    fn contents(&mut self, sections: &[Section], depth: usize) {
        for section in sections.iter().filter(|section| section.role == Role::Chapter) {
            let title = escape(&section.title.plain());
            let anchor = self.anchors.get(&section.id);
            self.out.push_str(&format!("{}- [{title}](#{anchor})\n", "  ".repeat(depth)));
            self.contents(&section.sections, depth + 1);
        }
    }

    fn section(&mut self, section: &Section, level: usize) {
        let title = self.line(&section.title);
        self.block(&format!("{} {title}", "#".repeat(level.min(6))));
        self.blocks(&section.blocks, level);
        for inner in &section.sections {
            self.section(inner, level + 1);
        }
    }

    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks {
            let text = match block {
                Block::Prose(markdown) => prose::to_markdown(markdown, level),
                Block::Paragraph(line) => self.line(line),
                Block::Facts(facts) => self.facts(facts),
                Block::Table(table) => self.table(table),
                Block::Code { language, text } => fenced(*language, text),
            };
            self.block(&text);
        }
    }

    fn facts(&self, facts: &[(&'static str, Vec<Line>)]) -> String {
        let mut out = String::new();
        for (label, lines) in facts {
            match &lines[..] {
                [line] => out.push_str(&format!("- **{label}:** {}\n", self.line(line))),
                lines => {
                    out.push_str(&format!("- **{label}:**\n"));
                    for line in lines {
                        out.push_str(&format!("  - {}\n", self.line(line)));
                    }
                }
            }
        }
        out
    }

    fn table(&self, table: &Table) -> String {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = row(table.columns.iter().map(|column| column.title.to_owned()).collect());
        let rule = |is_number: bool| if is_number { "---:" } else { "---" }.to_owned();
        out.push_str(&row(table.columns.iter().map(|column| rule(column.is_number)).collect()));
        for cells in &table.rows {
            out.push_str(&row(cells.iter().map(|cell| cell_text(&self.line(cell))).collect()));
        }
        out
    }

    fn line(&self, line: &Line) -> String {
        let inline = |inline: &Inline| match inline {
            Inline::Text(text) => escape(text),
            Inline::Strong(text) => format!("**{}**", escape(text)),
            Inline::Code(code) => code_span(code),
            Inline::Link { id, code } => {
                format!("[{}](#{})", code_span(code), self.anchors.get(id))
            }
            Inline::Prose(markdown) => one_line(markdown),
        };
        line.0.iter().map(inline).collect()
    }
}

/// Text that Markdown shows as it is.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            c if "\\`*_[]<>#|~".contains(c) => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Markdown that may have several lines, within one.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What may stand between the bars of a table, also within a code span.
fn cell_text(text: &str) -> String {
    text.replace('|', "\\|").replace("\\\\|", "\\|")
}

/// Code between as many backticks as it needs.
fn code_span(code: &str) -> String {
    let code = code.replace(['\n', '\r'], " ");
    let ticks = "`".repeat(longest_run(&code) + 1);
    let space = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{code}{space}{ticks}")
}

fn fenced(language: Language, text: &str) -> String {
    let language = match language {
        Language::Json => "json",
        Language::Redis => "redis",
        Language::Text => "text",
    };
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// For each section's id, the anchor that GitHub makes of its heading.
struct Anchors {
    by_id: BTreeMap<String, String>,
    /// How often each anchor was asked for.
    counts: BTreeMap<String, usize>,
}

impl Anchors {
    fn of(page: &Page) -> Anchors {
        let mut anchors = Anchors { by_id: BTreeMap::new(), counts: BTreeMap::new() };
        anchors.next(&page.title);
        anchors.count_prose(&page.blocks);
        anchors.next("Contents");
        for section in &page.sections {
            anchors.add(section);
        }
        anchors
    }

    fn add(&mut self, section: &Section) {
        let anchor = self.next(&section.title.plain());
        self.by_id.insert(section.id.clone(), anchor);
        self.count_prose(&section.blocks);
        for inner in &section.sections {
            self.add(inner);
        }
    }

    fn count_prose(&mut self, blocks: &[Block]) {
        for block in blocks {
            if let Block::Prose(markdown) = block {
                for text in prose::heading_texts(markdown) {
                    self.next(&text);
                }
            }
        }
    }

    /// The anchor of the next heading with that text.
    fn next(&mut self, heading: &str) -> String {
        let keeps = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        let anchor: String = heading
            .to_lowercase()
            .chars()
            .filter(keeps)
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let count = self.counts.entry(anchor.clone()).or_default();
        *count += 1;
        match *count {
            1 => anchor,
            count => format!("{anchor}-{}", count - 1),
        }
    }

    fn get(&self, id: &str) -> &str {
        self.by_id.get(id).expect("every link leads to a section of the document")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_as_it_is() {
        assert_eq!(escape("a_b *c* <d> #e"), "a\\_b \\*c\\* \\<d\\> \\#e");
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`a"), "`` `a ``");
        assert_eq!(cell_text("`a | b` x\\|y"), "`a \\| b` x\\|y");
        assert_eq!(fenced(Language::Text, "```\nx"), "````text\n```\nx\n````");
    }

    #[test]
    fn equal_headings_have_numbered_anchors() {
        let mut anchors = Anchors { by_id: BTreeMap::new(), counts: BTreeMap::new() };
        assert_eq!(anchors.next("user:{user_id}"), "useruser_id");
        assert_eq!(anchors.next("Short: up to 15 minutes"), "short-up-to-15-minutes");
        assert_eq!(anchors.next("useruser_id"), "useruser_id-1");
    }
}
