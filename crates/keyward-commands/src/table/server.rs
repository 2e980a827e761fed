//! The server itself: COMMAND, CONFIG, INFO, persistence and inspection.

use super::row::*;

rows! { server_ids, Server;
    BgRewriteAof, "bgrewriteaof" {
        since: "1.0.0", arity: Exactly(1),
        flags: [NoAsyncLoading, Admin, NoScript],
        summary: "Asynchronously rewrite the append-only file",
        complexity: "O(1)",
    }

    BgSave, "bgsave" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [NoAsyncLoading, Admin, NoScript],
        summary: "Asynchronously save the dataset to disk",
        complexity: "O(1)",
        history: [("3.2.2", "Added the `SCHEDULE` option.")],
        args: [flag("schedule", "SCHEDULE").since("3.2.2").optional()],
    }

    Command, "command" {
        since: "2.8.13", arity: AtLeast(1),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Get array of Redis command details",
        complexity: "O(N) where N is the total number of Redis commands",
        tips: ["nondeterministic_output_order"],
    }

    CommandCount, "command|count" {
        since: "2.8.13", arity: Exactly(2),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Get total number of Redis commands",
        complexity: "O(1)",
    }

    CommandDocs, "command|docs" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Get array of specific Redis command documentation",
        complexity: "O(N) where N is the number of commands to look up",
        tips: ["nondeterministic_output_order"],
        args: [string("command-name").optional().multiple()],
    }

    CommandGetKeys, "command|getkeys" {
        since: "2.8.13", arity: AtLeast(4),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Extract keys given a full Redis command",
        complexity: "O(N) where N is the number of arguments to the command",
    }

    CommandGetKeysAndFlags, "command|getkeysandflags" {
        since: "7.0.0", arity: AtLeast(4),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Extract keys and access flags given a full Redis command",
        complexity: "O(N) where N is the number of arguments to the command",
    }

    CommandHelp, "command|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    CommandInfo, "command|info" {
        since: "2.8.13", arity: AtLeast(2),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Get array of specific Redis command details, or all when no argument is given.",
        complexity: "O(N) where N is the number of commands to look up",
        tips: ["nondeterministic_output_order"],
        history: [
            ("7.0.0", "Allowed to be called with no argument to get info on all commands."),
        ],
        args: [string("command-name").optional().multiple()],
    }

    CommandList, "command|list" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Loading, Stale],
        acl: [Connection],
        summary: "Get an array of Redis command names",
        complexity: "O(N) where N is the total number of Redis commands",
        tips: ["nondeterministic_output_order"],
        args: [
            one_of("filterby", &[
                string("module-name").token("MODULE"),
                string("category").token("ACLCAT"),
                pattern("pattern").token("PATTERN"),
            ]).token("FILTERBY").optional(),
        ],
    }

    Config, "config" {
        since: "2.0.0", arity: AtLeast(2),
        summary: "A container for server configuration commands",
        complexity: "Depends on subcommand.",
    }

    ConfigGet, "config|get" {
        since: "2.0.0", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Get the values of configuration parameters",
        complexity: "O(N) when N is the number of configuration parameters provided",
        history: [
            ("7.0.0", "Added the ability to pass multiple pattern parameters in one call"),
        ],
        args: [block("parameter", &[string("parameter")]).multiple()],
    }

    ConfigHelp, "config|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    ConfigResetStat, "config|resetstat" {
        since: "2.0.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Reset the stats returned by INFO",
        complexity: "O(1)",
    }

    ConfigRewrite, "config|rewrite" {
        since: "2.8.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Rewrite the configuration file with the in memory configuration",
        complexity: "O(1)",
    }

    ConfigSet, "config|set" {
        since: "2.0.0", arity: AtLeast(4),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Set configuration parameters to the given values",
        complexity: "O(N) when N is the number of configuration parameters provided",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
        history: [
            ("7.0.0", "Added the ability to set multiple parameters in one call."),
        ],
        args: [
            block("parameter_value", &[string("parameter"), string("value")]).multiple(),
        ],
    }

    DbSize, "dbsize" {
        since: "1.0.0", arity: Exactly(1),
        flags: [ReadOnly, Fast],
        acl: [Keyspace],
        summary: "Return the number of keys in the selected database",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:agg_sum"],
    }

    Debug, "debug" {
        since: "1.0.0", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale, Protected],
        summary: "A container for debugging commands",
        complexity: "Depends on subcommand.",
        doc_flags: [Syscmd],
    }

    Failover, "failover" {
        since: "6.2.0", arity: AtLeast(1),
        flags: [Admin, NoScript, Stale],
        summary: "Start a coordinated failover between this server and one of its replicas.",
        complexity: "O(1)",
        args: [
            block("target", &[
                string("host"),
                integer("port"),
                flag("force", "FORCE").optional(),
            ]).token("TO").optional(),
            flag("abort", "ABORT").optional(),
            integer("milliseconds").token("TIMEOUT").optional(),
        ],
    }

    FlushAll, "flushall" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [Write],
        acl: [Keyspace, Dangerous],
        summary: "Remove all keys from all databases",
        complexity: "O(N) where N is the total number of keys in all databases",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        history: [
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ],
        args: [
            one_of("async", &[
                flag("async", "ASYNC").since("4.0.0"),
                flag("sync", "SYNC").since("6.2.0"),
            ]).optional(),
        ],
    }

    FlushDb, "flushdb" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [Write],
        acl: [Keyspace, Dangerous],
        summary: "Remove all keys from the current database",
        complexity: "O(N) where N is the number of keys in the selected database",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        history: [
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ],
        args: [
            one_of("async", &[
                flag("async", "ASYNC").since("4.0.0"),
                flag("sync", "SYNC").since("6.2.0"),
            ]).optional(),
        ],
    }

    Info, "info" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [Loading, Stale],
        acl: [Dangerous],
        summary: "Get information and statistics about the server",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
        history: [("7.0.0", "Added support for taking multiple section arguments.")],
        args: [string("section").optional().multiple()],
    }

    LastSave, "lastsave" {
        since: "1.0.0", arity: Exactly(1),
        flags: [Loading, Stale, Fast],
        acl: [Admin, Dangerous],
        summary: "Get the UNIX time stamp of the last successful save to disk",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
    }

    Latency, "latency" {
        since: "2.8.13", arity: AtLeast(2),
        summary: "A container for latency diagnostics commands",
        complexity: "Depends on subcommand.",
    }

    LatencyDoctor, "latency|doctor" {
        since: "2.8.13", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Return a human readable latency analysis report.",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
    }

    LatencyGraph, "latency|graph" {
        since: "2.8.13", arity: Exactly(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Return a latency graph for the event.",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
        args: [string("event")],
    }

    LatencyHelp, "latency|help" {
        since: "2.8.13", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands.",
        complexity: "O(1)",
    }

    LatencyHistogram, "latency|histogram" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Return the cumulative distribution of latencies of a subset of commands or all.",
        complexity: "O(N) where N is the number of commands with latency information being retrieved.",
        tips: [
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
        args: [string("command").optional().multiple()],
    }

    LatencyHistory, "latency|history" {
        since: "2.8.13", arity: Exactly(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Return timestamp-latency samples for the event.",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
        args: [string("event")],
    }

    LatencyLatest, "latency|latest" {
        since: "2.8.13", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Return the latest latency samples for all events.",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_nodes",
            "response_policy:special",
        ],
    }

    LatencyReset, "latency|reset" {
        since: "2.8.13", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Reset latency data for one or more events.",
        complexity: "O(1)",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
        args: [string("event").optional().multiple()],
    }

    Lolwut, "lolwut" {
        since: "5.0.0", arity: AtLeast(1),
        flags: [ReadOnly, Fast],
        summary: "Display some computer art and the Redis version",
        args: [integer("version").token("VERSION").optional()],
    }

    Memory, "memory" {
        since: "4.0.0", arity: AtLeast(2),
        summary: "A container for memory diagnostics commands",
        complexity: "Depends on subcommand.",
    }

    MemoryDoctor, "memory|doctor" {
        since: "4.0.0", arity: Exactly(2),
        summary: "Outputs memory problems report",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
    }

    MemoryHelp, "memory|help" {
        since: "4.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    MemoryMallocStats, "memory|malloc-stats" {
        since: "4.0.0", arity: Exactly(2),
        summary: "Show allocator internal stats",
        complexity: "Depends on how much memory is allocated, could be slow",
        tips: [
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
    }

    MemoryPurge, "memory|purge" {
        since: "4.0.0", arity: Exactly(2),
        summary: "Ask the allocator to release memory",
        complexity: "Depends on how much memory is allocated, could be slow",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
    }

    MemoryStats, "memory|stats" {
        since: "4.0.0", arity: Exactly(2),
        summary: "Show memory usage details",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
    }

    MemoryUsage, "memory|usage" {
        since: "4.0.0", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(2), [Ro])],
        summary: "Estimate the memory usage of a key",
        complexity: "O(N) where N is the number of samples.",
        args: [key("key", 0), integer("count").token("SAMPLES").optional()],
    }

    Monitor, "monitor" {
        since: "1.0.0", arity: Exactly(1),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Listen for all requests received by the server in real time",
    }

    PSync, "psync" {
        since: "2.8.0", arity: AtLeast(3),
        flags: [NoAsyncLoading, Admin, NoMulti, NoScript],
        summary: "Internal command used for replication",
        args: [string("replicationid"), integer("offset")],
    }

    ReplConf, "replconf" {
        since: "3.0.0", arity: AtLeast(1),
        flags: [Admin, NoScript, Loading, Stale, AllowBusy],
        summary: "An internal command for configuring the replication stream",
        complexity: "O(1)",
        doc_flags: [Syscmd],
    }

    ReplicaOf, "replicaof" {
        since: "5.0.0", arity: Exactly(3),
        flags: [NoAsyncLoading, Admin, NoScript, Stale],
        summary: "Make the server a replica of another instance, or promote it as master.",
        complexity: "O(1)",
        args: [one_of("args", &[
            block("host-port", &[string("host"), integer("port")]),
            block("no-one", &[flag("no", "NO"), flag("one", "ONE")]),
        ])],
    }

    Role, "role" {
        since: "2.8.12", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, Fast],
        acl: [Admin, Dangerous],
        summary: "Return the role of the instance in the context of replication",
        complexity: "O(1)",
    }

    Save, "save" {
        since: "1.0.0", arity: Exactly(1),
        flags: [NoAsyncLoading, Admin, NoScript, NoMulti],
        summary: "Synchronously save the dataset to disk",
        complexity: "O(N) where N is the total number of keys in all databases",
    }

    Shutdown, "shutdown" {
        since: "1.0.0", arity: AtLeast(1),
        flags: [Admin, NoScript, Loading, Stale, NoMulti, AllowBusy],
        summary: "Synchronously save the dataset to disk and then shut down the server",
        complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
        history: [("7.0.0", "Added the `NOW`, `FORCE` and `ABORT` modifiers.")],
        args: [
            one_of("nosave_save", &[flag("nosave", "NOSAVE"), flag("save", "SAVE")]).optional(),
            flag("now", "NOW").since("7.0.0").optional(),
            flag("force", "FORCE").since("7.0.0").optional(),
            flag("abort", "ABORT").since("7.0.0").optional(),
        ],
    }

    SlaveOf, "slaveof" {
        since: "1.0.0", arity: Exactly(3),
        flags: [NoAsyncLoading, Admin, NoScript, Stale],
        summary: "Make the server a replica of another instance, or promote it as master.",
        complexity: "O(1)",
        doc_flags: [Deprecated],
        deprecated_since: "5.0.0",
        replaced_by: "`REPLICAOF`",
        args: [one_of("args", &[
            block("host-port", &[string("host"), integer("port")]),
            block("no-one", &[flag("no", "NO"), flag("one", "ONE")]),
        ])],
    }

    SlowLog, "slowlog" {
        since: "2.2.12", arity: AtLeast(2),
        summary: "A container for slow log commands",
        complexity: "Depends on subcommand.",
    }

    SlowLogGet, "slowlog|get" {
        since: "2.2.12", arity: AtLeast(2),
        flags: [Admin, Loading, Stale],
        summary: "Get the slow log's entries",
        complexity: "O(N) where N is the number of entries returned",
        tips: ["request_policy:all_nodes", "nondeterministic_output"],
        history: [("4.0.0", "Added client IP address, port and name to the reply.")],
        args: [integer("count").optional()],
    }

    SlowLogHelp, "slowlog|help" {
        since: "6.2.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    SlowLogLen, "slowlog|len" {
        since: "2.2.12", arity: Exactly(2),
        flags: [Admin, Loading, Stale],
        summary: "Get the slow log's length",
        complexity: "O(1)",
        tips: [
            "request_policy:all_nodes",
            "response_policy:agg_sum",
            "nondeterministic_output",
        ],
    }

    SlowLogReset, "slowlog|reset" {
        since: "2.2.12", arity: Exactly(2),
        flags: [Admin, Loading, Stale],
        summary: "Clear all entries from the slow log",
        complexity: "O(N) where N is the number of entries in the slowlog",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
    }

    SwapDb, "swapdb" {
        since: "4.0.0", arity: Exactly(3),
        flags: [Write, Fast],
        acl: [Keyspace, Dangerous],
        summary: "Swaps two Redis databases",
        complexity: "O(N) where N is the count of clients watching or blocking on keys from both databases.",
        args: [integer("index1"), integer("index2")],
    }

    Sync, "sync" {
        since: "1.0.0", arity: Exactly(1),
        flags: [NoAsyncLoading, Admin, NoMulti, NoScript],
        summary: "Internal command used for replication",
    }

    Time, "time" {
        since: "2.6.0", arity: Exactly(1),
        flags: [Loading, Stale, Fast],
        summary: "Return the current server time",
        complexity: "O(1)",
        tips: ["nondeterministic_output"],
    }
}
