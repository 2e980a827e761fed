//! The figures as Markdown, ready for RESULTS.md.

use crate::load::Seen;
use crate::peer::Peer;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One server under one load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// The server's processor time per command.
    pub(crate) processor_us: f64,
    pub(crate) seen: Seen,
}

impl Measured {
    /// What several turns under the same load come to: as much time as all of them took,
    /// and the middle one's latencies.
    pub(crate) fn of_turns(turns: &[Measured]) -> Measured {
        let mean = |figure: fn(&Measured) -> f64| {
            turns.iter().map(figure).sum::<f64>() / turns.len() as f64
        };
        let middle = |figure: fn(&Measured) -> f64| median(turns.iter().map(figure));
        Measured {
            processor_us: mean(|turn| turn.processor_us),
            seen: Seen {
                per_second: 1.0 / mean(|turn| 1.0 / turn.seen.per_second),
                p50_ms: middle(|turn| turn.seen.p50_ms),
                p99_ms: middle(|turn| turn.seen.p99_ms),
                p999_ms: middle(|turn| turn.seen.p999_ms),
            },
        }
    }
}

/// One load on all servers, in their order, round by round.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) pipeline: u32,
    pub(crate) samples: Vec<Vec<Measured>>,
}

/// The one in the middle.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The command, and what was measured with it.
pub(crate) fn write_heading(out: &mut impl Write, peers: &[Peer]) -> io::Result<()> {
    let mut command = "cargo run --profile dist -p keyward-bench --".to_owned();
    std::env::args().skip(1).for_each(|word| command += &format!(" {word}"));
    writeln!(out, "```\n{command}\n```\n")?;
    for peer in peers {
        writeln!(out, "- {}: {}", peer.name, peer.version)?;
    }
    Ok(())
}

/// All tables.
pub(crate) fn write_tables(out: &mut impl Write, peers: &[Peer], rows: &[Row]) -> io::Result<()> {
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    let (first, others) = names.split_first().expect("Keyward is always measured");
    writeln!(out, "\nµs of the server's processor time per command:\n")?;
    let ratios = others.iter().map(|name| format!("{name} / {first}"));
    write_line(out, names.iter().map(|name| (*name).to_owned()).chain(ratios), "", "pipeline")?;
    write_rule(out, 2 + names.len() + others.len())?;
    for row in rows {
        let figures = row.medians(|m| m.processor_us).map(|figure| format!("{figure:.2}"));
        let ratios = row.ratios(|m| m.processor_us).map(|ratio| format!("{ratio:.2}"));
        write_row(out, row, figures.chain(ratios))?;
    }
    write_means(out, others, rows)?;

    writeln!(out, "\nThousands of commands per second, as the load generator lets them:\n")?;
    let ratios = others.iter().map(|name| format!("{first} / {name}"));
    write_line(out, names.iter().map(|name| (*name).to_owned()).chain(ratios), "", "pipeline")?;
    write_rule(out, 2 + names.len() + others.len())?;
    for row in rows {
        let figures =
            row.medians(|m| m.seen.per_second / 1000.0).map(|figure| format!("{figure:.0}"));
        let ratios = row.ratios(|m| m.seen.per_second).map(|ratio| format!("{:.2}", 1.0 / ratio));
        write_row(out, row, figures.chain(ratios))?;
    }

    writeln!(out, "\nMilliseconds until the reply, p50 / p99 / p99.9:\n")?;
    write_line(out, names.iter().map(|name| (*name).to_owned()), "", "pipeline")?;
    write_rule(out, 2 + names.len())?;
    for row in rows {
        let latencies: [fn(&Measured) -> f64; 3] =
            [|m| m.seen.p50_ms, |m| m.seen.p99_ms, |m| m.seen.p999_ms];
        let [mut p50, mut p99, mut p999] = latencies.map(|figure| row.medians(figure));
        let cells = std::iter::from_fn(|| {
            Some(format!("{:.2} / {:.2} / {:.2}", p50.next()?, p99.next()?, p999.next()?))
        });
        write_row(out, row, cells)?;
    }
    Ok(())
}

impl Row {
    /// A figure's median for each server: those of one line may stem from several rounds.
    fn medians(&self, figure: fn(&Measured) -> f64) -> impl Iterator<Item = f64> {
        self.samples.iter().map(move |rounds| median(rounds.iter().map(figure)))
    }

    /// The others' figures by Keyward's: the median of what each round says. Servers of
    /// one round are measured within seconds of each other, while the machine's own pace
    /// changes over minutes.
    fn ratios(&self, figure: fn(&Measured) -> f64) -> impl Iterator<Item = f64> {
        let (ours, others) = self.samples.split_first().expect("Keyward is always measured");
        others.iter().map(move |theirs| {
            median(theirs.iter().zip(ours).map(|(theirs, ours)| figure(theirs) / figure(ours)))
        })
    }
}

/// The geometric means of the ratios of processor time, for each pipeline.
fn write_means(out: &mut impl Write, others: &[&str], rows: &[Row]) -> io::Result<()> {
    let mut logs: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for row in rows {
        let ratios = row.ratios(|m| m.processor_us).map(f64::ln).collect();
        logs.entry(row.pipeline).or_default().push(ratios);
    }
    for (pipeline, rows) in logs {
        let means = others.iter().enumerate().map(|(at, name)| {
            let sum: f64 = rows.iter().map(|ratios| ratios[at]).sum();
            format!("{name} needs {:.2} times Keyward's", (sum / rows.len() as f64).exp())
        });
        let means = means.collect::<Vec<_>>().join(", ");
        writeln!(out, "\nGeometric mean at pipeline {pipeline}: {means}.")?;
    }
    Ok(())
}

fn write_row(
    out: &mut impl Write,
    row: &Row,
    cells: impl Iterator<Item = String>,
) -> io::Result<()> {
    write_line(out, cells, row.name, &row.pipeline.to_string())
}

fn write_line(
    out: &mut impl Write,
    cells: impl Iterator<Item = String>,
    name: &str,
    pipeline: &str,
) -> io::Result<()> {
    let cells = cells.collect::<Vec<_>>().join(" | ");
    writeln!(out, "| {name} | {pipeline} | {cells} |")
}

fn write_rule(out: &mut impl Write, columns: usize) -> io::Result<()> {
    writeln!(out, "|{}", "---|".repeat(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(processor_us: f64) -> Measured {
        let seen = Seen { per_second: 0.0, p50_ms: 0.0, p99_ms: 0.0, p999_ms: 0.0 };
        Measured { processor_us, seen }
    }

    #[test]
    fn servers_are_compared_within_a_round() {
        // The machine is slower in each round, and something disturbs them in the second.
        let ours = [1.0, 2.0, 4.0].map(measured).to_vec();
        let theirs = [1.5, 7.0, 6.0].map(measured).to_vec();
        let row = Row { name: "SET", pipeline: 1, samples: vec![ours, theirs] };
        assert_eq!(row.medians(|m| m.processor_us).collect::<Vec<_>>(), [2.0, 6.0]);
        assert_eq!(row.ratios(|m| m.processor_us).collect::<Vec<_>>(), [1.5]);
    }
}
