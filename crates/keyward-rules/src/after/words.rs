//! How refusals by effect are worded.

use crate::book::RuleBook;
use crate::derived::{Contradicted, Entry, Mirror};
use crate::reason::Reason;
use crate::refusal::{Refusal, shown_key};
use crate::view::RowType;
use crate::words::Problem;
use keyward_schema::{Derived, Finds, KeyId};

/// Elements of a derived row that a line names.
const NAMED_MEMBERS: usize = 3;

impl RuleBook {
    /// A row would have more items or members than there may be.
    pub(crate) fn refuse_count(&self, table: KeyId, key: &[u8], count: u64) -> Refusal {
        let bounds = self.schema().key(table).bounds;
        let (most, things, setting) = match bounds.max_len {
            Some(most) => (most, "items", "max_len"),
            None => (bounds.max_members.unwrap_or_default(), "members", "max_members"),
        };
        let problem = format!("may have at most {most} {things} ({setting}), not {count}");
        self.refuse(table, key, Reason::Size, problem)
    }

    /// A unique value has an owner already.
    pub(crate) fn refuse_taken(
        &self,
        source: KeyId,
        key: &[u8],
        lookup: KeyId,
        owner: &[u8],
    ) -> Refusal {
        let declared = self.schema().key(source);
        let derived = self.schema().key(lookup);
        let field = match &derived.derived {
            Some(Derived::Lookup { finds: Finds::Member { field: Some(field), .. }, .. }) => {
                declared.content.object().map(|object| &object.fields[*field])
            }
            _ => None,
        };
        let what = field.map_or("the value", |field| &field.name);
        let pattern = &derived.pattern;
        let at = field.map(|field| field.at);
        let refusal = |owner: &str| {
            let problem = format!("{what} belongs to {owner} already, and {pattern} is unique");
            self.refusal(
                source,
                key,
                Problem { reason: Reason::Unique, told: &problem, discreet: None },
                at,
            )
        };
        if derived.holds_secret() {
            return refusal("another row");
        }
        // Which key that is follows from the id alone where that is all the key has.
        let is_id =
            matches!(&derived.derived, Some(Derived::Lookup { finds: Finds::Member { .. }, .. }));
        let named = match declared.pattern.placeholders().len() {
            1 if is_id => declared.pattern.fill(&[owner]),
            _ => Vec::new(),
        };
        refusal(&shown_key(owner)).naming(&named, refusal("another row"))
    }

    /// A row is not found by a lookup that should name it.
    pub(crate) fn refuse_unnamed(&self, source: KeyId, key: &[u8], lookup: KeyId) -> Refusal {
        let pattern = &self.schema().key(lookup).pattern;
        let problem = format!("{pattern} does not name it, as it should; write that");
        self.refuse(source, key, Reason::Derived, problem)
    }

    /// A row that is kept ends at another time than the schema says.
    pub(crate) fn refuse_end(&self, table: KeyId, key: &[u8]) -> Refusal {
        let problem = match self.is_hypothetical() {
            true => "does not end when the schema says, which only observes: it keeps its end",
            false => "does not end when the schema says; its next write gives it that end",
        };
        self.refuse(table, key, Reason::Lifetime, problem.to_owned())
    }

    /// A row ends later than any that is written now.
    pub(crate) fn refuse_overlong(&self, table: KeyId, key: &[u8]) -> Refusal {
        self.refuse(
            table,
            key,
            Reason::Lifetime,
            "lives longer than the schema allows, and keeps its end".to_owned(),
        )
    }

    /// A client's write to a computed key is not what its source says.
    pub(crate) fn refuse_contradiction(&self, table: KeyId, key: &[u8]) -> Refusal {
        let derived = self.schema().key(table).derived.as_ref();
        let source = derived.map(|derived| &self.schema().key(derived.source().key).pattern);
        let source = source.map_or(String::new(), |pattern| format!(" from {pattern}"));
        let problem =
            format!("is kept by Keyward{source}, which says otherwise; write that instead");
        self.refuse(table, key, Reason::Derived, problem)
    }

    /// The same of a row that stands so: names the key that says otherwise, of the member that it
    /// holds or lacks, if that is known.
    pub(crate) fn refuse_standing(
        &self,
        table: KeyId,
        key: &[u8],
        member: Option<&[u8]>,
    ) -> Refusal {
        let source = member.and_then(|member| self.source_of(table, key, member));
        let derived = self.schema().key(table).derived.as_ref();
        let Some((source, derived)) = source.zip(derived) else {
            return self.refuse_contradiction(table, key);
        };
        let problem = |source: &str| {
            format!("is kept by Keyward from {source}, which says otherwise; write that instead")
        };
        let declared = self.schema().key(derived.source().key);
        let discreet = problem(&declared.pattern.to_string());
        let told = match self.schema().key(table).holds_secret() {
            true => discreet.clone(),
            false => problem(&self.named(&source)),
        };
        let problem = Problem { reason: Reason::Derived, told: &told, discreet: Some(discreet) };
        self.refusal(table, key, problem, None)
    }

    /// The same where nobody keeps the row: names some of what it holds and lacks, and the keys
    /// that say so.
    pub(crate) fn refuse_observed(
        &self,
        table: KeyId,
        key: &[u8],
        Contradicted { row, members, is_all }: Contradicted<'_>,
    ) -> Refusal {
        let is_held = |member: &&&[u8]| {
            row.is_some_and(|row| match row.row_type() {
                RowType::String => row.text().is_some_and(|text| *text == ***member),
                RowType::Zset => row.score(member).is_some(),
                _ => row.contains(member),
            })
        };
        let (held, lacked): (Vec<&&[u8]>, Vec<&&[u8]>) = members.iter().partition(is_held);
        let parts = [
            ("holds what its sources do not demand", held),
            ("lacks what its sources demand", lacked),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|(_, members)| !members.is_empty()).collect();
        let whole = || "is not what its sources demand".to_owned();
        let listed = |members: &[&&[u8]]| {
            let some = members.iter().take(NAMED_MEMBERS).map(|member| {
                match self.source_of(table, key, member) {
                    Some(source) => format!("{} ({})", shown_key(member), self.named(&source)),
                    None => format!("{} (which names no key)", shown_key(member)),
                }
            });
            let some = some.collect::<Vec<String>>().join(", ");
            match members.len().saturating_sub(NAMED_MEMBERS) {
                0 => some,
                more if is_all => format!("{some} and {more} more"),
                more => format!("{some} and at least {more} more"),
            }
        };
        let joined = |parts: Vec<String>| match parts.is_empty() {
            true => whole(),
            false => parts.join("; "),
        };
        let discreet = joined(parts.iter().map(|(what, _)| (*what).to_owned()).collect());
        let told = match self.schema().key(table).holds_secret() {
            true => discreet.clone(),
            false => joined(
                parts.iter().map(|(what, some)| format!("{what}: {}", listed(some))).collect(),
            ),
        };
        let problem = Problem { reason: Reason::Derived, told: &told, discreet: Some(discreet) };
        self.refusal(table, key, problem, None)
    }

    /// A member names a row that is not there.
    pub(crate) fn refuse_stranger(&self, table: KeyId, key: &[u8], named: &[u8]) -> Refusal {
        let problem = |named: &str| {
            format!("a member must name a living key, and {named} does not exist; write that first")
        };
        let discreet = problem("what this one names");
        let told = match self.schema().key(table).holds_secret() {
            true => discreet.clone(),
            false => problem(&self.named(named)),
        };
        self.refusal(
            table,
            key,
            Problem { reason: Reason::Reference, told: &told, discreet: Some(discreet) },
            None,
        )
    }

    /// A member of a mirrored set cannot stand in the name of its mirror.
    pub(crate) fn refuse_nameless(&self, table: KeyId, key: &[u8], member: &[u8]) -> Refusal {
        let mirror = match self.links(table).mirror {
            Some(Mirror::NamedBy(namer)) => Some(namer),
            _ => self.traits(table).source,
        };
        let mirror = mirror.map_or("its mirror", |mirror| self.schema().key(mirror).pattern.text());
        let is_secret = self.schema().key(table).holds_secret();
        let problem =
            |member: &str| format!("a member must name a key {mirror}, and {member} cannot");
        let discreet = problem("this one");
        let told = if is_secret { discreet.clone() } else { problem(&shown_key(member)) };
        self.refusal(
            table,
            key,
            Problem { reason: Reason::Reference, told: &told, discreet: Some(discreet) },
            None,
        )
    }

    /// A value makes a computed key that is read as other values.
    pub(crate) fn refuse_misread(&self, table: KeyId, key: &[u8], entry: &Entry) -> Refusal {
        let derived = self.schema().key(entry.table);
        let pattern = &derived.pattern;
        let problem = |named: &str| {
            format!("a value would make {named} of {pattern}, which is read as other values")
        };
        let discreet = problem("a key");
        let told = match derived.holds_secret() {
            true => discreet.clone(),
            false => problem(&shown_key(&entry.key)),
        };
        self.refusal(
            table,
            key,
            Problem { reason: Reason::Reference, told: &told, discreet: Some(discreet) },
            None,
        )
    }

    /// A command would bring too many entries to a derived key: so many, if that is known.
    pub fn refuse_fanout(&self, table: KeyId, count: Option<u64>) -> Refusal {
        let declared = self.schema().key(table);
        let count =
            count.map_or(" and this one adds more".to_owned(), |count| format!(" not {count}"));
        let problem = format!(
            "one command may add at most {} entries to it (max_fanout),{count}; write in smaller \
             steps",
            declared.max_fanout
        );
        self.refuse(table, declared.pattern.text().as_bytes(), Reason::Size, problem)
    }
}
