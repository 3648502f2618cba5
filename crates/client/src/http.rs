//! HTTP: connections of this workspace, and policies' own requests.
//!
//! Owns TLS, proxies, redirects, retries, size limits and allowed hosts, each in a file of its name. Its
//! users differ in data only: the statuses that are retried, the redirects that are followed, and the
//! origin that credentials belong to. Knows nothing of the service and holds no token.

mod allow;
#[doc(hidden)]
pub mod body;
#[doc(hidden)]
pub mod connection;
#[doc(hidden)]
pub mod origin;
#[doc(hidden)]
pub mod proxy;
#[doc(hidden)]
pub mod redirect;
#[doc(hidden)]
pub mod retry;
mod send;
#[doc(hidden)]
pub mod tls;

use reqwest::header::HeaderMap;

pub use allow::{AllowedHost, AllowedHosts, NoHost};
pub use send::{Http, HttpBuilder};

/// Adds the headers of a trace to a request.
#[doc(hidden)]
pub type Propagator = dyn Fn(&mut HeaderMap) + Send + Sync;
