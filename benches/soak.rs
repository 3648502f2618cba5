//! A minute of load on a faulty service: every answer is right or an error, memory stays flat, no
//! handle leaks, and never more requests are in flight than allowed.
//!
//! `cargo bench --bench soak`, or with the number of seconds: `cargo bench --bench soak -- 10`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

#[path = "../tests/it/soak/load.rs"]
mod load;

use std::time::Duration;

fn main() {
    let seconds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(60);
    let report = load::run(Duration::from_secs(seconds), 200);
    println!("{report:#?}");
    assert!(report.wrong.is_empty(), "an evaluation gave a wrong answer");
    assert!(report.most_in_flight <= report.limit_in_flight);
}
