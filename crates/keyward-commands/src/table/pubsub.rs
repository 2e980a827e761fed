//! Publish and subscribe.

use super::row::*;

rows! { pubsub_ids, PubSub;
    PSubscribe, "psubscribe" {
        since: "2.0.0", arity: AtLeast(2),
        flags: [Pubsub, NoScript, Loading, Stale],
        summary: "Listen for messages published to channels matching the given patterns",
        complexity: "O(N) where N is the number of patterns the client is already subscribed to.",
        args: [block("pattern", &[pattern("pattern")]).multiple()],
    }

    Publish, "publish" {
        since: "2.0.0", arity: Exactly(3),
        flags: [Pubsub, Loading, Stale, Fast, MayReplicate],
        summary: "Post a message to a channel",
        complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
        args: [string("channel"), string("message")],
    }

    PubSub, "pubsub" {
        since: "2.8.0", arity: AtLeast(2),
        summary: "A container for Pub/Sub commands",
        complexity: "Depends on subcommand.",
    }

    PubSubChannels, "pubsub|channels" {
        since: "2.8.0", arity: AtLeast(2),
        flags: [Pubsub, Loading, Stale],
        summary: "List active channels",
        complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)",
        args: [pattern("pattern").optional()],
    }

    PubSubHelp, "pubsub|help" {
        since: "6.2.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    PubSubNumPat, "pubsub|numpat" {
        since: "2.8.0", arity: Exactly(2),
        flags: [Pubsub, Loading, Stale],
        summary: "Get the count of unique patterns pattern subscriptions",
        complexity: "O(1)",
    }

    PubSubNumSub, "pubsub|numsub" {
        since: "2.8.0", arity: AtLeast(2),
        flags: [Pubsub, Loading, Stale],
        summary: "Get the count of subscribers for channels",
        complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
        args: [string("channel").optional().multiple()],
    }

    PubSubShardChannels, "pubsub|shardchannels" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Pubsub, Loading, Stale],
        summary: "List active shard channels",
        complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels).",
        args: [pattern("pattern").optional()],
    }

    PubSubShardNumSub, "pubsub|shardnumsub" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Pubsub, Loading, Stale],
        summary: "Get the count of subscribers for shard channels",
        complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
        args: [string("shardchannel").optional().multiple()],
    }

    PUnsubscribe, "punsubscribe" {
        since: "2.0.0", arity: AtLeast(1),
        flags: [Pubsub, NoScript, Loading, Stale],
        summary: "Stop listening for messages posted to channels matching the given patterns",
        complexity: "O(N+M) where N is the number of patterns the client is already subscribed and M is the number of total patterns subscribed in the system (by any client).",
        args: [pattern("pattern").optional().multiple()],
    }

    SPublish, "spublish" {
        since: "7.0.0", arity: Exactly(3),
        flags: [Pubsub, Loading, Stale, Fast, MayReplicate],
        keys: [spec(One(1), [NotKey])],
        summary: "Post a message to a shard channel",
        complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
        args: [string("shardchannel"), string("message")],
    }

    SSubscribe, "ssubscribe" {
        since: "7.0.0", arity: AtLeast(2),
        flags: [Pubsub, NoScript, Loading, Stale],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [NotKey])],
        summary: "Listen for messages published to the given shard channels",
        complexity: "O(N) where N is the number of shard channels to subscribe to.",
        args: [string("shardchannel").multiple()],
    }

    Subscribe, "subscribe" {
        since: "2.0.0", arity: AtLeast(2),
        flags: [Pubsub, NoScript, Loading, Stale],
        summary: "Listen for messages published to the given channels",
        complexity: "O(N) where N is the number of channels to subscribe to.",
        args: [string("channel").multiple()],
    }

    SUnsubscribe, "sunsubscribe" {
        since: "7.0.0", arity: AtLeast(1),
        flags: [Pubsub, NoScript, Loading, Stale],
        keys: [spec(Range { first: 1, last: -1, step: 1 }, [NotKey])],
        summary: "Stop listening for messages posted to the given shard channels",
        complexity: "O(N) where N is the number of clients already subscribed to a shard channel.",
        args: [string("shardchannel").optional().multiple()],
    }

    Unsubscribe, "unsubscribe" {
        since: "2.0.0", arity: AtLeast(1),
        flags: [Pubsub, NoScript, Loading, Stale],
        summary: "Stop listening for messages posted to the given channels",
        complexity: "O(N) where N is the number of clients already subscribed to a channel.",
        args: [string("channel").optional().multiple()],
    }
}
