//! Bundles at a web server: pinned, or of an allowed host.

use std::sync::{Arc, Mutex};

use super::{DENY, NAMES, run};
use crate::cli::{CANARY, Output, Sandbox};
use crate::gate::digest_of;
use crate::hostile::authority::Authority;
use crate::hostile::script;
use crate::hostile::server::{Server, Step};

fn bundle(sandbox: &Sandbox, policy: &[u8]) -> Vec<u8> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let files =
        [("/p.rego".to_owned(), text(policy)), ("/names/data.json".to_owned(), text(NAMES))];
    let path = sandbox.path("b.tar.gz");
    crate::compare::bundles::archive(&path, &files).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn an_archive_is_taken_if_it_is_pinned() {
    let sandbox = Sandbox::new();
    let authority = Authority::new();
    let good = bundle(&sandbox, DENY);
    let answer: Arc<Mutex<Vec<Step>>> = Arc::new(Mutex::new(script::ok(good.clone())));
    let answers = Arc::clone(&answer);
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |request| {
        match request.target() {
            "/elsewhere" => script::ok(Vec::new()),
            _ => answers.lock().unwrap().clone(),
        }
    });
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let address = format!("https://{}/b.tar.gz", server.address);
    let host = server.address.to_string();
    let gate = |more: &[&str]| -> Output {
        let fixed =
            ["gate", "-d", &address, "-i", "-", "--ca-cert", &certificates, "--timeout", "3s"];
        run(&sandbox, &[&fixed[..], more].concat())
    };
    gate(&[]).fails("source not pinned");
    gate(&["--update-lock"])
        .fails("unpinned source on a host that isn't allowed")
        .says("`--allow-host");
    let eval = ["eval", "-d", &address, "--ca-cert", &certificates, "data.p.deny"];
    run(&sandbox, &eval).fails("unpinned source on a host that isn't allowed");
    assert_eq!(server.requests().len(), 0);
    gate(&["--update-lock", "--allow-host", &host]).code(1);
    gate(&[]).code(1);
    run(&sandbox, &eval).code(0);
    let moved = bundle(&sandbox, b"package p\n\ndeny := set()\n");
    let says = format!("found `{}`, pinned `{}`", digest_of(&moved), digest_of(&good));
    for (steps, says) in [
        (script::ok(moved), &*says),
        (script::ok(good[..good.len() - 1].to_vec()), "digest mismatch for"),
        (script::raw(&script::announced(good.len() + 1, &good)), "lost"),
        (script::raw(&script::announced(1_u64 << 40, &good)), "exceeds the limit of 256 MiB"),
        (script::status(404, &[], ""), "not found at"),
        (script::status(302, &[("location", "/elsewhere")], ""), "digest mismatch for"),
        (script::status(302, &[("location", "http://127.0.0.1/b.tar.gz")], ""), "to plain HTTP"),
    ] {
        *answer.lock().unwrap() = steps;
        gate(&[]).fails(says);
        gate(&["--allow-host", &host]).fails(says);
    }
    assert!(server.requests().iter().all(|request| !request.head.contains(CANARY)));
    // Without the authority, nobody is believed.
    let unknown = ["gate", "-d", &address, "-i", "-"];
    run(&sandbox, &unknown).fails("can't connect to https://");
}
