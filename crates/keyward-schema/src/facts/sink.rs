//! Where rows or items of a key go, in words.

use super::line::Line;
use crate::pattern::Pattern;
use crate::sink::{Column, ColumnSource, Deletion, Sink, SinkKind};

/// The table, what it has, and its columns where they are not what the schema calls them.
pub(super) fn lines(sink: &Sink, pattern: &Pattern, fields: &[&str]) -> Vec<Line> {
    let table = Line::code(&*sink.table);
    let what = match sink.kind {
        SinkKind::Mirror => {
            let line = Line::text("Mirrored in the table ").and_line(table);
            match sink.deletion {
                Deletion::Delete => line.and(", which has each row as it is now."),
                Deletion::Mark => line
                    .and(", which has each row as it is now; of one that is gone ")
                    .and_line(Line::code("deleted_at"))
                    .and(" says since when."),
            }
        }
        SinkKind::Archive => {
            let line = Line::text("What it was when it ended is kept in the table ");
            line.and_line(table).and(kept(sink))
        }
        SinkKind::Append => {
            let line = Line::text("What is pushed also goes to the table ");
            line.and_line(table).and(kept(sink))
        }
        SinkKind::Drain => {
            let line = Line::text("What is pushed goes to the table ").and_line(table);
            line.and(", and does not stay here").and(kept(sink))
        }
    };
    let mut lines = vec![what];
    if let Some(drop) = sink.drop {
        let text = format!(
            "{} after its push an item that the table has is dropped here.",
            drop.in_words()
        );
        lines.push(Line::text(text));
    }
    if sink.merge.is_some() {
        lines.push(Line::text("Numbers are added to those that the table has."));
    }
    let columns = sink.columns.iter().filter_map(|column| column_line(column, pattern, fields));
    let columns = Line::join(columns, ", ");
    if !columns.is_empty() {
        lines.push(Line::text("Columns: ").and_line(columns).and("."));
    }
    lines
}

fn kept(sink: &Sink) -> String {
    match sink.retain {
        Some(retain) => format!(" for {}.", retain.in_words()),
        None => ".".to_owned(),
    }
}

/// A column that is not called as what it is filled from, or has less of it.
fn column_line(column: &Column, pattern: &Pattern, fields: &[&str]) -> Option<Line> {
    let from = match &column.from {
        ColumnSource::Placeholder(index) => &*pattern.placeholders()[*index].name,
        ColumnSource::Field(index) => fields[*index],
        ColumnSource::Split(before, after) => {
            let split = Line::code(format!("{before}{{…}}{after}"));
            return Some(Line::code(&*column.name).and(" from ").and_line(split));
        }
        _ => return None,
    };
    let line = Line::code(&*column.name);
    match &column.strip {
        Some(strip) => {
            let line = line.and(" from ").and_line(Line::code(from));
            Some(line.and(" without ").and_line(Line::code(&**strip)))
        }
        None if *column.name != *from => Some(line.and(" from ").and_line(Line::code(from))),
        None => None,
    }
}
