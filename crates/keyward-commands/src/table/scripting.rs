//! Lua scripts and functions.

use super::row::*;

rows! { scripting_ids, Scripting;
    Eval, "eval" {
        since: "2.6.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, MayReplicate, NoMandatoryKeys, Stale],
        keys: [
            spec(NumKeys(2), [Rw, Access, Update]).notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE"),
        ],
        summary: "Execute a Lua script server side",
        complexity: "Depends on the script that is executed.",
        args: [
            string("script"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    EvalRo, "eval_ro" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, NoMandatoryKeys, Stale, ReadOnly],
        keys: [
            spec(NumKeys(2), [Ro, Access]).notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS"),
        ],
        summary: "Execute a read-only Lua script server side",
        complexity: "Depends on the script that is executed.",
        args: [
            string("script"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    EvalSha, "evalsha" {
        since: "2.6.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, MayReplicate, NoMandatoryKeys, Stale],
        keys: [spec(NumKeys(2), [Rw, Access, Update])],
        summary: "Execute a Lua script server side",
        complexity: "Depends on the script that is executed.",
        args: [
            string("sha1"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    EvalShaRo, "evalsha_ro" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, NoMandatoryKeys, Stale, ReadOnly],
        keys: [spec(NumKeys(2), [Ro, Access])],
        summary: "Execute a read-only Lua script server side",
        complexity: "Depends on the script that is executed.",
        args: [
            string("sha1"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    FCall, "fcall" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, MayReplicate, NoMandatoryKeys, Stale],
        keys: [
            spec(NumKeys(2), [Rw, Access, Update]).notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE"),
        ],
        summary: "Invoke a function",
        complexity: "Depends on the function that is executed.",
        args: [
            string("function"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    FCallRo, "fcall_ro" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, SkipMonitor, NoMandatoryKeys, Stale, ReadOnly],
        keys: [
            spec(NumKeys(2), [Ro, Access]).notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS"),
        ],
        summary: "Invoke a read-only function",
        complexity: "Depends on the function that is executed.",
        args: [
            string("function"),
            integer("numkeys"),
            key("key", 0).optional().multiple(),
            string("arg").optional().multiple(),
        ],
    }

    Function, "function" {
        since: "7.0.0", arity: AtLeast(2),
        acl: [],
        summary: "A container for function commands",
        complexity: "Depends on subcommand.",
    }

    FunctionDelete, "function|delete" {
        since: "7.0.0", arity: Exactly(3),
        flags: [NoScript, Write],
        summary: "Delete a function by name",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        args: [string("library-name")],
    }

    FunctionDump, "function|dump" {
        since: "7.0.0", arity: Exactly(2),
        flags: [NoScript],
        summary: "Dump all functions into a serialized binary payload",
        complexity: "O(N) where N is the number of functions",
    }

    FunctionFlush, "function|flush" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [NoScript, Write],
        summary: "Deleting all functions",
        complexity: "O(N) where N is the number of functions deleted",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        args: [
            one_of("async", &[flag("async", "ASYNC"), flag("sync", "SYNC")]).optional(),
        ],
    }

    FunctionHelp, "function|help" {
        since: "7.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    FunctionKill, "function|kill" {
        since: "7.0.0", arity: Exactly(2),
        flags: [NoScript, AllowBusy],
        summary: "Kill the function currently in execution.",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:one_succeeded"],
    }

    FunctionList, "function|list" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [NoScript],
        summary: "List information about all the functions",
        complexity: "O(N) where N is the number of functions",
        tips: ["nondeterministic_output_order"],
        args: [
            string("library-name-pattern").token("LIBRARYNAME").optional(),
            flag("withcode", "WITHCODE").optional(),
        ],
    }

    FunctionLoad, "function|load" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, Write, DenyOom],
        summary: "Create a function with the given arguments (name, code, description)",
        complexity: "O(1) (considering compilation time is redundant)",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        args: [flag("replace", "REPLACE").optional(), string("function-code")],
    }

    FunctionRestore, "function|restore" {
        since: "7.0.0", arity: AtLeast(3),
        flags: [NoScript, Write, DenyOom],
        summary: "Restore all the functions on the given payload",
        complexity: "O(N) where N is the number of functions on the payload",
        tips: ["request_policy:all_shards", "response_policy:all_succeeded"],
        args: [
            string("serialized-value"),
            one_of("policy", &[
                flag("flush", "FLUSH"),
                flag("append", "APPEND"),
                flag("replace", "REPLACE"),
            ]).optional(),
        ],
    }

    FunctionStats, "function|stats" {
        since: "7.0.0", arity: Exactly(2),
        flags: [NoScript, AllowBusy],
        summary: "Return information about the function currently running (name, description, duration)",
        complexity: "O(1)",
        tips: [
            "nondeterministic_output",
            "request_policy:all_shards",
            "response_policy:special",
        ],
    }

    Script, "script" {
        since: "2.6.0", arity: AtLeast(2),
        acl: [],
        summary: "A container for Lua scripts management commands",
        complexity: "Depends on subcommand.",
    }

    ScriptDebug, "script|debug" {
        since: "3.2.0", arity: Exactly(3),
        flags: [NoScript],
        summary: "Set the debug mode for executed scripts.",
        complexity: "O(1)",
        args: [
            one_of("mode", &[flag("yes", "YES"), flag("sync", "SYNC"), flag("no", "NO")]),
        ],
    }

    ScriptExists, "script|exists" {
        since: "2.6.0", arity: AtLeast(3),
        flags: [NoScript],
        summary: "Check existence of scripts in the script cache.",
        complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
        tips: ["request_policy:all_shards", "response_policy:agg_logical_and"],
        args: [string("sha1").multiple()],
    }

    ScriptFlush, "script|flush" {
        since: "2.6.0", arity: AtLeast(2),
        flags: [NoScript],
        summary: "Remove all the scripts from the script cache.",
        complexity: "O(N) with N being the number of scripts in cache",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
        history: [("6.2.0", "Added the `ASYNC` and `SYNC` flushing mode modifiers.")],
        args: [
            one_of("async", &[flag("async", "ASYNC"), flag("sync", "SYNC")]).since("6.2.0").optional(),
        ],
    }

    ScriptHelp, "script|help" {
        since: "5.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    ScriptKill, "script|kill" {
        since: "2.6.0", arity: Exactly(2),
        flags: [NoScript, AllowBusy],
        summary: "Kill the script currently in execution.",
        complexity: "O(1)",
        tips: ["request_policy:all_shards", "response_policy:one_succeeded"],
    }

    ScriptLoad, "script|load" {
        since: "2.6.0", arity: Exactly(3),
        flags: [NoScript, Stale],
        summary: "Load the specified Lua script into the script cache.",
        complexity: "O(N) with N being the length in bytes of the script body.",
        tips: ["request_policy:all_nodes", "response_policy:all_succeeded"],
        args: [string("script")],
    }
}
