use keyward_commands::resolve;
use keyward_resp::ArgBuf;
use keyward_schema::check as check_schema;

use super::*;

fn shown(books: &[&RuleBook], call: &str) -> String {
    let args: ArgBuf = call.split(' ').collect();
    let command = resolve(args.args()).expect("a command");
    let books = Books { own: books.first().copied(), all: books };
    let shown = books.shown(command, args.args(), Sender::Client);
    for (at, word) in shown.iter().enumerate() {
        assert_eq!(books.shown_at(command, args.args(), Sender::Client, at), *word, "{call}: {at}");
    }
    let words: Vec<_> = shown.iter().map(|word| String::from_utf8_lossy(word)).collect();
    words.join(" ")
}

fn book(keys: &str) -> RuleBook {
    let file = format!("[keyspace]\nname = 'x'\n{keys}");
    let checked = check_schema("x", file.as_bytes());
    RuleBook::new(checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics)))
}

#[test]
fn passwords_are_redacted_without_a_schema() {
    let check = |call, expected| assert_eq!(shown(&[], call), expected);
    check("AUTH p", "AUTH (redacted)");
    check("AUTH u p", "AUTH (redacted) (redacted)");
    check("ACL SETUSER u >p", "ACL SETUSER (redacted) (redacted)");
    check("HELLO 3 AUTH u p SETNAME n", "HELLO 3 AUTH (redacted) (redacted) SETNAME n");
    check("HELLO 3 SETNAME auth", "HELLO 3 SETNAME auth");
    check("config set port 1 RequirePass x", "config set port 1 RequirePass (redacted)");
    check("MIGRATE h 1 k 0 5 COPY AUTH keys", "MIGRATE h 1 k 0 5 COPY AUTH (redacted)");
    check(
        "MIGRATE h 1  0 5 AUTH2 u p KEYS auth k",
        "MIGRATE h 1  0 5 AUTH2 (redacted) (redacted) KEYS auth k",
    );
    check("KEYWARD EXPLAIN AUTH p", "KEYWARD EXPLAIN AUTH (redacted)");
    check(
        "KEYWARD EXPLAIN keyward explain CONFIG SET requirepass p",
        "KEYWARD EXPLAIN keyward explain CONFIG SET requirepass (redacted)",
    );
    check("KEYWARD EXPLAIN AUTH2 p", "KEYWARD EXPLAIN AUTH2 (redacted)");
    check("KEYWARD EXPLAIN KEYWARD EXPLAIN", "KEYWARD EXPLAIN KEYWARD EXPLAIN");
    check("KEYWARD EXPLAIN SET k v", "KEYWARD EXPLAIN SET k v");
    check("ACL DRYRUN u AUTH p", "ACL DRYRUN u AUTH (redacted)");
    check("SET k v", "SET k v");
    check("EVAL s 0 a", "EVAL s 0 a");
}

#[test]
fn a_schema_without_secrets_redacts_nothing() {
    let book = book("[key.'a:{id}']\ntype = 'string'\n");
    for call in ["SET a:1 v", "SET zz v", "EVAL s 0 a", "RESTORE a:1 0 x", "KEYS a:*"] {
        assert_eq!(shown(&[&book], call), call);
    }
}

#[test]
fn secrets_of_another_database_concern_what_may_reach_it() {
    let own = book("[key.'a:{id}']\ntype = 'string'\n");
    let other = book("[key.'login:{code}']\ntype = 'string'\nttl = '1h'\nsecret = ['code']\n");
    let check = |call, expected| assert_eq!(shown(&[&own, &other], call), expected);
    check("SET a:1 v", "SET a:1 v");
    check("GET login:77", "GET login:77");
    check("MOVE login:77 1", "MOVE login:(redacted) 1");
    check("COPY a:1 login:77 DB 1", "COPY a:1 login:(redacted) DB 1");
    check("EVAL s 0 a", "EVAL (redacted) (redacted) (redacted)");
}

#[test]
fn only_secret_parts_of_a_name_are_replaced() {
    let book = book(
        "[key.'s:{tenant}:{code}:x']\ntype = 'string'\nttl = '1h'\nsecret = ['code']\n\
         [key.'t:{{{code}}}']\ntype = 'string'\nttl = '1h'\nsecret = ['code']\n\
         [key.'r:{rest:rest}']\ntype = 'string'\nttl = '1h'\nsecret = ['rest']\n",
    );
    let check = |key: &str, expected: &str| {
        assert_eq!(String::from_utf8_lossy(&book.shown_name(key.as_bytes())), expected);
    };
    check("s:acme:77:x", "s:acme:(redacted):x");
    check("s:acme:77:y", "s:acme:(redacted)");
    check("s:acme", "s:acme");
    check("t:{77}", "t:{(redacted)}");
    check("t:77", "t:(redacted)");
    check("r:a:b:c", "r:(redacted)");
    check("other:77", "other:77");
}
