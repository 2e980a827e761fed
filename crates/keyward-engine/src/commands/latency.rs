//! LATENCY LATEST, HISTORY, GRAPH, DOCTOR, RESET, HISTOGRAM, HELP.

pub(crate) mod doctor;
pub(crate) mod graph;

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::stats::histogram::Histogram;
use keyward_commands::{Command, WireError};

pub(crate) fn latest(ctx: &mut Ctx<'_>) -> Outcome {
    let events = &ctx.shared.stats.latency.events;
    ctx.reply.array(events.len());
    for (name, series) in events {
        let last = series.samples.back().expect("a series begins with a sample");
        ctx.reply.array(4);
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.integer(last.time_s);
        ctx.reply.integer(last.ms as i64);
        ctx.reply.integer(series.ms_max as i64);
    }
    Ok(())
}

pub(crate) fn history(ctx: &mut Ctx<'_>) -> Outcome {
    let found = ctx.shared.stats.latency.find(ctx.args.at(2));
    let samples = found.map(|(_, series)| &series.samples);
    ctx.reply.array(samples.map_or(0, |samples| samples.len()));
    for sample in samples.into_iter().flatten() {
        ctx.reply.array(2);
        ctx.reply.integer(sample.time_s);
        ctx.reply.integer(sample.ms as i64);
    }
    Ok(())
}

pub(crate) fn graph(ctx: &mut Ctx<'_>) -> Outcome {
    let event = ctx.args.at(2);
    let Some((name, series)) = ctx.shared.stats.latency.find(event) else {
        let parts: [&[u8]; 3] = [b"ERR No samples available for event '", event, b"'"];
        return Err(WireError::line(&parts));
    };
    let text = graph::draw(name, series, ctx.shared.now_us / 1_000_000);
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

pub(crate) fn doctor(ctx: &mut Ctx<'_>) -> Outcome {
    let now_s = ctx.shared.now_us / 1_000_000;
    let text = doctor::report(&ctx.shared.stats.latency, &ctx.shared.tunables, now_s);
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

pub(crate) fn reset(ctx: &mut Ctx<'_>) -> Outcome {
    let latency = &mut ctx.shared.stats.latency;
    let count = match ctx.args.len() {
        2 => latency.forget(None),
        _ => ctx.args.from(2).iter().map(|event| latency.forget(Some(event))).sum(),
    };
    ctx.reply.count(count);
    Ok(())
}

pub(crate) fn histogram(ctx: &mut Ctx<'_>) -> Outcome {
    let (calls, names) = (&ctx.shared.stats.calls, &ctx.shared.names);
    let known = |command: &'static Command| {
        calls.of(command.id).latencies().map(|histogram| (command.name, histogram))
    };
    let found: Vec<(&str, &Histogram)> = if ctx.args.len() == 2 {
        calls.iter().filter_map(|(command, _)| known(command)).collect()
    } else {
        let named = ctx.args.from(2).iter().filter_map(|name| names.lookup_full_name(name));
        named.flat_map(|it| std::iter::once(it).chain(it.subcommands())).filter_map(known).collect()
    };
    ctx.reply.map(found.len());
    for (name, histogram) in found {
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.map(2);
        ctx.reply.bulk(b"calls");
        ctx.reply.integer(histogram.total() as i64);
        ctx.reply.bulk(b"histogram_usec");
        let steps = histogram.cumulative();
        ctx.reply.map(steps.len());
        for (us, count) in steps {
            ctx.reply.integer(us as i64);
            ctx.reply.integer(count as i64);
        }
    }
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "DOCTOR",
        "    Return a human readable latency analysis report.",
        "GRAPH <event>",
        "    Return an ASCII latency graph for the <event> class.",
        "HISTORY <event>",
        "    Return time-latency samples for the <event> class.",
        "LATEST",
        "    Return the latest latency samples for all events.",
        "RESET [<event> ...]",
        "    Reset latency data of one or more <event> classes.",
        "    (default: reset all data for all event classes)",
        "HISTOGRAM [COMMAND ...]",
        "    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
        "    If no commands are specified then all histograms are replied.",
    ]);
    Ok(())
}
