//! Checks imports, and names that hide documents; then removes the imports.

use std::sync::Arc;

use crate::builtins::is_missing;
use crate::problem::Problem;
use crate::syntax::tree::{Body, Expr, ExprKind, Module, Name, Rule, Term, TermKind, Version};
use crate::syntax::visit;
use crate::syntax::words::is_keyword_v1;
use crate::threads;

use super::names::NameMap;
use super::resolve::import_name;
use super::{Compiler, Function, Functions, exprs};
use crate::syntax::walk::{self, Node};

/// The name of the root document to which an expression assigns.
fn assigned_root(expr: &Expr) -> Option<&Name> {
    if !exprs::is_assignment(expr) {
        return None;
    }
    exprs::operands(expr).first().and_then(root)
}

/// The root document that a term names, resolved already or not.
fn root(term: &Term) -> Option<&Name> {
    match &term.kind {
        TermKind::Var(name) if matches!(&**name, "data" | "input") => Some(name),
        _ => exprs::root_document(term),
    }
}

/// Returns the problem of an assignment to `data` or `input`.
fn shadowed_root(node: Node<'_>) -> Option<Problem> {
    let Node::Expr(expr) = node else { return None };
    let name = assigned_root(expr)?;
    let message = format!("variables must not shadow {name} (use a different variable name)");
    Some(Problem::compile(expr.span, message))
}

/// The problems of assignments to `data` or `input` in a query.
pub fn check_root_document_overrides_in_body(body: &Body) -> Vec<Problem> {
    walk::collect(body, shadowed_root)
}

fn check_root_document_overrides(module: &Module) -> Vec<Problem> {
    let mut found = Vec::new();
    for rule in &module.rules {
        if let [first, ..] = rule.head.reference.as_slice()
            && let TermKind::Var(name) = &first.kind
            && matches!(&**name, "data" | "input")
        {
            let message = format!("rules must not shadow {name} (use a different rule name)");
            found.push(Problem::compile(rule.span, message));
        }
        for arg in &rule.head.args {
            if let Some(name) = root(arg) {
                let message =
                    format!("args must not shadow {name} (use a different variable name)");
                found.push(Problem::compile(arg.span, message));
            }
        }
    }
    found.extend(module.rules.iter().flat_map(|rule| walk::collect(rule, shadowed_root)));
    found
}

/// Returns `true` if Rego v1's checks apply.
pub fn is_v1_compatible(module: &Module) -> bool {
    module.version != Version::V0
}

/// The problems of calls that are used as values although their functions have no result.
pub fn check_void_calls(compiler: &Compiler<'_>, place: &impl visit::Node) -> Vec<Problem> {
    walk::collect(place, |node| {
        let Node::Term(term) = node else { return None };
        let TermKind::Call(terms) = &term.kind else { return None };
        let function = compiler.options.functions.by_reference(terms.first()?.ref_parts())?;
        function.void.then(|| Problem::types(term.span, format!("{term} used as value")))
    })
}

/// Returns the deprecated function that an expression calls.
fn deprecated<'f>(functions: &'f Functions, expr: &Expr) -> Option<&'f Function> {
    let function = functions.by_reference(exprs::operator(expr)?)?;
    function.deprecated.then_some(function)
}

/// Returns `true` if OPA notes that a rule requires a deprecated function. Without any such rule it
/// accepts all calls. Those in the bodies of `every`, `not`, `and` and `or` aren't noted, unless
/// they are within a comprehension.
fn requires_deprecated(functions: &Functions, rule: &Rule) -> bool {
    let mut found = false;
    rule.branches().for_each(|branch| required(functions, &branch.body, &mut found));
    found
}

fn required(functions: &Functions, body: &Body, found: &mut bool) {
    walk::read(body, |node| {
        let Node::Expr(expr) = node else { return *found };
        *found |= deprecated(functions, expr).is_some();
        if expr.kind.has_bodies() {
            walk::read(expr, |node| {
                let Node::Term(term) = node else { return *found };
                let Some(inner) = term.comprehension() else { return *found };
                required(functions, &inner.body, found);
                true
            });
        }
        expr.kind.has_bodies() || *found
    });
}

/// The problems of calls of deprecated functions.
pub fn check_deprecated_builtins(functions: &Functions, place: &impl visit::Node) -> Vec<Problem> {
    walk::collect(place, |node| {
        let (operator, span) = match node {
            Node::Expr(Expr { kind: ExprKind::Call(terms), span, .. }) => (terms.first()?, *span),
            Node::Term(Term { kind: TermKind::Call(terms), .. }) => {
                (terms.first()?, terms.first()?.span)
            }
            _ => return None,
        };
        let function = functions.by_reference(operator.ref_parts())?;
        let message =
            format!("deprecated built-in function calls in expression: {}", function.name);
        let hint = super::hints::deprecated(&function.name);
        let problem = || Problem::types(span, message).hint(hint).valid_in_v0();
        function.deprecated.then(problem)
    })
}

fn duplicate_imports(module: &Module) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut names: NameMap<usize> = NameMap::default();
    for (index, import) in module.imports.iter().enumerate() {
        let Some(name) = import_name(import) else { continue };
        if let Some(other) = names.get(&name).and_then(|other| module.imports.get(*other)) {
            let message = format!("import must not shadow {other}");
            found.push(Problem::compile(import.span, message));
        } else {
            names.insert(name, index);
        }
    }
    found
}

/// The problems that a parsed module, of whatever version, would have as a module of v1, besides
/// missing keywords.
pub fn check_v1(mut module: Module, functions: &Functions) -> Vec<Problem> {
    super::normalize::module(&mut module);
    let mut found = duplicate_imports(&module);
    found.extend(check_root_document_overrides(&module));
    for rule in &module.rules {
        found.extend(check_deprecated_builtins(functions, rule));
    }
    for rule in &module.rules {
        if let [Term { kind: TermKind::Var(name), span }] = rule.head.reference.as_slice()
            && is_keyword_v1(name)
        {
            let message = format!("{name} keyword cannot be used for rule name");
            found.push(Problem::parse(*span, message));
        }
    }
    found
}

impl Compiler<'_> {
    /// The modules to which Rego v1's checks apply; in strict mode, all.
    fn checked_modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter().filter(|module| self.options.strict || is_v1_compatible(module))
    }

    /// Checks that rules, arguments and variables don't hide `data` or `input`.
    pub(super) fn check_keyword_overrides(&mut self) {
        let found: Vec<_> =
            self.checked_modules().flat_map(check_root_document_overrides).collect();
        self.recoverable(found);
    }

    /// Checks that imports don't hide each other.
    pub(super) fn check_duplicate_imports(&mut self) {
        let found: Vec<_> = self.checked_modules().flat_map(duplicate_imports).collect();
        self.recoverable(found);
    }

    /// Removes the imports, which are resolved by now.
    pub(super) fn remove_imports(&mut self) {
        for module in &mut self.modules {
            module.imports.clear();
        }
    }

    /// Checks that calls of functions without a result aren't used as values.
    pub(super) fn check_void_calls(&mut self) {
        let mut found = Vec::new();
        for rule in self.modules.iter().flat_map(|module| &module.rules) {
            found.extend(check_void_calls(self, rule));
        }
        self.problems(found);
    }

    /// Checks that v1 modules don't call deprecated functions.
    pub(super) fn check_deprecated_builtins(&mut self) {
        let rules = self.modules.iter().flat_map(|module| &module.rules);
        if !rules.clone().any(|rule| requires_deprecated(&self.options.functions, rule)) {
            return;
        }
        let rules = self.checked_modules().flat_map(|module| &module.rules);
        let found: Vec<_> = rules
            .flat_map(|rule| check_deprecated_builtins(&self.options.functions, rule))
            .collect();
        self.recoverable(found);
    }

    /// Checks that functions that the host forbids aren't called.
    pub(super) fn check_unsafe_builtins(&mut self) {
        let forbidden = &*self.options.unsafe_builtins;
        let of_module = |module: &Module| -> Vec<Problem> {
            module.rules.iter().flat_map(|rule| check_unsafe_builtins(forbidden, rule)).collect()
        };
        let found = threads::map(self.modules.iter().collect(), of_module);
        self.recoverable(found.into_iter().flatten());
    }
}

/// The problems of calls of forbidden functions and of functions that aren't supported.
pub fn check_unsafe_builtins(forbidden: &[Arc<str>], place: &impl visit::Node) -> Vec<Problem> {
    walk::collect(place, |node| {
        let Node::Expr(expr) = node else { return None };
        let name = super::functions::function_name(exprs::operator(expr)?)?;
        let message = if forbidden.iter().any(|other| **other == *name) {
            format!("unsafe built-in function calls in expression: {name}")
        } else if is_missing(&name) {
            format!("the built-in function `{name}` isn't supported")
        } else {
            return None;
        };
        Some(Problem::types(expr.span, message))
    })
}
