//! Schemas of all resources of interface section 2 and of all responses, as tables of fields.
//!
//! Owns the types, the check of data files against them, and their casing in an answer. The
//! specification is generated from the same tables. Shares nothing with the client.

/// Defines the schemas of objects and of whole responses: their names, the sections of the interface that
/// describe them, and their fields.
macro_rules! schema {
    ($($(#[$meta:meta])* $kind:ident $constant:ident $name:literal $section:literal {
        $($field:ident: $of:expr),* $(,)?
    })*) => { $(
        $(#[$meta])*
        pub(crate) static $constant: $crate::schema::Resource =
            $crate::schema::Resource::$kind($name, $section, &[$((stringify!($field), $of)),*]);
    )* };
}

mod answers;
mod compliance;
mod resources;

use serde_json::{Map, Value};

use super::scalars::Timestamp;
use super::style::JsonStyle;

pub(crate) use answers::*;
pub(crate) use compliance::*;
pub(crate) use resources::*;

/// The type of a field.
pub(super) enum Type {
    Text,
    /// RFC 3339.
    Time,
    /// A boolean.
    Flag,
    /// A whole number of 32 bits.
    Int,
    Number,
    /// One of an open set of names, with its default.
    Choice(&'static str),
    /// An object of texts, with any keys.
    Texts,
    /// An object of objects, with any keys.
    Keyed(&'static Resource),
    List(&'static Type),
    Of(&'static Resource),
    /// An object, as the data has it.
    Any,
    /// The paging of a list: a [`CURSOR`] or a [`PAGINATION`].
    Pages,
}

/// The schema of an object.
pub(super) struct Resource {
    pub name: &'static str,
    /// The section of the interface that describes it.
    pub section: &'static str,
    pub fields: &'static [(&'static str, Type)],
    /// `true` for a whole response, whose identifying fields are never left out.
    pub envelope: bool,
}

impl Resource {
    const fn object(
        name: &'static str,
        section: &'static str,
        fields: &'static [(&'static str, Type)],
    ) -> Self {
        Self { name, section, fields, envelope: false }
    }

    const fn answer(
        name: &'static str,
        section: &'static str,
        fields: &'static [(&'static str, Type)],
    ) -> Self {
        Self { name, section, fields, envelope: true }
    }

    fn field(&self, name: &str) -> Option<&'static Type> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, of)| of)
    }

    /// Returns the fields that a response never leaves out: its messages, or else all fields. Without them a
    /// list could not be recognized.
    pub fn kept(&self) -> impl Iterator<Item = &'static str> {
        let message = |of: &Type| matches!(of, Type::Of(_) | Type::Pages);
        let messages = self.fields.iter().any(|(_, of)| message(of));
        let envelope = self.envelope;
        let kept = self.fields.iter().filter(move |(_, of)| envelope && (!messages || message(of)));
        kept.map(|(key, _)| *key)
    }

    /// Checks `value` against the schema. An error has the field as a data file writes it, and the
    /// reason.
    pub fn check(&self, value: &Value) -> Result<(), (String, String)> {
        let Value::Object(fields) = value else {
            return Err((String::new(), format!("expected an object of the type {}", self.name)));
        };
        for (key, value) in fields {
            let Some(of) = self.field(key) else {
                return Err((key.clone(), format!("unknown field of {}: `{key}`", self.name)));
            };
            of.check(key, value)?;
        }
        Ok(())
    }

    /// Returns `value`, whose keys are those of the table, in the given style.
    ///
    /// A message that is set is kept even if it is empty, as in proto3 JSON.
    pub fn spell(&self, style: JsonStyle, value: Value) -> Value {
        let Value::Object(fields) = value else { return value };
        let mut spelt = Map::new();
        for (key, value) in fields {
            let of = self.field(&key);
            let value = of.map_or(Value::Null, |of| of.spell(style, value));
            let omitted = style.omit_defaults && !self.kept().any(|kept| kept == key);
            if value.is_null() || (omitted && of.is_some_and(|of| of.is_default(&value))) {
                continue;
            }
            spelt.insert(style.key(&key), value);
        }
        Value::Object(spelt)
    }
}

impl Type {
    fn check(&self, key: &str, value: &Value) -> Result<(), (String, String)> {
        let unexpected_type = |what: &str| {
            let place = match value {
                Value::String(text) => format!("{key}: {text}"),
                Value::Bool(_) | Value::Number(_) => format!("{key}: {value}"),
                _ => key.to_owned(),
            };
            Err((place, format!("unexpected type of `{key}`: expected {what}")))
        };
        match (self, value) {
            (Self::Text | Self::Choice(_), Value::String(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Number, Value::Number(_)) => Ok(()),
            (Self::Int, Value::Number(number))
                if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) =>
            {
                Ok(())
            }
            (Self::Time, Value::String(text)) if Timestamp::parse(text).is_some() => Ok(()),
            (Self::Of(resource), value @ Value::Object(_)) => resource.check(value),
            (Self::List(of), Value::Array(items)) => {
                items.iter().try_for_each(|item| of.check(key, item))
            }
            (Self::Any, Value::Object(_)) => Ok(()),
            (Self::Texts, Value::Object(map)) if map.values().all(Value::is_string) => Ok(()),
            (Self::Keyed(resource), Value::Object(map)) => {
                map.values().try_for_each(|value| resource.check(value))
            }
            (Self::Text | Self::Choice(_), _) => unexpected_type("a string"),
            (Self::Time, _) => unexpected_type("a time such as `2026-03-01T09:00:00Z`"),
            (Self::Flag, _) => unexpected_type("`true` or `false`"),
            (Self::Int, _) => unexpected_type("a whole number of 32 bits"),
            (Self::Number, _) => unexpected_type("a number"),
            (Self::Texts, _) => unexpected_type("an object of strings"),
            (Self::Keyed(_) | Self::Of(_) | Self::Any | Self::Pages, _) => {
                unexpected_type("an object")
            }
            (Self::List(_), _) => unexpected_type("a list"),
        }
    }

    fn spell(&self, style: JsonStyle, value: Value) -> Value {
        match (self, value) {
            (Self::Of(resource), value) => resource.spell(style, value),
            (Self::Pages, value) if value.get("next_cursor").is_some() => {
                CURSOR.spell(style, value)
            }
            (Self::Pages, value) => PAGINATION.spell(style, value),
            (Self::List(of), Value::Array(items)) => {
                items.into_iter().map(|item| of.spell(style, item)).collect()
            }
            (Self::Keyed(resource), Value::Object(map)) => {
                let spelt = map.into_iter().map(|(key, value)| (key, resource.spell(style, value)));
                Value::Object(spelt.collect())
            }
            (_, value) => value,
        }
    }

    fn is_default(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Choice(default), Value::String(text)) => text.is_empty() || text == default,
            (_, Value::Bool(value)) => !value,
            (_, Value::Number(value)) => value.as_f64() == Some(0.0),
            (_, Value::String(value)) => value.is_empty(),
            (_, Value::Array(value)) => value.is_empty(),
            (Self::Texts | Self::Keyed(_), Value::Object(value)) => value.is_empty(),
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::style::Casing;
    use super::*;

    const PROTO: JsonStyle = JsonStyle { casing: Casing::Camel, omit_defaults: true };

    #[test]
    fn keys_of_fields_change_their_casing_and_keys_of_maps_do_not() {
        let workflow = json!({ "workflow_template_id": "a", "inputs": { "a_b": "" } });
        let spelt = json!({ "workflowTemplateId": "a", "inputs": { "a_b": "" } });
        assert_eq!(WORKFLOW.spell(PROTO, workflow), spelt);
        let scores = json!({ "scores": { "in_scope": { "value": 0.5, "abstained": false } } });
        let spelt = json!({ "scores": { "in_scope": { "value": 0.5 } } });
        assert_eq!(CONFIDENCE_BREAKDOWN.spell(PROTO, scores), spelt);
    }

    #[test]
    fn defaults_are_left_out_and_envelopes_stay_recognizable() {
        let list = json!({ "results": [], "pagination": { "next_cursor": "" } });
        assert_eq!(EVIDENCE_LIST.spell(PROTO, list), json!({ "pagination": {} }));
        let list = json!({ "frameworks": [] });
        assert_eq!(PRODUCT_COMPLIANCE.spell(PROTO, list.clone()), list);
        let product = json!({ "name": "a", "latest_version": { "frameworks": [],
            "status": "VERSION_STATUS_UNSPECIFIED" } });
        let spelt = json!({ "name": "a", "latestVersion": {} });
        assert_eq!(PRODUCT.spell(PROTO, product), spelt);
    }

    #[test]
    fn a_field_that_does_not_match_is_named() {
        let check = |value: Value| SUBMISSION.check(&value).unwrap_err();
        assert_eq!(check(json!({ "urls": "" })).1, "unknown field of Submission: `urls`");
        assert!(
            check(json!({ "url": 1 })).1.contains("unexpected type of `url`: expected a string")
        );
        assert!(check(json!({ "created_at": "today" })).1.contains("`created_at`"));
        assert_eq!(check(json!({ "file_upload": { "size_bytes": 1 } })).0, "size_bytes: 1");
        assert!(check(json!([])).1.contains("an object"));
        let fine = json!({ "user": { "id": "1" }, "approval_status": "WHATEVER" });
        assert_eq!(SUBMISSION.check(&fine), Ok(()));
    }
}
