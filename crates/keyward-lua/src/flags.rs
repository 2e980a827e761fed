//! What a script says about itself: the first line `#!lua flags=…`, or the flags of
//! a registered function.
//!
//! Owns the flags and the reading of that line, for scripts and for libraries.
//! Not here: what a flag forbids (`scripting::run` of the engine).

use keyward_resp::split_words;

/// A promise or a permission of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptFlag {
    /// It does not write.
    NoWrites,
    /// It may run when memory is above `maxmemory`.
    AllowOom,
    /// It may run on a replica with stale data.
    AllowStale,
    /// It may not run in a cluster.
    NoCluster,
    /// It may use keys of several slots.
    AllowCrossSlotKeys,
}

impl ScriptFlag {
    /// All, in the order FUNCTION LIST shows them.
    pub const ALL: [ScriptFlag; 5] = [
        ScriptFlag::NoWrites,
        ScriptFlag::AllowOom,
        ScriptFlag::AllowStale,
        ScriptFlag::NoCluster,
        ScriptFlag::AllowCrossSlotKeys,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            ScriptFlag::NoWrites => "no-writes",
            ScriptFlag::AllowOom => "allow-oom",
            ScriptFlag::AllowStale => "allow-stale",
            ScriptFlag::NoCluster => "no-cluster",
            ScriptFlag::AllowCrossSlotKeys => "allow-cross-slot-keys",
        }
    }

    /// For the first line of a script.
    fn by_name(name: &[u8]) -> Option<ScriptFlag> {
        ScriptFlag::ALL.into_iter().find(|flag| flag.name().as_bytes() == name)
    }

    /// For a registered function.
    pub(crate) fn by_name_in_any_case(name: &[u8]) -> Option<ScriptFlag> {
        let is = |flag: &ScriptFlag| flag.name().as_bytes().eq_ignore_ascii_case(name);
        ScriptFlag::ALL.into_iter().find(is)
    }
}

/// A set of flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptFlags(u8);

impl ScriptFlags {
    /// This set and one more.
    #[must_use]
    pub fn with(self, flag: ScriptFlag) -> ScriptFlags {
        ScriptFlags(self.0 | 1 << flag as u8)
    }

    /// Whether a flag is in the set.
    pub fn has(self, flag: ScriptFlag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// The flags of the set.
    pub fn iter(self) -> impl Iterator<Item = ScriptFlag> + Clone {
        ScriptFlag::ALL.into_iter().filter(move |flag| self.has(*flag))
    }
}

/// Where the first line ends; nowhere if there is a zero byte in it, as for C's `strchr`.
fn first_line_end(text: &[u8]) -> Option<usize> {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | 0))?;
    (text[end] == b'\n').then_some(end)
}

/// Splits a script into its declared flags and its code. `None` for the flags means
/// that it has no first line of this kind: then it may do everything, as scripts of
/// old. The code keeps the line end, so that lines keep their numbers.
pub fn read_script(body: &[u8]) -> Result<(Option<ScriptFlags>, &[u8]), Vec<u8>> {
    if !body.starts_with(b"#!") {
        return Ok((None, body));
    }
    let end = first_line_end(body).ok_or(b"Invalid script shebang")?;
    let parts = split_words(&body[..end]).filter(|parts| !parts.is_empty());
    let parts = parts.ok_or(b"Invalid engine in script shebang")?;
    if parts[0] != b"#!lua" {
        return Err([b"Unexpected engine in script shebang: ", &parts[0][..]].concat());
    }
    let mut flags = ScriptFlags::default();
    for part in &parts[1..] {
        let Some(names) = part.strip_prefix(b"flags=") else {
            return Err([b"Unknown lua shebang option: ", &part[..]].concat());
        };
        // "flags=" alone declares that there are none.
        if names.is_empty() {
            continue;
        }
        for name in names.split(|&byte| byte == b',') {
            let flag = ScriptFlag::by_name(name)
                .ok_or_else(|| [b"Unexpected flag in script shebang: ", name].concat())?;
            flags = flags.with(flag);
        }
    }
    Ok((Some(flags), &body[end..]))
}

/// What the first line of a library says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LibraryHead<'a> {
    pub engine: Vec<u8>,
    pub name: Vec<u8>,
    /// The rest, from the line end on.
    pub code: &'a [u8],
}

/// Reads the first line of a library: `#!lua name=…`.
pub(crate) fn read_library(source: &[u8]) -> Result<LibraryHead<'_>, Vec<u8>> {
    if !source.starts_with(b"#!") {
        return Err(b"Missing library metadata".to_vec());
    }
    let end = first_line_end(source).ok_or(b"Invalid library metadata")?;
    let parts = split_words(&source[..end]).filter(|parts| !parts.is_empty());
    let parts = parts.ok_or(b"Invalid library metadata")?;
    let engine = parts[0].get(2..).unwrap_or_default().to_vec();
    let mut name = None;
    for part in &parts[1..] {
        match part.split_at_checked(5) {
            Some((key, value)) if key.eq_ignore_ascii_case(b"name=") => {
                if name.replace(value.to_vec()).is_some() {
                    let text = b"Invalid metadata value, name argument was given multiple times";
                    return Err(text.to_vec());
                }
            }
            _ => return Err([b"Invalid metadata value given: ", &part[..]].concat()),
        }
    }
    let name = name.ok_or(b"Library name was not given")?;
    Ok(LibraryHead { engine, name, code: &source[end..] })
}
