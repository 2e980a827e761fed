//! LCS: the longest common subsequence of two strings.
//!
//! Owns the table of lengths and the walk back through it. The table's size is
//! bounded by `proto-max-bulk-len`, as in Redis.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::values::text::Text;

#[derive(Default)]
struct LcsOptions {
    wants_length: bool,
    wants_matches: bool,
    with_match_length: bool,
    match_length_min: i64,
}

pub(crate) fn lcs(ctx: &mut Ctx<'_>) -> Outcome {
    let [a, b] = [1, 2].map(|position| {
        let key = ctx.key(position);
        match ctx.keys.read(key).map(|row| Text::of(row.value())) {
            Some(Some(text)) => Ok(text.as_bytes().to_vec()),
            Some(None) => Err(WireError::Err("The specified keys must contain string values")),
            None => Ok(Vec::new()),
        }
    });
    let (a, b) = (a?, b?);
    let options = parse(ctx)?;
    let lengths = Lengths::of(&a, &b, ctx.shared.tunables.text_bytes_max)?;
    if options.wants_matches {
        reply_matches(ctx, &lengths, &options);
    } else if options.wants_length {
        ctx.reply.integer(lengths.total().into());
    } else {
        let common: Vec<u8> = lengths.walk_back().map(|(at, _)| a[at]).collect();
        let common: Vec<u8> = common.into_iter().rev().collect();
        ctx.reply.bulk(&common);
    }
    Ok(())
}

fn parse(ctx: &Ctx<'_>) -> Result<LcsOptions, WireError> {
    let mut parsed = LcsOptions::default();
    let mut options = Options::new(ctx.args, 3);
    while let Some(word) = options.next() {
        if args::is(word, "IDX") {
            parsed.wants_matches = true;
        } else if args::is(word, "LEN") {
            parsed.wants_length = true;
        } else if args::is(word, "WITHMATCHLEN") {
            parsed.with_match_length = true;
        } else if args::is(word, "MINMATCHLEN") {
            parsed.match_length_min = args::integer(options.value()?)?.max(0);
        } else {
            return Err(WireError::Syntax);
        }
    }
    if parsed.wants_length && parsed.wants_matches {
        let text = "If you want both the length and indexes, please just use IDX.";
        return Err(WireError::Err(text));
    }
    Ok(parsed)
}

/// For each pair of prefixes, how long their common subsequence is.
struct Lengths<'a> {
    a: &'a [u8],
    b: &'a [u8],
    table: Vec<u32>,
}

impl<'a> Lengths<'a> {
    fn of(a: &'a [u8], b: &'a [u8], bytes_max: u64) -> Result<Lengths<'a>, WireError> {
        let cells = (a.len() as u64 + 1) * (b.len() as u64 + 1);
        if cells.saturating_mul(size_of::<u32>() as u64) > bytes_max {
            let text = "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len";
            return Err(WireError::Err(text));
        }
        let width = b.len() + 1;
        let mut table = vec![0u32; cells as usize];
        for (row, x) in a.iter().enumerate() {
            for (column, y) in b.iter().enumerate() {
                let above = row * width + column;
                table[above + width + 1] = if x == y {
                    table[above] + 1
                } else {
                    table[above + 1].max(table[above + width])
                };
            }
        }
        Ok(Lengths { a, b, table })
    }

    fn at(&self, a_len: usize, b_len: usize) -> u32 {
        self.table[a_len * (self.b.len() + 1) + b_len]
    }

    fn total(&self) -> u32 {
        self.at(self.a.len(), self.b.len())
    }

    /// The positions in both strings of each common byte, last first.
    fn walk_back(&self) -> impl Iterator<Item = (usize, usize)> {
        let (mut i, mut j) = (self.a.len(), self.b.len());
        std::iter::from_fn(move || {
            while i > 0 && j > 0 {
                if self.a[i - 1] == self.b[j - 1] {
                    i -= 1;
                    j -= 1;
                    return Some((i, j));
                }
                if self.at(i - 1, j) > self.at(i, j - 1) {
                    i -= 1;
                } else {
                    j -= 1;
                }
            }
            None
        })
    }
}

/// A run of common bytes: where it starts in both strings and how long it is.
struct Match {
    a_start: usize,
    b_start: usize,
    length: usize,
}

fn matches(lengths: &Lengths<'_>) -> Vec<Match> {
    let mut runs: Vec<Match> = Vec::new();
    for (a_at, b_at) in lengths.walk_back() {
        match runs.last_mut() {
            Some(run) if run.a_start == a_at + 1 && run.b_start == b_at + 1 => {
                *run = Match { a_start: a_at, b_start: b_at, length: run.length + 1 };
            }
            _ => runs.push(Match { a_start: a_at, b_start: b_at, length: 1 }),
        }
    }
    runs
}

fn reply_matches(ctx: &mut Ctx<'_>, lengths: &Lengths<'_>, options: &LcsOptions) {
    let mut runs = matches(lengths);
    runs.retain(|run| run.length as i64 >= options.match_length_min);
    ctx.reply.map(2);
    ctx.reply.bulk(b"matches");
    ctx.reply.array(runs.len());
    for run in runs {
        ctx.reply.array(2 + usize::from(options.with_match_length));
        for start in [run.a_start, run.b_start] {
            ctx.reply.array(2);
            ctx.reply.count(start);
            ctx.reply.count(start + run.length - 1);
        }
        if options.with_match_length {
            ctx.reply.count(run.length);
        }
    }
    ctx.reply.bulk(b"len");
    ctx.reply.integer(lengths.total().into());
}
