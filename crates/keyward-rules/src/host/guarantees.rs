//! What a host can promise of each rule of a schema, before it is served there.
//!
//! Owns the table of guarantees: for every rule whether it is kept at once with the command
//! (atomic), some time later (eventual), or not at all (impossible). The module refuses to load a
//! schema of which a rule is impossible in a way that would leave wrong data ([`Promise::is_error`]);
//! `keyward check --host` shows all.
//! Not here: what the engine does, which keeps all of them.

use std::borrow::Cow;

use keyward_schema::{Derived, Key, KeyId, Lifetime, Reference, Renew, Schema, Span};

use super::slots::{colocated, shares_slot};
use crate::book::RuleBook;

/// Where a schema is to be in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// In a Valkey or Redis of at least version 7.2, by the module.
    Module {
        /// Whether the server is a node of a cluster.
        is_cluster: bool,
    },
}

/// How a rule is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// In one unit with the command that concerns it.
    Atomic,
    /// Some time later.
    Eventual,
    /// Not at all.
    Impossible,
}

impl Guarantee {
    /// `atomic`, `eventual` or `impossible`.
    pub fn name(self) -> &'static str {
        match self {
            Guarantee::Atomic => "atomic",
            Guarantee::Eventual => "eventual",
            Guarantee::Impossible => "impossible",
        }
    }
}

/// What a host promises of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The pattern; `None` if it is about the whole keyspace or a function.
    pub key: Option<KeyId>,
    /// What the rule is about.
    pub rule: &'static str,
    /// How it is kept.
    pub guarantee: Guarantee,
    /// Whether data would be wrong without it, so that the schema cannot be served there.
    pub is_error: bool,
    /// Why it is not atomic.
    pub why: Option<&'static str>,
    /// What to do about it.
    pub help: Option<Cow<'static, str>>,
    /// Where the rule stands.
    pub at: Span,
}

impl Promise {
    /// It as a line: place, guarantee, what it is about, why, and what to do.
    pub fn line(&self, schema: &Schema) -> String {
        let place = schema.source.place(self.at);
        let about = match self.key {
            Some(key) => format!("{}: {}", schema.key(key).pattern, self.rule),
            None => self.rule.to_owned(),
        };
        let mut line = format!("{place}: {}: {about}", self.guarantee.name());
        for (before, text) in [(": ", self.why), (" (help: ", self.help.as_deref())] {
            if let Some(text) = text {
                line.push_str(before);
                line.push_str(text);
            }
        }
        if self.help.is_some() {
            line.push(')');
        }
        line
    }
}

const OWN_ENGINE: &str = "leave this rule to the engine: keyward serve";
const ACROSS_SLOTS: &str = "the two keys may lie in different slots";
const LEAVE_TIE: &str = "no value is part of both keys: put both patterns into one slot by the same \
                         words, {{shop}}:…, have the application write both keys, or serve this \
                         schema without a cluster";

/// What a host promises of every rule of a schema, in the order of its keys.
pub fn guarantees(schema: &Schema, host: HostKind) -> Vec<Promise> {
    let HostKind::Module { is_cluster } = host;
    let book = RuleBook::new(schema.clone());
    let mut all = Vec::new();
    for id in schema.ids() {
        let key = schema.key(id);
        if key.is_changefeed {
            continue;
        }
        let mut of = OfKey { id, key, all: &mut all };
        of.atomic("type, shape and bounds", key.at);
        of.lifetime(&book, schema, is_cluster);
        of.derived(schema, is_cluster);
        of.settings();
    }
    let whole = |rule, why, at| Promise {
        key: None,
        rule,
        guarantee: Guarantee::Impossible,
        is_error: false,
        why: Some(why),
        help: None,
        at,
    };
    for own in schema.keyspaces() {
        if own.max_memory.is_some() {
            let why = "the server's own maxmemory and maxmemory-policy hold";
            all.push(whole("max_memory and evict", why, own.db_at));
        }
        if own.persist_said.is_some() {
            let why = "the server's own appendonly and save hold";
            all.push(whole("persist", why, own.db_at));
        }
    }
    for function in &schema.functions {
        let why = "calls are not held against it; what they write is judged command by command";
        all.push(whole("the declaration of a function", why, function.at));
    }
    all
}

struct OfKey<'s, 'a> {
    id: KeyId,
    key: &'s Key,
    all: &'a mut Vec<Promise>,
}

impl OfKey<'_, '_> {
    fn atomic(&mut self, rule: &'static str, at: Span) {
        self.push(rule, at, Guarantee::Atomic, false, (None, None));
    }

    fn error(
        &mut self,
        rule: &'static str,
        at: Span,
        why: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) {
        self.push(rule, at, Guarantee::Impossible, true, (Some(why), Some(help.into())));
    }

    /// A tie to a key that may lie in another slot.
    fn across_slots(&mut self, rule: &'static str, at: Span, schema: &Schema, to: &Reference) {
        let help = match colocated(schema, self.id, to) {
            Some((own, other)) => format!(
                "one hash tag keeps both keys in one slot: \"{own}\" and \"{other}\", in all that \
                 names them"
            )
            .into(),
            None => Cow::Borrowed(LEAVE_TIE),
        };
        self.error(rule, at, ACROSS_SLOTS, help);
    }

    fn push(
        &mut self,
        rule: &'static str,
        at: Span,
        guarantee: Guarantee,
        is_error: bool,
        (why, help): (Option<&'static str>, Option<Cow<'static, str>>),
    ) {
        let key = Some(self.id);
        self.all.push(Promise { key, rule, guarantee, is_error, why, help, at });
    }

    fn lifetime(&mut self, book: &RuleBook, schema: &Schema, is_cluster: bool) {
        let at = self.key.lifetime_at;
        match &self.key.lifetime {
            Lifetime::Free => {}
            Lifetime::With { key } if is_cluster && !shares_slot(schema, self.id, key) => {
                self.across_slots("lives with another key", at, schema, key);
            }
            Lifetime::With { .. } if !book.is_named_by_leader(self.id) => {
                let why = "several of them live with one key, and the module has no index of them";
                self.error("lives with another key", at, why, OWN_ENGINE);
            }
            Lifetime::With { .. } => self.tie("lives with another key", at),
            Lifetime::Renewed { renew: Renew::Access, .. }
            | Lifetime::By { renew: Some(Renew::Access), .. } => {
                let why = "reads do not renew a lifetime here, so that it would end too early";
                self.error("lifetime renewed by reads", at, why, OWN_ENGINE);
            }
            _ => self.atomic("lifetime", at),
        }
    }

    /// A tie to a key that may end by itself.
    fn tie(&mut self, rule: &'static str, at: Span) {
        let why = "atomic with every write; a key whose source's time is over is seen until the \
                   server has removed the source";
        self.push(rule, at, Guarantee::Eventual, false, (Some(why), None));
    }

    fn derived(&mut self, schema: &Schema, is_cluster: bool) {
        let Some(derived) = &self.key.derived else { return };
        let rule = match derived {
            Derived::Lookup { .. } => "lookup",
            Derived::Rank { .. } => "rank",
            Derived::Members { .. } => "members",
            Derived::Inverse { .. } => "inverse",
            Derived::Follows { .. } => "follows",
        };
        let source = schema.key(derived.source().key);
        let at = self.key.at;
        if is_cluster && !shares_slot(schema, self.id, derived.source()) {
            self.across_slots(rule, at, schema, derived.source());
        } else if source.lifetime == Lifetime::Forever {
            self.atomic(rule, at);
        } else {
            self.tie(rule, at);
        }
    }

    fn settings(&mut self) {
        if self.key.sink.is_some() {
            let why = "the module writes no changefeed";
            self.error("goes to a table of PostgreSQL", self.key.at, why, OWN_ENGINE);
        }
        if self.key.compress.is_some() {
            let why = Some("the server keeps values as they are");
            self.push("compress", self.key.at, Guarantee::Impossible, false, (why, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"[keyspace]
name = "x"
max_memory = "1gb"
[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { email = "str" }
[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{id}", field = "email" }
[key."session:{id:uint}"]
type = "hash"
ttl = { after = "30m", renew = "access" }
fields = { name = "str" }
[key."by_name:{name}"]
type = "set"
members = { of = "session:{id}" }
[key."session:{id:uint}:log"]
type = "list"
ttl = { with = "session:{id}" }
[key."session:{id:uint}:note:{n:uint}"]
type = "string"
ttl = { with = "session:{id}" }
"#;

    #[track_caller]
    fn check(host: HostKind, expected: &[&str]) {
        check_text(SCHEMA, host, expected);
    }

    #[track_caller]
    fn check_text(text: &str, host: HostKind, expected: &[&str]) {
        let checked = keyward_schema::check("x.toml", text.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics));
        let short = |promise: &Promise| {
            let (line, guarantee) = (promise.line(&schema), promise.guarantee.name());
            let place = line.split(": ").next().unwrap_or_default().to_owned();
            let mark = if promise.is_error { "!" } else { "" };
            format!("{place} {} {guarantee}{mark}", promise.rule)
        };
        let found: Vec<String> = guarantees(&schema, host).iter().map(short).collect();
        let found: Vec<&str> = found
            .iter()
            .map(|line| &**line)
            .filter(|line| !line.contains("type, shape and bounds atomic"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_server_of_its_own_keeps_ties_and_says_what_it_does_not_keep() {
        check(
            HostKind::Module { is_cluster: false },
            &[
                "x.toml:6 lifetime atomic",
                "x.toml:8 lookup atomic",
                "x.toml:13 lifetime renewed by reads impossible!",
                "x.toml:15 members eventual",
                "x.toml:20 lives with another key eventual",
                "x.toml:23 lives with another key impossible!",
                "x.toml:2 max_memory and evict impossible",
            ],
        );
    }

    #[test]
    fn a_cluster_ties_nothing_without_a_hash_tag() {
        check(
            HostKind::Module { is_cluster: true },
            &[
                "x.toml:6 lifetime atomic",
                "x.toml:8 lookup impossible!",
                "x.toml:13 lifetime renewed by reads impossible!",
                "x.toml:15 members impossible!",
                "x.toml:20 lives with another key impossible!",
                "x.toml:23 lives with another key impossible!",
                "x.toml:2 max_memory and evict impossible",
            ],
        );
    }

    #[test]
    fn a_cluster_keeps_ties_whose_keys_share_a_hash_tag() {
        let tagged = SCHEMA
            .replace("user:{id:uint}", "shop:{{{shop}}}:user:{id:uint}")
            .replace("user:{id}", "shop:{{{shop}}}:user:{id}")
            .replace("by_email:{email}", "shop:{{{shop}}}:by_email:{email}")
            .replace("session:{id:uint}", "session:{{{id:uint}}}")
            .replace("session:{id}", "session:{{{id}}}")
            .replace(", renew = \"access\"", "");
        check_text(
            &tagged,
            HostKind::Module { is_cluster: true },
            &[
                "x.toml:6 lifetime atomic",
                "x.toml:8 lookup atomic",
                "x.toml:13 lifetime atomic",
                "x.toml:15 members impossible!",
                "x.toml:20 lives with another key eventual",
                "x.toml:23 lives with another key impossible!",
                "x.toml:2 max_memory and evict impossible",
            ],
        );
    }

    #[test]
    fn a_tie_across_slots_is_told_with_the_patterns_that_would_keep_it() {
        let checked = keyward_schema::check("x.toml", SCHEMA.as_bytes());
        let schema = checked.schema.expect("a sound schema");
        let all = guarantees(&schema, HostKind::Module { is_cluster: true });
        let help = |rule: &str| {
            let of = |promise: &&Promise| promise.rule == rule && promise.is_error;
            all.iter().find(of).and_then(|promise| promise.help.as_deref()).unwrap_or_default()
        };
        assert_eq!(
            help("lives with another key"),
            "one hash tag keeps both keys in one slot: \"session:{{{id:uint}}}:log\" and \
             \"session:{{{id:uint}}}\", in all that names them"
        );
        assert!(help("lookup").starts_with("no value is part of both keys"));
    }
}
