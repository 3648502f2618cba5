//! The service as a host sees it: built once, shared, asked by policies and by the host itself.
//!
//! Owns blocking and async calls of the functions, and the thread that they run on. `builder`
//! builds a platform; policies reach it through `register` (an engine of the host's own) or
//! `evaluate` (this crate's evaluation); the rest of the interface is in [`crate::api`].

mod builder;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument as _;

use crate::rego::Value;

use crate::client::{Api, Client, Content, Context, RequestedForm, Token, download};
use crate::context::ContextValue;
use crate::flight::Flights;
use crate::functions::{Answer, Function, FunctionSet, Request};
use crate::observe::{CallSpan, Observers};
use crate::runtime::{LazyRuntime, Runtime, panicked};
use crate::{Error, Product};

pub use builder::PlatformBuilder;

/// A connection to the service: cheap to clone, usable from any thread, without global state.
#[derive(Debug, Clone)]
pub struct Platform {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Arc<Client>,
    runtime: LazyRuntime,
    flights: Arc<Flights>,
    not_found: NotFound,
    functions: FunctionSet,
    origins: Vec<ContextValue>,
    token: Option<Token>,
    config_file: Option<PathBuf>,
}

/// The result of a call when the service has no such resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NotFound {
    /// The evaluation ends with an error.
    #[default]
    Error,
    /// The call is undefined; no other failure can be made undefined.
    Undefined,
}

impl Platform {
    /// Returns a builder with the defaults.
    pub fn builder() -> PlatformBuilder {
        PlatformBuilder::default()
    }

    /// Connects to the service that the service's own command-line client uses, as the account that is logged in
    /// there or whose token is in the environment. See [`PlatformBuilder::context`].
    ///
    /// # Errors
    /// Those of [`PlatformBuilder::context`] and [`PlatformBuilder::build`].
    #[cfg(feature = "context")]
    pub fn from_context() -> Result<Self, Error> {
        Self::builder().context()?.build()
    }

    /// The values that are used, and where each came from: the program, an environment variable, a key of the
    /// configuration file, or a default for a hosted product. They contain no secret.
    pub fn origins(&self) -> &[ContextValue] {
        &self.inner.origins
    }

    /// The configuration file that was read.
    pub fn config_file(&self) -> Option<&Path> {
        self.inner.config_file.as_deref()
    }

    /// The fixed token, even if it has expired; `None` if there is none or a provider supplies it.
    pub fn fixed_token(&self) -> Option<&Token> {
        self.inner.token.as_ref()
    }

    /// Checks that there is an address for a function, without asking the service.
    ///
    /// # Errors
    /// That of a call of the function without its address; for an unknown name [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn check_address(&self, name: &str) -> Result<(), Error> {
        let api = self.find(name)?.api;
        match self.address(api) {
            Some(_) => Ok(()),
            None => Err(self.inner.client.settings.endpoints.unset(api, self.product())),
        }
    }

    /// The product whose names are used.
    pub fn product(&self) -> &Product {
        &self.inner.client.settings.product
    }

    /// The handling of resources that the service doesn't have.
    pub fn not_found(&self) -> NotFound {
        self.inner.not_found
    }

    /// The functions that are enabled for `register` and [`call`](Self::call).
    pub fn functions(&self) -> FunctionSet {
        self.inner.functions
    }

    /// The organization that user tokens select, if one is configured.
    pub fn organization(&self) -> Option<&str> {
        self.inner.client.settings.organization_name.as_deref()
    }

    /// The configured address of one of the two APIs.
    pub fn address(&self, api: Api) -> Option<&str> {
        self.inner.client.settings.endpoints.address(api).map(url::Url::as_str)
    }

    /// Returns `true` if any answer so far came from this crate's emulator, whatever its address:
    /// the emulator marks its answers.
    pub fn emulated(&self) -> bool {
        self.inner.client.emulated()
    }

    /// Calls a function by its name without a prefix (`discover`) and waits for the answer.
    ///
    /// Works on any thread. Called inside an async runtime, it blocks the thread that called it.
    ///
    /// # Errors
    /// The error of the call; for an unknown name [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, Error> {
        let full: Arc<str> = self.product().function(name).into();
        let run = || {
            let request = self.find(name)?.request(self.product(), arguments)?;
            Ok(self.send(&full, request, self.call_deadline())?.value)
        };
        run().map_err(|e: Error| e.in_call(Arc::clone(&full)))
    }

    /// Calls a function by its name without a prefix (`discover`).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_async(&self, name: &str, arguments: &[Value]) -> Result<Value, Error> {
        let full: Arc<str> = self.product().function(name).into();
        let request = self.find(name).and_then(|f| f.request(self.product(), arguments));
        let answer = match request {
            Ok(request) => self.send_async(&full, request, self.call_deadline()).await,
            Err(error) => Err(error),
        };
        answer.map(|a| a.value).map_err(|e| e.in_call(full))
    }

    /// Downloads an artifact's bytes, verified against `digest` (`sha256:<64 hex>`).
    /// `download_artifact` gives a policy the same content as text, or as base64 if it isn't UTF-8.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn download(&self, digest: &str) -> Result<Vec<u8>, Error> {
        let name = "download_artifact";
        let full: Arc<str> = self.product().function(name).into();
        let client = Arc::clone(&self.inner.client);
        let deadline = self.call_deadline();
        let run = || {
            // Only the function's check of its argument is needed; this request isn't sent.
            self.find(name)?.request(self.product(), &[Value::from(digest)])?;
            let digest = digest.to_owned();
            let work = move |context: Arc<Context>| async move {
                match download(&client, &context, &digest, RequestedForm::Bytes).await? {
                    Content::Bytes(bytes) => Ok(bytes),
                    Content::Text(_) | Content::Base64(_) => {
                        Err(Error::internal("content came in another form"))
                    }
                }
            };
            self.run(called(self.calling(&full), deadline, work))
        };
        run().map_err(|e: Error| e.in_call(Arc::clone(&full)))
    }

    /// Returns the token that the next call would send; asks the token provider, never the service.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthenticated`](crate::ErrorKind::Unauthenticated) when there is none or it has expired.
    pub fn token(&self) -> Result<Token, Error> {
        let client = Arc::clone(&self.inner.client);
        let deadline = self.call_deadline();
        self.run(async move { client.token(deadline).await })
    }

    /// The number of calls in flight.
    pub fn calls_in_flight(&self) -> usize {
        self.inner.flights.in_flight()
    }

    #[doc(hidden)]
    pub fn call_deadline(&self) -> Instant {
        Instant::now() + self.inner.client.settings.call_timeout
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.inner.client
    }

    pub(crate) fn flights(&self) -> &Arc<Flights> {
        &self.inner.flights
    }

    pub(crate) fn runtime(&self) -> Result<&Runtime, Error> {
        self.inner.runtime.get()
    }

    /// Sends a checked call and waits for its answer.
    #[doc(hidden)]
    pub fn send(
        &self,
        function: &Arc<str>,
        request: Arc<dyn Request>,
        deadline: Instant,
    ) -> Result<Answer, Error> {
        let client = Arc::clone(&self.inner.client);
        let work =
            move |context: Arc<Context>| async move { request.send(&client, &context).await };
        self.run(called(self.calling(function), deadline, work))
    }

    pub(crate) async fn send_async(
        &self,
        function: &Arc<str>,
        request: Arc<dyn Request>,
        deadline: Instant,
    ) -> Result<Answer, Error> {
        let client = Arc::clone(&self.inner.client);
        let work =
            move |context: Arc<Context>| async move { request.send(&client, &context).await };
        self.run_async(called(self.calling(function), deadline, work)).await
    }

    fn calling(&self, function: &Arc<str>) -> CallSpan {
        CallSpan::begin(function, self.observer())
    }

    pub(crate) fn observer(&self) -> &Observers {
        &self.inner.client.settings.observer
    }

    /// Runs a future on the I/O thread and waits for it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.runtime()?.block_on(work.in_current_span())?
    }

    /// Runs a future on the I/O thread. It continues if the caller no longer waits.
    pub(crate) async fn run_async<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let task = self.runtime()?.handle().spawn(work.in_current_span());
        task.await.map_err(|failed| {
            let ended = || Error::internal("a call ended without a response");
            if failed.is_panic() { panicked("the call") } else { ended() }
        })?
    }

    fn find(&self, name: &str) -> Result<&'static Function, Error> {
        self.inner.functions.find(name)
    }
}

/// Does the work of a call within its span, and reports its end.
async fn called<T, F>(
    calling: CallSpan,
    deadline: Instant,
    work: impl FnOnce(Arc<Context>) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let context = Arc::new(Context::new(deadline, None));
    let result = work(Arc::clone(&context)).instrument(calling.span.clone()).await;
    let (requests, bytes) = context.used();
    calling.end(requests, bytes, result.as_ref().err().map(Error::kind));
    result
}
