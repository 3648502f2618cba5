//! The command behind a proxy, which its environment names.

#[path = "../../../../tests/it/hostile/authority.rs"]
pub mod authority;
#[path = "../../../../tests/it/hostile/script.rs"]
pub mod script;
#[path = "../../../../tests/it/hostile/server.rs"]
pub mod server;
#[path = "../../../../tests/it/hostile/stage.rs"]
mod stage;

use authority::{Authority, answer, tunnel};
use server::Server;
use stage::CANARY;

use crate::cli::{Output, Sandbox};

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

/// A module of a policy document is what its digest says, whoever sends it.
#[test]
fn a_module_is_fetched_from_an_allowed_host_and_held_against_its_digest() {
    let module = "package main\n\nimport rego.v1\n\nviolations contains \"bad\" if input.bad\n";
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |request| {
        match request.target() {
            "/p.rego" => script::status(200, &[("content-type", "text/plain")], module),
            "/moved.rego" => script::status(302, &[("location", "/p.rego")], ""),
            _ => script::status(404, &[], module),
        }
    });
    let sandbox = Sandbox::new();
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let host = server.address.to_string();
    let run = |reference: &str, allowed: &str| {
        let file = sandbox.write(
            "p.yaml",
            format!(
                "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {{name: 'n'}}\nspec:\n  policies:\n    - ref: \
                 https://{host}/{reference}\n"
            ),
        );
        let fixed = ["gate", "-d", &file, "-i", "-", "--ca-cert", &certificates];
        let arguments = [&fixed[..], &["--allow-host", allowed]].concat();
        sandbox.run(&arguments).env("PLATFORM_TOKEN", CANARY).stdin("{\"bad\": 1}").output()
    };
    let pinned = format!("p.rego@{}", crate::gate::digest_of(module.as_bytes()));
    run(&pinned, &host).code(1);
    let before = server.requests().len();
    run(&pinned, "other.example").fails("`--allow-host HOST[:PORT]` allows one");
    run("p.rego", &host).fails("missing digest of the policy");
    assert_eq!(server.requests().len(), before);
    let other = format!("p.rego@sha256:{}", "0".repeat(64));
    run(&other, &host).fails("digest mismatch");
    for (path, status) in [("moved.rego", "302"), ("none.rego", "404")] {
        let pinned = pinned.replace("p.rego", path);
        run(&pinned, &host).fails(&format!("unexpected status of the response: {status}"));
    }
    let file = sandbox.path("p.yaml");
    let file = file.to_str().unwrap();
    let check = sandbox.run(&["check", file]).output();
    check.fails("`--allow-host HOST[:PORT]` allows one");
    // It is fetched once.
    run(&pinned, &host).code(1);
    let before = server.requests().len();
    let check = ["check", file, "--ca-cert", &certificates, "--allow-host", &host];
    sandbox.run(&check).output().code(0);
    assert_eq!(server.requests().len(), before + 1);
    sandbox.run(&["check", file, "--allow-host", &host]).output().fails("certificate");
    let seen: Vec<String> =
        server.requests().iter().map(|request| format!("{request:?}")).collect();
    assert!(!seen.concat().contains(CANARY), "{seen:?}");
}

/// A document to which a group refers is what its digest says, and so is each of its modules.
#[test]
fn a_group_fetches_documents_that_are_held_against_their_digests() {
    let document = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: 'n'}\nspec:\n  policies:\n    \
        - embedded: |\n        package main\n\n        import rego.v1\n\n        \
        violations contains \"bad\" if input.bad\n";
    let beside = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {name: 'n'}\nspec:\n  policies:\n    \
        - path: p.rego\n";
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |request| {
        let text = if request.target() == "/n.yaml" { document } else { beside };
        script::status(200, &[("content-type", "text/plain")], text)
    });
    let sandbox = Sandbox::new();
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let host = server.address.to_string();
    let run = |name: &str, digest: &str, allowed: &str| {
        let group = format!(
            "apiVersion: workflowcontract.example/v1\nkind: PolicyGroup\nmetadata: {{name: g}}\nspec:\n  policies:\n    \
             materials:\n      - policies:\n          - ref: https://{host}/{name}@{digest}\n"
        );
        let file = sandbox.write("g.yaml", group);
        let fixed = ["gate", "-d", &file, "-i", "-", "--ca-cert", &certificates];
        let arguments = [&fixed[..], &["--allow-host", allowed]].concat();
        sandbox.run(&arguments).env("PLATFORM_TOKEN", CANARY).stdin("{\"bad\": 1}").output()
    };
    let digest = crate::gate::digest_of(document.as_bytes());
    run("n.yaml", &digest, &host).code(1);
    assert_eq!(server.requests().len(), 1);
    run("n.yaml", &digest, "other.example").fails("`--allow-host HOST[:PORT]` allows one");
    run("other.yaml", &digest, &host).fails("digest mismatch");
    // What it names by a path isn't looked for among the files that are here.
    let digest = crate::gate::digest_of(beside.as_bytes());
    run("other.yaml", &digest, &host).fails("relative path of a module in a fetched document");
    let seen: Vec<String> =
        server.requests().iter().map(|request| format!("{request:?}")).collect();
    assert!(!seen.concat().contains(CANARY), "{seen:?}");
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
    let output = Output::from(output.unwrap());
    output.fails("invalid UTF-8 in the environment variable `HTTPS_PROXY`");
    assert!(server.requests().is_empty());
}
