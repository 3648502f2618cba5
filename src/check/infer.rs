//! What expressions are, as far as they come from the service.
//!
//! Owns the way of a type from the functions' results through variables, rules, comprehensions and
//! policies' own functions, into which arguments go by their calls. It looks at policies as they are
//! written, those that can't be compiled too; what it can't tell for certain it doesn't say. The
//! language's own checker, which refuses, knows less and is asked elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::model::{Binding, Kind, function_name};
use super::{File, Inspected, names};
use crate::builtins::practice::practice;
use crate::builtins::{self, Field, Type};
use crate::rego::builtins::lookup;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};

/// How far variables and rules are followed.
const MAX_DEPTH: usize = 40;

/// The number of expressions that are looked at in one load.
const FUEL: u32 = 1_000_000;

/// A type, in so many arrays, sets or objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub ty: Type,
    pub lists: usize,
    /// The last field on the way here.
    pub field: &'static str,
    /// The values that it is known to have.
    pub values: &'static [&'static str],
    /// That is what the service does, and no document says so.
    pub practice: bool,
    /// The last field may be absent.
    pub optional: bool,
}

impl Shape {
    fn of(ty: Type) -> Self {
        Self { ty, lists: 0, field: "", values: &[], practice: false, optional: false }
    }

    pub fn element(self) -> Option<Self> {
        match (self.lists, self.ty) {
            (0, Type::Array(of) | Type::Map(of)) => Some(Self { ty: *of, ..self }),
            (0, _) => None,
            (lists, _) => Some(Self { lists: lists - 1, ..self }),
        }
    }

    fn fields(self) -> Option<&'static [Field]> {
        match self.ty {
            Type::Object(fields) if self.lists == 0 => Some(fields),
            _ => None,
        }
    }

    /// Whether it is an object that isn't known to have a `message`.
    pub fn lacks_message(self) -> bool {
        self.fields().is_some_and(|fields| !fields.iter().any(|field| field.name == "message"))
    }

    /// The name of its sort, where values of other sorts can't equal it.
    pub fn sort(self) -> Option<&'static str> {
        if self.lists > 0 {
            return None;
        }
        Some(match self.ty {
            Type::String | Type::Digest | Type::Uuid | Type::Timestamp | Type::Count => "a string",
            Type::Integer | Type::Number => "a number",
            Type::Boolean => "a boolean",
            Type::Array(_) => "an array",
            Type::Object(_) | Type::Map(_) => "an object",
            Type::Any | Type::Either(..) | Type::Null => return None,
        })
    }
}

/// What is known of an expression.
#[derive(Debug, Clone, Copy)]
enum Found {
    Unknown,
    /// Nothing is in it, or it is null: it is like anything.
    Nothing,
    Shape(Shape),
}

impl Found {
    fn shape(self) -> Option<Shape> {
        match self {
            Self::Shape(shape) => Some(shape),
            _ => None,
        }
    }

    fn map(self, change: impl FnOnce(Shape) -> Option<Shape>) -> Self {
        match self {
            Self::Shape(shape) => change(shape).map_or(Self::Unknown, Self::Shape),
            other => other,
        }
    }

    /// In one more list.
    fn listed(self) -> Self {
        self.map(|shape| Some(Shape { lists: shape.lists + 1, ..shape }))
    }

    /// Either of two.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, it) | (it, Self::Nothing) => it,
            (Self::Shape(a), Self::Shape(b)) if a.ty == b.ty && a.lists == b.lists => {
                let same = std::ptr::eq(a.values, b.values);
                Self::Shape(Shape {
                    values: if same { a.values } else { &[] },
                    practice: a.practice && b.practice,
                    optional: a.optional || b.optional,
                    ..a
                })
            }
            _ => Self::Unknown,
        }
    }

    fn any(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::Nothing, Self::or)
    }
}

/// What is known of a load's expressions.
pub(super) struct Types<'a> {
    all: &'a Inspected<'a>,
    files: &'a [File<'a>],
    /// The definitions of each rule by its path, with the files that they are in.
    rules: HashMap<String, Vec<(usize, &'a Rule)>>,
    /// The function and the place of each argument, by the argument's variable.
    arguments: HashMap<&'a str, (String, usize)>,
    /// The arguments of all calls of policies' own functions, but for those in tests.
    calls: HashMap<&'a str, Vec<(usize, &'a [Term])>>,
    /// What was found, by the expression's address; nothing while it is being looked at.
    known: RefCell<HashMap<usize, Found>>,
    fuel: Cell<u32>,
}

/// The constant part of a rule's path, and how many variable parts follow.
fn path(module: &Module, rule: &Rule) -> (String, usize) {
    let mut path = vec!["data"];
    path.extend(names::package_path(module));
    let reference = &rule.head.reference;
    let mut constant = 0;
    for (at, part) in reference.iter().enumerate() {
        match &part.kind {
            TermKind::Var(name) if at == 0 => path.push(name),
            TermKind::String(name) => path.push(name),
            _ => break,
        }
        constant += 1;
    }
    (path.join("."), reference.len() - constant)
}

impl<'a> Types<'a> {
    pub fn new(all: &'a Inspected<'a>, files: &'a [File<'a>]) -> Self {
        let mut types = Self {
            all,
            files,
            rules: HashMap::new(),
            arguments: HashMap::new(),
            calls: HashMap::new(),
            known: RefCell::default(),
            fuel: Cell::new(FUEL),
        };
        for (at, file) in files.iter().enumerate() {
            for rule in &file.module.rules {
                let (path, _) = path(file.module, rule);
                for (place, argument) in rule.head.args.iter().enumerate() {
                    if let TermKind::Var(name) = &argument.kind {
                        types.arguments.insert(&**name, (path.clone(), place));
                    }
                }
                types.rules.entry(path).or_default().push((at, rule));
            }
            for (name, arguments, _) in &file.model.others {
                if !file.is_test && name.starts_with("data.") {
                    types.calls.entry(name).or_default().push((at, arguments));
                }
            }
        }
        types
    }

    /// What an expression of a file is, where it comes from the service or is written down.
    pub fn shape(&self, file: usize, term: &'a Term) -> Option<Shape> {
        self.of(file, term, MAX_DEPTH).shape()
    }

    /// Tells of what a reference asks for and isn't a documented field, with the documented ones.
    pub fn missing(
        &self,
        file: usize,
        term: &'a Term,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) {
        if let TermKind::Ref(parts) = &term.kind {
            self.reference(file, parts, MAX_DEPTH, missing);
        }
    }

    /// The same of the keys that `object.get` looks for.
    pub fn missing_keys(
        &self,
        file: usize,
        (object, key): (&'a Term, &'a Term),
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) {
        self.got(file, object, key, MAX_DEPTH, missing);
    }

    fn of(&self, file: usize, term: &'a Term, depth: usize) -> Found {
        let (Some(depth), Some(fuel)) = (depth.checked_sub(1), self.fuel.get().checked_sub(1))
        else {
            return Found::Unknown;
        };
        self.fuel.set(fuel);
        let address = std::ptr::from_ref(term).addr();
        if let Some(known) = self.known.borrow().get(&address) {
            return *known;
        }
        // What needs itself to be known isn't.
        self.known.borrow_mut().insert(address, Found::Unknown);
        let found = self.look(file, term, depth);
        self.known.borrow_mut().insert(address, found);
        found
    }

    fn look(&self, file: usize, term: &'a Term, depth: usize) -> Found {
        let scalar = |ty| Found::Shape(Shape::of(ty));
        match &term.kind {
            TermKind::Null => Found::Nothing,
            TermKind::Bool(_) => scalar(Type::Boolean),
            TermKind::Number(_) => scalar(Type::Number),
            TermKind::String(_) | TermKind::Template(_) => scalar(Type::String),
            TermKind::Array(items) | TermKind::Set(items) => {
                Found::any(items.iter().map(|it| self.of(file, it, depth))).listed()
            }
            TermKind::ArrayComprehension(it) | TermKind::SetComprehension(it) => {
                self.of(file, &it.term, depth).listed()
            }
            TermKind::ObjectComprehension(it) => self.of(file, &it.value, depth).listed(),
            TermKind::Object(_) => Found::Unknown,
            TermKind::Group(inner) => self.of(file, inner, depth),
            TermKind::Var(name) => self.variable(file, name, term.span, depth),
            TermKind::Ref(parts) => self.reference(file, parts, depth, &mut |_, _| {}),
            TermKind::Call(terms) => self.call(file, terms, depth),
        }
    }

    fn variable(&self, file: usize, name: &'a str, at: Span, depth: usize) -> Found {
        let Some(variable) = self.files.get(file).and_then(|it| it.model.variable(name, at)) else {
            return Found::Unknown;
        };
        if variable.kind == Kind::Argument {
            return self.argument(name, depth);
        }
        let found = match variable.binding {
            Binding::Value(value) => self.of(file, value, depth),
            Binding::Element(list) => self.of(file, list, depth).map(Shape::element),
            Binding::Unknown => Found::Unknown,
        };
        // What a variable has is there.
        found.map(|shape| Some(Shape { optional: false, ..shape }))
    }

    /// What all calls give an argument.
    fn argument(&self, name: &str, depth: usize) -> Found {
        let Some((path, place)) = self.arguments.get(name) else { return Found::Unknown };
        let Some(calls) = self.calls.get(path.as_str()) else { return Found::Unknown };
        let given = calls.iter().map(|(file, arguments)| match arguments.get(*place) {
            Some(argument) => self.of(*file, argument, depth),
            None => Found::Unknown,
        });
        Found::any(given).map(|shape| Some(Shape { optional: false, ..shape }))
    }

    /// What a reference finds; what it looks for in vain in an object goes to `missing`.
    fn reference(
        &self,
        file: usize,
        parts: &'a [Term],
        depth: usize,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) -> Found {
        let Some((head, rest)) = parts.split_first() else { return Found::Unknown };
        let is_data = matches!(&head.kind, TermKind::Var(name) if &**name == "data");
        let (found, steps) = if is_data {
            let (mut path, mut length) = (String::from("data"), 0);
            for part in rest {
                let TermKind::String(key) = &part.kind else { break };
                path.push('.');
                path.push_str(key);
                length += 1;
                if self.rules.contains_key(&path) {
                    break;
                }
            }
            (self.rule(&path, depth), rest.get(length..).unwrap_or_default())
        } else {
            (self.of(file, head, depth), rest)
        };
        found.map(|mut shape| {
            for step in steps {
                shape = stepped(shape, step, missing)?;
            }
            Some(shape)
        })
    }

    /// What all definitions of a rule make.
    fn rule(&self, path: &str, depth: usize) -> Found {
        let Some(definitions) = self.rules.get(path) else { return Found::Unknown };
        let mut found = Found::Nothing;
        for (file, rule) in definitions {
            let mut next = Some(*rule);
            while let Some(rule) = next {
                found = found.or(self.definition(*file, rule, depth));
                next = rule.else_rule.as_deref();
            }
        }
        found
    }

    fn definition(&self, file: usize, rule: &'a Rule, depth: usize) -> Found {
        let head = &rule.head;
        let Some(module) = self.files.get(file).map(|file| file.module) else {
            return Found::Unknown;
        };
        let (_, keys) = path(module, rule);
        let (value, lists) = match (&head.value, &head.key) {
            (Some(value), key) => (value, keys.max(usize::from(key.is_some()))),
            (None, Some(key)) => {
                let own = head.reference.last().is_some_and(|last| last.span == key.span);
                (key, if own { keys } else { keys + 1 })
            }
            (None, None) => return Found::Shape(Shape::of(Type::Boolean)),
        };
        (0..lists).fold(self.of(file, value, depth), |found, _| found.listed())
    }

    fn call(&self, file: usize, terms: &'a [Term], depth: usize) -> Found {
        let Some((operator, arguments)) = terms.split_first() else { return Found::Unknown };
        let Some(name) = function_name(operator) else { return Found::Unknown };
        let product = self.all.product.as_str();
        if let Some(short) = name.strip_prefix(product).and_then(|it| it.strip_prefix('.')) {
            let function = builtins::function(short);
            return function.map_or(Found::Unknown, |it| Found::Shape(Shape::of(it.result)));
        }
        if name.starts_with("data.") {
            return self.rule(&name, depth);
        }
        let of = |term: &'a Term| self.of(file, term, depth);
        match (name.as_str(), arguments) {
            ("object.get", [object, key, default]) => {
                self.got(file, object, key, depth, &mut |_, _| {}).or(of(default))
            }
            ("sort" | "array.reverse" | "array.slice" | "minus", [list, ..])
                if of(list).map(Shape::element).shape().is_some() =>
            {
                of(list)
            }
            ("array.concat" | "or" | "and", [left, right]) => of(left).or(of(right)),
            ("union" | "intersection" | "min" | "max", [lists]) => of(lists).map(Shape::element),
            _ => match lookup(&name).and_then(|it| it.signature.rsplit_once("->")) {
                Some((_, result)) => match result.trim() {
                    "string" => Found::Shape(Shape::of(Type::String)),
                    "number" => Found::Shape(Shape::of(Type::Number)),
                    "boolean" => Found::Shape(Shape::of(Type::Boolean)),
                    _ => Found::Unknown,
                },
                None => Found::Unknown,
            },
        }
    }

    /// What `object.get` finds.
    fn got(
        &self,
        file: usize,
        object: &'a Term,
        key: &'a Term,
        depth: usize,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) -> Found {
        let keys = match &key.kind {
            TermKind::Array(keys) => keys.as_slice(),
            _ => std::slice::from_ref(key),
        };
        self.of(file, object, depth).map(|mut shape| {
            for key in keys {
                shape = stepped(shape, key, missing)?;
            }
            Some(Shape { optional: false, ..shape })
        })
    }
}

/// What an operand finds.
fn stepped(
    shape: Shape,
    step: &Term,
    missing: &mut dyn FnMut(&'static [Field], &Term),
) -> Option<Shape> {
    let (TermKind::String(key), Some(fields)) = (&step.kind, shape.fields()) else {
        return if shape.fields().is_some() { None } else { shape.element() };
    };
    let documented = fields.iter().find(|field| field.name == &**key);
    let known = practice(fields).iter().find(|known| known.name == &**key);
    let values = known.map_or(&[][..], |known| known.values);
    match (documented, known) {
        (Some(field), _) => Some(Shape {
            ty: field.ty,
            lists: 0,
            field: field.name,
            values,
            practice: shape.practice,
            optional: !field.required,
        }),
        (None, Some(known)) => Some(Shape {
            ty: known.ty,
            lists: 0,
            field: known.name,
            values,
            practice: true,
            optional: true,
        }),
        (None, None) => {
            missing(fields, step);
            None
        }
    }
}
