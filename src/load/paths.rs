//! Sets of paths below `data`, which are searched along one path instead of one by one.

use std::collections::HashMap;

/// A set of paths, as a tree.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    is_member: bool,
    below: HashMap<String, Self>,
}

impl Paths {
    /// Adds a path.
    pub fn insert<S: AsRef<str>>(&mut self, path: &[S]) {
        let mut at = self;
        for key in path {
            at = at.below.entry(key.as_ref().to_owned()).or_default();
        }
        at.is_member = true;
    }

    /// Returns the number of keys of the longest member that `path` begins with.
    pub fn longest<S: AsRef<str>>(&self, path: &[S]) -> Option<usize> {
        let (mut at, mut found) = (self, self.is_member.then_some(0));
        for (index, key) in path.iter().enumerate() {
            let Some(next) = at.below.get(key.as_ref()) else { break };
            at = next;
            found = at.is_member.then_some(index + 1).or(found);
        }
        found
    }

    /// Returns `true` if a member begins with `path`.
    pub fn is_begun<S: AsRef<str>>(&self, path: &[S]) -> bool {
        let mut at = self;
        for key in path {
            let Some(next) = at.below.get(key.as_ref()) else { return false };
            at = next;
        }
        at.is_member || !at.below.is_empty()
    }

    /// Returns `true` if `path` begins with a member, or a member with `path`.
    pub fn meets<S: AsRef<str>>(&self, path: &[S]) -> bool {
        self.longest(path).is_some() || self.is_begun(path)
    }
}

impl<'p, S: AsRef<str> + 'p> FromIterator<&'p [S]> for Paths {
    fn from_iter<I: IntoIterator<Item = &'p [S]>>(all: I) -> Self {
        let mut paths = Self::default();
        for path in all {
            paths.insert(path);
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_meets_members_above_and_below_it() {
        let members = [["a", "b"].as_slice(), &["a", "b", "c", "d"], &["x"]];
        let paths: Paths = members.into_iter().collect();
        for (path, longest, begun) in [
            (["a"].as_slice(), None, true),
            (&["a", "b"], Some(2), true),
            (&["a", "b", "c"], Some(2), true),
            (&["a", "b", "z"], Some(2), false),
            (&["a", "b", "c", "d", "e"], Some(4), false),
            (&["a", "z"], None, false),
            (&["x", "y"], Some(1), false),
            (&[], None, true),
        ] {
            assert_eq!(paths.longest(path), longest, "{path:?}");
            assert_eq!(paths.is_begun(path), begun, "{path:?}");
            assert_eq!(paths.meets(path), longest.is_some() || begun, "{path:?}");
        }
        assert!(!Paths::default().meets(&["a"]));
        assert!(!Paths::default().meets::<&str>(&[]));
    }
}
