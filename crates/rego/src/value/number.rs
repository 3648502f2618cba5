//! Integers and decimals of any size, which keep the text they were written in.
//!
//! OPA keeps a number as its JSON text, and compares and computes by value: `1.10` prints as `1.10`
//! and equals `1.1`. Integer arithmetic is exact; everything else uses a mantissa of 64 bits.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

use super::decimal::Decimal;
use super::float::Float;
use super::go_float::format_float;

/// OPA's limit on the binary exponent of a number that is read.
const MAX_READ_EXPONENT: i64 = 100_000;
/// Our limit on the bits of a result.
const MAX_BITS: u64 = 400_000;
/// Our limit on the digits of an operand.
const MAX_DIGITS: usize = 120_000;

/// A number of any size.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// An integer whose text is its plain decimal form.
    Int(i64),
    /// Anything else, as its JSON text.
    Text(Arc<str>),
}

/// The reasons why a number can't be read or computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumberError {
    /// The text isn't a number.
    Invalid,
    /// The exponent exceeds what OPA accepts, or there are more digits than we compute with.
    TooBig,
    /// A division by zero.
    DivideByZero,
    /// A remainder by zero.
    ModuloByZero,
    /// A remainder of numbers that aren't integers.
    ModuloOnFloat,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "invalid number",
            Self::TooBig => "number too big",
            Self::DivideByZero => "divide by zero",
            Self::ModuloByZero => "modulo by zero",
            Self::ModuloOnFloat => "modulo on floating-point number",
        })
    }
}

impl std::error::Error for NumberError {}

type Result<T> = std::result::Result<T, NumberError>;

impl Number {
    /// Parses a JSON number; returns `None` if the text isn't one, or if its exponent exceeds OPA's
    /// limit.
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(text).ok()
    }

    /// Parses a JSON number.
    ///
    /// # Errors
    /// Returns an error if the text isn't a number, or its exponent exceeds OPA's limit.
    pub fn read(text: &str) -> Result<Self> {
        let has_exponent = text.bytes().any(|byte| byte | 0x20 == b'e');
        Self::read_in_range(text, has_exponent)
    }

    /// Parses a number in the text of a policy, where OPA's limit is also one of digits.
    ///
    /// # Errors
    /// Returns an error if the text isn't a number, or it exceeds OPA's limit.
    pub fn read_literal(text: &str) -> Result<Self> {
        Self::read_in_range(text, true)
    }

    fn read_in_range(text: &str, limited: bool) -> Result<Self> {
        if let Some(value) = plain_integer(text.as_bytes()) {
            return Ok(Self(Repr::Int(value)));
        }
        let decimal = Decimal::parse(text).ok_or(NumberError::Invalid)?;
        if limited && !decimal.is_zero() {
            let bits = decimal.bits();
            let near = (MAX_READ_EXPONENT - 64..=MAX_READ_EXPONENT + 64).contains(&bits.abs());
            let bits = if near { Float::from_decimal(&decimal).magnitude() } else { bits };
            if bits.abs() > MAX_READ_EXPONENT {
                return Err(NumberError::TooBig);
            }
        }
        Ok(Self(Repr::Text(text.into())))
    }

    /// Builds a number from the text that our own arithmetic produced.
    fn from_text(text: String) -> Self {
        match plain_integer(text.as_bytes()) {
            Some(value) => Self(Repr::Int(value)),
            None => Self(Repr::Text(text.into())),
        }
    }

    /// Returns the JSON text.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Int(value) => Cow::Owned(value.to_string()),
            Repr::Text(text) => Cow::Borrowed(text),
        }
    }

    /// Returns the integer if the number is stored as one, which is the fast path for small
    /// numbers.
    #[inline]
    pub fn as_small(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Text(_) => None,
        }
    }

    fn decimal(&self) -> Option<Decimal<'_>> {
        match &self.0 {
            Repr::Int(_) => None,
            Repr::Text(text) => Decimal::parse(text),
        }
    }

    /// Returns the value as a 64-bit integer if OPA reads the text as one: `12` and `12.0`, but not
    /// `1e3`.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Text(text) => parse_opa_integer(text),
        }
    }

    /// Returns the value as an unsigned 64-bit integer, if the text is one.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Int(value) => u64::try_from(*value).ok(),
            Repr::Text(text) => text
                .parse()
                .ok()
                .or_else(|| parse_opa_integer(text).and_then(|value| u64::try_from(value).ok())),
        }
    }

    /// Returns a double with the shortest text that identifies it, as OPA writes it; `None` for an
    /// infinity and NaN, which JSON doesn't have.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::from_text(format_float(value, 'g', None)))
    }

    /// Returns the value as an index.
    #[inline]
    pub fn as_usize(&self) -> Option<usize> {
        usize::try_from(self.as_i64()?).ok()
    }

    /// Returns the nearest double; infinity if the value is out of range.
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[allow(clippy::cast_precision_loss)]
            Repr::Int(value) => *value as f64,
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the nearest double; `None` if the value is out of range.
    pub fn as_finite_f64(&self) -> Option<f64> {
        Some(self.as_f64()).filter(|value| value.is_finite())
    }

    /// Returns `true` if the value is an integer, in any notation: `1`, `1.0`, `1e3`.
    pub fn is_integer(&self) -> bool {
        match self.decimal() {
            Some(decimal) => decimal.is_integer(),
            None => true,
        }
    }

    /// Returns `true` if the text is a plain integer, without point or exponent.
    pub fn is_integer_text(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Text(text) => text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()),
        }
    }

    /// Returns the value, if it is an integer.
    ///
    /// # Errors
    /// Returns [`NumberError::TooBig`] if it has too many digits to compute with.
    pub fn to_bigint(&self) -> Result<Option<BigInt>> {
        let decimal = match &self.0 {
            Repr::Int(value) => return Ok(Some(BigInt::from(*value))),
            Repr::Text(text) => Decimal::parse(text).ok_or(NumberError::Invalid)?,
        };
        let Some((mut digits, zeros)) = decimal.integer_digits() else { return Ok(None) };
        let zeros = usize::try_from(zeros).map_err(|_| NumberError::TooBig)?;
        if digits.len().saturating_add(zeros) > MAX_DIGITS {
            return Err(NumberError::TooBig);
        }
        digits.resize(digits.len() + zeros, b'0');
        let sign = if decimal.negative { Sign::Minus } else { Sign::Plus };
        let magnitude = num_bigint::BigUint::parse_bytes(&digits, 10).unwrap_or_default();
        Ok(Some(BigInt::from_biguint(sign, magnitude)))
    }

    fn float(&self) -> Result<Float> {
        match &self.0 {
            Repr::Int(value) => Ok(Float::from_integer(&BigInt::from(*value))),
            Repr::Text(text) => {
                let decimal = Decimal::parse(text).ok_or(NumberError::Invalid)?;
                if decimal.digit_count() > MAX_DIGITS {
                    return Err(NumberError::TooBig);
                }
                Ok(Float::from_decimal(&decimal))
            }
        }
    }

    fn from_float(value: Float) -> Result<Self> {
        Ok(Self::from_text(bounded(value)?.text()))
    }

    fn from_bigint(value: &BigInt) -> Result<Self> {
        if value.bits() > MAX_BITS { Err(NumberError::TooBig) } else { Ok(Self::from(value)) }
    }

    #[inline]
    fn compute(
        &self,
        other: &Self,
        small: fn(i64, i64) -> Option<i64>,
        exact: fn(BigInt, BigInt) -> BigInt,
        float: fn(Float, Float) -> Float,
    ) -> Result<Self> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0)
            && let Some(value) = small(*a, *b)
        {
            return Ok(Self(Repr::Int(value)));
        }
        self.compute_slowly(other, exact, float)
    }

    fn compute_slowly(
        &self,
        other: &Self,
        exact: fn(BigInt, BigInt) -> BigInt,
        float: fn(Float, Float) -> Float,
    ) -> Result<Self> {
        if let (Some(a), Some(b)) = (self.to_bigint()?, other.to_bigint()?) {
            return Self::from_bigint(&exact(a, b));
        }
        Self::from_float(float(self.float()?, other.float()?))
    }

    /// Adds two numbers.
    ///
    /// # Errors
    /// Returns an error if the sum is too big to compute with.
    #[inline]
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.compute(other, i64::checked_add, |a, b| a + b, Float::add)
    }

    /// Subtracts `other`.
    ///
    /// # Errors
    /// Returns an error if the difference is too big to compute with.
    #[inline]
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.compute(other, i64::checked_sub, |a, b| a - b, Float::sub)
    }

    /// Multiplies two numbers.
    ///
    /// # Errors
    /// Returns an error if the product is too big to compute with.
    #[inline]
    pub fn mul(&self, other: &Self) -> Result<Self> {
        self.compute(other, i64::checked_mul, |a, b| a * b, Float::mul)
    }

    /// Divides by `other`.
    ///
    /// # Errors
    /// Returns an error if the divisor is zero, or the quotient is too big to compute with.
    pub fn div(&self, other: &Self) -> Result<Self> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            if *b == 0 {
                return Err(NumberError::DivideByZero);
            }
            if *a != 0
                && a.checked_rem(*b) == Some(0)
                && let Some(value) = a.checked_div(*b)
            {
                return Ok(Self(Repr::Int(value)));
            }
        }
        let divisor = other.float()?;
        if divisor.is_zero() {
            return Err(NumberError::DivideByZero);
        }
        Self::from_float(self.float()?.div(divisor))
    }

    /// Returns the remainder, with the sign of the dividend.
    ///
    /// # Errors
    /// Returns an error if the divisor is zero, or either operand isn't an integer.
    pub fn rem(&self, other: &Self) -> Result<Self> {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            if *b == 0 {
                return Err(NumberError::ModuloByZero);
            }
            return Ok(Self(Repr::Int(a.checked_rem(*b).unwrap_or(0))));
        }
        let (Some(a), Some(b)) = (self.to_bigint()?, other.to_bigint()?) else {
            return Err(NumberError::ModuloOnFloat);
        };
        if b.is_zero() {
            return Err(NumberError::ModuloByZero);
        }
        Self::from_bigint(&(a % b))
    }

    /// Adds up numbers, exactly if all are integers.
    ///
    /// # Errors
    /// Returns an error if the sum is too big to compute with.
    pub fn sum<'a>(numbers: impl Iterator<Item = &'a Self> + Clone) -> Result<Self> {
        if let Some(sum) =
            numbers.clone().try_fold(0_i64, |sum, number| sum.checked_add(number.as_i64()?))
        {
            return Ok(Self(Repr::Int(sum)));
        }
        if let Some(sum) =
            Self::fold_exactly(numbers.clone(), BigInt::zero(), |sum, number| sum + number)?
        {
            return Ok(sum);
        }
        let mut sum = Float::from_integer(&BigInt::zero());
        for number in numbers {
            sum = sum.add(number.float()?);
        }
        Self::from_float(sum)
    }

    /// Multiplies numbers, exactly if all are integers; otherwise with a mantissa of 53 bits.
    ///
    /// # Errors
    /// Returns an error if the product is too big to compute with.
    pub fn product<'a>(numbers: impl Iterator<Item = &'a Self> + Clone) -> Result<Self> {
        if let Some(product) =
            Self::fold_exactly(numbers.clone(), BigInt::from(1), |product, number| {
                product * number
            })?
        {
            return Ok(product);
        }
        let mut product = Float::from_integer(&BigInt::from(1));
        for number in numbers {
            product = bounded(product.mul_to(53, number.float()?))?;
        }
        Ok(Self::from_text(product.text_with_precision(53)))
    }

    fn fold_exactly<'a>(
        numbers: impl Iterator<Item = &'a Self>,
        first: BigInt,
        fold: fn(BigInt, BigInt) -> BigInt,
    ) -> Result<Option<Self>> {
        let mut all = first;
        for number in numbers {
            let Some(value) = number.to_bigint()? else { return Ok(None) };
            all = fold(all, value);
            if all.bits() > MAX_BITS {
                return Err(NumberError::TooBig);
            }
        }
        Self::from_bigint(&all).map(Some)
    }

    /// Returns the value as a numerator and a power of ten; `None` if it has too many digits.
    pub fn to_fraction(&self) -> Option<(BigInt, BigInt)> {
        let text = self.text();
        let decimal = Decimal::parse(&text)?;
        if decimal.digit_count() > MAX_DIGITS || decimal.exponent.unsigned_abs() > MAX_DIGITS as u64
        {
            return None;
        }
        let sign = if decimal.negative { Sign::Minus } else { Sign::Plus };
        let digits = BigInt::from_biguint(sign, decimal.to_biguint());
        let power = BigInt::from(10).pow(u32::try_from(decimal.exponent.unsigned_abs()).ok()?);
        Some(if decimal.exponent >= 0 {
            (digits * power, BigInt::from(1))
        } else {
            (digits, power)
        })
    }

    /// Returns the integer part of the product with `factor`, after rounding both to 64 bits.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn truncated_product(&self, factor: u64) -> Result<BigInt> {
        Ok(self.bounded_float()?.mul(Float::from_integer(&BigInt::from(factor))).truncated())
    }

    /// Returns the value as a 64-bit integer in any notation (`1e3`), after rounding to 64 bits;
    /// `None` if it isn't one.
    pub fn as_exact_i64(&self) -> Option<i64> {
        if let Repr::Int(value) = &self.0 {
            return Some(*value);
        }
        let value = self.float().ok()?;
        if !value.is_integer() || value.magnitude() > 64 {
            return None;
        }
        value.truncated().to_i64()
    }

    /// Returns the integer part, truncated after rounding to 64 bits.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn truncated(&self) -> Result<BigInt> {
        Ok(self.bounded_float()?.truncated())
    }

    /// Returns the value if it fits into 32 bits, for which OPA takes shortcuts.
    fn narrow(&self) -> Option<i64> {
        self.as_i64().filter(|value| i32::try_from(*value).is_ok())
    }

    /// Returns the absolute value.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn abs(&self) -> Result<Self> {
        match self.narrow() {
            Some(value) => Ok(Self(Repr::Int(value.abs()))),
            None => Self::from_float(self.float()?.abs()),
        }
    }

    /// Rounds to the nearest integer, halves away from zero.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn round(&self) -> Result<Self> {
        self.rounded(|value, _| {
            let half = Float::from_integer(&BigInt::from(1)).div(Float::from_integer(&2.into()));
            if value.is_negative() { value.sub(half) } else { value.add(half) }.truncated()
        })
    }

    /// Rounds up as OPA does, which gives 1 for values between -1 and 0.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn ceil(&self) -> Result<Self> {
        let up = |value: Float, whole: &BigInt| !whole.is_negative() && !value.is_integer();
        self.rounded(|value, whole| if up(value, &whole) { whole + 1 } else { whole })
    }

    /// Rounds down as OPA does, which gives 0 for values between -1 and 0.
    ///
    /// # Errors
    /// Returns an error if the value is too big to compute with.
    pub fn floor(&self) -> Result<Self> {
        let down = |value: Float, whole: &BigInt| whole.is_negative() && !value.is_integer();
        self.rounded(|value, whole| if down(value, &whole) { whole - 1 } else { whole })
    }

    /// Returns the integer that `round` makes of the value and its integer part.
    fn rounded(&self, round: impl FnOnce(Float, BigInt) -> BigInt) -> Result<Self> {
        if let Some(value) = self.narrow() {
            return Ok(Self(Repr::Int(value)));
        }
        let value = self.bounded_float()?;
        Self::from_bigint(&round(value, value.truncated()))
    }

    fn bounded_float(&self) -> Result<Float> {
        self.float().and_then(bounded)
    }
}

/// Refuses a number that is too big to compute with.
fn bounded(value: Float) -> Result<Float> {
    let fits = value.magnitude().unsigned_abs() <= MAX_BITS;
    if fits { Ok(value) } else { Err(NumberError::TooBig) }
}

/// Parses an integer in plain decimal notation.
#[inline]
fn plain_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    match digits {
        [] | [b'0', _, ..] => return None,
        [b'0'] if negative => return None,
        _ if digits.len() > 19 => return None,
        _ => {}
    }
    from_digits(negative, digits)
}

/// The integer with these decimal digits; `None` beyond 64 bits or for another character.
fn from_digits(negative: bool, digits: &[u8]) -> Option<i64> {
    let mut value = 0_i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        let digit = i64::from(digit - b'0');
        value = value.checked_mul(10)?;
        value = if negative { value.checked_sub(digit)? } else { value.checked_add(digit)? };
    }
    Some(value)
}

/// Parses an integer as OPA does: at most 19 characters after the sign, with a fraction of zeros
/// allowed.
fn parse_opa_integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text.as_bytes()),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    if fraction.iter().skip(1).any(|&digit| digit != b'0') {
        return None;
    }
    from_digits(negative, whole)
}

impl From<i64> for Number {
    #[inline]
    fn from(value: i64) -> Self {
        Self(Repr::Int(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self(Repr::Int(value)),
            Err(_) => Self(Repr::Text(value.to_string().into())),
        }
    }
}

impl From<&BigInt> for Number {
    fn from(value: &BigInt) -> Self {
        match value.to_i64() {
            Some(value) => Self(Repr::Int(value)),
            None => Self(Repr::Text(value.to_string().into())),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(value) => write!(f, "{value}"),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ord for Number {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            (Repr::Text(a), Repr::Text(b)) if a == b => Ordering::Equal,
            _ => compare_texts(&self.text(), &other.text()),
        }
    }
}

/// Compares two numbers by exact value.
fn compare_texts(a: &str, b: &str) -> Ordering {
    match (Decimal::parse(a), Decimal::parse(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        _ => a.cmp(b),
    }
}

impl PartialOrd for Number {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

/// Hashes the nearest double, which is the same for equal values.
impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let value = self.as_f64();
        let bits = if value == 0.0 { 0 } else { value.to_bits() };
        bits.hash(state);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn arithmetic_matches_opa() {
        let cases = [
            ("0.1", '+', "0.2", "0.3"),
            ("1", '/', "3", "0.33333333333333333334"),
            ("10", '/', "4", "2.5"),
            ("0", '/', "-5", "-0"),
            ("9223372036854775807", '+', "1", "9223372036854775808"),
            ("1e3", '+', "1", "1001"),
            ("1.5", '*', "1e10", "15000000000"),
            ("1e-10", '*', "0.5", "5e-11"),
        ];
        for (a, operator, b, expected) in cases {
            let (a, b) = (number(a), number(b));
            let answer = match operator {
                '+' => a.add(&b),
                '*' => a.mul(&b),
                _ => a.div(&b),
            };
            assert_eq!(answer.unwrap().to_string(), expected, "{a} {operator} {b}");
        }
    }

    #[test]
    fn numbers_compare_by_value() {
        assert_eq!(number("1.10"), number("1.1"));
        assert_eq!(number("1e2"), number("100"));
        assert_eq!(number("-0.0"), number("0"));
        assert!(number("9007199254740993.0") > number("9007199254740992"));
        assert!(number("7.0000000000000000001") > number("7"));
        assert!(number("1e-400") > number("0"));
        assert!(number("-2") < number("-1.5"));
        assert_eq!(Number::read("1e400000"), Err(NumberError::TooBig));
        assert_eq!(Number::read("01"), Err(NumberError::Invalid));
        // Only in the text of a policy is the number of digits limited.
        let digits = "9".repeat(30_103);
        assert!(Number::read(&digits).is_ok() && Number::read_literal(&digits[1..]).is_ok());
        assert_eq!(Number::read_literal(&digits), Err(NumberError::TooBig));
    }
}
