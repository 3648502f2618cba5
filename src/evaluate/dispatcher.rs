//! Sending calls: to the service, to the network for a policy's own requests, or to the host.
//!
//! Owns the choice of runtime, deadline and flights for a call, and sending it to its target.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use tokio::runtime::Handle;

use super::call::{CheckedCall, Target};
use crate::builtins::Answer;
use crate::client::{Client, Context, LazyRuntime};
use crate::flight::{Flights, Grant, InFlightCall, Notifier, SharedCall};
use crate::http::Http;
use crate::{Error, ErrorKind, Platform};

/// A destination of calls, with the means to send them.
#[derive(Clone, Copy)]
pub(super) enum Dispatcher<'a> {
    /// The service.
    Service(&'a Platform),
    /// The network, for a policy's own requests.
    Http(&'a Http),
    /// The host, for its own functions.
    Host(&'a LazyRuntime),
}

impl Dispatcher<'_> {
    /// Returns the runtime of its calls.
    fn runtime(&self) -> Result<&Handle, Error> {
        Ok(match self {
            Self::Service(platform) => platform.runtime()?.handle(),
            Self::Http(http) => http.runtime()?.handle(),
            Self::Host(host) => host.get()?.handle(),
        })
    }

    fn flights(&self) -> &Arc<Flights> {
        static OF_HOSTS: LazyLock<Arc<Flights>> = LazyLock::new(Arc::default);
        match self {
            Self::Service(platform) => platform.flights(),
            Self::Http(http) => http.flights(),
            Self::Host(_) => &OF_HOSTS,
        }
    }

    /// Returns the deadline of a call that is sent now, besides that of the evaluation.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Service(platform) => Some(platform.call_deadline()),
            Self::Http(_) | Self::Host(_) => None,
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
        let (target, sender) = (call.target.clone(), self.sender());
        let send = |context: Arc<Context>| async move { send(&target, &sender, &context).await };
        Ok(self.flights().join_or_send(shared, self.runtime()?, grant, notifier, send))
    }

    fn sender(&self) -> Sender {
        match self {
            Self::Service(platform) => Sender::Service(Arc::clone(platform.client())),
            Self::Http(http) => Sender::Http((*http).clone()),
            Self::Host(_) => Sender::Host,
        }
    }
}

/// The owned part of a [`Dispatcher`], for a call's task.
enum Sender {
    Service(Arc<Client>),
    Http(Http),
    Host,
}

/// Sends a call to its target.
async fn send(target: &Target, sender: &Sender, context: &Context) -> Result<Answer, Error> {
    match (target, sender) {
        (Target::Product { request, .. }, Sender::Service(client)) => {
            request.send(client, context).await
        }
        (Target::Host { function, arguments }, Sender::Host) => {
            function.call(arguments.clone()).await.map(Answer::from)
        }
        (Target::Http(request), Sender::Http(http)) => http.send(request, context).await,
        (Target::Lookup(name), Sender::Http(http)) => http.look_up(name, context).await,
        _ => Err(Error::new(ErrorKind::Internal, "a call was sent to the wrong destination")),
    }
}
