//! Objects and sets: members in the order of their keys.
//!
//! What is made at once is one allocation of exactly its size, found in by halving: most objects are
//! read and never changed. What grows member by member becomes a tree once it is large, so that
//! adding to it stays cheap.

use std::cmp::Ordering;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::{slice, vec};

use super::Value;

/// The number of members up to which adding one moves the others.
const FEW: usize = 32;

/// The members of an object, or with `()` the elements of a set.
#[derive(Clone)]
struct Sorted<V>(Repr<V>);

#[derive(Clone)]
enum Repr<V> {
    Flat(Vec<(Value, V)>),
    #[allow(clippy::box_collection)] // an object takes three words
    Tree(Box<BTreeMap<Value, V>>),
}

impl<V> Default for Sorted<V> {
    fn default() -> Self {
        Self(Repr::Flat(Vec::new()))
    }
}

impl<V> Sorted<V> {
    /// Of equal keys, the last remains with its value.
    fn of(mut members: Vec<(Value, V)>) -> Self {
        let sorted = members.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b));
        if !sorted {
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            members.dedup_by(|later, kept| {
                let equal = later.0 == kept.0;
                if equal {
                    std::mem::swap(later, kept);
                }
                equal
            });
        }
        members.shrink_to_fit();
        Self(Repr::Flat(members))
    }

    #[inline]
    fn len(&self) -> usize {
        match &self.0 {
            Repr::Flat(members) => members.len(),
            Repr::Tree(members) => members.len(),
        }
    }

    #[inline]
    fn get(&self, key: &Value) -> Option<(&Value, &V)> {
        match &self.0 {
            Repr::Flat(members) => {
                let (key, value) = members.get(place(members, key).ok()?)?;
                Some((key, value))
            }
            Repr::Tree(members) => members.get_key_value(key),
        }
    }

    fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        match &mut self.0 {
            Repr::Flat(members) => {
                let place = place(members, key).ok()?;
                members.get_mut(place).map(|(_, value)| value)
            }
            Repr::Tree(members) => members.get_mut(key),
        }
    }

    /// Makes a tree if there are too many members to move.
    fn grow(&mut self) {
        if let Repr::Flat(members) = &mut self.0
            && members.len() >= FEW
        {
            let members = std::mem::take(members).into_iter().collect();
            self.0 = Repr::Tree(Box::new(members));
        }
    }

    /// Returns the value that the key had; the key itself remains as it was.
    fn insert(&mut self, key: Value, value: V) -> Option<V> {
        let members = match &mut self.0 {
            Repr::Tree(members) => return members.insert(key, value),
            Repr::Flat(members) => members,
        };
        let last_is_less = members.last().is_none_or(|(last, _)| *last < key);
        match if last_is_less { Err(members.len()) } else { place(members, &key) } {
            Ok(place) => members.get_mut(place).map(|(_, old)| std::mem::replace(old, value)),
            Err(place) => {
                if last_is_less || members.len() < FEW {
                    members.insert(place, (key, value));
                } else {
                    let mut members: BTreeMap<_, _> = std::mem::take(members).into_iter().collect();
                    members.insert(key, value);
                    self.0 = Repr::Tree(Box::new(members));
                }
                None
            }
        }
    }

    fn remove(&mut self, key: &Value) -> Option<(Value, V)> {
        self.grow();
        match &mut self.0 {
            Repr::Flat(members) => Some(members.remove(place(members, key).ok()?)),
            Repr::Tree(members) => members.remove_entry(key),
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&Value, &mut V) -> bool) {
        match &mut self.0 {
            Repr::Flat(members) => members.retain_mut(|(key, value)| keep(key, value)),
            Repr::Tree(members) => members.retain(keep),
        }
    }

    /// Returns the value of a key, which is made if there is none.
    #[allow(clippy::indexing_slicing)] // at a place that was found or filled
    fn get_or_insert_with(&mut self, key: Value, make: impl FnOnce() -> V) -> &mut V {
        if self.get(&key).is_none() {
            self.grow();
        }
        match &mut self.0 {
            Repr::Flat(members) => {
                let place = place(members, &key).unwrap_or_else(|place| {
                    members.insert(place, (key, make()));
                    place
                });
                &mut members[place].1
            }
            Repr::Tree(members) => members.entry(key).or_insert_with(make),
        }
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = (&Value, &mut V)> {
        let (flat, tree) = match &mut self.0 {
            Repr::Flat(members) => {
                (Some(members.iter_mut().map(|(key, value)| (&*key, value))), None)
            }
            Repr::Tree(members) => (None, Some(members.iter_mut())),
        };
        flat.into_iter().flatten().chain(tree.into_iter().flatten())
    }

    fn iter(&self) -> Iter<'_, V> {
        match &self.0 {
            Repr::Flat(members) => Iter::Flat(members.iter()),
            Repr::Tree(members) => Iter::Tree(members.iter()),
        }
    }

    fn into_iter(self) -> IntoIter<V> {
        match self.0 {
            Repr::Flat(members) => IntoIter::Flat(members.into_iter()),
            Repr::Tree(members) => IntoIter::Tree(members.into_iter()),
        }
    }
}

#[inline]
fn place<V>(members: &[(Value, V)], key: &Value) -> Result<usize, usize> {
    members.binary_search_by(|(own, _)| own.cmp(key))
}

enum Iter<'a, V> {
    Flat(slice::Iter<'a, (Value, V)>),
    Tree(btree_map::Iter<'a, Value, V>),
}

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        match self {
            Self::Flat(members) => Self::Flat(members.clone()),
            Self::Tree(members) => Self::Tree(members.clone()),
        }
    }
}

enum IntoIter<V> {
    Flat(vec::IntoIter<(Value, V)>),
    Tree(btree_map::IntoIter<Value, V>),
}

/// Implements the traits of an iterator over members from both ends.
macro_rules! iterator {
    ([$($generics:tt)*] $name:ty, $item:ty, $flat:expr) => {
        impl<$($generics)*> Iterator for $name {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                match self {
                    Self::Flat(members) => members.next().map($flat),
                    Self::Tree(members) => members.next(),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                match self {
                    Self::Flat(members) => members.size_hint(),
                    Self::Tree(members) => members.size_hint(),
                }
            }
        }

        impl<$($generics)*> DoubleEndedIterator for $name {
            fn next_back(&mut self) -> Option<Self::Item> {
                match self {
                    Self::Flat(members) => members.next_back().map($flat),
                    Self::Tree(members) => members.next_back(),
                }
            }
        }

        impl<$($generics)*> ExactSizeIterator for $name {}
    };
}

iterator!(['a, V] Iter<'a, V>, (&'a Value, &'a V), |(key, value)| (key, value));
iterator!([V] IntoIter<V>, (Value, V), |member| member);

/// Passes an iterator's methods on.
macro_rules! outer_iterator {
    ([$($life:lifetime)?] $name:ty, $item:ty, $map:expr) => {
        impl$(<$life>)? Iterator for $name {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map($map)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl$(<$life>)? DoubleEndedIterator for $name {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map($map)
            }
        }

        impl$(<$life>)? ExactSizeIterator for $name {}
    };
}

/// The members of an object, in the order of their keys.
///
/// ```
/// use rego_platform_rego::Value;
/// use rego_platform_rego::value::Object;
///
/// let mut object = Object::new();
/// object.insert(Value::from("name"), Value::from("app"));
/// assert_eq!(Value::from(object).to_json(), r#"{"name":"app"}"#);
/// ```
#[derive(Clone, Default)]
pub struct Object(Sorted<Value>);

/// The members of an [`Object`] by reference.
#[derive(Clone)]
pub struct Members<'a>(Iter<'a, Value>);
outer_iterator!(['a] Members<'a>, (&'a Value, &'a Value), |member| member);

/// The members of an [`Object`] that is gone.
pub struct IntoMembers(IntoIter<Value>);
outer_iterator!([] IntoMembers, (Value, Value), |member| member);

impl Object {
    /// Creates an empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key.
    #[inline]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.0.get(key).map(|(_, value)| value)
    }

    /// Returns the value of a key for modification.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Returns `true` if there is a member with this key.
    pub fn contains_key(&self, key: &Value) -> bool {
        self.0.get(key).is_some()
    }

    /// Adds a member, or replaces the value of one, which is returned. An equal key (`1` and `1.0`)
    /// remains as it was.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        self.0.insert(key, value)
    }

    /// Returns the value of a key, which is made and added if there is none.
    pub fn get_or_insert_with(&mut self, key: Value, make: impl FnOnce() -> Value) -> &mut Value {
        self.0.get_or_insert_with(key, make)
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, key: &Value) -> Option<Value> {
        self.0.remove(key).map(|(_, value)| value)
    }

    /// Removes the members for which `keep` returns `false`.
    pub fn retain(&mut self, keep: impl FnMut(&Value, &mut Value) -> bool) {
        self.0.retain(keep);
    }

    /// Returns the members.
    #[inline]
    pub fn iter(&self) -> Members<'_> {
        Members(self.0.iter())
    }

    /// Returns the members, with their values for modification.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Value, &mut Value)> {
        self.0.iter_mut()
    }

    /// Returns the keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }
}

/// The elements of a set, in order.
///
/// ```
/// use rego_platform_rego::Value;
/// use rego_platform_rego::value::Set;
///
/// let set: Set = [2, 1, 2].into_iter().map(Value::from).collect();
/// assert_eq!(Value::from(set).to_json(), "[1,2]");
/// ```
#[derive(Clone, Default)]
pub struct Set(Sorted<()>);

/// The elements of a [`Set`] by reference.
#[derive(Clone)]
pub struct Elements<'a>(Iter<'a, ()>);
outer_iterator!(['a] Elements<'a>, &'a Value, |(element, ())| element);

/// The elements of a [`Set`] that is gone.
pub struct IntoElements(IntoIter<()>);
outer_iterator!([] IntoElements, Value, |(element, ())| element);

impl Set {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if there is an equal element.
    #[inline]
    pub fn contains(&self, element: &Value) -> bool {
        self.0.get(element).is_some()
    }

    /// Returns the equal element.
    #[inline]
    pub fn get(&self, element: &Value) -> Option<&Value> {
        self.0.get(element).map(|(element, ())| element)
    }

    /// Adds an element; returns `false` and keeps the old one if there is an equal one.
    pub fn insert(&mut self, element: Value) -> bool {
        self.0.insert(element, ()).is_none()
    }

    /// Removes an element; returns `false` if there was none.
    pub fn remove(&mut self, element: &Value) -> bool {
        self.0.remove(element).is_some()
    }

    /// Removes the elements for which `keep` returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&Value) -> bool) {
        self.0.retain(|element, ()| keep(element));
    }

    /// Returns the elements.
    #[inline]
    pub fn iter(&self) -> Elements<'_> {
        Elements(self.0.iter())
    }

    /// Returns the elements of both; of equal ones, the own.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (mut own, mut more) = (self.iter().peekable(), other.iter().peekable());
        let mut elements = Vec::with_capacity(self.len().saturating_add(other.len()));
        loop {
            let order = match (own.peek(), more.peek()) {
                (Some(a), Some(b)) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return elements.into_iter().collect(),
            };
            if order.is_ge() {
                elements.extend(more.next().filter(|_| order.is_gt()).cloned());
            }
            if order.is_le() {
                elements.extend(own.next().cloned());
            }
        }
    }

    /// Returns the own elements that aren't in the other set.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.iter().filter(|element| !other.contains(element)).cloned().collect()
    }

    /// Returns the least element.
    pub fn first(&self) -> Option<&Value> {
        self.iter().next()
    }

    /// Returns the greatest element.
    pub fn last(&self) -> Option<&Value> {
        self.iter().next_back()
    }
}

/// Implements what objects and sets have in common: iteration, conversions from and to sequences of
/// members, and comparisons as such sequences.
macro_rules! collection {
    ($name:ident, $member:ty, $iter:ident, $into_iter:ident, $debug:ident, $entry:expr) => {
        impl FromIterator<$member> for $name {
            /// Of equal members, the last remains.
            fn from_iter<I: IntoIterator<Item = $member>>(members: I) -> Self {
                Self(Sorted::of(members.into_iter().map($entry).collect()))
            }
        }

        impl<const N: usize> From<[$member; N]> for $name {
            fn from(members: [$member; N]) -> Self {
                members.into_iter().collect()
            }
        }

        impl Extend<$member> for $name {
            fn extend<I: IntoIterator<Item = $member>>(&mut self, members: I) {
                for (key, value) in members.into_iter().map($entry) {
                    self.0.insert(key, value);
                }
            }
        }

        impl<'a> IntoIterator for &'a $name {
            type Item = <$iter<'a> as Iterator>::Item;
            type IntoIter = $iter<'a>;

            #[inline]
            fn into_iter(self) -> $iter<'a> {
                self.iter()
            }
        }

        impl IntoIterator for $name {
            type Item = $member;
            type IntoIter = $into_iter;

            fn into_iter(self) -> $into_iter {
                $into_iter(self.0.into_iter())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.$debug().entries(self.iter()).finish()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.len() == other.len() && self.iter().eq(other.iter())
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                self.iter().cmp(other.iter())
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                state.write_usize(self.len());
                for member in self {
                    member.hash(state);
                }
            }
        }
    };
}

collection!(Object, (Value, Value), Members, IntoMembers, debug_map, |member| member);
collection!(Set, Value, Elements, IntoElements, debug_set, |element| (element, ()));

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Object, Set};
    use crate::value::Value;

    /// Keys of which many are equal, some in another spelling.
    fn key() -> impl Strategy<Value = Value> {
        (0_i64..90, any::<bool>()).prop_map(|(n, spelled)| {
            if spelled {
                Value::from_json(&format!("{n}.0")).expect("a number")
            } else {
                Value::from(n)
            }
        })
    }

    fn shown<'a>(members: impl IntoIterator<Item = (&'a Value, &'a Value)>) -> Vec<String> {
        members.into_iter().map(|(key, value)| format!("{key}: {value}")).collect()
    }

    fn words<'a>(elements: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
        elements.into_iter().map(ToString::to_string).collect()
    }

    proptest! {
        #[test]
        fn an_object_is_a_tree_of_members(
            first in vec((key(), key()), 0..70),
            changes in vec((0_u8..4, key(), key()), 0..80),
        ) {
            let mut object: Object = first.iter().cloned().collect();
            let mut tree: BTreeMap<Value, Value> = first.into_iter().collect();
            for (change, key, value) in changes {
                match change {
                    0 => prop_assert_eq!(object.remove(&key), tree.remove(&key)),
                    1 => {
                        let made = object.get_or_insert_with(key.clone(), || value.clone()).clone();
                        prop_assert_eq!(&made, tree.entry(key).or_insert(value));
                    }
                    2 => {
                        object.retain(|own, _| *own < key || value < *own);
                        tree.retain(|own, _| *own < key || value < *own);
                    }
                    _ => prop_assert_eq!(
                        object.insert(key.clone(), value.clone()),
                        tree.insert(key, value)
                    ),
                }
            }
            prop_assert_eq!(shown(&object), shown(&tree));
            prop_assert_eq!(object.len(), tree.len());
            let backwards: Vec<_> = object.keys().rev().collect();
            prop_assert_eq!(words(backwards), words(tree.keys().rev()));
            for n in 0..90 {
                let key = Value::from(n);
                prop_assert_eq!(object.get(&key), tree.get(&key));
                prop_assert_eq!(object.get_mut(&key), tree.get_mut(&key));
            }
        }

        #[test]
        fn a_set_is_a_tree_of_elements(a in vec(key(), 0..70), b in vec(key(), 0..70)) {
            let (mut set, other) = (Set::from_iter(a.clone()), Set::from_iter(b.clone()));
            let (mut tree, others) = (BTreeSet::from_iter(a), BTreeSet::from_iter(b.clone()));
            prop_assert_eq!(words(&set.union(&other)), words(tree.union(&others)));
            prop_assert_eq!(words(&set.difference(&other)), words(tree.difference(&others)));
            for element in b {
                prop_assert_eq!(set.insert(element.clone()), tree.insert(element));
            }
            prop_assert_eq!(words(&set), words(&tree));
        }
    }
}
