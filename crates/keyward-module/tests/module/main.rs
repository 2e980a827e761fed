//! The module in a real Valkey.

mod clustered;
mod copies;
mod existing;
mod loading;
mod nodes;
mod random;
mod rights;
mod rules;
mod served;
mod watched;

/// A schema with every tie that the module keeps.
const SCHEMA: &str = r#"
[keyspace]
name = "shop"
unknown = "reject"

[key."user:{id:uint}"]
type = "hash"
ttl  = "1h"
[key."user:{id:uint}".fields]
email  = "str?"
status = "active | closed"
plan   = "gold | free"
seen   = "uint?"

[key."by_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email" }

[key."seen"]
type = "zset"
rank = { of = "user:{id}", by = "seen" }

[key."active:{plan}"]
type    = "set"
members = { of = "user:{id}", when = "status = active" }

[key."user:{id:uint}:note"]
type  = "string"
value = "str"
ttl   = { with = "user:{id}" }

[key."code:{id:uint}"]
type  = "string"
value = "str"
ttl   = "none"

[key."owner:{code}"]
type   = "string"
lookup = { of = "code:{id}" }

[key."user:{id:uint}:out"]
type    = "set"
max_members = 4
inverse = "user:{member}:in"

[key."user:{id:uint}:in"]
type = "set"
max_members = 4

[key."msg:{room:uint}:{n:uint}"]
type = "string"
ttl  = { after = "1h", renew = "write" }

[key."recent:{room:uint}"]
type        = "zset"
score       = "uint"
max_members = 3
follows     = "msg:{room}:{member}"

[key."log:{id:uint}"]
type    = "list"
items   = "str"
max_len = 3
ttl     = "1h"

[key."token:{id}"]
type  = "string"
ttl   = "10m"

[key."price:{id:uint}"]
type = "decimal"
ttl  = "none"

[key."count:{id:uint}"]
type = "int"
ttl  = { after = "1h", renew = "never" }

[key."doc:{id:uint}"]
type = "json"
ttl  = "1h"
[key."doc:{id:uint}".fields]
kind = "text | image"

[key."docs:{kind}"]
type    = "set"
members = { of = "doc:{id}" }
"#;
