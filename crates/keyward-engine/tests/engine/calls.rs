//! Calls of functions that a schema declares: what does not fit is refused, and nothing runs.
//! Calls that scripts ask about.

use crate::harness::TestEngine;
use keyward_resp::push_request;
use keyward_store::keyspace::client_id::ClientId;

const SCHEMA: &str = r#"
[keyspace]
name = "calls"

[key."count:{id}"]
type = "int"
ttl  = "none"

[function.raise]
doc   = "Adds to a count, as long as it takes."
keys  = ["count:{id}"]
args  = ["by: uint"]
reply = "int"
"#;

const LIBRARY: &str = "#!lua name=calls
redis.register_function('raise', function(keys, args)
  while tonumber(args[1]) < 0 do end
  return redis.call('INCRBY', keys[1], args[1])
end)";

fn started() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    (test, client)
}

fn load(test: &mut TestEngine, client: ClientId) {
    let mut bytes = Vec::new();
    push_request(&mut bytes, ["FUNCTION", "LOAD", LIBRARY].iter());
    test.send(client, &bytes);
}

/// The function would run for ever.
#[test]
fn a_call_that_does_not_fit_is_refused_before_the_function_runs() {
    let (mut test, client) = started();
    load(&mut test, client);
    for name in ["raise", "RAISE"] {
        let refused = test.call(client, &format!("FCALL {name} 1 count:1 -5"));
        assert!(refused.starts_with("-SCHEMA ") && refused.contains("by must be"), "{refused}");
        let refused = test.call(client, &format!("FCALL {name} 1 other:1 -5"));
        assert!(refused.starts_with("-SCHEMA ") && refused.contains("key 1 must be"), "{refused}");
    }
    assert_eq!(test.call(client, "FCALL Raise 1 count:1 5"), ":5\r\n");
}

#[test]
fn errors_that_redis_has_before_a_function_runs_come_first() {
    let (mut test, client) = started();
    assert_eq!(test.call(client, "FCALL raise 1 count:1 -5"), "-ERR Function not found\r\n");
    load(&mut test, client);
    assert_eq!(
        test.call(client, "FCALL_RO raise 1 count:1 -5"),
        "-ERR Can not execute a script with write flag using *_ro command.\r\n"
    );
    assert_eq!(
        test.call(client, "FCALL raise x count:1 -5"),
        "-ERR Bad number of keys provided\r\n"
    );
}

/// Whoever has some keys only may ask, in a script, about calls of any length.
#[test]
fn a_script_may_ask_about_calls_of_any_length() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "ACL SETUSER ann on nopass ~a* &none +@all");
    test.call(client, "AUTH ann x");
    for command in keyward_commands::COMMANDS.iter() {
        let words: Vec<&str> = command.name.split('|').collect();
        for more in 0..8 {
            let words: Vec<String> = words
                .iter()
                .map(|word| format!("'{word}'"))
                .chain((0..more).map(|at| format!("'{}'", ["1", "STORE", "KEYS", "b"][at % 4])))
                .collect();
            let script = format!("return redis.acl_check_cmd({})", words.join(","));
            let mut bytes = Vec::new();
            push_request(&mut bytes, ["EVAL", &script, "0"].iter());
            let (_, reply) = test.send(client, &bytes);
            assert!(!reply.is_empty(), "{script}");
        }
    }
    let mut bytes = Vec::new();
    push_request(&mut bytes, ["EVAL", "return redis.acl_check_cmd('set', 'b')", "0"].iter());
    assert_eq!(test.send(client, &bytes).1, b"$-1\r\n", "false: it is not ann's key");
}

/// As Redis puts it together.
#[test]
fn a_subscriber_whose_exec_is_refused_is_told_so_without_a_second_code() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    test.call(client, "SUBSCRIBE c");
    assert_eq!(
        test.call(client, "EXEC"),
        "-EXECABORT Transaction discarded because of: Can't execute 'exec': only (P|S)SUBSCRIBE / \
         (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n"
    );
}
