//! Whether a string is a HyperLogLog.
//!
//! Owns what a schema demands of a key of type `hll`: a string that PFCOUNT can count. That
//! is a head of 16 bytes and 16384 registers, either of six bits each, or as runs that cover
//! all of them (the engine's `commands/hyperloglog` draws both).
//! Not here: what is in the registers; any number may be.

use super::fit::Misfit;

const HEAD_BYTES: usize = 16;
const REGISTERS: usize = 1 << 14;
const DENSE_BYTES: usize = HEAD_BYTES + REGISTERS * 6 / 8;

/// Whether a string is a HyperLogLog.
///
/// # Errors
/// Says that it must be one.
pub fn check_hyperloglog(text: &[u8]) -> Result<(), Misfit> {
    let is_one = text.starts_with(b"HYLL")
        && match text.get(4) {
            Some(0) => text.len() == DENSE_BYTES,
            Some(1) => text.get(HEAD_BYTES..).is_some_and(covers_all),
            _ => false,
        };
    let problem = "must be a HyperLogLog, as PFADD and PFMERGE make it";
    if is_one { Ok(()) } else { Err(Misfit::new(problem)) }
}

/// Whether runs are whole and cover every register once.
fn covers_all(mut runs: &[u8]) -> bool {
    let mut covered = 0;
    while let [first, rest @ ..] = runs {
        let low = usize::from(first & 0x3f);
        covered += 1 + match (first >> 6, rest) {
            (0, _) => low,
            (1, [second, ..]) => low << 8 | usize::from(*second),
            (1, []) => return false,
            _ => low & 3,
        };
        runs = if first >> 6 == 1 { &rest[1..] } else { rest };
        if covered > REGISTERS {
            return false;
        }
    }
    covered == REGISTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_counted_fits() {
        let sparse = |runs: &[u8]| [b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0", runs].concat();
        let dense = |bytes: usize| [&b"HYLL\0"[..], &vec![0; bytes - 5]].concat();
        let fits = |text: &[u8]| check_hyperloglog(text).is_ok();
        assert!(fits(&sparse(b"\x7f\xff")));
        assert!(fits(&sparse(b"\x7f\xfb\x83")), "four at the end");
        assert!(fits(&dense(DENSE_BYTES)));
        for unfit in [
            &b""[..],
            b"HYLL",
            b"12345678901234567890",
            &sparse(b""),
            &sparse(b"\x7f"),
            &sparse(b"\x7f\xfe"),
            &sparse(b"\x7f\xff\x00"),
            &sparse(b"\x7f\xff\x7f\xff"),
            &dense(DENSE_BYTES - 1),
            &dense(DENSE_BYTES + 1),
            &[&b"HYLL\x02"[..], &[0; 40]].concat(),
        ] {
            assert!(!fits(unfit), "{}", unfit.escape_ascii());
        }
    }
}
