//! The tables that storing needs for itself: the place up to which changes are stored, which
//! histories were before, what a server has lost that is stored, which tables have the items from
//! before them, what was not loaded from tables, and items that were refused.
//!
//! Invariant: a column that came with a later version says what rows have that were there
//! before, so that a database of an earlier one can be brought up to date.

/// One of these tables.
pub(crate) struct OwnTable {
    pub(crate) name: &'static str,
    /// What it is for.
    about: &'static str,
    pub(crate) columns: &'static [OwnColumn],
    /// The columns of its primary key; none where it has no key.
    key: &'static str,
}

/// A column of them.
pub(crate) struct OwnColumn {
    pub(crate) name: &'static str,
    definition: &'static str,
    /// What rows have in it that are older than it.
    before: Option<&'static str>,
}

const fn column(name: &'static str, definition: &'static str) -> OwnColumn {
    OwnColumn { name, definition, before: None }
}

/// A column that counts entries, which came later: a negative number is not known.
const fn count(name: &'static str) -> OwnColumn {
    OwnColumn { name, definition: "bigint NOT NULL", before: Some("-1") }
}

const KEYSPACE: OwnColumn = column("keyspace", "text NOT NULL");
const TABLE_NAME: OwnColumn = column("table_name", "text NOT NULL");
const SINCE: &str = "timestamptz NOT NULL DEFAULT now()";

impl OwnTable {
    /// What makes it.
    pub(crate) fn statement(&self) -> String {
        let mut lines: Vec<String> = self.columns.iter().map(OwnColumn::text).collect();
        if !self.key.is_empty() {
            lines.push(format!("PRIMARY KEY ({})", self.key));
        }
        format!("-- {}\nCREATE TABLE {} (\n  {}\n)", self.about, self.name, lines.join(",\n  "))
    }

    /// What adds a column to a table of an earlier version; nothing where none was without it.
    pub(crate) fn addition_of(&self, column: &OwnColumn) -> Vec<String> {
        let Some(before) = column.before else { return Vec::new() };
        let (table, text) = (self.name, column.text());
        vec![
            format!("ALTER TABLE {table} ADD COLUMN {text} DEFAULT {before}"),
            format!("ALTER TABLE {table} ALTER COLUMN {} DROP DEFAULT", column.name),
        ]
    }
}

impl OwnColumn {
    fn text(&self) -> String {
        format!("{} {}", self.name, self.definition)
    }
}

/// All of them.
pub(crate) const ALL: [OwnTable; 7] = [
    OwnTable {
        name: "keyward_place",
        about: "up to which entry of which history of its changefeed a keyspace is stored",
        columns: &[
            column("keyspace", "text PRIMARY KEY"),
            column("history", "text NOT NULL"),
            column("entry", "text NOT NULL"),
            count("number"),
            column("highest", "text NOT NULL"),
            column("compares", "boolean NOT NULL"),
            OwnColumn { name: "looked_history", definition: "text NOT NULL", before: Some("''") },
            OwnColumn { name: "looked_to", definition: "text NOT NULL", before: Some("'0-0'") },
            column("stored_at", SINCE),
        ],
        key: "",
    },
    OwnTable {
        name: "keyward_histories",
        about: "up to which entry former histories are stored",
        columns: &[
            KEYSPACE,
            column("history", "text NOT NULL"),
            column("stored_to", "text NOT NULL"),
            count("number"),
            column("left_at", SINCE),
        ],
        key: "keyspace, history",
    },
    OwnTable {
        name: "keyward_forks",
        about: "what is stored here and was lost by the server, which went on behind `lost_after`",
        columns: &[
            KEYSPACE,
            column("history", "text NOT NULL"),
            column("lost_history", "text NOT NULL"),
            column("lost_after", "text NOT NULL"),
            column("lost_to", "text NOT NULL"),
            column("found_at", SINCE),
        ],
        key: "",
    },
    OwnTable {
        name: "keyward_fills",
        about: "tables that have the items which were in lists before",
        columns: &[KEYSPACE, TABLE_NAME, column("filled_at", SINCE)],
        key: "keyspace, table_name",
    },
    OwnTable {
        name: "keyward_loading",
        about: "tables that `keyward fill` has begun to load, and not ended",
        columns: &[KEYSPACE, TABLE_NAME, column("began_at", SINCE)],
        key: "keyspace, table_name",
    },
    OwnTable {
        name: "keyward_unloaded",
        about: "rows that `keyward fill` did not load, by what names them, and why",
        columns: &[
            KEYSPACE,
            TABLE_NAME,
            column("key", "text[] NOT NULL"),
            column("reason", "text NOT NULL"),
            column("found_at", SINCE),
        ],
        key: "",
    },
    OwnTable {
        name: "keyward_dead_letters",
        about: "items that the database refused, and why",
        columns: &[
            KEYSPACE,
            column("entry", "text NOT NULL"),
            TABLE_NAME,
            column("key", "bytea NOT NULL"),
            column("item", "bytea NOT NULL"),
            column("reason", "text NOT NULL"),
            column("refused_at", SINCE),
        ],
        key: "keyspace, entry",
    },
];
