//! Numbers in text, as Go parses and writes them.

use rego::Value;
use rego::value::Number;

/// Parses a number: decimal digits, infinities and NaN; `None` for any other text and for numbers out of range.
pub(crate) fn float(text: &str) -> Option<f64> {
    let signed = text.strip_prefix(['+', '-']);
    let is_word = signed.unwrap_or(text).starts_with(|first: char| first.is_ascii_alphabetic());
    if is_word {
        // NaN has no sign.
        return text.parse().ok().filter(|value: &f64| signed.is_none() || !value.is_nan());
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Returns a number as Go writes it in JSON; `null` for NaN and infinities.
pub(crate) fn json(value: f64) -> Value {
    let magnitude = value.abs();
    let text = if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        value.to_string()
    } else {
        format!("{value:e}").replace('e', "e+").replace("e+-", "e-")
    };
    Number::parse(&text).map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // What Go 1.26 makes of each, by `strconv.ParseFloat` and `json.Marshal`.
    #[test]
    fn numbers_are_those_of_go() {
        for (text, expected) in [
            ("1.", "1"),
            (".5", "0.5"),
            ("1e-1", "0.1"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("0.0000001", "1e-7"),
            ("0.000001", "0.000001"),
            ("0.12345678901234567", "0.12345678901234566"),
            ("nan", "null"),
            ("-INF", "null"),
            ("+Infinity", "null"),
            ("-0", "-0"),
        ] {
            assert_eq!(json(float(text).unwrap()).to_json(), expected, "{text}");
        }
        for text in ["", ".", "1e", "1e400", "+nan", "infin", "much", "0x10", " 1", "1 "] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
