//! JSON from the service, parsed straight into policy values.
//!
//! Owns the rules of what is accepted as a value: documented fields in either casing, defaults
//! within rows, exact integers, no duplicate keys. Knows no envelopes; those belong to `page`,
//! `operations` and the functions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use crate::rego::Value;
use chrono::DateTime;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::envelope::refuse_misspelt;
use super::repeated::Repeated;
use super::row_layout::{RowLayout, default};
use crate::resources::types::{Field, Type};
use crate::text::shorten;

/// The most items of a documented list: each takes much more memory than its text.
const MAX_ITEMS: usize = 1_000_000;

/// Reads a value of a documented type; null is read as the type's default.
#[derive(Clone, Copy)]
pub(crate) struct Typed<'a> {
    pub ty: &'a Type,
    /// The field's name, for messages.
    pub name: &'a str,
    /// The strings shared between the rows of a list.
    pub repeated: Option<&'a Repeated>,
}

/// Reads a field that may be absent: null is read as absent.
struct Optional<'a>(Typed<'a>);

impl<'de> DeserializeSeed<'de> for Optional<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Optional<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

impl<'de> DeserializeSeed<'de> for Typed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Typed<'_> {
    /// Returns `text` as a string of a value.
    fn string(self, text: &str) -> Value {
        self.repeated.map_or_else(|| Value::from(text), |repeated| repeated.text(text).into())
    }

    fn unexpected<E: serde::de::Error>(self, what: serde::de::Unexpected<'_>) -> E {
        E::invalid_type(what, &self)
    }

    fn text(self, text: &str) -> Result<Value, String> {
        match self.ty {
            Type::Any | Type::String | Type::Digest | Type::Uuid => Ok(self.string(text)),
            Type::Timestamp => {
                if text.is_empty() || DateTime::parse_from_rfc3339(text).is_ok() {
                    Ok(self.string(text))
                } else {
                    let shown = shorten(text, 40);
                    Err(format!("`{shown}` in `{}` isn't a valid RFC 3339 timestamp", self.name))
                }
            }
            Type::Integer => integer(text).ok_or_else(|| {
                let shown = shorten(text, 40);
                format!("`{shown}` in `{}` isn't a whole number of 64 bits", self.name)
            }),
            Type::Count if integer(text).is_some() => Ok(self.string(text)),
            Type::Count => {
                let shown = shorten(text, 40);
                Err(format!("`{shown}` in `{}` isn't a whole number of 64 bits", self.name))
            }
            _ => Err(String::new()),
        }
    }
}

/// Reads a whole number of 64 bits from text in its canonical form.
fn integer(text: &str) -> Option<Value> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits == "0" || !digits.starts_with('0');
    if !canonical || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from)).ok()
}

impl<'de> Visitor<'de> for Typed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`", self.ty, self.name)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(default(self.ty))
    }

    fn visit_bool<E: serde::de::Error>(self, v: bool) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::Boolean => Ok(Value::Bool(v)),
            _ => Err(self.unexpected(serde::de::Unexpected::Bool(v))),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::Integer | Type::Number => Ok(Value::from(v)),
            Type::Count => Ok(Value::from(v.to_string())),
            _ => Err(self.unexpected(serde::de::Unexpected::Signed(v))),
        }
    }

    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Value, E> {
        match self.ty {
            Type::Any | Type::Integer | Type::Number => Ok(Value::from(v)),
            Type::Count => Ok(Value::from(v.to_string())),
            _ => Err(self.unexpected(serde::de::Unexpected::Unsigned(v))),
        }
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        // An integer beyond 64 bits has already been rounded here: it is refused, not approximated.
        if v.fract() == 0.0 && v.abs() >= 9_007_199_254_740_992.0 {
            return Err(E::custom(format!("a number in `{}` is beyond 64 bits", self.name)));
        }
        match self.ty {
            Type::Any | Type::Number => Ok(Value::from(v)),
            #[allow(clippy::cast_possible_truncation)]
            Type::Integer if v.fract() == 0.0 => Ok(Value::from(v as i64)),
            #[allow(clippy::cast_possible_truncation)]
            Type::Count if v.fract() == 0.0 => Ok(Value::from((v as i64).to_string())),
            _ => Err(self.unexpected(serde::de::Unexpected::Float(v))),
        }
    }

    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Value, E> {
        self.text(v).map_err(|why| {
            if why.is_empty() {
                self.unexpected(serde::de::Unexpected::Other("a string"))
            } else {
                E::custom(why)
            }
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let ty = match self.ty {
            Type::Any => &Type::Any,
            Type::Array(of) => *of,
            _ => return Err(self.unexpected(serde::de::Unexpected::Seq)),
        };
        let mut items = Vec::new();
        let typed = Typed { ty, ..self };
        // Fields may be left out; an element that says nothing isn't one.
        if matches!(ty, Type::Any) {
            while let Some(item) = seq.next_element_seed(typed)? {
                items.push(item);
            }
        } else {
            while let Some(item) = seq.next_element_seed(Optional(typed))? {
                let null = || serde::de::Error::custom(format!("`{}` has a null", self.name));
                items.push(item.ok_or_else(null)?);
                if items.len() > MAX_ITEMS {
                    let message = format!("`{}` has more than {MAX_ITEMS} items", self.name);
                    return Err(serde::de::Error::custom(message));
                }
            }
        }
        Ok(Value::from(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let ty = match self.ty {
            Type::Any => &Type::Any,
            Type::Map(of) => *of,
            Type::Object(fields) => {
                return Row { fields, name: self.name, repeated: self.repeated }.visit_map(map);
            }
            _ => return Err(self.unexpected(serde::de::Unexpected::Map)),
        };
        let mut object = BTreeMap::new();
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            let typed = Typed { ty, name: &key, repeated: self.repeated };
            let value = map.next_value_seed(typed)?;
            insert(&mut object, self.string(&key), value)?;
        }
        Ok(Value::from(object))
    }
}

fn insert<E: serde::de::Error>(
    object: &mut BTreeMap<Value, Value>,
    key: Value,
    value: Value,
) -> Result<(), E> {
    match object.entry(key) {
        Entry::Vacant(free) => {
            free.insert(value);
            Ok(())
        }
        Entry::Occupied(taken) => {
            let key = taken.key().as_str().unwrap_or_default();
            Err(E::custom(format!("the key `{}` appears twice", shorten(key, 80))))
        }
    }
}

/// Reads an object with documented fields: keys in either casing become the documented ones, and
/// absent fields their defaults. Other fields are kept as they are.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub fields: &'static [Field],
    /// The list's or object's name, for messages.
    pub name: &'a str,
    /// The strings shared between the rows of a list.
    pub repeated: Option<&'a Repeated>,
}

impl<'a> Row<'a> {
    /// A row that shares no strings.
    pub const fn new(fields: &'static [Field], name: &'a str) -> Self {
        Self { fields, name, repeated: None }
    }
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object in `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let layout = RowLayout::of(self.fields);
        let mut slots = layout.slots();
        let mut others = BTreeMap::new();
        let mut before = 0;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            let known = layout.find(&key, before);
            if let Some(at) = known
                && let (Some(field), Some(slot)) = (self.fields.get(at), slots.get_mut(at))
            {
                before = at + 1;
                let (ty, repeated) = (&field.ty, self.repeated);
                let typed = Typed { ty, name: field.name, repeated };
                let value = if field.required {
                    Some(map.next_value_seed(typed)?)
                } else {
                    map.next_value_seed(Optional(typed))?
                };
                slot.fill(field.name, &key, value).map_err(serde::de::Error::custom)?;
            } else {
                let documented = self.fields.iter().map(|field| field.name);
                refuse_misspelt(documented, &key).map_err(serde::de::Error::custom)?;
                let typed = Typed { ty: &Type::Any, name: &key, repeated: self.repeated };
                let value = map.next_value_seed(typed)?;
                insert(&mut others, typed.string(&key), value)?;
            }
        }
        let mut object = layout.object(slots);
        object.append(&mut others);
        Ok(Value::from(object))
    }
}

/// An object's key, borrowed from the text if it has no escapes.
struct Key<'de>(std::borrow::Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(v.into()))
            }
            fn visit_str<E>(self, v: &str) -> Result<Key<'de>, E> {
                Ok(Key(v.to_owned().into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;
    use crate::resources::types::same_name;

    static FIELDS: &[Field] = &[
        Field::required("createdAt", Type::Timestamp, ""),
        Field::required("kind", Type::String, ""),
        Field::required("revision", Type::Integer, ""),
        Field::required("public", Type::Boolean, ""),
        Field::required("annotations", Type::Map(&Type::String), ""),
        Field::optional("subject_name", Type::String, ""),
        Field::optional("names", Type::Array(&Type::String), ""),
    ];

    fn row(text: &str) -> Result<String, String> {
        let mut de = serde_json::Deserializer::from_str(text);
        Row::new(FIELDS, "row").deserialize(&mut de).map(|v| v.to_json()).map_err(|e| e.to_string())
    }

    fn both(text: &str) -> serde_json::Value {
        serde_json::from_str(&row(text).unwrap()).unwrap()
    }

    #[test]
    fn a_row_is_complete_in_the_documented_spelling() {
        let full = both(r#"{"created_at":"2026-01-02T03:04:05Z","subjectName":"x","more":[1]}"#);
        let expected = serde_json::json!({
            "createdAt": "2026-01-02T03:04:05Z", "kind": "", "revision": 0, "public": false,
            "annotations": {}, "subject_name": "x", "more": [1],
        });
        assert_eq!(full, expected);
        assert_eq!(both(r#"{"kind":null}"#)["kind"], "");
    }

    #[test]
    fn integers_are_exact_to_64_bits() {
        for (given, seen) in [
            ("18446744073709551615", "18446744073709551615"),
            ("\"-9223372036854775808\"", "-9223372036854775808"),
            ("\"18446744073709551615\"", "18446744073709551615"),
            ("3.0", "3"),
        ] {
            assert_eq!(both(&format!(r#"{{"revision":{given}}}"#))["revision"].to_string(), seen);
        }
        for bad in [
            "18446744073709551616",
            "\"18446744073709551616\"",
            "1.5",
            "\"\"",
            "\"01\"",
            "\"+1\"",
            "\"1e3\"",
            "true",
            "[]",
            "1e300",
        ] {
            assert!(row(&format!(r#"{{"revision":{bad}}}"#)).is_err(), "{bad}");
            assert!(row(&format!(r#"{{"other":{}}}"#, "18446744073709551616")).is_err());
        }
    }

    #[test]
    fn wrong_types_are_refused() {
        for bad in [
            "[]",
            "7",
            r#""x""#,
            r#"{"kind":7}"#,
            r#"{"kind":[]}"#,
            r#"{"public":"true"}"#,
            r#"{"annotations":[]}"#,
            r#"{"Kind":"a"}"#,
            r#"{"kind":"a","KIND":"b"}"#,
            r#"{"created-at":""}"#,
            r#"{"createdat":""}"#,
            r#"{"names":[null]}"#,
            r#"{"annotations":{"a":1}}"#,
            r#"{"createdAt":"yesterday"}"#,
            r#"{"kind":"a","kind":"a"}"#,
            r#"{"x":{"a":1,"a":1}}"#,
            r#"{"createdAt":"2026-01-02T03:04:05Z","created_at":"2027-01-02T03:04:05Z"}"#,
            r#"{"created_at":"2026-01-02T03:04:05Z","created_at":"2026-01-02T03:04:05Z"}"#,
        ] {
            assert!(row(bad).is_err(), "{bad}");
        }
        let same = r#"{"createdAt":"2026-01-02T03:04:05Z","created_at":"2026-01-02T03:04:05Z"}"#;
        assert!(row(same).is_ok());
    }

    #[test]
    fn names_match_in_either_casing_only() {
        assert!(same_name("createdAt", "created_at"));
        assert!(same_name("workflow_run_id", "workflowRunId"));
        assert!(!same_name("createdAt", "createdat"));
        assert!(!same_name("createdAt", "_created_at"));
        assert!(!same_name("kind", "Kind"));
    }
}
