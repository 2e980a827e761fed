//! Hashes.

use super::row::*;

rows! { hash_ids, Hash;
    HDel, "hdel" {
        since: "2.0.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Delete one or more hash fields",
        complexity: "O(N) where N is the number of fields to be removed.",
        history: [("2.4.0", "Accepts multiple `field` arguments.")],
        args: [key("key", 0), string("field").multiple()],
    }

    HExists, "hexists" {
        since: "2.0.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Determine if a hash field exists",
        complexity: "O(1)",
        args: [key("key", 0), string("field")],
    }

    HGet, "hget" {
        since: "2.0.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the value of a hash field",
        complexity: "O(1)",
        args: [key("key", 0), string("field")],
    }

    HGetAll, "hgetall" {
        since: "2.0.0", arity: Exactly(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get all the fields and values in a hash",
        complexity: "O(N) where N is the size of the hash.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0)],
    }

    HIncrBy, "hincrby" {
        since: "2.0.0", arity: Exactly(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the integer value of a hash field by the given number",
        complexity: "O(1)",
        args: [key("key", 0), string("field"), integer("increment")],
    }

    HIncrByFloat, "hincrbyfloat" {
        since: "2.6.0", arity: Exactly(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the float value of a hash field by the given amount",
        complexity: "O(1)",
        args: [key("key", 0), string("field"), double("increment")],
    }

    HKeys, "hkeys" {
        since: "2.0.0", arity: Exactly(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get all the fields in a hash",
        complexity: "O(N) where N is the size of the hash.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0)],
    }

    HLen, "hlen" {
        since: "2.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the number of fields in a hash",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    HMGet, "hmget" {
        since: "2.0.0", arity: AtLeast(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the values of all the given hash fields",
        complexity: "O(N) where N is the number of fields being requested.",
        args: [key("key", 0), string("field").multiple()],
    }

    HMSet, "hmset" {
        since: "2.0.0", arity: AtLeast(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set multiple hash fields to multiple values",
        complexity: "O(N) where N is the number of fields being set.",
        doc_flags: [Deprecated],
        deprecated_since: "4.0.0",
        replaced_by: "`HSET` with multiple field-value pairs",
        args: [
            key("key", 0),
            block("field_value", &[string("field"), string("value")]).multiple(),
        ],
    }

    HRandField, "hrandfield" {
        since: "6.2.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get one or multiple random fields from a hash",
        complexity: "O(N) where N is the number of fields returned",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            block("options", &[
                integer("count"),
                flag("withvalues", "WITHVALUES").optional(),
            ]).optional(),
        ],
    }

    HScan, "hscan" {
        since: "2.8.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Incrementally iterate hash fields and associated values",
        complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            integer("cursor"),
            pattern("pattern").token("MATCH").optional(),
            integer("count").token("COUNT").optional(),
        ],
    }

    HSet, "hset" {
        since: "2.0.0", arity: AtLeast(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set the string value of a hash field",
        complexity: "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is called with multiple field/value pairs.",
        history: [("4.0.0", "Accepts multiple `field` and `value` arguments.")],
        args: [
            key("key", 0),
            block("field_value", &[string("field"), string("value")]).multiple(),
        ],
    }

    HSetNx, "hsetnx" {
        since: "2.0.0", arity: Exactly(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Set the value of a hash field, only if the field does not exist",
        complexity: "O(1)",
        args: [key("key", 0), string("field"), string("value")],
    }

    HStrLen, "hstrlen" {
        since: "3.2.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the length of the value of a hash field",
        complexity: "O(1)",
        args: [key("key", 0), string("field")],
    }

    HVals, "hvals" {
        since: "2.0.0", arity: Exactly(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get all the values in a hash",
        complexity: "O(N) where N is the size of the hash.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0)],
    }
}
