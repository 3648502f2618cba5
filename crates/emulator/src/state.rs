//! The state that the routes share, and the addresses of the listeners.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;

use parking_lot::Mutex;

use super::EmulatorOptions;
use super::auth::Tokens;
use super::dataset::{Dataset, Paging};
use super::faults::FaultSet;
use super::log::Log;
use super::operations::Operations;
use super::pages::Limits;
use super::refusal::Address;
use super::scalars::{Id, Timestamp};
use super::style::{Casing, JsonStyle};
use super::tickets::Tickets;

/// The state that the routes share.
pub(super) struct Shared {
    pub dataset: Dataset,
    pub tokens: Tokens,
    pub log: Log,
    pub faults: FaultSet,
    pub limits: Limits,
    pub evidence_paging: Paging,
    pub compliance_paging: Paging,
    casing: Option<Casing>,
    omit_defaults: bool,
    pub operations: Operations,
    pub approvals: Approvals,
    pub tickets: Tickets,
    pub addresses: Addresses,
    /// Returns the specification of an address, which describes all routes.
    pub specification: Specification,
}

/// Returns the specification of an address.
pub(super) type Specification = fn(&Shared, Address) -> serde_json::Value;

impl Shared {
    pub fn new(
        dataset: Dataset,
        options: &EmulatorOptions,
        addresses: Addresses,
        specification: Specification,
    ) -> Self {
        let service = &dataset.service;
        let faults = FaultSet::default();
        faults.set(options.faults.clone());
        let size = |size: NonZeroU32| usize::try_from(size.get()).unwrap_or(usize::MAX);
        let max = options.max_page_size.unwrap_or_else(|| size(service.max_page_size)).max(1);
        Self {
            tokens: Tokens::new(&dataset, &options.product),
            log: Log::default(),
            faults,
            limits: Limits {
                max,
                default: size(service.default_page_size),
                ragged: options.ragged_pages,
            },
            evidence_paging: options.evidence_paging.unwrap_or(service.paging.evidence),
            compliance_paging: options.compliance_paging.unwrap_or(service.paging.compliance),
            casing: options.casing,
            omit_defaults: options.omit_defaults,
            operations: Operations::default(),
            approvals: Approvals::default(),
            tickets: Tickets::new(options.ticket_lifetime),
            addresses,
            specification,
            dataset,
        }
    }

    /// Returns the style of responses of `api`.
    pub fn style(&self, api: Address) -> JsonStyle {
        let default = if api == Address::ControlPlane { Casing::Camel } else { Casing::Snake };
        JsonStyle { casing: self.casing.unwrap_or(default), omit_defaults: self.omit_defaults }
    }
}

/// The revisions that were approved since the start.
#[derive(Default)]
pub(super) struct Approvals(pub(super) Mutex<HashMap<Id, Timestamp>>);

/// The addresses of the listeners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    pub controlplane: SocketAddr,
    pub backend: SocketAddr,
    pub store: SocketAddr,
    pub grpc: SocketAddr,
}

/// Returns a URL that reaches `address` from this machine.
pub(super) fn url(address: SocketAddr) -> String {
    format!("http://{}", host_and_port(address))
}

/// Returns an address that reaches `address` from this machine.
pub(super) fn host_and_port(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(host, address.port()).to_string()
}
