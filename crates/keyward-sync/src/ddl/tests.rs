//! The statements of small schemas.

use super::*;

fn made(keys: &str) -> String {
    let text = format!("[keyspace]\nname = 'test'\n{keys}");
    let checked = keyward_schema::check("test.toml", text.as_bytes());
    let Some(schema) = checked.schema else { panic!("{:#?}", checked.diagnostics) };
    let months = [Month::parse("2025-12").expect("a month")];
    let made = sinks(&schema).flat_map(|(key, sink)| of_table(key, sink, &months));
    script(&made.collect::<Vec<_>>())
}

#[test]
fn a_mirror_has_a_column_for_each_part_of_the_key_and_each_field() {
    let made = made(
        r#"
[key."user:{id:uint}"]
type = "hash"
fields = { name = "string", age = { type = "uint?", max = 150 }, user = "uuid?", balance = "decimal", created_at = "timestamp", state = "on | off", tags = "string[]?", token = { type = "str", secret = true } }
sink = { mirror = "users", deleted = "mark", columns = { id = { from = "{id}", type = "bigint" } } }
"#,
    );
    let expected = "\
-- the rows of user:{id:uint}
CREATE TABLE users (
  id bigint NOT NULL,
  name text NOT NULL,
  age bigint,
  \"user\" uuid,
  balance numeric NOT NULL,
  created_at timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('on', 'off')),
  tags jsonb,
  deleted_at timestamptz,
  PRIMARY KEY (id)
);
";
    assert_eq!(made, expected);
}

#[test]
fn an_archive_by_month_is_partitioned_and_split_into_rows() {
    let made = made(
        r#"
[key."usage:{user_id:uint}:{month:month}"]
type = "hash"
ttl = "35d"
extra = "uint"
fields = { total_requests = "uint?" }
sink = { archive = "billing.usage_monthly", retain = "2y", merge = "add", columns = { requests = "{product}_requests", tokens = { from = "{product}_tokens", type = "bigint" } } }
"#,
    );
    let expected = "\
-- the rows that were at usage:{user_id:uint}:{month:month}
CREATE TABLE billing.usage_monthly (
  user_id numeric(20) NOT NULL,
  month date NOT NULL,
  product text NOT NULL,
  total_requests numeric(20),
  requests numeric(20),
  tokens bigint,
  extra jsonb,
  PRIMARY KEY (user_id, month, product)
) PARTITION BY RANGE (month);

CREATE TABLE billing.usage_monthly_2025_12 PARTITION OF billing.usage_monthly FOR VALUES FROM ('2025-12-01') TO ('2026-01-01');
";
    assert_eq!(made, expected);
}

#[test]
fn items_are_rows_and_time_is_indexed_where_rows_go_by_it() {
    let made = made(
        r#"
[key."tx:{user_id:int}"]
type = "list"
ttl = "none"
allow = ["KW0310: kept"]
items = { id = "str", amount = "decimal(2)" }
sink = { append = "tx", key = ["id"], retain = "1y" }

[key."likes"]
type = "list"
ttl = "none"
items = "string"
allow = ["KW0310: drained"]
sink = { drain = "likes" }
"#,
    );
    let expected = "\
-- the items of tx:{user_id:int}
CREATE TABLE tx (
  user_id bigint NOT NULL,
  id text NOT NULL,
  amount numeric NOT NULL,
  pushed_at timestamptz NOT NULL,
  entry text NOT NULL,
  PRIMARY KEY (id)
);

CREATE INDEX tx_user_id_idx ON tx (user_id);

CREATE INDEX tx_pushed_at_idx ON tx (pushed_at);

-- the items of likes
CREATE TABLE likes (
  item text NOT NULL,
  pushed_at timestamptz NOT NULL,
  entry text NOT NULL,
  PRIMARY KEY (entry)
);
";
    assert_eq!(made, expected);
}

#[test]
fn what_is_secret_has_a_column_only_where_one_is_named() {
    let of = |columns: &str| {
        made(&format!(
            "[key.\"k:{{id}}\"]\ntype = 'json'\nttl = '1d'\nfields = {{ key = {{ type = 'str', secret = true }}, n = 'int' }}\nsink = {{ mirror = 'k'{columns} }}"
        ))
    };
    assert!(!of("").contains("  key "));
    assert!(of(", columns = { key = 'key' }").contains("  key text NOT NULL"));
}
