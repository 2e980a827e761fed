//! `keyward match`: the pattern of a key.

mod key_text;

use std::ffi::OsString;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use keyward_schema::{
    Key, Match, Matcher, MissReason, NearMiss, Schema, escape, escape_bytes, facts, near_miss,
};
use serde_json::{Map, Value, json};

use super::output::{Format, counted};
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// The longest key that is read from stdin. Redis allows 512 MB, and no
/// pattern has use for it.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Show the pattern that keys belong to
///
/// For each key: its pattern, the values of the placeholders, the type, the
/// lifetime, and where that is declared. For one that matches nothing: the
/// nearest pattern, and where the key leaves it. Exits with 1 if a key matches
/// nothing.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward match shop/keyward.toml user:42 'cart:\\xff'\n  \
    redis-cli --scan | keyward match shop/keyward.toml -\n\n\
    In keys on the command line \\xNN, \\n, \\r, \\t and \\\\ stand for bytes. Keys from \
    stdin are taken as they are, one on each line.")]
pub(crate) struct MatchKeys {
    /// The schema file
    file: PathBuf,
    /// The keys; `-` reads them from stdin
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<OsString>,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl MatchKeys {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.file, terminal)?;
        let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))?;
        let mut session = Session {
            schema: &schema,
            matcher,
            lifetimes: facts::lifetimes(&schema),
            format: self.format,
            terminal,
            total: 0,
            unmatched: 0,
        };
        for key in &self.keys {
            match key.as_encoded_bytes() {
                b"-" => session.show_lines(io::stdin().lock())?,
                text => session.show(&key_text::unescape(text))?,
            }
        }
        session.finish()
    }
}

/// Keys shown one after the other.
struct Session<'a> {
    schema: &'a Schema,
    matcher: Matcher,
    /// In words, for each pattern.
    lifetimes: Vec<String>,
    format: Format,
    terminal: &'a mut Terminal,
    total: usize,
    unmatched: usize,
}

impl Session<'_> {
    fn show_lines(&mut self, mut input: impl BufRead) -> anyhow::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = (&mut input)
                .take(MAX_LINE_BYTES + 1)
                .read_until(b'\n', &mut line)
                .context("cannot read stdin")?;
            if length == 0 {
                return Ok(());
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            } else if length as u64 > MAX_LINE_BYTES {
                bail!("a line of stdin has more than {MAX_LINE_BYTES} bytes");
            }
            self.show(&line)?;
        }
    }

    fn show(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.total += 1;
        let found = self.matcher.find(key);
        if found.is_none() {
            self.unmatched += 1;
        }
        let miss = match found {
            None => near_miss(self.schema.keys.iter().map(|key| &key.pattern), key),
            Some(_) => None,
        };
        match self.format {
            Format::Human => self.terminal.write(&match found {
                Some(found) => self.picture(key, &found),
                None => self.miss_picture(key, miss.as_ref()),
            })?,
            Format::Json => self.terminal.write_record(&match found {
                Some(found) => self.record(key, &found),
                None => self.miss_record(key, miss.as_ref()),
            })?,
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<Answer> {
        if self.format == Format::Human && self.total > 1 {
            let unmatched = self.unmatched;
            let keys = counted(self.total, "key");
            self.terminal.say(&format!("{keys}, {unmatched} without a pattern"))?;
        }
        Ok(if self.unmatched == 0 { Answer::Yes } else { Answer::No })
    }

    fn picture(&self, key: &[u8], found: &Match<'_>) -> String {
        let declared = &self.schema.keys[found.pattern];
        let mut picture = format!("{}\n", escape_bytes(key));
        let mut row = |name: &str, value: &str| {
            picture.push_str(&format!("  {name:8}  {value}\n"));
        };
        row("pattern", &escape(declared.pattern.text()));
        for (name, value) in placeholders(declared, found) {
            row("", &format!("{name} = {value}"));
        }
        row("type", declared.data.name());
        row("lifetime", &escape(&self.lifetimes[found.pattern]));
        row("declared", &self.place(declared));
        picture
    }

    fn record(&self, key: &[u8], found: &Match<'_>) -> Value {
        let declared = &self.schema.keys[found.pattern];
        let placeholders: Map<String, Value> = placeholders(declared, found)
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        json!({
            "key": escape_bytes(key),
            "pattern": declared.pattern.text(),
            "placeholders": placeholders,
            "type": declared.data.name(),
            "lifetime": self.lifetimes[found.pattern],
            "file": self.schema.source.locate(declared.at).0.name,
            "line": self.schema.source.line(declared.at),
        })
    }

    fn miss_picture(&self, key: &[u8], miss: Option<&NearMiss>) -> String {
        let head = format!("{}\n  matches no pattern", escape_bytes(key));
        match miss {
            None => format!("{head}, and resembles none\n"),
            Some(miss) => {
                let near = &self.schema.keys[miss.pattern];
                let pattern = escape(near.pattern.text());
                let place = self.place(near);
                let reason = reason(near, key, &miss.reason);
                format!("{head}\n  nearest   {pattern} ({place})\n  but       {reason}\n")
            }
        }
    }

    fn miss_record(&self, key: &[u8], miss: Option<&NearMiss>) -> Value {
        let nearest = miss.map(|miss| {
            let near = &self.schema.keys[miss.pattern];
            json!({
                "pattern": near.pattern.text(),
                "reason": reason(near, key, &miss.reason),
                "file": self.schema.source.locate(near.at).0.name,
                "line": self.schema.source.line(near.at),
            })
        });
        json!({ "key": escape_bytes(key), "pattern": null, "nearest": nearest })
    }

    /// `shop/keyward.toml:9`.
    fn place(&self, key: &Key) -> String {
        escape(&self.schema.source.place(key.at)).into_owned()
    }
}

/// Names and values of a match's placeholders.
fn placeholders<'a>(
    declared: &'a Key,
    found: &'a Match<'_>,
) -> impl Iterator<Item = (&'a str, String)> {
    let names = declared.pattern.placeholders().iter().map(|placeholder| &*placeholder.name);
    names.zip(found.placeholders().map(escape_bytes))
}

/// Where a key leaves the pattern that is nearest to it.
fn reason(near: &Key, key: &[u8], reason: &MissReason) -> String {
    let segments: Vec<&[u8]> = key.split(|&byte| byte == b':').collect();
    let segment = |index: usize| match segments.get(index) {
        Some([]) => format!("segment {} is empty", index + 1),
        Some(segment) => format!("segment {} is `{}`", index + 1, escape_bytes(segment)),
        None => format!("segment {} is missing", index + 1),
    };
    match reason {
        MissReason::Literal { segment: index, expected } => {
            format!("{}, not `{}`", segment(*index), escape(expected))
        }
        MissReason::Placeholder { segment: index, placeholder } => {
            let placeholder = &near.pattern.placeholders()[*placeholder];
            let demand = placeholder.kind.demand();
            format!("{}, and `{}` {demand}", segment(*index), placeholder.name)
        }
        MissReason::Form { segment: index, expected } => {
            format!("{}, not like `{}`", segment(*index), escape(expected))
        }
        MissReason::Address { placeholder } => {
            let name = &near.pattern.placeholders()[*placeholder].name;
            format!("`{name}` takes no colon; write {{{name}:ip}} for addresses")
        }
        MissReason::TooShort { expected } | MissReason::TooLong { expected } => {
            let has = counted(segments.len(), "segment");
            format!("the key has {has}, and the pattern {expected}")
        }
    }
}
