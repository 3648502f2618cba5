//! Inference of the types of expressions that come from the service.
//!
//! Owns following a type from the functions' results through variables, rules, comprehensions and
//! policies' own functions, whose parameters get the types of their calls' arguments. It works on
//! policies as they are written, even ones that can't be compiled, and infers nothing that isn't
//! certain. The language's own type checker, whose findings are errors, knows less and is separate.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::model::{Binding, Kind, function_name};
use super::{File, Inspected, names};
use crate::functions::known_fields::known_field;
use crate::functions::{self, Field, Type};
use crate::rego::internal::builtins::lookup;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};

/// The most variables and rules that are followed.
const MAX_DEPTH: usize = 40;

/// The most expressions that are looked at in one load.
const FUEL: u32 = 1_000_000;

/// The inferred type of an expression, within `lists` arrays, sets or objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct InferredType {
    pub ty: Type,
    pub lists: usize,
    /// The last field on the path to the expression.
    pub field: &'static str,
    /// The values that it is known to take.
    pub values: &'static [&'static str],
    /// Set if this is the service's undocumented practice.
    pub practice: bool,
    /// Set if the last field may be absent.
    pub optional: bool,
    /// The documented fields of the object that has the last field.
    pub of: &'static [Field],
}

impl InferredType {
    fn of(ty: Type) -> Self {
        Self { ty, lists: 0, field: "", values: &[], practice: false, optional: false, of: &[] }
    }

    pub fn element(self) -> Option<Self> {
        match (self.lists, self.ty) {
            (0, Type::Array(of) | Type::Map(of)) => Some(Self { ty: *of, ..self }),
            (0, _) => None,
            (lists, _) => Some(Self { lists: lists - 1, ..self }),
        }
    }

    pub fn fields(self) -> Option<&'static [Field]> {
        match self.ty {
            Type::Object(fields) if self.lists == 0 => Some(fields),
            _ => None,
        }
    }

    /// Returns `true` for an object that isn't known to have a `message`.
    pub fn lacks_message(self) -> bool {
        self.fields().is_some_and(|fields| !fields.iter().any(|field| field.name == "message"))
    }

    /// Returns the name of the type, if no value of another type can equal one of it.
    pub fn type_name(self) -> Option<&'static str> {
        if self.lists > 0 {
            return None;
        }
        Some(match self.ty {
            Type::String | Type::Digest | Type::Uuid | Type::Timestamp | Type::Count => "a string",
            Type::Integer | Type::Number => "a number",
            Type::Boolean => "a boolean",
            Type::Array(_) => "an array",
            Type::Object(_) | Type::Map(_) => "an object",
            _ => return None,
        })
    }
}

/// The result of inferring an expression's type.
#[derive(Debug, Clone, Copy)]
enum Inference {
    Unknown,
    /// An empty list or null, which is compatible with any type.
    Empty,
    Type(InferredType),
}

impl Inference {
    fn known(self) -> Option<InferredType> {
        match self {
            Self::Type(shape) => Some(shape),
            _ => None,
        }
    }

    fn map(self, change: impl FnOnce(InferredType) -> Option<InferredType>) -> Self {
        match self {
            Self::Type(shape) => change(shape).map_or(Self::Unknown, Self::Type),
            other => other,
        }
    }

    /// Wraps the type in one more list.
    fn in_list(self) -> Self {
        self.map(|shape| Some(InferredType { lists: shape.lists + 1, ..shape }))
    }

    /// Returns the common type of two alternatives.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Empty, known) | (known, Self::Empty) => known,
            (Self::Type(a), Self::Type(b)) if a.ty == b.ty && a.lists == b.lists => {
                let same = std::ptr::eq(a.values, b.values);
                Self::Type(InferredType {
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
        all.fold(Self::Empty, Self::or)
    }
}

/// The inferred types of a load's expressions.
pub(super) struct Types<'a> {
    all: &'a Inspected<'a>,
    files: &'a [File<'a>],
    /// The definitions of each rule by its path, with the index of their file.
    rules: HashMap<String, Vec<(usize, &'a Rule)>>,
    /// The function and index of each parameter, by its variable.
    arguments: HashMap<&'a str, (String, usize)>,
    /// The arguments of all calls of policies' own functions, except calls in tests.
    calls: HashMap<&'a str, Vec<(usize, &'a [Term])>>,
    /// The results by the expression's address; `Unknown` while one is being inferred.
    known: RefCell<HashMap<usize, Inference>>,
    fuel: Cell<u32>,
}

/// Returns the constant part of a rule's path, and the number of variable parts that follow.
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

    /// Returns the type of an expression in a file, if it comes from the service or a literal.
    pub fn infer(&self, file: usize, term: &'a Term) -> Option<InferredType> {
        self.of(file, term, MAX_DEPTH).known()
    }

    /// Calls `missing`, with the documented fields, for each part of a reference and each key of an
    /// `object.get` in a file that isn't a known field.
    pub fn each_missing(
        &self,
        at: usize,
        file: &File<'a>,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) {
        for (_, term) in &file.model.references {
            if let TermKind::Ref(parts) = &term.kind {
                self.reference(at, parts, MAX_DEPTH, missing);
            }
        }
        for (name, arguments, _) in &file.model.others {
            if let ("object.get", [object, key, _]) = (name.as_str(), *arguments) {
                self.object_get(at, object, key, MAX_DEPTH, missing);
            }
        }
    }

    fn of(&self, file: usize, term: &'a Term, depth: usize) -> Inference {
        let (Some(depth), Some(fuel)) = (depth.checked_sub(1), self.fuel.get().checked_sub(1))
        else {
            return Inference::Unknown;
        };
        self.fuel.set(fuel);
        let address = std::ptr::from_ref(term).addr();
        if let Some(known) = self.known.borrow().get(&address) {
            return *known;
        }
        // An expression that depends on itself is unknown.
        self.known.borrow_mut().insert(address, Inference::Unknown);
        let found = self.look(file, term, depth);
        self.known.borrow_mut().insert(address, found);
        found
    }

    fn look(&self, file: usize, term: &'a Term, depth: usize) -> Inference {
        let scalar = |ty| Inference::Type(InferredType::of(ty));
        match &term.kind {
            TermKind::Null => Inference::Empty,
            TermKind::Bool(_) => scalar(Type::Boolean),
            TermKind::Number(_) => scalar(Type::Number),
            TermKind::String(_) | TermKind::Template(_) => scalar(Type::String),
            TermKind::Array(items) | TermKind::Set(items) => {
                Inference::any(items.iter().map(|item| self.of(file, item, depth))).in_list()
            }
            TermKind::Comprehension(_, inner) => self.of(file, &inner.value, depth).in_list(),
            TermKind::Object(_) => Inference::Unknown,
            TermKind::Group(inner) => self.of(file, inner, depth),
            TermKind::Var(name) => self.variable(file, name, term.span, depth),
            TermKind::Ref(parts) => self.reference(file, parts, depth, &mut |_, _| {}),
            TermKind::Call(terms) => self.call(file, terms, depth),
        }
    }

    fn variable(&self, file: usize, name: &'a str, at: Span, depth: usize) -> Inference {
        let Some(variable) = self.files.get(file).and_then(|file| file.model.variable(name, at))
        else {
            return Inference::Unknown;
        };
        if variable.kind == Kind::Argument {
            return self.argument(name, depth);
        }
        let found = match variable.binding {
            Binding::Value(value) => self.of(file, value, depth),
            Binding::Element(list) => self.of(file, list, depth).map(InferredType::element),
            Binding::Unknown => Inference::Unknown,
        };
        // A variable that has a value isn't absent.
        found.map(|shape| Some(InferredType { optional: false, ..shape }))
    }

    /// Infers a parameter from the arguments of all calls.
    fn argument(&self, name: &str, depth: usize) -> Inference {
        let Some((path, place)) = self.arguments.get(name) else { return Inference::Unknown };
        let Some(calls) = self.calls.get(path.as_str()) else { return Inference::Unknown };
        let given = calls.iter().map(|(file, arguments)| match arguments.get(*place) {
            Some(argument) => self.of(*file, argument, depth),
            None => Inference::Unknown,
        });
        Inference::any(given).map(|shape| Some(InferredType { optional: false, ..shape }))
    }

    /// Infers a reference, and calls `missing` for parts that aren't known fields.
    fn reference(
        &self,
        file: usize,
        parts: &'a [Term],
        depth: usize,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) -> Inference {
        let Some((head, rest)) = parts.split_first() else { return Inference::Unknown };
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
                shape = step_into(shape, step, missing)?;
            }
            Some(shape)
        })
    }

    /// Infers a rule from all its definitions.
    fn rule(&self, path: &str, depth: usize) -> Inference {
        let Some(definitions) = self.rules.get(path) else { return Inference::Unknown };
        let mut found = Inference::Empty;
        for (file, rule) in definitions {
            let mut next = Some(*rule);
            while let Some(rule) = next {
                found = found.or(self.definition(*file, rule, depth));
                next = rule.else_rule.as_deref();
            }
        }
        found
    }

    fn definition(&self, file: usize, rule: &'a Rule, depth: usize) -> Inference {
        let head = &rule.head;
        let Some(module) = self.files.get(file).map(|file| file.module) else {
            return Inference::Unknown;
        };
        let (_, keys) = path(module, rule);
        let (value, lists) = match (&head.value, &head.key) {
            (Some(value), key) => (value, keys.max(usize::from(key.is_some()))),
            (None, Some(key)) => {
                let own = head.reference.last().is_some_and(|last| last.span == key.span);
                (key, if own { keys } else { keys + 1 })
            }
            (None, None) => return Inference::Type(InferredType::of(Type::Boolean)),
        };
        (0..lists).fold(self.of(file, value, depth), |found, _| found.in_list())
    }

    fn call(&self, file: usize, terms: &'a [Term], depth: usize) -> Inference {
        let Some((operator, arguments)) = terms.split_first() else { return Inference::Unknown };
        let Some(name) = function_name(operator) else { return Inference::Unknown };
        let product = self.all.product.as_str();
        if let Some(short) = name.strip_prefix(product).and_then(|rest| rest.strip_prefix('.')) {
            let function = functions::function(short);
            return function.map_or(Inference::Unknown, |function| {
                Inference::Type(InferredType::of(function.result))
            });
        }
        if name.starts_with("data.") {
            return self.rule(&name, depth);
        }
        let of = |term: &'a Term| self.of(file, term, depth);
        match (name.as_str(), arguments) {
            ("object.get", [object, key, default]) => {
                self.object_get(file, object, key, depth, &mut |_, _| {}).or(of(default))
            }
            ("sort" | "array.reverse" | "array.slice" | "minus", [list, ..])
                if of(list).map(InferredType::element).known().is_some() =>
            {
                of(list)
            }
            ("array.concat" | "or" | "and", [left, right]) => of(left).or(of(right)),
            ("union" | "intersection" | "min" | "max", [lists]) => {
                of(lists).map(InferredType::element)
            }
            _ => match lookup(&name).and_then(|builtin| builtin.signature.rsplit_once("->")) {
                Some((_, result)) => match result.trim() {
                    "string" => Inference::Type(InferredType::of(Type::String)),
                    "number" => Inference::Type(InferredType::of(Type::Number)),
                    "boolean" => Inference::Type(InferredType::of(Type::Boolean)),
                    _ => Inference::Unknown,
                },
                None => Inference::Unknown,
            },
        }
    }

    /// Infers a value found by `object.get`.
    fn object_get(
        &self,
        file: usize,
        object: &'a Term,
        key: &'a Term,
        depth: usize,
        missing: &mut dyn FnMut(&'static [Field], &Term),
    ) -> Inference {
        let keys = match &key.kind {
            TermKind::Array(keys) => keys.as_slice(),
            _ => std::slice::from_ref(key),
        };
        self.of(file, object, depth).map(|mut shape| {
            for key in keys {
                shape = step_into(shape, key, missing)?;
            }
            Some(InferredType { optional: false, ..shape })
        })
    }
}

/// Infers the value that one operand of a reference selects.
fn step_into(
    shape: InferredType,
    step: &Term,
    missing: &mut dyn FnMut(&'static [Field], &Term),
) -> Option<InferredType> {
    let Some(fields) = shape.fields() else { return shape.element() };
    let TermKind::String(key) = &step.kind else {
        missing(fields, step);
        return None;
    };
    let documented = fields.iter().find(|field| field.name == &**key);
    let known = known_field(fields, key);
    let values = known.map_or(&[][..], |known| known.values);
    match (documented, known) {
        (Some(field), _) => Some(InferredType {
            ty: field.ty,
            lists: 0,
            field: field.name,
            values,
            practice: shape.practice,
            optional: !field.required,
            of: fields,
        }),
        (None, Some(known)) => Some(InferredType {
            ty: known.ty,
            lists: 0,
            field: known.name,
            values,
            practice: true,
            optional: true,
            of: fields,
        }),
        (None, None) => {
            missing(fields, step);
            None
        }
    }
}
