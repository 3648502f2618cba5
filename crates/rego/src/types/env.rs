//! The environment of known types: documents and functions in trees, variables in scopes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::terms;
use super::ty::{Dynamic, Object, Property, Type};
use crate::builtins::Builtin;
use crate::syntax::tree::{Name, Term, TermKind};
use crate::value::{Value, deeper};

/// The types of a load: those of built-in functions, of `input`, and of rules.
#[derive(Debug, Clone, Default)]
pub struct TypeEnv {
    /// Built-in functions, and `input` if it has a schema.
    pub(super) globals: Arc<TypeTree>,
    pub(super) rules: Arc<TypeTree>,
}

impl TypeEnv {
    /// Creates an environment that knows the built-in functions only.
    ///
    /// A function whose signature can't be parsed is unknown; a test makes sure that the table has
    /// none.
    pub fn new<'a>(builtins: impl IntoIterator<Item = &'a Builtin>) -> Self {
        let mut env = Self::default();
        for builtin in builtins {
            env.declare(builtin.name, builtin.signature);
        }
        env
    }

    /// Adds a function of the host by its name and signature.
    ///
    /// Returns `false` if the signature can't be parsed.
    pub fn declare(&mut self, name: &str, signature: &str) -> bool {
        let Ok(function) = super::ty::Function::parse(signature) else { return false };
        let mut parts = name.split('.');
        let head = PathKey::Var(parts.next().unwrap_or_default().into());
        let keys = std::iter::once(head).chain(parts.map(|part| PathKey::Value(part.into())));
        Arc::make_mut(&mut self.globals).put(keys, Type::Function(Arc::new(function)));
        true
    }

    /// Declares the type of `input`, as a schema does.
    pub fn set_input(&mut self, tpe: Type) {
        Arc::make_mut(&mut self.globals).put([PathKey::Var("input".into())], tpe);
    }

    /// The type of the value of a reference; unknown if nothing is known about it.
    pub fn get(&self, reference: &[Term]) -> Type {
        Env::global(self).get_ref(reference)
    }

    /// The type of the function with this name, if one is known.
    pub fn function(&self, name: &[Term]) -> Option<Arc<super::ty::Function>> {
        match self.get(name) {
            Type::Function(function) => Some(function),
            _ => None,
        }
    }
}

/// A key of a tree. OPA keeps names and constants in one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathKey {
    Value(Value),
    Var(Name),
}

impl PathKey {
    pub(super) fn of(term: &Term) -> Option<Self> {
        match &term.kind {
            TermKind::Var(name) => Some(Self::Var(Arc::clone(name))),
            _ => terms::constant(term).map(Self::Value),
        }
    }

    /// Names are ordered between strings and arrays.
    fn rank(&self) -> (u8, Option<&str>) {
        match self {
            Self::Value(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                (0, None)
            }
            Self::Var(name) => (1, Some(name)),
            Self::Value(_) => (2, None),
        }
    }
}

impl Ord for PathKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Types by path.
#[derive(Debug, Clone, Default)]
pub(super) struct TypeTree {
    pub(super) tpe: Type,
    pub(super) children: BTreeMap<PathKey, Self>,
}

impl TypeTree {
    fn at(&mut self, path: impl IntoIterator<Item = PathKey>) -> &mut Self {
        path.into_iter().fold(self, |node, key| node.children.entry(key).or_default())
    }

    /// Sets the type at a path.
    pub(super) fn put(&mut self, path: impl IntoIterator<Item = PathKey>, tpe: Type) {
        self.at(path).tpe = tpe;
    }

    pub(super) fn child(&self, term: &Term) -> Option<&Self> {
        self.children.get(&PathKey::of(term)?)
    }

    /// Returns `true` if this node has a type of its own, rather than only its descendants.
    pub(super) fn is_leaf(&self) -> bool {
        !self.tpe.is_unknown()
    }

    /// The type of this node with all its descendants.
    pub(super) fn extent(&self) -> Type {
        if self.is_leaf() {
            return self.tpe.clone();
        }
        let fixed = self.children.iter().filter_map(|(key, child)| match key {
            PathKey::Value(key @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                Some(Property { key: key.clone(), value: child.extent() })
            }
            _ => None,
        });
        // Besides rules, documents may contain unknown data.
        Type::object(fixed.collect(), Some(Dynamic { key: Type::String, value: Type::any() }))
    }

    /// Adds the type of a rule at its ground path: to the type known for that path, to the objects
    /// above it, and from the descendants.
    pub(super) fn insert(&mut self, path: &[PathKey], tpe: &Type) {
        let mut node = self;
        for (at, key) in path.iter().enumerate() {
            let below = path.get(at + 1..).unwrap_or_default();
            node = node.children.entry(key.clone()).or_default();
            if let (Type::Object(object), [_, ..]) = (&node.tpe, below) {
                node.tpe = inserted(object, below, tpe);
            }
        }
        node.tpe = merged(&node.tpe, tpe);
        if matches!(tpe, Type::Object(_)) {
            let mut leaves = Vec::new();
            for (key, child) in &node.children {
                child.leaves(&mut vec![key.clone()], &mut leaves);
            }
            for (path, tpe) in leaves {
                if let Type::Object(object) = &node.tpe {
                    node.tpe = inserted(object, &path, &tpe);
                }
            }
        }
    }

    fn leaves(&self, path: &mut Vec<PathKey>, leaves: &mut Vec<(Vec<PathKey>, Type)>) {
        if self.is_leaf() {
            leaves.push((path.clone(), self.tpe.clone()));
            return;
        }
        for (key, child) in &self.children {
            path.push(key.clone());
            child.leaves(path, leaves);
            path.pop();
        }
    }
}

/// The type of an object with a value added at a path below it.
fn inserted(object: &Object, path: &[PathKey], tpe: &Type) -> Type {
    let Some((first, below)) = path.split_first() else {
        return Type::Object(Arc::new(object.clone()));
    };
    let key = match first {
        PathKey::Value(key) => constant_type(key),
        PathKey::Var(_) => Type::Unknown,
    };
    let value =
        if below.is_empty() { tpe.clone() } else { inserted(&Object::default(), below, tpe) };
    let rest = match object.rest() {
        Some(rest) => Dynamic { key: rest.key.or(&key), value: rest.value.or(&value) },
        None => Dynamic { key, value },
    };
    Type::object(object.fixed().to_vec(), Some(rest))
}

/// The type of a constant as it's written in a policy, where sets are sets.
fn constant_type(value: &Value) -> Type {
    match value {
        Value::Array(items) => {
            Type::array(items.iter().map(constant_type).collect(), Type::Unknown)
        }
        Value::Set(items) => {
            Type::set(items.iter().fold(Type::Unknown, |tpe, item| tpe.or(&constant_type(item))))
        }
        other => Type::of(other),
    }
}

/// The type of a document that several rules contribute to.
fn merged(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Unknown, known) | (known, Type::Unknown) => return known.clone(),
        (Type::Object(x), Type::Object(y)) if x.fixed().is_empty() && y.fixed().is_empty() => {
            return match (x.rest(), y.rest()) {
                (None, _) => b.clone(),
                (_, None) => a.clone(),
                (Some(x), Some(y)) => Type::object_of(x.key.or(&y.key), merged(&x.value, &y.value)),
            };
        }
        (Type::Object(x), Type::Any(of)) if x.fixed().is_empty() => {
            if let Some(rest) = x.rest()
                && let Some(both) = merged_into(of, rest)
            {
                return both;
            }
        }
        (Type::Set(x), Type::Set(y)) => return Type::set(x.or(y)),
        (Type::Any(_), other) if !matches!(other, Type::Any(_)) => return merged(b, a),
        _ => {}
    }
    a.or(b)
}

/// Adds members to the first object without fixed members in a union, if there is one.
fn merged_into(of: &[Type], more: &Dynamic) -> Option<Type> {
    let mut of = of.to_vec();
    let place = of.iter_mut().find_map(|option| match option {
        Type::Object(object) if object.fixed().is_empty() && object.rest().is_some() => {
            Some(object)
        }
        _ => None,
    })?;
    let rest = place.rest()?;
    let rest = Dynamic { key: rest.key.or(&more.key), value: rest.value.or(&more.value) };
    *place = Arc::new(Object::new(Vec::new(), Some(rest)));
    // Like OPA, the member is changed in its place, without sorting the union again.
    Some(Type::Any(of.into()))
}

/// A scope: types of documents and variables, and the enclosing scope.
pub(super) struct Env {
    /// The id, unique in the process.
    id: u64,
    vars: RefCell<BTreeMap<Name, Type>>,
    pub(super) docs: Option<Arc<TypeTree>>,
    /// The scope that stores the variables, if this one stores only documents.
    vars_in: Option<Rc<Env>>,
    pub(super) next: Option<Rc<Env>>,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The entry of a scope for the head of a reference.
pub(super) enum HeadEntry<'a> {
    /// A variable, with its type.
    Var(Type),
    /// The root of a tree of types.
    Docs(&'a TypeTree),
    Nothing,
}

impl Env {
    fn new(docs: Option<Arc<TypeTree>>, next: Option<Rc<Self>>) -> Rc<Self> {
        Rc::new(Self { id: next_id(), vars: RefCell::default(), docs, vars_in: None, next })
    }

    /// Creates the scope of a load's rules, enclosed by that of the built-in functions.
    pub(super) fn global(types: &TypeEnv) -> Rc<Self> {
        let globals = Self::new(Some(Arc::clone(&types.globals)), None);
        Self::new(Some(Arc::clone(&types.rules)), Some(globals))
    }

    /// Creates a nested scope that has types of documents and variables of its own.
    pub(super) fn wrap_tree(self: &Rc<Self>, docs: TypeTree) -> Rc<Self> {
        Self::new(Some(Arc::new(docs)), Some(Rc::clone(self)))
    }

    /// Creates a nested scope.
    pub(super) fn wrap(self: &Rc<Self>) -> Rc<Self> {
        Self::new(None, Some(Rc::clone(self)))
    }

    /// Creates a nested scope that has types of documents and stores its variables in this one.
    pub(super) fn wrap_docs(self: &Rc<Self>, docs: Arc<TypeTree>) -> Rc<Self> {
        let vars_in = self.vars_in.as_ref().unwrap_or(self);
        Rc::new(Self {
            id: next_id(),
            vars: RefCell::default(),
            docs: Some(docs),
            vars_in: Some(Rc::clone(vars_in)),
            next: Some(Rc::clone(self)),
        })
    }

    /// Sets the type of a variable.
    pub(super) fn put_var(&self, name: &Name, tpe: Type) {
        let target = self.vars_in.as_deref().unwrap_or(self);
        target.vars.borrow_mut().insert(Arc::clone(name), tpe);
    }

    /// The ids of the scopes, from here outwards, that have types of documents. These types never
    /// change.
    pub(super) fn documents(&self) -> Vec<u64> {
        let scopes = std::iter::successors(Some(self), |scope| scope.next.as_deref());
        scopes.filter(|scope| scope.docs.is_some()).map(|scope| scope.id).collect()
    }

    /// The type of a variable of a body; unknown if nothing is known about it.
    pub(super) fn var_type(&self, name: &Name) -> Type {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.next.as_deref());
        scopes.find_map(|scope| scope.vars.borrow().get(name).cloned()).unwrap_or_default()
    }

    /// The entry of this scope, not of the enclosing ones, for the head of a reference.
    pub(super) fn head(&self, head: &Term) -> HeadEntry<'_> {
        if let TermKind::Var(name) = &head.kind
            && let Some(tpe) = self.vars.borrow().get(name)
        {
            return HeadEntry::Var(tpe.clone());
        }
        match self.docs.as_ref().and_then(|docs| docs.child(head)) {
            Some(tree) => HeadEntry::Docs(tree),
            None => HeadEntry::Nothing,
        }
    }

    /// The type of a variable.
    pub(super) fn get_var(&self, term: &Term) -> Type {
        let mut scope = self;
        loop {
            match scope.head(term) {
                HeadEntry::Var(tpe) => return tpe,
                HeadEntry::Docs(tree) => return tree.tpe.clone(),
                HeadEntry::Nothing => {}
            }
            match &scope.next {
                Some(next) => scope = next,
                None => return Type::Unknown,
            }
        }
    }

    /// The type of the value of a reference.
    pub(super) fn get_ref(&self, reference: &[Term]) -> Type {
        let Some((head, tail)) = reference.split_first() else { return Type::Unknown };
        let mut scope = self;
        loop {
            let found = match scope.head(head) {
                HeadEntry::Var(tpe) if tpe.is_unknown() => found_below(&TypeTree::default(), tail),
                HeadEntry::Var(tpe) => Some(select(&tpe, tail)),
                HeadEntry::Docs(tree) => found_below(tree, tail),
                HeadEntry::Nothing => None,
            };
            match (found, &scope.next) {
                (Some(tpe), _) => return tpe,
                (None, Some(next)) => scope = next,
                // Documents from outside the load may have any type.
                (None, None) if matches!(&head.kind, TermKind::Var(name) if terms::is_root(name)) =>
                {
                    return Type::any();
                }
                (None, None) => return Type::Unknown,
            }
        }
    }
}

/// The type that the tail of a reference selects in a tree; `None` if an enclosing scope must be
/// searched.
fn found_below(mut node: &TypeTree, mut tail: &[Term]) -> Option<Type> {
    loop {
        let Some((first, rest)) = tail.split_first() else { return Some(node.extent()) };
        let child = node.child(first);
        if node.is_leaf() && child.is_none() {
            return Some(select(&node.tpe, tail));
        }
        if !node.is_leaf() && !first.is_constant() {
            return Some(select(&node.extent(), tail));
        }
        node = child?;
        tail = rest;
    }
}

/// The type that a path of operands selects in a type; for an operand with a variable, the union of
/// all.
pub(super) fn select(tpe: &Type, path: &[Term]) -> Type {
    let Some((first, rest)) = path.split_first() else { return tpe.clone() };
    if tpe.is_unknown() {
        return Type::Unknown;
    }
    if first.is_scalar() {
        return select(&constant_selected(tpe, first), rest);
    }
    if is_empty_collection(tpe) {
        return Type::any();
    }
    select(&tpe.values(), rest)
}

/// The type that a constant operand selects.
pub(super) fn constant_selected(tpe: &Type, operand: &Term) -> Type {
    terms::native(operand).map_or(Type::Unknown, |key| tpe.select(&key))
}

/// Returns a type with `any` in the place of each collection that is always empty, however deep it is; `None` if
/// there is none.
pub(super) fn relaxed(tpe: &Type) -> Option<Type> {
    fn inner(tpe: &Type, any: &mut bool) -> Type {
        if is_empty_collection(tpe) {
            *any = true;
            return Type::any();
        }
        deeper(|| match tpe {
            Type::Object(object) => {
                let fixed = object.fixed().iter();
                let fixed = fixed
                    .map(|own| Property { key: own.key.clone(), value: inner(&own.value, any) });
                let fixed = fixed.collect();
                let rest = object
                    .rest()
                    .map(|rest| Dynamic { key: rest.key.clone(), value: inner(&rest.value, any) });
                Type::object(fixed, rest)
            }
            Type::Array(array) => {
                let fixed = array.fixed().iter().map(|tpe| inner(tpe, any)).collect();
                Type::array(fixed, inner(array.rest(), any))
            }
            Type::Set(of) => Type::set(inner(of, any)),
            Type::Any(of) => Type::any_of(of.iter().map(|tpe| inner(tpe, any)).collect()),
            other => other.clone(),
        })
    }
    let mut any = false;
    let relaxed = inner(tpe, &mut any);
    any.then_some(relaxed)
}

/// Returns `true` if a collection of this type is always empty.
pub(super) fn is_empty_collection(tpe: &Type) -> bool {
    match tpe {
        Type::Object(object) => object.fixed().is_empty() && object.rest().is_none(),
        Type::Array(array) => array.fixed().is_empty() && array.rest().is_unknown(),
        Type::Set(of) => of.is_unknown(),
        _ => false,
    }
}
