//! The load: many evaluations at once against a service with occasional faults.
//!
//! Used by the test and by the benchmark `soak`, which runs it for longer.

#[path = "faults.rs"]
mod faults;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rego_platform::Value;
use rego_platform::evaluate::Policies;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::Sources;
use rego_platform::{Platform, Token};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};

use faults::{INPUT, POLICY, misbehave};

const THREADS: usize = 8;
const IN_FLIGHT: usize = 16;

/// The results of a run.
#[derive(Debug, Default)]
pub struct Report {
    pub right: usize,
    pub errors: usize,
    /// The evaluations with a wrong answer: there must be none.
    pub wrong: Vec<String>,
    pub most_in_flight: usize,
    pub limit_in_flight: usize,
    /// Open file handles and resident kilobytes, after warming up and at the end.
    pub handles: (usize, usize),
    pub resident: (u64, u64),
    pub elapsed: Duration,
}

/// Evaluates on eight threads for `time`, at least `least` times.
pub fn run(time: Duration, least: usize) -> Report {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/platform");
    let dataset = Dataset::load(&folder).unwrap();
    let service = Emulator::start(dataset, EmulatorOptions::default()).unwrap();
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token()).unwrap())
        .first_pause(Duration::from_millis(1))
        .retries(2)
        .concurrency(IN_FLIGHT)
        .build()
        .unwrap();
    let sources = Sources::text("soak.rego", POLICY);
    let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
    let expected = evaluate(&policies, &platform).unwrap();
    let report = Mutex::new(Report { limit_in_flight: IN_FLIGHT, ..Report::default() });
    let started = Instant::now();
    let (done, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| misbehave(&service, &done));
        let workers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    while started.elapsed() < time || count.load(Ordering::Relaxed) < least {
                        let result = evaluate(&policies, &platform);
                        note(&report, result, &expected);
                        if count.fetch_add(1, Ordering::Relaxed) == least / 2 {
                            let mut report = report.lock().unwrap();
                            report.handles.0 = handles();
                            report.resident.0 = resident();
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    service.set_faults(Vec::new());
    assert_eq!(evaluate(&policies, &platform).unwrap(), expected, "work continues afterwards");
    let mut report = report.into_inner().unwrap();
    report.elapsed = started.elapsed();
    report.most_in_flight = service.max_in_flight();
    report.handles.1 = handles();
    report.resident.1 = resident();
    report
}

fn evaluate(policies: &Policies, platform: &Platform) -> Result<Value, rego_platform::Error> {
    let query = policies.query("data.soak.verdict").unwrap();
    let input = Value::from_json(INPUT).unwrap();
    let mut options = platform.options();
    options.budget.timeout = Duration::from_secs(10);
    let evaluated = policies.evaluate(&query, Some(&input), &options);
    evaluated.result.map(|output| output.value().cloned().expect("the verdict is defined"))
}

fn note(report: &Mutex<Report>, result: Result<Value, rego_platform::Error>, expected: &Value) {
    let mut report = report.lock().unwrap();
    match result {
        Ok(value) if value == *expected => report.right += 1,
        Ok(value) => report.wrong.push(value.to_string()),
        Err(_) => report.errors += 1,
    }
}

fn handles() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}
