//! How XADD and XTRIM say what is to be removed.
//!
//! Owns `MAXLEN | MINID [= | ~] threshold [LIMIT count]`, and the exact form of it for the
//! log: an approximate trim is logged as what it left.

use super::ids;
use crate::engine::context::Ctx;
use keyward_commands::{WireError, args};
use keyward_resp::{ArgBuf, Args};
use keyward_store::values::stream::{Body, Bound, NodeLimits, StreamId, Trim};
use keyward_store::values::text::Decimal;

/// What the options of XADD and XTRIM say.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// What is to be removed.
    pub(super) trim: Option<Trim>,
    /// Where the threshold stands.
    threshold_at: usize,
    /// `NOMKSTREAM`: a stream that is not there is not made.
    pub(super) makes_none: bool,
    /// The id for an entry; none for `*`.
    pub(super) id: Option<ids::Partial>,
    /// Where it stands.
    pub(super) id_at: usize,
}

const BOTH_BOUNDS: WireError =
    WireError::Err("syntax error, MAXLEN and MINID options at the same time are not compatible");

const LIMIT_OF_EXACT: WireError =
    WireError::Err("syntax error, LIMIT cannot be used without the special ~ option");

impl Options {
    /// Reads the options from the third argument on, for XADD up to the id.
    pub(super) fn parse(ctx: &Ctx<'_>, is_add: bool) -> Result<Options, WireError> {
        let args = ctx.args;
        let mut parsed = Options::default();
        let (mut bound, mut is_approximate, mut limit) = (None, false, None);
        let mut at = 2;
        while let Some(word) = args.get(at) {
            let has_more = at + 1 < args.len();
            if is_add && ids::c_text(word) == b"*" {
                break;
            } else if has_more && (args::is(word, "MAXLEN") || args::is(word, "MINID")) {
                if bound.is_some() {
                    return Err(BOTH_BOUNDS);
                }
                let sign = ids::c_text(args.at(at + 1));
                is_approximate = at + 2 < args.len() && sign == b"~";
                at += 1 + usize::from(at + 2 < args.len() && matches!(sign, b"~" | b"="));
                bound = Some(parse_bound(word, args.at(at))?);
                parsed.threshold_at = at;
            } else if has_more && args::is(word, "LIMIT") {
                at += 1;
                let invalid = WireError::Err("The LIMIT argument must be >= 0.");
                limit = Some(u64::try_from(args::integer(args.at(at))?).map_err(|_| invalid)?);
            } else if is_add && args::is(word, "NOMKSTREAM") {
                parsed.makes_none = true;
            } else if is_add {
                parsed.id = Some(ids::partial(word)?);
                break;
            } else {
                return Err(WireError::Syntax);
            }
            at += 1;
        }
        parsed.id_at = at;
        let Some(bound) = bound else {
            let without =
                "syntax error, LIMIT cannot be used without specifying a trimming strategy";
            let must = "syntax error, XTRIM must be called with a trimming strategy";
            return match limit {
                Some(1..) => Err(WireError::Err(without)),
                _ if !is_add => Err(WireError::Err(must)),
                Some(0) if !ctx.keys.is_replaying() => Err(LIMIT_OF_EXACT),
                _ => Ok(parsed),
            };
        };
        // What the log says was worked out already.
        let limit = match limit {
            _ if ctx.keys.is_replaying() => 0,
            Some(_) if !is_approximate => return Err(LIMIT_OF_EXACT),
            Some(limit) => limit,
            None if is_approximate => default_limit(&ctx.shared.tunables.stream_nodes),
            None => 0,
        };
        parsed.trim = Some(Trim { bound, is_approximate, limit });
        Ok(parsed)
    }

    /// The arguments with an exact bound in place of an approximate one: what is left of the
    /// stream.
    pub(super) fn exact(&self, args: Args<'_>, body: &Body, id: Option<StreamId>) -> ArgBuf {
        let id = id.map(StreamId::text);
        let is_approximate = self.trim.as_ref().is_some_and(|trim| trim.is_approximate);
        let threshold =
            self.trim.as_ref().filter(|_| is_approximate).map(|trim| match trim.bound {
                Bound::Length(_) => {
                    let length = i64::try_from(body.facts().length).unwrap_or(i64::MAX);
                    Decimal::of(length).as_bytes().to_vec()
                }
                Bound::First(_) => {
                    let first = body.first_stored_id().unwrap_or(StreamId::MAX);
                    first.text().as_bytes().to_vec()
                }
            });
        let word = |(at, argument)| match (&id, &threshold) {
            (Some(id), _) if at == self.id_at => id.as_bytes(),
            (_, Some(_)) if at + 1 == self.threshold_at => b"=",
            (_, Some(threshold)) if at == self.threshold_at => threshold,
            _ => argument,
        };
        args.iter().enumerate().map(word).collect()
    }
}

fn parse_bound(word: &[u8], threshold: &[u8]) -> Result<Bound, WireError> {
    if args::is(word, "MINID") {
        return ids::strict(threshold, 0).map(Bound::First);
    }
    let invalid = WireError::Err("The MAXLEN argument must be >= 0.");
    Ok(Bound::Length(u64::try_from(args::integer(threshold)?).map_err(|_| invalid)?))
}

/// The most entries that an approximate trim removes if nobody says: about a hundred nodes.
fn default_limit(limits: &NodeLimits) -> u64 {
    match limits.entries_max {
        0 => 10_000,
        entries => (entries as u64).saturating_mul(100).min(1_000_000),
    }
}
