//! Values of settings: reading them, and writing them as CONFIG GET does.

use super::table::Kind;
use keyward_engine::NotifyFlags;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The limits of one class of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Above this many bytes a client is disconnected at once; 0 for never.
    pub hard_bytes: u64,
    /// Above this many bytes for `soft_seconds` too; 0 for never.
    pub soft_bytes: u64,
    /// How long the soft limit may be exceeded.
    pub soft_seconds: u64,
}

/// A class of clients, in the order of [`Value::OutputLimits`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientClass {
    /// Those that belong to no other class.
    #[default]
    Normal,
    /// Replicas.
    Replica,
    /// Those that listen to channels.
    Subscriber,
}

/// The names CONFIG GET writes for the classes.
pub(super) const CLASSES: [&str; 3] = ["normal", "slave", "pubsub"];

/// A setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `yes` or `no`.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Permissions of a file.
    Permissions(u32),
    /// An amount of memory.
    Bytes(u64),
    /// A percentage of `maxmemory`.
    Percent(u64),
    /// A text.
    Text(Vec<u8>),
    /// Words.
    Words(Vec<Vec<u8>>),
    /// The chosen word.
    OneOf(&'static str),
    /// Keyspace notifications.
    Notifications(NotifyFlags),
    /// Limits of normal clients, replicas and subscribers.
    OutputLimits([OutputLimit; 3]),
    /// Seconds and changes.
    SavePoints(Vec<(u64, u64)>),
    /// Millionths of a percent.
    Percentiles(Vec<u32>),
}

impl Value {
    /// Reads a value of this kind from the words given for it. `old` is what a
    /// partial change (one class of limits) is applied to. The error says what is
    /// expected, in Redis's words where it has some.
    pub fn parse(kind: Kind, words: &[&[u8]], old: Option<&Value>) -> Result<Value, String> {
        let one = || match words {
            [word] => Ok(*word),
            _ => Err("wrong number of arguments".to_owned()),
        };
        Ok(match kind {
            Kind::Bool => Value::Bool(parse_bool(one()?)?),
            Kind::Int(min, max) => Value::Int(parse_int(one()?, min, max)?),
            Kind::Clamped(min, max) => {
                Value::Int(parse_int(one()?, 0, i32::MAX.into())?.clamp(min, max))
            }
            Kind::Permissions => Value::Permissions(parse_permissions(one()?)?),
            Kind::Bytes(min, max) => Value::Bytes(parse_bytes_within(one()?, min, max)?),
            Kind::BytesOrPercent => parse_bytes_or_percent(one()?)?,
            Kind::Text => Value::Text(one()?.to_vec()),
            Kind::Directory => Value::Text(parse_directory(one()?)?),
            Kind::FileName(setting, what) => Value::Text(parse_file_name(setting, what, one()?)?),
            Kind::Words => Value::Words(split(words)),
            Kind::Flags(flags) => Value::Words(parse_flags(words, flags)?),
            Kind::OneOf(choices) => Value::OneOf(parse_choice(one()?, choices)?),
            Kind::Notifications => {
                let flags = NotifyFlags::parse(one()?);
                let invalid = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
                Value::Notifications(flags.ok_or(invalid)?)
            }
            Kind::OutputLimits => Value::OutputLimits(parse_output_limits(words, old)?),
            Kind::SavePoints => Value::SavePoints(parse_save_points(words)?),
            Kind::Percentiles => Value::Percentiles(parse_percentiles(words)?),
        })
    }

    /// The value as CONFIG GET answers it.
    pub fn to_text(&self) -> Vec<u8> {
        let text = match self {
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Int(number) => number.to_string(),
            Value::Permissions(mode) => format!("{mode:o}"),
            Value::Bytes(bytes) => bytes.to_string(),
            Value::Percent(percent) => format!("{percent}%"),
            Value::Text(text) => return text.clone(),
            Value::Words(words) => return words.join(&b' '),
            Value::OneOf(word) => (*word).to_owned(),
            Value::Notifications(flags) => flags.letters(),
            Value::OutputLimits(limits) => {
                let class = |(name, l): (&str, &OutputLimit)| {
                    format!("{name} {} {} {}", l.hard_bytes, l.soft_bytes, l.soft_seconds)
                };
                CLASSES.into_iter().zip(limits).map(class).collect::<Vec<_>>().join(" ")
            }
            Value::SavePoints(points) => {
                let point = |(seconds, changes): &(u64, u64)| format!("{seconds} {changes}");
                points.iter().map(point).collect::<Vec<_>>().join(" ")
            }
            Value::Percentiles(percentiles) => {
                let percentile = |micropercent: &u32| (f64::from(*micropercent) / 1e6).to_string();
                percentiles.iter().map(percentile).collect::<Vec<_>>().join(" ")
            }
        };
        text.into_bytes()
    }
}

fn split(words: &[&[u8]]) -> Vec<Vec<u8>> {
    let parts = words.iter().flat_map(|word| word.split(|byte| *byte == b' '));
    parts.filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect()
}

fn text(word: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(word).map_err(|_| "argument must be text".to_owned())
}

fn parse_bool(word: &[u8]) -> Result<bool, String> {
    match word.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".to_owned()),
    }
}

fn parse_int(word: &[u8], min: i64, max: i64) -> Result<i64, String> {
    let invalid = "argument couldn't be parsed into an integer";
    let number: i64 = text(word)?.parse().map_err(|_| invalid)?;
    if !(min..=max).contains(&number) {
        return Err(format!("argument must be between {min} and {max} inclusive"));
    }
    Ok(number)
}

fn parse_permissions(word: &[u8]) -> Result<u32, String> {
    let mode = u32::from_str_radix(text(word)?, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "argument must be permissions in octal, up to 777".to_owned())
}

fn parse_choice(word: &[u8], choices: &[&'static str]) -> Result<&'static str, String> {
    let word = text(word)?;
    let found = choices.iter().find(|choice| choice.eq_ignore_ascii_case(word)).copied();
    // In Redis these are two names of one thing (oom-score-adj), and it tells the first.
    match found {
        Some("relative") if choices.contains(&"yes") => Ok("yes"),
        found => found.ok_or_else(|| none_of(choices)),
    }
}

fn none_of(choices: &[&str]) -> String {
    if choices == [""] {
        return "argument must be empty: this server has no other value of it".to_owned();
    }
    format!("argument(s) must be one of the following: {}", choices.join(", "))
}

/// The words that were given, in the order of the table.
fn parse_flags(words: &[&[u8]], flags: &[&'static str]) -> Result<Vec<Vec<u8>>, String> {
    let given: Result<Vec<&str>, String> =
        split(words).iter().map(|word| parse_choice(word, flags)).collect();
    let given = given?;
    let (none, some) = flags.split_first().expect("a table of flags has words");
    if given.is_empty() {
        return Err(none_of(flags));
    }
    if ["save", "nosave"].iter().all(|word| given.contains(word)) {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_owned());
    }
    let chosen = some.iter().filter(|flag| given.contains(flag));
    let chosen: Vec<Vec<u8>> = chosen.map(|flag| flag.as_bytes().to_vec()).collect();
    Ok(if chosen.is_empty() { vec![none.as_bytes().to_vec()] } else { chosen })
}

fn parse_bytes_within(word: &[u8], min: u64, max: u64) -> Result<u64, String> {
    let bytes = parse_bytes(word).ok_or("argument must be a memory value")?;
    if !(min..=max).contains(&bytes) {
        return Err(format!("argument must be between {min} and {max} inclusive"));
    }
    Ok(bytes)
}

fn parse_bytes_or_percent(word: &[u8]) -> Result<Value, String> {
    if let Some(bytes) = parse_bytes(word) {
        let is_within = i64::try_from(bytes).is_ok();
        let bounds = format!("argument must be between -100 and {} inclusive", i64::MAX);
        return is_within.then_some(Value::Bytes(bytes)).ok_or(bounds);
    }
    let percent = word.strip_suffix(b"%").and_then(|digits| text(digits).ok()?.parse().ok());
    match percent {
        // No share of anything is no limit, as no bytes are.
        Some(0) => Ok(Value::Bytes(0)),
        Some(percent @ 1..=100) => Ok(Value::Percent(percent)),
        Some(_) => Err("percentage argument must be less or equal to 100".to_owned()),
        None => Err("argument must be a memory or percent value".to_owned()),
    }
}

/// Reads `100`, `100k`, `100kb`, `1GB`: with `b` the unit is binary.
fn parse_bytes(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?.to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    // No digits are zero, as C's `strtoull` reads them.
    if number.is_empty() {
        return Some(0);
    }
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// The full path of a directory, so that it stays the same one.
fn parse_directory(word: &[u8]) -> Result<Vec<u8>, String> {
    let path = Path::new(OsStr::from_bytes(word));
    let failed = |error: std::io::Error| {
        let text = error.to_string();
        text.split(" (os error").next().unwrap_or_default().to_owned()
    };
    let path = std::fs::canonicalize(path).map_err(failed)?;
    if !path.is_dir() {
        return Err("Not a directory".to_owned());
    }
    Ok(path.into_os_string().into_vec())
}

fn parse_file_name(setting: &str, what: &str, word: &[u8]) -> Result<Vec<u8>, String> {
    if word.is_empty() {
        return Err(format!("{setting} can't be empty"));
    }
    if word.contains(&b'/') || word.contains(&b'\\') {
        return Err(format!("{setting} can't be a path, just a {what}"));
    }
    Ok(word.to_vec())
}

fn parse_output_limits(words: &[&[u8]], old: Option<&Value>) -> Result<[OutputLimit; 3], String> {
    let mut limits = match old {
        Some(Value::OutputLimits(limits)) => *limits,
        _ => [OutputLimit::default(); 3],
    };
    let words = split(words);
    if !words.len().is_multiple_of(4) {
        return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
    }
    for group in words.chunks_exact(4) {
        let name = text(&group[0])?.to_ascii_lowercase();
        let name = if name == "replica" { "slave" } else { &name };
        let class = CLASSES.iter().position(|class| *class == name);
        let class = class.ok_or("Invalid client class specified in buffer limit configuration.")?;
        let invalid = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
        let seconds = text(&group[3])?.parse().map_err(|_| invalid)?;
        limits[class] = OutputLimit {
            hard_bytes: parse_bytes(&group[1]).ok_or(invalid)?,
            soft_bytes: parse_bytes(&group[2]).ok_or(invalid)?,
            soft_seconds: seconds,
        };
    }
    Ok(limits)
}

fn parse_save_points(words: &[&[u8]]) -> Result<Vec<(u64, u64)>, String> {
    let numbers: Result<Vec<u64>, _> = split(words)
        .iter()
        .map(|word| text(word).map(str::parse::<u64>))
        .map(|n| n?.map_err(|e| e.to_string()))
        .collect();
    let invalid = || "Invalid save parameters".to_owned();
    let numbers = numbers.map_err(|_| invalid())?;
    if !numbers.len().is_multiple_of(2) || numbers.chunks_exact(2).any(|pair| pair[0] == 0) {
        return Err(invalid());
    }
    Ok(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

fn parse_percentiles(words: &[&[u8]]) -> Result<Vec<u32>, String> {
    let percentile = |word: &Vec<u8>| -> Result<u32, String> {
        let invalid = "Invalid latency-tracking-info-percentiles parameters";
        let percent: f64 = text(word)?.parse().map_err(|_| invalid)?;
        if !(0.0..=100.0).contains(&percent) {
            let bounds = "parameters should sit between [0.0,100.0]";
            return Err(format!("latency-tracking-info-percentiles {bounds}"));
        }
        Ok((percent * 1e6).round() as u32)
    };
    split(words).iter().map(percentile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, words: &[&str], expected: Result<&str, &str>) {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let value = Value::parse(kind, &words, None).map(|value| value.to_text());
        let value = value.map(|text| String::from_utf8(text).unwrap());
        assert_eq!(value.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_number_beyond_soft_bounds_counts_as_the_nearer_one() {
        let hz = Kind::Clamped(1, 500);
        check(hz, &["0"], Ok("1"));
        check(hz, &["20"], Ok("20"));
        check(hz, &["10000"], Ok("500"));
        check(hz, &["-1"], Err("argument must be between 0 and 2147483647 inclusive"));
    }

    #[test]
    fn memory_has_decimal_and_binary_units() {
        let memory = Kind::Bytes(0, u64::MAX);
        check(memory, &["1gb"], Ok("1073741824"));
        check(memory, &["1G"], Ok("1000000000"));
        check(memory, &["100"], Ok("100"));
        check(memory, &[""], Ok("0"));
        check(memory, &["kb"], Ok("0"));
        check(memory, &[" "], Err("argument must be a memory value"));
        check(memory, &["1tb"], Err("argument must be a memory value"));
    }

    #[test]
    fn memory_may_be_a_share() {
        check(Kind::BytesOrPercent, &["7%"], Ok("7%"));
        check(Kind::BytesOrPercent, &["0%"], Ok("0"));
        check(Kind::BytesOrPercent, &["1mb"], Ok("1048576"));
        let too_much = "percentage argument must be less or equal to 100";
        check(Kind::BytesOrPercent, &["101%"], Err(too_much));
        for wrong in ["%", "-1%", "x", "5 %"] {
            check(
                Kind::BytesOrPercent,
                &[wrong],
                Err("argument must be a memory or percent value"),
            );
        }
    }

    #[test]
    fn limits_of_one_class_leave_the_others() {
        check(
            Kind::OutputLimits,
            &["pubsub 32mb 8mb 60"],
            Ok("normal 0 0 0 slave 0 0 0 pubsub 33554432 8388608 60"),
        );
        check(
            Kind::OutputLimits,
            &["replica", "1", "2", "3"],
            Ok("normal 0 0 0 slave 1 2 3 pubsub 0 0 0"),
        );
    }

    #[test]
    fn percentiles_are_kept_without_needless_digits() {
        check(Kind::Percentiles, &["0.0 50.0", "99.9"], Ok("0 50 99.9"));
        check(Kind::Percentiles, &[""], Ok(""));
        let invalid = "Invalid latency-tracking-info-percentiles parameters";
        check(Kind::Percentiles, &["50 a"], Err(invalid));
        check(
            Kind::Percentiles,
            &["101"],
            Err("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"),
        );
    }

    #[test]
    fn flags_are_in_the_order_of_the_table() {
        let flags = Kind::Flags(&["default", "save", "nosave", "now", "force"]);
        check(flags, &["nosave", "force", "now"], Ok("nosave now force"));
        check(flags, &["force NOSAVE force"], Ok("nosave force"));
        check(flags, &["default"], Ok("default"));
        check(flags, &["now default"], Ok("now"));
        let none = "argument(s) must be one of the following: default, save, nosave, now, force";
        check(flags, &[], Err(none));
        check(flags, &[""], Err(none));
        check(flags, &["later"], Err(none));
        let both = "shutdown options SAVE and NOSAVE can't be used simultaneously";
        check(flags, &["save nosave"], Err(both));
    }

    #[test]
    fn no_save_points_are_the_empty_text() {
        check(Kind::SavePoints, &[""], Ok(""));
        check(Kind::SavePoints, &["900 1", "300 10"], Ok("900 1 300 10"));
        check(Kind::SavePoints, &["900"], Err("Invalid save parameters"));
    }
}
