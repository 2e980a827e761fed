//! Names and texts as SQL writes them.

/// A name, in quotes where PostgreSQL would take it for a word of its own. The parts of a
/// table's name are quoted by themselves.
pub(crate) fn name(name: &str) -> String {
    let parts = name.split('.').map(|part| match RESERVED.binary_search(&part) {
        Ok(_) => format!("\"{part}\""),
        Err(_) => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// A text in quotes.
pub(crate) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The table of a name without the schema before it.
pub(crate) fn bare(table: &str) -> &str {
    table.rsplit('.').next().unwrap_or(table)
}

/// What PostgreSQL up to 18 reserves, in every place or in some where names stand.
const RESERVED: [&str; 101] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "binary",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "group",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "natural",
    "not",
    "notnull",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "overlaps",
    "placing",
    "primary",
    "references",
    "returning",
    "right",
    "select",
    "session_user",
    "similar",
    "some",
    "symmetric",
    "system_user",
    "table",
    "tablesample",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_quoted() {
        assert!(RESERVED.is_sorted());
        assert_eq!(name("users"), "users");
        assert_eq!(name("crm.user"), "crm.\"user\"");
        assert_eq!(text("it's"), "'it''s'");
        assert_eq!(bare("crm.user"), "user");
    }
}
