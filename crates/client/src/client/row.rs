//! JSON from the service, parsed straight into policy values.
//!
//! Owns the reading of objects: documented fields in either casing and at most once, defaults within
//! rows, exact integers. The documented types are checked by `validate`'s rules as they are read.
//! Knows no envelopes; those belong to `page`.

use std::fmt;

use rego::Value;
use rego::value::Object;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::repeated::Repeated;
use super::row_layout::{RowLayout, default};
use crate::resources::scalars::Undocumented;
use crate::resources::types::{Field, Type};
use crate::resources::validate::scalar;
use crate::text::shorten;

/// The maximum number of items of a documented list. Each takes much more memory than its text.
const MAX_ITEMS: usize = 1_000_000;

/// Reads a value of a documented type; null is read as the type's default.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
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
        if !matches!(self.ty, Type::Any) {
            return deserializer.deserialize_any(self);
        }
        // Whatever it is, it is kept as the service wrote it.
        let Undocumented(value) = Undocumented::deserialize(deserializer)?;
        Ok(value.as_str().map(|text| self.string(text)).unwrap_or(value))
    }
}

impl Typed<'_> {
    /// Returns `text` as a string of a value.
    fn string(self, text: &str) -> Value {
        self.repeated.map_or_else(|| Value::from(text), |repeated| repeated.text(text).into())
    }

    fn scalar<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        scalar(*self.ty, value).map_err(|value| {
            let (shown, name) = (shorten(&value.to_json(), 40), self.name);
            E::custom(format!("invalid {} in `{name}`: {shown}", self.ty))
        })
    }

    fn unexpected<E: serde::de::Error>(self, what: serde::de::Unexpected<'_>) -> E {
        E::invalid_type(what, &self)
    }
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
        self.scalar(Value::Bool(v))
    }

    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Value, E> {
        self.scalar(Value::from(v))
    }

    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Value, E> {
        self.scalar(Value::from(v))
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        // An integer beyond 64 bits has already been rounded here: it is refused, not approximated.
        if v.fract() == 0.0 && v.abs() >= 9_007_199_254_740_992.0 {
            return Err(E::custom(format!("number exceeds 64 bits in `{}`", self.name)));
        }
        self.scalar(Value::from(v))
    }

    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Value, E> {
        self.scalar(self.string(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Type::Array(ty) = *self.ty else {
            return Err(self.unexpected(serde::de::Unexpected::Seq));
        };
        let mut items = Vec::new();
        let typed = Typed { ty, ..self };
        // Fields may be left out; an element that says nothing isn't one.
        while let Some(item) = seq.next_element_seed(Optional(typed))? {
            let null = || serde::de::Error::custom(format!("null element in `{}`", self.name));
            items.push(item.ok_or_else(null)?);
            if items.len() > MAX_ITEMS {
                let message =
                    format!("too many items in `{}`: the limit is {MAX_ITEMS}", self.name);
                return Err(serde::de::Error::custom(message));
            }
        }
        Ok(Value::from(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let ty = match self.ty {
            Type::Map(of) => *of,
            Type::Object(fields) => {
                return Row { fields, name: self.name, repeated: self.repeated }.visit_map(map);
            }
            _ => return Err(self.unexpected(serde::de::Unexpected::Map)),
        };
        let mut object = Object::new();
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            let typed = Typed { ty, name: &key, repeated: self.repeated };
            let value = map.next_value_seed(typed)?;
            object.insert(self.string(&key), value);
        }
        Ok(Value::from(object))
    }
}

/// Reads an object with documented fields: keys in either casing become the documented ones, and
/// absent fields their defaults. Other fields are kept as they are.
#[derive(Clone, Copy)]
pub struct Row<'a> {
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
        let mut others = Object::new();
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
                let typed = Typed { ty: &Type::Any, name: &key, repeated: self.repeated };
                let value = map.next_value_seed(typed)?;
                others.insert(typed.string(&key), value);
            }
        }
        let mut object = layout.object(slots);
        object.extend(others);
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
    fn wrong_types_are_refused() {
        for bad in [
            "[]",
            "7",
            r#""x""#,
            r#"{"kind":7}"#,
            r#"{"kind":[]}"#,
            r#"{"public":"true"}"#,
            r#"{"annotations":[]}"#,
            r#"{"names":[null]}"#,
            r#"{"annotations":{"a":1}}"#,
            r#"{"createdAt":"yesterday"}"#,
            r#"{"revision":1.5}"#,
            r#"{"kind":"a","kind":"a"}"#,
            r#"{"createdAt":"2026-01-02T03:04:05Z","created_at":"2027-01-02T03:04:05Z"}"#,
            r#"{"created_at":"2026-01-02T03:04:05Z","created_at":"2026-01-02T03:04:05Z"}"#,
        ] {
            assert!(row(bad).is_err(), "{bad}");
        }
        for right in [
            r#"{"createdAt":"2026-01-02T03:04:05Z","created_at":"2026-01-02T03:04:05Z"}"#,
            r#"{"Kind":"a","created-at":"","createdat":7,"x":{"a":1,"a":1},"revision":"7"}"#,
        ] {
            assert!(row(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn what_isnt_documented_is_kept_as_it_is() {
        for other in
            ["18446744073709551616", "9007199254740993.0", "1e400", "[1e20]", "0.1", "null"]
        {
            assert!(
                row(&format!(r#"{{"other":{other}}}"#))
                    .unwrap()
                    .contains(&format!(r#""other":{other}"#)),
                "{other}"
            );
        }
        assert!(row(r#"{"other":"\ud800"}"#).unwrap().contains("\"other\":\"\u{fffd}\""));
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
