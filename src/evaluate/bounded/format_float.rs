//! Floating-point numbers as Go writes them.

use super::Flags;

/// `number` under `verb`, without plus sign and width; `None` when the verb is none for floats.
pub(super) fn text(verb: char, flags: Flags, number: f64) -> Option<String> {
    if !number.is_finite() {
        return Some(
            if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            }
            .to_owned(),
        );
    }
    match verb {
        'v' | 'g' => Some(general(number, flags.precision)),
        'G' => Some(general(number, flags.precision).replace('e', "E")),
        'e' => Some(scientific(number, Some(flags.precision.unwrap_or(6)))),
        'E' => Some(scientific(number, Some(flags.precision.unwrap_or(6))).replace('e', "E")),
        'f' | 'F' => Some(format!("{number:.*}", flags.precision.unwrap_or(6))),
        _ => None,
    }
}

/// `d.ddde±dd`; without a precision as many digits as it takes to read the number back.
fn scientific(number: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{number:.precision$e}"),
        None => format!("{number:e}"),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The shorter of the two notations, by the exponent.
fn general(number: f64, precision: Option<usize>) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let significant = precision.map(|precision| precision.max(1));
    let short = scientific(number, significant.map(|digits| digits - 1));
    let (digits, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    let most = match significant.map(|digits| i32::try_from(digits).unwrap_or(i32::MAX)) {
        None => 6,
        Some(most) if most > count && count > exponent => count,
        Some(most) => most,
    };
    if exponent < -4 || exponent >= most {
        let tail = short.split_once('e').map_or("+00", |(_, tail)| tail);
        return format!("{digits}e{tail}");
    }
    let decimals = usize::try_from((count - 1 - exponent).max(0)).unwrap_or_default();
    format!("{number:.decimals$}")
}
