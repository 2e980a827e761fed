//! Atoms that are times, dates and months.
//!
//! A time is kept as it is written, whatever zone it tells: the seconds of its own
//! clock since 1970, the digits behind the point, the zone.
//!
//! ```text
//! time  = style | seconds 4 | fraction 0–4 | zone in minutes 2?
//! style = digits of the fraction (4 bits) | zone (2 bits) << 4 | space for T << 6
//! date  = days since 1970     month = months since the year 0
//! ```

use super::{DATE, MONTH, TIME};
use crate::reader::{Broken, Reader, push_number};
use crate::sink::Sink;

const SECONDS_PER_DAY: u64 = 86_400;
/// The longest time: with nine digits of a fraction and a zone.
const TIME_BYTES_MAX: usize = 35;
const TIME_BYTES_MIN: usize = 19;
const FRACTION_DIGITS_MAX: usize = 9;
const SPACE: u8 = 1 << 6;

/// How a time tells its zone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    None = 0,
    Z = 1,
    Zero = 2,
    Minutes = 3,
}

/// Packs a time, a date or a month; whether the text is one.
pub(super) fn pack(text: &[u8], out: &mut Vec<u8>) -> bool {
    // Most texts are none, and are told by their length and one byte.
    if text.len() < 7 || text.len() > TIME_BYTES_MAX || text[4] != b'-' {
        return false;
    }
    let start = out.len();
    let packed = match text.len() {
        7 => pack_month(text, out),
        10 => pack_date(text, out),
        TIME_BYTES_MIN.. => pack_time(text, out),
        _ => None,
    };
    if packed.is_none() {
        out.truncate(start);
    }
    packed.is_some()
}

fn pack_month(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (year, month) = (two(text, 0)? * 100 + two(text, 2)?, two(text, 5)?);
    if !(1..=12).contains(&month) {
        return None;
    }
    out.push(MONTH);
    push_number(out, u64::from(u16::try_from(year * 12 + month - 1).ok()?), 2);
    Some(())
}

fn pack_date(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.push(DATE);
    push_number(out, u64::from(u16::try_from(days(text)?).ok()?), 2);
    Some(())
}

fn pack_time(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (hours, minutes, seconds) = (two(text, 11)?, two(text, 14)?, two(text, 17)?);
    let is_clock = text[13] == b':' && text[16] == b':' && matches!(text[10], b'T' | b' ');
    if !is_clock || hours >= 24 || minutes >= 60 || seconds >= 60 {
        return None;
    }
    let seconds = days(&text[..10])? * SECONDS_PER_DAY + hours * 3600 + minutes * 60 + seconds;
    let seconds = u32::try_from(seconds).ok()?;
    let rest = &text[TIME_BYTES_MIN..];
    let (fraction, zone) = match rest.strip_prefix(b".") {
        Some(rest) => {
            let end = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            rest.split_at(end)
        }
        None => rest.split_at(0),
    };
    if fraction.len() > FRACTION_DIGITS_MAX {
        return None;
    }
    let (style, offset) = match zone {
        b"" => (Zone::None, 0),
        b"Z" => (Zone::Z, 0),
        b"+00:00" => (Zone::Zero, 0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let minutes = two(&[*m1, *m2], 0)?;
            let offset = two(&[*h1, *h2], 0)? as i16 * 60 + minutes as i16;
            if minutes >= 60 || offset == 0 {
                return None;
            }
            (Zone::Minutes, if *sign == b'-' { -offset } else { offset })
        }
        _ => return None,
    };
    let space = if text[10] == b' ' { SPACE } else { 0 };
    out.push(TIME);
    out.push(fraction.len() as u8 | (style as u8) << 4 | space);
    push_number(out, u64::from(seconds), 4);
    push_number(out, digits(fraction)?, fraction_bytes(fraction.len()));
    if style == Zone::Minutes {
        out.extend_from_slice(&offset.to_le_bytes());
    }
    Some(())
}

/// Bytes that so many digits need.
fn fraction_bytes(digits: usize) -> usize {
    match digits {
        0 => 0,
        1..=2 => 1,
        3..=4 => 2,
        5..=7 => 3,
        _ => 4,
    }
}

/// How many bytes follow the style of a time, which is read here.
pub(super) fn skip(packed: &mut Reader<'_>) -> Result<usize, Broken> {
    let style = packed.byte()?;
    let zone = if (style >> 4) & 3 == Zone::Minutes as u8 { 2 } else { 0 };
    Ok(4 + fraction_bytes(usize::from(style & 15)) + zone)
}

/// A text that is being written.
struct Writing {
    text: [u8; TIME_BYTES_MAX],
    len: usize,
}

impl Writing {
    fn new() -> Writing {
        Writing { text: [0; TIME_BYTES_MAX], len: 0 }
    }

    fn byte(&mut self, byte: u8) {
        self.text[self.len] = byte;
        self.len += 1;
    }

    /// So many digits of a number that has no more, with zeros before it.
    fn digits(&mut self, mut number: u64, count: usize) {
        let end = self.len + count;
        for place in self.text[self.len..end].iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.len = end;
    }

    /// Two digits of a number that has no more.
    #[inline(always)]
    fn two(&mut self, number: u64) {
        self.byte(b'0' + (number / 10) as u8);
        self.byte(b'0' + (number % 10) as u8);
    }

    fn date(&mut self, days: u64) {
        // Days since 1 March of the year 0, so that the leap day is the last of a year.
        let day = days + DAYS_TO_1970;
        let (era, of_era) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * month + 2) / 5 + 1;
        let (year, month) = match month {
            0..=9 => (era * 400 + year, month + 3),
            _ => (era * 400 + year + 1, month - 9),
        };
        self.two(year / 100);
        self.two(year % 100);
        self.byte(b'-');
        self.two(month);
        self.byte(b'-');
        self.two(of_month);
    }

    fn end(&self, sink: &mut impl Sink) {
        sink.put(&self.text[..self.len]);
    }
}

/// Writes a time out.
pub(super) fn put_time(packed: &mut Reader<'_>, sink: &mut impl Sink) -> Result<(), Broken> {
    let style = packed.byte()?;
    let seconds = packed.number(4)?;
    let fraction_digits = usize::from(style & 15);
    if fraction_digits > FRACTION_DIGITS_MAX {
        return Err(Broken);
    }
    let mut text = Writing::new();
    text.date(seconds / SECONDS_PER_DAY);
    text.byte(if style & SPACE == 0 { b'T' } else { b' ' });
    text.two(seconds % SECONDS_PER_DAY / 3600);
    text.byte(b':');
    text.two(seconds % 3600 / 60);
    text.byte(b':');
    text.two(seconds % 60);
    if fraction_digits > 0 {
        text.byte(b'.');
        text.digits(packed.number(fraction_bytes(fraction_digits))?, fraction_digits);
    }
    text.end(sink);
    match (style >> 4) & 3 {
        0 => {}
        1 => sink.put(b"Z"),
        2 => sink.put(b"+00:00"),
        _ => {
            let offset = packed.number(2)? as u16 as i16;
            let minutes = u64::from(offset.unsigned_abs());
            let mut zone = Writing::new();
            zone.byte(if offset < 0 { b'-' } else { b'+' });
            zone.digits(minutes / 60, 2);
            zone.byte(b':');
            zone.two(minutes % 60);
            zone.end(sink);
        }
    }
    Ok(())
}

/// Writes a date out, by its days since 1970.
pub(super) fn put_date(days: u64, sink: &mut impl Sink) {
    let mut text = Writing::new();
    text.date(days);
    text.end(sink);
}

/// Writes a month out.
pub(super) fn put_month(months: u64, sink: &mut impl Sink) {
    let mut text = Writing::new();
    text.digits(months / 12, 4);
    text.byte(b'-');
    text.digits(months % 12 + 1, 2);
    text.end(sink);
}

/// Days of four hundred years, after which the calendar begins again.
const DAYS_PER_ERA: u64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: u64 = 719_468;

/// Days since 1970 of a date that exists.
fn days(text: &[u8]) -> Option<u64> {
    let year = two(text, 0)? * 100 + two(text, 2)?;
    let (month, day) = (two(text, 5)?, two(text, 8)?);
    let month_days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if text[7] != b'-' || !(1..=month_days).contains(&day) {
        return None;
    }
    let year = if month > 2 { year } else { year.checked_sub(1)? };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
    (year / 400 * DAYS_PER_ERA + of_era).checked_sub(DAYS_TO_1970)
}

/// The number of the two digits at a place.
#[inline(always)]
fn two(text: &[u8], at: usize) -> Option<u64> {
    let [tens, ones] = [text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0')];
    (tens < 10 && ones < 10).then(|| u64::from(tens) * 10 + u64::from(ones))
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}
