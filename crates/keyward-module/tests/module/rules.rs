//! What the schema demands, kept by the module.

use crate::served::Served;

#[test]
fn types_shapes_and_unknown_keys_are_refused_with_file_and_line() {
    Served::start(&[]).check(&[
        ("SET user:1 x", "-SCHEMA user:1: is declared a hash, not a string (shop.toml:6)"),
        (
            "HSET user:1 status lost plan gold",
            "-SCHEMA user:1: status must be active or closed, not \"lost\" (shop.toml:11)",
        ),
        (
            "HSET user:1 status active",
            "-SCHEMA user:1: lacks the required field plan (shop.toml:6)",
        ),
        ("EXISTS user:1", "0"),
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("HSET user:1 status active plan gold", "2"),
        ("LPUSH user:1 x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("SET user:1", "-ERR wrong number of arguments for 'set' command"),
        ("HDEL user:1 plan", "-SCHEMA user:1: lacks the required field plan (shop.toml:6)"),
        ("HGETALL user:1", "status active plan gold"),
        ("RPUSH log:1 a b c d", "4"),
        ("LRANGE log:1 0 -1", "b c d"),
        ("LPUSH log:1 z", "4"),
        ("LRANGE log:1 0 -1", "z b c"),
        ("SADD user:1:in 1 2 3 4", "4"),
        ("SCARD user:4:out", "1"),
    ]);
}

#[test]
fn lifetimes_are_filled_in_and_kept() {
    let mut served = Served::start(&[]);
    for command in ["SET token:1 a", "SETEX token:2 60 a", "SETNX token:3 a", "GETSET token:4 a"] {
        let reply = served.call(command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
    served.check(&[
        ("TTL token:1", "600"),
        ("TTL token:2", "60"),
        ("TTL token:3", "600"),
        ("TTL token:4", "600"),
        ("SETNX token:2 b", "0"),
        ("TTL token:2", "60"),
        ("MSET token:5 a token:6 b", "OK"),
        ("TTL token:6", "600"),
        ("INCR count:1", "1"),
        ("TTL count:1", "3600"),
        ("SET price:1 1", "OK"),
        ("TTL price:1", "-1"),
    ]);
    for command in ["PERSIST token:1", "EXPIRE token:1 9999", "SET token:1 a EX 9999"] {
        let reply = served.call(command);
        assert!(reply.starts_with("-SCHEMA token:1: "), "{command}: {reply}");
    }
    served.check(&[("TTL token:1", "600"), ("EXPIRE token:1 60", "1"), ("TTL token:1", "60")]);
}

#[test]
fn decimals_are_added_exactly() {
    Served::start(&[]).check(&[
        ("INCRBYFLOAT price:1 0.10", "0.1"),
        ("INCRBYFLOAT price:1 0.20", "0.3"),
        ("GET price:1", "0.3"),
    ]);
}

#[test]
fn derived_keys_follow_every_change_of_their_source() {
    let unique = "-SCHEMA user:2: email belongs to 1 already, and by_email:{email} is \
                  unique (shop.toml:10)";
    Served::start(&[]).check(&[
        ("HSET user:1 status active plan gold email a seen 5", "4"),
        ("GET by_email:a", "1"),
        ("ZRANGE seen 0 -1 WITHSCORES", "1 5"),
        ("SMEMBERS active:gold", "1"),
        ("HSET user:1 plan free seen 7", "0"),
        ("EXISTS active:gold", "0"),
        ("SMEMBERS active:free", "1"),
        ("ZSCORE seen 1", "7"),
        ("HSET user:2 status active plan gold email a", unique),
        ("EXISTS user:2 active:gold", "0"),
        (
            "SET by_email:b 1",
            "-SCHEMA by_email:b: is kept by Keyward from user:{id:uint}, which \
         says otherwise; write that instead (shop.toml:15)",
        ),
        ("RENAME user:1 user:3", "OK"),
        ("GET by_email:a", "3"),
        ("SET user:3:note hi", "OK"),
        ("TTL user:3:note", "3600"),
        ("EXPIRE user:3 60", "1"),
        ("TTL user:3:note", "60"),
        (
            "SET user:4:note hi",
            "-SCHEMA user:4:note: lives with user:4, which does not exist; \
                                create that first (shop.toml:30)",
        ),
        ("SADD user:1:out 2 3", "2"),
        ("SMEMBERS user:2:in", "1"),
        ("SREM user:3:in 1", "1"),
        ("SMEMBERS user:1:out", "2"),
        ("SET msg:1:7 x", "OK"),
        ("ZADD recent:1 5 7", "1"),
        (
            "ZADD recent:1 5 8",
            "-SCHEMA recent:1: a member must name a living key, and msg:1:8 does not exist; write that first (shop.toml:54)",
        ),
        ("DEL msg:1:7", "1"),
        ("EXISTS recent:1", "0"),
        ("DEL user:3", "1"),
        ("EXISTS user:3:note by_email:a seen active:free", "0"),
    ]);
}

#[test]
fn a_refused_command_is_undone_whole() {
    Served::start(&[]).check(&[
        ("SET code:1 a", "OK"),
        ("SET code:2 b", "OK"),
        ("EXPIRE code:1 100", "-SCHEMA code:1: lives until it is deleted (ttl = \"none\") and takes no lifetime (shop.toml:35)"),
        ("MSET code:3 c code:2 a", "-SCHEMA code:2: the value belongs to 1 already, and owner:{code} is unique (shop.toml:32)"),
        ("EXISTS code:3 owner:c", "0"),
        ("GET code:2", "b"),
        ("GET owner:b", "2"),
        ("RENAME code:1 user:1", "-SCHEMA user:1: is declared a hash, not a string (shop.toml:6)"),
        ("GET code:1", "a"),
        ("GET owner:a", "1"),
        ("SADD user:1:out 2 3 4 5", "4"),
        ("SADD user:1:out 6", "-SCHEMA user:1:out: may have at most 4 members (max_members), not 5 (shop.toml:41)"),
        ("SCARD user:1:out", "4"),
        ("EXISTS user:6:in", "0"),
    ]);
}

#[test]
fn transactions_run_command_by_command_and_see_what_follows() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("MULTI", "OK"),
        ("HSET user:1 status active plan gold email a", "QUEUED"),
        ("GET by_email:a", "QUEUED"),
        ("HSET user:1 status lost", "QUEUED"),
        ("SET token:1 x", "QUEUED"),
        (
            "EXEC",
            "3 1 -SCHEMA user:1: status must be active or closed, not \"lost\" (shop.toml:11) OK",
        ),
        ("TTL token:1", "600"),
    ]);
}

#[test]
fn scripts_are_judged_call_by_call() {
    let mut served = Served::start(&[]);
    let mut script = |code: &str| {
        crate::served::shown(&served.client.call(["EVAL", code, "0"]).expect("a reply"))
    };
    let write = "return redis.call('HSET','user:1','status','active','plan','gold','email','a')";
    assert_eq!(script(write), "3");
    assert_eq!(script("return redis.call('GET','by_email:a')"), "1");
    let refused = script("return redis.pcall('HSET','user:1','status','lost')['err']");
    assert!(refused.starts_with("SCHEMA user:1: status must be"), "{refused}");
    assert_eq!(served.call("HGET user:1 status"), "active");
}

#[test]
fn what_expires_takes_along_what_follows_from_it() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("HSET user:1 status active plan gold email a seen 5", "4"),
        ("SET user:1:note hi", "OK"),
        ("HSET user:2 status active plan gold email b", "3"),
        ("PEXPIRE user:1 30", "1"),
    ]);
    keyward_testkit::wait_until(|| served.call("EXISTS user:1 user:1:note by_email:a seen") == "0");
    served.check(&[("SMEMBERS active:gold", "2"), ("GET by_email:b", "2")]);
    // One that is due when it is written anew is a new one.
    served.check(&[("DEBUG SET-ACTIVE-EXPIRE 0", "OK"), ("PEXPIRE user:2 20", "1")]);
    std::thread::sleep(std::time::Duration::from_millis(40));
    served.check(&[
        ("HSET user:2 status closed plan free email b", "3"),
        ("GET by_email:b", "2"),
        ("EXISTS active:gold", "0"),
        ("TTL user:2", "3600"),
    ]);
}

#[test]
fn what_is_written_in_the_last_millisecond_of_a_row_is_followed() {
    let mut served = Served::start(&[]);
    for id in 0..200 {
        served.call(&format!("HSET user:{id} status active plan gold email m{id} seen {id}"));
        served.call(&format!("PEXPIRE user:{id} 2"));
        // Some of these meet the row in the millisecond of its deadline.
        let begin = std::time::Instant::now();
        while begin.elapsed() < std::time::Duration::from_millis(4) {
            served.call(&format!("HDEL user:{id} email seen"));
        }
    }
    keyward_testkit::wait_until(|| served.call("DBSIZE") == "0");
}

#[test]
fn what_is_evicted_takes_along_what_follows_from_it() {
    let mut served = Served::start(&["--maxmemory-policy", "volatile-ttl"]);
    served.check(&[("HSET user:1 status active plan gold email a seen 5", "4")]);
    served.check(&[("CONFIG SET maxmemory 1", "OK")]);
    // A command that may need memory has the server evict.
    served.call("HSET user:2 status active plan gold");
    served.check(&[("CONFIG SET maxmemory 0", "OK"), ("EXISTS user:1 by_email:a seen", "0")]);
}

#[test]
fn commands_newer_than_the_table_are_judged_by_what_they_did() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("HSET user:1 status active plan gold", "2"),
        (
            "HSETEX user:1 FIELDS 1 plan lead",
            "-SCHEMA user:1: plan must be gold or free, not \"lead\" (shop.toml:12)",
        ),
        ("HGET user:1 plan", "gold"),
        ("HSETEX user:1 FIELDS 1 plan free", "1"),
        (
            "HSETEX user:1 EX 5 FIELDS 1 plan gold",
            "-SCHEMA user:1: fields of user:{id:uint} have no lifetime of their own here",
        ),
        (
            "HEXPIRE user:1 5 FIELDS 1 plan",
            "-SCHEMA user:1: fields of user:{id:uint} have no lifetime of their own here",
        ),
        ("HTTL user:1 FIELDS 1 plan", "-1"),
        ("SMEMBERS active:free", "1"),
    ]);
}

#[test]
fn what_stood_in_the_place_of_a_derived_key_is_replaced() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("keyward.mode observe", "OK"),
        ("SET active:gold x", "OK"),
        ("keyward.mode schema", "OK"),
        ("HSET user:1 status active plan gold email a", "3"),
        ("SMEMBERS active:gold", "1"),
    ]);
}

#[test]
fn modes_figures_and_explanations() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("keyward.match user:7", "user:{id:uint}"),
        ("keyward.match other", "nil"),
        ("keyward.mode", "shop enforce"),
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("keyward.mode warn", "OK"),
        ("SET stranger 1", "OK"),
        ("SET token:1 a", "OK"),
        ("TTL token:1", "600"),
        ("keyward.mode observe", "OK"),
        ("SET token:2 a", "OK"),
        ("TTL token:2", "-1"),
        ("keyward.mode schema", "OK"),
        ("keyward.mode", "shop enforce"),
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
    ]);
    let refusals = served.call("keyward.refusals");
    assert_eq!(refusals.matches("refused SCHEMA stranger").count(), 2, "{refusals}");
    assert_eq!(refusals.matches("warned SCHEMA stranger").count(), 1, "{refusals}");
    let stats = served.call("keyward.stats");
    assert!(stats.contains("pattern token:{id} writes 2 refused 0"), "{stats}");
    let about = served.call("keyward.explain token:1");
    assert!(about.contains("token:{id}"), "{about}");
    assert_eq!(served.call("keyward.schema SHOW").trim(), crate::SCHEMA.trim());
    let info = served.call("INFO keyward");
    for line in ["keyward_db0_keyspaces:shop", "keyward_refused:2", "keyward_panics:0"] {
        assert!(info.contains(line), "{line} in {info}");
    }
}

#[test]
fn a_panic_ends_at_the_entry_and_is_counted_and_logged() {
    let mut served = Served::start(&[]);
    let refused = "-ERR Keyward failed; see the server's log";
    served.check(&[
        ("keyward.debug PANIC", refused),
        ("MULTI", "OK"),
        ("HSET user:1 status active plan gold email a", "QUEUED"),
        ("keyward.debug PANIC", "QUEUED"),
        ("GET by_email:a", "QUEUED"),
        ("EXEC", &format!("3 {refused} 1")),
        ("HSET user:2 status active plan gold email b", "3"),
        ("SMEMBERS active:gold", "1 2"),
        ("CONFIG GET enable-debug-command", "enable-debug-command yes"),
    ]);
    assert!(served.call("INFO keyward").contains("keyward_panics:2"));
    let log = std::fs::read_to_string(served.server.directory().join("log")).expect("a log");
    assert!(log.contains("Keyward panicked; the command is refused"), "{log}");
    let mut served = Served::start(&["--enable-debug-command", "no"]);
    let refused = "-ERR keyward.debug is not allowed: enable-debug-command is not yes";
    served.check(&[("keyward.debug PANIC", refused)]);
}

#[test]
fn other_databases_are_left_alone_and_not_swapped_in() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("SELECT 1", "OK"),
        ("SET stranger 1", "OK"),
        ("SET user:1 x", "OK"),
        ("MOVE user:1 0", "-SCHEMA MOVE into database 0, the keyspace shop, is not judged here"),
        (
            "COPY user:1 code:1 DB 0",
            "-SCHEMA COPY into database 0, the keyspace shop, is not judged here",
        ),
        ("SWAPDB 0 1", "-SCHEMA database 0 is the keyspace shop and cannot be swapped"),
        ("SWAPDB 1 2", "OK"),
        ("SELECT 0", "OK"),
        ("SET code:1 a", "OK"),
        ("MOVE code:1 5", "1"),
        ("EXISTS owner:a", "0"),
    ]);
}

#[test]
fn where_there_is_one_database_the_filter_decides_what_arguments_do() {
    let mut served = Served::start(&["--databases", "1"]);
    served.check(&[
        ("SET token:1 a", "OK"),
        ("TTL token:1", "600"),
        ("SET token:1 b GET", "a"),
        ("TTL token:1", "600"),
        ("SET user:1 x", "-SCHEMA user:1: is declared a hash, not a string (shop.toml:6)"),
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("MULTI", "OK"),
        ("SET token:2 a", "QUEUED"),
        ("SET stranger 1", "QUEUED"),
        ("EXEC", "OK -SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("TTL token:2", "600"),
        ("HSET user:1 status active plan gold email a", "3"),
        ("GET by_email:a", "1"),
    ]);
    // Rerouted commands are counted under our names, those that the filter rewrites are not.
    let info = served.call("INFO commandstats");
    assert!(info.contains("cmdstat_set:") && !info.contains("cmdstat_keyward.set:"), "{info}");
}

#[test]
fn who_waits_for_an_item_is_judged_when_it_comes() {
    let mut served = Served::start(&[]);
    let mut waiting = served.server.client();
    // A push, a transaction and a script wake it; what it moves is trimmed to its length.
    served.check(&[("RPUSH log:2 a b c", "3")]);
    let pushes: [&[&str]; 3] = [
        &["RPUSH log:1 x"],
        &["MULTI", "RPUSH log:1 y", "EXEC"],
        &["EVAL return(redis.call('RPUSH','log:1','z')) 0"],
    ];
    for (push, moved) in pushes.iter().zip(["x", "y", "z"]) {
        let wait = ["BLMOVE", "log:1", "log:2", "LEFT", "RIGHT", "0"];
        waiting.send_command(wait).expect("it is sent");
        keyward_testkit::wait_until(|| served.call("INFO clients").contains("blocked_clients:1"));
        push.iter().for_each(|command| {
            served.call(command);
        });
        let reply = waiting.receive().expect("a reply");
        assert_eq!(crate::served::shown(&reply), moved);
    }
    served.check(&[
        ("LRANGE log:2 0 -1", "x y z"),
        ("EXISTS log:1", "0"),
        ("BLPOP log:1 0.05", "nil"),
        ("BLPOP log:2 0.05", "log:2 x"),
        ("MULTI", "OK"),
        ("BLPOP log:1 0", "QUEUED"),
        ("EXEC", "nil"),
        ("TTL log:2", "3600"),
    ]);
}
