//! Sending calls: to the service, to the network for a policy's own requests, or to the host.
//!
//! Owns the choice of runtime, deadline and flights for a call, and sending it to its target.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use tokio::runtime::Handle;

use super::call::CheckedCall;
use crate::client::Context;
use crate::flight::{Flights, Grant, InFlightCall, Notifier, SharedCall};
use crate::functions::{Answer, Request};
use crate::http::Http;
use crate::load::functions::AsyncFunction;
use crate::rego::internal::builtins::HttpRequest;
use crate::runtime::LazyRuntime;
use crate::{Error, Platform, Value};

/// The request of a call, with the means to send it.
#[derive(Clone, Copy)]
pub(super) enum Dispatcher<'a> {
    Service(&'a Platform, &'a Arc<dyn Request>),
    /// The network, for a policy's own request.
    Http(&'a Http, &'a Arc<HttpRequest>),
    /// The network, for the addresses of a host.
    Lookup(&'a Http, &'a Arc<str>),
    /// The host, for its own function, with the arguments.
    Host(&'a LazyRuntime, &'a AsyncFunction, &'a [Value]),
}

type Sent = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

impl Dispatcher<'_> {
    /// Returns the runtime of its calls.
    fn runtime(&self) -> Result<&Handle, Error> {
        Ok(match self {
            Self::Service(platform, _) => platform.runtime()?.handle(),
            Self::Http(http, _) | Self::Lookup(http, _) => http.runtime()?.handle(),
            Self::Host(host, ..) => host.get()?.handle(),
        })
    }

    fn flights(&self) -> &Arc<Flights> {
        static OF_HOSTS: LazyLock<Arc<Flights>> = LazyLock::new(Arc::default);
        match self {
            Self::Service(platform, _) => platform.flights(),
            Self::Http(http, _) | Self::Lookup(http, _) => http.flights(),
            Self::Host(..) => &OF_HOSTS,
        }
    }

    /// Returns the deadline of a call that is sent now, in addition to the evaluation's.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Service(platform, _) => Some(platform.call_deadline()),
            Self::Http(..) | Self::Lookup(..) | Self::Host(..) => None,
        }
    }

    /// Sends a call, or joins an equal one in flight.
    ///
    /// # Errors
    /// When the runtime can't be started.
    pub fn join_or_send(
        &self,
        call: &CheckedCall,
        grant: Grant,
        notifier: &Arc<Notifier>,
    ) -> Result<InFlightCall, Error> {
        let shared = SharedCall { key: &call.key, cost: call.cost(), shared: call.is_shared() };
        let send = self.sender();
        Ok(self.flights().join_or_send(shared, self.runtime()?, grant, notifier, send))
    }

    /// Returns what sends the call, with everything that it takes.
    fn sender(&self) -> Box<dyn FnOnce(Arc<Context>) -> Sent + Send> {
        match *self {
            Self::Service(platform, request) => {
                let (client, request) = (Arc::clone(platform.client()), Arc::clone(request));
                Box::new(|context| Box::pin(async move { request.send(&client, &context).await }))
            }
            Self::Http(http, request) => {
                let (http, request) = (http.clone(), Arc::clone(request));
                Box::new(|context| Box::pin(async move { http.send(&request, &context).await }))
            }
            Self::Lookup(http, name) => {
                let (http, name) = (http.clone(), Arc::clone(name));
                Box::new(|context| Box::pin(async move { http.look_up(&name, &context).await }))
            }
            Self::Host(_, function, arguments) => {
                let (function, arguments) = (function.clone(), arguments.to_vec());
                Box::new(|_| {
                    Box::pin(async move { function.call(arguments).await.map(Answer::from) })
                })
            }
        }
    }
}
