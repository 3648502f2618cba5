//! The same over gRPC: answers that lack their status, that aren't what they say, or aren't gRPC.
//!
//! Owns messages of its own, byte by byte: it shares none with the client.

use rego_platform::ErrorKind::{self, *};
use rego_platform::setting::{CONTENT_STORE, PLAIN_HTTP};
use rego_platform::{Error, Value};

use super::authority::{Authority, tunnel};
use super::frames::{
    Attack, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, RESET, SETTINGS, check_each, client,
    frame, over, timed,
};
use super::script;
use super::server::{Server, Step};
use super::stage::rules::*;
use super::stage::{CANARY, Column, Rule, SIGNED, builder, call, content, documented, harmless};

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

/// Returns a part of content.
fn part(stream: u32, content: &[u8]) -> Vec<u8> {
    data(stream, &message(&field(10, content)))
}

fn send(frames: &[Vec<u8>]) -> Vec<Step> {
    vec![Step::Send(frames.concat())]
}

/// The rule, the end of a call, `None` if it is answered, and a part of its report.
type Row = (Rule, &'static str, Option<ErrorKind>, &'static str, Attack);

/// What is the same for every method.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    (A1, "a right answer",                 None,                  "", |n, good| send(&[head(n), data(n, good), success(n)])),
    (A1, "a right answer, byte by byte",   None,                  "", |n, good| { let mut all = vec![head(n)]; all.extend(good.iter().map(|byte| data(n, &[*byte]))); all.push(success(n)); send(&all) }),
    (N1, "ended without a status",         Some(Unavailable),     "ended after", |n, good| send(&[head(n), frame(DATA, END_STREAM, n, good)])),
    (N3, "ended in the message",           Some(Unavailable),     "ended after", |n, good| send(&[head(n), frame(DATA, END_STREAM, n, &good[..good.len() - 1])])),
    (N1, "ended well after the message",   Some(Unavailable),     "ended after", |n, good| send(&[head(n), data(n, good), over(RESET, n, 0)])),
    (N1, "reset in the message",           Some(Unavailable),     "connection lost", |n, good| send(&[head(n), data(n, &good[..9]), over(RESET, n, 2)])),
    (N1, "closed in the message",          Some(Unavailable),     "connection lost", |n, good| vec![Step::Send([head(n), data(n, &good[..9])].concat()), Step::Reset]),
    (A2, "a message of something else",    Some(Protocol),        "invalid response", |n, _| send(&[head(n), data(n, &message(&[0xff; 40])), success(n)])),
    (A1, "a compressed message",           Some(Protocol),        "invalid response", |n, good| send(&[head(n), data(n, &[&[1], &good[1..]].concat()), success(n)])),
    (A7, "a message of 4 GiB",             Some(TooLarge),        " too large: the limit is 4 MiB", |n, _| send(&[head(n), data(n, &[0, 0xff, 0xff, 0xff, 0xff, 0])])),
    (A7, "a message over the bound",       Some(TooLarge),        " too large: the limit is 4 MiB", |n, _| vec![Step::Send([head(n), data(n, &[0, 0, 0x40, 0, 1])].concat()), Step::Endless(data(n, &[0; 9_000]))]),
    (A1, "a web page",                     Some(Protocol),        "expected gRPC, found `text/html`", |n, _| send(&[headers(END_STREAM, n, &[OK, ("content-type", "text/html")])])),
    (A1, "no type",                        Some(Protocol),        "expected gRPC", |n, good| send(&[headers(0, n, &[OK]), data(n, good), success(n)])),
    (A6, "a gateway without a service",    Some(Unavailable),     "expected gRPC, found the status 502", |n, _| send(&[headers(END_STREAM, n, &[(":status", "502")])])),
    (A6, "a gateway's not found",          Some(Protocol),        "expected gRPC, found the status 404", |n, _| send(&[headers(0, n, &[(":status", "404"), ("content-type", "application/json")]), frame(DATA, END_STREAM, n, br#"{"code":5,"message":"no artifact"}"#)])),
    (N1, "another protocol in its midst",  Some(Unavailable),     "", |_, _| vec![Step::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".repeat(9))]),
    (A7, "silence",                        Some(TimedOut),        "", |_, _| Vec::new()),
    (A7, "silence in the message",         Some(TimedOut),        "", |n, good| send(&[head(n), data(n, &good[..9])])),
    (A7, "silence after the message",      Some(TimedOut),        "", |n, good| send(&[head(n), data(n, good)])),
];

/// What the control plane says.
#[rustfmt::skip]
const ANSWERS: &[Row] = &[
    (A6, "a refusal, not found",           Some(NotFound),        "(NotFound): nothing", |n, _| refusal(n, "5", "nothing")),
    (A6, "the router's refusal",           Some(Protocol),        "no such address of the service", |n, _| refusal(n, "5", "Not Found")),
    (A6, "a refusal after the headers",    Some(PermissionDenied), "(PermissionDenied): no", |n, _| send(&[head(n), headers(END_STREAM, n, &[("grpc-status", "7"), ("grpc-message", "no")])])),
    (N1, "a refusal after the message",    Some(Unavailable),     "(Internal)", |n, good| send(&[head(n), data(n, good), headers(END_STREAM, n, &[("grpc-status", "13")])])),
    (A6, "a refused token",                Some(Unauthenticated), "(Unauthenticated)", |n, _| refusal(n, "16", "no")),
    (A6, "a revoked token",                Some(Unauthenticated), "(Unknown): error setting", |n, _| refusal(n, "2", "error setting current org and user: API token revoked")),
    (A6, "several kinds",                  Some(InvalidArgument), "(InvalidArgument): A, B", |n, _| refusal(n, "3", "A, B")),
    (A6, "no such method",                 Some(Unavailable),     "(Unimplemented)", |n, _| refusal(n, "12", "unknown service")),
    (A6, "too many requests",              Some(RateLimited),     "(ResourceExhausted)", |n, _| refusal(n, "8", "")),
    (A6, "a status that isn't one",        Some(Unavailable),     "(Unknown)", |n, _| refusal(n, "x", "")),
    (N5, "a refusal with the token",       Some(Unavailable),     "(Internal)", |n, _| refusal(n, "13", CANARY)),
    (A6, "a refusal with escapes",         Some(Unavailable),     "no \\u{1b}[1m", |n, _| refusal(n, "13", "no %1b[1m%0a%e2%80%ae")),
    (A2, "a success without a message",    Some(Protocol),        "invalid response", |n, _| send(&[headers(END_STREAM, n, &[OK, TYPE, ("grpc-status", "0")])])),
    (A2, "a success with half a message",  Some(Protocol),        "invalid response", |n, good| send(&[head(n), data(n, &good[..9]), success(n)])),
    (A2, "an empty message",               Some(Protocol),        "the service's response has no", |n, _| send(&[head(n), data(n, &message(&[])), success(n)])),
];

/// What the content store says.
#[rustfmt::skip]
const STORE: &[Row] = &[
    (A7, "two parts",                      None,                  "", |n, good| send(&[head(n), part(n, &good[7..20]), part(n, &good[20..]), success(n)])),
    (A7, "an empty part",                  None,                  "", |n, good| send(&[head(n), part(n, &[]), data(n, good), success(n)])),
    (A7, "a part is missing",              Some(Tampered),        "digest mismatch", |n, good| send(&[head(n), part(n, &good[7..20]), success(n)])),
    (A7, "a part twice",                   Some(Tampered),        "digest mismatch", |n, good| send(&[head(n), data(n, good), data(n, good), success(n)])),
    (A7, "a success with half a part",     Some(Tampered),        "digest mismatch", |n, good| send(&[head(n), data(n, &good[..9]), success(n)])),
    (A7, "no part",                        Some(Tampered),        "(0 bytes)", |n, _| send(&[headers(END_STREAM, n, &[OK, TYPE, ("grpc-status", "0")])])),
    (A7, "another part's number",          Some(Tampered),        "(0 bytes)", |n, good| send(&[head(n), data(n, &message(&field(9, &good[7..]))), success(n)])),
    (N3, "ended between two parts",        Some(Unavailable),     "ended after", |n, good| send(&[head(n), part(n, &good[7..20]), over(RESET, n, 0)])),
    (N3, "closed between two parts",       Some(Unavailable),     "connection lost", |n, good| vec![Step::Send([head(n), part(n, &good[7..20])].concat()), Step::Reset]),
    (A7, "content without end",            Some(TooLarge),        "too large: the limit is 256 KiB", |n, _| vec![Step::Send(head(n)), Step::Endless(part(n, &[0; 100]).repeat(90))]),
    (A6, "a blob is missing",              Some(Unavailable),     "failed with Internal: no blob", |n, _| refusal(n, "13", "no blob")),
    (A6, "a blob is not found",            Some(Unavailable),     "failed with NotFound", |n, _| refusal(n, "5", "no blob")),
    (N1, "a failure after a part",         Some(Unavailable),     "failed with DataLoss: lost", |n, good| send(&[head(n), part(n, &good[7..20]), headers(END_STREAM, n, &[("grpc-status", "15"), ("grpc-message", "lost")])])),
    (A6, "its token is refused",           Some(Unavailable),     "failed with Unauthenticated", |n, _| refusal(n, "16", "no")),
    (A6, "its token may not",              Some(Unavailable),     "failed with PermissionDenied", |n, _| refusal(n, "7", "no")),
    (A6, "no such method",                 Some(Unavailable),     "failed with Unimplemented", |n, _| refusal(n, "12", "unknown service")),
    (A6, "too many requests",              Some(RateLimited),     "failed with ResourceExhausted", |n, _| refusal(n, "8", "")),
    (N5, "a refusal with its token",       Some(Unavailable),     "failed with Internal", |n, _| refusal(n, "13", STORE_TOKEN)),
];

fn serve(authority: &Authority, attack: Attack, bodies: Vec<Vec<u8>>) -> Frames {
    Frames::start(authority, "127.0.0.1", frame(SETTINGS, 0, 0, &[]), attack, bodies)
}

/// Asks a control plane that answers in this way.
fn ask(authority: &Authority, row: &Row, column: Column, good: &[u8]) -> Result<(), String> {
    let server = serve(authority, row.4, vec![good.to_vec()]);
    let platform = client(authority, row.2 == Some(TimedOut));
    let platform = platform.grpc_address(server.address.to_string()).build().unwrap();
    let (function, arguments) = call(column, 7);
    let result = timed(|| platform.call(function, &arguments))?;
    judge(row, function, result, server.requests())
}

/// The token of the content store.
const STORE_TOKEN: &str = "canary-of-the-store-0123456789";

/// A control plane without signed URLs: it refuses the first request, and answers the others.
fn without_urls(authority: &Authority, credentials: &[u8]) -> Frames {
    let attack: Attack = |n, body| match body {
        [] => refusal(n, "12", "unknown method"),
        body => send(&[head(n), data(n, body), success(n)]),
    };
    serve(
        authority,
        attack,
        (0..8).map(|n| if n == 0 { vec![] } else { credentials.to_vec() }).collect(),
    )
}

fn credentials(token: &str) -> Vec<u8> {
    message(&field(1, &field(2, token.as_bytes())))
}

/// Downloads from a content store that answers in this way.
fn download(authority: &Authority, row: &Row) -> Result<(), String> {
    let control_plane = without_urls(authority, &credentials(STORE_TOKEN));
    let store = serve(authority, row.4, vec![message(&field(10, &content(7)))]);
    let platform = client(authority, row.2 == Some(TimedOut))
        .grpc_address(control_plane.address.to_string())
        .store_address(store.address.to_string())
        .build()
        .unwrap();
    let (function, arguments) = call(Column::Download, 7);
    let result = timed(|| platform.call(function, &arguments))?;
    judge(row, function, result, store.requests())
}

fn judge(
    row: &Row,
    function: &str,
    result: Result<Value, Error>,
    sent: usize,
) -> Result<(), String> {
    let (_, _, ends, says, _) = *row;
    match (result, ends) {
        (Ok(value), None) => documented(function, &value),
        (Err(error), Some(kind)) if error.kind() == kind && error.report().contains(says) => {
            let final_answer = ["Unimplemented", "NotFound"].iter().any(|code| says.contains(code));
            let again = matches!(kind, Unavailable | RateLimited) && !final_answer;
            if sent != 1 + usize::from(again) {
                return Err(format!("{sent} requests: {}", error.report()));
            }
            harmless(&error)
        }
        (Ok(value), _) => Err(format!("it passed: {value}")),
        (Err(error), _) => Err(format!("{}: {}", error.kind(), error.report())),
    }
}

fn named(row: &Row, result: Result<(), String>) -> Result<(), String> {
    result.map_err(|why| format!("{}: {}: {why}", row.0.0, row.1))
}

#[test]
fn an_answer_is_one_with_its_status() {
    let authority = Authority::new();
    let good = discovered(&format!("sha256:{:064x}", 7));
    check_each(&[ROWS, ANSWERS].concat(), |row| {
        named(row, ask(&authority, row, Column::Discover, &good))
    });
    let other: Row =
        (A4, "another digest", Some(Protocol), "about a different artifact", ROWS[0].4);
    let good = discovered(&format!("sha256:{:064x}", 8));
    ask(&authority, &other, Column::Discover, &good).unwrap();
}

#[test]
fn content_is_all_of_a_stream_with_its_status() {
    let authority = Authority::new();
    check_each(&[ROWS, STORE].concat(), |row| named(row, download(&authority, row)));
}

/// N5: the token of the control plane goes nowhere else.
#[test]
fn the_store_gets_a_token_of_its_own() {
    let authority = Authority::new();
    for (token, says) in [
        ("", "no token for the content store in the service's response"),
        ("a b", "no token for the content store in the service's response"),
        (CANARY, "token of the service in the token for the content store"),
    ] {
        let control_plane = without_urls(&authority, &credentials(token));
        let store = serve(&authority, ROWS[0].4, vec![message(&field(10, &content(7)))]);
        let platform = client(&authority, false).grpc_address(control_plane.address.to_string());
        let platform = platform.store_address(store.address.to_string()).build().unwrap();
        let (function, arguments) = call(Column::Download, 7);
        let error = platform.call(function, &arguments).unwrap_err();
        assert_eq!(error.kind(), Protocol, "{}", error.report());
        assert!(error.report().contains(says), "{}", error.report());
        assert_eq!(store.requests(), 0);
        harmless(&error).unwrap();
    }
}

/// A6: a status says that there is no such method.
#[test]
fn a_service_without_signed_urls_is_asked_once_for_one() {
    let authority = Authority::new();
    let control_plane = without_urls(&authority, &credentials(STORE_TOKEN));
    let bodies = [7, 8].map(|n| message(&field(10, &content(n)))).to_vec();
    let store = serve(&authority, ROWS[0].4, bodies);
    let platform = client(&authority, false).grpc_address(control_plane.address.to_string());
    let platform = platform.store_address(store.address.to_string()).build().unwrap();
    for (n, asked) in [(7, 2), (8, 3)] {
        let (function, arguments) = call(Column::Download, n);
        documented(function, &platform.call(function, &arguments).unwrap()).unwrap();
        assert_eq!(control_plane.requests(), asked);
    }
}

/// A6: without its address, the refusal stands, and says what is needed.
#[test]
fn a_service_without_signed_urls_needs_the_stores_address() {
    let authority = Authority::new();
    let control_plane = without_urls(&authority, &credentials(STORE_TOKEN));
    let platform = client(&authority, false).grpc_address(control_plane.address.to_string());
    let (function, arguments) = call(Column::Download, 7);
    let error = platform.build().unwrap().call(function, &arguments).unwrap_err();
    assert_eq!(error.kind(), Unavailable);
    assert!(error.report().contains("(Unimplemented): unknown method"), "{}", error.report());
    assert_eq!(error.setting(), Some(rego_platform::setting::CONTENT_STORE));
    assert_eq!(control_plane.requests(), 1);
}

/// N5: neither the token nor the URL is shown or sent in plain text.
#[test]
fn a_signed_url_is_one_and_gets_no_token() {
    let url = |url: &str| message(&field(1, &field(2, url.as_bytes())));
    for (to, kind, says) in [
        ("", Protocol, "no URL of the content"),
        ("nonsense", Protocol, "no URL of the content"),
        ("http://192.0.2.1/?sig=signed-", Protocol, "from https to plain HTTP"),
        ("https://u:signed-@127.0.0.1/", Protocol, "a user name or password"),
        ("file:///etc/passwd", Protocol, "unsupported scheme"),
        (&format!("https://127.0.0.1:1/?t={CANARY}"), Protocol, "a URL with the token"),
        (&format!("https://127.0.0.1:1/{SIGNED}"), Unavailable, "can't connect to"),
    ] {
        let rows: &[Row] = &[(N5, "a URL", Some(kind), says, ROWS[0].4)];
        let authority = Authority::new();
        let why = ask(&authority, &rows[0], Column::Download, &url(to));
        // A connection that fails is tried again with another URL.
        let why = why.err().filter(|why| !(kind == Unavailable && why.starts_with("4 requests")));
        assert_eq!(why, None, "{to}");
    }
}

/// N5: an operator's plain URL for content isn't followed from TLS; the content store itself is asked.
#[test]
fn a_plain_url_of_content_is_not_followed_from_tls() {
    let authority = Authority::new();
    let plain = Server::start(|_| script::ok(content(7)));
    for (to, loopback) in
        [(format!("{}/{SIGNED}", plain.url()), true), (format!("http://192.0.2.1/{SIGNED}"), false)]
    {
        let control_plane = || {
            let attack: Attack = |n, body| send(&[head(n), data(n, body), success(n)]);
            let url = message(&field(1, &field(2, to.as_bytes())));
            serve(&authority, attack, vec![url, credentials(STORE_TOKEN)])
        };
        let (function, arguments) = call(Column::Download, 7);
        let download = |store: Option<&Frames>, insecure| {
            let control_plane = control_plane();
            let platform =
                client(&authority, false).grpc_address(control_plane.address.to_string());
            let platform = platform.insecure(insecure);
            let platform = match store {
                Some(store) => platform.store_address(store.address.to_string()),
                None => platform,
            };
            platform.build().unwrap().call(function, &arguments)
        };
        let store = serve(&authority, ROWS[0].4, vec![message(&field(10, &content(7)))]);
        documented(function, &download(Some(&store), false).unwrap()).unwrap();
        assert_eq!((store.requests(), plain.requests().len()), (1, 0), "{to}");
        let error = download(None, false).unwrap_err();
        assert_eq!(error.kind(), Protocol);
        harmless(&error).unwrap();
        let setting = if loopback { PLAIN_HTTP } else { CONTENT_STORE };
        assert_eq!(error.setting(), Some(setting), "{error:?}");
        if !loopback {
            assert!(error.hint().unwrap().contains("`PLATFORM_ARTIFACT_CAS_API`"), "{error:?}");
            assert_eq!(download(None, true).unwrap_err().kind(), Protocol);
        }
    }
    // Where plain HTTP is allowed, it may stay on this machine.
    let url = message(&field(1, &field(2, format!("{}/{SIGNED}", plain.url()).as_bytes())));
    let attack: Attack = |n, body| send(&[head(n), data(n, body), success(n)]);
    let control_plane = serve(&authority, attack, vec![url]);
    let platform = client(&authority, false).grpc_address(control_plane.address.to_string());
    let (function, arguments) = call(Column::Download, 7);
    let answer = platform.insecure(true).build().unwrap().call(function, &arguments);
    documented(function, &answer.unwrap()).unwrap();
    assert_eq!(plain.requests().len(), 1);
    assert_eq!(plain.requests()[0].header("authorization"), None);
}

/// N5: a proxy isn't trusted.
#[test]
fn a_proxy_tunnels_grpc_and_sees_no_token() {
    let authority = Authority::new();
    let good = discovered(&format!("sha256:{:064x}", 7));
    let greeting = frame(SETTINGS, 0, 0, &[]);
    let server = Frames::start(&authority, "api.example", greeting, ROWS[0].4, vec![good]);
    let (proxy, asked) = tunnel(server.address);
    let platform = client(&authority, false).grpc_address("api.example:443").proxy(proxy);
    let (function, arguments) = call(Column::Discover, 7);
    documented(function, &platform.build().unwrap().call(function, &arguments).unwrap()).unwrap();
    let asked = asked.lock().unwrap();
    let [head] = &asked[..] else { panic!("{asked:?}") };
    assert!(head.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains(CANARY));
}

/// A6: one that can't pass gRPC on says so in HTTP/1.
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
        harmless(&error).unwrap();
    }
}
