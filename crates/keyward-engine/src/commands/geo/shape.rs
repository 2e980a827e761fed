//! What a search looks for: a circle or a box around a place, and the cells that cover it.
//!
//! Owns distances on the earth and the choice of cells. Every number here is computed in the
//! order in which Redis computes it: replies show the last digit.

use super::cell::{Bounds, Cell, Place, STEP_MAX};

const EARTH_RADIUS_M: f64 = 6_372_797.560856;

/// Half the length of the equator in the projection of web maps.
const MERCATOR_MAX_M: f64 = 20_037_726.37;

/// How much longer than a radius a distance along the meridian is that rounding cannot bring
/// back within: relative, and in metres, since the haversine formula is off by up to a few
/// decimetres on the other side of the earth.
const ROUNDING: f64 = 1.000001;
const ROUNDING_M: f64 = 1.0;

const RADIANS: f64 = std::f64::consts::PI / 180.0;

/// The distance along a meridian, in metres.
fn distance_of_latitudes(from: f64, to: f64) -> f64 {
    EARTH_RADIUS_M * (to * RADIANS - from * RADIANS).abs()
}

/// The distance between two places, in metres (the haversine formula).
pub(super) fn distance(from: Place, to: Place) -> f64 {
    let v = ((to.longitude * RADIANS - from.longitude * RADIANS) / 2.0).sin();
    if v == 0.0 {
        return distance_of_latitudes(from.latitude, to.latitude);
    }
    let (from, to) = (from.latitude * RADIANS, to.latitude * RADIANS);
    let u = ((to - from) / 2.0).sin();
    let a = u * u + from.cos() * to.cos() * v * v;
    // Rounding may lead beyond one for places on opposite sides.
    2.0 * EARTH_RADIUS_M * a.sqrt().min(1.0).asin()
}

/// The form of what is searched, in a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shape {
    pub(super) middle: Place,
    pub(super) form: Form,
    /// Metres of the unit.
    pub(super) unit_m: f64,
}

impl Shape {
    /// How far a place is from the middle, in metres, if it lies within.
    pub(super) fn distance_within(&self, place: Place) -> Option<f64> {
        match self.form {
            Form::Circle { radius } => {
                let radius_m = radius * self.unit_m;
                // Most places are too far north or south already, whatever is rounded.
                let apart_m = distance_of_latitudes(place.latitude, self.middle.latitude);
                if apart_m > radius_m * ROUNDING + ROUNDING_M {
                    return None;
                }
                let distance = distance(self.middle, place);
                (distance <= radius_m).then_some(distance)
            }
            Form::Box { width, height } => {
                let (width, height) = (width * self.unit_m, height * self.unit_m);
                if distance_of_latitudes(place.latitude, self.middle.latitude) > height / 2.0 {
                    return None;
                }
                let beside = Place { latitude: place.latitude, ..self.middle };
                if distance(place, beside) > width / 2.0 {
                    return None;
                }
                Some(distance(self.middle, place))
            }
        }
    }

    /// The cells that cover it, in the order in which Redis looks at them, each once.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let wanted = self.bounds();
        let mut step = self.step();
        let mut cell = Cell::of(self.middle, step);
        if step > 1 && !reaches(cell, wanted) {
            step -= 1;
            cell = Cell::of(self.middle, step);
        }
        let area = cell.area();
        // What lies beyond the cell on a side where nothing is wanted is left out.
        let is_fine = step >= 2;
        let needs = |east: i8, north: i8| {
            let [longitude, latitude] = wanted;
            !is_fine
                || !(north < 0 && area.latitude.min < latitude.min
                    || north > 0 && area.latitude.max > latitude.max
                    || east < 0 && area.longitude.min < longitude.min
                    || east > 0 && area.longitude.max > longitude.max)
        };
        let around = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];
        let mut cells = vec![cell];
        for (east, north) in around.into_iter().filter(|(east, north)| needs(*east, *north)) {
            let neighbour = cell.neighbour(east, north);
            // Of a very large circle both neighbours may be the same cell.
            if cells[1..].last() != Some(&neighbour) {
                cells.push(neighbour);
            }
        }
        cells
    }

    /// Longitudes and latitudes between which everything lies.
    fn bounds(&self) -> [Bounds; 2] {
        let (width, height) = match self.form {
            Form::Circle { radius } => (radius, radius),
            Form::Box { width, height } => (width / 2.0, height / 2.0),
        };
        let (width, height) = (self.unit_m * width, self.unit_m * height);
        let Place { longitude, latitude } = self.middle;
        let north = height / EARTH_RADIUS_M / RADIANS;
        let east_at = |latitude: f64| width / EARTH_RADIUS_M / (latitude * RADIANS).cos() / RADIANS;
        // The edge nearer to a pole is the one with more degrees.
        let east =
            if latitude < 0.0 { east_at(latitude - north) } else { east_at(latitude + north) };
        let around = |middle: f64, by: f64| Bounds { min: middle - by, max: middle + by };
        [around(longitude, east), around(latitude, north)]
    }

    /// How fine the grid may be for nine cells to cover it.
    fn step(&self) -> u32 {
        let reach = match self.form {
            Form::Circle { radius } => radius,
            Form::Box { width, height } => {
                ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
            }
        };
        let mut reach_m = reach * self.unit_m;
        if reach_m == 0.0 {
            return STEP_MAX;
        }
        let mut step = -1;
        while reach_m < MERCATOR_MAX_M {
            reach_m *= 2.0;
            step += 1;
        }
        let latitude = self.middle.latitude.abs();
        step -= i32::from(latitude > 66.0) + i32::from(latitude > 80.0);
        step.clamp(1, STEP_MAX as i32) as u32
    }
}

/// Whether the neighbours of a cell reach as far as these longitudes and latitudes.
fn reaches(cell: Cell, [longitude, latitude]: [Bounds; 2]) -> bool {
    let at = |east: i8, north: i8| cell.neighbour(east, north).area();
    let is_short = at(0, 1).latitude.max < latitude.max
        || at(0, -1).latitude.min > latitude.min
        || at(1, 0).longitude.max < longitude.max
        || at(-1, 0).longitude.min > longitude.min;
    !is_short
}

#[cfg(test)]
mod tests {
    use super::*;

    const PALERMO: Place = Place { longitude: 13.361389, latitude: 38.115556 };
    const CATANIA: Place = Place { longitude: 15.087269, latitude: 37.502669 };

    #[test]
    fn distances_are_those_of_a_sphere() {
        assert_eq!(distance(PALERMO, CATANIA).round(), 166_274.0);
        let far = Place { longitude: -166.638611, latitude: -38.115556 };
        let half = EARTH_RADIUS_M * std::f64::consts::PI;
        assert!((distance(PALERMO, far) - half).abs() < 1.0);
        let north = Place { latitude: 39.115556, ..PALERMO };
        assert!((distance(PALERMO, north) - EARTH_RADIUS_M * RADIANS).abs() < 0.001);
    }

    #[test]
    fn no_distance_is_beyond_half_the_earth() {
        for tenth in 0..850 {
            let latitude = f64::from(tenth) / 10.0;
            let from = Place { longitude: -90.0, latitude };
            let to = Place { longitude: 90.0, latitude: -latitude };
            assert!(distance(from, to) <= EARTH_RADIUS_M * std::f64::consts::PI, "{latitude}");
        }
    }

    #[test]
    fn a_circle_has_all_that_is_no_farther_than_its_radius() {
        for at in 0..3000 {
            let (along, up) = (f64::from(at % 361) - 180.0, f64::from(at % 171) - 85.0);
            let place = Place { longitude: along, latitude: up };
            let radius = distance(PALERMO, place);
            for (radius, is_within) in [(radius, true), (radius.next_down(), radius <= 0.0)] {
                let shape = Shape { middle: PALERMO, form: Form::Circle { radius }, unit_m: 1.0 };
                assert_eq!(shape.distance_within(place).is_some(), is_within, "{place:?}");
            }
            let north = Place { latitude: up, ..PALERMO };
            let form = Form::Circle { radius: distance(PALERMO, north) };
            let shape = Shape { middle: PALERMO, form, unit_m: 1.0 };
            assert!(shape.distance_within(north).is_some(), "{north:?}");
        }
    }

    #[test]
    fn what_lies_within_is_in_one_of_the_cells() {
        let shapes = [
            Form::Circle { radius: 1.0 },
            Form::Circle { radius: 200_000.0 },
            Form::Circle { radius: 9_000_000.0 },
            Form::Box { width: 400_000.0, height: 1000.0 },
        ];
        for form in shapes {
            let shape = Shape { middle: PALERMO, form, unit_m: 1.0 };
            let cells = shape.cells();
            for at in 0..2000 {
                let spread = f64::from(at % 50) * f64::from(at % 50) / 25.0;
                let place = Place {
                    longitude: PALERMO.longitude + spread * f64::from(at).sin(),
                    latitude: (PALERMO.latitude + spread * f64::from(at).cos()).clamp(-85.0, 85.0),
                };
                let score = place.score() as f64;
                let is_covered = cells.iter().any(|cell| {
                    let [from, to] = cell.scores();
                    (from..to).contains(&score)
                });
                let is_within = shape.distance_within(Place::of_score(score)).is_some();
                assert!(is_covered || !is_within, "{form:?} {place:?}");
            }
        }
    }
}
