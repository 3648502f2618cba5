//! Programs with OPA's answers in a file, compressed or not: the comparison where Go isn't
//! available.

use std::io::{BufRead, BufReader, Write as _};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use super::case::{Case, CaseOutcome};
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

fn line(case: &Case, answer: &Json) -> Json {
    json!({
        "files": case.files, "version": case.version, "queries": case.queries, "inputs": case.inputs,
        "data": case.data, "strict_errors": case.strict_errors, "strict": case.strict,
        "term_inputs": case.term_inputs, "origin": case.origin, "opa": answer,
    })
}

fn read(json: &Json) -> Option<Case> {
    let strings =
        |json: &Json| -> Option<Vec<String>> { serde_json::from_value(json.clone()).ok() };
    Some(Case {
        files: serde_json::from_value(json["files"].clone()).ok()?,
        version: ["v0", "v1", "v2"].into_iter().find(|name| json["version"] == *name)?,
        queries: strings(&json["queries"])?,
        inputs: strings(&json["inputs"])?,
        term_inputs: json["term_inputs"].as_bool().unwrap_or(false),
        data: json["data"].as_str()?.to_owned(),
        strict_errors: json["strict_errors"].as_bool()?,
        strict: json["strict"].as_bool()?,
        without: None,
        origin: json["origin"].as_str().unwrap_or_default().to_owned(),
        productions: Vec::new(),
    })
}

fn lines(path: &str) -> std::io::Result<Box<dyn BufRead>> {
    let file = std::fs::File::open(path)?;
    Ok(if path.ends_with(".gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    })
}

fn unreadable() -> std::io::Error {
    std::io::Error::other("a stored case can't be read")
}

/// Asks OPA again about the contents of a file, and about other cases, and writes all with the
/// answers.
pub fn remember(path: &str, oracle: &mut Oracle, cases: &[Case]) -> std::io::Result<usize> {
    let mut known = Vec::new();
    if std::fs::exists(path)? {
        for line in lines(path)?.lines() {
            let json: Json = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
            known.push(read(&json).ok_or_else(unreadable)?);
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
    for line in lines(path)?.lines() {
        let json: Json = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        let case = read(&json).ok_or_else(unreadable)?;
        let opa = oracle::outcome(&json["opa"]);
        let ours = subject::ask(&case);
        let compared = compare(&case, &opa, &ours);
        report.add(&case, &opa, &compared, &ours);
        let first = compared.into_iter().find(|one| one.verdict.is_wrong());
        wrong.extend(first.map(|one| (case, one)));
    }
    Ok((report, wrong))
}
