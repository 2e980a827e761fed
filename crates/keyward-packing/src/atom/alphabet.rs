//! Atoms that are bytes written in an alphabet: UUIDs, hexadecimal, base58.
//!
//! Base58 is taken for the two lengths that addresses and signatures have, 32 and 64
//! bytes: a number of that many bytes, with a `1` for each zero byte before it.

use super::{BASE58_32, BASE58_64, HEX_BYTES, HEX_LOWER, HEX_UPPER, UUID_LOWER, UUID_UPPER};
use crate::reader::{Broken, Reader, push_varint};
use crate::sink::{Comparison, Sink};

/// Bytes of a UUID.
pub(super) const UUID_BYTES: usize = 16;
const UUID_TEXT_BYTES: usize = 36;
/// Where a UUID has its dashes, counted in its bytes.
const DASHES: [usize; 4] = [4, 6, 8, 10];
/// The most bytes of hexadecimal digits that are read or written at once.
const HEX_CHUNK: usize = 16;
/// The digits of lower and of upper case.
const HEX: [&[u8; 16]; 2] = [b"0123456789abcdef", b"0123456789ABCDEF"];

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// 58⁵: the largest power that fits 32 bits.
const BASE58_CHUNK: u64 = 58 * 58 * 58 * 58 * 58;
const BASE58_CHUNK_DIGITS: usize = 5;
/// No digit.
const NONE: u8 = u8::MAX;

/// For each byte the digit it is in base58.
static BASE58_DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let mut digit = 0;
    while digit < BASE58.len() {
        digits[BASE58[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// For each byte the hexadecimal digit it is, of lower and of upper case.
static HEX_DIGITS: [[u8; 256]; 2] = {
    let mut digits = [[NONE; 256]; 2];
    let mut digit = 0;
    while digit < 16 {
        digits[0][HEX[0][digit] as usize] = digit as u8;
        digits[1][HEX[1][digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

/// Packs bytes that are written in an alphabet; whether the text is such.
pub(super) fn pack(text: &[u8], out: &mut Vec<u8>) -> bool {
    match text.len() {
        UUID_TEXT_BYTES if text[8] == b'-' => pack_uuid(text, out),
        len if len % 2 == 0 && HEX_BYTES.contains(&(len / 2)) && pack_hex(text, out) => true,
        32..=44 => pack_base58::<8>(text, BASE58_32, out),
        64..=88 => pack_base58::<16>(text, BASE58_64, out),
        _ => false,
    }
}

fn pack_uuid(text: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let is_upper = text.iter().any(u8::is_ascii_uppercase);
    out.push(if is_upper { UUID_UPPER } else { UUID_LOWER });
    let parts = [&text[..8], &text[9..13], &text[14..18], &text[19..23], &text[24..]];
    if !parts.into_iter().all(|digits| push_hex(digits, is_upper, out))
        || [8, 13, 18, 23].iter().any(|dash| text[*dash] != b'-')
    {
        out.truncate(start);
        return false;
    }
    true
}

fn pack_hex(text: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let is_upper = text.iter().any(u8::is_ascii_uppercase);
    out.push(if is_upper { HEX_UPPER } else { HEX_LOWER });
    push_varint(out, text.len() as u64 / 2);
    if !push_hex(text, is_upper, out) {
        out.truncate(start);
        return false;
    }
    true
}

/// Appends the bytes of an even number of digits, all of one case. Of what is none,
/// something may be appended.
fn push_hex(digits: &[u8], is_upper: bool, out: &mut Vec<u8>) -> bool {
    let values = &HEX_DIGITS[usize::from(is_upper)];
    for digits in digits.chunks(2 * HEX_CHUNK) {
        let mut bytes = [0; HEX_CHUNK];
        let (pairs, _) = digits.as_chunks::<2>();
        let mut all = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = (values[usize::from(*high)], values[usize::from(*low)]);
            all |= high | low;
            *byte = high << 4 | low;
        }
        if all > 15 {
            return false;
        }
        out.extend_from_slice(&bytes[..pairs.len()]);
    }
    true
}

/// Writes bytes out as hexadecimal digits.
pub(super) fn put_hex(bytes: &[u8], is_upper: bool, sink: &mut impl Sink) {
    let alphabet = HEX[usize::from(is_upper)];
    for chunk in bytes.chunks(HEX_CHUNK) {
        let mut text = [[0; 2]; HEX_CHUNK];
        for (pair, byte) in text.iter_mut().zip(chunk) {
            *pair = [alphabet[usize::from(byte >> 4)], alphabet[usize::from(byte & 15)]];
        }
        sink.put(text[..chunk.len()].as_flattened());
    }
}

/// Writes a UUID out.
pub(super) fn put_uuid(bytes: &[u8], is_upper: bool, sink: &mut impl Sink) {
    let mut start = 0;
    for end in DASHES.into_iter().chain([bytes.len()]) {
        if start > 0 {
            sink.put(b"-");
        }
        put_hex(&bytes[start..end], is_upper, sink);
        start = end;
    }
}

/// Packs base58 of `LIMBS` times four bytes.
fn pack_base58<const LIMBS: usize>(text: &[u8], form: u8, out: &mut Vec<u8>) -> bool {
    let Some(limbs) = base58_limbs::<LIMBS>(text) else { return false };
    let start = out.len();
    out.push(form);
    limbs.iter().rev().for_each(|limb| out.extend_from_slice(&limb.to_be_bytes()));
    let mut comparison = Comparison::with(text);
    let written = put_base58::<LIMBS>(&mut Reader::new(&out[start + 1..]), &mut comparison);
    if written.is_err() || !comparison.is_equal() {
        out.truncate(start);
        return false;
    }
    true
}

/// The number that a text is in base58, the least significant limb first; none if it
/// is too large, or no base58.
fn base58_limbs<const LIMBS: usize>(text: &[u8]) -> Option<[u32; LIMBS]> {
    let mut limbs = [0u32; LIMBS];
    for digits in text.chunks(BASE58_CHUNK_DIGITS) {
        let (mut factor, mut carry) = (1, 0);
        for digit in digits {
            let digit = BASE58_DIGITS[usize::from(*digit)];
            if digit == NONE {
                return None;
            }
            factor *= 58;
            carry = carry * 58 + u64::from(digit);
        }
        for limb in &mut limbs {
            carry += u64::from(*limb) * factor;
            *limb = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            return None;
        }
    }
    Some(limbs)
}

/// Writes `LIMBS` times four bytes out in base58.
pub(super) fn put_base58<const LIMBS: usize>(
    packed: &mut Reader<'_>,
    sink: &mut impl Sink,
) -> Result<(), Broken> {
    let bytes = packed.take(LIMBS * 4)?;
    let mut limbs = [0u32; LIMBS];
    for (limb, bytes) in limbs.iter_mut().zip(bytes.chunks_exact(4)) {
        *limb = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    // Six bits a digit are more than the digits that there can be.
    let mut text = [b'1'; 96];
    let mut start = text.len();
    let mut first = 0;
    while first < LIMBS {
        let mut rest = 0;
        for limb in &mut limbs[first..] {
            let number = rest << 32 | u64::from(*limb);
            *limb = (number / BASE58_CHUNK) as u32;
            rest = number % BASE58_CHUNK;
        }
        while first < LIMBS && limbs[first] == 0 {
            first += 1;
        }
        for _ in 0..BASE58_CHUNK_DIGITS {
            start -= 1;
            text[start] = BASE58[(rest % 58) as usize];
            rest /= 58;
        }
    }
    // Zeros before the number are no digits of it, but zero bytes are.
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let first = text[start..].iter().position(|digit| *digit != b'1');
    let digits = first.map_or(&[][..], |first| &text[start + first..]);
    sink.put(&[b'1'; 64][..zeros.min(64)]);
    sink.put(digits);
    Ok(())
}
