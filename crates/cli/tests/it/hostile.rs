//! The command behind a proxy, which its environment names.

#[path = "../../../../tests/it/hostile/authority.rs"]
mod authority;
#[path = "../../../../tests/it/hostile/script.rs"]
mod script;
#[path = "../../../../tests/it/hostile/server.rs"]
mod server;
#[path = "../../../../tests/it/hostile/stage.rs"]
mod stage;

use authority::{Authority, answer, tunnel};
use server::Server;
use stage::CANARY;

use crate::cli::Sandbox;

/// N5: a proxy isn't trusted.
#[test]
fn a_proxy_of_the_environment_tunnels_and_sees_no_token() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("api.example", false), answer);
    let (proxy, asked) = tunnel(server.address);
    let sandbox = Sandbox::new();
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
    excepted.output().fails("can't connect to https://api.example");
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[cfg(unix)]
/// N5: nothing goes past a proxy.
#[test]
fn a_proxy_that_cannot_be_read_is_not_taken_for_none() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
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
