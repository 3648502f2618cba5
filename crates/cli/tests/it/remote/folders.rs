//! `push`, `pull` and `vendor`.

use super::registry::{BUNDLE, POLICY, Registry};
use super::{DENY, NAMES, run, stored};
use crate::cli::Sandbox;
use crate::gate::digest_of;

#[test]
fn what_is_pushed_is_pulled_and_vendored() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    sandbox.write("policies/p.rego", DENY);
    sandbox.write("policies/names/names.json", NAMES);
    sandbox.write("policies/README.md", "# About\n");
    let address = registry.address("acme/policies:v1");
    let output = run(&sandbox, &["push", &address, "policies"]).code(0);
    let digest = output.stdout.split("  ").next().unwrap().to_owned();
    assert_eq!(output.stdout, format!("{digest}  {address}\n"));
    assert!(output.stderr.contains("`policies/README.md` is left out"), "{output:#?}");
    // Equal files have an equal digest, and are stored once.
    let before = registry.server.requests().len();
    run(&sandbox, &["push", &address, "policies", "-q"]).code(0).silent();
    let again = registry.server.requests();
    assert!(!again[before..].iter().any(|request| request.method() == "POST"));
    let by_digest = registry.address(&format!("acme/policies@{digest}"));
    run(&sandbox, &["push", &by_digest, "policies", "-q"]).code(0);
    sandbox.write("policies/p.rego", "package p\n\ndeny := set()\n");
    run(&sandbox, &["push", &by_digest, "policies", "-q"])
        .fails("digest mismatch: the pushed artifact has");

    let output = run(&sandbox, &["pull", &address]).code(0);
    assert_eq!(output.stdout, format!("{digest}  {address}\n"));
    let read = |name: &str| std::fs::read(sandbox.path(name)).unwrap();
    assert_eq!(
        (read("policy/p.rego"), read("policy/names/names.json")),
        (DENY.into(), NAMES.into())
    );
    run(&sandbox, &["pull", &address]).fails("isn't empty");
    run(&sandbox, &["pull", &address, &by_digest, "-o", "x"]).fails("file in two sources");
    run(&sandbox, &["pull", "policies", "-o", "x"]).fails("isn't the address of a source");
    assert!(!sandbox.path("x").exists());

    run(&sandbox, &["vendor"]).fails("has no sources");
    run(&sandbox, &["pull", &address, "-o", "y", "--update-lock"]).code(0);
    let folder = format!("vendor/{}/acme/policies@v1", registry.server.address).replace(':', "_");
    sandbox.write(&format!("{folder}/old.rego"), "package old\n\ndeny := 1\n");
    let output = run(&sandbox, &["vendor"]).code(0);
    assert_eq!(output.stdout.trim(), folder);
    assert!(!sandbox.path(&format!("{folder}/old.rego")).exists());
    let before = registry.server.requests().len();
    run(&sandbox, &["gate", "-d", &folder, "-i", "-"]).code(1);
    assert_eq!(registry.server.requests().len(), before);
    registry.store("acme/policies", "v1", &[(POLICY, "p.rego", b"package p\n")]);
    run(&sandbox, &["vendor"]).fails("digest mismatch for");
    assert_eq!(read(&format!("{folder}/p.rego")), DENY);
}

#[test]
fn a_bundle_stays_one() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let files = [("/p.rego".to_owned(), text(DENY)), ("/names/data.json".to_owned(), text(NAMES))];
    crate::compare::bundles::archive(&sandbox.path("b.tar.gz"), &files).unwrap();
    let archive = std::fs::read(sandbox.path("b.tar.gz")).unwrap();
    let address = registry.address("acme/bundle:v1");
    run(&sandbox, &["push", &address, "b.tar.gz"]).code(0);
    let blobs = registry.server.requests();
    let stored = blobs.iter().find(|request| request.method() == "PUT").unwrap();
    assert_eq!(digest_of(&stored.body), digest_of(&archive));
    let manifest = &blobs.last().unwrap().body;
    assert!(String::from_utf8_lossy(manifest).contains(BUNDLE));
    run(&sandbox, &["pull", &address, "-o", "x", "--update-lock"]).code(0);
    assert_eq!(std::fs::read(sandbox.path("x/bundle.tar.gz")).unwrap(), archive);
    let vendored = run(&sandbox, &["vendor"]).code(0).stdout.trim().to_owned();
    assert!(vendored.ends_with("/acme/bundle@v1.tar.gz"), "{vendored}");
    run(&sandbox, &["vendor"]).code(0);
    run(&sandbox, &["gate", "-d", &vendored, "-i", "-"]).code(1);
}

#[test]
fn what_could_not_be_pulled_is_not_pushed() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let address = registry.address("acme/policies:v1");
    for (name, text, says) in [
        ("p.json", "{", "p.json"),
        ("a\\b.rego", "package a\n", "has a path outside of its folder"),
        ("README.md", "", "has no policies"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(&format!("f/{name}"), text);
        run(&sandbox, &["push", &address, "f"]).fails(says);
    }
    #[cfg(unix)]
    {
        sandbox.write("f/p.rego", DENY);
        sandbox.write("secret.json", "{}");
        std::os::unix::fs::symlink(sandbox.path("secret.json"), sandbox.path("f/s.json")).unwrap();
        run(&sandbox, &["push", &address, "f"]).fails("is a link");
    }
    run(&sandbox, &["push", "https://r.example/b.tar.gz", "f"]).fails("isn't in a registry");
    assert_eq!(registry.server.requests().len(), 0);
}

/// A registry can't have what is uploaded, and the credentials for it, sent elsewhere.
#[test]
fn uploads_go_to_the_registry_alone() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    stored(&registry);
    sandbox.write("f/other.rego", "package other\n");
    let elsewhere =
        crate::hostile::server::Server::start(|_| crate::hostile::script::ok(Vec::new()));
    let location = format!("{}/upload", elsewhere.url());
    registry.hook(move |request| {
        let begins = request.method() == "POST";
        begins.then(|| crate::hostile::script::status(202, &[("location", &location)], ""))
    });
    let address = registry.address("acme/policies:v1");
    run(&sandbox, &["push", &address, "f"]).fails("on a different host");
    assert_eq!(elsewhere.requests().len(), 0);
}
