//! The outline of a schema that the type checker sees.
//!
//! Owns selecting the rules that determine the types of values. Deriving types from them is up to
//! the type checker.

use std::cell::Cell;

use super::super::{Answer, Cache, Code, Context, Error};
use super::schema::{Patterns, Rules, Schema};
use crate::rego::value::Value;

/// The outline of a schema: sketches that refer to each other by index.
pub(crate) struct Outline {
    pub sketches: Vec<Sketch>,
    pub root: usize,
}

/// The type information in a single schema.
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
    /// `true` if `items` is a single schema that applies to all items.
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

/// Returns the outline of a schema.
///
/// # Errors
/// Returns a description of the schema's problem in OPA's words, including a reference to a
/// document that would have to be fetched.
pub(crate) fn outline(document: &Value) -> Result<Outline, String> {
    let context = OutlineContext { left: Cell::new(MAX_BYTES), cache: Cache::default() };
    let document = context
        .charge(document.size().saturating_mul(2))
        .and_then(|()| Schema::read(&context, document, Patterns::Ignored))
        .map_err(|error| error.message.into_owned())?;
    Ok(Outline {
        root: document.root,
        sketches: document.rules.into_iter().map(Sketch::from).collect(),
    })
}

/// The approximate memory limit for a schema, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The context for reading a schema outside an evaluation, with a limit on memory.
struct OutlineContext {
    left: Cell<u64>,
    cache: Cache,
}

impl Context for OutlineContext {
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
