//! The elements of collections, grouped by the values that searches compare; see
//! [`super::matches`].

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::value::Value;

/// A search: the addresses of the collection and of the names in the policy, and the number of
/// filters.
pub(super) type SearchId = (usize, usize, usize);

#[derive(Debug)]
pub(super) enum Search {
    /// It was made once; the collection may be gone.
    Once,
    /// The keys of the elements by their values. The collection is kept, so that no other gets its
    /// address.
    Grouped { _collection: Value, groups: BTreeMap<Vec<Value>, Rc<[Value]>> },
}

/// The searches so far.
#[derive(Default)]
pub(super) struct Groupings(pub(super) HashMap<SearchId, Search>);
