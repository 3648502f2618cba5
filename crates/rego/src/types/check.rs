//! The checker: visits rules in the order of their dependencies, and bodies statement by statement.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::env::{Env, PathKey, TypeEnv, TypeTree, relaxed};
use super::overlap::unifies;
use super::schema::overridden;
use super::terms;
use super::ty::{Dynamic, Function, Property, Type};
use super::wording::{TypeError, argument_error, match_error, reference_text};
use crate::problem::{Problem, ProblemCode, Problems};
use crate::syntax::tree::{
    Body, Collection, Expr, ExprKind, Name, Rule, Span, Term, TermKind, With,
};
use crate::syntax::visit::{Visit, walk_terms};

/// A type checker for one load or one query.
pub struct Checker<'a> {
    names: Option<&'a dyn Fn(&[Term]) -> Vec<Term>>,
    dependents: Option<&'a dyn Fn(&[Term]) -> Vec<Vec<Term>>>,
    schemas: Option<&'a dyn Fn(&TypedRule<'_>) -> Declared>,
    is_replaced: Option<&'a dyn Fn(&Rule) -> bool>,
    /// The types of the rules that depend on a replaced document, by the text of its reference.
    replaced: RefCell<HashMap<String, Option<Arc<TypeTree>>>>,
    /// The results for each comprehension, by its address.
    closures: RefCell<HashMap<usize, ComprehensionResults>>,
    /// The number of statements that may still be checked. It limits nested comprehensions, which
    /// are checked repeatedly.
    fuel: Cell<u32>,
}

/// A rule to check.
#[derive(Clone, Copy)]
pub struct TypedRule<'a> {
    /// The path of the rule's package.
    pub package: &'a [Term],
    /// The rule; an `else` branch is a rule of its own.
    pub rule: &'a Rule,
}

/// The types that annotations declare for documents in a rule, as pairs of a path and a type; with
/// the problems of the annotations.
pub type Declared = (Vec<(Vec<Term>, Type)>, Problems);

/// The results for a comprehension in the scopes in which it was checked.
#[derive(Default)]
struct ComprehensionResults {
    /// The variables that occur in it.
    variables: Rc<[Name]>,
    results: Vec<(ScopeTypes, Rc<ComprehensionResult>)>,
}

/// The part of a scope that the result for a comprehension depends on.
#[derive(PartialEq)]
struct ScopeTypes {
    /// The types of the variables that occur in the comprehension.
    types: Vec<Type>,
    /// The ids of the scopes that have types of documents.
    docs: Vec<u64>,
}

/// The result of checking a comprehension in a scope.
struct ComprehensionResult {
    problems: Problems,
    /// The type; unknown if there are problems.
    tpe: Type,
}

/// The number of statements that may be checked for one load.
const FUEL: u32 = 4_000_000;

/// The maximum number of results per comprehension.
const MAX_RESULTS: usize = 16;

impl Default for Checker<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Checker<'a> {
    /// Creates a checker that shows references as they are, and knows no dependencies.
    pub fn new() -> Self {
        Self {
            names: None,
            dependents: None,
            schemas: None,
            is_replaced: None,
            replaced: RefCell::default(),
            closures: RefCell::default(),
            fuel: Cell::new(FUEL),
        }
    }

    /// Sets the function that turns a reference into the one that the author wrote, for messages.
    #[must_use]
    pub fn names(mut self, names: &'a dyn Fn(&[Term]) -> Vec<Term>) -> Self {
        self.names = Some(names);
        self
    }

    /// Sets the function that returns the paths of the rules that a reference may refer to, and of
    /// all that depend on them, each up to its first variable. These may have any value where
    /// `with` replaces the reference.
    #[must_use]
    pub fn dependents(mut self, dependents: &'a dyn Fn(&[Term]) -> Vec<Vec<Term>>) -> Self {
        self.dependents = Some(dependents);
        self
    }

    /// Sets the function that returns `true` for a rule that `with` replaces somewhere. What is empty in its value
    /// isn't known to be, as in `default x := {}`, to which tests give another value.
    #[must_use]
    pub fn replaced(mut self, is_replaced: &'a dyn Fn(&Rule) -> bool) -> Self {
        self.is_replaced = Some(is_replaced);
        self
    }

    /// Sets the function that returns the types that annotations declare for documents in a rule,
    /// in ascending order of precedence.
    #[must_use]
    pub fn schemas(mut self, schemas: &'a dyn Fn(&TypedRule<'_>) -> Declared) -> Self {
        self.schemas = Some(schemas);
        self
    }

    /// Checks rules, which must come after those that they depend on, and adds their types.
    pub fn check_rules<'r>(
        &self,
        types: &mut TypeEnv,
        rules: impl IntoIterator<Item = TypedRule<'r>>,
    ) -> Problems {
        let mut problems = Vec::new();
        for rule in rules {
            let checked = self.check_rule(types, rule, &mut problems);
            let tree = Arc::make_mut(&mut types.rules);
            match checked {
                // An error in a rule causes no further errors in the rules that refer to it.
                None => tree.put(rule_path(rule, false), Type::any()),
                Some((_, Type::Unknown)) => {}
                Some((path, tpe)) => {
                    let relaxed = relaxed(&tpe).filter(|_| {
                        self.is_replaced.is_some_and(|is_replaced| is_replaced(rule.rule))
                    });
                    tree.insert(&path, &relaxed.unwrap_or(tpe));
                }
            }
        }
        self.report_limit(rules_span(&problems), &mut problems);
        problems
    }

    /// Checks the body of a query.
    pub fn check_body(&self, types: &TypeEnv, body: &Body) -> Problems {
        let (_, mut problems) = self.check(&Env::global(types), body);
        self.report_limit(body.first().map(|first| first.span).unwrap_or_default(), &mut problems);
        problems
    }

    fn report_limit(&self, span: Span, problems: &mut Problems) {
        if self.fuel.get() == 0 {
            let message = "comprehensions are nested too deep for the type checker";
            problems.push(Problem::new(ProblemCode::Limit, span, message));
        }
    }

    /// Returns the path and the type of a rule, or `None` if it has problems.
    fn check_rule(
        &self,
        types: &TypeEnv,
        rule: TypedRule<'_>,
        problems: &mut Problems,
    ) -> Option<(Vec<PathKey>, Type)> {
        let around = self.declared(&Env::global(types), &rule, problems);
        let (env, found) = self.check(&around, &rule.rule.body);
        if !found.is_empty() {
            problems.extend(found);
            return None;
        }
        let head = &rule.rule.head;
        if head.is_function() {
            for arg in &head.args {
                Self::type_arguments(&env, arg);
            }
            let args = head.args.iter().map(|arg| self.type_of(&env, arg)).collect();
            let result =
                head.value.as_ref().map_or(Type::Unknown, |value| self.type_of(&env, value));
            return Some((rule_path(rule, false), Type::function(args, result)));
        }
        let value = match (&head.value, &head.key) {
            (Some(value), _) => self.type_of(&env, value),
            (None, Some(key)) => match self.type_of(&env, key) {
                Type::Unknown => return Some((Vec::new(), Type::Unknown)),
                of => Type::set(of),
            },
            (None, None) => Type::Unknown,
        };
        let dynamic =
            head.reference.iter().skip(1).position(|part| !terms::is_ground(part)).map(|at| at + 1);
        let suffix = dynamic.and_then(|at| head.reference.get(at..)).unwrap_or_default();
        let nested = suffix.iter().rev().try_fold(value, |value, key| {
            match (self.type_of(&env, key), value) {
                (Type::Unknown, _) | (_, Type::Unknown) => None,
                (key, value) => Some(Type::object_of(key, value)),
            }
        });
        Some((rule_path(rule, true), nested.unwrap_or_default()))
    }

    /// Creates the scope of a rule, in which documents have the types that annotations declare.
    fn declared(&self, around: &Rc<Env>, rule: &TypedRule<'_>, problems: &mut Problems) -> Rc<Env> {
        let Some(schemas) = self.schemas else { return around.wrap() };
        let (declared, found) = schemas(rule);
        problems.extend(found);
        let (mut docs, mut scope) = (TypeTree::default(), around.wrap());
        for (path, tpe) in declared {
            // The shortest prefix of the path that has a known type.
            let lengths = (path.len() == 1).then_some(1).into_iter().chain(1..path.len());
            let known = lengths
                .filter_map(|length| path.split_at_checked(length))
                .map(|(start, rest)| (start, rest, scope.get_ref(start)))
                .find(|(.., known)| !known.is_unknown());
            match known {
                Some((start, rest @ [_, ..], known)) => match overridden(&known, rest, &tpe) {
                    Ok(tpe) => docs.put(start.iter().filter_map(PathKey::of), tpe),
                    Err(why) => {
                        problems.push(Problem::types(rule.rule.span, why));
                        continue;
                    }
                },
                _ => docs.put(path.iter().filter_map(PathKey::of), tpe),
            }
            scope = around.wrap_tree(docs.clone());
        }
        scope
    }

    /// Types the variables of arguments that the body doesn't constrain as `any`.
    fn type_arguments(env: &Rc<Env>, arg: &Term) {
        walk_terms(arg, &mut |term| {
            if let TermKind::Var(name) = &term.kind
                && env.get_var(term).is_unknown()
            {
                env.put_var(name, Type::any());
            }
            !term.is_comprehension() && !matches!(term.kind, TermKind::Template(_))
        });
    }

    /// Checks a body in a scope of its own, and returns that scope.
    fn check(&self, around: &Rc<Env>, body: &Body) -> (Rc<Env>, Problems) {
        let env = around.wrap();
        let mut problems = Vec::new();
        for expr in body {
            let Some(fuel) = self.fuel.get().checked_sub(1) else { break };
            self.fuel.set(fuel);
            let scope = if expr.with.is_empty() {
                Rc::clone(&env)
            } else {
                self.with_scope(&env, &expr.with)
            };
            let mut closures = Closures { checker: self, env: &scope, problems: Vec::new() };
            closures.expr(expr);
            let mut closure_problems = closures.problems;
            let mut ref_problems = self.check_references(&scope, expr);
            let more_telling = !closure_problems.is_empty() || !ref_problems.is_empty();
            problems.append(&mut closure_problems);
            problems.append(&mut ref_problems);
            if let Err(error) = self.check_expr(&scope, expr)
                && !(more_telling && error.by_unknown)
            {
                problems.push(error.problem);
            }
        }
        (env, problems)
    }

    /// Returns the result for a comprehension in a scope.
    fn comprehension(&self, env: &Rc<Env>, term: &Term) -> Rc<ComprehensionResult> {
        let address = std::ptr::from_ref(term).addr();
        let variables = Rc::clone(
            &self
                .closures
                .borrow_mut()
                .entry(address)
                .or_insert_with(|| ComprehensionResults {
                    variables: terms::variables(term),
                    results: Vec::new(),
                })
                .variables,
        );
        let around = ScopeTypes {
            types: variables.iter().map(|variable| env.var_type(variable)).collect(),
            docs: env.documents(),
        };
        if let Some(known) = self.closures.borrow().get(&address)
            && let Some((_, closure)) = known.results.iter().find(|(scope, _)| *scope == around)
        {
            return Rc::clone(closure);
        }
        let TermKind::Comprehension(of, inner) = &term.kind else {
            return Rc::new(ComprehensionResult { problems: Vec::new(), tpe: Type::Unknown });
        };
        let (env, problems) = self.check(env, &inner.body);
        let tpe = if problems.is_empty() {
            let value = self.type_of(&env, &inner.value);
            match (of, &inner.key) {
                (_, Some(key)) => Type::object_of(self.type_of(&env, key), value),
                (Collection::Set, None) => Type::set(value),
                (_, None) => Type::array(Vec::new(), value),
            }
        } else {
            Type::Unknown
        };
        let closure = Rc::new(ComprehensionResult { problems, tpe });
        if let Some(known) = self.closures.borrow_mut().get_mut(&address) {
            if known.results.len() >= MAX_RESULTS {
                known.results.remove(0);
            }
            known.results.push((around, Rc::clone(&closure)));
        }
        closure
    }

    /// The type of a term in a scope.
    pub(super) fn type_of(&self, env: &Rc<Env>, term: &Term) -> Type {
        match &term.kind {
            TermKind::Null => Type::Null,
            TermKind::Bool(_) => Type::Boolean,
            TermKind::Number(_) => Type::Number,
            TermKind::String(_) | TermKind::Template(_) => Type::String,
            TermKind::Array(items) => Type::array(
                items.iter().map(|item| self.type_of(env, item)).collect(),
                Type::Unknown,
            ),
            TermKind::Set(items) => Type::set(
                items.iter().fold(Type::Unknown, |tpe, item| tpe.or(&self.type_of(env, item))),
            ),
            TermKind::Object(pairs) => {
                let (mut fixed, mut rest) = (Vec::new(), None);
                for (key, value) in terms::members(pairs) {
                    let tpe = self.type_of(env, value);
                    match terms::native(key) {
                        Some(key) => fixed.push(Property { key, value: tpe }),
                        // The last one wins.
                        None => rest = Some(Dynamic { key: self.type_of(env, key), value: tpe }),
                    }
                }
                Type::object(fixed, rest)
            }
            TermKind::Var(name) if !terms::is_root(name) => env.get_var(term),
            TermKind::Var(_) | TermKind::Ref(_) => {
                env.get_ref(terms::reference(term).unwrap_or_default())
            }
            TermKind::Comprehension(..) => self.comprehension(env, term).tpe.clone(),
            TermKind::Call(_) => Type::Unknown,
            TermKind::Group(inner) => self.type_of(env, inner),
        }
    }

    /// Creates the scope of a statement with replacements: a replaced document may also have its
    /// replacement's type, and whatever depends on it may have any type.
    fn with_scope(&self, env: &Rc<Env>, with: &[With]) -> Rc<Env> {
        let mut scope = Rc::clone(env);
        let mut replaced = TypeTree::default();
        let mut any_replaced = false;
        for with in with {
            let Some(target) = terms::reference(&with.target) else { continue };
            let known = env.get_ref(target);
            let is_function = matches!(known, Type::Function(_));
            if let Some(tree) = self.widened_dependents(target, is_function) {
                scope = scope.wrap_docs(tree);
            }
            if is_function {
                // Its type is kept, so that the arguments of its replacement are checked.
                continue;
            }
            let mut tpe = Type::any();
            if target.iter().skip(1).all(terms::is_ground) && !known.is_unknown() {
                let value = self.type_of(env, &with.value);
                let either = known.or(&value);
                if !value.is_unknown() && !either.is_unknown() {
                    tpe = either;
                }
            }
            any_replaced = true;
            replaced.put(ground_prefix(target), tpe);
        }
        if any_replaced { scope.wrap_docs(Arc::new(replaced)) } else { scope }
    }

    /// Types the rules that depend on a replaced document as `any`.
    fn widened_dependents(&self, target: &[Term], is_function: bool) -> Option<Arc<TypeTree>> {
        let dependents = self.dependents?;
        let name = reference_text(target);
        let key = if is_function { format!("f:{name}") } else { name };
        if let Some(known) = self.replaced.borrow().get(&key) {
            return known.clone();
        }
        let is_target = |path: &[Term]| {
            path.len() == target.len()
                && path.iter().zip(target).all(|(a, b)| terms::compare(a, b).is_eq())
        };
        let mut tree = None;
        for path in dependents(target) {
            if !(is_function && is_target(&path)) {
                tree.get_or_insert_with(TypeTree::default)
                    .put(path.iter().filter_map(PathKey::of), Type::any());
            }
        }
        let tree = tree.map(Arc::new);
        self.replaced.borrow_mut().insert(key, tree.clone());
        tree
    }

    fn check_expr(&self, env: &Rc<Env>, expr: &Expr) -> Result<(), TypeError> {
        for with in &expr.with {
            self.check_replacement(env, with)?;
        }
        let ExprKind::Call(parts) = &expr.kind else { return Ok(()) };
        let Some((function, args)) = parts.split_first() else { return Ok(()) };
        let name = function.ref_parts();
        if let [Term { kind: TermKind::Var(operator), .. }] = name
            && &**operator == "eq"
        {
            return self.check_equality(env, expr.span, name, args);
        }
        if let [
            Term { kind: TermKind::Var(head), .. },
            Term { kind: TermKind::String(operator), .. },
        ] = name
            && &**head == "internal"
        {
            match (&**operator, args) {
                ("member_2", [element, collection, ..]) => {
                    self.check_membership(env, expr.span, None, element, collection)?;
                }
                ("member_3", [key, value, collection, ..]) => {
                    self.check_membership(env, expr.span, Some(key), value, collection)?;
                }
                _ => {}
            }
        }
        self.check_call(env, expr.span, name, args)
    }

    /// Checks a replacement: a function may be replaced by one with as many arguments, or by a
    /// value.
    fn check_replacement(&self, env: &Rc<Env>, with: &With) -> Result<(), TypeError> {
        let (target, value) = (self.type_of(env, &with.target), self.type_of(env, &with.value));
        match (&target, &value) {
            (Type::Function(function), Type::Function(by)) if !unifies(&target, &value) => {
                let name = with.target.ref_parts();
                Err(argument_error(
                    with.span,
                    name,
                    "arity mismatch",
                    &by.args,
                    &without_result(function),
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_equality(
        &self,
        env: &Rc<Env>,
        span: Span,
        name: &[Term],
        args: &[Term],
    ) -> Result<(), TypeError> {
        let [a, b] = args else {
            let have: Vec<Type> = args.iter().map(|arg| self.type_of(env, arg)).collect();
            let what = if args.len() < 2 { "too few arguments" } else { "too many arguments" };
            let want = Function { args: vec![Type::any(), Type::any()], ..Function::default() };
            return Err(argument_error(span, name, what, &have, &want));
        };
        let (type_a, type_b) = (self.type_of(env, a), self.type_of(env, b));
        if self.unify_terms(env, a, &type_a, b, &type_b) {
            Ok(())
        } else {
            Err(match_error(span, &type_a, &type_b))
        }
    }

    /// Checks `in`: the element must have a type that the collection may contain.
    fn check_membership(
        &self,
        env: &Rc<Env>,
        span: Span,
        key: Option<&Term>,
        value: &Term,
        collection: &Term,
    ) -> Result<(), TypeError> {
        let collection = self.type_of(env, collection);
        let values = collection.values();
        if values.is_unknown() {
            return Ok(());
        }
        if let Some(key) = key {
            self.check_member(env, span, key, &collection.keys())?;
        }
        self.check_member(env, span, value, &values)
    }

    fn check_member(
        &self,
        env: &Rc<Env>,
        span: Span,
        term: &Term,
        tpe: &Type,
    ) -> Result<(), TypeError> {
        if tpe.is_incomplete() {
            return Ok(());
        }
        let have = self.type_of(env, term);
        let fits =
            (have.is_incomplete() || unifies(&have, tpe)) && self.unify(env, term, tpe, false);
        if fits { Ok(()) } else { Err(match_error(span, &have, tpe)) }
    }

    fn check_call(
        &self,
        env: &Rc<Env>,
        span: Span,
        name: &[Term],
        args: &[Term],
    ) -> Result<(), TypeError> {
        let function = match env.get_ref(name) {
            Type::Function(function) => function,
            // A function from outside the load.
            tpe if tpe.is_any() => return Ok(()),
            _ => {
                let message = format!("undefined function {}", reference_text(name));
                return Err(TypeError {
                    problem: Problem::types(span, message),
                    by_unknown: false,
                });
            }
        };
        let types = || args.iter().map(|arg| self.type_of(env, arg)).collect::<Vec<_>>();
        // The result may be passed as an additional argument.
        let takes = function.args.len() + usize::from(!function.result.is_unknown());
        let what = if args.len() > takes && function.variadic.is_unknown() {
            "too many arguments"
        } else if args.len() < function.args.len() {
            "too few arguments"
        } else {
            ""
        };
        if !what.is_empty() {
            return Err(argument_error(span, name, what, &types(), &function));
        }
        let want = |at: usize| match function.args.get(at) {
            Some(tpe) => tpe,
            None if at == function.args.len() && !function.result.is_unknown() => &function.result,
            None => &function.variadic,
        };
        let before = types();
        for (at, (arg, tpe)) in args.iter().zip(&before).enumerate() {
            let want = want(at);
            if !tpe.is_incomplete() && !unifies(tpe, want) {
                return Err(argument_error(span, name, "invalid argument(s)", &before, &function));
            }
            if !self.unify(env, arg, want, false) {
                return Err(argument_error(span, name, "invalid argument(s)", &types(), &function));
            }
        }
        Ok(())
    }

    /// A reference as the author wrote it.
    pub(super) fn as_written(&self, parts: &[Term]) -> Vec<Term> {
        self.names.map_or_else(|| parts.to_vec(), |names| names(parts))
    }
}

/// Checks the comprehensions of a statement. If several have problems, those of the last are kept.
struct Closures<'c> {
    checker: &'c Checker<'c>,
    env: &'c Rc<Env>,
    problems: Problems,
}

impl Visit for Closures<'_> {
    fn term(&mut self, term: &Term) {
        if matches!(term.kind, TermKind::Template(_)) {
            return;
        }
        if term.is_comprehension() {
            let closure = self.checker.comprehension(self.env, term);
            if !closure.problems.is_empty() {
                self.problems.clone_from(&closure.problems);
                return;
            }
        }
        // Nested comprehensions are checked once more in this scope, without the variables of the
        // bodies around them.
        terms::walk_in_order(self, term);
    }
}

/// The problem of a call with a number of arguments that a built-in function doesn't take.
pub fn arity_mismatch(span: Span, name: &[Term], signature: &str, args: &[Term]) -> Problem {
    let (checker, env) = (Checker::new(), Env::global(&TypeEnv::default()));
    let have: Vec<Type> = args.iter().map(|arg| checker.type_of(&env, arg)).collect();
    let want = Function::parse(signature).unwrap_or_default();
    argument_error(span, name, "arity mismatch", &have, &without_result(&want)).problem
}

fn without_result(function: &Function) -> Function {
    Function { result: Type::Unknown, ..function.clone() }
}

/// The path of a rule; if `ground`, up to its first variable.
fn rule_path(rule: TypedRule<'_>, ground: bool) -> Vec<PathKey> {
    let head = rule.rule.head.reference.iter().enumerate().map(|(at, part)| match &part.kind {
        TermKind::Var(name) if at == 0 => Some(PathKey::Value(Arc::clone(name).into())),
        _ if ground && !terms::is_ground(part) => None,
        _ => PathKey::of(part),
    });
    rule.package.iter().map(PathKey::of).chain(head).map_while(|key| key).collect()
}

fn ground_prefix(reference: &[Term]) -> impl Iterator<Item = PathKey> {
    let ground = |at: usize, part: &Term| at == 0 || terms::is_ground(part);
    reference
        .iter()
        .enumerate()
        .map_while(move |(at, part)| if ground(at, part) { PathKey::of(part) } else { None })
}

fn rules_span(problems: &Problems) -> Span {
    problems.first().map(|first| first.span).unwrap_or_default()
}
