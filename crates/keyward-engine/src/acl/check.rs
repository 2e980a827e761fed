//! Whether a user may do what a command asks for.
//!
//! Rights are asked for the keys and channels that a command names, never for what follows
//! from it: the tie of a schema is the grant.

use super::key_pattern::Access;
use super::selector::Selector;
use super::user::User;
use keyward_commands::{Command, CommandId, args};
use keyward_resp::Args;
use keyward_store::keyspace::Keyspace;

/// Where keys are: what patterns of the schema are read by.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) keys: &'a Keyspace,
    pub(crate) db: usize,
}

impl<'a> Place<'a> {
    /// The pattern that a key belongs to.
    pub(super) fn pattern_of(self, key: &[u8]) -> Option<&'a [u8]> {
        let book = self.keys.book_of(self.db)?;
        let table = book.table_of(key)?;
        Some(book.schema().key(table).pattern.text().as_bytes())
    }
}

/// A command that somebody wants to run.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) command: &'static Command,
    pub(crate) args: Args<'a>,
    pub(crate) place: Place<'a>,
}

/// What a user lacks a right to. Of several, the greatest is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denied {
    /// The command.
    Command,
    /// The key that is this argument.
    Key(usize),
    /// The channel that is this argument.
    Channel(usize),
}

impl User {
    /// Whether the user may run a command.
    pub(crate) fn check(&self, call: &Call<'_>) -> Result<(), Denied> {
        let mut worst = Denied::Command;
        for selector in self.selectors() {
            match selector.check(call) {
                Ok(()) => return Ok(()),
                Err(denied) => worst = worst.max(denied),
            }
        }
        Err(worst)
    }

    /// Whether the user may read a key, by whichever command.
    pub(crate) fn may_read(&self, place: Place<'_>, key: &[u8]) -> bool {
        self.selectors().iter().any(|it| it.grants_key(place, key, Access::READ))
    }

    /// Whether the user may run a command and read every key there is by it.
    pub(crate) fn may_read_all_by(&self, call: &Call<'_>) -> bool {
        let reads_all = |it: &&Selector| it.check(call).is_ok() && it.grants_all_keys(Access::READ);
        self.selectors().iter().any(|selector| reads_all(&selector))
    }

    /// Whether the user may listen to a channel, or to a pattern of channels.
    pub(crate) fn may_listen(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.selectors().iter().any(|it| it.grants_channel(channel, is_pattern))
    }

    /// Whether there is nothing that the user may not do.
    pub(crate) fn has_every_right(&self) -> bool {
        self.selectors().iter().any(Selector::has_every_right)
    }
}

impl Selector {
    fn check(&self, call: &Call<'_>) -> Result<(), Denied> {
        let Call { command, args, .. } = *call;
        if !self.grants_command(command, args) {
            return Err(Denied::Command);
        }
        if !self.has_all_keys() && command.has_keys() {
            for key in command.keys_in_any(args) {
                let wanted = Access::of(key.flags);
                let mut places = places(call, key.index);
                if !places.all(|place| self.grants_key(place, args.at(key.index), wanted)) {
                    return Err(Denied::Key(key.index));
                }
            }
        }
        if !self.has_all_channels()
            && let Some(channels) = command.channels_in(args.len())
        {
            for at in channels.places {
                if !self.grants_channel(args.at(at), channels.are_patterns) {
                    return Err(Denied::Channel(at));
                }
            }
        }
        Ok(())
    }
}

/// The databases in which a call uses its key: MOVE and COPY may name another one.
fn places<'a>(call: &Call<'a>, index: usize) -> impl Iterator<Item = Place<'a>> + use<'a> {
    let Call { command, args, place } = *call;
    let named = |word: Option<&[u8]>| {
        let number = word.and_then(keyward_resp::number::parse_i64);
        let db = number.and_then(|number| usize::try_from(number).ok());
        db.filter(|db| *db < place.keys.database_count())
    };
    let other = match command.id {
        CommandId::Move => named(args.get(2)),
        CommandId::Copy if index == 2 => {
            let at = (3..args.len()).find(|at| args::is(args.at(*at), "DB"));
            at.and_then(|at| named(args.get(at + 1)))
        }
        _ => None,
    };
    let own = Some(place.db).filter(|_| command.id != CommandId::Copy || other.is_none());
    own.into_iter().chain(other).map(move |db| Place { keys: place.keys, db })
}
