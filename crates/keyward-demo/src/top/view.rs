//! How the table and one pattern of it are drawn.

use super::{Column, Row, Top};
use crate::board::{cut, grouped};
use crate::output::Screen;
use keyward_schema::{escape, size_in_words};

/// How narrow the column of patterns may become before others go.
const PATTERN_COLUMNS_MIN: usize = 24;
/// How wide the column of keyspaces may become.
const KEYSPACE_COLUMNS_MAX: usize = 18;
/// Bars of a line over time, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const REVERSE: &str = "\x1b[7m";
const RED: &str = "\x1b[31m";
const RESET: &str = "\x1b[0m";

/// Columns with their titles and widths, the most important first.
const WIDTHS: [(Column, &str, usize); 9] = [
    (Column::Keys, "keys", 11),
    (Column::Memory, "memory", 10),
    (Column::Reads, "reads/s", 10),
    (Column::Writes, "writes/s", 10),
    (Column::Found, "found", 7),
    (Column::Refused, "refused", 9),
    (Column::Expired, "expired/s", 10),
    (Column::Misfits, "misfits", 9),
    (Column::Evicted, "evicted", 9),
];

impl Top {
    /// The table, or the pattern that is looked at. On a screen with marks of what is chosen;
    /// elsewhere all of it, as plain text, as wide as its names are.
    pub fn draw(&self, title: &str, screen: Option<Screen>) -> String {
        let size =
            screen.unwrap_or_else(|| Screen { columns: self.columns_of_all(), rows: usize::MAX });
        let shown = self.shown();
        let lines = match self.place(&shown).and_then(|at| shown.get(at)) {
            Some(row) if self.is_detailed => self.detail(row, size),
            _ => self.table(&shown, size, screen.is_some()),
        };
        let mut text = String::new();
        if screen.is_some() {
            let head = self.head(title, shown.len());
            text.push_str(&styled(BOLD, &cut(&head, size.columns)));
            text.push('\n');
        }
        let room = if screen.is_some() { size.rows.saturating_sub(2) } else { usize::MAX };
        // The last lines can be reached, and nothing behind them.
        let first = match self.is_detailed && screen.is_some() {
            true => self.scrolled.min(lines.len().saturating_sub(room)),
            false => 0,
        };
        for line in lines.into_iter().skip(first).take(room) {
            text.push_str(&line);
            text.push('\n');
        }
        if screen.is_some() && size.rows > 1 {
            text.push_str(&styled(DIM, &cut(&self.help(), size.columns)));
        }
        text
    }

    fn head(&self, title: &str, shown: usize) -> String {
        let keys: u64 = self.rows.iter().map(|row| row.pattern.keys).sum();
        let bytes: u64 = self.rows.iter().map(|row| row.pattern.bytes).sum();
        let uses: f64 = self.rows.iter().map(|row| row.rates.reads + row.rates.writes).sum();
        let of = match shown == self.rows.len() {
            true => format!("{shown} patterns"),
            false => format!("{shown} of {} patterns", self.rows.len()),
        };
        format!(
            "keyward top  {}  {of}, {} keys, {}, {} uses a second",
            escape(title),
            grouped(keys),
            size_in_words(bytes),
            grouped(uses.round() as u64)
        )
    }

    fn help(&self) -> String {
        match (self.is_typing, self.is_detailed, self.filter.is_empty()) {
            (true, ..) => {
                format!("filter: {}_  Enter keeps it, Escape clears it", escape(&self.filter))
            }
            (_, true, _) => {
                "↑↓ another pattern  Space, b scroll  Escape the table  q back".to_owned()
            }
            (_, _, true) => {
                "↑↓ choose  ←→ sort by  r reverse  Enter detail  / filter  q end".to_owned()
            }
            _ => format!(
                "filter: {}  Escape clears it  ↑↓ choose  ←→ sort by  Enter detail  q end",
                escape(&self.filter)
            ),
        }
    }

    fn table(&self, shown: &[&Row], size: Screen, is_screen: bool) -> Vec<String> {
        let mut columns: Vec<(Column, &str, usize)> = WIDTHS.to_vec();
        let width =
            |columns: &[(Column, &str, usize)]| columns.iter().map(|it| it.2).sum::<usize>();
        while !columns.is_empty() && width(&columns) + PATTERN_COLUMNS_MIN > size.columns {
            columns.pop();
        }
        let name_columns = size.columns.saturating_sub(width(&columns)).max(1);
        let arrow = |column: Column| match (self.sort == column, self.is_up) {
            (true, true) => "↑",
            (true, false) => "↓",
            (false, _) => "",
        };
        let keyspace_max = if is_screen { KEYSPACE_COLUMNS_MAX } else { usize::MAX };
        let keyspace_columns = self.keyspace_columns(name_columns, keyspace_max);
        let mut head = String::new();
        if keyspace_columns > 0 {
            head.push_str(&padded("keyspace", keyspace_columns));
        }
        let rest = name_columns - keyspace_columns;
        head.push_str(&padded(&format!("pattern{}", arrow(Column::Pattern)), rest));
        for (column, title, width) in &columns {
            head.push_str(&format!("{:>width$}", format!("{title}{}", arrow(*column))));
        }
        let mut lines = vec![if is_screen { styled(DIM, &head) } else { head }];
        let room = if is_screen { size.rows.saturating_sub(3) } else { usize::MAX };
        let at = self.place(shown).unwrap_or(0);
        let first = (at + 1).saturating_sub(room.max(1));
        for (place, row) in shown.iter().enumerate().skip(first).take(room) {
            let mut line = name_cell(row, keyspace_columns, name_columns);
            for (column, _, width) in &columns {
                line.push_str(&format!("{:>width$}", cell(row, *column)));
            }
            let style =
                match (is_screen, place == at && self.chosen.is_some(), row.pattern.refused > 0) {
                    (true, true, _) => REVERSE,
                    (true, false, true) => RED,
                    _ => "",
                };
            lines.push(styled(style, &line));
        }
        lines
    }

    /// How wide the table is if nothing of it is cut.
    fn columns_of_all(&self) -> usize {
        let names = self.rows.iter().map(|row| name(row).chars().count());
        let names = names.max().unwrap_or(0).max(PATTERN_COLUMNS_MIN) + 2;
        let figures: usize = WIDTHS.iter().map(|(.., width)| width).sum();
        names + self.keyspace_columns(usize::MAX, usize::MAX) + figures
    }

    /// How wide the column of keyspaces is: none where there is only one, or no room for it.
    fn keyspace_columns(&self, name_columns: usize, most: usize) -> usize {
        let names = self.rows.iter().map(|row| escape(&row.pattern.keyspace).chars().count());
        let first = self.rows.first().map(|row| &row.pattern.keyspace);
        let is_one = self.rows.iter().all(|row| Some(&row.pattern.keyspace) == first);
        let width = names.max().unwrap_or(0).clamp("keyspace".len(), most) + 2;
        match is_one || name_columns < width + PATTERN_COLUMNS_MIN / 2 {
            true => 0,
            false => width,
        }
    }

    fn detail(&self, row: &Row, size: Screen) -> Vec<String> {
        let it = &row.pattern;
        let mut lines = vec![
            String::new(),
            styled(
                BOLD,
                &cut(
                    &format!("{}  ({}, database {})", name(row), escape(&it.keyspace), it.db),
                    size.columns,
                ),
            ),
            String::new(),
        ];
        let expected = match it.expected {
            0 => grouped(it.keys),
            expected => format!("{} of {} expected", grouped(it.keys), grouped(expected)),
        };
        let lifetime = match it.expiring {
            0 => "none has a lifetime".to_owned(),
            count => {
                format!("{} have one, {} left on average", grouped(count), time(it.remaining_ms))
            }
        };
        let figures = [
            ("keys", expected),
            ("memory", size_in_words(it.bytes)),
            ("lifetime", lifetime),
            (
                "reads",
                format!("{} a second, {} found", rate(row.rates.reads), cell(row, Column::Found)),
            ),
            ("writes", format!("{} a second", rate(row.rates.writes))),
            ("expired", format!("{}, {} a second", grouped(it.expired), rate(row.rates.expired))),
            ("evicted", grouped(it.evicted)),
            ("refused", format!("{}, warned of {}", grouped(it.refused), grouped(it.warned))),
            ("misfits", grouped(it.misfits)),
        ];
        for (title, figure) in figures {
            lines.push(cut(&format!("  {title:<12}{figure}"), size.columns));
        }
        lines.push(String::new());
        lines.push(cut(&format!("  {:<12}{}", "uses", bars(&row.past)), size.columns));
        for (title, texts) in &self.facts {
            lines.push(String::new());
            lines.push(cut(&format!("  {}", escape(title)), size.columns));
            lines.extend(
                texts.iter().map(|text| cut(&format!("    {}", escape(text)), size.columns)),
            );
        }
        lines
    }
}

fn name(row: &Row) -> String {
    match row.pattern.pattern.as_str() {
        "" => "(no pattern)".to_owned(),
        pattern => escape(pattern).to_string(),
    }
}

fn cell(row: &Row, column: Column) -> String {
    let it = &row.pattern;
    match column {
        Column::Pattern => name(row),
        Column::Keys => grouped(it.keys),
        Column::Memory => size_in_words(it.bytes),
        Column::Reads => rate(row.rates.reads),
        Column::Found => {
            it.found().map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0))
        }
        Column::Writes => rate(row.rates.writes),
        Column::Expired => rate(row.rates.expired),
        Column::Evicted => grouped(it.evicted),
        Column::Refused => grouped(it.refused),
        Column::Misfits => grouped(it.misfits),
    }
}

fn rate(rate: f64) -> String {
    grouped(rate.round() as u64)
}

/// A time in its largest unit.
fn time(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A line over time.
fn bars(points: &[f64]) -> String {
    let most = points.iter().copied().fold(0.0, f64::max);
    let bar = |point: &f64| {
        let share = if most > 0.0 { point / most } else { 0.0 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    points.iter().rev().take(60).rev().map(bar).collect()
}

/// The first cells of a row: its keyspace, where there are several, and its pattern.
fn name_cell(row: &Row, keyspace_columns: usize, columns: usize) -> String {
    let mut cell = String::new();
    if keyspace_columns > 0 {
        cell.push_str(&padded(&escape(&row.pattern.keyspace), keyspace_columns));
    }
    let rest = columns - keyspace_columns;
    cell.push_str(&padded(&shortened(&name(row), rest.saturating_sub(1)), rest));
    cell
}

/// A text in so many columns, without its middle if it is longer: patterns often differ at
/// their ends.
fn shortened(text: &str, columns: usize) -> String {
    let signs: Vec<char> = text.chars().collect();
    if signs.len() <= columns || columns < 3 {
        return cut(text, columns);
    }
    let behind = (columns - 1) / 2;
    let (before, end) = (columns - 1 - behind, signs.len() - behind);
    signs.iter().take(before).chain(&['…']).chain(signs.iter().skip(end)).collect()
}

/// A text in as many columns, at least one of them empty.
fn padded(text: &str, columns: usize) -> String {
    let text = cut(text, columns.saturating_sub(1));
    let rest = columns.saturating_sub(text.chars().count());
    text + &" ".repeat(rest)
}

fn styled(style: &str, text: &str) -> String {
    if style.is_empty() { text.to_owned() } else { format!("{style}{text}{RESET}") }
}
