//! A document as one HTML page.
//!
//! Owns the page's frame and the way each block looks; its style and its few
//! lines of script stand beside, in `html/`. Invariants: the page loads
//! nothing, which its content security policy also says; it is complete
//! without the script, which only filters; all text is escaped here or by
//! `prose`.

use keyward_schema::facts::{Inline, Line};

use super::json::{Token, tokens};
use super::page::{Block, Language, Page, Role, Section, Table};
use super::prose;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Renders a document.
pub(super) fn render(page: &Page) -> String {
    let mut writer = Writer { out: String::new() };
    let title = escape(&page.title);
    writer.push(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"keyward docs\">\n\
         <title>{title}: keys</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    ));
    writer.contents(page);
    writer.push(&format!("<main>\n<header>\n<h1>{title}</h1>\n</header>\n"));
    writer.blocks(&page.blocks, 1);
    for section in &page.sections {
        writer.section(section, 2);
    }
    writer.push("<footer>Written by <code>keyward docs</code> from the schema, which is what the server runs.</footer>\n");
    writer.push(&format!("</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    writer.out
}

struct Writer {
    out: String,
}

impl Writer {
    fn push(&mut self, html: &str) {
        self.out.push_str(html);
    }

    fn contents(&mut self, page: &Page) {
        self.push("<nav id=\"contents\" aria-label=\"Contents\">\n");
        self.push(&format!("<p class=\"brand\"><a href=\"#\">{}</a></p>\n", escape(&page.title)));
        self.push(
            "<input id=\"filter\" type=\"search\" placeholder=\"Filter keys and functions\" \
             aria-label=\"Filter keys and functions\" autocomplete=\"off\" spellcheck=\"false\" hidden>\n",
        );
        self.contents_of(&page.sections);
        self.push("</nav>\n");
    }

    fn contents_of(&mut self, sections: &[Section]) {
        if sections.iter().all(|section| section.role == Role::Part) {
            return;
        }
        self.push("<ul>\n");
        for section in sections.iter().filter(|section| section.role != Role::Part) {
            let (class, title) = match section.role {
                Role::Entry => {
                    let tone = section.badges.first().map_or("", |badge| badge.tone);
                    (format!(" class=\"entry {tone}\""), breakable(&section.title.plain()))
                }
                Role::Chapter | Role::Part => (String::new(), escape(&section.title.plain())),
            };
            self.push(&format!("<li{class}><a href=\"#{}\">{title}</a>", escape(&section.id)));
            self.contents_of(&section.sections);
            self.push("</li>\n");
        }
        self.push("</ul>\n");
    }

    fn section(&mut self, section: &Section, level: usize) {
        let (tag, class) = match section.role {
            Role::Entry => ("article", "entry"),
            Role::Chapter => ("section", "chapter"),
            Role::Part => ("section", "part"),
        };
        let id = escape(&section.id);
        let level = level.min(6);
        self.push(&format!("<{tag} class=\"{class}\" id=\"{id}\">\n<h{level}>"));
        self.push(&format!("<a class=\"anchor\" href=\"#{id}\">{}</a>", line(&section.title)));
        for badge in &section.badges {
            let (tone, text) = (badge.tone, escape(&badge.text));
            self.push(&format!(" <span class=\"badge {tone}\">{text}</span>"));
        }
        self.push(&format!("</h{level}>\n"));
        self.blocks(&section.blocks, level);
        for inner in &section.sections {
            self.section(inner, level + 1);
        }
        self.push(&format!("</{tag}>\n"));
    }

    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks {
            match block {
                Block::Prose(markdown) => {
                    self.push(&format!(
                        "<div class=\"prose\">\n{}</div>\n",
                        prose::to_html(markdown, level)
                    ));
                }
                Block::Paragraph(text) => self.push(&format!("<p>{}</p>\n", line(text))),
                Block::Facts(facts) => self.facts(facts),
                Block::Table(table) => self.table(table),
                Block::Code { language, text } => self.code(*language, text.trim_end()),
            }
        }
    }

    fn facts(&mut self, facts: &[(&'static str, Vec<Line>)]) {
        self.push("<dl>\n");
        for (label, lines) in facts {
            self.push(&format!("<dt>{}</dt>\n", escape(label)));
            for text in lines {
                self.push(&format!("<dd>{}</dd>\n", line(text)));
            }
        }
        self.push("</dl>\n");
    }

    fn table(&mut self, table: &Table) {
        self.push("<div class=\"table\"><table>\n<thead><tr>");
        let class =
            |index: usize| if table.columns[index].is_number { " class=\"number\"" } else { "" };
        for (index, column) in table.columns.iter().enumerate() {
            self.push(&format!("<th{}>{}</th>", class(index), escape(column.title)));
        }
        self.push("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            self.push("<tr>");
            for (index, cell) in row.iter().enumerate() {
                self.push(&format!("<td{}>{}</td>", class(index), line(cell)));
            }
            self.push("</tr>\n");
        }
        self.push("</tbody>\n</table></div>\n");
    }

    fn code(&mut self, language: Language, text: &str) {
        let (class, html) = match language {
            Language::Json => ("json", json(text)),
            Language::Redis => ("redis", redis(text)),
            Language::Text => ("text", escape(text)),
        };
        self.push(&format!("<pre class=\"{class}\" tabindex=\"0\"><code>{html}</code></pre>\n"));
    }
}

fn line(line: &Line) -> String {
    let inline = |inline: &Inline| match inline {
        Inline::Text(text) => escape(text),
        Inline::Strong(text) => format!("<strong>{}</strong>", escape(text)),
        Inline::Code(code) => format!("<code>{}</code>", breakable(code)),
        Inline::Link { id, code } => {
            format!("<a href=\"#{}\"><code>{}</code></a>", escape(id), breakable(code))
        }
        Inline::Prose(markdown) => prose::to_inline_html(markdown),
    };
    line.0.iter().map(inline).collect()
}

/// Text that HTML shows as it is, also within quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Code that may be broken behind colons outside of braces, so that long
/// patterns fit a phone.
fn breakable(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut depth = 0_usize;
    for c in code.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        out.push_str(&escape(c.encode_utf8(&mut [0; 4])));
        if c == ':' && depth == 0 {
            out.push_str("<wbr>");
        }
    }
    out
}

fn json(text: &str) -> String {
    let span = |(token, text): (Token, &str)| match token {
        Token::Name => format!("<span class=\"n\">{}</span>", escape(text)),
        Token::String => format!("<span class=\"s\">{}</span>", escape(text)),
        Token::Literal => format!("<span class=\"l\">{}</span>", escape(text)),
        Token::Mark => escape(text),
    };
    tokens(text).into_iter().map(span).collect()
}

/// Comments, and the name of each command.
fn redis(text: &str) -> String {
    let highlighted = text.lines().map(|line| match line.split_once(' ') {
        _ if line.starts_with('#') => format!("<span class=\"c\">{}</span>", escape(line)),
        Some((command, rest)) => {
            format!("<span class=\"k\">{}</span> {}", escape(command), escape(rest))
        }
        None => escape(line),
    });
    highlighted.collect::<Vec<_>>().join("\n")
}
