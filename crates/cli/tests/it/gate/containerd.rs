//! `--containerd`: what containerd passes to an image verifier, and what it reads.

use crate::cli::{Output, Sandbox};
use crate::support::CLEAN_IMAGE;

const NAME: &str = "docker.io/library/app:1";
const DESCRIPTOR: &str = "application/vnd.oci.descriptor.v1+json";

/// Denies images of other registries than Docker Hub.
const POLICY: &str = r#"package p

deny contains sprintf("not allowed: %s", [input.reference]) if not startswith(input.reference, "docker.io/")

deny contains "not the digest" if input.image != "DIGEST"
"#;

/// Runs the gate as the script in `bin_dir` does, with the arguments that containerd adds.
fn verify(sandbox: &Sandbox, policy: &str, arguments: &[&str], stdin: &str) -> Output {
    let file = sandbox.write("policy.rego", policy.replace("DIGEST", CLEAN_IMAGE));
    let gate = ["gate", "-d", &file, "--containerd"];
    sandbox.run(&[&gate, arguments].concat()).stdin(stdin).output()
}

fn descriptor(digest: &str) -> String {
    format!(
        r#"{{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "{digest}", "size": 1}}"#
    )
}

#[test]
fn an_image_is_judged_by_what_containerd_passes() {
    let sandbox = Sandbox::new();
    let passed = |arguments: &[&str], stdin: &str| {
        let output = verify(&sandbox, POLICY, arguments, stdin).code(0);
        assert_eq!(output.stdout, "passed\n");
    };
    let own = ["-name", NAME, "-digest", CLEAN_IMAGE];
    passed(&own, "");
    passed(&["-digest", CLEAN_IMAGE, "-name", NAME, "-stdin-media-type", ""], "nothing");
    passed(&[&own[..], &["-stdin-media-type", DESCRIPTOR]].concat(), &descriptor(CLEAN_IMAGE));
    passed(&[&own[..], &["-stdin-media-type", "application/x"]].concat(), "anything");
    let pinned = format!("docker.io/library/app@{CLEAN_IMAGE}");
    passed(&["-name", &pinned, "-digest", CLEAN_IMAGE], "");

    let arguments = ["-name", "evil.example/a:1", "-digest", CLEAN_IMAGE];
    let failed = verify(&sandbox, POLICY, &arguments, "").code(1);
    assert_eq!(failed.stdout, format!("failed: not allowed: evil.example/a:1@{CLEAN_IMAGE}\n"));
    // A line break in a message doesn't end the reason.
    let lines = "package p\n\ndeny contains \"a\\nb\" if input.image\n\ndeny contains \"c\" if input.image\n";
    let failed = verify(&sandbox, lines, &own, "").code(1);
    assert_eq!(failed.stdout.lines().count(), 1, "{}", failed.stdout);
    assert!(failed.stdout.ends_with("b; c\n"), "{}", failed.stdout);
}

#[test]
fn what_is_wrong_is_no_verdict_with_a_reason() {
    let sandbox = Sandbox::new();
    let other = format!("sha256:{}", "0".repeat(64));
    let pinned = format!("docker.io/library/app@{other}");
    let own = ["-name", NAME, "-digest", CLEAN_IMAGE];
    let with_payload = [&own[..], &["-stdin-media-type", DESCRIPTOR]].concat();
    for (arguments, stdin, reason) in [
        (&own[..2], "", "missing argument of containerd: `-digest`"),
        (&own[2..], "", "missing argument of containerd: `-name`"),
        (&own[..3], "", "missing argument of containerd: `-digest`"),
        (&[], "", "missing argument of containerd: `-name`"),
        (
            &[&own[..], &["--no-fail"]].concat(),
            "",
            "unexpected argument of containerd: `--no-fail`",
        ),
        (&["-name", &pinned, "-digest", CLEAN_IMAGE], "", "digest mismatch: expected"),
        (&with_payload, &descriptor(&other), "digest mismatch: expected"),
        (&with_payload, "", "payload of containerd: expected a descriptor"),
        (&with_payload, "[]", "payload of containerd: expected a descriptor"),
    ] {
        let output = verify(&sandbox, POLICY, arguments, stdin).fails(reason);
        assert!(output.stdout.starts_with(&format!("no verdict: {reason}")), "{}", output.stdout);
        assert_eq!(output.stdout.lines().count(), 1, "{}", output.stdout);
    }
    let unknown = "package p\n\ndeny contains \"x\" if platform.discover(input.imge, \"\").x\n";
    let output = verify(&sandbox, unknown, &own, "").fails("imge");
    assert!(output.stdout.starts_with("no verdict: "), "{}", output.stdout);
    let file = sandbox.path("policy.rego").to_str().unwrap().to_owned();
    for option in [["-f", "json"], ["-i", &file]] {
        let arguments = [&["gate", "-d", &file][..], &option, &["--containerd"]].concat();
        sandbox.run(&[&arguments[..], &own].concat()).output().fails("cannot be used with");
    }
}

/// Runs the script of `examples/containerd` with the paths of this machine.
#[cfg(unix)]
#[test]
fn the_example_verifies_an_image() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("p.rego", POLICY.replace("DIGEST", CLEAN_IMAGE));
    let token = sandbox.write("token", "a-token");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/containerd/rego-platform");
    let script = std::fs::read_to_string(example).unwrap();
    let script = script
        .replace("/usr/local/bin/rego-platform", env!("CARGO_BIN_EXE_rego-platform"))
        .replace("/etc/rego-platform/policies", &policy)
        .replace("/etc/rego-platform/token", &token);
    let script = sandbox.write("script", script);
    for (name, reason) in
        [(NAME, "passed\n".to_owned()), ("evil.example/a:1", "failed: ".to_owned())]
    {
        let arguments = [script.as_str(), "-name", name, "-digest", CLEAN_IMAGE];
        let mut command = std::process::Command::new("sh");
        let output = command.args(arguments).stdin(std::process::Stdio::null()).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(stdout.starts_with(&reason), "{output:?}");
        assert_eq!(output.status.success(), name == NAME, "{output:?}");
    }
}
