//! The tree of arguments that COMMAND DOCS shows for a command.
//!
//! Documentation only: no handler parses a command by it (they use [`crate::args`]);
//! [`crate::roles`] reads calls by it that are not run but shown.

/// One argument, or a group of arguments.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The name in the documentation.
    pub name: &'static str,
    /// What stands there.
    pub kind: ArgumentKind,
    /// The index of the key specification that finds this argument.
    pub key_spec: Option<u8>,
    /// The keyword in front of it.
    pub token: Option<&'static str>,
    /// The Redis version that added it.
    pub since: Option<&'static str>,
    /// The Redis version that deprecated it.
    pub deprecated_since: Option<&'static str>,
    /// May be left out.
    pub optional: bool,
    /// May be repeated.
    pub multiple: bool,
    /// When repeated, the keyword is repeated too.
    pub multiple_token: bool,
    /// The members of a [`ArgumentKind::OneOf`] or [`ArgumentKind::Block`].
    pub arguments: &'static [Argument],
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Any bytes.
    String,
    /// A decimal integer.
    Integer,
    /// A floating point number.
    Double,
    /// The name of a key.
    Key,
    /// A glob pattern.
    Pattern,
    /// A point in time, in seconds or milliseconds.
    UnixTime,
    /// A bare keyword.
    PureToken,
    /// Exactly one of several arguments.
    OneOf,
    /// Several arguments in a row.
    Block,
}

impl ArgumentKind {
    /// The name on the wire.
    pub const fn wire_name(self) -> &'static str {
        match self {
            ArgumentKind::String => "string",
            ArgumentKind::Integer => "integer",
            ArgumentKind::Double => "double",
            ArgumentKind::Key => "key",
            ArgumentKind::Pattern => "pattern",
            ArgumentKind::UnixTime => "unix-time",
            ArgumentKind::PureToken => "pure-token",
            ArgumentKind::OneOf => "oneof",
            ArgumentKind::Block => "block",
        }
    }
}

impl Argument {
    const fn new(name: &'static str, kind: ArgumentKind) -> Argument {
        Argument {
            name,
            kind,
            key_spec: None,
            token: None,
            since: None,
            deprecated_since: None,
            optional: false,
            multiple: false,
            multiple_token: false,
            arguments: &[],
        }
    }

    pub(crate) const fn key_spec(mut self, index: u8) -> Argument {
        self.key_spec = Some(index);
        self
    }

    pub(crate) const fn token(mut self, token: &'static str) -> Argument {
        self.token = Some(token);
        self
    }

    pub(crate) const fn since(mut self, version: &'static str) -> Argument {
        self.since = Some(version);
        self
    }

    pub(crate) const fn deprecated_since(mut self, version: &'static str) -> Argument {
        self.deprecated_since = Some(version);
        self
    }

    pub(crate) const fn optional(mut self) -> Argument {
        self.optional = true;
        self
    }

    pub(crate) const fn multiple(mut self) -> Argument {
        self.multiple = true;
        self
    }

    pub(crate) const fn multiple_token(mut self) -> Argument {
        self.multiple_token = true;
        self
    }
}

pub(crate) const fn string(name: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::String)
}

pub(crate) const fn integer(name: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::Integer)
}

pub(crate) const fn double(name: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::Double)
}

pub(crate) const fn pattern(name: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::Pattern)
}

pub(crate) const fn unix_time(name: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::UnixTime)
}

/// A key, found by the key specification at `key_spec`.
pub(crate) const fn key(name: &'static str, key_spec: u8) -> Argument {
    Argument::new(name, ArgumentKind::Key).key_spec(key_spec)
}

/// A bare keyword.
pub(crate) const fn flag(name: &'static str, token: &'static str) -> Argument {
    Argument::new(name, ArgumentKind::PureToken).token(token)
}

pub(crate) const fn one_of(name: &'static str, arguments: &'static [Argument]) -> Argument {
    let mut argument = Argument::new(name, ArgumentKind::OneOf);
    argument.arguments = arguments;
    argument
}

pub(crate) const fn block(name: &'static str, arguments: &'static [Argument]) -> Argument {
    let mut argument = Argument::new(name, ArgumentKind::Block);
    argument.arguments = arguments;
    argument
}
