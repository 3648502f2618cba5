//! `--timeout` ends every command, whatever it waits for.

#![cfg(unix)]

use std::process::Command;

use crate::cli::Sandbox;

/// Runs commands at the same time, each of which is to end because of its timeout.
fn all_end(sandbox: &Sandbox, commands: &[Vec<&str>]) {
    std::thread::scope(|scope| {
        let run = |arguments: &Vec<&str>| {
            let all = [arguments.as_slice(), &["--timeout", "1s"]].concat();
            let run = sandbox.run(&all).within(sandbox.path("."));
            scope.spawn(move || {
                let ends = ["no result after 1s", "timed out after 1s"];
                // Policies and data are no pipes.
                run.output().fails_with_one_of(&[&ends[..], &["isn't a regular file"]].concat());
            })
        };
        commands.iter().map(run).collect::<Vec<_>>().into_iter().for_each(|thread| {
            thread.join().unwrap();
        });
    });
}

#[test]
fn a_pipe_without_a_writer_ends_no_command_late() {
    let sandbox = Sandbox::new();
    sandbox.write("p.rego", "package p\n\ndeny contains \"x\" if input.a == 3\n\ntest_a if true\n");
    sandbox.write("i.json", "{}");
    for name in ["f", "f.json", "f.rego", "f.pem", "f.tar.gz", "folder/f.json"] {
        std::fs::create_dir_all(sandbox.path("folder")).unwrap();
        assert!(Command::new("mkfifo").arg(sandbox.path(name)).status().unwrap().success());
    }
    let gate = ["gate", "-d", "p.rego", "-i", "i.json"];
    let service = ["--token", "x", "--controlplane-url", "http://127.0.0.1:1"];
    let mut commands: Vec<Vec<&str>> = Vec::new();
    for option in [
        "--capabilities",
        "--waivers",
        "--vex",
        "--schema",
        "--config",
        "--token-file",
        "--replay",
        "--bundle-key",
    ] {
        commands.push([&gate[..], &[option, "f.json"]].concat());
    }
    commands.push([&gate[..], &service, &["--ca-cert", "f"]].concat());
    commands.push([&gate[..], &["--attestation", "--verify-key", "f.pem"]].concat());
    for command in [
        &["gate", "--settings", "f"][..],
        &["gate", "-d", "f.rego", "-i", "i.json"],
        &["check", "f.rego"],
        &["push", "oci://127.0.0.1:1/a:v1", "f.tar.gz"],
        &["push", "oci://127.0.0.1:1/a:v1", "folder"],
        &["pull", "oci://127.0.0.1:1/a:v1", "-o", "out", "--ca-cert", "f"],
        &["pull", "oci://127.0.0.1:1/a:v1", "-o", "out", "--lock", "f"],
        &["pull", "oci://127.0.0.1:1/a:v1", "-o", "out", "--policy-key", "f.pem"],
        &["vendor", "-o", "out", "--lock", "f"],
        &["check", "p.rego", "--capabilities", "f.json"],
        &["test", "p.rego", "f.rego"],
        &["diff", "--before", "p.rego", "--after", "f.rego", "-i", "i.json"],
        &["eval", "-i", "f.json", "input"],
        &["eval", "-d", "f.json", "data"],
        &["call", "evidence_prompt", "@f", "x", "--token", "x"],
        &["serve", "-d", "p.rego", "--listen", "127.0.0.1:0", "--auth-token-file", "f"],
        &["serve", "-d", "f.rego", "--listen", "127.0.0.1:0"],
    ] {
        commands.push(command.to_vec());
    }
    all_end(&sandbox, &commands);
}

#[test]
fn repeated_deep_patterns_are_no_more_than_one() {
    let sandbox = Sandbox::new();
    let deep = "a/b/c/d/e/f/g/h/i/j";
    sandbox.write(&format!("{deep}/i.json"), "{}");
    sandbox.write(&format!("{deep}/p.rego"), "package p\n\ndeny contains \"x\" if input.a == 3\n");
    let many = "**/".repeat(30);
    let (inputs, policies) = (format!("{many}*.json"), format!("{many}*.rego"));
    let mixed = format!("{}*.json", "**/*/".repeat(4));
    for (arguments, code) in [
        (&["gate", "-d", &policies, "-i", &inputs][..], 0),
        (&["gate", "-d", &policies, "-i", &mixed], 0),
        (&["check", &policies], 0),
        (&["diff", "--before", &policies, "--after", &policies, "-i", &inputs], 0),
    ] {
        sandbox.run(arguments).within(sandbox.path(".")).output().code(code);
    }
}

/// What waits before it serves or evaluates ends at once.
#[test]
fn a_signal_ends_what_waits() {
    let sandbox = Sandbox::new();
    sandbox.write("p.rego", "package p\n\ndeny contains \"x\" if input.a == 3\n");
    sandbox.write("i.json", "{}");
    assert!(Command::new("mkfifo").arg(sandbox.path("f.json")).status().unwrap().success());
    for arguments in [
        &["gate", "-d", "p.rego", "-i", "i.json", "--waivers", "f.json"][..],
        &["gate", "--settings", "f.json"],
        &["check", "f.json"],
        &["diff", "--before", "p.rego", "--after", "p.rego", "-i", "i.json", "--replay", "f.json"],
        &["serve", "-d", "f.json", "--listen", "127.0.0.1:0"],
    ] {
        let mut command = sandbox.run(arguments).within(sandbox.path(".")).command();
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(!child.wait().unwrap().success(), "{arguments:?}");
    }
}
