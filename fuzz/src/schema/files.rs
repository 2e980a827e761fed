//! Random schemas of several files that include each other, in memory.
//!
//! Each file is what `input` makes. Its keys bear a variable in front now and then, for which who
//! includes it gives a value or does not; paths are right mostly, and lead nowhere, back to a file
//! that includes this one, or twice to the same otherwise.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use keyward_schema::Files;

use super::input;
use crate::Random;

/// The most files of a schema.
const FILES_MAX: usize = 5;

/// The path of the file that is read first.
pub(super) const FIRST: &str = "shop/file0.toml";

/// Files by their paths.
pub(super) struct Memory(BTreeMap<PathBuf, Vec<u8>>);

impl Memory {
    /// Two files or more.
    pub(super) fn of(random: &mut Random) -> Memory {
        let count = 2 + random.below(FILES_MAX - 1);
        let is_calm = random.one_in(2);
        let file = |place| (path_of(place), file(place, count, is_calm, random));
        Memory((0..count).map(file).collect())
    }

    /// What is in the file that is read first.
    pub(super) fn first(&self) -> &[u8] {
        &self.0[Path::new(FIRST)]
    }
}

impl Files for Memory {
    fn identity(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        plain
    }

    fn read(&self, path: &Path, bytes_max: usize) -> Result<Vec<u8>, String> {
        let bytes = self.0.get(&self.identity(path)).ok_or("no such file")?;
        Ok(bytes[..bytes.len().min(bytes_max + 1)].to_vec())
    }
}

fn path_of(place: usize) -> PathBuf {
    let folder = if place.is_multiple_of(2) { "shop" } else { "library" };
    Path::new(folder).join(format!("file{place}.toml"))
}

/// A file that may include any of so many: those behind it mostly, so that there is no circle.
/// In a calm schema little is wrong.
fn file(place: usize, count: usize, is_calm: bool, random: &mut Random) -> Vec<u8> {
    let own = if is_calm { input::sound_example(random) } else { input::file(random) };
    let mut text = String::new();
    let behind = count - place - 1;
    if place == 0 || random.one_in(3) {
        let mut other = || {
            let other = match (is_calm || !random.one_in(12), behind) {
                (true, 1..) => place + 1 + random.below(behind),
                _ => random.below(count + 1),
            };
            include(other, is_calm, random)
        };
        let mut includes = vec![other(), other(), other()];
        includes.truncate(1 + random.below(3));
        text.push_str(&format!("include = [{}]\n", includes.join(", ")));
    }
    if place == 0 || (!is_calm && random.one_in(4)) {
        return [text.as_bytes(), &own].concat();
    }
    if is_calm || !random.one_in(4) {
        text.push_str(&format!("[variables]\nprefix = \"f{place}:\"\nttl = \"5m\"\n"));
    }
    text.push_str(&as_library(&String::from_utf8_lossy(&own)));
    text.into_bytes()
}

/// The way to a file, with values or without.
fn include(other: usize, is_calm: bool, random: &mut Random) -> String {
    let path = format!("../{}", path_of(other).display());
    match random.below(4) {
        0 => format!("\"{path}\""),
        1 => format!("{{ file = \"{path}\" }}"),
        _ if is_calm => {
            let value = *random.pick(&["", "x:", "y:", "y-", "{q:uint}:", "z:{w:a|b}:"]);
            format!("{{ file = \"{path}\", with = {{ prefix = \"{value}\" }} }}")
        }
        _ => {
            let name = *random.pick(&["prefix", "prefix", "prefix", "ttl", "gone"]);
            let value = *random.pick(&["", "x:", "y:{w:a|b}:", "1h", "${prefix}", "\\n\\\"", "{"]);
            format!("{{ file = \"{path}\", with = {{ {name} = \"{value}\" }} }}")
        }
    }
}

/// A file without a keyspace of its own, and a variable in front of its keys unless others refer
/// to them.
fn as_library(text: &str) -> String {
    let is_head = |line: &&str| *line == "[keyspace]" || line.starts_with("name = \"shop\"");
    let lines: Vec<&str> = text.lines().filter(|line| !is_head(line)).collect();
    let text = lines.join("\n");
    match ["of = \"", "with = \"", "follows", "inverse"].iter().any(|tie| text.contains(tie)) {
        true => text,
        false => text.replace("[key.\"", "[key.\"${prefix}"),
    }
}
