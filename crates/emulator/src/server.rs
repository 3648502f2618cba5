//! The listeners, their routes, and the thread that serves them.
//!
//! Owns sockets, the runtime and its shutdown. The thread is the emulator's own, so starting and
//! stopping work inside and outside a caller's runtime.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use tokio::sync::oneshot;

use super::dataset::Dataset;
use super::refusal::{Address, Refusal};
use super::routes;
use super::socket::{ResetFlag, ResettableListener};
use super::state::{Addresses, Shared};
use super::{EmulatorOptions, openapi};
use crate::Error;

/// The running thread.
pub(super) struct Server {
    pub shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(dataset: Dataset, options: &EmulatorOptions) -> Result<Self, Error> {
        let (controlplane, controlplane_address) = bind(options.listen)?;
        let (backend, backend_address) = bind(options.backend_listen)?;
        let (store, store_address) = bind(options.store_listen)?;
        let (grpc, grpc_address) = bind(options.grpc_listen)?;
        let addresses = Addresses {
            controlplane: controlplane_address,
            backend: backend_address,
            store: store_address,
            grpc: grpc_address,
        };
        let shared = Arc::new(Shared::new(dataset, options, addresses, openapi::document));
        let listeners = [
            (router(Address::ControlPlane, &shared), controlplane),
            (router(Address::Backend, &shared), backend),
            (router(Address::Store, &shared), store),
            (router(Address::Grpc, &shared), grpc),
        ];
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, started) = std::sync::mpsc::channel();
        // The runtime is created and dropped on this thread: dropping it inside another runtime
        // panics.
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || serve(listeners, &ready, stopped))
            .map_err(Error::Start)?;
        let server = Self { shared, stop: Some(stop), thread: Some(thread) };
        match started.recv() {
            Ok(Ok(())) => Ok(server),
            Ok(Err(error)) => Err(Error::Start(error)),
            Err(error) => Err(Error::Start(std::io::Error::other(error))),
        }
    }
}

/// Serves until it is stopped. It first reports its start, or the error that prevented it.
fn serve(
    listeners: [(Router, TcpListener); 4],
    ready: &std::sync::mpsc::Sender<std::io::Result<()>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    runtime.block_on(async move {
        for (router, listener) in listeners {
            let listener = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => listener,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            let service = router.into_make_service_with_connect_info::<ResetFlag>();
            tokio::spawn(async move { axum::serve(ResettableListener(listener), service).await });
        }
        let _ = ready.send(Ok(()));
        let _ = stopped.await;
    });
    // Connections that are still open end with the runtime.
    runtime.shutdown_background();
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Error> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| Error::Listen { address, source })
}

fn router(api: Address, shared: &Arc<Shared>) -> Router {
    let missing = move || async move { Refusal::not_found("no such route").respond(api) };
    let method = move || async move {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "no such method here").respond(api)
    };
    routes::router(api)
        .method_not_allowed_fallback(method)
        .fallback(missing)
        .layer(axum::extract::DefaultBodyLimit::disable())
        .layer(from_fn_with_state((shared.clone(), api), super::inject::observe))
        .with_state(shared.clone())
}
