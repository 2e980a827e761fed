//! The payload of FUNCTION DUMP: libraries as in an RDB file.
//!
//! ```text
//! per library:  0xF5 | length | source
//! at the end:   RDB version, 2 bytes | CRC-64/Jones of all before, 8 bytes
//! length:       00xxxxxx | 01xxxxxx +1 byte | 0x80 +4 bytes | 0x81 +8 bytes, big endian
//!               0xC3 | compressed length | length | LZF, written by Redis only
//! ```
//! Numbers at the end are little endian. Sources are written plain, which every Redis
//! reads; reading takes both.

/// A library in its final form.
const OPCODE_FUNCTION: u8 = 0xF5;
/// The newest version read, and the one written.
const RDB_VERSION: u16 = 10;
const FOOTER_BYTES: usize = 10;
/// Longest source, as for any string.
const SOURCE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Why a payload is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DumpError {
    #[error("DUMP payload version or checksum are wrong")]
    Footer,
    #[error("given type is not a function")]
    NotAFunction,
    #[error("Failed loading library payload")]
    Source,
}

/// A payload of these sources.
pub(super) fn write<'a>(sources: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for source in sources {
        out.push(OPCODE_FUNCTION);
        push_length(&mut out, source.len() as u64);
        out.extend_from_slice(source);
    }
    out.extend_from_slice(&RDB_VERSION.to_le_bytes());
    let sum = crc64(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// The sources of a payload.
pub(super) fn read(payload: &[u8]) -> Result<Vec<Vec<u8>>, DumpError> {
    let body_len = payload.len().checked_sub(FOOTER_BYTES).ok_or(DumpError::Footer)?;
    let (body, footer) = payload.split_at(body_len);
    let (version, sum) = footer.split_at(2);
    let version = u16::from_le_bytes([version[0], version[1]]);
    let sum = sum.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    if version > RDB_VERSION || crc64(&payload[..body_len + 2]) != sum {
        return Err(DumpError::Footer);
    }
    let mut reader = Reader { rest: body };
    let mut sources = Vec::new();
    while let Some((opcode, rest)) = reader.rest.split_first() {
        if *opcode != OPCODE_FUNCTION {
            return Err(DumpError::NotAFunction);
        }
        reader.rest = rest;
        sources.push(reader.string().ok_or(DumpError::Source)?);
    }
    Ok(sources)
}

fn push_length(out: &mut Vec<u8>, len: u64) {
    match len {
        0..=0x3f => out.push(len as u8),
        0x40..=0x3fff => out.extend_from_slice(&(0x4000 | len as u16).to_be_bytes()),
        0x4000..=0xffff_ffff => {
            out.push(0x80);
            out.extend_from_slice(&(len as u32).to_be_bytes());
        }
        _ => {
            out.push(0x81);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self, width: usize) -> Option<u64> {
        Some(self.take(width)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn length(&mut self) -> Option<u64> {
        let first = self.number(1)?;
        let len = match first {
            0x00..=0x3f => first,
            0x40..=0x7f => (first & 0x3f) << 8 | self.number(1)?,
            0x80 => self.number(4)?,
            0x81 => self.number(8)?,
            _ => return None,
        };
        (len <= SOURCE_BYTES_MAX).then_some(len)
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        if self.rest.first() != Some(&0xc3) {
            let len = self.length()?;
            return Some(self.take(len as usize)?.to_vec());
        }
        self.take(1)?;
        let (compressed, len) = (self.length()?, self.length()?);
        decompress(self.take(compressed as usize)?, len as usize)
    }
}

/// Undoes LZF: runs of literal bytes, and copies of what was there up to 8 KiB before.
fn decompress(mut input: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((&control, rest)) = input.split_first() {
        input = rest;
        if control < 0x20 {
            let (literal, rest) = input.split_at_checked(usize::from(control) + 1)?;
            out.extend_from_slice(literal);
            input = rest;
        } else {
            let mut count = usize::from(control >> 5);
            if count == 7 {
                let (&more, rest) = input.split_first()?;
                count += usize::from(more);
                input = rest;
            }
            let (&low, rest) = input.split_first()?;
            input = rest;
            let distance = (usize::from(control & 0x1f) << 8 | usize::from(low)) + 1;
            let start = out.len().checked_sub(distance)?;
            // A copy may reach into itself.
            for index in start..start + count + 2 {
                out.push(out[index]);
            }
        }
        if out.len() > len {
            return None;
        }
    }
    (out.len() == len).then_some(out)
}

/// CRC-64/Jones, as Redis computes it.
fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| CRC_TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8))
}

const CRC_TABLE: [u64; 256] = {
    // The polynomial 0xad93d23594c935a9, its bits reversed.
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut sum = index as u64;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[index] = sum;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_redis() {
        assert_eq!(crc64(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn what_is_written_is_read() {
        let long = vec![b'x'; 70_000];
        let sources: [&[u8]; 4] = [b"", b"a", &long[..100], &long];
        assert_eq!(read(&write(sources.into_iter())).unwrap(), sources);
    }

    #[test]
    fn a_compressed_dump_of_redis_is_read() {
        let payload =
            b"\xf5\xc3@K@P\x1f#!lua name=a\nredis.register_func\ttion(\"f\", \xe0\x00\r\x07) \
            return \x06@.\rcall(\"x\") end)\n\x00>\xb4\xc3\xe8\xaf([B";
        let source = b"#!lua name=a\nredis.register_function(\"f\", function() return redis.call(\"x\") end)";
        assert_eq!(read(payload), Ok(vec![source.to_vec()]));
    }

    #[test]
    fn a_payload_cut_anywhere_is_refused() {
        let payload = write([&b"source"[..], b"another"].into_iter());
        for len in 0..payload.len() {
            assert_eq!(read(&payload[..len]), Err(DumpError::Footer), "{len}");
        }
    }

    #[test]
    fn a_broken_body_is_refused_whatever_its_checksum() {
        let sealed = |body: &[u8]| {
            let mut out = body.to_vec();
            out.extend_from_slice(&RDB_VERSION.to_le_bytes());
            let sum = crc64(&out);
            out.extend_from_slice(&sum.to_le_bytes());
            out
        };
        for (body, error) in [
            (&b"\x00"[..], DumpError::NotAFunction),
            (b"\xf5", DumpError::Source),
            (b"\xf5\x05abc", DumpError::Source),
            (b"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff", DumpError::Source),
            (b"\xf5\xc3\x02\x05\x20\x00", DumpError::Source),
            (b"\xf5\xc3\x02\x7f\x00a", DumpError::Source),
            (b"\xf5\xc0\x01", DumpError::Source),
        ] {
            assert_eq!(read(&sealed(body)), Err(error), "{}", body.escape_ascii());
        }
    }
}
