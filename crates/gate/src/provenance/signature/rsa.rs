//! The length of an RSA key, for error messages: verification fails for unsupported lengths without a reason.

/// `INTEGER`, `BIT STRING` and `SEQUENCE` in DER.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// Returns the number of bits of an RSA key's modulus. The key is a `SubjectPublicKeyInfo` in DER.
pub(super) fn modulus_bits(key: &[u8]) -> Option<usize> {
    let (info, _) = value(SEQUENCE, key)?;
    let (_algorithm, rest) = value(SEQUENCE, info)?;
    // No bit of the last byte is unused.
    let (bits, _) = value(BIT_STRING, rest)?;
    let (numbers, _) = value(SEQUENCE, bits.strip_prefix(&[0])?)?;
    let (modulus, _) = value(INTEGER, numbers)?;
    let digits = modulus.iter().position(|byte| *byte != 0).and_then(|at| modulus.get(at..))?;
    Some(digits.len() * 8 - digits.first()?.leading_zeros() as usize)
}

/// Returns the content of the first value, which has this tag, and the rest.
fn value(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = match bytes.strip_prefix(&[tag])? {
        [short @ 0..=0x7f, rest @ ..] => (usize::from(*short), rest),
        [0x81, length, rest @ ..] => (usize::from(*length), rest),
        [0x82, high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    rest.split_at_checked(length)
}
