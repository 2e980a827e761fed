//! How refusals are worded.
//!
//! Owns the sentence for each way to break a schema and the line it points to,
//! so that both stages say the same. Not here: the form of the whole line
//! (`refusal`), what does not fit a shape ([`Misfit`] words that).

use keyward_schema::escape;
use keyward_schema::{
    Content, DataType, Key, KeyId, Lifetime, Misfit, MissReason, Object, Shape, SinkKind, Span,
    Type, near_miss, size_in_words,
};

use crate::book::RuleBook;
use crate::lifetime::LifetimeProblem;
use crate::reason::Reason;
use crate::refusal::{Refusal, shown_key};
use crate::shown::REDACTED;
use crate::view::RowType;

impl RuleBook {
    /// A key of this table breaks the schema where it is declared.
    pub(crate) fn refuse(
        &self,
        table: KeyId,
        key: &[u8],
        reason: Reason,
        problem: impl std::fmt::Display,
    ) -> Refusal {
        self.refusal(table, key, Problem { reason, told: &problem, discreet: None }, None)
    }

    /// A key of this table breaks the schema at a place, or where it is declared. What is
    /// told has bytes of a client besides the key if there is a discreet way to put it.
    pub(crate) fn refusal(
        &self,
        table: KeyId,
        key: &[u8],
        problem: Problem<'_>,
        at: Option<Span>,
    ) -> Refusal {
        let (source, reason) = (&self.schema().source, problem.reason);
        let at = Some(at.unwrap_or(self.schema().key(table).at));
        let refusal = |subject: &[u8], problem: &dyn std::fmt::Display| {
            Refusal::new(source, (Some(table), reason), subject, problem, at)
        };
        let told = refusal(&self.shown_name(key), problem.told);
        // The name of a derived key may be made of a value.
        let is_named_by_values =
            self.traits(table).source.is_some() || self.links(table).mirror.is_some();
        let discreet = problem.discreet.as_ref().map(|discreet| discreet as &dyn std::fmt::Display);
        let told = match (is_named_by_values, discreet) {
            (false, None) => told,
            (false, Some(discreet)) => told.or_discreetly(refusal(&self.shown_name(key), discreet)),
            (true, discreet) => {
                let pattern = self.schema().key(table).pattern.text().as_bytes();
                told.or_discreetly(refusal(pattern, discreet.unwrap_or(problem.told)))
            }
        };
        told.about(key)
    }

    /// A key that belongs to no table would come to be.
    pub(crate) fn refuse_unknown(&self, key: &[u8]) -> Refusal {
        let schema = self.schema();
        let hint = self.nearest(key).map_or(String::new(), |near| format!("; nearest is {near}"));
        let problem = format!("matches no pattern of {}{hint}", schema.keyspace.name);
        let of = (None, Reason::Unknown);
        Refusal::new(&schema.source, of, &self.shown_name(key), problem, None).about(key)
    }

    /// The pattern that a key comes nearest to, and where they part.
    pub(crate) fn nearest(&self, key: &[u8]) -> Option<String> {
        let schema = self.schema();
        let miss = near_miss(schema.keys.iter().map(|key| &key.pattern), key)?;
        let nearest = &schema.keys[miss.pattern];
        Some(format!("{}, {}", nearest.pattern, difference(nearest, &miss.reason)))
    }

    /// Why a row of this type cannot stand under a key of a table; `None` if its type fits, or it
    /// is for others to say: what a computed row holds is compared with its sources.
    pub fn refuse_other_type(&self, table: KeyId, key: &[u8], found: RowType) -> Option<Refusal> {
        let traits = self.traits(table);
        let is_judged = self.is_enforced(table) && !traits.is_computed;
        (is_judged && !traits.takes(found)).then(|| self.refuse_type(table, key, found))
    }

    /// Why a row cannot come from another database to a key of a table; `None` if it can. Items
    /// that are appended to a table are told when they are pushed, and these may have been.
    pub fn refuse_from_elsewhere(&self, table: KeyId, key: &[u8]) -> Option<Refusal> {
        let sink = self.schema().key(table).sink.as_ref();
        let is_appended = sink.is_some_and(|sink| sink.kind == SinkKind::Append);
        let problem =
            "is appended to a table: items are pushed to it, not brought from another database";
        (is_appended && self.is_enforced(table))
            .then(|| self.refuse(table, key, Reason::Sink, problem))
    }

    /// A row would become another type than the declared one.
    pub(crate) fn refuse_type(&self, table: KeyId, key: &[u8], found: RowType) -> Refusal {
        let declared = declared_as(self.schema().key(table).data);
        let reason = Reason::Type;
        self.refuse(
            table,
            key,
            reason,
            format_args!("is declared {declared}, not {}", found.in_words()),
        )
    }

    /// A value, field, item or member does not fit.
    pub(crate) fn refuse_misfit(&self, table: KeyId, key: &[u8], misfit: &Misfit) -> Refusal {
        let declared = self.schema().key(table);
        let object = match &declared.content {
            Content::Items(shape) => within(shape),
            Content::Entries(object) => Some(object),
            content => content.object(),
        };
        let at = misfit.at().or_else(|| object.and_then(|object| field_at(object, misfit.path())));
        let problem = |misfit: &Misfit| match (misfit.path(), &declared.content) {
            ("", Content::Items(_) | Content::Scored { .. }) if declared.data != DataType::List => {
                format!("a member {}", misfit.problem())
            }
            ("", Content::Items(_)) => format!("an item {}", misfit.problem()),
            ("", Content::Entries(_)) => format!("an entry {}", misfit.problem()),
            ("", _) if is_verb_of_key(misfit.problem()) => misfit.problem().to_owned(),
            _ => misfit.to_string(),
        };
        let discreet = (!misfit.is_discreet()).then(|| problem(&misfit.clone().discreet()));
        let reason = Reason::Value;
        self.refusal(table, key, Problem { reason, told: &problem(misfit), discreet }, at)
    }

    /// Something about this field breaks the schema.
    pub(crate) fn refuse_field(
        &self,
        table: KeyId,
        key: &[u8],
        field: &[u8],
        problem: Problem<'_>,
    ) -> Refusal {
        let declared = self.schema().key(table);
        let name = String::from_utf8_lossy(field);
        let object = declared.content.object();
        let at = object.and_then(|object| field_at(object, &name));
        // The name of a field that nobody declared may be a secret in a key that has some.
        let name = match at.is_none() && object.is_some_and(|object| object.has_secret()) {
            true => REDACTED.to_owned(),
            false => shown_key(field),
        };
        let shown = if at.is_some() { &*name } else { REDACTED };
        let discreet = match &problem.discreet {
            Some(discreet) => format!("{shown}: {discreet}"),
            None => format!("{shown}: {}", problem.told),
        };
        let told = format!("{name}: {}", problem.told);
        let reason = problem.reason;
        self.refusal(table, key, Problem { reason, told: &told, discreet: Some(discreet) }, at)
    }

    /// A value is larger than `max_size`.
    pub(crate) fn refuse_size(
        &self,
        table: KeyId,
        key: &[u8],
        bytes: usize,
        most_bytes: u64,
    ) -> Refusal {
        let (mut most, mut found) = (size_in_words(most_bytes), size_in_words(bytes as u64));
        if most == found {
            // Rounded they are the same.
            (most, found) = (format!("{most_bytes} bytes"), format!("{bytes} bytes"));
        }
        let reason = Reason::Size;
        self.refuse(
            table,
            key,
            reason,
            format_args!("may hold at most {most} (max_size), not {found}"),
        )
    }

    /// A lifetime is not what the schema demands.
    pub(crate) fn refuse_lifetime(
        &self,
        table: KeyId,
        key: &[u8],
        problem: LifetimeProblem,
    ) -> Refusal {
        let declared = self.schema().key(table);
        let reason = match problem {
            LifetimeProblem::Leaderless => Reason::Reference,
            _ => Reason::Lifetime,
        };
        let problem = match problem {
            LifetimeProblem::Mortal if declared.derived.is_some() => {
                "is kept by Keyward from its source and has no lifetime of its own".to_owned()
            }
            LifetimeProblem::Mortal => {
                "lives until it is deleted (ttl = \"none\") and takes no lifetime".to_owned()
            }
            LifetimeProblem::Immortal => {
                "must have a lifetime, which PERSIST would take away".to_owned()
            }
            LifetimeProblem::Unsaid => {
                "must be written with a lifetime: add EX, PX, EXAT or PXAT".to_owned()
            }
            LifetimeProblem::TooLong { asked, most } => {
                format!("may live at most {}, not {}", most.in_words(), asked.in_words())
            }
            LifetimeProblem::TooShort { asked, least } => {
                format!("must live at least {}, not {}", least.in_words(), asked.in_words())
            }
            LifetimeProblem::Elsewhere => self.elsewhere(table, key),
            LifetimeProblem::Reborn => {
                self.born(table, "which cannot be changed; delete the key and write it anew")
            }
            LifetimeProblem::Unborn => self.born(table, "which is still to come"),
            LifetimeProblem::Leaderless => match self.leader(table, key) {
                Some(leader) => format!(
                    "lives with {}, which does not exist; create that first",
                    self.named(&leader)
                ),
                None => "lives with a key that its placeholders cannot name: it would be read as \
                         other values"
                    .to_owned(),
            },
        };
        let at = Some(declared.lifetime_at);
        self.refusal(table, key, Problem { reason, told: &problem, discreet: None }, at)
    }

    /// What is wrong with the field that a row lives so long from.
    fn born(&self, table: KeyId, wrong: &str) -> String {
        let declared = self.schema().key(table);
        match (&declared.lifetime, declared.content.object()) {
            (Lifetime::Renewed { total: Some(total), .. }, Some(object)) => format!(
                "lives {} in all from {}, {wrong}",
                total.max.in_words(),
                object.fields[total.from].name
            ),
            _ => unreachable!("only a total has a birth"),
        }
    }

    /// What decides when a row ends, and what to do about it.
    fn elsewhere(&self, table: KeyId, key: &[u8]) -> String {
        let declared = self.schema().key(table);
        match (&declared.lifetime, declared.content.object()) {
            (Lifetime::Until { field }, Some(object)) => {
                let name = &object.fields[*field].name;
                format!("ends at the time in {name}; change that field instead")
            }
            _ => {
                let leader = self.leader(table, key).unwrap_or_default();
                format!("lives with {} and ends with it", self.named(&leader))
            }
        }
    }
}

/// What is wrong, in words.
pub(crate) struct Problem<'a> {
    pub(crate) reason: Reason,
    pub(crate) told: &'a dyn std::fmt::Display,
    /// The same without any bytes of a client, if those have some.
    pub(crate) discreet: Option<String>,
}

impl RowType {
    /// What it is, in words.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            RowType::String => "a string",
            RowType::List => "a list",
            RowType::Set => "a set",
            RowType::Zset => "a zset",
            RowType::Hash => "a hash",
            RowType::Stream => "a stream",
        }
    }
}

/// Whether a problem of a whole value is said of its key: "has no field x",
/// "lacks the required field x", "breaks x <= y", rather than "the value must be …".
fn is_verb_of_key(problem: &str) -> bool {
    ["has ", "lacks ", "breaks "].iter().any(|verb| problem.starts_with(verb))
}

fn declared_as(data: DataType) -> String {
    match data {
        DataType::Int => "an int".to_owned(),
        DataType::Json => "JSON".to_owned(),
        DataType::Bytes => "bytes".to_owned(),
        DataType::Hll => "a HyperLogLog".to_owned(),
        other => format!("a {}", other.name()),
    }
}

/// Where the field stands that a path such as `settings.theme` leads to: the
/// innermost one that is declared.
fn field_at(object: &Object, path: &str) -> Option<Span> {
    let mut object = object;
    let mut at = None;
    for step in path.split('.') {
        let name = step.split('[').next().unwrap_or_default();
        let Some(index) = object.field(name) else { break };
        let field = &object.fields[index];
        at = Some(field.at);
        match within(&field.shape) {
            Some(inner) => object = inner,
            None => break,
        }
    }
    at
}

/// The object that a shape holds, itself or as items.
fn within(shape: &Shape) -> Option<&Object> {
    match &shape.ty {
        Type::Object(object) => Some(object),
        Type::Array(item) => within(item),
        _ => None,
    }
}

/// Where a key leaves its nearest pattern.
fn difference(nearest: &Key, reason: &MissReason) -> String {
    match reason {
        MissReason::Literal { segment, expected } => {
            format!("whose {} part is {expected}", ordinal(*segment))
        }
        MissReason::Placeholder { segment, placeholder } => {
            let placeholder = &nearest.pattern.placeholders()[*placeholder];
            let demand = placeholder.kind.demand();
            format!("whose {} part {demand}", ordinal(*segment))
        }
        MissReason::Form { segment, expected } => {
            format!("whose {} part is like {}", ordinal(*segment), escape(expected))
        }
        MissReason::Address { placeholder } => {
            let name = &nearest.pattern.placeholders()[*placeholder].name;
            format!("whose {{{name}}} takes no colon; write {{{name}:ip}} for addresses")
        }
        MissReason::TooShort { expected } | MissReason::TooLong { expected } => {
            format!("which has {expected} part{}", if *expected == 1 { "" } else { "s" })
        }
    }
}

fn ordinal(index: usize) -> String {
    const WORDS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
    WORDS.get(index).map_or_else(|| format!("{}th", index + 1), |word| (*word).to_owned())
}
