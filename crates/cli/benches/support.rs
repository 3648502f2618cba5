//! Shared code of the benchmarks: side-by-side measurement, and a service to measure against.
//!
//! Owns how figures are taken and printed. Each program owns its measurements.

#![allow(dead_code, reason = "each program uses a part of it")]

pub mod server;
pub mod service;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A contender: a name, and a run that returns its duration.
pub struct Contender<'a> {
    name: String,
    run: Box<dyn FnMut() -> Duration + 'a>,
    samples: Vec<Duration>,
}

impl<'a> Contender<'a> {
    /// Measures all of `run`.
    pub fn new<T>(name: &str, mut run: impl FnMut() -> T + 'a) -> Self {
        Self::timed(name, move || {
            let started = Instant::now();
            let kept = std::hint::black_box(run());
            let took = started.elapsed();
            drop(kept);
            took
        })
    }

    /// Uses the duration that `run` returns.
    pub fn timed(name: &str, run: impl FnMut() -> Duration + 'a) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), samples: Vec::new() }
    }

    /// Returns the median of the measurements.
    pub fn median(&self) -> Duration {
        median(&self.samples)
    }
}

pub fn median<T: Ord + Copy>(samples: &[T]) -> T {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Runs all contenders in turns, so that other load on the machine affects all of them, and prints
/// each one's median beside the last one's, which is the baseline.
pub fn compare(title: &str, rounds: usize, contenders: &mut [Contender<'_>]) {
    // One unmeasured round: caches, lazy initialization, the machine's clock speed.
    for contender in contenders.iter_mut() {
        (contender.run)();
    }
    for round in 0..rounds {
        // Forward and back, so that no contender always runs after the same one: what that one freed
        // has to be gathered by the allocator.
        let count = contenders.len();
        for index in 0..count {
            let contender = &mut contenders[if round % 2 == 0 { index } else { count - 1 - index }];
            let took = (contender.run)();
            contender.samples.push(took);
        }
    }
    println!("\n{title}, {rounds} rounds in turns");
    let base: Vec<Duration> = contenders.last().map(|c| c.samples.clone()).unwrap_or_default();
    let least = |samples: &[Duration]| samples.iter().min().copied().unwrap_or_default();
    for contender in contenders.iter() {
        let ratios: Vec<u64> = contender
            .samples
            .iter()
            .zip(&base)
            .map(|(own, base)| (own.as_secs_f64() / base.as_secs_f64() * 1e6) as u64)
            .collect();
        println!(
            "  {:<44} median {:>10}   min {:>10}   ratio of medians {:>7.3}   median of ratios {:>7.3}   ratio of minima {:>7.3}",
            contender.name,
            show(contender.median()),
            show(least(&contender.samples)),
            contender.median().as_secs_f64() / median(&base).as_secs_f64(),
            median(&ratios) as f64 / 1e6,
            least(&contender.samples).as_secs_f64() / least(&base).as_secs_f64(),
        );
    }
}

pub fn show(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.3} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.2} µs", seconds * 1e6)
    }
}

/// Returns `true` under `cargo bench`, and `false` under `cargo test --benches`, which only has to
/// compile.
pub fn is_measuring() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Returns `true` if the figure called `name` is wanted: all are, unless some are named.
pub fn wanted(name: &str) -> bool {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    named.is_empty() || named.iter().any(|n| name.contains(n.as_str()))
}

/// Returns the command that asks `service`, with an empty environment.
pub fn command(service: &service::Service) -> Command {
    let mut command = bare_command();
    command.env("PLATFORM_TOKEN", service::TOKEN);
    command.env("PLATFORM_CONTROLPLANE_URL", service.url());
    command.env("PLATFORM_BASE_URL", service.url());
    command
}

/// Returns the command without a service.
pub fn bare_command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rego-platform"));
    command.env_clear();
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Returns this program again, in the role `role`.
pub fn again(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("REGO_PLATFORM_BENCH_ROLE", role);
    command
}

/// Returns the role that this program was started in.
pub fn role() -> Option<String> {
    std::env::var("REGO_PLATFORM_BENCH_ROLE").ok()
}

/// Runs a command to its end and returns its duration and output; it must succeed.
pub fn run(command: &mut Command) -> (Duration, String) {
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    let took = started.elapsed();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    (took, String::from_utf8_lossy(&output.stdout).into_owned())
}
