//! IPv4 and IPv6 addresses byte by byte, as the standard library reads them.
//!
//! Four numbers; or eight groups of up to four hexadecimal digits, of which `::` stands for one
//! or more once, and the last two of which may be an IPv4 address.

/// What has been read of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    /// How many groups are complete.
    groups: u8,
    /// Whether `::` was there.
    is_compressed: bool,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Nothing yet.
    Start,
    /// One colon and nothing before it.
    FirstColon,
    /// Behind the colon that ends a group.
    Colon,
    /// Behind `::`.
    Colons,
    /// So many digits of a group; if it could be a number of an IPv4 address, which one.
    Group { digits: u8, number: Option<u8> },
    /// Behind a dot; so many numbers are complete.
    Dot { numbers: u8 },
    /// In a number of an IPv4 address.
    Number { numbers: u8, number: u8 },
}

impl Address {
    pub(super) fn start() -> Address {
        Address { groups: 0, is_compressed: false, place: Place::Start }
    }

    pub(super) fn is_end(&self) -> bool {
        match self.place {
            Place::Number { numbers, .. } => numbers == 3,
            Place::Colons => true,
            Place::Group { .. } => match self.is_compressed {
                true => self.groups < 7,
                false => self.groups == 7,
            },
            _ => false,
        }
    }

    pub(super) fn step(mut self, byte: u8) -> Option<Address> {
        self.place = match (self.place.clone(), byte) {
            (Place::Start, b':') => Place::FirstColon,
            (Place::FirstColon, b':') => {
                self.is_compressed = true;
                Place::Colons
            }
            (Place::Colon, b':') if !self.is_compressed && self.groups < 8 => {
                self.is_compressed = true;
                Place::Colons
            }
            (Place::Group { .. }, b':') => {
                self.groups += 1;
                (self.groups < 8).then_some(Place::Colon)?
            }
            (Place::Group { number: Some(_), .. }, b'.') if self.may_end_in_numbers() => {
                Place::Dot { numbers: 1 }
            }
            (Place::Number { numbers: numbers @ 1..3, .. }, b'.') => {
                Place::Dot { numbers: numbers + 1 }
            }
            (Place::Dot { numbers }, b'0'..=b'9') => {
                Place::Number { numbers, number: like(byte - b'0') }
            }
            (Place::Number { numbers, number }, b'0'..=b'9') => {
                Place::Number { numbers, number: longer(number, byte)? }
            }
            (Place::Start | Place::Colon | Place::Colons, digit) if digit.is_ascii_hexdigit() => {
                let may_be_number = digit.is_ascii_digit() && self.may_end_in_numbers();
                let number = may_be_number.then(|| like(digit - b'0'));
                Place::Group { digits: 1, number }
            }
            (Place::Group { digits: digits @ 1..4, number }, digit)
                if digit.is_ascii_hexdigit() =>
            {
                let number = number.filter(|_| digit.is_ascii_digit());
                Place::Group {
                    digits: digits + 1,
                    number: number.and_then(|number| longer(number, digit)),
                }
            }
            _ => return None,
        };
        Some(self)
    }

    /// Whether the group that was begun can be the first number of an IPv4 address.
    fn may_end_in_numbers(&self) -> bool {
        match self.is_compressed {
            true => self.groups <= 5,
            false => self.groups == 0 || self.groups == 6,
        }
    }
}

/// A number up to 255 with one digit more; none has a zero in front.
fn longer(number: u8, digit: u8) -> Option<u8> {
    let next = u16::from(number) * 10 + u16::from(digit - b'0');
    u8::try_from(next).ok().filter(|_| number != 0).map(like)
}

/// One that stands for all numbers which the same digits can follow.
fn like(number: u8) -> u8 {
    match number {
        0..=2 | 25 => number,
        3..=9 => 3,
        10..=24 => 10,
        26.. => 26,
    }
}
