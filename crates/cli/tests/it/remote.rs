//! Policies from elsewhere: registries and web servers, honest and hostile, and the lock.

mod archive;
mod credentials;
mod folders;
pub mod git;
mod hostile;
mod image;
mod lock;
pub mod registry;
mod signed;

use serde_json::Value;

use crate::cli::{CANARY, Output, Sandbox};
use crate::gate::digest_of;
use registry::{BUNDLE, DATA, POLICY, Registry};

const DENY: &[u8] = b"package p\n\ndeny contains data.names.bad if input.bad\n";
const NAMES: &[u8] = b"{\"bad\": \"it is bad\"}";

/// Stores the policy and its data as conftest does. Returns the digest.
fn stored(registry: &Registry) -> String {
    registry.store(
        "acme/policies",
        "v1",
        &[(POLICY, "p.rego", DENY), (DATA, "names/names.json", NAMES)],
    )
}

/// Runs a command with the service's token, which no registry is told.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let run = sandbox.run(arguments).within(sandbox.path("")).env("PLATFORM_TOKEN", CANARY);
    run.stdin("{\"bad\": true}").output()
}

#[test]
fn every_command_takes_policies_from_a_registry() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let digest = stored(&registry);
    let tagged = registry.address("acme/policies:v1");
    let pinned = registry.address(&format!("acme/policies@{digest}"));
    let output = run(&sandbox, &["gate", "-d", &pinned, "-i", "-", "-f", "json"]).code(1);
    let report = output.json();
    assert_eq!(report["inputs"][0]["verdicts"][0]["violations"][0]["message"], "it is bad");
    let argument = &report["inventory"]["policies"][0];
    assert_eq!(
        (&argument["argument"], &argument["digest"]),
        (&pinned.as_str().into(), &digest.as_str().into())
    );
    let mut sources: Vec<(String, String)> = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| {
            let text = |name: &str| source[name].as_str().unwrap().to_owned();
            (text("path"), text("digest"))
        })
        .collect();
    sources.sort();
    assert_eq!(
        sources,
        [
            (format!("{pinned}/names/names.json"), digest_of(NAMES)),
            (format!("{pinned}/p.rego"), digest_of(DENY)),
        ]
    );
    let output = run(&sandbox, &["eval", "-d", &tagged, "-i", "-", "-f", "raw", "data.p.deny"]);
    assert_eq!(output.code(0).stdout.trim(), "[\"it is bad\"]");
    let prefixed = format!("a.b:{tagged}");
    let output = run(&sandbox, &["eval", "-d", &prefixed, "-f", "raw", "data.a.b.names.bad"]);
    assert_eq!(output.code(0).stdout.trim(), "it is bad");
    run(&sandbox, &["check", &tagged]).code(0);
    let test: &[u8] =
        b"package p_test\n\ntest_a if data.p.deny == {\"x\"} with input as {\"bad\": 1} \
        with data.names as {\"bad\": \"x\"}\n";
    registry.store("acme/policies", "t", &[(POLICY, "p.rego", DENY), (POLICY, "t.rego", test)]);
    let output = run(&sandbox, &["test", &registry.address("acme/policies:t")]).code(0);
    assert!(output.stdout.contains("PASS: 1/1"), "{output:#?}");
    let lines = sandbox.run(&["run", &tagged]).within(sandbox.path("")).stdin("data.names.bad\n");
    assert_eq!(lines.output().code(0).stdout.trim(), "\"it is bad\"");
    // Nobody was told the service's token, and nothing was written.
    for request in registry.server.requests() {
        assert!(!request.head.contains(CANARY), "{request:?}");
    }
    assert!(!sandbox.path("policies.lock").exists());
}

#[test]
fn a_bundle_in_a_registry_is_read_as_opa_does() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let path = sandbox.path("b.tar.gz");
    let file =
        |name: &str, text: &[u8]| (name.to_owned(), String::from_utf8(text.to_vec()).unwrap());
    let files = [file("/p.rego", DENY), file("/names/data.json", NAMES)];
    crate::compare::bundles::archive(&path, &files).unwrap();
    let archive = std::fs::read(path).unwrap();
    let digest = registry.store("acme/bundle", "v1", &[(BUNDLE, "", &archive)]);
    let pinned = registry.address(&format!("acme/bundle@{digest}"));
    for option in ["-d", "-b"] {
        let output = run(&sandbox, &["gate", option, &pinned, "-i", "-", "-f", "json"]).code(1);
        let report = output.json();
        let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
        assert_eq!(violation["message"], "it is bad");
        assert_eq!(violation["position"]["file"], format!("{pinned}:/p.rego"), "{report}");
        assert_eq!(report["sources"][0]["digest"], digest_of(&archive));
    }
    let signed = include_bytes!("gate/signed/bundle.tar.gz");
    let signed = registry.store("acme/signed", "v1", &[(BUNDLE, "", signed)]);
    let signed = registry.address(&format!("acme/signed@{signed}"));
    let key = sandbox.write("key.pub", include_str!("gate/signed/bundle.pub"));
    run(&sandbox, &["gate", "-d", &signed, "-i", "-"]).fails("no key is given that verifies it");
    run(&sandbox, &["gate", "-d", &signed, "-i", "-", "--bundle-key", &key]).code(1);
    run(&sandbox, &["gate", "-d", &pinned, "-i", "-", "--bundle-key", &key]).fails("isn't signed");
    let both =
        registry.store("acme/both", "v1", &[(BUNDLE, "", &archive), (POLICY, "p.rego", DENY)]);
    let both = registry.address(&format!("acme/both@{both}"));
    run(&sandbox, &["gate", "-d", &both, "-i", "-"]).fails("has a bundle and further layers");
}

/// A document from elsewhere names modules of its own source alone, whatever lies in the folder in
/// which the command runs.
#[test]
fn a_policy_document_from_elsewhere_has_its_modules_there() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let module: &[u8] =
        b"package main\n\nimport rego.v1\n\nviolations contains \"it is bad\" if input.bad\n";
    let document = |reference: &str| {
        format!(
            "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata: {{name: 'n'}}\nspec:\n  policies:\n    - {reference}\n"
        )
    };
    let passes = "package main\n\nimport rego.v1\n\nviolations := []\n";
    sandbox.write("m.rego", passes);
    for (reference, says) in [
        ("path: m.rego", ""),
        ("ref: m.rego", ""),
        ("path: ../m.rego", "no file"),
        ("path: other.rego", "no file"),
        ("ref: file://m.rego", "unsupported reference to a policy"),
    ] {
        let document = document(reference);
        let layers = [(POLICY, "d/m.rego", module), (DATA, "d/p.yaml", document.as_bytes())];
        let digest = registry.store("acme/documents", "v1", &layers);
        let pinned = registry.address(&format!("acme/documents@{digest}"));
        let at = format!("oci:/{}/acme/documents@{digest}/d/other.rego", registry.server.address);
        sandbox.write(&at, passes);
        let output = run(&sandbox, &["gate", "-d", &pinned, "-n", "n", "-i", "-", "-f", "json"]);
        if says.is_empty() {
            let report: Value = output.code(1).json();
            let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
            assert_eq!(violation["message"], "it is bad", "{report}");
        } else {
            output.fails(says);
        }
    }
}
