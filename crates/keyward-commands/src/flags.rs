//! What a row says about its command in single words: flags, ACL categories,
//! documentation flags and the flags of its keys.
//!
//! Each kind is an enum whose order is the order in which Redis lists it on the
//! wire, and a set of its members in one machine word.
//! Not here: what a flag makes the server do.

/// Declares an enum with wire names and the set type that goes with it.
macro_rules! word_set {
    (
        $(#[$enum_doc:meta])* $word:ident,
        $(#[$set_doc:meta])* $set:ident;
        $( $(#[$doc:meta])* $variant:ident = $name:expr, )+
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $word { $( $(#[$doc])* $variant, )+ }

        impl $word {
            /// Every word, in the order Redis lists them.
            pub const ALL: &'static [$word] = &[$( $word::$variant, )+];

            /// The name on the wire; `None` for a word Redis keeps to itself.
            pub const fn wire_name(self) -> Option<&'static str> {
                match self { $( $word::$variant => $name, )+ }
            }
        }

        $(#[$set_doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $set(u32);

        impl $set {
            /// The empty set.
            pub const NONE: $set = $set(0);

            /// The set of these words.
            pub const fn of(words: &[$word]) -> $set {
                let mut set = $set::NONE;
                let mut index = 0;
                while index < words.len() {
                    set = set.with(words[index]);
                    index += 1;
                }
                set
            }

            /// Whether `word` is a member.
            #[inline]
            pub const fn has(self, word: $word) -> bool {
                self.0 & (1 << word as u32) != 0
            }

            /// This set and `word`.
            #[must_use]
            pub const fn with(self, word: $word) -> $set {
                $set(self.0 | 1 << word as u32)
            }

            /// Whether no word is a member.
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The members that have a wire name, in Redis's order.
            pub fn wire_names(self) -> impl Iterator<Item = &'static str> + Clone {
                $word::ALL.iter().filter(move |word| self.has(**word)).filter_map(|w| w.wire_name())
            }
        }
    };
}

word_set! {
    /// A property of a command that the server acts on.
    Flag,
    /// The [`Flag`]s of a command.
    Flags;
    /// May change the dataset.
    Write = Some("write"),
    /// Reads keys and changes nothing.
    ReadOnly = Some("readonly"),
    /// Refused when memory is above `maxmemory`.
    DenyOom = Some("denyoom"),
    /// For administrators.
    Admin = Some("admin"),
    /// Belongs to publish and subscribe.
    Pubsub = Some("pubsub"),
    /// Cannot be called by a script.
    NoScript = Some("noscript"),
    /// May block the client.
    Blocking = Some("blocking"),
    /// Answered while the dataset is being loaded.
    Loading = Some("loading"),
    /// Answered by a replica with stale data.
    Stale = Some("stale"),
    /// Not shown by MONITOR.
    SkipMonitor = Some("skip_monitor"),
    /// Not written to the slow log.
    SkipSlowlog = Some("skip_slowlog"),
    /// Constant or logarithmic time.
    Fast = Some("fast"),
    /// Answered before the client has authenticated.
    NoAuth = Some("no_auth"),
    /// May produce replication traffic although it is not a write.
    MayReplicate = None,
    /// The key arguments may all be left out.
    NoMandatoryKeys = Some("no_mandatory_keys"),
    /// Allowed only by a setting (`enable-debug-command`).
    Protected = None,
    /// Refused during asynchronous loading.
    NoAsyncLoading = Some("no_async_loading"),
    /// Refused inside MULTI.
    NoMulti = Some("no_multi"),
    /// Keys cannot be found by first, last and step alone. Derived.
    MovableKeys = Some("movablekeys"),
    /// Answered while a script is busy.
    AllowBusy = Some("allow_busy"),
    /// May change keys that are not among its arguments.
    TouchesArbitraryKeys = None,
}

word_set! {
    /// A category by which access lists group commands.
    AclCategory,
    /// The [`AclCategory`]s of a command.
    AclCategories;
    /// `@keyspace`
    Keyspace = Some("keyspace"),
    /// `@read`
    Read = Some("read"),
    /// `@write`
    Write = Some("write"),
    /// `@set`
    Set = Some("set"),
    /// `@sortedset`
    SortedSet = Some("sortedset"),
    /// `@list`
    List = Some("list"),
    /// `@hash`
    Hash = Some("hash"),
    /// `@string`
    String = Some("string"),
    /// `@bitmap`
    Bitmap = Some("bitmap"),
    /// `@hyperloglog`
    HyperLogLog = Some("hyperloglog"),
    /// `@geo`
    Geo = Some("geo"),
    /// `@stream`
    Stream = Some("stream"),
    /// `@pubsub`
    PubSub = Some("pubsub"),
    /// `@admin`
    Admin = Some("admin"),
    /// `@fast`
    Fast = Some("fast"),
    /// `@slow`
    Slow = Some("slow"),
    /// `@blocking`
    Blocking = Some("blocking"),
    /// `@dangerous`
    Dangerous = Some("dangerous"),
    /// `@connection`
    Connection = Some("connection"),
    /// `@transaction`
    Transaction = Some("transaction"),
    /// `@scripting`
    Scripting = Some("scripting"),
}

word_set! {
    /// A remark about a command that only documentation shows.
    DocFlag,
    /// The [`DocFlag`]s of a command.
    DocFlags;
    /// Another command should be used.
    Deprecated = Some("deprecated"),
    /// Meant for Redis itself, not for users.
    Syscmd = Some("syscmd"),
}

word_set! {
    /// How a command uses a key.
    KeyFlag,
    /// The [`KeyFlag`]s of a key.
    KeyFlags;
    /// Reads the value, does not change it.
    Ro = Some("RO"),
    /// Changes the value, may depend on the old one.
    Rw = Some("RW"),
    /// Overwrites the value without reading it.
    Ow = Some("OW"),
    /// Deletes the key.
    Rm = Some("RM"),
    /// What the key holds may reach the client or another key.
    Access = Some("access"),
    /// What the key holds may be changed.
    Update = Some("update"),
    /// Something may be added, nothing is changed or removed.
    Insert = Some("insert"),
    /// Something the key holds may be removed.
    Delete = Some("delete"),
    /// Not a key at all, but routed like one (a shard channel).
    NotKey = Some("not_key"),
    /// The specification does not find all the keys.
    Incomplete = Some("incomplete"),
    /// The flags depend on the arguments.
    VariableFlags = Some("variable_flags"),
}

impl AclCategory {
    /// The category of this name, without `@`, in any case.
    pub fn by_name(name: &[u8]) -> Option<AclCategory> {
        AclCategory::ALL
            .iter()
            .copied()
            .find(|c| c.wire_name().is_some_and(|n| n.as_bytes().eq_ignore_ascii_case(name)))
    }
}
