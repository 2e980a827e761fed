//! Lua without memory: the n-th allocation of a script fails, for every n.
//!
//! Lua leaves whatever it is doing by a long jump then, so this is where a frame that owned
//! something would lose it, and where a half-made state would show.
#![allow(unsafe_code)]

use super::*;
use crate::library::{Function, load};
use crate::sandbox::MAY_FAIL;
use mlua::ffi;
use std::ffi::c_void;

/// Scripts that use every library, the errors among them.
const SCRIPTS: &[&str] = &[
    "return {KEYS, ARGV, 'x', 1.5, true, false, {ok = 'fine'}, {err = 'bad'}}",
    "return {map = {a = 1, b = {2}}, x = {set = {s = true}}, y = {double = 1.5}}",
    "return cjson.encode({a = {1, 2, {b = 'x\\n'}}, c = cjson.null, d = 1.25})",
    "local c = cjson.new() c.encode_max_depth(5) return c.encode(cjson.decode(ARGV[1]))",
    "return cjson.decode('[1, {\"a\": [true, null, \"\\\\u00e9\"]}]')[2].a[3]",
    "return cjson.decode('[1, nonsense]')",
    "return cmsgpack.pack({1, 'two', {three = 3}}, 4.5)",
    "local a, b = cmsgpack.unpack(cmsgpack.pack({1, {x = 'y'}}, 'z')) return {a, b}",
    "return {struct.unpack('>I2c3s', struct.pack('>I2c3s', 7, 'abc', 'rest'))}",
    "return {bit.tohex(bit.bxor(1, 255)), bit.tobit(2 ^ 33 + 5)}",
    "return {string.gsub('one two three', '(%w+)', '<%1>')}",
    "return {string.gsub('one two', '%w+', function(word) return word:upper() end)}",
    "return {string.gsub('a b', '%w', {a = 'x', b = false}), ('k=v'):match('(%w)=(%w)')}",
    "local t = {} for word in string.gmatch('a bc def', '%w+') do t[#t + 1] = word end return t",
    "return {string.find('hello', 'l+'), string.find('a.b', '.', 1, true), ('ab'):rep(700)}",
    "return string.find('x', '(x')",
    "return string.format('%5.2f|%s|%q|%d', 1 / 3, 'text', 'a\"b', 42)",
    "local t = {3, 1, 2} table.sort(t) table.insert(t, 1, 0) table.remove(t) \
     return table.concat(t, ',')",
    "local t = {'b', 'a', 'c'} table.sort(t, function(a, b) return a > b end) return t",
    "return redis.call('echo', ARGV[1])",
    "return redis.call('ping')",
    "return redis.call('nosuch')",
    "return {redis.pcall('nosuch'), redis.status_reply('YES'), redis.error_reply('NO way')}",
    "redis.log(redis.LOG_WARNING, 'line', 1) return redis.sha1hex('x')",
    "redis.setresp(3) return redis.call('ping')",
    "return {pcall(error, 'plain'), pcall(error, {err = 'table'}), pcall(function() x = 1 end)}",
    "error('uncaught ' .. ARGV[1])",
    "error({err = 'MY table', source = 1, line = 2})",
    "return undefined_name",
    "return loadstring('return 1 + 1')() + select('#', unpack({1, 2, 3}))",
    "return tostring(load(function() return nil end)) ~= nil and math.random(5) > 0",
    "local c = coroutine.wrap(function(a) local b = coroutine.yield(a) return b end) \
     return {c(1), c(2)}",
    "local f f = function(n) return n == 0 and 'deep' or f(n - 1) .. '' end return f(150)",
    "this is no script",
];

const LIBRARY: &[u8] = b"#!lua name=l\nlocal text = ('x'):rep(100)\n\
    redis.register_function('f', function(keys, args) return {text, keys, args} end)\n\
    redis.register_function{function_name = 'g', description = 'does ' .. 7, \
    callback = function() return redis.call('ping') end, flags = {'no-writes'}}";

/// Which allocations fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    /// One of them.
    Once,
    /// That one and all that follow.
    FromThere,
}

/// An allocator around Lua's own.
struct Faults {
    original: ffi::lua_Alloc,
    memory: *mut c_void,
    failing: Failing,
    /// Allocations that still succeed.
    left: u32,
    /// Whether one has failed.
    has_failed: bool,
}

unsafe extern "C" fn failing_alloc(
    faults: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `with_faults` gives its own faults, which outlive the use of this allocator,
    // and the original allocator with its own memory.
    unsafe {
        let faults = &mut *faults.cast::<Faults>();
        let grows = new > if block.is_null() { 0 } else { old };
        if grows && MAY_FAIL.get() {
            let fails = faults.failing == Failing::FromThere || !faults.has_failed;
            if faults.left == 0 && fails {
                faults.has_failed = true;
                return std::ptr::null_mut();
            }
            faults.left = faults.left.saturating_sub(1);
        }
        (faults.original)(faults.memory, block, old, new)
    }
}

/// Works on a sandbox whose n-th allocation fails; returns whether one did.
fn with_faults(
    sandbox: &mut Sandbox,
    failing: Failing,
    left: u32,
    work: impl FnOnce(&mut Sandbox),
) -> bool {
    let state = sandbox.state();
    let mut memory = std::ptr::null_mut();
    // SAFETY: the state is alive and not running; its allocator comes back below, before
    // the faults go.
    let original = unsafe { ffi::lua_getallocf(state, &mut memory) };
    let mut faults = Faults { original, memory, failing, left, has_failed: false };
    let pointer = &raw mut faults;
    // SAFETY: as above.
    unsafe { ffi::lua_setallocf(state, failing_alloc, pointer.cast()) };
    work(sandbox);
    // SAFETY: as above.
    unsafe { ffi::lua_setallocf(state, original, memory) };
    faults.has_failed
}

/// Runs until no allocation fails any more, and compares with what it gives then.
fn check(sandbox: &mut Sandbox, script: &str, expected: &[u8], failing: Failing) {
    for n in 0.. {
        assert!(n < 20_000, "{script} allocates without end");
        let mut answer = Vec::new();
        let has_failed = with_faults(sandbox, failing, n, |sandbox| {
            answer = run(sandbox, script.as_bytes(), &[b"[1, \"a\"]"]);
        });
        if !has_failed {
            assert_eq!(answer.escape_ascii().to_string(), expected.escape_ascii().to_string());
            break;
        }
        // One reply, whole, whatever happened.
        let frame = keyward_resp::FrameParser::new(keyward_resp::FrameLimits::default())
            .next(&answer)
            .unwrap_or_else(|error| panic!("{script}, {n}: {error:?}"));
        assert!(frame.is_some(), "{script}, {n}: {}", answer.escape_ascii());
    }
    let answer = run(sandbox, script.as_bytes(), &[b"[1, \"a\"]"]);
    assert_eq!(
        answer.escape_ascii().to_string(),
        expected.escape_ascii().to_string(),
        "afterwards"
    );
}

#[test]
fn any_allocation_of_a_script_may_fail() {
    for failing in [Failing::Once, Failing::FromThere] {
        let mut sandbox = Sandbox::new(Audience::Scripts, 0, MEMORY_BYTES_MAX);
        for script in SCRIPTS {
            // Random numbers go on.
            let expected = run(&mut sandbox, script.as_bytes(), &[b"[1, \"a\"]"]);
            check(&mut sandbox, script, &expected, failing);
        }
        sandbox.collect_garbage();
        let used = sandbox.used_bytes();
        for script in SCRIPTS {
            let expected = run(&mut sandbox, script.as_bytes(), &[b"[1, \"a\"]"]);
            check(&mut sandbox, script, &expected, failing);
        }
        sandbox.collect_garbage();
        let left = sandbox.used_bytes();
        // The registry's table of free places may have grown once.
        assert!(left <= used + 4096, "{failing:?}: {used} bytes, then {left}");
    }
}

/// What a function answers, which sees what functions see, not what libraries do while
/// they are loaded.
fn call(sandbox: &mut Sandbox, function: &Function) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reply = ReplyWriter::new(&mut out, Protocol::Resp2);
    let none = ArgBuf::new();
    let input = Input { keys: none.args(), arguments: none.args() };
    let errors = &mut ErrorStats::default();
    sandbox.run(function.code, b"g", input, &mut Desk::default(), &mut reply, errors);
    out
}

#[test]
fn any_allocation_of_a_library_may_fail() {
    let mut sandbox = Sandbox::new(Audience::Libraries, 0, MEMORY_BYTES_MAX);
    let mut used = 0;
    for round in 0..2 {
        for failing in [Failing::Once, Failing::FromThere] {
            for n in 0.. {
                assert!(n < 20_000, "the library allocates without end");
                let mut loaded = None;
                let has_failed = with_faults(&mut sandbox, failing, n, |sandbox| {
                    loaded = Some(load(sandbox, LIBRARY, &mut Desk::default()));
                });
                let loaded = loaded.expect("the load returned");
                if let Ok(library) = loaded {
                    // Where the failure was caught, the library is whole.
                    assert_eq!(library.functions.len(), 2);
                    assert_eq!(library.functions[1].description.as_deref(), Some(&b"does 7"[..]));
                    assert_eq!(call(&mut sandbox, &library.functions[1]), b"+PONG\r\n");
                    for function in library.functions {
                        sandbox.forget(function.code);
                    }
                }
                if !has_failed {
                    break;
                }
            }
        }
        sandbox.collect_garbage();
        match round {
            0 => used = sandbox.used_bytes(),
            _ => assert!(sandbox.used_bytes() <= used + 4096, "{used}, {}", sandbox.used_bytes()),
        }
    }
}
