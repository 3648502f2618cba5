//! Limits of all formats.

/// The size of the largest text, in bytes.
pub const MAX_BYTES: usize = 16 << 20;

/// The size of the largest text of HCL and of a Dockerfile, in bytes: people write these, and a byte of them
/// takes longer.
pub(crate) const MAX_WRITTEN_BYTES: usize = 1 << 20;

/// The deepest nesting of a value.
pub(crate) const MAX_DEPTH: usize = 1_000;
