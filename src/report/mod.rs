//! Reports in forms that other tools read.
//!
//! Owns the forms, and nothing of what is reported: findings of `check` today, any verdict with
//! rules and places in files as well.

mod hint;
pub(crate) mod sarif;

pub(crate) use hint::{hint, worded};
