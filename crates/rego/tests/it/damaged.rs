//! The smoke run of the fuzz targets over built-in functions: what they read from elsewhere, damaged, has
//! an answer, an error or none, and nothing panics.

use std::path::Path;

#[path = "../../../../fuzz/builtins.rs"]
mod builtins;
#[path = "../../../../fuzz/smoke.rs"]
mod smoke;

#[test]
fn damaged_texts_end_in_an_answer_or_an_error() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, _) in builtins::FAMILIES {
        let family = builtins::Family::new(name);
        smoke::run(&corpus, name, 1000, |bytes| family.run(bytes));
    }
}
