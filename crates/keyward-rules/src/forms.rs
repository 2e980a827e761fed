//! The apparent forms of keys: what many keys that no pattern speaks for have in common.
//!
//! Owns reading a key as words, separators and parts that look like values (numbers, UUIDs,
//! hexadecimal digests, dates, addresses, …), and grouping keys by that. A form is written as a
//! pattern that a schema takes between double quotes, and that fits its keys: what is no UTF-8
//! cannot be written, and counts as a value. Words that stand in one place of many forms are
//! taken for values too, and so are segments of many shapes; where that makes no room, families of
//! many forms that begin alike are one each. Forms that overlap are joined (`segment`), so that all
//! of them can stand in one schema. It is a guess for people, who declare patterns by it.
//! Invariants: at most [`FORMS_MAX`] forms are kept, and keys beyond them counted; a key is read
//! in one pass, and no more of it than [`KEY_BYTES`].
//! Not here: meeting the keys (the host), which of their parts are secret (`shown`).

mod segment;

use keyward_schema::{Kind, Pattern};
use segment::{family, reconciled, segments, with_value_for};
use std::collections::{BTreeMap, BTreeSet};

/// Forms that are kept.
const FORMS_MAX: usize = 128;
/// A family of more forms than this is one, if there is no room.
const FAMILY_MAX: usize = 16;
/// Keys of a form that takes others along which are like its own but for their shape.
const TAKES_ALONG: u64 = 64;
/// So many words in one place are values.
const WORDS_MAX: usize = 8;
/// Bytes of a key that its form is told by.
const KEY_BYTES: usize = 256;
/// Bytes of the longest address.
const ADDRESS_BYTES: usize = 45;
/// Parts of a form; what follows is one more.
const PARTS_MAX: usize = 12;
/// Digits and letters beside each other that are no word any more.
const TEXT_MIN: usize = 16;

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A word, or what separates.
    Text(Box<[u8]>),
    /// What looks like a value of this kind.
    Value(&'static str),
}

/// The keys of one form.
#[derive(Clone, Debug)]
struct Group {
    count: u64,
    example: Box<[u8]>,
}

/// A form, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// As a pattern would be written; empty for all keys of forms that are not kept.
    pub text: String,
    /// How many keys have it.
    pub count: u64,
    /// One of them.
    pub example: Vec<u8>,
}

/// Keys by their forms.
#[derive(Debug, Default)]
pub struct Forms {
    groups: BTreeMap<Vec<Part>, Group>,
    others: Option<Group>,
    /// Those of them that were made of several: they take more.
    merged: BTreeSet<Vec<Part>>,
    /// Words were taken for values without making room.
    is_full: bool,
}

impl Forms {
    /// Adds a key, as it may be shown.
    pub fn add(&mut self, key: &[u8]) {
        let form = parts(key);
        let group = || Group { count: 1, example: key.into() };
        if let Some(own) = self.groups.get_mut(&form) {
            own.count += 1;
            return;
        }
        if self.groups.len() >= FORMS_MAX && !self.is_full {
            self.merge();
            self.is_full = self.groups.len() > FORMS_MAX / 2;
        }
        // What was merged may have a place for it.
        if let Some(own) = self.general(&form) {
            own.count += 1;
        } else if self.groups.len() < FORMS_MAX {
            self.groups.insert(form, group());
        } else {
            let others = self.others.get_or_insert_with(|| Group { count: 0, ..group() });
            others.count += 1;
        }
    }

    /// The group that was made of forms like this one.
    fn general(&mut self, form: &[Part]) -> Option<&mut Group> {
        if self.merged.is_empty() {
            return None;
        }
        let own = segments(form);
        let words = (0..form.len()).filter(|place| is_word(&form[*place]));
        let by_word = words.map(|place| with_value(form, place));
        let by_segment = (0..own.len()).filter_map(|place| with_value_for(&own, place));
        let mut general = by_word.chain(by_segment).chain(family(&own));
        let known: Vec<Part> = general.find(|form| self.merged.contains(form))?;
        self.groups.get_mut(&known)
    }

    /// Takes what stands in one place of many forms for values.
    fn merge(&mut self) {
        self.merge_words();
        self.merge_segments();
        if self.groups.len() > FORMS_MAX / 2 {
            self.merge_families();
        }
    }

    /// Makes some forms one.
    fn make_one(&mut self, general: Vec<Part>, forms: &[Vec<Part>]) {
        let groups: Vec<Group> = forms.iter().filter_map(|form| self.groups.remove(form)).collect();
        self.merged.retain(|form| !forms.contains(form));
        let count: u64 = groups.iter().map(|group| group.count).sum();
        let Some(first) = groups.into_iter().next() else { return };
        self.merged.insert(general.clone());
        let own = self.groups.entry(general).or_insert(Group { count: 0, ..first });
        own.count += count;
    }

    /// Takes a segment that has many shapes for one value.
    fn merge_segments(&mut self) {
        let longest = self.groups.keys().map(|form| segments(form).len()).max().unwrap_or(0);
        for place in 0..longest {
            let mut alike: BTreeMap<Vec<Part>, Vec<Vec<Part>>> = BTreeMap::new();
            for form in self.groups.keys() {
                let own = segments(form);
                if place < own.len()
                    && let Some(general) = with_value_for(&own, place)
                {
                    alike.entry(general).or_default().push(form.clone());
                }
            }
            for (general, mut forms) in alike {
                // A value of many keys has some that look otherwise.
                let of_value = self.groups.get(&general).map_or(0, |group| group.count);
                if forms.len() <= WORDS_MAX {
                    forms.retain(|form| of_value >= TAKES_ALONG && segments(form)[place].len() > 1);
                }
                if !forms.is_empty() {
                    self.make_one(general, &forms);
                }
            }
        }
    }

    /// Makes forms that begin alike one, the largest families first, until there is room.
    fn merge_families(&mut self) {
        let mut families: BTreeMap<Vec<Part>, Vec<Vec<Part>>> = BTreeMap::new();
        for form in self.groups.keys() {
            if let Some(family) = family(&segments(form)) {
                families.entry(family).or_default().push(form.clone());
            }
        }
        let mut families: Vec<_> = families.into_iter().collect();
        families.sort_by_key(|(_, forms)| std::cmp::Reverse(forms.len()));
        for (general, forms) in families {
            if self.groups.len() <= FORMS_MAX / 2 || forms.len() <= FAMILY_MAX {
                return;
            }
            self.make_one(general, &forms);
        }
    }

    /// Takes words that stand in one place of many forms for values.
    fn merge_words(&mut self) {
        let longest = self.groups.keys().map(Vec::len).max().unwrap_or(0);
        for place in 0..longest {
            let mut alike: BTreeMap<Vec<Part>, Vec<Vec<Part>>> = BTreeMap::new();
            for form in self.groups.keys() {
                if form.get(place).is_some_and(is_word) {
                    alike.entry(with_value(form, place)).or_default().push(form.clone());
                }
            }
            for (general, forms) in alike.into_iter().filter(|(_, forms)| forms.len() > WORDS_MAX) {
                self.make_one(general, &forms);
            }
        }
    }

    /// The forms, those of most keys first; what is not kept last.
    pub fn into_list(mut self) -> Vec<Form> {
        self.merge();
        let form = |(parts, group): (Vec<Part>, Group)| Form {
            text: quotable(&written(&parts)),
            count: group.count,
            example: group.example.into_vec(),
        };
        let groups = self.groups.into_iter().map(|(parts, group)| (sound(&parts), group));
        let mut forms: Vec<Form> = beside_each_other(groups).into_iter().map(form).collect();
        forms.sort_by(|one, other| other.count.cmp(&one.count).then(one.text.cmp(&other.text)));
        forms.extend(self.others.map(|others| form((Vec::new(), others))));
        forms
    }
}

fn is_word(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.first().is_some_and(u8::is_ascii_alphanumeric))
}

fn with_value(form: &[Part], place: usize) -> Vec<Part> {
    let mut form = form.to_vec();
    form[place] = Part::Value("str");
    form
}

/// Forms that are not equal, and none of which overlaps another.
fn beside_each_other(forms: impl Iterator<Item = (Vec<Part>, Group)>) -> Vec<(Vec<Part>, Group)> {
    let mut apart: Vec<(Vec<Part>, Group)> = Vec::new();
    for (mut form, mut group) in forms {
        // What is joined may overlap others than what it was made of.
        let meets = |form: &[Part], other: &[Part]| match *form == *other {
            true => Some(form.to_vec()),
            false => reconciled(form, other),
        };
        while let Some((at, both)) =
            apart.iter().enumerate().find_map(|(at, (other, _))| Some((at, meets(&form, other)?)))
        {
            let (_, other) = apart.swap_remove(at);
            let count = group.count + other.count;
            if other.count > group.count {
                group = other;
            }
            group.count = count;
            form = sound(&both);
        }
        apart.push((form, group));
    }
    apart
}

/// A form as a pattern would be written.
#[cfg(test)]
fn text(parts: &[Part]) -> String {
    quotable(&written(&sound(parts)))
}

/// A form as a pattern can have it: where a schema could not tell several values apart, they are
/// one.
fn sound(parts: &[Part]) -> Vec<Part> {
    let is_sound = |parts: &[Part]| Pattern::parse(&written(parts)).is_ok();
    if parts.is_empty() || is_sound(parts) {
        return parts.to_vec();
    }
    let merged = merged(parts);
    if is_sound(&merged) {
        return merged;
    }
    let address = merged.iter().position(|part| *part == Part::Value("ip"));
    let behind = address.map(|at| [&merged[..at], &[Part::Value("rest")]].concat());
    behind.filter(|form| is_sound(form)).unwrap_or_else(|| vec![Part::Value("rest")])
}

/// A text as it stands between double quotes in TOML.
fn quotable(text: &str) -> String {
    let mut quotable = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quotable.extend(['\\', letter]),
            letter if letter.is_control() => {
                quotable += &format!("\\u{:04X}", u32::from(letter));
            }
            letter => quotable.push(letter),
        }
    }
    quotable
}

/// The same with one value for each segment between colons that has several.
fn merged(parts: &[Part]) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    // Where the segment began, and how many values it has.
    let (mut start, mut values) = (0, 0);
    for part in parts {
        match part {
            Part::Text(text) if text.contains(&b':') => {
                let before = text.iter().position(|byte| *byte == b':').unwrap_or(0);
                let after = text.iter().rposition(|byte| *byte == b':').map_or(0, |at| at + 1);
                let (head, tail) = (&text[..before], &text[after..]);
                if values > 1 {
                    merged.truncate(start);
                    merged.push(Part::Value("str"));
                } else if !head.is_empty() {
                    merged.push(Part::Text(head.into()));
                }
                merged.push(Part::Text(text[before..after].into()));
                (start, values) = (merged.len(), 0);
                if !tail.is_empty() {
                    merged.push(Part::Text(tail.into()));
                }
            }
            Part::Text(_) => merged.push(part.clone()),
            Part::Value("rest") => {
                merged.truncate(start);
                merged.push(Part::Value("rest"));
                return merged;
            }
            Part::Value(_) => {
                values += 1;
                merged.push(part.clone());
            }
        }
    }
    if values > 1 {
        merged.truncate(start);
        merged.push(Part::Value("str"));
    }
    merged
}

/// Parts with a name for each value.
fn written(parts: &[Part]) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Value(kind) => {
                let name = name_of(kind);
                let count = names.entry(name).or_default();
                *count += 1;
                let name = if *count == 1 { name.to_owned() } else { format!("{name}{count}") };
                text += &match *kind {
                    "str" => format!("{{{name}}}"),
                    kind => format!("{{{name}:{kind}}}"),
                };
            }
            Part::Text(bytes) => {
                let bytes = String::from_utf8_lossy(bytes);
                text += &bytes.replace('{', "{{").replace('}', "}}");
            }
        }
    }
    text
}

/// What a value of a kind is called.
fn name_of(kind: &str) -> &'static str {
    match kind {
        "uint" => "n",
        DIGITS => "digits",
        "date" => "day",
        "month" => "month",
        "ip" => "address",
        "hex" => "digest",
        "uuid" | "ulid" => "id",
        "rest" => "rest",
        _ => "name",
    }
}

/// The parts of a key. What lies beyond [`KEY_BYTES`] is one more.
fn parts(key: &[u8]) -> Vec<Part> {
    match key.get(..KEY_BYTES) {
        Some(first) if key.len() > KEY_BYTES => {
            let mut parts = parts_of(first);
            // Its last part may go on there.
            parts.pop();
            parts.push(Part::Value("rest"));
            parts
        }
        _ => parts_of(key),
    }
}

fn parts_of(key: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = key;
    while let Some(first) = rest.first() {
        if parts.len() >= PARTS_MAX {
            parts.push(Part::Value("rest"));
            break;
        }
        if !is_wordy(*first) {
            let end = rest.iter().position(|byte| is_wordy(*byte)).unwrap_or(rest.len());
            parts.push(Part::Text(rest[..end].into()));
            rest = &rest[end..];
            continue;
        }
        if let Some((kind, length)) = fixed(rest) {
            parts.push(Part::Value(kind));
            rest = &rest[length..];
            continue;
        }
        let end = rest.iter().position(|byte| !is_wordy(*byte)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        rest = behind;
        match kind_of(run) {
            Some(kind) => parts.push(Part::Value(kind)),
            None => {
                // `user42` is a word and a number.
                let digits = run.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
                let (word, number) = run.split_at(run.len() - digits);
                parts.push(match std::str::from_utf8(word) {
                    Ok(_) => Part::Text(word.into()),
                    // A pattern is a text.
                    Err(_) => Part::Value("str"),
                });
                parts.extend(number_kind(number).map(Part::Value));
            }
        }
    }
    parts
}

fn is_wordy(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// What a text begins with that has a form of its own, and how long it is.
fn fixed(text: &[u8]) -> Option<(&'static str, usize)> {
    let ends = |length: usize| text.get(length).is_none_or(|byte| !is_wordy(*byte));
    let fits = |form: &[u8]| {
        text.len() >= form.len()
            && ends(form.len())
            && form.iter().zip(text).all(|(form, byte)| match form {
                b'x' => byte.is_ascii_hexdigit(),
                b'9' => byte.is_ascii_digit(),
                literal => literal == byte,
            })
    };
    let forms: [(&[u8], &str, Kind); 3] = [
        (b"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "uuid", Kind::Uuid),
        (b"9999-99-99", "date", Kind::Date),
        (b"9999-99", "month", Kind::Month),
    ];
    let found = forms
        .into_iter()
        .find(|(form, _, kind)| fits(form) && kind.accepts(&text[..form.len()]))
        .map(|(form, kind, _)| (kind, form.len()));
    found
        .or_else(|| address(text).map(|length| ("ip", length)))
        .or_else(|| long_address(text).map(|length| ("ip", length)))
        .or_else(|| token(text).map(|length| ("str", length)))
}

/// How long the IPv6 address is that a text begins with, if it is one that hosts have.
fn long_address(text: &[u8]) -> Option<usize> {
    let (first, rest) = text.split_at_checked(4)?;
    let is_common = match first.to_ascii_lowercase()[..] {
        [b'2' | b'3', ..] | [b'f', b'c' | b'd', ..] => true,
        [b'f', b'e', third, _] => matches!(third, b'8' | b'9' | b'a' | b'b'),
        _ => false,
    };
    if !is_common || rest.first() != Some(&b':') {
        return None;
    }
    let is_of_it = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
    let most = text.iter().take(ADDRESS_BYTES).take_while(|byte| is_of_it(byte)).count();
    let is_end = |length: &usize| text.get(*length).is_none_or(|byte| !is_wordy(*byte));
    (5..=most).rev().filter(is_end).find(|length| Kind::Ip.accepts(&text[..*length]))
}

/// How long the random token is that a text begins with: letters of both cases and digits that
/// change all the time, with signs of base64url among them.
fn token(text: &[u8]) -> Option<usize> {
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let length = text.iter().take_while(|byte| is_of_it(byte)).count();
    let is_end = text.get(length).is_none_or(|byte| !is_wordy(*byte));
    let word = text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // `sess-` before it is a word.
    let is_plain = word < length && text[1..word].iter().all(u8::is_ascii_lowercase);
    if length < TEXT_MIN || !is_end || (is_plain && word > 2) {
        return None;
    }
    let changes = text[..length].windows(2).filter(|pair| match pair {
        [one, other] if one.is_ascii_digit() => other.is_ascii_alphabetic(),
        [one, other] if one.is_ascii_lowercase() => {
            other.is_ascii_uppercase() || other.is_ascii_digit()
        }
        [one, other] => one.is_ascii_uppercase() && other.is_ascii_digit(),
        _ => false,
    });
    let has = |is: fn(&u8) -> bool| text[..length].iter().any(is);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    (is_mixed && changes.count() * 6 >= length).then_some(length)
}

/// How long the IPv4 address is that a text begins with.
fn address(text: &[u8]) -> Option<usize> {
    let is_of_it = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let length = text.iter().take_while(|byte| is_of_it(byte)).count();
    let is_end = text.get(length).is_none_or(|byte| !is_wordy(*byte));
    (is_end && Kind::Ip.accepts(&text[..length])).then_some(length)
}

/// The kind of digits that are no number: `007`, or too many of them.
const DIGITS: &str = "text(0-9)";

/// The kind of some digits, if there are any.
fn number_kind(digits: &[u8]) -> Option<&'static str> {
    match Kind::Uint.accepts(digits) {
        _ if digits.is_empty() => None,
        true => Some("uint"),
        false => Some(DIGITS),
    }
}

/// What a run of letters and digits looks like, if it is no word.
fn kind_of(run: &[u8]) -> Option<&'static str> {
    let all = |is: fn(&u8) -> bool| run.iter().all(is);
    let has_digit = run.iter().any(u8::is_ascii_digit);
    if all(u8::is_ascii_digit) {
        return number_kind(run);
    }
    if !has_digit {
        return None;
    }
    let is_ulid = run.len() == 26
        && all(|byte| {
            byte.is_ascii_digit() || byte.is_ascii_uppercase() && !b"ILOU".contains(byte)
        });
    if is_ulid {
        return Some("ulid");
    }
    if run.len() >= 8 && all(u8::is_ascii_hexdigit) {
        return Some("hex");
    }
    (run.len() >= TEXT_MIN).then_some("str")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(key: &str) -> String {
        text(&parts(key.as_bytes()))
    }

    #[test]
    fn values_are_told_by_their_forms() {
        let check = |key: &str, expected: &str| assert_eq!(form(key), expected, "{key}");
        check("tmp:job:17", "tmp:job:{n:uint}");
        check("user42", "user{n:uint}");
        check("n:007", "n:{digits:text(0-9)}");
        check("tmp_00000677", "tmp_{digits:text(0-9)}");
        check("n:99999999999999999999999", "n:{digits:text(0-9)}");
        check("pair:1:2", "pair:{n:uint}:{n2:uint}");
        check("ip:10.0.0.255:hits", "ip:{address:ip}:hits");
        check("ip:2001:db8::17:hits", "ip:{address:ip}:hits");
        check("ban:fe80::1ff:fe23:4567:890a", "ban:{address:ip}");
        check("feed::1", "feed::{n:uint}");
        check("sess:tRz-0fV_9kQeWvG816bUx9EPjHma-23y", "sess:{name}");
        check("sess-tRz-0fV_9kQeWvG816bUx9EPjHma-23y", "sess-{name}");
        check("MyApp-Job-Result-42", "MyApp-Job-Result-{n:uint}");
        check("v:1.2.3", "v:{n:uint}.{n2:uint}.{n3:uint}");
        check("v:1.2.3.999", "v:{n:uint}.{n2:uint}.{n3:uint}.{n4:uint}");
        let uuid = "6f2b0c1e-9a3d-4f7e-8b21-0c9d8e7f6a5b";
        check(&format!("celery-task-meta-{uuid}"), "celery-task-meta-{id:uuid}");
        check("stats:2026-01-31:views", "stats:{day:date}:views");
        check("stats:2026-13-45:views", "stats:{n:uint}-{n2:uint}-{n3:uint}:views");
        check("stats:2026-01", "stats:{month:month}");
        check("lock:deadbeef01", "lock:{digest:hex}");
        check("feed:01ARZ3NDEKTSV4RRFFQ69G5FAV", "feed:{id:ulid}");
        check("tok:9xQeWvG816bUx9EPjHmaT23yvVM2", "tok:{name}");
        check("a{b}\u{1}", "a{{b}}\\u0001");
        check("café:17", "café:{n:uint}");
        check(r#"say:"hi"\"#, r#"say:\"hi\"\\"#);
        check("", "");
        check("facade:beef", "facade:beef");
        check("a:b:c:d:e:f:g:h", "a:b:c:d:e:f:{rest:rest}");
    }

    #[test]
    fn a_form_is_a_pattern_that_its_key_fits() {
        for key in [
            "tmp:job:17",
            "n:007",
            "a-1-2:b",
            "10.0.0.1:1",
            "x1y2:z3",
            "stats:2026-02-30",
            "q:1.5:2.5-3",
            "a:b:c:d:e:f:1-2-3:x",
            "k1.2_3:4",
        ] {
            let form = form(key);
            let pattern = Pattern::parse(&form);
            assert!(pattern.is_ok_and(|it| it.accepts(key.as_bytes())), "{key}: {form}");
        }
    }

    /// Keys of any bytes: each form is pasted into a schema, which is sound and takes the key.
    #[test]
    fn a_form_can_be_pasted_whatever_bytes_its_key_has() {
        let pieces: [&[u8]; 16] = [
            b"user",
            b":",
            b"42",
            b"\xff\xfe",
            b"\xc3",
            "é".as_bytes(),
            b"\"",
            b"\\",
            b"\n",
            b"{",
            b"}",
            b"-",
            b"'",
            b"007",
            "💡".as_bytes(),
            b"\x7f",
        ];
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut keys: Vec<Vec<u8>> = (0..300)
            .map(|_| (0..=draw(12)).flat_map(|_| pieces[draw(16) as usize]).copied().collect())
            .collect();
        keys.push([b"long:".as_slice(), &b"x".repeat(500)].concat());
        keys.push([b"long:".as_slice(), "é".repeat(300).as_bytes()].concat());
        keys.push(b"a:1:".repeat(100));
        for key in keys {
            let form = text(&parts(&key));
            let file = format!("[keyspace]\nname = 'x'\n[key.\"{form}\"]\ntype = 'any'\n");
            let checked = keyward_schema::check("x.toml", file.as_bytes());
            let found: Vec<&str> = checked.diagnostics.iter().map(|it| &*it.message).collect();
            let fits = checked.schema.is_some_and(|it| it.keys[0].pattern.accepts(&key));
            assert!(fits, "{}: {form}: {found:?}", key.escape_ascii());
        }
    }

    #[test]
    fn many_words_in_one_place_are_values() {
        let mut forms = Forms::default();
        for letter in 'a'..='z' {
            forms.add(format!("name:{letter}").as_bytes());
        }
        forms.add(b"config:main");
        forms.add(b"config:main");
        let list = forms.into_list();
        let told: Vec<(&str, u64)> = list.iter().map(|form| (&*form.text, form.count)).collect();
        assert_eq!(told, [("name:{name}", 26), ("config:main", 2)]);
        assert_eq!(list[0].example, b"name:a");
    }

    #[test]
    fn values_that_a_schema_could_not_tell_apart_are_one() {
        let mut forms = Forms::default();
        for letter in 'a'..='z' {
            forms.add(format!("seat:{letter}7:x").as_bytes());
        }
        let list = forms.into_list();
        assert_eq!(list[0].text, "seat:{name}:x");
    }

    #[test]
    fn forms_that_are_written_alike_are_one() {
        let mut forms = Forms::default();
        for number in 0..3_000_u32 {
            for letter in ["a", "b", "c"] {
                forms.add(format!("mix:{letter}{number}-{number:x}").as_bytes());
                forms.add(format!("user:{letter}{number:07x}:a").as_bytes());
            }
            forms.add(format!("user:{number}:a").as_bytes());
        }
        let list = forms.into_list();
        let mut texts: Vec<&str> = list.iter().map(|form| &*form.text).collect();
        texts.sort_unstable();
        let told = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), told, "{list:?}");
        assert_eq!(list.iter().map(|form| form.count).sum::<u64>(), 21_000);
        for form in &list {
            let pattern = Pattern::parse(&form.text);
            assert!(pattern.is_ok_and(|it| it.accepts(&form.example)), "{form:?}");
        }
    }

    /// Chance that is the same each time.
    fn drawing() -> impl FnMut(usize) -> usize {
        let mut state = 7_u64;
        move |below| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        }
    }

    #[test]
    fn random_ids_of_one_family_leave_room_for_the_others() {
        let few = ["orders:open", "users:by_signup", "flags", "bull:video:meta", "bull:video:wait"];
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut draw = drawing();
        let mut forms = Forms::default();
        for _ in 0..5_000 {
            let id: Vec<u8> = (0..32).map(|_| alphabet[draw(64)]).collect();
            forms.add(&[b"sess:", &id[..]].concat());
        }
        few.iter().for_each(|key| forms.add(key.as_bytes()));
        let list = forms.into_list();
        assert_eq!((&*list[0].text, list[0].count), ("sess:{name}", 5_000), "{list:?}");
        let texts: Vec<&str> = list[1..].iter().map(|form| &*form.text).collect();
        assert_eq!(texts.len(), few.len(), "{texts:?}");
        assert!(few.iter().all(|key| texts.contains(key)), "{texts:?}");
    }

    #[test]
    fn a_family_of_many_forms_leaves_room_for_the_others() {
        let mut draw = drawing();
        let mut forms = Forms::default();
        for _ in 0..3_000 {
            let pieces = ["a", "b", "cd", "7", "-", "_", ".", ":", ":x", "/"];
            let path: String = (0..10).map(|_| pieces[draw(10)]).collect();
            forms.add(format!("page:{path}").as_bytes());
        }
        forms.add(b"orders:open");
        let list = forms.into_list();
        assert!(list.iter().any(|form| form.text == "orders:open"), "{list:?}");
        assert_eq!(list.iter().map(|form| form.count).sum::<u64>(), 3_001);
    }

    /// Random families of keys: all forms together are a schema.
    #[test]
    fn forms_can_stand_in_one_schema() {
        let mut draw = drawing();
        for round in 0..60 {
            let mut forms = Forms::default();
            let mut keys = Vec::new();
            for _ in 0..300 {
                let key: Vec<&str> = (0..=draw(3))
                    .map(|_| {
                        [
                            "user",
                            "cart",
                            "7",
                            "007",
                            "12345678",
                            "deadbeef01",
                            "2026-01-31",
                            "2026-01",
                            "10.0.0.1",
                            "2001:db8::1",
                            "a7",
                            "b-7",
                            "7-b",
                            "x_1",
                            "",
                            "6f2b0c1e-9a3d-4f7e-8b21-0c9d8e7f6a5b",
                            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                            "9xQeWvG816bUx9EPjHmaT23yvVM2",
                            "cafe",
                        ][draw(19)]
                    })
                    .collect();
                keys.push(format!("{}:{}", ["k", "sess"][draw(2)], key.join(":")));
            }
            keys.iter().for_each(|key| forms.add(key.as_bytes()));
            let list = forms.into_list();
            let declared = list.iter().filter(|form| !form.text.is_empty());
            let keys_of = declared.map(|it| format!("[key.\"{}\"]\ntype = 'any'\n", it.text));
            let file = format!("[keyspace]\nname = 'x'\n{}", keys_of.collect::<String>());
            let checked = keyward_schema::check("x.toml", file.as_bytes());
            let found: Vec<&str> = checked.diagnostics.iter().map(|it| &*it.message).collect();
            let schema = checked.schema.unwrap_or_else(|| panic!("{round}: {found:?} {file}"));
            for form in list.iter().filter(|form| !form.text.is_empty()) {
                let fits = schema.keys.iter().any(|key| key.pattern.accepts(&form.example));
                assert!(fits, "{form:?}");
            }
        }
    }

    #[test]
    fn however_many_forms_there_are_what_is_kept_is_bounded_and_all_keys_are_counted() {
        let mut forms = Forms::default();
        for number in 0..20_000_u32 {
            // No two have a separator in the same places.
            let key: String =
                (0..20).map(|bit| if number >> bit & 1 == 1 { ":a" } else { "-b" }).collect();
            forms.add(key.as_bytes());
        }
        assert!(forms.groups.len() <= FORMS_MAX);
        let list = forms.into_list();
        assert!(list.len() <= FORMS_MAX + 1, "{}", list.len());
        assert_eq!(list.iter().map(|form| form.count).sum::<u64>(), 20_000);
    }
}
