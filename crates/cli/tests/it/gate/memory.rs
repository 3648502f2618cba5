//! Inputs are streamed: a run's memory doesn't grow with them.

#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use crate::cli::Sandbox;

/// Returns the peak memory of a run over `count` documents of 20 KiB, in KiB.
fn peak(count: usize) -> u64 {
    let sandbox = Sandbox::new();
    let policy = "package p\n\ndeny contains \"bad\" if input.n == -1\n";
    let file = sandbox.write("p.rego", policy);
    let report = format!("json={}", sandbox.path("out.json").display());
    let arguments = ["gate", "-d", &file, "-i", "-", "-q", "--output", &report];
    let mut command = sandbox.run(&arguments).command();
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = pipes.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let items = "\"0123456789abcdef\",".repeat(1_050);
        for n in 0..count {
            writeln!(stdin, "{{\"n\": {n}, \"items\": [{items} 1]}}").unwrap();
        }
    });
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(seen.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    writer.join().unwrap();
    assert_eq!(code, Some(0));
    let text = std::fs::read_to_string(sandbox.path("out.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["totals"]["passed"], count);
    assert!(most > 0, "memory wasn't measured");
    most
}

#[test]
fn memory_does_not_grow_with_the_inputs() {
    let (few, many) = (peak(200), peak(2_000));
    // This is 35 MiB more of text; as values it would be over 100 MiB. Of an input, only its part
    // of the reports is kept.
    assert!(many < few + 24 * 1024, "{few} KiB with 200 inputs, {many} KiB with 2,000");
    println!("{few} KiB with 200 inputs, {many} KiB with 2,000");
}
