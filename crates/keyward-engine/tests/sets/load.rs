//! What clients do to a set: rows of every type under a schema with lifetimes, companions,
//! derived keys and large ends, and some under none.

use keyward_testkit::Random;

pub(crate) const SCHEMA: &str = r#"
[keyspace]
name = "set"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { email = "str", status = "'active' | 'gone'" }

[key."user:by_email:{email}"]
type = "string"
ttl = "none"
lookup = { of = "user:{id:uint}", field = "email" }

[key."active"]
type = "set"
ttl = "none"
members = { of = "user:{id:uint}", when = "status = active" }

[key."idols:{id:uint}"]
type = "set"
ttl  = "none"

[key."fans:{id:uint}"]
type       = "set"
inverse    = "idols:{member}"
max_fanout = 100000

[key."session:{sid}"]
type  = "string"
ttl   = { given = true, max = "1d", default = "1h" }

[key."item:{sid}:{n:uint}"]
type = "string"
value = "str"
ttl  = { with = "session:{sid}" }

[key."items:{sid}"]
type       = "set"
members    = { of = "item:{sid}:{n}" }
max_fanout = 100000

[key."visit:{id:uint}"]
type = "string"
ttl  = { after = "3s", renew = "access" }
"#;

fn members(first: usize, count: usize) -> String {
    (first..first + count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

/// What a client sends at once.
pub(crate) fn commands(random: &mut Random) -> Vec<String> {
    if random.one_in(40) {
        return burst(random);
    }
    match random.below(16) {
        0 => {
            let mut unit = vec!["MULTI".to_owned()];
            unit.extend((0..1 + random.below(4)).map(|_| command(random)));
            unit.push(if random.one_in(5) { "DISCARD" } else { "EXEC" }.to_owned());
            unit
        }
        1 => vec![script(random)],
        2 => {
            let db = 1 + random.below(3);
            vec![format!("SELECT {db}"), free_command(random), "SELECT 0".to_owned()]
        }
        _ => vec![command(random)],
    }
}

/// A leader with more companions than go at once, of which some go by themselves soon.
fn burst(random: &mut Random) -> Vec<String> {
    let count = 65 + random.below(20);
    let mut commands = vec![format!("SET session:c x PX {}", 500 + random.below(60_000))];
    commands.extend((0..count).map(|n| format!("SET item:c:{n} {}", random.below(9))));
    commands
}

fn command(random: &mut Random) -> String {
    match random.below(4) {
        0 => free_command(random),
        1 => user_command(random),
        2 => large_command(random),
        _ => companion_command(random),
    }
}

fn user_command(random: &mut Random) -> String {
    let (id, other) = (random.below(12), random.below(12));
    let status = random.pick(&["active", "gone"]);
    match random.below(8) {
        0..=2 => format!("HSET user:{id} email e{other}@x status {status}"),
        3 => format!("HSET user:{id} status {status}"),
        4 => format!("DEL user:{id} user:{other}"),
        5 => format!("RENAME user:{id} user:{other}"),
        6 => format!("SET visit:{id} x"),
        _ => format!("GET visit:{id}"),
    }
}

fn large_command(random: &mut Random) -> String {
    let (user, other, peer) = (random.below(3), random.below(3), random.below(90));
    let (first, count) = (random.below(40), 1 + random.below(60));
    match random.below(11) {
        0..=3 => format!("SADD fans:{user} {}", members(first, count)),
        4 => format!("DEL fans:{user}"),
        5 => format!("UNLINK fans:{user} fans:{other}"),
        6 => format!("SREM fans:{user} {}", members(first, count)),
        7 => format!("SPOP fans:{user} {count}"),
        8 => format!("SUNIONSTORE fans:{user} fans:{user} fans:{other}"),
        9 => format!("SADD idols:{peer} {user}"),
        _ => format!("PEXPIRE fans:{user} 0"),
    }
}

fn companion_command(random: &mut Random) -> String {
    let (sid, n) = (*random.pick(&["a", "b", "c"]), random.below(40));
    let ms = 100 + random.below(4000);
    match random.below(9) {
        0 | 1 => format!("SET session:{sid} x PX {ms}"),
        2..=5 => format!("SET item:{sid}:{n} {}", random.below(9)),
        6 => format!("PEXPIRE session:{sid} {ms}"),
        7 => format!("DEL session:{sid}"),
        _ => format!("DEL item:{sid}:{n}"),
    }
}

/// A command about keys that no pattern has.
fn free_command(random: &mut Random) -> String {
    let (n, ms) = (random.below(6), 1 + random.below(3000));
    match random.below(20) {
        0 => format!("INCR free:n:{n}"),
        1 => format!("INCRBYFLOAT free:f:{n} 0.1"),
        2 => format!("RPUSH free:l:{n} {ms} b c"),
        3 => format!("LPOP free:l:{n} 2"),
        4 => format!("LMOVE free:l:{n} free:l:{} LEFT RIGHT", random.below(6)),
        5 => format!("SADD free:s:{n} {}", members(ms, 3)),
        6 => format!("SPOP free:s:{n}"),
        7 => format!("ZADD free:z:{n} {ms} m{n} 1 {ms}"),
        8 => format!("ZPOPMIN free:z:{n}"),
        9 => format!("XADD free:x:{n} MAXLEN ~ 20 * f {ms}"),
        10 => format!("XTRIM free:x:{n} MAXLEN 3"),
        11 => format!("PFADD free:p:{n} {ms}"),
        12 => format!("PFCOUNT free:p:{n}"),
        13 => format!("SETRANGE free:t:{n} {} x", ms % 100),
        14 => format!("SET free:e:{n} {ms} PX {ms}"),
        15 => format!("GETEX free:e:{n} PX {ms}"),
        16 => format!("PEXPIRE free:l:{n} {ms}"),
        17 => format!("COPY free:l:{n} free:c:{n} REPLACE"),
        18 => format!("HINCRBY free:h:{n} f {ms}"),
        _ => format!("DEL free:s:{n} free:z:{n} free:h:{n}"),
    }
}

/// A script, which may end in an error: what it wrote stays, as Redis has it, or is undone.
fn script(random: &mut Random) -> String {
    let mut lua = String::new();
    for _ in 0..1 + random.below(4) {
        let command = command(random);
        let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
        lua.push_str(&format!("redis.pcall({});", words.join(",")));
    }
    let end = if random.one_in(4) { "error('enough')" } else { "return(1)" };
    format!("EVAL {lua}{end} 0")
}
