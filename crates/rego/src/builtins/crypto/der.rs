//! DER, the encoding of certificates and keys.
//!
//! Owns reading one element after another, as strictly as Go does: definite and shortest lengths,
//! one-byte tags, shortest integers.

use num_bigint::BigInt;

use super::super::Error;

/// The bytes that haven't been read yet.
#[derive(Clone, Copy)]
pub(super) struct Der<'a>(pub &'a [u8]);

pub(super) const BOOLEAN: u8 = 1;
pub(super) const INTEGER: u8 = 2;
pub(super) const BIT_STRING: u8 = 3;
pub(super) const OCTET_STRING: u8 = 4;
pub(super) const OBJECT_IDENTIFIER: u8 = 6;
pub(super) const UTC_TIME: u8 = 23;
pub(super) const GENERALIZED_TIME: u8 = 24;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The tag of a context-specific primitive element.
pub(super) const fn context(number: u8) -> u8 {
    0x80 | number
}

/// The tag of a context-specific constructed element.
pub(super) const fn explicit(number: u8) -> u8 {
    0xa0 | number
}

/// Returns an error about a structure, in the words of Go's `x509`.
pub(super) fn invalid(what: &str) -> Error {
    Error::failed(format!("x509: {what}"))
}

/// Turns the absence of a value into an error.
pub(super) trait OrInvalid<T> {
    /// Returns the value, or the error of [`invalid`].
    fn or_invalid(self, what: &str) -> Result<T, Error>;
}

impl<T> OrInvalid<T> for Option<T> {
    fn or_invalid(self, what: &str) -> Result<T, Error> {
        self.ok_or_else(|| invalid(what))
    }
}

/// The components of an object identifier.
pub(super) type Oid = Vec<u32>;

impl<'a> Der<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if the next element has this tag.
    pub(super) fn at(self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// Reads the next element: its tag, its bytes including the header, and its content.
    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8], Self)> {
        let [tag, first, ..] = *self.0 else { return None };
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (header, length) = if first & 0x80 == 0 {
            (2, usize::from(first))
        } else {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let bytes = self.0.get(2..2 + count)?;
            let length = bytes.iter().fold(0, |length: u64, byte| length << 8 | u64::from(*byte));
            if length < 128 || bytes.first() == Some(&0) {
                return None;
            }
            (2 + count, usize::try_from(length).ok()?)
        };
        let end = header.checked_add(length)?;
        let element = self.0.get(..end)?;
        let content = element.get(header..)?;
        self.0 = self.0.get(end..)?;
        Some((tag, element, Self(content)))
    }

    /// Reads the content of the next element, which must have this tag.
    pub(super) fn read(&mut self, tag: u8) -> Option<Self> {
        let (found, _, content) = self.any()?;
        (found == tag).then_some(content)
    }

    /// Reads the next element including its header; it must have this tag.
    pub(super) fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, element, _) = self.any()?;
        (found == tag).then_some(element)
    }

    /// Reads the content of the next element if it has this tag. The outer `None` means malformed.
    #[allow(clippy::option_option)]
    pub(super) fn optional(&mut self, tag: u8) -> Option<Option<Self>> {
        if self.at(tag) { self.read(tag).map(Some) } else { Some(None) }
    }

    /// Reads all elements with a closure that reads one.
    pub(super) fn all<T>(mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut elements = Vec::new();
        while !self.is_empty() {
            elements.push(read(&mut self)?);
        }
        Some(elements)
    }

    pub(super) fn boolean(&mut self) -> Option<bool> {
        match self.read(BOOLEAN)?.0 {
            [0] => Some(false),
            [0xff] => Some(true),
            _ => None,
        }
    }

    /// Reads the two's complement of an integer, which must be in its shortest form.
    fn integer_bytes(&mut self, tag: u8) -> Option<&'a [u8]> {
        let bytes = self.read(tag)?.0;
        match bytes {
            [] | [0, 0..=0x7f, ..] | [0xff, 0x80..=0xff, ..] => None,
            _ => Some(bytes),
        }
    }

    pub(super) fn integer(&mut self) -> Option<BigInt> {
        Some(BigInt::from_signed_bytes_be(self.integer_bytes(INTEGER)?))
    }

    pub(super) fn small_integer(&mut self) -> Option<i64> {
        self.small_integer_tagged(INTEGER)
    }

    pub(super) fn small_integer_tagged(&mut self, tag: u8) -> Option<i64> {
        let bytes = self.integer_bytes(tag)?;
        if bytes.len() > 8 {
            return None;
        }
        let negative = bytes.first()? & 0x80 != 0;
        let start = if negative { -1 } else { 0 };
        Some(bytes.iter().fold(start, |value: i64, byte| value << 8 | i64::from(*byte)))
    }

    /// Reads the digits of a non-negative integer.
    pub(super) fn unsigned(&mut self) -> Option<&'a [u8]> {
        let bytes = self.integer_bytes(INTEGER)?;
        (bytes.first()? & 0x80 == 0).then_some(bytes)
    }

    /// Reads a bit string: its bytes, and the number of unused bits at the end.
    pub(super) fn bits(&mut self) -> Option<(&'a [u8], u8)> {
        let (padding, bytes) = self.read(BIT_STRING)?.0.split_first()?;
        let last = bytes.last().copied();
        let bad = *padding > 7
            || (last.is_none() && *padding != 0)
            || last.is_some_and(|last| last & ((1 << padding) - 1) != 0);
        (!bad).then_some((bytes, *padding))
    }

    pub(super) fn oid(&mut self) -> Option<Oid> {
        oid(self.read(OBJECT_IDENTIFIER)?.0)
    }
}

/// Decodes the components of an object identifier, none of which may exceed 31 bits.
pub(super) fn oid(bytes: &[u8]) -> Option<Oid> {
    let mut components = Vec::new();
    let mut rest = bytes.iter();
    while !rest.as_slice().is_empty() {
        let mut value = 0_u32;
        for index in 0.. {
            let byte = *rest.next()?;
            if index == 5 || value >= 1 << 24 || (index == 0 && byte == 0x80) {
                return None;
            }
            value = value << 7 | u32::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                break;
            }
        }
        if components.is_empty() {
            let first = (value / 40).min(2);
            components.push(first);
            components.push(value - first * 40);
        } else {
            components.push(value);
        }
    }
    (!components.is_empty()).then_some(components)
}

/// Returns the dotted text of an encoded object identifier, with components of any size.
pub(super) fn oid_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut value = num_bigint::BigUint::ZERO;
    for byte in bytes {
        value = (value << 7_u32) | num_bigint::BigUint::from(byte & 0x7f);
        if byte & 0x80 != 0 {
            continue;
        }
        if text.is_empty() {
            let first = if value < 40_u32.into() {
                0_u32
            } else if value < 80_u32.into() {
                1
            } else {
                2
            };
            text = format!("{first}.{}", value - first * 40);
        } else {
            text.push('.');
            text.push_str(&value.to_string());
        }
        value = num_bigint::BigUint::ZERO;
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn only_the_shortest_encodings_are_accepted() {
        assert_eq!(Der(&[2, 1, 0xff]).small_integer(), Some(-1));
        assert_eq!(Der(&[2, 2, 0, 0x80]).integer(), Some(128.into()));
        assert_eq!(Der(&[2, 2, 0, 0x7f]).integer(), None);
        assert!(Der(&[4, 0x81, 1, 7]).read(OCTET_STRING).is_none());
        assert!(Der(&[0x24, 0x80, 0, 0]).any().is_none());
        assert_eq!(Der(&[6, 3, 0x55, 4, 3]).oid(), Some(vec![2, 5, 4, 3]));
        assert_eq!(oid_text(&[0x88, 0x37, 3]), "2.999.3");
        assert_eq!(oid(&[0x88, 0x37, 3]), Some(vec![2, 999, 3]));
        assert_eq!(Der(&[3, 2, 1, 1]).bits(), None);
    }
}
