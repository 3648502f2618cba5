//! Policies that would keep a check busy if it had no limits.

use std::fmt::Write as _;
use std::time::Instant;

use super::findings;
use crate::support::HANG;

/// Returns a rule with these statements.
fn policy(statements: &str) -> String {
    format!("package p\ndeny contains \"1\" if input.x\na if {{\n{statements}}}\n")
}

/// Returns statements that double a value repeatedly, starting with `first`, and `last` with the
/// last of them.
fn doubled(first: &str, last: &str) -> String {
    let mut text = format!("\tv0 := {first}\n");
    for n in 1..60 {
        let _ = writeln!(text, "\tv{n} := [v{m}, v{m}]", m = n - 1);
    }
    policy(&(text + &last.replace('V', "v59")))
}

#[test]
fn checks_end() {
    let many_keys: String = (0..5000).fold(String::new(), |mut text, n| {
        let _ = write!(text, "\"k{n}\": 1, ");
        text
    });
    let many_calls = "\tplatform.evidence(f)\n".repeat(5000);
    let cases = [
        doubled("\"x\"", "\tplatform.evidence({\"kind\": V})\n"),
        doubled("\"x\"", "\tplatform.evidence({V: V})\n"),
        doubled("platform.evidence({\"limit\": 3}).results", "\tcount(V) == 7\n"),
        doubled("platform.evidence({\"limit\": 3}).results", "\tnot V\n\tV[0][0][0].knid\n"),
        policy("\tx = y\n\ty = x\n\tplatform.evidence(x)\n\tcount(y) == 1\n\tx.results\n"),
        policy(&format!("\tf := {{{many_keys}}}\n{many_calls}")),
        policy(&format!("\tf := {{\"kind\": [{}]}}\n{many_calls}", "\"x\", ".repeat(20_000))),
        policy(&format!("\tx := 1{}\n", " + 1".repeat(1_900))),
        policy(&format!("\tx := {}1{}\n", "f(".repeat(90), ")".repeat(90))),
        policy(&"\tnot platform.evidence({}).x\n".repeat(3000)),
    ];
    for text in cases {
        let start = Instant::now();
        let _ = findings(&[("p.rego", &text)]);
        let head: String = text.chars().take(200).collect();
        assert!(start.elapsed() < HANG, "{:?}: {head}", start.elapsed());
        println!(
            "{:?} {}",
            start.elapsed(),
            head.lines().nth(3).unwrap_or_default().chars().take(50).collect::<String>()
        );
    }
}
