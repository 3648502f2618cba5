//! Policy documents, and groups of them.
//!
//! Owns their formats: what they declare, the modules and documents to which they refer, and the arguments
//! that they give. Loading their policies belongs to `load`, the inputs for which these are to `materials`.

mod fetch;
mod fields;
mod group;
mod inputs;
mod material;
mod modules;
mod place;
mod policy;
mod template;

pub(crate) use fields::typed_as;
pub(crate) use group::PolicyGroup;
pub(crate) use group::parse as parse_group;
pub(crate) use material::Material;
pub(crate) use modules::Elsewhere;
pub(crate) use place::Place;
pub(crate) use policy::parse as parse_policy;
pub(crate) use policy::{PolicyDocument, PolicyEntry};
