//! Tests of the sender over real connections to this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Failure, Http, HttpBuilder};
use crate::client::{Allowance, Context};
use crate::{Error, ErrorKind};
use rego::internal::builtins::{HttpRequest, HttpResponse};
use rego::value::Value;

/// The requests that a server received.
type Received = Arc<Mutex<Vec<String>>>;

/// Starts a server that gives these responses, one per connection, repeating the last.
async fn serve(answers: Vec<String>) -> (u16, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Received::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        for index in 0.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read(&mut stream).await;
            log.lock().unwrap().push(request);
            let answer = &answers[index.min(answers.len() - 1)];
            if answer == "silence" {
                tokio::time::sleep(Duration::from_secs(30)).await;
            }
            let _ = stream.write_all(answer.replace("PORT", &port.to_string()).as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, asked)
}

/// Reads a request with its body.
async fn read(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let count = stream.read(&mut buffer).await.unwrap();
        if count == 0 {
            return text;
        }
        bytes.extend_from_slice(&buffer[..count]);
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    )
}

fn request(json: &str, port: u16) -> HttpRequest {
    let value = Value::from_json(&json.replace("PORT", &port.to_string())).unwrap();
    HttpRequest::read(value.as_object().unwrap()).unwrap()
}

fn http(allowed: &[String]) -> Http {
    built(Http::builder(), allowed)
}

fn built(mut builder: HttpBuilder, allowed: &[String]) -> Http {
    for host in allowed {
        builder = builder.allow_host(host.parse().unwrap());
    }
    builder.build()
}

fn context() -> Context {
    Context::new(Instant::now() + Duration::from_mins(1), None)
}

async fn send(http: &Http, json: &str, port: u16) -> Result<HttpResponse, Failure> {
    http.respond(&request(json, port), &context()).await
}

/// Returns the response as the policy sees it.
async fn seen(http: &Http, json: &str, port: u16) -> Result<Value, Error> {
    http.send(&request(json, port), &context()).await.map(|answer| answer.value)
}

fn message(failure: Failure) -> String {
    failure.into_error().to_string()
}

const GET: &str = r#"{"method":"get","url":"http://127.0.0.1:PORT/a?b=1"}"#;

#[tokio::test]
async fn a_request_is_sent_as_the_policy_wrote_it() {
    let (port, asked) = serve(vec![answer("200 Fine", "X-A: 1\r\nx-a: 2\r\n", "hi")]).await;
    let http = http(&[format!("127.0.0.1:{port}")]);
    let json = r#"{"method":"post","url":"http://127.0.0.1:PORT/a?b=1","body":{"x":1},
        "headers":{"X-Own":"y","User-Agent":"mine","content-length":"99"}}"#;
    let response = send(&http, json, port).await.unwrap();
    assert_eq!((response.status, response.status_text.as_str()), (200, "200 Fine"));
    assert_eq!(response.body, b"hi");
    let values = response.headers.iter().filter(|(name, _)| name == "x-a").count();
    assert_eq!(values, 2);
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST /a?b=1 HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(asked[0].ends_with("\r\n\r\n{\"x\":1}"), "{}", asked[0]);
    let lower = asked[0].to_lowercase();
    assert!(lower.contains("x-own: y") && lower.contains("user-agent: mine"));
    assert!(!lower.contains("authorization"));
}

#[tokio::test]
async fn only_allowed_hosts_are_asked() {
    let (port, asked) = serve(vec![answer("200 OK", "", "hi")]).await;
    // The name is allowed, but not the loopback address that it resolves to.
    for allowed in ["example.com", "localhost", "*.localhost", "127.0.0.1:1"] {
        let http = http(&[allowed.to_owned()]);
        for url in ["127.0.0.1", "localhost", "a.localhost"] {
            let json = format!(r#"{{"method":"get","url":"http://{url}:PORT/"}}"#);
            let error = message(send(&http, &json, port).await.unwrap_err());
            assert!(error.contains("disallowed host") || error.contains("lookup"), "{error}");
        }
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    let both = http(&["localhost".to_owned(), "127.0.0.1".to_owned()]);
    send(&both, r#"{"method":"get","url":"http://localhost:PORT/"}"#, port).await.unwrap();
    let file = send(&both, r#"{"method":"get","url":"file:///etc/passwd"}"#, port).await;
    assert!(message(file.unwrap_err()).ends_with("unsupported protocol scheme \"file\""));
    let kept = r#"{"method":"get","url":"http://127.0.0.1:PORT/","raise_error":false}"#;
    let value = seen(&http(&["a.test".to_owned()]), kept, port).await.unwrap();
    let error = r#"{"code":"eval_http_send_internal_error","message":"eval_builtin_error: http.send: disallowed host: 127.0.0.1"}"#;
    assert_eq!(value.to_json(), format!(r#"{{"error":{error},"status_code":0}}"#));
}

/// Answers look-ups with these addresses, in order.
fn rebinding(
    mut builder: HttpBuilder,
    answers: Vec<SocketAddr>,
) -> (HttpBuilder, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&count);
    builder.0.lookup = Arc::new(move |_, _| {
        let index = asked.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let answer = answers[index];
        Box::pin(async move { Ok(vec![answer]) })
    });
    (builder, count)
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_each_time() {
    let (port, asked) = serve(vec![answer("200 OK", "", "hi")]).await;
    let local = SocketAddr::from(([127, 0, 0, 1], port));
    let json = r#"{"method":"get","url":"http://rebind.test:PORT/"}"#;
    // Loopback when it is resolved for the connection, public afterwards: it is resolved once.
    let public = SocketAddr::from(([192, 0, 2, 1], port));
    let (builder, count) = rebinding(Http::builder(), vec![local, public]);
    let error = send(&built(builder, &["rebind.test".to_owned()]), json, port).await.unwrap_err();
    assert!(matches!(&error, Failure::Disallowed(_)), "{error:?}");
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(asked.lock().unwrap().len(), 0);
    // Allowed at first, and then the address of the machine's metadata service.
    let metadata = SocketAddr::from(([169, 254, 169, 254], port));
    let (builder, count) = rebinding(Http::builder(), vec![local, metadata]);
    let http = built(builder, &["rebind.test".to_owned(), format!("127.0.0.1:{port}")]);
    assert_eq!(send(&http, json, port).await.unwrap().body, b"hi");
    assert_eq!(count.load(Ordering::Relaxed), 1);
    let error = send(&http, json, port).await.unwrap_err();
    assert!(matches!(&error, Failure::Disallowed(_)), "{error:?}");
    assert_eq!(count.load(Ordering::Relaxed), 2);
    // A private address needs the exact host.
    let private = vec![SocketAddr::from(([10, 0, 0, 1], port))];
    let (builder, _) = rebinding(Http::builder(), private.clone());
    let error = send(&built(builder, &["*.test".to_owned()]), json, port).await.unwrap_err();
    assert!(matches!(&error, Failure::Disallowed(_)), "{error:?}");
    let (builder, _) = rebinding(Http::builder(), private);
    let wild = built(builder, &["*.test".to_owned()]);
    let error = wild.look_up("rebind.test", &context()).await.unwrap_err();
    assert!(error.to_string().contains("resolves to addresses that aren't allowed"), "{error}");
}

#[tokio::test]
async fn look_ups_go_by_the_same_list() {
    let address = SocketAddr::from(([93, 184, 216, 34], 0));
    let (builder, count) = rebinding(Http::builder(), vec![address]);
    let http = built(builder, &["a.test:443".to_owned()]);
    let found = http.look_up("a.test", &context()).await.unwrap();
    assert_eq!(found.value.to_string(), r#"{"93.184.216.34"}"#);
    for name in ["b.test", "127.0.0.1", "", "a.test:443", "a b"] {
        assert!(http.look_up(name, &context()).await.is_err(), "{name}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn redirects_are_followed_if_requested_and_allowed() {
    let to = |place: &str| answer("302 Found", &format!("location: {place}\r\n"), "");
    let answers = vec![to("/b"), answer("200 OK", "", "end")];
    let (port, asked) = serve(answers).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let plain = send(&http(&allowed), GET, port).await.unwrap();
    assert_eq!(plain.status, 302);
    for place in ["http://localhost:PORT/x", "http://169.254.169.254/", "file:///etc/passwd"] {
        let (port, elsewhere) = serve(vec![to(place)]).await;
        let allowed = [format!("127.0.0.1:{port}")];
        let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","enable_redirect":true}"#;
        let error = send(&http(&allowed), json, port).await.unwrap_err();
        assert!(matches!(&error, Failure::Network(_)), "{error:?}");
        let error = message(error);
        assert!(error.contains("disallowed host") || error.contains("unsupported"), "{error}");
        assert_eq!(elsewhere.lock().unwrap().len(), 1);
    }
    let answers = vec![to("/b"), answer("200 OK", "", "end")];
    let (port, followed) = serve(answers).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json =
        r#"{"method":"post","url":"http://127.0.0.1:PORT/","raw_body":"x","enable_redirect":true}"#;
    let response = send(&http(&allowed), json, port).await.unwrap();
    assert_eq!(response.body, b"end");
    assert!(followed.lock().unwrap()[1].starts_with("GET /b "));
    let (port, _) = serve(vec![to("/again")]).await;
    let (http, context) = (http(&[format!("127.0.0.1:{port}")]), context());
    let error = http.respond(&request(json, port), &context).await.unwrap_err();
    assert_eq!(message(error), "stopped after 10 redirects");
    assert_eq!(context.attempts.load(Ordering::Relaxed), 11);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let (other, asked) = serve(vec![answer("200 OK", "", "end")]).await;
    let place = format!("location: http://127.0.0.1:{other}/\r\n");
    let (port, _) = serve(vec![answer("307 Elsewhere", &place, "")]).await;
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","enable_redirect":true,
        "headers":{"Authorization":"Bearer canary","Cookie":"canary","X-Kept":"yes"}}"#;
    send(&http(&["127.0.0.1".to_owned()]), json, port).await.unwrap();
    let asked = asked.lock().unwrap()[0].to_lowercase();
    assert!(!asked.contains("canary") && asked.contains("x-kept: yes"), "{asked}");
}

#[tokio::test]
async fn time_is_limited() {
    // A server that sends nothing, and one whose headers never end.
    let dripping = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let slow = dripping.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = dripping.accept().await.unwrap();
        read(&mut stream).await;
        let mut all = b"HTTP/1.1 200 OK\r\n".to_vec();
        while stream.write_all(&all).await.is_ok() {
            all = b"x-more: 1\r\n".to_vec();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let (silent, _) = serve(vec!["silence".to_owned()]).await;
    for port in [silent, slow] {
        let http = http(&[format!("127.0.0.1:{port}")]);
        let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","timeout":"50ms"}"#;
        let error = send(&http, json, port).await.unwrap_err();
        assert_eq!(message(error), format!("Get http://127.0.0.1:{port}/: request timed out"));
    }
    // The evaluation's own deadline ends it, whatever the request's settings for errors and time.
    let (port, _) = serve(vec!["silence".to_owned()]).await;
    let http = http(&[format!("127.0.0.1:{port}")]);
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","timeout":0,"raise_error":false}"#;
    let context = Context::new(Instant::now() + Duration::from_millis(50), None);
    let error = http.send(&request(json, port), &context).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
}

#[tokio::test]
async fn bodies_are_limited() {
    let (port, _) = serve(vec![answer("200 OK", "", &"x".repeat(5000))]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let small = built(Http::builder().max_body_bytes(4999), &allowed);
    let quiet = r#"{"method":"get","url":"http://127.0.0.1:PORT/","raise_error":false}"#;
    assert_eq!(seen(&small, quiet, port).await.unwrap_err().kind(), ErrorKind::TooLarge);
    let allowance = Arc::new(Allowance::new(7000));
    let context = Context::new(context().deadline, Some(Arc::clone(&allowance)));
    let http = http(&allowed);
    http.respond(&request(GET, port), &context).await.unwrap();
    assert_eq!(context.bytes.load(Ordering::Relaxed), 5000);
    let error = http.respond(&request(GET, port), &context).await.unwrap_err().into_error();
    assert_eq!(error.limit(), Some(crate::Limit::Bytes));
    // A body without an end.
    let endless = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = endless.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut stream, _) = endless.accept().await.unwrap();
        read(&mut stream).await;
        let mut all = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        while stream.write_all(&all).await.is_ok() {
            all = vec![b'x'; 1 << 16];
        }
    });
    let bounded = built(Http::builder().max_body_bytes(1 << 20), &[format!("127.0.0.1:{port}")]);
    let error = seen(&bounded, quiet, port).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

/// Starts a server that answers every request with these bytes.
async fn serve_bytes(bytes: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read(&mut stream).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    });
    port
}

#[tokio::test]
async fn compressed_bodies_are_decompressed_within_the_limit() {
    use std::io::Write as _;
    let pack = |text: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let packed = |body: &[u8]| {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    };
    let port = serve_bytes(packed(&pack(b"plain"))).await;
    let allowed = ["127.0.0.1".to_owned()];
    let response = send(&http(&allowed), GET, port).await.unwrap();
    assert_eq!(response.body, b"plain");
    assert!(response.header("content-encoding").is_none());
    // A policy that asks for compression itself gets the compressed body.
    let own = r#"{"method":"get","url":"http://127.0.0.1:PORT/",
        "headers":{"Accept-Encoding":"gzip"}}"#;
    assert_eq!(send(&http(&allowed), own, port).await.unwrap().body, pack(b"plain"));
    let quiet = r#"{"method":"get","url":"http://127.0.0.1:PORT/","raise_error":false}"#;
    let mut cut = pack(b"cut short, and long enough to notice");
    cut.truncate(cut.len() - 9);
    for wrong in [b"not gzip at all".to_vec(), cut] {
        let port = serve_bytes(packed(&wrong)).await;
        let error = send(&http(&allowed), GET, port).await.unwrap_err();
        assert!(message(error).starts_with("gzip: "));
        let value = seen(&http(&allowed), quiet, port).await.unwrap();
        assert!(value.get_str("error").is_some() && value.get_str("body").is_none());
    }
    // A body that is small when compressed and too large when decompressed.
    let port = serve_bytes(packed(&pack(&vec![0; 4 << 20]))).await;
    let small = built(Http::builder().max_body_bytes(1 << 20), &allowed);
    assert_eq!(seen(&small, quiet, port).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn bodies_and_headers_that_break_off_or_grow_are_failures() {
    let short = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfive".to_vec();
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: 1\r\n".repeat(5000)).into_bytes();
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(4 << 20)).into_bytes();
    for bytes in [short, many, long, b"no http at all\r\n\r\n".to_vec(), Vec::new()] {
        let port = serve_bytes(bytes).await;
        let error = send(&http(&["127.0.0.1".to_owned()]), GET, port).await.unwrap_err();
        assert!(matches!(&error, Failure::Network(_)), "{error:?}");
        let value = seen(&http(&["127.0.0.1".to_owned()]), GET, port).await;
        assert_eq!(value.unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn failures_of_the_network_are_retried() {
    let (port, asked) = serve(vec![String::new(), answer("200 OK", "", "now")]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","max_retry_attempts":2}"#;
    let response = send(&http(&allowed), json, port).await.unwrap();
    assert_eq!(response.body, b"now");
    assert_eq!(asked.lock().unwrap().len(), 2);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let http = http(&[format!("127.0.0.1:{closed}")]);
    let error = message(send(&http, GET, closed).await.unwrap_err());
    assert!(error.starts_with(&format!("Get \"http://127.0.0.1:{closed}/a?b=1\": ")), "{error}");
    let secret = r#"{"method":"get","url":"http://me:canary@127.0.0.1:PORT/"}"#;
    let error = message(send(&http, secret, closed).await.unwrap_err());
    assert!(error.contains("me:xxxxx@") && !error.contains("canary"), "{error}");
}

#[tokio::test]
async fn responses_are_kept_across_evaluations_if_requested() {
    let fresh = answer("200 OK", "cache-control: no-cache\r\netag: \"1\"\r\n", "one");
    let same = answer("304 Not Modified", "x-new: 1\r\n", "").replace("content-length: 0\r\n", "");
    let (port, asked) = serve(vec![fresh, same, answer("500 No", "", "two")]).await;
    let shared = http(&["127.0.0.1".to_owned()]);
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","cache":true}"#;
    for _ in 0..2 {
        let response = send(&shared, json, port).await.unwrap();
        assert_eq!((response.status, response.body.as_slice()), (200, b"one".as_slice()));
    }
    assert!(asked.lock().unwrap()[1].to_lowercase().contains("if-none-match: \"1\""));
    let forced = r#"{"method":"get","url":"http://127.0.0.1:PORT/f","force_cache":true,
        "force_cache_duration_seconds":60}"#;
    let (port, asked) = serve(vec![answer("200 OK", "", "kept")]).await;
    for _ in 0..3 {
        assert_eq!(send(&shared, forced, port).await.unwrap().body, b"kept");
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(send(&http(&["a.test".to_owned()]), forced, port).await.is_err());
}

/// Starts a server with its own certificate for `name`, which may require a client certificate.
async fn serve_tls(name: &str, client_ca: Option<String>) -> (u16, String, Received) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            use rustls::pki_types::pem::PemObject as _;
            let mut roots = rustls::RootCertStore::empty();
            let ca = rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
            roots.add(ca).unwrap();
            let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
                Arc::new(roots),
                provider,
            );
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key_der = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_single_cert(vec![certificate.der().clone()], key_der).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Received::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let request = read(&mut stream).await;
            log.lock().unwrap().push(request);
            let _ = stream.write_all(answer("200 OK", "", "tls").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (port, certificate.pem(), asked)
}

#[tokio::test]
async fn a_server_is_trusted_by_the_settings_of_the_request() {
    let (port, pem, asked) = serve_tls("named.test", None).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let url = "\"method\":\"get\",\"url\":\"https://127.0.0.1:PORT/\"";
    let pem = serde_json::to_string(&pem).unwrap();
    let ask = async |more: &str| {
        let json = format!("{{{url}{more}}}");
        send(&http(&allowed), &json, port).await
    };
    assert!(ask("").await.is_err());
    assert!(ask(&format!(",\"tls_ca_cert\":{pem}")).await.is_err());
    let named = format!(",\"tls_ca_cert\":{pem},\"tls_server_name\":\"named.test\"");
    assert_eq!(ask(&named).await.unwrap().body, b"tls");
    let host = format!("host: 127.0.0.1:{port}");
    assert!(asked.lock().unwrap()[0].to_lowercase().contains(&host));
    assert_eq!(ask(",\"tls_insecure_skip_verify\":true").await.unwrap().body, b"tls");
    let file = ask(",\"tls_ca_cert_file\":\"/etc/x\"").await.unwrap_err();
    assert!(message(file).contains("unsupported option `tls_ca_cert_file`"));
    assert!(matches!(ask(",\"tls_ca_cert\":\"x\"").await, Err(Failure::Request(_))));
    // A server name can't be used to bypass the look-up of its addresses.
    let named = ask(",\"tls_insecure_skip_verify\":true,\"tls_server_name\":\"10.0.0.1\"").await;
    assert!(matches!(named, Err(Failure::Request(_))));
}

#[tokio::test]
async fn a_client_certificate_is_sent_if_given() {
    let key = rcgen::KeyPair::generate().unwrap();
    let own =
        rcgen::CertificateParams::new(vec!["me".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (port, _, _) = serve_tls("127.0.0.1", Some(own.pem())).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let url =
        "\"method\":\"get\",\"url\":\"https://127.0.0.1:PORT/\",\"tls_insecure_skip_verify\":true";
    let text = |text: String| serde_json::to_string(&text).unwrap();
    let bare = format!("{{{url}}}");
    assert!(send(&http(&allowed), &bare, port).await.is_err());
    let (certificate, key) = (text(own.pem()), text(key.serialize_pem()));
    let shown = format!("{{{url},\"tls_client_cert\":{certificate},\"tls_client_key\":{key}}}");
    assert_eq!(send(&http(&allowed), &shown, port).await.unwrap().body, b"tls");
}
