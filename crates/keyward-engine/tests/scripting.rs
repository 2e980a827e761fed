//! Scripts and functions in the engine against a real Redis: the same commands to
//! both, the same replies from both, in RESP2 and in RESP3.

use keyward_engine::{ClientId, EngineOptions, Host, LogLevel, Progress, RunningScript, Tunables};
use keyward_resp::{ArgBuf, Frame, FrameLimits, FrameParser};
use keyward_testkit::engine::TestEngine;
use keyward_testkit::{Client, Server};
use std::time::Duration;

/// A host that only watches scripts.
#[derive(Default)]
struct Watcher {
    /// What to do to a script when it is looked at.
    on_script: Option<fn(&mut dyn RunningScript)>,
    log: Vec<(LogLevel, Vec<u8>)>,
    /// How often it could look.
    looks: u32,
}

impl Host for Watcher {
    fn script_runs(&mut self, script: &mut dyn RunningScript) {
        self.looks += 1;
        if let Some(act) = self.on_script {
            act(script);
        }
    }

    fn may_debug(&self, _: ClientId) -> bool {
        true
    }

    fn log(&mut self, level: LogLevel, line: &[u8]) {
        self.log.push((level, line.to_vec()));
    }
}

/// An engine with one client.
struct Ours {
    test: TestEngine<Watcher>,
    client: ClientId,
}

impl Ours {
    fn new() -> Ours {
        let options = EngineOptions { seed: 1, databases: 16, tunables: Tunables::default() };
        let mut test = TestEngine::with_host(options, Watcher::default());
        let client = test.engine.connect();
        Ours { test, client }
    }

    fn call<T: AsRef<[u8]>>(&mut self, command: &[T]) -> Frame {
        let (_, output) = self.test.ask(self.client, command);
        let frame = FrameParser::new(FrameLimits::default()).next(&output);
        frame.ok().flatten().unwrap_or_else(|| panic!("no reply: {}", output.escape_ascii()))
    }
}

/// An engine and a Redis in the same state.
struct Pair {
    ours: Ours,
    theirs: Client,
    _server: Server,
}

impl Pair {
    fn new(protocol: &str) -> Pair {
        let server = Server::redis(&[]);
        let mut pair = Pair { ours: Ours::new(), theirs: server.client(), _server: server };
        pair.ours.call(&["HELLO", protocol]);
        pair.theirs.call(["HELLO", protocol]).expect("Redis answers");
        pair
    }

    fn check<T: AsRef<[u8]>>(&mut self, command: &[T]) -> Frame {
        let theirs = self.theirs.call(command).expect("Redis answers");
        let ours = self.ours.call(command);
        let shown: Vec<String> =
            command.iter().map(|word| word.as_ref().escape_ascii().to_string()).collect();
        assert_eq!(ours, theirs, "{shown:?}");
        ours
    }

    fn check_all(&mut self, commands: &[&[&str]]) {
        for command in commands {
            self.check(command);
        }
    }
}

fn in_both_protocols(commands: &[&[&str]]) {
    for protocol in ["2", "3"] {
        Pair::new(protocol).check_all(commands);
    }
}

const GET: &str = "return redis.call('get', KEYS[1])";
const GET_SHA: &str = "fd758d1589d044dd850a6f05d52f2eefd27f033f";

#[test]
fn scripts_call_commands() {
    in_both_protocols(&[
        &["SET", "k", "v"],
        &["EVAL", GET, "1", "k"],
        &["EVAL", GET, "1", "missing"],
        &["EVALSHA", GET_SHA, "1", "k"],
        &["EVALSHA", &GET_SHA.to_ascii_uppercase(), "1", "k"],
        &["EVALSHA", "NotValidShaSUM", "0"],
        &["EVALSHA", "ffd632c7d33e571e9f24556ebed26c3479a87130", "0"],
        &["EVALSHA_RO", GET_SHA, "1", "k"],
        &["EVAL", "return {KEYS[1], KEYS[2], ARGV[1], ARGV[2]}", "2", "a", "b", "c", "d"],
        &["EVAL", "return redis.call('incr', KEYS[1])", "1", "n"],
        &["EVAL", "return redis.call('incr', KEYS[1])", "1", "k"],
        &["EVAL", "return redis.pcall('incr', KEYS[1])", "1", "k"],
        &["EVAL", "return {redis.pcall('incr', KEYS[1])['err']}", "1", "k"],
        &["EVAL", "redis.call('lpush', KEYS[1], 'x')", "1", "k"],
        &["EVAL", "return redis.call('rpush', 'l', unpack(ARGV))", "0", "a", "b", "c"],
        &["EVAL", "local l = redis.call('lrange', 'l', 0, -1) return {#l, l[1], l[3]}", "0"],
        &["EVAL", "return redis.call('lrange', 'l', 0, -1)", "0"],
        &["EVAL", "return redis.call('blpop', 'nolist', 0)", "0"],
        &["EVAL", "return redis.call('mget', 'k', 'missing', 'n')", "0"],
        &["EVAL", "redis.setresp(3) return redis.call('get', 'missing')", "0"],
        &["EVAL", "redis.setresp(3) return {redis.call('mget', 'k', 'missing', 'n')}", "0"],
        &["EVAL", "redis.setresp(3) return redis.call('get', 'missing') == nil", "0"],
        &["EVAL", "return redis.call('get', 'missing') == false", "0"],
        &["EVAL", "return redis.call('set', 'f', 9007199254740991)", "0"],
        &["GET", "f"],
        &["EVAL", "return redis.call('set', 'f', 0.1)", "0"],
        &["GET", "f"],
        &["EVAL", "return redis.call('set', 'f', 'x', 'bad')", "0"],
        &["EVAL", "return redis.call('select', 99)", "0"],
        &["EVAL", "local t = redis.pcall('select', 99) return t.err", "0"],
        &["EVAL", "return redis.call('type', 'l')", "0"],
        &["EVAL", "return redis.call('type', 'l').ok", "0"],
    ]);
}

#[test]
fn what_scripts_may_not_do() {
    in_both_protocols(&[
        &["EVAL", "return redis.call('nosuchcommand')", "0"],
        &["EVAL", "return redis.call('config', 'nosuchsubcommand')", "0"],
        &["EVAL", "return redis.call('get', 'a', 'b', 'c')", "0"],
        &["EVAL", "return redis.call('incr')", "0"],
        &["EVAL", "return redis.call('eval', 'return 1', 0)", "0"],
        &["EVAL", "return redis.call('multi')", "0"],
        &["EVAL", "return redis.pcall('hello', '3')", "0"],
        &["EVAL", "return redis.call('script', 'flush')", "0"],
        &["EVAL", "return redis.call('function', 'list')", "0"],
        &["EVAL", "return redis.call('watch', 'a')", "0"],
        &["EVAL_RO", "return redis.call('set', 'a', 1)", "0"],
        &["EVAL_RO", "return redis.pcall('set', 'a', 1)", "0"],
        &["EVAL_RO", "return redis.call('get', 'a')", "0"],
        &["EVAL", "#!lua flags=no-writes\nreturn redis.call('set', 'a', 1)", "0"],
        &["EVAL", "#!lua flags=no-writes\nreturn redis.call('get', 'a')", "0"],
        &["EVAL_RO", "#!lua\nreturn 1", "0"],
        &["EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"],
        &["EVAL", "#!lua flags=\nreturn 1", "0"],
        &[
            "EVAL",
            "#!lua flags=allow-oom,allow-stale,no-cluster,allow-cross-slot-keys\nreturn 1",
            "0",
        ],
        &["EVAL", "#!lua\nerror('line two')", "0"],
        &["EVAL", "#!not-lua\nreturn 1", "0"],
        &["EVAL", "#!lua badger=data\nreturn 1", "0"],
        &["EVAL", "#!lua flags=allow-oom,what?\nreturn 1", "0"],
        &["EVAL", "#!lua flags=no-writes,\nreturn 1", "0"],
        &["EVAL", "#!lua", "0"],
        &["EVAL", "#!\nreturn 1", "0"],
        &["EVAL", "#!lua \"\nreturn 1", "0"],
        &["EVAL", "bad syntax", "0"],
        &["EVAL", "return 1", "1"],
        &["EVAL", "return 1", "-1"],
        &["EVAL", "return 1", "x"],
        &["EVAL", "return 1"],
        &["EVALSHA", "short", "x"],
        &["EVALSHA", "ffd632c7d33e571e9f24556ebed26c3479a87130", "x"],
    ]);
}

#[test]
fn the_client_keeps_its_database_and_protocol() {
    in_both_protocols(&[
        &["SET", "k", "zero"],
        &["EVAL", "redis.call('select', 9) return redis.call('set', 'k', 'nine')", "0"],
        &["GET", "k"],
        &["EVAL", "redis.setresp(3) return redis.call('get', 'k')", "0"],
        &["EVAL", "return redis.call('get', 'k')", "0"],
        &["SELECT", "9"],
        &["EVAL", GET, "1", "k"],
        &["EVAL", "redis.call('select', 0) error('x')", "0"],
        &["GET", "k"],
    ]);
}

#[test]
fn the_script_cache() {
    in_both_protocols(&[
        &["SCRIPT", "LOAD", "return 'loaded'"],
        &["EVALSHA", "b534286061d4b9e4026607613b95c06c06015ae8", "0"],
        &["SCRIPT", "LOAD", "bad syntax"],
        &["SCRIPT", "LOAD", "#!lua flags=what\nreturn 1"],
        &["EVAL", "return 1+1", "0"],
        &[
            "SCRIPT",
            "EXISTS",
            "a27e7e8a43702b7046d4f6a7ccf5b60cef6b9bd9",
            "A27E7E8A43702B7046D4F6A7CCF5B60CEF6B9BD9",
            "a27e7e8a43702b7046d4f6a7ccf5b60cef6b9bda",
            "short",
        ],
        &["SCRIPT", "FLUSH", "whenever"],
        &["SCRIPT", "FLUSH", "ASYNC", "x"],
        &["SCRIPT", "FLUSH", "ASYNC"],
        &["EVALSHA", "b534286061d4b9e4026607613b95c06c06015ae8", "0"],
        &["SCRIPT", "FLUSH"],
        &["SCRIPT", "KILL"],
        &["SCRIPT", "DEBUG", "NO"],
        &["SCRIPT", "DEBUG", "MAYBE"],
        &["SCRIPT", "HELP"],
        &["SCRIPT", "NOSUCH"],
        &["SCRIPT"],
        &["SCRIPT", "LOAD"],
    ]);
}

#[test]
fn scripts_in_transactions() {
    in_both_protocols(&[
        &["MULTI"],
        &["EVAL", "return redis.call('incr', KEYS[1])", "1", "n"],
        &["EVAL", "error('x')", "0"],
        &["EVAL", "redis.call('select', 3) return redis.call('incr', 'n')", "0"],
        &["INCR", "n"],
        &["EXEC"],
        &["GET", "n"],
    ]);
}

/// A library with one function.
fn library(name: &str, function: &str, body: &str) -> String {
    format!(
        "#!lua name={name}\nredis.register_function('{function}', function(KEYS, ARGV) {body} end)"
    )
}

#[test]
fn functions_are_loaded_and_called() {
    let hello = library("lib", "hello", "return {KEYS[1], ARGV[1]}");
    let write = library("writer", "write", "return redis.call('set', KEYS[1], ARGV[1])");
    let nested = library("nested", "f1", "redis.register_function('f2', function() end)");
    let reader = "#!lua name=reader\nredis.register_function{function_name='read', \
                  callback=function(keys) return redis.call('get', keys[1]) end, \
                  flags={'no-writes', 'allow-stale'}, description='Reads.'}";
    let failing = library("failing", "fail", "\n\nreturn redis.call('nosuchcommand')");
    let globals = library("globals", "touch", "x = 1");
    in_both_protocols(&[
        &["FUNCTION", "LOAD", &hello],
        &["FCALL", "hello", "1", "k", "a"],
        &["FCALL", "HELLO", "1", "k", "a"],
        &["FUNCTION", "LOAD", &hello],
        &["FUNCTION", "LOAD", "REPLACE", &hello],
        &["FUNCTION", "LOAD", &library("other", "Hello", "return 1")],
        &["FUNCTION", "LIST", "WITHCODE"],
        &["FUNCTION", "LIST", "LIBRARYNAME", "L?b"],
        &["FUNCTION", "LIST", "LIBRARYNAME", "nothing*"],
        &["FUNCTION", "LIST", "LIBRARYNAME"],
        &["FUNCTION", "LIST", "bad_argument"],
        &["FUNCTION", "LIST", "withcode", "withcode"],
        &["FUNCTION", "DELETE", "lib"],
        &["FUNCTION", "DELETE", "lib"],
        &["FCALL", "hello", "0"],
        &["FUNCTION", "LOAD", &write],
        &["FCALL", "write", "1", "k", "v"],
        &["GET", "k"],
        &["FCALL_RO", "write", "1", "k", "v"],
        &["FCALL", "write", "x"],
        &["FCALL", "write", "5", "k"],
        &["FCALL", "write", "-1"],
        &["FUNCTION", "FLUSH"],
        &["FUNCTION", "LOAD", reader],
        &["FUNCTION", "LIST"],
        &["FCALL_RO", "read", "1", "k"],
        &["FUNCTION", "STATS"],
        &["FUNCTION", "LOAD", &failing],
        &["FCALL", "fail", "0"],
        &["FUNCTION", "LOAD", &nested],
        &["FCALL", "f1", "0"],
        &["FUNCTION", "LOAD", &globals],
        &["FCALL", "touch", "0"],
        &["FUNCTION", "STATS"],
        &["FUNCTION", "FLUSH", "ASYNC"],
        &["FUNCTION", "FLUSH", "whenever"],
        &["FUNCTION", "FLUSH", "SYNC", "x"],
        &["FUNCTION", "KILL"],
        &["FUNCTION", "HELP"],
        &["FUNCTION", "NOSUCH"],
        &["FUNCTION", "STATS"],
    ]);
}

#[test]
fn libraries_that_are_refused_change_nothing() {
    let mut pair = Pair::new("2");
    pair.check(&["FUNCTION", "LOAD", &library("lib1", "f1", "return 1")]);
    for source in [
        "",
        "no head",
        "#!lua",
        "#!lua\nx",
        "#! name=test\nx",
        "#!lua name=\nx",
        "#!lua name=\"a b\"\nx",
        "#!lua name=a name=b\nx",
        "#!lua name=a foo=bar\nx",
        "#!lua name=\"a\nx",
        "#!bad name=a\nx",
        "#!lua name=a\nbad syntax",
        "#!lua name=a\nreturn 1",
        "#!lua name=a\nx = 1",
        "#!lua name=a\nreturn math.random()",
        "#!lua name=a\nreturn redis.call('ping')",
        "#!lua name=a\nreturn redis.setresp(3)",
        "#!lua name=a\nredis.x = 1",
        "#!lua name=a\nlocal mt = getmetatable(_G)",
        "#!lua name=a\nredis.register_function()",
        "#!lua name=a\nredis.register_function('f')",
        "#!lua name=a\nredis.register_function(nil, function() end)",
        "#!lua name=a\nredis.register_function('f', 'g')",
        "#!lua name=a\nredis.register_function('f', function() end, {})",
        "#!lua name=a\nredis.register_function('a b', function() end)",
        "#!lua name=a\nredis.register_function('', function() end)",
        "#!lua name=a\nredis.register_function('f1', function() end)",
        "#!lua name=a\nredis.register_function('f', function() end) redis.register_function('f', function() end)",
        "#!lua name=a\nredis.register_function{callback=function() end}",
        "#!lua name=a\nredis.register_function{function_name='f'}",
        "#!lua name=a\nredis.register_function{function_name={}, callback=function() end}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=1}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, description={}}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, what=1}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, [1]=1}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, [true]=1}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, flags=1}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, flags={'x'}}",
        "#!lua name=a\nredis.register_function{function_name='f', callback=function() end, flags={{}}}",
        "#!lua name=lib1\nbad syntax",
    ] {
        pair.check(&["FUNCTION", "LOAD", "REPLACE", source]);
        pair.check(&["FCALL", "f1", "0"]);
        pair.check(&["FUNCTION", "LIST"]);
    }
    pair.check(&["FUNCTION", "LOAD", "what", "x"]);
    pair.check(&["FUNCTION", "LOAD", "REPLACE"]);
    let accepted = "#!LUA NAME='lib2'\nredis.log(redis.LOG_NOTICE, redis.REDIS_VERSION) \
                    redis.register_function{FUNCTION_NAME='g', Callback=function() return 2 end, \
                    FLAGS={'NO-WRITES'}}";
    pair.check(&["FUNCTION", "LOAD", accepted]);
    pair.check(&["FCALL_RO", "g", "0"]);
    assert_eq!(pair.ours.test.host.log, [(LogLevel::Notice, b"7.0.15".to_vec())]);
}

#[test]
fn dumps_travel_between_redis_and_the_engine() {
    let mut pair = Pair::new("2");
    pair.check(&[
        "FUNCTION",
        "LOAD",
        &library("lib1", "f1", "return 'a long text to compress compress'"),
    ]);
    for from_redis in [true, false] {
        let dump = if from_redis {
            pair.theirs.call(["FUNCTION", "DUMP"]).expect("Redis answers")
        } else {
            pair.ours.call(&["FUNCTION", "DUMP"])
        };
        let Frame::Bulk(dump) = dump else { panic!("a dump is a string") };
        let restore = |policy: &'static [u8]| [&b"FUNCTION"[..], b"RESTORE", &dump, policy];
        pair.check(&restore(b"APPEND"));
        pair.check(&restore(b"REPLACE"));
        pair.check(&restore(b"FLUSH"));
        pair.check(&restore(b"nosuch"));
        pair.check(&["FUNCTION", "LIST", "WITHCODE"]);
        pair.check(&["FUNCTION", "DELETE", "lib1"]);
        pair.check(&[&b"FUNCTION"[..], b"RESTORE", &dump]);
        pair.check(&["FCALL", "f1", "0"]);
        pair.check(&["FUNCTION", "DELETE", "lib1"]);
        pair.check(&["FUNCTION", "LOAD", &library("lib2", "f1", "return 2")]);
        pair.check(&restore(b"REPLACE"));
        pair.check(&["FCALL", "f1", "0"]);
        pair.check(&restore(b"FLUSH"));
        pair.check(&["FUNCTION", "LIST"]);
    }
    pair.check(&["FUNCTION", "RESTORE", "bad payload"]);
    pair.check(&["FUNCTION", "RESTORE", "a", "b", "c"]);
    pair.check(&["FCALL", "f1", "0"]);
}

const LOOP: &str = "while true do pcall(function() while true do end end) end";

/// A frame's error text.
fn error_text(frame: &Frame) -> String {
    let Frame::Error(text) = frame else { panic!("{frame:?} is not an error") };
    String::from_utf8_lossy(text).into_owned()
}

/// What a client that has just come is answered while a script runs.
fn ask(script: &mut dyn RunningScript, line: &str) -> String {
    let client = script.connect();
    let words: ArgBuf = line.split(' ').collect();
    let mut reply = Vec::new();
    script.accept(&mut Watcher::default(), client, words.args(), Duration::ZERO, &mut reply);
    script.disconnect(client);
    String::from_utf8_lossy(&reply).into_owned()
}

#[test]
fn a_script_is_killed_by_its_own_command_only() {
    let mut ours = Ours::new();
    ours.test.host.on_script = Some(|script| {
        assert!(ask(script, "FUNCTION KILL").starts_with("-BUSY "), "a script is no function");
        assert_eq!(ask(script, "SCRIPT KILL"), "+OK\r\n");
    });
    let text = error_text(&ours.call(&["EVAL", LOOP, "0"]));
    assert!(text.starts_with("ERR Script killed by user with SCRIPT KILL... script: "), "{text}");
    ours.test.host.on_script = Some(|script| {
        assert!(ask(script, "SCRIPT KILL").starts_with("-BUSY "), "a function is no script");
        assert_eq!(ask(script, "FUNCTION KILL"), "+OK\r\n");
    });
    ours.call(&["FUNCTION", "LOAD", &library("l", "f", LOOP)]);
    let text = error_text(&ours.call(&["FCALL", "f", "0"]));
    assert!(text.starts_with("ERR Script killed by user with SCRIPT KILL... script: f"), "{text}");
    assert_eq!(ours.call(&["EVAL", "return 1", "0"]), Frame::Integer(1));
}

#[test]
fn a_script_that_has_written_is_ended_only_by_force() {
    let mut ours = Ours::new();
    ours.test.host.on_script = Some(|script| {
        let refused = ask(script, "SCRIPT KILL");
        assert!(refused.starts_with("-UNKILLABLE Sorry the script already executed write"));
        assert_eq!(ask(script, "SHUTDOWN NOSAVE"), "");
    });
    let script = format!("redis.call('set', 'k', 'v') {LOOP}");
    let (progress, output) = ours.test.ask(ours.client, &["EVAL", &script, "0"]);
    assert_eq!(
        (progress, &output[..]),
        (Progress::Closing, &b""[..]),
        "as if the process was gone"
    );
    ours.client = ours.test.engine.connect();
    assert_eq!(ours.call(&["GET", "k"]), Frame::Bulk(b"v".to_vec()));
}

#[test]
fn a_library_that_takes_too_long_to_load_is_refused() {
    let mut ours = Ours::new();
    ours.test.host.on_script = Some(|script| script.end());
    let text = error_text(&ours.call(&["FUNCTION", "LOAD", "#!lua name=l\nwhile true do end"]));
    assert_eq!(text, "ERR Error registering functions: ERR FUNCTION LOAD timeout");
    assert_eq!(ours.call(&["FUNCTION", "LIST"]), Frame::Array(Vec::new()));
}

/// What the effect log holds: database and command.
fn effects(ours: &mut Ours) -> Vec<(usize, u64, String)> {
    let effects = ours.test.engine.keyspace().effects.take();
    let shown = effects.into_iter().map(|effect| {
        let words: Vec<String> = effect
            .command
            .args()
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        (effect.db, effect.unit, words.join(" "))
    });
    shown.collect()
}

#[test]
fn the_log_has_what_a_script_wrote_as_one_unit() {
    let mut ours = Ours::new();
    ours.test.engine.keyspace().effects.listen(true);
    ours.call(&[
        "EVAL",
        "redis.call('set', 'a', 1) redis.call('get', 'a') redis.call('select', 2) \
         redis.call('incr', 'b') redis.set_repl(redis.REPL_NONE) redis.call('set', 'c', 1) \
         redis.set_repl(redis.REPL_ALL) redis.call('set', 'd', 1, 'EX', 10) error('x')",
        "0",
    ]);
    let log = effects(&mut ours);
    let commands: Vec<(usize, &str)> =
        log.iter().map(|(db, _, command)| (*db, command.as_str())).collect();
    assert_eq!(
        commands,
        [(0, "set a 1"), (2, "incr b"), (2, "SET d 1 PXAT 1700000010000")],
        "a script that fails keeps its writes, as in Redis"
    );
    assert!(log.iter().all(|(_, unit, _)| *unit == log[0].1), "{log:?}");
    ours.call(&["EVAL", "return redis.call('get', 'a')", "0"]);
    assert!(effects(&mut ours).is_empty());
    let source = library("l", "f", "return 1");
    ours.call(&["FUNCTION", "LOAD", &source]);
    assert_eq!(effects(&mut ours)[0].2, format!("FUNCTION LOAD {source}"));
}

/// The SHA-1 of a script, as SCRIPT LOAD gives it on a server of its own.
fn sha_of(script: &str) -> String {
    let Frame::Bulk(sha) = Ours::new().call(&["SCRIPT", "LOAD", script]) else {
        panic!("a name is a string")
    };
    String::from_utf8_lossy(&sha).into_owned()
}

#[test]
fn a_script_within_a_script_is_never_found_under_anothers_sha() {
    let mut ours = Ours::new();
    let switched = ours.call(&["DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"]);
    assert_eq!(switched, Frame::Simple(b"OK".to_vec()));
    ours.call(&["EVAL", "return 'outer'", "0"]);
    let nested = "local reply = redis.pcall('eval', ARGV[1], 0) return reply.err or reply";
    let told = ours.call(&["EVAL", nested, "0", "return 'inner'"]);
    assert_eq!(told, Frame::Bulk(b"ERR Scripts can not be run or loaded from a script".to_vec()));
    let again = ours.call(&["EVALSHA", &sha_of("return 'inner'"), "0"]);
    assert!(error_text(&again).starts_with("NOSCRIPT "), "{again:?}");
    let nested = "return redis.pcall('script', 'load', ARGV[1]).err";
    ours.call(&["EVAL", nested, "0", "return 'loaded'"]);
    let loaded = ours.call(&["EVALSHA", &sha_of("return 'loaded'"), "0"]);
    assert!(error_text(&loaded).starts_with("NOSCRIPT "), "{loaded:?}");
    assert_eq!(ours.call(&["EVAL", "return 'outer'", "0"]), Frame::Bulk(b"outer".to_vec()));
    assert_eq!(ours.call(&["EVAL", "return 'inner'", "0"]), Frame::Bulk(b"inner".to_vec()));
    // A script that empties the cache it runs from goes on, and nothing of it is left.
    let flush = "redis.call('script', 'flush') return redis.pcall('eval', 'return 5', 0).err";
    let told = ours.call(&["EVAL", flush, "0"]);
    assert_eq!(told, Frame::Bulk(b"ERR Scripts can not be run or loaded from a script".to_vec()));
    assert_eq!(ours.call(&["EVAL", "return 5", "0"]), Frame::Integer(5));
    let flushed = ours.call(&["EVALSHA", &sha_of("return 'outer'"), "0"]);
    assert!(error_text(&flushed).starts_with("NOSCRIPT "), "{flushed:?}");
}

#[test]
fn scripts_that_empty_their_cache_do_not_nest() {
    let mut ours = Ours::new();
    ours.call(&["DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"]);
    // Two levels are enough to see it; without a bound this overflows the stack.
    let nest = "redis.call('script', 'flush') local depth = tonumber(ARGV[2]) \
                if depth == 3 then return 'nested' end \
                return redis.call('eval', ARGV[1], 0, ARGV[1], depth + 1)";
    let told = ours.call(&["EVAL", nest, "0", nest, "0"]);
    assert!(
        error_text(&told).starts_with("ERR Scripts can not be run or loaded from a script"),
        "{told:?}"
    );
    assert_eq!(ours.call(&["EVAL", "return 5", "0"]), Frame::Integer(5));
    assert!(error_text(&ours.call(&["EVALSHA", &sha_of(nest), "0"])).starts_with("NOSCRIPT "));
}

#[test]
fn functions_that_remove_their_libraries_do_not_nest() {
    let mut ours = Ours::new();
    ours.call(&["DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"]);
    let busy = "ERR Scripts can not be run or loaded from a script";
    for remove in ["redis.call('function', 'flush')", "redis.call('function', 'delete', 'l')"] {
        let load = "local told = redis.pcall('function', 'load', ARGV[1]) \
                    return told.err or redis.call('fcall', 'h', 0)";
        let source = library("l", "f", &format!("{remove} {load}"));
        assert_eq!(ours.call(&["FUNCTION", "LOAD", &source]), Frame::Bulk(b"l".to_vec()));
        let other = library("m", "h", "return 'h'");
        assert_eq!(ours.call(&["FCALL", "f", "0", &other]), Frame::Bulk(busy.into()), "{remove}");
        assert_eq!(error_text(&ours.call(&["FCALL", "f", "0"])), "ERR Function not found");
        assert_eq!(ours.call(&["FUNCTION", "LOAD", &other]), Frame::Bulk(b"m".to_vec()));
        assert_eq!(ours.call(&["FCALL", "h", "0"]), Frame::Bulk(b"h".to_vec()));
        ours.call(&["FUNCTION", "FLUSH"]);
    }
}

#[test]
fn functions_that_touch_many_bytes_let_the_host_look() {
    // No hook of Lua comes within a hundred instructions; these count what they touch.
    let calls = [
        "string.upper(s)",
        "string.lower(s)",
        "string.reverse(s)",
        "string.rep(s, 1)",
        "string.format('%s', s)",
        "redis.sha1hex(s)",
        "redis.call('echo', s)",
        "redis.call('get', 'big')",
        "redis.error_reply(s)",
        "loadstring(s)",
        "cjson.decode('\"' .. s .. '\"')",
        "cjson.encode(s)",
        "cmsgpack.pack(s)",
    ];
    let mut late = Vec::new();
    for call in calls {
        let mut ours = Ours::new();
        ours.call(&["SET", "big", &"x".repeat(4 << 20)]);
        let script = format!(
            "local s = string.rep('a', 4 * 1024 * 1024) for i = 1, 6 do local t = {call} end"
        );
        let before = ours.test.host.looks;
        ours.call(&["EVAL", &script, "0"]);
        // The first is that of `rep`, which makes the text.
        let looks = ours.test.host.looks - before - 1;
        if looks < 6 {
            late.push(format!("{call}: {looks}"));
        }
    }
    assert!(late.is_empty(), "{late:#?}");
    // Within a single call too.
    for call in ["s:upper()", "s:lower()", "s:reverse()", "redis.sha1hex(s)"] {
        let mut ours = Ours::new();
        let script = format!("local s = string.rep('a', 16 * 1024 * 1024) local t = {call}");
        ours.call(&["EVAL", &script, "0"]);
        assert!(ours.test.host.looks > 8, "{call}: {}", ours.test.host.looks);
    }
}

#[test]
fn case_and_order_of_texts_change_at_any_length_as_in_lua() {
    let mut ours = Ours::new();
    for len in [0, 1, 255, 256, 257, 65_535, 65_536, 65_537, 200_001] {
        let text: String = (0..len).map(|at| char::from(b' ' + (at * 7 % 95) as u8)).collect();
        let mut check = |call: &str, expected: String| {
            let told = ours.call(&["EVAL", &format!("return {call}"), "0", &text]);
            assert!(told == Frame::Bulk(expected.into_bytes()), "{call} of {len} bytes");
        };
        check("ARGV[1]:upper()", text.to_ascii_uppercase());
        check("ARGV[1]:lower()", text.to_ascii_lowercase());
        check("ARGV[1]:reverse()", text.chars().rev().collect());
    }
    let sha = ours.call(&["EVAL", "return redis.sha1hex(ARGV[1])", "0", &"x".repeat(200_001)]);
    assert_eq!(sha, Frame::Bulk(b"1656e3e9f6519dde21ff0f4d2a59570ac728055c".to_vec()));
}

/// A script and a function call each other, each emptying what the other came from.
#[test]
fn scripts_and_functions_that_call_each_other_are_bounded() {
    let mut ours = Ours::new();
    ours.call(&["DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"]);
    let source = "#!lua name=l\nredis.register_function('f', function(keys, args) \
                  redis.call('script', 'flush') \
                  return redis.call('eval', args[1], 0, args[1]) end)";
    ours.call(&["FUNCTION", "LOAD", source]);
    let script = "return redis.call('fcall', 'f', 0, ARGV[1])";
    let told = ours.call(&["EVAL", script, "0", script]);
    let busy = "ERR Scripts can not be run or loaded from a script";
    assert!(error_text(&told).starts_with(busy), "{told:?}");
}

#[test]
fn a_function_within_a_function_is_never_anothers() {
    let mut ours = Ours::new();
    let switched = ours.call(&["DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"]);
    assert_eq!(switched, Frame::Simple(b"OK".to_vec()));
    let call = "local reply = redis.pcall(unpack(args)) return reply.err or reply";
    let source = format!(
        "#!lua name=l\nredis.register_function('f', function(keys, args) {call} end)\n\
         redis.register_function('g', function() return 'g' end)"
    );
    ours.call(&["FUNCTION", "LOAD", &source]);
    let busy = Frame::Bulk(b"ERR Scripts can not be run or loaded from a script".to_vec());
    assert_eq!(ours.call(&["FCALL", "f", "0", "FCALL", "g", "0"]), busy);
    let other = library("m", "h", "return 'h'");
    assert_eq!(ours.call(&["FCALL", "f", "0", "FUNCTION", "LOAD", &other]), busy);
    assert_eq!(error_text(&ours.call(&["FCALL", "h", "0"])), "ERR Function not found");
    assert_eq!(ours.call(&["FCALL", "g", "0"]), Frame::Bulk(b"g".to_vec()));
    // The library that runs is deleted: its code goes when it has ended.
    ours.call(&["FCALL", "f", "0", "FUNCTION", "DELETE", "l"]);
    assert_eq!(error_text(&ours.call(&["FCALL", "g", "0"])), "ERR Function not found");
    ours.call(&["FUNCTION", "LOAD", &other]);
    assert_eq!(ours.call(&["FCALL", "h", "0"]), Frame::Bulk(b"h".to_vec()));
}

#[test]
fn a_library_names_its_functions_by_numbers_or_not_at_all() {
    let source = "#!lua name=l\nlocal junk = {} for i = 1, 200 do \
                  redis.register_function{function_name = 1000 + i, description = i / 7, \
                  callback = function() return i end} \
                  junk[i] = string.rep(i, 100) end collectgarbage()";
    in_both_protocols(&[
        &["FUNCTION", "LOAD", source],
        &["FCALL", "1007", "0"],
        &["FCALL", "1200", "0"],
    ]);
}
