//! Transactions.

use super::row::*;

rows! { transactions_ids, Transactions;
    Discard, "discard" {
        since: "2.0.0", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, Fast, AllowBusy],
        summary: "Discard all commands issued after MULTI",
        complexity: "O(N), when N is the number of queued commands",
    }

    Exec, "exec" {
        since: "1.2.0", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, SkipSlowlog],
        summary: "Execute all commands issued after MULTI",
        complexity: "Depends on commands in the transaction",
    }

    Multi, "multi" {
        since: "1.2.0", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, Fast, AllowBusy],
        summary: "Mark the start of a transaction block",
        complexity: "O(1)",
    }

    Unwatch, "unwatch" {
        since: "2.2.0", arity: Exactly(1),
        flags: [NoScript, Loading, Stale, Fast, AllowBusy],
        summary: "Forget about all watched keys",
        complexity: "O(1)",
    }

    Watch, "watch" {
        since: "2.2.0", arity: AtLeast(2),
        flags: [NoScript, Loading, Stale, Fast, AllowBusy],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [Ro])],
        summary: "Watch the given keys to determine execution of the MULTI/EXEC block",
        complexity: "O(1) for every key.",
        args: [key("key", 0).multiple()],
    }
}
