//! Connections: accepted within a bound, encrypted where that is asked for, read within a time, and ended
//! once what has begun is answered.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio_rustls::TlsAcceptor;

use super::decide::Peer;
use super::options::Bounds;
use super::routes::trimmed;
use super::stalled::Progressing;

/// The time in which the head of a request must arrive, which is also how long a connection may be idle.
const HEAD: Duration = Duration::from_secs(30);

/// The time in which encryption must be agreed on.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// Serves until the stop signal, then finishes open requests within a time limit.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    bounds: Bounds,
    stopped: oneshot::Receiver<()>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(bounds.connections.min(Semaphore::MAX_PERMITS)));
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let accept = async {
            // Never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accept => accepted,
            _ = &mut stopped => break,
        };
        let Ok((stream, peer)) = accepted else {
            // Most likely out of file descriptors: trying again at once would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Otherwise small answers wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let (stream, peer, watcher) = (Progressing::new(stream), Peer(peer), graceful.watcher());
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            let _place = place;
            match tls {
                None => connection(stream, router, peer, watcher).await,
                Some(tls) => {
                    let agreed = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = agreed {
                        connection(stream, router, peer, watcher).await;
                    }
                }
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(bounds.grace, graceful.shutdown()).await;
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    peer: Peer,
    watcher: Watcher,
) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        *request.uri_mut() = trimmed(std::mem::take(request.uri_mut()));
        TowerToHyperService::new(router.clone()).call(request)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // A client that breaks the protocol or goes away is its own concern.
    let _ = watcher.watch(served).await;
}
