//! The smoke run of the fuzz target `envelope`: a damaged envelope is refused, or its statement is whole.

use std::path::Path;

#[path = "../../../../fuzz/envelope.rs"]
mod envelope;
#[allow(clippy::indexing_slicing)]
#[path = "../../../../fuzz/smoke.rs"]
mod smoke;

#[test]
fn a_damaged_envelope_never_passes_with_another_statement() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let envelopes = envelope::Envelopes::new(&folder);
    let (mut passed, mut refused) = (0, 0);
    smoke::run(&folder.join("corpus"), "envelope", 1000, |bytes| {
        let count = if envelopes.run(bytes) { &mut passed } else { &mut refused };
        *count += 1;
    });
    assert!(passed >= 3 && refused > 500, "{passed} passed, {refused} refused");
}
