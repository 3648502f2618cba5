//! An emulator of the service from a folder of plain files, for offline work, tests and fault injection.
//!
//! Owns an HTTP server on four addresses (control plane, backend, content store, and the control
//! plane's gRPC) and the data set behind it. Shares no type with the client and answers with JSON over real HTTP, so that a
//! mistake in one doesn't hide in the other. `testdata/platform/README.md` describes the files.
//!
//! ```no_run
//! use std::path::Path;
//! use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
//!
//! let dataset = Dataset::load(Path::new("testdata/platform"))?;
//! let emulator = Emulator::start(dataset, EmulatorOptions::default())?;
//! println!("{} {}", emulator.controlplane_url(), emulator.base_url());
//! # Ok::<(), rego_platform_emulator::Error>(())
//! ```

#![forbid(unsafe_code)]

mod auth;
mod dataset;
mod error;
mod faults;
mod inject;
mod log;
mod openapi;
mod operations;
mod pages;
mod query;
mod refusal;
mod routes;
mod scalars;
mod schema;
mod server;
mod socket;
mod state;
mod style;
mod tickets;

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use hmac::{KeyInit as _, Mac as _};
use sha2::Digest as _;

pub use dataset::{Dataset, Paging};
pub use error::{Error, Problem};
pub use faults::{Fault, FaultKind, FaultTarget, RouteKind};
pub use log::RequestRecord;
pub use refusal::Address;
pub use style::Casing;

/// Addresses and behavior of an [`Emulator`].
#[derive(Debug, Clone)]
pub struct EmulatorOptions {
    /// The control plane's address; port 0 for any free one.
    pub listen: SocketAddr,
    /// The backend's address.
    pub backend_listen: SocketAddr,
    /// The content store's address.
    pub store_listen: SocketAddr,
    /// The control plane's gRPC address, in plain text.
    pub grpc_listen: SocketAddr,
    /// The initial faults.
    pub faults: Vec<Fault>,
    /// The product, which names the organization header and the tokens' audiences.
    pub product: String,
    /// The largest page, instead of the data set's.
    pub max_page_size: Option<usize>,
    /// The paging style of evidence, instead of the data set's.
    pub evidence_paging: Option<Paging>,
    /// The paging style of compliance, instead of the data set's.
    pub compliance_paging: Option<Paging>,
    /// `true` if cursor-paged lists have empty and short pages in between.
    pub ragged_pages: bool,
    /// One casing everywhere, instead of camel case on the control plane and snake case on the
    /// backend.
    pub casing: Option<Casing>,
    /// `true` if fields with their type's default are left out, as proto3 JSON allows.
    pub omit_defaults: bool,
    /// The time for which a link to the content store is valid.
    pub ticket_lifetime: Duration,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self {
            listen: any,
            backend_listen: any,
            store_listen: any,
            grpc_listen: any,
            faults: Vec::new(),
            product: "platform".to_owned(),
            max_page_size: None,
            evidence_paging: None,
            compliance_paging: None,
            ragged_pages: false,
            casing: None,
            omit_defaults: false,
            ticket_lifetime: Duration::from_mins(1),
        }
    }
}

/// A running emulator; it stops when this is dropped.
pub struct Emulator(server::Server);

impl Emulator {
    /// Starts to serve `dataset`. The emulator is reachable when this returns.
    ///
    /// # Errors
    /// [`Error::Listen`] when it can't listen on an address.
    pub fn start(dataset: Dataset, options: EmulatorOptions) -> Result<Self, Error> {
        server::Server::start(dataset, &options).map(Self)
    }

    /// The control plane's URL, without a slash at its end.
    pub fn controlplane_url(&self) -> String {
        state::url(self.0.shared.addresses.controlplane)
    }

    /// The backend's URL, without a slash at its end.
    pub fn base_url(&self) -> String {
        state::url(self.0.shared.addresses.backend)
    }

    /// The content store's URL, without a slash at its end.
    pub fn store_url(&self) -> String {
        state::url(self.0.shared.addresses.store)
    }

    /// The control plane's gRPC address, `host:port`, in plain text.
    pub fn grpc_address(&self) -> String {
        state::host_and_port(self.0.shared.addresses.grpc)
    }

    /// The content store's address, `host:port`, where it speaks gRPC in plain text, too.
    pub fn store_address(&self) -> String {
        state::host_and_port(self.0.shared.addresses.store)
    }

    /// Returns a token's text, by its name in the data set.
    pub fn token(&self, name: &str) -> Option<String> {
        self.0.shared.tokens.named(name).map(str::to_owned)
    }

    /// The names of the data set's tokens, in the order of its files.
    pub fn token_names(&self) -> Vec<String> {
        let credentials = &self.0.shared.dataset.identity.credentials;
        credentials.iter().map(|credential| credential.name.as_str().to_owned()).collect()
    }

    /// Returns the text of the data set's default token.
    pub fn default_token(&self) -> String {
        let name = self.0.shared.dataset.service.default_token.as_str();
        self.token(name).unwrap_or_default()
    }

    /// Returns the requests since the start or the last [`clear_requests`](Self::clear_requests),
    /// the last 65,536 at most.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.0.shared.log.all()
    }

    /// The largest number of requests that were being answered at the same time.
    pub fn max_in_flight(&self) -> usize {
        self.0.shared.log.max_in_flight()
    }

    /// Removes the requests so far, and resets the high-water mark.
    pub fn clear_requests(&self) {
        self.0.shared.log.clear();
    }

    /// Replaces the faults from now on.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.0.shared.faults.set(faults);
    }
}

impl std::fmt::Debug for Emulator {
    // The tokens are left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Emulator").field(&self.0.shared.addresses).finish()
    }
}

/// Returns `true` if only this machine can reach `address`.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn hex_sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = hmac::Hmac::<sha2::Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}
