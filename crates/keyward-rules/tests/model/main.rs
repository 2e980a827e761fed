//! The book and a host together: a keyspace in memory, a small interpreter, and
//! what must be true of the rows after each command.

mod derived;
mod host;
mod interpreter;
mod keyspace;
mod random;
mod rows;
mod systems;
mod units;

/// A schema with every way to derive a key and most lifetimes.
const SCHEMA: &str = r#"
[keyspace]
name = "shop"

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

[key."active"]
type    = "set"
members = { of = "user:{id}", when = "status = active" }

[key."active:{plan}"]
type    = "set"
members = { of = "user:{id}", when = "status = active" }

[key."code:{id:uint}"]
type  = "string"
value = "str"
ttl   = "none"

[key."owner:{code}"]
type   = "string"
lookup = { of = "code:{id}" }

[key."doc:{id:uint}"]
type = "json"
ttl  = { until = "ends" }
[key."doc:{id:uint}".fields]
ends = "timestamp_ms"
kind = "text | image"

[key."docs:{kind}"]
type    = "set"
members = { of = "doc:{id}" }

[key."note:{doc:uint}:{n:uint}"]
type  = "string"
value = "str"
ttl   = { with = "doc:{doc}" }

[key."note_of:{text}"]
type   = "string"
lookup = { of = "note:1:{n}" }

[key."notes:{doc:uint}"]
type    = "set"
follows = "note:{doc}:{member}"

[key."user:{id:uint}:out"]
type    = "set"
max_members = 4
inverse = "user:{member}:in"

[key."user:{id:uint}:in"]
type = "set"
max_members = 4

[key."msg:{room:uint}:{n:uint}"]
type = "string"
ttl  = { after = "10s", renew = "write" }

[key."recent:{room:uint}"]
type        = "zset"
score       = "uint"
max_members = 3
follows     = "msg:{room}:{member}"

[key."log:{id:uint}"]
type    = "list"
items   = "str"
max_len = 3
ttl     = "10s"

[key."card:{card:uint}"]
type  = "hash"
ttl   = "1h"
check = ["used <= quota", { check = "used > 0", when = "state = on" }]
[key."card:{card:uint}".fields]
card  = { type = "uint", same = "{card}" }
user  = "uint?"
state = "on | off"
used  = "uint?"
quota = "uint?"

[key."user_of:{card:uint}"]
type   = "int"
lookup = { of = "card:{card}", value = "user", when = "state = on" }

[key."by_live_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email", when = "status = active" }

[key."stock:{id:uint}"]
type   = "hash"
ttl    = "none"
fields = { left = { type = "int", min = 0 }, most = { type = "int?", max = 9 } }

[key."closed"]
type = "zset"
rank = { of = "user:{id}", by = "{id}", when = "status = closed" }
"#;
