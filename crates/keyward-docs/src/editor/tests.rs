use std::path::Path;

use jsonschema::Validator;
use keyward_schema::{Decimal, Duration, RULES, SETTINGS, check, parse_count, parse_size};
use serde_json::Value;
use toml::de::DeTable;

use super::forms::{COUNT, DURATION, LENGTH, NUMBER, SIZE, to_json};
use super::*;

fn validator() -> Validator {
    jsonschema::draft7::new(&json_schema()).expect("a JSON Schema of draft 7")
}

/// The file as an editor holds it against the JSON Schema.
fn as_json(toml: &str) -> Value {
    let document = DeTable::parse(toml).expect(toml);
    to_json(&toml::de::DeValue::Table(document.into_inner()))
}

fn errors(validator: &Validator, toml: &str) -> Vec<String> {
    let json = as_json(toml);
    validator.iter_errors(&json).map(|error| error.to_string()).collect()
}

#[test]
fn it_is_valid_json_schema() {
    assert!(jsonschema::meta::validate(&json_schema()).is_ok());
}

#[test]
fn every_setting_is_in_it_with_its_words() {
    let text = json_schema_text();
    for setting in SETTINGS {
        let words = Value::from(setting.doc).to_string();
        assert!(text.contains(&words), "{}: {words}", setting.name);
    }
}

#[test]
fn what_the_reader_accepts_the_editor_accepts() {
    let validator = validator();
    for rule in RULES.iter().filter(|rule| !rule.right.is_empty()) {
        // A page about several files shows each behind its name.
        let is_name = |line: &&str| line.starts_with("# ") && line.ends_with(".toml");
        let lines: Vec<&str> = rule.right.lines().collect();
        for file in lines.split(|line| is_name(line)) {
            let file = file.join("\n");
            assert_eq!(errors(&validator, &file), Vec::<String>::new(), "{}", rule.code);
        }
    }
    let systems = schemas_of_the_systems();
    assert_eq!(systems.len(), 5);
    for schema in systems {
        assert_eq!(errors(&validator, &schema), Vec::<String>::new(), "{schema:.100}");
    }
}

/// The schemas under `systems/`, which lie beside the crates.
fn schemas_of_the_systems() -> Vec<String> {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let folders = std::fs::read_dir(systems).into_iter().flatten().flatten();
    folders
        .map(|folder| folder.path().join("keyward.toml"))
        .filter(|path| path.exists())
        .map(|path| std::fs::read_to_string(path).expect("a readable schema"))
        .collect()
}

const START: &str = "[keyspace]\nname = 'shop'\n[key.'user:{id}']\n";

#[test]
fn usual_mistakes_are_seen_while_typing() {
    let validator = validator();
    let check_in_key = |settings: &str| {
        let toml = format!("{START}{settings}");
        assert!(check("x.toml", toml.as_bytes()).has_errors(), "the reader accepts {settings}");
        assert_ne!(errors(&validator, &toml), Vec::<String>::new(), "{settings}");
    };
    check_in_key("ttl = '30m'");
    check_in_key("type = 'hsah'");
    check_in_key("type = 'list'\nttl = '7d'\nmaxlen = 20");
    check_in_key("type = 'set'\nttl = '7d'\nmax_len = 20");
    check_in_key("type = 'hash'\nttl = 1800");
    check_in_key("type = 'hash'\nttl = '30 minutes'");
    check_in_key("type = 'hash'\nttl = { renew = 'access' }");
    check_in_key("type = 'hash'\nttl = { after = '1h', renew = 'often' }");
    check_in_key("type = 'hash'\nttl = { after = '1h', min = '1m' }");
    check_in_key("type = 'hash'\nttl = { given = false }");
    check_in_key("type = 'hash'\nttl = { by = 'status', open = 3 }\nfields = { status = 'open' }");
    check_in_key("type = 'hash'\nfields = { name = 3 }");
    check_in_key("type = 'hash'\nfields = { age = { type = 'uint', mim = 3 } }");
    check_in_key("type = 'hash'\nfields = { name = { type = 'string', len = '3-5' } }");
    check_in_key("type = 'hash'\nfields = { a = { b = { c = true } } }");
    check_in_key("type = 'hash'\nexpect = 'many'");
    check_in_key("type = 'hash'\nexpect = 0");
    check_in_key("type = 'string'\nmax_size = '4tb'");
    check_in_key("type = 'string'\nsecret = 'yes'");
    check_in_key("type = 'string'\nlookup = { field = 'email' }");
    check_in_key("type = 'string'\n[keyspaces]\nname = 'x'");
    check_in_key("type = 'string'\n[function.'a-b']\nkeys = []");
    check_in_key("type = 'string'\n[function.f]\nerrors = { Lower = 'x' }");
    check_in_key("type = 'string'\n[[note]]\ntitle = 'x'");
    assert_ne!(errors(&validator, "include = [{ with = {} }]"), Vec::<String>::new());
    assert_ne!(errors(&validator, "[keyspace]\nname = 'x'\ndb = 256\n[key]"), Vec::<String>::new());
}

#[test]
fn all_forms_of_values_are_accepted() {
    let validator = validator();
    let check_in_key = |settings: &str| {
        let toml = format!("{START}{settings}");
        let found = check("x.toml", toml.as_bytes()).diagnostics;
        let found: Vec<&str> = found.iter().map(|found| &*found.message).collect();
        assert!(found.is_empty(), "{settings}: {found:?}");
        assert_eq!(errors(&validator, &toml), Vec::<String>::new(), "{settings}");
    };
    check_in_key("type = 'hash'\nttl = 'none'\nexpect = '2.5M'");
    check_in_key("type = 'hash'\nttl = '1h30m'\nexpect = 1000");
    check_in_key("type = 'hash'\nttl = { after = '1h', excess = 'clamp' }");
    check_in_key("type = 'string'\nttl = { given = true, max = '1h', default = '1m' }");
    check_in_key(
        "type = 'hash'\nttl = { by = 'max', after_all = '1h', min = '2h' }\nfields = { max = 'after_all | min' }",
    );
    check_in_key(
        "type = 'json'\nextra = 'allow'\nfields = { a = { b = { c = 'uint?' } }, d = { type = 'object[]', fields = { e = 'bool' }, extra = 'int' } }",
    );
    check_in_key(
        "type = 'hash'\nfields = { a = { type = 'decimal', min = -0.5, max = '99999999999999999999.5' } }",
    );
    check_in_key("type = 'hash'\nfields = { a = { type = 'string', len = 32, prefix = 'x' } }");
    check_in_key("type = 'string'\nmax_size = 4096\ncompress = '1kb'");
    check_in_key("type = 'hash'\nexample = { key = 'user:1', value = { a = 1 } }");
}

#[test]
fn notations_agree_with_their_parsers() {
    let check = |pattern: &str, parses: &dyn Fn(&str) -> bool, texts: &[&str]| {
        let schema = json!({ "type": "string", "pattern": pattern });
        let validator = jsonschema::draft7::new(&schema).expect("a pattern");
        for text in texts {
            assert_eq!(validator.is_valid(&json!(text)), parses(text), "{pattern} {text:?}");
        }
    };
    check(
        DURATION,
        &|text| Duration::parse(text).is_some(),
        &[
            "30s", "1h30m", "500ms", "90min", "1h 30m", " 5m ", "2w", "1y", "5", "", "m", "5 m",
            "5mm", "1.5h", "-5m",
        ],
    );
    check(
        SIZE,
        &|text| parse_size(text).is_some(),
        &["512", "4kb", "4 KB", "1g", "7b", " 1mb ", "", "kb", "4tb", "1.5kb", "-1", "4kbb"],
    );
    check(
        COUNT,
        &|text| parse_count(text).is_some(),
        &["100", "2.5M", "25k", "1_000", "3 G", "", "M", "1.", ".5M", "1.2.3M", "5kk", "-1"],
    );
    check(
        NUMBER,
        &|text| Decimal::parse(text).is_some(),
        &["0", "-0.5", "12.50", "99999999999999999999", "", "-", "01", "1.", ".5", "1e5", "+1"],
    );
    let length = |text: &str| {
        let fields = format!(
            "{START}type = 'hash'\nfields = {{ a = {{ type = 'string', len = '{text}' }} }}"
        );
        !check_has_errors(&fields)
    };
    check(LENGTH, &length, &["1..64", "8..", "..64", "1 .. 2", "..", "", "3", "1..x", "1...2"]);
}

fn check_has_errors(toml: &str) -> bool {
    check("x.toml", toml.as_bytes()).has_errors()
}

#[test]
fn required_settings_are_those_the_reader_misses() {
    let check = |toml: &str, name: &str| {
        let found = keyward_schema::check("x.toml", toml.as_bytes()).diagnostics;
        let missed = found.iter().any(|found| found.rule.code == "KW0007");
        assert!(missed, "{name} is not missed in {toml}");
    };
    check(&format!("include = [{{ with = {{}} }}]\n{START}type = 'set'"), "file");
    check("[keyspace]\n[key.a]\ntype = 'set'", "name");
    check(&format!("{START}ttl = '1h'"), "type");
    check(&format!("{START}type = 'string'\nlookup = {{ field = 'a' }}"), "of");
    check(&format!("{START}type = 'zset'\nrank = {{ by = 'a' }}"), "of");
    check(&format!("{START}type = 'zset'\nrank = {{ of = 'user:{{id}}' }}"), "by");
    check(&format!("{START}type = 'set'\nmembers = {{ when = 'a = b' }}"), "of");
    check(&format!("{START}type = 'hash'\ncheck = [{{ when = 'a = b' }}]"), "check");
    check(&format!("{START}type = 'hash'\nexample = {{ value = {{ }} }}"), "key");
    check(&format!("{START}type = 'hash'\nalert.keys = {{ for = '1m' }}"), "when");
    check(&format!("{START}type = 'list'\nexpect = {{ items = 3 }}"), "keys");
    check(&format!("{START}type = 'hash'\n[[note]]\ntext = 'a'"), "title");
    check(&format!("{START}type = 'hash'\n[[note]]\ntitle = 'a'"), "text");
    assert_eq!(SETTINGS.iter().filter(|setting| setting.required()).count(), 13);
}
