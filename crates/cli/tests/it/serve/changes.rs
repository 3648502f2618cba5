//! Policies that change while they are served: newer ones elsewhere, and clients that write.

use std::sync::{Arc, Mutex};

use super::{Served, serve, started};
use crate::cli::Sandbox;
use crate::compare::bundles::archive;
use crate::hostile::authority::Authority;
use crate::hostile::script::{http, status};
use crate::hostile::server::{Request, Server, Step};
use crate::remote::git;
use crate::remote::registry::{POLICY, Registry};

fn versioned(version: u32) -> String {
    format!("package p\n\nversion := {version}\n")
}

fn is_version(served: &Served, version: &str) {
    served.until("GET /v1/data/p/version", &format!("{{\"result\":{version}}}"));
}

#[test]
fn a_tag_that_moves_is_followed_and_a_digest_is_not() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let store = |version| {
        let text = versioned(version);
        registry.store("acme/p", "v1", &[(POLICY, "p.rego", text.as_bytes())])
    };
    let first = store(1);
    let tagged = registry.address("acme/p:v1");
    let pinned = registry.address(&format!("acme/p@{first}"));
    let refused = |arguments: &[&str], reason: &str| {
        let all = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        sandbox.local(&all).within(crate::ROOT).output().fails(reason);
    };
    refused(&["-d", &tagged], "source not pinned");
    refused(&["-d", &pinned, "--poll", "1s"], "`--poll` has no effect");
    refused(&["-d", &tagged, "--poll", "1s", "--update-lock"], "conflicting options");
    refused(&["-d", &tagged, "--poll", "0s"], "longer than zero");

    let polling = ["-d", &tagged, "--poll", "20ms", "--local", "testdata/platform"];
    let mut served = serve(&sandbox, &polling);
    is_version(&served, "1");
    store(2);
    is_version(&served, "2");
    registry.store(
        "acme/p",
        "v1",
        &[(POLICY, "p.rego", b"package p\n\nversion := platform.discovr(1)\n")],
    );
    served.until("GET /health?bundles", "HTTP/1.1 500 ");
    is_version(&served, "2");
    served.until("GET /v1/status", "discovr");
    store(3);
    is_version(&served, "3");
    served.until("GET /health?bundles", "HTTP/1.1 200 OK");
    // A registry that doesn't answer is loud, and so is its return.
    registry.hook(|_| Some(vec![Step::Reset]));
    served.until("GET /health?bundles", "HTTP/1.1 500 ");
    is_version(&served, "3");
    registry.hook(|_| None);
    served.until("GET /health?bundles", "HTTP/1.1 200 OK");
    served.child.kill().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut served.stderr, &mut said).unwrap();
    assert!(said.matches("policies reloaded").count() >= 2, "{said}");
    let refused = "`platform.discovr` is not a function";
    assert_eq!(said.matches(refused).count(), 1, "{said}");
}

/// A web server with one archive, and its version.
#[derive(Default)]
struct Archive {
    content: Vec<u8>,
    version: u32,
    unchanged: usize,
}

fn answer(archive: &mut Archive, request: &Request) -> Vec<Step> {
    let version = format!("\"{}\"", archive.version);
    if request.header("if-none-match") == Some(&version) {
        archive.unchanged += 1;
        return status(304, &[("etag", &version)], "");
    }
    vec![Step::Send(http(200, &[("etag", &version)], &archive.content))]
}

#[test]
fn an_archive_is_fetched_again_if_its_version_changes_and_verified_each_time() {
    let sandbox = Sandbox::new();
    let signed = include_bytes!("../gate/signed/bundle.tar.gz").to_vec();
    let held = Arc::new(Mutex::new(Archive { content: signed, ..Archive::default() }));
    let own = Arc::clone(&held);
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |request| {
        answer(&mut own.lock().unwrap(), request)
    });
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let key = sandbox.write("key.pub", include_str!("../gate/signed/bundle.pub"));
    let address = format!("https://{}/b.tar.gz", server.address);
    let allowed = server.address.to_string();
    let polling =
        ["-d", &address, "--poll", "20ms", "--bundle-key", &key, "--local", "testdata/platform"];
    let mut served = serve(
        &sandbox,
        &[&polling[..], &["--allow-host", &allowed, "--ca-cert", &certificates]].concat(),
    );
    let denies = || served.until("POST /v1/data/p/deny", "{\"result\":[");
    denies();
    while held.lock().unwrap().unchanged < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let fetched = server.requests().len() - held.lock().unwrap().unchanged;
    assert!(fetched <= 2, "{fetched} times, of one version");
    // The same content as another version is fetched once, and changes nothing.
    held.lock().unwrap().version = 1;
    let before = server.requests().len();
    while server.requests().len() < before + 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let asked = server.requests();
    assert_eq!(asked[before + 2].header("if-none-match"), Some("\"1\""));

    let path = sandbox.path("unsigned.tar.gz");
    archive(&path, &[("p.rego".to_owned(), "package p\n\ndeny := set()\n".to_owned())]).unwrap();
    let replaced = |content: Vec<u8>, version| {
        let mut held = held.lock().unwrap();
        held.version = version;
        std::mem::replace(&mut held.content, content)
    };
    let signed = replaced(std::fs::read(path).unwrap(), 2);
    served.until("GET /v1/status", "isn't signed");
    denies();
    replaced(signed, 3);
    served.until("GET /health?bundles", "HTTP/1.1 200 OK");
    denies();
    served.child.kill().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut served.stderr, &mut said).unwrap();
    assert!(said.matches("policies reloaded").count() <= 1, "{said}");
}

#[cfg(unix)]
#[test]
fn a_branch_that_moves_is_followed_and_read_only_then() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("policies")).unwrap();
    git::git(&sandbox, "policies", &["init", "--quiet", "--initial-branch=main", "."]);
    let store = |version| {
        sandbox.write("policies/release/p.rego", versioned(version));
        git::commit(&sandbox, "policies");
    };
    store(1);
    let log = sandbox.path("log");
    sandbox.write(".gitconfig", format!("[trace2]\n\tnormalTarget = {}\n", log.display()));
    let source = git::address(&sandbox, "policies", "//release?ref=main");
    let polling = ["-d", &source, "--poll", "20ms", "--local", "testdata/platform"];
    let run = sandbox.run(&[&["serve", "--listen", "127.0.0.1:0"], &polling[..]].concat());
    let served = started(run.env("PATH", &std::env::var("PATH").unwrap()));
    is_version(&served, "1");
    let ran = |command: &str| {
        let log = std::fs::read_to_string(&log).unwrap();
        log.matches(&format!("cmd_name {command} ")).count()
    };
    while ran("fetch") < 4 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(ran("cat-file"), 1);
    store(2);
    is_version(&served, "2");
    assert_eq!(ran("cat-file"), 2);
}
