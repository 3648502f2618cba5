//! Carriers of calls: the service, or the network for a policy's own requests.
//!
//! Owns which runtime, deadline and flights a call has, and who is asked when it is sent.

use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Handle;

use super::call::{Call, Target};
use crate::builtins::Answer;
use crate::client::{Client, Context};
use crate::flight::{Bell, Boarded, Flights, Grant, SharedCall};
use crate::http::Http;
use crate::{Error, ErrorKind, Platform};

/// A carrier of calls.
#[derive(Clone, Copy)]
pub(super) enum Carrier<'a> {
    /// The service.
    Service(&'a Platform),
    /// The network, for a policy's own requests.
    Http(&'a Http),
}

impl Carrier<'_> {
    /// The runtime of its timers and requests.
    pub fn runtime(&self) -> Result<&Handle, Error> {
        Ok(match self {
            Self::Service(platform) => platform.runtime()?.handle(),
            Self::Http(http) => http.runtime()?.handle(),
        })
    }

    fn flights(&self) -> &Arc<Flights> {
        match self {
            Self::Service(platform) => platform.flights(),
            Self::Http(http) => http.flights(),
        }
    }

    /// The deadline of a call that is sent now, besides the evaluation's own.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Service(platform) => Some(platform.call_deadline()),
            Self::Http(_) => None,
        }
    }

    /// Sends a call, or joins an equal one that is on its way.
    ///
    /// # Errors
    /// When there is no thread to send from.
    pub fn board(&self, call: &Call, grant: Grant, bell: &Arc<Bell>) -> Result<Boarded, Error> {
        let shared = SharedCall { key: &call.key, cost: call.cost(), reads: call.reads() };
        let (target, sender) = (call.target.clone(), self.sender());
        let send = |context: Arc<Context>| async move { send(&target, &sender, &context).await };
        Ok(self.flights().board(shared, self.runtime()?, grant, bell, send))
    }

    fn sender(&self) -> Sender {
        match self {
            Self::Service(platform) => Sender::Service(Arc::clone(platform.client())),
            Self::Http(http) => Sender::Http((*http).clone()),
        }
    }
}

/// What the task of a call keeps of its carrier.
enum Sender {
    Service(Arc<Client>),
    Http(Http),
}

/// Asks the target of a call.
async fn send(target: &Target, sender: &Sender, context: &Context) -> Result<Answer, Error> {
    match (target, sender) {
        (Target::Product { request, .. }, Sender::Service(client)) => {
            request.send(client, context).await
        }
        (Target::Host { function, arguments }, _) => {
            function.call(arguments.clone()).await.map(Answer::from)
        }
        (Target::Http(request), Sender::Http(http)) => http.send(request, context).await,
        (Target::Lookup(name), Sender::Http(http)) => http.look_up(name, context).await,
        _ => Err(Error::new(ErrorKind::Internal, "a call went where it isn't answered")),
    }
}
