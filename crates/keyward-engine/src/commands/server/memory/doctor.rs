//! MEMORY DOCTOR: what is wrong with memory, in words.
//!
//! Owns the thresholds, which are Redis's, and our own words.

use crate::engine::context::{Ctx, Outcome};
use crate::host::{Facts, MemoryReport};

/// Below this there is nothing to say.
const USED_MIN: u64 = 5 << 20;
/// Waste below this is not worth mentioning.
const WASTE_MIN: u64 = 10 << 20;
const CLIENT_BYTES_MAX: u64 = 200 << 10;
const SCRIPTS_MAX: usize = 1000;

/// One thing to look for.
struct Complaint {
    applies: bool,
    text: &'static str,
}

pub(crate) fn doctor(ctx: &mut Ctx<'_>) -> Outcome {
    let report = ctx.host.memory();
    let facts = ctx.shared.facts(ctx.keys);
    ctx.reply.verbatim(*b"txt", diagnosis(&report, &facts).as_bytes());
    Ok(())
}

fn diagnosis(report: &MemoryReport, facts: &Facts) -> String {
    if report.used < USED_MIN {
        return "There is hardly any data: too little memory is in use to judge.\n".to_owned();
    }
    let mut text = String::new();
    for complaint in complaints(report, facts).iter().filter(|complaint| complaint.applies) {
        text += &format!(" * {}\n\n", complaint.text);
    }
    if text.is_empty() {
        return "There is nothing wrong with the memory of this server.\n".to_owned();
    }
    format!("The memory of this server shows the following:\n\n{text}")
}

/// Whether `more` exceeds `less` by this factor and by an amount worth mentioning.
fn wastes(more: u64, less: u64, factor: f64) -> bool {
    more as f64 > less as f64 * factor && more.saturating_sub(less) > WASTE_MIN
}

fn complaints(report: &MemoryReport, facts: &Facts) -> [Complaint; 7] {
    let clients = facts.clients.max(1) as u64;
    [
        Complaint {
            applies: report.peak as f64 > report.used as f64 * 1.5,
            text: "Peak memory: more than 150 % of what is in use now was in use once. The allocator may still hold some of it, which shows as fragmentation and will be used again. MEMORY PURGE gives back what can be given back.",
        },
        Complaint {
            applies: wastes(report.resident, report.used, 1.4),
            text: "High total resident memory: the process takes more than 1.4 times what is allocated, after a peak or because allocations of many sizes come and go.",
        },
        Complaint {
            applies: wastes(report.active, report.allocated, 1.1),
            text: "High allocator fragmentation: pages with allocations on them are more than 1.1 times what is allocated.",
        },
        Complaint {
            applies: wastes(report.mapped, report.active, 1.1),
            text: "High allocator overhead: the allocator holds more than 1.1 times the pages it needs. MEMORY PURGE gives them back.",
        },
        Complaint {
            applies: wastes(report.resident, report.mapped, 1.1),
            text: "High process overhead: the process takes more than 1.1 times what the allocator holds.",
        },
        Complaint {
            applies: report.clients / clients > CLIENT_BYTES_MAX,
            text: "Big client buffers: clients take more than 200 kB each in the mean. They may read their replies too slowly, or send very long pipelines; CLIENT LIST shows which.",
        },
        Complaint {
            applies: facts.scripts.cached_scripts > SCRIPTS_MAX,
            text: "Many scripts: more than 1000 scripts are cached. Scripts should be parameterised by KEYS and ARGV rather than generated; SCRIPT FLUSH empties the cache.",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: MemoryReport = MemoryReport {
        used: 100 << 20,
        peak: 100 << 20,
        startup: 1 << 20,
        resident: 105 << 20,
        allocated: 100 << 20,
        active: 101 << 20,
        mapped: 104 << 20,
        clients: 1 << 10,
        replicas: 0,
        log: 0,
        unsaved: 0,
    };

    fn check(report: MemoryReport, expected: &str) {
        let text = diagnosis(&report, &Facts::default());
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.contains(" * "), expected != "nothing wrong" && expected != "hardly any");
    }

    #[test]
    fn each_complaint_has_its_cause() {
        check(GOOD, "nothing wrong");
        check(MemoryReport { used: 4 << 20, ..GOOD }, "hardly any");
        check(MemoryReport { peak: 151 << 20, ..GOOD }, "Peak memory");
        check(MemoryReport { resident: 141 << 20, ..GOOD }, "High total resident");
        check(MemoryReport { active: 115 << 20, ..GOOD }, "High allocator fragmentation");
        check(MemoryReport { mapped: 115 << 20, ..GOOD }, "High allocator overhead");
        check(MemoryReport { resident: 120 << 20, ..GOOD }, "High process overhead");
        check(MemoryReport { clients: 1 << 20, ..GOOD }, "Big client buffers");
    }
}
