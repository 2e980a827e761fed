//! Diagnostics as people read them, and as scripts do.
//!
//! Owns the picture of a finding (`human`) and its record (`json`).
//! Invariants: no control character of a schema file reaches the output, so a
//! hostile file cannot steer a terminal; the work for one finding is bounded
//! by what is shown, not by the size of the file.
//! Not here: summaries and exit codes, which are the command line's.

use std::borrow::Cow;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level as Severity, Origin, Padding};
use annotate_snippets::{Renderer, Snippet};
use keyward_schema::{Diagnostic, Label, Level, Source, Span, escape};
use serde_json::{Value, json};

/// How a finding is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without escape sequences.
    Plain,
    /// With the escape sequences of colours.
    Coloured,
}

/// The longest line that is shown; of a longer one only the position is told.
const MAX_LINE_BYTES: usize = 1000;

/// The most text that one picture spans. Places further apart are drawn one
/// below the other.
const MAX_PICTURE_BYTES: usize = 64 * 1024;

/// Draws a finding: its sentence, the places it speaks of, and help.
pub fn human(source: &Source, diagnostic: &Diagnostic, style: Style) -> String {
    let severity = match diagnostic.rule.level {
        Level::Error => Severity::ERROR,
        Level::Warning => Severity::WARNING,
    };
    let title = severity.primary_title(escape(&diagnostic.message)).id(diagnostic.rule.code);
    let mut group = Group::with_title(title).elements(places(source, diagnostic));
    if let Some(help) = &diagnostic.help {
        group = group.element(Padding).element(Severity::HELP.message(help_text(help)));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut picture = renderer.render(&[group]);
    picture.push('\n');
    picture
}

/// The record of a finding. Offsets count bytes from zero in the file that is
/// named; lines and columns count from one, columns in characters. A finding about the whole file has
/// `null` in their place.
pub fn json(source: &Source, diagnostic: &Diagnostic) -> Value {
    let mut record = json!({
        "code": diagnostic.rule.code,
        "level": diagnostic.rule.level.name(),
        "message": diagnostic.message,
    });
    let primary = Placed::new(source, AnnotationKind::Primary, &diagnostic.primary);
    let mut entries = label_entries(&primary, primary.is_text());
    entries.push(("related", related(source, diagnostic)));
    entries.push(("help", json!(diagnostic.help)));
    for (name, value) in entries {
        record[name] = value;
    }
    record
}

fn related(source: &Source, diagnostic: &Diagnostic) -> Value {
    let record = |label: &Label| {
        let label = Placed::new(source, AnnotationKind::Context, label);
        let entries = label_entries(&label, true).into_iter();
        Value::Object(entries.map(|(name, value)| (name.to_owned(), value)).collect())
    };
    diagnostic.related.iter().map(record).collect()
}

/// A label and the file in which it stands, by its place there.
struct Placed<'a> {
    kind: AnnotationKind,
    file: &'a Source,
    span: Span,
    text: &'a str,
}

impl<'a> Placed<'a> {
    fn new(source: &'a Source, kind: AnnotationKind, label: &'a Label) -> Placed<'a> {
        let (file, span) = source.locate(label.span);
        Placed { kind, file, span, text: &label.text }
    }

    /// Whether it points at text, rather than speaking of the file as a whole.
    fn is_text(&self) -> bool {
        !self.file.text.is_empty() && (self.span != Span::default() || !self.text.is_empty())
    }

    fn lines(&self) -> Range<usize> {
        lines_of(&self.file.text, self.span)
    }
}

fn label_entries(label: &Placed<'_>, place: bool) -> Vec<(&'static str, Value)> {
    let Placed { file, span, text, .. } = label;
    let (start, end) = (file.position(span.start), file.position(span.end));
    let at = |number: u32| if place { json!(number) } else { Value::Null };
    vec![
        ("file", json!(file.name)),
        ("start", at(span.start)),
        ("end", at(span.end)),
        ("line", at(start.line)),
        ("column", at(start.column)),
        ("end_line", at(end.line)),
        ("end_column", at(end.column)),
        ("label", json!(text)),
    ]
}

/// The picture's parts: one for the places of each file, or one for each place
/// where they lie far apart or on lines too long to be shown.
fn places<'a>(source: &'a Source, diagnostic: &'a Diagnostic) -> Vec<Element<'a>> {
    let primary = Placed::new(source, AnnotationKind::Primary, &diagnostic.primary);
    if !primary.is_text() {
        return vec![Origin::path(escape(&primary.file.name)).into()];
    }
    let mut labels = vec![primary];
    labels.extend(
        diagnostic.related.iter().map(|label| Placed::new(source, AnnotationKind::Context, label)),
    );
    let in_one_file = |a: &Placed<'_>, b: &Placed<'_>| std::ptr::eq(a.file, b.file);
    labels.chunk_by(in_one_file).flat_map(places_in_file).collect()
}

/// The parts for places of one file.
fn places_in_file<'a>(labels: &[Placed<'a>]) -> Vec<Element<'a>> {
    let all = |all: Range<usize>, one: Range<usize>| all.start.min(one.start)..all.end.max(one.end);
    let window = labels.iter().map(Placed::lines).reduce(all).unwrap_or_default();
    match is_shown(labels[0].file, &window) {
        true => vec![snippet(window, labels)],
        false => labels.iter().flat_map(far_place).collect(),
    }
}

/// One place by itself.
fn far_place<'a>(label: &Placed<'a>) -> Vec<Element<'a>> {
    let window = label.lines();
    if is_shown(label.file, &window) {
        return vec![snippet(window, std::slice::from_ref(label))];
    }
    let position = label.file.position(label.span.start);
    let origin = Origin::path(escape(&label.file.name))
        .line(position.line as usize)
        .char_column(position.column as usize);
    let note = (!label.text.is_empty()).then(|| Severity::NOTE.message(escape(label.text)));
    std::iter::once(origin.into()).chain(note.map(Element::from)).collect()
}

/// A picture of some lines of the file of these labels.
fn snippet<'a>(window: Range<usize>, labels: &[Placed<'a>]) -> Element<'a> {
    let file = labels[0].file;
    let line_start = file.position(window.start as u32).line as usize;
    let annotations = labels.iter().map(|label| {
        let shown = on_boundaries(&file.text, label.span);
        let text = (!label.text.is_empty()).then(|| escape(label.text));
        label.kind.span(shown.start - window.start..shown.end - window.start).label(text)
    });
    Snippet::source(visible(&file.text[window.clone()]))
        .path(escape(&file.name))
        .line_start(line_start)
        .annotations(annotations)
        .into()
}

/// The range of the whole lines that a span touches, without the last line's end.
fn lines_of(text: &str, span: Span) -> Range<usize> {
    let range = on_boundaries(text, span);
    let text = text.as_bytes();
    let start = memchr::memrchr(b'\n', &text[..range.start]).map_or(0, |newline| newline + 1);
    let end =
        memchr::memchr(b'\n', &text[range.end..]).map_or(text.len(), |length| range.end + length);
    start..end
}

fn is_shown(source: &Source, window: &Range<usize>) -> bool {
    window.len() <= MAX_PICTURE_BYTES
        && source.text[window.clone()].lines().all(|line| line.len() <= MAX_LINE_BYTES)
}

/// The range of a span, moved inwards to where characters begin.
fn on_boundaries(text: &str, span: Span) -> Range<usize> {
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.ceil_char_boundary(span.end as usize).max(start);
    start..end
}

/// The text of a snippet with the control characters that the renderer leaves
/// alone replaced by as many bytes, so that offsets keep their meaning.
fn visible(text: &str) -> Cow<'_, str> {
    // The renderer draws those of ASCII itself; the others take two bytes.
    let is_c1 = |c: char| c.is_control() && !c.is_ascii();
    if text.contains(is_c1) {
        Cow::Owned(text.chars().map(|c| if is_c1(c) { '¿' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Help of one line stands behind its heading; a passage to be pasted stands
/// below it, so that each of its lines begins in the same column.
fn help_text(help: &str) -> String {
    let lines: Vec<Cow<'_, str>> = help.lines().map(escape).collect();
    match &lines[..] {
        [one] => one.clone().into_owned(),
        lines => format!("write\n{}", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use keyward_schema::{MAX_FILE_BYTES, check, rule};

    fn drawn(bytes: &[u8]) -> String {
        let checked = check("shop/keyward.toml", bytes);
        let pictures: Vec<String> = checked
            .diagnostics
            .iter()
            .map(|found| human(&checked.source, found, Style::Plain))
            .collect();
        pictures.join("\n")
    }

    fn wrong(code: &str) -> &'static [u8] {
        rule(code).expect("a rule").wrong.trim().as_bytes()
    }

    #[test]
    fn places_and_help_make_one_picture() {
        assert_snapshot!(drawn(wrong("KW0107")));
    }

    #[test]
    fn places_on_one_line_share_it() {
        assert_snapshot!(drawn(wrong("KW0307")));
    }

    #[test]
    fn several_findings_follow_each_other() {
        assert_snapshot!(drawn(
            b"[keyspace]\nname = 'shop'\nmode = 'strict'\n\n[key.'user-{id}']\ntype = 'hsah'\n"
        ));
    }

    #[test]
    fn colours_are_escape_sequences_around_the_same_text() {
        let checked = check("a.toml", wrong("KW0107"));
        let draw = |style| human(&checked.source, &checked.diagnostics[0], style);
        let coloured = draw(Style::Coloured);
        assert!(coloured.contains("\u{1b}[1m"), "{coloured:?}");
        let mut plain = String::new();
        for (index, part) in coloured.split('\u{1b}').enumerate() {
            let text = if index == 0 { Some(part) } else { part.split_once('m').map(|cut| cut.1) };
            plain.push_str(text.expect("a colour"));
        }
        assert_eq!(plain, draw(Style::Plain));
    }

    #[test]
    fn what_has_no_place_names_the_file() {
        assert_snapshot!("empty", drawn(b""));
        assert_snapshot!("not_text", drawn(b"[key\xff"));
        assert_snapshot!("too_large", drawn(&vec![b'#'; MAX_FILE_BYTES + 1]));
    }

    #[test]
    fn the_end_of_the_file_is_a_place() {
        assert_snapshot!(drawn(b"[keyspace]\nname = \"shop\"\n[key"));
    }

    #[test]
    fn characters_of_several_bytes_are_pointed_at_whole() {
        assert_snapshot!(drawn("[keyspace]\nname = \"größe\"\n\"größe\" = 1\nü".as_bytes()));
    }

    #[test]
    fn control_characters_never_reach_the_picture() {
        let name = "\u{1b}]0;owned\u{7}\r\u{9b}31m\u{202e}";
        let text = "[keyspace]\nname = \"\u{1b}[2J\u{9b}2J\"\n\"\\u001B[31mx\\u009B\\r\" = 1\n";
        let checked = check(name, text.as_bytes());
        assert!(checked.diagnostics.len() >= 2);
        for found in &checked.diagnostics {
            let picture = human(&checked.source, found, Style::Plain);
            let raw = picture.chars().find(|&c| c.is_control() && c != '\n');
            assert_eq!(raw, None, "{picture}");
        }
    }

    #[test]
    fn of_a_long_line_only_the_position_is_told() {
        let text = format!("[keyspace]\nname = \"shop\"\ndoc = \"{}\" ,\n", "x".repeat(100_000));
        assert_snapshot!(drawn(text.as_bytes()));
    }

    #[test]
    fn far_places_are_drawn_one_below_the_other() {
        let filler = "# nothing\n".repeat(10_000);
        let text = format!(
            "[keyspace]\nname = \"shop\"\n[key.\"a:{{x}}\"]\ntype = \"hash\"\n{filler}[key.\"a:{{y}}\"]\ntype = \"hash\"\n"
        );
        assert_snapshot!(drawn(text.as_bytes()));
    }

    #[test]
    fn records_hold_everything_a_script_needs() {
        let checked = check("shop/keyward.toml", wrong("KW0107"));
        let record = json(&checked.source, &checked.diagnostics[0]);
        assert_snapshot!("record", serde_json::to_string_pretty(&record).expect("JSON"));
        let checked = check("shop/keyward.toml", b"\xff");
        let record = json(&checked.source, &checked.diagnostics[0]);
        assert_snapshot!("record_without_place", record.to_string());
    }
}
