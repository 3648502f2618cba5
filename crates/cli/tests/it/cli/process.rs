//! The command as a process: pipes, deadlines, logs.

use std::process::Stdio;
use std::time::Instant;

use super::{CANARY, Output, Sandbox, service};
use crate::emulator::CLEAN_IMAGE;
use crate::support::HANG;

#[test]
fn a_closed_pipe_is_not_an_error() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["completions", "zsh"][..],
        &["--help"],
        &["call", "discover", CLEAN_IMAGE, "--local", "testdata/platform"],
        &["eval", "numbers.range(1, 100000)"],
    ] {
        let mut command = sandbox.run(arguments).command();
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
#[cfg(unix)]
fn output_that_is_full_is_an_error() {
    let sandbox = Sandbox::new();
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let mut command = sandbox.run(&["completions", "bash"]).command();
    let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    Output::from(output).fails("can't be written");
}

#[test]
#[cfg(unix)]
fn the_watchdog_ends_what_never_ends() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path("bundle.tar.gz");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let start = Instant::now();
    let run = sandbox.run(&["eval", "-b", pipe.to_str().unwrap(), "--timeout", "300ms", "data"]);
    run.output().fails("no result after 300ms").says("`--timeout`");
    assert!(start.elapsed() < HANG);
}

#[test]
fn a_long_evaluation_ends_at_the_deadline() {
    let sandbox = Sandbox::new();
    let start = Instant::now();
    let xs = "numbers.range(1, 19000)";
    let query = format!("count([1 | some a in {xs}; some b in {xs}; a + b == 0]) == 0");
    let output = sandbox
        .run(&["eval", &query, "--timeout", "500ms"])
        .output()
        .fails("the evaluation timed out after");
    assert!(
        output.stderr.starts_with("error")
            && output.stderr.contains("timed out after 500ms")
            && !output.stdout.contains("result"),
        "{output:#?}"
    );
    assert!(start.elapsed() < HANG);
}

#[test]
fn a_slow_service_ends_at_the_deadline() {
    let sandbox = Sandbox::new();
    let start = Instant::now();
    let arguments = ["call", "evidence", "--timeout", "300ms", "--fault", "evidence:latency=600s"];
    // On a busy machine, the end of the command's own time comes first.
    let either = ["error: platform.evidence:", "error: no result after 300ms"];
    sandbox.local(&arguments).output().fails_with_one_of(&either);
    assert!(start.elapsed() < HANG);
}

#[test]
fn the_log_has_only_this_crates_events_and_no_secret() {
    let sandbox = Sandbox::new();
    let service = service();
    let token = service.token("ci").unwrap();
    let digest = crate::emulator::BINARY;
    for option in ["-v", "-vv"] {
        let run = sandbox.run(&["call", "download_artifact", digest, option]);
        let run = run.env("PLATFORM_TOKEN", &token).env("RUST_LOG", "trace");
        let output = run.env("PLATFORM_CONTROLPLANE_URL", &service.controlplane_url()).output();
        let output = output.code(0);
        let output = output.says("attempt{url.path=/download/sha256:");
        assert!(!output.stderr.contains("ticket="), "{output:#?}");
        assert!(!output.stderr.contains(&token));
        for other in ["hyper", "reqwest", "h2::", "rustls"] {
            assert!(!output.stderr.contains(other), "{output:#?}");
        }
    }
}

#[test]
fn the_table_of_passes_isnt_drowned_by_the_log() {
    let sandbox = Sandbox::new();
    let query = format!("count(platform.discover(\"{CLEAN_IMAGE}\", \"\").references)");
    let output = sandbox.local(&["eval", &query, "-v"]).output().code(0);
    let output = output.says("pass 1\n").says("passes, 1 call, 1 needed");
    assert!(!output.stderr.contains("attempt{"), "{output:#?}");
    let output = sandbox.local(&["eval", &query, "-vv"]).output().code(0);
    output.says("pass 1\n").says("attempt{url.path=/discover/sha256:");
}

#[test]
fn usage_errors_end_with_2_and_repeat_no_token() {
    let sandbox = Sandbox::new();
    let token = format!("--token={CANARY}");
    let misspelt = format!("--tokken={CANARY}");
    for arguments in [
        &[][..],
        &["nonsense"],
        &["eval"],
        &["eval", "1", "--format", "xml", &token],
        &["eval", "1", "--timeout", "30", &token],
        &["eval", "1", "--timeout", "0s"],
        &["eval", "1", "--concurrency", "0"],
        &["auth", "status", &token, &token],
        &["auth", "status", &misspelt],
        &["completions", "tcl"],
    ] {
        let output = sandbox.run(arguments).output().fails_with_one_of(&[
            "Evaluate Rego policies that query a supply-chain compliance",
            "unrecognized subcommand 'nonsense'",
            "the following required arguments were not provided",
            "invalid value 'xml' for '--format <FORMAT>'",
            "invalid value '30' for '--timeout <TIME>': expected a number",
            "invalid value '0s' for '--timeout <TIME>': expected a time",
            "invalid value '0' for '--concurrency <N>': expected a",
            "the argument '--token <TOKEN>' cannot be used multiple times",
            "unexpected argument '--tokken' found",
            "invalid value 'tcl' for '<SHELL>'",
        ]);
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{output:#?}");
    }
}

#[test]
fn there_is_a_manual_page_for_each_subcommand() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man"]).output().code(0).silent();
    assert!(page.stdout.contains(".TH rego-platform 1") && page.stdout.contains("Exit status"));
    let folder = sandbox.path("pages/man1");
    sandbox.run(&["man", folder.to_str().unwrap()]).output().code(0).silent();
    let gate = std::fs::read_to_string(folder.join("rego-platform-gate.1")).unwrap();
    assert!(gate.contains("\\-\\-fail\\-on\\-notes"), "{gate}");
    let fmt = folder.join("rego-platform-fmt.1");
    let text = std::fs::read_to_string(&fmt).unwrap();
    assert!(!text.contains("\\-\\-token"), "{text}");
    sandbox.run(&["man", fmt.to_str().unwrap()]).output().fails("name a folder");
}

#[test]
fn completions_exist_for_each_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = sandbox.run(&["completions", shell]).output().code(0).silent();
        assert!(output.stdout.contains("controlplane-url"), "{shell}");
    }
    let run = sandbox.run(&["completions", "bash", "--fault", "x"]);
    run.output().fails("`completions` doesn't support");
}
