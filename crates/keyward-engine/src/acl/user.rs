//! A user: a name, passwords, and sets of rights.
//!
//! Of passwords only the SHA-256 is kept, and compared in constant time.

use super::NewChannels;
use super::command_set::Told;
use super::rules::{RuleError, has_space};
use super::selector::Selector;
use sha2::{Digest as _, Sha256};
use std::sync::OnceLock;

/// A SHA-256 in hexadecimal digits.
type Hash = [u8; 64];

/// What a user said about payloads of RESTORE. Here they are always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sanitizing {
    Unsaid,
    Wanted,
    Skipped,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: Box<[u8]>,
    /// Whether one can authenticate as this user.
    pub(crate) is_enabled: bool,
    /// Any password will do.
    pub(crate) needs_no_password: bool,
    sanitizing: Sanitizing,
    passwords: Vec<Hash>,
    /// The first one is the root: what rules outside of parentheses are about.
    selectors: Vec<Selector>,
    told: ToldLine,
}

/// A user as a line, once somebody asked for it: telling it takes longer than all else about a
/// user. A user in force does not change, another takes its place; a copy is yet to be changed.
#[derive(Debug, Default)]
struct ToldLine(OnceLock<Box<[u8]>>);

impl Clone for ToldLine {
    fn clone(&self) -> ToldLine {
        ToldLine::default()
    }
}

impl PartialEq for ToldLine {
    fn eq(&self, _: &ToldLine) -> bool {
        true
    }
}

impl Eq for ToldLine {}

/// Whether a name can be a user's.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    !has_space(name)
}

impl User {
    /// A user who may do nothing and cannot authenticate.
    pub(super) fn new(name: &[u8], new_channels: NewChannels) -> User {
        User {
            name: name.into(),
            is_enabled: false,
            needs_no_password: false,
            sanitizing: Sanitizing::Unsaid,
            passwords: Vec::new(),
            selectors: vec![Selector::new(new_channels)],
            told: ToldLine::default(),
        }
    }

    /// A user who may do everything, with any password.
    pub(super) fn all_powerful(name: &[u8]) -> User {
        let (is_enabled, needs_no_password) = (true, true);
        let selectors = vec![Selector::all()];
        let user = User::new(name, NewChannels::None);
        User { is_enabled, needs_no_password, selectors, ..user }
    }

    /// Obeys a rule; one that is wrong changes nothing.
    pub(super) fn apply(&mut self, rule: &[u8], new: NewChannels) -> Result<(), RuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        match rule {
            [] => {}
            _ if is("on") => self.is_enabled = true,
            _ if is("off") => self.is_enabled = false,
            _ if is("skip-sanitize-payload") => self.sanitizing = Sanitizing::Skipped,
            _ if is("sanitize-payload") => self.sanitizing = Sanitizing::Wanted,
            _ if is("nopass") => self.set_only_password(None),
            _ if is("resetpass") => self.forget_passwords(),
            [b'>', password @ ..] => self.add_password(hash(password)),
            [b'#', digits @ ..] => self.add_password(as_hash(digits)?),
            [b'<', password @ ..] => self.remove_password(&hash(password))?,
            [b'!', digits @ ..] => self.remove_password(&as_hash(digits)?)?,
            [b'(', inner @ .., b')'] => self.selectors.push(Selector::parse(inner, new)?),
            _ if is("clearselectors") => self.selectors.truncate(1),
            _ if is("reset") => {
                let fresh = User::new(&self.name, new);
                *self = User { sanitizing: Sanitizing::Wanted, ..fresh };
            }
            _ => self.selectors[0].apply(rule)?,
        }
        Ok(())
    }

    /// Makes this the only password, or lets any one do.
    pub(super) fn set_only_password(&mut self, password: Option<&[u8]>) {
        self.forget_passwords();
        match password {
            Some(password) => self.add_password(hash(password)),
            None => self.needs_no_password = true,
        }
    }

    fn forget_passwords(&mut self) {
        self.needs_no_password = false;
        self.passwords.clear();
    }

    fn add_password(&mut self, hash: Hash) {
        self.needs_no_password = false;
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
    }

    fn remove_password(&mut self, hash: &Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|own| own == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// Whether a password is one of the user's.
    pub(crate) fn admits(&self, password: &[u8]) -> bool {
        if self.needs_no_password {
            return true;
        }
        let given = hash(password);
        // All of them are compared, so that the time taken does not tell which was right.
        self.passwords.iter().fold(false, |found, own| found | same_in_constant_time(own, &given))
    }

    /// The SHA-256 of each password, in hexadecimal digits.
    pub(crate) fn passwords(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.passwords.iter().map(|hash| hash.as_slice())
    }

    /// The sets of rights, the root first.
    pub(crate) fn selectors(&self) -> &[Selector] {
        &self.selectors
    }

    /// What ACL GETUSER calls flags.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.is_enabled { "on" } else { "off" }];
        if self.needs_no_password {
            flags.push("nopass");
        }
        match self.sanitizing {
            Sanitizing::Unsaid => {}
            Sanitizing::Wanted => flags.push("sanitize-payload"),
            Sanitizing::Skipped => flags.push("skip-sanitize-payload"),
        }
        flags
    }

    /// The user as a line of a file.
    pub(super) fn line<'a>(&'a self, told: &mut Told<'a>) -> &'a [u8] {
        self.told.0.get_or_init(|| self.tell(told).into())
    }

    fn tell<'a>(&'a self, told: &mut Told<'a>) -> Vec<u8> {
        let mut line = [b"user ", &*self.name, b" "].concat();
        for flag in self.flags() {
            line.extend_from_slice(flag.as_bytes());
            line.push(b' ');
        }
        for hash in self.passwords() {
            line.extend_from_slice(&[b"#", hash, b" "].concat());
        }
        let (root, others) = self.selectors.split_first().expect("there is always a root");
        line.extend_from_slice(&root.rules(told));
        for selector in others {
            line.extend_from_slice(&[b" (", selector.quoted_rules(told).as_slice(), b")"].concat());
        }
        line
    }

    /// Whether a client of this user may have to go, since another one takes its place who
    /// has not all of its channels.
    pub(crate) fn loses_channels(&self, next: &User) -> bool {
        if next.selectors.iter().any(Selector::has_all_channels) {
            return false;
        }
        let keeps = |channel: &[u8]| {
            let mut kept = next.selectors.iter().flat_map(|selector| selector.channels());
            kept.any(|own| **own == *channel)
        };
        let loses = |it: &Selector| !it.channels().iter().all(|channel| keeps(channel));
        self.selectors.iter().any(|it| it.has_all_channels() || loses(it))
    }
}

fn hash(password: &[u8]) -> Hash {
    let digest = Sha256::digest(password);
    let mut hash = [0; 64];
    for (digits, byte) in hash.chunks_exact_mut(2).zip(digest) {
        digits[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        digits[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    hash
}

fn as_hash(digits: &[u8]) -> Result<Hash, RuleError> {
    let hash: Hash = digits.try_into().map_err(|_| RuleError::BadHash)?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if hash.iter().all(is_digit) { Ok(hash) } else { Err(RuleError::BadHash) }
}

/// Compares without telling by the time taken how much is right.
fn same_in_constant_time(own: &Hash, given: &Hash) -> bool {
    own.iter().zip(given).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(rules: &[&str]) -> User {
        let mut user = User::new(b"u", NewChannels::None);
        for rule in rules {
            user.apply(rule.as_bytes(), NewChannels::None).expect("a rule");
        }
        user
    }

    #[test]
    fn a_password_is_kept_as_its_sha256_and_compared_whole() {
        let user = user(&[">secret"]);
        let known = b"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        assert_eq!(user.passwords().collect::<Vec<_>>(), [known]);
        assert!(user.admits(b"secret"));
        for wrong in [b"".as_slice(), b"secre", b"secrets", b"Secret", known] {
            assert!(!user.admits(wrong));
        }
    }

    #[test]
    fn one_of_several_passwords_is_enough_until_it_is_removed() {
        let mut user = user(&[">a", ">b", ">a"]);
        assert_eq!(user.passwords().len(), 2);
        assert!(user.admits(b"a") && user.admits(b"b"));
        user.apply(b"<a", NewChannels::None).unwrap();
        assert!(!user.admits(b"a") && user.admits(b"b"));
        assert_eq!(user.apply(b"<a", NewChannels::None), Err(RuleError::NoSuchPassword));
    }

    #[test]
    fn the_root_is_what_is_outside_of_parentheses() {
        let user = user(&["on", "~a", "(+get %R~b)", "+set"]);
        assert_eq!(
            String::from_utf8(user.line(&mut Told::default()).to_vec()).unwrap(),
            "user u on ~a resetchannels -@all +set (%R~b resetchannels -@all +get)"
        );
    }
}
