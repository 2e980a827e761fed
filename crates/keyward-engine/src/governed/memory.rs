//! What files remember of the schemas in force.
//!
//! Owns the text that says which schema governed which database when rows were written: in a
//! snapshot it is an AUX field, in the append-only file annotations, which stock Redis reads
//! over. A file without it is a foreign one.
//!
//! ```text
//! keyward-schemas 1\n
//! <db> <mode> <replaced> <bytes of the name> <bytes of the text>\n<name><text>\n     a keyspace
//! …
//! ```
//!
//! `mode` is what overruled the modes of the text (`schema` if nothing did); with `was-` before it
//! the line tells what governed the rows before a schema came that only observes, and with
//! `untold-` before it the schema only observes because the rows came from a server that told of
//! none. `replaced` tells that KEYWARD SCHEMA APPLY put the text in force: it is the SHA-1 of the
//! text of the file that it replaced, or `none` where there was no schema; with `came-` before it
//! the text came with the data in the place of that; otherwise it is `-`. An annotation is a line of at
//! most 1024 bytes, so the text is cut into several of them, with `\`, line feed and carriage
//! return escaped; the last one says how many bytes there were, and their SHA-1.
//! Invariant: what cannot be read is told as [`Damaged`], never taken for something else.
//! Not here: what follows from it (`arrival`, `settlement`).

use super::arrival::{Acceptance, in_words};
use keyward_lua::sha1_hex;
use keyward_rules::RuleBook;
use keyward_schema::{Mode, Persist, Schema, check, conflicts, meaning_of, means_the_same};
use keyward_store::keyspace::Keyspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What messages call a schema that came over the wire where no file was.
pub(crate) const FILE_NAME: &str = "keyward.toml";
/// What stands behind the name of a file where another text than the file's is in force: one that
/// KEYWARD SCHEMA APPLY put there, or one that came with rows.
const AS_APPLIED: &str = " as applied";
const AS_IT_CAME: &str = " as it came with the data";
/// The name of the AUX field.
pub(crate) const FACT: &str = "keyward-schemas";
/// What the text begins with.
const HEAD: &[u8] = b"keyward-schemas 1\n";
/// What stands before the mode of a keyspace that governed rows before they were observed.
const OBSERVED: &str = "was-";
/// What stands before the mode of a keyspace that observes rows of a server without schemas.
const UNTOLD: &str = "untold-";
/// What the note of applied schemas begins with.
const APPLIED_HEAD: &str = "keyward-applied 2 ";
/// Plans that such a note names.
const APPLIED_PLANS_MAX: usize = 64;
/// What stands before what a schema replaced that came with the data.
const CAME: &str = "came-";
/// What annotations begin with, and the last of them.
const LINE: &[u8] = b"#keyward-schemas:";
const LAST_LINE: &[u8] = b"#keyward-schemas-end:";
/// Bytes of the text in an annotation, which doubles if all are escaped.
const LINE_BYTES: usize = 450;
/// More than this is no text of ours: a schema has a megabyte at most.
const BYTES_MAX: usize = 64 << 20;

/// What a file remembers cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// What a schema in force took the place of that no file has: a start goes on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// The SHA-1 of the text that the file had, and of what it means; `None` if there was no file.
    pub(crate) file: Option<String>,
    /// Whether it came with the data; else KEYWARD SCHEMA APPLY put it in force.
    pub(crate) has_come: bool,
}

impl Replaced {
    /// A schema is applied in the place of this text.
    pub(crate) fn by_apply(text: Option<&str>) -> Replaced {
        let sums = |text: &str| format!("{}-{}", sha1(text), sha1(&meaning_of(text)));
        Replaced { file: text.map(sums), has_come: false }
    }

    /// Whether the file had this text.
    pub(crate) fn is_of(&self, text: &str) -> bool {
        let sum = self.file.as_ref().and_then(|sums| sums.split('-').next());
        sum.is_some_and(|sum| sum == sha1(text))
    }

    /// Whether the file had this text, or one that means the same.
    fn is_like(&self, text: &str) -> bool {
        let sum = self.file.as_ref().and_then(|sums| sums.split('-').nth(1));
        self.is_of(text) || sum.is_some_and(|sum| sum == sha1(&meaning_of(text)))
    }

    fn word(&self) -> String {
        let came = if self.has_come { CAME } else { "" };
        format!("{came}{}", self.file.as_deref().unwrap_or("none"))
    }

    fn read(word: &str) -> Option<Replaced> {
        let (word, has_come) = match word.strip_prefix(CAME) {
            Some(word) => (word, true),
            None => (word, false),
        };
        match word {
            "-" => None,
            "none" => Some(Replaced { file: None, has_come }),
            sum => Some(Replaced { file: Some(sum.to_owned()), has_come }),
        }
    }
}

/// What schemas in force took the place of, by database and place of the keyspace.
pub(crate) type ReplacedTexts = BTreeMap<(usize, usize), Replaced>;

/// A keyspace that was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) name: String,
    /// Its text, with all that it includes.
    pub(crate) text: String,
    /// What overruled its modes.
    pub(crate) mode: Option<Mode>,
    /// If no file has it.
    pub(crate) replaced: Option<Replaced>,
}

/// Keyspaces by database.
pub(crate) type Keyspaces = BTreeMap<usize, Vec<Remembered>>;

/// The keyspaces that were in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) in_force: Keyspaces,
    /// Where those only observe: what governed the rows before.
    pub(crate) observed: Keyspaces,
    /// Databases where those only observe because the rows came from a server that told of no
    /// schemas.
    pub(crate) untold: BTreeSet<usize>,
}

impl Memory {
    /// What is in force now, where `observed` tells what governed rows that are observed now, and
    /// `untold` which of them came from a server that told of no schemas.
    pub(crate) fn of(
        keys: &Keyspace,
        replaced: &ReplacedTexts,
        observed: &Keyspaces,
        untold: &BTreeSet<usize>,
    ) -> Memory {
        let governed = (0..keys.database_count()).filter_map(|db| {
            let book = keys.book_of(db)?;
            let remember = |(place, part): (usize, &Schema)| Remembered {
                name: part.keyspace.name.to_string(),
                text: part.source.whole_text().to_owned(),
                mode: book.mode(place),
                replaced: replaced.get(&(db, place)).cloned(),
            };
            Some((db, parts(book.declared()).iter().enumerate().map(remember).collect()))
        });
        let is_observed = |db: &usize| keys.book_of(*db).is_some_and(|book| book.observes_all());
        let observed = observed.iter().filter(|(db, _)| is_observed(db));
        let observed = observed.map(|(db, all)| (*db, all.clone())).collect();
        let untold = untold.iter().copied().filter(is_observed).collect();
        Memory { in_force: governed.collect(), observed, untold }
    }

    /// The text that says so; empty if no schema is in force.
    pub(crate) fn text(&self) -> String {
        if self.in_force.is_empty() {
            return String::new();
        }
        let mut text = String::from_utf8_lossy(HEAD).into_owned();
        let all = [(&self.in_force, ""), (&self.observed, OBSERVED)];
        let all = all.into_iter().flat_map(|(all, what)| {
            let each = all.iter().flat_map(|(db, all)| all.iter().map(move |own| (db, own)));
            each.map(move |(db, own)| (db, own, what))
        });
        for (db, own, what) in all {
            let Remembered { name, text: schema, mode, replaced } = own;
            let is_untold = what.is_empty() && self.untold.contains(db);
            let what = if is_untold { UNTOLD } else { what };
            let mode = format!("{what}{}", mode.map_or("schema", Mode::name));
            let replaced = replaced.as_ref().map_or("-".to_owned(), Replaced::word);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{db} {mode} {replaced} {} {}", name.len(), schema.len());
            let _ = writeln!(text, "{name}{schema}");
        }
        text
    }

    /// What a text says.
    ///
    /// # Errors
    /// If it is none of ours, or not whole.
    pub(crate) fn read(text: &[u8]) -> Result<Memory, Damaged> {
        let parse = || -> Option<Memory> {
            if text.is_empty() {
                return Some(Memory::default());
            }
            let mut rest = text.strip_prefix(HEAD)?;
            let mut memory = Memory::default();
            while !rest.is_empty() {
                let end = rest.iter().position(|byte| *byte == b'\n')?;
                let words: Vec<&str> = std::str::from_utf8(&rest[..end]).ok()?.split(' ').collect();
                let [db, mode, replaced, name, schema] = words[..] else { return None };
                let db = db.parse().ok()?;
                let (mode, all) = match mode.strip_prefix(OBSERVED) {
                    Some(mode) => (mode, &mut memory.observed),
                    None => (mode, &mut memory.in_force),
                };
                let untold = mode.strip_prefix(UNTOLD);
                memory.untold.extend(untold.map(|_| db));
                let mode = untold.unwrap_or(mode);
                let (name, schema): (usize, usize) = (name.parse().ok()?, schema.parse().ok()?);
                rest = &rest[end + 1..];
                let body = rest.get(..name.checked_add(schema)?.checked_add(1)?)?;
                rest = &rest[body.len()..];
                let body = std::str::from_utf8(body).ok()?.strip_suffix('\n')?;
                let own = Remembered {
                    name: body.get(..name)?.to_owned(),
                    text: body.get(name..)?.to_owned(),
                    mode: if mode == "schema" { None } else { Some(Mode::named(mode)?) },
                    replaced: Replaced::read(replaced),
                };
                all.entry(db).or_default().push(own);
            }
            Some(memory)
        };
        parse().ok_or(Damaged)
    }

    /// Where the schemas of a database have its rows kept; none if there are none.
    pub(crate) fn persist(&self, db: usize) -> Option<Persist> {
        let book = book_of(self.in_force.get(&db)?, |own| own.name.clone())?;
        Some(book.schema().keyspace.persist)
    }

    /// Which patterns of a database only observed, in their order; none if there are none.
    pub(crate) fn observing(&self, db: usize) -> Option<Vec<bool>> {
        let book = book_of(self.in_force.get(&db)?, |own| own.name.clone())?;
        Some(book.schema().ids().map(|id| book.observes(id)).collect())
    }

    /// Whether another one has texts of a database that mean the same, in whatever modes.
    pub(crate) fn means_the_same(&self, other: &Memory, db: usize) -> bool {
        let is_same = |(own, other): (&Remembered, &Remembered)| {
            own.name == other.name && means_the_same(&own.text, &other.text)
        };
        match (self.in_force.get(&db), other.in_force.get(&db)) {
            (Some(own), Some(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(is_same)
            }
            (own, others) => own.is_none() && others.is_none(),
        }
    }
}

/// What KEYWARD SCHEMA APPLY did since the last snapshot, for a start without an append-only file:
/// the plans that were accepted, and the schemas that came into force by them.
///
/// ```text
/// keyward-applied 2 <SHA-1 of the rest>\n
/// <plan> DESTROY <count> <plan> …\n
/// <the text of a memory>
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) plans: Vec<Acceptance>,
    pub(crate) memory: Memory,
}

impl Applied {
    /// A plan was applied, which might destroy so much.
    pub(crate) fn add(&mut self, plan: &[u8], destroys_max: u64, memory: Memory) {
        let plan = String::from_utf8_lossy(plan).into_owned();
        self.plans.push(Acceptance { plan, destroys_max });
        let excess = self.plans.len().saturating_sub(APPLIED_PLANS_MAX);
        self.plans.drain(..excess);
        self.memory = memory;
    }

    /// The text that says so.
    pub(crate) fn text(&self) -> String {
        let rest = format!("{}\n{}", in_words(&self.plans), self.memory.text());
        format!("{APPLIED_HEAD}{}\n{rest}", sha1(&rest))
    }

    /// What a text says.
    ///
    /// # Errors
    /// If it is none of ours, or not whole.
    pub(crate) fn read(text: &[u8]) -> Result<Applied, Damaged> {
        let text = std::str::from_utf8(text).map_err(|_| Damaged)?;
        let (sum, rest) = text
            .strip_prefix(APPLIED_HEAD)
            .and_then(|text| text.split_once('\n'))
            .ok_or(Damaged)?;
        if sum != sha1(rest) {
            return Err(Damaged);
        }
        let (plans, memory) = rest.split_once('\n').ok_or(Damaged)?;
        let plans = Acceptance::read(plans.split_whitespace());
        Ok(Applied { plans, memory: Memory::read(memory.as_bytes())? })
    }
}

impl Remembered {
    /// Whether it was put in force in the place of this text of a file, or of one that means the
    /// same.
    pub(crate) fn replaces(&self, text: &str) -> bool {
        self.replaced.as_ref().is_some_and(|replaced| replaced.is_like(text))
    }

    /// The schema, by a name for its text; none if this version does not take it.
    pub(crate) fn schema(&self, name: &str) -> Option<Schema> {
        check(name, self.text.as_bytes()).schema
    }

    /// What messages call its text, which is not that of the file of its keyspace, if there is
    /// one: lines are counted in this text.
    pub(crate) fn name_of_text(&self, file: Option<&str>) -> String {
        let applied = self.replaced.as_ref().filter(|replaced| !replaced.has_come);
        match (applied, file) {
            (Some(Replaced { file: None, .. }), None) => applied_name(FILE_NAME),
            (Some(_), file) => applied_name(file.unwrap_or(&self.name)),
            (None, Some(file)) => format!("{}{AS_IT_CAME}", file_of(file)),
            (None, None) => self.name.clone(),
        }
    }
}

/// What messages call a text that KEYWARD SCHEMA APPLY puts in the place of this one.
pub(crate) fn applied_name(name: &str) -> String {
    format!("{}{AS_APPLIED}", file_of(name))
}

/// The file that a text has its name of.
fn file_of(name: &str) -> &str {
    let name = name.strip_suffix(AS_APPLIED).unwrap_or(name);
    name.strip_suffix(AS_IT_CAME).unwrap_or(name)
}

/// The book of keyspaces that were in force, by names for their texts; none if this version does
/// not take them.
pub(crate) fn book_of(
    remembered: &[Remembered],
    name: impl Fn(&Remembered) -> String,
) -> Option<RuleBook> {
    let schemas = remembered.iter().map(|own| own.schema(&name(own)));
    let schemas: Vec<Schema> = schemas.collect::<Option<_>>()?;
    let together: Vec<(usize, &Schema)> = schemas.iter().map(|schema| (0, schema)).collect();
    if schemas.is_empty() || !conflicts(&together).is_empty() {
        return None;
    }
    let modes: Vec<Option<Mode>> = remembered.iter().map(|own| own.mode).collect();
    Some(RuleBook::overruled(Schema::join(schemas), &modes))
}

/// The schemas of the keyspaces of a database.
pub(crate) fn parts(schema: &Schema) -> &[Schema] {
    match schema.parts.is_empty() {
        true => std::slice::from_ref(schema),
        false => &schema.parts,
    }
}

fn sha1(text: &str) -> String {
    String::from_utf8_lossy(&sha1_hex(text.as_bytes())).into_owned()
}

/// Annotations that say a text.
pub(crate) fn push_annotations(text: &str, out: &mut Vec<u8>) {
    for piece in text.as_bytes().chunks(LINE_BYTES) {
        out.extend_from_slice(LINE);
        for byte in piece {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                0 => out.extend_from_slice(b"\\0"),
                other => out.push(*other),
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(LAST_LINE);
    out.extend_from_slice(format!("{} {}\r\n", text.len(), sha1(text)).as_bytes());
}

/// Annotations being read.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    text: Vec<u8>,
}

impl Annotations {
    /// Reads an annotation, without its line's end; the whole text if it was the last of one.
    pub(crate) fn read(&mut self, line: &[u8]) -> Option<Result<Vec<u8>, Damaged>> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(told) = line.strip_prefix(LAST_LINE) {
            let text = std::mem::take(&mut self.text);
            return Some(whole(text, told).ok_or(Damaged));
        }
        let mut bytes = line.strip_prefix(LINE)?.iter();
        while let Some(byte) = bytes.next() {
            self.text.push(match byte {
                b'\\' => match bytes.next() {
                    Some(b'n') => b'\n',
                    Some(b'r') => b'\r',
                    Some(b'0') => 0,
                    _ => b'\\',
                },
                other => *other,
            });
        }
        if self.text.len() > BYTES_MAX {
            self.text.clear();
        }
        None
    }

    /// Whether a text was begun of which the last line is missing.
    pub(crate) fn is_amid_text(&self) -> bool {
        !self.text.is_empty()
    }
}

/// The text that a last line tells of: the end of what was read, since a stop may have cut off
/// another text before it. Earlier versions wrote no sum.
fn whole(mut text: Vec<u8>, told: &[u8]) -> Option<Vec<u8>> {
    let told = std::str::from_utf8(told).ok()?;
    let (count, sum) = told.split_once(' ').map_or((told, None), |(count, sum)| (count, Some(sum)));
    let cut_off = text.len().checked_sub(count.parse().ok()?)?;
    text.drain(..cut_off);
    let is_it = sum.is_none_or(|sum| sha1_hex(&text) == *sum.as_bytes());
    is_it.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Memory {
        let own = |name: &str, text: &str, mode, replaced| Remembered {
            name: name.to_owned(),
            text: text.to_owned(),
            mode,
            replaced,
        };
        let long = "# \\ a line\r\n\u{fc}\n".repeat(500);
        let in_force = BTreeMap::from([
            (0, vec![own("shop", "a\nb\n", None, None)]),
            (
                3,
                vec![
                    own("", &long, Some(Mode::Observe), Some(Replaced::by_apply(None))),
                    own("two words", "", Some(Mode::Warn), Some(Replaced::by_apply(Some("x")))),
                ],
            ),
        ]);
        let came = Replaced { has_come: true, ..Replaced::by_apply(Some("d")) };
        let observed = vec![own("shop", "c\n", Some(Mode::Warn), Some(came))];
        let observed = BTreeMap::from([(3, observed)]);
        Memory { in_force, observed, untold: BTreeSet::from([3]) }
    }

    #[test]
    fn a_memory_reads_back_as_itself() {
        assert_eq!(Memory::read(sample().text().as_bytes()), Ok(sample()));
        assert_eq!(Memory::default().text(), "");
        assert_eq!(Memory::read(b""), Ok(Memory::default()));
    }

    #[test]
    fn what_is_cut_or_changed_is_told_as_damaged() {
        let text = sample().text().into_bytes();
        for end in 1..text.len() {
            // Cut behind a keyspace it has that one.
            if let Ok(read) = Memory::read(&text[..end]) {
                let count = |all: &Keyspaces| all.values().flatten().count();
                assert!(count(&read.in_force) + count(&read.observed) < 4, "{end}");
            }
        }
        assert_eq!(Memory::read(b"keyward-schemas 2\n0 schema - 1 1\nab\n"), Err(Damaged));
        assert_eq!(Memory::read(b"keyward-schemas 1\n0 loud - 1 1\nab\n"), Err(Damaged));
        assert_eq!(Memory::read(b"keyward-schemas 1\n0 schema - 9 9\nab\n"), Err(Damaged));
    }

    #[test]
    fn a_note_of_applied_schemas_reads_back_or_is_damaged() {
        let mut applied = Applied::default();
        for number in 0..100 {
            applied.add(format!("plan{number}").as_bytes(), number % 2, sample());
        }
        assert_eq!(applied.plans.len(), APPLIED_PLANS_MAX);
        let last = Acceptance { plan: "plan99".to_owned(), destroys_max: 1 };
        assert_eq!(applied.plans.last(), Some(&last));
        let text = applied.text().into_bytes();
        assert_eq!(Applied::read(&text), Ok(applied));
        for end in (0..text.len()).step_by(97) {
            assert_eq!(Applied::read(&text[..end]), Err(Damaged), "{end}");
        }
        let none = Applied::default();
        assert_eq!(Applied::read(none.text().as_bytes()), Ok(none));
    }

    #[test]
    fn annotations_are_short_lines_that_read_back() {
        let text = sample().text();
        let mut lines = Vec::new();
        push_annotations(&text, &mut lines);
        let mut annotations = Annotations::default();
        let mut read = Vec::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            assert!(line.len() <= 1024 && line.ends_with(b"\r\n") && line.starts_with(b"#"));
            read.extend(annotations.read(line.strip_suffix(b"\n").expect("a line")));
        }
        assert_eq!(read, [Ok(text.clone().into_bytes())]);
        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
        let mut all = |lines: &[&[u8]]| -> Vec<_> {
            lines.iter().filter_map(|line| annotations.read(line)).collect()
        };
        // One that lost a line, or a byte of it, is damaged.
        assert_eq!(all(&lines[1..]), [Err(Damaged)]);
        let changed: Vec<u8> =
            lines[0].iter().map(|byte| if *byte == b'a' { b'b' } else { *byte }).collect();
        assert_eq!(all(&[&[&changed[..]], &lines[1..]].concat()), [Err(Damaged)]);
        // What a stop cut off does not spoil the next one.
        let torn = [&lines[..2], &lines[..]].concat();
        assert_eq!(all(&torn), [Ok(text.into_bytes())]);
    }

    #[test]
    fn annotations_without_a_sum_are_read() {
        let mut annotations = Annotations::default();
        assert_eq!(annotations.read(b"#keyward-schemas:abc\r"), None);
        assert!(annotations.is_amid_text());
        assert_eq!(annotations.read(b"#keyward-schemas-end:3\r"), Some(Ok(b"abc".to_vec())));
        assert!(!annotations.is_amid_text());
    }
}
