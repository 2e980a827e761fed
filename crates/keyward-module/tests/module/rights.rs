//! Who may do what: nobody may do by the module what they could not do without.

use keyward_testkit::Client;

use crate::served::{Served, told};

fn as_user(served: &mut Served, name: &str, rules: &str) -> Client {
    served.check(&[(&format!("ACL SETUSER {name} on nopass {rules}"), "OK")]);
    let mut client = served.server.client();
    assert_eq!(told(&mut client, &format!("AUTH {name} x")), "OK");
    client
}

#[test]
fn a_user_of_write_needs_nothing_new_and_has_no_more_keys() {
    let mut served = Served::start(&[]);
    let mut writer = as_user(&mut served, "writer", "+@write %W~token:* ~user:*");
    for (command, expected) in [
        ("SET token:1 a", "OK"),
        ("GETSET token:1 b", "-NOPERM No permissions to access a key"),
        ("SET code:1 a", "-NOPERM No permissions to access a key"),
        ("HSET user:1 status active plan gold email a", "3"),
        ("SET by_email:b 1", "-NOPERM No permissions to access a key"),
        ("SET stranger 1", "-NOPERM No permissions to access a key"),
        (
            "keyward.mode warn",
            "-NOPERM User writer has no permissions to run the 'keyward.mode' command",
        ),
    ] {
        assert_eq!(told(&mut writer, command), expected, "{command}");
    }
    // The tie is the grant.
    served.check(&[("GET by_email:a", "1"), ("TTL token:1", "600")]);
}

#[test]
fn rights_to_a_single_command_name_ours_too() {
    let mut served = Served::start(&[]);
    let mut one = as_user(&mut served, "one", "+set ~*");
    let refused = "-NOPERM User one has no permissions to run the 'keyward.set' command";
    assert_eq!(told(&mut one, "SET token:1 a"), refused);
    served.check(&[("ACL SETUSER one +keyward.set", "OK")]);
    assert_eq!(told(&mut one, "SET token:1 a"), "OK");
    // Ours alone grants nothing.
    served.check(&[("ACL SETUSER one -set", "OK")]);
    for command in ["keyward.set code:1 a", "keyward.set token:2 a"] {
        let reply = told(&mut one, command);
        assert!(reply.starts_with("-NOPERM"), "{command}: {reply}");
    }
    served.check(&[("EXISTS code:1 token:2", "0")]);
    // What runs in the place of a command needs no rights of its own.
    let mut other = as_user(&mut served, "other", "+setex +keyward.setex ~*");
    assert_eq!(told(&mut other, "SETEX token:2 60 a"), "OK");
}

#[test]
fn who_reads_is_shown_the_schema_and_misfits_of_its_keys_and_plans_nothing() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("keyward.mode observe", "OK"),
        ("HSET user:1 status lost plan gold", "2"),
        ("RPUSH code:1 a", "1"),
        ("keyward.mode schema", "OK"),
    ]);
    let mut reader = as_user(&mut served, "reader", "+@read ~user:*");
    assert!(told(&mut reader, "keyward.schema SHOW").contains("[keyspace]"));
    let refused = "-NOPERM User reader has no permissions to run the 'keyward.mode' command";
    for command in ["keyward.schema PLAN", "keyward.schema APPLY x"] {
        assert_eq!(told(&mut reader, command), refused, "{command}");
    }
    let misfits = told(&mut reader, "keyward.misfits COUNT 100");
    assert!(misfits.contains("key user:1 ") && !misfits.contains("code:1"), "{misfits}");
    assert!(served.call("keyward.misfits COUNT 100").contains("key code:1 "));
}
