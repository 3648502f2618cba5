//! The spelling of JSON answers: camel or snake case, defaults written or left out.
//!
//! Both spellings are met in the wild, and so are both habits; owns nothing else.

use serde_json::{Map, Value};

/// How an answer's keys are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Casing {
    /// `createdAt`.
    Camel,
    /// `created_at`.
    Snake,
}

/// How answers are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub casing: Casing,
    /// Leaves out fields that have their type's default, as proto3 JSON may.
    pub omit_defaults: bool,
}

impl Shape {
    /// An object of fields that are given in snake case; what is inside them stays as it is.
    pub fn object(self, fields: Vec<(&str, Value)>) -> Value {
        let fields =
            fields.into_iter().filter(|(_, value)| !self.omit_defaults || !is_default(value));
        Value::Object(fields.map(|(key, value)| (self.key(key), value)).collect::<Map<_, _>>())
    }

    fn key(self, snake: &str) -> String {
        match self.casing {
            Casing::Snake => snake.to_owned(),
            Casing::Camel => {
                let mut words = snake.split('_');
                let mut key = words.next().unwrap_or_default().to_owned();
                for word in words {
                    let mut chars = word.chars();
                    key.extend(chars.next().map(|c| c.to_ascii_uppercase()));
                    key.push_str(chars.as_str());
                }
                key
            }
        }
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_i64() == Some(0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.is_empty(),
    }
}
