//! GEOADD, GEODIST, GEOHASH, GEOPOS; places on the earth in sorted sets.
//!
//! Owns how places are read and told. A place is the score of a member (`cell`): every
//! command on sorted sets works on places too. What searches do is in `search`.
//! Invariant: any score is a place, whoever gave it.

mod cell;
mod order;
pub(crate) mod search;
mod shape;

use crate::commands::zset::add::{self, Rules};
use crate::commands::zset::lookup::reply_by_scores;
use crate::engine::context::{Ctx, Outcome};
use cell::{Bounds, Place};
use keyward_commands::{WireError, args};
use keyward_resp::Args;
use keyward_store::values::zset::ZSet;

/// Metres of a unit.
fn unit_m(word: &[u8]) -> Result<f64, WireError> {
    let units = [("m", 1.0), ("km", 1000.0), ("ft", 0.3048), ("mi", 1609.34)];
    let found = units.into_iter().find(|(name, _)| args::is(word, name));
    let error = WireError::Err("unsupported unit provided. please use M, KM, FT, MI");
    found.map(|(_, metres)| metres).ok_or(error)
}

/// The place of which an argument has the longitude and the next one the latitude.
fn place_at(args: Args<'_>, index: usize) -> Result<Place, WireError> {
    let longitude = args::float(args.at(index))?;
    let latitude = args::float(args.at(index + 1))?;
    if Bounds::LONGITUDE.contains(longitude) && Bounds::LATITUDE.contains(latitude) {
        return Ok(Place { longitude, latitude });
    }
    let line = format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}");
    Err(WireError::line(&[line.as_bytes()]))
}

/// A distance with four decimals, as Redis rounds it: a whole number of ten-thousandths, of
/// which the lowest stands for all that are too large.
fn distance_text(distance: f64) -> String {
    let parts = (distance * 10_000.0).round_ties_even();
    let parts = if parts < i64::MAX as f64 { parts as i64 } else { i64::MIN };
    let sign = if parts < 0 { "-" } else { "" };
    let parts = parts.unsigned_abs();
    format!("{sign}{}.{:04}", parts / 10_000, parts % 10_000)
}

pub(crate) fn geoadd(ctx: &mut Ctx<'_>) -> Outcome {
    let mut rules = Rules::default();
    let mut first = 2;
    while let Some(word) = ctx.args.get(first) {
        match () {
            () if args::is(word, "NX") => rules.nx = true,
            () if args::is(word, "XX") => rules.xx = true,
            () if args::is(word, "CH") => rules.ch = true,
            () => break,
        }
        first += 1;
    }
    let places = ctx.args.from(first);
    if places.is_empty() || !places.len().is_multiple_of(3) || rules.xx && rules.nx {
        return Err(WireError::Syntax);
    }
    let mut scored = Vec::with_capacity(places.len() / 3);
    for index in (0..places.len()).step_by(3) {
        scored.push((place_at(places, index)?.score(), places.at(index + 2)));
    }
    let pairs = scored.iter().map(|(score, member)| (*score as f64, *member));
    if add::insert(ctx, &rules, pairs)? && ctx.keys.effects.is_listening() {
        log_as_zadd(ctx, first, &scored);
    }
    Ok(())
}

/// The log has the scores: a server that reads it need not know of places.
fn log_as_zadd(ctx: &mut Ctx<'_>, first: usize, scored: &[(u64, &[u8])]) {
    let args = ctx.args;
    let scores: Vec<String> = scored.iter().map(|(score, _)| score.to_string()).collect();
    let pairs = scores.iter().zip(scored);
    let pairs = pairs.flat_map(|(score, (_, member))| [score.as_bytes(), member]);
    let head = (1..first).map(|index| args.at(index));
    ctx.log_instead(std::iter::once(&b"zadd"[..]).chain(head).chain(pairs));
}

pub(crate) fn geodist(ctx: &mut Ctx<'_>) -> Outcome {
    let unit_m = match ctx.args.len() {
        4 => 1.0,
        5 => unit_m(ctx.args.at(4))?,
        _ => return Err(WireError::Syntax),
    };
    let key = ctx.key(1);
    let zset = ctx.keys.read_as::<ZSet>(key)?;
    let place = |index: usize| Some(Place::of_score(zset?.score(ctx.args.at(index))?));
    match (place(2), place(3)) {
        (Some(from), Some(to)) => {
            let distance = shape::distance(from, to) / unit_m;
            ctx.reply.bulk(distance_text(distance).as_bytes());
        }
        _ => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn geohash(ctx: &mut Ctx<'_>) -> Outcome {
    reply_by_scores(ctx, |reply, score| match score.map(Place::of_score) {
        Some(place) => reply.bulk(&place.geohash()),
        None => reply.null(),
    })
}

pub(crate) fn geopos(ctx: &mut Ctx<'_>) -> Outcome {
    reply_by_scores(ctx, |reply, score| match score.map(Place::of_score) {
        Some(Place { longitude, latitude }) => {
            reply.array(2);
            reply.human_double(longitude);
            reply.human_double(latitude);
        }
        None => reply.null_array(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_four_decimals() {
        let cases = [
            (0.0, "0.0000"),
            (0.00004, "0.0000"),
            (0.12345, "0.1234"),
            (166_274.151_56, "166274.1516"),
            (1e300, "-922337203685477.5808"),
        ];
        for (distance, expected) in cases {
            assert_eq!(distance_text(distance), expected);
        }
    }
}
