//! Names of variables: sets and maps of them, and the generator of new ones.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use smallvec::SmallVec;

use crate::syntax::tree::Name;

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

/// The number of names beyond which a [`VarMap`] hashes them. Most bodies have fewer: searching a
/// list of them costs less than hashing, and than the memory of a table.
const MANY: usize = 12;

/// A map keyed by variables, for the few that a body has.
#[derive(Debug, Clone)]
pub struct VarMap<T>(Entries<T>);

#[derive(Debug, Clone)]
enum Entries<T> {
    Few(SmallVec<[(Name, T); 3]>),
    Many(NameMap<T>),
}

impl<T> Default for VarMap<T> {
    fn default() -> Self {
        Self(Entries::Few(SmallVec::new()))
    }
}

fn same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

impl<T> VarMap<T> {
    /// Returns what is recorded for a variable.
    pub fn get(&self, name: &str) -> Option<&T> {
        match &self.0 {
            Entries::Few(few) => {
                few.iter().find(|(other, _)| same(other, name)).map(|(_, value)| value)
            }
            Entries::Many(many) => many.get(name),
        }
    }

    /// The value of a variable, mutably.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        match &mut self.0 {
            Entries::Few(few) => {
                few.iter_mut().find(|(other, _)| same(other, name)).map(|(_, value)| value)
            }
            Entries::Many(many) => many.get_mut(name),
        }
    }

    /// Returns `true` if the variable has a value.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets the value of a variable.
    pub fn insert(&mut self, name: &Name, value: T) {
        if let Some(known) = self.get_mut(name) {
            *known = value;
        } else {
            self.insert_new(name, value);
        }
    }

    /// Sets the value of a variable that has none.
    fn insert_new(&mut self, name: &Name, value: T) {
        if let Entries::Few(few) = &mut self.0
            && few.len() >= MANY
        {
            self.0 = Entries::Many(std::mem::take(few).into_iter().collect());
        }
        match &mut self.0 {
            Entries::Few(few) => few.push((Name::clone(name), value)),
            Entries::Many(many) => {
                many.insert(Name::clone(name), value);
            }
        }
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &str) {
        match &mut self.0 {
            Entries::Few(few) => {
                if let Some(at) = few.iter().position(|(other, _)| same(other, name)) {
                    few.swap_remove(at);
                }
            }
            Entries::Many(many) => {
                many.remove(name);
            }
        }
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::Few(few) => few.len(),
            Entries::Many(many) => many.len(),
        }
    }

    /// Returns `true` if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all variables.
    pub fn clear(&mut self) {
        match &mut self.0 {
            Entries::Few(few) => few.clear(),
            Entries::Many(many) => many.clear(),
        }
    }

    /// The variables and their values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &T)> {
        let (few, many) = match &self.0 {
            Entries::Few(few) => (few.as_slice(), None),
            Entries::Many(many) => (&[][..], Some(many)),
        };
        few.iter().map(|(name, value)| (name, value)).chain(many.into_iter().flatten())
    }

    /// Keeps the variables for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        match &mut self.0 {
            Entries::Few(few) => few.retain(|(name, _)| keep(name)),
            Entries::Many(many) => many.retain(|name, _| keep(name)),
        }
    }
}

/// A set of variables.
#[derive(Debug, Clone, Default)]
pub struct VarSet(VarMap<()>);

static NONE: VarSet = VarSet(VarMap(Entries::Few(SmallVec::new_const())));

impl PartialEq for VarSet {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.is_subset(other)
    }
}

impl Eq for VarSet {}

impl VarSet {
    /// The empty set.
    pub fn none() -> &'static Self {
        &NONE
    }

    /// The set of the variables that always have a value: `data` and `input`.
    pub fn reserved() -> Self {
        fn names() -> VarSet {
            VarSet::from_iter([Name::from("data"), Name::from("input")])
        }
        thread_local! {
            static RESERVED: VarSet = names();
        }
        // As a thread ends, the value may be gone already.
        RESERVED.try_with(Self::clone).unwrap_or_else(|_| names())
    }

    /// Adds a variable; returns `true` if the set didn't contain it.
    pub fn add(&mut self, name: &Name) -> bool {
        if self.0.contains(name) {
            return false;
        }
        self.0.insert_new(name, ());
        true
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
        self.0.iter().map(|(name, ())| name)
    }

    /// The variables, in alphabetical order.
    pub fn sorted(&self) -> Vec<Name> {
        let mut names: Vec<_> = self.iter().cloned().collect();
        names.sort_unstable();
        names
    }

    /// Adds all variables of another set.
    pub fn update(&mut self, other: &Self) {
        for name in other.iter() {
            self.add(name);
        }
    }

    /// The variables that the other set doesn't contain.
    #[must_use]
    pub fn diff(&self, other: &Self) -> Self {
        self.filtered(|name| !other.contains(name))
    }

    /// Returns `true` if the other set contains all variables.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|name| other.contains(name))
    }

    /// The variables that both sets contain.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        self.filtered(|name| other.contains(name))
    }

    fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut kept = Self::default();
        for name in self.iter().filter(|name| keep(name)) {
            kept.0.insert_new(name, ());
        }
        kept
    }

    /// Keeps the variables for which `keep` returns `true`.
    pub fn retain(&mut self, keep: impl FnMut(&str) -> bool) {
        self.0.retain(keep);
    }
}

impl FromIterator<Name> for VarSet {
    fn from_iter<T: IntoIterator<Item = Name>>(iter: T) -> Self {
        let mut all = Self::default();
        all.extend(iter);
        all
    }
}

impl Extend<Name> for VarSet {
    fn extend<T: IntoIterator<Item = Name>>(&mut self, iter: T) {
        for name in iter {
            self.add(&name);
        }
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
