//! Certificates, proxies and addresses: which servers are connected to at all.

use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rego_platform::Value;
use rego_platform::{Error, ErrorKind, Platform, PlatformBuilder, Setting};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::script;
use super::server::{Request, Server, Step, runtime};
use super::stage::{CANARY, Column, SIGNED, builder, call, content, digest, good, harmless};

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

fn answer(request: &Request) -> Vec<Step> {
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

pub const FUNCTIONS: [Column; 5] =
    [Column::Discover, Column::Evidence, Column::Compliance, Column::Prompt, Column::Download];

fn ask(platform: &Platform, column: Column) -> Result<Value, Error> {
    let (function, arguments) = call(column, 7);
    let result = platform.call(function, &arguments);
    if let Err(error) = &result {
        harmless(error).unwrap();
    }
    result
}

fn at(url: &str) -> PlatformBuilder {
    builder().controlplane_url(url).base_url(url)
}

#[test]
fn certificates_are_checked_before_anything_is_sent() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let rows = [
        ("right", ours.server("127.0.0.1", false), true),
        ("of an unknown authority", theirs.server("127.0.0.1", false), false),
        ("expired", ours.server("127.0.0.1", true), false),
        ("of another name", ours.server("api.example", false), false),
    ];
    for (what, tls, works) in rows {
        let server = Server::start_tls(tls, answer);
        let url = format!("https://{}", server.address);
        for insecure in [false, true] {
            let platform = at(&url).insecure(insecure).ca_certificate(ours.pem.clone());
            let platform = platform.build().unwrap();
            for column in FUNCTIONS {
                let result = ask(&platform, column);
                if works {
                    result.unwrap();
                    continue;
                }
                let error = result.expect_err(what);
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {}", error.report());
                assert!(error.to_string().contains("certificate"), "{what}: {error}");
                assert_eq!(error.setting(), Some(Setting::CertificateAuthorities), "{what}");
            }
        }
        assert_eq!(server.requests().is_empty(), !works, "{what}");
    }
}

#[test]
fn a_service_without_tls_is_not_reported_as_a_certificate_error() {
    // One waits for a request that never arrives, the other answers the greeting in plain HTTP.
    let silent = Server::start(answer);
    let plain = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for mut stream in plain.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&script::http(400, &[], b"no TLS here"));
        }
    });
    for address in [silent.address, address] {
        let platform = at(&format!("https://{address}"))
            .connect_timeout(std::time::Duration::from_millis(150))
            .build()
            .unwrap();
        for column in FUNCTIONS {
            let error = ask(&platform, column).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(!error.to_string().contains("certificate"), "{}", error.report());
        }
    }
    assert!(silent.requests().is_empty());
}

#[test]
fn invalid_certificates_are_refused() {
    let server = Server::start(answer);
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        let platform = at(&server.url()).ca_certificate(pem).build().unwrap();
        let error = ask(&platform, Column::Discover).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{pem:?}");
    }
}

#[test]
fn no_download_goes_from_https_to_http() {
    let authority = Authority::new();
    let store = Server::start(|_| script::ok(content(7)));
    let location = format!("{}/{SIGNED}", store.url());
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |_| {
        script::status(302, &[("location", &location)], "")
    });
    for insecure in [false, true] {
        let platform = at(&format!("https://{}", server.address))
            .insecure(insecure)
            .ca_certificate(authority.pem.clone())
            .build()
            .unwrap();
        let error = ask(&platform, Column::Download).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("plain HTTP"), "{error}");
    }
    assert!(store.requests().is_empty());
}

#[test]
fn a_host_that_does_not_exist_is_unavailable() {
    let platform = at("https://nowhere.invalid").build().unwrap();
    for column in FUNCTIONS {
        let error = ask(&platform, column).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.hint().unwrap().contains("address"));
    }
}

/// A proxy that tunnels to `to`, and the requests that it received.
fn tunnel(to: std::net::SocketAddr) -> (String, Arc<Mutex<Vec<String>>>) {
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

#[test]
fn a_proxy_tunnels_https_and_sees_no_token() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("api.example", false), answer);
    let (proxy, asked) = tunnel(server.address);
    let password = format!("http://proxy-user:canary-password@{proxy}");
    for url in [format!("http://{proxy}"), proxy.clone(), password] {
        let platform = at("https://api.example")
            .ca_certificate(authority.pem.clone())
            .proxy(url)
            .build()
            .unwrap();
        for column in FUNCTIONS {
            ask(&platform, column).unwrap();
        }
        assert!(!format!("{platform:?} {platform:#?}").contains("canary"));
    }
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|head| head.starts_with("CONNECT api.example:443 HTTP/1.1\r\n")));
    assert!(!asked.concat().contains(CANARY));
    let basic = asked.last().unwrap().to_ascii_lowercase().contains("proxy-authorization: basic ");
    assert!(basic, "{asked:?}");
    assert!(!asked[0].to_ascii_lowercase().contains("authorization"));
    assert!(server.requests().iter().all(|r| r.header("proxy-authorization").is_none()));
}

#[test]
fn loopback_plain_http_and_excepted_hosts_are_never_proxied() {
    let authority = Authority::new();
    let server = Server::start(answer);
    let secure = Server::start_tls(authority.server("127.0.0.1", false), answer);
    let (proxy, asked) = tunnel(server.address);
    let through =
        |url: &str| at(url).ca_certificate(authority.pem.clone()).proxy(format!("http://{proxy}"));
    for url in [server.url(), format!("https://{}", secure.address)] {
        for column in FUNCTIONS {
            ask(&through(&url).build().unwrap(), column).unwrap();
        }
    }
    let localhost = format!("http://localhost:{}", server.address.port());
    ask(&through(&localhost).build().unwrap(), Column::Discover).unwrap();
    let plain = through("http://nowhere.invalid").insecure(true).build().unwrap();
    assert_eq!(ask(&plain, Column::Discover).unwrap_err().kind(), ErrorKind::Unavailable);
    for except in ["nowhere.invalid", "invalid", ".invalid", "a.example, nowhere.invalid", "*"] {
        let excepted = through("https://nowhere.invalid").no_proxy(except).build().unwrap();
        assert_eq!(ask(&excepted, Column::Discover).unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[test]
fn a_proxy_that_refuses_or_is_invalid_is_an_error_without_its_password() {
    let proxy = Server::start(|_| script::status(407, &[("proxy-authenticate", "Basic")], "no"));
    let url = format!("http://proxy-user:canary-password@{}", proxy.address);
    let platform = at("https://api.example").proxy(url).build().unwrap();
    assert_eq!(ask(&platform, Column::Discover).unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(proxy.requests().iter().all(|r| r.method() == "CONNECT"));
    for bad in ["http://canary-password@[", "socks5://u:canary-password@proxy", "ftp://x", "://"] {
        let platform = at("https://api.example").proxy(bad).build().unwrap();
        let error = ask(&platform, Column::Discover).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{bad}: {}", error.report());
        // If it isn't used, it doesn't matter.
        let server = Server::start(answer);
        ask(&at(&server.url()).proxy(bad).build().unwrap(), Column::Discover).unwrap();
    }
}

#[test]
fn addresses_of_the_sixth_version_work() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else { return };
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(&script::http(200, &[], &good(Column::Discover, 7)));
    });
    let platform = at(&format!("http://[::1]:{}", address.port())).build().unwrap();
    ask(&platform, Column::Discover).unwrap();
}

#[test]
fn the_artifact_of_a_tunnelled_download_is_the_right_one() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("api.example", false), answer);
    let (proxy, _) = tunnel(server.address);
    let platform =
        at("https://api.example").ca_certificate(authority.pem.clone()).proxy(proxy).build();
    let value = ask(&platform.unwrap(), Column::Download).unwrap();
    assert_eq!(digest(value.as_string().unwrap().as_bytes()), digest(&content(7)));
}

#[test]
fn a_proxy_of_the_environment_tunnels_and_sees_no_token() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("api.example", false), answer);
    let (proxy, asked) = tunnel(server.address);
    let sandbox = crate::cli::Sandbox::new();
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let digest = format!("sha256:{:064x}", 7);
    let address = ["--controlplane-url", "https://api.example", "--ca-cert", &certificates];
    let arguments = [&["call", "discover", &digest, "--timeout", "5s"], &address[..]].concat();
    let run = || sandbox.run(&arguments).env("PLATFORM_TOKEN", CANARY);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        run().env(name, &format!("http://{proxy}")).output().code(0);
    }
    assert_eq!(asked.lock().unwrap().len(), 3);
    assert!(!asked.lock().unwrap().concat().contains(CANARY));
    let excepted = run().env("HTTPS_PROXY", &proxy).env("NO_PROXY", "api.example");
    excepted.output().code(2).says("can't connect to https://api.example");
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[cfg(unix)]
#[test]
fn a_proxy_that_cannot_be_read_is_not_taken_for_none() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = crate::cli::Sandbox::new();
    let digest = format!("sha256:{:064x}", 7);
    let server = Server::start(answer);
    let run = sandbox.run(&["call", "discover", &digest, "--controlplane-url", &server.url()]);
    let mut command = run.env("PLATFORM_TOKEN", CANARY).command();
    let output = command.env("HTTPS_PROXY", std::ffi::OsStr::from_bytes(b"http://\xff")).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the environment variable `HTTPS_PROXY` isn't UTF-8"), "{said}");
    assert!(server.requests().is_empty());
}
