//! The service, served from a folder of plain files: for work offline, for tests, for practice
//! against failure.
//!
//! Owns an HTTP server on three addresses (control plane, backend, content store) and the data
//! set behind it. It shares no type with the client and answers JSON over real HTTP, so that a
//! mistake in one doesn't hide in the other.
//!
//! ```no_run
//! use std::path::Path;
//! use rego_platform::emulator::{Dataset, Emulator, EmulatorOptions};
//!
//! let dataset = Dataset::load(Path::new("testdata/platform"))?;
//! let emulator = Emulator::start(dataset, EmulatorOptions::default())?;
//! println!("{} {}", emulator.controlplane_url(), emulator.base_url());
//! # Ok::<(), rego_platform::Error>(())
//! ```

mod auth;
mod dataset;
mod faults;
mod inject;
mod log;
mod openapi;
mod pages;
mod query;
mod refusal;
mod routes;
mod rows;
mod schema;
mod server;
mod socket;

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use hmac::{KeyInit as _, Mac as _};
use sha2::Digest as _;

pub use dataset::{Dataset, Paging};
pub use faults::{Fault, FaultKind, FaultTarget, RouteKind};
pub use log::RequestRecord;
pub use refusal::Address;
pub use rows::Casing;

use crate::{Error, Product};

/// How an [`Emulator`] is started.
#[derive(Debug, Clone)]
pub struct EmulatorOptions {
    /// Where the control plane listens; port 0 for any free one.
    pub listen: SocketAddr,
    /// Where the backend listens.
    pub backend_listen: SocketAddr,
    /// Where the content store listens.
    pub store_listen: SocketAddr,
    /// How it misbehaves from the start.
    pub faults: Vec<Fault>,
    /// Whose service it is: names the organization header and the tokens' audiences.
    pub product: Product,
    /// The largest page, instead of the data set's.
    pub max_page_size: Option<usize>,
    /// How evidence is paged, instead of the data set's way.
    pub evidence_paging: Option<Paging>,
    /// How compliance is paged, instead of the data set's way.
    pub compliance_paging: Option<Paging>,
    /// Cursor-paged lists have empty and short pages in their middle.
    pub ragged_pages: bool,
    /// One spelling everywhere, instead of camel case on the control plane, snake on the backend.
    pub casing: Option<Casing>,
    /// Leaves out fields that have their type's default, as proto3 JSON may.
    pub omit_defaults: bool,
    /// How long a link to the content store works.
    pub ticket_lifetime: Duration,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        Self {
            listen: any,
            backend_listen: any,
            store_listen: any,
            faults: Vec::new(),
            product: Product::default(),
            max_page_size: None,
            evidence_paging: None,
            compliance_paging: None,
            ragged_pages: false,
            casing: None,
            omit_defaults: false,
            ticket_lifetime: Duration::from_secs(60),
        }
    }
}

/// A running emulator; it stops when this is dropped.
pub struct Emulator(server::Server);

impl Emulator {
    /// Starts serving `dataset`; requests are answered as soon as this returns.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when an address can't be
    /// listened on.
    pub fn start(dataset: Dataset, options: EmulatorOptions) -> Result<Self, Error> {
        server::Server::start(dataset, &options).map(Self)
    }

    /// The control plane's URL, without a slash at its end.
    pub fn controlplane_url(&self) -> String {
        server::url(self.0.shared.addresses.controlplane)
    }

    /// The backend's URL, without a slash at its end.
    pub fn base_url(&self) -> String {
        server::url(self.0.shared.addresses.backend)
    }

    /// The content store's URL, without a slash at its end.
    pub fn store_url(&self) -> String {
        server::url(self.0.shared.addresses.store)
    }

    /// A token's text, by its name in the data set.
    pub fn token(&self, name: &str) -> Option<String> {
        self.0.shared.tokens.named(name).map(str::to_owned)
    }

    /// The names of the data set's tokens, in the order of its files.
    pub fn token_names(&self) -> Vec<String> {
        let credentials = &self.0.shared.dataset.identity.credentials;
        credentials.iter().map(|credential| credential.name.as_str().to_owned()).collect()
    }

    /// The text of the token that the data set says to use when none is named.
    pub fn default_token(&self) -> String {
        let name = self.0.shared.dataset.service.default_token.as_str();
        self.token(name).unwrap_or_default()
    }

    /// Every request since the start or the last [`clear_requests`](Self::clear_requests), the
    /// last 65,536 at most.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.0.shared.log.all()
    }

    /// The most requests that were being answered at the same time.
    pub fn max_in_flight(&self) -> usize {
        self.0.shared.log.max_in_flight()
    }

    /// Forgets the requests so far, and the high-water mark.
    pub fn clear_requests(&self) {
        self.0.shared.log.clear();
    }

    /// Misbehaves in these ways from now on, and no longer in the former ones.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.0.shared.faults.set(faults);
    }
}

impl std::fmt::Debug for Emulator {
    // Not the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Emulator").field(&self.0.shared.addresses).finish()
    }
}

/// True if only this machine reaches `address`.
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
    // Keys of any length are fine for HMAC.
    let Ok(mut mac) = hmac::Hmac::<sha2::Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}
