//! The manifest: which files make up the append-only file.
//!
//! ```text
//! file appendonly.aof.3.base.rdb seq 3 type b
//! file appendonly.aof.6.incr.aof seq 6 type h
//! file appendonly.aof.7.incr.aof seq 7 type i
//! ```
//! `b` is the base, `i` an increment, `h` a file that is to be removed. The form, what is
//! refused and the words of refusals are those of Redis 7.0.

use keyward_resp::split_words;
use std::fmt::Write as _;

/// The longest line. The number is Redis's.
const LINE_BYTES_MAX: usize = 1024;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The snapshot everything begins with.
    Base,
    /// Commands that follow.
    Increment,
    /// No longer needed.
    History,
}

/// A file of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// Its name in the directory.
    pub name: String,
    /// Its number among those of its kind.
    pub sequence: u64,
}

/// Which files there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The snapshot everything begins with.
    pub base: Option<NamedFile>,
    /// What followed, the oldest first.
    pub increments: Vec<NamedFile>,
    /// What is to be removed.
    pub history: Vec<NamedFile>,
}

/// Why a manifest cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ManifestError {
    /// Which line, counted from one; zero if there is none.
    pub line: usize,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl Manifest {
    /// Whether it names nothing that could be loaded.
    pub fn is_empty(&self) -> bool {
        self.base.is_none() && self.increments.is_empty()
    }

    /// Reads a manifest.
    pub fn parse(text: &[u8]) -> Result<Manifest, ManifestError> {
        if text.is_empty() {
            return Err(ManifestError { line: 0, problem: "Found an empty AOF manifest" });
        }
        let mut manifest = Manifest::default();
        for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if line.starts_with(b"#") {
                continue;
            }
            let failed = |problem| ManifestError { line: index + 1, problem };
            if !line.ends_with(b"\n") || line.len() > LINE_BYTES_MAX {
                return Err(failed("The AOF manifest file contains too long line"));
            }
            manifest.add(line.trim_ascii()).map_err(failed)?;
        }
        Ok(manifest)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), &'static str> {
        const MALFORMED: &str = "Invalid AOF manifest file format";
        let words = split_words(line).ok_or(MALFORMED)?;
        if words.len() < 6 || !words.len().is_multiple_of(2) {
            return Err(MALFORMED);
        }
        let (mut name, mut sequence, mut kind) = (None, None, None);
        for pair in words.chunks_exact(2) {
            let text = std::str::from_utf8(&pair[1]).map_err(|_| MALFORMED)?;
            match pair[0].to_ascii_lowercase().as_slice() {
                b"file" => name = Some(text.to_owned()),
                b"seq" => sequence = text.parse().ok().filter(|sequence| *sequence > 0),
                b"type" => kind = text.chars().next(),
                // Later versions may say more.
                _ => {}
            }
        }
        let (Some(name), Some(sequence), Some(kind)) = (name, sequence, kind) else {
            return Err(MALFORMED);
        };
        if name.contains(['/', '\\']) {
            return Err("File can't be a path, just a filename");
        }
        let file = NamedFile { name, sequence };
        match kind {
            'b' if self.base.is_some() => return Err("Found duplicate base file information"),
            'b' => self.base = Some(file),
            'h' => self.history.push(file),
            'i' => {
                if self.increments.last().is_some_and(|last| last.sequence >= sequence) {
                    return Err("Found a non-monotonic sequence number");
                }
                self.increments.push(file);
            }
            _ => return Err("Unknown AOF file type"),
        }
        Ok(())
    }

    /// Writes it down.
    pub fn to_text(&self) -> String {
        let base = self.base.iter().map(|file| (file, 'b'));
        let history = self.history.iter().map(|file| (file, 'h'));
        let increments = self.increments.iter().map(|file| (file, 'i'));
        let mut text = String::new();
        for (NamedFile { name, sequence }, kind) in base.chain(history).chain(increments) {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
            let shown = if is_plain { name.clone() } else { format!("{name:?}") };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "file {shown} seq {sequence} type {kind}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_written_as_redis_writes_it_and_read_back() {
        let text = "file a.aof.2.base.rdb seq 2 type b\nfile a.aof.1.incr.aof seq 1 type h\n\
                    file a.aof.2.incr.aof seq 2 type i\nfile \"a b.3\" seq 3 type i\n";
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        assert_eq!(manifest.increments[1].name, "a b.3");
        assert_eq!(manifest.to_text(), text);
        let commented = b"# note\nfile a seq 1 type b later unknown\n";
        assert_eq!(Manifest::parse(commented).unwrap().base.unwrap().name, "a");
    }

    #[test]
    fn what_redis_refuses_is_refused_in_its_words() {
        let check = |text: &str, line: usize, problem: &str| {
            let error = Manifest::parse(text.as_bytes()).expect_err(text);
            assert_eq!((error.line, error.problem), (line, problem), "{text:?}");
        };
        check("", 0, "Found an empty AOF manifest");
        check("\n", 1, "Invalid AOF manifest file format");
        check("file a seq 1 type b", 1, "The AOF manifest file contains too long line");
        check("file a seq 1\n", 1, "Invalid AOF manifest file format");
        check("file a seq 1 type\n", 1, "Invalid AOF manifest file format");
        check("file a seq 0 type b\n", 1, "Invalid AOF manifest file format");
        check("file d/a seq 1 type b\n", 1, "File can't be a path, just a filename");
        check("file a seq 1 type x\n", 1, "Unknown AOF file type");
        check(
            "file a seq 1 type b\nfile b seq 2 type b\n",
            2,
            "Found duplicate base file information",
        );
        check(
            "file a seq 2 type i\nfile b seq 2 type i\n",
            2,
            "Found a non-monotonic sequence number",
        );
    }
}
