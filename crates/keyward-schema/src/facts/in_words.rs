//! The model in words: types, lifetimes, bounds, settings of a keyspace.

use super::derivation::is_read_only;
use super::line::Line;
use super::links::Linked;
use crate::lifetime::{Excess, Lifetime, Renew, Subject};
use crate::schema::{DataType, Evict, Key, Keyspace, Mode, Persist, Unknown};
use crate::shape::{Length, Shape, Type};
use crate::units::{count_in_words, size_in_words};

/// What a type is called in a table.
pub fn type_name(data: DataType) -> &'static str {
    match data {
        DataType::String => "String",
        DataType::Int => "Integer",
        DataType::Float => "Float",
        DataType::Decimal => "Decimal",
        DataType::Flag => "Flag",
        DataType::Json => "JSON",
        DataType::Bytes => "Bytes",
        DataType::Hash => "Hash",
        DataType::List => "List",
        DataType::Set => "Set",
        DataType::Zset => "Sorted set",
        DataType::Stream => "Stream",
        DataType::Hll => "HyperLogLog",
        DataType::Any => "Any type",
    }
}

/// What a type is, with the Redis type that holds it.
pub(super) fn type_in_words(data: DataType) -> &'static str {
    match data {
        DataType::String => "Text in a Redis string",
        DataType::Int => "Whole number in a Redis string",
        DataType::Float => "Floating-point number in a Redis string",
        DataType::Decimal => "Exact decimal number in a Redis string",
        DataType::Flag => "Flag in a Redis string: its presence is what counts",
        DataType::Json => "JSON in a Redis string",
        DataType::Bytes => "Bytes in a Redis string",
        DataType::Hash => "Redis hash",
        DataType::List => "Redis list",
        DataType::Set => "Redis set",
        DataType::Zset => "Redis sorted set",
        DataType::Stream => "Redis stream",
        DataType::Hll => "HyperLogLog in a Redis string",
        DataType::Any => "Whatever its writer makes of it: any Redis type, and another one later",
    }
}

/// A lifetime as a table has it.
pub fn lifetime_short(links: &Linked<'_>, key: &Key) -> Line {
    if is_read_only(key) {
        return Line::text("as its source says");
    }
    match &key.lifetime {
        Lifetime::Free => Line::text("as the writer says"),
        Lifetime::Forever => Line::text("until deleted"),
        Lifetime::Within { after, .. } => Line::text(after.in_words()),
        Lifetime::Window { after } => Line::text(format!("{}, a fixed window", after.in_words())),
        Lifetime::Renewed { after, renew, total } => {
            let line = format!("{} from the last {}", after.in_words(), use_in_words(*renew));
            let total =
                total.map_or(String::new(), |total| format!(", {} in all", total.max.in_words()));
            Line::text(line + &total)
        }
        Lifetime::By { subject, cases, .. } => {
            let case = |(word, after): &(Box<str>, crate::Duration)| {
                Line::code(&**word).and(format!(" {}", after.in_words()))
            };
            Line::join(cases.iter().map(case), ", ")
                .and(", by ")
                .and_line(subject_name(key, *subject))
        }
        Lifetime::Until { field } => Line::text("until ").and_line(field_name(key, *field)),
        Lifetime::With { key } => Line::text("as long as ").and_line(links.key_link(key.key)),
        Lifetime::Given { min, max, .. } => {
            let within = match (min, max) {
                (Some(min), Some(max)) => format!("{} to {}, ", min.in_words(), max.in_words()),
                (None, Some(max)) => format!("up to {}, ", max.in_words()),
                (Some(min), None) => format!("{} or more, ", min.in_words()),
                (None, None) => String::new(),
            };
            Line::text(format!("{within}as the writer says"))
        }
    }
}

/// A lifetime in sentences.
pub(super) fn lifetime_in_words(links: &Linked<'_>, key: &Key) -> Line {
    if is_read_only(key) {
        return Line::text("None of its own: it is there as long as its source says.");
    }
    match &key.lifetime {
        Lifetime::Free => Line::text(
            "As in Redis: what the writer sets with EX or EXPIRE, and until it is deleted otherwise.",
        ),
        Lifetime::Forever => Line::text("Lives until it is deleted. EXPIRE on it is refused."),
        Lifetime::Within { after, excess } => Line::text(format!(
            "{} from the write that creates or overwrites it. A writer may ask for less; asking for \
             more is {}.",
            after.in_words(),
            excess_in_words(*excess),
        )),
        Lifetime::Window { after } => Line::text(format!(
            "A window of {} that begins when it is created. Nothing extends it.",
            after.in_words()
        )),
        Lifetime::Renewed { after, renew, total } => {
            let line = Line::text(format!(
                "{} from the last {}: each one renews it",
                after.in_words(),
                use_in_words(*renew)
            ));
            match total {
                None => line.and("."),
                Some(total) => line
                    .and(format!(", up to {} from ", total.max.in_words()))
                    .and_line(field_name(key, total.from))
                    .and(
                        ", which cannot be changed. A writer may ask for as much at once; nothing \
                         shortens it but EXPIRE.",
                    ),
            }
        }
        Lifetime::By { subject, cases, renew } => {
            let then = match renew {
                None => ". Judged again on every write.",
                Some(Renew::Never) => {
                    ". It is a window that begins when it is created; nothing extends it."
                }
                Some(Renew::Write) => ". Each write renews it.",
                Some(Renew::Access) => ". Each read or write renews it.",
            };
            let case = |(word, after): &(Box<str>, crate::Duration)| {
                Line::code(&**word).and(format!(" lives {}", after.in_words()))
            };
            Line::text("By ")
                .and_line(subject_name(key, *subject))
                .and(": ")
                .and_line(Line::join(cases.iter().map(case), ", "))
                .and(then)
        }
        Lifetime::Until { field } => Line::text("Ends at the time in ")
            .and_line(field_name(key, *field))
            .and(", and moves with it."),
        Lifetime::With { key } => {
            Line::text("Ends when ").and_line(links.key_link(key.key)).and(" does.")
        }
        Lifetime::Given { min, max, default, excess } => {
            let within = match (min, max) {
                (Some(min), Some(max)) => {
                    format!(", from {} to {}", min.in_words(), max.in_words())
                }
                (None, Some(max)) => format!(", up to {}", max.in_words()),
                (Some(min), None) => format!(", at least {}", min.in_words()),
                (None, None) => String::new(),
            };
            let beyond = match max {
                Some(_) => format!(" Asking for more is {}.", excess_in_words(*excess)),
                None => String::new(),
            };
            let default = default.map_or(String::new(), |default| {
                format!(" Commands that cannot say get {}.", default.in_words())
            });
            Line::text(format!("The writer says{within}.{beyond}{default}"))
        }
    }
}

fn use_in_words(renew: Renew) -> &'static str {
    match renew {
        Renew::Never => "creation",
        Renew::Write => "write",
        Renew::Access => "read or write",
    }
}

fn excess_in_words(excess: Excess) -> &'static str {
    match excess {
        Excess::Refuse => "refused",
        Excess::Clamp => "cut down to it",
    }
}

/// Whose value decides, as the schema writes it.
pub fn subject_name(key: &Key, subject: Subject) -> Line {
    match subject {
        Subject::Field(index) => field_name(key, index),
        Subject::Placeholder(index) => {
            Line::code(format!("{{{}}}", key.pattern.placeholders()[index].name))
        }
    }
}

/// The name of a key's field.
pub(super) fn field_name(key: &Key, index: usize) -> Line {
    let field = key.content.object().and_then(|object| object.fields.get(index));
    field.map_or_else(Line::default, |field| Line::code(&*field.name))
}

/// How large a key may grow, one line per bound.
pub(super) fn bounds_in_words(key: &Key) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(max) = key.bounds.max_len {
        let far_end = match key.data {
            DataType::Stream => "the oldest entries go",
            _ => "a push beyond that drops items at its far end",
        };
        lines.push(Line::text(format!("At most {}: {far_end}.", things(max, "item"))));
    }
    if let Some(max) = key.bounds.max_members {
        let then = match key.data {
            DataType::Zset => "one more drops the lowest",
            _ => "one more is refused",
        };
        lines.push(Line::text(format!("At most {}: {then}.", things(max, "member"))));
    }
    if let Some(max) = key.bounds.max_size {
        lines.push(Line::text(format!("At most {} a value.", size_in_words(max))));
    }
    lines
}

/// What happens to a key when memory is short.
pub fn evict_in_words(evict: Evict) -> &'static str {
    match evict {
        Evict::Never => "Never evicted.",
        Evict::First => "Goes before all others.",
        Evict::Lru => "The least recently used go.",
        Evict::Lfu => "The least frequently used go.",
        Evict::Ttl => "Those nearest to their end go.",
    }
}

/// The type of a value, with the bounds on it in words.
pub fn shape_line(shape: &Shape) -> Line {
    let limits = limits_in_words(shape);
    let limits = if limits.is_empty() { limits } else { format!(", {limits}") };
    Line::code(shape.to_string()).and(limits)
}

/// The bounds on a value in words, empty if there are none.
pub(super) fn limits_in_words(shape: &Shape) -> String {
    let limits = &shape.limits;
    let mut words = Vec::new();
    match (&limits.min, &limits.max) {
        (Some(min), Some(max)) => words.push(format!("{min} to {max}")),
        (Some(min), None) => words.push(format!("at least {min}")),
        (None, Some(max)) => words.push(format!("at most {max}")),
        (None, None) => {}
    }
    if let Some(len) = limits.len {
        let unit = if matches!(shape.ty, Type::Array(_)) { "item" } else { "byte" };
        words.push(length_in_words(len, unit));
    }
    if let Some(prefix) = &limits.prefix {
        words.push(format!("begins with “{prefix}”"));
    }
    if shape.secret {
        words.push("secret".to_owned());
    }
    if shape.personal {
        words.push("personal".to_owned());
    }
    words.join(", ")
}

fn length_in_words(len: Length, unit: &str) -> String {
    let plural = if len.max == 1 { "" } else { "s" };
    format!("{len} {unit}{plural}")
}

/// `1 item`, `20 items`.
pub fn things(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", count_in_words(count), if count == 1 { "" } else { "s" })
}

/// The settings of a keyspace, in words.
pub fn keyspace_facts(keyspace: &Keyspace) -> Vec<(&'static str, Vec<Line>)> {
    let unknown = match keyspace.unknown {
        Unknown::Reject => "Writes to keys that match none of these patterns are refused.",
        Unknown::Warn => {
            "Writes to keys that match none of these patterns pass and are counted; a sample of them is logged."
        }
        Unknown::Allow => "Keys that match none of these patterns behave as in Redis.",
    };
    let persist = match keyspace.persist {
        Persist::Aof => {
            "Everything that was acknowledged outlives a restart, where the server keeps an append-only file."
        }
        Persist::Rdb => "The last snapshot outlives a restart, where the server takes snapshots.",
        Persist::None => "Nothing outlives a restart: a pure cache.",
    };
    let memory = match keyspace.max_memory {
        Some(bytes) => format!("At most {}.", size_in_words(bytes)),
        None => "No limit of its own.".to_owned(),
    };
    let owner = keyspace.owner.iter().map(|owner| Line::text(&**owner)).collect();
    let mut facts = vec![
        ("Owner", owner),
        ("Readers", named(&keyspace.readers)),
        ("Writers", named(&keyspace.writers)),
        ("Database", vec![Line::code(keyspace.db.to_string())]),
        ("Other keys", vec![Line::text(unknown)]),
        ("Enforcement", vec![Line::text(mode_in_words(keyspace.mode))]),
        ("Memory", vec![Line::text(memory)]),
        ("Persistence", vec![Line::text(persist)]),
    ];
    facts.retain(|(_, lines): &(_, Vec<Line>)| !lines.is_empty());
    facts
}

/// Users, if there are any.
fn named(users: &[Box<str>]) -> Vec<Line> {
    if users.is_empty() { Vec::new() } else { vec![Line::text(users.join(", "))] }
}

/// What happens to writes that break the schema.
pub(super) fn mode_in_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Enforce => "Writes that break a rule of this document are refused.",
        Mode::Warn => {
            "Writes that break a rule of this document pass and are counted; a sample of them is logged."
        }
        Mode::Observe => {
            "What this document would refuse, fill in, derive or remove is counted, and nothing of it is done."
        }
    }
}
