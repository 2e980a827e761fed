//! Chance: the same for the same seed, on every machine.

use keyward_engine::Random;

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";

/// What decides what users do.
pub(crate) struct Chance(Random);

impl Chance {
    pub(crate) fn from_seed(seed: u64) -> Chance {
        Chance(Random::from_seed(seed))
    }

    /// A number below `limit`, each as likely as any other.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit as u64) as usize
    }

    /// A number below `limit`, small ones more likely: a few are popular, most are not.
    pub(crate) fn popular(&mut self, limit: usize) -> usize {
        let bound = self.below(limit);
        self.below(bound + 1)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// An address as Solana writes it.
    pub(crate) fn base58(&mut self, length: usize) -> String {
        self.text(BASE58, length)
    }

    pub(crate) fn base62(&mut self, length: usize) -> String {
        self.text(BASE62, length)
    }

    pub(crate) fn hex(&mut self, length: usize) -> String {
        self.text(HEX, length)
    }

    /// A random UUID, of version 4.
    pub(crate) fn uuid(&mut self) -> String {
        let (a, b, c, d) = (self.hex(8), self.hex(4), self.hex(3), self.hex(3));
        format!("{a}-{b}-4{c}-a{d}-{}", self.hex(12))
    }

    fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let drawn = |seed| {
            let mut chance = Chance::from_seed(seed);
            (chance.uuid(), chance.base58(44), chance.popular(1000), chance.below(1000))
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn small_numbers_are_popular_and_none_is_out_of_bounds() {
        let mut chance = Chance::from_seed(1);
        let drawn: Vec<usize> = (0..10_000).map(|_| chance.popular(100)).collect();
        let small = drawn.iter().filter(|number| **number < 10).count();
        assert!((2500..4500).contains(&small), "{small} of 10,000 are below 10");
        assert!(drawn.iter().all(|number| *number < 100));
        assert_eq!(chance.popular(1), 0);
    }
}
