//! The same over gRPC: answers that lack their status, that aren't what they say, or aren't gRPC.
//!
//! Owns messages of its own, byte by byte: it shares none with the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rego_platform::ErrorKind::{self, *};

use super::authority::Authority;
use super::http2::{Attack, DATA, END_HEADERS, END_STREAM, HEADERS, RESET, SETTINGS};
use super::http2::{frame, over, serve};
use super::server::{Server, Step};
use super::stage::{CANARY, Column, SIGNED, builder, call, documented, harmless};
use super::{script, stage};
use crate::support::HANG;

/// Returns a field of a message that is a text or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128, "longer ones are written otherwise");
    [&[number << 3 | 2, length], content].concat()
}

/// Returns a message as it is sent.
fn message(content: &[u8]) -> Vec<u8> {
    [&[0], &u32::try_from(content.len()).unwrap().to_be_bytes()[..], content].concat()
}

fn discovered(digest: &str) -> Vec<u8> {
    let created = field(5, &[8, 1]);
    let item = [field(1, digest.as_bytes()), field(2, b"CONTAINER_IMAGE"), created].concat();
    message(&field(1, &item))
}

/// Returns a header, with its name and value as they are.
fn header(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

fn headers(flags: u8, stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<u8> = fields.iter().flat_map(|(name, value)| header(name, value)).collect();
    frame(HEADERS, END_HEADERS | flags, stream, &fields)
}

const OK: (&str, &str) = (":status", "200");
const TYPE: (&str, &str) = ("content-type", "application/grpc");

fn head(stream: u32) -> Vec<u8> {
    headers(0, stream, &[OK, TYPE])
}

fn success(stream: u32) -> Vec<u8> {
    headers(END_STREAM, stream, &[("grpc-status", "0")])
}

/// Returns a refusal, which has no message.
fn refusal(stream: u32, code: &str, text: &str) -> Vec<Step> {
    let fields = [OK, TYPE, ("grpc-status", code), ("grpc-message", text)];
    vec![Step::Send(headers(END_STREAM, stream, &fields))]
}

fn data(stream: u32, content: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, content)
}

fn send(frames: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(frames.concat())]
}

/// The end of a call, `None` if it is answered, and a part of its report.
type Row = (&'static str, Option<ErrorKind>, &'static str, Attack);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("a right answer",                 None,                  "", |n, good| send(&[head(n), data(n, good), success(n)])),
    ("a right answer, byte by byte",   None,                  "", |n, good| { let mut all = vec![head(n)]; all.extend(good.iter().map(|byte| data(n, &[*byte]))); all.push(success(n)); send(&all) }),
    ("a refusal, not found",           Some(NotFound),        "(NotFound): nothing", |n, _| refusal(n, "5", "nothing")),
    ("the router's refusal",           Some(Protocol),        "isn't one of the service's", |n, _| refusal(n, "5", "Not Found")),
    ("a refusal after the headers",    Some(PermissionDenied), "(PermissionDenied): no", |n, _| send(&[head(n), headers(END_STREAM, n, &[("grpc-status", "7"), ("grpc-message", "no")])])),
    ("a refusal after the message",    Some(Unavailable),     "(Internal)", |n, good| send(&[head(n), data(n, good), headers(END_STREAM, n, &[("grpc-status", "13")])])),
    ("a refused token",                Some(Unauthenticated), "(Unauthenticated)", |n, _| refusal(n, "16", "no")),
    ("a revoked token",                Some(Unauthenticated), "(Unknown): error setting", |n, _| refusal(n, "2", "error setting current org and user: API token revoked")),
    ("several kinds",                  Some(InvalidArgument), "(InvalidArgument): A, B", |n, _| refusal(n, "3", "A, B")),
    ("no such method",                 Some(Unavailable),     "(Unimplemented)", |n, _| refusal(n, "12", "unknown service")),
    ("too many requests",              Some(RateLimited),     "(ResourceExhausted)", |n, _| refusal(n, "8", "")),
    ("a status that isn't one",        Some(Unavailable),     "(Unknown)", |n, _| refusal(n, "x", "")),
    ("a refusal with the token",       Some(Unavailable),     "(Internal)", |n, _| refusal(n, "13", CANARY)),
    ("a refusal with escapes",         Some(Unavailable),     "no \\u{1b}[1m", |n, _| refusal(n, "13", "no %1b[1m%0a%e2%80%ae")),
    ("ended without a status",         Some(Unavailable),     "ended after", |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good)])),
    ("ended in the message",           Some(Unavailable),     "ended after", |n, good| send(&[head(n), frame(DATA, END_STREAM, n, &good[..good.len() - 1])])),
    ("ended well after the message",   Some(Unavailable),     "ended after", |n, good| send(&[head(n), data(n, good), over(RESET, n, 0)])),
    ("reset in the message",           Some(Unavailable),     "the connection broke", |n, good| send(&[head(n), data(n, &good[..9]), over(RESET, n, 2)])),
    ("closed in the message",          Some(Unavailable),     "the connection broke", |n, good| vec![Step::Send([head(n), data(n, &good[..9])].concat()), Step::Reset]),
    ("a success without a message",    Some(Protocol),        "can't be read", |n, _| send(&[headers(END_STREAM, n, &[OK, TYPE, ("grpc-status", "0")])])),
    ("a success with half a message",  Some(Protocol),        "can't be read", |n, good| send(&[head(n), data(n, &good[..9]), success(n)])),
    ("an empty message",               Some(Protocol),        "the service's answer has no", |n, _| send(&[head(n), data(n, &message(&[])), success(n)])),
    ("a message of something else",    Some(Protocol),        "can't be read", |n, _| send(&[head(n), data(n, &message(&[0xff; 40])), success(n)])),
    ("a compressed message",           Some(Protocol),        "can't be read", |n, good| send(&[head(n), data(n, &[&[1], &good[1..]].concat()), success(n)])),
    ("a message of 4 GiB",             Some(TooLarge),        "larger than 4 MiB", |n, _| send(&[head(n), data(n, &[0, 0xff, 0xff, 0xff, 0xff, 0])])),
    ("a message over the bound",       Some(TooLarge),        "larger than 4 MiB", |n, _| vec![Step::Send([head(n), data(n, &[0, 0, 0x40, 0, 1])].concat()), Step::Endless(data(n, &[0; 9_000]))]),
    ("a web page",                     Some(Protocol),        "answered with `text/html` instead of gRPC", |n, _| send(&[headers(END_STREAM, n, &[OK, ("content-type", "text/html")])])),
    ("no type",                        Some(Protocol),        "instead of gRPC", |n, good| send(&[headers(0, n, &[OK]), data(n, good), success(n)])),
    ("a gateway without a service",    Some(Unavailable),     "answered with the status 502 instead of gRPC", |n, _| send(&[headers(END_STREAM, n, &[(":status", "502")])])),
    ("a gateway's not found",          Some(Protocol),        "answered with the status 404 instead of gRPC", |n, _| send(&[headers(0, n, &[(":status", "404"), ("content-type", "application/json")]), frame(DATA, END_STREAM, n, br#"{"code":5,"message":"no artifact"}"#)])),
    ("another protocol in its midst",  Some(Unavailable),     "", |_, _| vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9))]),
    ("silence",                        Some(TimedOut),        "", |_, _| Vec::new()),
    ("silence in the message",         Some(TimedOut),        "", |n, good| send(&[head(n), data(n, &good[..9])])),
    ("silence after the message",      Some(TimedOut),        "", |n, good| send(&[head(n), data(n, good)])),
];

/// Asks a server that answers in this way.
fn ask(authority: &Authority, row: &Row, column: Column, good: &[u8]) -> Result<(), String> {
    let (_, ends, says, attack) = *row;
    let mut tls = authority.server("127.0.0.1", false);
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let greeting = frame(SETTINGS, 0, 0, &[]);
    let requests = Arc::new(AtomicUsize::new(0));
    let bodies = [good.to_vec(), good.to_vec()];
    let address = serve(tls, greeting, attack, bodies, Arc::clone(&requests));
    let hasty = ends == Some(TimedOut);
    let platform = builder()
        .grpc_address(address.to_string())
        .ca_certificate(authority.pem.clone())
        .idle_timeout(Duration::from_millis(if hasty { 250 } else { 5_000 }))
        .call_timeout(Duration::from_millis(if hasty { 700 } else { 15_000 }))
        .build()
        .unwrap();
    let (function, arguments) = call(column, 7);
    let started = Instant::now();
    let result = platform.call(function, &arguments);
    if started.elapsed() > HANG {
        return Err(format!("it took {:?}", started.elapsed()));
    }
    match (result, ends) {
        (Ok(value), None) => documented(function, &value),
        (Err(error), Some(kind)) if error.kind() == kind && error.report().contains(says) => {
            let again = matches!(kind, Unavailable | RateLimited) && !says.contains("Unimpl");
            let sent = requests.load(Ordering::SeqCst);
            if sent != 1 + usize::from(again) {
                return Err(format!("{sent} requests: {}", error.report()));
            }
            harmless(&error)
        }
        (Ok(value), _) => Err(format!("it passed: {value}")),
        (Err(error), _) => Err(format!("{}: {}", error.kind(), error.report())),
    }
}

fn check(rows: &[Row], column: Column, good: &[u8]) {
    let authority = Authority::new();
    let (next, wrong) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = ask(&authority, row, column, good) {
                        wrong.lock().unwrap().push(format!("{}: {why}", row.0));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} rows are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_answer_is_one_with_its_status() {
    check(ROWS, Column::Discover, &discovered(&format!("sha256:{:064x}", 7)));
    let other: &[Row] = &[("another digest", Some(Protocol), "about another digest", ROWS[0].3)];
    check(other, Column::Discover, &discovered(&format!("sha256:{:064x}", 8)));
}

#[test]
fn a_signed_url_is_one_and_gets_no_token() {
    let url = |url: &str| message(&field(1, &field(2, url.as_bytes())));
    for (to, kind, says) in [
        ("", Protocol, "has no URL of the content"),
        ("nonsense", Protocol, "has no URL of the content"),
        ("http://192.0.2.1/?sig=signed-", Protocol, "from https to plain HTTP"),
        ("https://u:signed-@127.0.0.1/", Protocol, "a user name or password"),
        ("file:///etc/passwd", Protocol, "other than HTTP"),
        (&format!("https://127.0.0.1:1/?t={CANARY}"), Protocol, "a URL with the token in it"),
        (&format!("https://127.0.0.1:1/{SIGNED}"), Unavailable, "can't connect to"),
    ] {
        let rows: &[Row] = &[("a URL", Some(kind), says, ROWS[0].3)];
        let authority = Authority::new();
        let why = ask(&authority, &rows[0], Column::Download, &url(to));
        // A connection that fails is tried again with another URL.
        let why = why.err().filter(|why| !(kind == Unavailable && why.starts_with("4 requests")));
        assert_eq!(why, None, "{to}");
    }
}

/// One that can't pass gRPC on says so in HTTP/1.
#[test]
fn a_proxy_of_http_1_is_recognised() {
    let plain = Server::start(|_| script::status(400, &[], "no"));
    let authority = Authority::new();
    let mut tls = authority.server("127.0.0.1", false);
    let silent = Server::start_tls(tls.clone(), |_| script::status(400, &[], "no"));
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let refuses = Server::start_tls(tls, |_| script::status(400, &[], "no"));
    for (server, plain_text) in [(&plain, true), (&silent, false), (&refuses, false)] {
        let platform = builder()
            .grpc_address(server.address.to_string())
            .grpc_plain_text(plain_text)
            .ca_certificate(authority.pem.clone())
            .build()
            .unwrap();
        let (function, arguments) = call(Column::Discover, 7);
        let error = platform.call(function, &arguments).unwrap_err();
        assert_eq!(error.kind(), Unavailable, "{}", error.report());
        let hint = error.hint().unwrap_or_default();
        assert!(hint.contains("gRPC"), "{}: {hint}", error.report());
        stage::harmless(&error).unwrap();
    }
}
