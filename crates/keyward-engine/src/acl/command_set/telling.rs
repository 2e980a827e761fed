//! A set of commands, told as rules.
//!
//! As few as Redis would tell, by its own search for categories; and none that Redis 7.0 could
//! not read, as far as categories can say so: commands that it does not have (newer ones and
//! KEYWARD's) count in no search. Where the categories that are found would grant or deny such
//! a command wrongly, others are sought that do not, and tell something of the set besides; a
//! command is named if there are none.
//! Invariant: the rules that are told make the same set again.
//! Estimate: telling them is some thousand operations on words, a few microseconds; twice that
//! where categories are sought again.

use super::{Bits, CATEGORIES, CommandSet, GRANTED, MEMBERS, RIGHTS, WORDS};
use keyward_commands::{ABSENT_RIGHTS, AclCategory, COMMANDS, Command, CommandId};
use std::collections::BTreeMap;

/// The commands that Redis 7.0 has.
const KNOWN: Bits = known();

const fn known() -> Bits {
    let (mut known, mut right) = ([0; WORDS], 0);
    while right < RIGHTS {
        if right >= CommandId::COUNT || COMMANDS[right].is_known_to_redis() {
            known[right / 64] |= 1 << (right % 64);
        }
        right += 1;
    }
    known
}

/// What sets of commands were told as. Users mostly share theirs, and telling one takes
/// longer than all else about a user.
#[derive(Debug, Default)]
pub(in super::super) struct Told<'a>(BTreeMap<&'a CommandSet, Vec<u8>>);

impl<'a> Told<'a> {
    pub(in super::super) fn rules(&mut self, set: &'a CommandSet) -> &[u8] {
        self.0.entry(set).or_insert_with(|| set.rules())
    }
}

/// Rules about categories, and the set that they make.
struct Draft {
    rules: Vec<u8>,
    made: CommandSet,
}

impl Draft {
    /// All commands or none, as the set began.
    fn new(set: &CommandSet) -> Draft {
        match set.has_future {
            true => Draft { rules: b"+@all".to_vec(), made: CommandSet::all() },
            false => Draft { rules: b"-@all".to_vec(), made: CommandSet::default() },
        }
    }

    fn push(&mut self, category: AclCategory, is_granted: bool) {
        self.made.set_category(category, is_granted);
        self.rules.extend_from_slice(if is_granted { b" +@" } else { b" -@" });
        self.rules.extend_from_slice(category.wire_name().unwrap_or_default().as_bytes());
    }

    /// Grants or denies, by its name, what categories did not make right.
    fn push_name(&mut self, name: &str, is_granted: bool) {
        self.rules.extend_from_slice(if is_granted { b" +" } else { b" -" });
        self.rules.extend_from_slice(name.as_bytes());
    }
}

/// All rules of a set.
struct Whole {
    rules: Vec<u8>,
    /// A command that Redis does not have is among the names. One whose container is named
    /// with it need not be.
    names_unknown: bool,
}

impl CommandSet {
    /// The rules that make this set, beginning with all commands or none.
    pub(in super::super) fn rules(&self) -> Vec<u8> {
        let by_redis = self.named(self.by_redis_search());
        if !by_redis.names_unknown {
            return by_redis.rules;
        }
        let other = self.named(self.by_agreeing_categories());
        // Where something must be named in any case, as Redis would tell the rest.
        if other.names_unknown { by_redis.rules } else { other.rules }
    }

    /// The rules of a draft, and behind them by name what they do not make right.
    fn named(&self, mut draft: Draft) -> Whole {
        let mut names_unknown = false;
        for command in &COMMANDS {
            let is_granted = self.has(command.id as usize);
            let is_wrong = is_granted != draft.made.has(command.id as usize);
            if is_wrong || self.is_right_by_container(command, &draft.made) {
                names_unknown |= !command.is_known_to_redis();
                draft.push_name(command.name, is_granted);
                draft.made.set(command, is_granted);
            }
            let granted = self.first_arguments.get(&command.id).filter(|_| !is_granted);
            for argument in granted.into_iter().flatten() {
                let rule = [b" +", command.name.as_bytes(), b"|", &**argument].concat();
                draft.rules.extend_from_slice(&rule);
            }
        }
        for (place, absent) in ABSENT_RIGHTS.iter().enumerate() {
            let is_granted = self.has(CommandId::COUNT + place);
            if is_granted != draft.made.has(CommandId::COUNT + place) {
                draft.push_name(&absent.full_name(), is_granted);
                draft.made.set_absent(place, is_granted);
            }
        }
        Whole { rules: draft.rules, names_unknown }
    }

    /// Whether the name of a command, granted or denied as it is, makes subcommands right that
    /// Redis does not have: they need not be named then.
    fn is_right_by_container(&self, command: &Command, made: &CommandSet) -> bool {
        let is_granted = self.has(command.id as usize);
        let mut unknown = command.subcommands().iter().filter(|it| !it.is_known_to_redis());
        unknown.clone().any(|it| made.has(it.id as usize) != is_granted)
            && unknown.all(|it| self.has(it.id as usize) == is_granted)
    }

    /// Categories as Redis finds them: again and again the one that tells most of what is left
    /// and least of what is not in it.
    fn by_redis_search(&self) -> Draft {
        let (adds, mut draft) = (!self.has_future, Draft::new(self));
        let mut left = CommandSet { first_arguments: BTreeMap::new(), ..self.clone() };
        let mut is_applied = [false; CATEGORIES];
        loop {
            let best = best_category(|category| {
                let bits = MEMBERS[category as usize].iter().zip(&left.bits).zip(KNOWN);
                let counts = bits.map(|((members, own), known)| {
                    ((members & own & known).count_ones(), (members & !own & known).count_ones())
                });
                let (on, off) = counts.fold((0, 0), |sum, word| (sum.0 + word.0, sum.1 + word.1));
                let (same, other) = if adds { (on, off) } else { (off, on) };
                (!is_applied[category as usize]).then_some((same, other))
            });
            let Some(best) = best else { return draft };
            draft.push(best, adds);
            left.set_category(best, !adds);
            is_applied[best as usize] = true;
        }
    }

    /// Categories that make the set right for commands that Redis does not have, as far as
    /// whole categories can; then those that tell more of the set and leave these alone.
    fn by_agreeing_categories(&self) -> Draft {
        let (adds, mut draft) = (!self.has_future, Draft::new(self));
        let mut categories = AclCategory::ALL.to_vec();
        // The widest come first: a narrower one behind it takes its part out again.
        categories.sort_by_key(|it| std::cmp::Reverse(count(&unknown_of(*it))));
        for (place, category) in categories.iter().enumerate() {
            let mut own = unknown_of(*category);
            for narrower in categories[place + 1..].iter().map(|it| unknown_of(*it)) {
                if count(&narrower) < count(&unknown_of(*category)) {
                    own.iter_mut().zip(narrower).for_each(|(word, narrower)| *word &= !narrower);
                }
            }
            let wanted = count(&and(&own, &self.bits));
            let is_granted = wanted > 0;
            let is_even = !is_granted || wanted == count(&own);
            let made = count(&and(&own, &draft.made.bits));
            let is_told = count(&own) > 0 && is_even && made != wanted;
            if is_told && self.has_any(*category, is_granted) {
                draft.push(*category, is_granted);
            }
        }
        loop {
            let best = best_category(|category| {
                let mut scores = (0, 0);
                for (word, members) in GRANTED[category as usize].iter().enumerate() {
                    let made = draft.made.bits[word];
                    // What the category would change, and what of that is right.
                    let changed = members & if adds { !made } else { made };
                    let right = if adds { self.bits[word] } else { !self.bits[word] };
                    if changed & !right & !KNOWN[word] != 0 {
                        return None;
                    }
                    scores.0 += (changed & right & KNOWN[word]).count_ones();
                    scores.1 += (changed & !right & KNOWN[word]).count_ones();
                }
                Some(scores)
            });
            let Some(best) = best else { return draft };
            draft.push(best, adds);
        }
    }
}

impl CommandSet {
    /// Whether any command of a category, of those that Redis has, is granted or denied so.
    fn has_any(&self, category: AclCategory, is_granted: bool) -> bool {
        let members = and(&GRANTED[category as usize], &KNOWN);
        let granted = count(&and(&members, &self.bits));
        if is_granted { granted > 0 } else { granted < count(&members) }
    }
}

/// Of the categories that tell more that is right than wrong the one with the least wrong, and
/// of several such the one with the most right.
fn best_category(score: impl Fn(AclCategory) -> Option<(u32, u32)>) -> Option<AclCategory> {
    let mut best: Option<(AclCategory, u32, u32)> = None;
    for category in AclCategory::ALL.iter().copied() {
        let Some((right, wrong)) = score(category) else { continue };
        let is_better = best.is_none_or(|(_, right_best, wrong_best)| {
            wrong < wrong_best || wrong == wrong_best && right > right_best
        });
        if right > wrong && is_better {
            best = Some((category, right, wrong));
        }
    }
    best.map(|(category, _, _)| category)
}

/// The commands of a category that Redis does not have.
fn unknown_of(category: AclCategory) -> Bits {
    let mut bits = GRANTED[category as usize];
    bits.iter_mut().zip(KNOWN).for_each(|(word, known)| *word &= !known);
    bits
}

fn and(one: &Bits, other: &Bits) -> Bits {
    std::array::from_fn(|word| one[word] & other[word])
}

fn count(bits: &Bits) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(rules: &str) -> CommandSet {
        let mut set = CommandSet::default();
        rules.split(' ').for_each(|rule| set.apply(rule.as_bytes()).expect("a rule"));
        set
    }

    /// What a set is told as, having been made of it again.
    fn told(rules: &str) -> String {
        let told = String::from_utf8(set(rules).rules()).unwrap();
        let parts = |set: CommandSet| (set.bits, set.has_future, set.first_arguments);
        assert_eq!(parts(set(&told)), parts(set(rules)), "{told} makes another set than {rules}");
        told
    }

    fn check(rules: &str, expected: &str) {
        assert_eq!(told(rules), expected);
    }

    #[test]
    fn rules_are_told_as_categories_and_what_differs_from_them() {
        check("+@all", "+@all");
        check("-@all +get", "-@all +get");
        check("+@all -debug", "+@all -debug");
        check("+@all -config|set -config|get", "+@all -config|get -config|set");
        check("-@all +client|id +client|getname", "-@all +client|getname +client|id");
        check("-@all +config -config|set", "-@all +config -config|set");
        check("-@all +select|0 +SELECT|1 +select|0", "-@all +select|0 +select|1");
        check("-@all +@string -incr", "-@all +@string -incr");
        check("+@all -@all", "-@all");
    }

    #[test]
    fn a_container_is_told_by_its_name_with_subcommands_that_redis_lacks() {
        check("-@all +client", "-@all +client");
        check("+@all -client", "+@all -client");
        check("-@all +@read +client", "-@all +@read +client");
        check("-@all +config +client +info", "-@all +client +config +info");
    }

    #[test]
    fn commands_that_only_redis_has_are_told() {
        check("-@all +cluster -cluster|slots", "-@all +cluster -cluster|slots");
        check("+@all -module|load", "+@all -module|load");
        let told = told("-@all +@keyspace -@dangerous");
        assert!(told.ends_with(" -restore-asking"), "{told}");
    }

    /// The rules of these that name a command that Redis 7.0 does not have.
    fn unknown_to_redis(rules: &str) -> Vec<&str> {
        let is_unknown = |rule: &&str| {
            let is_it = |command: &&keyward_commands::Command| command.name == &rule[1..];
            COMMANDS.iter().find(is_it).is_some_and(|command| !command.is_known_to_redis())
        };
        rules.split(' ').filter(is_unknown).collect()
    }

    #[test]
    fn what_categories_make_names_no_command_that_redis_7_0_lacks() {
        let names = || AclCategory::ALL.iter().filter_map(|it| it.wire_name());
        let check = |rules: &str| {
            let told = told(rules);
            assert!(unknown_to_redis(&told).is_empty(), "{rules}: {told}");
        };
        for (one, other) in names().flat_map(|one| names().map(move |other| (one, other))) {
            check(&format!("-@all +@{one} -@{other}"));
            check(&format!("+@all -@{one} +@{other}"));
            check(&format!("-@all +@{one} +@{other} -get"));
            check(&format!("-@all +@{one} +@{other} +@connection -client"));
            check(&format!("+@all -@{one} -@{other} -@connection +client -client|kill"));
            for third in ["connection", "blocking", "admin", "slow", "fast"] {
                check(&format!("-@all +@{one} -@{other} +@{third}"));
                check(&format!("+@all -@{one} +@{other} -@{third} +config"));
            }
        }
    }

    #[test]
    fn what_no_category_makes_is_named() {
        for (rules, expected) in [
            ("-@all +waitaof", &["+waitaof"][..]),
            ("+@all -waitaof", &["-waitaof"]),
            ("+@all -keyward|schema", &["-keyward|schema"]),
            ("-@all +@connection -client|setinfo", &["-client|setinfo"]),
            ("-@all +@read +keyward|explain", &["+keyward|explain"]),
        ] {
            assert_eq!(unknown_to_redis(&told(rules)), expected, "{rules}");
        }
    }
}
