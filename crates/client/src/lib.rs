//! One authenticated call of a supply-chain compliance service.
//!
//! The client of [`rego-platform`](https://docs.rs/rego-platform), which has the functions that
//! policies call, the evaluation that calls them and the builder of both. Here are tokens, pages and
//! downloads, the [`resources`] of the service and the checks of its answers, calls in flight, and
//! everything about HTTP ([`http`]) with policies' own requests; below them what all of
//! these report: [`Error`], [`Diagnostic`], [`Setting`], [`Observer`]. Values are the language's, and
//! nothing else is.
//!
//! Items that are hidden here serve `rego-platform`, and may change with any version.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod call;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod diagnostic;
#[doc(hidden)]
pub mod environment;
mod error;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod flight;
pub mod http;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod observe;
mod product;
pub mod resources;
#[doc(hidden)]
pub mod runtime;
pub mod setting;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod unreadable;

pub use client::{Api, Token, TokenFuture, TokenKind, TokenProvider};
#[cfg(feature = "artifact-store")]
pub use client::{ArtifactStore, ArtifactStoreBuilder};
pub use diagnostic::{Diagnostic, Fix, Level, Position};
pub use error::{Error, ErrorKind, Limit};
pub use observe::{CallEvent, EvaluationEvent, LookupEvent, Observer, RequestEvent, TraceParent};
#[doc(hidden)]
pub use product::VARIABLE as PRODUCT_VARIABLE;
pub use product::{IntoProduct, Product};
pub use setting::Setting;
