//! KW0012: two keyspaces share a database.
//!
//! The one rule about several files: it is applied to those that are checked
//! or served together.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::Checked;
use crate::schema::Schema;

pub(crate) static RULE: Rule = Rule {
    code: "KW0012",
    level: Level::Error,
    title: "two keyspaces share a database",
    why: "
Files that are served together each need a database of their own (the number
that clients SELECT): a key belongs to one keyspace only. Give one of them
another `db`, or serve them by different servers.
",
    wrong: "",
    right: "",
};

/// Holds files that are to be served together against each other. What is
/// found is added to the later file's findings, and its schema is taken away.
pub fn check_together(files: &mut [Checked]) {
    let taken: Vec<u8> =
        files.iter().filter_map(|file| Some(file.schema.as_ref()?.keyspace.db)).collect();
    let free = (0..=u8::MAX).find(|db| !taken.contains(db));
    for index in 1..files.len() {
        let (earlier, rest) = files.split_at_mut(index);
        let Some(schema) = &rest[0].schema else { continue };
        let holder = earlier
            .iter()
            .filter_map(|file| file.schema.as_ref())
            .find(|earlier| earlier.keyspace.db == schema.keyspace.db);
        let Some(holder) = holder else { continue };
        let found = found(schema, holder, free);
        rest[0].diagnostics.push(found);
        rest[0].schema = None;
    }
}

fn found(schema: &Schema, holder: &Schema, free: Option<u8>) -> Diagnostic {
    let db = schema.keyspace.db;
    let place = holder.source.place(holder.keyspace.db_at);
    RULE.at(schema.keyspace.db_at, format!("is database {db}"))
        .saying(format!("database {db} already holds `{}` ({place})", holder.keyspace.name))
        .maybe_help(free.map(|free| format!("db = {free}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    fn file(name: &str, db: u8) -> Checked {
        let text =
            format!("[keyspace]\nname = \"{name}\"\ndb = {db}\n[key.a]\ntype = \"string\"\n");
        check(&format!("{name}.toml"), text.as_bytes())
    }

    #[test]
    fn the_later_file_is_told() {
        let mut files = [file("shop", 0), file("events", 0), file("social", 1)];
        check_together(&mut files);
        assert!(!files[0].has_errors() && files[1].has_errors() && !files[2].has_errors());
        let [found] = &files[1].diagnostics[..] else { panic!("{:?}", files[1].diagnostics) };
        assert_eq!(found.message, "database 0 already holds `shop` (shop.toml:3)");
        assert_eq!(files[1].source.slice(found.primary.span), "0");
        assert_eq!(found.help.as_deref(), Some("db = 2"));
    }

    #[test]
    fn without_a_db_the_name_is_the_place() {
        let text = "[keyspace]\nname = \"b\"\n[key.a]\ntype = \"string\"\n";
        let mut files = [file("a", 0), check("b.toml", text.as_bytes())];
        check_together(&mut files);
        let found = &files[1].diagnostics[0];
        assert_eq!(files[1].source.slice(found.primary.span), "\"b\"");
    }

    #[test]
    fn different_databases_are_no_problem() {
        let mut files = [file("shop", 0), file("social", 1)];
        check_together(&mut files);
        assert!(files.iter().all(|file| file.diagnostics.is_empty()));
    }
}
