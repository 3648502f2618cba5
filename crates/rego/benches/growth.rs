//! How the work grows with its input, at 1, 10 and 100 times the size: partial rules that are looked up
//! under every key, lists that are searched for every value, and JSON read into values. Beside regorus and OPA,
//! and for JSON `serde_json::Value`; a peer that took over five seconds isn't asked for the next size.
//!
//! `cargo bench --bench growth`; `ROUNDS=n` for more or fewer rounds. With `OPA=/path/to/opa`,
//! a second multiple is that of OPA's evaluation alone, as `opa eval --metrics` has it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::format_collect,
    clippy::cast_precision_loss
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use rego_platform_rego::{Options, Program, Run, SourceText, Value};
use regorus::Engine;

const SIZES: [usize; 3] = [400, 4_000, 40_000];

/// A peer that takes longer, in seconds, isn't asked for the next size.
const LONG: f64 = 5.0;

const POLICIES: [(&str, &str); 5] = [
    (
        "m[i.id] for each",
        "m[i.id] := i.v if some i in input.items\nn := count([x | some i in input.items; x := m[i.id]])",
    ),
    (
        "s[i.id] for each",
        "s contains i.id if some i in input.items\nn := count([x | some i in input.items; x := s[i.id]])",
    ),
    (
        "x.id == b for each",
        "n := count([x | some b in input.wanted; some x in input.items; x.id == b])",
    ),
    (
        "has(b) for each",
        "has(b) if { some x in input.items; x.id == b }\nn := count([b | some b in input.wanted; has(b)])",
    ),
    ("one pass", "n := count([x | some x in input.items; x.v >= 0])"),
];

/// Returns an input of some items, all of which are wanted.
fn input(size: usize) -> String {
    let items: Vec<String> =
        (0..size).map(|n| format!(r#"{{"v": {n}, "id": "i{n}", "kind": "item"}}"#)).collect();
    let wanted: Vec<String> = (0..size).map(|n| format!(r#""i{n}""#)).collect();
    format!(r#"{{"items": [{}], "wanted": [{}]}}"#, items.join(", "), wanted.join(", "))
}

/// The least time of some rounds, in seconds.
fn least(rounds: usize, work: &mut dyn FnMut()) -> f64 {
    let once = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    let first = once(work);
    let more = if first > 1.0 { 0 } else { rounds };
    (0..more).map(|_| once(work)).fold(first, f64::min)
}

type Timed<'a> = &'a mut dyn FnMut(usize) -> f64;

/// Prints a row: the own time at each size, and as a multiple of each peer's.
fn row(name: &str, ours: Timed<'_>, peers: &mut [Timed<'_>]) {
    print!("{name:20}");
    let mut slow = vec![false; peers.len()];
    for size in SIZES {
        let own = ours(size);
        print!("  {size:6}: {:9.3} ms", own * 1e3);
        for (peer, slow) in peers.iter_mut().zip(&mut slow) {
            if *slow {
                print!(" {:>9}", "");
            } else {
                let time = peer(size);
                *slow = time > LONG;
                print!(" {:7.2} ×", own / time);
            }
        }
    }
    println!();
}

/// OPA's command, and a folder for its files.
struct Opa {
    command: PathBuf,
    folder: tempfile::TempDir,
}

impl Opa {
    /// Returns the command that the environment names, if it does.
    fn of_environment() -> Option<Self> {
        let command = std::env::var_os("OPA")?.into();
        Some(Self { command, folder: tempfile::tempdir().unwrap() })
    }

    /// The least time of some evaluations, in seconds, without the start of the process and the loading.
    fn evaluate(&self, rounds: usize, policy: &str, size: usize) -> f64 {
        let (rego, json) = (self.folder.path().join("p.rego"), self.folder.path().join("i.json"));
        std::fs::write(&rego, policy).unwrap();
        std::fs::write(&json, input(size)).unwrap();
        let once = || {
            let mut command = Command::new(&self.command);
            command.args(["eval", "--metrics", "--format", "json", "data.p.n", "-d"]).arg(&rego);
            let output = command.arg("-i").arg(&json).output().unwrap();
            let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(found["result"][0]["expressions"][0]["value"], size);
            found["metrics"]["timer_rego_query_eval_ns"].as_f64().unwrap() / 1e9
        };
        let first = once();
        let more = if first > 1.0 { 0 } else { rounds };
        (0..more).map(|_| once()).fold(first, f64::min)
    }
}

fn main() {
    // `cargo test --benches` only compiles this.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
    let opa = Opa::of_environment();
    for (name, policy) in POLICIES {
        let policy = format!("package p\nimport rego.v1\n{policy}");
        let texts = vec![SourceText::new("p.rego", &policy)];
        let program = Program::compile(texts, &Options::default()).unwrap();
        let query = program.query("data.p.n").unwrap();
        let mut ours = |size: usize| {
            let value = Value::from_json(&input(size)).unwrap();
            least(rounds, &mut || {
                let outcome = program.evaluate(&query, &Run::default().input(&value));
                let found = outcome.result.unwrap()[0].expressions[0].value.as_u64();
                assert_eq!(found, Some(size as u64));
            })
        };
        let mut engine = Engine::new();
        engine.add_policy("p.rego".to_owned(), policy.clone()).unwrap();
        let mut theirs = |size: usize| {
            engine.set_input(regorus::Value::from_json_str(&input(size)).unwrap());
            least(rounds, &mut || {
                let found = engine.eval_rule("data.p.n".to_owned()).unwrap();
                assert_eq!(found.as_u64().unwrap(), size as u64);
            })
        };
        let mut beside = opa.as_ref().map(|opa| |size| opa.evaluate(rounds, &policy, size));
        let mut peers: Vec<Timed<'_>> = vec![&mut theirs];
        if let Some(beside) = &mut beside {
            peers.push(beside);
        }
        row(name, &mut ours, &mut peers);
    }
    let mut ours = |size: usize| {
        let text = input(size);
        least(rounds, &mut || drop(black_box(Value::from_json(&text).unwrap())))
    };
    let mut serde = |size: usize| {
        let text = input(size);
        least(rounds, &mut || {
            drop(black_box(serde_json::from_str::<serde_json::Value>(&text).unwrap()));
        })
    };
    row("JSON, read and dropped", &mut ours, &mut [&mut serde]);
}
