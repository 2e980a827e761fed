//! Streams.

use super::row::*;

rows! { stream_ids, Stream;
    XAck, "xack" {
        since: "5.0.0", arity: AtLeast(4),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Marks a pending message as correctly processed, effectively removing it from the pending entries list of the consumer group. Return value of the command is the number of messages successfully acknowledged, that is, the IDs we were actually able to resolve in the PEL.",
        complexity: "O(1) for each message ID processed.",
        args: [key("key", 0), string("group"), string("id").multiple()],
    }

    XAdd, "xadd" {
        since: "5.0.0", arity: AtLeast(5),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Update]).notes("UPDATE instead of INSERT because of the optional trimming feature")],
        summary: "Appends a new entry to a stream",
        complexity: "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
        tips: ["nondeterministic_output"],
        history: [
            ("6.2.0", "Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option."),
            ("7.0.0", "Added support for the `<ms>-*` explicit ID form."),
        ],
        args: [
            key("key", 0),
            flag("nomkstream", "NOMKSTREAM").since("6.2.0").optional(),
            block("trim", &[one_of("strategy", &[flag("maxlen", "MAXLEN"), flag("minid", "MINID").since("6.2.0")]), one_of("operator", &[flag("equal", "="), flag("approximately", "~")]).optional(), string("threshold"), integer("count").token("LIMIT").since("6.2.0").optional()]).optional(),
            one_of("id_or_auto", &[flag("auto_id", "*"), string("id")]),
            block("field_value", &[string("field"), string("value")]).multiple(),
        ],
    }

    XAutoClaim, "xautoclaim" {
        since: "6.2.0", arity: AtLeast(6),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Changes (or acquires) ownership of messages in a consumer group, as if the messages were delivered to the specified consumer.",
        complexity: "O(1) if COUNT is small.",
        tips: ["nondeterministic_output"],
        history: [
            ("7.0.0", "Added an element to the reply array, containing deleted entries the command cleared from the PEL"),
        ],
        args: [
            key("key", 0),
            string("group"),
            string("consumer"),
            string("min-idle-time"),
            string("start"),
            integer("count").token("COUNT").optional(),
            flag("justid", "JUSTID").optional(),
        ],
    }

    XClaim, "xclaim" {
        since: "5.0.0", arity: AtLeast(6),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "Changes (or acquires) ownership of a message in a consumer group, as if the message was delivered to the specified consumer.",
        complexity: "O(log N) with N being the number of messages in the PEL of the consumer group.",
        tips: ["nondeterministic_output"],
        args: [
            key("key", 0),
            string("group"),
            string("consumer"),
            string("min-idle-time"),
            string("id").multiple(),
            integer("ms").token("IDLE").optional(),
            unix_time("unix-time-milliseconds").token("TIME").optional(),
            integer("count").token("RETRYCOUNT").optional(),
            flag("force", "FORCE").optional(),
            flag("justid", "JUSTID").optional(),
            string("id").token("LASTID").optional(),
        ],
    }

    XDel, "xdel" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [Write, Fast],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Removes the specified entries from the stream. Returns the number of items actually deleted, that may be different from the number of IDs passed in case certain IDs do not exist.",
        complexity: "O(1) for each single item to delete in the stream, regardless of the stream size.",
        args: [key("key", 0), string("id").multiple()],
    }

    XGroup, "xgroup" {
        since: "5.0.0", arity: AtLeast(2),
        acl: [],
        summary: "A container for consumer groups commands",
        complexity: "Depends on subcommand.",
    }

    XGroupCreate, "xgroup|create" {
        since: "5.0.0", arity: AtLeast(5),
        flags: [Write, DenyOom],
        keys: [spec(One(2), [Rw, Insert])],
        summary: "Create a consumer group.",
        complexity: "O(1)",
        history: [
            ("7.0.0", "Added the `entries_read` named argument."),
        ],
        args: [
            key("key", 0),
            string("groupname"),
            one_of("id", &[string("id"), flag("new_id", "$")]),
            flag("mkstream", "MKSTREAM").optional(),
            integer("entries_read").token("ENTRIESREAD").optional(),
        ],
    }

    XGroupCreateConsumer, "xgroup|createconsumer" {
        since: "6.2.0", arity: Exactly(5),
        flags: [Write, DenyOom],
        keys: [spec(One(2), [Rw, Insert])],
        summary: "Create a consumer in a consumer group.",
        complexity: "O(1)",
        args: [key("key", 0), string("groupname"), string("consumername")],
    }

    XGroupDelConsumer, "xgroup|delconsumer" {
        since: "5.0.0", arity: Exactly(5),
        flags: [Write],
        keys: [spec(One(2), [Rw, Delete])],
        summary: "Delete a consumer from a consumer group.",
        complexity: "O(1)",
        args: [key("key", 0), string("groupname"), string("consumername")],
    }

    XGroupDestroy, "xgroup|destroy" {
        since: "5.0.0", arity: Exactly(4),
        flags: [Write],
        keys: [spec(One(2), [Rw, Delete])],
        summary: "Destroy a consumer group.",
        complexity: "O(N) where N is the number of entries in the group's pending entries list (PEL).",
        args: [key("key", 0), string("groupname")],
    }

    XGroupHelp, "xgroup|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    XGroupSetId, "xgroup|setid" {
        since: "5.0.0", arity: AtLeast(5),
        flags: [Write],
        keys: [spec(One(2), [Rw, Update])],
        summary: "Set a consumer group to an arbitrary last delivered ID value.",
        complexity: "O(1)",
        history: [
            ("7.0.0", "Added the optional `entries_read` argument."),
        ],
        args: [
            key("key", 0),
            string("groupname"),
            one_of("id", &[string("id"), flag("new_id", "$")]),
            integer("entries_read").token("ENTRIESREAD").optional(),
        ],
    }

    XInfo, "xinfo" {
        since: "5.0.0", arity: AtLeast(2),
        acl: [],
        summary: "A container for stream introspection commands",
        complexity: "Depends on subcommand.",
    }

    XInfoConsumers, "xinfo|consumers" {
        since: "5.0.0", arity: Exactly(4),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro, Access])],
        summary: "List the consumers in a consumer group",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
        args: [key("key", 0), string("groupname")],
    }

    XInfoGroups, "xinfo|groups" {
        since: "5.0.0", arity: Exactly(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro, Access])],
        summary: "List the consumer groups of a stream",
        complexity: "O(1)",
        history: [
            ("7.0.0", "Added the `entries-read` and `lag` fields"),
        ],
        args: [key("key", 0)],
    }

    XInfoHelp, "xinfo|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    XInfoStream, "xinfo|stream" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro, Access])],
        summary: "Get information about a stream",
        complexity: "O(1)",
        history: [
            ("6.0.0", "Added the `FULL` modifier."),
            ("7.0.0", "Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag` fields"),
        ],
        args: [
            key("key", 0),
            block("full", &[integer("count").token("COUNT").optional()]).token("FULL").optional(),
        ],
    }

    XLen, "xlen" {
        since: "5.0.0", arity: Exactly(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro])],
        summary: "Return the number of entries in a stream",
        complexity: "O(1)",
        args: [key("key", 0)],
    }

    XPending, "xpending" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return information and entries from a stream consumer group pending entries list, that are messages fetched but never acknowledged.",
        complexity: "O(N) with N being the number of elements returned, so asking for a small fixed number of entries per call is O(1). O(M), where M is the total number of entries scanned when used with the IDLE filter. When the command returns just the summary and the list of consumers is small, it runs in O(1) time; otherwise, an additional O(N) time for iterating every consumer.",
        tips: ["nondeterministic_output"],
        history: [
            ("6.2.0", "Added the `IDLE` option and exclusive range intervals."),
        ],
        args: [
            key("key", 0),
            string("group"),
            block("filters", &[integer("min-idle-time").token("IDLE").since("6.2.0").optional(), string("start"), string("end"), integer("count"), string("consumer").optional()]).optional(),
        ],
    }

    XRange, "xrange" {
        since: "5.0.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of elements in a stream, with IDs matching the specified IDs interval",
        complexity: "O(N) with N being the number of elements being returned. If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1).",
        history: [
            ("6.2.0", "Added exclusive ranges."),
        ],
        args: [
            key("key", 0),
            string("start"),
            string("end"),
            integer("count").token("COUNT").optional(),
        ],
    }

    XRead, "xread" {
        since: "5.0.0", arity: AtLeast(4),
        flags: [Blocking, ReadOnly],
        keys: [spec(HalfAfter { word: "STREAMS", from: 1 }, [Ro, Access])],
        summary: "Return never seen elements in multiple streams, with IDs greater than the ones reported by the caller for each stream. Can block.",
        complexity: "For each stream mentioned: O(N) with N being the number of elements being returned, it means that XREAD-ing with a fixed COUNT is O(1). Note that when the BLOCK option is used, XADD will pay O(M) time in order to serve the M clients blocked on the stream getting new data.",
        args: [
            integer("count").token("COUNT").optional(),
            integer("milliseconds").token("BLOCK").optional(),
            block("streams", &[key("key", 0).multiple(), string("id").multiple()]).token("STREAMS"),
        ],
    }

    XReadGroup, "xreadgroup" {
        since: "5.0.0", arity: AtLeast(7),
        flags: [Blocking, Write],
        keys: [spec(HalfAfter { word: "STREAMS", from: 4 }, [Ro, Access])],
        summary: "Return new entries from a stream using a consumer group, or access the history of the pending entries for a given consumer. Can block.",
        complexity: "For each stream mentioned: O(M) with M being the number of elements returned. If M is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1). On the other side when XREADGROUP blocks, XADD will pay the O(N) time in order to serve the N clients blocked on the stream getting new data.",
        args: [
            block("group_consumer", &[string("group"), string("consumer")]).token("GROUP"),
            integer("count").token("COUNT").optional(),
            integer("milliseconds").token("BLOCK").optional(),
            flag("noack", "NOACK").optional(),
            block("streams", &[key("key", 0).multiple(), string("id").multiple()]).token("STREAMS"),
        ],
    }

    XRevRange, "xrevrange" {
        since: "5.0.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Return a range of elements in a stream, with IDs matching the specified IDs interval, in reverse order (from greater to smaller IDs) compared to XRANGE",
        complexity: "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1).",
        history: [
            ("6.2.0", "Added exclusive ranges."),
        ],
        args: [
            key("key", 0),
            string("end"),
            string("start"),
            integer("count").token("COUNT").optional(),
        ],
    }

    XSetId, "xsetid" {
        since: "5.0.0", arity: AtLeast(3),
        flags: [Write, DenyOom, Fast],
        keys: [spec(One(1), [Rw, Update])],
        summary: "An internal command for replicating stream values",
        complexity: "O(1)",
        history: [
            ("7.0.0", "Added the `entries_added` and `max_deleted_entry_id` arguments."),
        ],
        args: [
            key("key", 0),
            string("last-id"),
            integer("entries_added").token("ENTRIESADDED").since("7.0.0").optional(),
            string("max_deleted_entry_id").token("MAXDELETEDID").since("7.0.0").optional(),
        ],
    }

    XTrim, "xtrim" {
        since: "5.0.0", arity: AtLeast(4),
        flags: [Write],
        keys: [spec(One(1), [Rw, Delete])],
        summary: "Trims the stream to (approximately if '~' is passed) a certain size",
        complexity: "O(N), with N being the number of evicted entries. Constant times are very small however, since entries are organized in macro nodes containing multiple entries that can be released with a single deallocation.",
        tips: ["nondeterministic_output"],
        history: [
            ("6.2.0", "Added the `MINID` trimming strategy and the `LIMIT` option."),
        ],
        args: [
            key("key", 0),
            block("trim", &[one_of("strategy", &[flag("maxlen", "MAXLEN"), flag("minid", "MINID").since("6.2.0")]), one_of("operator", &[flag("equal", "="), flag("approximately", "~")]).optional(), string("threshold"), integer("count").token("LIMIT").since("6.2.0").optional()]),
        ],
    }
}
