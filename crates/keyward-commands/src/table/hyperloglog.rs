//! HyperLogLogs.

use super::row::*;

rows! { hyperloglog_ids, HyperLogLog;
    PfAdd, "pfadd" {
        since: "2.8.9", arity: AtLeast(2),
        flags: [Write, DenyOom, Fast],
        keys: [
            spec(One(1), [Rw, Insert]),
        ],
        summary: "Adds the specified elements to the specified HyperLogLog.",
        complexity: "O(1) to add every element.",
        args: [
            key("key", 0),
            string("element").optional().multiple(),
        ],
    }

    PfCount, "pfcount" {
        since: "2.8.9", arity: AtLeast(2),
        flags: [ReadOnly, MayReplicate],
        keys: [
            spec(Range { first: 1, last: -1, step: 1 }, [Rw, Access]).notes("RW because it may change the internal representation of the key, and propagate to replicas"),
        ],
        summary: "Return the approximated cardinality of the set(s) observed by the HyperLogLog at key(s).",
        complexity: "O(1) with a very small average constant time when called with a single key. O(N) with N being the number of keys, and much bigger constant times, when called with multiple keys.",
        args: [
            key("key", 0).multiple(),
        ],
    }

    PfDebug, "pfdebug" {
        since: "2.8.9", arity: Exactly(3),
        flags: [Write, DenyOom, Admin],
        keys: [
            spec(One(2), [Rw, Access]),
        ],
        summary: "Internal commands for debugging HyperLogLog values",
        complexity: "N/A",
        doc_flags: [Syscmd],
        args: [
            string("subcommand"),
            key("key", 0),
        ],
    }

    PfMerge, "pfmerge" {
        since: "2.8.9", arity: AtLeast(2),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Rw, Access, Insert]),
            spec(Range { first: 2, last: -1, step: 1 }, [Ro, Access]),
        ],
        summary: "Merge N different HyperLogLogs into a single one.",
        complexity: "O(N) to merge N HyperLogLogs, but with high constant times.",
        args: [
            key("destkey", 0),
            key("sourcekey", 1).multiple(),
        ],
    }

    PfSelfTest, "pfselftest" {
        since: "2.8.9", arity: Exactly(1),
        flags: [Admin],
        summary: "An internal command for testing HyperLogLog values",
        complexity: "N/A",
        doc_flags: [Syscmd],
    }
}
