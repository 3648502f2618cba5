//! Matching a string against many prefixes or suffixes at once.

use std::collections::HashMap;

/// Nodes of the tree by a prefix, or by a suffix, of a string.
#[derive(Debug, Clone)]
pub(super) struct Affixes<N> {
    nodes: HashMap<Box<[u8]>, N>,
    /// The lengths of the affixes, ascending.
    lengths: Vec<usize>,
}

/// The end of a string at which affixes are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Start,
    End,
}

impl<N> Default for Affixes<N> {
    fn default() -> Self {
        Self { nodes: HashMap::new(), lengths: Vec::new() }
    }
}

impl<N: Copy> Affixes<N> {
    pub(super) fn get_or_insert(&mut self, affix: &str, make: impl FnOnce() -> N) -> N {
        if let Err(at) = self.lengths.binary_search(&affix.len()) {
            self.lengths.insert(at, affix.len());
        }
        *self.nodes.entry(affix.as_bytes().into()).or_insert_with(make)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Calls `found` with the node of each affix that the text has.
    pub(super) fn of(&self, text: &str, end: End, mut found: impl FnMut(N)) {
        let bytes = text.as_bytes();
        for length in self.lengths.iter().take_while(|length| **length <= bytes.len()) {
            let part = match end {
                End::Start => bytes.get(..*length),
                End::End => bytes.get(bytes.len() - length..),
            };
            if let Some(node) = part.and_then(|part| self.nodes.get(part)) {
                found(*node);
            }
        }
    }
}
