//! Generated programs, and those that were once answered wrongly, against OPA's stored answers.

use crate::generate::calls;
use crate::generate::grammar::{Dialect, program};
use crate::generate::report::Report;
use crate::generate::stored;

/// Compares a stored file; there must be no differences.
fn check(file: &str) -> Report {
    let path = format!("{}/testdata/{file}", env!("CARGO_MANIFEST_DIR"));
    // Deep programs need a large stack.
    let check = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || stored::check(&path).unwrap());
    let (report, wrong) = check.unwrap().join().unwrap();
    let shown: String = wrong
        .iter()
        .take(5)
        .map(|(case, one)| {
            let (input, answer) = (case.inputs.get(one.input), &one.verdict);
            format!(
                "{}{answer:?} with {input:?}\n  OPA:  {}\n  ours: {}\n\n",
                case.show(),
                one.opa,
                one.ours
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{} cases differ\n{shown}{}", wrong.len(), report.show(false));
    report
}

#[test]
fn generated_programs_have_the_answers_that_opa_gave() {
    let report = check("generated.jsonl.gz");
    // There must be something to compare: half of the programs compile, and a quarter of the
    // answers aren't empty.
    assert!(report.answers > 5_000, "{}", report.show(false));
    assert!(
        report.compiled * 2 > report.programs && report.telling * 4 > report.answers,
        "{}",
        report.show(false)
    );
}

#[test]
fn programs_once_answered_wrongly_are_answered_as_by_opa() {
    let report = check("regressions.jsonl");
    // OPA refuses some, one for each way to be wrong; nearly all answers of the others aren't empty.
    assert!(report.compiled * 2 > report.programs, "{}", report.show(false));
    assert!(report.answers >= 90, "{}", report.show(false));
}

#[test]
fn calls_of_built_in_functions_have_the_answers_that_opa_gave() {
    let report = check("calls.jsonl.gz");
    assert!(
        report.answers > 10_000 && report.telling * 2 > report.answers,
        "{}",
        report.show(false)
    );
}

/// Texts of `yaml.unmarshal` and blocks of metadata. As data files, the same texts are read in
/// `sources`.
#[test]
fn yaml_has_the_meaning_that_opa_gave_it() {
    let report = check("yaml.jsonl.gz");
    assert!(
        report.answers > 12_000 && report.telling * 2 > report.answers,
        "{}",
        report.show(false)
    );
}

/// Every built-in function is covered, or there is a reason why it isn't.
#[test]
fn every_built_in_function_is_asked_about() {
    const NOT_ASKED: &[&str] = &[
        // Functions of the network and random ones, or those that the host answers.
        "http.send",
        "net.lookup_ip_addr",
        "opa.runtime",
        "rand.intn",
        "uuid.rfc4122",
        // Functions without arguments, which depend on where they are called.
        "rego.metadata.chain",
        "rego.metadata.rule",
        // The compiler's own, operators, and notes.
        "assign",
        "eq",
        "internal.member_2",
        "internal.member_3",
        "internal.print",
        "internal.template_string",
        "internal.test_case",
        "print",
        "trace",
    ];
    let asked: Vec<&str> = calls::functions().collect();
    let missing: Vec<String> = crate::rego::internal::builtins::all()
        .iter()
        .map(|builtin| builtin.name)
        .filter(|name| !asked.contains(name) && !NOT_ASKED.contains(name))
        .filter(|name| !name.starts_with("graphql."))
        .map(str::to_owned)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_seed_gives_the_same_program_every_time() {
    for dialect in [Dialect::V0, Dialect::V1, Dialect::V2] {
        for biased in [false, true] {
            assert_eq!(program(7, dialect, biased), program(7, dialect, biased));
        }
    }
}
