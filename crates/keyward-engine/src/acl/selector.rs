//! A set of rights: commands, keys and channels that go together.
//!
//! A user has one or more of them; a command is allowed if one of them grants all that it
//! asks for.

use super::NewChannels;
use super::check::Place;
use super::command_set::{CommandSet, Told};
use super::key_pattern::{Access, KeyPattern};
use super::rules::{RuleError, has_space};
use crate::glob::{self, Case};
use keyward_commands::{Command, Flag};
use keyward_resp::{Args, split_words};

/// A set of rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    commands: CommandSet,
    has_all_keys: bool,
    keys: Vec<KeyPattern>,
    has_all_channels: bool,
    channels: Vec<Box<[u8]>>,
}

impl Selector {
    /// No right, but for channels if new ones have those.
    pub(super) fn new(new_channels: NewChannels) -> Selector {
        Selector {
            commands: CommandSet::default(),
            has_all_keys: false,
            keys: Vec::new(),
            has_all_channels: new_channels == NewChannels::All,
            channels: Vec::new(),
        }
    }

    /// Every right.
    pub(super) fn all() -> Selector {
        let commands = CommandSet::all();
        Selector {
            commands,
            has_all_keys: true,
            has_all_channels: true,
            ..Selector::new(NewChannels::None)
        }
    }

    /// Reads what stands between parentheses.
    pub(super) fn parse(inner: &[u8], new_channels: NewChannels) -> Result<Selector, RuleError> {
        let mut selector = Selector::new(new_channels);
        // As in Redis, a quote that is left open leaves nothing.
        for rule in split_words(inner).unwrap_or_default() {
            selector.apply(&rule)?;
        }
        Ok(selector)
    }

    /// Obeys a rule.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if is("allkeys") || is("~*") {
            self.has_all_keys = true;
            self.keys.clear();
        } else if is("resetkeys") {
            self.has_all_keys = false;
            self.keys.clear();
        } else if is("allchannels") || is("&*") {
            self.has_all_channels = true;
            self.channels.clear();
        } else if is("resetchannels") {
            self.has_all_channels = false;
            self.channels.clear();
        } else {
            return match rule.first() {
                Some(b'~' | b'%' | b'=') if self.has_all_keys => Err(RuleError::KeysAfterAll),
                Some(b'~' | b'%' | b'=') => {
                    KeyPattern::parse(rule)?.add_to(&mut self.keys);
                    Ok(())
                }
                Some(b'&') => self.add_channel(&rule[1..]),
                _ => self.commands.apply(rule),
            };
        }
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.has_all_channels {
            return Err(RuleError::ChannelsAfterAll);
        }
        if has_space(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.channels.iter().any(|other| **other == *pattern) {
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    pub(super) fn has_every_right(&self) -> bool {
        self.has_all_keys && self.has_all_channels && self.commands.is_all()
    }

    pub(super) fn has_all_keys(&self) -> bool {
        self.has_all_keys
    }

    pub(crate) fn has_all_channels(&self) -> bool {
        self.has_all_channels
    }

    /// The patterns of channels.
    pub(crate) fn channels(&self) -> &[Box<[u8]>] {
        &self.channels
    }

    pub(super) fn grants_command(&self, command: &'static Command, args: Args<'_>) -> bool {
        command.flags.has(Flag::NoAuth) || self.commands.grants(command, args.get(1))
    }

    pub(super) fn grants_key(&self, place: Place<'_>, key: &[u8], wanted: Access) -> bool {
        self.has_all_keys || self.keys.iter().any(|pattern| pattern.grants(place, key, wanted))
    }

    pub(super) fn grants_all_keys(&self, wanted: Access) -> bool {
        self.has_all_keys || self.keys.iter().any(|pattern| pattern.grants_all(wanted))
    }

    /// Whether it grants a channel; a pattern of channels is granted only as it stands.
    pub(super) fn grants_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        let grants = |own: &[u8]| match is_pattern {
            true => own == channel,
            false => glob::matches(own, channel, Case::Sensitive),
        };
        self.has_all_channels || self.channels.iter().any(|own| grants(own))
    }

    /// The rules about commands.
    pub(crate) fn command_rules(&self) -> Vec<u8> {
        self.commands.rules()
    }

    /// The rules about keys.
    pub(crate) fn key_rules(&self) -> Vec<u8> {
        if self.has_all_keys {
            return b"~*".to_vec();
        }
        self.keys.iter().map(KeyPattern::rule).collect::<Vec<_>>().join(&b' ')
    }

    /// The rules about keys that are patterns of schemas, each with the pattern.
    pub(crate) fn exact_rules(&self) -> impl Iterator<Item = (Vec<u8>, &[u8])> {
        let exact = self.keys.iter().filter_map(|key| Some((key, key.exact()?)));
        exact.map(|(key, pattern)| (key.rule(), pattern))
    }

    /// The rules about channels.
    pub(crate) fn channel_rules(&self) -> Vec<u8> {
        if self.has_all_channels {
            return b"&*".to_vec();
        }
        let rules = self.channels.iter().map(|pattern| [b"&", &**pattern].concat());
        rules.collect::<Vec<_>>().join(&b' ')
    }

    /// All rules as they stand between parentheses: words that would be read otherwise there
    /// have quotes.
    pub(super) fn quoted_rules<'a>(&'a self, told: &mut Told<'a>) -> Vec<u8> {
        let rules = self.rules(told);
        let quoted = |word: &[u8]| match word.iter().any(|byte| b"\"')".contains(byte)) {
            true => {
                let escape = |byte: &u8| matches!(byte, b'"' | b'\\').then_some(b'\\');
                let bytes = word.iter().flat_map(|byte| escape(byte).into_iter().chain([*byte]));
                [b'"'].into_iter().chain(bytes).chain([b'"']).collect()
            }
            false => word.to_vec(),
        };
        rules.split(|byte| *byte == b' ').map(quoted).collect::<Vec<_>>().join(&b' ')
    }

    /// All rules, as a file has them. Beside a right to all keys no other is told: it would not
    /// be taken.
    pub(super) fn rules<'a>(&'a self, told: &mut Told<'a>) -> Vec<u8> {
        let mut rules = match self.grants_all_keys(Access::ALL) {
            true => b"~*".to_vec(),
            false => self.key_rules(),
        };
        if !rules.is_empty() {
            rules.push(b' ');
        }
        if !self.has_all_channels {
            rules.extend_from_slice(b"resetchannels ");
        }
        let channels = self.channel_rules();
        if !channels.is_empty() {
            rules.extend_from_slice(&channels);
            rules.push(b' ');
        }
        rules.extend_from_slice(told.rules(&self.commands));
        rules
    }
}
