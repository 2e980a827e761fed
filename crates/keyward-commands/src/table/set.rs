//! Sets.

use super::row::*;

rows! { set_ids, Set;
    SAdd, "sadd" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Add one or more members to a set",
        complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
        history: [("2.4.0", "Accepts multiple `member` arguments.")],
        args: [key("key", 0), string("member").multiple()],
    }

    SCard, "scard" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the number of members in a set",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    SDiff, "sdiff" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro, Access])],
        summary: "Subtract multiple sets",
        complexity: "O(N) where N is the total number of elements in all given sets.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0).multiple()],
    }

    SDiffStore, "sdiffstore" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Ow, Update]),
            spec(Range { first: 2, last: -1, step: 1 }, [Ro, Access]),
        ],
        summary: "Subtract multiple sets and store the resulting set in a key",
        complexity: "O(N) where N is the total number of elements in all given sets.",
        args: [key("destination", 0), key("key", 1).multiple()],
    }

    SInter, "sinter" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro, Access])],
        summary: "Intersect multiple sets",
        complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0).multiple()],
    }

    SInterCard, "sintercard" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(NumKeys(1), [Ro, Access])],
        summary: "Intersect multiple sets and return the cardinality of the result",
        complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            integer("limit").token("LIMIT").optional(),
        ],
    }

    SInterStore, "sinterstore" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Rw, Update]),
            spec(Range { first: 2, last: -1, step: 1 }, [Ro, Access]),
        ],
        summary: "Intersect multiple sets and store the resulting set in a key",
        complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
        args: [key("destination", 0), key("key", 1).multiple()],
    }

    SIsMember, "sismember" {
        since: "1.0.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Determine if a given value is a member of a set",
        complexity: "O(1)",
        args: [key("key", 0), string("member")],
    }

    SMembers, "smembers" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get all the members in a set",
        complexity: "O(N) where N is the set cardinality.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0)],
    }

    SMIsMember, "smismember" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Returns the membership associated with the given elements for a set",
        complexity: "O(N) where N is the number of elements being checked for membership",
        args: [key("key", 0), string("member").multiple()],
    }

    SMove, "smove" {
        since: "1.0.0", arity: Exactly(4),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Rw, Insert])],
        summary: "Move a member from one set to another",
        complexity: "O(1)",
        args: [key("source", 0), key("destination", 1), string("member")],
    }

    SPop, "spop" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Remove and return one or multiple random members from a set",
        complexity: "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
        tips: ["nondeterministic_output"],
        history: [("3.2.0", "Added the `count` argument.")],
        args: [key("key", 0), integer("count").since("3.2.0").optional()],
    }

    SRandMember, "srandmember" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get one or multiple random members from a set",
        complexity: "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.",
        tips: ["nondeterministic_output"],
        history: [("2.6.0", "Added the optional `count` argument.")],
        args: [key("key", 0), integer("count").since("2.6.0").optional()],
    }

    SRem, "srem" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove one or more members from a set",
        complexity: "O(N) where N is the number of members to be removed.",
        history: [("2.4.0", "Accepts multiple `member` arguments.")],
        args: [key("key", 0), string("member").multiple()],
    }

    SScan, "sscan" {
        since: "2.8.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Incrementally iterate Set elements",
        complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            integer("cursor"),
            pattern("pattern").token("MATCH").optional(),
            integer("count").token("COUNT").optional(),
        ],
    }

    SUnion, "sunion" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro, Access])],
        summary: "Add multiple sets",
        complexity: "O(N) where N is the total number of elements in all given sets.",
        tips: ["nondeterministic_output_order"],
        args: [key("key", 0).multiple()],
    }

    SUnionStore, "sunionstore" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Ow, Update]),
            spec(Range { first: 2, last: -1, step: 1 }, [Ro, Access]),
        ],
        summary: "Add multiple sets and store the resulting set in a key",
        complexity: "O(N) where N is the total number of elements in all given sets.",
        args: [key("destination", 0), key("key", 1).multiple()],
    }
}
