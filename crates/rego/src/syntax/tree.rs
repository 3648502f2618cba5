//! The syntax tree of a policy, as made by the parser and rewritten by OPA's compile stages.
//!
//! Its nodes correspond to those of OPA's own tree, so that each compile stage can be compared with
//! OPA's. Every node has a span; comments and grouping parentheses are kept for the printer.
//!
//! A chain of operators or `else` branches is as deep as it is long, so nodes are copied and dropped
//! with a stack that grows, and without recursion along the branches.

use std::sync::Arc;

pub use crate::problem::{FileId, Span};
use crate::value::{Number, deeper};

/// The name of a variable.
pub type Name = Arc<str>;

/// A node that has a value: a scalar, a variable, a reference, a collection, a call.
#[derive(Debug)]
pub struct Term {
    /// The kind of term, with its parts.
    pub kind: TermKind,
    /// The text that it was parsed from.
    pub span: Span,
}

impl Term {
    /// The reference to a function of `internal`.
    pub(crate) fn internal(name: &str, span: Span) -> Self {
        let part = |kind| Self { kind, span };
        let package = part(TermKind::Var("internal".into()));
        part(TermKind::Ref(vec![package, part(TermKind::String(name.into()))]))
    }

    /// The term within the parentheses, or the term itself if it has none.
    pub fn ungrouped(&self) -> &Self {
        let mut term = self;
        while let TermKind::Group(inner) = &term.kind {
            term = inner;
        }
        term
    }

    /// The term within the parentheses, or the term itself if it has none.
    #[must_use]
    pub fn into_ungrouped(mut self) -> Self {
        while let TermKind::Group(inner) = &mut self.kind {
            let null = Self { kind: TermKind::Null, span: self.span };
            self = std::mem::replace(&mut **inner, null);
        }
        self
    }

    /// The kind, which is then `null` here.
    pub fn take_kind(&mut self) -> TermKind {
        std::mem::replace(&mut self.kind, TermKind::Null)
    }

    /// The parts of a reference; otherwise the term itself as the only one.
    #[must_use]
    pub fn into_ref_parts(mut self) -> Vec<Self> {
        match &mut self.kind {
            TermKind::Ref(parts) => std::mem::take(parts),
            _ => vec![self],
        }
    }

    /// The parts of a reference; otherwise the term itself as the only one.
    pub(crate) fn ref_parts(&self) -> &[Self] {
        match &self.kind {
            TermKind::Ref(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// Takes the kind out, without copying it.
    #[must_use]
    pub fn into_kind(mut self) -> TermKind {
        self.take_kind()
    }

    /// Returns `true` for the variable of this name.
    pub(crate) fn is_var(&self, name: &str) -> bool {
        matches!(&self.kind, TermKind::Var(own) if &**own == name)
    }

    /// Returns `true` for null, booleans, numbers and strings.
    pub fn is_scalar(&self) -> bool {
        self.kind.is_leaf() && !matches!(self.kind, TermKind::Var(_))
    }

    /// Returns `true` for a value, without any variable, reference, call or closure.
    pub(crate) fn is_constant(&self) -> bool {
        match &self.kind {
            TermKind::Array(terms) | TermKind::Set(terms) => {
                deeper(|| terms.iter().all(Self::is_constant))
            }
            TermKind::Object(pairs) => {
                deeper(|| pairs.iter().all(|(key, value)| key.is_constant() && value.is_constant()))
            }
            TermKind::Group(inner) => inner.is_constant(),
            _ => self.is_scalar(),
        }
    }

    /// Returns `true` for comprehensions.
    pub(crate) fn is_comprehension(&self) -> bool {
        self.comprehension().is_some()
    }

    /// The head and body of a comprehension.
    pub(crate) fn comprehension(&self) -> Option<&Comprehension> {
        match &self.kind {
            TermKind::Comprehension(_, inner) => Some(inner),
            _ => None,
        }
    }

    /// The head and body of a comprehension, mutably.
    pub(crate) fn comprehension_mut(&mut self) -> Option<&mut Comprehension> {
        match &mut self.kind {
            TermKind::Comprehension(_, inner) => Some(inner),
            _ => None,
        }
    }
}

impl Clone for Term {
    fn clone(&self) -> Self {
        let kind =
            if self.kind.is_leaf() { self.kind.clone() } else { deeper(|| self.kind.clone()) };
        Self { kind, span: self.span }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        if !self.kind.is_leaf() {
            let kind = self.take_kind();
            deeper(|| drop(kind));
        }
    }
}

/// The forms of a term.
#[derive(Debug, Clone)]
pub enum TermKind {
    /// The scalar `null`.
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, as the author wrote it.
    Number(Number),
    /// A string, unquoted and unescaped.
    String(Arc<str>),
    /// `$"…{x}…"`, or the same with backquotes.
    Template(Template),
    /// A variable. Each wildcard has a unique name that begins with `$`, as in OPA.
    Var(Name),
    /// A reference with at least two parts: a head and its operands. Operands after a dot are
    /// strings.
    Ref(Vec<Term>),
    /// `[a, b]`
    Array(Vec<Term>),
    /// `{a: b}`, in OPA's order of keys or, if the formatting is preserved, in the author's. As in OPA's
    /// tree, a key may be repeated; the last value wins.
    Object(Vec<(Term, Term)>),
    /// `{a, b}` without duplicates, in the same order as objects.
    Set(Vec<Term>),
    /// `[value | body]`, `{value | body}` or `{key: value | body}`
    Comprehension(Collection, Box<Comprehension>),
    /// A call: the function (a `Ref` or `Var` term), then its arguments. Infix operators are calls
    /// by OPA's names (`plus`, `eq`, `internal.member_2`).
    Call(Vec<Term>),
    /// `(term)`; only stored for the printer, if the formatting is preserved.
    Group(Box<Term>),
}

impl TermKind {
    /// OPA's name of the kind.
    pub(crate) const fn name(&self) -> &'static str {
        self.rank_and_name().1
    }

    /// The place of the kind in OPA's order of terms.
    pub(crate) const fn rank(&self) -> u8 {
        self.rank_and_name().0
    }

    const fn rank_and_name(&self) -> (u8, &'static str) {
        match self {
            Self::Null => (0, "null"),
            Self::Bool(_) => (1, "boolean"),
            Self::Number(_) => (2, "number"),
            Self::String(_) => (3, "string"),
            Self::Template(_) => (4, "templatestring"),
            Self::Var(_) => (5, "var"),
            Self::Ref(_) => (6, "ref"),
            Self::Array(_) => (7, "array"),
            Self::Object(_) => (8, "object"),
            Self::Set(_) => (9, "set"),
            Self::Comprehension(Collection::Array, _) => (10, "arraycomprehension"),
            Self::Comprehension(Collection::Object, _) => (11, "objectcomprehension"),
            Self::Comprehension(Collection::Set, _) => (12, "setcomprehension"),
            Self::Call(_) => (13, "call"),
            Self::Group(_) => (14, "group"),
        }
    }

    /// Makes a comprehension.
    pub(crate) fn comprehension(
        of: Collection,
        key: Option<Term>,
        value: Term,
        body: Body,
    ) -> Self {
        Self::Comprehension(of, Box::new(Comprehension { key, value, body, keys: Vec::new() }))
    }

    /// Returns `true` if there are no terms in it.
    pub fn is_leaf(&self) -> bool {
        matches!(
            self,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Var(_)
        )
    }
}

/// Returns `true` for the names with which references begin: `data` and `input`.
pub fn is_root(name: &str) -> bool {
    matches!(name, "data" | "input")
}

/// A template string.
#[derive(Debug, Clone)]
pub struct Template {
    /// Literal text (`String` terms, unescaped) and expressions, alternating.
    pub parts: Vec<TemplatePart>,
    /// `true` if written with backquotes.
    pub raw: bool,
}

/// A part of a template string.
#[derive(Debug, Clone)]
pub enum TemplatePart {
    /// Literal text, as a string term.
    Text(Term),
    /// `{expression}`
    Expr(Expr),
}

/// The kinds of collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Collection {
    Array,
    Object,
    Set,
}

impl Collection {
    /// The characters around the elements.
    pub(crate) fn delimiters(self) -> (char, char) {
        if self == Self::Array { ('[', ']') } else { ('{', '}') }
    }
}

/// A comprehension.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// The key for each solution, in an object comprehension.
    pub key: Option<Term>,
    /// The element for each solution, or the value of its key.
    pub value: Term,
    /// The statements after the `|`.
    pub body: Body,
    /// The variables by whose values the results can be cached; set by the last compile stage.
    pub keys: Vec<Name>,
}

impl Comprehension {
    /// The terms in the head, a key before its value.
    pub(crate) fn head(&self) -> impl Iterator<Item = &Term> {
        self.key.iter().chain([&self.value])
    }
}

/// Expressions that must all hold.
pub type Body = Vec<Expr>;

/// A statement of a body.
#[derive(Debug)]
pub struct Expr {
    /// The statement without `not` and `with`.
    pub kind: ExprKind,
    /// `true` for `not …` in its older meaning (v0, v1), which negates only the expression, not
    /// what is computed before it.
    pub negated: bool,
    /// The `with` modifiers.
    pub with: Vec<With>,
    /// The text that it was parsed from.
    pub span: Span,
    /// `true` if a compile stage made it.
    pub generated: bool,
    /// `true` for an equality that was written as `:=`.
    pub from_assignment: bool,
}

impl Expr {
    /// Makes a statement of this kind, without modifiers.
    pub(crate) fn new(kind: ExprKind, span: Span) -> Self {
        let with = Vec::new();
        Self { kind, negated: false, with, span, generated: false, from_assignment: false }
    }

    /// The kind, which is then an empty declaration here.
    pub fn take_kind(&mut self) -> ExprKind {
        let nothing = SomeDecl { symbols: Vec::new(), span: self.span };
        std::mem::replace(&mut self.kind, ExprKind::Some(nothing))
    }

    /// Takes the kind out, without copying it.
    #[must_use]
    pub fn into_kind(mut self) -> ExprKind {
        self.take_kind()
    }
}

impl Clone for Expr {
    fn clone(&self) -> Self {
        let kind =
            if self.kind.has_bodies() { deeper(|| self.kind.clone()) } else { self.kind.clone() };
        let Self { negated, span, generated, from_assignment, .. } = *self;
        Self { kind, negated, with: self.with.clone(), span, generated, from_assignment }
    }
}

impl Drop for Expr {
    fn drop(&mut self) {
        if self.kind.has_bodies() {
            let kind = self.take_kind();
            deeper(|| drop(kind));
        }
    }
}

/// The kind of a statement.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A term that must be neither false nor undefined.
    Term(Box<Term>),
    /// A call as a statement: the function, then its arguments.
    Call(Vec<Term>),
    /// `some x, y`, or `some x in xs` (whose only symbol is a call of `internal.member_2` or `_3`).
    Some(SomeDecl),
    /// `every k, v in xs { … }`
    Every(Box<Every>),
    /// `not …` in its newer meaning (`rego.v2`, `future.keywords.not`).
    Not(Not),
    /// `a and b`
    And(Box<Logical>),
    /// `a or b`
    Or(Box<Logical>),
}

impl ExprKind {
    /// Returns `true` if there are other statements in it.
    pub fn has_bodies(&self) -> bool {
        match self {
            Self::Term(_) | Self::Call(_) | Self::Some(_) => false,
            Self::Every(_) | Self::Not(_) | Self::And(_) | Self::Or(_) => true,
        }
    }
}

/// A declaration of variables.
#[derive(Debug, Clone)]
pub struct SomeDecl {
    /// The declared variables, or the call of `some … in`.
    pub symbols: Vec<Term>,
    /// The text that it was parsed from.
    pub span: Span,
}

/// An `every` statement.
#[derive(Debug, Clone)]
pub struct Every {
    /// The key's variable, if one was written.
    pub key: Option<Term>,
    /// The value's variable.
    pub value: Term,
    /// The collection.
    pub domain: Term,
    /// The statements that must hold for each element.
    pub body: Body,
    /// The text that it was parsed from.
    pub span: Span,
}

/// A `not` with a body.
#[derive(Debug, Clone)]
pub struct Not {
    /// The statements that must not hold.
    pub body: Body,
    /// `true` if written as `not { … }` or as a group of operands.
    pub explicit: bool,
    /// The text that it was parsed from.
    pub span: Span,
}

/// The operands of `and` or `or`.
#[derive(Debug, Clone)]
pub struct Logical {
    /// The left operand.
    pub left: Body,
    /// The right operand.
    pub right: Body,
    /// `true` if the left operand is written with braces.
    pub explicit_left: bool,
    /// `true` if the right operand is written with braces.
    pub explicit_right: bool,
    /// The text that it was parsed from.
    pub span: Span,
}

/// `with target as value`
#[derive(Debug, Clone)]
pub struct With {
    /// The document or function that is replaced.
    pub target: Term,
    /// The replacement.
    pub value: Term,
    /// The text that it was parsed from.
    pub span: Span,
}

/// A policy file.
#[derive(Debug, Clone)]
pub struct Module {
    /// The declaration at the top of the file.
    pub package: Package,
    /// The imports, in the order of the file.
    pub imports: Vec<Import>,
    /// The rules. Chained bodies and further definitions are rules of their own; `else` branches
    /// are nested.
    pub rules: Vec<Rule>,
    /// The comments, in order.
    pub comments: Vec<Comment>,
    /// The version of its syntax.
    pub version: Version,
    /// The span of the whole file.
    pub span: Span,
}

/// A version of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Before OPA 1.0: `--v0`.
    V0,
    /// A v0 module that imports `rego.v1`.
    V0CompatV1,
    /// OPA 1.0 and later.
    V1,
    /// `import rego.v2`.
    V2,
}

/// `package a.b`
#[derive(Debug, Clone)]
pub struct Package {
    /// The path, beginning with `data`.
    pub path: Vec<Term>,
    /// The text that it was parsed from.
    pub span: Span,
}

/// `import a.b as c`
#[derive(Debug, Clone)]
pub struct Import {
    /// The imported path: a `Ref`, or the `Var` `input` or `data`.
    pub path: Term,
    /// The name after `as`.
    pub alias: Option<(Name, Span)>,
    /// The text that it was parsed from.
    pub span: Span,
}

/// A comment, without its `#`.
#[derive(Debug, Clone)]
pub struct Comment {
    /// The text after the `#`.
    pub text: Arc<str>,
    /// The position, including the `#`.
    pub span: Span,
}

/// A rule, with one definition.
#[derive(Debug)]
pub struct Rule {
    /// `true` for `default …`.
    pub default: bool,
    /// The part before the body: name, arguments, key and value.
    pub head: Head,
    /// The body; never empty, since the parser adds `true` if none is written.
    pub body: Body,
    /// `true` if no body was written.
    pub generated_body: bool,
    /// The `else` branch.
    pub else_rule: Option<Box<Rule>>,
    /// The text that it was parsed from.
    pub span: Span,
}

impl Rule {
    /// The rule and its `else` branches.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rule| rule.else_rule.as_deref())
    }

    /// A copy without the `else` branches.
    fn clone_branch(&self) -> Self {
        Self {
            default: self.default,
            head: self.head.clone(),
            body: self.body.clone(),
            generated_body: self.generated_body,
            else_rule: None,
            span: self.span,
        }
    }
}

impl Clone for Rule {
    fn clone(&self) -> Self {
        let mut first = self.clone_branch();
        let mut end = &mut first.else_rule;
        for rule in self.branches().skip(1) {
            end = &mut end.insert(Box::new(rule.clone_branch())).else_rule;
        }
        first
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        let mut next = self.else_rule.take();
        while let Some(mut rule) = next {
            next = rule.else_rule.take();
        }
    }
}

/// The head of a rule.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct Head {
    /// The rule's path within its package: a `Var`, then operands.
    pub reference: Vec<Term>,
    /// The arguments of a function.
    pub args: Vec<Term>,
    /// `true` if it has parentheses, perhaps with nothing in them.
    pub has_parentheses: bool,
    /// The element of a partial set, as OPA keeps it.
    pub key: Option<Term>,
    /// The term after `=` or `:=`; `generated_value` tells whether the author wrote it.
    pub value: Option<Term>,
    /// `true` if no value was written.
    pub generated_value: bool,
    /// `true` if written with `:=`.
    pub assign: bool,
    /// `true` if written with `if`.
    pub has_if: bool,
    /// `true` if written with `contains`.
    pub has_contains: bool,
    /// The text that it was parsed from.
    pub span: Span,
}

impl Head {
    /// Returns `true` for the head of a function. As in OPA, `f()` has no arguments and is the head of
    /// a rule.
    pub fn is_function(&self) -> bool {
        !self.args.is_empty()
    }
}
