//! The rule index: finds the definitions of a rule that can hold, before any body is evaluated.
//!
//! Owns OPA's rule index in its behaviour: the requirements of a definition on `input`, on base
//! documents and on its arguments are read from its body (`collect`) and put into a tree of values
//! (`trie`), and a lookup finds the definitions whose requirements hold. A definition that isn't
//! found isn't evaluated: its calls aren't made and its errors aren't raised. So the definitions
//! found must be exactly OPA's.

mod affixes;
mod collect;
mod mapper;
mod trie;

use std::collections::HashMap;
use std::sync::Arc;

use super::syntax::tree::{Rule, Term, TermKind};
use super::types::terms;
use super::value::Value;

pub use trie::Lookup;

/// The index of all definitions of one path.
#[derive(Debug, Clone)]
pub struct Index {
    trie: trie::Trie,
    references: Vec<Reference>,
    /// The definitions and `else` branches, in order.
    entries: Vec<IndexEntry>,
    /// For each entry, references that must be defined, whatever their value.
    required: Vec<Vec<u32>>,
    /// For each entry, values and the collections that must have them as keys.
    memberships: Vec<Vec<(u32, u32)>>,
    /// `true` if, whichever definitions are found, the first that holds ends the evaluation.
    may_exit_early: bool,
    kind: Kind,
    only_ground_references: bool,
}

/// A reference whose value a lookup needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The root of the reference.
    pub root: Root,
    /// The operands, which are constants.
    pub path: Arc<[Value]>,
}

/// The root of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    Input,
    /// Base documents: the contents of `data` without rules.
    Data,
    /// The argument of the function call at this position, from 0.
    Argument(usize),
}

/// A source of the values of references.
pub trait Resolver {
    /// The error of a lookup whose values can't be had.
    type Error;

    /// Returns the value of a reference, or `None` if it's undefined. Called at most once for each
    /// reference in a lookup.
    ///
    /// # Errors
    /// The reason to end the evaluation.
    fn resolve(&mut self, reference: &Reference) -> Result<Option<Value>, Self::Error>;
}

/// A definition or an `else` branch.
#[derive(Debug, Clone)]
struct IndexEntry {
    /// The index of the rule among those that the index was built from.
    rule: u32,
    /// The number of the `else` branch; 0 is the definition itself.
    branch: u32,
    head_value: HeadValue,
}

/// The part of an entry's value that is known from its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeadValue {
    /// Nothing: it adds to a document, or its value depends on its body.
    Unknown,
    /// It has no value of its own.
    Valueless,
    /// It's a constant, the same as that of all entries with this number.
    Constant(u32),
}

/// The document that the rules of a path make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A value, or members of an object.
    SingleValue,
    /// Elements of a set.
    MultiValue,
}

/// A definition that can hold, or a branch of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The rule's index among those that the index was built from.
    pub rule: usize,
    /// The number of the `else` branch, from 1; 0 is the definition itself.
    pub branch: usize,
    /// `true` for the first of a rule's candidates: it's evaluated unconditionally, even if it's an
    /// `else` branch. Those that follow until the next such candidate are its `else` branches.
    pub first: bool,
}

impl Index {
    /// Builds the index of the rules of one path, after all compile stages; `None` if there are no
    /// rules.
    ///
    /// `is_virtual` returns `true` for a reference that leads to rules, whose value isn't known
    /// before an evaluation.
    pub fn build(rules: &[&Rule], is_virtual: &dyn Fn(&[Term]) -> bool) -> Option<Self> {
        let kind = match rules.first()?.head.value {
            Some(_) => Kind::SingleValue,
            None => Kind::MultiValue,
        };
        let collected = collect::collect(rules, is_virtual);
        let mut index = Self {
            trie: trie::Trie::new(),
            references: collected.references.iter().map(|parts| reference(parts)).collect(),
            entries: Vec::new(),
            required: Vec::new(),
            memberships: Vec::new(),
            may_exit_early: true,
            kind,
            only_ground_references: collected.only_ground_references,
        };
        let mut constants: HashMap<Value, u32> = HashMap::new();
        for definition in &collected.definitions {
            let id = u32::try_from(index.entries.len()).unwrap_or(u32::MAX);
            index.entries.push(IndexEntry {
                rule: definition.rule,
                branch: definition.branch,
                head_value: head_value(definition.definition, &mut constants),
            });
            for path in &definition.paths {
                index.trie.insert(&collected.levels, path, id);
            }
            index.required.push(collected.required(&definition.paths));
            index.memberships.push(definition.memberships.clone());
        }
        index.may_exit_early = has_one_value(index.entries.iter().map(|entry| entry.head_value));
        Some(index)
    }

    /// Returns `true` if, whichever definitions are found, the first that holds ends the evaluation
    /// of the rule.
    pub fn exits_early(&self) -> bool {
        self.may_exit_early
    }

    /// The document that the rules make.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns `true` if no rule's path has a variable.
    pub fn only_ground_references(&self) -> bool {
        self.only_ground_references
    }

    /// All definitions and branches, as if no reference had a known value.
    pub fn all(&self) -> Vec<Candidate> {
        let mut candidates = Vec::with_capacity(self.entries.len());
        self.entries.iter().for_each(|entry| push(&mut candidates, entry));
        candidates
    }

    /// Finds the definitions that can hold, in order; with `true` if the first of them that holds
    /// ends the evaluation of the rule. `lookup` is scratch space that can be used again, with any
    /// index.
    ///
    /// # Errors
    /// The errors of the resolver.
    pub fn lookup<'l, R: Resolver>(
        &self,
        lookup: &'l mut Lookup,
        resolver: &mut R,
    ) -> Result<(&'l [Candidate], bool), R::Error> {
        lookup.reset(self.references.len(), self.entries.len());
        self.trie.find(lookup, &self.references, resolver)?;
        let mut exits_early = true;
        let mut constant = None;
        lookup.sort_hits();
        for at in 0..lookup.hit_words() {
            for id in lookup.ids(at) {
                let Some(entry) = usize::try_from(id).ok().and_then(|id| self.entries.get(id))
                else {
                    continue;
                };
                if !self.holds(id, lookup, resolver)? {
                    continue;
                }
                match (entry.head_value, constant) {
                    (HeadValue::Unknown, _) => exits_early = false,
                    (HeadValue::Constant(value), Some(other)) if value != other => {
                        exits_early = false
                    }
                    (HeadValue::Constant(value), _) => constant = Some(value),
                    (HeadValue::Valueless, _) => {}
                }
                push(&mut lookup.candidates, entry);
            }
        }
        Ok((&lookup.candidates, exits_early))
    }

    /// Returns `true` if the requirements that aren't in the tree hold for an entry.
    fn holds<R: Resolver>(
        &self,
        id: u32,
        lookup: &mut Lookup,
        resolver: &mut R,
    ) -> Result<bool, R::Error> {
        let id = usize::try_from(id).unwrap_or(usize::MAX);
        for reference in self.required.get(id).into_iter().flatten() {
            if lookup.resolve(*reference, &self.references, resolver)?.is_none() {
                return Ok(false);
            }
        }
        if self.may_exit_early {
            // Looking the value up here would cost as much as evaluating the one body that is
            // needed.
            return Ok(true);
        }
        for (key, collection) in self.memberships.get(id).into_iter().flatten() {
            let Some(key) = lookup.resolve(*key, &self.references, resolver)?.cloned() else {
                return Ok(false);
            };
            let found = match lookup.resolve(*collection, &self.references, resolver)? {
                Some(Value::Object(object)) => object.contains_key(&key),
                Some(Value::Set(set)) => set.contains(&key),
                Some(_) => true,
                None => false,
            };
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn push(candidates: &mut Vec<Candidate>, entry: &IndexEntry) {
    let rule = usize::try_from(entry.rule).unwrap_or(usize::MAX);
    let first = candidates.last().is_none_or(|last| last.rule != rule);
    candidates.push(Candidate {
        rule,
        branch: usize::try_from(entry.branch).unwrap_or(usize::MAX),
        first,
    });
}

fn reference(parts: &[Term]) -> Reference {
    let tail = parts.get(1..).unwrap_or_default().iter().filter_map(terms::constant);
    let (root, path) = match parts.first().map(|first| &first.kind) {
        Some(TermKind::Var(name)) if &**name == "input" => (Root::Input, tail.collect()),
        Some(TermKind::Var(name)) if &**name == collect::ARGUMENTS => {
            let at = parts.get(1).and_then(terms::constant);
            let at =
                at.as_ref().and_then(Value::as_number).and_then(super::value::Number::as_usize);
            (Root::Argument(at.unwrap_or(usize::MAX)), Vec::new())
        }
        _ => (Root::Data, tail.collect::<Vec<_>>()),
    };
    Reference { root, path: path.into() }
}

fn head_value(rule: &Rule, constants: &mut HashMap<Value, u32>) -> HeadValue {
    let head = &rule.head;
    let is_partial = head.key.is_some() || !head.reference.iter().skip(1).all(Term::is_constant);
    let Some(value) = head.value.as_ref().filter(|_| !is_partial) else {
        return if is_partial { HeadValue::Unknown } else { HeadValue::Valueless };
    };
    let Some(value) = terms::constant(value) else { return HeadValue::Unknown };
    let number = u32::try_from(constants.len()).unwrap_or(u32::MAX);
    HeadValue::Constant(*constants.entry(value).or_insert(number))
}

fn has_one_value(mut values: impl Iterator<Item = HeadValue>) -> bool {
    let mut constant = None;
    values.all(|value| match value {
        HeadValue::Unknown => false,
        HeadValue::Valueless => true,
        HeadValue::Constant(value) => *constant.get_or_insert(value) == value,
    })
}
