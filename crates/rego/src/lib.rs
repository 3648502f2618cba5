//! Rego as OPA 1.22.4 evaluates it: its answer, or an error that says why not.
//!
//! ```
//! use rego_platform_rego::{Options, Program, Run, SourceText, Value};
//!
//! let text = "package release\n\ndeny contains \"no digest\" if not input.digest\n";
//! let texts = vec![SourceText::new("release.rego", text)];
//! let program = Program::compile(texts, &Options::default())?;
//! let query = program.query("data.release.deny")?;
//!
//! let input = Value::from_json(r#"{"name": "web"}"#)?;
//! let outcome = program.evaluate(&query, &Run::default().input(&input));
//! let denied: Vec<String> = outcome.value().ok_or("undefined")?.deserialize()?;
//! assert_eq!(denied, ["no digest"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Program`] is cheap to clone and is evaluated from any number of threads. A [`Host`] answers the
//! functions that aren't Rego's own, and gives the clock, the randomness and the network; [`NoHost`] has
//! no functions and no network. [`Limits`] bound what an evaluation makes, [`Host::check`] how long it
//! takes. [`check`](check()), [`format`](format()) and [`parse`] do what `opa check`, `opa fmt` and
//! `opa parse` do.
//!
//! Feature `crypto`, on by default: the built-in functions `crypto.*`, `io.jwt.*` and `providers.aws.sign_req`.

#![forbid(unsafe_code)]
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

mod annotations;
mod builtins;
mod compile;
mod core;
mod engine;
mod formatter;
mod index;
mod problem;
mod program;
pub mod syntax;
mod text;
mod threads;
mod types;
pub mod value;
mod yaml;

pub use builtins::{Answer as BuiltinAnswer, Code as BuiltinCode, Error as BuiltinError};
pub use engine::{ErrorCode, EvalError, Halt, Host, HostAnswer, HostCall, Limits, NoHost};
pub use formatter::{FormatOptions, format};
pub use problem::{FileId, Position, Problem, ProblemCode, Problems, Source, Sources, Span};
pub use program::{
    CallSiteInfo, ExpressionValue, HostFunction, LoadError, Options, Outcome, PackageInfo, Program,
    Query, RuleInfo, RuleKind, Run, Solution, SourceText, check, parse,
};
pub use syntax::BaseVersion;
pub use types::Schemas;
pub use value::{ConvertError, Text, Value};

macro_rules! internal {
    ($($module:ident)+) => {
        /// Items for the other crates of this workspace only. It changes without notice.
        #[doc(hidden)]
        #[allow(missing_docs)]
        pub mod internal {
            pub use crate::value::deeper;

            $(pub mod $module {
                pub use crate::$module::*;
            })+
        }
    };
}

internal!(annotations builtins compile engine problem program text threads types yaml);

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
