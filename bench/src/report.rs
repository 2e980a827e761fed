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
    /// Each figure's median: those of one line may stem from several runs.
    pub(crate) fn median(samples: &[Measured]) -> Measured {
        let median = |figure: fn(&Measured) -> f64| {
            let mut figures: Vec<f64> = samples.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Measured {
            processor_us: median(|m| m.processor_us),
            seen: Seen {
                per_second: median(|m| m.seen.per_second),
                p50_ms: median(|m| m.seen.p50_ms),
                p99_ms: median(|m| m.seen.p99_ms),
                p999_ms: median(|m| m.seen.p999_ms),
            },
        }
    }
}

/// One load on all servers, in their order.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) pipeline: u32,
    pub(crate) medians: Vec<Measured>,
}

/// The command, and what was measured with it.
pub(crate) fn write_heading(out: &mut impl Write, peers: &[Peer]) -> io::Result<()> {
    let mut command = "cargo run --release -p keyward-bench --".to_owned();
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
        let figures = row.medians.iter().map(|m| format!("{:.2}", m.processor_us));
        let ratios = row.ratios(|m| m.processor_us).map(|ratio| format!("{ratio:.2}"));
        write_row(out, row, figures.chain(ratios))?;
    }
    write_means(out, others, rows)?;

    writeln!(out, "\nThousands of commands per second, as the load generator lets them:\n")?;
    let ratios = others.iter().map(|name| format!("{first} / {name}"));
    write_line(out, names.iter().map(|name| (*name).to_owned()).chain(ratios), "", "pipeline")?;
    write_rule(out, 2 + names.len() + others.len())?;
    for row in rows {
        let figures = row.medians.iter().map(|m| format!("{:.0}", m.seen.per_second / 1000.0));
        let ratios = row.ratios(|m| m.seen.per_second).map(|ratio| format!("{:.2}", 1.0 / ratio));
        write_row(out, row, figures.chain(ratios))?;
    }

    writeln!(out, "\nMilliseconds until the reply, p50 / p99 / p99.9:\n")?;
    write_line(out, names.iter().map(|name| (*name).to_owned()), "", "pipeline")?;
    write_rule(out, 2 + names.len())?;
    for row in rows {
        let cells = row.medians.iter().map(|Measured { seen, .. }| {
            format!("{:.2} / {:.2} / {:.2}", seen.p50_ms, seen.p99_ms, seen.p999_ms)
        });
        write_row(out, row, cells)?;
    }
    Ok(())
}

impl Row {
    /// The others' figures by Keyward's.
    fn ratios(&self, figure: fn(&Measured) -> f64) -> impl Iterator<Item = f64> {
        let ours = figure(&self.medians[0]);
        self.medians[1..].iter().map(move |theirs| figure(theirs) / ours)
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
