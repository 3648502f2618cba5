//! Generated programs, against OPA's stored answers.

use crate::generate::grammar::{Dialect, program};
use crate::generate::stored;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/generated.jsonl.gz");

#[test]
fn generated_programs_have_the_answers_that_opa_gave() {
    let check =
        std::thread::Builder::new().stack_size(64 << 20).spawn(|| stored::check(STORED).unwrap());
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
fn a_seed_gives_the_same_program_every_time() {
    for dialect in [Dialect::V0, Dialect::V1, Dialect::V2] {
        assert_eq!(program(7, dialect), program(7, dialect));
    }
}
