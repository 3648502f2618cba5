//! Reports in formats for other tools.
//!
//! Owns the formats, independent of the content: findings of `check`, or any result with rules and
//! positions in files.

mod hint;
pub(crate) mod sarif;

pub(crate) use hint::{hint, option, with_option};
