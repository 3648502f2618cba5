//! A short soak; the benchmark of the same name runs for a minute.

mod load;

use std::time::Duration;

#[test]
fn every_evaluation_is_right_or_fails() {
    let report = load::run(Duration::from_secs(2), 200);
    assert!(report.wrong.is_empty(), "{report:#?}");
    assert!(report.right > 20, "{report:#?}");
    assert!(report.errors > 0, "the faults were felt: {report:#?}");
    assert!(report.most_in_flight <= report.limit_in_flight, "{report:#?}");
}
