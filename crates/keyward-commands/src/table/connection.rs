//! Connections and the CLIENT container.

use super::row::*;

rows! { connection_ids, Connection;
    Auth, "auth" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [NoScript, Loading, Stale, Fast, NoAuth, AllowBusy],
        summary: "Authenticate to the server",
        complexity: "O(N) where N is the number of passwords defined for the user",
        history: [("6.0.0", "Added ACL style (username and password).")],
        args: [string("username").since("6.0.0").optional(), string("password")],
    }

    Client, "client" {
        since: "2.4.0", arity: AtLeast(2),
        acl: [],
        summary: "A container for client connection commands",
        complexity: "Depends on subcommand.",
    }

    ClientCaching, "client|caching" {
        since: "6.0.0", arity: Exactly(3),
        flags: [NoScript, Loading, Stale],
        summary: "Instruct the server about tracking or not keys in the next request",
        complexity: "O(1)",
        args: [one_of("mode", &[flag("yes", "YES"), flag("no", "NO")])],
    }

    ClientGetName, "client|getname" {
        since: "2.6.9", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Get the current connection name",
        complexity: "O(1)",
    }

    ClientGetRedir, "client|getredir" {
        since: "6.0.0", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Get tracking notifications redirection client ID if any",
        complexity: "O(1)",
    }

    ClientHelp, "client|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    ClientId, "client|id" {
        since: "5.0.0", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Returns the client ID for the current connection",
        complexity: "O(1)",
    }

    ClientInfo, "client|info" {
        since: "6.2.0", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Returns information about the current client connection.",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
    }

    ClientKill, "client|kill" {
        since: "2.4.0", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Kill the connection of a client",
        complexity: "O(N) where N is the number of client connections",
        history: [
            ("2.8.12", "Added new filter format."),
            ("2.8.12", "`ID` option."),
            ("3.2.0", "Added `master` type in for `TYPE` option."),
            ("5.0.0", "Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward compatibility."),
            ("6.2.0", "`LADDR` option."),
        ],
        args: [
            one_of("filter", &[
                string("ip:port").deprecated_since("2.8.12"),
                one_of("new-format", &[
                    integer("client-id").token("ID").since("2.8.12").optional(),
                    one_of("normal_master_slave_pubsub", &[
                        flag("normal", "NORMAL"),
                        flag("master", "MASTER").since("3.2.0"),
                        flag("slave", "SLAVE"),
                        flag("replica", "REPLICA").since("5.0.0"),
                        flag("pubsub", "PUBSUB"),
                    ]).token("TYPE").since("2.8.12").optional(),
                    string("username").token("USER").optional(),
                    string("ip:port").token("ADDR").optional(),
                    string("ip:port").token("LADDR").since("6.2.0").optional(),
                    string("yes/no").token("SKIPME").optional(),
                ]).multiple(),
            ]),
        ],
    }

    ClientList, "client|list" {
        since: "2.4.0", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Get the list of client connections",
        complexity: "O(N) where N is the number of client connections",
        tips: ["nondeterministic_output"],
        history: [
            ("2.8.12", "Added unique client `id` field."),
            ("5.0.0", "Added optional `TYPE` filter."),
            ("6.0.0", "Added `user` field."),
            ("6.2.0", "Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` filter."),
            ("7.0.0", "Added `resp`, `multi-mem`, `rbs` and `rbp` fields."),
            ("7.0.3", "Added `ssub` field."),
        ],
        args: [
            one_of("normal_master_replica_pubsub", &[
                flag("normal", "NORMAL"),
                flag("master", "MASTER"),
                flag("replica", "REPLICA"),
                flag("pubsub", "PUBSUB"),
            ]).token("TYPE").since("5.0.0").optional(),
            block("id", &[integer("client-id").multiple()]).token("ID").since("6.2.0").optional(),
        ],
    }

    ClientNoEvict, "client|no-evict" {
        since: "7.0.0", arity: Exactly(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Set client eviction mode for the current connection",
        complexity: "O(1)",
        args: [one_of("enabled", &[flag("on", "ON"), flag("off", "OFF")])],
    }

    ClientNoTouch, "client|no-touch" {
        since: "7.2.0", arity: Exactly(3),
        flags: [NoScript, Loading, Stale, AllowBusy],
        summary: "Controls whether commands sent by the client affect the LRU/LFU of accessed keys.",
        complexity: "O(1)",
        args: [one_of("enabled", &[flag("on", "ON"), flag("off", "OFF")])],
    }

    ClientPause, "client|pause" {
        since: "2.9.50", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Stop processing commands from clients for some time",
        complexity: "O(1)",
        history: [
            ("6.2.0", "`CLIENT PAUSE WRITE` mode added along with the `mode` option."),
        ],
        args: [
            integer("timeout"),
            one_of("mode", &[flag("write", "WRITE"), flag("all", "ALL")]).since("6.2.0").optional(),
        ],
    }

    ClientReply, "client|reply" {
        since: "3.2.0", arity: Exactly(3),
        flags: [NoScript, Loading, Stale],
        summary: "Instruct the server whether to reply to commands",
        complexity: "O(1)",
        args: [
            one_of("on_off_skip", &[
                flag("on", "ON"),
                flag("off", "OFF"),
                flag("skip", "SKIP"),
            ]),
        ],
    }

    ClientSetInfo, "client|setinfo" {
        since: "7.2.0", arity: Exactly(4),
        flags: [NoScript, Loading, Stale, AllowBusy],
        summary: "Sets information specific to the client or connection.",
        complexity: "O(1)",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
        args: [
            one_of("attr", &[
                string("libname").token("LIB-NAME"),
                string("libver").token("LIB-VER"),
            ]),
        ],
    }

    ClientSetName, "client|setname" {
        since: "2.6.9", arity: Exactly(3),
        flags: [NoScript, Loading, Stale],
        summary: "Set the current connection name",
        complexity: "O(1)",
        args: [string("connection-name")],
    }

    ClientTracking, "client|tracking" {
        since: "6.0.0", arity: AtLeast(3),
        flags: [NoScript, Loading, Stale],
        summary: "Enable or disable server assisted client side caching support",
        complexity: "O(1). Some options may introduce additional complexity.",
        args: [
            one_of("status", &[flag("on", "ON"), flag("off", "OFF")]),
            integer("client-id").token("REDIRECT").optional(),
            string("prefix").token("PREFIX").optional().multiple().multiple_token(),
            flag("bcast", "BCAST").optional(),
            flag("optin", "OPTIN").optional(),
            flag("optout", "OPTOUT").optional(),
            flag("noloop", "NOLOOP").optional(),
        ],
    }

    ClientTrackingInfo, "client|trackinginfo" {
        since: "6.2.0", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Return information about server assisted client side caching for the current connection",
        complexity: "O(1)",
    }

    ClientUnblock, "client|unblock" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Unblock a client blocked in a blocking command from a different connection",
        complexity: "O(log N) where N is the number of client connections",
        args: [
            integer("client-id"),
            one_of("timeout_error", &[flag("timeout", "TIMEOUT"), flag("error", "ERROR")]).optional(),
        ],
    }

    ClientUnpause, "client|unpause" {
        since: "6.2.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Resume processing of clients that were paused",
        complexity: "O(N) Where N is the number of paused clients",
    }

    Echo, "echo" {
        since: "1.0.0", arity: Exactly(2),
        flags: [Loading, Stale, Fast],
        summary: "Echo the given string",
        complexity: "O(1)",
        args: [string("message")],
    }

    Hello, "hello" {
        since: "6.0.0", arity: AtLeast(1),
        flags: [NoScript, Loading, Stale, Fast, NoAuth, AllowBusy],
        summary: "Handshake with Redis",
        complexity: "O(1)",
        history: [
            ("6.2.0", "`protover` made optional; when called without arguments the command reports the current connection's context."),
        ],
        args: [
            block("arguments", &[
                integer("protover"),
                block("username_password", &[string("username"), string("password")]).token("AUTH").optional(),
                string("clientname").token("SETNAME").optional(),
            ]).optional(),
        ],
    }

    Ping, "ping" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [Fast],
        summary: "Ping the server",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        args: [string("message").optional()],
    }

    Quit, "quit" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [AllowBusy, NoScript, Loading, Stale, Fast, NoAuth],
        summary: "Close the connection",
        complexity: "O(1)",
    }

    Reset, "reset" {
        since: "6.2.0", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, Fast, NoAuth, AllowBusy],
        summary: "Reset the connection",
        complexity: "O(1)",
    }

    Select, "select" {
        since: "1.0.0", arity: Exactly(2),
        flags: [Loading, Stale, Fast],
        summary: "Change the selected database for the current connection",
        complexity: "O(1)",
        args: [integer("index")],
    }
}
