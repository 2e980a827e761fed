//! A system's functions, by the script `functions.wire`.
//!
//! The script tells what they answer. The other tests run the same commands and look
//! at what is in the database around each call.

use crate::{System, load, replies, scenario};
use keyward_resp::Frame;
use keyward_testkit::wire::{self, Told};
use keyward_testkit::{Client, Server};
use std::collections::BTreeSet;

const SCRIPT: &str = "functions.wire";

/// What a call ends with that was made to break off.
const BROKEN: &str = "BROKEN on purpose";

/// Both servers give the replies that the script tells, in RESP2 and RESP3.
pub(crate) fn answer_the_same_on_redis(system: &System) {
    let (keyward, redis) = (system.on_keyward(), system.on_redis());
    let failures = wire::run(SCRIPT, &system.text(SCRIPT), &keyward, &redis);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The script calls every declared function. Every declared error is seen with the words
/// of the schema, by the script or, where it takes time or others, by the scenario.
pub(crate) fn are_all_tried_and_fail_as_declared(system: &System) {
    let scenario = scenario::source(system);
    let mut missing = BTreeSet::new();
    for function in &system.schema.functions {
        missing.insert(function.name.to_string());
        let unseen = function.errors.iter().filter(|(code, _)| !scenario.contains(&**code));
        for (code, words) in unseen {
            missing.insert(format!("{}: (error) {code} {words}", function.name));
        }
    }
    for told in commands(system) {
        let Some(name) = function_of(&told) else { continue };
        let reply = told.reply.unwrap_or_default();
        missing.remove(&name);
        missing.remove(&format!("{name}: {reply}"));
    }
    assert!(missing.is_empty(), "{SCRIPT} has nothing of {missing:#?}");
}

/// Every reply fits its declaration, and every error has a code that is declared.
pub(crate) fn answer_what_is_declared(system: &System) {
    let server = system.on_keyward();
    let mut client = system.client(&server);
    for told in commands(system) {
        let reply = client.call(&told.command).expect("an answer");
        let Some(name) = function_of(&told) else { continue };
        let mut declared = system.schema.functions.iter();
        let function = declared.find(|function| *function.name == name).expect("it is declared");
        let problem = match (&reply, &function.reply) {
            (Frame::Error(error), _) => {
                let error = String::from_utf8_lossy(error);
                let code = error.split(' ').next().unwrap_or_default();
                let is_declared = function.errors.iter().any(|(declared, _)| &**declared == code);
                (!is_declared).then(|| error.into_owned())
            }
            (reply, Some(shape)) => replies::misfit(shape, reply),
            (reply, None) => Some(format!("{reply:?}, and no reply is declared")),
        };
        assert_eq!(problem, None, "{SCRIPT}:{}: {name}", told.line);
    }
}

/// On either server, a call that is answered by an error changes nothing.
pub(crate) fn refuse_without_a_trace(system: &System) {
    for server in [system.on_keyward(), system.on_redis()] {
        let mut client = system.client(&server);
        for told in commands(system) {
            let before = state(&mut client);
            if let Frame::Error(error) = client.call(&told.command).expect("an answer") {
                let error = String::from_utf8_lossy(&error).into_owned();
                assert_eq!(before, state(&mut client), "{SCRIPT}:{}: {error}", told.line);
            }
        }
    }
}

/// On Keyward, a call that breaks off after any of its steps changes nothing: neither
/// a write that fails nor one that was done before leaves half an operation behind.
pub(crate) fn break_off_without_a_trace(system: &System) {
    let server: Server = system.on_keyward();
    let mut client = system.client(&server);
    let mut unbroken: BTreeSet<String> =
        system.schema.functions.iter().map(|function| function.name.to_string()).collect();
    for told in commands(system) {
        let Some(name) = function_of(&told) else {
            client.call(&told.command).expect("an answer");
            continue;
        };
        for step in 1.. {
            let before = state(&mut client);
            for library in &system.libraries {
                load(&mut client, &breaking_after(library, step));
            }
            let reply = client.call(&told.command).expect("an answer");
            let is_broken =
                matches!(&reply, Frame::Error(error) if error.starts_with(BROKEN.as_bytes()));
            if !is_broken {
                // It has fewer steps: this time it was done.
                break;
            }
            unbroken.remove(&name);
            assert_eq!(before, state(&mut client), "{SCRIPT}:{}, step {step}", told.line);
        }
    }
    assert!(unbroken.is_empty(), "calls of {unbroken:?} were not broken off");
}

/// A library whose functions raise an error after so many calls of commands. While it is
/// loaded there is less in `redis` than when it runs: what it has is looked up late.
fn breaking_after(library: &str, step: usize) -> String {
    let (name, code) = library.split_once('\n').expect("a library begins with its name");
    format!(
        "{name}
local left = {step}
local function real(name) return redis[name] end
local function breaking(name)
  return function(...)
    local reply = real(name)(...)
    left = left - 1
    if left == 0 then error({{ err = '{BROKEN}' }}) end
    return reply
  end
end
local redis = {{
  register_function = redis.register_function,
  call = breaking('call'),
  pcall = breaking('pcall'),
  error_reply = function(text) return real('error_reply')(text) end,
  status_reply = function(text) return real('status_reply')(text) end,
}}
{code}"
    )
}

fn commands(system: &System) -> Vec<Told> {
    wire::commands(&system.text(SCRIPT)).unwrap_or_else(|error| panic!("{SCRIPT}:{error}"))
}

/// Which function a command calls.
fn function_of(told: &Told) -> Option<String> {
    let word = |index: usize| told.command.get(index).map(|word| String::from_utf8_lossy(word));
    let is_call = ["FCALL", "FCALL_RO"]
        .iter()
        .any(|call| word(0).is_some_and(|word| word.eq_ignore_ascii_case(call)));
    word(1).filter(|_| is_call).map(|name| name.into_owned())
}

/// All that is in the database: the digest of rows, and when each ends.
fn state(client: &mut Client) -> (Frame, Vec<(String, Frame)>) {
    let digest = client.call(["DEBUG", "DIGEST"]).expect("an answer");
    let keys = client.call(["KEYS", "*"]).expect("an answer");
    let keys = keys.as_elements().expect("KEYS answers a list").iter();
    let mut keys: Vec<_> = keys.filter_map(Frame::as_bytes).map(<[u8]>::to_vec).collect();
    keys.sort();
    let mut end = |key: Vec<u8>| {
        let end = client.call([&b"PEXPIRETIME"[..], &key]).expect("an answer");
        (wire::quoted(&key), end)
    };
    let ends = keys.into_iter().map(&mut end).collect();
    (digest, ends)
}
