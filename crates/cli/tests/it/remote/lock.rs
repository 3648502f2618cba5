//! The lock: what a gate refuses without it, and what changes it.

use super::registry::{POLICY, Registry};
use super::{run, stored};
use crate::cli::Sandbox;

#[test]
fn a_gate_takes_nothing_from_elsewhere_that_is_not_pinned() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let digest = stored(&registry);
    let address = registry.address("acme/policies:v1");
    let gate = ["gate", "-d", &address, "-i", "-"];
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).ok();
    run(&sandbox, &gate).fails("source not pinned").says("`gate --update-lock`");
    assert_eq!((read("policies.lock"), registry.server.requests().len()), (None, 0));
    // By any other option than `--update-lock` it isn't written.
    run(&sandbox, &[&gate[..], &["--lock", "none.lock"]].concat()).fails("none.lock");
    let update = [&gate[..], &["--update-lock", "-f", "json"]].concat();
    let output = run(&sandbox, &update).code(1);
    assert_eq!(output.json()["inventory"]["options"][0]["name"], "unpinned");
    assert!(output.stderr.contains(&format!("`{address}` is `{digest}`")), "{output:#?}");
    let text = format!(
        "# The digests of policies from elsewhere. A change of one is a change of the policies.\n\
         version = 1\n\n[[source]]\naddress = \"{address}\"\ndigest = \"{digest}\"\n"
    );
    assert_eq!(read("policies.lock"), Some(text.clone()));
    run(&sandbox, &gate).code(1);
    assert_eq!(run(&sandbox, &update).code(1).stderr, "");
    // Every command holds a source to it.
    let moved = registry.store(
        "acme/policies",
        "v1",
        &[(POLICY, "p.rego", b"package p\n\ndeny := set()\n")],
    );
    for command in
        [&gate[..], &["eval", "-d", &address, "data"], &["check", &address], &["test", &address]]
    {
        let output = run(&sandbox, command).fails(&format!("found `{moved}`, pinned `{digest}`"));
        assert!(!output.stdout.contains("deny"), "{output:#?}");
    }
    assert_eq!(read("policies.lock"), Some(text.clone()));
    let output = run(&sandbox, &update).code(0);
    assert!(output.stderr.contains(&format!("is `{moved}`, was `{digest}`")), "{output:#?}");
    assert_eq!(read("policies.lock"), Some(text.replace(&digest, &moved)));
    // Sources of other runs stay.
    stored(&registry);
    let other = registry.address("acme/policies@").clone() + &digest;
    run(&sandbox, &["gate", "-d", &other, "-i", "-", "--update-lock"]).code(1);
    assert_eq!(read("policies.lock").unwrap().matches("[[source]]").count(), 2);
}

#[test]
fn a_lock_that_says_something_else_is_no_lock() {
    let (sandbox, registry) = (Sandbox::new(), Registry::new());
    let digest = stored(&registry);
    let address = registry.address("acme/policies:v1");
    let entry = format!("[[source]]\naddress = \"{address}\"\ndigest = \"{digest}\"\n");
    let good = format!("version = 1\n{entry}");
    let gate = ["gate", "-d", &address, "-i", "-", "--lock", "l"];
    sandbox.write("l", &good);
    run(&sandbox, &gate).code(1);
    for (text, says) in [
        (entry.clone(), "invalid lock file"),
        (good.replace("= 1", "= 2"), "expected 1, found 2"),
        (format!("{good}{entry}"), "duplicate source"),
        (format!("{good}{}", entry.replace("oci://", "oci+http://")), "duplicate source"),
        (format!("{good}signer = \"x\"\n"), "invalid lock file"),
        (good.replace("sha256:", "sha256:A"), "invalid digest of"),
        (good.replace(&address, "policies"), "invalid address in the lock file"),
        ("<<<<<<< ours\n".to_owned() + &good, "invalid lock file"),
        (String::new(), "invalid lock file"),
    ] {
        sandbox.write("l", text);
        run(&sandbox, &gate).fails(says);
    }
    // A report doesn't take its place.
    sandbox.write("l", &good);
    run(&sandbox, &[&gate[..], &["-o", "json=l"]].concat()).fails("would be read and written");
    assert_eq!(std::fs::read_to_string(sandbox.path("l")).unwrap(), good);
}
