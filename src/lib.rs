//! Rego policies that query a supply-chain compliance service while they are evaluated.
//!
//! A policy can call five functions: `platform.discover`, `platform.evidence`,
//! `platform.project_compliance`, `platform.evidence_prompt` and `platform.download_artifact`
//! (interface section 4.7; [`builtins::FUNCTIONS`] has their arguments, results and costs), and
//! five more that read the rest of the interface, once a host enables them
//! ([`builtins::FunctionSet`]). This crate checks the calls, sends them, verifies the answers, and
//! makes sure that a failed call never ends as a pass. Policies are compiled and evaluated by its
//! own Rego implementation ([`rego`]), which gives OPA 1.22.2's answers or an error. The command of
//! the same name is built on it.
//!
//! # What to use when
//!
//! | You have | Use |
//! |---|---|
//! | policies to evaluate | [`evaluate::Policies`]: OPA's answers, independent calls sent together, limits on what a policy does |
//! | policies to look at, not to evaluate | [`check`] |
//! | a question without a policy | [`Platform::call`], [`Platform::call_async`], [`Platform::download`] |
//! | products, projects, environments, assessments, a product's compliance | [`Platform::api`], async and blocking ([`api`]) |
//! | no service to ask | the emulator (feature `emulator`), a recording ([`evaluate::Answers::Replay`]) or answers of your own ([`evaluate::Responder`]) |
//! | functions of your own that policies call | [`evaluate::HostFunction`] in [`evaluate::load::LoadOptions`] |
//! | a `regorus::Engine` of your own that must stay | `Platform::register` (feature `regorus`) and `Registration::run` around every evaluation |
//!
//! Prefer [`evaluate::Policies`]: an engine of your own gives regorus' verdicts, which aren't
//! always OPA's, and a policy can make it abort or hang.
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
//! // Loaded once: a misspelt function is refused here, even if its rule is never reached.
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
//! // An error isn't a verdict, and neither is a rule that has no value: both must block a gate.
//! let output = evaluated.result?;
//! let violations = output.value().and_then(Value::as_set).ok_or("the rule isn't a set")?;
//! assert!(violations.is_empty());
//! assert_eq!(evaluated.ledger.calls.len(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "emulator"))]
//! # fn main() {}
//! ```
//!
//! [`Policies::evaluate_async`](evaluate::Policies::evaluate_async) doesn't block the task and
//! occupies no thread while it waits for the service; dropping its future cancels the evaluation,
//! and so does an [`evaluate::Cancellation`]. Everything here works inside and outside async
//! runtimes of either flavour.
//!
//! # Errors
//!
//! - Every failure is an [`Error`] whose [`kind`](Error::kind) is for programs. `Display` is one
//!   line without its source; [`Error::report`] adds the sources and [`Error::hint`] the next step.
//!   None of them contains a token or a signed address; all may repeat text of a policy or of the
//!   service, so escape them ([`text`]) where that matters.
//! - The first failed call ends the evaluation with its error, even if the policy would have
//!   ignored the failure: in `not`, `default`, `else`, a second definition, a comprehension. The one
//!   exception is up to the host: [`NotFound::Undefined`].
//! - Calls that are safe to repeat are retried on broken connections, 408, 429 and 5xx. Starting
//!   an AI evaluation is never retried, and never requested before it is certain to be needed.
//! - Exceeding a limit is an error that names the limit: those of one call are settings of
//!   [`PlatformBuilder`], those of one evaluation are [`evaluate::Budget`], and [`Error::limit`]
//!   tells which of these it was. Nothing is truncated silently: only the policy's own `limit`
//!   truncates a list, and [`Ledger::cut`](evaluate::Ledger::cut) reports it.
//!
//! # The host's responsibilities
//!
//! - Undefined isn't empty: a query for a package or rule that doesn't exist is undefined, as in
//!   OPA. Compare [`Policies::packages`](evaluate::Policies::packages) with what you expect.
//! - [`evaluate::Budget`] limits the time, calls, bytes and memory of one evaluation. The time to
//!   load policies, the size of the input and the number of evaluations at a time are the host's.
//!
//! # Features
//!
//! | Feature | Default | Adds |
//! |---|---|---|
//! | `cli` | yes | the command; switches on the four below |
//! | `cache` | by `cli` | `PlatformBuilder::artifact_cache`: artifacts on disk, verified at every read |
//! | `crypto` | by `cli` | the built-in functions `crypto.*`, `io.jwt.*` and `providers.aws.sign_req` |
//! | `emulator` | by `cli` | the module `emulator`: the service, served from a folder of plain files |
//! | `ring` | by `cli` | TLS by ring, where the host gives no other provider ([`PlatformBuilder::crypto_provider`]) |
//! | `regorus` | no | `Platform::register` and the re-export of `regorus`, whose minor version is part of this crate's interface |
//!
//! Embedders want `default-features = false`, and `ring` unless they choose another TLS provider.
//!
//! # Traces and metrics
//!
//! `tracing` spans, at the level `DEBUG`: `evaluation` with its `pass`es, and below it a `call` for
//! each call that is sent, those of `http.send` and `net.lookup_ip_addr` included, with an `attempt`
//! for each request. The host's current span is their
//! parent on whatever thread they run; names are OpenTelemetry's where it has one, and none
//! contains a secret. A call that serves several evaluations belongs to the one that sent it; the
//! others follow from it. An [`Observer`] is notified at the end of each, for counts and times.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub mod explain;
mod flight;
#[cfg(feature = "cli")]
pub mod gate;
pub mod http;
pub mod load;
mod observe;
mod platform;
mod product;
#[cfg(feature = "regorus")]
mod register;
pub mod rego;
#[cfg(feature = "cli")]
mod report;
mod resources;
mod setting;
pub mod sources;
pub mod testing;
pub mod text;
mod unreadable;

pub use api::Infoz;
pub use client::{Api, Token, TokenFuture, TokenKind, TokenProvider};
pub use diagnostic::{Diagnostic, Level, Position};
pub use error::{Error, ErrorKind, Limit};
pub use observe::{CallEvent, EvaluationEvent, LookupEvent, Observer, RequestEvent, TraceParent};
pub use platform::{NotFound, Platform, PlatformBuilder};
pub use product::Product;

#[cfg(feature = "regorus")]
pub use register::Registration;
pub use rego::Value;
#[cfg(feature = "regorus")]
pub use regorus;
pub use setting::Setting;
pub use {reqwest, rustls};

/// Compiles the Rust examples of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
struct Embedding;

#[cfg(doctest)]
#[doc = include_str!("../docs/functions.md")]
struct Functions;
