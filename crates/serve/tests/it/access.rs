//! Who may ask.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rego_platform_serve::{Access, AccessToken, Server, ServerOptions, Tls};
use reqwest::Method;

use super::support::{Heard, Served, load, options, serve, unavailable, write};

const POLICY: &str = "package p\n\nallow := true\n\nsystem := 1\n";
const TOKEN: &str = "0123456789abcdef-token";

fn with_access(change: impl FnOnce(&mut Access)) -> Served {
    serve(&[("p.rego", POLICY)], unavailable(), |options| change(&mut options.access))
}

fn refused(change: impl FnOnce(&mut ServerOptions)) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("p.rego", POLICY)]);
    let mut options = options(unavailable(), &Arc::new(Heard::default()));
    change(&mut options);
    Server::start(load(folder.path()), options).unwrap_err().report()
}

#[test]
fn other_machines_cannot_ask_without_a_decision() {
    let any = "0.0.0.0:0".parse().unwrap();
    assert!(
        refused(|options| options.listen = any).contains("address reachable from other machines")
    );
    let exposed = refused(|options| {
        options.listen = any;
        options.access.expose = true;
    });
    assert!(exposed.contains("no access control for"), "{exposed}");
    for wrong in ["short", "0123456789abcdef x", "0123456789abcdefé"] {
        assert!(AccessToken::new(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_needs_one_of_the_tokens() {
    let other = "fedcba9876543210-other";
    let served = with_access(|access| {
        access.expose = true;
        access.tokens = [TOKEN, other].map(|token| AccessToken::new(token).unwrap()).to_vec();
    });
    for (header, status) in [
        (None, 401),
        (Some("Bearer ".to_owned()), 401),
        (Some(format!("Bearer {}", &TOKEN[1..])), 401),
        (Some(format!("Bearer {TOKEN}x")), 401),
        (Some(format!("Basic {TOKEN}")), 401),
        (Some(TOKEN.to_owned()), 401),
        (Some(format!("Bearer {TOKEN}")), 200),
        (Some(format!("bearer {other}")), 200),
    ] {
        let header = header.map(|value| ("authorization", value));
        let headers: Vec<(&str, &str)> =
            header.iter().map(|(name, value)| (*name, value.as_str())).collect();
        for (method, path) in [
            (Method::GET, "/v1/data/p/allow"),
            (Method::POST, "/v1/query"),
            (Method::GET, "/metrics"),
            (Method::GET, "/v1/status"),
            (Method::GET, "/v1/policies"),
            (Method::POST, "/v1/gate"),
            (Method::GET, "/health/live"),
            (Method::GET, "/nothing"),
        ] {
            let answer = served.send(method.clone(), path, &headers, "").await;
            assert_eq!(answer.status == 401, status == 401, "{headers:?} {path}: {answer:?}");
        }
        let answer = served.send(Method::GET, "/v1/data/p/allow", &headers, "").await;
        assert_eq!(answer.status, status, "{headers:?}: {answer:?}");
        if status == 401 {
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            assert!(answer.body.contains("\"unauthorized\""), "{answer:?}");
        }
        assert_eq!(served.send(Method::GET, "/health", &headers, "").await.status, 200);
    }
    let (good, bad) = (format!("Bearer {TOKEN}"), "Bearer 0000000000000000");
    for headers in [[good.as_str(), bad], [bad, &good]] {
        let headers = headers.map(|value| ("authorization", value));
        let answer = served.send(Method::GET, "/v1/data/p/allow", &headers, "").await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_in_a_browser_are_not_answered() {
    let served = with_access(|_| {});
    for (host, status) in [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:8181", 200),
        ("127.1.2.3", 200),
        ("[::1]:80", 200),
        ("rebound.example", 403),
        ("localhost.example", 403),
        ("127.0.0.1.example:8181", 403),
        ("10.0.0.1", 403),
        ("user@localhost", 200),
        ("localhost@evil.example", 403),
    ] {
        let head =
            format!("GET /v1/data/p/allow HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = served.raw(head.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
    for head in [
        "GET /v1/data/p/allow HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        "GET http://evil.example/v1/data/p/allow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /v1/data/p/allow HTTP/1.0\r\n\r\n",
    ] {
        let answer = served.raw(head.as_bytes());
        assert!(answer.split(' ').nth(1) == Some("403"), "{head}: {answer}");
    }
    // Of a repeated header, each counts.
    let twice = [("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")];
    for headers in [twice, [twice[1], twice[0]]] {
        let answer = served.send(Method::GET, "/v1/query?q=x%3D1", &headers, "").await;
        assert_eq!(answer.status, 403, "{answer:?}");
    }
    for (name, value, status) in [
        ("origin", "http://127.0.0.1:8181", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-origin", 403),
        ("sec-fetch-site", "none", 200),
    ] {
        let answer = served.send(Method::GET, "/v1/query?q=x%3D1", &[(name, value)], "").await;
        assert_eq!(answer.status, status, "{name}: {value}");
    }
}

/// Returns PEM of an authority, and of a certificate and key that it signed for 127.0.0.1.
fn authority() -> (String, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    (issuer.pem(), own.pem(), key.serialize_pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate() {
    let _ = rego_platform::rustls::crypto::ring::default_provider().install_default();
    let (root, certificate, key) = authority();
    let (client_root, client_certificate, client_key) = authority();
    let tls = Tls::new(certificate.as_bytes(), key.as_bytes(), Some(client_root.as_bytes()));
    let served = with_access(|access| {
        access.expose = true;
        access.tls = Some(tls.unwrap());
    });
    let url = format!("https://{}/v1/data/p/allow", served.server.address());
    let ask = async |identity: Option<(&str, &str)>| {
        let root = reqwest::Certificate::from_pem(root.as_bytes()).unwrap();
        let mut client = reqwest::Client::builder().no_proxy().tls_certs_only([root]);
        if let Some((certificate, key)) = identity {
            let both = format!("{certificate}{key}");
            client = client.identity(reqwest::Identity::from_pem(both.as_bytes()).unwrap());
        }
        let response = client.build().unwrap().get(&url).send().await?;
        response.text().await
    };
    let known = ask(Some((&client_certificate, &client_key))).await.unwrap();
    assert_eq!(known, "{\"result\":true}\n");
    assert!(ask(None).await.is_err());
    assert!(ask(Some((&certificate, &key))).await.is_err());
    // Without encryption nothing is said.
    let plain = served.raw(b"GET /v1/data/p/allow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(!plain.contains("HTTP"), "{plain}");

    assert!(Tls::new(b"", key.as_bytes(), None).is_err());
    assert!(Tls::new(certificate.as_bytes(), client_key.as_bytes(), None).is_err());
    assert!(Tls::new(certificate.as_bytes(), key.as_bytes(), Some(b"nothing")).is_err());
}
