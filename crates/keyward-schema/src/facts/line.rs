//! Running text: words, code, links to keys and functions.
//!
//! Not here: what the lines say (`in_words`, `derivation`, `fields`, `key`), how they look in
//! a document.

/// Running text.
#[derive(Clone, Debug, Default)]
pub struct Line(pub Vec<Inline>);

/// A piece of running text.
#[derive(Clone, Debug)]
pub enum Inline {
    /// Words.
    Text(String),
    /// Emphasized words.
    Strong(String),
    /// A name, as the schema writes it.
    Code(String),
    /// A name that leads somewhere.
    Link {
        /// The id of the section it leads to; empty where there is none.
        id: String,
        /// The name.
        code: String,
    },
    /// Markdown by the author of the schema, of which only the running text counts.
    Prose(String),
}

impl Line {
    /// Words.
    pub fn text(text: impl Into<String>) -> Line {
        Line::default().and(text)
    }

    /// A name, as the schema writes it.
    pub fn code(code: impl Into<String>) -> Line {
        Line::default().and_code(code)
    }

    /// What the author of the schema wrote, if anything.
    pub fn prose(markdown: Option<&str>) -> Line {
        Line(markdown.map(|text| Inline::Prose(text.trim().to_owned())).into_iter().collect())
    }

    /// With words behind it.
    pub fn and(self, text: impl Into<String>) -> Line {
        let text = text.into();
        if text.is_empty() { self } else { self.with(Inline::Text(text)) }
    }

    /// With a name behind it.
    pub fn and_code(self, code: impl Into<String>) -> Line {
        self.with(Inline::Code(code.into()))
    }

    /// With emphasized words behind it.
    pub fn and_strong(self, text: impl Into<String>) -> Line {
        self.with(Inline::Strong(text.into()))
    }

    /// With a piece behind it.
    pub fn with(mut self, inline: Inline) -> Line {
        self.0.push(inline);
        self
    }

    /// With another line behind it.
    pub fn and_line(mut self, line: Line) -> Line {
        self.0.extend(line.0);
        self
    }

    /// Lines one behind the other with something between them.
    pub fn join(lines: impl IntoIterator<Item = Line>, between: &str) -> Line {
        let mut joined = Line::default();
        for line in lines {
            if !joined.is_empty() {
                joined = joined.and(between);
            }
            joined = joined.and_line(line);
        }
        joined
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words alone.
    pub fn plain(&self) -> String {
        let words = self.0.iter().map(|inline| match inline {
            Inline::Text(text)
            | Inline::Strong(text)
            | Inline::Code(text)
            | Inline::Link { code: text, .. }
            | Inline::Prose(text) => &**text,
        });
        words.collect()
    }
}
