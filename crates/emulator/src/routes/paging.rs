//! The paging of a route's list, and its query keys.

use super::super::dataset::Paging;
use super::super::state::Shared;

/// A query key and its description.
type Key = (&'static str, &'static str);

const CURSOR_KEYS: &[Key] = &[
    ("pagination.cursor", "the cursor for this page, from the page before"),
    ("pagination.limit", "the largest number of entries; capped at the maximum"),
];

const PAGE_KEYS: &[Key] = &[
    ("pagination.page", "the zero-based offset of the first entry"),
    ("pagination.page_size", "the largest number of entries; capped at the maximum"),
];

/// The keys for cursors are accepted by lists that could have cursors and have none: a client that
/// doesn't know which it is starts with a limit.
const UNUSED_CURSOR_KEYS: &[Key] = &[
    ("pagination.cursor", "must be empty: this list has no cursors"),
    ("pagination.limit", "the same as `pagination.page_size`"),
];

/// The paging of a route's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Not a list.
    None,
    Always(Paging),
    /// As configured for evidence, in the data set or the options.
    Evidence,
    /// As configured for compliance.
    Compliance,
}

impl Pages {
    /// Returns the paging style, `None` if it isn't a list.
    pub fn style(self, shared: &Shared) -> Option<Paging> {
        match self {
            Self::None => None,
            Self::Always(paging) => Some(paging),
            Self::Evidence => Some(shared.evidence_paging),
            Self::Compliance => Some(shared.compliance_paging),
        }
    }

    /// Returns the paging keys, with their descriptions.
    pub fn keys(self, shared: &Shared) -> impl Iterator<Item = Key> {
        let both: (&[Key], &[Key]) = match (self.style(shared), self) {
            (None, _) => (&[], &[]),
            (Some(Paging::Cursor), _) => (CURSOR_KEYS, &[]),
            (Some(Paging::Page), Self::Always(_)) => (PAGE_KEYS, &[]),
            (Some(Paging::Page), _) => (PAGE_KEYS, UNUSED_CURSOR_KEYS),
        };
        both.0.iter().chain(both.1).copied()
    }
}
