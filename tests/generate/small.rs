//! Every small program.
use super::case::Case;
pub fn cases(_every: u64) -> std::vec::IntoIter<Case> { Vec::new().into_iter() }
