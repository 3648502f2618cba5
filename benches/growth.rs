//! How the work grows with its input, at 1, 10 and 100 times the size: partial rules that are looked up
//! under every key, lists that are searched for every value, and JSON read into values. Beside regorus,
//! and for JSON `serde_json::Value`; a peer that took over five seconds isn't asked for the next size.
//!
//! `cargo bench --bench growth`; `ROUNDS=n` for more or fewer rounds.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::format_collect,
    clippy::cast_precision_loss
)]

use std::hint::black_box;
use std::time::Instant;

use rego_platform::rego::{Options, Program, Run, SourceText, Value};
use rego_platform::regorus::{self, Engine};

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

/// Prints a row: the own time at each size, and the peer's as a multiple of it.
fn row(name: &str, ours: &mut dyn FnMut(usize) -> f64, theirs: &mut dyn FnMut(usize) -> f64) {
    print!("{name:20}");
    let mut slow = false;
    for size in SIZES {
        let own = ours(size);
        print!("  {size:6}: {:9.3} ms", own * 1e3);
        if slow {
            print!(" {:>9}", "");
        } else {
            let peer = theirs(size);
            slow = peer > LONG;
            print!(" {:7.2} ×", own / peer);
        }
    }
    println!();
}

fn main() {
    // `cargo test --benches` only compiles this.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
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
        engine.add_policy("p.rego".to_owned(), policy).unwrap();
        let mut theirs = |size: usize| {
            engine.set_input(regorus::Value::from_json_str(&input(size)).unwrap());
            least(rounds, &mut || {
                let found = engine.eval_rule("data.p.n".to_owned()).unwrap();
                assert_eq!(found.as_u64().unwrap(), size as u64);
            })
        };
        row(name, &mut ours, &mut theirs);
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
    row("JSON, read and dropped", &mut ours, &mut serde);
}
