//! Rego: the language, and nothing of the service.
//!
//! Owns everything that decides what a policy means: its syntax, OPA's compile stages, the plan of
//! an evaluation, the machine that runs it, the built-in functions. The reference is OPA 1.22.2.
//! Data flows one way: `syntax` → `compile` → `core` → `engine`; `value` is below all of them, and
//! `builtins` knows values only.

pub mod annotations;
pub mod builtins;
pub mod compile;
pub mod core;
pub mod engine;
pub mod index;
pub mod problem;
pub mod program;
pub mod syntax;
pub mod types;
pub mod value;

pub use value::Value;
