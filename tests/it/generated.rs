//! Generated programs, and those that were answered wrongly once, against OPA's stored answers.

use crate::generate::grammar::{Dialect, program};
use crate::generate::report::Report;
use crate::generate::stored;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/generated.jsonl.gz");
const MENDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/mended.jsonl");

/// The report, with the programs that differ.
fn check(path: &'static str) -> Report {
    let check =
        std::thread::Builder::new().stack_size(64 << 20).spawn(|| stored::check(path).unwrap());
    let (report, wrong) = check.unwrap().join().unwrap();
    let shown: String = wrong
        .iter()
        .take(5)
        .map(|(case, one)| {
            format!(
                "{}{:?}\n  OPA:  {}\n  ours: {}\n\n",
                case.show(),
                one.verdict,
                one.opa,
                one.ours
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} programs differ\n{shown}{}", wrong.len(), report.show(false));
    report
}

#[test]
fn generated_programs_have_the_answers_that_opa_gave() {
    let report = check(STORED);
    // That there is something to compare: half of the programs compile, a quarter of the answers say
    // something.
    assert!(report.answers > 5_000, "{}", report.show(false));
    assert!(
        report.compiled * 2 > report.programs && report.telling * 4 > report.answers,
        "{}",
        report.show(false)
    );
}

#[test]
fn what_was_answered_wrongly_once_is_answered_as_opa_does() {
    let report = check(MENDED);
    // All of it compiles, and nearly all of it says something.
    assert_eq!(report.compiled, report.programs, "{}", report.show(false));
    assert!(report.answers >= 70, "{}", report.show(false));
}

#[test]
fn a_seed_gives_the_same_program_every_time() {
    for dialect in [Dialect::V0, Dialect::V1, Dialect::V2] {
        assert_eq!(program(7, dialect), program(7, dialect));
    }
}
