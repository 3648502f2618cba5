//! Generated policies, answered by this crate and by OPA.
//!
//! A stored set of cases carries OPA's answers, so that every run compares. Where OPA's binary is
//! (named by `OPA`, or on the path), freshly generated cases are compared with its own answers:
//! `DIFFERENTIAL_CASES` says how many, `DIFFERENTIAL_SEED` from which seed on.
//!
//! The types of a policy are OPA's compiler's alone to check: what it refuses for its types is
//! left out, and counted.

mod answer;
mod documents;
mod expressions;
mod generate;
mod opa;
mod plan;
mod random;
mod rules;
mod stored;
mod subject;

use answer::Answer;
use generate::Case;

/// So many cases share a server.
const PACK: usize = 250;

/// What came of a comparison.
#[derive(Debug, Default)]
struct Tally {
    questions: usize,
    untyped: usize,
    refused: Vec<String>,
    disagreeing: Vec<String>,
}

impl Tally {
    fn compare(&mut self, case: &Case, want: &[Answer]) {
        if want.iter().any(Answer::is_type_error) {
            self.untyped += 1;
            return;
        }
        let got = subject::answers(case);
        for ((question, want), got) in case.questions.iter().zip(want).zip(&got) {
            self.questions += 1;
            if want.agrees(got) {
                continue;
            }
            let text = format!("seed {}: {question:?}: {got:?}", case.seed);
            match got {
                Answer::Error(_) => self.refused.push(text),
                _ => self.disagreeing.push(format!("{text}, and OPA {want:?}")),
            }
        }
    }

    fn check(&self, cases: usize) {
        let Self { questions, untyped, refused, disagreeing } = self;
        println!(
            "{cases} cases, {untyped} of them untyped; {questions} questions: {} refused, {} \
             disagree",
            refused.len(),
            disagreeing.len()
        );
        refused.iter().for_each(|reason| println!("refused {reason}"));
        assert!(disagreeing.is_empty(), "{}", disagreeing.join("\n"));
        assert!(untyped * 50 < cases, "{untyped} of {cases} cases are untyped");
        assert!(refused.len() * 20 < *questions, "{} of {questions} refused", refused.len());
    }
}

#[test]
fn stored_cases_are_answered_as_opa_does() {
    let stored = stored::read();
    assert!(stored.len() >= 300, "{} cases are stored", stored.len());
    let mut tally = Tally::default();
    for stored in &stored {
        tally.compare(&stored.case, &stored.answers);
    }
    tally.check(stored.len());
}

#[test]
fn the_generator_still_makes_the_stored_cases() {
    for stored in stored::read().iter().take(50) {
        let again = serde_json::to_value(generate::case(stored.case.seed)).unwrap();
        assert_eq!(serde_json::to_value(&stored.case).unwrap(), again);
    }
}

#[test]
fn generated_cases_are_answered_as_opa_does() {
    let Some(binary) = opa::binary() else {
        println!("no opa here: only the stored cases are compared");
        return;
    };
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let first = number("DIFFERENTIAL_SEED", 10_000);
    let count = number("DIFFERENTIAL_CASES", 250);
    let cases: Vec<Case> = (first..first + count).map(generate::case).collect();
    let mut tally = Tally::default();
    for pack in cases.chunks(PACK) {
        for (case, want) in pack.iter().zip(opa::answers(&binary, pack)) {
            tally.compare(case, &want);
        }
    }
    tally.check(cases.len());
}

/// Writes the stored cases anew: `cargo test --test it store_cases -- --ignored`.
#[test]
#[ignore = "writes testdata; needs opa"]
fn store_cases() {
    let binary = opa::binary().expect("opa, named by `OPA` or on the path");
    let cases: Vec<Case> = (0..stored::COUNT).map(generate::case).collect();
    let mut all = Vec::new();
    for pack in cases.chunks(PACK) {
        for (case, answers) in pack.iter().zip(opa::answers(&binary, pack)) {
            all.push(stored::Stored { case: case.clone(), answers });
        }
    }
    stored::write(&all);
}
