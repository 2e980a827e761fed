//! What each argument of a call is, by the documentation of its command.
//!
//! Owns the reading of a call against the tree of arguments that COMMAND DOCS shows
//! ([`crate::argument`]). Handlers parse by themselves and are the judges of what a call
//! means; this is for those who must say something of a call without running it.
//! Invariant: a call that is not as documented has no roles at all, rather than some that
//! are wrong. A key stands where [`Command::keys_in`] finds one, and nowhere else.

use crate::args::is;
use crate::argument::{Argument, ArgumentKind};
use crate::command::Command;
use keyward_resp::Args;

/// What an argument of a call is.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// A part of the command's name.
    Name,
    /// A keyword of the command.
    Keyword,
    /// What the documentation calls so.
    Documented(&'static Argument),
}

impl Command {
    /// How many words its name is: two for a subcommand.
    pub fn name_words(&self) -> usize {
        1 + usize::from(self.container.is_some())
    }

    /// What each argument of a call is, its name included; `None` if the call is not
    /// as documented.
    pub fn roles_in(&self, args: Args<'_>) -> Option<Vec<Role>> {
        let name_words = self.name_words();
        if args.len() < name_words {
            return None;
        }
        let mut is_key = vec![false; args.len()];
        for key in self.keys_in(args) {
            *is_key.get_mut(key.index)? = true;
        }
        let mut roles = Vec::with_capacity(args.len());
        roles.resize(name_words, Role::Name);
        let mut reader = Reader { args, is_key, roles };
        (reader.sequence(self.args, 0) && reader.left() == 0).then_some(reader.roles)
    }
}

struct Reader<'a> {
    args: Args<'a>,
    is_key: Vec<bool>,
    /// Of the arguments read so far.
    roles: Vec<Role>,
}

impl Reader<'_> {
    fn left(&self) -> usize {
        self.args.len() - self.roles.len()
    }

    /// Reads these arguments, and leaves at least `reserved` words to what follows them.
    /// Options that stand side by side come in any order.
    fn sequence(&mut self, arguments: &'static [Argument], reserved: usize) -> bool {
        let mut rest = arguments;
        while let [first, behind @ ..] = rest {
            if !first.optional {
                if !self.argument(first, reserved + words_min(behind)) {
                    return false;
                }
                rest = behind;
                continue;
            }
            let count = rest.iter().take_while(|argument| argument.optional).count();
            let (options, behind) = rest.split_at(count);
            self.options(options, reserved + words_min(behind));
            rest = behind;
        }
        true
    }

    fn options(&mut self, options: &'static [Argument], reserved: usize) {
        let mut used = vec![false; options.len()];
        while self.left() > reserved {
            let next = options.iter().enumerate().find(|(at, option)| {
                let is_new = !used[*at] || begins_with_keyword(option);
                is_new && self.attempt(|reader| reader.argument(option, reserved))
            });
            match next {
                Some((at, _)) => used[at] = true,
                None => break,
            }
        }
    }

    /// Reads an argument, as often as it may be repeated.
    fn argument(&mut self, argument: &'static Argument, reserved: usize) -> bool {
        if !self.once(argument, true, reserved) {
            return false;
        }
        while argument.multiple
            && self.left() > reserved
            && self.attempt(|reader| reader.once(argument, argument.multiple_token, reserved))
        {
        }
        true
    }

    /// Reads an argument once, with the keyword in front of it or without.
    fn once(&mut self, argument: &'static Argument, with_token: bool, reserved: usize) -> bool {
        if let Some(token) = argument.token.filter(|_| with_token) {
            if self.left() <= reserved || !is(self.args.at(self.roles.len()), token) {
                return false;
            }
            self.roles.push(Role::Keyword);
        }
        match argument.kind {
            ArgumentKind::PureToken => true,
            ArgumentKind::Block => self.sequence(argument.arguments, reserved),
            ArgumentKind::OneOf => argument
                .arguments
                .iter()
                .any(|choice| self.attempt(|reader| reader.argument(choice, reserved))),
            kind => self.word(argument, kind == ArgumentKind::Key, reserved),
        }
    }

    fn word(&mut self, argument: &'static Argument, is_key: bool, reserved: usize) -> bool {
        let fits = self.left() > reserved && self.is_key[self.roles.len()] == is_key;
        if fits {
            self.roles.push(Role::Documented(argument));
        }
        fits
    }

    /// Reads something, or nothing at all. What takes no word is not there.
    fn attempt(&mut self, read: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = self.roles.len();
        let is_read = read(self) && self.roles.len() > before;
        if !is_read {
            self.roles.truncate(before);
        }
        is_read
    }
}

fn begins_with_keyword(argument: &Argument) -> bool {
    match argument.kind {
        _ if argument.token.is_some() => true,
        ArgumentKind::OneOf => argument.arguments.iter().all(begins_with_keyword),
        ArgumentKind::Block => argument.arguments.first().is_some_and(begins_with_keyword),
        _ => false,
    }
}

/// How many words these arguments take at least.
fn words_min(arguments: &[Argument]) -> usize {
    let of_one = |argument: &Argument| {
        let own = match argument.kind {
            ArgumentKind::PureToken => 0,
            ArgumentKind::Block => words_min(argument.arguments),
            ArgumentKind::OneOf => {
                let choices = argument.arguments.iter();
                choices.map(|choice| words_min(std::slice::from_ref(choice))).min().unwrap_or(0)
            }
            _ => 1,
        };
        own + usize::from(argument.token.is_some())
    };
    arguments.iter().filter(|argument| !argument.optional).map(of_one).sum()
}

#[cfg(test)]
mod tests {
    use super::Role;
    use crate::lookup::resolve;
    use keyward_resp::ArgBuf;

    fn check(call: &str, expected: &str) {
        let args: ArgBuf = call.split(' ').collect();
        let roles = resolve(args.args()).expect("a command").roles_in(args.args());
        let word = |role: &Role| match role {
            Role::Name => "-",
            Role::Keyword => "!",
            Role::Documented(argument) => argument.name,
        };
        let roles = roles.map(|roles| roles.iter().map(word).collect::<Vec<_>>().join(" "));
        assert_eq!(roles.as_deref().unwrap_or("none"), expected, "{call}");
    }

    #[test]
    fn arguments_are_read_as_documented() {
        check("set k v px 5 NX", "- key value ! milliseconds !");
        check("hset k f 1 g 2", "- key field value field value");
        check("zadd k ch nx 1 a 2 b", "- key ! ! score member score member");
        check("blpop a b 0", "- key key timeout");
        check("lmpop 2 a b left count 3", "- numkeys key key ! ! count");
        check("zunion 2 a b withscores weights 1 2", "- numkeys key key ! ! weight weight");
        check(
            "sort k get a get b store d limit 0 1",
            "- key ! pattern ! pattern ! destination ! offset count",
        );
        check(
            "bitfield k get u8 0 overflow wrap set u8 0 5",
            "- key ! encoding offset ! ! ! encoding offset value",
        );
        check("memory usage k samples 3", "- - key ! count");
        check("eval s 1 k a b", "- script numkeys key arg arg");
        check("mset a 1 b 2", "- key value key value");
    }

    #[test]
    fn a_call_that_is_not_as_documented_has_no_roles() {
        check("hset k f v g", "none");
        check("set k v secret", "none");
        check("set k v px", "none");
        check("lpop k 1 2", "none");
        check("zunion 5 a b", "none");
    }
}
