//! A server of HTTP/2 that answers with arbitrary frames, and the clients of it.
//!
//! It uses TLS, since the client agrees to HTTP/2 only there.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rego_platform::PlatformBuilder;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::authority::Authority;
use super::server::{Step, runtime};
use super::stage::builder;
use crate::support::HANG;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH: u8 = 5;
pub const PING: u8 = 6;
pub const GOODBYE: u8 = 7;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// Returns the steps after the headers of the stream with this number, for which this body would be
/// right.
pub type Attack = fn(u32, &[u8]) -> Vec<Step>;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// The end of a stream or of a connection, with its reason.
pub fn over(kind: u8, stream: u32, reason: u32) -> Vec<u8> {
    let reason = reason.to_be_bytes();
    match kind {
        RESET => frame(RESET, 0, stream, &reason),
        // The last stream that is answered: none.
        _ => frame(kind, 0, 0, &[&[0; 4][..], &reason].concat()),
    }
}

/// A server that answers one connection after another.
pub struct Frames {
    pub address: SocketAddr,
    requests: Arc<AtomicUsize>,
}

impl Frames {
    /// Starts one that has the name of a host, greets with these bytes, and answers each request with
    /// the right body for it; the last one is right for all that follow.
    pub fn start(
        authority: &Authority,
        name: &str,
        greeting: Vec<u8>,
        attack: Attack,
        bodies: Vec<Vec<u8>>,
    ) -> Self {
        let mut tls = authority.server(name, false);
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
        let listener = runtime().block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<AtomicUsize>::default();
        let shared = Arc::new((greeting, bodies, Arc::clone(&requests)));
        runtime().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, shared) = (tls.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                    let (greeting, bodies, requests) = &*shared;
                    // A client that closes the connection isn't an error.
                    let _ = converse(stream, greeting, attack, bodies, requests).await;
                });
            }
        });
        Self { address, requests }
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Returns a client that trusts the authority; a hasty one doesn't wait long.
pub fn client(authority: &Authority, hasty: bool) -> PlatformBuilder {
    builder()
        .ca_certificate(authority.pem.clone())
        .idle_timeout(Duration::from_millis(if hasty { 250 } else { 5_000 }))
        .call_timeout(Duration::from_millis(if hasty { 700 } else { 15_000 }))
}

/// Runs something that must not take long.
pub fn timed<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let started = Instant::now();
    let result = run();
    let took = started.elapsed();
    if took > HANG { Err(format!("it took {took:?}")) } else { Ok(result) }
}

/// Checks each item, several at a time.
pub fn check_each<T: Sync>(items: &[T], check: impl Fn(&T) -> Result<(), String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = check(item) {
                        wrong.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    greeting: &[u8],
    attack: Attack,
    bodies: &[Vec<u8>],
    requests: &AtomicUsize,
) -> std::io::Result<()> {
    let (mut input, mut output) = tokio::io::split(stream);
    let mut preface = [0; 24];
    input.read_exact(&mut preface).await?;
    assert!(preface.starts_with(b"PRI * HTTP/2.0"));
    output.write_all(greeting).await?;
    output.flush().await?;
    loop {
        let mut start = [0; 9];
        input.read_exact(&mut start).await?;
        let length =
            usize::from(start[0]) << 16 | usize::from(start[1]) << 8 | usize::from(start[2]);
        input.read_exact(&mut vec![0; length]).await?;
        let stream = u32::from_be_bytes([start[5] & 0x7f, start[6], start[7], start[8]]);
        match start[3] {
            // The client's acknowledgements of settings and pings aren't acknowledged.
            SETTINGS if start[4] & 1 == 0 => output.write_all(&frame(SETTINGS, 1, 0, &[])).await?,
            HEADERS => {
                let number = requests.fetch_add(1, Ordering::SeqCst);
                let body = &bodies[number.min(bodies.len() - 1)];
                for step in attack(stream, body) {
                    match step {
                        Step::Send(bytes) => output.write_all(&bytes).await?,
                        Step::Endless(bytes) => loop {
                            output.write_all(&bytes).await?;
                            // The client's frames are read, or both sides would wait forever.
                            let mut bytes = [0; 4096];
                            let read = input.read(&mut bytes);
                            let _ = tokio::time::timeout(Duration::from_micros(1), read).await;
                        },
                        Step::Drip(bytes, pause) => {
                            for byte in bytes {
                                output.write_all(&[byte]).await?;
                                output.flush().await?;
                                tokio::time::sleep(pause).await;
                            }
                        }
                        Step::Pause(time) => tokio::time::sleep(time).await,
                        Step::Reset => return output.shutdown().await,
                    }
                }
            }
            _ => {}
        }
        output.flush().await?;
    }
}
