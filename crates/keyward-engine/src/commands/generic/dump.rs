//! DUMP and RESTORE: a value as bytes, in Redis's own format.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_lua::LogLevel;
use keyward_rdb::Error;
use keyward_store::capture::build::Builder;
use keyward_store::capture::content;
use keyward_store::keyspace::Usage;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::row::Row;
use keyward_store::values::stream::load::CONSUMER_TWICE;
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
    let payload = ctx.args.at(3);
    if let Err(error) = keyward_rdb::read_payload(payload, sum, &mut builder) {
        if let Some(line) = damage_line(payload, &error) {
            ctx.host.log(LogLevel::Verbose, line.as_bytes());
        }
        return Err(refusal(error));
    }
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

/// What the log says of a payload that is damaged, in Redis's words for most of what damages
/// one; behind them what is wrong with it. Of one with a wrong sum Redis logs nothing.
fn damage_line(payload: &[u8], error: &Error) -> Option<String> {
    let (offset, found) = match error {
        Error::Malformed { offset, what } => (offset, *what),
        Error::Truncated { offset } => (offset, "it ends too early"),
        Error::Empty { offset } => (offset, "it is empty"),
        Error::Unsupported { offset, what } => {
            return Some(format!("Internal error in RDB reading offset {offset} -> {what}"));
        }
        Error::NotRdb | Error::Version(_) | Error::Checksum { .. } | Error::Io(_) => return None,
    };
    let what = match payload.first()? {
        9 => "Zipmap",
        10 => "List ziplist",
        11 => "Intset",
        12 => "Zset ziplist",
        13 => "Hash ziplist",
        14 => "Ziplist",
        15 | 19 | 21 => "Stream listpack",
        16 => "Hash listpack",
        17 => "Zset listpack",
        18 => "Listpack",
        _ => "Value",
    };
    let told = match (payload.first()?, found) {
        (2, keyward_rdb::TWICE) => "Duplicate set members detected".to_owned(),
        (3 | 5, keyward_rdb::TWICE) => "Duplicate zset fields detected".to_owned(),
        (4, keyward_rdb::TWICE) => "Hash with dup elements".to_owned(),
        (_, CONSUMER_TWICE) => "Duplicate stream consumer detected.".to_owned(),
        _ => format!("{what} integrity check failed."),
    };
    let found = match (payload.first()?, found) {
        (16 | 17, keyward_rdb::TWICE) => "listpack with dup elements",
        _ => found,
    };
    Some(format!("Internal error in RDB reading offset {offset} -> {told} ({found})"))
}

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
