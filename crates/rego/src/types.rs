//! Types: the type checker's static knowledge about terms, rules and functions.
//!
//! Owns the types of OPA's checker with their order, union and wording, the signatures of built-in
//! functions, the types that schemas define, the environment of known types, and the checker.
//!
//! # Signatures
//!
//! A built-in's signature is its argument types, an arrow, and its result:
//!
//! ```text
//! string, array[string] -> string       two arguments
//! -> number                             no argument
//! any... ->                             any number of arguments, no result (`print`)
//! number | set[any] -> number           a union in place of one type
//! ```
//!
//! | Written | Type |
//! |---|---|
//! | `any`, `null`, `boolean`, `number`, `string` | the type itself |
//! | `array[T]` | an array of any length, each element a `T` |
//! | `array<T, U>` | an array of exactly these elements |
//! | `array<T>[U]` | these elements, then any number of `U` |
//! | `set[T]` | a set of `T` |
//! | `object[K: V]` | an object of any number of members |
//! | `object<a: T, b: U>` | an object of exactly these members, whose names aren't quoted |
//! | `object<a: T>[K: V]` | these members, then any number of others |
//! | `T \| U` | either; binds weaker than all of the above and stronger than `,` |
//! | `any<T, U>`, `any<T>` | the same as `T \| U`; of a single type only this way |
//!
//! Spaces are allowed everywhere and required nowhere. There are no parentheses: brackets and `<>`
//! delimit. Errors show types in the same words, and the `Display` output of a [`Type`] can be
//! parsed again.

mod check;
mod env;
mod overlap;
mod refs;
mod schema;
#[cfg(test)]
mod schema_tests;
mod signature;
pub mod terms;
mod ty;
mod unify;
mod wording;

pub use check::{Checker, Declared, TypedRule, arity_mismatch};
pub use env::TypeEnv;
pub use schema::{Schemas, schema_type};
pub use signature::SignatureError;
pub use ty::{Array, Dynamic, Function, Object, Property, Type};

/// Formats a key or a constant for messages.
pub(crate) fn shown_key(value: &super::value::Value) -> String {
    ty::DisplayKey(value).to_string()
}
