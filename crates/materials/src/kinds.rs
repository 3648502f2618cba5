//! A file for each kind or family of kinds.

pub(crate) mod evidence;
