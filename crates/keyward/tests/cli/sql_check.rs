//! What `keyward sql --check` tells of a database besides its columns, and `--apply` adds.

use keyward_testkit::Postgres;

use crate::run::Folder;

const SCHEMA: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { name = "string", state = "on | off", age = "int?" }
sink = { mirror = "users" }

[key."tx:{user:uint}"]
type = "list"
ttl = "none"
items = { id = "str", amount = "decimal" }
allow = ["KW0310: a row of the table each"]
sink = { append = "tx", key = ["id"], retain = "1y" }

[key."usage:{id:uint}:{month:month}"]
type = "hash"
ttl = "35d"
fields = { requests = "int?" }
sink = { archive = "usage", retain = "2y" }
"#;

/// A database with the tables of the schema.
struct Shop {
    postgres: Postgres,
    folder: Folder,
}

impl Shop {
    fn new() -> Shop {
        let folder = Folder::new(&[("keyward.toml", SCHEMA)]);
        let shop = Shop { postgres: Postgres::start(), folder };
        let made = shop.ask(&["--apply", "keyward.toml"]);
        assert!(made.starts_with("exit 0\n"), "{made}");
        assert_eq!(shop.ask(&["keyward.toml"]), "exit 0\n");
        shop
    }

    fn ask(&self, arguments: &[&str]) -> String {
        self.folder.run(&[&["sql", "--check", &self.postgres.url()], arguments].concat())
    }

    /// After a change by somebody `--check` says this, and `--apply` mends it with so many
    /// statements, or leaves it.
    #[track_caller]
    fn check(&self, change: &str, told: &str, mended: Option<&str>) {
        self.postgres.query(change);
        let differs = format!("exit 1\n--- stdout\n{told}");
        assert_eq!(self.ask(&["keyward.toml"]), differs, "{change}");
        let applied = self.ask(&["--apply", "keyward.toml"]);
        match mended {
            None => assert_eq!(applied, differs, "{change}"),
            Some(count) => {
                assert_eq!(applied, format!("exit 0\n--- stderr\n{count} applied\n"), "{change}");
                assert_eq!(self.ask(&["keyward.toml"]), "exit 0\n", "{change}");
            }
        }
    }
}

#[test]
fn checks_indexes_and_what_must_not_lack_are_told_and_added() {
    let shop = Shop::new();
    let one = Some("1 statement");
    shop.check(
        "ALTER TABLE users DROP CONSTRAINT users_state_check",
        "users: there is no CHECK that state is 'off' or 'on'\n",
        one,
    );
    let other = "ALTER TABLE users DROP CONSTRAINT users_state_check; \
                 ALTER TABLE users ADD CONSTRAINT users_state_check CHECK (state IN ('on', 'x'))";
    let told = "users: state is checked to be 'on' or 'x', not 'off' or 'on'\n";
    shop.check(other, told, Some("2 statements"));
    // A name that somebody else's has is left to it.
    let foreign = "ALTER TABLE users DROP CONSTRAINT users_state_check; \
                   ALTER TABLE users ADD CONSTRAINT users_state_check CHECK (state <> 'x')";
    shop.check(foreign, "users: there is no CHECK that state is 'off' or 'on'\n", one);
    let unwanted = "ALTER TABLE users ADD CONSTRAINT users_name_check CHECK (name IN ('a'))";
    shop.check(unwanted, "users: name is checked to be 'a', and any value is wanted\n", one);
    shop.check("DROP INDEX tx_user_idx", "tx: there is no index on (\"user\")\n", one);
    let partial = "DROP INDEX tx_user_idx; \
                   CREATE INDEX tx_user_idx ON tx (\"user\") WHERE amount > 0";
    let told = "tx: there is no index on (\"user\"); tx_user_idx is invalid or partial\n";
    shop.check(partial, told, one);
    let elsewhere = "DROP INDEX tx_pushed_at_idx; CREATE INDEX tx_pushed_at_idx ON tx (entry)";
    let told = "tx: there is no index on (pushed_at); tx_pushed_at_idx is on (entry)\n";
    shop.check(elsewhere, told, one);
    let lax = "ALTER TABLE users ALTER COLUMN name DROP NOT NULL";
    shop.check(lax, "users: name lacks NOT NULL\n", one);
    let strict = "ALTER TABLE users ALTER COLUMN age SET DEFAULT 0, ALTER COLUMN age SET NOT NULL";
    shop.check(strict, "users: age is NOT NULL, and a row may lack it\n", one);
    let unkeyed = "ALTER TABLE tx DROP CONSTRAINT tx_pkey";
    shop.check(unkeyed, "tx: the primary key is none, not (id)\n", one);
}

#[test]
fn what_is_more_than_is_wanted_is_nobodys_business() {
    let shop = Shop::new();
    shop.postgres.query(
        "CREATE UNIQUE INDEX ON users (name); \
         ALTER TABLE users ADD COLUMN note text NOT NULL DEFAULT '', ADD CHECK (age > 0); \
         DROP INDEX tx_user_idx; CREATE INDEX ON tx (\"user\", pushed_at); \
         ALTER TABLE users RENAME CONSTRAINT users_state_check TO mine",
    );
    assert_eq!(shop.ask(&["keyward.toml"]), "exit 0\n");
    // A row that is there lacks what is to be in every row from now on.
    shop.postgres.query(
        "ALTER TABLE users ALTER COLUMN name DROP NOT NULL; \
         INSERT INTO users (id, state) VALUES (1, 'on')",
    );
    assert_eq!(shop.ask(&["keyward.toml"]), "exit 0\n");
}

#[test]
fn partitions_and_keys_that_are_otherwise_are_told_and_left() {
    let shop = Shop::new();
    let flat = "DROP TABLE usage; CREATE TABLE usage (id numeric(20), month date, \
                requests bigint, ended_at timestamptz, entry text, \
                PRIMARY KEY (id, month, ended_at, entry)); CREATE INDEX ON usage (month)";
    let told = "usage: it is not partitioned, and is to be by RANGE (month)\n";
    shop.check(flat, told, None);
    let list = flat.replace("entry)); ", "entry)) PARTITION BY LIST (id); ");
    shop.check(&list, "usage: it is partitioned by LIST (id), not RANGE (month)\n", None);
    let range = "DROP TABLE usage; DROP TABLE tx; CREATE TABLE tx (\"user\" numeric(20) NOT NULL, \
                 id text NOT NULL, amount numeric NOT NULL, pushed_at timestamptz NOT NULL, \
                 entry text NOT NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id); \
                 CREATE INDEX ON tx (\"user\"); CREATE INDEX ON tx (pushed_at)";
    shop.postgres.query(range);
    shop.ask(&["--apply", "keyward.toml"]);
    let told = "tx: it is partitioned by RANGE (id), and nobody makes partitions\n";
    shop.check("SELECT 1", told, None);
    shop.postgres.query("CREATE TABLE tx_rest PARTITION OF tx DEFAULT");
    assert_eq!(shop.ask(&["keyward.toml"]), "exit 0\n");
    let deferrable = "ALTER TABLE users DROP CONSTRAINT users_pkey; \
                      ALTER TABLE users ADD PRIMARY KEY (id) DEFERRABLE";
    let told = "users: the primary key is DEFERRABLE, and rows cannot be told apart by it\n";
    shop.check(deferrable, told, None);
}

#[test]
fn a_migration_of_checks_and_indexes_alone_is_run() {
    let postgres = Postgres::start();
    let new = SCHEMA.replace("on | off", "on | off | new");
    let indexed = new.replace(
        "append = \"tx\", key = [\"id\"], retain = \"1y\"",
        "append = \"tx\", key = [\"id\"]",
    );
    let folder = Folder::new(&[("old.toml", &indexed.replace(" | new", "")), ("new.toml", &new)]);
    let ask = |arguments: &[&str]| {
        folder.run(&[&["sql", "--check", &postgres.url()], arguments].concat())
    };
    ask(&["--apply", "old.toml"]);
    let told = ask(&["--apply", "old.toml", "new.toml"]);
    assert_eq!(told, "exit 0\n--- stderr\n3 statements applied\n");
    postgres.query("INSERT INTO users (id, name, state) VALUES (1, 'ann', 'new')");
    let index = "SELECT count(*) FROM pg_indexes WHERE indexname = 'tx_pushed_at_idx'";
    assert_eq!(postgres.query(index), "1");
    // Once it is there it is not run again.
    assert_eq!(ask(&["--apply", "old.toml", "new.toml"]), "exit 0\n");
}
