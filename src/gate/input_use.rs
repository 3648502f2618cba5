//! The way in which rules use `input`.
//!
//! Owns following a path below `input` through the variables of a rule, the arguments of functions
//! and rules whose value is a part of the input, and what it requires: a field requires an object,
//! of the input itself or, with combined inputs, of each one's contents. Which rules matter for a
//! verdict belongs to `reach`, which fields the inputs don't have to `missing_fields`.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::rego::builtins;
use crate::rego::syntax::tree::{
    Every, Expr, ExprKind, Head, Name, Rule, Span, Term, TermKind, With, is_root,
};
use crate::rego::syntax::visit::{Visit, vars, walk_expr, walk_term, walk_with};
use crate::rego::types::{Function, Type};
use crate::text::data_reference;

/// The way in which policies use a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InputUse {
    /// Not at all.
    #[default]
    None,
    /// By references to its fields only, which require an object.
    Fields,
    /// As a whole, or by a key that may be an index.
    Whole,
}

/// The keys that readers look for in a statement, an envelope and a bundle.
pub(super) const STATEMENT_KEYS: &[&str] = &["_type", "subject", "predicateType", "predicate"];
pub(super) const ENVELOPE_KEYS: &[&str] = &["payload", "payloadType", "signatures"];
pub(super) const BUNDLE_KEYS: &[&str] = &["dsseEnvelope", "mediaType", "verificationMaterial"];

/// The field that holds the policy's arguments.
pub(super) const ARGUMENTS: &str = "args";

/// The field in which policies look for the project. The engine for which policy documents are
/// written names it so, whatever the product is called here.
pub(super) const METADATA: &str = "chainloop_metadata";

/// The field that an array is wrapped in.
pub(super) const ELEMENTS: &str = "elements";

/// The field of a combined input that holds the document.
pub(super) const CONTENTS: &str = "contents";

/// Returns `true` for a field whose name matters to a gate.
fn is_known(name: &str) -> bool {
    let own: &[&str] = &[ARGUMENTS, METADATA, ELEMENTS, CONTENTS];
    [own, STATEMENT_KEYS, ENVELOPE_KEYS, BUNDLE_KEYS].iter().any(|keys| keys.contains(&name))
}

/// The use of a document, with the fields that are named.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentUse {
    pub how: InputUse,
    /// The named fields.
    named: BTreeSet<Name>,
    /// Set if it is given to a function that takes any object.
    members: bool,
    /// Set if the document itself is used, not just what is in it.
    pub bare: bool,
}

/// The use of `input`, and of each one's `contents` if it is the array of combined inputs.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleInput {
    pub alone: DocumentUse,
    pub contents: DocumentUse,
    /// Set if `contents` of the elements of `input` is named, which combined inputs have.
    pub names_contents: bool,
    /// The paths that are looked at, each with the first place.
    pub paths: BTreeMap<(Vec<Step>, How), Span>,
}

impl DocumentUse {
    fn extend(&mut self, other: &Self) {
        self.how = self.how.max(other.how);
        self.named.extend(other.named.iter().cloned());
        self.members |= other.members;
        self.bare |= other.bare;
    }

    /// Returns `true` if one of these fields may be looked at.
    pub fn may_use(&self, fields: &[&str]) -> bool {
        self.members || self.names(fields)
    }

    /// Returns `true` if one of these fields is named.
    pub fn names(&self, fields: &[&str]) -> bool {
        fields.iter().any(|field| self.named.contains(*field))
    }

    /// Returns the named fields that the gate doesn't add.
    fn own(&self) -> impl Iterator<Item = &Name> {
        self.named.iter().filter(|name| ![ARGUMENTS, METADATA].contains(&&***name))
    }

    /// Returns `true` if a field is named that the gate doesn't add.
    pub fn names_own(&self) -> bool {
        self.own().next().is_some()
    }

    /// Returns the fields of which a document must have one to be of any use; empty if it may be of
    /// use in another way.
    pub fn fields(&self) -> Vec<String> {
        let is_known = self.how == InputUse::Fields && !self.members;
        self.own().filter(|_| is_known).map(ToString::to_string).collect()
    }

    /// Adds the use of a path below the document.
    fn path(&mut self, path: &[Step]) {
        let how = match path.first() {
            Some(Step::Name(name)) => {
                self.named.insert(name.clone());
                InputUse::Fields
            }
            Some(Step::Member) => {
                self.members = true;
                InputUse::Fields
            }
            Some(Step::Any) => InputUse::Whole,
            None => {
                self.bare = true;
                InputUse::Whole
            }
        };
        self.how = self.how.max(how);
    }
}

impl RuleInput {
    pub fn extend(&mut self, other: &Self) {
        self.alone.extend(&other.alone);
        self.contents.extend(&other.contents);
        self.names_contents |= other.names_contents;
        for (path, span) in &other.paths {
            self.paths.entry(path.clone()).or_insert(*span);
        }
    }

    /// Adds what a rule looks at.
    fn look(&mut self, look: &Look, span: Span) {
        if look.root != Root::Input {
            return;
        }
        self.paths.entry((look.path.clone(), look.how)).or_insert(span);
        // The number of combined inputs says nothing about their contents.
        if look.how == How::Counted && look.path.is_empty() {
            self.alone.path(&look.path);
        } else {
            self.path(&look.path);
        }
    }

    fn path(&mut self, path: &[Step]) {
        self.alone.path(path);
        // Policy documents get arrays in an object.
        let elements = match path {
            [Step::Name(name), rest @ ..] if **name == *ELEMENTS => rest,
            [Step::Name(_) | Step::Member, ..] => return,
            _ => path,
        };
        match elements {
            [_, Step::Name(part), rest @ ..] if **part == *CONTENTS => {
                self.names_contents = true;
                self.contents.path(rest);
            }
            [_, Step::Name(_), ..] => {}
            _ => {
                self.contents.how = InputUse::Whole;
                self.contents.bare = true;
            }
        }
    }
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A field.
    Name(Name),
    /// A field of unknown name.
    Member,
    /// Anything.
    Any,
}

/// The most steps of a path; further ones are ignored.
const MAX_STEPS: usize = 8;

/// The most paths that are told apart by all their steps, for one argument or rule.
const MAX_PATHS: usize = 200;

/// Returns a path below a document, as far as it is followed.
fn path_of<'s>(path: impl IntoIterator<Item = &'s Step>) -> Vec<Step> {
    path.into_iter().take(MAX_STEPS).cloned().collect()
}

/// Reduces a path below a document to what a verdict requires of it, so that there are few of them.
fn reduced<'s>(path: impl IntoIterator<Item = &'s Step>) -> Vec<Step> {
    let mut steps = Vec::new();
    // The longest is `elements[_].contents.predicate`.
    for step in path.into_iter().take(4) {
        let (step, ends) = match step {
            Step::Name(name) if !is_known(name) => (step.clone(), true),
            Step::Name(name) => (step.clone(), **name != *ELEMENTS && **name != *CONTENTS),
            Step::Any => (Step::Any, false),
            Step::Member => (step.clone(), true),
        };
        steps.push(step);
        if ends {
            break;
        }
    }
    steps
}

/// The head of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    Input,
    Data,
    /// An argument of the function, from 0.
    Argument(usize),
}

/// The purpose of reading the value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    Look(How),
    /// It is an argument of a function, whose path is given, from 0.
    Pass(Vec<Name>, usize),
}

/// The way in which a value is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    /// Only its size matters.
    Counted,
    /// The rule asks whether it is there: under `not`, as a statement, or with a default.
    Tested,
    Read,
    /// It is a part of what the service is asked: without it, there is no call.
    Asked,
}

/// A place at which a rule needs a value.
#[derive(Debug)]
struct Use {
    root: Root,
    path: Vec<Step>,
    purpose: Purpose,
    /// Set if it is a part of what the service is asked.
    asked: bool,
    span: Span,
}

/// A path below a document that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    root: Root,
    path: Vec<Step>,
    how: How,
}

/// What is looked at, each with the first place.
type Looks = BTreeMap<Look, Span>;

/// The most variables, functions or rules between a document and a reference.
const MAX_LINKS: usize = 32;

/// A variable that stands for a reference.
#[derive(Debug)]
struct Alias {
    head: Name,
    steps: Vec<Step>,
    /// The statement that defines it.
    span: Span,
}

fn steps(operands: &[Term]) -> impl Iterator<Item = Step> {
    operands.iter().map(|term| match &term.kind {
        TermKind::String(name) => Step::Name(Name::from(&**name)),
        _ => Step::Any,
    })
}

/// Returns the names at the beginning of a path.
fn names(path: &[Step]) -> Vec<Name> {
    let name = |step: &Step| match step {
        Step::Name(name) => Some(name.clone()),
        _ => None,
    };
    path.iter().map_while(name).collect()
}

fn var(term: &Term) -> Option<&Name> {
    match &term.kind {
        TermKind::Var(name) => Some(name),
        _ => None,
    }
}

/// Returns the variable at the head of a reference, and its operands.
fn reference(term: &Term) -> Option<(&Name, &[Term])> {
    match &term.kind {
        TermKind::Var(name) => Some((name, &[])),
        TermKind::Ref(parts) => {
            let (head, operands) = parts.split_first()?;
            Some((var(head)?, operands))
        }
        _ => None,
    }
}

/// Returns the full name of a function, in parts.
fn function(operator: &Term) -> Option<Vec<Name>> {
    let (head, operands) = reference(operator)?;
    let parts = names(&steps(operands).collect::<Vec<_>>());
    (parts.len() == operands.len()).then(|| std::iter::once(head.clone()).chain(parts).collect())
}

/// Returns `true` for the function that prints, as the compiler calls it.
fn is_print(operator: &Term) -> bool {
    function(operator).is_some_and(|name| name.join(".") == "internal.print")
}

/// Returns the variable that gets the result of a call, if it has one. Functions that aren't
/// built in have an unknown number of arguments; the compiler's own variables are their results.
fn result(terms: &[Term]) -> Option<&Name> {
    let (operator, arguments) = terms.split_first()?;
    let name = var(arguments.last()?)?;
    let joined = function(operator)?.join(".");
    let is_result = match argument_types(&joined) {
        Some(types) => arguments.len() > types.len(),
        None => name.starts_with("__local"),
    };
    is_result.then_some(name)
}

/// Returns the types of the arguments that a built-in function takes.
fn argument_types(name: &str) -> Option<Vec<Type>> {
    Some(Function::parse(builtins::lookup(name)?.signature).ok()?.args)
}

/// Returns the variables that a statement may define, each with the term whose value it gets.
fn definitions(expr: &Expr) -> Vec<(&Name, &Term)> {
    let ExprKind::Call(terms) = &expr.kind else { return Vec::new() };
    let [operator, left, right] = terms.as_slice() else { return Vec::new() };
    let is_equality = matches!(reference(operator), Some((name, [])) if **name == *"eq");
    if !is_equality || expr.negated || !expr.with.is_empty() {
        return Vec::new();
    }
    let right_defined = var(right).filter(|_| !expr.from_assignment || var(left).is_none());
    let left = var(left)
        .map(|name| (name, right))
        .into_iter()
        .chain(right_defined.map(|name| (name, left)));
    left.collect()
}

/// A visitor that collects the variables that stand for references.
#[derive(Debug, Default)]
struct Aliases {
    found: BTreeMap<Name, Alias>,
    /// Variables with several statements, of which all but one compare.
    compared: BTreeSet<Name>,
    defined: BTreeSet<Name>,
    /// The parameters that are variables.
    parameters: BTreeMap<Name, usize>,
    /// The variables that the compiler made for the arguments of `print`.
    printed: BTreeSet<Name>,
    /// Variables, each with those that its value is made of.
    flows: Vec<(Name, BTreeSet<Name>)>,
    /// The variables that are a part of what the service is asked.
    asked: BTreeSet<Name>,
    /// The functions of the service.
    functions: BTreeSet<String>,
}

impl Aliases {
    fn root(&self, name: &Name) -> Option<Root> {
        match &**name {
            "input" => Some(Root::Input),
            "data" => Some(Root::Data),
            _ => self.parameters.get(name).map(|index| Root::Argument(*index)),
        }
    }

    fn add(&mut self, name: &Name, of: &Term, more: Option<Step>, span: Span) {
        if self.root(name).is_some() {
            return;
        }
        if !self.defined.insert(name.clone()) {
            self.compared.insert(name.clone());
        }
        let Some((head, operands)) = reference(of) else { return };
        let steps = steps(operands).chain(more).collect();
        self.found.insert(name.clone(), Alias { head: head.clone(), steps, span });
    }

    /// Returns `true` for a call of the service.
    fn asks(&self, terms: &[Term]) -> bool {
        let operator = terms.first().and_then(function);
        operator.is_some_and(|name| self.functions.contains(&name.join(".")))
    }

    /// Returns `true` if a statement defines a part of what the service is asked.
    fn defines_asked(&self, expr: &Expr) -> bool {
        let is_asked = |name: &Name| self.asked.contains(name);
        let of_call = match &expr.kind {
            ExprKind::Call(terms) => result(terms).is_some_and(is_asked),
            _ => false,
        };
        of_call || definitions(expr).into_iter().any(|(name, _)| is_asked(name))
    }

    /// Follows what the service is asked back to all the variables that it is made of.
    fn close(&mut self) {
        let mut open: Vec<Name> = self.asked.iter().cloned().collect();
        while let Some(name) = open.pop() {
            for (_, parts) in self.flows.iter().filter(|(defined, _)| *defined == name) {
                for part in parts {
                    if self.asked.insert(part.clone()) {
                        open.push(part.clone());
                    }
                }
            }
        }
    }

    fn get(&self, name: &Name) -> Option<&Alias> {
        self.found.get(name).filter(|_| !self.compared.contains(name))
    }

    /// Returns the path that a variable stands for, and the variables on the way.
    fn path(&self, name: &Name) -> Option<(Root, Vec<Step>, Vec<Name>)> {
        let (mut parts, mut names) = (Vec::new(), Vec::new());
        let mut at = name;
        let root = loop {
            if let Some(root) = self.root(at) {
                break root;
            }
            let alias = self.get(at).filter(|_| names.len() < MAX_LINKS)?;
            names.push(at.clone());
            parts.push(alias.steps.as_slice());
            at = &alias.head;
        };
        Some((root, parts.into_iter().rev().flatten().cloned().collect(), names))
    }
}

impl Visit for Aliases {
    fn expr(&mut self, expr: &Expr) {
        for (name, term) in definitions(expr) {
            self.add(name, term, None, expr.span);
            self.flows.push((name.clone(), vars(term)));
        }
        if let ExprKind::Every(every) = &expr.kind {
            let Every { value, domain, .. } = &**every;
            if let Some(name) = var(value) {
                self.add(name, domain, Some(Step::Any), expr.span);
                self.flows.push((name.clone(), vars(domain)));
            }
        }
        if let ExprKind::Call(terms) = &expr.kind {
            let arguments = || terms.iter().skip(1).flat_map(vars);
            if self.asks(terms) {
                self.asked.extend(arguments());
            }
            if let Some(name) = result(terms) {
                self.flows.push((name.clone(), arguments().collect()));
            }
        }
        if let ExprKind::Call(terms) = &expr.kind
            && let [operator, arguments] = terms.as_slice()
            && is_print(operator)
            && let TermKind::Array(arguments) = &arguments.kind
        {
            self.printed.extend(arguments.iter().filter_map(var).cloned());
        }
        walk_expr(self, expr);
    }
}

/// The references of a definition to `input`, `data` and the arguments of a function.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The paths below `data`, with their positions.
    pub data: Vec<(Vec<String>, Span)>,
    /// The paths below `data` of which elements are looked at.
    pub collections: Vec<(Vec<String>, Span)>,
    uses: Vec<Use>,
    /// The paths that are the value of the rule, if it isn't a function.
    values: Vec<(Root, Vec<Step>)>,
    /// The paths below `data` of functions and rules that a `with` replaces.
    replaced: Vec<Vec<Name>>,
    arity: usize,
    aliases: Aliases,
    used: BTreeSet<Name>,
    /// Set within an argument of `print`.
    in_print: bool,
    /// Set within what the service is asked.
    in_question: bool,
    /// The number of `not` around.
    negations: usize,
}

impl References {
    /// Visits a rule. `functions` are those of the service.
    pub fn of(rule: &Rule, functions: &BTreeSet<String>) -> Self {
        let mut visitor = Self { arity: rule.head.args.len(), ..Self::default() };
        visitor.aliases.functions.clone_from(functions);
        for (index, parameter) in rule.head.args.iter().enumerate() {
            if let Some(name) = var(parameter) {
                visitor.aliases.parameters.insert(name.clone(), index);
            }
        }
        visitor.aliases.rule(rule);
        visitor.aliases.close();
        for (index, parameter) in rule.head.args.iter().enumerate() {
            visitor.pattern(index, parameter);
        }
        visitor.rule(rule);
        // A variable that nothing refers to: its statement still needs the value.
        let unused = visitor.aliases.found.keys().filter(|name| !visitor.used.contains(*name));
        let unused: Vec<_> = unused.filter_map(|name| visitor.aliases.path(name)).collect();
        for (root, path, _) in unused {
            visitor.needs((root, path), Purpose::Look(How::Read), rule.span);
        }
        visitor
    }

    /// Adds what a parameter requires of its argument.
    fn pattern(&mut self, index: usize, parameter: &Term) {
        let mut read = |path| {
            self.needs((Root::Argument(index), path), Purpose::Look(How::Read), parameter.span);
        };
        match &parameter.kind {
            TermKind::Var(_) => {}
            TermKind::Object(members) => {
                read(vec![Step::Member]);
                for (key, _) in members {
                    steps(std::slice::from_ref(key))
                        .filter(|step| matches!(step, Step::Name(_)))
                        .for_each(|name| read(vec![name]));
                }
            }
            _ => read(Vec::new()),
        }
    }

    /// Returns the path of a reference, and marks the variables on the way as used.
    fn path(&mut self, term: &Term) -> Option<(Root, Vec<Step>)> {
        let (head, operands) = reference(term)?;
        let (root, mut path, names) = self.aliases.path(head)?;
        self.used.extend(names);
        path.extend(steps(operands));
        Some((root, path))
    }

    /// Returns `true` if a statement only gives the value at a path a name.
    fn is_alias(&self, name: &Name, span: Span) -> bool {
        self.aliases.get(name).is_some_and(|alias| alias.span == span)
            && self.aliases.path(name).is_some()
    }

    /// Adds the use of a path by a term.
    fn needs(&mut self, (root, path): (Root, Vec<Step>), purpose: Purpose, span: Span) {
        if root == Root::Data && names(&path).len() < path.len() {
            self.has_elements(&path, span);
        }
        // Printing a document whole isn't looking at it.
        if !(self.in_print && path.is_empty() && purpose == Purpose::Look(How::Read)) {
            self.uses.push(Use { root, path, purpose, asked: self.in_question, span });
        }
    }

    /// Records a path below `data` of which elements are looked at.
    fn has_elements(&mut self, path: &[Step], span: Span) {
        let names = names(path).iter().map(ToString::to_string).collect();
        self.collections.push((names, span));
    }

    /// Visits what the service may be asked.
    fn within_question(&mut self, asked: bool, visit: impl FnOnce(&mut Self)) {
        let outer = self.in_question;
        self.in_question |= asked;
        visit(self);
        self.in_question = outer;
    }

    /// Records a reference below `data` that is written in the policy.
    fn names_data(&mut self, term: &Term) {
        if let Some((head, operands)) = reference(term)
            && **head == *"data"
        {
            let keys = names(&steps(operands).collect::<Vec<_>>());
            self.data.push((keys.iter().map(ToString::to_string).collect(), term.span));
        }
    }

    fn operands(&mut self, term: &Term) {
        for part in reference(term).map_or(&[][..], |(_, operands)| operands) {
            self.term(part);
        }
    }

    /// Visits a call: the function, its arguments, and the result if it is given as another one.
    fn call(&mut self, terms: &[Term]) {
        let Some((operator, arguments)) = terms.split_first() else { return };
        self.names_data(operator);
        let Some(name) = function(operator) else {
            return terms.iter().for_each(|term| self.term(term));
        };
        let joined = name.join(".");
        let is_own = name.first().is_some_and(|head| **head == *"data");
        let types = if is_own { None } else { argument_types(&joined) };
        if self.aliases.asks(terms) && !self.in_question {
            return self.within_question(true, |visitor| visitor.call(terms));
        }
        for (index, term) in arguments.iter().enumerate() {
            let Some((root, mut path)) = self.path(term) else {
                self.term(term);
                continue;
            };
            self.names_data(term);
            self.operands(term);
            let is_collection =
                matches!((&*joined, index), ("internal.member_2", 1) | ("internal.member_3", 2));
            if root == Root::Data && is_collection {
                self.has_elements(&path, term.span);
            }
            let purpose = match types.as_ref().and_then(|types| types.get(index)) {
                _ if is_own => Purpose::Pass(name.clone(), index),
                Some(_) if joined == "count" => Purpose::Look(How::Counted),
                Some(Type::Object(_)) => match (&*joined, arguments.get(1)) {
                    ("object.get", Some(key)) => {
                        path.push(first_key(key));
                        Purpose::Look(How::Tested)
                    }
                    _ => {
                        path.push(Step::Member);
                        Purpose::Look(How::Read)
                    }
                },
                _ => Purpose::Look(How::Read),
            };
            self.needs((root, path), purpose, term.span);
        }
    }
}

/// Returns the step to the field that `object.get` looks up: a key, or an array of keys.
fn first_key(key: &Term) -> Step {
    let key = match &key.kind {
        TermKind::Array(keys) => keys.first(),
        _ => Some(key),
    };
    let mut steps = steps(key.map(std::slice::from_ref).unwrap_or_default());
    steps.find(|step| matches!(step, Step::Name(_))).unwrap_or(Step::Member)
}

impl Visit for References {
    fn term(&mut self, term: &Term) {
        self.names_data(term);
        if let Some(path) = self.path(term) {
            // What a variable stands for is evaluated before the `not` around the variable.
            let is_direct = reference(term).is_some_and(|(head, _)| is_root(head));
            let how = if self.negations > 0 && is_direct { How::Tested } else { How::Read };
            self.needs(path, Purpose::Look(how), term.span);
            return self.operands(term);
        }
        match &term.kind {
            TermKind::Ref(parts) => {
                for part in parts {
                    self.term(part);
                }
            }
            TermKind::Call(terms) => self.call(terms),
            _ => walk_term(self, term),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let is_test = match &expr.kind {
            ExprKind::Term(term) => reference(term).is_some(),
            ExprKind::Not(_) => true,
            _ => false,
        };
        let is_test = usize::from(expr.negated || is_test);
        self.negations += is_test;
        let asked = self.aliases.defines_asked(expr);
        self.within_question(asked, |visitor| visitor.statement(expr));
        self.negations -= is_test;
    }

    fn with(&mut self, with: &With) {
        // Replacing `input` doesn't use it.
        match reference(&with.target) {
            Some((name, operands)) if operands.is_empty() || **name == *"input" => {
                self.term(&with.value);
            }
            _ => {
                match function(&with.target).as_deref() {
                    Some([head, path @ ..]) if **head == *"data" => {
                        self.replaced.push(path.to_vec());
                    }
                    // What stands for a built-in function may look at all of what it is given.
                    _ => {
                        let whole = (Root::Input, Vec::new());
                        self.needs(whole, Purpose::Look(How::Read), with.target.span);
                    }
                }
                walk_with(self, with);
            }
        }
    }

    fn head(&mut self, head: &Head) {
        for part in head.reference.iter().skip(1).chain(&head.key) {
            self.term(part);
        }
        let Some(value) = &head.value else { return };
        let is_document = head.key.is_none() && self.arity == 0 && head.reference.len() == 1;
        match self.path(value).filter(|_| is_document) {
            Some(path) => {
                self.names_data(value);
                self.values.push(path);
                self.operands(value);
            }
            None => self.term(value),
        }
    }
}

impl References {
    /// Visits a statement.
    fn statement(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Every(every) if self.is_every(every, expr.span) => {
                self.names_data(&every.domain);
                self.operands(&every.domain);
                self.body(&every.body);
            }
            _ => {
                for (name, term) in definitions(expr) {
                    if self.aliases.printed.contains(name) {
                        let outer = std::mem::replace(&mut self.in_print, true);
                        self.term(term);
                        self.in_print = outer;
                        return;
                    }
                    if self.is_alias(name, expr.span) {
                        self.names_data(term);
                        return self.operands(term);
                    }
                }
                match &expr.kind {
                    ExprKind::Call(terms) => self.call(terms),
                    _ => return walk_expr(self, expr),
                }
            }
        }
        for with in &expr.with {
            self.with(with);
        }
    }

    fn is_every(&self, every: &Every, span: Span) -> bool {
        var(&every.value).is_some_and(|name| self.is_alias(name, span))
    }
}

/// The parts of `input` that each rule of some policies uses.
#[derive(Debug, Default)]
pub(super) struct InputUses {
    rules: BTreeMap<String, RuleInput>,
    /// The same for definitions that belong to no known rule.
    elsewhere: RuleInput,
    /// The parts used through the whole value of a rule that is a part of the input.
    values: BTreeMap<String, RuleInput>,
}

impl InputUses {
    /// Returns what rules look at, by the references in their definitions. A definition has the
    /// path of its rule, if that is known.
    pub fn new(definitions: &[(Option<&str>, References)]) -> Self {
        let mut links = Links::default();
        for (path, references) in definitions {
            links.replaced.extend(references.replaced.iter().map(|path| data_reference(path)));
            let Some(path) = path else { continue };
            links.definitions.entry(path).or_default().push(references);
            if !references.values.is_empty() {
                links.parts.entry(path).or_default().extend(&references.values);
            }
        }
        let mut found = Self::default();
        for (path, references) in definitions {
            let mut looks = Looks::new();
            for it in &references.uses {
                links.follow(it, it.root, &it.path, 0, &mut looks);
            }
            let input = match path {
                Some(path) => found.rules.entry((*path).to_owned()).or_default(),
                None => &mut found.elsewhere,
            };
            for (look, span) in &looks {
                input.look(look, *span);
            }
        }
        for path in links.parts.keys().copied().collect::<Vec<_>>() {
            let value = found.values.entry(path.to_owned()).or_default();
            for path in &*links.value(path, 0) {
                value.path(path);
            }
        }
        found
    }

    /// Returns what a verdict looks at that uses the values of the rules `roots`, and depends on the
    /// rules `reached`.
    pub fn of<'r>(
        &self,
        roots: impl IntoIterator<Item = &'r str>,
        reached: impl IntoIterator<Item = &'r str>,
    ) -> RuleInput {
        let mut whole = self.elsewhere.clone();
        let values = roots.into_iter().filter_map(|rule| self.values.get(rule));
        let rules = reached.into_iter().filter_map(|rule| self.rules.get(rule));
        values.chain(rules).for_each(|input| whole.extend(input));
        whole
    }
}

/// The ways on which parts of the input reach other rules and functions.
#[derive(Debug, Default)]
struct Links<'d> {
    definitions: BTreeMap<&'d str, Vec<&'d References>>,
    /// The paths that are the values of rules.
    parts: BTreeMap<&'d str, Vec<&'d (Root, Vec<Step>)>>,
    /// The functions and rules that a `with` replaces.
    replaced: BTreeSet<String>,
    arguments: BTreeMap<(String, usize), Rc<Looks>>,
    values: BTreeMap<String, Rc<BTreeSet<Vec<Step>>>>,
}

impl Links<'_> {
    /// Adds what is looked at below the input by a use, at a path that it may have.
    fn follow(&mut self, it: &Use, root: Root, path: &[Step], depth: usize, looks: &mut Looks) {
        let mut look = |path, how, span| {
            looks.entry(Look { root, path, how }).or_insert(span);
        };
        match (root, &it.purpose) {
            (Root::Data, _) => {
                let asked = it.asked && self.is_sole(path);
                let it = &Use { asked, path: Vec::new(), purpose: it.purpose.clone(), ..*it };
                for path in self.parts_at(path, depth) {
                    self.follow(it, Root::Input, &path, depth, looks);
                }
            }
            (Root::Input | Root::Argument(_), Purpose::Pass(function, argument)) => {
                let inner = self.argument(function, *argument, depth + 1);
                let is_only = self.definitions_of(function) == 1;
                for (of_argument, span) in &*inner {
                    let how = match of_argument.how {
                        // What a function needs for its result, a call with the result needs.
                        How::Read if it.asked && is_only => How::Asked,
                        how => how,
                    };
                    let span = if of_argument.path.is_empty() { it.span } else { *span };
                    look(path_of(path.iter().chain(&of_argument.path)), how, span);
                }
                if it.asked {
                    look(path_of(path), How::Asked, it.span);
                }
            }
            (Root::Input | Root::Argument(_), Purpose::Look(how)) => {
                let is_asked = it.asked && *how != How::Tested;
                let how = if is_asked { How::Asked } else { *how };
                look(path_of(path), how, it.span);
            }
        }
    }

    /// Returns the number of definitions of a function, of which the path is given.
    fn definitions_of(&self, function: &[Name]) -> usize {
        let path = data_reference(function.get(1..).unwrap_or_default());
        self.definitions.get(path.as_str()).map_or(0, Vec::len)
    }

    /// Returns `true` if a path below `data` is that of a rule with only one value, or below it.
    fn is_sole(&self, path: &[Step]) -> bool {
        let names = names(path);
        let rules = (1..=names.len()).filter_map(|length| names.get(..length));
        rules.map(data_reference).any(|rule| {
            let count = |definitions: &Vec<&References>| definitions.len() == 1;
            self.definitions.get(rule.as_str()).is_some_and(count)
                && self.parts.get(rule.as_str()).is_some_and(|parts| parts.len() == 1)
        })
    }

    /// Returns what a function looks at below one of its arguments.
    fn argument(&mut self, function: &[Name], index: usize, depth: usize) -> Rc<Looks> {
        let key = (data_reference(function.get(1..).unwrap_or_default()), index);
        if let Some(known) = self.arguments.get(&key) {
            return Rc::clone(known);
        }
        let root = Root::Argument(index);
        let mut looks = Looks::new();
        let definitions = self.definitions.get(key.0.as_str()).cloned().unwrap_or_default();
        let is_known = !definitions.is_empty()
            && definitions.iter().all(|it| index < it.arity)
            && !self.replaced.contains(&key.0);
        if is_known && depth <= MAX_LINKS {
            let uses = definitions.iter().flat_map(|it| &it.uses);
            for it in uses.filter(|it| it.root == root) {
                self.follow(it, root, &it.path, depth, &mut looks);
            }
        } else {
            let span = definitions.first().and_then(|it| it.uses.first()).map(|it| it.span);
            looks.insert(Look { root, path: Vec::new(), how: How::Read }, span.unwrap_or_default());
        }
        if looks.len() > MAX_PATHS {
            let short =
                |(look, span): (Look, Span)| (Look { path: reduced(&look.path), ..look }, span);
            looks = looks.into_iter().map(short).collect();
        }
        let looks = Rc::new(looks);
        self.arguments.insert(key, Rc::clone(&looks));
        looks
    }

    /// Returns the paths below the input that are at a path below `data`, or in the document there.
    fn parts_at(&mut self, path: &[Step], depth: usize) -> BTreeSet<Vec<Step>> {
        if self.parts.is_empty() {
            return BTreeSet::new();
        }
        let names = names(path);
        let mut found = BTreeSet::new();
        for length in 1..=names.len() {
            let Some((rule, rest)) = names.get(..length).zip(path.get(length..)) else { continue };
            let rule = data_reference(rule);
            if !self.parts.contains_key(rule.as_str()) {
                continue;
            }
            let value = self.value(&rule, depth);
            found.extend(value.iter().map(|value| path_of(value.iter().chain(rest))));
        }
        let document = data_reference(&names);
        let below = |rule: &str| {
            rule.strip_prefix(document.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let begins = self.parts.range(document.as_str()..);
        let inside: Vec<_> = begins
            .map(|(rule, _)| *rule)
            .take_while(|rule| rule.starts_with(document.as_str()))
            .filter(|rule| below(rule))
            .collect();
        for rule in inside {
            found.extend(self.value(rule, depth).iter().cloned());
        }
        found
    }

    /// Returns the paths below the input that a rule's value may be.
    fn value(&mut self, rule: &str, depth: usize) -> Rc<BTreeSet<Vec<Step>>> {
        if let Some(known) = self.values.get(rule) {
            return Rc::clone(known);
        }
        let mut paths = BTreeSet::new();
        for (root, path) in self.parts.get(rule).cloned().unwrap_or_default() {
            match root {
                Root::Input => {
                    paths.insert(path_of(path));
                }
                Root::Data if depth < MAX_LINKS => {
                    paths.extend(self.parts_at(path, depth + 1));
                }
                Root::Data => {
                    paths.insert(Vec::new());
                }
                Root::Argument(_) => {}
            }
        }
        if paths.len() > MAX_PATHS {
            paths = paths.iter().map(reduced).collect();
        }
        let paths = Rc::new(paths);
        self.values.insert(rule.to_owned(), Rc::clone(&paths));
        paths
    }
}
