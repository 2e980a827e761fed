//! What Redis has no command for: one container.

use super::row::*;

rows! { keyward_ids, Keyward;
    Keyward, "keyward" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [Loading, Stale],
        summary: "A container for what Redis has no command for",
        complexity: "Depends on subcommand.",
    }

    KeywardExpiring, "keyward|expiring" {
        since: "0.2.0", arity: AtLeast(2),
        flags: [Loading, Stale],
        summary: "Tell how many keys end within the next minutes, hours and days, and what they take.",
        complexity: "O(N log M) with N being the number of patterns and M that of their keys; at most about 12,000 steps, beyond which it estimates.",
        args: [string("pattern").optional()],
    }

    KeywardExplain, "keyward|explain" {
        since: "0.1.0", arity: AtLeast(3),
        flags: [NoScript, Stale],
        summary: "Tell what a command would do under the schema, and why, without doing it.",
        complexity: "That of the command.",
        args: [string("command"), string("arg").optional().multiple()],
    }

    KeywardHelp, "keyward|help" {
        since: "0.1.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    KeywardMatch, "keyward|match" {
        since: "0.1.0", arity: Exactly(3),
        flags: [Loading, Stale],
        summary: "Tell which pattern a key belongs to and what the schema says of it.",
        complexity: "O(1)",
        args: [string("key")],
    }

    KeywardMisfits, "keyward|misfits" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [NoScript, Stale],
        summary: "List rows that do not fit the schema and are kept, with the reason.",
        complexity: "O(N) with N being the rows that are looked at, COUNT of them and 1,000 at most.",
        args: [
            string("pattern").optional(),
            integer("count").token("COUNT").optional(),
            integer("cursor").token("CURSOR").optional(),
        ],
    }

    KeywardMode, "keyward|mode" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Count what the schema would do and change nothing, let what breaks it pass with a warning, refuse that, or leave it to the schema; or tell which.",
        complexity: "O(1); where observing begins or ends also the number of rows, while others are served.",
        args: [
            one_of("mode", &[flag("observe", "OBSERVE"), flag("warn", "WARN"), flag("enforce", "ENFORCE"), flag("schema", "SCHEMA")]).optional(),
        ],
    }

    KeywardRefusals, "keyward|refusals" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [NoScript, Loading, Stale],
        summary: "List the last commands that broke the schema, refused, warned of or observed, the newest first.",
        complexity: "O(N) with N being the refusals that are kept.",
        args: [
            string("pattern").optional(),
            integer("count").token("COUNT").optional(),
        ],
    }

    KeywardSchema, "keyward|schema" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [Admin, NoScript, NoMulti, Stale],
        summary: "Show the schema of the database, plan another, or apply a plan.",
        complexity: "O(N) with N being the length of the schema; to plan also the number of rows that may be concerned, while others are served; to apply also the number of rows that change, while commands on rows that are concerned wait and others are served.",
        args: [
            one_of("action", &[
                flag("show", "SHOW"),
                string("text").token("PLAN"),
                block("apply", &[
                    string("plan").token("APPLY"),
                    integer("count").token("DESTROY").optional(),
                ]),
            ]).optional(),
        ],
    }

    KeywardStats, "keyward|stats" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [Loading, Stale],
        summary: "Figures of each pattern of the database, of one, of a key's, or of those that a glob names.",
        complexity: "O(N) with N being the number of patterns.",
        args: [string("pattern").optional()],
    }

    KeywardStored, "keyward|stored" {
        since: "0.2.0", arity: AtLeast(5),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Count rows that were stored in a pattern's table of PostgreSQL, and items that it refused: what keyward sync reports.",
        complexity: "O(N) with N being the number of patterns.",
        args: [string("pattern"), integer("rows"), integer("dead-letters"), integer("clocks-apart").optional()],
    }

    KeywardUnknown, "keyward|unknown" {
        since: "0.1.0", arity: AtLeast(2),
        flags: [NoScript, NoMulti, Stale],
        summary: "Group keys without a pattern by their apparent form, with counts and an example.",
        complexity: "O(N) with N being the keys without a pattern, while others are served.",
        args: [integer("count").token("COUNT").optional()],
    }
}
