//! What the book thinks, in words: of a key, and of a command.
//!
//! Owns the sentences behind KEYWARD MATCH and KEYWARD EXPLAIN. What a pattern
//! demands is told in the words of its document ([`keyward_schema::facts`]).
//! Invariant: a line is printable, whatever a key or an argument holds; values
//! that a client sent are not repeated, and secrets are not shown (`shown`).

use keyward_commands::resolve;
use keyward_resp::ArgBuf;
use keyward_schema::{Duration, KeyId, Unknown, escape, facts};

use crate::after::{Consequences, LargeEnd, Objection};
use crate::book::RuleBook;
use crate::refusal::{Refusal, shown_key};
use crate::shown::{Books, REDACTED, Sender};
use crate::verdict::{Judged, Verdict};

/// How many arguments of a follow-up are shown.
const SHOWN_ARGUMENTS: usize = 8;

impl RuleBook {
    /// What the schema says of a key: headings, and what is said under each.
    pub fn about(&self, key: &[u8]) -> Vec<(&'static str, Vec<String>)> {
        let mut facts = match self.table_of(key) {
            Some(table) => self.about_row(table, key),
            None => self.about_stranger(key),
        };
        for (_, lines) in &mut facts {
            for line in lines {
                *line = escape(line).into_owned();
            }
        }
        facts
    }

    fn about_row(&self, table: KeyId, key: &[u8]) -> Vec<(&'static str, Vec<String>)> {
        let schema = self.declared();
        let declared = schema.key(table);
        let place = schema.source.place(declared.at);
        let names = declared.pattern.placeholders().iter().map(|placeholder| &placeholder.name);
        let values = self.placeholders(table, key);
        let secrets = &declared.secret_placeholders;
        let value = |(index, (name, value)): (usize, (_, &&[u8]))| match secrets.contains(&index) {
            true => format!("{name} = {REDACTED}"),
            false => format!("{name} = {}", shown_key(value)),
        };
        let mut facts = vec![
            ("Pattern", vec![declared.pattern.text().to_owned()]),
            ("Declared", vec![place]),
            ("Values", names.zip(values.iter()).enumerate().map(value).collect()),
        ];
        facts.extend(facts::of_key(schema, table));
        if !self.is_enforced(table) {
            facts.retain(|(heading, _)| *heading != "Enforcement");
            let told = match self.observes(table) {
                true => "Off: what it says is counted, and nothing of it is done.",
                false => "Off: what breaks the schema passes.",
            };
            facts.push(("Enforcement", vec![told.to_owned()]));
        }
        if !schema.parts.is_empty() {
            facts.push(("Keyspace", vec![schema.keyspace_of(table).name.to_string()]));
        }
        if declared.owner.is_none() {
            let owner = schema.owner_of(table).map(str::to_owned);
            facts.push(("Owner", owner.into_iter().collect()));
        }
        facts.retain(|(_, lines)| !lines.is_empty());
        facts
    }

    fn about_stranger(&self, key: &[u8]) -> Vec<(&'static str, Vec<String>)> {
        let name = &self.schema().keyspace.name;
        let pattern = match self.nearest(key) {
            Some(nearest) => format!("None of {name}; nearest is {nearest}."),
            None => format!("None of {name}, and it resembles none."),
        };
        let writes = match self.unknown() {
            Unknown::Reject => "Refused.",
            Unknown::Warn => "Pass, and are counted and logged.",
            Unknown::Allow => "As in Redis.",
        };
        vec![("Pattern", vec![pattern]), ("Writes", vec![writes.to_owned()])]
    }
}

impl Verdict {
    /// What is done with the command, in a sentence.
    pub fn in_words(&self, now_ms: i64) -> String {
        match self {
            Verdict::Run(Judged::All) => "Runs as it is; nothing else follows.".to_owned(),
            Verdict::Run(Judged::Rows | Judged::Nothing) => "Runs as it is.".to_owned(),
            Verdict::RunUntil(end, _) => format!("Runs, and the key {}.", ends(*end, now_ms)),
            Verdict::Instead(_) => "The sum is reckoned exactly, and then set.".to_owned(),
            Verdict::Answer(answer) => format!("Does nothing, and answers {answer}."),
            Verdict::Refuse(refusal) => format!("Refused: {refusal}."),
        }
    }
}

impl Verdict {
    /// The same without what was found.
    #[must_use]
    pub fn discreet(self) -> Verdict {
        match self {
            Verdict::Refuse(refusal) => Verdict::Refuse(Box::new(refusal.discreet())),
            other => other,
        }
    }
}

impl Consequences {
    /// What follows, a line for each thing. Nothing is shown of what was found, and of keys
    /// that follow only the pattern: their names may be made of it.
    pub fn in_discreet_words(&self, book: &RuleBook) -> Vec<String> {
        let warnings = self.warnings.iter().cloned().map(Refusal::discreet);
        let warnings = warnings.map(|warning| format!("Passes with a warning: {warning}."));
        let follow_ups = self.follow_ups.iter().map(|command| {
            let name = String::from_utf8_lossy(command.args().at(0)).into_owned();
            let table = command.args().get(1).and_then(|key| book.table_of(key));
            let key = table.map_or(REDACTED, |table| book.schema().key(table).pattern.text());
            format!("Then {name} {key} {REDACTED}.")
        });
        let ends = self.ends.iter().map(|end| in_steps(book, end));
        warnings.chain(follow_ups).chain(ends).collect()
    }

    /// What follows, a line for each thing.
    pub fn in_words(&self, book: &RuleBook, now_ms: i64) -> Vec<String> {
        let warnings =
            self.warnings.iter().map(|warning| format!("Passes with a warning: {warning}."));
        let follow_ups = self.follow_ups.iter().map(|command| follow_up(book, command, now_ms));
        let ends = self.ends.iter().map(|end| in_steps(book, end));
        warnings.chain(follow_ups).chain(ends).collect()
    }
}

impl Objection {
    /// The same without what was found.
    #[must_use]
    pub fn discreet(self) -> Objection {
        match self {
            Objection::Refused(refusal) => Objection::Refused(Box::new(refusal.discreet())),
            Objection::NotYet => Objection::NotYet,
        }
    }

    /// Why nothing follows, in a sentence.
    pub fn in_words(&self) -> String {
        match self {
            Objection::NotYet => "Not known before other rows are read.".to_owned(),
            Objection::Refused(refusal) => format!("Refused: {refusal}."),
        }
    }
}

fn in_steps(book: &RuleBook, end: &LargeEnd) -> String {
    let (what, key) = match end {
        LargeEnd::Members { table, key, .. } => {
            let mirror = book.mirror_of(*table).map(|mirror| book.schema().key(mirror));
            let mirror = mirror.map_or("its mirror", |mirror| mirror.pattern.text());
            (format!("what {mirror} had of it goes"), key)
        }
        LargeEnd::Companions { key, .. } => ("all that lives with it goes".to_owned(), key),
        LargeEnd::Deadlines { key, .. } => {
            ("all that lives with it ends when it does".to_owned(), key)
        }
    };
    format!("Of {} {what}, in steps that nobody sees.", book.named(key))
}

fn follow_up(book: &RuleBook, command: &ArgBuf, now_ms: i64) -> String {
    let args = command.args();
    if let (Some(b"PEXPIREAT"), Some(key), Some(end)) = (args.get(0), args.get(1), args.get(2))
        && let Some(end) = keyward_resp::number::parse_i64(end)
    {
        return format!("Then {} {}.", book.named(key), ends(end, now_ms));
    }
    let shown: Vec<String> = match resolve(args) {
        Ok(command) => {
            let shown = Books::one(&book).shown(command, args, Sender::Client);
            shown.iter().take(SHOWN_ARGUMENTS).map(|word| shown_key(word)).collect()
        }
        Err(_) => vec![REDACTED.to_owned()],
    };
    let more = args.len().saturating_sub(SHOWN_ARGUMENTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    escape(&format!("Then {}{more}.", shown.join(" "))).into_owned()
}

fn ends(end: i64, now_ms: i64) -> String {
    match u64::try_from(end.saturating_sub(now_ms)) {
        Ok(left) if left > 0 => format!("ends in {}", Duration::from_ms(left).in_words()),
        _ => "ends at once".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_schema::check;

    fn book() -> RuleBook {
        let file = br#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = { after = "30m", renew = "access" }
[key."user:{id:uint}".fields]
email  = { type = "str?", secret = true }
status = "active | closed"

[key."active"]
type    = "set"
members = { of = "user:{id}", when = "status = active" }
"#;
        RuleBook::new(check("shop.toml", file).schema.expect("a sound schema"))
    }

    fn shown(facts: Vec<(&str, Vec<String>)>) -> String {
        facts.iter().map(|(name, lines)| format!("{name}: {}\n", lines.join(" / "))).collect()
    }

    #[test]
    fn a_key_is_told_all_that_holds_for_it() {
        assert_eq!(
            shown(book().about(b"user:7")),
            "Pattern: user:{id:uint}\n\
             Declared: shop.toml:5\n\
             Values: id = 7\n\
             Type: Redis hash.\n\
             Lifetime: 30 minutes from the last read or write: each one renews it.\n\
             Placeholders: id: a whole number not below zero\n\
             Feeds: active lists it\n\
             If memory is short: The least recently used go.\n\
             Fields: email: str, secret / status: active | closed, required\n"
        );
    }

    #[test]
    fn a_stranger_is_told_what_it_resembles() {
        assert_eq!(
            shown(book().about(b"user:x\n")),
            "Pattern: None of shop; nearest is user:{id:uint}, whose second part must be a whole \
             number not below zero.\nWrites: Refused.\n"
        );
        assert_eq!(
            shown(book().about(b"zzz")),
            "Pattern: None of shop, and it resembles none.\nWrites: Refused.\n"
        );
    }

    #[test]
    fn what_follows_is_told_line_by_line() {
        let consequences = Consequences {
            follow_ups: vec![
                ["PEXPIREAT", "a\n", "61000"].iter().collect(),
                ["SADD", "active", "1", "2", "3", "4", "5", "6", "7", "8"].iter().collect(),
            ],
            warnings: vec![book().refuse_unknown(b"zzz")],
            ends: vec![],
            deferred: Vec::new(),
        };
        assert_eq!(
            consequences.in_words(&book(), 1000),
            [
                "Passes with a warning: SCHEMA zzz: matches no pattern of shop (shop.toml).",
                "Then a\\n ends in 1 minute.",
                "Then SADD active 1 2 3 4 5 6 and 2 more.",
            ]
        );
    }

    #[test]
    fn a_verdict_is_a_sentence() {
        let check = |verdict: Verdict, expected| assert_eq!(verdict.in_words(1000), expected);
        check(Verdict::Run(Judged::Nothing), "Runs as it is.");
        check(Verdict::RunUntil(2000, Judged::All), "Runs, and the key ends in 1 second.");
        check(Verdict::Answer(0), "Does nothing, and answers 0.");
    }
}
