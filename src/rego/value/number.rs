//! Numbers: integers and decimals of any size, with the text that they were written in.
//!
//! OPA keeps a number as its JSON text and compares and computes by value: `1.10` prints as `1.10`
//! and equals `1.1`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A number.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    /// An integer whose text is its plain decimal form.
    Int(i64),
    /// Anything else, by its JSON text.
    Text(Arc<str>),
}

impl Number {
    /// The number of a JSON text; nothing where that isn't a JSON number.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(value) = text.parse::<i64>()
            && (text.len() < 19 || value.to_string() == text)
            && text != "-0"
            && !text.starts_with('+')
        {
            return Some(Self(Repr::Int(value)));
        }
        text.parse::<f64>().ok()?;
        Some(Self(Repr::Text(text.into())))
    }

    /// Its value as a 64-bit integer, where its text is one.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Text(_) => None,
        }
    }

    /// Its value as an unsigned 64-bit integer, where its text is one.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Int(value) => u64::try_from(*value).ok(),
            Repr::Text(text) => text.parse().ok(),
        }
    }

    /// Its value as an index.
    pub fn as_usize(&self) -> Option<usize> {
        usize::try_from(self.as_i64()?).ok()
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[allow(clippy::cast_precision_loss)]
            Repr::Int(value) => *value as f64,
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }
}

impl From<i64> for Number {
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

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        let text = format!("{value}");
        Self::parse(&text).unwrap_or(Self(Repr::Text(text.into())))
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
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            _ => self.as_f64().total_cmp(&other.as_f64()),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}
