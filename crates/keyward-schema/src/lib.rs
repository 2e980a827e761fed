//! The Keyward schema language: patterns, shapes, lifetimes, derived keys,
//! functions; their checks; matching; the sentences about them. No I/O.
//!
//! [`check`] turns the bytes of a file into diagnostics and, if none of them
//! is an error, a [`Schema`] that needs no further checking; [`check_file`] does
//! so for a file that may include others.

mod alert;
mod cases;
mod checks;
mod decimal;
mod derived;
mod diagnostic;
mod escape;
mod exact;
pub mod facts;
mod flatten;
mod function;
mod include;
mod join;
mod lifetime;
mod matcher;
mod meaning;
mod near_miss;
mod nearest;
mod pattern;
mod read;
mod schema;
mod settings;
mod shape;
mod sink;
mod source;
mod timestamp;
mod toml_form;
mod units;

pub use alert::{
    Alert, AlertComparison, AlertFigure, AlertUnit, DEFAULT_FOR, DEFAULT_OVER, DeclaredAlert,
    Severity, Threshold,
};
pub use cases::{CaseFailure, CaseResults, Judge, by_shape, try_cases};
pub use checks::{MAX_SHARING, RULES, check_together, conflicts, nearest_rule, rule};
pub use decimal::{DECIMAL_EXPONENT_MAX, Decimal, DecimalParts, DecimalText};
pub use derived::{Binding, Condition, Derived, Finds, RankBy, Reference};
pub use diagnostic::{Diagnostic, Label, Level, MAX_DIAGNOSTICS, Rule};
pub use escape::{escape, escape_bytes};
pub use function::{Argument, Function, FunctionKey, Target};
pub use include::{Files, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
pub use lifetime::{Excess, Lifetime, MAX_LEADERS, Renew, Subject, Total};
pub use matcher::{
    Limit, MAX_CANDIDATES, MAX_MEMBERS, MAX_STATES, MAX_TAILS, Match, Matcher, MatcherError,
    NamedPattern, Placeholders,
};
pub use meaning::{meaning_of, means_the_same};
pub use near_miss::{MissReason, NearMiss, near_miss};
pub use pattern::{
    Element, Kind, MAX_PAIR_STEPS, MAX_PATTERN_BYTES, MAX_PLACEHOLDERS, MAX_SEGMENTS, Pattern,
    PatternError, PatternProblem, Placeholder, Relation, STEPS_PER_PATTERN, Steps, TagPart,
    TextKind, Values, hash_tag_of, relate, relation_within,
};
pub use read::{
    Checked, LIFETIME_FORMS, MAX_FUNCTIONS, MAX_KEYS, MAX_PLACEHOLDER_WORDS, check, check_file,
    is_user_name,
};
pub use schema::{
    Allowance, Bounds, Content, DEFAULT_MAX_FANOUT, DataType, Evict, Example, ExampleValue, Key,
    KeyId, Keyspace, MAX_COMPRESSED, MAX_COMPRESSED_WHOLE, Mode, Note, Persist, Schema, Unknown,
    shape_of_kind,
};
pub use settings::{Form, SETTINGS, Scope, Setting, settings_of};
pub use shape::{
    Check, Extra, Field, JsonField, Length, Limits, MAX_CHECKS, MAX_FIELDS, MAX_JSON_DEPTH,
    MAX_SHAPE_DEPTH, Misfit, Object, Operand, Operator, Order, Same, Shape, TYPE_NAMES, Type,
    check_hyperloglog,
};
pub use sink::{
    Column, ColumnSource, ColumnType, Deletion, MAX_SQL_NAME_BYTES, Merge, Sink, SinkKind,
    changefeed_key, is_sql_name,
};
pub use source::{MAX_FILE_BYTES, Position, Source, Span};
pub use timestamp::{parse_timestamp, timestamp_text};
pub use units::{Duration, count_in_words, parse_count, parse_size, size_in_words};
