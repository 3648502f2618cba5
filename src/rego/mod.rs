//! The Rego language, independent of the service.
//!
//! Owns everything that determines the meaning of a policy: its syntax, OPA's compile stages, the
//! program in the form that the machine runs, the machine, and the built-in functions. The
//! reference is OPA 1.22.2. Data flows one way: `syntax` → `compile` → `core` → `engine`; `value`
//! is below all of them, and `builtins` uses values only, and `yaml`, the reader of all YAML that a
//! policy sees.

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
    reason = "style choices that the modules below share"
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
pub(crate) mod threads;
pub mod types;
pub mod value;
pub mod yaml;

pub(crate) use value::Text;
pub use value::Value;
pub(crate) use value::deeper;
