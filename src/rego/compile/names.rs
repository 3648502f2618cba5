//! Names of variables: sets and maps of them, and the generator of new ones.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::rego::syntax::tree::Name;

/// FNV-1a. Names are short, and authors gain nothing from collisions in their own policies.
#[derive(Debug, Clone, Copy)]
pub struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

type Build = BuildHasherDefault<NameHasher>;

/// A map keyed by variables.
pub type NameMap<T> = HashMap<Name, T, Build>;

/// A set of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VarSet(HashSet<Name, Build>);

static NONE: VarSet = VarSet(HashSet::with_hasher(BuildHasherDefault::new()));

impl VarSet {
    /// The empty set.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// The set of the variables that always have a value: `data` and `input`.
    pub fn reserved() -> Self {
        Self::from_iter([Name::from("data"), Name::from("input")])
    }

    /// Adds a variable; returns `true` if the set didn't contain it.
    pub fn add(&mut self, name: &Name) -> bool {
        if self.0.contains(name) { false } else { self.0.insert(Name::clone(name)) }
    }

    /// Returns `true` if the set contains the variable.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes all variables.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The variables, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Name> {
        self.0.iter()
    }

    /// The variables, in alphabetical order.
    pub fn sorted(&self) -> Vec<Name> {
        let mut names: Vec<_> = self.0.iter().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Adds all variables of another set.
    pub fn update(&mut self, other: &Self) {
        for name in &other.0 {
            self.add(name);
        }
    }

    /// The variables that the other set doesn't contain.
    #[must_use]
    pub fn diff(&self, other: &Self) -> Self {
        self.iter().filter(|name| !other.contains(name)).cloned().collect()
    }

    /// Returns `true` if the other set contains all variables.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|name| other.contains(name))
    }

    /// The variables that both sets contain.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        self.iter().filter(|name| other.contains(name)).cloned().collect()
    }

    /// Keeps the variables for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|name| keep(name));
    }
}

impl FromIterator<Name> for VarSet {
    fn from_iter<T: IntoIterator<Item = Name>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl Extend<Name> for VarSet {
    fn extend<T: IntoIterator<Item = Name>>(&mut self, iter: T) {
        self.0.extend(iter);
    }
}

/// Returns `true` if the variable was written as `_`.
pub fn is_wildcard(name: &str) -> bool {
    name.starts_with('$')
}

/// Returns `true` if the compiler generated the variable.
pub fn is_generated(name: &str) -> bool {
    name.starts_with("__local")
}

/// A generator of names that no author uses.
#[derive(Debug, Clone)]
pub struct LocalVarGenerator {
    taken: VarSet,
    prefix: &'static str,
    next: u32,
}

impl LocalVarGenerator {
    /// Creates a generator of names with this prefix, none of which is in `used`.
    pub fn new(prefix: &'static str, mut used: VarSet) -> Self {
        used.retain(is_generated);
        Self { taken: used, prefix, next: 0 }
    }

    /// Generates a new name.
    pub fn generate(&mut self) -> Name {
        loop {
            let name = format!("{}{}__", self.prefix, self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                return name.into();
            }
        }
    }
}
