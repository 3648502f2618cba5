//! The same over HTTP/2: errors between frames.
//!
//! Owns a server that answers with arbitrary frames. It uses TLS, since the client agrees to HTTP/2
//! only there. Wrong bodies are in the matrix: they are the same here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rego_platform::{ErrorKind, Platform};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::authority::Authority;
use super::server::{Step, runtime};
use super::stage::rules::*;
use super::stage::{CANARY, Column, Rule, builder, call, documented, good, harmless};
use super::tls::FUNCTIONS;
use crate::support::HANG;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
const GOODBYE: u8 = 7;
const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// `:status: 200`, in the protocol's table of headers.
const OK: &[u8] = &[0x88];

/// The end of a call.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Answers,
    Fails(ErrorKind),
    /// A part that was received is taken for the whole.
    Cut,
}

const ANS: Ends = Ends::Answers;
const UNV: Ends = Ends::Fails(ErrorKind::Unavailable);
const UNA: Ends = Ends::Fails(ErrorKind::Unauthenticated);
const LAR: Ends = Ends::Fails(ErrorKind::TooLarge);
const TIM: Ends = Ends::Fails(ErrorKind::TimedOut);
const CUT: Ends = Ends::Cut;

/// Returns the steps after the headers of the stream with this number, for which this body would be
/// right.
pub type Attack = fn(u32, &[u8]) -> Vec<Step>;

struct Row {
    rule: Rule,
    name: &'static str,
    ends: Ends,
    /// The server's first bytes.
    greeting: Vec<u8>,
    attack: Attack,
}

fn row(rule: Rule, name: &'static str, ends: Ends, attack: Attack) -> Row {
    Row { rule, name, ends, greeting: frame(SETTINGS, 0, 0, &[]), attack }
}

fn greeted(rule: Rule, name: &'static str, ends: Ends, greeting: Vec<u8>) -> Row {
    Row { rule, name, ends, greeting, attack: |_, _| Vec::new() }
}

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

/// Headers with a length, which is entry 28 of the protocol's table.
fn announced(length: usize) -> Vec<u8> {
    let text = length.to_string();
    [OK, &[0x0f, 0x0d, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, OK)
}

fn send(frames: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(frames.concat())]
}

/// A header of 4,000 bytes that is added to the table, then its number again and again.
fn bomb() -> Vec<u8> {
    let mut block = vec![0x88, 0x40, 1, b'x', 0x7f, 0xa1, 0x1e];
    block.extend(std::iter::repeat_n(b'y', 4_000));
    block.extend(std::iter::repeat_n(0xbe, 12_000));
    block
}

fn rows() -> Vec<Row> {
    #[rustfmt::skip]
    let rows = vec![
        row(A1, "a right answer",                 ANS, |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good)])),
        row(A1, "a right answer, byte by byte",   ANS, |n, good| { let mut all = vec![head(n)]; all.extend(good.iter().map(|b| frame(DATA, 0, n, &[*b]))); all.push(frame(DATA, END_STREAM, n, &[])); send(&all) }),
        row(A1, "a right answer, then a reset",   ANS, |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good), over(RESET, n, 0)])),
        row(A5, "a success in the trailers",      ANS, |n, good| send(&[head(n), frame(DATA, 0, n, good), frame(HEADERS, END_HEADERS | END_STREAM, n, b"\0\x0bgrpc-status\x010")])),
        row(A5, "early hints first",              ANS, |n, good| send(&[frame(HEADERS, END_HEADERS, n, b"\x08\x03103"), head(n), frame(DATA, END_STREAM, n, good)])),
        row(A6, "a refusal",                      UNA, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, b"\x08\x03401")])),
        row(N1, "reset",                          UNV, |n, _| send(&[over(RESET, n, 2)])),
        row(N1, "refused as unprocessed",         UNV, |n, _| send(&[over(RESET, n, 7)])),
        row(N1, "told to be calm",                UNV, |n, _| send(&[over(RESET, n, 11)])),
        row(N1, "told to use HTTP/1.1",           UNV, |n, _| send(&[over(RESET, n, 13)])),
        row(N3, "reset in the body",              UNV, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 2)])),
        row(N3, "ended well in the body",         CUT, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 0)])),
        row(N3, "ended well before its length",   UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len())), frame(DATA, 0, n, &good[..good.len() - 1]), over(RESET, n, 0)])),
        row(N1, "goodbye",                        UNV, |_, _| send(&[over(GOODBYE, 0, 0)])),
        row(N1, "goodbye with an error",          UNV, |_, _| send(&[over(GOODBYE, 0, 2)])),
        row(N1, "closed at once",                 UNV, |_, _| vec![Step::Reset]),
        row(N3, "closed in the body",             UNV, |n, good| vec![Step::Send([head(n), frame(DATA, 0, n, &good[..good.len() - 1])].concat()), Step::Reset]),
        row(N3, "a length too large",             UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len() + 9)), frame(DATA, END_STREAM, n, good)])),
        row(N3, "a length too small",             UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n, &announced(good.len() - 9)), frame(DATA, END_STREAM, n, good)])),
        row(A7, "a length of a terabyte",         LAR, |n, _| send(&[frame(HEADERS, END_HEADERS, n, &announced(1 << 40))])),
        row(N1, "no status",                      UNV, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, b"\x0f\x0d\x010")])),
        row(N1, "headers that can't be read",     UNV, |n, _| send(&[frame(HEADERS, END_HEADERS | END_STREAM, n, &[0xff; 40])])),
        row(A7, "headers without end",            UNV, |n, _| vec![Step::Send(frame(HEADERS, 0, n, OK)), Step::Endless(frame(CONTINUATION, 0, n, &[0x88; 16_000]))]),
        row(A7, "empty headers without end",      UNV, |n, _| vec![Step::Send(frame(HEADERS, 0, n, OK)), Step::Endless(frame(CONTINUATION, 0, n, &[]).repeat(1_000))]),
        row(A7, "headers that grow to 48 MB",     UNV, |n, _| send(&[frame(HEADERS, END_HEADERS, n, &bomb())])),
        row(A7, "a body without end",             LAR, |n, _| vec![Step::Send(head(n)), Step::Endless(frame(DATA, 0, n, &[b' '; 16_000]))]),
        row(N1, "a body before its headers",      UNV, |n, good| send(&[frame(DATA, END_STREAM, n, good)])),
        row(N1, "a body of no stream",            UNV, |_, good| send(&[frame(DATA, END_STREAM, 0, good)])),
        row(N1, "an answer to no question",       UNV, |n, good| send(&[frame(HEADERS, END_HEADERS, n + 100, OK), frame(DATA, END_STREAM, n + 100, good)])),
        row(N1, "an answer that is pushed",       UNV, |n, _| send(&[frame(PUSH, END_HEADERS, n, b"\0\0\0\x02\x82\x84\x87\x41\x01x")])),
        row(A7, "a frame of 1 MiB",               UNV, |n, _| send(&[head(n), frame(DATA, END_STREAM, n, &vec![b' '; 1 << 20])])),
        row(N1, "another protocol in its midst",  UNV, |_, _| vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9))]),
        greeted(N1, "another protocol",           UNV, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9)),
        greeted(A7, "no greeting",                TIM, Vec::new()),
        greeted(A7, "no stream is allowed",       TIM, frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0])),
        greeted(A7, "no byte is allowed",         TIM, frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0])),
        row(A7, "silence",                        TIM, |_, _| Vec::new()),
        row(A7, "silence in the body",            TIM, |n, good| send(&[head(n), frame(DATA, 0, n, &good[..good.len() - 1])])),
        row(A7, "a dripping body",                TIM, |n, good| vec![Step::Send(head(n)), Step::Drip(frame(DATA, 0, n, good).repeat(99), Duration::from_millis(20))]),
        row(A7, "pings without end",              TIM, |_, _| vec![Step::Endless(frame(PING, 0, 0, &[7; 8]))]),
        row(A7, "settings without end",           TIM, |_, _| vec![Step::Endless(frame(SETTINGS, 0, 0, &[]))]),
        row(A7, "interim answers without end",    TIM, |n, _| vec![Step::Drip(frame(HEADERS, END_HEADERS, n, b"\x08\x03103").repeat(99), Duration::from_millis(5))]),
    ];
    rows
}

/// Serves one connection after another; returns the address, and counts requests.
pub fn serve(
    tls: rustls::ServerConfig,
    greeting: Vec<u8>,
    attack: Attack,
    bodies: [Vec<u8>; 2],
    requests: Arc<AtomicUsize>,
) -> std::net::SocketAddr {
    let listener = runtime().block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let tls = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let shared = Arc::new((greeting, bodies, requests));
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
    address
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    greeting: &[u8],
    attack: Attack,
    bodies: &[Vec<u8>; 2],
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
                let body = &bodies[requests.fetch_add(1, Ordering::SeqCst).min(1)];
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

/// Returns the right bodies for the requests of a call.
fn bodies(column: Column) -> [Vec<u8>; 2] {
    let second = if column == Column::Prompt { Column::Poll } else { column };
    [good(column, 7), good(second, 7)]
}

fn one(authority: &Authority, row: &Row, column: Column) -> Result<(), String> {
    let mut tls = authority.server("127.0.0.1", false);
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let requests = Arc::new(AtomicUsize::new(0));
    let greeting = row.greeting.clone();
    let address = serve(tls, greeting, row.attack, bodies(column), Arc::clone(&requests));
    let url = format!("https://{address}");
    let hasty = row.ends == TIM;
    let platform: Platform = builder()
        .controlplane_url(&url)
        .base_url(&url)
        .ca_certificate(authority.pem.clone())
        .idle_timeout(Duration::from_millis(if hasty { 250 } else { 5_000 }))
        .call_timeout(Duration::from_millis(if hasty { 700 } else { 15_000 }))
        .build()
        .unwrap();
    let (function, arguments) = call(column, 7);
    let started = Instant::now();
    let result = platform.call(function, &arguments);
    let took = started.elapsed();
    if took > HANG {
        return Err(format!("it took {took:?}"));
    }
    // The start of an AI evaluation is never retried, whatever happened to it.
    let sent = requests.load(Ordering::SeqCst);
    if column == Column::Prompt && row.ends != ANS && sent > 1 {
        return Err(format!("the prompt was sent {sent} times"));
    }
    let ends = match (row.ends, column) {
        (Ends::Cut, Column::Download) => Ends::Fails(ErrorKind::Tampered),
        (Ends::Cut, _) => Ends::Fails(ErrorKind::Protocol),
        (other, _) => other,
    };
    match (result, ends) {
        (Ok(value), Ends::Answers) => documented(function, &value),
        (Err(error), Ends::Fails(kind)) if error.kind() == kind => harmless(&error),
        (Ok(value), _) => Err(format!("it passed: {value}")),
        (Err(error), _) => Err(format!("{}: {}", error.kind(), error.report())),
    }
}

#[test]
fn every_function_withstands_every_row() {
    let authority = Authority::new();
    let rows = rows();
    let cells: Vec<(&Row, Column)> =
        rows.iter().flat_map(|row| FUNCTIONS.map(|column| (row, column))).collect();
    let (next, wrong) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while let Some((row, column)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = one(&authority, row, *column) {
                        assert!(!why.contains(CANARY));
                        let Row { rule: Rule(rule), name, .. } = row;
                        wrong.lock().unwrap().push(format!("{rule}: {name} × {column:?}: {why}"));
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
