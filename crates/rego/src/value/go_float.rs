//! Doubles as Go's `strconv` formats them.

use std::fmt::Write;

/// Formats a finite double with a verb of Go's `fmt` (`e E f g G b x X`), including a minus sign.
/// Without a precision, it writes as many digits as are needed to read the value back.
pub(crate) fn format_float(value: f64, verb: char, precision: Option<usize>) -> String {
    match verb {
        'e' => scientific(value, precision),
        'E' => scientific(value, precision).to_ascii_uppercase(),
        'g' => general(value, precision),
        'G' => general(value, precision).to_ascii_uppercase(),
        'b' => binary(value),
        'x' => hexadecimal(value, precision),
        'X' => hexadecimal(value, precision).to_ascii_uppercase(),
        _ => match precision {
            Some(precision) => fixed(value, precision),
            None => without_exponent(value),
        },
    }
}

/// Formats a finite double as Go's `encoding/json` does.
pub(crate) fn json_float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        // Go writes `e-09` as `e-9` here.
        return scientific(value, None).replace("e-0", "e-");
    }
    without_exponent(value)
}

/// Formats with the fewest digits that are read as the same value, as `d.ddde-d`. Of two such that
/// are equally near, the even one counts; the standard library takes the greater.
fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let digits = text.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    // With fewer digits, the value itself is written.
    if digits < 15 {
        return text;
    }
    let even = format!("{value:.*e}", digits - 1);
    if even.parse() == Ok(value) { even } else { text }
}

/// Formats with the fewest digits, without an exponent.
fn without_exponent(value: f64) -> String {
    let text = shortest(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let exponent: i64 = exponent.parse().unwrap_or_default();
    let decimals = i64::try_from(digits).unwrap_or(i64::MAX) - 1 - exponent;
    plain(&text, usize::try_from(decimals).unwrap_or_default())
}

/// The number of digits after which only zeros follow, for any double; `format!` takes a precision
/// of up to 65,535.
const EXACT: usize = 1_100;

/// `ddd.ddd`
fn fixed(value: f64, decimals: usize) -> String {
    let digits = format!("{value:.*}", decimals.min(EXACT));
    digits + &"0".repeat(decimals.saturating_sub(EXACT))
}

/// `d.ddde±dd`
fn scientific(value: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{value:.*e}", precision.min(EXACT)),
        None => shortest(value),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(precision.unwrap_or_default().saturating_sub(EXACT));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}{zeros}e{sign}{exponent:0>2}")
}

/// Formats with `%g`: in the shorter of the two notations, depending on the exponent.
fn general(value: f64, precision: Option<usize>) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let significant = precision.map(|precision| precision.max(1));
    let short = scientific(value, significant.map(|digits| digits - 1));
    let (digits, tail) = short.split_once('e').unwrap_or((&short, "+00"));
    let exponent: i64 = tail.parse().unwrap_or_default();
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let most = match significant.map(|digits| i64::try_from(digits).unwrap_or(i64::MAX)) {
        None => 6,
        Some(most) if most > count && count > exponent => count,
        Some(most) => most,
    };
    if exponent < -4 || exponent >= most {
        return format!("{digits}e{tail}");
    }
    let decimals = usize::try_from((count - 1 - exponent).max(0)).unwrap_or_default();
    // The digits are rounded already; writing them again with the same number of digits changes
    // nothing.
    let rounded: f64 = short.parse().unwrap_or(value);
    if precision.is_some() { plain(&short, decimals) } else { fixed(rounded, decimals) }
}

/// Rewrites `d.ddde±dd` without an exponent.
fn plain(scientific: &str, decimals: usize) -> String {
    let (mantissa, tail) = scientific.split_once('e').unwrap_or((scientific, "+00"));
    let exponent: i64 = tail.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let at = |index: i64| {
        let digit = usize::try_from(index).ok().and_then(|index| digits.as_bytes().get(index));
        char::from(digit.copied().unwrap_or(b'0'))
    };
    let mut out = String::from(sign);
    if exponent < 0 {
        out.push('0');
    }
    (0..=exponent).for_each(|index| out.push(at(index)));
    if decimals > 0 {
        out.push('.');
        let decimals = i64::try_from(decimals).unwrap_or(i64::MAX);
        (exponent + 1..=exponent + decimals).for_each(|index| out.push(at(index)));
    }
    out
}

/// Returns the sign, the mantissa with its hidden bit, and the binary exponent.
fn parts(value: f64) -> (&'static str, u64, i64) {
    let bits = value.to_bits();
    let sign = if bits >> 63 == 1 { "-" } else { "" };
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i64::try_from(bits >> 52 & 0x7ff).unwrap_or_default();
    if exponent == 0 {
        (sign, fraction, -1022)
    } else {
        (sign, fraction | 1 << 52, exponent - 1023)
    }
}

/// `4503599627370496p-52`
fn binary(value: f64) -> String {
    let (sign, mantissa, exponent) = parts(value);
    format!("{sign}{mantissa}p{:+}", exponent - 52)
}

/// `0x1.8p+00`
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (sign, mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The leading one is bit 60.
        let shift = mantissa.leading_zeros().saturating_sub(3);
        mantissa <<= shift;
        exponent -= i64::from(shift) - 8;
    }
    if let Some(precision) = precision.and_then(|precision| u32::try_from(precision).ok())
        && precision < 15
    {
        let keep = precision * 4;
        let extra = (mantissa << keep) & ((1 << 60) - 1);
        mantissa >>= 60 - keep;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - keep;
        if mantissa & 1 << 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut out = format!("{sign}0x{}", mantissa >> 60 & 1);
    let mut rest = mantissa << 4;
    if precision.map_or(rest != 0, |precision| precision > 0) {
        out.push('.');
    }
    let mut written = 0;
    while precision.map_or(rest != 0, |precision| written < precision) {
        out.extend(u32::try_from(rest >> 60).ok().and_then(|digit| char::from_digit(digit, 16)));
        rest <<= 4;
        written += 1;
    }
    // Writing to a string doesn't fail.
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "p{sign}{:02}", exponent.unsigned_abs());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::excessive_precision, reason = "the values lie between two texts")]
    fn of_two_texts_that_are_equally_near_the_even_one_counts() {
        // The answers are those of Go 1.26.
        for (value, expected) in [
            (1_226_877_734_315_885.25, "1.2268777343158852e+15"),
            (681_330_610_829_688.25, "6.813306108296882e+14"),
            (1_551_040_305_568_884.2, "1.5510403055688842e+15"),
            (0.1, "1e-01"),
            (-2.5e-7, "-2.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(format_float(value, 'e', None), expected);
        }
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (100.0, "100"),
            (0.000_25, "0.00025"),
            (-12.5, "-12.5"),
            (1e20, "100000000000000000000"),
            (1_226_877_734_315_885.25, "1226877734315885.2"),
            (1_152_921_504_606_846_976.0, "1152921504606847000"),
        ] {
            assert_eq!(format_float(value, 'f', None), expected);
            assert_eq!(json_float(value), expected);
        }
    }
}
