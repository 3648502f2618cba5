//! What is known of types: of documents and functions in trees, of variables in scopes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::terms;
use super::ty::{Dynamic, Object, Property, Type};
use crate::rego::builtins::Builtin;
use crate::rego::syntax::tree::{Name, Term, TermKind};
use crate::rego::value::Value;

/// The types of a load: of its built-in functions, of `input`, and of its rules.
#[derive(Debug, Clone, Default)]
pub struct TypeEnv {
    /// Built-in functions, and `input` where a schema says what it is.
    pub(super) globals: Arc<Tree>,
    /// Rules.
    pub(super) rules: Arc<Tree>,
}

impl TypeEnv {
    /// What is known before any rule is: the built-in functions.
    ///
    /// A function whose signature can't be read is unknown; a test holds the table against that.
    pub fn new<'a>(builtins: impl IntoIterator<Item = &'a Builtin>) -> Self {
        let mut env = Self::default();
        for builtin in builtins {
            env.declare(builtin.name, builtin.signature);
        }
        env
    }

    /// Adds a function of the host, by its name and signature.
    ///
    /// Gives false where the signature can't be read.
    pub fn declare(&mut self, name: &str, signature: &str) -> bool {
        let Ok(function) = super::ty::Function::parse(signature) else { return false };
        let mut parts = name.split('.');
        let head = Key::Var(parts.next().unwrap_or_default().into());
        let keys = std::iter::once(head).chain(parts.map(|it| Key::Value(it.into())));
        Arc::make_mut(&mut self.globals).put(keys, Type::Function(Arc::new(function)));
        true
    }

    /// Says what `input` is.
    pub fn set_input(&mut self, tpe: Type) {
        Arc::make_mut(&mut self.globals).put([Key::Var("input".into())], tpe);
    }

    /// The type of what a reference finds; unknown where nothing is known to be there.
    pub fn get(&self, reference: &[Term]) -> Type {
        Env::global(self).get_ref(reference)
    }

    /// True if a function of this name is known, and its type.
    pub fn function(&self, name: &[Term]) -> Option<Arc<super::ty::Function>> {
        match self.get(name) {
            Type::Function(it) => Some(it),
            _ => None,
        }
    }
}

/// A key of a tree: OPA keeps names and constants in one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Value(Value),
    Var(Name),
}

impl Key {
    pub(super) fn of(term: &Term) -> Option<Self> {
        match &term.kind {
            TermKind::Var(name) => Some(Self::Var(Arc::clone(name))),
            _ => terms::constant(term).map(Self::Value),
        }
    }

    /// Names stand between strings and arrays.
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

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Types by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub(super) tpe: Type,
    pub(super) children: BTreeMap<Key, Self>,
}

impl Tree {
    fn at(&mut self, path: impl IntoIterator<Item = Key>) -> &mut Self {
        path.into_iter().fold(self, |node, key| node.children.entry(key).or_default())
    }

    /// Says that what is at a path has this type.
    pub(super) fn put(&mut self, path: impl IntoIterator<Item = Key>, tpe: Type) {
        self.at(path).tpe = tpe;
    }

    pub(super) fn child(&self, term: &Term) -> Option<&Self> {
        self.children.get(&Key::of(term)?)
    }

    /// True if a type is known here, rather than only of what is below.
    pub(super) fn is_leaf(&self) -> bool {
        !self.tpe.is_unknown()
    }

    /// The type of all that is here and below.
    pub(super) fn extent(&self) -> Type {
        if self.is_leaf() {
            return self.tpe.clone();
        }
        let fixed = self.children.iter().filter_map(|(key, child)| match key {
            Key::Value(key @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
                Some(Property { key: key.clone(), value: child.extent() })
            }
            _ => None,
        });
        // What documents hold besides rules isn't known.
        Type::object(fixed.collect(), Some(Dynamic { key: Type::String, value: Type::any() }))
    }

    /// Adds the type of a rule at its ground path to what is known of it, of the objects above it,
    /// and of what is below.
    pub(super) fn insert(&mut self, path: &[Key], tpe: &Type) {
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

    fn leaves(&self, path: &mut Vec<Key>, leaves: &mut Vec<(Vec<Key>, Type)>) {
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

/// The type of an object to which something is added at a path below it.
fn inserted(object: &Object, path: &[Key], tpe: &Type) -> Type {
    let Some((first, below)) = path.split_first() else {
        return Type::Object(Arc::new(object.clone()));
    };
    let key = match first {
        Key::Value(key) => constant_type(key),
        Key::Var(_) => Type::Unknown,
    };
    let value =
        if below.is_empty() { tpe.clone() } else { inserted(&Object::default(), below, tpe) };
    let rest = match object.rest() {
        Some(rest) => Dynamic { key: rest.key.or(&key), value: rest.value.or(&value) },
        None => Dynamic { key, value },
    };
    Type::object(object.fixed().to_vec(), Some(rest))
}

/// The type of a constant as it stands in a policy, where sets are sets.
fn constant_type(value: &Value) -> Type {
    match value {
        Value::Array(items) => {
            Type::array(items.iter().map(constant_type).collect(), Type::Unknown)
        }
        Value::Set(items) => {
            Type::set(items.iter().fold(Type::Unknown, |tpe, it| tpe.or(&constant_type(it))))
        }
        other => Type::of(other),
    }
}

/// The type of a document that several rules contribute to.
fn merged(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Unknown, it) | (it, Type::Unknown) => return it.clone(),
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

/// A union whose first object without fixed members also has these.
fn merged_into(of: &[Type], more: &Dynamic) -> Option<Type> {
    let mut of = of.to_vec();
    let place = of.iter_mut().find_map(|it| match it {
        Type::Object(object) if object.fixed().is_empty() && object.rest().is_some() => {
            Some(object)
        }
        _ => None,
    })?;
    let rest = place.rest()?;
    let rest = Dynamic { key: rest.key.or(&more.key), value: rest.value.or(&more.value) };
    *place = Arc::new(Object::new(Vec::new(), Some(rest)));
    // OPA changes the member in its place.
    Some(Type::Any(of.into()))
}

/// One scope: documents that it knows more of, variables, and the scope around it.
pub(super) struct Env {
    /// Its number, which no other scope ever has.
    id: u64,
    vars: RefCell<BTreeMap<Name, Type>>,
    pub(super) docs: Option<Arc<Tree>>,
    /// The scope that takes the variables, where this one has only documents.
    vars_in: Option<Rc<Env>>,
    pub(super) next: Option<Rc<Env>>,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a scope holds of a reference's head.
pub(super) enum Head<'a> {
    /// A variable, with its type.
    Var(Type),
    /// The root of a tree.
    Docs(&'a Tree),
    Nothing,
}

impl Env {
    fn new(docs: Option<Arc<Tree>>, next: Option<Rc<Self>>) -> Rc<Self> {
        Rc::new(Self { id: next_id(), vars: RefCell::default(), docs, vars_in: None, next })
    }

    /// The scope of a load's rules, around it that of built-in functions.
    pub(super) fn global(types: &TypeEnv) -> Rc<Self> {
        let globals = Self::new(Some(Arc::clone(&types.globals)), None);
        Self::new(Some(Arc::clone(&types.rules)), Some(globals))
    }

    /// A scope within that knows of documents, and has variables of its own.
    pub(super) fn wrap_tree(self: &Rc<Self>, docs: Tree) -> Rc<Self> {
        Self::new(Some(Arc::new(docs)), Some(Rc::clone(self)))
    }

    /// A scope within.
    pub(super) fn wrap(self: &Rc<Self>) -> Rc<Self> {
        Self::new(None, Some(Rc::clone(self)))
    }

    /// A scope within that knows of documents and keeps its variables here.
    pub(super) fn wrap_docs(self: &Rc<Self>, docs: Arc<Tree>) -> Rc<Self> {
        let vars_in = self.vars_in.as_ref().unwrap_or(self);
        Rc::new(Self {
            id: next_id(),
            vars: RefCell::default(),
            docs: Some(docs),
            vars_in: Some(Rc::clone(vars_in)),
            next: Some(Rc::clone(self)),
        })
    }

    /// Says what a variable is.
    pub(super) fn put_var(&self, name: &Name, tpe: Type) {
        let target = self.vars_in.as_deref().unwrap_or(self);
        target.vars.borrow_mut().insert(Arc::clone(name), tpe);
    }

    /// The scopes, from here outwards, that know of documents. What they know never changes.
    pub(super) fn documents(&self) -> Vec<u64> {
        let scopes = std::iter::successors(Some(self), |scope| scope.next.as_deref());
        scopes.filter(|scope| scope.docs.is_some()).map(|scope| scope.id).collect()
    }

    /// The type of a variable of a body, unknown if nothing is known of it.
    pub(super) fn var_type(&self, name: &Name) -> Type {
        let mut scopes = std::iter::successors(Some(self), |scope| scope.next.as_deref());
        scopes.find_map(|scope| scope.vars.borrow().get(name).cloned()).unwrap_or_default()
    }

    /// What this scope, not those around it, holds of a reference's head.
    pub(super) fn head(&self, head: &Term) -> Head<'_> {
        if let TermKind::Var(name) = &head.kind
            && let Some(tpe) = self.vars.borrow().get(name)
        {
            return Head::Var(tpe.clone());
        }
        match self.docs.as_ref().and_then(|docs| docs.child(head)) {
            Some(tree) => Head::Docs(tree),
            None => Head::Nothing,
        }
    }

    /// The type of a variable.
    pub(super) fn get_var(&self, term: &Term) -> Type {
        let mut scope = self;
        loop {
            match scope.head(term) {
                Head::Var(tpe) => return tpe,
                Head::Docs(tree) => return tree.tpe.clone(),
                Head::Nothing => {}
            }
            match &scope.next {
                Some(next) => scope = next,
                None => return Type::Unknown,
            }
        }
    }

    /// The type of what a reference finds.
    pub(super) fn get_ref(&self, reference: &[Term]) -> Type {
        let Some((head, tail)) = reference.split_first() else { return Type::Unknown };
        let mut scope = self;
        loop {
            let found = match scope.head(head) {
                Head::Var(tpe) if tpe.is_unknown() => found_below(&Tree::default(), tail),
                Head::Var(tpe) => Some(select(&tpe, tail)),
                Head::Docs(tree) => found_below(tree, tail),
                Head::Nothing => None,
            };
            match (found, &scope.next) {
                (Some(tpe), _) => return tpe,
                (None, Some(next)) => scope = next,
                // What lies outside the load may hold anything.
                (None, None) if matches!(&head.kind, TermKind::Var(name) if terms::is_root(name)) =>
                {
                    return Type::any();
                }
                (None, None) => return Type::Unknown,
            }
        }
    }
}

/// The type of what a reference's tail finds in a tree; nothing where an outer scope must be asked.
fn found_below(mut node: &Tree, mut tail: &[Term]) -> Option<Type> {
    loop {
        let Some((first, rest)) = tail.split_first() else { return Some(node.extent()) };
        let child = node.child(first);
        if node.is_leaf() && child.is_none() {
            return Some(select(&node.tpe, tail));
        }
        if !node.is_leaf() && !terms::is_constant(first) {
            return Some(select(&node.extent(), tail));
        }
        node = child?;
        tail = rest;
    }
}

/// The type of what a path of operands finds in a type; a union of what a variable may find.
pub(super) fn select(tpe: &Type, path: &[Term]) -> Type {
    let Some((first, rest)) = path.split_first() else { return tpe.clone() };
    if tpe.is_unknown() {
        return Type::Unknown;
    }
    if terms::is_scalar(first) {
        return select(&constant_selected(tpe, first), rest);
    }
    if is_empty_collection(tpe) {
        return Type::any();
    }
    select(&tpe.values(), rest)
}

/// The type of what a constant operand finds.
pub(super) fn constant_selected(tpe: &Type, operand: &Term) -> Type {
    terms::native(operand).map_or(Type::Unknown, |key| tpe.select(&key))
}

/// True if nothing can be in a collection of this type.
pub(super) fn is_empty_collection(tpe: &Type) -> bool {
    match tpe {
        Type::Object(it) => it.fixed().is_empty() && it.rest().is_none(),
        Type::Array(it) => it.fixed().is_empty() && it.rest().is_unknown(),
        Type::Set(of) => of.is_unknown(),
        _ => false,
    }
}
