//! Strings.

use super::row::*;

rows! { string_ids, String;
    Append, "append" {
        since: "2.0.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Append a value to a key",
        complexity: "O(1). The amortized time complexity is O(1) assuming the appended value is small and the already present value is of any size, since the dynamic string library used by Redis will double the free space available on every reallocation.",
        args: [key("key", 0), string("value")],
    }

    Decr, "decr" {
        since: "1.0.0", arity: Exactly(2),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Decrement the integer value of a key by one",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    DecrBy, "decrby" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Decrement the integer value of a key by the given number",
        complexity: "O(1)",
        args: [key("key", 0), integer("decrement")],
    }

    Get, "get" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the value of a key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    GetDel, "getdel" {
        since: "6.2.0", arity: Exactly(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Get the value of a key and delete the key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    GetEx, "getex" {
        since: "6.2.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [
            spec(One(1), [Rw, Access, Update]).notes("RW and UPDATE because it changes the TTL"),
        ],
        summary: "Get the value of a key and optionally set its expiration",
        complexity: "O(1)",
        args: [
            key("key", 0),
            one_of("expiration", &[
                integer("seconds").token("EX"),
                integer("milliseconds").token("PX"),
                unix_time("unix-time-seconds").token("EXAT"),
                unix_time("unix-time-milliseconds").token("PXAT"),
                flag("persist", "PERSIST"),
            ]).optional(),
        ],
    }

    GetRange, "getrange" {
        since: "2.4.0", arity: Exactly(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get a substring of the string stored at a key",
        complexity: "O(N) where N is the length of the returned string. The complexity is ultimately determined by the returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small strings.",
        args: [key("key", 0), integer("start"), integer("end")],
    }

    GetSet, "getset" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Set the string value of a key and return its old value",
        complexity: "O(1)",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`SET` with the `!GET` argument",
        args: [key("key", 0), string("value")],
    }

    Incr, "incr" {
        since: "1.0.0", arity: Exactly(2),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the integer value of a key by one",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    IncrBy, "incrby" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the integer value of a key by the given amount",
        complexity: "O(1)",
        args: [key("key", 0), integer("increment")],
    }

    IncrByFloat, "incrbyfloat" {
        since: "2.6.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the float value of a key by the given amount",
        complexity: "O(1)",
        args: [key("key", 0), double("increment")],
    }

    Lcs, "lcs" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(Range { first: 1, last: 2, step: 1 }, [Ro, Access])],
        summary: "Find longest common substring",
        complexity: "O(N*M) where N and M are the lengths of s1 and s2, respectively",
        args: [
            key("key1", 0),
            key("key2", 0),
            flag("len", "LEN").optional(),
            flag("idx", "IDX").optional(),
            integer("len").token("MINMATCHLEN").optional(),
            flag("withmatchlen", "WITHMATCHLEN").optional(),
        ],
    }

    MGet, "mget" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly, Fast],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro, Access])],
        summary: "Get the values of all the given keys",
        complexity: "O(N) where N is the number of keys to retrieve.",
        tips: ["request_policy:multi_shard"],
        args: [key("key", 0).multiple()],
    }

    MSet, "mset" {
        since: "1.0.1", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [spec(Range { first: 1, last: -1, step: 2 }, [Ow, Update])],
        summary: "Set multiple keys to multiple values",
        complexity: "O(N) where N is the number of keys to set.",
        tips: ["request_policy:multi_shard", "response_policy:all_succeeded"],
        args: [block("key_value", &[key("key", 0), string("value")]).multiple()],
    }

    MSetNx, "msetnx" {
        since: "1.0.1", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [spec(Range { first: 1, last: -1, step: 2 }, [Ow, Insert])],
        summary: "Set multiple keys to multiple values, only if none of the keys exist",
        complexity: "O(N) where N is the number of keys to set.",
        tips: ["request_policy:multi_shard", "response_policy:agg_min"],
        args: [block("key_value", &[key("key", 0), string("value")]).multiple()],
    }

    PSetEx, "psetex" {
        since: "2.6.0", arity: Exactly(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update])],
        summary: "Set the value and expiration in milliseconds of a key",
        complexity: "O(1)",
        args: [key("key", 0), integer("milliseconds"), string("value")],
    }

    Set, "set" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Rw, Access, Update, VariableFlags]).notes("RW and ACCESS due to the optional `GET` argument"),
        ],
        summary: "Set the string value of a key",
        complexity: "O(1)",
        history: [
            ("2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."),
            ("6.0.0", "Added the `KEEPTTL` option."),
            ("6.2.0", "Added the `GET`, `EXAT` and `PXAT` option."),
            ("7.0.0", "Allowed the `NX` and `GET` options to be used together."),
        ],
        args: [
            key("key", 0),
            string("value"),
            one_of("condition", &[flag("nx", "NX"), flag("xx", "XX")]).since("2.6.12").optional(),
            flag("get", "GET").since("6.2.0").optional(),
            one_of("expiration", &[
                integer("seconds").token("EX").since("2.6.12"),
                integer("milliseconds").token("PX").since("2.6.12"),
                unix_time("unix-time-seconds").token("EXAT").since("6.2.0"),
                unix_time("unix-time-milliseconds").token("PXAT").since("6.2.0"),
                flag("keepttl", "KEEPTTL").since("6.0.0"),
            ]).optional(),
        ],
    }

    SetEx, "setex" {
        since: "2.0.0", arity: Exactly(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update])],
        summary: "Set the value and expiration of a key",
        complexity: "O(1)",
        args: [key("key", 0), integer("seconds"), string("value")],
    }

    SetNx, "setnx" {
        since: "1.0.0", arity: Exactly(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Ow, Insert])],
        summary: "Set the value of a key, only if the key does not exist",
        complexity: "O(1)",
        args: [key("key", 0), string("value")],
    }

    SetRange, "setrange" {
        since: "2.2.0", arity: Exactly(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Overwrite part of a string at key starting at the specified offset",
        complexity: "O(1), not counting the time taken to copy the new string in place. Usually, this string is very small so the amortized complexity is O(1). Otherwise, complexity is O(M) with M being the length of the value argument.",
        args: [key("key", 0), integer("offset"), string("value")],
    }

    StrLen, "strlen" {
        since: "2.2.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the length of the value stored in a key",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    SubStr, "substr" {
        since: "1.0.0", arity: Exactly(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get a substring of the string stored at a key",
        complexity: "O(N) where N is the length of the returned string. The complexity is ultimately determined by the returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small strings.",
        doc_flags: [Deprecated],
        deprecated_since: "2.0.0",
        replaced_by: "`GETRANGE`",
        args: [key("key", 0), integer("start"), integer("end")],
    }
}
