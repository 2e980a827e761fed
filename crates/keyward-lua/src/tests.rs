//! The sandbox against a real Redis: the same script on both, the same bytes back.

mod allocations;

use super::api::sha1_hex;
use super::caller::{Caller, LogLevel, Propagation};
use super::globals::Audience;
use super::sandbox::{Input, MEMORY_BYTES_MAX, Sandbox};
use keyward_commands::ErrorStats;
use keyward_resp::{ArgBuf, Args, Protocol, ReplyWriter};
use keyward_testkit::{Client, Server};
use proptest::prelude::*;
use std::cell::RefCell;

/// A caller without a server: commands answer what the tests need.
#[derive(Default)]
struct Desk {
    log: Vec<(LogLevel, Vec<u8>)>,
    propagation: Option<Propagation>,
    /// How often it is asked before the run is to end.
    patience: Option<u32>,
}

impl Caller for Desk {
    fn call(&mut self, args: Args<'_>, protocol: Protocol, reply: &mut Vec<u8>) {
        let mut reply = ReplyWriter::new(reply, protocol);
        match args.at(0).to_ascii_lowercase().as_slice() {
            b"ping" => reply.simple("PONG"),
            b"echo" => reply.bulk(args.get(1).unwrap_or_default()),
            _ => reply.error(b"ERR Unknown Redis command called from script"),
        }
    }

    fn may_call(&mut self, args: Args<'_>) -> Option<bool> {
        (args.at(0) == b"ping").then_some(true)
    }

    fn propagate(&mut self, propagation: Propagation) {
        self.propagation = Some(propagation);
    }

    fn log(&mut self, level: LogLevel, line: &[u8]) {
        self.log.push((level, line.to_vec()));
    }

    fn monotonic_ns(&mut self) -> u64 {
        0
    }

    fn is_ended(&mut self) -> bool {
        match &mut self.patience {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }
}

/// What a script answers in a sandbox.
fn run_with(sandbox: &mut Sandbox, desk: &mut Desk, script: &[u8], arguments: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reply = ReplyWriter::new(&mut out, Protocol::Resp2);
    match sandbox.compile(script, c"@user_script") {
        Ok(code) => {
            let arguments: ArgBuf = arguments.iter().collect();
            let input =
                Input { keys: arguments.args().from(usize::MAX), arguments: arguments.args() };
            let errors = &mut ErrorStats::default();
            sandbox.run(code, &sha1_hex(script), input, desk, &mut reply, errors);
            sandbox.forget(code);
        }
        Err(text) => {
            reply.error(&[b"ERR Error compiling script (new function): ", &text[..]].concat());
        }
    }
    out
}

fn run(sandbox: &mut Sandbox, script: &[u8], arguments: &[&[u8]]) -> Vec<u8> {
    run_with(sandbox, &mut Desk::default(), script, arguments)
}

/// A sandbox and a Redis to compare it with.
struct Pair {
    sandbox: Sandbox,
    client: Client,
    _server: Server,
}

impl Pair {
    fn new() -> Pair {
        let server = Server::redis(&[]);
        let client = server.client();
        Pair {
            sandbox: Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX),
            client,
            _server: server,
        }
    }

    /// The same script on both; returns ours and Redis's answer.
    fn both(&mut self, script: &[u8], arguments: &[&[u8]]) -> (String, String) {
        let mut command: Vec<&[u8]> = vec![b"EVAL", script, b"0"];
        command.extend(arguments);
        let frame = self.client.call(&command).unwrap_or_else(|error| {
            panic!("Redis does not answer {}: {error}", script.escape_ascii())
        });
        let mut theirs = Vec::new();
        frame.encode(&mut theirs);
        let ours = run(&mut self.sandbox, script, arguments);
        (ours.escape_ascii().to_string(), theirs.escape_ascii().to_string())
    }

    fn check(&mut self, script: &[u8], arguments: &[&[u8]]) {
        let (ours, theirs) = self.both(script, arguments);
        assert_eq!(ours, theirs, "{}", script.escape_ascii());
    }
}

#[test]
fn scripts_answer_as_on_redis() {
    let mut pair = Pair::new();
    for script in include_str!("tests/scripts.lua").split("\n----\n") {
        pair.check(script.as_bytes(), &[b"a", b"\0\xff\r\n", b"3"]);
    }
}

thread_local! {
    /// One Redis for all cases of a property.
    static PAIR: RefCell<Option<Pair>> = const { RefCell::new(None) };
}

fn check(script: &str, arguments: &[&[u8]]) -> Result<(), TestCaseError> {
    PAIR.with_borrow_mut(|pair| {
        let (ours, theirs) = pair.get_or_insert_with(Pair::new).both(script.as_bytes(), arguments);
        prop_assert_eq!(ours, theirs, "{}", script);
        Ok(())
    })
}

/// A Lua expression for a value with tables in it.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("nil".to_owned()),
        Just("cjson.null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i32>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_filter("finite", |v| v.is_finite()).prop_map(|v| format!("{v:e}")),
        Just("1/0".to_owned()),
        Just("0/0".to_owned()),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| {
            let digits: String = bytes.iter().map(|byte| format!("\\{byte:03}")).collect();
            format!("\"{digits}\"")
        }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let key = prop_oneof![
            (1..20).prop_map(|index: i32| format!("[{index}]")),
            "[a-z]{1,8}".prop_map(|name| format!("[\"{name}\"]")),
            Just("[1.5]".to_owned()),
            Just("[true]".to_owned()),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8)
                .prop_map(|items| format!("{{{}}}", items.join(","))),
            proptest::collection::vec((key, inner), 0..8).prop_map(|pairs| {
                let pairs: Vec<String> =
                    pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

/// JSON text, mostly well formed.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        any::<f64>().prop_map(|value| value.to_string()),
        "-?[0-9]{1,4}(\\.[0-9]{0,3})?([eE][+-]?[0-9]{1,3})?",
        "0x[0-9a-f]{0,3}",
        "[-+]?(inf|nan|Infinity)",
        "\"([a-z\\\\\"/ ]|\\\\[ubnt\"/]|\\\\u[0-9a-fD-d]{4}){0,6}\"",
        "[a-z{}\\[\\],:\"]{1,3}",
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5)
                .prop_map(|items| format!("[{}]", items.join(" , "))),
            proptest::collection::vec(("[a-z]{0,5}", inner), 0..5).prop_map(|pairs| {
                let pairs: Vec<String> =
                    pairs.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn values_are_encoded_as_by_redis(value in expression()) {
        check(&format!("return cjson.encode({value})"), &[])?;
        check(&format!("return cmsgpack.pack({value})"), &[])?;
        check(&format!("return {value}"), &[])?;
    }

    #[test]
    fn json_is_decoded_as_by_redis(text in json_text()) {
        let script = "local ok, value = pcall(cjson.decode, ARGV[1]) \
                      if not ok then return value end \
                      cjson.encode_invalid_numbers(true) \
                      return {type(value), cjson.encode(value)}";
        check(script, &[text.as_bytes()])?;
    }

    #[test]
    fn any_bytes_are_unpacked_as_by_redis(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
        // Redis takes map keys that are NaN or nil to its own error, which is ours too.
        let script = "local results = {pcall(cmsgpack.unpack, ARGV[1])} \
                      cjson.encode_invalid_numbers(true) \
                      local shown = {} \
                      for i = 1, #results do \
                        shown[i] = tostring(type(results[i])) .. cmsgpack.pack(results[i]) \
                      end return shown";
        check(script, &[&bytes])?;
    }

    #[test]
    fn structures_are_packed_as_by_redis(
        format in "[<> ]?(![1-8]?)?([bBhHlLTfdx]|[iI][0-9]?|c[0-4]?|s){0,6}",
        numbers in proptest::collection::vec(-1e10f64..1e10, 6),
        data in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let list: Vec<String> = numbers.iter().map(|n| format!("{n}")).collect();
        let numbers = list.join(",");
        check(&format!("return struct.pack('{format}',{numbers})"), &[])?;
        check(&format!("return struct.size('{format}')"), &[])?;
        let script = format!(
            "local results = {{pcall(struct.unpack, '{format}', ARGV[1])}} \
             for i = 1, #results do results[i] = cmsgpack.pack(results[i]) end return results"
        );
        check(&script, &[&data])?;
    }

    #[test]
    fn bits_are_those_of_redis(a in any::<f64>(), b in any::<i64>(), c in -40i32..40) {
        let a = if a.is_finite() { a } else { 0.5 };
        check(
            &format!(
                "local a, b, c = {a:e}, {b}, {c} return {{bit.tobit(a), bit.bnot(b), \
                 bit.band(a, b, c), bit.bor(a, b), bit.bxor(a, b, c), bit.lshift(b, c), \
                 bit.rshift(b, c), bit.arshift(b, c), bit.rol(b, c), bit.ror(b, c), \
                 bit.bswap(b), bit.tohex(b), bit.tohex(b, c)}}"
            ),
            &[],
        )?;
    }
}

#[test]
fn a_script_that_is_to_end_cannot_catch_it() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
    for script in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() end) end",
        "while true do coroutine.wrap(function() while true do end end)() end",
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    ] {
        let mut desk = Desk { patience: Some(3), ..Desk::default() };
        let answer = run_with(&mut sandbox, &mut desk, script.as_bytes(), &[]);
        let expected = "-ERR Script killed by user with SCRIPT KILL... script: ";
        assert!(answer.starts_with(expected.as_bytes()), "{script}: {}", answer.escape_ascii());
    }
    assert_eq!(run(&mut sandbox, b"return 1", &[]), b":1\r\n", "the next one runs again");
}

#[test]
fn memory_is_bounded_and_comes_back() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, 16 * 1024 * 1024);
    for script in [
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 1e7 do t[i] = 'item' .. i end return cjson.encode(t)",
    ] {
        let answer = run(&mut sandbox, script.as_bytes(), &[]);
        assert!(
            String::from_utf8_lossy(&answer).contains("not enough memory"),
            "{script}: {}",
            answer.escape_ascii()
        );
    }
    run(&mut sandbox, b"collectgarbage() collectgarbage()", &[]);
    assert!(sandbox.used_bytes() < 1024 * 1024, "{} bytes are left", sandbox.used_bytes());
}

#[test]
fn a_truncated_value_is_told_before_its_impossible_key() {
    let mut pair = Pair::new();
    for bytes in [&b"\x81\xc0\x81"[..], b"\x81\xc0\x01", b"\x81\xca\x7f\xc0\0\0"] {
        pair.check(b"local _, told = pcall(cmsgpack.unpack, ARGV[1]) return told", &[bytes]);
    }
}

#[test]
fn hostile_calls_end_in_errors() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
    for (script, expected) in [
        ("return unpack({}, -2147483648, 2147483647)", "too many results to unpack"),
        ("return unpack({}, 1, 1e8)", "too many results to unpack"),
        ("return string.rep('x', 1e9)", "resulting string too large"),
        ("return string.rep('', 1e9) .. 'done'", "done"),
        ("return string.find(('a'):rep(1e6), ('a?'):rep(1e6))", "pattern too complex"),
        ("return tostring(loadstring(string.dump(function() end)))", "nil"),
        ("return tostring(load(function() return nil end))", "function: "),
        ("return cjson.decode(('['):rep(1e6))", "too many nested data structures"),
        ("cjson.decode_max_depth(1e9) return cjson.decode(('['):rep(1e6))", "too many nested"),
        ("cjson.encode_max_depth(1e9) local t = {} t[1] = t return cjson.encode(t)", "excessive"),
        ("return cmsgpack.unpack(('\\145'):rep(1e6))", "too many return values"),
        ("return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes"),
        ("local t = {} t[1] = t return t", "reached lua stack limit"),
        ("local f f = function() return f() + 1 end return f()", "stack overflow"),
        (
            "local t = {} for i = 1, 1e5 do t[i] = ('(') end return loadstring(table.concat(t))()",
            "",
        ),
        ("error({})", "ERR unknown error"),
        ("error(redis)", "Attempt to modify a readonly table"),
        ("return rawget(redis, 'source') == nil", ":1"),
    ] {
        let answer = run(&mut sandbox, script.as_bytes(), &[]);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains(expected), "{script}: {}", answer.escape_ascii());
    }
}

#[test]
fn nothing_a_script_does_reaches_the_next_one() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
    for script in [
        "x = 1",
        "_G.x = 1",
        "rawset(_G, 'x', 1)",
        "redis.x = 1",
        "rawset(redis, 'x', 1)",
        "table.insert(redis, 1)",
        "table.sort(_G)",
        "setmetatable(_G, nil)",
        "setmetatable(redis, {__index = function() return 1 end})",
        "getmetatable(_G).__index = function() return 1 end",
        "getmetatable('').__index = {}",
        "getmetatable('').__index.x = 1",
        "string.x = 1",
        "math.random = nil",
        "local n, t = pairs(redis) t.x = 1",
        "local k, v = next(_G, 'redis') _G[k] = 1",
        "table.remove(redis)",
    ] {
        let answer = run(&mut sandbox, script.as_bytes(), &[]);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("Attempt to modify a readonly table"), "{script}: {text}");
    }
}

#[test]
fn a_log_line_and_the_propagation_reach_the_caller() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
    let mut desk = Desk::default();
    let script = b"redis.log(redis.LOG_WARNING, 'a', 1, 'b') redis.set_repl(redis.REPL_AOF)";
    run_with(&mut sandbox, &mut desk, script, &[]);
    assert_eq!(desk.log, [(LogLevel::Warning, b"a 1 b".to_vec())]);
    assert_eq!(desk.propagation, Some(Propagation { aof: true, replicas: false }));
}

#[test]
fn functions_that_take_long_are_ended_like_a_loop() {
    let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
    for script in [
        "return string.find(string.rep('a', 30000), '.-b')",
        "return string.match(string.rep('a', 30000), '(.-)b')",
        "return string.gsub(string.rep('a', 30000), '.-b', '')",
        "for word in string.gmatch(string.rep('a', 30000), '.-b') do end",
        "return string.find(string.rep('a', 30000), ('a*'):rep(20) .. 'b')",
        "local s = ('a'):rep(1e6) local t = {} for i = 1, 1e4 do t[i] = s end table.sort(t)",
        "table.insert({1}, -2147483647, 1)",
        "local t = {} for i = 1, 30 do t = {t, t} end return cjson.encode(t)",
        "local t = {} for i = 1, 15 do t = {t, t, t, t} end return cmsgpack.pack(t)",
        "local t = {} for i = 1, 30 do t = {t, t} end return t",
        "local s = ('a'):rep(1e6) for i = 1, 70 do s:upper() end",
        "for i = 1, 10 do collectgarbage() end",
        // Caught once, it is not caught for long.
        "while true do pcall(string.find, string.rep('a', 30000), '.-b') end",
    ] {
        let mut desk = Desk { patience: Some(3), ..Desk::default() };
        let answer = run_with(&mut sandbox, &mut desk, script.as_bytes(), &[]);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains("Script killed by user with SCRIPT KILL..."), "{script}: {text}");
    }
    assert_eq!(run(&mut sandbox, b"return 1", &[]), b":1\r\n", "the next one runs again");
}

#[test]
fn a_search_that_takes_long_gives_the_result_it_gives_otherwise() {
    let mut pair = Pair::new();
    pair.check(b"return {string.find(string.rep('a', 3000), '.-b'), 1}", &[]);
    pair.check(b"return {string.gsub(string.rep('a', 3000) .. 'b', 'a-b', 'c')}", &[]);
}

/// A pattern, mostly well formed, of the parts that patterns have.
fn pattern() -> impl Strategy<Value = Vec<u8>> {
    let item = prop_oneof![
        5 => "[ab.1]".prop_map(String::into_bytes),
        3 => "%[acdlpswuxzADWS.%b]".prop_map(String::into_bytes),
        2 => "\\[\\^?[]a-c%-]{0,3}[ab%]?\\]?".prop_map(String::into_bytes),
        1 => Just(b"%b()".to_vec()),
        1 => Just(b"%f[%w]".to_vec()),
        1 => "%[0-9]".prop_map(String::into_bytes),
        1 => "[()]".prop_map(String::into_bytes),
        1 => Just(b"()".to_vec()),
        1 => "\\([ab.]\\)".prop_map(String::into_bytes),
        1 => Just(vec![0]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    let part = (
        item,
        prop_oneof![4 => Just(""), 1 => Just("*"), 1 => Just("+"), 1 => Just("-"), 1 => Just("?")],
    )
        .prop_map(|(item, suffix)| [&item[..], suffix.as_bytes()].concat());
    ("\\^?", proptest::collection::vec(part, 0..6), "\\$?").prop_map(|(head, parts, tail)| {
        [head.as_bytes(), &parts.concat(), tail.as_bytes()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn patterns_match_as_on_redis(
        pattern in pattern(),
        text in "[ab1()\\. ]{0,12}",
        replacement in "([a%]|%[0-3%]){0,4}",
        start in -14i32..14,
    ) {
        let script = "local function show(...) \
                        local shown = {n = select('#', ...), ...} \
                        for i = 1, shown.n do shown[i] = type(shown[i]) .. tostring(shown[i]) end \
                        return table.concat(shown, '|') end \
                      local text, pattern, start = ARGV[1], ARGV[2], tonumber(ARGV[4]) \
                      local words = {} \
                      return {show(pcall(string.find, text, pattern, start)), \
                              show(pcall(string.find, text, pattern, 1, true)), \
                              show(pcall(string.match, text, pattern, start)), \
                              show(pcall(string.gsub, text, pattern, ARGV[3])), \
                              show(pcall(string.gsub, text, pattern, ARGV[3], 2)), \
                              show(pcall(string.gsub, text, pattern, function(a, b) \
                                words[#words + 1] = show(a, b) return b end)), \
                              show(pcall(string.gsub, text, pattern, {a = 'x', b = 1, ['1'] = false})), \
                              show(pcall(function() for a, b in string.gmatch(text, pattern) do \
                                words[#words + 1] = show(a, b) end end)), \
                              table.concat(words, '/')}";
        let start = start.to_string();
        check(script, &[text.as_bytes(), &pattern, replacement.as_bytes(), start.as_bytes()])?;
    }

    #[test]
    fn tables_are_sorted_as_on_redis(
        items in proptest::collection::vec(prop_oneof![4 => "[0-9]{1,2}", 1 => "'[a-c]{0,2}'"], 0..30),
        order in prop_oneof![
            Just("nil"), Just("function(a, b) return tostring(a) > tostring(b) end"),
            Just("function(a, b) return true end"), Just("function() return false end"), Just("1"),
        ],
        position in -3i32..8,
    ) {
        let script = format!(
            "local t = {{{}}} local calls = 0 local order = {order} local f = order \
             if type(order) == 'function' then \
               f = function(a, b) calls = calls + 1 return order(a, b) end end \
             local ok, told = pcall(table.sort, t, f) \
             local ok2, told2 = pcall(table.insert, t, {position}, 'new') \
             local shown = {{tostring(told), calls, tostring(told2)}} \
             for i = -4, #t do shown[#shown + 1] = tostring(t[i]) end \
             return shown", items.join(","));
        check(&script, &[])?;
    }
}

#[test]
fn a_run_ends_within_a_call_that_takes_long() {
    let long = vec![b'b'; 2_000_000];
    let code = b"x=1 ".repeat(500_000);
    let spaces = vec![b' '; 2_000_000];
    let digits = vec![b'1'; 2_000_000];
    for (script, argument, patience) in [
        ("return tostring(loadstring(ARGV[1]))", &code, 10),
        (
            "return tostring(load(coroutine.wrap(function() coroutine.yield(ARGV[1]) end)))",
            &code,
            10,
        ),
        ("return struct.size(ARGV[1])", &long, 10),
        ("return struct.pack(ARGV[1])", &spaces, 10),
        ("return struct.unpack(ARGV[1], '')", &spaces, 10),
        ("return #struct.pack('c0', ARGV[1])", &long, 0),
        ("return #table.concat({ARGV[1], ARGV[1]})", &long, 0),
        ("return redis.log(redis.LOG_DEBUG, ARGV[1])", &long, 0),
        ("return tonumber(ARGV[1])", &digits, 0),
        ("return #string.sub(ARGV[1], 2)", &long, 0),
        ("return #ARGV[1]:sub(2)", &long, 0),
    ] {
        let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
        let mut desk = Desk { patience: Some(patience), ..Desk::default() };
        let answer = run_with(&mut sandbox, &mut desk, script.as_bytes(), &[argument]);
        let expected = "-ERR Script killed by user with SCRIPT KILL... script: ";
        assert!(answer.starts_with(expected.as_bytes()), "{script}: {}", answer.len());
        assert_eq!(run(&mut sandbox, b"return 1", &[]), b":1\r\n", "the next one runs again");
    }
}

#[test]
fn compat_tells_how_much_memory_lua_may_have() {
    let limit = format!("at most {} MB", MEMORY_BYTES_MAX / (1024 * 1024));
    let text = keyward_commands::compat_markdown();
    assert!(text.lines().any(|line| line.contains("Lua") && line.contains(&limit)), "{limit}");
}
