//! The functions that policies may call besides their own.

use std::borrow::Cow;
use std::sync::Arc;

use crate::builtins::Builtin;
use crate::syntax::tree::{Term, TermKind};

use super::names::NameMap;

/// A function that isn't defined by rules.
#[derive(Debug, Clone)]
pub struct Function {
    /// The name, such as `array.concat`.
    pub name: Arc<str>,
    /// The types, in the grammar of signatures.
    pub signature: Arc<str>,
    /// The number of arguments, without the variadic ones of `print`.
    pub arity: usize,
    /// `true` if it has no result (`print`).
    pub void: bool,
    /// `true` if its result depends on more than its arguments.
    pub nondeterministic: bool,
    /// `true` if it has any number of results (`walk`).
    pub relation: bool,
    /// `true` if Rego v1 rejects it.
    pub deprecated: bool,
    /// `true` if it's one of the host's, not Rego's own.
    pub external: bool,
}

impl Function {
    /// Makes a function with this name and signature.
    pub fn new(name: impl Into<Arc<str>>, signature: impl Into<Arc<str>>) -> Self {
        let signature = signature.into();
        let (arity, void) = arity_and_void(&signature);
        Self {
            name: name.into(),
            arity,
            void,
            signature,
            nondeterministic: false,
            relation: false,
            deprecated: false,
            external: false,
        }
    }
}

impl From<&Builtin> for Function {
    fn from(builtin: &Builtin) -> Self {
        let Builtin { nondeterministic, relation, deprecated, .. } = *builtin;
        let function = Self::new(builtin.name, builtin.signature);
        Self { nondeterministic, relation, deprecated, ..function }
    }
}

/// The number of arguments in a signature, and `true` if it has no result.
fn arity_and_void(signature: &str) -> (usize, bool) {
    let (arguments, result) = signature.rsplit_once("->").unwrap_or(("", signature));
    let mut depth = 0_usize;
    let parts = arguments.split(|c| {
        match c {
            '[' | '<' | '(' => depth += 1,
            ']' | '>' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let arity = parts.map(str::trim).filter(|part| !part.is_empty() && !part.ends_with("..."));
    (arity.count(), result.trim().is_empty())
}

/// Functions by name.
#[derive(Debug, Clone, Default)]
pub struct Functions(NameMap<Function>);

impl Functions {
    /// Adds a function, or replaces the one with the same name.
    pub fn insert(&mut self, function: Function) {
        self.0.insert(Arc::clone(&function.name), function);
    }

    /// Finds a function by its dotted name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.0.get(name)
    }

    /// The function that a reference names.
    pub fn by_reference(&self, reference: &[Term]) -> Option<&Function> {
        self.get(&function_name(reference)?)
    }

    /// All functions, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.0.values()
    }
}

impl FromIterator<Function> for Functions {
    fn from_iter<T: IntoIterator<Item = Function>>(iter: T) -> Self {
        let named = |function: Function| (Arc::clone(&function.name), function);
        Self(iter.into_iter().map(named).collect())
    }
}

/// The name of the function that a reference may name: `a.b.c` if all operands are strings.
pub fn function_name(reference: &[Term]) -> Option<Cow<'_, str>> {
    let (head, rest) = reference.split_first()?;
    let (TermKind::Var(name) | TermKind::String(name)) = &head.kind else { return None };
    if rest.is_empty() {
        return Some(Cow::Borrowed(name));
    }
    let mut text = String::with_capacity(40);
    text.push_str(name);
    for term in rest {
        let TermKind::String(part) = &term.kind else { return None };
        text.push('.');
        text.push_str(part);
    }
    Some(Cow::Owned(text))
}

/// Looks up the number of arguments of functions, including the policies' own.
pub trait Arity {
    /// Returns the number of arguments of the function that the reference names.
    fn arity(&self, reference: &[Term]) -> Option<usize>;
}
