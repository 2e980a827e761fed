//! GEOSEARCH, GEOSEARCHSTORE, GEORADIUS, GEORADIUSBYMEMBER and what only reads of these.
//!
//! Owns their options, in the order in which Redis judges them, and the search: members of
//! the cells that cover the shape, those within it, in order, as many as are wanted.

use super::cell::Place;
use super::order::sort_first;
use super::shape::{Form, Shape};
use super::{distance_text, place_at, unit_m};
use crate::commands::zset::{growth, store};
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_resp::{Args, ReplyWriter};
use keyward_store::values::zset::cut::compare;
use keyward_store::values::zset::{Cut, Direction, ZSet};
use std::cmp::Ordering;

/// Which of the commands it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// GEORADIUS, around coordinates.
    Around,
    /// GEORADIUSBYMEMBER.
    AroundMember,
    /// GEOSEARCH and GEOSEARCHSTORE.
    Search,
}

/// Where the result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storing {
    /// To the client, whatever the options.
    Never,
    /// To the key that an option names, if one does.
    ByOption,
    /// To the first key.
    Always,
}

pub(crate) fn georadius(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::Around, Storing::ByOption)
}

pub(crate) fn georadius_ro(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::Around, Storing::Never)
}

pub(crate) fn georadiusbymember(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::AroundMember, Storing::ByOption)
}

pub(crate) fn georadiusbymember_ro(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::AroundMember, Storing::Never)
}

pub(crate) fn geosearch(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::Search, Storing::Never)
}

pub(crate) fn geosearchstore(ctx: &mut Ctx<'_>) -> Outcome {
    search(ctx, Variant::Search, Storing::Always)
}

fn search(ctx: &mut Ctx<'_>, variant: Variant, storing: Storing) -> Outcome {
    let source = ctx.key(if storing == Storing::Always { 2 } else { 1 });
    let growth = growth(ctx);
    let zset = ctx.keys.read_as::<ZSet>(source)?;
    let request = Request::parse(ctx.args, variant, storing, zset)?;
    if ctx.mode.is_checked() {
        return Ok(());
    }
    let shape = request.shape();
    let mut found = match (zset, shape) {
        (Some(zset), Some(shape)) => request.find(zset, &shape),
        _ => Vec::new(),
    };
    request.arrange(&mut found);
    let unit_m = shape.map_or(1.0, |shape| shape.unit_m);
    let Some(position) = request.store_at else {
        reply(&mut ctx.reply, &found, unit_m, request.columns);
        return Ok(());
    };
    let score = |point: &Point<'_>| match request.stores_distances {
        true => point.distance_m / unit_m,
        false => point.score,
    };
    let mut scored: Vec<(f64, &[u8])> =
        found.iter().map(|point| (score(point), point.member)).collect();
    scored.sort_unstable_by(|a, b| compare(*a, *b));
    let pairs = scored.iter().map(|(score, member)| (*member, *score));
    let result = ZSet::from_ordered(&growth, pairs);
    let event = if variant == Variant::Search { "geosearchstore" } else { "georadiusstore" };
    let (key, len) = (ctx.key(position), result.len() as u64);
    store(ctx, key, result, event);
    // Redis counts every member stored.
    ctx.keys.changes.dirty += len.saturating_sub(1);
    Ok(())
}

/// A member that was found.
struct Point<'a> {
    member: &'a [u8],
    score: f64,
    place: Place,
    distance_m: f64,
}

impl Point<'_> {
    fn nearer(&self, other: &Point<'_>) -> Ordering {
        self.distance_m.total_cmp(&other.distance_m)
    }
}

/// What is told of a member besides its name.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    distance: bool,
    hash: bool,
    place: bool,
}

/// The order that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Nearest,
    Farthest,
}

/// The options of a search.
#[derive(Default)]
struct Request {
    /// The middle; also, where the key is not there, that a member of it was named.
    from: Option<From>,
    form: Option<(Form, f64)>,
    columns: Columns,
    order: Option<Order>,
    /// The most members that are wanted; 0 for all.
    count: u64,
    /// Any members will do.
    any: bool,
    store_at: Option<usize>,
    stores_distances: bool,
}

#[derive(Clone, Copy)]
enum From {
    Coordinates(Place),
    /// `None` if the key is not there.
    Member(Option<Place>),
}

/// Where a member of the key is, if that is there.
fn member_at(zset: Option<&ZSet>, member: &[u8]) -> Result<Option<Place>, WireError> {
    let error = WireError::Err("could not decode requested zset member");
    let Some(zset) = zset else { return Ok(None) };
    zset.score(member).map(|score| Some(Place::of_score(score))).ok_or(error)
}

/// A radius and its unit.
fn circle(args: Args<'_>, index: usize) -> Result<(Form, f64), WireError> {
    let radius = args::float_or(args.at(index), WireError::Err("need numeric radius"))?;
    if radius < 0.0 {
        return Err(WireError::Err("radius cannot be negative"));
    }
    Ok((Form::Circle { radius }, unit_m(args.at(index + 1))?))
}

/// A width, a height and their unit.
fn rectangle(args: Args<'_>, index: usize) -> Result<(Form, f64), WireError> {
    let width = args::float_or(args.at(index), WireError::Err("need numeric width"))?;
    let height = args::float_or(args.at(index + 1), WireError::Err("need numeric height"))?;
    if width < 0.0 || height < 0.0 {
        return Err(WireError::Err("height or width cannot be negative"));
    }
    Ok((Form::Box { width, height }, unit_m(args.at(index + 2))?))
}

impl Request {
    fn parse(
        args: Args<'_>,
        variant: Variant,
        storing: Storing,
        zset: Option<&ZSet>,
    ) -> Result<Request, WireError> {
        let mut request = Request::default();
        let first = match variant {
            Variant::Around => {
                request.from = Some(From::Coordinates(place_at(args, 2)?));
                request.form = Some(circle(args, 4)?);
                6
            }
            Variant::AroundMember => {
                // Redis looks at the radius only where the key is there.
                request.from = Some(From::Member(member_at(zset, args.at(2))?));
                if zset.is_some() {
                    request.form = Some(circle(args, 3)?);
                }
                5
            }
            Variant::Search => 2 + usize::from(storing == Storing::Always),
        };
        if storing == Storing::Always {
            request.store_at = Some(1);
        }
        let mut index = first;
        while index < args.len() {
            index += match variant {
                Variant::Search => match request.search_option(args, index, zset)? {
                    0 => request.option(args, index, storing)?,
                    taken => taken,
                },
                Variant::Around | Variant::AroundMember => request.option(args, index, storing)?,
            };
        }
        request.check(args, variant, storing)?;
        Ok(request)
    }

    /// Reads an option that all variants have; how many words it is.
    fn option(
        &mut self,
        args: Args<'_>,
        index: usize,
        storing: Storing,
    ) -> Result<usize, WireError> {
        let (word, value) = (args.at(index), args.get(index + 1));
        let is = |name: &str| args::is(word, name);
        match value {
            _ if is("WITHDIST") => self.columns.distance = true,
            _ if is("WITHHASH") => self.columns.hash = true,
            _ if is("WITHCOORD") => self.columns.place = true,
            _ if is("ANY") => self.any = true,
            _ if is("ASC") => self.order = Some(Order::Nearest),
            _ if is("DESC") => self.order = Some(Order::Farthest),
            Some(count) if is("COUNT") => {
                let count = args::integer(count)?;
                if count <= 0 {
                    return Err(WireError::Err("COUNT must be > 0"));
                }
                self.count = count.unsigned_abs();
                return Ok(2);
            }
            Some(_) if storing == Storing::ByOption && (is("STORE") || is("STOREDIST")) => {
                self.store_at = Some(index + 1);
                self.stores_distances = is("STOREDIST");
                return Ok(2);
            }
            _ if storing == Storing::Always && is("STOREDIST") => self.stores_distances = true,
            _ => return Err(WireError::Syntax),
        }
        Ok(1)
    }

    /// Reads an option of GEOSEARCH; how many words it is, none if it is another option.
    fn search_option(
        &mut self,
        args: Args<'_>,
        index: usize,
        zset: Option<&ZSet>,
    ) -> Result<usize, WireError> {
        let word = args.at(index);
        let is = |name: &str| args::is(word, name);
        let left = args.len() - index - 1;
        let is_circle = matches!(self.form, Some((Form::Circle { .. }, _)));
        let is_box = matches!(self.form, Some((Form::Box { .. }, _)));
        let from_member = matches!(self.from, Some(From::Member(_)));
        let from_coordinates = matches!(self.from, Some(From::Coordinates(_)));
        if is("FROMMEMBER") && left >= 1 && !from_coordinates {
            self.from = Some(From::Member(member_at(zset, args.at(index + 1))?));
            Ok(2)
        } else if is("FROMLONLAT") && left >= 2 && !from_member {
            self.from = Some(From::Coordinates(place_at(args, index + 1)?));
            Ok(3)
        } else if is("BYRADIUS") && left >= 2 && !is_box {
            self.form = Some(circle(args, index + 1)?);
            Ok(3)
        } else if is("BYBOX") && left >= 3 && !is_circle {
            self.form = Some(rectangle(args, index + 1)?);
            Ok(4)
        } else {
            Ok(0)
        }
    }

    /// Judges what options do not go together.
    fn check(&self, args: Args<'_>, variant: Variant, storing: Storing) -> Outcome {
        let Columns { distance, hash, place } = self.columns;
        if self.store_at.is_some() && (distance || hash || place) {
            return Err(WireError::Err(match storing {
                Storing::Always => {
                    "GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
                }
                _ => {
                    "STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
                }
            }));
        }
        let lacking = match (self.from, self.form) {
            _ if variant != Variant::Search => None,
            (None, _) => Some("FROMMEMBER or FROMLONLAT"),
            (_, None) => Some("BYRADIUS and BYBOX"),
            _ => None,
        };
        if let Some(words) = lacking {
            return Err(WireError::line(&[
                b"ERR exactly one of ",
                words.as_bytes(),
                b" can be specified for ",
                args.at(0),
            ]));
        }
        if self.any && self.count == 0 {
            return Err(WireError::Err("the ANY argument requires COUNT argument"));
        }
        Ok(())
    }

    /// What is searched, unless the key is not there.
    fn shape(&self) -> Option<Shape> {
        let middle = match self.from? {
            From::Coordinates(place) => place,
            From::Member(place) => place?,
        };
        let (form, unit_m) = self.form?;
        Some(Shape { middle, form, unit_m })
    }

    /// The members within a shape; where any will do, not many more than are wanted.
    fn find<'a>(&self, zset: &'a ZSet, shape: &Shape) -> Vec<Point<'a>> {
        let enough = if self.any { self.count } else { u64::MAX };
        let mut found = Vec::new();
        let mut within = |score| {
            let place = Place::of_score(score);
            shape.distance_within(place).map(|distance_m| (score, place, distance_m))
        };
        for cell in shape.cells() {
            let [from, to] = cell.scores();
            let cuts = [Cut::BeforeScore(from), Cut::BeforeScore(to)];
            let mut members = zset.iter(zset.span(cuts, Direction::Forward));
            while (found.len() as u64) < enough
                && let Some((member, chosen)) = members.next_chosen(&mut within)
            {
                let (score, place, distance_m) = chosen;
                found.push(Point { member, score, place, distance_m });
            }
        }
        found
    }

    /// Puts what was found in order, and leaves what is wanted of it.
    fn arrange(&self, found: &mut Vec<Point<'_>>) {
        let wanted = match self.count {
            0 => found.len(),
            count => usize::try_from(count).unwrap_or(usize::MAX).min(found.len()),
        };
        // The nearest are meant, unless any will do.
        let implied = (self.count > 0 && !self.any).then_some(Order::Nearest);
        match self.order.or(implied) {
            Some(Order::Nearest) => sort_first(found, wanted, Point::nearer),
            Some(Order::Farthest) => sort_first(found, wanted, |a, b| b.nearer(a)),
            None => {}
        }
        found.truncate(wanted);
    }
}

fn reply(reply: &mut ReplyWriter<'_>, found: &[Point<'_>], unit_m: f64, columns: Columns) {
    let Columns { distance, hash, place } = columns;
    let more = usize::from(distance) + usize::from(hash) + usize::from(place);
    reply.array(found.len());
    for point in found {
        if more > 0 {
            reply.array(1 + more);
        }
        reply.bulk(point.member);
        if distance {
            reply.bulk(distance_text(point.distance_m / unit_m).as_bytes());
        }
        if hash {
            reply.integer(point.score as i64);
        }
        if place {
            reply.array(2);
            reply.human_double(point.place.longitude);
            reply.human_double(point.place.latitude);
        }
    }
}
