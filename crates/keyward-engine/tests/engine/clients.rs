//! CLIENT LIST, KILL, SETINFO and NO-TOUCH beyond Redis 7.0. What is expected was answered by
//! Valkey 9.1.2.

use crate::harness::TestEngine;
use keyward_engine::{ClientId, Delivery};

/// Three clients: one that asks, one with a name, a library and another database, and one
/// that listens.
struct Clients {
    test: TestEngine,
    own: ClientId,
    named: ClientId,
    listener: ClientId,
}

impl Clients {
    fn new() -> Clients {
        let mut test = TestEngine::new(1);
        let [own, named, listener] = std::array::from_fn(|_| test.engine.connect());
        for command in [
            "CLIENT SETNAME bee",
            "SELECT 3",
            "CLIENT SETINFO LIB-NAME lib",
            "CLIENT SETINFO lib-ver 1.0",
        ] {
            assert_eq!(test.call(named, command), "+OK\r\n", "{command}");
        }
        test.call(listener, "SUBSCRIBE news");
        Clients { test, own, named, listener }
    }

    /// Who is listed, or the error.
    fn list(&mut self, filter: &str) -> String {
        let reply = self.test.call(self.own, &format!("CLIENT LIST {filter}"));
        if reply.starts_with('-') {
            return reply.trim_end().to_owned();
        }
        let names = [(self.own, "own"), (self.named, "named"), (self.listener, "listener")];
        let is_listed = |id: ClientId| reply.contains(&format!("id={} ", id.0));
        let listed: Vec<_> =
            names.iter().filter(|(id, _)| is_listed(*id)).map(|(_, name)| *name).collect();
        listed.join(" ")
    }
}

#[test]
fn clients_are_listed_by_what_valkey_filters_by() {
    let mut clients = Clients::new();
    let (own, named) = (clients.own.0, clients.named.0);
    let cases = [
        (format!("ID {own} {named}"), "own named"),
        (format!("ID {own} {named} TYPE normal"), "own named"),
        (format!("ID {own} TYPE pubsub"), ""),
        (format!("NOT-ID {own} {named}"), "listener"),
        (format!("ID {own} NOT-ID {own}"), ""),
        ("NAME bee".to_owned(), "named"),
        ("name bee NAME cee".to_owned(), ""),
        ("NOT-NAME bee".to_owned(), "own listener"),
        ("DB 3".to_owned(), "named"),
        ("NOT-DB 3".to_owned(), "own listener"),
        ("LIB-NAME lib LIB-VER 1.0".to_owned(), "named"),
        ("NOT-LIB-NAME lib".to_owned(), "own listener"),
        ("NOT-LIB-VER 1.0".to_owned(), "own listener"),
        ("FLAGS P".to_owned(), "listener"),
        ("FLAGS N".to_owned(), "own named"),
        ("FLAGS NP".to_owned(), ""),
        ("NOT-FLAGS P".to_owned(), "own named"),
        ("NOT-FLAGS NP".to_owned(), "own named listener"),
        ("TYPE pubsub NAME bee".to_owned(), ""),
        ("TYPE normal TYPE pubsub".to_owned(), "listener"),
        ("NOT-TYPE pubsub".to_owned(), "own named"),
        ("TYPE primary".to_owned(), ""),
        ("USER default".to_owned(), "own named listener"),
        ("NOT-USER default".to_owned(), ""),
        ("SKIPME yes".to_owned(), "named listener"),
        ("SKIPME no".to_owned(), "own named listener"),
        ("CAPA r".to_owned(), ""),
        ("NOT-CAPA r".to_owned(), "own named listener"),
        ("MAXAGE 1".to_owned(), ""),
    ];
    for (filter, expected) in cases {
        assert_eq!(clients.list(&filter), expected, "{filter}");
    }
    clients.test.pass(10_000);
    assert_eq!(clients.list("MAXAGE 10"), "own named listener");
    assert_eq!(clients.list("MAXAGE 11"), "");
    assert_eq!(clients.list("IDLE 10"), "named listener");
    assert_eq!(clients.list("IDLE 11"), "");
}

#[test]
fn wrong_filters_have_the_texts_of_valkey_where_redis_has_none() {
    let mut clients = Clients::new();
    let cases = [
        ("MAXAGE x", "-ERR maxage is not an integer or out of range"),
        ("MAXAGE 0", "-ERR maxage should be greater than 0"),
        ("IDLE x", "-ERR idle is not an integer or out of range"),
        ("IDLE -1", "-ERR idle should be greater than 0"),
        ("DB x", "-ERR DB is not an integer or out of range"),
        ("DB 16", "-ERR DB number should be between 0 and 15"),
        ("NOT-DB 99", "-ERR NOT-DB number should be between 0 and 15"),
        ("FLAGS Pz9", "-ERR Unknown flags found in the provided filter: Pz9"),
        ("NOT-FLAGS Q", "-ERR Unknown flags found in the NOT-FLAGS filter: Q"),
        ("CAPA z", "-ERR Unknown capa found in the provided filter: z"),
        ("NOT-CAPA z", "-ERR Unknown capa found in the NOT-CAPA filter: z"),
        ("USER x", "-ERR No such user 'x'"),
        ("NOT-TYPE x", "-ERR Unknown client type 'x'"),
        ("NOT-ID x", "-ERR syntax error"),
        ("NOT-ID 0", "-ERR client-id should be greater than 0"),
        ("NOT-MAXAGE 1", "-ERR syntax error"),
        ("SKIPME maybe", "-ERR syntax error"),
        ("NAME", "-ERR syntax error"),
        ("NAME a b", "-ERR syntax error"),
        // As in Redis 7.0.
        ("ID x", "-ERR Invalid client ID"),
        ("TYPE normal ID x", "-ERR syntax error"),
    ];
    for (filter, expected) in cases {
        assert_eq!(clients.list(filter), expected, "{filter}");
        let reply = clients.test.call(clients.own, &format!("CLIENT KILL {filter}"));
        if !matches!(filter, "NAME" | "ID x" | "TYPE normal ID x") {
            assert_eq!(reply.trim_end(), expected, "KILL {filter}");
        }
    }
    let reply = clients.test.call(clients.own, "CLIENT KILL ID x");
    assert_eq!(reply, "-ERR client-id should be greater than 0\r\n");
}

#[test]
fn clients_are_killed_by_the_same_filters() {
    // All have the same ids.
    let Clients { own, named, listener, .. } = Clients::new();
    let closed = |clients: &mut Clients| -> Vec<ClientId> {
        let closed = clients.test.deliveries().into_iter().filter_map(|delivery| match delivery {
            Delivery::Close(id) => Some(id),
            _ => None,
        });
        closed.collect()
    };
    let kill = |filter: &str, expected: &[ClientId]| {
        let mut clients = Clients::new();
        let reply = clients.test.call(own, &format!("CLIENT KILL {filter}"));
        assert_eq!(reply, format!(":{}\r\n", expected.len()), "{filter}");
        assert_eq!(closed(&mut clients), expected, "{filter}");
    };
    kill("MAXAGE 100", &[]);
    kill("NAME nobody", &[]);
    kill(&format!("ID {} {} {}", own.0, named.0, 999), &[named]);
    kill("LIB-NAME lib FLAGS N", &[named]);
    kill("FLAGS P NOT-FLAGS N", &[listener]);
    kill("NOT-NAME bee", &[listener]);
}

#[test]
fn a_client_is_in_its_transaction_until_exec_has_ended() {
    let mut clients = Clients::new();
    let (own, named) = (clients.own, clients.named);
    let mut call = |client: ClientId, command: &str| clients.test.call(client, command);
    call(own, "ACL SETUSER ann on nopass ~* +@all");
    call(named, "AUTH ann x");
    for command in ["MULTI", "CLIENT INFO", "GET k"] {
        call(named, command);
    }
    call(own, "ACL SETUSER ann -get");
    let reply = call(named, "EXEC");
    assert!(reply.contains(" flags=x ") && reply.contains(" multi=2 "), "{reply}");
    assert!(!reply.contains(" multi-mem=0 "), "{reply}");
    // What was denied in it says so, too.
    let log = call(own, "ACL LOG");
    assert!(log.contains(" flags=x ") && log.contains(" multi=2 "), "{log}");
    let line = call(named, "CLIENT INFO");
    assert!(line.contains(" flags=N ") && line.contains(" multi=-1 "), "{line}");
}

#[test]
fn a_client_tells_its_library() {
    let mut clients = Clients::new();
    let mut call = |client: ClientId, command: &str| clients.test.call(client, command);
    let (own, named) = (clients.own, clients.named);
    let line = call(named, "CLIENT INFO");
    assert!(line.ends_with(" resp=2 lib-name=lib lib-ver=1.0\n\r\n"), "{line}");
    let line = call(own, "CLIENT INFO");
    assert!(line.ends_with(" resp=2\n\r\n"), "{line}");
    assert_eq!(call(named, "CLIENT NO-TOUCH ON"), "+OK\r\n");
    assert!(call(named, "CLIENT INFO").contains(" flags=T "));
    assert_eq!(call(named, "RESET"), "+RESET\r\n");
    let line = call(named, "CLIENT INFO");
    assert!(line.contains(" flags=N ") && line.contains(" lib-name=lib "), "{line}");
    for (command, expected) in [
        ("CLIENT SETINFO foo x", "-ERR Unrecognized option 'foo'\r\n"),
        (
            "CLIENT SETINFO Lib-Ver \u{e9}",
            "-ERR Lib-Ver cannot contain spaces, newlines or special characters.\r\n",
        ),
        (
            "CLIENT SETINFO lib-ver",
            "-ERR wrong number of arguments for 'client|setinfo' command\r\n",
        ),
        ("CLIENT NO-TOUCH maybe", "-ERR syntax error\r\n"),
        ("CLIENT NO-TOUCH", "-ERR wrong number of arguments for 'client|no-touch' command\r\n"),
    ] {
        assert_eq!(call(named, command), expected, "{command}");
    }
}
