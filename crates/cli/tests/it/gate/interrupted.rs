//! A run that is interrupted: what is done is reported, the rest has no verdict.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::DENY_BAD;
use crate::cli::{Output, Sandbox};

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

#[test]
fn finished_inputs_are_reported_and_the_rest_has_no_verdict() {
    for name in ["-INT", "-TERM"] {
        let sandbox = Sandbox::new();
        let prints =
            format!("{DENY_BAD}\ndeny contains \"y\" if {{\n\tprint(\"seen\")\n\tfalse\n}}\n");
        let policy = sandbox.write("p.rego", &prints);
        let input = sandbox.write("a.json", "{\"bad\": true}");
        let (json, junit) = (sandbox.path("r.json"), sandbox.path("r.xml"));
        let (json, junit) =
            (format!("json={}", json.display()), format!("junit={}", junit.display()));
        let arguments = [
            "gate",
            "-d",
            &policy,
            "-i",
            &input,
            "-i",
            "-",
            "--timeout",
            "10m",
            "--output",
            &json,
            "--output",
            &junit,
            "-f",
            "sarif",
        ];
        let mut command = sandbox.run(&arguments).command();
        // Standard input stays open: the second input never ends.
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().ends_with(": seen")));
        signal(&child, name);
        // As `timeout` does, which signals the group too; by then, the process may have ended.
        let _ = Command::new("kill").args([name, &child.id().to_string()]).status();
        let stdin = child.stdin.take();
        let output = Output::from(child.wait_with_output().unwrap()).fails("interrupted");
        drop(stdin);
        let text = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["outcome"], "no_verdict");
        assert_eq!(report["failure"]["kind"], "cancelled");
        assert_eq!(report["inputs"][0]["outcome"], "failed", "{report}");
        let undone = &report["inputs"][1]["outcome"];
        assert!(undone == "no_verdict" || report["totals"]["not_evaluated"] == 1, "{report}");
        assert!(report["reasons"][0].as_str().unwrap().contains("interrupted"), "{report}");
        let junit = std::fs::read_to_string(sandbox.path("r.xml")).unwrap();
        assert!(junit.contains("interrupted"), "{junit}");
        let sarif: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
    }
}

#[test]
fn an_interrupt_before_the_evaluation_leaves_every_report_without_a_verdict() {
    let sandbox = Sandbox::new();
    // Options are read from a pipe without a writer: the command gets no further than that.
    let pipe = sandbox.path("token");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let policy = sandbox.write("p.rego", DENY_BAD);
    let json = format!("json={}", sandbox.path("r.json").display());
    let token = pipe.to_str().unwrap();
    let arguments = [
        "gate",
        "-d",
        &policy,
        "--no-input",
        "--token-file",
        token,
        "--output",
        &json,
        "-f",
        "json",
    ];
    let mut command = sandbox.run(&arguments).command();
    let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = pipes.spawn().unwrap();
    // The first report states that the run isn't over; only then can it be interrupted.
    while !sandbox.path("r.json").exists() {
        std::thread::yield_now();
    }
    signal(&child, "-TERM");
    let output = Output::from(child.wait_with_output().unwrap());
    output.fails("the run was interrupted (SIGTERM)");
    let text = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
    assert!(text.contains("the run ended before its verdict"), "{text}");
}

/// A signal while the settings are read leaves no report of an earlier run; and a file that is read stays.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupt_while_the_settings_are_read_leaves_no_earlier_report() {
    let sandbox = Sandbox::new();
    assert!(Command::new("mkfifo").arg(sandbox.path("f")).status().unwrap().success());
    sandbox.write("p.rego", DENY_BAD);
    for (name, number) in [("-TERM", 15), ("-INT", 2)] {
        for path in ["r.json", "i.json"] {
            sandbox.write(path, "{\"outcome\": \"passed\"}");
        }
        let arguments = [
            &["gate", "-d", "p.rego", "i.json", "--settings", "f"][..],
            &["-o", "json=r.json", "-o", "sarif=i.json", "-o", "junit=new.xml"],
        ];
        let run = sandbox.run(&arguments.concat()).within(sandbox.path("."));
        let mut command = run.command();
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = pipes.spawn().unwrap();
        assert!(handles(&child, number));
        signal(&child, name);
        Output::from(child.wait_with_output().unwrap()).fails("the run was interrupted (SIG");
        let text = |path: &str| std::fs::read_to_string(sandbox.path(path)).unwrap();
        for report in ["r.json", "new.xml"] {
            assert!(text(report).contains("the run ended before its verdict"), "{}", text(report));
        }
        assert!(text("i.json").contains("passed"), "{}", text("i.json"));
    }
}

/// Waits until a process handles a signal. Returns `false` if it ended before.
#[cfg(target_os = "linux")]
fn handles(child: &Child, signal: u32) -> bool {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        if mask.is_some_and(|m| u64::from_str_radix(m.trim(), 16).unwrap() >> (signal - 1) & 1 == 1)
        {
            return true;
        }
        if status.lines().any(|line| line.starts_with("State:\tZ")) {
            return false;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_at_any_time_leaves_no_older_report_and_no_half_made_one() {
    const TERM: u32 = 15;
    // The first are interrupted as early as they can be, before the command line is parsed, the
    // others at some later point.
    for delay in 0..24_u64 {
        let sandbox = Sandbox::new();
        let policy = sandbox.write("p.rego", DENY_BAD);
        let input = sandbox.write("a.json", "{}");
        let old = "{\"tool\": {\"name\": \"rego-platform\"}, \"outcome\": \"old\"}";
        let report = format!("json={}", sandbox.write("r.json", old));
        let page = format!("html={}", sandbox.path("r.html").display());
        let record = sandbox.path("rec.json").display().to_string();
        let arguments = [
            "gate", "-d", &policy, "-i", &input, "--output", &report, "--output", &page,
            "--record", &record, "-q",
        ];
        let mut command = sandbox.run(&arguments).command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(handles(&child, TERM), "it ended before it handled signals");
        std::thread::sleep(std::time::Duration::from_micros(delay * delay * 50));
        signal(&child, "-TERM");
        let code = child.wait().unwrap().code();
        let text = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        match code {
            // It was over before the signal arrived.
            Some(0) => assert_eq!(report["outcome"], "passed"),
            Some(2) => assert_eq!(report["outcome"], "no_verdict", "{delay}: {report}"),
            other => panic!("{delay}: {other:?}"),
        }
        let folder = sandbox.path("r.json").parent().unwrap().to_owned();
        let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
        let hidden: Vec<_> =
            names.filter(|name| name.to_string_lossy().starts_with(".rego-platform-")).collect();
        assert!(hidden.is_empty(), "{delay}: {hidden:?}");
    }
}

/// A command that `env` starts with SIGHUP handled as `option` says.
#[cfg(target_os = "linux")]
fn with_hangup(option: &str, command: &Command) -> Command {
    let mut env = Command::new("env");
    env.arg(option).arg(command.get_program()).args(command.get_args()).env_clear();
    env.env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in command.get_envs() {
        env.env(name, value.unwrap());
    }
    env
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_terminal_ends_a_run_unless_it_is_to_go_on() {
    for (option, told) in [("--default-signal=HUP", "SIGHUP"), ("--ignore-signal=HUP", "SIGTERM")] {
        let sandbox = Sandbox::new();
        let pipe = sandbox.path("token");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let policy = sandbox.write("p.rego", DENY_BAD);
        let json = format!("json={}", sandbox.path("r.json").display());
        let token = pipe.to_str().unwrap();
        let arguments =
            ["gate", "-d", &policy, "--no-input", "--token-file", token, "--output", &json];
        let mut command = with_hangup(option, &sandbox.run(&arguments).command());
        let pipes = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = pipes.spawn().unwrap();
        while !sandbox.path("r.json").exists() {
            std::thread::yield_now();
        }
        signal(&child, "-HUP");
        if told == "SIGTERM" {
            signal(&child, "-TERM");
        }
        let output = Output::from(child.wait_with_output().unwrap());
        output.fails(&format!("the run was interrupted ({told})"));
        let text = std::fs::read_to_string(sandbox.path("r.json")).unwrap();
        assert!(text.contains("the run ended before its verdict"), "{text}");
    }
}
