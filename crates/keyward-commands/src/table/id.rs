//! The identities of commands, gathered from the groups' lists.
//!
//! Each group's file defines a macro with its ids (`id_list!`); they are called in a chain
//! whose last link declares the enum.

/// Ends the chain of id lists: declares the enum.
macro_rules! command_id {
    ([$($id:ident $name:literal)+]) => {
        /// The identity of a command or subcommand: what a dispatch matches on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum CommandId { $( #[doc = concat!("`", $name, "`")] $id, )+ }

        impl CommandId {
            /// How many commands and subcommands there are.
            pub const COUNT: usize = [$(CommandId::$id),+].len();
        }
    };
}

// The same order as in `GROUPS` of the table: both say where a row stands in `COMMANDS`.
generic_ids! { []
    string_ids bitmap_ids hash_ids list_ids set_ids zset_ids hyperloglog_ids geo_ids stream_ids
    pubsub_ids transactions_ids scripting_ids connection_ids server_ids acl_ids keyward_ids
    command_id
}
