//! KW0017: files of one database disagree; and what else files that are served
//! together may not have.
//!
//! Owns holding files against each other that are checked or served together.

use std::collections::HashMap;

use super::claimed_twice::Included;
use super::{claimed_twice, entangled_patterns, function_twice, too_many};
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::matcher::Matcher;
use crate::pattern::{Relation, Steps, relate, relation_within};
use crate::read::{Checked, MAX_KEYS};
use crate::schema::{Keyspace, Schema};

pub(crate) static RULE: Rule = Rule {
    code: "KW0017",
    level: Level::Error,
    title: "files of one database disagree",
    why: "
Several files may share a database (the number that clients SELECT), each with its
own name, owner, mode and `max_memory`. What happens to keys that match no pattern
(`unknown`) and what outlives a restart (`persist`) are matters of the whole
database, so they are the same in all of its files. Each has a name of its own, by
which `KEYWARD MODE` and `KEYWARD SCHEMA` know it.
",
    wrong: "",
    right: "",
};

/// The most files that may share a database.
pub const MAX_SHARING: usize = 64;

/// How many patterns of a file that claim another's keys are told.
const MAX_SHOWN: usize = 20;

/// Holds files that are to be served together against each other. What is
/// found is added to the later file's findings, and its schema is taken away.
pub fn check_together(files: &mut [Checked]) {
    let sound = files.iter().enumerate().filter_map(|(index, file)| {
        let schema = file.schema.as_ref()?;
        Some((index, (usize::from(schema.keyspace.db), schema)))
    });
    let (indices, schemas): (Vec<usize>, Vec<(usize, &Schema)>) = sound.unzip();
    for (place, found) in conflicts(&schemas) {
        let file = &mut files[indices[place]];
        file.diagnostics.push(found);
        file.schema = None;
    }
}

/// What keeps schemas from being served together, each in the database beside it:
/// the place of the later of two, and a finding in its file.
pub fn conflicts(schemas: &[(usize, &Schema)]) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for (place, (db, schema)) in schemas.iter().enumerate() {
        let beside = schemas[..place].iter().filter(|(other, _)| other == db);
        let beside: Vec<&Schema> = beside.map(|(_, schema)| *schema).collect();
        let told = between(&beside, schema);
        found.extend(told.into_iter().map(|found| (place, found)));
    }
    functions(schemas, &mut found);
    found
}

/// What a schema has against those before it in its database.
fn between(earlier: &[&Schema], schema: &Schema) -> Vec<Diagnostic> {
    let Some(first) = earlier.first() else { return Vec::new() };
    let at = schema.keyspace.db_at;
    if earlier.len() >= MAX_SHARING {
        return vec![too_many::found("files in one database", MAX_SHARING, at)];
    }
    let keys: usize = earlier.iter().map(|schema| schema.keys.len()).sum();
    if keys + schema.keys.len() > MAX_KEYS {
        return vec![too_many::found("keys in one database", MAX_KEYS, at)];
    }
    let mut found: Vec<Diagnostic> = disagreements(first, &schema.keyspace).collect();
    let namesake = earlier.iter().find(|other| other.keyspace.name == schema.keyspace.name);
    found.extend(namesake.map(|other| {
        let (name, place) = (&schema.keyspace.name, other.source.place(other.keyspace.db_at));
        RULE.at(at, "the same name")
            .saying(format!("the database already holds a keyspace `{name}` ({place})"))
    }));
    let steps = Steps::among(keys + schema.keys.len());
    // Two included files that claim the same keys are told once: the place of that, and how many
    // more patterns there are.
    let mut told: HashMap<(&str, &str), (usize, usize)> = HashMap::new();
    let mut shown = 0;
    for key in &schema.keys {
        let others = earlier.iter().flat_map(|other| other.keys.iter().map(|key| (*other, key)));
        let rival = others.into_iter().find(|(_, other)| {
            relation_within(&other.pattern, &key.pattern, &steps) != Relation::Disjoint
        });
        if steps.are_used_up() {
            found.push(entangled_patterns::incomparable(key.at, None, (0, &steps)));
            return found;
        }
        if let Some((other, rival)) = rival {
            let example = relate(&rival.pattern, &key.pattern).1.unwrap_or_default();
            let (own, theirs) = (schema.source.file(key.at), other.source.file(rival.at));
            let is_included = own != &*schema.source.name;
            match told.get_mut(&(own, theirs)).filter(|_| is_included) {
                Some((_, more)) => *more += 1,
                None => {
                    told.insert((own, theirs), (found.len(), 0));
                    let place = other.source.place(rival.at);
                    let files = [(own, &*schema.source.name), (theirs, &*other.source.name)];
                    let included = files.into_iter().filter(|(file, by)| file != by);
                    let included: Vec<Included<'_>> =
                        included.map(|(file, by)| Included { file, by }).collect();
                    let rival = (&rival.pattern, &*place);
                    found.push(claimed_twice::found(key, rival, &example, &included));
                    shown += 1;
                }
            }
        }
        if shown >= MAX_SHOWN {
            break;
        }
    }
    for (place, more) in told.into_values().filter(|(_, more)| *more > 0) {
        claimed_twice::add_more(&mut found[place], more);
    }
    if found.is_empty() {
        let all = earlier.iter().copied().chain([schema]).flat_map(|schema| &schema.keys);
        if Matcher::new(all.map(|key| &key.pattern)).is_err() {
            found.push(entangled_patterns::together(at));
        }
    }
    found
}

/// What two files of a database say differently that must be the same.
fn disagreements(first: &Schema, own: &Keyspace) -> impl Iterator<Item = Diagnostic> {
    let theirs = &first.keyspace;
    let pairs = [
        ("unknown", theirs.unknown.name(), own.unknown.name()),
        ("persist", theirs.persist.name(), own.persist.name()),
    ];
    let place = first.source.place(theirs.db_at);
    let (name, at) = (theirs.name.clone(), own.db_at);
    pairs.into_iter().filter(|(_, theirs, own)| theirs != own).map(move |(setting, is, own)| {
        RULE.at(at, format!("`{setting}` is {own}"))
            .saying(format!("`{setting}` of the same database is {is} in `{name}` ({place})"))
            .help(format!("{setting} = \"{is}\""))
    })
}

/// Functions are the server's: one name is one function over all databases.
fn functions(schemas: &[(usize, &Schema)], found: &mut Vec<(usize, Diagnostic)>) {
    let mut known: HashMap<&str, (usize, String)> = HashMap::new();
    for (place, (_, schema)) in schemas.iter().enumerate() {
        for function in &schema.functions {
            match known.get(&*function.name) {
                Some((other, first)) if *other != place => {
                    found.push((place, function_twice::elsewhere(function, first)));
                }
                Some(_) => {}
                None => {
                    let at = schema.source.place(function.at);
                    known.insert(&function.name, (place, at));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    fn file(name: &str, settings: &str, keys: &str) -> Checked {
        let text = format!("[keyspace]\nname = \"{name}\"\n{settings}\n{keys}");
        check(&format!("{name}.toml"), text.as_bytes())
    }

    fn hash(pattern: &str) -> String {
        format!("[key.\"{pattern}\"]\ntype = \"hash\"\n")
    }

    /// What the second of two files is told.
    #[track_caller]
    fn check_second(first: Checked, second: Checked, expected: &[&str]) {
        let mut files = [first, second];
        check_together(&mut files);
        assert!(files[0].diagnostics.is_empty(), "{:?}", files[0].diagnostics);
        let told = files[1].diagnostics.iter();
        let told: Vec<String> =
            told.map(|found| format!("{} {}", found.rule.code, found.message)).collect();
        assert_eq!(told, expected);
        assert_eq!(files[1].has_errors(), !expected.is_empty());
    }

    #[test]
    fn files_may_share_a_database() {
        check_second(
            file("a", "", &hash("a:{x}")),
            file("b", "mode = 'warn'", &hash("b:{x}")),
            &[],
        );
        check_second(file("a", "", &hash("a:{x}")), file("b", "db = 1", &hash("a:{x}")), &[]);
    }

    #[test]
    fn no_key_belongs_to_two_files_even_if_one_is_narrower() {
        check_second(
            file("a", "", &hash("a:{x}")),
            file("b", "", &hash("a:{y:uint}")),
            &["KW0116 `a:{y:uint}` accepts `a:42` as `a:{x}` of another file does (a.toml:4)"],
        );
        check_second(
            file("a", "", &hash("a:b")),
            file("b", "", &hash("a:{y}")),
            &["KW0116 `a:{y}` accepts `a:b` as `a:b` of another file does (a.toml:4)"],
        );
    }

    #[test]
    fn what_holds_for_the_database_is_the_same_in_all_files() {
        check_second(
            file("a", "unknown = 'warn'", &hash("a")),
            file("b", "persist = 'none'", &hash("b")),
            &[
                "KW0017 `unknown` of the same database is warn in `a` (a.toml:2)",
                "KW0017 `persist` of the same database is aof in `a` (a.toml:2)",
            ],
        );
        check_second(
            file("a", "", &hash("a")),
            file("a", "", &hash("b")),
            &["KW0017 the database already holds a keyspace `a` (a.toml:2)"],
        );
    }

    #[test]
    fn a_function_belongs_to_one_file_of_a_server() {
        let with = |key: &str| hash(key) + "[function.f]\n";
        check_second(
            file("a", "", &with("a")),
            file("b", "db = 1", &with("b")),
            &["KW0604 `f` is declared in another file too (a.toml:6)"],
        );
    }

    #[test]
    fn joined_schemas_keep_their_ties_and_places() {
        let a = file("a", "max_memory = '1gb'", &(hash("a:{x}") + "fields = { f = 'int' }\n"));
        let b = hash("b:{x}") + "[key.'c:{x}']\ntype = 'hash'\nttl = { with = 'b:{x}' }\n";
        let b = file("b", "owner = 'team'", &(b + "[function.f]\nkeys = ['c:{x}']\n"));
        let (a, b) = (a.schema.expect("sound"), b.schema.expect("sound"));
        let joined = Schema::join(vec![a, b]);
        let patterns: Vec<&str> = joined.keys.iter().map(|key| key.pattern.text()).collect();
        assert_eq!(patterns, ["a:{x}", "b:{x}", "c:{x}"]);
        let crate::Lifetime::With { key } = &joined.keys[2].lifetime else { panic!("a tie") };
        assert_eq!(key.key.index(), 1);
        assert_eq!(joined.functions[0].keys[0].targets[0].reference.key.index(), 2);
        let places: Vec<String> =
            joined.keys.iter().map(|key| joined.source.place(key.at)).collect();
        assert_eq!(places, ["a.toml:4", "b.toml:4", "b.toml:6"]);
        let fields = joined.keys[0].content.object().expect("fields");
        assert_eq!(joined.source.place(fields.fields[0].at), "a.toml:6");
        let ids: Vec<_> = joined.ids().collect();
        assert_eq!(joined.owner_of(ids[0]), None);
        assert_eq!(joined.owner_of(ids[2]), Some("team"));
        assert_eq!(&*joined.keyspace_of(ids[1]).name, "b");
    }
}
