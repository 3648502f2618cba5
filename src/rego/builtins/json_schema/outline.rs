//! What the type checker sees of a schema.
//!
//! Owns the part of a schema's rules that says what types values have. What follows from it is the
//! type checker's.

use std::cell::Cell;

use super::super::{Answer, Cache, Code, Context, Error};
use super::schema::{Patterns, Rules, Schema};
use crate::rego::value::Value;

/// A schema's outline: sketches that refer to each other by their places.
pub(crate) struct Outline {
    pub sketches: Vec<Sketch>,
    pub root: usize,
}

/// What one schema says of types.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sketch {
    /// The schema that this one refers to.
    pub reference: Option<usize>,
    /// The names in `type`.
    pub types: Vec<&'static str>,
    /// `properties`
    pub properties: Vec<(String, usize)>,
    /// `items`
    pub items: Vec<usize>,
    /// `items` is one schema for all of them.
    pub items_for_all: bool,
    /// `anyOf`
    pub any_of: Vec<usize>,
    /// `allOf`
    pub all_of: Vec<usize>,
}

impl From<Rules> for Sketch {
    fn from(rules: Rules) -> Self {
        Self {
            reference: rules.reference,
            types: rules.types,
            properties: rules.properties,
            items: rules.items,
            items_for_all: rules.items_for_all,
            any_of: rules.any_of,
            all_of: rules.all_of,
        }
    }
}

/// The outline of a schema.
///
/// # Errors
/// What is wrong with the schema, in OPA's words; a reference to a document that would have to be
/// fetched among it.
pub(crate) fn outline(document: &Value) -> Result<Outline, String> {
    let reading = Reading { left: Cell::new(MOST), cache: Cache::default() };
    let document = reading
        .charge(document.size().saturating_mul(2))
        .and_then(|()| Schema::read(&reading, document, Patterns::Ignored))
        .map_err(|error| error.message.into_owned())?;
    Ok(Outline {
        root: document.root,
        sketches: document.rules.into_iter().map(Sketch::from).collect(),
    })
}

/// Bytes that a schema may take, about.
const MOST: u64 = 256 << 20;

/// What reading sees outside of an evaluation: a bound for memory.
struct Reading {
    left: Cell<u64>,
    cache: Cache,
}

impl Context for Reading {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self, _: &str) -> u64 {
        0
    }

    fn charge(&self, bytes: u64) -> Result<(), Error> {
        let left = self.left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| Error::halt(Code::Limit, "the schema is too large"))?;
        self.left.set(left);
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn runtime(&self) -> Value {
        Value::new_object()
    }

    fn http_send(&self, _: &Value) -> Answer {
        Ok(None)
    }

    fn lookup_host(&self, _: &str) -> Answer {
        Ok(None)
    }
}
