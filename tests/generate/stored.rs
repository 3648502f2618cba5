//! Stored answers.
use super::oracle::Oracle;
pub fn store(_path: &str, _oracle: &mut Oracle, _from: u64, _count: u64) -> std::io::Result<()> { Ok(()) }
