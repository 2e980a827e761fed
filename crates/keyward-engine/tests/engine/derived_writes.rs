//! Every command that writes, on a derived key of every kind, absent and present: it is refused,
//! or the key holds what its source says. And EXPLAIN says which of both.
//!
//! What is derived is reckoned here once more, from the source rows alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::TestEngine;
use keyward_commands::{COMMANDS, Command, Flag};
use keyward_engine::{ClientId, Progress};

const SCHEMA: &str = r#"
[keyspace]
name = "tied"

[key."u:{id:uint}"]
type = "hash"
[key."u:{id:uint}".fields]
e  = "str"
s  = "int"
st = "on | off | gone"

[key."by:{e}"]
type   = "string"
lookup = { of = "u:{id}", field = "e" }

[key."of:{id:uint}"]
type   = "string"
lookup = { of = "u:{id}", value = "s" }

[key."top"]
type = "zset"
rank = { of = "u:{id}", by = "s" }

[key."v:{id:uint}"]
type = "hash"
[key."v:{id:uint}".fields]
s = "int"

[key."low"]
type = "zset"
rank = { of = "v:{id}", by = "s" }

[key."on"]
type    = "set"
members = { of = "u:{id}", when = "st = on" }

[key."gone"]
type    = "set"
members = { of = "u:{id}", when = "st = gone" }

[key."f:{a:uint}"]
type    = "set"
inverse = "g:{member}"

[key."g:{b:uint}"]
type    = "set"
inverse = "f:{member}"

[key."seen"]
type    = "set"
follows = "u:{member}"

[key."seen_none"]
type    = "set"
follows = "u:{member}"

[key."seen_at"]
type    = "zset"
follows = "u:{member}"

[key."seen_at_none"]
type    = "zset"
follows = "u:{member}"

[key."free:{name}"]
type = "any"
"#;

/// What there is before each call.
const ROWS: [&str; 16] = [
    "HSET u:1 e ann s 5 st on",
    "HSET u:2 e 7 s 3 st off",
    "SADD f:1 2",
    "SADD g:3 4",
    "SADD seen 1",
    "ZADD seen_at 1 1",
    "SET free:number 7",
    "SET free:string ann",
    "RPUSH free:list 1 9",
    "HSET free:hash e 9",
    "SADD free:set 1 9",
    "ZADD free:zset 1 1 2 9",
    "XADD free:stream 1-1 a 1",
    "PFADD free:sketch a",
    "GEOADD free:geo 1 1 9",
    "XGROUP CREATE free:stream g 0",
];

/// Derived keys, present and absent in turn.
const DERIVED: [&str; 16] = [
    "by:ann",
    "by:bob",
    "of:1",
    "of:9",
    "top",
    "low",
    "on",
    "gone",
    "f:1",
    "f:9",
    "g:2",
    "g:9",
    "seen",
    "seen_none",
    "seen_at",
    "seen_at_none",
];

/// Keys of any type, on which each call must work somewhere.
const FREE: [&str; 9] = [
    "free:none",
    "free:number",
    "free:string",
    "free:list",
    "free:hash",
    "free:set",
    "free:zset",
    "free:stream",
    "free:sketch",
];

/// Calls; `K` is the key that is tried, `DUMP:key` what DUMP says of one.
const CALLS: &str = "
append K 9
bitfield K SET u8 0 57
bitfield K INCRBY u8 0 9
bitfield K OVERFLOW FAIL SET u8 #1 57
bitop NOT K free:string
bitop OR K free:number free:none
blmove free:list K LEFT RIGHT 1
blmove K free:list LEFT RIGHT 1
blmpop 1 1 K LEFT
blpop K 1
brpop K 1
brpoplpush free:list K 1
brpoplpush K free:list 1
bzmpop 1 1 K MIN
bzpopmax K 1
bzpopmin K 1
copy free:number K
copy free:set K REPLACE
copy free:zset K REPLACE
decr K
decrby K 2
del K
expire K 100
expire K -1
expireat K 9999999999
expireat K 1
flushall
flushdb
geoadd K 1 1 9
georadius free:geo 1 1 9 km STORE K
georadiusbymember free:geo 9 9 km STOREDIST K
geosearchstore K free:geo FROMMEMBER 9 BYRADIUS 9 km
getdel K
getex K EX 9
getex K PERSIST
getset K 9
hdel K e
hincrby K e 1
hincrbyfloat K e 1
hmset K e 9
hset K e 9
hsetnx K q 9
incr K
incrby K 2
incrbyfloat K 2
linsert K BEFORE 9 8
lmove free:list K LEFT RIGHT
lmove K free:list LEFT RIGHT
lmpop 1 K LEFT
lpop K
lpush K 9
lpushx K 9
lrem K 0 9
lset K 0 9
ltrim K 5 6
migrate 127.0.0.1 1 K 0 10
move K 1
mset K 9
msetnx K 9
persist K
pexpire K 100000
pexpireat K 9999999999999
pfadd K 9
pfadd K
pfcount K
pfdebug GETREG K
pfmerge K free:sketch
pfmerge K
psetex K 10000 9
rename free:number K
rename free:set K
rename free:zset K
rename K free:none
renamenx free:number K
renamenx K free:none
restore K 0 DUMP:free:number
restore K 0 DUMP:free:set REPLACE
restore K 0 DUMP:free:zset REPLACE
restore-asking K 0 DUMP:free:number
rpop K
rpoplpush free:list K
rpoplpush K free:list
rpush K 9
rpushx K 9
sadd K 9
sdiffstore K free:set free:none
sdiffstore free:none K free:set
set K 9
set K 9 EX 10
set K 9 NX
setbit K 2 1
setbit K 2 0
setex K 10 9
setnx K 9
setrange K 0 9
setrange K 0 a
sinterstore K free:set
smove free:set K 9
smove K free:set 1
sort free:list BY nosort STORE K
spop K
spop K 9
srem K 1
sunionstore K free:set
swapdb 0 1
unlink K
xack free:stream g 1-1
xadd K 9-1 a 1
xautoclaim K g c 0 0
xclaim K g c 0 1-1
xdel K 1-1
xgroup CREATE K g $ MKSTREAM
xgroup CREATE free:stream K $
xgroup CREATECONSUMER free:stream g K
xgroup DELCONSUMER free:stream g K
xgroup DESTROY K g
xgroup SETID free:stream g $
xreadgroup GROUP g c STREAMS free:stream >
xsetid K 9-9
xtrim K MAXLEN 0
zadd K 9 9
zadd K INCR 9 9
zadd K XX CH 9 1
zdiffstore K 1 free:zset
zincrby K 9 9
zincrby K 9 1
zinterstore K 1 free:zset
zmpop 1 K MIN
zpopmax K
zpopmin K
zrangestore K free:zset 0 -1
zrem K 1
zremrangebylex K - +
zremrangebyrank K 0 -1
zremrangebyscore K -inf +inf
zunionstore K 2 free:zset free:set
";

/// How a call is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Plain,
    Transaction,
    Script,
}

struct Tried {
    test: TestEngine,
    client: ClientId,
    /// All rows as they are before a call.
    before: String,
}

impl Tried {
    fn new() -> Tried {
        let mut test = TestEngine::governed(1, SCHEMA);
        let client = test.engine.connect();
        let mut tried = Tried { test, client, before: "nothing yet".to_owned() };
        tried.reset();
        tried
    }

    /// Begins anew, if anything changed; whether it did.
    fn reset(&mut self) -> bool {
        if self.test.state() == self.before {
            return false;
        }
        for row in ["FLUSHALL"].iter().chain(&ROWS) {
            let reply = self.words(&split(row));
            assert!(!reply.starts_with(b"-"), "{row}: {}", reply.escape_ascii());
        }
        self.before = self.test.state();
        true
    }

    fn words(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        self.test.ask(self.client, words).1
    }

    /// The elements of a reply, however deep, as texts.
    fn elements(&mut self, call: &str) -> Vec<String> {
        let reply = self.words(&split(call));
        let mut rest = &reply[..];
        let mut found = Vec::new();
        while let Some(end) = rest.windows(2).position(|at| at == b"\r\n") {
            let (head, tail) = (&rest[..end], &rest[end + 2..]);
            rest = tail;
            let count = || String::from_utf8_lossy(&head[1..]).parse::<i64>().unwrap_or(0);
            match head.first() {
                Some(b'$') if count() >= 0 => {
                    let size = count() as usize;
                    found.push(tail[..size].escape_ascii().to_string());
                    rest = &tail[size + 2..];
                }
                Some(b'*' | b'$') => {}
                _ => found.push(head.escape_ascii().to_string()),
            }
        }
        found
    }

    /// All that is derived, as it is.
    fn derived(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all = BTreeMap::new();
        for pattern in ["by:*", "of:*", "top", "low", "on", "gone"] {
            for key in self.elements(&format!("KEYS {pattern}")) {
                let held = match pattern {
                    "by:*" | "of:*" => self.elements(&format!("GET {key}")),
                    "on" | "gone" => self.elements(&format!("SMEMBERS {key}")),
                    _ => {
                        let held = self.elements(&format!("ZRANGE {key} 0 -1 WITHSCORES"));
                        held.chunks(2).map(|pair| pair.join("=")).collect()
                    }
                };
                let ttl = self.elements(&format!("PTTL {key}")).concat();
                let held = held.into_iter().chain((ttl != ":-1").then_some(ttl));
                all.insert(key, held.collect());
            }
        }
        all
    }

    /// The same, reckoned from the source rows.
    fn reckoned(&mut self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut put = |key: String, held: String| all.entry(key).or_default().insert(held);
        for key in self.elements("KEYS u:*") {
            let id = &key[2..];
            let held = self.elements(&format!("HMGET {key} e s st"));
            let [e, s, st] = &held[..] else { panic!("{key} holds {held:?}") };
            put(format!("by:{e}"), id.to_owned());
            put(format!("of:{id}"), s.clone());
            put("top".to_owned(), format!("{id}={s}"));
            if st != "off" {
                put(st.clone(), id.to_owned());
            }
        }
        all
    }

    /// Each pair of a set and its mirror, from one side.
    fn pairs(&mut self, pattern: &str, is_turned: bool) -> BTreeSet<(String, String)> {
        let mut pairs = BTreeSet::new();
        for key in self.elements(&format!("KEYS {pattern}")) {
            for member in self.elements(&format!("SMEMBERS {key}")) {
                let own = key[2..].to_owned();
                pairs.insert(if is_turned { (member, own) } else { (own, member) });
            }
        }
        pairs
    }

    /// What is wrong with derived keys.
    fn wrong(&mut self) -> Option<String> {
        let (is, should) = (self.derived(), self.reckoned());
        if is != should {
            return Some(format!("derived are {is:?} and should be {should:?}"));
        }
        let (there, back) = (self.pairs("f:*", false), self.pairs("g:*", true));
        if there != back {
            return Some(format!("mirrored are {there:?} and {back:?}"));
        }
        for key in ["seen", "seen_none", "seen_at", "seen_at_none"] {
            let read = if key.contains("at") { "ZRANGE" } else { "SMEMBERS" };
            let span = if key.contains("at") { " 0 -1" } else { "" };
            for member in self.elements(&format!("{read} {key}{span}")) {
                if self.elements(&format!("EXISTS u:{member}")) != [":1"] {
                    return Some(format!("{key} has {member}, which is not there"));
                }
            }
        }
        let misfits = self.elements("KEYWARD MISFITS");
        (misfits.len() > 1).then(|| format!("misfits: {misfits:?}"))
    }

    /// The words of a call on this key.
    fn call_on(&mut self, call: &str, key: &str) -> Vec<Vec<u8>> {
        let word = |word: &str| match (word, word.strip_prefix("DUMP:")) {
            ("K", _) => key.as_bytes().to_vec(),
            (_, Some(of)) => {
                let dump = self.words(&split(&format!("DUMP {of}")));
                let start = dump.windows(2).position(|at| at == b"\r\n").expect("a bulk") + 2;
                dump[start..dump.len() - 2].to_vec()
            }
            _ => word.as_bytes().to_vec(),
        };
        call.split(' ').map(word).collect()
    }

    /// Sends a call; the reply, of a transaction with its end.
    fn send(&mut self, way: Way, words: &[Vec<u8>]) -> Vec<u8> {
        match way {
            Way::Plain => match self.test.ask(self.client, words) {
                (Progress::Blocked, _) => {
                    self.client = self.test.engine.connect();
                    b"*-1\r\n".to_vec()
                }
                (_, reply) => reply,
            },
            Way::Transaction => {
                self.words(&split("MULTI"));
                let mut reply = self.words(words);
                reply.extend(self.words(&split("EXEC")));
                reply
            }
            Way::Script => {
                let eval = ["EVAL", "return redis.call(unpack(ARGV))", "0"];
                let eval = eval.iter().map(|word| word.as_bytes().to_vec());
                self.words(&eval.chain(words.iter().cloned()).collect::<Vec<_>>())
            }
        }
    }
}

fn split(call: &str) -> Vec<Vec<u8>> {
    call.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

fn calls() -> impl Iterator<Item = &'static str> {
    CALLS.lines().filter(|line| !line.is_empty())
}

#[test]
fn every_command_that_writes_is_tried_on_derived_keys() {
    // FUNCTION writes no keys.
    let writes = |command: &&Command| {
        command.flags.has(Flag::Write) && !command.name.starts_with("function")
    };
    for command in COMMANDS.iter().filter(writes) {
        let name = command.name.replace('|', " ");
        let is_it = |call: &str| {
            call.to_lowercase().split(' ').next() == Some(&name)
                || call.to_lowercase().starts_with(&format!("{name} "))
        };
        assert!(calls().any(is_it), "{name} is tried by no call");
    }
    // And each call is one that does something somewhere.
    let elsewhere = ["migrate", "move", "restore-asking", "swapdb"];
    let mut tried = Tried::new();
    for call in calls().filter(|call| !elsewhere.iter().any(|name| call.starts_with(name))) {
        let works = |key: &&str| {
            tried.reset();
            let words = tried.call_on(call, key);
            !tried.send(Way::Plain, &words).starts_with(b"-")
        };
        assert!(FREE.iter().any(works), "{call} works nowhere");
    }
}

#[test]
fn no_command_leaves_a_derived_key_that_contradicts_its_source() {
    let (mut faults, mut changed) = (Vec::new(), BTreeSet::new());
    let mut tried = Tried::new();
    for call in calls() {
        for key in DERIVED {
            for way in [Way::Plain, Way::Transaction, Way::Script] {
                tried.reset();
                let words = tried.call_on(call, key);
                let reply = tried.send(way, &words);
                if tried.test.state() == tried.before {
                    continue;
                }
                changed.insert(call);
                if let Some(wrong) = tried.wrong() {
                    let reply = reply.escape_ascii();
                    faults.push(format!("{way:?} {call} on {key}: {reply}: {wrong}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(changed.len() > 20, "little was tried: {changed:?}");
}

#[test]
fn explain_says_of_every_write_to_a_derived_key_whether_it_is_refused() {
    let mut faults = Vec::new();
    let mut tried = Tried::new();
    for call in calls() {
        for key in DERIVED {
            tried.reset();
            let words = tried.call_on(call, key);
            let asked = split("KEYWARD EXPLAIN").into_iter().chain(words.iter().cloned());
            let told = tried.words(&asked.collect::<Vec<_>>());
            let told = String::from_utf8_lossy(&told).into_owned();
            let reply = tried.send(Way::Plain, &words);
            // What Redis itself refuses may be refused by the schema too.
            let is_refused = reply.starts_with(b"-SCHEMA");
            let is_judged = is_refused || !reply.starts_with(b"-");
            let is_tried = !told.contains("Command: ");
            if is_judged && is_tried && told.contains("Refused: ") != is_refused {
                faults.push(format!("{call} on {key}: {}: {told}", reply.escape_ascii()));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
