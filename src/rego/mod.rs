//! Rego: the language, and nothing of the service.
//!
//! Owns everything that decides what a policy means: its syntax, OPA's compile stages, the plan of
//! an evaluation, the machine that runs it, the built-in functions. The reference is OPA 1.22.2.
//! Data flows one way: `syntax` → `compile` → `core` → `engine`; `value` is below all of them, and
//! `builtins` knows values only.

#![allow(
    clippy::assigning_clones,
    clippy::double_ended_iterator_last,
    clippy::elidable_lifetime_names,
    clippy::filter_map_bool_then,
    clippy::format_collect,
    clippy::let_and_return,
    clippy::manual_let_else,
    clippy::map_entry,
    clippy::missing_errors_doc,
    clippy::naive_bytecount,
    clippy::needless_for_each,
    clippy::nonminimal_bool,
    clippy::return_self_not_must_use,
    clippy::semicolon_if_nothing_returned,
    clippy::struct_field_names,
    clippy::unnecessary_fold,
    clippy::unnested_or_patterns,
    clippy::unused_self,
    reason = "matters of taste, on which these rooms agree among themselves"
)]

pub mod annotations;
pub mod builtins;
pub mod compile;
pub mod core;
pub mod engine;
pub mod formatter;
pub mod index;
pub mod problem;
pub mod program;
pub mod syntax;
pub mod types;
pub mod value;

pub use value::Value;
