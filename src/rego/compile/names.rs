//! Names of variables: sets of them, and those that the compiler makes.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::rego::syntax::tree::{Module, Name};

use super::vars::{Vars, VarsParams};

/// FNV-1a: names are short, and authors gain nothing from collisions in their own policies.
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

/// Something by name of variable.
pub type NameMap<T> = HashMap<Name, T, Build>;

/// A set of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VarSet(HashSet<Name, Build>);

static NONE: VarSet = VarSet(HashSet::with_hasher(BuildHasherDefault::new()));

impl VarSet {
    /// No variables.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// The variables that always have a value: `data` and `input`.
    pub fn reserved() -> Self {
        Self::from_iter([Name::from("data"), Name::from("input")])
    }

    /// Adds a variable; says whether it wasn't there.
    pub fn add(&mut self, name: &Name) -> bool {
        if self.0.contains(name) { false } else { self.0.insert(Name::clone(name)) }
    }

    /// True if it has the variable.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Takes a variable out.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number that it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// In no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Name> {
        self.0.iter()
    }

    /// In the order of their names.
    pub fn sorted(&self) -> Vec<Name> {
        let mut names: Vec<_> = self.0.iter().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Adds all of another set.
    pub fn update(&mut self, other: &Self) {
        for name in &other.0 {
            self.add(name);
        }
    }

    /// Those that aren't in the other.
    #[must_use]
    pub fn diff(&self, other: &Self) -> Self {
        self.iter().filter(|name| !other.contains(name)).cloned().collect()
    }

    /// True if none is missing in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|name| other.contains(name))
    }

    /// Those that are in both.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        self.iter().filter(|name| other.contains(name)).cloned().collect()
    }

    /// Keeps those of which `keep` is true.
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

/// True if the variable was written `_`.
pub fn is_wildcard(name: &str) -> bool {
    name.starts_with('$')
}

/// True if the compiler made it.
pub fn is_generated(name: &str) -> bool {
    name.starts_with("__local")
}

/// Makes names of variables that no author uses.
#[derive(Debug, Clone)]
pub struct LocalVarGenerator {
    taken: VarSet,
    prefix: &'static str,
    next: u32,
}

impl LocalVarGenerator {
    /// For modules.
    pub fn for_modules(modules: &[Module]) -> Self {
        let mut vars = Vars::new(VarsParams::default());
        for module in modules {
            for rule in &module.rules {
                vars.rule(rule);
            }
        }
        Self::new("__local", vars.take())
    }

    /// With this prefix, without the names in `used`.
    pub fn new(prefix: &'static str, mut used: VarSet) -> Self {
        used.retain(is_generated);
        Self { taken: used, prefix, next: 0 }
    }

    /// A name that wasn't there.
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
