//! Places as numbers: geohashes.
//!
//! Longitude and latitude are halved in turns; each halving is a bit, 26 of either. Their 52
//! bits are the score of a member, so that what is near is often near in the order of the
//! scores: a cell of the grid at any step is a range of scores.
//!
//! Owns the grid: from a place to its cell and back, and a cell's neighbours.
//! Not here: distances, and which cells a search looks at (`shape`).

/// The finest step: halvings of either coordinate.
pub(super) const STEP_MAX: u32 = 26;

/// Halvings that make up a score.
const SCORE_BITS: u32 = 2 * STEP_MAX;

/// From one bound to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Bounds {
    pub(super) const LONGITUDE: Bounds = Bounds { min: -180.0, max: 180.0 };
    /// The poles cannot be told: this is a square in the projection of web maps.
    pub(super) const LATITUDE: Bounds = Bounds { min: -85.05112878, max: 85.05112878 };
    /// What standard geohashes are made of.
    const ALL_LATITUDES: Bounds = Bounds { min: -90.0, max: 90.0 };

    pub(super) fn contains(self, value: f64) -> bool {
        self.min <= value && value <= self.max
    }

    /// Which part of it a value lies in, of `2^step` parts.
    fn part(self, value: f64, step: u32) -> u32 {
        let offset = (value - self.min) / (self.max - self.min);
        (offset * f64::from(1u32 << step)) as u32
    }

    /// From where to where a part goes, of `2^step` parts.
    fn of_part(self, part: u32, step: u32) -> Bounds {
        let size = self.max - self.min;
        let edge = |part: u32| self.min + f64::from(part) / f64::from(1u32 << step) * size;
        Bounds { min: edge(part), max: edge(part.wrapping_add(1)) }
    }

    fn middle(self) -> f64 {
        (self.min + self.max) / 2.0
    }
}

/// A place on the earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) longitude: f64,
    pub(super) latitude: f64,
}

impl Place {
    /// The place that a score stands for, whatever score that is.
    pub(super) fn of_score(score: f64) -> Place {
        let area = Cell { bits: truncated(score), step: STEP_MAX }.area();
        let within = |value: f64, bounds: Bounds| value.clamp(bounds.min, bounds.max);
        Place {
            longitude: within(area.longitude.middle(), Bounds::LONGITUDE),
            latitude: within(area.latitude.middle(), Bounds::LATITUDE),
        }
    }

    /// The score that stands for a place.
    pub(super) fn score(self) -> u64 {
        Cell::of(self, STEP_MAX).bits
    }

    /// The standard geohash, of eleven characters. There are bits for ten and a bit; Redis
    /// ends all of them with a zero.
    pub(super) fn geohash(self) -> [u8; 11] {
        const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
        let bits = Cell::within(self, Bounds::ALL_LATITUDES, STEP_MAX).bits;
        let mut text = [ALPHABET[0]; 11];
        for (character, shift) in text.iter_mut().zip((2..SCORE_BITS - 4).rev().step_by(5)) {
            *character = ALPHABET[(bits >> shift & 31) as usize];
        }
        text
    }
}

/// A score as a whole number, as processors of today convert what C leaves undefined:
/// modulo `2^64` where it is negative, the highest bit or nothing where it is far too large.
fn truncated(score: f64) -> u64 {
    const HALF: f64 = (1u64 << 63) as f64;
    let signed = |score: f64| match score {
        score if (-HALF..HALF).contains(&score) => score as i64 as u64,
        _ => 1 << 63,
    };
    if score < HALF { signed(score) } else { signed(score - HALF) ^ 1 << 63 }
}

/// A cell of the grid of `2^step` by `2^step`: bits of the latitude and of the longitude in
/// turns, those of the latitude at even places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) bits: u64,
    pub(super) step: u32,
}

/// The part of the earth that a cell covers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) longitude: Bounds,
    pub(super) latitude: Bounds,
}

const LATITUDE_BITS: u64 = 0x5555_5555_5555_5555;
const LONGITUDE_BITS: u64 = !LATITUDE_BITS;

impl Cell {
    /// The cell that a place lies in.
    pub(super) fn of(place: Place, step: u32) -> Cell {
        Cell::within(place, Bounds::LATITUDE, step)
    }

    fn within(place: Place, latitudes: Bounds, step: u32) -> Cell {
        let latitude = latitudes.part(place.latitude, step);
        let longitude = Bounds::LONGITUDE.part(place.longitude, step);
        Cell { bits: spread(latitude) | spread(longitude) << 1, step }
    }

    pub(super) fn area(self) -> Area {
        Area {
            longitude: Bounds::LONGITUDE.of_part(gathered(self.bits >> 1), self.step),
            latitude: Bounds::LATITUDE.of_part(gathered(self.bits), self.step),
        }
    }

    /// The scores in the cell: from the first to below the second.
    pub(super) fn scores(self) -> [f64; 2] {
        let shift = SCORE_BITS - 2 * self.step;
        [self.bits << shift, (self.bits + 1) << shift].map(|score| score as f64)
    }

    /// The neighbour a cell to the east (1) or the west (-1), and to the north or the south,
    /// around the earth. A place at the very edge lies in a cell beyond the grid; only a
    /// move brings it back, as in Redis.
    pub(super) fn neighbour(self, east: i8, north: i8) -> Cell {
        let used = u64::MAX >> (64 - 2 * self.step);
        let moved = |of: u64, by: i8| {
            // The other coordinate's bits, all set, carry from bit to bit.
            let (own, rest) = (self.bits & of, !of & used);
            match by {
                0 => own,
                1.. => (own + rest + 1) & of & used,
                _ => (own | rest).wrapping_sub(rest + 1) & (of & used),
            }
        };
        Cell { bits: moved(LONGITUDE_BITS, east) | moved(LATITUDE_BITS, north), ..self }
    }
}

/// Puts a zero before each bit.
fn spread(part: u32) -> u64 {
    let mut bits = u64::from(part);
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, LATITUDE_BITS),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// Takes every other bit.
fn gathered(bits: u64) -> u32 {
    let mut bits = bits & LATITUDE_BITS;
    for (shift, mask) in [
        (1, 0x3333_3333_3333_3333),
        (2, 0x0f0f_0f0f_0f0f_0f0f),
        (4, 0x00ff_00ff_00ff_00ff),
        (8, 0x0000_ffff_0000_ffff),
        (16, 0x0000_0000_ffff_ffff),
    ] {
        bits = (bits | bits >> shift) & mask;
    }
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_by_its_score() {
        let palermo = Place { longitude: 13.361389, latitude: 38.115556 };
        assert_eq!(palermo.score(), 3_479_099_956_230_698);
        let found = Place::of_score(3_479_099_956_230_698.0);
        assert_eq!(found.longitude, 13.361389338970184);
        assert_eq!(found.latitude, 38.1155563954963);
        assert_eq!(&found.geohash(), b"sqc8b49rny0");
    }

    #[test]
    fn any_score_is_a_place() {
        for score in [f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300, -1e300, 0.5, 1e19, 9e18] {
            let place = Place::of_score(score);
            assert!(Bounds::LONGITUDE.contains(place.longitude), "{score}: {place:?}");
            assert!(Bounds::LATITUDE.contains(place.latitude), "{score}: {place:?}");
        }
    }

    #[test]
    fn neighbours_are_beside_a_cell_and_around_the_earth() {
        let cell = Cell::of(Place { longitude: 10.0, latitude: 20.0 }, 8);
        let (area, east) = (cell.area(), cell.neighbour(1, 0).area());
        assert_eq!((east.longitude.min, east.latitude), (area.longitude.max, area.latitude));
        assert_eq!(cell.neighbour(0, -1).area().latitude.max, area.latitude.min);
        assert_eq!(cell.neighbour(1, 1).neighbour(-1, -1), cell);
        let edge = Cell::of(Place { longitude: 179.9, latitude: 0.1 }, 8);
        assert_eq!(edge.neighbour(1, 0).area().longitude.min, -180.0);
    }
}
