//! Sorted sets.

use super::row::*;

rows! { zset_ids, SortedSet;
    BZMPop, "bzmpop" {
        since: "7.0.0", arity: AtLeast(5),
        flags: [Write, Blocking],
        keys: [spec(NumKeys(2), [Rw, Access, Delete])],
        summary: "Remove and return members with scores in a sorted set or block until one is available",
        complexity: "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.",
        args: [
            double("timeout"),
            integer("numkeys"),
            key("key", 0).multiple(),
            one_of("where", &[flag("min", "MIN"), flag("max", "MAX")]),
            integer("count").token("COUNT").optional(),
        ],
    }

    BZPopMax, "bzpopmax" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [Write, NoScript, Fast, Blocking],
        keys: [spec(Range { first: 1, last: -2, step: 1 }, [Rw, Access, Delete])],
        summary: "Remove and return the member with the highest score from one or more sorted sets, or block until one is available",
        complexity: "O(log(N)) with N being the number of elements in the sorted set.",
        history: [
            ("6.0.0", "`timeout` is interpreted as a double instead of an integer."),
        ],
        args: [key("key", 0).multiple(), double("timeout")],
    }

    BZPopMin, "bzpopmin" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [Write, NoScript, Fast, Blocking],
        keys: [spec(Range { first: 1, last: -2, step: 1 }, [Rw, Access, Delete])],
        summary: "Remove and return the member with the lowest score from one or more sorted sets, or block until one is available",
        complexity: "O(log(N)) with N being the number of elements in the sorted set.",
        history: [
            ("6.0.0", "`timeout` is interpreted as a double instead of an integer."),
        ],
        args: [key("key", 0).multiple(), double("timeout")],
    }

    ZAdd, "zadd" {
        since: "1.2.0", arity: AtLeast(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Add one or more members to a sorted set, or update its score if it already exists",
        complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        history: [
            ("2.4.0", "Accepts multiple elements."),
            ("3.0.2", "Added the `XX`, `NX`, `CH` and `INCR` options."),
            ("6.2.0", "Added the `GT` and `LT` options."),
        ],
        args: [
            key("key", 0),
            one_of("condition", &[flag("nx", "NX"), flag("xx", "XX")]).since("3.0.2").optional(),
            one_of("comparison", &[flag("gt", "GT"), flag("lt", "LT")]).since("6.2.0").optional(),
            flag("change", "CH").since("3.0.2").optional(),
            flag("increment", "INCR").since("3.0.2").optional(),
            block("score_member", &[double("score"), string("member")]).multiple(),
        ],
    }

    ZCard, "zcard" {
        since: "1.2.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the number of members in a sorted set",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    ZCount, "zcount" {
        since: "2.0.0", arity: Exactly(4),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Count the members in a sorted set with scores within the given values",
        complexity: "O(log(N)) with N being the number of elements in the sorted set.",
        args: [key("key", 0), double("min"), double("max")],
    }

    ZDiff, "zdiff" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(NumKeys(1), [Ro, Access])],
        summary: "Subtract multiple sorted sets",
        complexity: "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            flag("withscores", "WITHSCORES").optional(),
        ],
    }

    ZDiffStore, "zdiffstore" {
        since: "6.2.0", arity: AtLeast(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update]), spec(NumKeys(2), [Ro, Access])],
        summary: "Subtract multiple sorted sets and store the resulting sorted set in a new key",
        complexity: "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set.",
        args: [key("destination", 0), integer("numkeys"), key("key", 1).multiple()],
    }

    ZIncrBy, "zincrby" {
        since: "1.2.0", arity: Exactly(4),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Increment the score of a member in a sorted set",
        complexity: "O(log(N)) where N is the number of elements in the sorted set.",
        args: [key("key", 0), integer("increment"), string("member")],
    }

    ZInter, "zinter" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(NumKeys(1), [Ro, Access])],
        summary: "Intersect multiple sorted sets",
        complexity: "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            integer("weight").token("WEIGHTS").optional().multiple(),
            one_of("aggregate", &[
                flag("sum", "SUM"),
                flag("min", "MIN"),
                flag("max", "MAX"),
            ]).token("AGGREGATE").optional(),
            flag("withscores", "WITHSCORES").optional(),
        ],
    }

    ZInterCard, "zintercard" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(NumKeys(1), [Ro, Access])],
        summary: "Intersect multiple sorted sets and return the cardinality of the result",
        complexity: "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted sets.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            integer("limit").token("LIMIT").optional(),
        ],
    }

    ZInterStore, "zinterstore" {
        since: "2.0.0", arity: AtLeast(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update]), spec(NumKeys(2), [Ro, Access])],
        summary: "Intersect multiple sorted sets and store the resulting sorted set in a new key",
        complexity: "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set.",
        args: [
            key("destination", 0),
            integer("numkeys"),
            key("key", 1).multiple(),
            integer("weight").token("WEIGHTS").optional().multiple(),
            one_of("aggregate", &[
                flag("sum", "SUM"),
                flag("min", "MIN"),
                flag("max", "MAX"),
            ]).token("AGGREGATE").optional(),
        ],
    }

    ZLexCount, "zlexcount" {
        since: "2.8.9", arity: Exactly(4),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Count the number of members in a sorted set between a given lexicographical range",
        complexity: "O(log(N)) with N being the number of elements in the sorted set.",
        args: [key("key", 0), string("min"), string("max")],
    }

    ZMPop, "zmpop" {
        since: "7.0.0", arity: AtLeast(4),
        flags: [Write],
        keys: [spec(NumKeys(1), [Rw, Access, Delete])],
        summary: "Remove and return members with scores in a sorted set",
        complexity: "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            one_of("where", &[flag("min", "MIN"), flag("max", "MAX")]),
            integer("count").token("COUNT").optional(),
        ],
    }

    ZMScore, "zmscore" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the score associated with the given members in a sorted set",
        complexity: "O(N) where N is the number of members being requested.",
        args: [key("key", 0), string("member").multiple()],
    }

    ZPopMax, "zpopmax" {
        since: "5.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Remove and return members with the highest scores in a sorted set",
        complexity: "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.",
        args: [key("key", 0), integer("count").optional()],
    }

    ZPopMin, "zpopmin" {
        since: "5.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Remove and return members with the lowest scores in a sorted set",
        complexity: "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.",
        args: [key("key", 0), integer("count").optional()],
    }

    ZRandMember, "zrandmember" {
        since: "6.2.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get one or multiple random elements from a sorted set",
        complexity: "O(N) where N is the number of elements returned",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            block("options", &[
                integer("count"),
                flag("withscores", "WITHSCORES").optional(),
            ]).optional(),
        ],
    }

    ZRange, "zrange" {
        since: "1.2.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements returned.",
        history: [("6.2.0", "Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options.")],
        args: [
            key("key", 0),
            string("start"),
            string("stop"),
            one_of("sortby", &[flag("byscore", "BYSCORE"), flag("bylex", "BYLEX")]).since("6.2.0").optional(),
            flag("rev", "REV").since("6.2.0").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").since("6.2.0").optional(),
            flag("withscores", "WITHSCORES").optional(),
        ],
    }

    ZRangeByLex, "zrangebylex" {
        since: "2.8.9", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set, by lexicographical range",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `BYLEX` argument",
        args: [
            key("key", 0),
            string("min"),
            string("max"),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
        ],
    }

    ZRangeByScore, "zrangebyscore" {
        since: "1.0.5", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set, by score",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `BYSCORE` argument",
        history: [("2.0.0", "Added the `WITHSCORES` modifier.")],
        args: [
            key("key", 0),
            double("min"),
            double("max"),
            flag("withscores", "WITHSCORES").since("2.0.0").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
        ],
    }

    ZRangeStore, "zrangestore" {
        since: "6.2.0", arity: AtLeast(5),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update]), spec(One(2), [Ro, Access])],
        summary: "Store a range of members from sorted set into another key",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements stored into the destination key.",
        args: [
            key("dst", 0),
            key("src", 1),
            string("min"),
            string("max"),
            one_of("sortby", &[flag("byscore", "BYSCORE"), flag("bylex", "BYLEX")]).optional(),
            flag("rev", "REV").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
        ],
    }

    ZRank, "zrank" {
        since: "2.0.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Determine the index of a member in a sorted set",
        complexity: "O(log(N))",
        args: [key("key", 0), string("member")],
    }

    ZRem, "zrem" {
        since: "1.2.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove one or more members from a sorted set",
        complexity: "O(M*log(N)) with N being the number of elements in the sorted set and M the number of elements to be removed.",
        history: [("2.4.0", "Accepts multiple elements.")],
        args: [key("key", 0), string("member").multiple()],
    }

    ZRemRangeByLex, "zremrangebylex" {
        since: "2.8.9", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove all members in a sorted set between the given lexicographical range",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
        args: [key("key", 0), string("min"), string("max")],
    }

    ZRemRangeByRank, "zremrangebyrank" {
        since: "2.0.0", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove all members in a sorted set within the given indexes",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
        args: [key("key", 0), integer("start"), integer("stop")],
    }

    ZRemRangeByScore, "zremrangebyscore" {
        since: "1.2.0", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove all members in a sorted set within the given scores",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
        args: [key("key", 0), double("min"), double("max")],
    }

    ZRevRange, "zrevrange" {
        since: "1.2.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set, by index, with scores ordered from high to low",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements returned.",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` argument",
        args: [
            key("key", 0),
            integer("start"),
            integer("stop"),
            flag("withscores", "WITHSCORES").optional(),
        ],
    }

    ZRevRangeByLex, "zrevrangebylex" {
        since: "2.8.9", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set, by lexicographical range, ordered from higher to lower strings.",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` and `BYLEX` arguments",
        args: [
            key("key", 0),
            string("max"),
            string("min"),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
        ],
    }

    ZRevRangeByScore, "zrevrangebyscore" {
        since: "2.2.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of members in a sorted set, by score, with scores ordered from high to low",
        complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
        history: [("2.1.6", "`min` and `max` can be exclusive.")],
        args: [
            key("key", 0),
            double("max"),
            double("min"),
            flag("withscores", "WITHSCORES").optional(),
            block("offset_count", &[integer("offset"), integer("count")]).token("LIMIT").optional(),
        ],
    }

    ZRevRank, "zrevrank" {
        since: "2.0.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Determine the index of a member in a sorted set, with scores ordered from high to low",
        complexity: "O(log(N))",
        args: [key("key", 0), string("member")],
    }

    ZScan, "zscan" {
        since: "2.8.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Incrementally iterate sorted sets elements and associated scores",
        complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            integer("cursor"),
            pattern("pattern").token("MATCH").optional(),
            integer("count").token("COUNT").optional(),
        ],
    }

    ZScore, "zscore" {
        since: "1.2.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get the score associated with the given member in a sorted set",
        complexity: "O(1)",
        args: [key("key", 0), string("member")],
    }

    ZUnion, "zunion" {
        since: "6.2.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(NumKeys(1), [Ro, Access])],
        summary: "Add multiple sorted sets",
        complexity: "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            integer("weight").token("WEIGHTS").optional().multiple(),
            one_of("aggregate", &[
                flag("sum", "SUM"),
                flag("min", "MIN"),
                flag("max", "MAX"),
            ]).token("AGGREGATE").optional(),
            flag("withscores", "WITHSCORES").optional(),
        ],
    }

    ZUnionStore, "zunionstore" {
        since: "2.0.0", arity: AtLeast(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Ow, Update]), spec(NumKeys(2), [Ro, Access])],
        summary: "Add multiple sorted sets and store the resulting sorted set in a new key",
        complexity: "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.",
        args: [
            key("destination", 0),
            integer("numkeys"),
            key("key", 1).multiple(),
            integer("weight").token("WEIGHTS").optional().multiple(),
            one_of("aggregate", &[
                flag("sum", "SUM"),
                flag("min", "MIN"),
                flag("max", "MAX"),
            ]).token("AGGREGATE").optional(),
        ],
    }
}
