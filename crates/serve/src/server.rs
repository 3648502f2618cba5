//! A running server, on a thread and a runtime of its own: starting and stopping work inside and outside a
//! caller's runtime.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rego_platform::Error;
use rego_platform::evaluate::{Pool, SharedMemory};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::admission::Queue;
use super::app::{App, Shared};
use super::connections;
use super::decision_log::DecisionLog;
use super::metrics::Metrics;
use super::options::ServerOptions;
use super::policy_set::{Load, PolicyStore};
use super::routes;
use super::tls::Tls;

/// The most threads that compile queries and run gates.
const BLOCKING: usize = 16;

/// A running server. It is stopped when it is dropped, once what has begun is answered.
#[derive(Debug)]
pub struct Server {
    app: App,
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Loads the policies, and serves them.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) when other machines could ask without a token or a certificate, or the
    /// address can't be listened on; the errors of loading.
    pub fn start(load: Load, options: ServerOptions) -> Result<Self, Error> {
        let ServerOptions {
            listen,
            access,
            evaluate,
            gate,
            bounds,
            decision_log,
            decision_cache,
            journal,
        } = options;
        access.check(listen)?;
        let policies = PolicyStore::new(load)?;
        let decision_log = decision_log
            .map(|destination| DecisionLog::open(destination, Arc::clone(&journal)))
            .transpose()?;
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let failed =
            |what: String, error: std::io::Error| Error::configuration(what).with_source(error);
        let unheard = |error| failed(format!("can't listen on `{listen}`"), error);
        let listener = TcpListener::bind(listen).map_err(unheard)?;
        listener.set_nonblocking(true).map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        let tls = access.tls.as_ref().map(Tls::acceptor);
        let app = App::new(Shared {
            access,
            evaluate,
            gate,
            journal,
            policies,
            pool: Pool::new(cores),
            queue: Queue::new(&bounds),
            memory: SharedMemory::new(bounds.memory),
            metrics: Arc::new(Metrics::default()),
            decision_log,
            decision_cache,
            id: Uuid::new_v4().to_string(),
            requests: AtomicU64::default(),
            bounds: bounds.clone(),
        });
        let unstarted = |error| failed("the server can't be started".to_owned(), error);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores.get())
            .max_blocking_threads(BLOCKING)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(unstarted)?;
        let router = routes::router(&app);
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            runtime.block_on(async move {
                // Registered with this runtime.
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let served = connections::serve(listener, router, tls, bounds, stopped);
                // On the runtime's threads.
                let _ = tokio::spawn(served).await;
            });
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("serve".to_owned());
        let thread = thread.spawn(serve).map_err(unstarted)?;
        Ok(Self { app, address, running: Mutex::new(Some(Running { stop, thread })) })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Loads the policies again, and answers from then on by them.
    ///
    /// # Errors
    /// Those of loading. The policies that were loaded before stay, and `/health?bundles` and
    /// `/v1/status` say so.
    pub fn reload(&self) -> Result<(), Error> {
        self.app.policies.reload()
    }

    /// Asks whether the policies have changed, and if so loads them again, as [`reload`](Self::reload) does;
    /// also if that has failed the last time. Returns `true` if it did.
    ///
    /// # Errors
    /// Those of asking and of loading.
    pub fn reload_if(
        &self,
        has_changed: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        self.app.policies.reload_if(has_changed)
    }

    /// Stops accepting connections, and returns once what has begun is answered and what was decided is
    /// uploaded, or the time of each is over.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(Running { stop, thread }) = running {
            let _ = stop.send(());
            let _ = thread.join();
            if let Some(log) = &self.app.decision_log {
                log.finish(self.app.bounds.grace);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
