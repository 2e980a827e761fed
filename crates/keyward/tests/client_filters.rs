//! CLIENT LIST, KILL, SETINFO and NO-TOUCH beyond Redis 7.0, beside a real Valkey 9.1.
//!
//! A reply must be Valkey's, byte for byte, and what Redis 7.0 takes must be taken: where only it
//! does, as it does; where both refuse, in its words unless those are a syntax error. Lines of
//! CLIENT LIST differ from server to server, so of those it is compared whom they are about.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, call, installed_valkey};
use std::path::Path;

/// Who is connected, in this order; the last is whoever asks.
const NAMES: [&str; 6] = ["named", "listener", "ann", "queueing", "blocked", "own"];
const SYNTAX: &[u8] = b"-ERR syntax error\r\n";

/// A server with clients.
struct Side {
    server: Server,
    name: &'static str,
}

/// The connections to a server.
struct Guests {
    clients: Vec<Client>,
    ids: Vec<String>,
    addresses: Vec<String>,
}

impl Side {
    fn all() -> [Side; 3] {
        let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
        let valkey = installed_valkey().unwrap_or_else(|why| panic!("{why}"));
        let valkey = Server::start(&valkey, &["--save", ""]).unwrap_or_else(|why| panic!("{why}"));
        [
            Side { server: Server::keyward(program, &[]), name: "Keyward" },
            Side { server: valkey, name: "Valkey" },
            Side { server: Server::redis(&[]), name: "Redis" },
        ]
    }

    fn guests(&self) -> Guests {
        let mut clients: Vec<Client> = NAMES.iter().map(|_| self.server.client()).collect();
        call(&mut clients[5], "ACL SETUSER ann on nopass ~* &* +@all");
        let said = [
            (0, "CLIENT SETNAME bee"),
            (0, "SELECT 3"),
            (0, "CLIENT SETINFO LIB-NAME lib"),
            (0, "CLIENT SETINFO LIB-VER 1.0"),
            (0, "CLIENT NO-TOUCH ON"),
            (1, "SUBSCRIBE news"),
            (2, "AUTH ann x"),
            (2, "CLIENT TRACKING ON"),
            (2, "CLIENT NO-EVICT ON"),
            (3, "MULTI"),
        ];
        let id = |client: &mut Client| match call(client, "CLIENT ID") {
            Frame::Integer(id) => id.to_string(),
            other => panic!("{other:?}"),
        };
        let ids: Vec<String> = clients.iter_mut().map(id).collect();
        for (place, command) in said {
            // Redis 7.0 does not know all of them.
            raw(&mut clients[place], command);
        }
        clients[4].send_command(["BLPOP", "nothing", "0"]).expect("it is sent");
        let list = text(&raw(&mut clients[5], "CLIENT LIST"));
        let address = |id: &String| {
            let line = list.lines().find(|line| line.contains(&format!("id={id} ")));
            let words = line.unwrap_or_else(|| panic!("{id} is not in {list}")).split(' ');
            let found = words.filter_map(|word| word.strip_prefix("addr=")).next();
            found.expect("an address").to_owned()
        };
        let addresses = ids.iter().map(address).collect();
        let blocked = format!("id={} ", ids[4]);
        while !text(&raw(&mut clients[5], "CLIENT LIST"))
            .lines()
            .any(|line| line.contains(&blocked) && line.contains("flags=b"))
        {
            std::thread::yield_now();
        }
        Guests { clients, ids, addresses }
    }
}

impl Guests {
    /// A filter with the ids and addresses of these.
    fn filter(&self, filter: &str, side: &Side) -> String {
        let mut text = filter.replace("@here", &side.server.address().to_string());
        for (place, name) in NAMES.iter().enumerate() {
            text = text.replace(&format!("#{name}"), &self.ids[place]);
            text = text.replace(&format!("@{name}"), &self.addresses[place]);
        }
        text
    }

    /// Whom a list is about, or the error.
    fn list(&mut self, command: &str) -> Vec<u8> {
        let reply = raw(&mut self.clients[5], command);
        if reply.starts_with(b"-") {
            return reply;
        }
        let reply = text(&reply);
        let is_listed = |id: &String| reply.lines().any(|line| line.contains(&format!("id={id} ")));
        let listed: Vec<&str> =
            (0..6).filter(|place| is_listed(&self.ids[*place])).map(|place| NAMES[place]).collect();
        listed.join(" ").into_bytes()
    }

    /// The reply to a command, and who is there no more.
    fn kill(&mut self, command: &str, side: &Side) -> Vec<u8> {
        let mut reply = raw(&mut self.clients[5], command);
        for (place, name) in NAMES.iter().enumerate().filter(|(place, _)| *place != 4) {
            // Whoever was killed may still be told that this was queued or taken.
            let is_there = (0..2).all(|_| self.clients[place].call(["PING"]).is_ok());
            if !is_there {
                reply.extend(format!(" {name}").bytes());
            }
        }
        // One that waits would wait for its reply; it is there if it can be called back.
        let unblocked = side.server.client().call(["CLIENT", "UNBLOCK", &self.ids[4]]);
        if !matches!(unblocked, Ok(Frame::Integer(1))) {
            reply.extend(b" blocked");
        }
        reply
    }
}

fn raw(client: &mut Client, command: &str) -> Vec<u8> {
    client.send_command(command.split(' ').collect::<Vec<_>>()).expect("it is sent");
    client.receive_raw().unwrap_or_else(|error| panic!("{command}: {error}")).1
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Filters that Valkey has, and what may be behind them.
const VALUES: &[(&str, &[&str])] = &[
    ("ID", &["#named", "#named #ann", "#named #ann #own", "0", "-1", "999999", "#ann x", "1.5"]),
    ("ADDR", &["@named", "127.0.0.1:1", "x", "@own"]),
    ("LADDR", &["@here", "127.0.0.1:1", "x"]),
    ("IP", &["127.0.0.1", "127.0.0.2", "x", "[::1]"]),
    ("USER", &["default", "ann", "nobody"]),
    ("TYPE", &["normal", "pubsub", "replica", "slave", "master", "primary", "NORMAL", "odd"]),
    ("NAME", &["bee", "cee", "BEE"]),
    ("LIB-NAME", &["lib", "other"]),
    ("LIB-VER", &["1.0", "2.0"]),
    ("DB", &["0", "3", "15", "16", "-1", "x"]),
    (
        "FLAGS",
        &["N", "P", "b", "x", "t", "e", "T", "NP", "te", "z", "Pz9", "bcdeirtuxABEIMNOPRSTU"],
    ),
    ("CAPA", &["r", "z", "rr"]),
    ("MAXAGE", &["0", "-1", "1", "1000000", "x", "9223372036854775808"]),
    ("IDLE", &["0", "-1", "1000000", "x", "9223372036854775808"]),
    ("SKIPME", &["yes", "no", "YES", "maybe"]),
];

/// Filters of several.
const TOGETHER: &[&str] = &[
    "TYPE normal NAME bee",
    "TYPE normal TYPE pubsub",
    "NAME bee NAME cee",
    "NAME cee NAME bee",
    "ID #named NOT-ID #named",
    "ID #named NAME bee DB 3",
    "ID #named ID #ann",
    "ID #named #ann TYPE normal",
    "NOT-ID #named NOT-ID #ann",
    "NOT-NAME bee NOT-USER ann",
    "USER ann FLAGS te",
    "FLAGS N NOT-FLAGS T",
    "NOT-TYPE pubsub NOT-DB 3 NOT-FLAGS b",
    "IP 127.0.0.1 NOT-ADDR @named",
    "NOT-LADDR @here",
    "LIB-NAME lib LIB-VER 2.0",
    "SKIPME yes IP 127.0.0.1",
    "SKIPME no IP 127.0.0.1",
    "SKIPME no SKIPME yes",
    "NAME",
    "NAME bee DB",
    "bogus x",
    "NOT- x",
    "NOT x",
    "NOT-NOT-ID #named",
    "ID",
    "id #named name bee",
];

fn filters() -> Vec<String> {
    let mut all: Vec<String> = TOGETHER.iter().map(|filter| (*filter).to_owned()).collect();
    for (name, values) in VALUES {
        for value in *values {
            all.push(format!("{name} {value}"));
            all.push(format!("NOT-{name} {value}"));
        }
    }
    all
}

/// What is right, by what the other two reply.
fn right(valkey: Vec<u8>, redis: Vec<u8>) -> Vec<u8> {
    let is_refused = |reply: &[u8]| reply.starts_with(b"-");
    match (is_refused(&valkey), is_refused(&redis)) {
        (true, false) => redis,
        (true, true) if !redis.starts_with(SYNTAX) => redis,
        _ => valkey,
    }
}

#[test]
fn clients_are_listed_as_valkey_lists_them() {
    let sides = Side::all();
    let mut guests = sides.each_ref().map(Side::guests);
    let mut wrong = Vec::new();
    for filter in filters() {
        let mut replies = sides.iter().zip(&mut guests).map(|(side, guests)| {
            let filter = guests.filter(&filter, side);
            guests.list(&format!("CLIENT LIST {filter}"))
        });
        let [ours, valkey, redis] = std::array::from_fn(|_| replies.next().expect("three"));
        let right = right(valkey, redis);
        if ours != right {
            wrong.push(format!("{filter}: {} and not {}", text(&ours), text(&right)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn clients_are_killed_as_valkey_kills_them() {
    let sides = Side::all();
    let mut wrong = Vec::new();
    let by_address = ["@named", "@own", "127.0.0.1:1", "x"].map(str::to_owned);
    for filter in filters().into_iter().chain(by_address) {
        let mut replies = sides.iter().map(|side| {
            let mut guests = side.guests();
            let filter = guests.filter(&filter, side);
            guests.kill(&format!("CLIENT KILL {filter}"), side)
        });
        let [ours, valkey, redis] = std::array::from_fn(|_| replies.next().expect("three"));
        let right = right(valkey, redis);
        if ours != right {
            wrong.push(format!("{filter}: {} and not {}", text(&ours), text(&right)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_clients_of_today_say_of_themselves_is_taken_as_valkey_takes_it() {
    const COMMANDS: &[&str] = &[
        "CLIENT SETINFO LIB-NAME redis-py",
        "CLIENT SETINFO lib-ver 5.0.1",
        "CLIENT SETINFO LIB-VER",
        "CLIENT SETINFO",
        "CLIENT SETINFO LIB-NAME a b",
        "CLIENT SETINFO OTHER x",
        "CLIENT SETINFO other x",
        "CLIENT SETINFO LIB-NAME redis-py(v1;x)",
        "CLIENT SETINFO lib-name a\u{e9}",
        "CLIENT SETINFO LIB-NAME a\nb",
        "CLIENT SETINFO LIB-NAME ",
        "CLIENT NO-TOUCH ON",
        "CLIENT NO-TOUCH off",
        "CLIENT NO-TOUCH maybe",
        "CLIENT NO-TOUCH",
        "CLIENT NO-TOUCH ON OFF",
    ];
    let [ours, valkey, _] = Side::all();
    for greeting in ["PING", "HELLO 3"] {
        let (mut own, mut theirs) = (ours.server.client(), valkey.server.client());
        call(&mut own, greeting);
        call(&mut theirs, greeting);
        for command in COMMANDS {
            let replies = (text(&raw(&mut own, command)), text(&raw(&mut theirs, command)));
            assert_eq!(replies.0, replies.1, "{command} to {} and {}", ours.name, valkey.name);
            let told = [&mut own, &mut theirs].map(|client| {
                let line = text(&raw(client, "CLIENT INFO"));
                let words = line.trim_end().split(' ').map(str::to_owned);
                let word = |name: &str| {
                    words.clone().find(|word| word.starts_with(name)).unwrap_or_default()
                };
                // What nobody told is not shown here, and empty there.
                let library = [word("lib-name="), word("lib-ver=")].map(|word| {
                    word.split_once('=').map(|(_, text)| text.to_owned()).unwrap_or_default()
                });
                (word("flags="), library)
            });
            assert_eq!(told[0], told[1], "CLIENT INFO behind {command}");
        }
    }
}
