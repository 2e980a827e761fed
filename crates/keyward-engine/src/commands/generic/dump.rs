//! DUMP and RESTORE: a value as bytes, in Redis's own format.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_rdb::Error;
use keyward_store::capture::build::Builder;
use keyward_store::capture::content;
use keyward_store::keyspace::Usage;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::row::Row;
use keyward_store::values::value::Value;

const RESTORE: Event = Event::new(Class::Generic, "restore");
const DEL: Event = Event::new(Class::Generic, "del");

pub(crate) fn dump(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(1);
    let compresses = ctx.shared.tunables.compresses;
    let Some(row) = ctx.keys.read(key) else {
        ctx.reply.null();
        return Ok(());
    };
    ctx.reply.bulk(&payload(row.value(), compresses));
    Ok(())
}

/// A value as RESTORE takes it.
pub(super) fn payload(value: Value<'_>, compresses: bool) -> Vec<u8> {
    let form = content::form(value);
    keyward_rdb::write_payload(form, compresses, |output| content::write(value, output))
}

/// What RESTORE is told besides key, lifetime and payload.
#[derive(Default)]
struct RestoreOptions {
    replaces: bool,
    is_absolute: bool,
    usage: Option<Usage>,
}

impl RestoreOptions {
    fn parse(ctx: &Ctx<'_>) -> Result<RestoreOptions, WireError> {
        let mut parsed = RestoreOptions::default();
        let mut options = Options::new(ctx.args, 4);
        while let Some(word) = options.next() {
            let usage = parsed.usage;
            if args::is(word, "REPLACE") {
                parsed.replaces = true;
            } else if args::is(word, "ABSTTL") {
                parsed.is_absolute = true;
            } else if args::is(word, "IDLETIME") && !matches!(usage, Some(Usage::Frequency(_))) {
                let seconds = args::integer(options.value()?)?;
                let invalid = WireError::Err("Invalid IDLETIME value, must be >= 0");
                let seconds = u64::try_from(seconds).map_err(|_| invalid)?;
                parsed.usage = Some(Usage::IdleSeconds(seconds));
            } else if args::is(word, "FREQ") && !matches!(usage, Some(Usage::IdleSeconds(_))) {
                let frequency = args::integer(options.value()?)?;
                let invalid = WireError::Err("Invalid FREQ value, must be >= 0 and <= 255");
                let frequency = u8::try_from(frequency).map_err(|_| invalid)?;
                parsed.usage = Some(Usage::Frequency(frequency));
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(parsed)
    }
}

pub(crate) fn restore(ctx: &mut Ctx<'_>) -> Outcome {
    let options = RestoreOptions::parse(ctx)?;
    let key = ctx.key(1);
    let is_there = ctx.keys.find(key).is_some();
    if is_there && !options.replaces {
        return Err(WireError::BusyKey);
    }
    let ttl = args::integer(ctx.args.at(2))?;
    if ttl < 0 {
        return Err(WireError::Err("Invalid TTL value, must be >= 0"));
    }
    let mut builder = Builder::new(&ctx.shared.tunables.packed, ctx.keys.hasher());
    let sum = ctx.shared.switches.sum;
    keyward_rdb::read_payload(ctx.args.at(3), sum, &mut builder).map_err(refusal)?;
    let value = builder.take().ok_or(BAD_FORMAT)?;
    let base = if options.is_absolute { 0 } else { ctx.keys.now_ms() };
    let deadline = (ttl > 0).then(|| ttl.saturating_add(base));
    if deadline.is_some_and(|at| ctx.keys.is_past(at)) {
        if is_there {
            ctx.keys.remove(key, DEL);
            ctx.log_instead([b"DEL".as_slice(), key.bytes]);
        }
    } else {
        ctx.keys.put(key, Row::new(key.bytes, value, deadline), RESTORE);
        if let Some(usage) = options.usage {
            ctx.keys.set_usage(key, usage);
        }
        log_restore(ctx, deadline, options.is_absolute);
    }
    ctx.reply.ok();
    Ok(())
}

/// Logs the command with its lifetime made absolute.
fn log_restore(ctx: &mut Ctx<'_>, deadline: Option<i64>, is_absolute: bool) {
    let Some(deadline) = deadline.filter(|_| !is_absolute) else { return };
    let deadline = deadline.to_string();
    let args = ctx.args;
    let words = args.iter().enumerate().map(|(position, word)| match position {
        2 => deadline.as_bytes(),
        _ => word,
    });
    ctx.log_instead(words.chain([b"ABSTTL".as_slice()]));
}

const BAD_FORMAT: WireError = WireError::Err("Bad data format");

/// What RESTORE says of a payload that is none.
fn refusal(error: Error) -> WireError {
    match error {
        Error::NotRdb | Error::Version(_) | Error::Checksum { .. } => {
            WireError::Err("DUMP payload version or checksum are wrong")
        }
        Error::Unsupported { what, .. } => {
            WireError::line(&[b"ERR Bad data format: ", what.as_bytes(), b" is not supported"])
        }
        _ => BAD_FORMAT,
    }
}
