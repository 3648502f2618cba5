//! `GET /download/{digest}` and the content store.

use std::time::Duration;

use rego_platform_emulator::Address;
use sha2::Digest as _;

use super::*;

fn location(emulator: &Emulator, digest: &str) -> String {
    let answer = control(emulator, &format!("/download/{digest}"));
    assert_eq!(answer.status, 302, "{digest}");
    answer.header("location").to_owned()
}

#[test]
fn a_download_redirects_to_the_store_which_has_the_bytes() {
    let emulator = start(EmulatorOptions::default());
    let location = location(&emulator, BINARY);
    assert!(location.starts_with(&emulator.store_url()), "{location}");
    let answer = get(&location, None);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/octet-stream"));
    let hash: Vec<String> =
        sha2::Sha256::digest(&answer.body).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(format!("sha256:{}", hash.concat()), BINARY);
    assert!(std::str::from_utf8(&answer.body).is_err());
    let last = emulator.requests().pop().unwrap();
    assert_eq!(last.api, Address::Store);
    assert_eq!(last.target, format!("/content/{BINARY}"), "the ticket isn't logged");
}

#[test]
fn content_types_are_the_data_sets_and_an_empty_file_is_empty() {
    let emulator = start(EmulatorOptions::default());
    let answer = get(&location(&emulator, THREAT_MODEL), None);
    assert_eq!(answer.header("content-type"), "text/markdown; charset=utf-8");
    assert!(answer.body.starts_with(b"# Threat model"));
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let answer = get(&location(&emulator, empty), None);
    assert_eq!((answer.status, answer.body.len()), (200, 0));
}

#[test]
fn the_store_refuses_authorization() {
    let emulator = start(EmulatorOptions::default());
    let location = location(&emulator, BINARY);
    assert_eq!(get(&location, Some(&emulator.default_token())).status, 400);
    assert_eq!(get(&location, Some("anything")).status, 400);
    assert!(emulator.requests().pop().unwrap().had_authorization);
}

#[test]
fn a_ticket_is_for_one_digest_and_for_a_while() {
    let emulator = start(EmulatorOptions::default());
    let link = location(&emulator, BINARY);
    let (path, ticket) = link.split_once("?ticket=").unwrap();
    let (end, signature) = ticket.split_once('.').unwrap();
    let later = format!("{path}?ticket=9{end}.{signature}");
    for wrong in
        [path.to_owned(), format!("{path}?ticket=x"), later, link.replace(BINARY, THREAT_MODEL)]
    {
        assert_eq!(get(&wrong, None).status, 401, "{wrong}");
    }
    let other = start(EmulatorOptions::default());
    let theirs = link.replace(&emulator.store_url(), &other.store_url());
    assert_eq!(get(&theirs, None).status, 401);
    let short =
        start(EmulatorOptions { ticket_lifetime: Duration::ZERO, ..EmulatorOptions::default() });
    let answer = get(&location(&short, BINARY), None);
    assert_eq!((answer.status, answer.body.as_slice()), (401, b"the link has expired".as_slice()));
}

#[test]
fn a_store_on_every_address_is_named_as_the_caller_names_the_service() {
    let store_listen = "0.0.0.0:0".parse().unwrap();
    let emulator = start(EmulatorOptions { store_listen, ..EmulatorOptions::default() });
    let url = format!("{}/download/{BINARY}", emulator.controlplane_url());
    let (token, store) = (emulator.default_token(), emulator.store_url());
    let port = store.rsplit_once(':').unwrap().1;
    assert_eq!(store, format!("http://127.0.0.1:{port}"));
    for (host, expected) in [
        ("service.example:8080", format!("http://service.example:{port}/")),
        ("service.example", format!("http://service.example:{port}/")),
        ("[::1]", format!("http://[::1]:{port}/")),
    ] {
        let answer =
            send(|client| client.get(&url).bearer_auth(&token).header("host", host)).unwrap();
        assert!(answer.header("location").starts_with(&expected), "{host}");
    }
    assert_eq!(get(&location(&emulator, BINARY), None).status, 200);
}

#[test]
fn an_artifact_that_is_not_downloadable_is_refused() {
    let emulator = start(EmulatorOptions::default());
    for (digest, status) in [
        (STORED_ONLY, 403),
        (CLEAN_IMAGE, 403),
        (format!("sha256:{}", "0".repeat(64)).as_str(), 404),
        ("sha256:882ee3b7f6847fffd751afebb5f4f000098af868eb65be8f010c3c42a21822a9", 404),
        ("sha1:da4f80ca3a07efb2d059502b35a577ca5f0064bd", 400),
        ("..%2f..%2fusers.yaml", 400),
    ] {
        let answer = control(&emulator, &format!("/download/{digest}"));
        assert_eq!((answer.status, &answer.json()["code"]), (status, &status.into()), "{digest}");
    }
}
