//! Evaluations a second of one shared program at one and at two threads, each with an input of its own,
//! beside regorus, whose engines share the parsed policies.
//!
//! `cargo bench --bench threads`; `ROUNDS=n` for more or fewer rounds, of half a second each way.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss
)]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rego_platform_rego::{Options, Program, Run, SourceText, Value};
use regorus::Engine;

const POLICY: &str = include_str!("../../cli/benches/hosts/plain.rego");
const QUERY: &str = "data.plain.deny";
const THREADS: [usize; 2] = [1, 2];

/// Returns an input of twenty containers, half of which are denied.
fn input() -> String {
    let container = |n: usize| {
        let registry = if n.is_multiple_of(2) { "docker.io/library" } else { "docker.io/other" };
        format!(r#"{{"name": "c{n}", "image": "{registry}/{n}:1", "memory": 512, "user": "app"}}"#)
    };
    let containers: Vec<String> = (0..20).map(container).collect();
    format!(r#"{{"user": "ada", "containers": [{}]}}"#, containers.join(", "))
}

/// Returns the evaluations a second of some threads, each of which makes its own evaluation first.
fn rate<E: FnMut()>(threads: usize, prepare: impl Fn() -> E + Sync) -> f64 {
    let (ready, over) = (Barrier::new(threads + 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let work = || {
            let mut evaluate = prepare();
            evaluate();
            ready.wait();
            let mut count = 0_u64;
            while !over.load(Ordering::Relaxed) {
                evaluate();
                count += 1;
            }
            count
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        ready.wait();
        let started = Instant::now();
        std::thread::sleep(Duration::from_millis(500));
        over.store(true, Ordering::Relaxed);
        let count: u64 = running.into_iter().map(|thread| thread.join().unwrap()).sum();
        count as f64 / started.elapsed().as_secs_f64()
    })
}

fn main() {
    // `cargo test --benches` only compiles this.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(9);
    let input = input();

    let program =
        Program::compile(vec![SourceText::new("p.rego", POLICY)], &Options::default()).unwrap();
    let query = program.query(QUERY).unwrap();
    let ours = || {
        let value = Value::from_json(&input).unwrap();
        let (program, query) = (&program, &query);
        move || {
            let outcome = program.evaluate(query, &Run::default().input(&value));
            let found = &outcome.result.unwrap()[0].expressions[0].value;
            assert_eq!(found.as_set().unwrap().len(), 10);
        }
    };

    let mut engine = Engine::new();
    engine.add_policy("p.rego".to_owned(), POLICY.to_owned()).unwrap();
    let theirs = || {
        let (mut engine, value) = (engine.clone(), regorus::Value::from_json_str(&input).unwrap());
        move || {
            engine.set_input(value.clone());
            let found = engine.eval_rule(QUERY.to_owned()).unwrap();
            assert_eq!(found.as_set().unwrap().len(), 10);
        }
    };

    let mut samples = vec![Vec::new(); 2 * THREADS.len()];
    for _ in 0..rounds {
        for (at, threads) in THREADS.into_iter().enumerate() {
            samples[2 * at].push(rate(threads, ours));
            samples[2 * at + 1].push(rate(threads, theirs));
        }
    }
    let median = |samples: &mut Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    };
    let medians: Vec<f64> = samples.iter_mut().map(median).collect();
    for (name, at) in [("this crate", 0), ("regorus", 1)] {
        let (one, two) = (medians[at], medians[at + 2]);
        println!("{name:10}  1 thread {one:8.0}/s  2 threads {two:8.0}/s  {:.2} ×", two / one);
    }
}
