//! The limits of every format.

/// The size of the largest text, in bytes: these are files that people write.
pub const MAX_BYTES: usize = 16 << 20;

/// The deepest nesting of a value.
pub(crate) const MAX_DEPTH: usize = 1_000;
