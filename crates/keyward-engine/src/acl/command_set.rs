//! The commands that a selector grants.
//!
//! Owns a bit for each command and subcommand of the table, one for each that Redis has and this
//! server has not, and the deprecated right to a command with one first argument (`+select|1`).
//! `command_set/telling.rs` tells all of it as rules.

mod telling;

use super::rules::{RuleError, has_space};
use keyward_commands::{
    ABSENT, ABSENT_RIGHTS, AclCategories, AclCategory, COMMANDS, Command, CommandId,
    lookup_full_name,
};
use std::collections::BTreeMap;

pub(super) use telling::Told;

/// How many commands a right can be about: those of the table, behind them those that are left
/// out.
const RIGHTS: usize = CommandId::COUNT + ABSENT_RIGHTS.len();
const WORDS: usize = RIGHTS.div_ceil(64);

/// A bit for each command that a right can be about.
type Bits = [u64; WORDS];

/// The commands of each category, by its place among all.
static MEMBERS: [Bits; CATEGORIES] = all_members();
/// The same with all subcommands of those that are containers: what a rule about the category
/// is about.
static GRANTED: [Bits; CATEGORIES] = with_subcommands();
const CATEGORIES: usize = AclCategory::ALL.len();

/// The categories of a command.
const fn acl_of(right: usize) -> AclCategories {
    if right < CommandId::COUNT {
        COMMANDS[right].acl
    } else {
        ABSENT_RIGHTS[right - CommandId::COUNT].acl
    }
}

/// The command that one is a subcommand of.
const fn container_of(right: usize) -> Option<usize> {
    if right < CommandId::COUNT {
        match COMMANDS[right].container {
            Some(container) => Some(container as usize),
            None => None,
        }
    } else {
        match ABSENT_RIGHTS[right - CommandId::COUNT].container {
            Some(container) => Some(CommandId::COUNT + container),
            None => None,
        }
    }
}

const fn all_members() -> [Bits; CATEGORIES] {
    let mut members = [[0; WORDS]; CATEGORIES];
    let mut index = 0;
    while index < CATEGORIES {
        let mut right = 0;
        while right < RIGHTS {
            if acl_of(right).has(AclCategory::ALL[index]) {
                members[index][right / 64] |= 1 << (right % 64);
            }
            right += 1;
        }
        index += 1;
    }
    members
}

const fn with_subcommands() -> [Bits; CATEGORIES] {
    let mut granted = all_members();
    let mut index = 0;
    while index < CATEGORIES {
        let mut right = 0;
        while right < RIGHTS {
            if let Some(container) = container_of(right)
                && acl_of(container).has(AclCategory::ALL[index])
            {
                granted[index][right / 64] |= 1 << (right % 64);
            }
            right += 1;
        }
        index += 1;
    }
    granted
}

/// A set of commands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct CommandSet {
    bits: [u64; WORDS],
    /// It began with all commands: those to come are granted too.
    has_future: bool,
    /// Nothing has been taken away since it had all.
    is_all: bool,
    /// First arguments by which a command is granted that is not granted otherwise.
    first_arguments: BTreeMap<CommandId, Vec<Box<[u8]>>>,
}

impl CommandSet {
    pub(super) fn all() -> CommandSet {
        let (bits, first_arguments) = ([u64::MAX; WORDS], BTreeMap::new());
        CommandSet { bits, has_future: true, is_all: true, first_arguments }
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    fn has(&self, right: usize) -> bool {
        self.bits[right / 64] & 1 << (right % 64) != 0
    }

    /// Whether a command is granted whose first argument, if it has one, is this.
    pub(super) fn grants(&self, command: &Command, first: Option<&[u8]>) -> bool {
        if self.is_all || self.has(command.id as usize) {
            return true;
        }
        let granted = self.first_arguments.get(&command.id);
        granted.zip(first).is_some_and(|(granted, first)| {
            granted.iter().any(|argument| argument.eq_ignore_ascii_case(first))
        })
    }

    fn set_bit(&mut self, right: usize, is_granted: bool) {
        let bit = 1 << (right % 64);
        let word = &mut self.bits[right / 64];
        if is_granted {
            *word |= bit;
        } else {
            *word &= !bit;
            self.is_all = false;
        }
    }

    /// Grants or denies a command with all of its subcommands.
    fn set(&mut self, command: &Command, is_granted: bool) {
        self.set_bit(command.id as usize, is_granted);
        self.first_arguments.remove(&command.id);
        for subcommand in command.subcommands() {
            self.set_bit(subcommand.id as usize, is_granted);
        }
    }

    /// The same of one that is left out, by its place among these.
    fn set_absent(&mut self, place: usize, is_granted: bool) {
        self.set_bit(CommandId::COUNT + place, is_granted);
        for (part, absent) in ABSENT_RIGHTS.iter().enumerate() {
            if absent.container == Some(place) {
                self.set_bit(CommandId::COUNT + part, is_granted);
            }
        }
    }

    fn set_category(&mut self, category: AclCategory, is_granted: bool) {
        for (word, granted) in self.bits.iter_mut().zip(GRANTED[category as usize]) {
            match is_granted {
                true => *word |= granted,
                false => *word &= !granted,
            }
        }
        self.is_all &= is_granted;
        self.first_arguments.retain(|id, _| !id.command().acl.has(category));
    }

    /// Obeys a rule about commands.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if is("allcommands") || is("+@all") {
            *self = CommandSet::all();
            return Ok(());
        }
        if is("nocommands") || is("-@all") {
            *self = CommandSet::default();
            return Ok(());
        }
        match rule {
            [sign @ (b'+' | b'-'), b'@', name @ ..] => {
                let category = AclCategory::by_name(name).ok_or(RuleError::Unknown)?;
                self.set_category(category, *sign == b'+');
                Ok(())
            }
            [b'-', name @ ..] => self.name(name, false),
            [b'+', name @ ..] => match name.iter().rposition(|byte| *byte == b'|') {
                Some(bar) => self.grant_part(name, bar),
                None => self.name(name, true),
            },
            _ => Err(RuleError::Syntax),
        }
    }

    /// Grants or denies the command of this name.
    fn name(&mut self, name: &[u8], is_granted: bool) -> Result<(), RuleError> {
        let is_it = |full: String| full.as_bytes().eq_ignore_ascii_case(name);
        if let Some(command) = lookup_full_name(name) {
            self.set(command, is_granted);
        } else if let Some(place) = ABSENT_RIGHTS.iter().position(|it| is_it(it.full_name())) {
            self.set_absent(place, is_granted);
        } else if !ABSENT.iter().any(|absent| absent.full_names().any(is_it)) {
            return Err(RuleError::Unknown);
        }
        Ok(())
    }

    /// Grants a subcommand, or a command with a first argument: what stands behind the bar.
    fn grant_part(&mut self, name: &[u8], bar: usize) -> Result<(), RuleError> {
        let (before, part) = (&name[..bar], &name[bar + 1..]);
        let Some(command) = lookup_full_name(before) else { return self.name(name, true) };
        if command.container.is_some() {
            return Err(RuleError::ArgumentOfSubcommand);
        }
        // With a space in it, the rule could not be read from a file.
        if part.is_empty() || has_space(part) {
            return Err(RuleError::Syntax);
        }
        if command.subcommand_count > 0 {
            return self.name(name, true);
        }
        let granted = self.first_arguments.entry(command.id).or_default();
        if !granted.iter().any(|argument| argument.eq_ignore_ascii_case(part)) {
            granted.push(part.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(rules: &str) -> CommandSet {
        let mut set = CommandSet::default();
        rules.split(' ').for_each(|rule| set.apply(rule.as_bytes()).expect("a rule"));
        set
    }

    #[test]
    fn names_that_are_none_are_refused_and_those_of_redis_are_kept() {
        let mut set = CommandSet::default();
        for (rule, error) in [
            ("+nosuch", RuleError::Unknown),
            ("+@nosuch", RuleError::Unknown),
            ("+config|nosuch", RuleError::Unknown),
            ("-select|1", RuleError::Unknown),
            ("+config|get|save", RuleError::ArgumentOfSubcommand),
            ("+debug|", RuleError::Syntax),
            ("get", RuleError::Syntax),
        ] {
            assert_eq!(set.apply(rule.as_bytes()), Err(error), "{rule}");
        }
        for rule in ["+cluster", "-CLUSTER", "+sentinel", "-sentinel|masters"] {
            assert_eq!(set.apply(rule.as_bytes()), Ok(()), "{rule}");
        }
        assert_eq!(set, CommandSet::default());
        for rule in ["+cluster|slots", "+module|list"] {
            assert_eq!(set.apply(rule.as_bytes()), Ok(()), "{rule}");
        }
        assert_ne!(set, CommandSet::default());
    }

    #[test]
    fn a_first_argument_is_granted_until_the_command_is_named() {
        let select = lookup_full_name(b"select").expect("it is in the table");
        let mut rights = set("-@all +select|1");
        assert!(rights.grants(select, Some(b"1")));
        assert!(!rights.grants(select, Some(b"2")) && !rights.grants(select, None));
        rights.apply(b"-select").unwrap();
        assert!(!rights.grants(select, Some(b"1")));
    }
}
