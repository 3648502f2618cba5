//! A certificate authority, a proxy and the good answers of a service, for tests of connections.

use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::script;
use super::server::{Request, Step, runtime};
use super::stage::{Column, good};

/// A certificate authority for tests.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub fn server(&self, name: &str, expired: bool) -> rustls::ServerConfig {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if expired {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap()
    }
}

/// Answers every request well.
pub fn answer(request: &Request) -> Vec<Step> {
    let column = match request.path() {
        "/v1/evidence" => Column::Evidence,
        "/v1/compliance/project" => Column::Compliance,
        "/v1/agents/evaluate-evidence" => Column::Prompt,
        path if path.starts_with("/v1/operations/") => Column::Poll,
        path if path.starts_with("/download/") => Column::Download,
        _ => Column::Discover,
    };
    script::ok(good(column, 7))
}

/// A proxy that tunnels to `to`, and the requests that it received.
pub fn tunnel(to: std::net::SocketAddr) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = runtime().block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    runtime().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return,
                    }
                }
                log.lock().unwrap().push(String::from_utf8(head).unwrap());
                let mut onward = tokio::net::TcpStream::connect(to).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut onward).await;
            });
        }
    });
    (address, asked)
}
