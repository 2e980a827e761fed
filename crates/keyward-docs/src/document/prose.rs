//! Markdown by the author of a schema, made part of a document.
//!
//! Owns what of it counts: everything but raw HTML, which is shown as text,
//! and links that lead anywhere but to the web, to an address or into the
//! page, which lose their target. Pictures become links, so that a page loads
//! nothing. Headings move below the section they stand in.

use std::ops::Range;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// As HTML, its headings below this level.
pub(super) fn to_html(markdown: &str, level: usize) -> String {
    let mut out = String::new();
    html::push_html(&mut out, safe(markdown, level));
    out
}

/// As HTML without blocks: what can stand in a line.
pub(super) fn to_inline_html(markdown: &str) -> String {
    let is_inline = |event: &Event<'_>| match event {
        Event::Start(tag) => {
            matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })
        }
        Event::End(tag) => {
            matches!(tag, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link)
        }
        Event::Rule | Event::TaskListMarker(_) => false,
        _ => true,
    };
    // A block that ends is a space, or its words would run into the next one's.
    let events = safe(markdown, 0).filter_map(|event| match event {
        Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_) | TagEnd::TableCell) => {
            Some(Event::Text(" ".into()))
        }
        Event::HardBreak | Event::SoftBreak => Some(Event::Text(" ".into())),
        event => is_inline(&event).then_some(event),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out.trim_end().to_owned()
}

/// As Markdown for a document, its headings below this level.
pub(super) fn to_markdown(markdown: &str, level: usize) -> String {
    let markdown = markdown.trim();
    let mut out = String::with_capacity(markdown.len());
    let mut copied = 0;
    for Heading { level: own, range, text } in headings(markdown) {
        out.push_str(&markdown[copied..range.start]);
        out.push_str(&format!("{} {text}", "#".repeat(lowered(own, level))));
        copied = range.end - markdown[range.clone()].len() + markdown[range].trim_end().len();
    }
    out.push_str(&markdown[copied..]);
    out
}

/// The headings in a text, as words: they count among those of the document.
pub(super) fn heading_texts(markdown: &str) -> Vec<String> {
    let plain = |heading: Heading<'_>| {
        Parser::new_ext(heading.text, OPTIONS)
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(text.into_string()),
                _ => None,
            })
            .collect()
    };
    headings(markdown.trim()).into_iter().map(plain).collect()
}

struct Heading<'m> {
    level: usize,
    range: Range<usize>,
    /// Without its marks.
    text: &'m str,
}

fn headings(markdown: &str) -> Vec<Heading<'_>> {
    let mut headings = Vec::new();
    let mut text: Option<Range<usize>> = None;
    for (event, range) in Parser::new_ext(markdown, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => text = Some(range.end..range.start),
            Event::End(TagEnd::Heading(level)) => {
                let text = text.take().unwrap_or_default();
                let text = markdown.get(text).unwrap_or("");
                headings.push(Heading { level: level as usize, range, text });
            }
            _ => {
                if let Some(text) = &mut text {
                    *text = text.start.min(range.start)..text.end.max(range.end);
                }
            }
        }
    }
    headings
}

/// A heading's level so many further down.
fn lowered(own: usize, level: usize) -> usize {
    (own + level).min(6)
}

fn safe(markdown: &str, level: usize) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(markdown, OPTIONS).map(move |event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Heading { level: own, .. }) => Event::Start(Tag::Heading {
            level: level_of(own, level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(own)) => Event::End(TagEnd::Heading(level_of(own, level))),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url: safe_url(dest_url),
                title: CowStr::Borrowed(""),
                id: CowStr::Borrowed(""),
            })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        event => event,
    })
}

fn level_of(own: HeadingLevel, level: usize) -> HeadingLevel {
    HeadingLevel::try_from(lowered(own as usize, level)).unwrap_or(HeadingLevel::H6)
}

/// The address if it is one that a reader may follow.
fn safe_url(url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.to_ascii_lowercase();
    let schemes = ["https://", "http://", "mailto:", "#"];
    if schemes.iter().any(|scheme| lower.starts_with(scheme)) { url } else { "#".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_is_text_and_links_are_harmless() {
        let check = |markdown, html: &str| assert_eq!(to_inline_html(markdown), html);
        check("a *b* `c<d`", "a <em>b</em> <code>c&lt;d</code>");
        check("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;");
        check("x <img src=y onerror=z>", "x &lt;img src=y onerror=z&gt;");
        check("[a](javascript:alert(1))", "<a href=\"#\">a</a>");
        check("[a](https://example.com)", "<a href=\"https://example.com\">a</a>");
        check("![a](https://example.com/p.png)", "<a href=\"https://example.com/p.png\">a</a>");
        check("one\n\ntwo", "one two");
        assert_eq!(to_html("<b>\n\nx", 2), "&lt;b&gt;\n<p>x</p>\n");
    }

    #[test]
    fn headings_move_below_their_section() {
        assert_eq!(to_html("# A", 2), "<h3>A</h3>\n");
        let check = |markdown, lowered: &str| assert_eq!(to_markdown(markdown, 2), lowered);
        check("# A\n\nx\n\n## B `c`\ny", "### A\n\nx\n\n#### B `c`\ny");
        check("A\n===\n\nx", "### A\n\nx");
        check("```\n# no heading\n```", "```\n# no heading\n```");
        assert_eq!(heading_texts("# A\n\n## B `c`"), ["A", "B c"]);
    }
}
