//! OPA's own cases.
pub fn run(_directory: &str, _only: &str) -> std::io::Result<usize> { Ok(0) }
