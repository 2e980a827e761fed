//! Migrations between two schemas: no row loses anything by them.

use std::process::Command;

use crate::rows::SHOP;
use crate::stage::{PROGRAM, Stage, begun, call_all, said};

fn schema([a, n, f, at, i]: [&str; 5]) -> String {
    let exact = if n == "decimal(2)" { ", n = { type = \"numeric(10,2)\" }" } else { "" };
    format!(
        r#"
[keyspace]
name = "shop"

[key."user:{{id:uint}}"]
type   = "hash"
ttl    = "none"
fields = {{ a = "string?", n = "{n}?", f = "{f}?", at = "{at}?", i = "{i}?" }}
sink   = {{ mirror = "users", columns = {{ a = {{ type = "{a}" }}{exact} }} }}
"#
    )
}

/// The types before a migration: of a column of texts, and of fields.
const OLD: [&str; 5] = ["text", "decimal", "float", "timestamp", "int"];

/// Migrates a table with this row; what the command says, and the row then.
#[track_caller]
fn check(at: usize, ty: &'static str, row: &str, is_migrated: bool) {
    let stage = Stage::new(&schema(OLD));
    let names = "a, n, f, at, i";
    stage.postgres.query(&format!("INSERT INTO users (id, {names}) VALUES (1, {row})"));
    let before = stage.postgres.query(&format!("SELECT {names} FROM users"));
    let old = stage.schema().with_file_name("old.toml");
    std::fs::copy(stage.schema(), &old).expect("the old schema");
    let mut new = OLD;
    new[at] = ty;
    std::fs::write(stage.schema(), schema(new)).expect("the new schema");
    let output = Command::new(PROGRAM)
        .args(["sql", "--check", &stage.postgres.url(), "--apply"])
        .args([&old, &stage.schema()])
        .output()
        .expect("the binary runs");
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let code = if is_migrated { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(code), "{ty}: {told}");
    if !is_migrated {
        assert!(told.contains("users.") && told.contains("would lose"), "{ty}: {told}");
        assert_eq!(stage.postgres.query(&format!("SELECT {names} FROM users")), before);
    }
}

#[test]
fn a_migration_that_would_cut_or_round_a_value_is_refused() {
    let row = "'abcd', 1.00500000000000000000000001, 1.5, '2025-01-02T03:04:05Z', 70000";
    for (at, ty) in
        [(0, "varchar(3)"), (1, "int"), (1, "decimal(2)"), (2, "int"), (3, "date"), (1, "float")]
    {
        check(at, ty, row, false);
    }
}

#[test]
fn a_migration_under_which_every_row_survives_is_run() {
    let row = "'abc', 1.50, 2, '2025-01-02T00:00:00Z', 7";
    for (at, ty) in [
        (0, "varchar(3)"),
        (1, "decimal(2)"),
        (1, "string"),
        (2, "int"),
        (3, "string"),
        (4, "decimal"),
        (4, "string"),
    ] {
        check(at, ty, row, true);
    }
}

#[test]
fn a_database_of_an_earlier_version_is_named_and_brought_up_to_date() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2\nRPUSH likes one two");
    said(&stage.sync_once(&server));
    // As it was before entries were counted.
    stage.postgres.query(
        "ALTER TABLE keyward_place DROP COLUMN number; \
         ALTER TABLE keyward_histories DROP COLUMN number",
    );
    call_all(&mut client, "RPUSH likes three");
    let lacking =
        "keyward_place: there is no column number; another version of Keyward made the table";
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains(lacking) && told.contains("see keyward sql --check"), "{told}");
    assert!(!told.contains("does not exist") && told.lines().count() == 1, "{told}");
    for told in [stage.verify(&server), {
        let output = stage.fill(&server, &[]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }] {
        assert!(told.contains(lacking) && !told.contains("does not exist"), "{told}");
    }
    let sql = |more: &[&str]| {
        let url = stage.postgres.url();
        let options = [&["sql", "--check", &url], more, &[stage.schema_text()]].concat();
        let output = Command::new(PROGRAM).args(options).output().expect("the binary runs");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), told)
    };
    let (code, told) = sql(&[]);
    assert!(code == Some(1) && told.starts_with(lacking), "{told}");
    assert_eq!(sql(&["--apply"]), (Some(0), "4 statements applied\n".to_owned()));
    // Nothing is taken for missing, and what is missing from now on is noticed.
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "one two three");
    stage.check("SELECT number FROM keyward_place", "2");
    call_all(&mut client, "RPUSH likes four\nXTRIM keyward:changefeed:shop MINID = 99999999999999");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("1 change behind "), "{told}");
}
