//! Events that a server reports to its host.

use rego_platform::Error;
use rego_platform::evaluate::Print;

/// Hears what happens while a server runs, from any of its threads. Texts come from policies and from the
/// service, and aren't escaped.
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// A policy printed something.
    fn printed(&self, print: &Print);
    /// A failure that no response reports: policies that can't be reloaded, decisions that can't be
    /// logged or uploaded, or were dropped.
    fn failed(&self, error: &Error);
}
