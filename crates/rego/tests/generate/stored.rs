//! Programs with OPA's answers in a file, compressed or not: the comparison where Go isn't
//! available.

use std::io::Write as _;

use flate2::write::GzEncoder;

use super::case::{Case, CaseOutcome};
use super::case_file::{self, line};
use super::compare::{Compared, compare};
use super::grammar::{self, Dialect};
use super::oracle::{self, Oracle};
use super::report::Report;
use super::{small, subject};

/// Returns `count` random programs from a seed on, and every `small`th small one.
pub fn programs(from: u64, count: u64, small: u64) -> impl Iterator<Item = Case> {
    let random = (from..from + count).map(|seed| {
        grammar::program(
            seed,
            [Dialect::V1, Dialect::V0, Dialect::V1, Dialect::V2][(seed % 4) as usize],
            false,
        )
    });
    random.chain(small::cases(small))
}

/// Asks OPA about cases and stores them with its answers.
pub fn store(
    path: &str,
    oracle: &mut Oracle,
    cases: impl Iterator<Item = Case>,
) -> std::io::Result<usize> {
    let mut out = GzEncoder::new(std::fs::File::create(path)?, flate2::Compression::best());
    let mut stored = 0;
    for case in cases {
        let answer = oracle.raw(&case)?;
        if matches!(oracle::outcome(&answer), CaseOutcome::Broken(_)) {
            continue;
        }
        writeln!(out, "{}", line(&case, &answer))?;
        stored += 1;
    }
    out.finish()?;
    Ok(stored)
}

/// Asks OPA again about the contents of a file, and about other cases, and writes all with the
/// answers.
pub fn remember(path: &str, oracle: &mut Oracle, cases: &[Case]) -> std::io::Result<usize> {
    let mut known = Vec::new();
    if std::fs::exists(path)? {
        for stored in case_file::cases(path, 1)? {
            known.push(stored?.0);
        }
    }
    known.extend(cases.iter().filter(|case| !known.contains(case)).cloned().collect::<Vec<_>>());
    let mut out = String::new();
    for case in &known {
        out.push_str(&format!("{}\n", line(case, &oracle.raw(case)?)));
    }
    std::fs::write(path, out)?;
    Ok(known.len())
}

/// Compares stored answers with this crate's: returns the report, and the cases in which this crate
/// is wrong.
pub fn check(path: &str) -> std::io::Result<(Report, Vec<(Case, Compared)>)> {
    let mut report = Report::default();
    let mut wrong = Vec::new();
    for stored in case_file::cases(path, 1)? {
        let (case, answer) = stored?;
        let opa = oracle::outcome(&answer);
        let ours = subject::ask(&case);
        let compared = compare(&case, &opa, &ours);
        report.add(&case, &opa, &compared, &ours);
        let first = compared.into_iter().find(|one| one.verdict.is_wrong());
        wrong.extend(first.map(|one| (case, one)));
    }
    Ok((report, wrong))
}
