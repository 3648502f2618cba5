//! Parsing of decimal numbers.
//!
//! Owns the grammar of JSON numbers, and the exact comparison of two of them digit by digit,
//! however many digits they have.

use std::cmp::Ordering;

use num_bigint::BigUint;
use num_traits::Zero;

/// The components of a number, `±(whole fraction) × 10^exponent`, where the digits of both are read
/// as one integer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal<'a> {
    pub(super) negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// The power of ten to multiply the digits by.
    pub(super) exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Parses a JSON number; returns `None` if `text` isn't one.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (negative, rest) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, bytes),
        };
        let (whole, rest) = digits(rest);
        if whole.is_empty() || whole.len() > 1 && whole.first() == Some(&b'0') {
            return None;
        }
        let (fraction, rest) = match rest.split_first() {
            Some((b'.', rest)) => {
                let (fraction, rest) = digits(rest);
                if fraction.is_empty() {
                    return None;
                }
                (fraction, rest)
            }
            _ => (&[] as &[u8], rest),
        };
        let mut exponent = 0_i64;
        match rest.split_first() {
            None => {}
            Some((b'e' | b'E', rest)) => {
                let (minus, rest) = match rest.split_first() {
                    Some((b'-', rest)) => (true, rest),
                    Some((b'+', rest)) => (false, rest),
                    _ => (false, rest),
                };
                let (figures, rest) = digits(rest);
                if figures.is_empty() || !rest.is_empty() {
                    return None;
                }
                for figure in figures {
                    exponent = exponent.saturating_mul(10).saturating_add(i64::from(figure - b'0'));
                }
                // Far beyond the exponent of any valid number, and safe from overflow.
                exponent = exponent.min(1 << 40);
                if minus {
                    exponent = -exponent;
                }
            }
            Some(_) => return None,
        }
        exponent -= i64::try_from(fraction.len()).ok()?;
        Some(Self { negative, whole, fraction, exponent })
    }

    fn figures(&self) -> impl DoubleEndedIterator<Item = u8> + '_ {
        self.whole.iter().chain(self.fraction).copied()
    }

    /// Returns the significant digits (without leading or trailing zeros, none for zero), their
    /// count, and the power of ten of a decimal point in front of the first.
    fn significant(&self) -> (impl Iterator<Item = u8> + '_, usize, i64) {
        let total = self.whole.len() + self.fraction.len();
        let leading = self.figures().take_while(|&digit| digit == b'0').count();
        let trailing = self.figures().rev().take_while(|&digit| digit == b'0').count();
        let count = total.saturating_sub(leading + trailing);
        let point = self.exponent + i64::try_from(total - leading).unwrap_or(i64::MAX);
        (self.figures().skip(leading).take(count), count, point)
    }

    /// Returns the digits as an integer, if it fits.
    pub(super) fn as_u64(&self) -> Option<u64> {
        if self.whole.len() + self.fraction.len() > 40 {
            return None;
        }
        let mut value = 0_u64;
        for digit in self.figures() {
            value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        }
        Some(value)
    }

    /// Returns the digits as an integer.
    pub(super) fn to_biguint(self) -> BigUint {
        let figures: Vec<u8> = self.figures().collect();
        BigUint::parse_bytes(&figures, 10).unwrap_or_else(BigUint::zero)
    }

    /// Returns the number of digits in the text.
    pub(super) fn digit_count(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.figures().all(|digit| digit == b'0')
    }

    /// Returns `true` if the value is an integer.
    pub(super) fn is_integer(&self) -> bool {
        let (_, count, point) = self.significant();
        count == 0 || i64::try_from(count).is_ok_and(|count| count <= point)
    }

    /// Returns the approximate number of bits before the binary point; negative for values below
    /// one.
    pub(super) fn bits(&self) -> i64 {
        let (_, count, point) = self.significant();
        if count == 0 { 0 } else { point.saturating_mul(33_219) / 10_000 }
    }

    /// Returns the digits of an integer: the significant ones, and the number of zeros that follow.
    pub(super) fn integer_digits(&self) -> Option<(Vec<u8>, i64)> {
        if !self.is_integer() {
            return None;
        }
        let (digits, count, point) = self.significant();
        let zeros = point - i64::try_from(count).ok()?;
        Some((digits.collect(), if count == 0 { 0 } else { zeros }))
    }

    /// Compares two numbers by value.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (mine, my_count, my_point) = self.significant();
        let (others, other_count, other_point) = other.significant();
        let negative = self.negative && my_count > 0;
        let other_negative = other.negative && other_count > 0;
        let sign =
            |count: usize, negative: bool| if count == 0 { 0 } else { 1 - 2 * i8::from(negative) };
        let order = sign(my_count, negative).cmp(&sign(other_count, other_negative));
        if order.is_ne() || my_count == 0 {
            return order;
        }
        let magnitude = my_point.cmp(&other_point).then_with(|| mine.cmp(others));
        if negative { magnitude.reverse() } else { magnitude }
    }
}

/// Splits off the leading digits.
fn digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
    bytes.split_at(end)
}
