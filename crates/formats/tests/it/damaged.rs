//! The smoke run of the fuzz targets over formats: a damaged text has a value, or is refused.

use std::path::Path;

#[path = "../../../../fuzz/formats.rs"]
mod formats;
#[allow(clippy::indexing_slicing)]
#[path = "../../../../fuzz/smoke.rs"]
mod smoke;

#[test]
fn damaged_texts_are_values_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for format in formats::FORMATS {
        smoke::run(&corpus, format, 1000, |bytes| formats::run(format, bytes));
    }
}
