//! The model of a document: sections of blocks of lines.
//!
//! Owns what both renderers know of a document, and nothing of where it comes
//! from. Invariants: every section's id is its own, and every link leads to
//! the id of a section.
//! Not here: lines (`keyward_schema::facts`), what a document says (`overview`, `key`, `function`, …), how it
//! looks (`markdown`, `html`).

/// A document.
use keyward_schema::facts::Line;

#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
    pub(super) sections: Vec<Section>,
}

/// A part of a document under a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// What links lead to.
    pub(super) id: String,
    pub(super) title: Line,
    pub(super) role: Role,
    /// A few words beside the heading.
    pub(super) badges: Vec<Badge>,
    pub(super) blocks: Vec<Block>,
    pub(super) sections: Vec<Section>,
}

impl Section {
    pub(super) fn new(id: impl Into<String>, title: Line, role: Role) -> Section {
        Section {
            id: id.into(),
            title,
            role,
            badges: Vec::new(),
            blocks: Vec::new(),
            sections: Vec::new(),
        }
    }
}

/// What a section is, as far as readers look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A chapter, or a part of one.
    Chapter,
    /// A key or a function: what the table of contents lists under a chapter,
    /// and what a filter finds.
    Entry,
    /// A part that the table of contents leaves out.
    Part,
}

/// A word beside a heading.
#[derive(Debug)]
pub(super) struct Badge {
    pub(super) text: String,
    /// What kind of thing it says, for its colour.
    pub(super) tone: &'static str,
}

/// Something below the other.
#[derive(Debug)]
pub(super) enum Block {
    /// Markdown by the author of the schema.
    Prose(String),
    Paragraph(Line),
    /// Labels and what they say.
    Facts(Vec<(&'static str, Vec<Line>)>),
    Table(Table),
    Code {
        language: Language,
        text: String,
    },
}

/// What a block of code is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Json,
    /// Lines for redis-cli, and comments.
    Redis,
    Text,
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Line>>,
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Whether it is aligned as numbers are.
    pub(super) is_number: bool,
}

impl Table {
    /// A table with such columns and no rows yet.
    pub(super) fn of<const N: usize>(titles: [&'static str; N]) -> Table {
        let column = |title| Column { title, is_number: false };
        Table { columns: titles.map(column).to_vec(), rows: Vec::new() }
    }

    /// Aligns the columns of these titles as numbers.
    pub(super) fn numbers(mut self, titles: &[&str]) -> Table {
        for column in &mut self.columns {
            column.is_number |= titles.contains(&column.title);
        }
        self
    }

    pub(super) fn push<const N: usize>(&mut self, row: [Line; N]) {
        assert_eq!(N, self.columns.len(), "a row has a cell for each column");
        self.rows.push(row.into());
    }

    /// The table without columns that say nothing in any row.
    pub(super) fn without_empty_columns(mut self) -> Table {
        for index in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[index].is_empty()) {
                self.columns.remove(index);
                for row in &mut self.rows {
                    row.remove(index);
                }
            }
        }
        self
    }
}
