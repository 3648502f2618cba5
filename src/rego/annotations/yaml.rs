//! The YAML of a block. Plain scalars get the types that OPA's YAML reader gives them.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use crate::rego::value::{Array, Number, Object, Value};

/// The type of a field: text that stays as it was written, or a value.
#[derive(Clone, Copy)]
enum FieldType {
    /// Text as it was written, even if it looks like another type.
    Text,
    /// A list of such texts.
    Texts,
    /// Any value.
    Any,
}

/// A YAML error, with its line in the block, from 1.
pub(super) struct YamlError {
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

/// Reads the mapping of a block; it's empty if the block is.
pub(super) fn read(text: &str) -> Result<Object, YamlError> {
    let failed = |error: &yaml_serde::Error| {
        let line = error.location().map(|it| it.line());
        let message = error.to_string();
        let message = match line {
            Some(line) => format!("yaml: line {line}: {message}"),
            None => format!("yaml: {message}"),
        };
        YamlError { line, message }
    };
    let Some(document) = yaml_serde::Deserializer::from_str(text).next() else {
        return Ok(Object::new());
    };
    match (Block { text }).deserialize(document) {
        Ok(members) => Ok(members),
        Err(error) if error.to_string().starts_with("EOF") => Ok(Object::new()),
        Err(error) => Err(failed(&error)),
    }
}

/// The deserializer of a whole block.
struct Block<'a> {
    text: &'a str,
}

impl<'de> DeserializeSeed<'de> for Block<'_> {
    type Value = Object;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Object, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Block<'_> {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_unit<E>(self) -> Result<Object, E> {
        Ok(Object::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut members = Object::new();
        while let Some(key) =
            map.next_key_seed(FieldSeed { text: self.text, want: FieldType::Text, depth: 0 })?
        {
            let want = match key.as_str() {
                Some("scope" | "title" | "description") => FieldType::Text,
                Some("organizations") => FieldType::Texts,
                _ => FieldType::Any,
            };
            let value = map.next_value_seed(FieldSeed { text: self.text, want, depth: 0 })?;
            if key.as_str() == Some("<<") {
                if let Value::Object(merged) = &value {
                    for (key, value) in merged.iter() {
                        members.entry(key.clone()).or_insert_with(|| value.clone());
                    }
                }
                continue;
            }
            if members.contains_key(&key) {
                let key = key.as_str().unwrap_or_default();
                return Err(A::Error::custom(format!("mapping key \"{key}\" already defined")));
            }
            members.insert(key, value);
        }
        Ok(members)
    }
}

/// The maximum depth of nested values.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Copy)]
struct FieldSeed<'a> {
    text: &'a str,
    want: FieldType,
    depth: usize,
}

impl FieldSeed<'_> {
    fn inner<E: serde::de::Error>(self, want: FieldType) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom("nested too deep"));
        }
        Ok(Self { want, depth: self.depth + 1, ..self })
    }

    /// Returns `true` if a part of the text isn't within quotes.
    fn is_plain(&self, part: &str) -> bool {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let before =
            start.and_then(|at| at.checked_sub(1)).and_then(|at| self.text.as_bytes().get(at));
        !matches!(before, Some(b'"' | b'\''))
    }
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.want {
            FieldType::Text => deserializer.deserialize_option(self),
            FieldType::Texts | FieldType::Any => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.want {
            FieldType::Text => "a string",
            FieldType::Texts => "a list of strings",
            FieldType::Any => "a value",
        })
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::from(""))
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(if matches!(self.want, FieldType::Texts) { Value::new_array() } else { Value::Null })
    }

    fn visit_bool<E: serde::de::Error>(self, it: bool) -> Result<Value, E> {
        self.scalar(Value::Bool(it))
    }

    fn visit_i64<E: serde::de::Error>(self, it: i64) -> Result<Value, E> {
        self.scalar(Value::from(it))
    }

    fn visit_u64<E: serde::de::Error>(self, it: u64) -> Result<Value, E> {
        self.scalar(Value::from(it))
    }

    fn visit_f64<E: serde::de::Error>(self, it: f64) -> Result<Value, E> {
        self.scalar(Value::from(it))
    }

    fn visit_str<E: serde::de::Error>(self, it: &str) -> Result<Value, E> {
        self.scalar(Value::from(it))
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, it: &'de str) -> Result<Value, E> {
        let typed = matches!(self.want, FieldType::Any) && self.is_plain(it);
        self.scalar(if typed { resolve(it) } else { Value::from(it) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = match self.want {
            FieldType::Text => return Err(A::Error::custom("cannot unmarshal !!seq into string")),
            FieldType::Texts => self.inner(FieldType::Text)?,
            FieldType::Any => self.inner(FieldType::Any)?,
        };
        let mut items = Array::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        if !matches!(self.want, FieldType::Any) {
            let wanted = if matches!(self.want, FieldType::Text) { "string" } else { "[]string" };
            return Err(A::Error::custom(format!("cannot unmarshal !!map into {wanted}")));
        }
        let inner = self.inner(FieldType::Any)?;
        let (mut members, mut merged) = (Object::new(), Vec::new());
        while let Some(key) = map.next_key_seed(inner)? {
            let value = map.next_value_seed(inner)?;
            if key.as_str() == Some("<<") {
                merged.push(value);
            } else if members.contains_key(&key) {
                return Err(A::Error::custom("mapping key already defined"));
            } else {
                members.insert(key, value);
            }
        }
        for value in merged {
            let sources = if let Value::Array(items) = &value {
                items.as_slice()
            } else {
                std::slice::from_ref(&value)
            };
            for source in sources {
                let Value::Object(source) = source else {
                    return Err(A::Error::custom(
                        "map merge requires map or sequence of maps as the value",
                    ));
                };
                for (key, value) in source.iter() {
                    members.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        Ok(members.into())
    }
}

impl FieldSeed<'_> {
    fn scalar<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        if matches!(self.want, FieldType::Texts) {
            return Err(E::custom("cannot unmarshal a scalar into []string"));
        }
        Ok(value)
    }
}

/// Types a plain scalar that this reader takes for a string and OPA's doesn't: octal numbers with a
/// leading zero, digits grouped by `_`, timestamps.
fn resolve(text: &str) -> Value {
    if !text.starts_with(|it: char| it.is_ascii_digit() || it == '+' || it == '-') {
        return Value::from(text);
    }
    if let Some(time) = timestamp(text) {
        return Value::from(time);
    }
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match (lower.get(..2), lower.get(2..)) {
        (Some("0x"), Some(rest)) => (16, rest),
        (Some("0o"), Some(rest)) => (8, rest),
        (Some("0b"), Some(rest)) => (2, rest),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..).unwrap_or_default()),
        _ => (10, lower.as_str()),
    };
    if let Ok(number) = i64::from_str_radix(digits, radix) {
        return Value::from(if negative { -number } else { number });
    }
    let float = plain
        .bytes()
        .all(|it| it.is_ascii_digit() || matches!(it, b'.' | b'e' | b'E' | b'+' | b'-'));
    match plain.parse::<f64>() {
        Ok(number) if float => Value::Number(Number::from(number)),
        _ => Value::from(text),
    }
}

/// Returns a timestamp in the form that JSON has for it, if a plain scalar is one.
fn timestamp(text: &str) -> Option<String> {
    let (year, rest) = text.split_once('-').filter(|(year, _)| year.len() == 4)?;
    let (month, rest) = rest.split_once('-')?;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    let (day, rest) = rest.split_at_checked(end)?;
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        (digits.contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())?
    };
    let date = chrono::NaiveDate::from_ymd_opt(
        i32::try_from(number(year, 4..=4)?).ok()?,
        number(month, 1..=2)?,
        number(day, 1..=2)?,
    )?;
    let (time, zone) = match rest.split_at_checked(1) {
        None => ("0:0:0", "Z"),
        Some((" ", time)) => (time, "Z"),
        Some(("T" | "t", time)) => time.split_at_checked(time.find(['Z', '+', '-'])?)?,
        Some(_) => return None,
    };
    let mut parts = time.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
    let whole = rest.is_empty();
    let hour = number(hour, if whole { 1..=2 } else { 2..=2 })?;
    let (minute, second) = (number(minute, 1..=2)?, number(second, 1..=2)?);
    let fraction = fraction.get(..fraction.len().min(9))?;
    if parts.next().is_some()
        || hour > 23
        || minute > 59
        || second > 59
        || !fraction.bytes().all(|it| it.is_ascii_digit())
    {
        return None;
    }
    let zone_is_fine = zone == "Z"
        || matches!(zone.split_at_checked(1), Some(("+" | "-", offset)) if offset.len() == 5
            && offset.split_once(':').is_some_and(|(hours, minutes)| number(hours, 2..=2).is_some_and(|it| it < 24) && number(minutes, 2..=2).is_some_and(|it| it < 60)));
    if !zone_is_fine {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    let zone = if zone.ends_with("00:00") { "Z" } else { zone };
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{dot}{fraction}{zone}"))
}
