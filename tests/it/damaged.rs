//! The smoke run of the fuzz targets over policies, documents and the service's answers: damaged ones have a
//! result, or an error with a reason.

use std::path::Path;

#[path = "../../fuzz/answers.rs"]
mod answers;
#[path = "../../fuzz/policies.rs"]
mod policies;
#[path = "../../fuzz/smoke.rs"]
mod smoke;

#[test]
fn damaged_policies_and_documents_have_a_result_or_a_reason() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in policies::TARGETS {
        smoke::run(&corpus, name, 300, target);
    }
}

#[test]
fn damaged_answers_are_answers_or_errors() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let service = answers::Service::new();
    for (kind, can_be_answer) in answers::Service::kinds() {
        let mut answers = 0;
        smoke::run(&corpus, "answers", 60, |body| answers += usize::from(service.run(kind, body)));
        assert_eq!(answers > 0, can_be_answer, "kind {kind}");
    }
}
