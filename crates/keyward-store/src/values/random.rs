//! The engine's only source of chance: a generator seeded from outside.
//!
//! Owns one xoshiro256++ state. The same seed gives the same sequence for ever:
//! replaying a recorded input depends on it, so the algorithm must not change
//! silently. Not for secrets.

/// A seeded pseudo-random generator.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator whose whole sequence is decided by `seed`.
    pub fn from_seed(seed: u64) -> Random {
        let mut mixed = seed;
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mixed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Random { state }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from zero up to, not including, `bound`, without bias worth naming.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_is_fixed() {
        let mut random = Random::from_seed(42);
        let drawn: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(drawn, [15021278609987233951, 5881210131331364753, 18149643915985481100]);
    }

    #[test]
    fn below_stays_below() {
        let mut random = Random::from_seed(1);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
