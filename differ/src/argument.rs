//! Arguments of commands: good ones, those at limits, and wrong ones.
//!
//! Owns the small universe of keys, members and values, so that commands meet the
//! same rows again. Invariants: no lifetime ends while a round runs unless it is a
//! short one that is waited out; no argument makes a server build a giant reply or
//! string.

use keyward_testkit::Random;

/// How many keys of each type there are.
const KEYS_PER_TYPE: usize = 5;
/// How many databases are used.
pub(crate) const DATABASES: usize = 3;

macro_rules! kinds {
    ($( $id:ident $name:literal )+) => {
        /// A kind of argument.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind { $( $id, )+ }

        impl Kind {
            /// By its name in the grammar.
            pub(crate) fn named(name: &str) -> Option<Kind> {
                match name { $( $name => Some(Kind::$id), )+ _ => None }
            }
        }
    };
}

kinds! {
    StringKey "s" HashKey "h" ListKey "l" SetKey "t" ZSetKey "z" AnyKey "k" WeightKey "w"
    StreamKey "x" EntryId "id" NewEntryId "newid" Group "group" Consumer "consumer"
    LastEntryId "last"
    LexKey "q" FutureSeconds "secondsfuture" FutureMillis "millisfuture"
    FieldValue "fieldvalue"
    Value "value" Member "member" Integer "integer" Index "index" Count "count"
    Float "float" Score "score" ScoreBound "bound" LexBound "lex" Weight "weight"
    Seconds "seconds" Millis "millis" SecondsAt "secondsat" MillisAt "millisat"
    Glob "glob" BitOffset "bitoffset" Bit "bit" ByteOffset "byteoffset"
    FieldType "fieldtype" FieldOffset "fieldoffset" Database "db" Odd "odd"
    SampleCount "sample" Timeout "timeout" Json "json"
    SketchKey "p" Element "element" Longitude "longitude" Latitude "latitude" Radius "radius"
}

impl Kind {
    /// Whether it names a row.
    pub(crate) fn is_key(self) -> bool {
        use Kind::*;
        matches!(
            self,
            StringKey
                | HashKey
                | ListKey
                | SetKey
                | ZSetKey
                | StreamKey
                | AnyKey
                | WeightKey
                | LexKey
                | SketchKey
        )
    }

    /// One argument of the kind.
    pub(crate) fn draw(self, random: &mut Random) -> Vec<u8> {
        use Kind::*;
        match self {
            StringKey => key(random, 's'),
            HashKey => key(random, 'h'),
            ListKey => key(random, 'l'),
            SetKey => key(random, 't'),
            ZSetKey => key(random, 'z'),
            StreamKey => key(random, 'x'),
            EntryId => often(random, entry_id, ENTRY_IDS),
            NewEntryId => often(random, |random| format!("{}-*", 3 + random.below(4)), ENTRY_IDS),
            LastEntryId => b"$".to_vec(),
            Group => random.pick(&["g", "h"]).as_bytes().to_vec(),
            Consumer => random.pick(&["a", "b", "c"]).as_bytes().to_vec(),
            AnyKey => {
                let letter = *random.pick(&['s', 'h', 'l', 't', 'z', 'x']);
                key(random, letter)
            }
            WeightKey => format!("w_{}", random.below(20)).into_bytes(),
            LexKey => format!("q{}", random.below(3)).into_bytes(),
            Value => value(random),
            Member => member(random),
            Integer => often(random, |random| near_zero(random, 30), INTEGERS),
            Index => often(random, |random| near_zero(random, 25), INTEGERS),
            Count => often(random, |random| random.below(6).to_string(), INTEGERS),
            Float => often(random, float, FLOATS),
            Score => rarely_odd(random, float, FLOATS),
            ScoreBound => score_bound(random),
            LexBound => lex_bound(random),
            Weight => often(random, float, FLOATS),
            Seconds => often(random, |random| lifetime(random, 1), LIFETIMES),
            Millis => often(random, |random| lifetime(random, 1000), LIFETIMES),
            SecondsAt => often(random, |random| instant(random, 1), INSTANTS),
            MillisAt => often(random, |random| instant(random, 1000), INSTANTS),
            FutureSeconds => often(random, |random| future(random, 1), INSTANTS_REFUSED),
            FutureMillis => often(random, |random| future(random, 1000), INSTANTS_REFUSED),
            Glob => random.pick(GLOBS).to_vec(),
            BitOffset => often(random, |random| random.below(200).to_string(), OFFSETS),
            Bit => often(random, |random| random.below(2).to_string(), INTEGERS),
            ByteOffset => often(random, |random| random.below(100).to_string(), OFFSETS),
            FieldType => often(random, field_type, FIELD_TYPES),
            FieldValue => often(random, |random| near_zero(random, 300), FIELD_VALUES),
            FieldOffset => often(random, field_offset, OFFSETS),
            Database => often(random, |random| random.below(DATABASES).to_string(), DATABASES_ODD),
            Odd => odd(random),
            SampleCount => often(random, |random| near_zero(random, 12), SAMPLE_COUNTS),
            Timeout => often(random, |_| "0".to_owned(), TIMEOUTS),
            Json => json(random, 0).into_bytes(),
            SketchKey => format!("p{}", random.below(KEYS_PER_TYPE)).into_bytes(),
            Element => format!("e{}", random.below(100_000)).into_bytes(),
            Longitude => rarely_odd(random, |random| degrees(random, 180), DEGREES),
            Latitude => rarely_odd(random, |random| degrees(random, 85), DEGREES),
            Radius => rarely_odd(random, radius, RADII),
        }
    }
}

/// The id of an entry that may be there.
fn entry_id(random: &mut Random) -> String {
    let ms = 3 + random.below(4);
    match random.below(6) {
        0 => ms.to_string(),
        1 => format!("({ms}-{}", random.below(8)),
        2 => random.pick(&["-", "+", "0"]).to_string(),
        _ => format!("{ms}-{}", random.below(8)),
    }
}

const ENTRY_IDS: Texts = &[
    b"0-0",
    b"-",
    b"+",
    b"$",
    b">",
    b"5",
    b"5-",
    b"-5",
    b"5-*",
    b"(5",
    b"(",
    b"(+",
    b"005-01",
    b"90--03",
    b"5--3",
    b" 5-0",
    b"5- 1",
    b"5-1 ",
    b"5\x00-3",
    b"18446744073709551615-18446744073709551615",
    b"18446744073709551616-0",
    b"(18446744073709551615-18446744073709551615",
    b"(0-0",
    b"abc",
    b"",
];

type Texts = &'static [&'static [u8]];

const INTEGERS: Texts = &[
    b"0",
    b"-0",
    b"-1",
    b"+1",
    b"01",
    b" 1",
    b"1 ",
    b"1.0",
    b"1e3",
    b"",
    b"abc",
    b"\x00",
    b"1\x00",
    b"9223372036854775807",
    b"9223372036854775806",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"-9223372036854775807",
    b"-9223372036854775809",
    b"18446744073709551615",
    b"18446744073709551616",
    b"4294967296",
    b"-4294967296",
    b"0x10",
    b"100000000000000000000000000000000000000000",
    b"--1",
    b"1-",
];
/// Not the smallest: a score that is not exact makes Redis refuse to sort.
const FLOATS: Texts = &[
    b"0",
    b"-0",
    b"0.0",
    b"-0.0",
    b"inf",
    b"+inf",
    b"-inf",
    b"infinity",
    b"Inf",
    b"nan",
    b"-nan",
    b"1e308",
    b"-1e308",
    b"1.7976931348623157e308",
    b"1e309",
    b"1e-400",
    b"1e400",
    b"3.0e3",
    b"1e5",
    b"1e17",
    b"1e21",
    b"123456789012345678",
    b"0.1",
    b"-0.1",
    b"3.14159265358979323846",
    b"0.30000000000000004",
    b"0x1p3",
    b"0x10",
    b"1e",
    b"1.",
    b".5",
    b" 1",
    b"1 ",
    b"",
    b"abc",
    b"1\x00",
    b"9007199254740993",
    b"1.5e-7",
    b"100000000000000000000",
    b"1e4000",
    b"-1e4931",
    b"1e4932",
    b"1e4933",
    b"9223372036854775807",
];
const DEGREES: Texts =
    &[b"180", b"-180", b"85.05112878", b"-85.05112878", b"86", b"181", b"0", b"nan", b"inf", b"x"];
const RADII: Texts = &[b"0", b"-1", b"inf", b"1e300", b"1e-300", b"nan", b"x", b"20037726.37"];
/// What a lifetime may be besides a long one: over already, or wrong.
const LIFETIMES: Texts = &[
    b"0",
    b"-1",
    b"-100",
    b"",
    b"abc",
    b"1.5",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"9223372036854775",
    b"99999999999999999",
];
const INSTANTS: Texts = &[
    b"0",
    b"-1",
    b"1",
    b"1000",
    b"abc",
    b"",
    b"1.5",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"9223372036854775",
];
/// For SET, which keeps a row whose time is over until somebody looks at it.
const INSTANTS_REFUSED: Texts = &[b"0", b"-1", b"abc", b"", b"1.5", b"9223372036854775808"];
const OFFSETS: Texts = &[
    b"-1",
    b"4294967296",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"",
    b"abc",
    b"#",
    b"#-1",
    b"1.5",
    b"01",
    b"+1",
];
const FIELD_TYPES: Texts =
    &[b"u0", b"u64", b"i65", b"i0", b"x8", b"u", b"", b"i", b"u-8", b"i64", b"u63", b"I8", b"u08"];
/// Not those near the lowest: with OVERFLOW SAT Redis takes them for the highest.
const FIELD_VALUES: Texts = &[
    b"127",
    b"-128",
    b"255",
    b"65535",
    b"4294967296",
    b"-4294967296",
    b"4611686018427387904",
    b"9223372036854775807",
    b"-1",
    b"abc",
    b"",
    b"9223372036854775808",
    b"1.5",
];
const DATABASES_ODD: Texts = &[b"-1", b"16", b"abc", b"", b"1.5", b"4294967296", b"01"];
const SAMPLE_COUNTS: Texts = &[b"0", b"-0", b"abc", b"", b"9223372036854775807", b"600", b"-700"];
const TIMEOUTS: Texts = &[b"-1", b"abc", b"", b"nan", b"1e300", b"-inf", b"0.0", b"-0"];
const GLOBS: Texts = &[
    b"*", b"*", b"?", b"??", b"s*", b"*1", b"[a-m]*", b"[^s]*", b"m[0-9]", b"[", b"[]", b"\\", b"",
    b"*\\*", b"h?", b"[z-a]?", b"*[0-4]", b"[\\]]*", b"a**b", b"*?*?", b"[^]*", b"m1*", b"[0-9]*",
];

/// Mostly what `good` makes, else one of these.
fn often(random: &mut Random, good: impl Fn(&mut Random) -> String, others: Texts) -> Vec<u8> {
    if random.one_in(12) { random.pick(others).to_vec() } else { good(random).into_bytes() }
}

/// For arguments that come in long lists, where one that is wrong spoils all.
fn rarely_odd(random: &mut Random, good: impl Fn(&mut Random) -> String, others: Texts) -> Vec<u8> {
    if random.one_in(60) { random.pick(others).to_vec() } else { good(random).into_bytes() }
}

/// A key of the type that the letter stands for; now and then one of another type.
fn key(random: &mut Random, letter: char) -> Vec<u8> {
    let letter =
        if random.one_in(20) { *random.pick(&['s', 'h', 'l', 't', 'z', 'x']) } else { letter };
    format!("{letter}{}", random.below(KEYS_PER_TYPE)).into_bytes()
}

fn near_zero(random: &mut Random, limit: usize) -> String {
    (random.below(2 * limit + 1) as i64 - limit as i64).to_string()
}

/// How many rows the following arguments are said to be; now and then not the truth.
pub(crate) fn count_of(count: usize, random: &mut Random) -> Vec<u8> {
    match random.below(40) {
        0 => (count + 1).to_string().into_bytes(),
        1 => random.pick(INTEGERS).to_vec(),
        _ => count.to_string().into_bytes(),
    }
}

/// An argument that hardly fits anywhere.
pub(crate) fn odd(random: &mut Random) -> Vec<u8> {
    match random.below(4) {
        0 => random.pick(FLOATS).to_vec(),
        1 => random
            .pick(&[&b"NX"[..], b"XX", b"GET", b"COUNT", b"LIMIT", b"WITHSCORES", b"BY", b"STORE"])
            .to_vec(),
        2 => value(random),
        _ => random.pick(INTEGERS).to_vec(),
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(60) {
        0..=14 => random.below(30).to_string().into_bytes(),
        15..=29 => format!("v{}", random.below(50)).into_bytes(),
        30..=36 => (random.number() as i64 >> random.below(63)).to_string().into_bytes(),
        37..=39 => float(random).into_bytes(),
        40 => random.pick(FLOATS).to_vec(),
        41 => random.pick(INTEGERS).to_vec(),
        42..=45 => {
            let length = *random.pick(&[0, 1, 11, 12, 19, 20, 21, 43, 44, 45, 62, 63, 64, 65, 66]);
            letters(random, length)
        }
        46..=48 => (0..random.below(40)).map(|_| random.number() as u8).collect(),
        49 => {
            let length = *random.pick(&[126, 127, 128, 129, 254, 255, 256, 1000]);
            letters(random, length)
        }
        50 if random.one_in(30) => {
            let length = *random.pick(&[4000, 4095, 4096, 4097, 8191, 8192, 8193, 16384]);
            letters(random, length)
        }
        _ => letters(random, 3),
    }
}

fn letters(random: &mut Random, length: usize) -> Vec<u8> {
    let first = random.below(26);
    (0..length).map(|place| b'a' + ((first + place * 7) % 26) as u8).collect()
}

/// Members and fields: few, so that they meet, but enough to outgrow every limit.
fn member(random: &mut Random) -> Vec<u8> {
    match random.below(40) {
        0..=14 => format!("m{}", random.below(12)).into_bytes(),
        15..=29 => random.below(16).to_string().into_bytes(),
        30..=34 => random.below(900).to_string().into_bytes(),
        35..=37 => format!("m{}", random.below(900)).into_bytes(),
        38 => random.pick(INTEGERS).to_vec(),
        _ => value(random),
    }
}

/// Degrees up to so many on either side of zero, often near others.
fn degrees(random: &mut Random, most: usize) -> String {
    let sign = if random.below(2) == 0 { "-" } else { "" };
    match random.below(3) {
        0 => format!("{sign}{}", random.below(most)),
        1 => format!("1{}.{}", random.below(3), random.below(1000)),
        _ => format!("{sign}{}.{:06}", random.below(most), random.below(1_000_000)),
    }
}

/// A distance in any unit, from next door to around the earth.
fn radius(random: &mut Random) -> String {
    let most = *random.pick(&[10, 1000, 30_000, 30_000_000]);
    format!("{}.{}", random.below(most), random.below(100))
}

fn float(random: &mut Random) -> String {
    match random.below(6) {
        0..=2 => near_zero(random, 9),
        3 => format!("{}.{}", random.below(20), random.below(100)),
        4 => format!("-{}.5", random.below(20)),
        _ => format!("{}", f64::from_bits(random.number() >> 2 | 0x3ff << 52) * 100.0),
    }
}

fn score_bound(random: &mut Random) -> Vec<u8> {
    let bound = match random.below(8) {
        0 => b"-inf".to_vec(),
        1 => b"+inf".to_vec(),
        _ => often(random, float, FLOATS),
    };
    if random.one_in(4) { [b"(".to_vec(), bound].concat() } else { bound }
}

fn lex_bound(random: &mut Random) -> Vec<u8> {
    let prefix: &[u8] = match random.below(12) {
        0 | 1 => return b"-".to_vec(),
        2 | 3 => return b"+".to_vec(),
        4 => b"",
        5..=7 => b"(",
        _ => b"[",
    };
    [prefix.to_vec(), member(random)].concat()
}

/// A long lifetime. Drawn thinly: two are hardly ever so close that the order of
/// deadlines depends on the clock.
fn lifetime(random: &mut Random, per_second: u64) -> String {
    ((2_000_000 + random.number() % 2_000_000_000) * per_second).to_string()
}

/// An instant in the past, or one in the far future.
fn instant(random: &mut Random, per_second: u64) -> String {
    if random.one_in(5) {
        ((1_000_000_000 + random.number() % 500_000_000) * per_second).to_string()
    } else {
        future(random, per_second)
    }
}

/// An instant in the far future, one of few, so that deadlines are compared.
fn future(random: &mut Random, per_second: u64) -> String {
    ((4_000_000_000 + random.number() % 5) * per_second).to_string()
}

fn field_type(random: &mut Random) -> String {
    let sign = random.pick(&['u', 'i']);
    format!("{sign}{}", 1 + random.below(63))
}

fn field_offset(random: &mut Random) -> String {
    let mark = random.pick(&["", "#"]);
    format!("{mark}{}", random.below(60))
}

/// JSON, mostly well-formed.
fn json(random: &mut Random, depth: usize) -> String {
    match random.below(if depth < 3 { 9 } else { 6 }) {
        0 => near_zero(random, 1000),
        1 => float(random),
        2 => random.pick(&["true", "false", "null"]).to_string(),
        3 => format!("\"k{}\"", random.below(9)),
        4 => random
            .pick(&[
                "\"\\u00e9\\n\"",
                "1e5",
                "-0",
                "[1,]",
                "{",
                "\"\\ud834\\udd1e\"",
                "[]",
                "{}",
                "nan",
                "\"a\\/b\"",
            ])
            .to_string(),
        5 => random.below(5).to_string(),
        6 | 7 => {
            let items: Vec<String> =
                (0..random.below(4)).map(|_| json(random, depth + 1)).collect();
            format!("[{}]", items.join(", "))
        }
        _ => format!("{{\"a\":{}}}", json(random, depth + 1)),
    }
}
