//! The requirements of definitions on references, read from their bodies.

use std::collections::HashMap;

use super::mapper::{Mapper, split_escaped};
use crate::syntax::tree::{Body, Expr, ExprKind, Logical, Name, Rule, Span, Term, TermKind};
use crate::syntax::walk::{self, Node};
use crate::types::terms;
use crate::value::deeper;

/// The head of references to arguments, as in `args[0]`.
pub(super) const ARGUMENTS: &str = "args";

/// A requirement of a definition on the value of a reference.
#[derive(Debug, Clone)]
pub(super) struct Requirement {
    /// The number of the reference.
    pub(super) reference: u32,
    /// A constant; an array of constants and variables; or a variable, which stands for any value.
    pub(super) value: Term,
    pub(super) kind: MatchKind,
    /// The delimiters at which the value of the reference is split before it's compared, if any.
    pub(super) mapper: Option<Mapper>,
}

/// The relation between the value of a reference and the required one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchKind {
    /// It's equal to it.
    Value,
    /// It's a collection that contains it.
    Member,
    /// It's a string that begins with it, or a collection with such a string.
    Prefix,
    /// It's a string that ends with it, or a collection with such a string.
    Suffix,
}

impl Requirement {
    pub(super) fn is_any(&self) -> bool {
        matches!(self.value.kind, TermKind::Var(_))
    }

    pub(super) fn is_affix(&self) -> bool {
        matches!(self.kind, MatchKind::Prefix | MatchKind::Suffix)
    }

    pub(super) fn is_composite(&self) -> bool {
        !self.value.is_scalar()
    }

    fn same(&self, other: &Self) -> bool {
        let affix = |requirement: &Self| requirement.is_affix().then_some(requirement.kind);
        affix(self) == affix(other)
            && (self.kind == MatchKind::Member) == (other.kind == MatchKind::Member)
            && terms::compare(&self.value, &other.value).is_eq()
    }
}

/// Requirements that must all hold.
type Path = Vec<Requirement>;

/// Requirements that must all hold, which are found by their reference.
#[derive(Default)]
struct Requirements {
    list: Path,
    /// The places in the list, by reference.
    places: HashMap<u32, Vec<usize>>,
}

impl Requirements {
    fn of(&self, reference: u32) -> impl Iterator<Item = &Requirement> {
        let places = self.places.get(&reference).into_iter().flatten();
        places.filter_map(|place| self.list.get(*place))
    }

    fn push(&mut self, requirement: Requirement) {
        self.places.entry(requirement.reference).or_default().push(self.list.len());
        self.list.push(requirement);
    }
}

/// All definitions with their requirements.
pub(super) struct Collected<'r> {
    pub(super) references: Vec<Vec<Term>>,
    /// The references of which some definition requires a value, in the order of the levels.
    pub(super) levels: Vec<u32>,
    /// The other references, which must only be defined, and their place in the order of the levels.
    unvalued: HashMap<u32, usize>,
    pub(super) definitions: Vec<Definition<'r>>,
    pub(super) only_ground_references: bool,
}

/// A definition or an `else` branch.
pub(super) struct Definition<'r> {
    pub(super) rule: u32,
    pub(super) branch: u32,
    pub(super) definition: &'r Rule,
    /// The alternative sets of requirements.
    pub(super) paths: Vec<Path>,
    /// Pairs of a key and the collection that must have it, as numbers of references.
    pub(super) memberships: Vec<(u32, u32)>,
}

impl Collected<'_> {
    /// The references that must be defined on every path, whatever their value.
    pub(super) fn required(&self, paths: &[Path]) -> Vec<u32> {
        // The number of paths that read each reference.
        let mut readers: HashMap<u32, usize> = HashMap::new();
        for (number, path) in paths.iter().enumerate() {
            for requirement in
                path.iter().filter(|requirement| self.unvalued.contains_key(&requirement.reference))
            {
                // A path may read it several times.
                let readers = readers.entry(requirement.reference).or_default();
                if *readers == number {
                    *readers += 1;
                }
            }
        }
        let mut required: Vec<u32> = readers
            .into_iter()
            .filter(|reader| reader.1 == paths.len())
            .map(|reader| reader.0)
            .collect();
        required.sort_unstable_by_key(|reference| self.unvalued.get(reference));
        required
    }
}

/// The largest number of alternative paths of one definition; beyond it, alternatives are ignored.
const MAX_PATHS: usize = 32;

/// Reads the requirements of all definitions of a path.
pub(super) fn collect<'r>(
    rules: &[&'r Rule],
    is_virtual: &dyn Fn(&[Term]) -> bool,
) -> Collected<'r> {
    let mut table = ReferenceTable::default();
    let mut stats = LevelCosts::default();
    let mut definitions: Vec<(Definition<'r>, Scope<'_>)> = Vec::new();
    let mut only_ground_references = true;
    for (number, rule) in (0u32..).zip(rules) {
        for (branch, definition) in (0u32..).zip(rule.branches()) {
            if definition.default {
                continue;
            }
            only_ground_references &=
                definition.head.reference.iter().skip(1).all(terms::is_ground);
            let mut scope = Scope::new(&definition.head.args, is_virtual, Vec::new());
            if !skips_indexing(&definition.body) {
                let mut constants = Constants::new();
                for expr in &definition.body {
                    scope.read(&mut table, &mut stats, expr, &mut constants);
                }
            }
            let definition = Definition {
                rule: number,
                branch,
                definition,
                paths: Vec::new(),
                memberships: Vec::new(),
            };
            definitions.push((definition, scope));
        }
    }
    let sorted = stats.sorted(&table);
    let mut valued = vec![false; table.references.len()];
    for (_, scope) in &definitions {
        let alternatives = scope.disjunctions.iter().flatten().flatten();
        for requirement in scope.all.list.iter().chain(alternatives).filter(|item| !item.is_any()) {
            if let Some(valued) = valued.get_mut(at(requirement.reference)) {
                *valued = true;
            }
        }
    }
    let (levels, unvalued): (Vec<u32>, Vec<u32>) = sorted
        .into_iter()
        .partition(|reference| valued.get(at(*reference)).copied().unwrap_or(false));
    let unvalued =
        unvalued.into_iter().enumerate().map(|(place, reference)| (reference, place)).collect();
    let definitions = definitions.into_iter().map(|(mut definition, scope)| {
        definition.paths = scope.paths();
        // Numbered last: a collection that isn't a level must not take part in the order of levels.
        let numbered =
            scope.memberships.iter().map(|(key, collection)| (*key, table.number(collection)));
        definition.memberships = numbered.collect();
        definition
    });
    let definitions = definitions.collect();
    Collected {
        definitions,
        references: table.references,
        levels,
        unvalued,
        only_ground_references,
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Variables and the constants that they are equal to.
type Constants<'r> = HashMap<&'r str, &'r Term>;

/// The constant that a variable is equal to, if it's known.
fn constant_of<'r>(constants: &Constants<'r>, term: &Term) -> Option<&'r Term> {
    constants.get(&**terms::variable(term)?).copied()
}

/// The constant that a variable is equal to, or a term that isn't a variable.
fn constant_or_term<'t>(constants: &Constants<'t>, term: &'t Term) -> Option<&'t Term> {
    if terms::variable(term).is_some() { constant_of(constants, term) } else { Some(term) }
}

/// The references, numbered in the order in which they are found.
#[derive(Default)]
struct ReferenceTable {
    references: Vec<Vec<Term>>,
    numbers: HashMap<String, Vec<u32>>,
}

impl ReferenceTable {
    fn number(&mut self, parts: &[Term]) -> u32 {
        // References with the same names are few.
        let mut key = String::new();
        for part in parts {
            match &part.kind {
                TermKind::String(text) => key.push_str(text),
                TermKind::Number(number) => key.push_str(&number.to_string()),
                _ => {}
            }
            key.push('\0');
        }
        let same = |other: &[Term]| {
            other.len() == parts.len()
                && other.iter().zip(parts).all(|(a, b)| terms::compare(a, b).is_eq())
        };
        let numbers = self.numbers.entry(key).or_default();
        if let Some(number) = numbers
            .iter()
            .find(|number| self.references.get(at(**number)).is_some_and(|number| same(number)))
        {
            return *number;
        }
        let number = u32::try_from(self.references.len()).unwrap_or(u32::MAX);
        self.references.push(parts.to_vec());
        numbers.push(number);
        number
    }
}

/// The cost of using each reference as a level.
#[derive(Default)]
struct LevelCosts(Vec<(Alternatives, u32)>);

/// The cost of a definition that accepts any of several values of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Alternatives {
    #[default]
    None,
    /// The alternatives lead to the same node.
    Converging,
    /// They lead to different nodes, and the requirements on later levels are dropped.
    Terminal,
}

impl LevelCosts {
    fn update(&mut self, reference: u32, change: impl FnOnce(&mut (Alternatives, u32))) {
        let at = at(reference);
        if self.0.len() <= at {
            self.0.resize(at + 1, <(Alternatives, u32)>::default());
        }
        if let Some(costs) = self.0.get_mut(at) {
            change(costs);
        }
    }

    fn count(&mut self, reference: u32, times: usize) {
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        self.update(reference, |costs| costs.1 = costs.1.saturating_add(times));
    }

    fn alternate(&mut self, reference: u32, how: Alternatives) {
        self.update(reference, |costs| costs.0 = costs.0.max(how));
    }

    /// The references in use, most frequent first; references to arguments come after written ones.
    fn sorted(&self, table: &ReferenceTable) -> Vec<u32> {
        let mut sorted: Vec<(u32, &(Alternatives, u32))> =
            (0..).zip(&self.0).filter(|costs| costs.1.1 > 0).collect();
        let place = |number: u32| {
            let head = table.references.get(at(number)).and_then(|parts| parts.first());
            let made = head.is_some_and(|head| head.is_var(ARGUMENTS));
            (made, head.map(|head| head.span).filter(|_| !made))
        };
        sorted.sort_by(|(a, x), (b, y)| {
            x.0.cmp(&y.0).then_with(|| y.1.cmp(&x.1)).then_with(|| {
                let ((made_a, span_a), (made_b, span_b)) = (place(*a), place(*b));
                let start = |span: Option<Span>| span.map(|span| (span.file, span.start));
                made_a
                    .cmp(&made_b)
                    .then_with(|| start(span_a).cmp(&start(span_b)))
                    .then_with(|| a.cmp(b))
            })
        });
        sorted.into_iter().map(|entry| entry.0).collect()
    }
}

/// The requirements read from one body, or from one operand of `and` or `or`.
struct Scope<'a> {
    args: &'a [Term],
    is_virtual: &'a dyn Fn(&[Term]) -> bool,
    /// The requirements that must always hold.
    all: Requirements,
    /// Alternatives, of each of which one must hold.
    disjunctions: Vec<Vec<Path>>,
    /// The requirements of the bodies around an operand, which may define its variables.
    outer: Path,
    /// Keys by their number, and the collections that must have them.
    memberships: Vec<(u32, Vec<Term>)>,
}

impl<'a> Scope<'a> {
    fn new(args: &'a [Term], is_virtual: &'a dyn Fn(&[Term]) -> bool, outer: Path) -> Self {
        Self {
            args,
            is_virtual,
            all: Requirements::default(),
            disjunctions: Vec::new(),
            outer,
            memberships: Vec::new(),
        }
    }

    /// Reads one statement.
    fn read<'r>(
        &mut self,
        table: &mut ReferenceTable,
        stats: &mut LevelCosts,
        expr: &'r Expr,
        constants: &mut Constants<'r>,
    ) where
        'a: 'r,
    {
        if !expr.with.is_empty() || expr.negated {
            return;
        }
        let mut read = Reader { scope: self, table, stats };
        match &expr.kind {
            ExprKind::And(logical) => deeper(|| read.and(logical, constants)),
            ExprKind::Or(logical) => deeper(|| read.or(logical, constants)),
            ExprKind::Term(term) => {
                if terms::reference(term).is_some() {
                    let plugged = plug(term, constants);
                    let parts =
                        terms::reference(plugged.as_ref().unwrap_or(term)).unwrap_or_default();
                    if !read.collection_key(parts) {
                        read.reference_is(parts, &anything(term.span));
                    }
                }
            }
            ExprKind::Call(parts) => {
                if let Some((function, args)) = parts.split_first() {
                    read.call(function, args, constants);
                }
            }
            _ => {}
        }
    }

    /// The alternative paths on which all requirements hold.
    fn paths(&self) -> Vec<Path> {
        let mut paths = vec![self.all.list.clone()];
        for alternatives in &self.disjunctions {
            if paths.len() * alternatives.len() > MAX_PATHS {
                // Fewer requirements find more definitions, never fewer.
                return vec![self.all.list.clone()];
            }
            let combined = paths.iter().flat_map(|path| {
                alternatives
                    .iter()
                    .map(move |alternative| path.iter().chain(alternative).cloned().collect())
            });
            paths = combined.collect();
        }
        paths
    }

    /// The reference whose value a variable has.
    fn resolve(&self, table: &ReferenceTable, variable: &Name) -> Option<Vec<Term>> {
        let is_it = |term: &Term| matches!(&term.kind, TermKind::Var(name) if name == variable);
        if let Some(known) = self.all.list.iter().chain(&self.outer).find(|item| is_it(&item.value))
        {
            return table.references.get(at(known.reference)).cloned();
        }
        let argument = self.args.iter().position(is_it)?;
        let made = |kind| Term { kind, span: Span::default() };
        let number = crate::value::Number::from(argument as u64);
        Some(vec![made(TermKind::Var(ARGUMENTS.into())), made(TermKind::Number(number))])
    }

    /// Replaces the variable at the head of a reference by the reference whose value it has.
    fn resolve_head(&self, table: &ReferenceTable, parts: &[Term]) -> Option<Vec<Term>> {
        let (head, tail) = parts.split_first()?;
        let Some(name) = terms::variable(head) else { return Some(parts.to_vec()) };
        let mut resolved = self.resolve(table, name)?;
        resolved.extend_from_slice(tail);
        Some(resolved)
    }

    /// The reference that [`Self::resolve_head`] returns, if it's indexable.
    fn indexable(&self, table: &ReferenceTable, parts: &[Term]) -> Option<Vec<Term>> {
        self.resolve_head(table, parts).filter(|parts| self.is_indexable(parts))
    }

    /// Returns `true` if the value of a reference can be known before an evaluation.
    fn is_indexable(&self, parts: &[Term]) -> bool {
        let root = parts.first().is_some_and(
            |first| matches!(&first.kind, TermKind::Var(name) if terms::is_root(name)),
        );
        root && parts.iter().skip(1).all(Term::is_constant) && !(self.is_virtual)(parts)
    }
}

/// A variable, which stands for any value.
fn anything(span: Span) -> Term {
    Term { kind: TermKind::Var("__any__".into()), span }
}

/// Replaces the variables within a reference that are equal to scalars; returns `None` if there are
/// none.
fn plug(term: &Term, constants: &Constants<'_>) -> Option<Term> {
    let TermKind::Ref(parts) = &term.kind else { return None };
    let scalar = |term: &Term| {
        let constant = constants.get(&**terms::variable(term)?)?;
        constant.is_scalar().then(|| (*constant).clone())
    };
    if !parts.iter().skip(1).any(|part| scalar(part).is_some()) {
        return None;
    }
    let plugged = parts
        .iter()
        .enumerate()
        .map(|(at, part)| scalar(part).filter(|_| at > 0).unwrap_or_else(|| part.clone()));
    Some(Term { kind: TermKind::Ref(plugged.collect()), span: term.span })
}

/// The state while one statement is read.
struct Reader<'s, 'a> {
    scope: &'s mut Scope<'a>,
    table: &'s mut ReferenceTable,
    stats: &'s mut LevelCosts,
}

impl<'a> Reader<'_, 'a> {
    fn call<'r>(&mut self, function: &Term, args: &'r [Term], constants: &mut Constants<'r>) {
        let plugged: Vec<Option<Term>> = args.iter().map(|arg| plug(arg, constants)).collect();
        let used: Vec<&Term> = plugged
            .iter()
            .zip(args)
            .map(|(plugged, arg)| plugged.as_ref().unwrap_or(arg))
            .collect();
        let name: Vec<&str> = function
            .ref_parts()
            .iter()
            .map(|term| match &term.kind {
                TermKind::Var(name) => &**name,
                TermKind::String(text) => text,
                _ => "",
            })
            .collect();
        match (name.as_slice(), args, used.as_slice()) {
            // With a third argument, the result is taken, and it may be `false`.
            (["eq" | "equal"], [a, b], [used_a, used_b]) => {
                if self.iterated(used_a, used_b, constants)
                    || self.iterated(used_b, used_a, constants)
                {
                    return;
                }
                if !self.equal(a, used_a, b, used_b, constants) {
                    self.equal(b, used_b, a, used_a, constants);
                }
            }
            (["glob", "match"], [pattern, delimiters, text], _) => {
                self.glob(pattern, delimiters, text)
            }
            (["internal", "member_2"], [element, collection], [_, used]) => {
                self.member(element, collection, used, constants);
            }
            (["startswith"], [_, base], [text, _]) => {
                self.affix(text, base, constants, MatchKind::Prefix);
            }
            (["endswith"], [_, base], [text, _]) => {
                self.affix(text, base, constants, MatchKind::Suffix);
            }
            (["strings", "any_prefix_match"], [_, base], [text, _]) => {
                self.any_affix(text, base, constants, MatchKind::Prefix);
            }
            (["strings", "any_suffix_match"], [_, base], [text, _]) => {
                self.any_affix(text, base, constants, MatchKind::Suffix);
            }
            _ => {}
        }
    }

    fn and<'r>(&mut self, and: &'r Logical, constants: &Constants<'r>)
    where
        'a: 'r,
    {
        // Both operands are read before either is added, since each is a scope of its own.
        let left = self.operand(&and.left, constants);
        let right = self.operand(&and.right, constants);
        self.require(left);
        self.require(right);
    }

    fn or<'r>(&mut self, or: &'r Logical, constants: &Constants<'r>)
    where
        'a: 'r,
    {
        let left = self.operand(&or.left, constants);
        if left.is_empty() {
            return;
        }
        let right = self.operand(&or.right, constants);
        if !right.is_empty() {
            self.require(left.into_iter().chain(right).collect());
        }
    }

    /// Requires one of several alternatives.
    fn require(&mut self, mut alternatives: Vec<Path>) {
        if alternatives.len() > 1 {
            for requirement in alternatives.iter().flatten() {
                self.stats.count(requirement.reference, 1);
            }
            self.scope.disjunctions.push(alternatives);
        } else if let Some(only) = alternatives.pop() {
            only.into_iter().for_each(|requirement| self.insert(requirement));
        }
    }

    /// The alternative paths on which an operand holds; none if nothing is known about it.
    fn operand<'r>(&mut self, body: &'r Body, constants: &Constants<'r>) -> Vec<Path>
    where
        'a: 'r,
    {
        let outer = self.scope.all.list.iter().chain(&self.scope.outer).cloned().collect();
        let mut scratch = Scope::new(self.scope.args, self.scope.is_virtual, outer);
        let mut constants = constants.clone();
        let mut stats = LevelCosts::default();
        for expr in body {
            scratch.read(self.table, &mut stats, expr, &mut constants);
        }
        let mut paths = scratch.paths();
        if let [only] = paths.as_slice()
            && only.is_empty()
        {
            return Vec::new();
        }
        // The operand's variables are unknown outside of it.
        for requirement in paths.iter_mut().flatten().filter(|path| path.is_any()) {
            *requirement = Requirement {
                value: anything(requirement.value.span),
                kind: MatchKind::Value,
                ..requirement.clone()
            };
        }
        paths
    }

    fn reference_is(&mut self, parts: &[Term], value: &Term) -> bool {
        let Some(parts) = self.scope.indexable(self.table, parts) else { return false };
        self.insert_value(&parts, value.clone(), MatchKind::Value, None);
        true
    }

    fn insert_value(
        &mut self,
        parts: &[Term],
        value: Term,
        kind: MatchKind,
        mapper: Option<Mapper>,
    ) {
        let reference = self.table.number(parts);
        self.insert(Requirement { reference, value, kind, mapper });
    }

    /// Adds a requirement to those that must always hold.
    fn insert(&mut self, requirement: Requirement) {
        let mut seen = false;
        let all = &mut self.scope.all;
        for place in all.places.get(&requirement.reference).into_iter().flatten() {
            let Some(other) = all.list.get_mut(*place) else { continue };
            seen = true;
            if other.same(&requirement) {
                return;
            }
            if !requirement.is_any() && !requirement.is_affix() && other.is_any() {
                *other = requirement;
                return;
            }
            if !requirement.is_any() && !other.is_any() {
                let terminal = requirement.is_affix() || other.is_affix();
                self.stats.alternate(
                    requirement.reference,
                    if terminal { Alternatives::Terminal } else { Alternatives::Converging },
                );
            }
        }
        if !seen {
            self.stats.count(requirement.reference, 1);
        }
        self.scope.all.push(requirement);
    }

    /// Reads `a = b`, where `a` is a variable or a reference. Constants are kept as they were
    /// written.
    fn equal<'r>(
        &mut self,
        a: &'r Term,
        used_a: &Term,
        b: &'r Term,
        used_b: &Term,
        constants: &mut Constants<'r>,
    ) -> bool {
        if let Some(name) = terms::variable(a) {
            if b.is_constant() {
                constants.insert(name, b);
            } else if let Some(constant) = constant_of(constants, b) {
                constants.insert(name, constant);
            }
            let Some(value) = indexable_value(used_b) else { return false };
            let Some(parts) = self.scope.resolve(self.table, name) else { return false };
            self.insert_value(&parts, value.clone(), MatchKind::Value, None);
            return true;
        }
        let Some(parts) = terms::reference(used_a) else { return false };
        let Some(parts) = self.scope.indexable(self.table, parts) else { return false };
        let value = constant_of(constants, used_b).or_else(|| indexable_value(used_b));
        let Some(value) = value else { return false };
        self.insert_value(&parts, value.clone(), MatchKind::Value, None);
        true
    }

    /// Reads `a[_] = b`, which requires that the collection contains a scalar.
    fn iterated(&mut self, a: &Term, b: &Term, constants: &Constants<'_>) -> bool {
        let Some(parts) = terms::reference(a) else { return false };
        let Some(parts) = self.scope.resolve_head(self.table, parts) else { return false };
        let Some((last, prefix)) = parts.split_last() else { return false };
        if prefix.is_empty() || terms::is_ground(last) || !self.scope.is_indexable(prefix) {
            return false;
        }
        let value = constant_of(constants, b).unwrap_or(b);
        if !value.is_scalar() {
            return false;
        }
        self.insert_value(prefix, value.clone(), MatchKind::Member, None);
        true
    }

    fn glob(&mut self, pattern: &Term, delimiters: &Term, text: &Term) {
        let Some(delimiters) = delimiter_text(delimiters) else { return };
        let Some(value) = pattern_parts(pattern, &delimiters) else { return };
        let Some(name) = terms::variable(text) else { return };
        if let Some(parts) = self.scope.resolve(self.table, name) {
            self.insert_value(&parts, value, MatchKind::Value, Some(Mapper(delimiters.into())));
        }
    }

    fn member<'r>(
        &mut self,
        element: &'r Term,
        collection: &'r Term,
        used: &Term,
        constants: &Constants<'r>,
    ) {
        if let Some(parts) =
            terms::variable(element).and_then(|name| self.scope.resolve(self.table, name))
        {
            self.member_of_constants(&parts, collection, constants);
            return;
        }
        let known = constant_of(constants, element).unwrap_or(element);
        let is_var = terms::variable(known).is_some();
        if !is_var && !known.is_scalar() {
            return;
        }
        if let Some(parts) = self.validated(used) {
            let kind = if is_var { MatchKind::Value } else { MatchKind::Member };
            self.insert_value(&parts, known.clone(), kind, None);
        }
    }

    /// A reference, or the one whose value a variable has, if its value can be known before an
    /// evaluation.
    fn validated(&self, term: &Term) -> Option<Vec<Term>> {
        let parts = match terms::variable(term) {
            Some(name) => self.scope.resolve(self.table, name)?,
            None => terms::reference(term)?.to_vec(),
        };
        self.scope.is_indexable(&parts).then_some(parts)
    }

    /// Requires that the value of a reference is one of the members of a collection in the policy.
    fn member_of_constants(
        &mut self,
        parts: &[Term],
        collection: &Term,
        constants: &Constants<'_>,
    ) {
        let Some(collection) = constant_or_term(constants, collection) else { return };
        let members: Vec<&Term> = match &collection.kind {
            TermKind::Array(items) => items.iter().collect(),
            TermKind::Set(items) => terms::elements(items),
            TermKind::Object(pairs) => {
                terms::members(pairs).into_iter().map(|member| member.1).collect()
            }
            _ => return,
        };
        if members.iter().any(|member| terms::variable(member).is_some()) {
            return;
        }
        let Some((first, rest)) = members.split_first() else { return };
        let reference = self.table.number(parts);
        let (value, kind) = ((*first).clone(), MatchKind::Value);
        self.insert(Requirement { reference, value, kind, mapper: None });
        if rest.is_empty() {
            return;
        }
        self.stats.count(reference, rest.len());
        self.insert_each(reference, rest, MatchKind::Value, Alternatives::Converging);
    }

    /// Adds a requirement for each value that isn't required of the reference yet.
    fn insert_each(
        &mut self,
        reference: u32,
        values: &[&Term],
        kind: MatchKind,
        alternatives: Alternatives,
    ) {
        let here = || self.scope.all.of(reference);
        let mut concrete = here().filter(|requirement| !requirement.is_any()).count();
        let mut seen: TermSet = here()
            .filter(|requirement| requirement.kind == kind)
            .map(|requirement| OrdTerm(requirement.value.clone()))
            .collect();
        for value in values {
            let value = (*value).clone();
            if seen.insert(OrdTerm(value.clone())) {
                concrete += 1;
                self.scope.all.push(Requirement { reference, value, kind, mapper: None });
            }
        }
        if concrete > 1 {
            self.stats.alternate(reference, alternatives);
        }
    }

    /// Reads `data.groups.g[key]` as a statement, which requires that the collection has the key.
    fn collection_key(&mut self, parts: &[Term]) -> bool {
        let Some((last, prefix)) = parts.split_last() else { return false };
        if !prefix.first().is_some_and(|first| first.is_var("data"))
            || !prefix.iter().skip(1).all(Term::is_constant)
            || (self.scope.is_virtual)(prefix)
        {
            return false;
        }
        let key = match terms::reference(last) {
            Some(key) => Some(key.to_vec()).filter(|parts| self.scope.is_indexable(parts)),
            None => terms::variable(last).and_then(|name| self.scope.resolve(self.table, name)),
        };
        let Some(key) = key.filter(|key| !(self.scope.is_virtual)(key)) else { return false };
        let number = self.table.number(&key);
        let same = |collection: &[Term]| {
            collection.iter().zip(prefix).all(|(a, b)| terms::compare(a, b).is_eq())
        };
        if !self.scope.memberships.iter().any(|(key, collection)| {
            *key == number && collection.len() == prefix.len() && same(collection)
        }) {
            self.scope.memberships.push((number, prefix.to_vec()));
            self.stats.count(number, 1);
        }
        true
    }

    fn affix(&mut self, text: &Term, base: &Term, constants: &Constants<'_>, kind: MatchKind) {
        let Some(parts) = self.validated(text) else { return };
        let base = constant_or_term(constants, base);
        if let Some(base) = base.filter(|base| matches!(base.kind, TermKind::String(_))) {
            self.insert_value(&parts, base.clone(), kind, None);
        }
    }

    fn any_affix(&mut self, text: &Term, base: &Term, constants: &Constants<'_>, kind: MatchKind) {
        let Some(parts) = self.validated(text) else { return };
        let Some(base) = constant_or_term(constants, base) else { return };
        let bases: Vec<&Term> = match &base.kind {
            TermKind::String(_) => return self.insert_value(&parts, base.clone(), kind, None),
            TermKind::Array(items) => items.iter().collect(),
            TermKind::Set(items) => terms::elements(items),
            _ => return,
        };
        if bases.is_empty() || !bases.iter().all(|base| matches!(base.kind, TermKind::String(_))) {
            return;
        }
        let reference = self.table.number(&parts);
        let known = self.scope.all.of(reference).next().is_some();
        self.stats.count(reference, bases.len() - usize::from(known));
        self.insert_each(reference, &bases, kind, Alternatives::Terminal);
    }
}

type TermSet = std::collections::BTreeSet<OrdTerm>;

/// A term with a total order.
struct OrdTerm(Term);

impl Ord for OrdTerm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        terms::compare(&self.0, &other.0)
    }
}

impl PartialOrd for OrdTerm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrdTerm {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OrdTerm {}

/// Returns a term that can be required: a scalar, a variable, or an array of these.
fn indexable_value(term: &Term) -> Option<&Term> {
    let flat = |term: &Term| term.is_scalar() || terms::variable(term).is_some();
    match &term.kind {
        TermKind::Array(items) => items.iter().all(flat).then_some(term),
        _ => flat(term).then_some(term),
    }
}

/// The characters at which `glob.match` splits; `None` if they aren't constants.
fn delimiter_text(term: &Term) -> Option<String> {
    let TermKind::Array(items) = &term.kind else { return None };
    if items.is_empty() {
        return Some(".".to_owned());
    }
    let text = |item: &Term| {
        if let TermKind::String(text) = &item.kind { Some(text.to_string()) } else { None }
    };
    items.iter().map(text).collect()
}

/// A glob pattern as an array of its parts, with a variable for `*`; `None` if it has other
/// wildcards.
fn pattern_parts(pattern: &Term, delimiters: &str) -> Option<Term> {
    let TermKind::String(text) = &pattern.kind else { return None };
    let parts = split_escaped(text, delimiters).into_iter().map(|part| {
        let part = String::from_utf8_lossy(part);
        if part == "*" {
            return Some(Term { kind: TermKind::Var("$globwildcard".into()), span: pattern.span });
        }
        let mut escaped = false;
        for c in part.chars() {
            if c == '\\' {
                escaped = !escaped;
                continue;
            }
            if !escaped && matches!(c, '[' | '?' | '{' | '*') {
                return None;
            }
            escaped = false;
        }
        Some(Term { kind: TermKind::String(part.into()), span: pattern.span })
    });
    Some(Term { kind: TermKind::Array(parts.collect::<Option<_>>()?), span: pattern.span })
}

/// Returns `true` if a body prints, itself or in closures other than comprehensions. A definition
/// that does is always evaluated.
fn skips_indexing(body: &Body) -> bool {
    let prints = |node: Node<'_>| matches!(node, Node::Expr(expr) if is_print(expr));
    body.iter().any(|expr| is_print(expr) || expr.kind.has_bodies() && walk::any(expr, prints))
}

fn is_print(expr: &Expr) -> bool {
    let ExprKind::Call(parts) = &expr.kind else { return false };
    let Some(TermKind::Ref(name)) = parts.first().map(|first| &first.kind) else { return false };
    // A host that runs tests may report their cases by a function of its own.
    matches!(name.as_slice(), [head, Term { kind: TermKind::String(name), .. }]
        if head.is_var("internal") && (&**name == "print" || name.ends_with("test_case")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparing each reference with all before it would not end.
    #[test]
    fn references_that_differ_in_any_operand_are_found_at_once() {
        let term = |kind| Term { kind, span: Span::default() };
        let reference = |name: u32| {
            let name = TermKind::String(format!("a{name}").into());
            let parts = [TermKind::Var("data".into()), name, TermKind::String("b".into())];
            parts.map(term)
        };
        let mut table = ReferenceTable::default();
        for _ in 0..2 {
            for number in 0..200_000 {
                assert_eq!(table.number(&reference(number)), number);
            }
        }
    }
}
