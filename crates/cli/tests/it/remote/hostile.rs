//! What a registry may do to a gate: nothing that passes.

use std::time::{Duration, Instant};

use super::registry::{BUNDLE, DATA, MANIFEST, POLICY, Registry};
use super::{DENY, NAMES, run, stored};
use crate::cli::{CANARY, Output, Sandbox};
use crate::gate::digest_of;
use crate::hostile::script::{self, http};
use crate::hostile::server::{Request, Server, Step};

/// Runs a gate, pinned by the address, over policies that deny the input.
fn gate(
    registry: &Registry,
    digest: &str,
    hook: impl Fn(&Request) -> Option<Vec<Step>> + Send + Sync + 'static,
) -> Output {
    let sandbox = Sandbox::new();
    registry.hook(hook);
    let pinned = registry.address(&format!("acme/policies@{digest}"));
    run(&sandbox, &["gate", "-d", &pinned, "-i", "-", "--timeout", "3s"])
}

fn is_blob(request: &Request) -> bool {
    request.path().contains("/blobs/")
}

fn is_manifest(request: &Request) -> bool {
    request.path().contains("/manifests/")
}

#[test]
fn altered_and_broken_answers_are_no_verdict() {
    let registry = Registry::new();
    let digest = stored(&registry);
    gate(&registry, &digest, |_| None).code(1);
    let blob = |steps: fn() -> Vec<Step>| move |request: &Request| is_blob(request).then(steps);
    let manifest =
        |steps: fn() -> Vec<Step>| move |request: &Request| is_manifest(request).then(steps);
    let check = |output: Output, says: &str| {
        output.fails(says);
    };
    check(
        gate(&registry, &digest, blob(|| script::ok(b"package p\n".to_vec()))),
        "digest mismatch from",
    );
    check(
        gate(&registry, &digest, blob(|| script::ok(vec![b'#'; 100_000]))),
        "exceeds the limit of",
    );
    check(
        gate(&registry, &digest, blob(|| script::until_close(&vec![b'#'; 100_000]))),
        "exceeds the limit of",
    );
    check(
        gate(&registry, &digest, blob(|| script::raw(&script::announced(50, b"package p\n")))),
        "lost",
    );
    check(
        gate(
            &registry,
            &digest,
            blob(|| [script::until_close(b""), vec![Step::Endless(b"####".to_vec())]].concat()),
        ),
        "exceeds the limit of",
    );
    check(gate(&registry, &digest, blob(|| vec![Step::Reset])), "connection to");
    check(gate(&registry, &digest, blob(|| script::status(204, &[], ""))), "digest mismatch from");
    check(gate(&registry, &digest, blob(|| script::status(404, &[], "{}"))), "not found at");
    check(gate(&registry, &digest, blob(|| script::status(403, &[], "{}"))), "permission denied");
    check(gate(&registry, &digest, blob(|| script::status(500, &[], "{}"))), "failed with status");
    check(gate(&registry, &digest, blob(|| script::status(429, &[], "{}"))), "rate limited by");
    check(gate(&registry, &digest, blob(|| script::status(304, &[], ""))), ": 304 for");
    check(
        gate(&registry, &digest, manifest(|| script::ok(b"{}".to_vec()))),
        "digest mismatch from",
    );
    check(
        gate(&registry, &digest, manifest(|| script::ok(vec![b' '; 5 << 20]))),
        "exceeds the limit of",
    );
    check(
        gate(&registry, &digest, manifest(|| script::status(302, &[("location", "/x")], ""))),
        ": 302 for",
    );
    check(
        gate(&registry, &digest, manifest(|| script::status(401, &[], ""))),
        "unauthenticated at",
    );
    let begun = Instant::now();
    let drip = || vec![Step::Drip(http(200, &[], DENY), Duration::from_millis(500))];
    check(gate(&registry, &digest, blob(drip)), "timed out after 3s");
    check(
        gate(&registry, &digest, manifest(|| vec![Step::Pause(Duration::from_mins(1))])),
        "timed out after 3s",
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_failure_that_passes_is_waited_for() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let failed = std::sync::atomic::AtomicBool::new(false);
    let once = move |request: &Request| {
        let first =
            is_manifest(request) && !failed.swap(true, std::sync::atomic::Ordering::Relaxed);
        first.then(|| script::status(503, &[], ""))
    };
    gate(&registry, &digest, once).code(1);
}

#[test]
fn manifests_that_hold_something_else_are_refused() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let refused = |layers: &[(&str, &str, &[u8])], says: &str| {
        let digest = registry.store("acme/odd", "v1", layers);
        let pinned = registry.address(&format!("acme/odd@{digest}"));
        run(&sandbox, &["gate", "-d", &pinned, "-i", "-"]).fails(says);
    };
    let passes: &[u8] = b"package q\n\ndeny := set()\n";
    for (kind, name, says) in [
        (POLICY, "../p.rego", "has a path outside of its folder"),
        (POLICY, "/tmp/p.rego", "has a path outside of its folder"),
        (POLICY, "a/../../p.rego", "has a path outside of its folder"),
        (POLICY, "", "a layer without a name"),
        (POLICY, "p.txt", "ends in `.rego`"),
        (DATA, "p.rego", "ends in `.json`"),
        ("application/octet-stream", "p.rego", "has a layer of the unsupported type"),
        (POLICY, "q.rego", "has a duplicate file `q.rego`"),
    ] {
        refused(&[(POLICY, "q.rego", passes), (kind, name, DENY)], says);
    }
    // A name as a file was given, which leads nowhere else.
    refused(
        &[(POLICY, "q.rego", passes), (POLICY, "./q.rego", DENY)],
        "has a duplicate file `q.rego`",
    );
    let denies: &[u8] = b"package p\n\ndeny contains \"bad\" if input.bad\n";
    let digest = registry.store("acme/odd", "v1", &[(POLICY, "./p.rego", denies)]);
    let pinned = registry.address(&format!("acme/odd@{digest}"));
    run(&sandbox, &["gate", "-d", &pinned, "-i", "-"]).code(1);
    refused(&[], "has no policies");
    refused(&[(DATA, "names.json", NAMES)], "");
    let manifest = |text: String, says: &str| {
        let digest = registry.store_manifest("acme/odd", "v1", text.into_bytes());
        let pinned = registry.address(&format!("acme/odd@{digest}"));
        run(&sandbox, &["gate", "-d", &pinned, "-i", "-"]).fails(says);
    };
    let index = "application/vnd.oci.image.index.v1+json";
    manifest(
        format!(r#"{{"schemaVersion":2,"mediaType":"{index}","manifests":[]}}"#),
        "is an index",
    );
    manifest("[]".to_owned(), "invalid manifest");
    manifest(format!(r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}"}}"#), "invalid manifest");
    let layer = |size: u64| {
        let (one, digest) =
            (r#""annotations":{"org.opencontainers.image.title":"p.rego"}"#, digest_of(DENY));
        format!(
            r#"{{"schemaVersion":2,"layers":[{{"mediaType":"{POLICY}","digest":"{digest}","size":{size},{one}}}]}}"#
        )
    };
    stored(&registry);
    manifest(layer(DENY.len() as u64 - 1), "exceeds the limit of");
    manifest(layer(DENY.len() as u64 + 1), "size mismatch of the blob");
    manifest(layer(u64::MAX), "a file of more than 256 MiB");
    let many: Vec<String> = (0..5).map(|number| {
        let digest = digest_of(DENY);
        format!(r#"{{"mediaType":"{POLICY}","digest":"{digest}","size":268435456,"annotations":{{"org.opencontainers.image.title":"{number}.rego"}}}}"#)
    }).collect();
    let before = registry.server.requests().len();
    manifest(
        format!(r#"{{"schemaVersion":2,"layers":[{}]}}"#, many.join(",")),
        "is larger than 1 GiB",
    );
    assert_eq!(registry.server.requests().len(), before + 1);
}

/// Returns an archive of one entry, which may say anything of itself.
fn archive_of(
    kind: tar::EntryType,
    name: &str,
    link: &str,
    content: impl std::io::Read,
    size: u64,
) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    // Set directly: the library normalizes paths.
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    archive.append(&header, content).unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn archives_that_lead_out_or_expand_are_no_verdict() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let file = tar::EntryType::Regular;
    let bomb = std::io::Read::take(std::io::repeat(b' '), 257 << 20);
    let plain = archive_of(file, "p.rego", "", DENY, DENY.len() as u64);
    let mut twice = plain.clone();
    twice.extend_from_slice(&plain);
    for (archive, says) in [
        (archive_of(file, "../p.rego", "", DENY, DENY.len() as u64), "`../p.rego`"),
        (archive_of(file, "a/../../p.rego", "", DENY, DENY.len() as u64), "`a/../../p.rego`"),
        // A link is no file, so nothing is there.
        (
            archive_of(tar::EntryType::Symlink, "p.rego", "/etc/passwd", &[][..], 0),
            "no policies and no data",
        ),
        (
            archive_of(tar::EntryType::Link, "p.rego", "../../bad.json", &[][..], 0),
            "no policies and no data",
        ),
        (archive_of(file, "p.rego", "", bomb, 257 << 20), "larger than 256 MiB"),
        (plain[..plain.len() / 2].to_vec(), "can't be read"),
        (twice, "goes on after the end of its archive"),
        (b"package p\n".to_vec(), "can't be read"),
    ] {
        let digest = registry.store("acme/bundle", "v1", &[(BUNDLE, "", &archive)]);
        let pinned = registry.address(&format!("acme/bundle@{digest}"));
        run(&sandbox, &["gate", "-d", &pinned, "-i", "-"]).fails(says);
    }
    // What is in a source is written below the folder that is named, or not at all.
    let digest = registry.store("acme/odd", "v1", &[(POLICY, "../p.rego", DENY)]);
    let pinned = registry.address(&format!("acme/odd@{digest}"));
    run(&sandbox, &["pull", &pinned, "-o", "below/policy"])
        .fails("has a path outside of its folder");
    assert!(!sandbox.path("below").exists());
}

#[test]
fn redirects_of_blobs_are_followed_with_nothing_that_is_secret() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let digest = stored(&registry);
    let user = format!("u:{CANARY}");
    let basic = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &user);
    let host = registry.server.address.to_string();
    sandbox.write(
        ".docker/config.json",
        format!(r#"{{"auths": {{"{host}": {{"auth": "{basic}"}}}}}}"#),
    );
    let elsewhere = Server::start(|request| {
        if request.path() == "/loop" {
            return script::status(302, &[("location", "/loop")], "");
        }
        let blob =
            [DENY, NAMES].into_iter().find(|blob| request.path().ends_with(&digest_of(blob)));
        script::ok(blob.unwrap_or_default().to_vec())
    });
    let to = |place: String| {
        let wanted = format!("Basic {basic}");
        registry.hook(move |request| {
            if request.header("authorization") != Some(&wanted) {
                return Some(script::status(401, &[("www-authenticate", "Basic realm=\"x\"")], ""));
            }
            is_blob(request).then(|| {
                let location = place.replace("{}", request.path());
                script::status(307, &[("location", &location)], "")
            })
        });
        let pinned = registry.address(&format!("acme/policies@{digest}"));
        run(&sandbox, &["gate", "-d", &pinned, "-i", "-", "--timeout", "5s"])
    };
    to(format!("{}{{}}", elsewhere.url())).code(1);
    let requests = elsewhere.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.header("authorization").is_none()));
    to(format!("{}/loop", elsewhere.url())).fails("too many redirects of");
    to(format!("{}/other", elsewhere.url())).fails("digest mismatch from");
    to("http://registry.invalid/x".to_owned()).fails("over plain HTTP");
    to("file:///etc/passwd".to_owned()).fails("without an address");
    to("ftp://127.0.0.1/x".to_owned()).fails("to plain HTTP");
}

/// Whoever changes the repository can't put a file into the place of what is fetched, nor a link to a
/// report, because of which it would be left out.
#[cfg(unix)]
#[test]
fn what_is_on_the_disk_never_takes_the_place_of_a_source() {
    let registry = Registry::new();
    let digest = stored(&registry);
    let host = registry.server.address;
    let pinned = registry.address(&format!("acme/policies@{digest}"));
    let places = [("/p.rego", false), ("/p.rego", true), ("", true)];
    for (prefix, folder) in [("", ""), ("a.b:", "a.b:"), ("", "./")] {
        for (place, is_link) in places {
            let sandbox = Sandbox::new();
            let at = format!("{folder}oci:/{host}/acme/policies@{digest}{place}");
            sandbox.write("other/q.rego", "package q\n\ndeny := set()\n");
            if !prefix.is_empty() {
                sandbox.write("other/names.json", [b"{\"names\": ", NAMES, b"}"].concat());
            }
            if is_link {
                let at = sandbox.path(&at);
                std::fs::create_dir_all(at.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(sandbox.path("gate.json"), at).unwrap();
            } else {
                sandbox.write(&at, "package p\n\ndeny := set()\n");
            }
            // With the folder of the repository, its file is loaded beside that of the source.
            let is_beside = folder == "./" && !is_link;
            let folder = if is_beside { "." } else { "other" };
            let argument = format!("{prefix}{pinned}");
            let gate = ["gate", "-d", folder, "-d", &argument, "-i", "-", "-o", "json=gate.json"];
            // A report can't be in a folder that is read.
            let gate = if is_beside { &gate[..7] } else { &gate[..] };
            let output = run(&sandbox, gate);
            if is_beside {
                output.fails("p.rego");
            } else if is_link {
                output.fails("would be read and written");
            } else {
                output.code(1);
            }
        }
    }
}
