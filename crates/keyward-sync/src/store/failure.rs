//! What the database says when it does not do something: whose fault it is, in one sentence.

use crate::database::{DatabaseError, in_one_sentence, without_values};
use crate::store::StoreError;

/// A row that another refers to is not there, or is still referred to (of `RESTRICT` PostgreSQL 18 has
/// a code of its own, 23001); a value is there already.
const CONFLICTS: [&str; 3] = ["23503", "23001", DUPLICATE];
/// A value is there already that is to be there once.
const DUPLICATE: &str = "23505";

/// Why a batch was not stored.
pub(crate) enum Failure {
    Store(StoreError),
    /// The database refuses something of it.
    Refused(Reason),
}

/// What the database says of a row that it refuses.
pub(crate) struct Reason {
    /// In its own words, which may show a value.
    pub(crate) plain: String,
    /// With names alone.
    pub(crate) discreet: String,
    /// Whether it is the value that no such column or index can hold, whatever else is there.
    pub(crate) is_unfit: bool,
    /// Whether it is another row that is in the way, or lacking: it may be of the same batch.
    pub(crate) is_conflict: bool,
    /// Whether that is since the same value is there already.
    pub(crate) is_duplicate: bool,
}

impl Reason {
    /// A value that is no value of its column, in a sentence that shows none.
    pub(crate) fn of(text: &str) -> Reason {
        let [plain, discreet] = [text, text].map(str::to_owned);
        Reason { plain, discreet, is_unfit: true, is_conflict: false, is_duplicate: false }
    }
}

impl Failure {
    /// What became of a statement that writes a table.
    pub(crate) fn at(table: &str, error: tokio_postgres::Error) -> Failure {
        match is_refusal(&error) {
            true => Failure::Refused(Reason {
                plain: in_one_sentence(&error),
                discreet: without_values(&error),
                is_unfit: matches!(class(&error), Some("22" | "54")),
                is_conflict: error.code().is_some_and(|code| CONFLICTS.contains(&code.code())),
                is_duplicate: error.code().is_some_and(|code| code.code() == DUPLICATE),
            }),
            false => Failure::Store(unwritable(table, &error)),
        }
    }

    /// Where rows do not matter.
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Failure::Store(error) => error,
            Failure::Refused(reason) => DatabaseError::Statement(reason.discreet).into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        Failure::Store(DatabaseError::from(error).into())
    }
}

/// That a table cannot be written, if the database says so; else that it cannot be used.
pub(crate) fn unwritable(table: &str, error: &tokio_postgres::Error) -> StoreError {
    match error.code() {
        Some(code) => {
            let what = meaning(code.code());
            let said = in_one_sentence(error);
            let reason = format!("{what}{said} (SQLSTATE {})", code.code());
            StoreError::Unwritable { table: table.into(), reason }
        }
        None => DatabaseError::Statement(in_one_sentence(error)).into(),
    }
}

/// What a code is about, where the database's own words leave that open.
fn meaning(code: &str) -> &'static str {
    match code {
        "53100" => "the disk is full: ",
        "55P03" => "it is locked by somebody else: ",
        "25006" => "the database is read-only: ",
        "42501" => "the user lacks a right: ",
        "57014" => "it takes too long: ",
        _ => "",
    }
}

/// Whether an error is about a row: values that do not fit (22), a constraint (23), a view's
/// check (44), a trigger's or a function's own word (P0), more rows than may be touched (21), or
/// a value too long for an index (54).
/// Anything else would meet every row: no disk or connections (53), a lock (55), a table that is
/// otherwise or that nobody may write (42), a read-only database (25), an operator (57).
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    matches!(class(error), Some("21" | "22" | "23" | "44" | "54" | "P0"))
}

fn class(error: &tokio_postgres::Error) -> Option<&str> {
    error.code().and_then(|code| code.code().get(..2))
}
