//! `keyward sql`, on a real PostgreSQL.

use keyward_testkit::{Certificates, Postgres};

use crate::run::Folder;

const OLD: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
sink = { mirror = "users", columns = { id = { from = "{id}", type = "bigint" } } }
[key."user:{id:uint}".fields]
name = "string"
balance = "int"
"#;

const NEW: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
sink = { mirror = "users", columns = { id = { from = "{id}", type = "bigint" } } }
[key."user:{id:uint}".fields]
name = "string"
balance = "decimal"
status = "active | closed"

[key."usage:{user_id:int}:{month:month}"]
type = "hash"
ttl = "35d"
sink = { archive = "usage", retain = "2y" }
fields = { requests = "int?" }
"#;

#[test]
fn tables_are_written_migrated_and_compared() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let folder = Folder::new(&[("old.toml", OLD), ("new.toml", NEW)]);
    let check = |arguments: &[&str], expected: &str| {
        let told = folder.run(&[&["sql", "--check", &url], arguments].concat());
        assert_eq!(told, expected, "{arguments:?}");
    };
    // Nothing is altered by asking.
    for _ in 0..2 {
        let own = [
            "keyward_place",
            "keyward_histories",
            "keyward_forks",
            "keyward_fills",
            "keyward_loading",
            "keyward_unloaded",
            "keyward_dead_letters",
        ];
        let own = own.map(|table| format!("there is no table {table}\n")).concat();
        let expected = format!("exit 1\n--- stdout\nthere is no table users\n{own}");
        check(&["old.toml"], &expected);
    }
    check(&["--apply", "old.toml"], "exit 0\n--- stderr\n8 statements applied\n");
    check(&["old.toml"], "exit 0\n");
    postgres.query("INSERT INTO users VALUES (7, 'ann', 5)");
    check(
        &["new.toml"],
        "exit 1\n--- stdout\nusers: balance is bigint, not numeric\nusers: there is no column status, text\nthere is no table usage\n",
    );
    // What is otherwise is not altered but by a migration.
    let told = folder.run(&["sql", "--check", &url, "--apply", "new.toml"]);
    assert!(
        told.starts_with("exit 1\n--- stdout\nusers: balance is bigint, not numeric\n"),
        "{told}"
    );
    postgres.query("ALTER TABLE users DROP COLUMN status; DROP TABLE usage");
    let told = folder.run(&["sql", "--check", &url, "--apply", "old.toml", "new.toml"]);
    assert_eq!(told, "exit 0\n--- stderr\n6 statements applied\n");
    check(&["new.toml"], "exit 0\n");
    assert_eq!(postgres.query("SELECT id, name, balance, status FROM users"), "7|ann|5|");
    let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'usage'::regclass";
    assert_eq!(postgres.query(partitions), "3");
}

#[test]
fn a_migration_can_be_run_back_and_forth() {
    let postgres = Postgres::start();
    let folder = Folder::new(&[("old.toml", OLD), ("new.toml", NEW)]);
    let url = postgres.url();
    let apply = |files: &[&str]| {
        let told = folder.run(&[&["sql", "--check", &url, "--apply"], files].concat());
        assert!(told.starts_with("exit 0\n"), "{told}");
    };
    apply(&["old.toml"]);
    postgres.query("INSERT INTO users VALUES (7, 'ann', 5)");
    apply(&["old.toml", "new.toml"]);
    postgres.query("UPDATE users SET status = (SELECT 'active')");
    apply(&["new.toml", "old.toml"]);
    assert_eq!(postgres.query("SELECT id, name, balance FROM users"), "7|ann|5");
    apply(&["old.toml", "new.toml"]);
    assert_eq!(postgres.query("SELECT id, name, balance, status FROM users"), "7|ann|5|active");
}

#[test]
fn what_the_database_has_otherwise_is_told() {
    let postgres = Postgres::start();
    let folder = Folder::new(&[("old.toml", OLD)]);
    folder.run(&["sql", "--check", &postgres.url(), "--apply", "old.toml"]);
    postgres.query(
        "DROP TABLE users; \
         CREATE TABLE users (id bigint, name text NOT NULL, balance bigint, since date NOT NULL)",
    );
    let told = folder.run(&["sql", "--check", &postgres.url(), "old.toml"]);
    let expected = "exit 1\n--- stdout\n\
        users: since is NOT NULL, and nothing fills it\n\
        users: the primary key is none, not (id)\n\
        users: balance lacks NOT NULL\n";
    assert_eq!(told, expected);
}

#[test]
fn every_statement_of_a_schema_runs() {
    let postgres = Postgres::start();
    let folder = Folder::new(&[("new.toml", NEW)]);
    let written = folder.command(&["sql", "new.toml"]).output().expect("the binary runs");
    postgres.query(&String::from_utf8(written.stdout).expect("text"));
    assert_eq!(postgres.query("SELECT count(*) FROM usage"), "0");
}

#[test]
fn a_database_that_is_not_there_is_told_without_its_address() {
    let folder = Folder::new(&[("old.toml", OLD)]);
    let url = "postgres://ann:se-cret@127.0.0.1:1/shop";
    let told = folder.run(&["sql", "--check", url, "old.toml"]);
    assert!(told.starts_with("exit 2\n--- stderr\n") && told.contains("cannot connect"), "{told}");
    assert!(!told.contains("se-cret") && !told.contains("ann:"), "{told}");
    let told = folder.run(&["sql", "--check", "postgres//", "old.toml"]);
    assert!(told.contains("cannot be read"), "{told}");
    let told = folder.run(&["sql", "--apply", "old.toml"]);
    assert!(told.starts_with("exit 2\n"), "{told}");
}

#[test]
fn a_database_is_reached_by_tls_if_its_authority_is_known() {
    let certificates = Certificates::make();
    let postgres = Postgres::start_with_tls(&certificates, "server");
    let folder = Folder::new(&[("old.toml", OLD)]);
    let ask = |url: &str, authority: &str| {
        let mut command = folder.command(&["sql", "--check", url, "old.toml"]);
        let output = command.env("PGSSLROOTCERT", authority).output().expect("the binary runs");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), text)
    };
    let authority = certificates.path("ca.crt");
    let (code, told) = ask(&postgres.tls_url(), &authority);
    assert!(code == Some(1) && told.starts_with("there is no table users"), "{told}");
    // Nobody is believed whose authority is another, and nobody is talked to without TLS.
    let (code, told) = ask(&postgres.tls_url(), &certificates.path("other-ca.crt"));
    assert!(code == Some(2) && told.contains("cannot connect"), "{told}");
    // `verify-full` also looks at the name in it.
    let full = postgres.tls_url().replace("require", "verify-full");
    let (code, told) = ask(&full, &authority);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("the certificate of the database is not for 127.0.0.1"), "{told}");
    let named = Postgres::start_with_tls(&certificates, "named");
    let full = named.tls_url().replace("require", "verify-full");
    assert_eq!(ask(&full, &authority).0, Some(1));
    assert_eq!(ask(&full, &certificates.path("other-ca.crt")).0, Some(2));
    // What the address does not say the environment does.
    let silent = postgres.tls_url().replace("sslmode=require", "");
    let ask_in = |mode: &str| {
        let mut command = folder.command(&["sql", "--check", &silent, "old.toml"]);
        command.env("PGSSLROOTCERT", &authority).env("PGSSLMODE", mode);
        command.output().expect("the binary runs").status.code()
    };
    assert_eq!(["require", "verify-full", "disable", "none"].map(ask_in), [1, 2, 2, 2].map(Some));
    let plain = postgres.tls_url().replace("require", "disable");
    let (code, told) = ask(&plain, &authority);
    assert!(code == Some(2) && told.contains("no pg_hba.conf entry"), "{told}");
}
