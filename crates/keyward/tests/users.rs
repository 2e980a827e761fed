//! Users of a real server: from its settings, from their file, and from a schema.

use keyward_commands::{COMMANDS, Flag, Group, KeyFlag};
use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

fn call(client: &mut Client, words: &[&str]) -> Frame {
    client.call(words.iter()).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// The reply as text, an error with its mark.
fn text(client: &mut Client, words: &[&str]) -> String {
    shown(&call(client, words))
}

fn shown(frame: &Frame) -> String {
    match frame {
        Frame::Error(text) => format!("-{}", String::from_utf8_lossy(text)),
        Frame::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join("\n"),
        other => match other.as_bytes() {
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => format!("{other:?}"),
        },
    }
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// What a server says that does not start.
fn refused_start(arguments: &[&str]) -> String {
    let output = Command::new(PROGRAM).arg("serve").args(arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn users_of_the_settings_are_there_and_are_written_back() {
    let folder = tempfile::tempdir().expect("a directory");
    let conf = path(folder.path(), "redis.conf");
    let dir = folder.path().display();
    let lines =
        format!("dir {dir}\nsave \"\"\nuser ann on >secret ~a:* +get (+set ~b)\nuser off off\n");
    fs::write(&conf, lines).expect("a file");
    let server = Server::keyward_as_set(Path::new(PROGRAM), &[&conf]);
    let mut client = server.client();
    assert_eq!(text(&mut client, &["ACL", "USERS"]), "ann\ndefault\noff");
    let before = text(&mut client, &["ACL", "LIST"]);
    let mut ann = server.client();
    assert_eq!(text(&mut ann, &["AUTH", "ann", "secret"]), "OK");
    assert!(text(&mut ann, &["GET", "b"]).starts_with("-NOPERM"));
    assert_eq!(text(&mut client, &["ACL", "SETUSER", "bob", "on", ">x", "~\u{e4}*"]), "OK");
    assert_eq!(text(&mut client, &["CONFIG", "REWRITE"]), "OK");
    let written = fs::read_to_string(&conf).expect("the file");
    assert!(!written.contains("secret"), "{written}");
    let list = text(&mut client, &["ACL", "LIST"]);
    drop(server);
    // The directory of the first server is gone with it.
    let kept: Vec<&str> = written.lines().filter(|line| !line.starts_with("dir")).collect();
    fs::write(&conf, kept.join("\n")).expect("a file");
    let server = Server::keyward_as_set(Path::new(PROGRAM), &[&conf]);
    let again = text(&mut server.client(), &["ACL", "LIST"]);
    // As in Redis, a default user that is declared is told to check payloads.
    let expected = list.replace("default on nopass ~*", "default on nopass sanitize-payload ~*");
    assert_eq!(again, expected);
    assert!(before.lines().all(|line| list.contains(line)), "{before}");
}

#[test]
fn the_file_of_users_is_read_saved_and_loaded_anew_all_or_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().display().to_string();
    let file = path(folder.path(), "users.acl");
    fs::write(&file, "user ann on nopass ~* +@all\nuser default on nopass ~* &* +@all\n").unwrap();
    let options = ["--dir", &dir, "--save", "", "--aclfile", "users.acl"];
    let server = Server::keyward(Path::new(PROGRAM), &options);
    let mut client = server.client();
    assert_eq!(text(&mut client, &["ACL", "USERS"]), "ann\ndefault");
    assert_eq!(text(&mut client, &["ACL", "SETUSER", "bob", "on", "~b"]), "OK");
    assert_eq!(text(&mut client, &["ACL", "SAVE"]), "OK");
    let saved = fs::read_to_string(&file).expect("the file");
    assert!(saved.contains("user bob on ~b resetchannels -@all\n"), "{saved}");
    let mut ann = server.client();
    assert_eq!(text(&mut ann, &["AUTH", "ann", "x"]), "OK");
    fs::write(&file, "user eve on\nuser eve off\nnonsense\nuser x +nosuch ~a ~* ~b %x\n").unwrap();
    let reply = text(&mut client, &["ACL", "LOAD"]);
    assert_eq!(
        reply,
        "-ERR WARNING: Duplicate user 'eve' found on line 2. users.acl:3 should start with user keyword followed by the username. users.acl:4: Error in applying operation '+nosuch': Unknown command or category name in ACL. users.acl:4: Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns. WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
    );
    // A zero byte does not end the file, and with it the users whose lines follow.
    fs::write(&file, "user eve on ~* \0\nuser default off\n").unwrap();
    let reply = text(&mut client, &["ACL", "LOAD"]);
    assert!(reply.starts_with("-ERR users.acl:1: a zero byte is in this line. "), "{reply}");
    assert_eq!(text(&mut client, &["ACL", "USERS"]), "ann\nbob\ndefault");
    assert_eq!(text(&mut ann, &["PING"]), "PONG");
    fs::write(&file, saved).expect("the file");
    assert_eq!(text(&mut client, &["ACL", "LOAD"]), "OK");
    assert!(ann.call(["PING"].iter()).is_err(), "users of a file that is loaded begin anew");
    fs::remove_file(&file).expect("it is there");
    assert_eq!(
        text(&mut client, &["ACL", "LOAD"]),
        "-ERR Error loading ACLs, opening file 'users.acl': No such file or directory"
    );
}

/// What categories make is told by categories and commands that Redis 7.0 has: a file of users
/// goes back to it.
#[test]
fn redis_reads_a_file_of_users_that_was_saved_here() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = path(folder.path(), "users.acl");
    fs::write(&file, "user default on nopass ~* &* +@all\n").expect("a file");
    let redis = Server::redis(&["--save", "", "--aclfile", &file]);
    let keyward = Server::keyward(Path::new(PROGRAM), &["--save", "", "--aclfile", &file]);
    let (mut theirs, mut ours) = (redis.client(), keyward.client());
    let categories = text(&mut theirs, &["ACL", "CAT"]);
    let mut rules: Vec<[String; 2]> = Vec::new();
    for one in categories.lines() {
        for other in ["dangerous", "write", "slow", "connection", "blocking", "admin"] {
            rules.push([format!("+@{one}"), format!("-@{other}")]);
            rules.push([format!("+@all -@{one}"), format!("+@{other}")]);
        }
    }
    for (number, [first, last]) in rules.iter().enumerate() {
        let name = format!("u{number}");
        let mut words = vec!["ACL", "SETUSER", &name, "on", ">x", "~*", "-@all"];
        words.extend(first.split(' ').chain([last.as_str()]));
        assert_eq!(text(&mut ours, &words), "OK", "{words:?}");
    }
    assert_eq!(text(&mut ours, &["ACL", "SAVE"]), "OK");
    assert_eq!(text(&mut theirs, &["ACL", "LOAD"]), "OK");
    // They have the rights there that the rules give there.
    for (number, [first, last]) in rules.iter().enumerate() {
        let mut words = vec!["ACL", "SETUSER", "w", "reset"];
        words.extend(first.split(' ').chain([last.as_str()]));
        assert_eq!(text(&mut theirs, &words), "OK", "{words:?}");
        for command in ["get", "set", "wait", "client|id", "xread", "debug", "copy", "keys"] {
            let dry = |client: &mut Client, user: &str| {
                let mut words = vec!["ACL", "DRYRUN", user];
                words.extend(command.split('|'));
                let told = text(client, &words);
                told.starts_with("This user has no permissions to run")
                    || told.starts_with("This user has no permissions to access")
            };
            let own = dry(&mut theirs, &format!("u{number}"));
            assert_eq!(own, dry(&mut theirs, "w"), "{first} {last}: {command}");
        }
    }
}

/// Redis 7.0 loads the EXEC of an append-only file with the rights of `default`: the line that
/// docs/users.md, docs/upgrading.md and packaging/keyward.conf advise keeps every row.
#[test]
fn redis_loads_our_append_only_file_with_a_default_user_who_is_off_and_has_rights() {
    let folder = tempfile::tempdir().expect("a directory");
    let (schema, users) = (path(folder.path(), "keyward.toml"), path(folder.path(), "users.acl"));
    let lines = "[keyspace]\nname = \"shop\"\n[key.\"user:{id:uint}\"]\ntype = \"hash\"\n\
                 ttl = \"none\"\n[key.\"users\"]\ntype = \"set\"\n\
                 members = { of = \"user:{id:uint}\" }\n";
    fs::write(&schema, lines).expect("a file");
    let advised = "user default off ~* &* +@all";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["docs/users.md", "docs/upgrading.md", "packaging/keyward.conf"] {
        let page = fs::read_to_string(root.join(page)).expect("the page");
        assert!(page.contains(advised), "{page}");
    }
    fs::write(&users, format!("{advised}\nuser admin on >pw ~* &* +@all\n")).expect("a file");
    let dir = folder.path().display().to_string();
    let options = ["--dir", &dir, "--save", "", "--appendonly", "yes", "--aclfile", &users];
    let options = [&options[..], &["--enable-debug-command", "yes"]].concat();
    let rows =
        |client: &mut Client| (text(client, &["DBSIZE"]), text(client, &["DEBUG", "DIGEST"]));
    let admin = |server: &Server| {
        let mut client = server.client();
        assert_eq!(text(&mut client, &["AUTH", "admin", "pw"]), "OK");
        client
    };
    let ours = Server::keyward(Path::new(PROGRAM), &[&[&*schema], &options[..]].concat());
    let mut client = admin(&ours);
    for id in 0..5 {
        call(&mut client, &["HSET", &format!("user:{id}"), "name", "ann"]);
    }
    let before = rows(&mut client);
    drop(ours);
    let theirs = Server::start(Path::new("redis-server"), &options).expect("it starts");
    // Who must authenticate does not hear that it loads, and takes it for ready.
    let mut client = admin(&theirs);
    wait_until(|| !text(&mut client, &["DBSIZE"]).starts_with("-LOADING"));
    assert_eq!(rows(&mut client), before);
}

/// As in Redis the file wins; unlike Redis we say so.
#[test]
fn requirepass_beside_a_file_of_users_has_no_effect_and_that_is_told() {
    let folder = tempfile::tempdir().expect("a directory");
    let (file, log) = (path(folder.path(), "users.acl"), path(folder.path(), "log"));
    let options = ["--save", "", "--requirepass", "x", "--aclfile", &file, "--logfile", &log];
    for (users, told, reply) in [
        ("", Some("who needs no password"), "PONG"),
        ("user default on >y ~* +@all\n", Some("who has another password, or none"), "-NOAUTH"),
        ("user default on >x ~* +@all\n", None, "-NOAUTH"),
    ] {
        fs::write(&file, users).expect("a file");
        fs::write(&log, "").expect("a file");
        let keyward = Server::keyward(Path::new(PROGRAM), &options);
        // Tests cannot start a Redis that wants a password of them.
        let redis = users.is_empty().then(|| Server::redis(&options));
        for server in [&keyward].into_iter().chain(&redis) {
            assert!(text(&mut server.client(), &["PING"]).starts_with(reply), "{users}");
        }
        let log = fs::read_to_string(&log).expect("the log");
        let void = log.lines().filter(|line| line.contains("requirepass has no effect"));
        let void: Vec<&str> = void.collect();
        assert_eq!(void.len(), usize::from(told.is_some()), "{log}");
        assert!(void.iter().all(|line| line.ends_with(told.unwrap_or_default())), "{void:?}");
    }
}

#[test]
fn a_server_does_not_start_with_users_it_does_not_understand() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().display().to_string();
    let start = |more: &[&str]| {
        refused_start(&[&["--port", "0", "--save", "", "--dir", &dir][..], more].concat())
    };
    let error = start(&["--user", "ann", "on", "+nosuch"]);
    let expected = "Error loading ACL rule '+nosuch' for the user named 'ann': Unknown command or category name in ACL";
    assert!(error.contains(expected), "{error}");
    let error = start(&["--aclfile", "nosuch.acl"]);
    assert!(error.contains("opening file 'nosuch.acl': No such file or directory"), "{error}");
    fs::write(folder.path().join("users.acl"), "user a on\n").expect("a file");
    let error = start(&["--aclfile", "users.acl", "--user", "b", "on"]);
    assert!(error.contains("not in both"), "{error}");
}

/// The rules that docs/library.md has for a program.
fn documented(program: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/library.md");
    let page = fs::read_to_string(page).expect("the page");
    let table = &page[page.find("| Program | Rules beside").expect("the table")..];
    let row = table.lines().find(|line| line.starts_with(&format!("| `{program}` |")));
    let rules = row.and_then(|row| row.split('`').nth(3)).expect("rules");
    rules.replace("\\|", "|").split(' ').map(str::to_owned).collect()
}

/// Calls of programs of the library, as their users: MONITOR showed them at their tests.
#[test]
fn programs_of_the_library_run_as_users_with_the_rules_that_the_page_names() {
    let sha = "0123456789012345678901234567890123456789";
    let cases: [(&str, &[&[&str]]); 3] = [
        (
            "bullmq",
            &[
                &["EVALSHA", sha, "2", "bull:video:wait", "bull:video:meta"],
                &["EVAL", "return 1", "2", "bull:video:", "bull:video:events"],
                &["INFO"],
            ],
        ),
        (
            "bull",
            &[
                &["EVALSHA", sha, "1", "bull:video:wait"],
                &["EVAL", "return 1", "1", "bull:video:active@4f30"],
                &["SUBSCRIBE", "bull:video:delayed"],
                &["INFO"],
            ],
        ),
        (
            "rq",
            &[
                &["EVALSHA", sha, "1", "rq:scheduler-lock:mail"],
                &["SCRIPT", "LOAD", "return 1"],
                &["SCRIPT", "EXISTS", sha],
                &["INFO", "server"],
                &["CLIENT", "LIST"],
                &["PUBLISH", "rq:pubsub:ann", "x"],
                &["SUBSCRIBE", "rq:pubsub:ann"],
                &["UNSUBSCRIBE"],
                &["PUBSUB", "NUMSUB", "rq:pubsub:ann"],
            ],
        ),
    ];
    let folder = tempfile::tempdir().expect("a directory");
    for (program, calls) in cases {
        let directory = path(folder.path(), program);
        let made = Command::new(PROGRAM).args(["init", "--with", program, &directory]).status();
        assert!(made.expect("it runs").success(), "{program}");
        let schema = format!("{directory}/keyward.toml");
        let owned = fs::read_to_string(&schema).expect("a schema");
        fs::write(&schema, owned.replace("[keyspace]\n", "[keyspace]\nowner = \"app\"\n"))
            .expect("a file");
        let rules = Command::new(PROGRAM).args(["acl", "--exact", &schema]).output();
        let rules = String::from_utf8(rules.expect("it runs").stdout).expect("text");
        let rules = rules.trim_end().strip_prefix("user ").expect("a user");
        let server = Server::keyward(Path::new(PROGRAM), &["--save", "", &schema]);
        let mut client = server.client();
        let words: Vec<&str> = ["ACL", "SETUSER"].into_iter().chain(rules.split(' ')).collect();
        assert_eq!(text(&mut client, &words), "OK", "{program}");
        let dry = |client: &mut Client, call: &[&str]| {
            text(client, &[&["ACL", "DRYRUN", "app"], call].concat())
        };
        for call in calls {
            assert_ne!(dry(&mut client, call), "OK", "{program} needs no rule for {call:?}");
        }
        let more = documented(program);
        let words: Vec<&str> =
            ["ACL", "SETUSER", "app"].into_iter().chain(more.iter().map(String::as_str)).collect();
        assert_eq!(text(&mut client, &words), "OK", "{program}");
        for call in calls {
            assert_eq!(dry(&mut client, call), "OK", "{program}: {call:?}");
        }
        assert_ne!(dry(&mut client, &["FLUSHALL"]), "OK", "{program}");
    }
}

/// docs/moving.md says which rights a backup needs.
#[test]
fn a_backup_needs_two_commands_and_no_key() {
    let to = tempfile::tempdir().expect("a directory");
    let servers =
        [Server::keyward(Path::new(PROGRAM), &["--save", ""]), Server::redis(&["--save", ""])];
    for (number, server) in servers.iter().enumerate() {
        let mut client = server.client();
        assert_eq!(text(&mut client, &["SET", "a", "1"]), "OK");
        let backup = |rules: &[&str], name: &str| {
            let words =
                [&["ACL", "SETUSER", "backup", "reset", "on", ">pw", "-@all"], rules].concat();
            assert_eq!(text(&mut server.client(), &words), "OK");
            let mut command = Command::new(PROGRAM);
            command.args(["backup", "--user", "backup", "--name", name, "--to"]).arg(to.path());
            let url = format!("redis://{}", server.address());
            command.args(["--url", &url]).env("REDISCLI_AUTH", "pw");
            command.output().expect("it runs").status.code()
        };
        assert_eq!(backup(&["+sync", "+replconf"], &format!("of-{number}")), Some(0));
        assert_eq!(backup(&["+replconf"], &format!("not-{number}")), Some(2));
    }
}

#[test]
fn passwords_that_are_made_differ_and_have_the_length_that_is_asked_for() {
    let server = Server::keyward(Path::new(PROGRAM), &["--save", ""]);
    let mut client = server.client();
    let mut made: Vec<String> = (0..8).map(|_| text(&mut client, &["ACL", "GENPASS"])).collect();
    assert!(made.iter().all(|password| password.len() == 64), "{made:?}");
    made.sort_unstable();
    made.dedup();
    assert_eq!(made.len(), 8);
    assert_eq!(text(&mut client, &["ACL", "GENPASS", "5"]).len(), 2);
}

const SCHEMA: &str = r#"
[keyspace]
name = "shop"
owner = "shop"
readers = ["reports"]
unknown = "allow"

[key."user:{id:uint}"]
type = "any"
ttl = "none"

[key."user:{id:uint}:notes"]
type = "any"
ttl = "none"
owner = "support"
readers = []

[key."cart:{id:uint}"]
type = "any"
ttl = "none"
writers = ["checkout"]
"#;

/// What each user was meant to have: keys to read, and keys to write.
const MEANT: &[(&str, &[&str], &[&str])] = &[
    ("checkout", &["cart:1"], &["cart:1"]),
    ("reports", &["user:1", "cart:1"], &[]),
    ("shop", &["user:1", "cart:1"], &["user:1", "cart:1"]),
    ("support", &["user:1:notes"], &["user:1:notes"]),
];
const KEYS: &[&str] = &["user:1", "user:1:notes", "cart:1"];

/// What the program prints of the schema: its code, the rules, and messages but for the last,
/// which is always about `default`.
fn acl(folder: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    fs::write(folder.join("keyward.toml"), SCHEMA).expect("a file");
    let mut command = Command::new(PROGRAM);
    command.arg("acl").args(options).arg("keyward.toml").current_dir(folder);
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let messages = text(&output.stderr);
    let last = messages.find("default is not named: ").expect("it says so");
    (output.status.code(), text(&output.stdout), messages[..last].to_owned())
}

/// Tries every command that names one key as each user on each key; `foreign` are those whom
/// rules admit though they are not meant to be.
fn try_everything(server: &Server, rules: &str, foreign: &[(&str, &str)]) {
    let mut client = server.client();
    for line in rules.lines() {
        let words: Vec<&str> = line.split(' ').skip(1).collect();
        let set = [&["ACL", "SETUSER"][..], &words].concat();
        assert_eq!(text(&mut client, &set), "OK", "{line}");
    }
    let mut tried = 0;
    for (user, reads, writes) in MEANT {
        for command in COMMANDS.iter().filter(|command| command.group != Group::Keyward) {
            for key in KEYS {
                let Some(call) = call_on(command.name, key) else { continue };
                let is_admitted = |keys: &[&str]| {
                    keys.contains(key) || foreign.contains(&(user, key)) && !keys.is_empty()
                };
                let spec = command.keys[0].flags;
                let must_read = spec.has(KeyFlag::Access);
                let must_write = [KeyFlag::Insert, KeyFlag::Update, KeyFlag::Delete]
                    .into_iter()
                    .any(|flag| spec.has(flag));
                let names = if must_write { is_admitted(writes) } else { is_admitted(reads) };
                let may = names && (!must_read || is_admitted(reads));
                let call: Vec<&str> = call.iter().map(String::as_str).collect();
                let reply = text(&mut client, &[&["ACL", "DRYRUN", user][..], &call].concat());
                tried += 1;
                if reply.contains("no permissions to run") {
                    let is_left_out = command.acl.wire_names().any(|category| {
                        matches!(category, "dangerous" | "scripting" | "admin" | "pubsub")
                    });
                    let writes_only = writes.is_empty() && command.flags.has(Flag::Write);
                    assert!(is_left_out || writes_only, "{user} may not {call:?}");
                } else {
                    assert_eq!(reply == "OK", may, "{user}: {call:?}: {reply}");
                }
            }
        }
        for call in [
            &["FLUSHALL"][..],
            &["KEYS", "*"],
            &["SCAN", "0"],
            &["CONFIG", "GET", "*"],
            &["FUNCTION", "FLUSH"],
            &["ACL", "LIST"],
            &["DEBUG", "SLEEP", "0"],
            &["EVAL", "return 1", "0"],
        ] {
            let reply = text(&mut client, &[&["ACL", "DRYRUN", user][..], call].concat());
            assert!(reply.contains("no permissions to run"), "{user} may {call:?}");
        }
        for call in [&["PING"][..], &["MULTI"], &["SELECT", "1"], &["CLIENT", "SETNAME", "x"]] {
            let reply = text(&mut client, &[&["ACL", "DRYRUN", user][..], call].concat());
            assert_eq!(reply, "OK", "{user}: {call:?}");
        }
    }
    assert!(tried > 500, "{tried}");
}

/// A call of a command that names this key and no other, as many words long as it must be.
fn call_on(name: &'static str, key: &str) -> Option<Vec<String>> {
    let command = keyward_commands::lookup_full_name(name.as_bytes())?;
    // MOVE needs a right in another database too.
    if command.subcommand_count > 0 || command.keys.len() != 1 || name == "move" {
        return None;
    }
    let mut words: Vec<String> = name.split('|').map(str::to_owned).collect();
    let first = usize::try_from(command.legacy_keys.first).ok().filter(|first| *first > 0)?;
    while words.len() < first {
        words.push("1".to_owned());
    }
    words.push(key.to_owned());
    while !command.arity.admits(words.len()) {
        words.push(if command.legacy_keys.last == 1 { "1" } else { key }.to_owned());
        if words.len() > 12 {
            return None;
        }
    }
    let call: keyward_resp::ArgBuf = words.iter().collect();
    let keys = command.keys_in(call.args());
    let is_plain = keys.clone().len() > 0
        && keys.clone().all(|it| {
            call.args().at(it.index) == key.as_bytes() && it.flags == command.keys[0].flags
        });
    is_plain.then_some(words)
}

#[test]
fn rules_by_patterns_grant_what_the_schema_says_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a directory");
    let (code, rules, messages) = acl(folder.path(), &["--exact"]);
    assert_eq!((code, messages.as_str()), (Some(0), ""), "{rules}");
    let schema = path(folder.path(), "keyward.toml");
    let server = Server::keyward(Path::new(PROGRAM), &[&schema, "--save", ""]);
    try_everything(&server, &rules, &[]);
}

#[test]
fn rules_by_globs_grant_what_is_told_besides_on_redis_too() {
    let folder = tempfile::tempdir().expect("a directory");
    let (code, rules, messages) = acl(folder.path(), &[]);
    assert_eq!(code, Some(1));
    assert_eq!(
        messages,
        "reports: %R~user:* also admits user:{id:uint}:notes, as user:0:notes\n\
         shop: ~user:* also admits user:{id:uint}:notes, as user:0:notes\n\
         2 foreign patterns: allow each by --allow, or write --exact rules\n"
    );
    let (code, allowed, messages) = acl(folder.path(), &["--allow", "user:{id:uint}:notes"]);
    assert_eq!((code, messages.as_str()), (Some(0), ""));
    assert_eq!(allowed, rules);
    let foreign = [("reports", "user:1:notes"), ("shop", "user:1:notes")];
    let schema = path(folder.path(), "keyward.toml");
    try_everything(
        &Server::keyward(Path::new(PROGRAM), &[&schema, "--save", ""]),
        &rules,
        &foreign,
    );
    try_everything(&Server::redis(&[]), &rules, &foreign);
}

/// Patterns that say more than a rule can hold.
const HARD: &str = r#"
[key."tok:{t:text(a-z0-9, 32)}"]
type = "any"

[key."job {kind:mail | push} of {day:date}"]
type = "any"

[key."two\nlines:{id:uint}"]
type = "any"

[key."{word}"]
type = "any"
"#;

/// A schema whose keys an owner writes and another user reads.
fn with_users(schema: &str) -> String {
    let users = "[keyspace]\nowner = \"app\"\nreaders = [\"reports\"]\n";
    let table = schema.lines().position(|line| line.trim() == "[keyspace]");
    match table {
        Some(_) => schema.replacen("[keyspace]\n", users, 1),
        None => format!("{users}name = \"hard\"\n{schema}"),
    }
}

/// The schemas of the library, of the systems, and of [`HARD`], by name.
fn schemas_of_all_kinds(folder: &Path) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = |of: &str| {
        let entries = fs::read_dir(root.join(of)).expect("a folder").flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut found = vec![("hard".to_owned(), path(folder, "hard.toml"))];
    fs::write(&found[0].1, with_users(HARD)).expect("a file");
    for file in names("library") {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let directory = path(folder, &name);
        let arguments = ["init", "--with", &name, &directory];
        let output = Command::new(PROGRAM).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        found.push((name, format!("{directory}/keyward.toml")));
    }
    for directory in names("systems").iter().filter(|it| it.join("keyward.toml").exists()) {
        let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
        let copy = path(folder, &format!("{name}.toml"));
        fs::copy(directory.join("keyward.toml"), &copy).expect("a file");
        found.push((name, copy));
    }
    for (_, file) in &found[1..] {
        let text = fs::read_to_string(file).expect("the schema");
        fs::write(file, with_users(&text)).expect("the schema");
    }
    assert!(found.len() > 15, "{found:?}");
    found
}

#[test]
fn who_may_not_read_every_key_is_told_of_no_pattern() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = path(folder.path(), "billing.toml");
    let schema = |ttl: &str| {
        format!(
            "[keyspace]\nname = 'billing'\n[key.'invoice:{{id}}']\ntype = 'int'\nttl = '{ttl}'\n"
        )
    };
    fs::write(&file, schema("none")).expect("a file");
    let server = Server::keyward(Path::new(PROGRAM), &["--save", "", &file]);
    let mut admin = server.client();
    assert_eq!(text(&mut admin, &["SET", "invoice:1", "1"]), "OK");
    for (user, rules) in [("ann", ["%W~*", "%R~other"]), ("bob", ["~*", "+@all"])] {
        let words = ["ACL", "SETUSER", user, "on", "nopass", "+@all", rules[0], rules[1]];
        assert_eq!(text(&mut admin, &words), "OK");
    }
    for (user, ttl, is_told) in [("ann", "1y", false), ("bob", "none", true)] {
        let mut client = server.client();
        assert_eq!(text(&mut client, &["AUTH", user, "x"]), "OK");
        let plan = call(&mut client, &["KEYWARD", "SCHEMA", "PLAN", &schema(ttl)]);
        let Frame::Array(parts) = &plan else { panic!("{plan:?}") };
        let patterns = shown(parts.last().expect("patterns"));
        assert_eq!(patterns.contains("invoice"), is_told, "{user}: {patterns}");
        let name = String::from_utf8_lossy(parts[1].as_bytes().expect("a name")).into_owned();
        let applied = call(&mut client, &["KEYWARD", "SCHEMA", "APPLY", &name]);
        let told = shown(&applied);
        assert!(told.contains("destroys"), "{user}: {told}");
        assert_eq!(told.contains("invoice"), is_told, "{user}: {told}");
    }
}

#[test]
fn what_acl_writes_is_loaded_by_keyward_and_by_redis() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = path(folder.path(), "users.acl");
    fs::write(&file, "user default on nopass ~* &* +@all\n").expect("a file");
    let keyward = Server::keyward(Path::new(PROGRAM), &["--save", "", "--aclfile", &file]);
    let redis = Server::redis(&["--save", "", "--aclfile", &file]);
    for (name, schema) in schemas_of_all_kinds(folder.path()) {
        for dialect in [&["acl"][..], &["acl", "--exact"]] {
            let output = Command::new(PROGRAM).args(dialect).arg(&schema).output();
            let output = output.expect("it runs");
            assert_ne!(output.status.code(), Some(2), "{name}: {output:?}");
            let lines = String::from_utf8(output.stdout).expect("text");
            assert_eq!(lines.lines().count(), 2, "{name}: {lines}");
            let open = "user default on nopass ~* &* +@all";
            fs::write(&file, format!("{open}\n{lines}")).expect("the file");
            let loaded = text(&mut keyward.client(), &["ACL", "LOAD"]);
            assert_eq!(loaded, "OK", "{name} {dialect:?}: {lines}");
            if dialect.len() == 1 {
                let loaded = text(&mut redis.client(), &["ACL", "LOAD"]);
                assert_eq!(loaded, "OK", "{name}: {lines}");
            }
        }
    }
}

/// Celery's queues of a priority have control characters in their names.
#[test]
fn a_pattern_with_control_characters_is_written_as_it_is() {
    let folder = tempfile::tempdir().expect("a directory");
    let (schema, file) = (path(folder.path(), "s.toml"), path(folder.path(), "users.acl"));
    let key = "[keyspace]\nname = \"s\"\nowner = \"app\"\nunknown = \"allow\"\n\
               [key.\"q\\u0006\\u0016{n:uint}\"]\ntype = \"any\"\n";
    fs::write(&schema, key).expect("a file");
    for dialect in [&["acl"][..], &["acl", "--exact"]] {
        let output = Command::new(PROGRAM).args(dialect).arg(&schema).output().expect("it runs");
        fs::write(&file, output.stdout).expect("a file");
        let server =
            Server::keyward(Path::new(PROGRAM), &["--save", "", "--aclfile", &file, &schema]);
        let mut client = server.client();
        for (key, is_granted) in [("q\u{6}\u{16}7", true), ("q7", false)] {
            let told = text(&mut client, &["ACL", "DRYRUN", "app", "GET", key]);
            assert_eq!(told == "OK", is_granted, "{dialect:?} {key:?}: {told}");
        }
    }
}

#[test]
fn a_pattern_with_spaces_in_its_placeholders_can_be_granted() {
    let folder = tempfile::tempdir().expect("a directory");
    let (schema, file) = (path(folder.path(), "s.toml"), path(folder.path(), "users.acl"));
    let key = "[keyspace]\nname = \"s\"\n[key.\"tok:{t:text(a-z0-9, 32)}\"]\ntype = \"any\"\n\
               [key.\"tok:{t:text(a-z0-9, 32)}:{n:uint}\"]\ntype = \"any\"\n";
    fs::write(&schema, key).expect("a file");
    fs::write(&file, "").expect("a file");
    let options = ["--save", "", "--aclfile", &file, &schema];
    let server = Server::keyward(Path::new(PROGRAM), &options);
    let mut client = server.client();
    let granted = "=tok:{t:text(a-z0-9, 32)}";
    assert_eq!(text(&mut client, &["ACL", "SETUSER", "jobs", "on", ">x", granted, "+@all"]), "OK");
    // A file of users has it without spaces, and loads it again.
    assert_eq!(text(&mut client, &["ACL", "SAVE"]), "OK");
    let saved = fs::read_to_string(&file).expect("the file");
    assert!(saved.contains(" =tok:{t:text(a-z0-9,32)} "), "{saved}");
    assert_eq!(text(&mut client, &["ACL", "LOAD"]), "OK");
    let mut jobs = server.client();
    assert_eq!(text(&mut jobs, &["AUTH", "jobs", "x"]), "OK");
    let token = "tok:abcdefghijklmnopqrstuvwxyz012345";
    assert_eq!(text(&mut jobs, &["SET", token, "1"]), "OK");
    assert!(text(&mut jobs, &["SET", &format!("{token}:1"), "1"]).starts_with("-NOPERM"));
}

#[test]
fn redis_reads_exactly_the_rights_that_are_told() {
    let folder = tempfile::tempdir().expect("a directory");
    let dir = folder.path().display().to_string();
    let server = Server::keyward_as_set(Path::new(PROGRAM), &["--dir", &dir, "--appendonly", "no"]);
    let redis = Server::redis(&[]);
    let (mut ours, mut theirs) = (server.client(), redis.client());
    let categories = text(&mut theirs, &["ACL", "CAT"]);
    let commands = |client: &mut Client, name: &str| {
        let reply = call(client, &["ACL", "GETUSER", name]);
        shown(&reply.as_elements().expect("an array")[5])
    };
    for (one, other) in categories
        .lines()
        .flat_map(|one| categories.lines().map(move |other| (one, other)))
        .filter(|(one, other)| one != other)
    {
        for rules in
            [[format!("+@{one}"), format!("-@{other}")], ["+@all".into(), format!("-@{one}")]]
        {
            let rules = [rules[0].as_str(), rules[1].as_str()];
            let set = |client: &mut Client, name: &str, rules: &[&str]| {
                let words = [&["ACL", "SETUSER", name, "reset"], rules].concat();
                assert_eq!(text(client, &words), "OK", "{words:?}");
            };
            set(&mut ours, "told", &rules);
            set(&mut theirs, "meant", &rules);
            let told = commands(&mut ours, "told");
            set(&mut theirs, "read", &told.split(' ').collect::<Vec<_>>());
            let [meant, read] = ["meant", "read"].map(|name| commands(&mut theirs, name));
            assert_eq!(read, meant, "{rules:?}: {told}");
        }
    }
}

/// The names of placeholders do not matter; a pattern that no schema in force has is told, with
/// the user, whenever the one or the other changes.
#[test]
fn rules_by_patterns_outlive_a_renamed_placeholder_and_void_ones_are_told() {
    let folder = tempfile::tempdir().expect("a directory");
    let (schema, users) = (path(folder.path(), "keyward.toml"), path(folder.path(), "users.acl"));
    let of = |pattern: &str| {
        format!(
            "[keyspace]\nname = \"shop\"\n[key.\"{pattern}\"]\ntype = \"hash\"\nttl = \"none\"\n"
        )
    };
    fs::write(&schema, of("user:{id:uint}")).expect("a file");
    let lines = "user default on nopass ~* &* +@all\nuser app on nopass =user:{id:uint} +@all\n";
    fs::write(&users, format!("{lines}user typo on nopass %R=usr:{{id:uint}} +@all\n")).unwrap();
    let options = [&*schema, "--save", "", "--aclfile", &users];
    let server = Server::keyward(Path::new(PROGRAM), &options);
    let log = || fs::read_to_string(server.directory().join("log")).expect("the log");
    let told = |text: &str, count: usize| {
        keyward_testkit::wait_until(|| log().matches(text).count() == count);
    };
    let (of_typo, of_app) =
        ("The user typo has the rule %R=usr:{id:uint}, which", "The user app has the rule");
    told(of_typo, 1);
    // ACL LOAD ends connections of users.
    let app = |words: &[&str]| {
        let mut client = server.client();
        assert_eq!(text(&mut client, &["AUTH", "app", "x"]), "OK");
        text(&mut client, words)
    };
    assert_eq!(app(&["HSET", "user:1", "a", "1"]), ":1");
    let mut client = server.client();
    assert_eq!(text(&mut client, &["ACL", "LOAD"]), "OK");
    told(of_typo, 2);
    let hang_up = || {
        let pid = server.process_id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("it runs").success());
    };
    fs::write(&users, lines).expect("a file");
    assert_eq!(text(&mut client, &["ACL", "LOAD"]), "OK");
    fs::write(&schema, of("user:{user_id:uint}")).expect("a file");
    hang_up();
    told(" reloaded: ", 1);
    assert_eq!(app(&["HGET", "user:1", "a"]), "1");
    told(of_app, 0);
    assert_eq!(app(&["DEL", "user:1"]), ":1");
    fs::write(&schema, of("member:{id:uint}")).expect("a file");
    hang_up();
    told(of_app, 1);
    assert!(app(&["HGET", "user:1", "a"]).starts_with("-NOPERM"));
}
