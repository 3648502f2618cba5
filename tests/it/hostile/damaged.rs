//! The smoke run of the fuzz target `answers`: damaged answers of the service are answers or errors.

use std::path::Path;

#[path = "../../../fuzz/answers.rs"]
mod answers;
#[path = "../../../fuzz/smoke.rs"]
mod smoke;

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
