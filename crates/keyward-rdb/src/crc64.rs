//! The checksum at the end of files and payloads: CRC-64/Jones.
//!
//! Eight bytes at a time by eight tables. Estimate: 16 KB of tables, above a
//! gigabyte per second, which is more than anything else in a file costs.

/// The polynomial 0xad93d23594c935a9, its bits reversed.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// `TABLES[n][byte]` is what a byte comes to that is followed by `n` zero bytes.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let sum = tables[zeros - 1][byte];
            tables[zeros][byte] = tables[0][(sum & 0xff) as usize] ^ sum >> 8;
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// The sum over bytes that follow those of `sum`, which is zero at first.
pub fn update(mut sum: u64, bytes: &[u8]) -> u64 {
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let mixed = (sum ^ u64::from_le_bytes(*eight)).to_le_bytes();
        sum = 0;
        for (byte, table) in mixed.into_iter().zip(TABLES.iter().rev()) {
            sum ^= table[usize::from(byte)];
        }
    }
    rest.iter().fold(sum, |sum, byte| TABLES[0][usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_redis() {
        assert_eq!(update(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn the_sum_does_not_depend_on_how_bytes_are_cut() {
        let bytes: Vec<u8> = (0..100u8).map(|n| n.wrapping_mul(37)).collect();
        let whole = update(0, &bytes);
        for cut in 0..bytes.len() {
            assert_eq!(update(update(0, &bytes[..cut]), &bytes[cut..]), whole, "{cut}");
        }
    }
}
