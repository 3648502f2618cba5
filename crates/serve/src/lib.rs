//! Decisions over HTTP: OPA's REST interface to policies that query a supply-chain compliance service.
//!
//! A [`Server`] answers `/v1/data`, `/v0/data`, `/v1/query`, `/health` and the rest of that interface from
//! policies that a [`Load`] loads, and loads again when its host asks for it. Some requests are this
//! crate's own: `POST /v1/call/{function}` and `POST /v1/batch/call` call functions of the service, `POST
//! /v1/gate` gives a gate's verdict over inputs. `POST /v1/admission` and `POST /v1/provider` give it over the
//! images of a workload, to a server of Kubernetes and to Gatekeeper.
//!
//! An evaluation that fails, as with a failed call of the service, is answered with status 500 and
//! never with an undefined result. A server listens on loopback only, unless clients have to show a token or a
//! certificate ([`Access`]).

#![forbid(unsafe_code)]

mod access;
mod admission;
mod answer;
mod app;
mod body;
mod connections;
mod decide;
mod decision_log;
mod image_verdict;
mod images;
mod journal;
mod judgement;
mod metrics;
mod options;
mod parameters;
mod policy_set;
mod routes;
mod server;
pub mod setting;
mod stalled;
mod tls;

pub use access::{Access, AccessToken, WebhookSecret};
pub use decision_log::{LogDestination, Upload};
pub use journal::Journal;
pub use options::{Bounds, GateRun, ServerOptions};
pub use policy_set::{Load, Loaded};
pub use server::Server;
pub use tls::Tls;

/// Compiles the example of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
