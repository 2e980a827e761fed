//! Why commands break a schema, in few words: the labels by which they are counted.
//!
//! Owns the list, one row a reason, and counters by it. Invariant: the words stay what they
//! are, since dashboards and alerts name them.
//! Not here: the sentence for a client (`words`), which names what was expected and found.

macro_rules! reasons {
    ($( $id:ident, $name:literal, $doc:literal; )+) => {
        /// Why a command breaks a schema.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason { $( #[doc = $doc] $id, )+ }

        impl Reason {
            /// All of them, in their order.
            pub const ALL: &'static [Reason] = &[ $( Reason::$id, )+ ];
            /// How many there are.
            pub const COUNT: usize = Reason::ALL.len();

            /// Its word.
            pub fn name(self) -> &'static str {
                match self { $( Reason::$id => $name, )+ }
            }

            /// One sentence about it.
            pub fn doc(self) -> &'static str {
                match self { $( Reason::$id => $doc, )+ }
            }
        }
    };
}

reasons! {
    Unknown, "unknown", "The key matches no pattern.";
    Type, "type", "The value is of another type than the declared one.";
    Value, "value", "A value, field, item or member does not fit, is missing, or breaks a check.";
    Lifetime, "lifetime", "The lifetime is not one that the schema allows.";
    Size, "size", "It is more than `max_size`, `max_len`, `max_members` or `max_fanout` allow.";
    Unique, "unique", "Another row has that unique value.";
    Derived, "derived", "The key is kept from another one, which says otherwise.";
    Reference, "reference", "It names, or lives with, a key that is not there or cannot be.";
    Sink, "sink", "It would change what goes to a table, or has gone there, behind its back.";
    Call, "call", "A function is called with other keys or arguments than declared.";
}

/// Counts by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByReason([u64; Reason::COUNT]);

impl ByReason {
    /// Counts one more.
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// How many there were of one.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// How many there were in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The counts, in the order of [`Reason::ALL`].
    pub fn counts(&self) -> &[u64; Reason::COUNT] {
        &self.0
    }
}
