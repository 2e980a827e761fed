//! `docs/schema.md`, the reference of the schema language.
//!
//! Every schema on the page is checked; the findings below it are those it has, the
//! session below it is what a server answers that serves it. A schema that begins with
//! `# file: NAME` is a file beside the others, which may include it; one that begins with
//! `# served: NAME` is served together with the next. The tables are those of the program. `KEYWARD_WRITE_DOCS=1` writes all of that anew.

use keyward_docs::render::{Style, human};
use keyward_resp::Frame;
use keyward_schema::{
    DataType, Form, Kind, Level, RULES, Scope, Setting, check_file, check_together, settings_of,
};
use keyward_schema_files::SchemaFiles;
use keyward_testkit::{Server, markdown, wire};
use std::path::{Path, PathBuf};

/// What messages call a schema of the page.
const FILE: &str = "shop.toml";
/// What the page leaves out, behind the schema so that its lines keep their numbers.
const KEYSPACE: &str = "\n[keyspace]\nname = \"shop\"\n";
const SCOPES: [Scope; 17] = [
    Scope::File,
    Scope::Include,
    Scope::Keyspace,
    Scope::Key,
    Scope::Lifetime,
    Scope::Shape,
    Scope::Lookup,
    Scope::Rank,
    Scope::Members,
    Scope::Check,
    Scope::Sink,
    Scope::Column,
    Scope::Function,
    Scope::Example,
    Scope::Alert,
    Scope::Expect,
    Scope::Note,
];

#[test]
fn the_reference_is_true() {
    let path = page_path();
    let page = std::fs::read_to_string(&path).expect("the page is there");
    // The schema that was shown last, and what is wrong with it as long as nobody says so.
    let (mut schema, mut untold) = (String::new(), String::new());
    let mut library = String::new();
    // Files that are served together with it, and with the next one.
    let (mut beside, mut next_beside) = (Vec::new(), Vec::new());
    // Files beside it.
    let folder = tempfile::tempdir().expect("a directory for the schemas");
    let renewed = markdown::renew(&page, |part| match part.kind {
        "toml" => {
            assert!(untold.is_empty(), "line {}: nobody tells\n{untold}", part.line);
            if let Some((role, name)) = file_beside(&part.text) {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(&path, &part.text).expect("the file is written");
                next_beside.extend((role == "served").then_some(path));
                return None;
            }
            beside = std::mem::take(&mut next_beside);
            let has_keyspace = part.text.contains("[keyspace]");
            schema = format!("{}{}", part.text, if has_keyspace { "" } else { KEYSPACE });
            untold = findings(folder.path(), &beside, &schema);
            library.clear();
            None
        }
        "lua" => {
            library.clone_from(&part.text);
            None
        }
        "text" => Some(std::mem::take(&mut untold)),
        "sql" => Some(tables(&schema)),
        "console" => Some(session((folder.path(), &beside), &schema, &library, &part.text)),
        "diagnostics" => Some(diagnostics()),
        "limits" => Some(limits()),
        kind => {
            let scope = kind.strip_prefix("settings: ")?;
            let scope = SCOPES.into_iter().find(|known| known.name() == scope);
            Some(settings(scope.unwrap_or_else(|| panic!("line {}: {kind}", part.line))))
        }
    });
    assert!(untold.is_empty(), "nobody tells\n{untold}");
    markdown::keep(&path, &page, &renewed);
}

#[test]
fn the_reference_leaves_nothing_out() {
    let page = std::fs::read_to_string(page_path()).expect("the page is there");
    for scope in SCOPES {
        let marker = format!("<!-- settings: {} -->", scope.name());
        assert!(page.contains(&marker), "the page has {marker}");
    }
    let all = keyward_schema::SETTINGS.len();
    assert_eq!(SCOPES.into_iter().flat_map(settings_of).count(), all, "every scope is listed");
    let words = [&Kind::NAMES[..], DataType::NAMES, &keyward_schema::TYPE_NAMES].concat();
    for word in words.into_iter().filter(|word| *word != "null") {
        assert!(page.contains(&format!("`{word}`")), "the page explains {word}");
    }
}

#[test]
fn every_setting_kind_and_type_is_shown_in_a_schema() {
    let page = std::fs::read_to_string(page_path()).expect("the page is there");
    let mut shown = String::new();
    markdown::renew(&page, |part| {
        if part.kind == "toml" {
            shown.extend(part.text.chars().filter(|character| *character != ' '));
        }
        None
    });
    let is_shown = |name: &str| {
        let forms = [format!("{name}="), format!("{name}]"), format!("[{name}.")];
        forms.iter().any(|form| {
            shown.match_indices(form).any(|(at, _)| {
                !shown[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
            })
        })
    };
    for setting in keyward_schema::SETTINGS {
        assert!(is_shown(setting.name), "a schema of the page has {}", setting.name);
    }
    for kind in Kind::NAMES {
        assert!(shown.contains(&format!(":{kind}}}")), "a schema of the page has {kind}");
    }
    for ty in DataType::NAMES {
        assert!(shown.contains(&format!("type=\"{ty}\"")), "a schema of the page has {ty}");
    }
}

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema.md")
}

/// The role and the name of a schema that is a file beside others.
fn file_beside(text: &str) -> Option<(&str, &str)> {
    let (role, name) = text.lines().next()?.strip_prefix("# ")?.split_once(": ")?;
    matches!(role, "file" | "served").then_some((role, name))
}

/// What `keyward check` says of a schema in a folder, beside others.
fn findings(folder: &Path, beside: &[PathBuf], schema: &str) -> String {
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("the file was written");
        check_file(path, &bytes, &SchemaFiles)
    };
    let mut files: Vec<_> = beside.iter().map(read).collect();
    files.push(check_file(&folder.join(FILE), schema.as_bytes(), &SchemaFiles));
    check_together(&mut files);
    let checked = files.pop().expect("it is the last");
    assert!(files.iter().all(|file| file.diagnostics.is_empty()), "{files:?}");
    let told = checked.diagnostics.iter();
    let told: Vec<_> = told.map(|found| human(&checked.source, found, Style::Plain)).collect();
    let pictures = told.iter().map(|picture| picture.trim_end()).collect::<Vec<_>>().join("\n\n");
    pictures.replace(&format!("{}/", folder.display()), "")
        + if told.is_empty() { "" } else { "\n" }
}

/// What a server answers that serves the schema, with this library if there is one.
fn session(
    (folder, beside): (&Path, &[PathBuf]),
    schema: &str,
    library: &str,
    text: &str,
) -> String {
    let path = folder.join(FILE);
    std::fs::write(&path, schema).expect("the schema is written");
    let functions = folder.join("functions");
    let _ = std::fs::remove_dir_all(&functions);
    if !library.is_empty() {
        std::fs::create_dir(&functions).expect("a directory for the library");
        std::fs::write(functions.join("shop.lua"), library).expect("the library is written");
    }
    let path = path.to_str().expect("the path is text");
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let mut arguments: Vec<&str> = beside.iter().filter_map(|path| path.to_str()).collect();
    arguments.extend([path, "--save", "", "--enable-debug-command", "yes"]);
    let server = Server::keyward(program, &arguments);
    let replies = wire::replay(text, &mut server.client());
    replies.replace(&format!("{}/", folder.display()), "")
}

/// The table of a scope's settings.
fn settings(scope: Scope) -> String {
    let has_types = settings_of(scope).any(|setting| !setting.types.is_empty());
    let (types, line) = if has_types { (" Types |", " --- |") } else { ("", "") };
    let mut table = format!("\n| Setting | Takes |{types} Meaning |\n| --- | --- |{line} --- |\n");
    for setting in settings_of(scope) {
        let Setting { name, doc, .. } = setting;
        let required = if setting.required() { " Required." } else { "" };
        let types = match (has_types, setting.types) {
            (false, _) => String::new(),
            (true, []) => " all |".to_owned(),
            (true, types) => format!(" {} |", names(types.iter().map(|ty| ty.name()))),
        };
        let doc = doc.replace('|', "\\|");
        table += &format!("| `{name}` | {} |{types} {doc}{required} |\n", takes(setting));
    }
    table + "\n"
}

/// What a setting takes, in words, with its example.
fn takes(setting: &Setting) -> String {
    let words = match setting.form {
        Form::Choice(words) => return names(words.iter().copied()),
        Form::Table(_) | Form::Tables(_) | Form::Array(_) => return "tables of its own".to_owned(),
        Form::Any => return "a value that fits".to_owned(),
        Form::Text => "text",
        Form::Switch => "a switch",
        Form::Expect => "a count, or a table",
        Form::Secret => "a switch, or names of placeholders",
        Form::Db => "a number",
        Form::Count => "a count",
        Form::Size => "a size",
        Form::Duration => "a duration",
        Form::Number => "a number",
        Form::Length => "a length",
        Form::Shape => "a type or a table",
        Form::Fields => "names and types",
        Form::Extra => "a word or a type",
        Form::Lifetime => "a duration or a table",
        Form::Template => "a pattern",
        Form::Texts => "texts",
        Form::TextTable | Form::Values => "names and texts",
        Form::Includes => "paths or tables",
        Form::Placeholder => "a placeholder",
        Form::Checks => "comparisons or tables",
        Form::Alerts => "figures, with comparisons or tables",
        Form::Columns => "names, each with a field, a table or `false`",
        Form::Example => "a key, or a table",
    };
    format!("{words}: `{}`", setting.example)
}

fn names<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The table of all rules.
fn diagnostics() -> String {
    let mut table = "\n| Code | | What is wrong |\n| --- | --- | --- |\n".to_owned();
    for rule in RULES {
        let level = match rule.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        table += &format!("| {} | {level} | {} |\n", rule.code, rule.title.replace('|', "\\|"));
    }
    table + "\n"
}

/// The table of what is bounded.
fn limits() -> String {
    use keyward_schema::{
        MAX_CHECKS, MAX_FIELDS, MAX_FILE_BYTES, MAX_FUNCTIONS, MAX_INCLUDE_DEPTH, MAX_INCLUDES,
        MAX_JSON_DEPTH, MAX_KEYS, MAX_LEADERS, MAX_PATTERN_BYTES, MAX_PLACEHOLDERS, MAX_SEGMENTS,
        MAX_SHAPE_DEPTH, size_in_words,
    };
    let rows = [
        ("bytes of a file and what it includes", size_in_words(MAX_FILE_BYTES as u64)),
        ("includes of a schema", MAX_INCLUDES.to_string()),
        ("files that include each other in a row", MAX_INCLUDE_DEPTH.to_string()),
        ("keys of a schema", MAX_KEYS.to_string()),
        ("keys above each other that one lives `with`", MAX_LEADERS.to_string()),
        ("functions of a schema", MAX_FUNCTIONS.to_string()),
        ("bytes of a pattern", MAX_PATTERN_BYTES.to_string()),
        ("segments of a pattern", MAX_SEGMENTS.to_string()),
        ("placeholders of a pattern", MAX_PLACEHOLDERS.to_string()),
        ("fields of an object", MAX_FIELDS.to_string()),
        ("checks of an object", MAX_CHECKS.to_string()),
        ("levels of a shape", MAX_SHAPE_DEPTH.to_string()),
        ("levels of a JSON value", MAX_JSON_DEPTH.to_string()),
    ];
    let row = |(what, most): &(&str, String)| format!("| {what} | {most} |\n");
    format!("\n| Of | At most |\n| --- | --- |\n{}\n", rows.iter().map(row).collect::<String>())
}

/// The names of the first column of the table below this heading.
fn names_of_table(page: &str, heading: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows = lines.take_while(|line| line.starts_with("| `"));
    rows.filter_map(|row| row.split('`').nth(1).map(str::to_owned)).collect()
}

/// The names in a map of a reply, but for `pattern`.
fn names_of_map(map: &Frame) -> Vec<String> {
    let Frame::Array(items) = map else { panic!("{map:?}") };
    let names = items.iter().step_by(2).map(|name| name.as_bytes().expect("a name").to_vec());
    let names = names.map(|name| String::from_utf8(name).expect("text"));
    names.filter(|name| name != "pattern").collect()
}

#[test]
fn every_figure_of_stats_and_plan_is_explained() {
    let page = std::fs::read_to_string(page_path()).expect("the page is there");
    let folder = tempfile::tempdir().expect("a directory");
    let schema = format!("[key.\"user:{{id:uint}}\"]\ntype = \"string\"\n{KEYSPACE}");
    let path = folder.path().join(FILE);
    std::fs::write(&path, &schema).expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let server = Server::keyward(program, &[path.to_str().expect("a path in UTF-8")]);
    let mut client = server.client();
    let stats = client.call(["KEYWARD", "STATS", ""]).expect("a reply");
    let told = names_of_table(&page, "| Figure of `KEYWARD STATS`");
    let names = names_of_map(&stats);
    assert_eq!(
        told,
        names.strip_prefix(&["keyspace".into(), "owner".into()]).expect("whose it is")
    );
    let planned = client.call(["KEYWARD", "SCHEMA", "PLAN", &schema]).expect("a reply");
    let Frame::Array(items) = &planned else { panic!("{planned:?}") };
    let Some(Frame::Array(patterns)) = items.last() else { panic!("{planned:?}") };
    let told = names_of_table(&page, "| Figure of `KEYWARD SCHEMA PLAN`");
    assert_eq!(told, names_of_map(&patterns[0]));
}

/// The tables of a schema's sinks, without partitions, which the day decides.
fn tables(schema: &str) -> String {
    let checked = keyward_schema::check(FILE, schema.as_bytes());
    let schema = checked.schema.expect("the schema is sound");
    keyward_sync::ddl::script(&keyward_sync::ddl::statements(&schema, &[]))
}
