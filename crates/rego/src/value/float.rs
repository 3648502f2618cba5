//! Binary floating-point numbers with a mantissa of 64 bits and a wide exponent.
//!
//! Owns the arithmetic that OPA uses for numbers that aren't integers: decimal text is read into 64
//! bits, each operation rounds to nearest (ties to even), and results are written with the fewest
//! digits that identify them. So `0.1 + 0.2` is `0.3`.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, Zero};

use super::decimal::Decimal;

/// Higher powers of five are themselves rounded, to `POWER_BITS` bits.
const EXACT_POWER: u64 = 27;
/// The precision of a rounded power of five.
const POWER_BITS: u64 = 128;
/// The precision of the factors that a power is computed from.
const FACTOR_BITS: u64 = 192;

/// `mantissa × 2^exponent`; the highest bit of the mantissa is set, unless the number is zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Float {
    negative: bool,
    mantissa: u64,
    exponent: i64,
}

impl Float {
    /// Returns a zero.
    fn zero(negative: bool) -> Self {
        Self { negative, mantissa: 0, exponent: 0 }
    }

    /// Rounds `bits × 2^exponent`; if `sticky`, the exact value is slightly larger.
    fn rounded(negative: bool, bits: u128, exponent: i64, sticky: bool) -> Self {
        Self::rounded_to(64, negative, bits, exponent, sticky)
    }

    /// Rounds to a mantissa of `precision` bits, at most 64.
    fn rounded_to(precision: u32, negative: bool, bits: u128, exponent: i64, sticky: bool) -> Self {
        if bits == 0 {
            return Self::zero(negative);
        }
        let shift = bits.leading_zeros();
        let bits = bits << shift;
        let exponent = exponent - i64::from(shift) + 64;
        let unit = 1_u128 << (128 - precision.min(64));
        let (low, half) = (bits & (unit - 1), unit / 2);
        let up = low > half || low == half && (sticky || bits & unit != 0);
        let high = bits - low;
        let (high, over) = if up { high.overflowing_add(unit) } else { (high, false) };
        #[allow(clippy::cast_possible_truncation)]
        let mantissa = if over { 1 << 63 } else { (high >> 64) as u64 };
        Self { negative, mantissa, exponent: exponent + i64::from(over) }
    }

    /// Rounds `bits × 2^exponent`; if `sticky`, the exact value is slightly larger.
    fn rounded_big(negative: bool, bits: &BigUint, exponent: i64, sticky: bool) -> Self {
        let (bits, exponent, lost) = shortened(bits, exponent, 127);
        let wide =
            bits.iter_u64_digits().rev().fold(0, |wide, digit| wide << 64 | u128::from(digit));
        // The bits that were cut off are below any bit that could decide a tie.
        Self::rounded(negative, wide, exponent, sticky || lost)
    }

    /// Rounds an integer.
    pub(super) fn from_integer(value: &BigInt) -> Self {
        Self::rounded_big(value.sign() == Sign::Minus, value.magnitude(), 0, false)
    }

    /// Rounds a decimal number, as precisely as powers of five with 128 bits allow.
    pub(super) fn from_decimal(decimal: &Decimal<'_>) -> Self {
        let negative = decimal.negative;
        let power = decimal.exponent;
        let five = power.unsigned_abs();
        if let Some(digits) = decimal.as_u64()
            && five <= EXACT_POWER
        {
            if digits == 0 {
                return Self::zero(negative);
            }
            let five = 5_u128.pow(u32::try_from(five).unwrap_or_default());
            if power >= 0 {
                return Self::rounded(negative, u128::from(digits) * five, power, false);
            }
            let wide = u128::from(digits);
            let shift = wide.leading_zeros();
            let wide = wide << shift;
            let (quotient, rest) = (wide / five, wide % five);
            return Self::rounded(negative, quotient, power - i64::from(shift), rest != 0);
        }
        let digits = decimal.to_biguint();
        if digits.is_zero() {
            return Self::zero(negative);
        }
        let (five, five_exponent) = power_of_five(five);
        if power >= 0 {
            return Self::rounded_big(negative, &(digits * five), power + five_exponent, false);
        }
        let shift = (five.bits() + 66).saturating_sub(digits.bits());
        let wide = digits << shift;
        let (quotient, rest) = (&wide / &five, &wide % &five);
        let exponent = power - five_exponent - i64::try_from(shift).unwrap_or_default();
        Self::rounded_big(negative, &quotient, exponent, !rest.is_zero())
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    pub(super) fn is_negative(self) -> bool {
        self.negative
    }

    /// Returns the position of the highest bit: `2^(n-1) ≤ |x| < 2^n`.
    pub(super) fn magnitude(self) -> i64 {
        if self.is_zero() { 0 } else { self.exponent + 64 }
    }

    pub(super) fn abs(self) -> Self {
        Self { negative: false, ..self }
    }

    fn negated(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    pub(super) fn add(self, other: Self) -> Self {
        if self.is_zero() && other.is_zero() {
            return Self::zero(self.negative && other.negative);
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (big, small) =
            if self.compare_magnitude(other).is_lt() { (other, self) } else { (self, other) };
        let base = big.exponent - 62;
        let large = u128::from(big.mantissa) << 62;
        let distance = small.exponent - base;
        let mantissa = u128::from(small.mantissa);
        let (little, sticky) = match u32::try_from(distance) {
            Ok(left) => (mantissa << left.min(62), false),
            Err(_) => match u32::try_from(-distance) {
                Ok(right) if right < 64 => (mantissa >> right, mantissa & ((1 << right) - 1) != 0),
                _ => (0, true),
            },
        };
        if big.negative == small.negative {
            return Self::rounded(big.negative, large + little, base, sticky);
        }
        let rest = large - little - u128::from(sticky);
        if rest == 0 { Self::zero(false) } else { Self::rounded(big.negative, rest, base, sticky) }
    }

    pub(super) fn sub(self, other: Self) -> Self {
        self.add(other.negated())
    }

    pub(super) fn mul(self, other: Self) -> Self {
        self.mul_to(64, other)
    }

    /// Multiplies, with a mantissa of `precision` bits, at most 64.
    pub(super) fn mul_to(self, precision: u32, other: Self) -> Self {
        let negative = self.negative != other.negative;
        let product = u128::from(self.mantissa) * u128::from(other.mantissa);
        Self::rounded_to(
            precision,
            negative,
            product,
            self.exponent.saturating_add(other.exponent),
            false,
        )
    }

    /// Divides by a divisor that isn't zero.
    pub(super) fn div(self, other: Self) -> Self {
        let negative = self.negative != other.negative;
        if self.is_zero() || other.is_zero() {
            return Self::zero(negative);
        }
        // Both mantissas have 64 bits, so the quotient has 64 or 65, and rounding needs two more.
        let divisor = u128::from(other.mantissa);
        let wide = u128::from(self.mantissa) << 64;
        let (quotient, rest) = (wide / divisor, wide % divisor);
        let (next, rest) = ((rest << 32) / divisor, (rest << 32) % divisor);
        let exponent = self.exponent.saturating_sub(other.exponent) - 96;
        Self::rounded(negative, quotient << 32 | next, exponent, rest != 0)
    }

    fn compare_magnitude(self, other: Self) -> Ordering {
        self.magnitude().cmp(&other.magnitude()).then(self.mantissa.cmp(&other.mantissa))
    }

    /// Returns `true` if the value is an integer.
    pub(super) fn is_integer(self) -> bool {
        self.is_zero()
            || self.exponent >= 0
            || self.exponent.unsigned_abs() <= u64::from(self.mantissa.trailing_zeros())
    }

    /// Returns the integer part, without the fraction.
    pub(super) fn truncated(self) -> BigInt {
        let mantissa = BigUint::from(self.mantissa);
        let shift = self.exponent.unsigned_abs();
        let magnitude = if self.exponent >= 0 { mantissa << shift } else { mantissa >> shift };
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, magnitude)
    }

    /// Returns the shortest decimal text that reads back as this number. Integers are written in
    /// plain digits; other numbers have an exponent below 1e-4 and from 1e6 on.
    pub(super) fn text(self) -> String {
        self.text_with_precision(64)
    }

    /// Like [`Self::text`], for a number with a mantissa of `precision` bits, at most 64.
    pub(super) fn text_with_precision(self, precision: u32) -> String {
        let mut out = String::new();
        if self.negative {
            out.push('-');
        }
        if self.is_zero() {
            out.push('0');
            return out;
        }
        if self.is_integer() && self.magnitude() <= i64::from(precision) {
            let value = if self.exponent >= 0 {
                self.mantissa << self.exponent.min(63)
            } else {
                self.mantissa >> self.exponent.unsigned_abs().min(63)
            };
            out.push_str(&value.to_string());
            return out;
        }
        let (digits, point) = self.shortest(precision);
        out.push_str(&decimal_text(&digits, point, self.is_integer()));
        out
    }

    /// Returns the fewest digits that identify the number, and the position of the decimal point.
    fn shortest(self, precision: u32) -> (Vec<u8>, i64) {
        // After the shift, the lowest bit is half a unit in the last place.
        let unused = 64 - precision.min(64);
        let mantissa = self.mantissa >> unused;
        let middle = BigUint::from(mantissa) << 1_u32;
        let exponent = self.exponent + i64::from(unused) - 1;
        let (mut digits, mut point) = expanded(&middle, exponent);
        let (lower, _) = expanded(&(&middle - BigUint::one()), exponent);
        let (upper, _) = expanded(&(&middle + BigUint::one()), exponent);
        let inclusive = mantissa & 1 == 0;
        let mut cut = None;
        for (i, &digit) in digits.iter().enumerate() {
            let low = lower.get(i).copied().unwrap_or(b'0');
            let high = upper.get(i).copied().unwrap_or(b'0');
            let down = low != digit || inclusive && i + 1 == lower.len();
            let up = digit != high && (inclusive || digit + 1 < high || i + 1 < upper.len());
            if down || up {
                let halfway = digits.get(i + 1) == Some(&b'5') && i + 2 == digits.len();
                let above = if halfway {
                    digit & 1 == 1
                } else {
                    digits.get(i + 1).is_some_and(|&next| next >= b'5')
                };
                cut = Some((i + 1, up && (!down || above)));
                break;
            }
        }
        if let Some((length, up)) = cut
            && length < digits.len()
        {
            digits.truncate(length);
            if up {
                while digits.last() == Some(&b'9') {
                    digits.pop();
                }
                if let Some(last) = digits.last_mut() {
                    *last += 1;
                } else {
                    digits.push(b'1');
                    point += 1;
                }
            }
            trim_zeros(&mut digits);
        }
        (digits, point)
    }
}

fn trim_zeros(digits: &mut Vec<u8>) {
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
}

/// Returns the decimal digits of `bits × 2^exponent` without trailing zeros, and the position of
/// the decimal point; 0 is in front of the first digit.
fn expanded(bits: &BigUint, exponent: i64) -> (Vec<u8>, i64) {
    let shift = exponent.unsigned_abs();
    let mut digits = if exponent >= 0 {
        (bits << shift).to_string().into_bytes()
    } else {
        let five = BigUint::from(5_u32).pow(u32::try_from(shift).unwrap_or(u32::MAX));
        (bits * five).to_string().into_bytes()
    };
    let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let point = if exponent >= 0 { length } else { length + exponent };
    trim_zeros(&mut digits);
    (digits, point)
}

fn write_digits(out: &mut String, digits: &[u8]) {
    out.extend(digits.iter().map(|&digit| char::from(digit)));
}

/// Writes digits, with the point before the digit at `point`; with an exponent below 1e-4 and from
/// 1e6 on, unless `plain`.
pub(crate) fn decimal_text(digits: &[u8], point: i64, plain: bool) -> String {
    let (mut out, exponent) = (String::new(), point.saturating_sub(1));
    let at = usize::try_from(point).unwrap_or_default();
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    if !plain && !(-4..6).contains(&exponent) {
        let (first, rest) = digits.split_at(digits.len().min(1));
        write_digits(&mut out, first);
        if !rest.is_empty() {
            out.push('.');
            write_digits(&mut out, rest);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
    } else if at == 0 {
        out.push_str("0.");
        out.push_str(&zeros(-point));
        write_digits(&mut out, digits);
    } else if let Some((whole, fraction @ [_, ..])) = digits.split_at_checked(at) {
        write_digits(&mut out, whole);
        out.push('.');
        write_digits(&mut out, fraction);
    } else {
        write_digits(&mut out, digits);
        out.push_str(&"0".repeat(at - digits.len()));
    }
    out
}

/// Truncates to `limit` bits; returns the adjusted exponent, and whether a set bit was lost.
fn shortened(bits: &BigUint, exponent: i64, limit: u64) -> (BigUint, i64, bool) {
    let extra = bits.bits().saturating_sub(limit);
    if extra == 0 {
        return (bits.clone(), exponent, false);
    }
    let lost = bits.trailing_zeros().is_some_and(|zeros| zeros < extra);
    (bits >> extra, exponent + i64::try_from(extra).unwrap_or(i64::MAX), lost)
}

/// Rounds to `limit` bits, ties to even; returns the adjusted exponent.
fn rounded_to(bits: &BigUint, exponent: i64, limit: u64) -> (BigUint, i64) {
    let (mut kept, exponent, _) = shortened(bits, exponent, limit);
    let extra = bits.bits().saturating_sub(limit);
    if extra > 0 && bits.bit(extra - 1) {
        let tie = bits.trailing_zeros() == Some(extra - 1);
        if !tie || kept.bit(0) {
            kept += 1_u32;
        }
    }
    (kept, exponent)
}

/// Returns `5^power` as bits and a binary exponent.
fn power_of_five(power: u64) -> (BigUint, i64) {
    let first = power.min(EXACT_POWER);
    let mut result = BigUint::from(5_u64.pow(u32::try_from(first).unwrap_or_default()));
    let mut exponent = 0;
    let mut rest = power - first;
    let (mut factor, mut factor_exponent) = (BigUint::from(5_u32), 0);
    while rest > 0 {
        if rest & 1 == 1 {
            (result, exponent) =
                rounded_to(&(&result * &factor), exponent + factor_exponent, POWER_BITS);
        }
        (factor, factor_exponent) =
            rounded_to(&(&factor * &factor), factor_exponent * 2, FACTOR_BITS);
        rest >>= 1;
    }
    (result, exponent)
}
