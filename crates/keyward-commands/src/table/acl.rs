//! Users and their rights: ACL.

use super::row::*;

rows! { acl_ids, Server;
    Acl, "acl" {
        since: "6.0.0", arity: AtLeast(2),
        flags: [],
        summary: "A container for Access List Control commands ",
        complexity: "Depends on subcommand.",
    }

    AclCat, "acl|cat" {
        since: "6.0.0", arity: AtLeast(2),
        flags: [NoScript, Loading, Stale],
        summary: "List the ACL categories or the commands inside a category",
        complexity: "O(1) since the categories and commands are a fixed set.",
        args: [string("categoryname").optional()],
    }

    AclDelUser, "acl|deluser" {
        since: "6.0.0", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Remove the specified ACL users and the associated rules",
        complexity: "O(1) amortized time considering the typical user.",
        args: [string("username").multiple()],
    }

    AclDryRun, "acl|dryrun" {
        since: "7.0.0", arity: AtLeast(4),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Returns whether the user can execute the given command without executing the command.",
        complexity: "O(1).",
        args: [string("username"), string("command"), string("arg").optional().multiple()],
    }

    AclGenPass, "acl|genpass" {
        since: "6.0.0", arity: AtLeast(2),
        flags: [NoScript, Loading, Stale],
        summary: "Generate a pseudorandom secure password to use for ACL users",
        complexity: "O(1)",
        args: [integer("bits").optional()],
    }

    AclGetUser, "acl|getuser" {
        since: "6.0.0", arity: Exactly(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Get the rules for a specific ACL user",
        complexity: "O(N). Where N is the number of password, command and pattern rules that the user has.",
        history: [
            ("6.2.0", "Added Pub/Sub channel patterns."),
            ("7.0.0", "Added selectors and changed the format of key and channel patterns from a list to their rule representation."),
        ],
        args: [string("username")],
    }

    AclHelp, "acl|help" {
        since: "6.0.0", arity: Exactly(2),
        flags: [Loading, Stale],
        summary: "Show helpful text about the different subcommands",
        complexity: "O(1)",
    }

    AclList, "acl|list" {
        since: "6.0.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "List the current ACL rules in ACL config file format",
        complexity: "O(N). Where N is the number of configured users.",
    }

    AclLoad, "acl|load" {
        since: "6.0.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Reload the ACLs from the configured ACL file",
        complexity: "O(N). Where N is the number of configured users.",
    }

    AclLog, "acl|log" {
        since: "6.0.0", arity: AtLeast(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "List latest events denied because of ACLs in place",
        complexity: "O(N) with N being the number of entries shown.",
        args: [one_of("operation", &[integer("count"), flag("reset", "RESET")]).optional()],
    }

    AclSave, "acl|save" {
        since: "6.0.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Save the current ACL rules in the configured ACL file",
        complexity: "O(N). Where N is the number of configured users.",
    }

    AclSetUser, "acl|setuser" {
        since: "6.0.0", arity: AtLeast(3),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "Modify or create the rules for a specific ACL user",
        complexity: "O(N). Where N is the number of rules provided.",
        history: [
            ("6.2.0", "Added Pub/Sub channel patterns."),
            ("7.0.0", "Added selectors and key based permissions."),
        ],
        args: [string("username"), string("rule").optional().multiple()],
    }

    AclUsers, "acl|users" {
        since: "6.0.0", arity: Exactly(2),
        flags: [Admin, NoScript, Loading, Stale],
        summary: "List the username of all the configured ACL rules",
        complexity: "O(N). Where N is the number of configured users.",
    }

    AclWhoAmI, "acl|whoami" {
        since: "6.0.0", arity: Exactly(2),
        flags: [NoScript, Loading, Stale],
        summary: "Return the name of the user associated to the current connection",
        complexity: "O(1)",
    }
}
