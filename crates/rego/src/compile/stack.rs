//! Room on the stack for walking deep trees.

/// Runs a closure with enough stack for the next level of a deep tree.
pub fn deep<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(96 * 1024, 2 * 1024 * 1024, f)
}
