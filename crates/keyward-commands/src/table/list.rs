//! Lists.

use super::row::*;

rows! { list_ids, List;
    BLMove, "blmove" {
        since: "6.2.0", arity: Exactly(6),
        flags: [Write, DenyOom, NoScript, Blocking],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Rw, Insert])],
        summary: "Pop an element from a list, push it to another list and return it; or block until one is available",
        complexity: "O(1)",
        args: [
            key("source", 0),
            key("destination", 1),
            one_of("wherefrom", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
            one_of("whereto", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
            double("timeout"),
        ],
    }

    BLMPop, "blmpop" {
        since: "7.0.0", arity: AtLeast(5),
        flags: [Write, Blocking],
        keys: [spec(NumKeys(2), [Rw, Access, Delete])],
        summary: "Pop elements from a list, or block until one is available",
        complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
        args: [
            double("timeout"),
            integer("numkeys"),
            key("key", 0).multiple(),
            one_of("where", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
            integer("count").token("COUNT").optional(),
        ],
    }

    BLPop, "blpop" {
        since: "2.0.0", arity: AtLeast(3),
        flags: [Write, NoScript, Blocking],
        keys: [spec(Range { first: 1, last: -2, step: 1 }, [Rw, Access, Delete])],
        summary: "Remove and get the first element in a list, or block until one is available",
        complexity: "O(N) where N is the number of provided keys.",
        history: [
            ("6.0.0", "`timeout` is interpreted as a double instead of an integer."),
        ],
        args: [key("key", 0).multiple(), double("timeout")],
    }

    BRPop, "brpop" {
        since: "2.0.0", arity: AtLeast(3),
        flags: [Write, NoScript, Blocking],
        keys: [spec(Range { first: 1, last: -2, step: 1 }, [Rw, Access, Delete])],
        summary: "Remove and get the last element in a list, or block until one is available",
        complexity: "O(N) where N is the number of provided keys.",
        history: [
            ("6.0.0", "`timeout` is interpreted as a double instead of an integer."),
        ],
        args: [key("key", 0).multiple(), double("timeout")],
    }

    BRPopLPush, "brpoplpush" {
        since: "2.2.0", arity: Exactly(4),
        flags: [Write, DenyOom, NoScript, Blocking],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Rw, Insert])],
        summary: "Pop an element from a list, push it to another list and return it; or block until one is available",
        complexity: "O(1)",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
        history: [
            ("6.0.0", "`timeout` is interpreted as a double instead of an integer."),
        ],
        args: [key("source", 0), key("destination", 1), double("timeout")],
    }

    LIndex, "lindex" {
        since: "1.0.0", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get an element from a list by its index",
        complexity: "O(N) where N is the number of elements to traverse to get to the element at index. This makes asking for the first or the last element of the list O(1).",
        args: [key("key", 0), integer("index")],
    }

    LInsert, "linsert" {
        since: "2.2.0", arity: Exactly(5),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Insert an element before or after another element in a list",
        complexity: "O(N) where N is the number of elements to traverse before seeing the value pivot. This means that inserting somewhere on the left end on the list (head) can be considered O(1) and inserting somewhere on the right end (tail) is O(N).",
        args: [
            key("key", 0),
            one_of("where", &[flag("before", "BEFORE"), flag("after", "AFTER")]),
            string("pivot"),
            string("element"),
        ],
    }

    LLen, "llen" {
        since: "1.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Get the length of a list",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    LMove, "lmove" {
        since: "6.2.0", arity: Exactly(5),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Rw, Insert])],
        summary: "Pop an element from a list, push it to another list and return it",
        complexity: "O(1)",
        args: [
            key("source", 0),
            key("destination", 1),
            one_of("wherefrom", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
            one_of("whereto", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
        ],
    }

    LMPop, "lmpop" {
        since: "7.0.0", arity: AtLeast(4),
        flags: [Write],
        keys: [spec(NumKeys(1), [Rw, Access, Delete])],
        summary: "Pop elements from a list",
        complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
        args: [
            integer("numkeys"),
            key("key", 0).multiple(),
            one_of("where", &[flag("left", "LEFT"), flag("right", "RIGHT")]),
            integer("count").token("COUNT").optional(),
        ],
    }

    LPop, "lpop" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Remove and get the first elements in a list",
        complexity: "O(N) where N is the number of elements returned",
        history: [("6.2.0", "Added the `count` argument.")],
        args: [key("key", 0), integer("count").since("6.2.0").optional()],
    }

    LPos, "lpos" {
        since: "6.0.6", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return the index of matching elements on a list",
        complexity: "O(N) where N is the number of elements in the list, for the average case. When searching for elements near the head or the tail of the list, or when the MAXLEN option is provided, the command may run in constant time.",
        args: [
            key("key", 0),
            string("element"),
            integer("rank").token("RANK").optional(),
            integer("num-matches").token("COUNT").optional(),
            integer("len").token("MAXLEN").optional(),
        ],
    }

    LPush, "lpush" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Prepend one or multiple elements to a list",
        complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
        history: [("2.4.0", "Accepts multiple `element` arguments.")],
        args: [key("key", 0), string("element").multiple()],
    }

    LPushX, "lpushx" {
        since: "2.2.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Prepend an element to a list, only if the list exists",
        complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
        history: [("4.0.0", "Accepts multiple `element` arguments.")],
        args: [key("key", 0), string("element").multiple()],
    }

    LRange, "lrange" {
        since: "1.0.0", arity: Exactly(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Get a range of elements from a list",
        complexity: "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.",
        args: [key("key", 0), integer("start"), integer("stop")],
    }

    LRem, "lrem" {
        since: "1.0.0", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Remove elements from a list",
        complexity: "O(N+M) where N is the length of the list and M is the number of elements removed.",
        args: [key("key", 0), integer("count"), string("element")],
    }

    LSet, "lset" {
        since: "1.0.0", arity: Exactly(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Set the value of an element in a list by its index",
        complexity: "O(N) where N is the length of the list. Setting either the first or the last element of the list is O(1).",
        args: [key("key", 0), integer("index"), string("element")],
    }

    LTrim, "ltrim" {
        since: "1.0.0", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Trim a list to the specified range",
        complexity: "O(N) where N is the number of elements to be removed by the operation.",
        args: [key("key", 0), integer("start"), integer("stop")],
    }

    RPop, "rpop" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Access, Delete])],
        summary: "Remove and get the last elements in a list",
        complexity: "O(N) where N is the number of elements returned",
        history: [("6.2.0", "Added the `count` argument.")],
        args: [key("key", 0), integer("count").since("6.2.0").optional()],
    }

    RPopLPush, "rpoplpush" {
        since: "1.2.0", arity: Exactly(3),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Access, Delete]), spec(One(2), [Rw, Insert])],
        summary: "Remove the last element in a list, prepend it to another list and return it",
        complexity: "O(1)",
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
        args: [key("source", 0), key("destination", 1)],
    }

    RPush, "rpush" {
        since: "1.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Append one or multiple elements to a list",
        complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
        history: [("2.4.0", "Accepts multiple `element` arguments.")],
        args: [key("key", 0), string("element").multiple()],
    }

    RPushX, "rpushx" {
        since: "2.2.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Insert])],
        summary: "Append an element to a list, only if the list exists",
        complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
        history: [("4.0.0", "Accepts multiple `element` arguments.")],
        args: [key("key", 0), string("element").multiple()],
    }
}
