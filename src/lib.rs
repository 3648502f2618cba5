//! Rego policies that query a supply-chain compliance service while they are evaluated.
//!
//! A policy can call five functions: `platform.discover`, `platform.evidence`,
//! `platform.project_compliance`, `platform.evidence_prompt` and `platform.download_artifact`
//! (interface section 4.7; [`functions::FUNCTIONS`] has their arguments, results and costs), and
//! five more that read the rest of the interface, once a host enables them
//! ([`functions::FunctionSet`]). This crate checks the calls, sends them, verifies the answers, and
//! makes sure that a failed call never ends as a pass. Policies are evaluated by regorus, by another interpreter of the
//! host's, or by this crate's Rego implementation ([`rego`]), which gives
//! OPA 1.22.4's answers or an error. The command of the same name is built on it.
//!
//! Items that are hidden here serve the crates of gates and of the command, and may change with any version.
//!
//! # What to use when
//!
//! | You have | Use |
//! |---|---|
//! | a gate on regorus | `Platform::regorus`: a value, or an error for whatever couldn't be judged |
//! | a `regorus::Engine` that you evaluate | `Platform::register`, or `Platform::register_direct` for calls one at a time |
//! | another interpreter | [`Platform::registration`]: the functions, and passes to evaluate in |
//! | policies to evaluate | [`evaluate::Policies`]: OPA's answers, independent calls sent together, limits on what a policy does |
//! | policies to look at, not to evaluate | [`check`] |
//! | a question without a policy | [`Platform::call`], [`Platform::call_async`], [`Platform::download`] |
//! | products, projects, environments, assessments, a product's compliance | [`Platform::api`], async and blocking ([`api`]) |
//! | no service to ask | the emulator (the crate `rego-platform-emulator`), a recording ([`evaluate::Answers::Replay`]) or answers of your own ([`evaluate::Responder`]) |
//! | functions of your own that policies call | [`evaluate::HostFunction`], for `Platform::regorus_with`, [`Platform::registration`] or in [`evaluate::load::LoadOptions`] |
//!
//! # On regorus
//!
//! ```no_run
//! # #[cfg(all(feature = "regorus", feature = "context"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rego_platform::{Platform, Value};
//!
//! let mut host = Platform::from_context()?.regorus()?;
//! host.add_policy_from_file("release.rego")?;
//! host.check()?; // a misspelled function is refused here, reached or not
//! let input = Value::from_json(r#"{"image": "sha256:…"}"#)?;
//! let denied = host.eval_rule("data.release.deny", input)?;
//! println!("{}", denied.to_json());
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "regorus", feature = "context")))]
//! # fn main() {}
//! ```
//!
//! Both regorus and this crate's engine evaluate, in the same passes, and have to agree: regorus' result isn't always
//! OPA's (`docs/reference/regorus.md`). [`Registration`] has the functions for an engine of the host's own, and for
//! any other interpreter.
//!
//! # On this crate's engine
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
//! use rego_platform::evaluate::load::LoadOptions;
//! use rego_platform::evaluate::sources::Sources;
//! use rego_platform::evaluate::Policies;
//! use rego_platform::Value;
//! use rego_platform::{Platform, Token};
//!
//! // A service to ask. With a real one: `Platform::from_context()?`.
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
//! let sources = Sources::text("release.rego", text);
//! let policies = Policies::load(&sources, LoadOptions::default())?;
//! let query = policies.query("data.release.deny")?;
//!
//! // Evaluated often, from any thread.
//! let input = Value::from_json(
//!     r#"{"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"}"#,
//! )?;
//! let options = platform.options();
//! let evaluated = policies.evaluate(&query, Some(&input), &options);
//!
//! // An error isn't a verdict, and neither is a rule that has no value: both must block a gate.
//! let output = evaluated.result?;
//! let violations = output.value().and_then(Value::as_set).ok_or("the rule isn't a set")?;
//! assert!(violations.is_empty());
//! assert_eq!(evaluated.ledger.calls.len(), 1);
//! # Ok(())
//! # }
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
//!   line with the cause; [`Error::report`] adds the sources that say more, and [`Error::hint`] the next step. `Debug`,
//!   which `main` prints, has all of them, and the lines of the policy.
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
//! | `context` | yes | `Platform::from_context`: the configuration file of the service's own command-line client |
//! | `grpc` | yes | `discover` and `download_artifact` over gRPC, the only address in that file |
//! | `regorus` | yes | `Platform::regorus`, `Platform::register` and the re-export of `regorus`, whose minor version is part of this crate's interface; its built-in functions |
//! | `regorus-core` | by `regorus` | the same without the functions that regorus makes optional |
//! | `ring` | yes | TLS with ring, unless the host supplies another provider ([`PlatformBuilder::crypto_provider`]) |
//! | `crypto` | no | the built-in functions `crypto.*`, `io.jwt.*` and `providers.aws.sign_req` |
//! | `cache` | no | `PlatformBuilder::artifact_cache`: artifacts on disk, verified at every read |
//! | `artifact-store` | no | `PlatformBuilder::artifact_store`: artifacts in a folder for many gates, verified at every read; `artifact-store-s3`, `-gcs` and `-azure` add these |
//!
//! Without features this is the library on this crate's engine. The command is the crate
//! `rego-platform-cli`, gates are `rego-platform-gate`, and the service for tests is
//! `rego-platform-emulator`.
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
pub mod check;
pub mod context;
pub mod evaluate;
#[doc(hidden)]
pub mod explain;
pub mod functions;
pub mod load;
mod platform;
pub mod register;
#[doc(hidden)]
pub mod setting;
pub mod sources;
#[doc(hidden)]
pub mod testing;
pub mod text;

use rego_platform_client::{
    client, diagnostic, environment, flight, observe, resources, runtime, unreadable,
};

pub use api::Infoz;
pub use platform::{NotFound, Platform, PlatformBuilder};
pub use rego_platform_client::{
    Api, CallEvent, Diagnostic, Error, ErrorKind, EvaluationEvent, Fix, IntoProduct, Level, Limit,
    LookupEvent, Observer, Position, Product, RequestEvent, Setting, Token, TokenFuture, TokenKind,
    TokenProvider, TraceParent, http,
};
#[cfg(feature = "artifact-store")]
pub use rego_platform_client::{ArtifactStore, ArtifactStoreBuilder};

pub use register::Registration;
#[cfg(feature = "regorus-core")]
pub use register::RegorusHost;
pub use rego::{self, Value};
#[cfg(feature = "regorus-core")]
pub use regorus;
pub use {reqwest, rustls};

/// Compiles the Rust examples of the documentation.
#[cfg(all(doctest, feature = "regorus-core"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/guides/embed.md")]
struct Embedding;

#[cfg(doctest)]
#[doc = include_str!("../docs/reference/functions.md")]
struct Functions;
