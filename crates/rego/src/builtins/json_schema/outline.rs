//! The outline of a schema that the type checker sees.
//!
//! Owns selecting the rules that determine the types of values. Deriving types from them is up to
//! the type checker.

use super::super::{Bounded, Context};
use super::schema::{Patterns, Rules, Schema};
use crate::value::Value;

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
    pub properties: Vec<(String, usize)>,
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
    let context = Bounded::new(MAX_BYTES, "the schema is too large", None);
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
