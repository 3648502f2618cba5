//! Generated cases with the answers that OPA gave, one JSON document a line.

use std::path::PathBuf;

use super::answer::Answer;
use super::generate::Case;

/// So many cases are stored, from seed 0 on.
pub(super) const COUNT: u64 = 300;

/// A case with OPA's answers to its questions.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Stored {
    pub(super) case: Case,
    pub(super) answers: Vec<Answer>,
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/conformance/generated.jsonl")
}

pub(super) fn read() -> Vec<Stored> {
    let text = std::fs::read_to_string(file()).expect("the stored cases");
    text.lines().map(|line| serde_json::from_str(line).expect("a stored case")).collect()
}

pub(super) fn write(all: &[Stored]) {
    let lines: String =
        all.iter().map(|s| serde_json::to_string(s).expect("json") + "\n").collect();
    std::fs::create_dir_all(file().parent().expect("a folder")).expect("the folder");
    std::fs::write(file(), lines).expect("written");
}
