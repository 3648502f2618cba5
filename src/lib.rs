//! Rego policies that ask a supply-chain compliance service, on the [`regorus`] interpreter.
//!
//! A policy calls five functions while it is evaluated: `platform.discover`, `platform.evidence`,
//! `platform.project_compliance`, `platform.evidence_prompt` and `platform.download_artifact`
//! (interface section 4.7; [`builtins::FUNCTIONS`] has their arguments, results and costs), and
//! five more that read the rest of the interface where a host turns them on
//! ([`builtins::FunctionSet`]). This crate checks the calls, sends them, verifies the answers, and
//! makes sure that a call that failed never ends as a pass. The command of the same name is built
//! on it.
//!
//! # What to use when
//!
//! | You have | Use |
//! |---|---|
//! | policies to evaluate | [`evaluate::Policies`]: loads soundly, sends independent calls together, contains what a policy does |
//! | a [`regorus::Engine`] of your own that must stay | [`Platform::register`], and [`Registration::check`] after **every** evaluation |
//! | policies to look at, not to evaluate | [`check`] |
//! | a question without a policy | [`Platform::call`], [`Platform::call_async`], [`Platform::download`] |
//! | products, projects, environments, assessments, a product's compliance | [`Platform::api`], async and blocking ([`api`]) |
//! | no service at hand | the emulator (feature `emulator`), or a recording: [`evaluate::Answers::Replay`] |
//!
//! Prefer [`evaluate::Policies`]. The interpreter alone gives some policies another verdict than
//! OPA, can be brought to abort or hang by a policy, and swallows some errors of functions; with
//! [`Platform::register`] all of that stays the host's.
//!
//! # An evaluation
//!
//! ```
//! # #[cfg(feature = "emulator")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rego_platform::emulator::{Dataset, Emulator, EmulatorOptions};
//! use rego_platform::evaluate::load::LoadOptions;
//! use rego_platform::evaluate::sources::{ModuleSource, Sources};
//! use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
//! use rego_platform::Value;
//! use rego_platform::{Platform, Token};
//!
//! // A service to ask. With a real one: `Platform::builder().from_env()?.build()?`.
//! let dataset = Dataset::load("testdata/platform".as_ref())?;
//! let service = Emulator::start(dataset, EmulatorOptions::default())?;
//! let platform = Platform::builder()
//!     .controlplane_url(service.controlplane_url())
//!     .base_url(service.base_url())
//!     .token(Token::new(service.default_token())?)
//!     .build()?;
//!
//! // Loaded once: a misspelt function is refused here, whether or not its rule is ever reached.
//! let text = r#"
//!     package release
//!
//!     deny contains "no SBOM" if {
//!         references := platform.discover(input.image, "").references
//!         count([r | some r in references; startswith(r.kind, "SBOM_")]) == 0
//!     }
//! "#;
//! let module = ModuleSource { path: "release.rego".to_owned(), text: text.to_owned() };
//! let sources = Sources { modules: vec![module], ..Sources::default() };
//! let policies = Policies::load(&sources, LoadOptions::default())?;
//! let query = policies.query("data.release.deny")?;
//!
//! // Evaluated often, from any thread.
//! let input = Value::from_json(
//!     r#"{"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"}"#,
//! )?;
//! let options = EvaluateOptions::new(Answers::Service(platform));
//! let evaluated = policies.evaluate(&query, Some(&input), &options);
//!
//! // An error is no verdict, and neither is a rule that has no value: both must block a gate.
//! let output = evaluated.result?;
//! let violations = output.value().ok_or("the rule is undefined")?.as_set()?;
//! assert!(violations.is_empty());
//! assert_eq!(evaluated.ledger.calls.len(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "emulator"))]
//! # fn main() {}
//! ```
//!
//! [`Policies::evaluate_async`](evaluate::Policies::evaluate_async) doesn't block the task, and
//! everything here works inside and outside of async runtimes of either flavour.
//!
//! # When something fails
//!
//! - Every failure is an [`Error`] whose [`kind`](Error::kind) is for programs. `Display` is one
//!   line without its source; [`Error::report`] adds the sources and [`Error::hint`] says what to
//!   do next. None of them holds a token or a signed address; all may repeat what a policy or the
//!   service said, so escape them ([`text`]) where that matters.
//! - The first failed call ends the evaluation with its error, whatever the policy made of it: in
//!   `not`, `default`, `else`, a second definition, a comprehension. The one exception is for the
//!   host to make: [`NotFound::Undefined`].
//! - Calls that are safe to repeat are retried on broken connections, 408, 429 and 5xx. Starting
//!   an AI evaluation is never sent twice, and never on a guess.
//! - Limits are errors that name themselves: those of one call are settings of
//!   [`PlatformBuilder`], those of one evaluation are [`evaluate::Budget`]. Nothing is cut short
//!   without a word but what the policy's own `limit` cuts, which
//!   [`Ledger::cut`](evaluate::Ledger::cut) tells.
//!
//! # What the host must see to
//!
//! - Undefined isn't empty: a query for a package or rule that doesn't exist is undefined, as in
//!   OPA. Compare [`Policies::packages`](evaluate::Policies::packages) with what you expect.
//! - [`crate::rego::Value`] rounds integers beyond 64 bits when it reads JSON; what this crate reads
//!   itself (data, recordings, answers) is refused then.
//! - The memory of the process is bounded by the command only. A library user's evaluation is
//!   bounded in time, and its built-ins in size.
//!
//! # Features
//!
//! | Feature | Default | Adds |
//! |---|---|---|
//! | `cli` | yes | the command; switches on the two below |
//! | `cache` | by `cli` | [`PlatformBuilder::artifact_cache`]: artifacts on disk, verified at every read |
//! | `emulator` | by `cli` | the module `emulator`: the service, served from a folder of plain files |
//!
//! Embedders want `default-features = false`. `tracing` spans are made for evaluations, passes,
//! calls and attempts; they hold no secrets. The interpreter is re-exported as [`regorus`], whose
//! minor version is part of this crate's interface.

#![forbid(unsafe_code)]

pub mod api;
pub mod builtins;
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod client;
mod diagnostic;
#[cfg(feature = "emulator")]
pub mod emulator;
mod error;
pub mod evaluate;
#[cfg(feature = "cli")]
pub mod gate;
mod platform;
mod product;
#[cfg(feature = "regorus")]
mod register;
pub mod rego;
#[cfg(feature = "cli")]
mod report;
pub mod testing;
pub mod text;

pub use api::Infoz;
pub use client::{Api, Token, TokenFuture, TokenKind, TokenProvider};
pub use diagnostic::{Diagnostic, Level, Position};
pub use error::{Error, ErrorKind, Limit};
pub use platform::{NotFound, Platform, PlatformBuilder};
pub use product::Product;

#[cfg(feature = "regorus")]
pub use register::Registration;
pub use rego::Value;
#[cfg(feature = "regorus")]
pub use regorus;

/// The README's Rust examples compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
