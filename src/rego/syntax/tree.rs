//! The tree of a policy, as the parser makes it and OPA's compile stages rewrite it.
//!
//! Its shapes are those of OPA's own tree, so that each compile stage can be compared with OPA's.
//! Every node has a span; comments and grouping parentheses are kept for the printer.

use std::sync::Arc;

use crate::rego::value::Number;

/// The name of a variable.
pub type Name = Arc<str>;

/// Which file of a load; an index into its list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// Where a node stands in the author's text: byte offsets, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

/// A term.
#[derive(Debug, Clone)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// Where it stands.
    pub span: Span,
}

impl Term {
    /// The term in the parentheses, where there are any.
    pub fn ungrouped(&self) -> &Self {
        let mut term = self;
        while let TermKind::Group(inner) = &term.kind {
            term = inner;
        }
        term
    }

    /// The term in the parentheses, where there are any.
    #[must_use]
    pub fn into_ungrouped(mut self) -> Self {
        while let TermKind::Group(inner) = self.kind {
            self = *inner;
        }
        self
    }
}

/// What a term is.
#[derive(Debug, Clone)]
pub enum TermKind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, with the text that its author wrote.
    Number(Number),
    /// A string, without its quotes and escapes.
    String(Arc<str>),
    /// `$"…{x}…"` or, where `raw`, with backquotes.
    Template(Template),
    /// A variable. Wildcards have names that begin with `$`, one each, as in OPA.
    Var(Name),
    /// A reference of two parts or more: a head and its operands. Constant operands with dots are
    /// strings.
    Ref(Vec<Term>),
    /// `[a, b]`
    Array(Vec<Term>),
    /// `{a: b}`, in OPA's order of keys or, where the layout is kept, the author's. As in OPA's tree
    /// a key may occur again; the last counts.
    Object(Vec<(Term, Term)>),
    /// `{a, b}`, each element once; ordered as objects are.
    Set(Vec<Term>),
    /// `[head | body]`
    ArrayComprehension(Box<Comprehension>),
    /// `{head | body}`
    SetComprehension(Box<Comprehension>),
    /// `{key: value | body}`
    ObjectComprehension(Box<ObjectComprehension>),
    /// A call: the function (a `Ref` or `Var` term), then its arguments. Infix operators are calls
    /// of OPA's names (`plus`, `eq`, `internal.member_2`).
    Call(Vec<Term>),
    /// `(term)`: kept for the printer only, where the layout is asked for.
    Group(Box<Term>),
}

/// A template string.
#[derive(Debug, Clone)]
pub struct Template {
    /// Literal text (`String` terms, unescaped) and expressions, in turn.
    pub parts: Vec<TemplatePart>,
    /// Written with backquotes.
    pub raw: bool,
}

/// A part of a template string.
#[derive(Debug, Clone)]
pub enum TemplatePart {
    /// Text.
    Text(Term),
    /// `{expression}`
    Expr(Expr),
}

/// An array or set comprehension.
#[derive(Debug, Clone)]
pub struct Comprehension {
    /// What each solution gives.
    pub term: Term,
    /// Its body.
    pub body: Body,
    /// The variables by whose values its results can be kept; set by the last compile stage.
    pub keys: Vec<Name>,
}

/// An object comprehension.
#[derive(Debug, Clone)]
pub struct ObjectComprehension {
    /// The key that each solution gives.
    pub key: Term,
    /// The value that each solution gives.
    pub value: Term,
    /// Its body.
    pub body: Body,
    /// The variables by whose values its results can be kept; set by the last compile stage.
    pub keys: Vec<Name>,
}

/// Expressions that must all hold.
pub type Body = Vec<Expr>;

/// One statement of a body.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// `not …` in its older meaning (v0, v1): only the expression is negated, not what is computed
    /// before it.
    pub negated: bool,
    /// Its `with` modifiers.
    pub with: Vec<With>,
    /// Where it stands.
    pub span: Span,
    /// Made by a compile stage.
    pub generated: bool,
    /// An equality that was written `:=`.
    pub from_assignment: bool,
}

/// What a statement is.
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

/// A declaration of variables.
#[derive(Debug, Clone)]
pub struct SomeDecl {
    /// What is declared.
    pub symbols: Vec<Term>,
    /// Where it stands.
    pub span: Span,
}

/// `every`.
#[derive(Debug, Clone)]
pub struct Every {
    /// The key's variable, if one was written.
    pub key: Option<Term>,
    /// The value's variable.
    pub value: Term,
    /// What is looked through.
    pub domain: Term,
    /// What must hold for each.
    pub body: Body,
    /// Where it stands.
    pub span: Span,
}

/// `not` over a body.
#[derive(Debug, Clone)]
pub struct Not {
    /// What must not hold.
    pub body: Body,
    /// Written `not { … }` or as a group of operands.
    pub explicit: bool,
    /// Where it stands.
    pub span: Span,
}

/// An operand pair of `and` or `or`.
#[derive(Debug, Clone)]
pub struct Logical {
    /// The left operand.
    pub left: Body,
    /// The right operand.
    pub right: Body,
    /// Left written with braces.
    pub explicit_left: bool,
    /// Right written with braces.
    pub explicit_right: bool,
    /// Where it stands.
    pub span: Span,
}

/// `with target as value`
#[derive(Debug, Clone)]
pub struct With {
    /// What is replaced.
    pub target: Term,
    /// By what.
    pub value: Term,
    /// Where it stands.
    pub span: Span,
}

/// A file of policy.
#[derive(Debug, Clone)]
pub struct Module {
    /// Its package.
    pub package: Package,
    /// Its imports.
    pub imports: Vec<Import>,
    /// Its rules; chained bodies and several definitions are rules of their own, `else` is inside.
    pub rules: Vec<Rule>,
    /// Its comments, in order.
    pub comments: Vec<Comment>,
    /// Which syntax it is written in.
    pub version: Version,
    /// The whole file.
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
    /// Its path, beginning with `data`.
    pub path: Vec<Term>,
    /// Where it stands.
    pub span: Span,
}

/// `import a.b as c`
#[derive(Debug, Clone)]
pub struct Import {
    /// What is imported: a `Ref`, or the `Var` `input` or `data`.
    pub path: Term,
    /// The name after `as`.
    pub alias: Option<(Name, Span)>,
    /// Where it stands.
    pub span: Span,
}

/// A comment, without its `#`.
#[derive(Debug, Clone)]
pub struct Comment {
    /// Its text.
    pub text: Arc<str>,
    /// Where it stands, `#` included.
    pub span: Span,
}

/// A rule: one definition.
#[derive(Debug, Clone)]
pub struct Rule {
    /// `default …`
    pub default: bool,
    /// Its head.
    pub head: Head,
    /// Its body; never empty: where none is written, the parser puts `true`.
    pub body: Body,
    /// No body was written.
    pub generated_body: bool,
    /// `else`.
    pub else_rule: Option<Box<Rule>>,
    /// Where it stands.
    pub span: Span,
}

/// The head of a rule.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct Head {
    /// The rule's path within its package: a `Var`, then operands.
    pub reference: Vec<Term>,
    /// A function's arguments. As in OPA, `f()` has none and isn't a function.
    pub args: Vec<Term>,
    /// It has parentheses.
    pub is_function: bool,
    /// The element of a partial set, as OPA keeps it.
    pub key: Option<Term>,
    /// The value.
    pub value: Option<Term>,
    /// The value wasn't written.
    pub generated_value: bool,
    /// Written with `:=`.
    pub assign: bool,
    /// Written with `if`.
    pub has_if: bool,
    /// Written with `contains`.
    pub has_contains: bool,
    /// Where it stands.
    pub span: Span,
}
