//! Certificates, proxies and addresses: which servers are connected to at all.

use rego_platform::Value;
use rego_platform::{Error, ErrorKind, Platform, PlatformBuilder, setting};

use super::authority::{Authority, answer, tunnel};
use super::script;
use super::server::Server;
use super::stage::{CANARY, Column, SIGNED, builder, call, content, digest, good, harmless};

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

/// N5: no token goes to a server whose certificate isn't valid.
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
                assert_eq!(error.setting(), Some(setting::CERTIFICATE_AUTHORITIES), "{what}");
            }
        }
        assert_eq!(server.requests().is_empty(), !works, "{what}");
    }
}

/// A6: the error names what is wrong.
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

/// N5: authorities that can't be read aren't replaced by others.
#[test]
fn invalid_certificates_are_refused() {
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    for pem in ["", "nonsense", broken, empty] {
        let error = at("https://api.example").ca_certificate(pem).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{pem:?}");
        assert!(error.hint().unwrap().contains("PEM"), "{pem:?}");
    }
}

/// N1: a call that isn't answered fails.
#[test]
fn a_host_that_does_not_exist_is_unavailable() {
    let platform = at("https://nowhere.invalid").build().unwrap();
    for column in FUNCTIONS {
        let error = ask(&platform, column).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.hint().unwrap().contains("address"));
    }
}

/// N5: a proxy isn't trusted.
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

/// N5: nothing for this machine leaves it.
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

/// N1, N5: a call that isn't sent fails, and shows no password.
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

/// A1: an answer is one whatever the address.
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

/// N4: bytes hash to their digest behind a proxy, too.
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

/// N5: a download isn't followed from TLS to plain HTTP, and the error says what to do about it.
#[test]
fn a_plain_url_of_content_is_followed_from_tls_only_on_this_machine() {
    let authority = Authority::new();
    let plain = Server::start(|_| script::ok(content(7)));
    for (to, works) in [(plain.url(), true), ("http://192.0.2.1".to_owned(), false)] {
        let location = format!("{to}/{SIGNED}");
        let server = Server::start_tls(authority.server("127.0.0.1", false), move |_| {
            script::status(302, &[("location", &location)], "")
        });
        let url = format!("https://{}", server.address);
        let ask = |insecure| {
            let platform = at(&url).ca_certificate(authority.pem.clone()).insecure(insecure);
            ask(&platform.build().unwrap(), Column::Download)
        };
        let error = ask(false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        let hint = error.hint().unwrap();
        if works {
            assert_eq!(error.setting(), Some(setting::PLAIN_HTTP), "{hint}");
            ask(true).unwrap();
        } else {
            assert!(hint.contains("`PLATFORM_ARTIFACT_CAS_API`"), "{hint}");
            assert_eq!(ask(true).unwrap_err().kind(), ErrorKind::Protocol);
        }
    }
}
