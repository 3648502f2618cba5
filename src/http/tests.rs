//! The sender over real connections to this machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::{HttpCache, Options, Session};
use crate::rego::builtins::{Code, Error, HttpRequest, HttpResponse};
use crate::rego::value::Value;

/// What was asked, request by request.
type Asked = Arc<Mutex<Vec<String>>>;

/// A server that gives these answers, one a connection, the last again and again.
async fn serve(answers: Vec<String>) -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Asked::default();
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

/// A request with its body.
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
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
}

fn request(json: &str, port: u16) -> HttpRequest {
    let value = Value::from_json(&json.replace("PORT", &port.to_string())).unwrap();
    HttpRequest::read(value.as_object().unwrap()).unwrap()
}

fn options(allowed: &[String]) -> Options {
    Options {
        allowed: allowed.iter().map(|host| host.parse().unwrap()).collect(),
        ..Options::default()
    }
}

fn session(options: Options) -> Session {
    Session::new(Arc::new(options))
}

async fn send(session: &Session, json: &str, port: u16) -> Result<HttpResponse, Error> {
    let deadline = Instant::now() + Duration::from_secs(20);
    session.send(&request(json, port), SystemTime::now(), deadline).await
}

const GET: &str = r#"{"method":"get","url":"http://127.0.0.1:PORT/a?b=1"}"#;

#[tokio::test]
async fn a_request_is_sent_as_it_says_and_equal_ones_once() {
    let (port, asked) = serve(vec![answer("200 OK", "X-A: 1\r\nx-a: 2\r\n", "hi")]).await;
    let session = session(options(&[format!("127.0.0.1:{port}")]));
    let json = r#"{"method":"post","url":"http://127.0.0.1:PORT/a?b=1","body":{"x":1},
        "headers":{"X-Own":"y","User-Agent":"mine","content-length":"99"}}"#;
    let response = send(&session, json, port).await.unwrap();
    assert_eq!((response.status, response.status_text.as_str()), (200, "200 OK"));
    assert_eq!(response.body, b"hi");
    let values = response.headers.iter().filter(|(name, _)| name == "x-a").count();
    assert_eq!(values, 2);
    send(&session, json, port).await.unwrap();
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST /a?b=1 HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(asked[0].ends_with("\r\n\r\n{\"x\":1}"), "{}", asked[0]);
    let lower = asked[0].to_lowercase();
    assert!(lower.contains("x-own: y") && lower.contains("user-agent: mine"));
    assert!(!lower.contains("authorization"));
    assert_eq!((session.cost().requests, session.cost().bytes), (1, 2));
}

#[tokio::test]
async fn only_allowed_hosts_are_asked() {
    let (port, asked) = serve(vec![answer("200 OK", "", "hi")]).await;
    let off = session(Options::default());
    let error = send(&off, GET, port).await.unwrap_err();
    assert!(error.halt && error.message.starts_with("http.send is off"));
    // A name is allowed, and the loopback address that it stands for isn't named.
    for allowed in ["example.com", "localhost", "*.localhost", "127.0.0.1:1"] {
        let session = session(options(&[allowed.to_owned()]));
        for url in ["127.0.0.1", "localhost", "a.localhost"] {
            let json = format!(r#"{{"method":"get","url":"http://{url}:PORT/"}}"#);
            let error = send(&session, &json, port).await.unwrap_err();
            let unknown = error.message.starts_with("lookup");
            assert!(error.message.starts_with("disallowed host") || unknown, "{error}");
            assert!(!error.halt);
        }
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
    let both = session(options(&["localhost".to_owned(), "127.0.0.1".to_owned()]));
    send(&both, r#"{"method":"get","url":"http://localhost:PORT/"}"#, port).await.unwrap();
    let file = send(&both, r#"{"method":"get","url":"file:///etc/passwd"}"#, port).await;
    assert_eq!(file.unwrap_err().code, Code::Type);
}

#[tokio::test]
async fn redirects_are_followed_where_asked_and_allowed() {
    let to = |place: &str| answer("302 Found", &format!("location: {place}\r\n"), "");
    let answers = vec![to("/b"), answer("200 OK", "", "end")];
    let (port, asked) = serve(answers).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let plain = send(&session(options(&allowed)), GET, port).await.unwrap();
    assert_eq!(plain.status, 302);
    let (port, _) = serve(vec![to("http://localhost:PORT/x")]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","enable_redirect":true}"#;
    let error = send(&session(options(&allowed)), json, port).await.unwrap_err();
    assert_eq!(error.message, "disallowed host: localhost");
    let answers = vec![to("/b"), answer("200 OK", "", "end")];
    let (port, followed) = serve(answers).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json = r#"{"method":"post","url":"http://127.0.0.1:PORT/","raw_body":"x","enable_redirect":true}"#;
    let response = send(&session(options(&allowed)), json, port).await.unwrap();
    assert_eq!(response.body, b"end");
    assert!(followed.lock().unwrap()[1].starts_with("GET /b "));
    let (port, _) = serve(vec![to("/again")]).await;
    let session = session(options(&[format!("127.0.0.1:{port}")]));
    let error = send(&session, json, port).await.unwrap_err();
    assert_eq!(error.message, "stopped after 10 redirects");
    assert_eq!(session.cost().requests, 11);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn time_bodies_and_counts_are_bounded() {
    let (port, _) = serve(vec!["silence".to_owned()]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","timeout":"50ms"}"#;
    let error = send(&session(options(&allowed)), json, port).await.unwrap_err();
    assert_eq!(error.message, format!("Get http://127.0.0.1:{port}/: request timed out"));
    let (port, _) = serve(vec![answer("200 OK", "", &"x".repeat(5000))]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let small = Options { most_body: 4999, ..options(&allowed) };
    let error = send(&session(small), GET, port).await.unwrap_err();
    assert!(error.halt && error.code == Code::Limit, "{error}");
    let few = session(Options { most_requests: 1, ..options(&allowed) });
    send(&few, GET, port).await.unwrap();
    let other = GET.replace("/a", "/other");
    assert!(send(&few, &other, port).await.unwrap_err().halt);
}

#[tokio::test]
async fn failures_of_the_network_are_tried_again() {
    let (port, asked) = serve(vec!["".to_owned(), answer("200 OK", "", "now")]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","max_retry_attempts":2}"#;
    let response = send(&session(options(&allowed)), json, port).await.unwrap();
    assert_eq!(response.body, b"now");
    assert_eq!(asked.lock().unwrap().len(), 2);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let session = session(options(&[format!("127.0.0.1:{closed}")]));
    let error = send(&session, GET, closed).await.unwrap_err();
    assert_eq!(error.code, Code::Builtin);
    assert!(error.message.starts_with(&format!("Get \"http://127.0.0.1:{closed}/a?b=1\": ")));
}

#[tokio::test]
async fn responses_are_kept_across_evaluations_where_asked() {
    let fresh = answer("200 OK", "cache-control: no-cache\r\netag: \"1\"\r\n", "one");
    let same = answer("304 Not Modified", "x-new: 1\r\n", "").replace("content-length: 0\r\n", "");
    let (port, asked) = serve(vec![fresh, same, answer("500 No", "", "two")]).await;
    let cache = Some(Arc::new(HttpCache::new(1 << 20)));
    let allowed = [format!("127.0.0.1:{port}")];
    let options = || Options { cache: cache.clone(), ..options(&allowed) };
    let json = r#"{"method":"get","url":"http://127.0.0.1:PORT/","cache":true}"#;
    for _ in 0..2 {
        let response = send(&session(options()), json, port).await.unwrap();
        assert_eq!((response.status, response.body.as_slice()), (200, b"one".as_slice()));
    }
    assert!(asked.lock().unwrap()[1].to_lowercase().contains("if-none-match: \"1\""));
    let forced = r#"{"method":"get","url":"http://127.0.0.1:PORT/f","force_cache":true,
        "force_cache_duration_seconds":60}"#;
    let (port, asked) = serve(vec![answer("200 OK", "", "kept")]).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let options = || Options { cache: cache.clone(), ..self::options(&allowed) };
    for _ in 0..3 {
        assert_eq!(send(&session(options()), forced, port).await.unwrap().body, b"kept");
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
    // A kept response is no way around the list.
    let elsewhere = session(Options { cache: cache.clone(), ..self::options(&["a.test".to_owned()]) });
    assert!(send(&elsewhere, forced, port).await.is_err());
}

/// A server with a certificate of its own for `name`, that asks for one of its client or not.
async fn serve_tls(name: &str, client_ca: Option<String>) -> (u16, String, Asked) {
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
    let asked = Asked::default();
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
async fn servers_are_trusted_as_the_request_says() {
    let (port, pem, asked) = serve_tls("named.test", None).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let url = "\"method\":\"get\",\"url\":\"https://127.0.0.1:PORT/\"";
    let pem = serde_json::to_string(&pem).unwrap();
    let ask = async |more: &str| {
        let json = format!("{{{url}{more}}}");
        send(&session(options(&allowed)), &json, port).await
    };
    assert!(ask("").await.is_err());
    assert!(ask(&format!(",\"tls_ca_cert\":{pem}")).await.is_err());
    let named = format!(",\"tls_ca_cert\":{pem},\"tls_server_name\":\"named.test\"");
    assert_eq!(ask(&named).await.unwrap().body, b"tls");
    let host = format!("host: 127.0.0.1:{port}");
    assert!(asked.lock().unwrap()[0].to_lowercase().contains(&host));
    assert_eq!(ask(",\"tls_insecure_skip_verify\":true").await.unwrap().body, b"tls");
    let file = ask(",\"tls_ca_cert_file\":\"/etc/x\"").await.unwrap_err();
    assert!(file.halt && file.message.contains("`tls_ca_cert_file` is not supported"));
    assert_eq!(ask(",\"tls_ca_cert\":\"x\"").await.unwrap_err().code, Code::Type);
}

#[tokio::test]
async fn our_certificate_is_shown_where_given() {
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["me".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (port, _, _) = serve_tls("127.0.0.1", Some(own.pem())).await;
    let allowed = [format!("127.0.0.1:{port}")];
    let url = "\"method\":\"get\",\"url\":\"https://127.0.0.1:PORT/\",\"tls_insecure_skip_verify\":true";
    let text = |text: String| serde_json::to_string(&text).unwrap();
    let bare = format!("{{{url}}}");
    assert!(send(&session(options(&allowed)), &bare, port).await.is_err());
    let (certificate, key) = (text(own.pem()), text(key.serialize_pem()));
    let shown = format!("{{{url},\"tls_client_cert\":{certificate},\"tls_client_key\":{key}}}");
    assert_eq!(send(&session(options(&allowed)), &shown, port).await.unwrap().body, b"tls");
}
