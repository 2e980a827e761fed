//! The language that commands are drawn from.
//!
//! Owns the rules, read once from `grammar/*.txt`, and their form. A rule is a line
//!
//! ```text
//! 3 > ZADD $z [ ( NX | XX ) ] [ CH ] ( $score $member )...
//! ```
//!
//! with its weight, a mark as in wire scripts, and a template. Words are split and
//! unquoted as redis-cli does it. In a template
//!
//! - `$kind` is an argument (see `argument.rs`);
//! - `[ … ]` may be left out, `( … | … )` is one of several;
//! - `...` after a kind or a closing bracket repeats it;
//! - `$kind#` is a count and so many of it, `$kind=` is as many as were counted;
//! - `$command` is a whole other command, `$$` its first key.
//!
//! The mark tells how replies compare: `>` the same bytes, `>~` in any order where Redis
//! goes by hash (`>~~` for pairs), `>t` lifetimes, `>?` drawn at random, `>*` a walk by
//! cursor, `>&` may block, `>=` restores one server's dump on both. `>!` is as `>`, but the command is never spoilt.

mod expand;

use crate::argument::Kind;
use keyward_resp::split_words;
use keyward_testkit::Random;

pub(crate) use expand::Expansion;

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        /// The files of rules, by name.
        const SOURCES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../grammar/", $name, ".txt")))),+];
    };
}

sources![
    "generic",
    "string",
    "bitmap",
    "hash",
    "list",
    "set",
    "zset",
    "hyperloglog",
    "geo",
    "stream",
    "script",
    "server",
    "acl",
];

/// How the replies to a rule's commands are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Exact,
    /// As `Exact`, but arguments are only what the template says.
    Careful,
    /// In groups of so many.
    AnyOrder(usize),
    Lifetime,
    Draw,
    Walk,
    Transfer,
    Block,
}

impl Mark {
    /// Whether a command can be run by a script or a transaction and compared there.
    pub(crate) fn is_nestable(self) -> bool {
        !matches!(self, Mark::Draw | Mark::Walk | Mark::Transfer)
    }

    /// Whether random mistakes may be put into the command. A mistake could turn a long
    /// lifetime into a short one, or a small sample into a giant one.
    pub(crate) fn is_spoilable(self) -> bool {
        matches!(self, Mark::Exact | Mark::AnyOrder(_))
    }
}

#[derive(Debug)]
enum Part {
    Word(Vec<u8>),
    Argument(Kind),
    Optional(Vec<Part>),
    OneOf(Vec<Vec<Part>>),
    Repeat(Box<Part>),
    /// A count, then so many.
    Counted(Kind),
    /// As many as were counted last.
    AsMany(Kind),
    Command,
    FirstKey,
}

/// A line of the grammar.
#[derive(Debug)]
pub(crate) struct Rule {
    weight: usize,
    pub(crate) mark: Mark,
    parts: Vec<Part>,
}

/// All rules.
#[derive(Debug)]
pub(crate) struct Grammar {
    rules: Vec<Rule>,
    weight: usize,
}

impl Grammar {
    /// Reads the rules: those of the files that are named, or all.
    ///
    /// # Panics
    /// If one is malformed: they are part of the program. If there is none.
    pub(crate) fn new(only: &[String]) -> Grammar {
        let is_wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
        let sources = SOURCES.iter().filter(|(name, _)| is_wanted(name));
        let lines = sources.flat_map(|(_, source)| source.lines());
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules: Vec<Rule> = lines
            .map(|line| parse_rule(line).unwrap_or_else(|| panic!("malformed rule: {line}")))
            .collect();
        let weight = rules.iter().map(|rule| rule.weight).sum();
        assert!(weight > 0, "no rules in {only:?}");
        Grammar { rules, weight }
    }

    /// Whether there is a file of rules of this name.
    pub(crate) fn has_file(name: &str) -> bool {
        SOURCES.iter().any(|(file, _)| *file == name)
    }

    /// Whether a rule has this mark.
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.rules.iter().any(|rule| rule.mark == mark)
    }

    /// A rule that satisfies `is_wanted`, by weight.
    pub(crate) fn pick(&self, random: &mut Random, is_wanted: impl Fn(Mark) -> bool) -> &Rule {
        loop {
            let mut place = random.below(self.weight);
            let chosen = self.rules.iter().find(|rule| {
                let is_here = place < rule.weight;
                place = place.saturating_sub(rule.weight);
                is_here
            });
            match chosen {
                Some(rule) if is_wanted(rule.mark) => return rule,
                _ => {}
            }
        }
    }
}

fn parse_rule(line: &str) -> Option<Rule> {
    let (weight, rest) = line.split_once(' ')?;
    let (mark, template) = rest.split_once(' ')?;
    let mark = match mark {
        ">" => Mark::Exact,
        ">!" => Mark::Careful,
        ">~" => Mark::AnyOrder(1),
        ">~~" => Mark::AnyOrder(2),
        ">t" => Mark::Lifetime,
        ">?" => Mark::Draw,
        ">*" => Mark::Walk,
        ">=" => Mark::Transfer,
        ">&" => Mark::Block,
        _ => return None,
    };
    let words = split_words(template.as_bytes())?;
    let mut words = words.iter().map(Vec::as_slice);
    let (mut branches, end) = parse_branches(&mut words)?;
    let is_whole = end.is_empty() && branches.len() == 1;
    let parts = branches.pop().filter(|parts| is_whole && !parts.is_empty())?;
    Some(Rule { weight: weight.parse().ok()?, mark, parts })
}

/// Parts up to a closing bracket or the end, and the word that ended them.
fn parse_branches<'a>(
    words: &mut impl Iterator<Item = &'a [u8]>,
) -> Option<(Vec<Vec<Part>>, &'a [u8])> {
    let mut branches = vec![Vec::new()];
    while let Some(word) = words.next() {
        let part = match word {
            b"|" => {
                branches.push(Vec::new());
                continue;
            }
            b"[" => {
                let (mut inner, end) = parse_branches(words)?;
                let part = Part::Optional(inner.pop().filter(|_| inner.is_empty())?);
                if end == b"]..." { Part::Repeat(Box::new(part)) } else { part }
            }
            b"(" => {
                let (inner, end) = parse_branches(words)?;
                let part = Part::OneOf(inner);
                if end == b")..." { Part::Repeat(Box::new(part)) } else { part }
            }
            b"]" | b"]..." | b")" | b")..." => return Some((branches, word)),
            b"$$" => Part::FirstKey,
            b"$command" => Part::Command,
            [b'$', name @ ..] => parse_argument(name)?,
            word => Part::Word(word.to_vec()),
        };
        branches.last_mut()?.push(part);
    }
    Some((branches, b""))
}

fn parse_argument(name: &[u8]) -> Option<Part> {
    let name = std::str::from_utf8(name).ok()?;
    Some(if let Some(name) = name.strip_suffix("...") {
        Part::Repeat(Box::new(Part::Argument(Kind::named(name)?)))
    } else if let Some(name) = name.strip_suffix('#') {
        Part::Counted(Kind::named(name)?)
    } else if let Some(name) = name.strip_suffix('=') {
        Part::AsMany(Kind::named(name)?)
    } else {
        Part::Argument(Kind::named(name)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read_and_drawn() {
        let grammar = Grammar::new(&[]);
        let mut random = Random::new(1);
        for rule in &grammar.rules {
            for _ in 0..20 {
                let expansion = Expansion::draw(&grammar, rule, &mut random);
                assert!(!expansion.command.is_empty(), "{rule:?}");
            }
        }
    }

    #[test]
    fn malformed_rules_are_refused() {
        for line in ["SET a b", "1 SET a", "1 >x SET a", "1 > SET $nothing", "1 > SET ]"] {
            assert!(parse_rule(line).is_none(), "{line}");
        }
    }
}
