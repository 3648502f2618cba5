//! Checks types: of rules in the order of their dependencies, and of queries against them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};

use crate::annotations::{AnnotationSet, Schema, SchemaAnnotation};
use crate::problem::Problem;
use crate::syntax::tree::{Body, Module, Name, Rule, Term, TermKind};
use crate::syntax::{print, visit};
use crate::types::{Checker, Declared, Schemas, Type, TypedRule, schema_type};

use super::dependency_graph::Graph;
use super::names::NameMap;
use super::rule_tree::{RuleId, rule_path};
use super::{Compiled, Compiler, exprs};
use crate::syntax::walk::{self, Node, NodeMut};

impl Compiler<'_> {
    /// Checks the types of all rules.
    pub(super) fn check_types(&mut self) {
        // `CheckRecursion` has run, so the rules can be ordered.
        self.sorted = self.sorted_rules().unwrap_or_default();
        let mut types = std::mem::take(&mut self.types);
        for function in self.options.functions.iter() {
            types.declare(&function.name, &function.signature);
        }
        if let Some(input) = self.options.schemas.as_ref().and_then(|schemas| schemas.input()) {
            types.set_input(input.clone());
        }
        let hoisted = HoistedTerms::default();
        let names = |parts: &[Term]| {
            let rules = || self.modules.iter().flat_map(|module| &module.rules);
            reference_as_written(parts, &[&self.subjects, hoisted.get(rules)], &[&self.rewritten])
        };
        let dependents = |target: &[Term]| dependents(self, &self.graph, &self.modules, target);
        let annotated = AnnotatedSchemas::new(self);
        let declared = |rule: &TypedRule<'_>| annotated.declared(rule);
        let targets = OnceCell::new();
        let is_replaced = |rule: &Rule| {
            targets.get_or_init(|| replaced(self)).contains(&std::ptr::from_ref(rule))
        };
        let mut checker =
            Checker::new().names(&names).dependents(&dependents).replaced(&is_replaced);
        if annotated.any {
            checker = checker.schemas(&declared);
        }
        let rules = self.sorted.iter().filter_map(|id| {
            let module = self.modules.get(self.rules.get(*id)?.module)?;
            Some(TypedRule {
                package: &module.package.path,
                rule: self.rules.find(*id, &self.modules)?,
            })
        });
        let found = checker.check_rules(&mut types, rules);
        self.types = types;
        // Type errors don't keep later stages from running.
        self.found.extend(found);
    }
}

/// The types that annotations declare by schemas.
struct AnnotatedSchemas<'a> {
    annotations: &'a AnnotationSet,
    schemas: Option<&'a Schemas>,
    /// `true` if an annotation has a schema.
    any: bool,
    /// The types of the schemas that were read, by their references.
    read: RefCell<HashMap<String, Type>>,
}

impl<'a> AnnotatedSchemas<'a> {
    fn new(compiler: &'a Compiler<'_>) -> Self {
        let annotations = &compiler.annotations;
        Self {
            annotations,
            schemas: compiler.options.schemas.as_deref(),
            any: annotations.has_schemas(),
            read: RefCell::default(),
        }
    }

    /// The types that documents have in a rule, in ascending order of precedence: as declared for
    /// the packages above, for its package, for its document, and for the rule itself.
    fn declared(&self, rule: &TypedRule<'_>) -> Declared {
        let blocks = self.annotations.about(rule.package, rule.rule);
        let (mut declared, mut problems) = (Vec::new(), Vec::new());
        for annotation in blocks.flat_map(|block| &block.schemas) {
            match self.schema_type(annotation) {
                Ok(Some(tpe)) => declared.push((annotation.path.clone(), tpe)),
                Ok(None) => {}
                Err(why) => problems.push(Problem::types(rule.rule.span, why)),
            }
        }
        (declared, problems)
    }

    /// The type that an annotation declares; `None` if it refers to a schema and no schemas were
    /// given.
    fn schema_type(&self, annotation: &SchemaAnnotation) -> Result<Option<Type>, String> {
        let reference = match &annotation.schema {
            Schema::Definition(schema) => return schema_type(schema).map(Some),
            Schema::Reference(reference) => reference,
        };
        let Some(schemas) = self.schemas else { return Ok(None) };
        let name = print::RefText(reference).to_string();
        if let Some(known) = self.read.borrow().get(&name) {
            return Ok(Some(known.clone()));
        }
        let Some(schema) = schemas.get(reference) else {
            return Err(format!("undefined schema: {name}"));
        };
        let tpe = schema_type(schema)?;
        self.read.borrow_mut().insert(name, tpe.clone());
        Ok(Some(tpe))
    }
}

/// The type errors of a query.
pub(super) fn check_query(
    compiler: &Compiler<'_>,
    compiled: &Compiled,
    body: &Body,
    subjects: &NameMap<Term>,
    rewritten: &NameMap<Name>,
) -> Vec<Problem> {
    let hoisted = HoistedTerms::default();
    let names = |parts: &[Term]| {
        let hoisted = hoisted.get(|| std::iter::once(body));
        reference_as_written(parts, &[subjects, hoisted], &[rewritten, &compiled.rewritten])
    };
    let dependents =
        |target: &[Term]| dependents(compiler, &compiled.graph, &compiled.modules, target);
    Checker::new().names(&names).dependents(&dependents).check_body(&compiled.types, body)
}

/// The terms that were hoisted into statements of their own, by the variable that replaces them.
/// They are collected from these statements when the first message needs them.
#[derive(Default)]
struct HoistedTerms(OnceCell<NameMap<Term>>);

impl HoistedTerms {
    fn get<'n, N: visit::Node + 'n, I: Iterator<Item = &'n N>>(
        &self,
        places: impl FnOnce() -> I,
    ) -> &NameMap<Term> {
        self.0.get_or_init(|| {
            let mut hoisted = NameMap::default();
            let mut add = |node: Node<'_>| {
                if let Node::Expr(expr) = node
                    && expr.generated
                    && exprs::is_equality(expr)
                    && let [Term { kind: TermKind::Var(name), .. }, term] = exprs::operands(expr)
                    && (matches!(term.kind, TermKind::Ref(_)) || term.is_comprehension())
                {
                    hoisted.insert(Name::clone(name), term.clone());
                }
                false
            };
            places().for_each(|place| walk::read(place, &mut add));
            hoisted
        })
    }
}

/// Restores the terms and names that the author wrote in a reference.
fn reference_as_written(
    parts: &[Term],
    subjects: &[&NameMap<Term>],
    renamed: &[&NameMap<Name>],
) -> Vec<Term> {
    let mut parts = parts.to_vec();
    // The term of a hoisted variable may contain other such variables.
    for part in &mut parts {
        for _ in 0..16 {
            let mut again = false;
            walk::change(part, Some(super::order::sort), |node| {
                if let NodeMut::Term(term) = node
                    && let TermKind::Var(name) = &term.kind
                {
                    if let Some(subject) = subjects.iter().find_map(|subject| subject.get(name)) {
                        term.kind = subject.kind.clone();
                        again = true;
                    } else if let Some(name) = renamed.iter().find_map(|names| names.get(name)) {
                        term.kind = TermKind::Var(Name::clone(name));
                    }
                    return true;
                }
                false
            });
            if !again {
                break;
            }
        }
    }
    parts
}

/// The rules that a `with` of any module could replace.
fn replaced(compiler: &Compiler<'_>) -> HashSet<*const Rule> {
    let mut found = BTreeSet::new();
    for rule in compiler.modules.iter().flat_map(|module| &module.rules) {
        walk::read(rule, |node| {
            if let Node::With(with) = node
                && let TermKind::Ref(target) = &with.target.kind
            {
                compiler.rules_dynamic(target, &mut found);
            }
            false
        });
    }
    let rule = |id| compiler.rules.find(id, &compiler.modules).map(std::ptr::from_ref);
    found.into_iter().filter_map(rule).collect()
}

/// The paths, up to their first variable, of the rules that a reference may refer to and of all
/// that depend on them.
fn dependents(
    compiler: &Compiler<'_>,
    graph: &Graph,
    modules: &[Module],
    target: &[Term],
) -> Vec<Vec<Term>> {
    let mut found = BTreeSet::new();
    compiler.rules_dynamic(target, &mut found);
    let mut todo: Vec<RuleId> = found.iter().copied().collect();
    while let Some(id) = todo.pop() {
        todo.extend(graph.dependents(id).filter(|dependent| found.insert(*dependent)));
    }
    let path = |id: &RuleId| {
        let module = modules.get(compiler.rules.get(*id)?.module)?;
        let path = rule_path(module, compiler.rules.find(*id, modules)?);
        Some(exprs::ground_prefix(&path).to_vec())
    };
    found.iter().filter_map(path).collect()
}
