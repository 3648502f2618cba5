//! The tree of values, with a level for each reference and a node for each value that some
//! definition requires of it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::affixes::{Affixes, End};
use super::collect::{MatchKind, Requirement};
use super::mapper::Mapper;
use super::{Candidate, Reference, Resolver};
use crate::syntax::tree::{Term, TermKind};
use crate::types::terms;
use crate::value::Value;

/// An index into [`Trie::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NodeId(u32);

/// An index into [`Trie::arrays`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ArrayId(u32);

/// A map keyed by scalars. The keys come from policies, so that the hash needn't resist attacks.
type ByValue<T> = HashMap<Value, T, BuildHasherDefault<FastHasher>>;

#[derive(Debug, Clone)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    levels: Vec<Level>,
    arrays: Vec<ArrayNode>,
}

/// A node, which all paths with the same values so far share.
#[derive(Debug, Clone, Default)]
struct Node {
    /// The entries whose paths end here.
    ids: Vec<u32>,
    /// The next level, as an index into [`Trie::levels`].
    level: Option<usize>,
}

/// A reference and the nodes to which its possible values lead.
#[derive(Debug, Clone, Default)]
struct Level {
    reference: u32,
    /// The node for any outcome, defined or not.
    always: Option<NodeId>,
    /// The node for any defined value.
    defined: Option<NodeId>,
    scalars: ByValue<Vec<NodeId>>,
    array: Option<ArrayId>,
    /// The nodes for a collection that has this scalar.
    members: ByValue<Vec<NodeId>>,
    prefixes: Affixes<NodeId>,
    suffixes: Affixes<NodeId>,
    mappers: Vec<Mapper>,
    /// The one node of `scalars`, and of `members`, that all definitions requiring the same value
    /// share.
    shared: ByValue<NodeId>,
    shared_members: ByValue<NodeId>,
}

/// A position in an array.
#[derive(Debug, Clone, Default)]
struct ArrayNode {
    any: Option<ArrayId>,
    scalars: ByValue<ArrayId>,
    end: Option<NodeId>,
}

impl Trie {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()], levels: Vec::new(), arrays: Vec::new() }
    }

    fn node(nodes: &mut Vec<Node>) -> NodeId {
        nodes.push(Node::default());
        NodeId(u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a path to an entry.
    pub(super) fn insert(&mut self, levels: &[u32], path: &[Requirement], id: u32) {
        let mut node = NodeId(0);
        // The requirements are grouped by reference and keep their order within a group.
        let mut path: Vec<&Requirement> = path.iter().collect();
        path.sort_by_key(|requirement| requirement.reference);
        // The path ends at the last level on which it has a requirement.
        let mut remaining = path.len();
        for reference in levels {
            if remaining == 0 {
                break;
            }
            let first = path.partition_point(|requirement| requirement.reference < *reference);
            let last = path.partition_point(|requirement| requirement.reference <= *reference);
            let mut requirements = path.get(first..last).unwrap_or_default().to_vec();
            remaining -= requirements.len();
            // Any other requirement implies that the value is defined.
            if requirements.len() > 1
                && requirements.iter().any(|requirement| !requirement.is_any())
            {
                requirements.retain(|requirement| !requirement.is_any());
            }
            match requirements.as_slice() {
                [] => node = self.step(node, *reference, |level, nodes, _| level.always(nodes)),
                [requirement] => node = self.require(node, requirement),
                [first, ..] if requirements.iter().any(|requirement| requirement.is_any()) => {
                    let mappers: Vec<_> = requirements
                        .iter()
                        .filter_map(|requirement| requirement.mapper.clone())
                        .collect();
                    node = self.step(node, first.reference, |level, nodes, _| {
                        mappers.into_iter().for_each(|mapper| level.add_mapper(mapper));
                        level.defined(nodes)
                    });
                }
                requirements
                    if remaining == 0
                        || requirements.iter().any(|requirement| {
                            requirement.is_affix() || requirement.is_composite()
                        }) =>
                {
                    // Requirements on later levels are dropped, since these paths can't converge
                    // again.
                    for requirement in selective_affixes(requirements) {
                        let end = self.require(node, requirement);
                        self.add(end, id);
                    }
                    return;
                }
                requirements => node = self.require_one_of(node, *reference, requirements),
            }
        }
        self.add(node, id);
    }

    fn add(&mut self, node: NodeId, id: u32) {
        if let Some(node) = self.nodes.get_mut(node.index()) {
            node.ids.push(id);
        }
    }

    /// Returns the node that `go` chooses on the level below a node.
    fn step(
        &mut self,
        node: NodeId,
        reference: u32,
        go: impl FnOnce(&mut Level, &mut Vec<Node>, &mut Vec<ArrayNode>) -> NodeId,
    ) -> NodeId {
        let Some(from) = self.nodes.get_mut(node.index()) else { return node };
        let at = *from.level.get_or_insert(self.levels.len());
        if at == self.levels.len() {
            self.levels.push(Level::default());
        }
        let Some(level) = self.levels.get_mut(at) else { return node };
        level.reference = reference;
        go(level, &mut self.nodes, &mut self.arrays)
    }

    fn require(&mut self, node: NodeId, requirement: &Requirement) -> NodeId {
        self.step(node, requirement.reference, |level, nodes, arrays| {
            if let Some(mapper) = &requirement.mapper {
                level.add_mapper(mapper.clone());
            }
            match (&requirement.kind, &requirement.value.kind) {
                (MatchKind::Prefix, TermKind::String(text)) => {
                    level.prefixes.get_or_insert(text, || Self::node(nodes))
                }
                (MatchKind::Suffix, TermKind::String(text)) => {
                    level.suffixes.get_or_insert(text, || Self::node(nodes))
                }
                (MatchKind::Value, TermKind::Array(items)) => {
                    let root = *level.array.get_or_insert_with(|| array_node(arrays));
                    let end = insert_array(arrays, root, items);
                    match arrays.get_mut(end.index()) {
                        Some(end) => *end.end.get_or_insert_with(|| Self::node(nodes)),
                        None => node,
                    }
                }
                (kind, _) => {
                    let constant = terms::constant(&requirement.value);
                    let Some(value) = constant.filter(|_| requirement.value.is_scalar()) else {
                        // A variable, or a composite whose elements aren't compared.
                        return level.defined(nodes);
                    };
                    let (shared, all) = if *kind == MatchKind::Member {
                        (&mut level.shared_members, &mut level.members)
                    } else {
                        (&mut level.shared, &mut level.scalars)
                    };
                    *shared.entry(value.clone()).or_insert_with(|| {
                        let node = Self::node(nodes);
                        all.entry(value).or_default().push(node);
                        node
                    })
                }
            }
        })
    }

    /// Returns a node to which each of several values leads.
    fn require_one_of(
        &mut self,
        node: NodeId,
        reference: u32,
        requirements: &[&Requirement],
    ) -> NodeId {
        self.step(node, reference, |level, nodes, _| {
            let end = Self::node(nodes);
            for requirement in requirements {
                if let Some(mapper) = &requirement.mapper {
                    level.add_mapper(mapper.clone());
                }
                let Some(value) = terms::constant(&requirement.value) else { continue };
                let by_value = if requirement.kind == MatchKind::Member {
                    &mut level.members
                } else {
                    &mut level.scalars
                };
                by_value.entry(value).or_default().push(end);
            }
            end
        })
    }

    /// Marks the entries to which the values of references lead.
    pub(super) fn find<R: Resolver>(
        &self,
        lookup: &mut Lookup,
        references: &[Reference],
        resolver: &mut R,
    ) -> Result<(), R::Error> {
        lookup.todo.push(NodeId(0));
        while let Some(node) = lookup.todo.pop() {
            let Some(node) = self.nodes.get(node.index()) else { continue };
            lookup.mark(&node.ids);
            let Some(level) = node.level.and_then(|at| self.levels.get(at)) else { continue };
            lookup.todo.extend(level.always);
            let Some(value) = lookup.resolve(level.reference, references, resolver)?.cloned()
            else {
                continue;
            };
            lookup.todo.extend(level.defined);
            self.find_value(level, &value, &mut lookup.todo, &mut lookup.positions);
            if !level.members.is_empty() {
                for_each_element(&value, |element| {
                    if is_scalar(element) {
                        lookup.todo.extend(level.members.get(element).into_iter().flatten());
                    }
                });
            }
            let mut affixed = |affix: &Value| {
                if let Value::String(text) = affix {
                    level.prefixes.of(text, End::Start, |node| lookup.todo.push(node));
                    level.suffixes.of(text, End::End, |node| lookup.todo.push(node));
                }
            };
            affixed(&value);
            if !level.prefixes.is_empty() || !level.suffixes.is_empty() {
                for_each_element(&value, affixed);
            }
            if let Value::String(text) = &value {
                for mapper in &level.mappers {
                    let parts = mapper.split(text).into_iter().map(Value::from).collect::<Vec<_>>();
                    self.find_array(level, &parts, &mut lookup.todo, &mut lookup.positions);
                }
            }
        }
        Ok(())
    }

    fn find_value(
        &self,
        level: &Level,
        value: &Value,
        todo: &mut Vec<NodeId>,
        positions: &mut Positions,
    ) {
        match value {
            Value::Array(items) => self.find_array(level, items, todo, positions),
            Value::Object(_) | Value::Set(_) => {}
            scalar => todo.extend(level.scalars.get(scalar).into_iter().flatten()),
        }
    }

    fn find_array(
        &self,
        level: &Level,
        items: &[Value],
        todo: &mut Vec<NodeId>,
        positions: &mut Positions,
    ) {
        let Some(root) = level.array else { return };
        let Positions { here, next } = positions;
        here.clear();
        here.push(root);
        for item in items {
            next.clear();
            for node in here.iter().filter_map(|node| self.arrays.get(node.index())) {
                next.extend(node.any);
                if is_scalar(item) {
                    next.extend(node.scalars.get(item).copied());
                }
            }
            if next.is_empty() {
                return;
            }
            std::mem::swap(here, next);
        }
        todo.extend(here.iter().filter_map(|node| self.arrays.get(node.index())?.end));
    }
}

impl Level {
    fn always(&mut self, nodes: &mut Vec<Node>) -> NodeId {
        *self.always.get_or_insert_with(|| Trie::node(nodes))
    }

    fn defined(&mut self, nodes: &mut Vec<Node>) -> NodeId {
        *self.defined.get_or_insert_with(|| Trie::node(nodes))
    }

    fn add_mapper(&mut self, mapper: Mapper) {
        if !self.mappers.contains(&mapper) {
            self.mappers.push(mapper);
        }
    }
}

impl NodeId {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl ArrayId {
    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

fn array_node(arrays: &mut Vec<ArrayNode>) -> ArrayId {
    arrays.push(ArrayNode::default());
    ArrayId(u32::try_from(arrays.len() - 1).unwrap_or(u32::MAX))
}

fn insert_array(arrays: &mut Vec<ArrayNode>, root: ArrayId, items: &[Term]) -> ArrayId {
    let mut node = root;
    for item in items {
        let made = ArrayId(u32::try_from(arrays.len()).unwrap_or(u32::MAX));
        let Some(here) = arrays.get_mut(node.index()) else { return node };
        node = match terms::constant(item).filter(|_| item.is_scalar()) {
            Some(value) => *here.scalars.entry(value).or_insert(made),
            None => *here.any.get_or_insert(made),
        };
        if node == made {
            arrays.push(ArrayNode::default());
        }
    }
    node
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_) | Value::Set(_))
}

fn for_each_element(value: &Value, mut each: impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(each),
        Value::Set(items) => items.iter().for_each(each),
        Value::Object(members) => members.values().for_each(&mut each),
        _ => {}
    }
}

/// Where both prefixes and suffixes are required, selects those of one kind: the kind whose
/// shortest text is longer. An entry below both would be found by either.
fn selective_affixes<'w>(
    requirements: &'w [&'w Requirement],
) -> impl Iterator<Item = &'w &'w Requirement> {
    let shortest = |end: MatchKind| {
        requirements
            .iter()
            .filter(|requirement| requirement.kind == end)
            .filter_map(|requirement| {
                if let TermKind::String(text) = &requirement.value.kind {
                    Some(text.len())
                } else {
                    None
                }
            })
            .min()
    };
    let dropped = match (shortest(MatchKind::Prefix), shortest(MatchKind::Suffix)) {
        (Some(prefix), Some(suffix)) if suffix > prefix => Some(MatchKind::Prefix),
        (Some(_), Some(_)) => Some(MatchKind::Suffix),
        _ => None,
    };
    requirements.iter().filter(move |requirement| Some(requirement.kind) != dropped)
}

/// Scratch space of lookups.
#[derive(Debug, Default)]
pub struct Lookup {
    todo: Vec<NodeId>,
    positions: Positions,
    /// The answers, by the number of the reference.
    answers: Vec<Answer>,
    resolved: Vec<u32>,
    /// A bit for each entry, and the indexes of the words that aren't zero.
    hits: Vec<u64>,
    words: Vec<usize>,
    pub(super) candidates: Vec<Candidate>,
}

#[derive(Debug, Default)]
struct Positions {
    here: Vec<ArrayId>,
    next: Vec<ArrayId>,
}

#[derive(Debug, Clone, Default)]
enum Answer {
    #[default]
    Unresolved,
    Undefined,
    Defined(Value),
}

impl Lookup {
    /// Creates empty scratch space.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn reset(&mut self, references: usize, entries: usize) {
        self.candidates.clear();
        self.todo.clear();
        for at in self.resolved.drain(..) {
            if let Some(answer) = self.answers.get_mut(usize::try_from(at).unwrap_or(usize::MAX)) {
                *answer = Answer::Unresolved;
            }
        }
        for at in self.words.drain(..) {
            if let Some(word) = self.hits.get_mut(at) {
                *word = 0;
            }
        }
        if self.answers.len() < references {
            self.answers.resize(references, Answer::Unresolved);
        }
        let words = entries.div_ceil(64);
        if self.hits.len() < words {
            self.hits.resize(words, 0);
        }
    }

    /// Returns the value of a reference, which the resolver is asked for once.
    pub(super) fn resolve<R: Resolver>(
        &mut self,
        reference: u32,
        references: &[Reference],
        resolver: &mut R,
    ) -> Result<Option<&Value>, R::Error> {
        let at = usize::try_from(reference).unwrap_or(usize::MAX);
        let Some((answer, target)) = self.answers.get_mut(at).zip(references.get(at)) else {
            return Ok(None);
        };
        if matches!(answer, Answer::Unresolved) {
            *answer = resolver.resolve(target)?.map_or(Answer::Undefined, Answer::Defined);
            self.resolved.push(reference);
        }
        Ok(if let Answer::Defined(value) = answer { Some(value) } else { None })
    }

    fn mark(&mut self, ids: &[u32]) {
        for id in ids {
            let (word, bit) = (usize::try_from(id >> 6).unwrap_or(usize::MAX), 1u64 << (id & 63));
            if let Some(hits) = self.hits.get_mut(word) {
                if *hits == 0 {
                    self.words.push(word);
                }
                *hits |= bit;
            }
        }
    }

    pub(super) fn sort_hits(&mut self) {
        self.words.sort_unstable();
    }

    pub(super) fn hit_words(&self) -> usize {
        self.words.len()
    }

    /// The entries marked in one of the non-zero words, ascending.
    pub(super) fn ids(&self, at: usize) -> impl Iterator<Item = u32> + use<> {
        let word = self.words.get(at).copied().unwrap_or_default();
        let mut hits = self.hits.get(word).copied().unwrap_or_default();
        let base = u32::try_from(word << 6).unwrap_or(u32::MAX);
        std::iter::from_fn(move || {
            let bit = (hits != 0).then(|| hits.trailing_zeros())?;
            hits &= hits - 1;
            Some(base | bit)
        })
    }
}

/// A fast hasher for keys that an attacker can't choose.
#[derive(Default, Clone, Copy)]
pub(super) struct FastHasher(u64);

impl FastHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}
