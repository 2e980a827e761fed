//! Large ends against a model: an engine that takes its time answers as one that does not.

use crate::harness::{START_MS, TestEngine, request};
use keyward_engine::{ClientId, Delivery, MemoryLimit, Progress, Random, Replay, Tunables};
use keyward_resp::{Batch, RequestLimits, RequestParser};

pub(crate) const SCHEMA: &str = r#"
[keyspace]
name = "ends"
unknown = "allow"

[key."user:{id:uint}"]
type = "string"
ttl  = "none"

[key."user:{id:uint}:following"]
type = "set"
ttl  = "none"

[key."user:{id:uint}:followers"]
type       = "set"
inverse    = "user:{member}:following"
max_fanout = 100000

[key."session:{sid}"]
type  = "string"
ttl   = { given = true, max = "1d", default = "1h" }
evict = "first"

[key."item:{sid}:{n:uint}"]
type = "string"
ttl  = { with = "session:{sid}" }
evict = "never"

[key."cart:{sid}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }
evict = "never"

[key."line:{sid}:{n:uint}"]
type = "string"
value = "str"
ttl  = { with = "cart:{sid}" }
evict = "never"

[key."lines:{sid}"]
type       = "set"
members    = { of = "line:{sid}:{n}" }
max_fanout = 100000

[key."owner:{code}"]
type       = "string"
lookup     = { of = "badge:{bid:uint}" }
max_fanout = 100000

[key."badge:{bid:uint}"]
type  = "string"
value = "str"
ttl   = { with = "team:1" }
evict = "never"

[key."team:{t:uint}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }
evict = "never"

[key."recent"]
type    = "zset"
ttl     = "none"
follows = "badge:{member}"

[key."keeper:{o:uint}"]
type  = "string"
ttl   = { given = true, max = "1d", default = "1h" }
evict = "never"

[key."pet:{o:uint}:{n:uint}"]
type  = "string"
ttl   = { with = "keeper:{o}" }
evict = "never"

[key."pets:{n:uint}"]
type       = "set"
members    = { of = "pet:{o}:{n}" }
max_fanout = 100000

[key."top:{t}"]
type  = "string"
ttl   = { given = true, max = "1d", default = "1h" }
evict = "first"

[key."mid:{t}:{m:uint}"]
type = "string"
ttl  = { with = "top:{t}" }
evict = "never"

[key."leaf:{t}:{m:uint}:{l:uint}"]
type = "string"
ttl  = { with = "mid:{t}:{m}" }
evict = "never"

[key."leaves:{t}:{m:uint}"]
type       = "set"
members    = { of = "leaf:{t}:{m}:{l}" }
max_fanout = 100000
"#;

pub(crate) fn members(first: u64, count: u64) -> String {
    (first..first + count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

/// The reply to a command, for which the client may have to wait.
pub(crate) fn ask(test: &mut TestEngine, client: ClientId, command: &str) -> String {
    let (progress, out) = test.send(client, &request(command));
    let mut reply = String::from_utf8(out).expect("tests use text");
    let mut waits = progress == Progress::Blocked;
    while waits {
        test.tick();
        let is_free =
            |delivery: &Delivery| matches!(delivery, Delivery::Unblocked(to) if *to == client);
        if test.deliveries().iter().any(is_free) {
            reply += &test.resume(client);
            waits = reply.is_empty();
        }
    }
    reply
}

/// The log that was written, or so many commands of it, loaded by an engine at a time.
pub(crate) fn loaded(log: &[u8], most: usize, now_ms: i64) -> TestEngine {
    loaded_under(SCHEMA, log, most, now_ms)
}

/// The same, under another schema.
pub(crate) fn loaded_under(schema: &str, log: &[u8], most: usize, now_ms: i64) -> TestEngine {
    let (mut loaded, _) = new_engine((9, schema), 64);
    loaded.set_time(now_ms);
    loaded.engine.begin_loading();
    let mut buffer = log.to_vec();
    let mut batch = Batch::new();
    let limits = RequestLimits { batch_commands_max: most.max(1), ..RequestLimits::default() };
    let parsed = RequestParser::new().parse(&mut buffer, &limits, &mut batch);
    assert!(parsed.is_ok(), "the log is whole");
    let mut replay = Replay::new();
    loaded
        .engine
        .load_commands(&mut loaded.host, &mut replay, &buffer, &batch)
        .expect("the log can be loaded");
    assert_eq!(replay.failures, 0);
    // As a server does, which logs the rest of large ends, and then what it is told.
    loaded.effects();
    let is_amid_ends = loaded.engine.has_pending_ends();
    loaded.engine.log_changes(is_amid_ends);
    let mut settling = loaded.engine.begin_settling(false);
    while loaded.engine.settle_rows(&mut loaded.host, &mut settling, 100).expect("nothing is asked")
    {
    }
    loaded.engine.end_loading(&mut loaded.host, Default::default());
    if !is_amid_ends {
        loaded.engine.log_changes(true);
    }
    loaded
}

/// Two engines that are told the same. One takes a step now and then; the other finishes
/// every end at once.
pub(crate) struct Pair {
    pub(crate) lazy: TestEngine,
    eager: TestEngine,
    pub(crate) clients: Vec<ClientId>,
    random: Random,
    /// What is removed at once.
    few: usize,
    pub(crate) log: Vec<u8>,
    tally: Tally,
}

/// A model whose commands do nothing finds nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    scripts: u64,
    failed_scripts: u64,
    /// Commands after which an end was pending.
    pending: u64,
    /// Commands that found or changed one row.
    rows: u64,
    /// Rows that were evicted.
    evicted: u64,
    /// Transactions that broke the schema at their end.
    undone_units: u64,
    /// Members popped by chance, and keys drawn so.
    popped: u64,
    drawn: u64,
    /// Units that looked at what they had made go.
    looks: u64,
}

fn new_engine((seed, schema): (u64, &str), few: usize) -> (TestEngine, Vec<ClientId>) {
    let mut test = TestEngine::governed(seed, schema);
    // Nothing is said to be in use but where all is to be evicted.
    let memory = MemoryLimit { bytes_max: 1, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    test.engine.keyspace().set_removed_at_once(few);
    let clients = (0..3).map(|_| test.engine.connect()).collect();
    (test, clients)
}

impl Pair {
    pub(crate) fn new(seed: u64) -> Pair {
        let few = [0, 1, 5, 64][seed as usize % 4];
        let (mut lazy, clients) = new_engine((seed, SCHEMA), few);
        let (eager, same) = new_engine((seed, SCHEMA), usize::MAX);
        assert_eq!(clients, same);
        lazy.engine.log_changes(true);
        Pair {
            lazy,
            eager,
            clients,
            random: Random::from_seed(seed),
            few,
            log: Vec::new(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// How many of something: often few where all that goes is put off.
    fn count(&mut self) -> u64 {
        match self.few {
            64 => 1 + self.below(200),
            _ => 1 + self.below(12),
        }
    }

    /// How many companions a leader has at most.
    fn most(&self) -> u64 {
        if self.few == 64 { 200 } else { 16 }
    }

    /// A command whose reply depends on no order.
    pub(crate) fn command(&mut self) -> String {
        match self.below(12) {
            0 => self.script(),
            1..=4 => self.set_command(),
            5..=7 => self.companion_command(),
            8 => self.crossed_command(),
            9 => self.nested_command(),
            10 => self.look(),
            _ => match self.below(30) {
                0 => "FLUSHALL".to_owned(),
                1..=9 => "KEYS *".to_owned(),
                _ => self.look(),
            },
        }
    }

    fn look(&mut self) -> String {
        let peer = 100 + self.below(300);
        let (sid, n) = (["a", "b"][self.below(2) as usize], {
            let most = self.most();
            self.below(most)
        });
        match self.below(20) {
            12 => format!("GET badge:{n}"),
            13 => format!("TYPE line:{sid}:{n}"),
            14 => format!("EXISTS lines:{sid} owner:code{n} leaves:{sid}:1 recent pets:{n}"),
            15 => format!("SORT pets:{}", self.below(8)),
            16 => format!("SISMEMBER lines:{sid} {n}"),
            17 => "ZRANGE recent 0 -1".to_owned(),
            18 => format!("PTTL pet:{}:{}", self.below(3), self.below(8)),
            19 => format!("TTL mid:{sid}:{}", self.below(4)),
            9 => format!("SORT digits BY item:{sid}:* GET # GET line:{sid}:*"),
            10 => format!("SORT_RO digits DESC GET leaf:{sid}:1:* GET owner:code*"),
            11 => format!("SORT user:{}:followers LIMIT 0 9", self.below(4)),
            0 => format!("SMEMBERS user:{peer}:following"),
            1 => format!("SCARD user:{peer}:following"),
            2 => format!("EXISTS user:{peer}:following item:{sid}:{n} mid:{sid}:3 leaf:{sid}:3:3"),
            3 => format!("GET item:{sid}:{n}"),
            4 => format!("PTTL item:{sid}:{n}"),
            5 => format!("SCARD lines:{sid}"),
            6 => format!("GET owner:code{}", self.below(400)),
            7 => format!("PTTL leaf:{sid}:{}:{}", self.below(4), self.below(8)),
            _ => format!("SCARD leaves:{sid}:{}", self.below(4)),
        }
    }

    pub(crate) fn set_command(&mut self) -> String {
        let (user, other) = (self.below(4), self.below(4));
        let peer = 100 + self.below(300);
        let (first, count) = (100 + self.below(200), self.count());
        match self.below(31) {
            24 => format!("RENAME elsewhere:{other} elsewhere:{user}"),
            25 => format!("SDIFFSTORE elsewhere:{other} elsewhere:{other} user:3:followers"),
            26 => format!("SMOVE elsewhere:{other} elsewhere:{user} {peer}"),
            27 => format!("SUNIONSTORE elsewhere:{other} user:{user}:followers"),
            28 => format!("PEXPIRE elsewhere:{other} {}", 1 + self.below(9_000)),
            29 => format!("COPY elsewhere:{other} elsewhere:{user} REPLACE"),
            30 => format!("RENAME user:{user}:followers elsewhere:{other}"),
            22 => format!("RENAME elsewhere:{other} user:{user}:followers"),
            23 => match self.below(3) {
                0 => format!("SREM elsewhere:{other} {}", members(first, count)),
                1 => format!("SADD elsewhere:{other} {peer}"),
                _ => format!("DEL elsewhere:{other}"),
            },
            18 => format!("SPOP user:{user}:followers 1000"),
            19 => {
                format!("SINTERSTORE user:{user}:followers user:{user}:followers user:3:followers")
            }
            20 => {
                format!("SUNIONSTORE user:{user}:followers user:{user}:followers user:3:followers")
            }
            21 => format!("SREM user:{user}:followers {}", members(100, 400)),
            16 => format!("MOVE user:{user}:followers 1"),
            17 => format!("RENAME user:{user}:followers elsewhere:{other}"),
            0..=4 => format!("SADD user:{user}:followers {}", members(first, count)),
            5 => format!("DEL user:{user}:followers"),
            6 => format!("UNLINK user:{user}:followers user:{other}:followers"),
            7 => format!("SREM user:{user}:followers {}", members(first, count)),
            8 => format!("SUNIONSTORE user:{user}:followers user:{other}:followers"),
            9 => format!("SDIFFSTORE user:{user}:followers user:{user}:followers user:3:followers"),
            10 => format!("RENAME user:{user}:followers user:{other}:followers"),
            11 => format!("PEXPIRE user:{user}:followers 0"),
            12 => format!("COPY user:{user}:followers user:{other}:followers REPLACE"),
            13 => format!("SADD user:{peer}:following {user}"),
            14 => format!("SREM user:{peer}:following {user}"),
            _ => format!("DEL user:{peer}:following"),
        }
    }

    pub(crate) fn companion_command(&mut self) -> String {
        let (sid, n) = (["a", "b"][self.below(2) as usize], {
            let most = self.most();
            self.below(most)
        });
        let seconds = 1 + self.below(20);
        match self.below(23) {
            0 | 18 | 19 => format!("SET session:{sid} x EX {seconds}"),
            1..=3 => format!("SET item:{sid}:{n} {}", self.below(9)),
            4 => format!("DEL session:{sid}"),
            5 | 6 => format!("EXPIRE session:{sid} {seconds}"),
            7 => format!("PERSIST session:{sid}"),
            8 => format!("DEL item:{sid}:{n}"),
            9 | 20 | 21 => format!("SET cart:{sid} x EX {seconds}"),
            10..=12 => format!("SET line:{sid}:{n} {}", self.below(9)),
            13 => format!("DEL cart:{sid}"),
            14 | 22 => format!("SET team:1 x EX {seconds}"),
            15 | 16 => format!("SET badge:{n} code{}", self.below(400)),
            _ => "DEL team:1".to_owned(),
        }
    }

    /// Rows that live with one each of some, and sets that have something of all of these.
    fn crossed_command(&mut self) -> String {
        let most = self.most();
        let (keeper, n) = (self.below(3), self.below(most));
        match self.below(12) {
            0 | 1 => format!("SET keeper:{keeper} x EX {}", 1 + self.below(20)),
            2..=5 => format!("SET pet:{keeper}:{n} x"),
            6 => format!("DEL keeper:{keeper}"),
            7 => format!("DEL pet:{keeper}:{n}"),
            8 | 9 => format!("ZADD recent {} {n}", self.below(9)),
            10 => format!("ZREM recent {n}"),
            _ => format!("ZREMRANGEBYRANK recent {} {}", self.below(3), 90 + self.below(90)),
        }
    }

    /// Something ends, and is looked at in the same unit.
    fn end_and_look(&mut self) -> Vec<String> {
        let sid = ["a", "b"][self.below(2) as usize];
        let end = match self.below(8) {
            0 => format!("DEL session:{sid}"),
            1 => format!("DEL cart:{sid}"),
            2 => "DEL team:1".to_owned(),
            3 => format!("DEL top:{sid}"),
            4 => format!("DEL keeper:{}", self.below(3)),
            5 => format!("RENAME user:{}:followers elsewhere:1", self.below(4)),
            6 => format!("MOVE user:{}:followers 1", self.below(4)),
            _ => format!("DEL user:{}:followers", self.below(4)),
        };
        let mut commands = vec![end];
        for _ in 0..1 + self.below(5) {
            commands.push(self.look());
        }
        commands
    }

    /// These commands as a script that gives all replies.
    fn as_script(commands: &[String], end: &str) -> String {
        let mut lua = String::from("return(function(r)");
        for (n, command) in commands.iter().enumerate() {
            let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
            let call = format!("redis.pcall({})", words.join(","));
            // The order of members is nobody's business.
            let sorted = "(function(t)table.sort(t)return(t)end)";
            match ["SMEMBERS", "SPOP"].iter().any(|name| command.starts_with(name)) {
                true => lua.push_str(&format!("r[{}]={sorted}({call});", n + 1)),
                false => lua.push_str(&format!("r[{}]={call};", n + 1)),
            }
        }
        format!("EVAL {lua}{end}end)({{}}) 0")
    }

    pub(crate) fn nested_command(&mut self) -> String {
        let (sid, m, l) = (["a", "b"][self.below(2) as usize], self.below(4), self.below(8));
        let seconds = 1 + self.below(20);
        match self.below(12) {
            0 | 10 | 11 => format!("SET top:{sid} x EX {seconds}"),
            1 | 2 => format!("SET mid:{sid}:{m} x"),
            3..=6 => format!("SET leaf:{sid}:{m}:{l} x"),
            7 => format!("EXPIRE top:{sid} {seconds}"),
            8 => format!("DEL mid:{sid}:{m}"),
            _ => format!("DEL top:{sid}"),
        }
    }

    /// A script of some commands, which may end in an error and leaves nothing behind then.
    fn script(&mut self) -> String {
        let mut commands = Vec::new();
        for _ in 0..1 + self.below(5) {
            commands.push(match self.below(5) {
                0 => self.look(),
                1 => self.set_command(),
                2 => self.companion_command(),
                3 => self.crossed_command(),
                _ => self.nested_command(),
            });
        }
        let end = match self.below(4) {
            0 => "return(redis.error_reply('ERR_enough'))",
            1 => "error('enough')",
            _ => "return(r)",
        };
        Pair::as_script(&commands, end)
    }

    /// Fills the two engines.
    pub(crate) fn fill(&mut self) {
        let rows = if self.few == 64 { 150 } else { 12 };
        self.both(0, &format!("RPUSH digits {}", members(0, 24)));
        for sid in ["a", "b"] {
            for leader in ["session", "cart", "top"] {
                self.both(0, &format!("SET {leader}:{sid} x EX 100"));
            }
            for n in 0..rows {
                self.both(0, &format!("SET item:{sid}:{n} x"));
                self.both(0, &format!("SET line:{sid}:{n} x"));
                self.both(0, &format!("SET mid:{sid}:{} x", n % 4));
                self.both(0, &format!("SET leaf:{sid}:{}:{n} x", n % 4));
            }
        }
        self.both(0, "SET team:1 x EX 100");
        (0..3).for_each(|o| {
            self.both(0, &format!("SET keeper:{o} x EX 100"));
        });
        for n in 0..rows {
            self.both(0, &format!("SET badge:{n} code{n}"));
            self.both(0, &format!("ZADD recent {n} {n}"));
            self.both(0, &format!("SET pet:{}:{n} x", n % 3));
            self.both(0, &format!("SET pet:{}:{n} x", (n + 1) % 3));
        }
    }

    /// Both do the same, and say the same: what the lazy one says, its lines in order.
    pub(crate) fn both(&mut self, client: usize, command: &str) -> Vec<String> {
        let client = self.clients[client];
        let eager = ask(&mut self.eager, client, command);
        let lazy = ask(&mut self.lazy, client, command);
        let is_a_set =
            ["KEYS", "SMEMBERS", "SPOP", "EXEC"].iter().any(|name| command.starts_with(name));
        let [lazy, eager] = [lazy, eager].map(|reply| {
            let mut lines: Vec<String> = reply.lines().map(str::to_owned).collect();
            if is_a_set {
                lines.sort_unstable();
            }
            lines
        });
        assert_eq!(lazy, eager, "{command}");
        let tally = &mut self.tally;
        tally.failed_scripts +=
            u64::from(command.starts_with("EVAL") && lazy[0].contains("enough"));
        tally.scripts += u64::from(command.starts_with("EVAL") && lazy[0].starts_with('*'));
        tally.pending += u64::from(self.lazy.engine.has_pending_ends());
        tally.rows += u64::from(lazy[0] == ":1");
        tally.undone_units += u64::from(lazy[0].starts_with("-EXECABORT"));
        lazy
    }

    /// The eager one is told the time.
    pub(crate) fn set_eager_time(&mut self, now_ms: i64) {
        self.eager.set_time(now_ms);
    }

    /// What all rows of the eager one come to that are not due.
    pub(crate) fn digest(&mut self) -> String {
        while self.eager.tick() {}
        ask(&mut self.eager, self.clients[2], "DEBUG DIGEST")
    }

    /// A set loses members by chance, in a unit that may be undone; the eager one is told
    /// which.
    fn pop(&mut self) {
        let (other, count) = (self.below(4), self.count());
        let key = match self.below(3) {
            0 => format!("elsewhere:{other}"),
            _ => format!("user:{other}:followers"),
        };
        let client = self.clients[0];
        if self.below(2) == 0 {
            let lua = format!("redis.call('SPOP','{key}',{count})error('enough')");
            let reply = ask(&mut self.lazy, client, &format!("EVAL {lua} 0"));
            assert!(reply.contains("enough"), "{reply}");
            return;
        }
        let reply = ask(&mut self.lazy, client, &format!("SPOP {key} {count}"));
        let taken: Vec<&str> = reply.lines().skip(2).step_by(2).collect();
        if !taken.is_empty() {
            let reply = ask(&mut self.eager, client, &format!("SREM {key} {}", taken.join(" ")));
            assert_eq!(reply, format!(":{}\r\n", taken.len()));
            self.tally.popped += taken.len() as u64;
        }
    }

    /// Something becomes of the sets that were moved to databases without a schema.
    fn beside(&mut self) {
        let (user, first, count) = (self.below(4), 100 + self.below(200), self.count());
        let command = match self.below(8) {
            0 => "FLUSHDB".to_owned(),
            1 => "SWAPDB 1 2".to_owned(),
            2 => format!("DEL user:{user}:followers"),
            3 => format!("MOVE user:{user}:followers 0"),
            4 => format!("RENAME user:{user}:followers user:{}:followers", self.below(4)),
            5 => format!("PEXPIRE user:{user}:followers {}", 1 + self.below(9_000)),
            _ => format!("SREM user:{user}:followers {}", members(first, count)),
        };
        for command in ["SELECT 1", &command, "SELECT 0"] {
            self.both(2, command);
        }
    }

    /// A key drawn by chance is one that is there.
    fn draw(&mut self) {
        let reply = ask(&mut self.lazy, self.clients[0], "RANDOMKEY");
        let key = reply.lines().nth(1).map(str::to_owned);
        if let Some(key) = key {
            let found = self.both(0, &format!("EXISTS {key}"));
            assert_eq!(found, [":1"], "{key}");
            self.tally.drawn += 1;
        }
    }

    /// Memory is short until everything that may be evicted is.
    fn evict(&mut self) {
        const LEADERS: &str = "EXISTS session:a session:b top:a top:b";
        let client = self.clients[0];
        let there = ask(&mut self.eager, client, LEADERS);
        for test in [&mut self.lazy, &mut self.eager] {
            let mut rounds = 0;
            while ask(test, client, LEADERS) != ":0\r\n" {
                rounds += 1;
                assert!(rounds < 1_000, "all of them are evicted");
                test.host.used_memory = vec![1 << 40; 100].into();
                ask(test, client, "GET none");
                test.host.used_memory.clear();
            }
        }
        let count = there.trim_start_matches(':').trim_end();
        self.tally.evicted += count.parse::<u64>().expect("EXISTS counts");
    }

    /// The log has all that the lazy engine has; that may go on from there.
    fn crash(&mut self) {
        self.lazy.engine.take_log(&mut self.log);
        let mut loaded = loaded(&self.log, usize::MAX, self.lazy.now_ms);
        loaded.engine.keyspace().set_removed_at_once(self.few);
        same_rows(&mut loaded, &mut self.eager, self.clients[0], "after a crash");
        if self.below(2) == 0 {
            self.lazy = loaded;
            for client in self.clients.clone() {
                self.eager.call(client, "UNWATCH");
            }
        }
    }

    /// Wherever the log ends, what it says is as the schema has it.
    fn cut(&mut self) {
        self.lazy.engine.take_log(&mut self.log);
        let commands = self.log.iter().filter(|byte| **byte == b'*').count();
        let most = commands.saturating_sub(self.below(60) as usize);
        let mut loaded = loaded(&self.log, most, self.lazy.now_ms);
        agrees_with_itself(&mut loaded, self.clients[0]);
    }
}

/// All keys but due ones, in order.
fn keys_of(test: &mut TestEngine, client: ClientId) -> Vec<String> {
    while test.tick() {}
    let keys = test.call(client, "KEYS *");
    let mut keys: Vec<String> = keys.lines().skip(2).step_by(2).map(str::to_owned).collect();
    keys.sort_unstable();
    keys
}

fn same_rows(one: &mut TestEngine, other: &mut TestEngine, client: ClientId, when: &str) {
    let keys = [keys_of(one, client), keys_of(other, client)];
    let only = |of: usize| {
        let is_other = |key: &&String| keys[1 - of].binary_search(key).is_err();
        keys[of].iter().filter(is_other).take(5).collect::<Vec<_>>()
    };
    assert_eq!([only(0), only(1)], [const { Vec::<&String>::new() }; 2], "{when}");
    let digests = [one, other].map(|test| test.call(client, "DEBUG DIGEST"));
    assert_eq!(digests[0], digests[1], "{when}");
}

/// Every derived key says what its sources do, and who lives with another does.
fn agrees_with_itself(test: &mut TestEngine, client: ClientId) {
    assert_eq!(contradictions(test, client), Vec::<String>::new());
}

/// What rows say that others contradict, by looking at all of them.
pub(crate) fn contradictions(test: &mut TestEngine, client: ClientId) -> Vec<String> {
    let keys = keys_of(test, client);
    let mut has = |command: &str| test.call(client, command) == ":1\r\n";
    let (mut pairs, mut badges, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for key in &keys {
        let parts: Vec<&str> = key.split(':').collect();
        let leader = match parts[..] {
            ["item", sid, _] => format!("session:{sid}"),
            ["line", sid, _] => format!("cart:{sid}"),
            ["badge", n] => {
                badges.push(n.to_owned());
                "team:1".to_owned()
            }
            ["pet", o, _] => format!("keeper:{o}"),
            ["mid", t, _] => format!("top:{t}"),
            ["leaf", t, m, _] => format!("mid:{t}:{m}"),
            ["user", id, side] => {
                pairs.push((key.clone(), id.to_owned(), side));
                continue;
            }
            _ => continue,
        };
        let member = match parts[..] {
            ["line", sid, n] => Some(format!("SISMEMBER lines:{sid} {n}")),
            ["leaf", t, m, l] => Some(format!("SISMEMBER leaves:{t}:{m} {l}")),
            ["pet", o, n] => Some(format!("SISMEMBER pets:{n} {o}")),
            _ => None,
        };
        let needs = std::iter::once(format!("EXISTS {leader}")).chain(member);
        wrong.extend(needs.filter(|need| !has(need)).map(|need| format!("{key}: {need}")));
    }
    let derived = keys.iter().filter_map(|key| {
        let parts: Vec<&str> = key.split(':').collect();
        match parts[..] {
            ["recent"] => Some((key, "badge:{}".to_owned())),
            ["lines", sid] => Some((key, format!("line:{sid}:{{}}"))),
            ["leaves", t, m] => Some((key, format!("leaf:{t}:{m}:{{}}"))),
            ["pets", n] => Some((key, format!("pet:{{}}:{n}"))),
            _ => None,
        }
    });
    for (key, source) in derived {
        let list = if key == "recent" { "ZRANGE recent 0 -1" } else { &format!("SMEMBERS {key}") };
        for member in test.call(client, list).lines().skip(2).step_by(2) {
            let source = source.replace("{}", member);
            if test.call(client, &format!("EXISTS {source}")) != ":1\r\n" {
                wrong.push(format!("{key} has {member}, but {source} is not there"));
            }
        }
    }
    for badge in badges {
        let code = test.call(client, &format!("GET badge:{badge}"));
        let code = code.lines().nth(1).unwrap_or_default().to_owned();
        let owner = test.call(client, &format!("GET owner:{code}"));
        if owner.lines().nth(1) != Some(&badge) {
            wrong.push(format!("badge:{badge} does not own {code}"));
        }
    }
    for (key, id, side) in pairs {
        let other = if side == "followers" { "following" } else { "followers" };
        let members = test.call(client, &format!("SMEMBERS {key}"));
        for member in members.lines().skip(2).step_by(2) {
            if test.call(client, &format!("SISMEMBER user:{member}:{other} {id}")) != ":1\r\n" {
                wrong.push(format!("{key} {member}"));
            }
        }
    }
    wrong
}

fn run(seed: u64, commands: usize) -> Tally {
    let mut pair = Pair::new(seed);
    pair.fill();
    let mut now_ms = START_MS;
    for _ in 0..commands {
        match pair.below(60) {
            0 => {
                now_ms += pair.below(8_000) as i64;
                pair.lazy.set_time(now_ms);
                pair.eager.set_time(now_ms);
            }
            1..=8 => {
                pair.lazy.tick();
                pair.lazy.deliveries();
            }
            9 => {
                if pair.below(2) == 0 {
                    let look = pair.look();
                    let key = look.split(' ').nth(1).unwrap_or_default();
                    pair.both(1, &format!("WATCH {key}"));
                    let command = pair.command();
                    pair.both(0, &command);
                }
                pair.both(1, "MULTI");
                for _ in 0..pair.below(6) {
                    let command = pair.command();
                    pair.both(1, &command);
                }
                pair.both(1, "EXEC");
            }
            16 | 17 => {
                let commands = pair.end_and_look();
                if pair.below(2) == 0 {
                    let end = ["return(r)", "error('enough')"][pair.below(2) as usize];
                    pair.both(0, &Pair::as_script(&commands, end));
                } else {
                    pair.both(1, "MULTI");
                    for command in commands {
                        pair.both(1, &command);
                    }
                    pair.both(1, "EXEC");
                }
                pair.tally.looks += 1;
            }
            10 => pair.crash(),
            11 => pair.cut(),
            12 => pair.evict(),
            13 | 14 => pair.pop(),
            15 => pair.draw(),
            18 | 19 => pair.beside(),
            _ => {
                let command = pair.command();
                pair.both(0, &command);
            }
        }
    }
    let Pair { lazy, eager, clients, .. } = &mut pair;
    same_rows(lazy, eager, clients[0], "at the end");
    agrees_with_itself(lazy, clients[0]);
    pair.crash();
    pair.tally
}

#[test]
fn an_engine_that_takes_its_time_answers_as_one_that_does_not() {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let seeds = number(option_env!("KEYWARD_ENDS_SEEDS")).unwrap_or(4);
    let first = number(option_env!("KEYWARD_ENDS_SEED")).unwrap_or(1);
    let mut sum = Tally::default();
    for seed in first..first + seeds {
        let tally = run(seed, 600);
        sum.scripts += tally.scripts;
        sum.failed_scripts += tally.failed_scripts;
        sum.pending += tally.pending;
        sum.rows += tally.rows;
        sum.evicted += tally.evicted;
        sum.undone_units += tally.undone_units;
        sum.popped += tally.popped;
        sum.drawn += tally.drawn;
        sum.looks += tally.looks;
    }
    assert!(sum.scripts > 10 * seeds && sum.failed_scripts > 10 * seeds, "{sum:?}");
    assert!(sum.pending > 100 * seeds && sum.rows > 40 * seeds && sum.evicted > seeds, "{sum:?}");
    assert!(sum.undone_units > seeds, "{sum:?}");
    assert!(sum.popped > 10 * seeds && sum.drawn > 2 * seeds, "{sum:?}");
    assert!(sum.looks > 10 * seeds, "{sum:?}");
}
