//! Keyspace events: what can be told to subscribers about a key.
//!
//! Owns the classes of `notify-keyspace-events`, their letters, and the type that
//! names one event. Not here: who listens (`pubsub` of the engine), when an event happens
//! (`keyspace`, and the handlers that name it).

/// The classes a subscriber can choose by letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Class {
    /// `g`: DEL, EXPIRE, RENAME and whatever is not about one type.
    Generic = 1 << 2,
    /// `$`
    String = 1 << 3,
    /// `l`
    List = 1 << 4,
    /// `s`
    Set = 1 << 5,
    /// `h`
    Hash = 1 << 6,
    /// `z`
    Zset = 1 << 7,
    /// `x`: a lifetime ended.
    Expired = 1 << 8,
    /// `e`: memory was needed.
    Evicted = 1 << 9,
    /// `t`
    Stream = 1 << 10,
    /// `m`: a read found nothing. Not part of `A`.
    KeyMiss = 1 << 11,
    /// `n`: a key came to be. Not part of `A`.
    New = 1 << 14,
}

/// One event: `Event::new(Class::List, "lpush")`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Which subscribers hear of it.
    pub class: Class,
    /// The name they hear.
    pub name: &'static str,
}

impl Event {
    /// An event of this class and name.
    pub const fn new(class: Class, name: &'static str) -> Event {
        Event { class, name }
    }

    /// A key was deleted by a client, or became empty.
    pub const DEL: Event = Event::new(Class::Generic, "del");
    /// A key was given a lifetime.
    pub const EXPIRE: Event = Event::new(Class::Generic, "expire");
    /// A key lost its lifetime.
    pub const PERSIST: Event = Event::new(Class::Generic, "persist");
}

/// The value of `notify-keyspace-events`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotifyFlags {
    bits: u32,
}

const KEYSPACE: u32 = 1;
const KEYEVENT: u32 = 2;
const MODULE: u32 = 1 << 13;

/// Letters in the order `CONFIG GET` writes them.
const LETTERS: [(u8, u32); 14] = [
    (b'g', Class::Generic as u32),
    (b'$', Class::String as u32),
    (b'l', Class::List as u32),
    (b's', Class::Set as u32),
    (b'h', Class::Hash as u32),
    (b'z', Class::Zset as u32),
    (b'x', Class::Expired as u32),
    (b'e', Class::Evicted as u32),
    (b't', Class::Stream as u32),
    (b'd', MODULE),
    (b'n', Class::New as u32),
    (b'K', KEYSPACE),
    (b'E', KEYEVENT),
    (b'm', Class::KeyMiss as u32),
];

/// What `A` stands for: every letter before `d` and `d`.
const ALL: u32 = {
    let (mut bits, mut at) = (0, 0);
    while at < 10 {
        bits |= LETTERS[at].1;
        at += 1;
    }
    bits
};

impl NotifyFlags {
    /// Reads the setting's letters; `None` if one is unknown.
    pub fn parse(letters: &[u8]) -> Option<NotifyFlags> {
        let mut bits = 0;
        for letter in letters {
            bits |= match letter {
                b'A' => ALL,
                letter => LETTERS.iter().find(|(l, _)| l == letter)?.1,
            };
        }
        Some(NotifyFlags { bits })
    }

    /// The letters, as `CONFIG GET` returns them.
    pub fn letters(self) -> String {
        let whole = self.bits & ALL == ALL;
        let rest = LETTERS.iter().filter(|(_, bit)| {
            let covered = whole && bit & ALL != 0;
            self.bits & bit != 0 && !covered
        });
        let rest = rest.map(|(letter, _)| char::from(*letter));
        whole.then_some('A').into_iter().chain(rest).collect()
    }

    /// Whether anybody is to hear of this class.
    #[inline]
    pub fn wants(self, class: Class) -> bool {
        self.bits & class as u32 != 0 && self.bits & (KEYSPACE | KEYEVENT) != 0
    }

    /// Whether `__keyspace@db__:key` channels are on.
    pub fn by_key(self) -> bool {
        self.bits & KEYSPACE != 0
    }

    /// Whether `__keyevent@db__:event` channels are on.
    pub fn by_event(self) -> bool {
        self.bits & KEYEVENT != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_as_redis_writes_them() {
        let cases =
            [("KEA", "AKE"), ("", ""), ("Kg$", "g$K"), ("AKEmn", "AnKEm"), ("g$lshzxetdE", "AE")];
        for (given, expected) in cases {
            assert_eq!(NotifyFlags::parse(given.as_bytes()).unwrap().letters(), expected);
        }
        assert_eq!(NotifyFlags::parse(b"Kq"), None);
    }

    #[test]
    fn a_class_without_a_channel_kind_is_not_wanted() {
        assert!(!NotifyFlags::parse(b"g").unwrap().wants(Class::Generic));
        assert!(NotifyFlags::parse(b"gE").unwrap().wants(Class::Generic));
        assert!(!NotifyFlags::parse(b"KEA").unwrap().wants(Class::KeyMiss));
    }
}
