//! The functions, called on the emulator over real HTTP.

mod arguments;
mod failures;
mod findings;
mod objects;
mod sending;

use std::time::Duration;

use rego_platform::Value as Rego;
use rego_platform::{Error, Platform, PlatformBuilder, Token};
use rego_platform_emulator::{Emulator, Fault};
pub use serde_json::{Value, json};

/// `payments-api` v2.4.0 and `catalog-web` v1.8.0.
pub const RELEASED: &str = "e6f7c74d-1750-5f0a-a1a0-1bb0531a1a5c";
pub const FAILING: &str = "643224fb-4763-546c-9387-69d5984a8501";

/// Returns a client of the emulator with a token of the data set.
pub fn client_as(emulator: &Emulator, token: &str) -> PlatformBuilder {
    Platform::builder()
        .controlplane_url(emulator.controlplane_url())
        .base_url(emulator.base_url())
        .token(Token::new(emulator.token(token).unwrap()).unwrap())
        .proxy_from_env(false)
        .first_pause(Duration::from_millis(1))
}

/// The ways to the control plane, and to content.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Transport {
    Http,
    Grpc,
    /// gRPC for content, too: the service has no signed URLs.
    Stream,
}

pub const TRANSPORTS: [Transport; 3] = [Transport::Http, Transport::Grpc, Transport::Stream];

impl Transport {
    /// Sets faults from text, beside the one that makes the emulator a service for this transport.
    pub fn misbehave(self, emulator: &Emulator, faults: &[&str]) {
        let without_urls: &[&str] = match self {
            Self::Http | Self::Grpc => &[],
            Self::Stream => &["/controlplane.v1.CASRedirectService/:status=501"],
        };
        misbehave(emulator, &[without_urls, faults].concat());
    }
}

/// Returns a client of the emulator that reaches the control plane over a transport.
pub fn client_over(transport: Transport, emulator: &Emulator, token: &str) -> PlatformBuilder {
    match transport {
        Transport::Http => client_as(emulator, token),
        Transport::Grpc | Transport::Stream => Platform::builder()
            .grpc_address(emulator.grpc_address())
            .store_address(emulator.store_address())
            .grpc_plain_text(true)
            .base_url(emulator.base_url())
            .token(Token::new(emulator.token(token).unwrap()).unwrap())
            .proxy_from_env(false)
            .first_pause(Duration::from_millis(1)),
    }
}

/// Returns a client of the emulator with the default token.
pub fn client(emulator: &Emulator) -> Platform {
    client_as(emulator, "ci").build().unwrap()
}

/// Calls a function with arguments as JSON.
pub fn ask(platform: &Platform, function: &str, arguments: &Value) -> Result<Value, Error> {
    let arguments: Vec<Rego> = arguments
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| Rego::from_json(&argument.to_string()).unwrap())
        .collect();
    platform.call(function, &arguments).map(|value| serde_json::to_value(value).unwrap())
}

/// Returns the paths of the requests so far.
pub fn paths(emulator: &Emulator) -> Vec<String> {
    emulator.requests().iter().map(|r| format!("{} {}", r.method, r.path())).collect()
}

/// Sets faults from text.
pub fn misbehave(emulator: &Emulator, faults: &[&str]) {
    emulator.set_faults(faults.iter().map(|f| f.parse::<Fault>().unwrap()).collect());
    emulator.clear_requests();
}
