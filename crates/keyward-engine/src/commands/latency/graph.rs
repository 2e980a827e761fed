//! LATENCY GRAPH: a series as columns of characters.
//!
//! Four rows of three levels each; below every column stands, top to bottom, how long
//! ago it was.

use crate::sessions::latency::Series;

const COLUMNS: usize = 80;
const ROWS: usize = 4;
/// The levels within a row, lowest first; a row below the top of a column is full.
const LEVELS: [char; 3] = ['_', 'o', '#'];
const FULL: char = '|';

/// Draws a series that has samples.
pub(crate) fn draw(event: &str, series: &Series, now_s: i64) -> String {
    let values: Vec<u64> = series.samples.iter().map(|sample| sample.ms).collect();
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    let all_time = series.ms_max;
    let mut text =
        format!("{event} - high {high} ms, low {low} ms (all time high {all_time} ms)\n");
    text.push_str(&"-".repeat(COLUMNS));
    text.push('\n');
    let columns: Vec<Column> = series
        .samples
        .iter()
        .map(|sample| Column {
            step: step(sample.ms - low, high - low),
            label: age(now_s - sample.time_s),
        })
        .collect();
    let parts: Vec<String> = columns.chunks(COLUMNS).map(part).collect();
    text.push_str(&parts.join("\n"));
    text
}

struct Column {
    /// How many levels high, from 0.
    step: usize,
    label: String,
}

fn step(value: u64, range: u64) -> usize {
    let steps = (ROWS * LEVELS.len()) as u64;
    ((value * steps) / range.max(1)).min(steps - 1) as usize
}

fn age(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// As many columns as fit into a line.
fn part(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut line = |character: &dyn Fn(&Column) -> char| {
        text.extend(columns.iter().map(character));
        text.push('\n');
    };
    for row in (0..ROWS).rev() {
        line(&|column| match column.step.checked_sub(row * LEVELS.len()) {
            None => ' ',
            Some(level) => LEVELS.get(level).copied().unwrap_or(FULL),
        });
    }
    line(&|_| ' ');
    let deepest = columns.iter().map(|column| column.label.len()).max().unwrap_or(0);
    for depth in 0..deepest {
        line(&|column| column.label.as_bytes().get(depth).map_or(' ', |byte| *byte as char));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::latency::Sample;

    #[test]
    fn a_series_becomes_columns_with_their_ages() {
        let mut series = Series::default();
        for (time_s, ms) in [(10, 100), (90, 150), (100, 200)] {
            series.add(Sample { time_s, ms });
        }
        let dashes = "-".repeat(80);
        let expected = format!(
            "command - high 200 ms, low 100 ms (all time high 200 ms)\n{dashes}\n  #\n _|\n ||\n_||\n   \n110\nm0s\n s \n"
        );
        assert_eq!(draw("command", &series, 100), expected);
    }
}
