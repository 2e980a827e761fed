//! The settings of the language: one declaration each.
//!
//! Owns the table from which come the check for unknown and misplaced
//! settings, the JSON Schema for editors, and the language's reference.

use crate::schema::DataType;

/// Declares an enum together with the words that the schema uses for it.
macro_rules! choice {
    ($(#[$doc:meta])* pub enum $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// The words that the schema uses, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The word that the schema uses.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// What a word of the schema means.
            pub fn named(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use choice;

/// A kind of table in a schema file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The file itself.
    File,
    /// `include = [{ … }]`
    Include,
    /// `[keyspace]`
    Keyspace,
    /// `[key."…"]`
    Key,
    /// `ttl = { … }`
    Lifetime,
    /// `field = { type = …, … }`
    Shape,
    /// `lookup = { … }`
    Lookup,
    /// `rank = { … }`
    Rank,
    /// `members = { … }`
    Members,
    /// `check = [{ … }]`
    Check,
    /// `sink = { … }`
    Sink,
    /// `columns = { name = { … } }`
    Column,
    /// `[function.…]`
    Function,
    /// `example = { … }`
    Example,
    /// `alert.…`
    Alert,
    /// `expect`
    Expect,
    /// `[[note]]`
    Note,
}

impl Scope {
    /// What a diagnostic calls it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::File => "the file",
            Scope::Include => "include",
            Scope::Keyspace => "[keyspace]",
            Scope::Key => "[key.\"…\"]",
            Scope::Lifetime => "ttl",
            Scope::Shape => "a field",
            Scope::Lookup => "lookup",
            Scope::Rank => "rank",
            Scope::Members => "members",
            Scope::Check => "check",
            Scope::Sink => "sink",
            Scope::Column => "a column",
            Scope::Function => "[function.…]",
            Scope::Example => "example",
            Scope::Alert => "alert",
            Scope::Expect => "expect",
            Scope::Note => "[[note]]",
        }
    }
}

impl Scope {
    /// What such a table is.
    pub fn doc(self) -> &'static str {
        match self {
            Scope::File => "The document of a keyspace: its keys, and what is true of each.",
            Scope::Include => "A file whose keys belong to the keyspace too, with values.",
            Scope::Keyspace => "Settings of the whole keyspace.",
            Scope::Key => "A pattern of keys, and what is true of them.",
            Scope::Lifetime => "How long a key lives.",
            Scope::Shape => "A type with limits, or an object with its fields.",
            Scope::Lookup => "A unique index of another key's field or value.",
            Scope::Rank => "Another key's ids, scored by a field or a placeholder.",
            Scope::Members => "Another key's ids whose row says so.",
            Scope::Check => "A comparison that must hold where a condition does.",
            Scope::Sink => "The table of PostgreSQL that rows or items of a key go to.",
            Scope::Column => "A column of that table.",
            Scope::Function => "An operation over several keys, called with FCALL.",
            Scope::Example => "An example key and what it holds.",
            Scope::Alert => "When somebody is told of a figure.",
            Scope::Expect => "How much of a key is expected.",
            Scope::Note => "A chapter of prose for the document.",
        }
    }
}

/// What a setting's value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// The number of a database.
    Db,
    /// `100`, `25k`, `2.5M`.
    Count,
    /// `512`, `4kb`, `1gb`.
    Size,
    /// `30s`, `1h30m`, `14d`.
    Duration,
    /// A number of any size.
    Number,
    /// `32` or `1..64`.
    Length,
    /// A type, or a table with a type and limits.
    Shape,
    /// A table of fields and their types.
    Fields,
    /// `reject`, `allow`, or a type.
    Extra,
    /// A duration, `none`, or a table of one of the forms.
    Lifetime,
    /// A key with placeholders.
    Template,
    /// A table of this kind.
    Table(Scope),
    /// A table of such tables by name.
    Tables(Scope),
    /// An array of such tables.
    Array(Scope),
    /// An array of texts.
    Texts,
    /// A table of texts.
    TextTable,
    /// A table of variables and their values.
    Values,
    /// An array of files, each a path or a table with a path and values.
    Includes,
    /// A key, or a table with a key and a value.
    Example,
    /// `true`, or an array of placeholders.
    Secret,
    /// A count of keys, or a table with that and the items of one.
    Expect,
    /// A table of figures, each with a comparison or a table with one.
    Alerts,
    /// A placeholder in braces.
    Placeholder,
    /// An array of comparisons, each a text or a table with a condition.
    Checks,
    /// A table of columns: each what it is filled from, a table that says more, or `false`.
    Columns,
    /// Whatever value fits the key's type.
    Any,
}

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Where it stands.
    pub scope: Scope,
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub form: Form,
    /// The types of keys that take it; all where none is named.
    pub types: &'static [DataType],
    /// What it means.
    pub doc: &'static str,
    /// A value, as TOML.
    pub example: &'static str,
}

impl Setting {
    /// Whether its table cannot do without it.
    pub fn required(&self) -> bool {
        matches!(
            (self.scope, self.name),
            (Scope::Include, "file")
                | (Scope::Keyspace, "name")
                | (Scope::Key, "type")
                | (Scope::Lookup | Scope::Rank | Scope::Members, "of")
                | (Scope::Rank, "by")
                | (Scope::Check, "check")
                | (Scope::Example, "key")
                | (Scope::Alert, "when")
                | (Scope::Expect, "keys")
                | (Scope::Note, "title" | "text")
        )
    }
}

const STRINGS: &[DataType] = &[
    DataType::String,
    DataType::Int,
    DataType::Float,
    DataType::Decimal,
    DataType::Flag,
    DataType::Json,
    DataType::Bytes,
];
const LARGE: &[DataType] = &[DataType::String, DataType::Json, DataType::Bytes];
const COMPRESSIBLE: &[DataType] =
    &[DataType::String, DataType::Json, DataType::Bytes, DataType::Hash, DataType::List];
const OBJECTS: &[DataType] = &[DataType::Json, DataType::Hash, DataType::Stream];
const ITEMS: &[DataType] = &[DataType::List, DataType::Set, DataType::Zset];
const LISTS: &[DataType] = &[DataType::List, DataType::Stream];
const SETS: &[DataType] = &[DataType::Set, DataType::Zset];
const ZSET: &[DataType] = &[DataType::Zset];
const SET: &[DataType] = &[DataType::Set];
const LOOKUPS: &[DataType] = &[DataType::String, DataType::Int];

macro_rules! settings {
    ($($scope:ident { $($name:literal: $form:expr, $types:expr, $doc:literal, $example:literal;)+ })+) => {
        /// Every setting of the language.
        pub static SETTINGS: &[Setting] = &[$($(Setting {
            scope: Scope::$scope, name: $name, form: $form, types: $types, doc: $doc, example: $example,
        },)+)+];
    };
}

settings! {
    File {
        "include": Form::Includes, &[], "Files whose keys, functions and notes belong to this keyspace too: paths from this file, or tables with a path and values.", "[\"library/connect-redis.toml\"]";
        "variables": Form::Values, &[], "What who includes this file may give it, and the defaults: `${name}` in its texts.", "{ prefix = \"\" }";
        "keyspace": Form::Table(Scope::Keyspace), &[], "Settings of the whole keyspace. A file that is only included does without.", "{ name = \"shop\" }";
        "key": Form::Tables(Scope::Key), &[], "The keys, each under its pattern. A file that includes others may do without.", "{ }";
        "function": Form::Tables(Scope::Function), &[], "The functions, each under its name.", "{ }";
        "note": Form::Array(Scope::Note), &[], "Chapters of prose for the document.", "[]";
    }
    Include {
        "file": Form::Text, &[], "The path from this file.", "\"library/connect-redis.toml\"";
        "with": Form::Values, &[], "Values of its variables.", "{ prefix = \"shop:\" }";
    }
    Keyspace {
        "name": Form::Text, &[], "What the keyspace is called.", "\"shop\"";
        "doc": Form::Text, &[], "What it is for: Markdown, the overview of the document.", "\"Sessions and carts.\"";
        "owner": Form::Text, &[], "Who answers for it: a team or a person.", "\"team-billing\"";
        "readers": Form::Texts, &[], "Users who may read its keys: `keyward acl` writes their rights.", "[\"reports\"]";
        "writers": Form::Texts, &[], "Users who may read and write its keys, as its owner may.", "[\"shop\"]";
        "db": Form::Db, &[], "The number of the database it lives in, which it may share with others. 0 unless given.", "0";
        "unknown": Form::Choice(crate::schema::Unknown::NAMES), &[], "What happens to writes of keys that match no pattern. Reads are as in Redis: they find rows that are there. `reject` unless given.", "\"reject\"";
        "mode": Form::Choice(crate::schema::Mode::NAMES), &[], "Whether writes that break the schema are refused, or pass and are counted; `observe` does nothing else that the schema says either. `enforce` unless given.", "\"enforce\"";
        "max_memory": Form::Size, &[], "How many bytes the keyspace may take.", "\"4gb\"";
        "persist": Form::Choice(crate::schema::Persist::NAMES), &[], "What outlives a restart, as far as the server keeps it: all that was acknowledged (`appendonly`), the last snapshot (`save`), or nothing. `aof` unless given.", "\"aof\"";
        "alert": Form::Alerts, &[], "Which figures somebody is told of, and when: `alert.hit_ratio = \"< 70%\"`.", "{ hit_ratio = \"< 70%\" }";
        "allow": Form::Texts, &[], "Warnings that do not apply to this file: a code, a colon and the reason.", "[\"KW0310: bounded by the number of users\"]";
    }
    Key {
        "doc": Form::Text, &[], "What the key is for.", "\"A signed-in browser.\"";
        "group": Form::Text, &[], "The chapter of the document it belongs to.", "\"Users\"";
        "owner": Form::Text, &[], "Who answers for the key, if not who answers for the keyspace.", "\"team-billing\"";
        "readers": Form::Texts, &[], "Users who may read the keys, in place of the keyspace's.", "[\"reports\"]";
        "writers": Form::Texts, &[], "Users who may read and write the keys, in place of the keyspace's.", "[\"shop\"]";
        "amend": Form::Switch, &[], "Whether these are settings for the key of this pattern in an included file, each in the place of the one there.", "true";
        "type": Form::Choice(DataType::NAMES), &[], "The type of the key.", "\"hash\"";
        "value": Form::Shape, STRINGS, "What the value looks like.", "\"uint\"";
        "fields": Form::Fields, OBJECTS, "The fields of the hash, of the JSON object, or of each entry of the stream.", "{ name = \"string\" }";
        "extra": Form::Extra, OBJECTS, "What fields that are not listed may hold: `reject` (unless given), `allow`, or a type.", "\"int\"";
        "check": Form::Checks, OBJECTS, "What must hold between fields: comparisons of a field with another or with a number, each with a condition if need be.", "[\"registered <= capacity\"]";
        "items": Form::Shape, ITEMS, "What an item of a list or a member of a set looks like.", "\"uint\"";
        "score": Form::Shape, ZSET, "What a score looks like.", "\"timestamp_ms\"";
        "ttl": Form::Lifetime, &[], "How long the key lives. As in Redis unless given.", "\"30m\"";
        "max_len": Form::Count, LISTS, "The most items: a push beyond it drops items at its far end, of a stream the oldest entries.", "20";
        "max_members": Form::Count, SETS, "The most members: a set refuses more, a sorted set drops the lowest.", "100";
        "max_size": Form::Size, LARGE, "The most bytes a value may have.", "\"64kb\"";
        "compress": Form::Size, COMPRESSIBLE, "Values of more bytes, of a hash its fields' values and of a list its items, are compressed inside, never on the wire.", "\"4kb\"";
        "evict": Form::Choice(crate::schema::Evict::NAMES), &[], "In which order rows go when memory is short: never, first, the least recently or frequently used, the nearest to its end.", "\"lru\"";
        "expect": Form::Expect, &[], "How many keys are expected, or a table with that and how many items one has: the document estimates memory from it.", "\"2.5M\"";
        "secret": Form::Secret, &[], "Keeps values out of MONITOR, the slow log, logs and refusals; or those parts of the key whose placeholders it names.", "true";
        "personal": Form::Secret, &[], "Masks values on pages and in reports; or those parts of the key whose placeholders it names.", "true";
        "mode": Form::Choice(crate::schema::Mode::NAMES), &[], "The keyspace's `mode`, for this key.", "\"warn\"";
        "lookup": Form::Table(Scope::Lookup), LOOKUPS, "A unique index of another key's field or value.", "{ of = \"user:{user_id}\", field = \"email\" }";
        "rank": Form::Table(Scope::Rank), ZSET, "Another key's ids, scored by a field or a placeholder.", "{ of = \"user:{user_id}\", by = \"score\" }";
        "members": Form::Table(Scope::Members), SET, "Another key's ids whose row says so.", "{ of = \"user:{user_id}\", when = \"status = active\" }";
        "inverse": Form::Template, SET, "The set that mirrors this one.", "\"user:{member}:following\"";
        "follows": Form::Template, SETS, "The living key that each member must name.", "\"message:{member}\"";
        "max_fanout": Form::Count, &[], "How many entries one command may add to its rows, where it is derived. 10000 unless given.", "10000";
        "sink": Form::Table(Scope::Sink), &[], "The table of PostgreSQL that its rows or items go to: one of `mirror`, `archive`, `append` and `drain`.", "{ mirror = \"users\" }";
        "example": Form::Example, &[], "An example: a key, or a key and its value.", "\"user:42\"";
        "alert": Form::Alerts, &[], "Which figures of the keys somebody is told of, and when.", "{ hit_ratio = \"< 70%\" }";
        "allow": Form::Texts, &[], "Warnings that do not apply to this key: a code, a colon and the reason.", "[\"KW0310: bounded by the number of users\"]";
    }
    Lifetime {
        "after": Form::Duration, &[], "How long it lives.", "\"30m\"";
        "renew": Form::Choice(crate::lifetime::Renew::NAMES), &[], "What renews it: nothing, each write, or each access. Unless given, what overwrites the whole value (SET) begins it anew, and other writes leave it alone.", "\"access\"";
        "excess": Form::Choice(crate::lifetime::Excess::NAMES), &[], "What happens to a writer who asks for more. `refuse` unless given.", "\"clamp\"";
        "by": Form::Text, &[], "The required enum field, or the `{placeholder}`, whose value decides; each value is a setting beside it, and `renew` may be one more.", "\"status\"";
        "until": Form::Text, &[], "The required field with the time at which it ends.", "\"expires_at\"";
        "with": Form::Template, &[], "The key with which it ends.", "\"coupon:{code}\"";
        "given": Form::Switch, &[], "The writer says.", "true";
        "min": Form::Duration, &[], "The shortest a writer may give.", "\"1m\"";
        "max": Form::Duration, &[], "The longest a writer may give; beside `renew`, the longest it lives in all.", "\"1h\"";
        "from": Form::Text, &[], "The required field with the time since which `max` counts where it is renewed. It cannot be changed later.", "\"created_at\"";
        "default": Form::Duration, &[], "For commands that cannot say.", "\"1m\"";
    }
    Shape {
        "type": Form::Text, &[], "The type; `object` means the fields beside it.", "\"decimal(2)\"";
        "fields": Form::Fields, &[], "The fields of the object.", "{ name = \"string\" }";
        "extra": Form::Extra, &[], "What fields that are not listed may hold.", "\"allow\"";
        "min": Form::Number, &[], "The least number.", "0";
        "max": Form::Number, &[], "The greatest number.", "100";
        "len": Form::Length, &[], "How many bytes a text or items an array has.", "\"1..64\"";
        "prefix": Form::Text, &[], "How a text begins.", "\"kikuai_\"";
        "same": Form::Placeholder, &[], "The placeholder of the key that a field must equal.", "\"{user_id}\"";
        "check": Form::Checks, &[], "What must hold between the fields of the object.", "[\"min <= max\"]";
        "secret": Form::Switch, &[], "Keeps it out of MONITOR, the slow log, logs and refusals.", "true";
        "personal": Form::Switch, &[], "Masks it on pages and in reports.", "true";
        "doc": Form::Text, &[], "What it means.", "\"In US dollars.\"";
    }
    Lookup {
        "of": Form::Template, &[], "The key that is indexed.", "\"user:{user_id}\"";
        "field": Form::Text, &[], "The indexed field; the whole value unless given.", "\"email\"";
        "value": Form::Text, &[], "The field that the lookup holds in the place of an id: it then has all placeholders of its source.", "\"user_id\"";
        "when": Form::Text, &[], "Which rows: `=`, `!=`, `in (…)`, joined by `and`. All unless given.", "\"status = active\"";
    }
    Rank {
        "of": Form::Template, &[], "The key that is ranked.", "\"user:{user_id}\"";
        "by": Form::Text, &[], "The field with the score, or the `{placeholder}` of the key that is ranked, a whole number.", "\"last_active_at\"";
        "when": Form::Text, &[], "Which rows: `=`, `!=`, `in (…)`, joined by `and`. All unless given.", "\"status = active\"";
    }
    Members {
        "of": Form::Template, &[], "The key whose ids are listed.", "\"user:{user_id}\"";
        "when": Form::Text, &[], "Which rows: `=`, `!=`, `in (…)`, joined by `and`. All unless given.", "\"status = active\"";
    }
    Check {
        "check": Form::Text, &[], "The comparison: a field, `=`, `!=`, `<`, `<=`, `>` or `>=`, and a field or a number.", "\"amount > 0\"";
        "when": Form::Text, &[], "Where it must hold: `=`, `!=`, `in (…)`, joined by `and`. Everywhere unless given.", "\"type = topup\"";
    }
    Sink {
        "mirror": Form::Text, &[], "The table that has each row as it is now.", "\"users\"";
        "archive": Form::Text, &[], "The table that keeps what a row was when it ended. Rows are never evicted.", "\"usage_monthly\"";
        "append": Form::Text, &[], "The table that gets every item pushed to the list, and every entry added to the stream.", "\"transactions\"";
        "drain": Form::Text, &[], "The table that gets every item pushed to the list, which does not keep it.", "\"likes\"";
        "columns": Form::Columns, &[], "Columns that are not named, typed or filled as they would be by themselves; `false` for a field that gets none.", "{ id = \"{user_id}\" }";
        "key": Form::Texts, &[], "The columns of the primary key.", "[\"id\"]";
        "retain": Form::Duration, &[], "How long the table keeps rows. For ever unless given.", "\"2y\"";
        "drop": Form::Duration, &[], "How long an item stays in the list after it was pushed; it goes only if the table has it. As long as the list keeps it unless given.", "\"1y\"";
        "merge": Form::Choice(crate::sink::Merge::NAMES), &[], "What becomes of a row that the table has already: `add` adds its numbers up and replaces the rest.", "\"add\"";
        "deleted": Form::Choice(crate::sink::Deletion::NAMES), &[], "What becomes of a mirrored row whose key is gone: it is deleted (unless given), or marked by `deleted_at`.", "\"mark\"";
    }
    Column {
        "from": Form::Text, &[], "What it is filled from: a field, a `{placeholder}`, or all fields of the form `{word}_field`, each a row of its own. The field of the column's name unless given.", "\"{user_id}\"";
        "type": Form::Text, &[], "Its type in PostgreSQL, if not the one that holds every value of what it is filled from.", "\"varchar(255)\"";
        "strip": Form::Text, &[], "How every value begins, which the table does not have.", "\"sha256:\"";
    }
    Function {
        "doc": Form::Text, &[], "What the function does.", "\"Redeems a coupon once.\"";
        "group": Form::Text, &[], "The chapter of the document it belongs to.", "\"Coupons\"";
        "keys": Form::Texts, &[], "Its keys in order; the words of `{kind:team|news}:{id}` choose among patterns, `...` behind the last one repeats it.", "[\"coupon:{code}\"]";
        "args": Form::Texts, &[], "Its arguments in order, as `name: type`; `?` makes one optional, `...` behind the last one repeats it.", "[\"chat_id: uint\"]";
        "reply": Form::Shape, &[], "What it answers.", "\"uint\"";
        "errors": Form::TextTable, &[], "Its error codes and what they mean.", "{ COUPON_USED = \"redeemed before\" }";
        "read_only": Form::Switch, &[], "Whether FCALL_RO may call it.", "true";
    }
    Example {
        "key": Form::Text, &[], "A key of the pattern.", "\"user:42\"";
        "value": Form::Any, &[], "What it holds: a text, an array of items, or a table of fields or scores.", "\"1\"";
    }
    Alert {
        "when": Form::Text, &[], "The comparison: `<`, `<=`, `>` or `>=`, and a share, a count, an amount of memory or a time.", "\"< 70%\"";
        "for": Form::Duration, &[], "How long it must hold before somebody is told. `1m` unless given.", "\"10m\"";
        "over": Form::Duration, &[], "Over which time ratios and events are counted, from `1m` to `1h`. `5m` unless given.", "\"15m\"";
        "severity": Form::Choice(crate::alert::Severity::NAMES), &[], "How much it matters. `warning` unless given.", "\"critical\"";
        "say": Form::Text, &[], "A sentence for who is told: why it matters, what to do.", "\"Raise the lifetime.\"";
    }
    Expect {
        "keys": Form::Count, &[], "How many keys.", "\"10k\"";
        "items": Form::Count, &[], "How many items, members or fields one has.", "50";
    }
    Note {
        "title": Form::Text, &[], "The heading.", "\"Monitoring\"";
        "text": Form::Text, &[], "The Markdown.", "\"Watch the hit ratio.\"";
    }
}

/// The settings of a scope, in the order of the table.
pub fn settings_of(scope: Scope) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| setting.scope == scope)
}
