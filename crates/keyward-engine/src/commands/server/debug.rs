//! DEBUG: what tests and curious people ask of a server.
//!
//! Owns the subcommands, and the switches some of them set. Those that crash the
//! server, restart it or concern replicas, clusters and the allocator are left out.
//! Not here: the digest (`digest`).

mod reload;
mod rows;
mod test_replies;

use crate::commands::digest;
use crate::engine::context::{Ctx, Outcome};
use crate::glob::{self, Case};
use crate::host::{Host, Rewrite};
use keyward_commands::{WireError, args};
use keyward_lua::LogLevel;
use keyward_rdb::Sum;
use keyward_resp::number::parse_f64;
use keyward_store::keyspace::client_id::ClientId;
use std::ops::RangeInclusive;

type Handler = fn(&mut Ctx<'_>) -> Outcome;

const ANY: usize = usize::MAX;

/// The subcommands: name, how many words with DEBUG itself, what it does.
const SUBCOMMANDS: &[(&str, RangeInclusive<usize>, Handler)] = &[
    ("HELP", 2..=2, help),
    ("CHANGE-REPL-ID", 2..=2, change_repl_id),
    ("CLIENT-EVICTION", 2..=2, client_eviction),
    ("CLOCK", 4..=4, clock),
    ("CONFIG-REWRITE-FORCE-ALL", 2..=2, config_rewrite_force_all),
    ("DIGEST", 2..=2, digest_all),
    ("DIGEST-VALUE", 2..=ANY, rows::digest_values),
    ("ERROR", 3..=3, error),
    ("HTSTATS", 3..=3, rows::htstats),
    ("HTSTATS-KEY", 3..=3, rows::htstats_key),
    ("LISTPACK", 3..=3, rows::listpack),
    ("LOADAOF", 2..=2, reload::loadaof),
    ("LOG", 3..=3, log),
    ("OBJECT", 3..=3, rows::object),
    ("PAUSE-CRON", 3..=3, pause_cron),
    ("POPULATE", 3..=5, rows::populate),
    ("PROTOCOL", 3..=3, test_replies::protocol),
    ("QUICKLIST", 3..=4, rows::quicklist),
    ("QUICKLIST-PACKED-THRESHOLD", 3..=3, quicklist_packed_threshold),
    ("RELOAD", 2..=ANY, reload::reload),
    ("REPLYBUFFER", 4..=4, replybuffer),
    ("SDSLEN", 3..=3, rows::sdslen),
    ("SET-ACTIVE-EXPIRE", 3..=3, set_active_expire),
    ("SET-DISABLE-DENY-SCRIPTS", 3..=3, set_disable_deny_scripts),
    ("SET-SKIP-CHECKSUM-VALIDATION", 3..=3, set_skip_checksum_validation),
    ("SLEEP", 3..=3, sleep),
    ("STRINGMATCH-TEST", 2..=2, stringmatch_test),
    ("STRUCTSIZE", 2..=2, rows::structsize),
];

/// Whether a client may send DEBUG, which settings say. Asked before its rights are, as in
/// Redis, and so for what is queued too.
pub(crate) fn check_allowed(host: &dyn Host, client: ClientId) -> Outcome {
    if host.may_debug(client) {
        return Ok(());
    }
    Err(WireError::Err(
        "DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.",
    ))
}

pub(crate) fn debug(ctx: &mut Ctx<'_>) -> Outcome {
    check_allowed(ctx.host, ctx.session.id)?;
    let (name, count) = (ctx.args.at(1), ctx.args.len());
    let found = SUBCOMMANDS.iter().find(|(known, ..)| args::is(name, known));
    match found {
        Some((_, counts, handler)) if counts.contains(&count) => handler(ctx),
        _ => Err(WireError::subcommand_syntax(ctx.args)),
    }
}

/// C's `atoi`, as far as switches need it: whether the word is a number but zero.
fn is_on(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.copied().any(|digit| digit != b'0')
}

/// What it switches in Redis does not exist here.
fn no_effect(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.ok();
    Ok(())
}

/// What was recorded so far is no history that others could go on with.
fn change_repl_id(ctx: &mut Ctx<'_>) -> Outcome {
    let line = b"Changing replication IDs after receiving DEBUG change-repl-id";
    ctx.host.log(LogLevel::Warning, line);
    ctx.shared.replication.forget_history();
    ctx.reply.ok();
    Ok(())
}

fn client_eviction(_: &mut Ctx<'_>) -> Outcome {
    Err(WireError::Err("maxmemory-clients is disabled."))
}

/// Moves the clock ahead, from the next command on. Redis has no such thing: it is for
/// tests of lifetimes, which cannot wait for two weeks.
fn clock(ctx: &mut Ctx<'_>) -> Outcome {
    /// A hundred years.
    const ADVANCE_MS_MAX: i64 = 100 * 365 * 24 * 3600 * 1000;
    if !args::is(ctx.args.at(2), "ADVANCE") {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    let ms = args::integer_within(ctx.args.at(3), 0, ADVANCE_MS_MAX)?;
    let us = ms * 1000;
    ctx.host.advance_clock(us.unsigned_abs());
    ctx.shared.now_us = ctx.shared.now_us.saturating_add(us);
    ctx.keys.set_now_ms(ctx.shared.now_us / 1000);
    ctx.reply.ok();
    Ok(())
}

fn digest_all(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.simple(&digest::of_all(ctx.keys).hex());
    Ok(())
}

fn config_rewrite_force_all(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.host
        .config_rewrite(
            Rewrite::Everything,
            &ctx.shared.acl.lines().map(<[u8]>::to_vec).collect::<Vec<_>>(),
        )
        .map_err(|problem| {
            WireError::line(&[b"ERR CONFIG-REWRITE-FORCE-ALL failed: ", problem.as_bytes()])
        })?;
    ctx.reply.ok();
    Ok(())
}

fn error(ctx: &mut Ctx<'_>) -> Outcome {
    let no_lines = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    let text: Vec<u8> = ctx.args.at(2).iter().map(no_lines).collect();
    Err(WireError::line(&[&text]))
}

fn log(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.host.log(LogLevel::Warning, &[b"DEBUG LOG: ", ctx.args.at(2)].concat());
    ctx.reply.ok();
    Ok(())
}

fn pause_cron(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.switches.is_cron_paused = is_on(ctx.args.at(2));
    ctx.reply.ok();
    Ok(())
}

/// Lists have no parts whose size it could set, but what is no size is told.
fn quicklist_packed_threshold(ctx: &mut Ctx<'_>) -> Outcome {
    const INVALID: WireError =
        WireError::Err("argument must be a memory value bigger than 1 and smaller than 4gb");
    let word = ctx.args.at(2).to_ascii_lowercase();
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = word.split_at(digits);
    let number = std::str::from_utf8(number).ok().and_then(|digits| digits.parse::<u64>().ok());
    let factor: u64 = match unit {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return Err(INVALID),
    };
    let bytes = number.and_then(|number| number.checked_mul(factor)).ok_or(INVALID)?;
    if bytes >= 1 << 32 {
        return Err(INVALID);
    }
    no_effect(ctx)
}

/// Reply buffers are as long as what is in them, so there is nothing to set.
fn replybuffer(ctx: &mut Ctx<'_>) -> Outcome {
    let (what, value) = (ctx.args.at(2), ctx.args.at(3));
    if args::is(what, "PEAK-RESET-TIME") {
        if !args::is(value, "NEVER") && !args::is(value, "RESET") {
            args::integer(value)?;
        }
    } else if !args::is(what, "RESIZING") {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    no_effect(ctx)
}

fn set_active_expire(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.switches.sweeps = is_on(ctx.args.at(2));
    ctx.reply.ok();
    Ok(())
}

fn set_disable_deny_scripts(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.switches.allows_noscript = is_on(ctx.args.at(2));
    ctx.reply.ok();
    Ok(())
}

fn set_skip_checksum_validation(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.shared.switches.sum = if is_on(ctx.args.at(2)) { Sum::Ignored } else { Sum::Checked };
    ctx.reply.ok();
    Ok(())
}

fn sleep(ctx: &mut Ctx<'_>) -> Outcome {
    let seconds = parse_f64(ctx.args.at(2)).unwrap_or(0.0);
    let us = (seconds * 1e6) as u64;
    ctx.host.sleep_us(us);
    ctx.shared.slept_us = ctx.shared.slept_us.saturating_add_unsigned(us);
    ctx.reply.ok();
    Ok(())
}

/// Matches random patterns against random texts: it is enough that this ends.
fn stringmatch_test(ctx: &mut Ctx<'_>) -> Outcome {
    const ROUNDS: usize = 10_000;
    let mut word = |max: u64| -> Vec<u8> {
        let length = ctx.keys.random.below(max);
        (0..length).map(|_| ctx.keys.random.below(128) as u8).collect()
    };
    for _ in 0..ROUNDS {
        let (pattern, text) = (word(32), word(32));
        glob::matches(&pattern, &text, Case::Sensitive);
    }
    ctx.reply.simple("Apparently Redis did not crash: test passed");
    Ok(())
}

fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CHANGE-REPL-ID",
        "    Change the replication IDs of the instance.",
        "    Dangerous: should be used only for testing the replication subsystem.",
        "CLIENT-EVICTION",
        "    Show low level client eviction pools info (maxmemory-clients).",
        "CLOCK ADVANCE <milliseconds>",
        "    Move the time ahead by which keys expire. Not known to Redis.",
        "CONFIG-REWRITE-FORCE-ALL",
        "    Like CONFIG REWRITE but writes all configuration options, including",
        "    keywords not listed in original configuration file or default values.",
        "DIGEST",
        "    Output a hex signature representing the current DB content.",
        "DIGEST-VALUE <key> [<key> ...]",
        "    Output a hex signature of the values of all the specified keys.",
        "ERROR <string>",
        "    Return a Redis protocol error with <string> as message. Useful for clients",
        "    unit tests to simulate Redis errors.",
        "LOADAOF",
        "    Flush the AOF buffers on disk and reload the AOF in memory.",
        "LOG <message>",
        "    Write <message> to the server log.",
        "HTSTATS <dbid>",
        "    Return hash table statistics of the specified Redis database.",
        "HTSTATS-KEY <key>",
        "    Like HTSTATS but for the hash table stored at <key>'s value.",
        "OBJECT <key>",
        "    Show low level info about `key` and associated value.",
        "POPULATE <count> [<prefix>] [<size>]",
        "    Create <count> string keys named key:<num>. If <prefix> is specified then",
        "    it is used instead of the 'key' prefix.",
        "PROTOCOL <type>",
        "    Reply with a test value of the specified type. <type> can be: string,",
        "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
        "    true, false.",
        "RELOAD [option ...]",
        "    Save the RDB on disk and reload it back to memory. Valid <option> values:",
        "    * MERGE: conflicting keys will be loaded from RDB.",
        "    * NOFLUSH: the existing database will not be removed before load, but",
        "      conflicting keys will end the load with an error.",
        "    * NOSAVE: the database will be loaded from an existing RDB file.",
        "SDSLEN <key>",
        "    Show the lengths of `key` and its value.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Setting it to 0 disables expiring keys in background when they are not",
        "    accessed (otherwise the Redis behavior). Setting it to 1 reenables back the",
        "    default.",
        "SET-DISABLE-DENY-SCRIPTS <0|1>",
        "    Setting it to 1 lets scripts call commands that they may not.",
        "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
        "    Enables or disables checksum checks for RDB files and RESTORE's payload.",
        "SLEEP <seconds>",
        "    Stop the server for <seconds>. Decimals allowed.",
        "STRINGMATCH-TEST",
        "    Run a fuzz tester against the matching of patterns.",
        "STRUCTSIZE",
        "    Return the size of the structures that hold data.",
        "LISTPACK <key>",
        "    Show the content of the packed value of <key> in the log.",
        "QUICKLIST <key> [<0|1>]",
        "    Show the content of the list of <key> in the log.",
        "QUICKLIST-PACKED-THRESHOLD <size>",
        "    Lists have no such threshold: this changes nothing.",
        "PAUSE-CRON <0|1>",
        "    Stop periodic cron job processing.",
        "REPLYBUFFER PEAK-RESET-TIME <NEVER||RESET|time>",
        "REPLYBUFFER RESIZING <0|1>",
        "    Reply buffers always shrink: this changes nothing.",
    ]);
    Ok(())
}
