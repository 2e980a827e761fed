//! Commands for keys of any type.

use super::row::*;

rows! { generic_ids, Generic;
    Copy, "copy" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ro, Access]), spec(One(2), [Ow, Update])],
        summary: "Copy a key",
        complexity: "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.",
        args: [
            key("source", 0),
            key("destination", 1),
            integer("destination-db").token("DB").optional(),
            flag("replace", "REPLACE").optional(),
        ],
    }

    Del, "del" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Write],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Rm, Delete])],
        summary: "Delete a key",
        complexity: "O(N) where N is the number of keys that will be removed. When a key to remove holds a value other than a string, the individual complexity for this key is O(M) where M is the number of elements in the list, set, sorted set or hash. Removing a single key that holds a string value is O(1).",
        tips: ["request_policy:multi_shard", "response_policy:agg_sum"],
        args: [key("key", 0).multiple()],
    }

    Dump, "dump" {
        since: "2.6.0", arity: Exactly(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a serialized version of the value stored at the specified key.",
        complexity: "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of Redis objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
        tips: ["nondeterministic_output"],
        args: [key("key", 0)],
    }

    Exists, "exists" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly, Fast],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro])],
        summary: "Determine if a key exists",
        complexity: "O(N) where N is the number of keys to check.",
        tips: ["request_policy:multi_shard", "response_policy:agg_sum"],
        history: [("3.0.3", "Accepts multiple `key` arguments.")],
        args: [key("key", 0).multiple()],
    }

    Expire, "expire" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set a key's time to live in seconds",
        complexity: "O(1)",
        history: [("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        args: [
            key("key", 0),
            integer("seconds"),
            one_of("condition", &[
                flag("nx", "NX"),
                flag("xx", "XX"),
                flag("gt", "GT"),
                flag("lt", "LT"),
            ]).since("7.0.0").optional(),
        ],
    }

    ExpireAt, "expireat" {
        since: "1.2.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set the expiration for a key as a UNIX timestamp",
        complexity: "O(1)",
        history: [("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        args: [
            key("key", 0),
            unix_time("unix-time-seconds"),
            one_of("condition", &[
                flag("nx", "NX"),
                flag("xx", "XX"),
                flag("gt", "GT"),
                flag("lt", "LT"),
            ]).since("7.0.0").optional(),
        ],
    }

    ExpireTime, "expiretime" {
        since: "7.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the expiration Unix timestamp for a key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    Keys, "keys" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly],
        acl: [Keyspace, Dangerous],
        summary: "Find all keys matching the given pattern",
        complexity: "O(N) with N being the number of keys in the database, under the assumption that the key names in the database and the given pattern have limited length.",
        tips: ["request_policy:all_shards", "nondeterministic_output_order"],
        args: [pattern("pattern")],
    }

    Migrate, "migrate" {
        since: "2.6.0", arity: AtLeast(6),
        flags: [Write],
        acl: [Keyspace, Dangerous],
        keys: [
            spec(One(3), [Rw, Access, Delete]),
            spec(After("KEYS"), [Rw, Access, Delete, Incomplete]),
        ],
        summary: "Atomically transfer a key from a Redis instance to another one.",
        complexity: "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. See the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is performed.",
        tips: ["nondeterministic_output"],
        history: [
            ("3.0.0", "Added the `COPY` and `REPLACE` options."),
            ("3.0.6", "Added the `KEYS` option."),
            ("4.0.7", "Added the `AUTH` option."),
            ("6.0.0", "Added the `AUTH2` option."),
        ],
        args: [
            string("host"),
            integer("port"),
            one_of("key_or_empty_string", &[key("key", 0), flag("empty_string", "")]),
            integer("destination-db"),
            integer("timeout"),
            flag("copy", "COPY").since("3.0.0").optional(),
            flag("replace", "REPLACE").since("3.0.0").optional(),
            one_of("authentication", &[
                string("password").token("AUTH").since("4.0.7").optional(),
                block("username_password", &[string("username"), string("password")])
                    .token("AUTH2").since("6.0.0").optional(),
            ]).optional(),
            key("key", 1).token("KEYS").since("3.0.6").optional().multiple(),
        ],
    }

    Move, "move" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Move a key to another database",
        complexity: "O(1)",
        args: [key("key", 0), integer("db")],
    }

    Object, "object" {
        since: "2.2.3", arity: AtLeast(2),
        acl: [],
        summary: "A container for object introspection commands",
        complexity: "Depends on subcommand.",
    }

    ObjectEncoding, "object|encoding" {
        since: "2.2.3", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro])],
        summary: "Inspect the internal encoding of a Redis object",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        args: [key("key", 0)],
    }

    ObjectFreq, "object|freq" {
        since: "4.0.0", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro])],
        summary: "Get the logarithmic access frequency counter of a Redis object",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        args: [key("key", 0)],
    }

    ObjectHelp, "object|help" {
        since: "6.2.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    ObjectIdleTime, "object|idletime" {
        since: "2.2.3", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro])],
        summary: "Get the time since a Redis object was last accessed",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        args: [key("key", 0)],
    }

    ObjectRefCount, "object|refcount" {
        since: "2.2.3", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro])],
        summary: "Get the number of references to the value of the key",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        args: [key("key", 0)],
    }

    Persist, "persist" {
        since: "2.2.0", arity: Exactly(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Remove the expiration from a key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    PExpire, "pexpire" {
        since: "2.6.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set a key's time to live in milliseconds",
        complexity: "O(1)",
        history: [("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        args: [
            key("key", 0),
            integer("milliseconds"),
            one_of("condition", &[
                flag("nx", "NX"),
                flag("xx", "XX"),
                flag("gt", "GT"),
                flag("lt", "LT"),
            ]).since("7.0.0").optional(),
        ],
    }

    PExpireAt, "pexpireat" {
        since: "2.6.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set the expiration for a key as a UNIX timestamp specified in milliseconds",
        complexity: "O(1)",
        history: [("7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`.")],
        args: [
            key("key", 0),
            unix_time("unix-time-milliseconds"),
            one_of("condition", &[
                flag("nx", "NX"),
                flag("xx", "XX"),
                flag("gt", "GT"),
                flag("lt", "LT"),
            ]).since("7.0.0").optional(),
        ],
    }

    PExpireTime, "pexpiretime" {
        since: "7.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the expiration Unix timestamp for a key in milliseconds",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    PTtl, "pttl" {
        since: "2.6.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the time to live for a key in milliseconds",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        history: [("2.8.0", "Added the -2 reply.")],
        args: [key("key", 0)],
    }

    RandomKey, "randomkey" {
        since: "1.0.0", arity: Exactly(1),
        flags: [ReadOnly, TouchesArbitraryKeys],
        summary: "Return a random key from the keyspace",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "nondeterministic_output"],
    }

    Rename, "rename" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Ow, Update])],
        summary: "Rename a key",
        complexity: "O(1)",
        args: [key("key", 0), key("newkey", 1)],
    }

    RenameNx, "renamenx" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Ow, Insert])],
        summary: "Rename a key, only if the new key does not exist",
        complexity: "O(1)",
        history: [
            ("3.2.0", "The command no longer returns an error when source and destination names are the same."),
        ],
        args: [key("key", 0), key("newkey", 1)],
    }

    Restore, "restore" {
        since: "2.6.0", arity: AtLeast(4),
        flags: [Write, DenyOom],
        acl: [Keyspace, Dangerous],
        keys: [spec(One(1), [Ow, Update])],
        summary: "Create a key using the provided serialized value, previously obtained using DUMP.",
        complexity: "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is the number of Redis objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N)).",
        history: [
            ("3.0.0", "Added the `REPLACE` modifier."),
            ("5.0.0", "Added the `ABSTTL` modifier."),
            ("5.0.0", "Added the `IDLETIME` and `FREQ` options."),
        ],
        args: [
            key("key", 0),
            integer("ttl"),
            string("serialized-value"),
            flag("replace", "REPLACE").since("3.0.0").optional(),
            flag("absttl", "ABSTTL").since("5.0.0").optional(),
            integer("seconds").token("IDLETIME").since("5.0.0").optional(),
            integer("frequency").token("FREQ").since("5.0.0").optional(),
        ],
    }

    Scan, "scan" {
        since: "2.8.0", arity: AtLeast(2),
        flags: [ReadOnly, TouchesArbitraryKeys],
        summary: "Incrementally iterate the keys space",
        complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
        tips: ["nondeterministic_output", "request_policy:special"],
        history: [("6.0.0", "Added the `TYPE` subcommand.")],
        args: [
            integer("cursor"),
            pattern("pattern").token("MATCH").optional(),
            integer("count").token("COUNT").optional(),
            string("type").token("TYPE").since("6.0.0").optional(),
        ],
    }

    Sort, "sort" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Write, DenyOom],
        acl: [Set, SortedSet, List, Dangerous],
        keys: [
            spec(One(1), [Ro, Access]),
            spec(Unknown, [Ro, Access]).notes("For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"),
            spec(Unknown, [Ow, Update]).notes("For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument array"),
        ],
        summary: "Sort the elements in a list, set or sorted set",
        complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
        args: [
            key("key", 0),
            pattern("pattern").key_spec(1).token("BY").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
            pattern("pattern").key_spec(1).token("GET").optional().multiple().multiple_token(),
            one_of("order", &[flag("asc", "ASC"), flag("desc", "DESC")]).optional(),
            flag("sorting", "ALPHA").optional(),
            key("destination", 2).token("STORE").optional(),
        ],
    }

    SortRo, "sort_ro" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [ReadOnly],
        acl: [Set, SortedSet, List, Dangerous],
        keys: [
            spec(One(1), [Ro, Access]),
            spec(Unknown, [Ro, Access]).notes("For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"),
        ],
        summary: "Sort the elements in a list, set or sorted set. Read-only variant of SORT.",
        complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
        args: [
            key("key", 0),
            pattern("pattern").key_spec(1).token("BY").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
            pattern("pattern").key_spec(1).token("GET").optional().multiple().multiple_token(),
            one_of("order", &[flag("asc", "ASC"), flag("desc", "DESC")]).optional(),
            flag("sorting", "ALPHA").optional(),
        ],
    }

    Touch, "touch" {
        since: "3.2.1", arity: AtLeast(2),
        flags: [ReadOnly, Fast],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro])],
        summary: "Alters the last access time of a key(s). Returns the number of existing keys specified.",
        complexity: "O(N) where N is the number of keys that will be touched.",
        tips: ["request_policy:multi_shard", "response_policy:agg_sum"],
        args: [key("key", 0).multiple()],
    }

    Ttl, "ttl" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the time to live for a key in seconds",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        history: [("2.8.0", "Added the -2 reply.")],
        args: [key("key", 0)],
    }

    Type, "type" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Determine the type stored at key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    Unlink, "unlink" {
        since: "4.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Rm, Delete])],
        summary: "Delete a key asynchronously in another thread. Otherwise it is just as DEL, but non blocking.",
        complexity: "O(1) for each key removed regardless of its size. Then the command does O(N) work in a different thread in order to reclaim memory, where N is the number of allocations the deleted objects where composed of.",
        tips: ["request_policy:multi_shard", "response_policy:agg_sum"],
        args: [key("key", 0).multiple()],
    }

    Wait, "wait" {
        since: "3.0.0", arity: Exactly(3),
        flags: [NoScript],
        acl: [Connection],
        summary: "Wait for the synchronous replication of all the write commands sent in the context of the current connection",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:agg_min"],
        args: [integer("numreplicas"), integer("timeout")],
    }

    WaitAof, "waitaof" {
        since: "7.2.0", arity: Exactly(4),
        flags: [Blocking],
        acl: [Connection],
        summary: "Blocks until all of the preceding write commands sent by the connection are written to the append-only file of the primary and/or replicas.",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:agg_min"],
        args: [integer("numlocal"), integer("numreplicas"), integer("timeout")],
    }
}
