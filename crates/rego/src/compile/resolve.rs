//! Resolves the names of rules and imports to references to `data` and `input`.

use crate::problem::Problem;
use crate::syntax::print;
use crate::syntax::tree::{
    Body, Expr, ExprKind, Import, Module, Name, Package, Rule, TemplatePart, Term, TermKind,
};
use crate::syntax::visit::{VisitMut, walk_kind_mut, walk_term_mut};
use crate::threads;
use crate::value::deeper;

use super::names::{NameMap, VarSet};
use super::{Compiler, exprs, order, vars};
use crate::syntax::walk::{self, Node};

/// The reference that a name stands for, with a flag that is set when it's used.
pub struct Global {
    reference: Vec<Term>,
    used: bool,
}

/// The names of rules and imports that a module can use.
#[derive(Default)]
pub struct Globals(NameMap<Global>);

/// The name under which an import is used.
pub fn import_name(import: &Import) -> Option<Name> {
    if let Some((alias, _)) = &import.alias {
        return Some(Name::clone(alias));
    }
    match &import.path.ref_parts().last()?.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(Name::clone(name)),
        _ => None,
    }
}

/// Returns `true` if an import is of syntax rather than of a document.
pub fn is_language_import(import: &Import) -> bool {
    matches!(
        import.path.ref_parts(),
        [Term { kind: TermKind::Var(name), .. }, ..] if matches!(&**name, "future" | "rego")
    )
}

impl Globals {
    /// Collects the names for a module of this package, given the names of all rules of the
    /// package.
    pub fn new<'a>(
        package: Option<&Package>,
        rules: impl IntoIterator<Item = &'a Name>,
        imports: &[Import],
    ) -> Self {
        let mut globals = Self::default();
        if let Some(package) = package {
            for name in rules {
                if globals.0.contains_key(name) {
                    continue;
                }
                let mut reference = package.path.clone();
                reference
                    .push(Term { kind: TermKind::String(Name::clone(name)), span: package.span });
                globals.0.insert(Name::clone(name), Global { reference, used: false });
            }
        }
        for import in imports.iter().filter(|import| !is_language_import(import)) {
            if let Some(name) = import_name(import) {
                let reference = import.path.ref_parts().to_vec();
                globals.0.insert(name, Global { reference, used: false });
            }
        }
        globals
    }

    /// The reference that a name at this position stands for.
    fn get(&mut self, name: &Name, at: &Term, ignore: &[VarSet]) -> Option<Vec<Term>> {
        let global = self.0.get_mut(name)?;
        if ignore.iter().any(|names| names.contains(name)) {
            return None;
        }
        global.used = true;
        let placed = |term: &Term| Term { kind: term.kind.clone(), span: at.span };
        Some(global.reference.iter().map(placed).collect())
    }
}

/// The variables that a body declares, including those in closures except comprehensions.
pub fn declared_body_vars(body: &Body) -> VarSet {
    let mut declared = VarSet::default();
    for expr in body {
        declared_vars(expr, &mut declared);
    }
    declared
}

/// The variables that an expression declares.
pub fn declared_vars(expr: &Expr, declared: &mut VarSet) {
    walk::read(expr, |node| {
        match node {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Call(terms) if exprs::is_assignment(expr) => {
                    if let [_, left, _] = terms.as_slice() {
                        vars::each(left, &mut |name| {
                            declared.add(name);
                        });
                    }
                }
                ExprKind::Some(decl) => {
                    for symbol in &decl.symbols {
                        match &symbol.kind {
                            TermKind::Var(name) => {
                                declared.add(name);
                            }
                            TermKind::Call(terms) => {
                                let bound = terms.len().saturating_sub(1);
                                for term in terms.get(1..bound).unwrap_or_default() {
                                    vars::each(term, &mut |name| {
                                        declared.add(name);
                                    });
                                }
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            },
            Node::Term(term) => return term.is_comprehension(),
            _ => {}
        }
        false
    });
}

/// Resolves names to references.
pub struct Resolver<'a> {
    globals: &'a mut Globals,
    /// The names that are declared locally, scope by scope.
    ignore: Vec<VarSet>,
}

impl<'a> Resolver<'a> {
    /// Creates a resolver with the names that are declared already.
    pub fn new(globals: &'a mut Globals, ignore: Vec<VarSet>) -> Self {
        Self { globals, ignore }
    }

    fn reference(&mut self, terms: &mut Vec<Term>) {
        let mut head = None;
        for (index, term) in terms.iter_mut().enumerate() {
            if let (0, TermKind::Var(name)) = (index, &term.kind) {
                let name = Name::clone(name);
                head = self.globals.get(&name, term, &self.ignore);
            } else if !matches!(term.kind, TermKind::Template(_)) {
                // As in OPA, names in a template that is an operand aren't resolved.
                self.term(term);
            }
        }
        if let Some(head) = head {
            terms.splice(0..1, head);
        }
    }
}

impl VisitMut for Resolver<'_> {
    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Some(decl) => {
                if let Some(Term { kind: TermKind::Call(terms), .. }) = decl.symbols.first_mut() {
                    terms.iter_mut().for_each(|term| self.term(term));
                }
            }
            ExprKind::Every(every) => {
                self.ignore.push(vars::of_every(every));
                self.term(&mut every.domain);
                deeper(|| self.body(&mut every.body));
                self.ignore.pop();
            }
            kind => walk_kind_mut(self, kind),
        }
        for with in &mut expr.with {
            self.with(with);
        }
    }

    fn term(&mut self, term: &mut Term) {
        if let Some(inner) = term.comprehension() {
            self.ignore.push(declared_body_vars(&inner.body));
            walk_term_mut(self, term);
            self.ignore.pop();
            return;
        }
        match &mut term.kind {
            TermKind::Var(name) => {
                let name = Name::clone(name);
                if let Some(reference) = self.globals.get(&name, term, &self.ignore) {
                    term.kind = TermKind::Ref(reference);
                }
            }
            TermKind::Ref(terms) => deeper(|| self.reference(terms)),
            _ => {
                walk_term_mut(self, term);
                order::sort(term);
            }
        }
    }
}

/// The variables of a rule's arguments, or, as an error, the argument that would hide a root
/// document.
fn argument_vars(args: &[Term]) -> Result<VarSet, Term> {
    let mut found = VarSet::default();
    let mut todo: Vec<&Term> = args.iter().rev().collect();
    while let Some(term) = todo.pop() {
        if exprs::root_document(term).is_some() {
            return Err(term.clone());
        }
        match &term.kind {
            TermKind::Var(name) => {
                found.add(name);
            }
            TermKind::Ref(terms) | TermKind::Array(terms) => todo.extend(terms.iter().rev()),
            TermKind::Object(pairs) => {
                todo.extend(pairs.iter().rev().flat_map(|(key, value)| [value, key]));
            }
            TermKind::Template(template) => {
                for part in template.parts.iter().rev() {
                    let TemplatePart::Expr(expr) = part else { continue };
                    match &expr.kind {
                        ExprKind::Term(term) => todo.push(term),
                        ExprKind::Call(terms) => todo.extend(terms.iter().rev()),
                        _ => found.update(&vars::of_term(term)),
                    }
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

impl Compiler<'_> {
    /// Resolves the names in all rules.
    pub(super) fn resolve_all_refs(&mut self) {
        let mut modules = std::mem::take(&mut self.modules);
        // The names of the rules of each package, by the package's path.
        let mut exports: std::collections::HashMap<String, Vec<Name>> =
            std::collections::HashMap::new();
        let package = |module: &Module| print::RefText(&module.package.path).to_string();
        for module in &modules {
            let names = exports.entry(package(module)).or_default();
            for rule in &module.rules {
                if let Some(Term { kind: TermKind::Var(name) | TermKind::String(name), .. }) =
                    rule.head.reference.first()
                {
                    names.push(Name::clone(name));
                }
            }
        }
        for names in exports.values_mut() {
            names.sort_unstable();
            names.dedup();
        }
        let strict = self.options.strict;
        let found = threads::map(modules.iter_mut().collect(), |module| {
            let names = exports.get(&package(module)).map(Vec::as_slice).unwrap_or_default();
            let mut globals = Globals::new(Some(&module.package), names, &module.imports);
            let shadowing = resolve_in_module(&mut globals, module);
            let unused = if strict { unused_imports(&globals, module) } else { Vec::new() };
            (shadowing, unused)
        });
        for (shadowing, unused) in found {
            self.problems(shadowing);
            self.unused_imports.extend(unused);
        }
        self.modules = modules;
    }

    /// Reports unused imports; there are some only in strict mode.
    pub(super) fn check_unused_imports(&mut self) {
        let unused = std::mem::take(&mut self.unused_imports);
        self.recoverable(unused);
    }
}

/// Resolves the names in a module's rules. Returns a problem for each argument that would hide a root
/// document.
fn resolve_in_module(globals: &mut Globals, module: &mut Module) -> Vec<Problem> {
    let mut problems = Vec::new();
    for rule in &mut module.rules {
        let mut next = Some(rule);
        while let Some(rule) = next {
            if let Err(term) = resolve_in_rule(globals, rule) {
                let message =
                    format!("args must not shadow {term} (use a different variable name)");
                problems.push(Problem::compile(rule.span, message));
                break;
            }
            next = rule.else_rule.as_deref_mut();
        }
    }
    problems
}

/// Returns a problem for each import that no name of the module was resolved to.
fn unused_imports(globals: &Globals, module: &Module) -> Vec<Problem> {
    let imports = module.imports.iter().filter(|import| !is_language_import(import));
    let unused = imports.filter(|import| {
        let global = import_name(import).and_then(|name| globals.0.get(&name));
        !global.is_some_and(|global| global.used)
    });
    unused.map(|import| Problem::compile(import.span, format!("{import} unused"))).collect()
}

fn resolve_in_rule(globals: &mut Globals, rule: &mut Rule) -> Result<(), Term> {
    let args = argument_vars(&rule.head.args)?;
    let ignore = vec![args, declared_body_vars(&rule.body)];
    let mut resolver = Resolver::new(globals, ignore);
    for term in rule.head.reference.iter_mut().skip(1) {
        resolver.term(term);
    }
    for term in rule.head.key.iter_mut().chain(&mut rule.head.value) {
        resolver.term(term);
    }
    resolver.body(&mut rule.body);
    Ok(())
}
