//! The rule index: which definitions of a rule can hold, before any body is evaluated.
//!
//! Owns OPA's rule index in its behaviour: what a definition requires of `input`, of base documents
//! and of its arguments is read from its body (`collect`), put into a tree of values (`trie`),
//! and a lookup finds the definitions whose requirements hold. A definition that isn't found isn't
//! evaluated: its calls aren't made, its errors aren't met. So the set of those found must be OPA's,
//! neither more nor less.

mod affixes;
mod collect;
mod trie;

use std::sync::Arc;

use super::compile::{Compiled, RuleId, TreeNode};
use super::syntax::tree::{Rule, Term, TermKind};
use super::types::terms;
use super::value::Value;

pub use trie::Lookup;

/// The index over all definitions of one path.
#[derive(Debug, Clone)]
pub struct Index {
    trie: trie::Trie,
    references: Vec<Reference>,
    /// The definitions and `else` branches, in their order.
    entries: Vec<Entry>,
    /// References of which each must be defined, without their value being asked.
    required: Vec<Vec<u32>>,
    /// Collections in which a value must be a key.
    memberships: Vec<Vec<Membership>>,
    /// True if the first definition that holds could end the evaluation, of all definitions.
    may_exit_early: bool,
    default: Option<usize>,
    kind: Kind,
    only_ground_references: bool,
}

/// What a lookup asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Where it begins.
    pub root: Root,
    /// The constant operands.
    pub path: Arc<[Value]>,
}

/// Where a reference begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// `input`
    Input,
    /// Base documents: what `data` holds without rules.
    Data,
    /// The argument of the function call at this position, from 0.
    Argument(usize),
}

/// Answers what a lookup asks for.
pub trait Resolver {
    /// Why it can't.
    type Error;

    /// The value of a reference; nothing where it is undefined. Asked once for each reference in a
    /// lookup.
    ///
    /// # Errors
    /// Where the evaluation must end.
    fn resolve(&mut self, reference: &Reference) -> Result<Option<Value>, Self::Error>;
}

/// A definition or an `else` branch.
#[derive(Debug, Clone)]
struct Entry {
    /// Which of the rules that the index was built from.
    rule: u32,
    /// Which of its `else` branches, 0 being the definition itself.
    branch: u32,
    outcome: Outcome,
}

/// What can be known of an entry's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It adds to a document, or its value depends on its body.
    Open,
    /// It has no value of its own.
    Valueless,
    /// Always the same value as others with this number.
    Constant(u32),
}

#[derive(Debug, Clone)]
struct Membership {
    key: u32,
    collection: u32,
}

/// What the rules of a path make.
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
    /// The rule's position among those that the index was built from.
    pub rule: usize,
    /// 0 for the definition itself, else which of its `else` branches, from 1.
    pub branch: usize,
    /// True if it is the first of its rule's candidates: it is evaluated first, even if it is an
    /// `else` branch, and those that follow until the next such are its `else` branches.
    pub first: bool,
}

/// The rules that one index covers.
#[derive(Debug, Clone)]
pub struct IndexedRules {
    /// Their path, below `data`.
    pub path: Vec<Value>,
    /// The rules: those of the path and, where one of them has a variable in its path, all below.
    pub rules: Vec<RuleId>,
    /// Their index; its candidates are positions in `rules`.
    pub index: Index,
}

/// The indices of all rules.
pub fn build_all(compiled: &Compiled) -> Vec<IndexedRules> {
    let is_virtual = |reference: &[Term]| leads_to_rules(&compiled.rule_tree, reference);
    let mut built = Vec::new();
    let mut todo: Vec<(Vec<Value>, &TreeNode)> = vec![(Vec::new(), &compiled.rule_tree)];
    while let Some((path, node)) = todo.pop() {
        let info = |id: &RuleId| compiled.rules.get(*id);
        let open = node.values.iter().filter_map(info).any(|it| it.ground < it.path.len());
        let ids = if open { node.all() } else { node.values.clone() };
        let rules: Vec<&Rule> =
            ids.iter().filter_map(|id| compiled.rules.find(*id, &compiled.modules)).collect();
        if let Some(index) = Index::build(&rules, &is_virtual) {
            built.push(IndexedRules { path: path.clone(), rules: ids, index });
        }
        if !open {
            todo.extend(node.children.iter().map(|(key, child)| {
                let below = path.iter().chain([key]).cloned().collect();
                (below, child)
            }));
        }
    }
    built
}

/// True if what a reference finds depends on rules: some stand on its path, or below its end.
pub fn leads_to_rules(tree: &TreeNode, reference: &[Term]) -> bool {
    let Some((head, operands)) = reference.split_first() else { return false };
    if !matches!(&head.kind, TermKind::Var(name) if &**name == "data") {
        return false;
    }
    let mut node = tree;
    for operand in operands.iter().take_while(|it| terms::is_ground(it)) {
        match node.child(operand) {
            None => return false,
            Some(child) if !child.values.is_empty() => return true,
            Some(child) => node = child,
        }
    }
    true
}

impl Index {
    /// The index of the rules of one path, after all compile stages; none where there are no rules.
    ///
    /// `is_virtual` says whether a reference leads to rules: what it finds isn't known before an
    /// evaluation.
    pub fn build(rules: &[&Rule], is_virtual: &dyn Fn(&[Term]) -> bool) -> Option<Self> {
        let kind = match rules.first()?.head.value {
            Some(_) => Kind::SingleValue,
            None => Kind::MultiValue,
        };
        let collected = collect::collect(rules, is_virtual);
        let mut index = Self {
            trie: trie::Trie::new(),
            references: collected.references.iter().map(|it| reference(it)).collect(),
            entries: Vec::new(),
            required: Vec::new(),
            memberships: Vec::new(),
            may_exit_early: true,
            default: rules.iter().rposition(|it| it.default),
            kind,
            only_ground_references: collected.only_ground_references,
        };
        let mut constants: Vec<Value> = Vec::new();
        for definition in &collected.definitions {
            let id = u32::try_from(index.entries.len()).unwrap_or(u32::MAX);
            index.entries.push(Entry {
                rule: definition.rule,
                branch: definition.branch,
                outcome: outcome(definition.definition, &mut constants),
            });
            for path in &definition.paths {
                index.trie.insert(&collected.levels, path, id);
            }
            index.required.push(collected.required(&definition.paths));
            let membership = |it: &(u32, u32)| Membership { key: it.0, collection: it.1 };
            index.memberships.push(definition.memberships.iter().map(membership).collect());
        }
        index.may_exit_early = one_outcome(index.entries.iter().map(|it| it.outcome));
        Some(index)
    }

    /// Whether the first definition that holds ends the evaluation of the rule, whichever they are.
    pub fn exits_early(&self) -> bool {
        self.may_exit_early
    }

    /// The default's position among the rules that the index was built from.
    pub fn default_rule(&self) -> Option<usize> {
        self.default
    }

    /// What the rules make.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// True if no rule's path has a variable.
    pub fn only_ground_references(&self) -> bool {
        self.only_ground_references
    }

    /// All definitions and branches, as if nothing were known.
    pub fn all(&self) -> Vec<Candidate> {
        let mut candidates = Vec::with_capacity(self.entries.len());
        self.entries.iter().for_each(|it| push(&mut candidates, it));
        candidates
    }

    /// Finds the definitions that can hold, in their order, and whether the first that holds ends the
    /// evaluation of the rule. `lookup` is scratch space that can be used again, with any index.
    ///
    /// # Errors
    /// Those of the resolver.
    pub fn lookup<'l, R: Resolver>(
        &self,
        lookup: &'l mut Lookup,
        resolver: &mut R,
    ) -> Result<(&'l [Candidate], bool), R::Error> {
        lookup.reset(self.references.len(), self.entries.len());
        self.trie.find(lookup, &self.references, resolver)?;
        let mut exits_early = true;
        let mut constant = None;
        lookup.sort();
        for at in 0..lookup.touched() {
            for id in lookup.ids(at) {
                let Some(entry) = usize::try_from(id).ok().and_then(|id| self.entries.get(id))
                else {
                    continue;
                };
                if !self.holds(id, lookup, resolver)? {
                    continue;
                }
                match (entry.outcome, constant) {
                    (Outcome::Open, _) => exits_early = false,
                    (Outcome::Constant(it), Some(other)) if it != other => exits_early = false,
                    (Outcome::Constant(it), _) => constant = Some(it),
                    (Outcome::Valueless, _) => {}
                }
                push(&mut lookup.candidates, entry);
            }
        }
        Ok((&lookup.candidates, exits_early))
    }

    /// True if what isn't in the tree holds for an entry.
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
            // To look a value up in the collection is what evaluating the first body would do.
            return Ok(true);
        }
        for it in self.memberships.get(id).into_iter().flatten() {
            let Some(key) = lookup.resolve(it.key, &self.references, resolver)?.cloned() else {
                return Ok(false);
            };
            let found = match lookup.resolve(it.collection, &self.references, resolver)? {
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

fn push(candidates: &mut Vec<Candidate>, entry: &Entry) {
    let rule = usize::try_from(entry.rule).unwrap_or(usize::MAX);
    let first = candidates.last().is_none_or(|it| it.rule != rule);
    candidates.push(Candidate {
        rule,
        branch: usize::try_from(entry.branch).unwrap_or(usize::MAX),
        first,
    });
}

fn reference(parts: &[Term]) -> Reference {
    let tail = parts.get(1..).unwrap_or_default().iter().filter_map(terms::constant);
    let (root, path) = match parts.first().map(|it| &it.kind) {
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

fn outcome(rule: &Rule, constants: &mut Vec<Value>) -> Outcome {
    let head = &rule.head;
    let is_partial = head.key.is_some() || !head.reference.iter().skip(1).all(terms::is_constant);
    let Some(value) = head.value.as_ref().filter(|_| !is_partial) else {
        return if is_partial { Outcome::Open } else { Outcome::Valueless };
    };
    let Some(value) = terms::constant(value) else { return Outcome::Open };
    let number = constants.iter().position(|it| *it == value).unwrap_or_else(|| {
        constants.push(value);
        constants.len() - 1
    });
    Outcome::Constant(u32::try_from(number).unwrap_or(u32::MAX))
}

fn one_outcome(mut outcomes: impl Iterator<Item = Outcome>) -> bool {
    let mut constant = None;
    outcomes.all(|it| match it {
        Outcome::Open => false,
        Outcome::Valueless => true,
        Outcome::Constant(it) => *constant.get_or_insert(it) == it,
    })
}
