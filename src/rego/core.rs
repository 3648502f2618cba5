//! The compiled form: what the machine runs.
//!
//! Owns the core's types, the lowering from the compiled tree into them ([`lower`]) and their
//! printed form. In the core nothing is looked up by name: a variable is a slot of its rule's
//! frame, a constant is a value made once, a reference knows whether it begins in the input, in
//! base data, at a rule or in a variable, and a call knows what it calls. What may have more than
//! one answer is told from what can't ([`Op::single`]), so that the machine runs the latter in a
//! loop.

mod display;
mod lower;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::rego::builtins::Builtin;
use crate::rego::index::Index;
use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;

pub use lower::{Input, Lookup, lower, lower_document, lower_query};
pub(in crate::rego) use lower::{function_name, member, push_part};

/// A variable's place in its frame.
pub type Slot = u32;

/// An index into [`Core::rules`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub u32);

/// An index into [`Core::sets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// An index into [`Core::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A program in its compiled form.
#[derive(Debug, Default)]
pub struct Core {
    /// All definitions, those after `else` too.
    pub rules: Vec<Rule>,
    /// The definitions of a path, together.
    pub sets: Vec<RuleSet>,
    /// The tree of paths of rules and packages; the first is `data`.
    pub nodes: Vec<Node>,
    /// The base documents.
    pub data: Value,
    /// The host's functions, sorted by name.
    pub host: Vec<HostFn>,
    /// Functions by path: `data.a.f`.
    pub functions: BTreeMap<Arc<str>, SetId>,
    /// Where host functions are called, and in which set of rules.
    pub sites: Vec<Site>,
    /// The number of comprehensions that are remembered.
    pub comprehensions: u32,
}

/// A function of the host.
#[derive(Debug, Clone)]
pub struct HostFn {
    /// Its name.
    pub name: Arc<str>,
    /// The number of arguments it takes.
    pub arity: usize,
    /// It gives nothing.
    pub void: bool,
}

/// A call of a host function.
#[derive(Debug, Clone)]
pub struct Site {
    /// The function.
    pub name: Arc<str>,
    /// The call.
    pub span: Span,
    /// The set of rules that it is in; none for a query.
    pub set: Option<SetId>,
}

/// A node of the tree of paths.
#[derive(Debug)]
pub struct Node {
    /// Its last part.
    pub key: Value,
    /// What is below.
    pub children: BTreeMap<Value, NodeId>,
    /// The rules whose path ends here.
    pub set: Option<SetId>,
    /// Left out of the documents above it (`data.system`).
    pub hidden: bool,
}

/// The definitions of a path.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct RuleSet {
    /// The path: `data.a.b.allow`.
    pub path: Arc<str>,
    /// The parts of the path after `data`.
    pub parts: Vec<Value>,
    /// They make sets (`contains`).
    pub multi: bool,
    /// No path has a variable.
    pub ground: bool,
    /// They are functions.
    pub function: bool,
    /// The number of arguments they take.
    pub arity: usize,
    /// The definitions in order.
    pub definitions: Vec<Definition>,
    /// The default.
    pub default: Option<RuleId>,
    /// All have the same constant value: the first that holds decides.
    pub early: bool,
    /// Their paths are of different lengths: one may reach into another's value.
    pub uneven: bool,
    /// It has at most one answer, and nothing is left to evaluate after it.
    pub single: bool,
    /// Tells which definitions can hold, where that depends on anything.
    pub index: Option<Box<Index>>,
    /// The rules that the index speaks of: a definition and its `else` branches each.
    pub members: Vec<Vec<RuleId>>,
    /// All definitions with their `else` branches, as candidates.
    pub all: Vec<Candidate>,
}

/// A rule that may hold.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// The rule.
    pub rule: RuleId,
    /// It is evaluated in any case; others only if none before them held since the last such.
    pub first: bool,
}

/// A definition and its `else` branches.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition.
    pub rule: RuleId,
    /// Those after `else`, in order.
    pub otherwise: Vec<RuleId>,
}

/// One definition.
#[derive(Debug)]
pub struct Rule {
    /// Its frame and body.
    pub scope: Scope,
    /// Where it stands.
    pub span: Span,
    /// Where its head stands.
    pub head_span: Span,
    /// The set that it belongs to.
    pub set: SetId,
    /// Its path after `data`, package included.
    pub reference: Vec<Term>,
    /// A function's arguments.
    pub args: Vec<Term>,
    /// The element, of a set.
    pub key: Option<Term>,
    /// The value, of everything else.
    pub value: Option<Term>,
    /// What must hold.
    pub body: Body,
    /// Its body has at most one solution.
    pub single: bool,
}

impl Rule {
    /// It makes sets.
    pub fn multi(&self) -> bool {
        self.value.is_none()
    }
}

/// The variables of a frame.
#[derive(Debug, Default, Clone)]
pub struct Scope {
    /// The number of slots.
    pub slots: u32,
    /// The name of each, as the compile stages left it.
    pub names: Vec<Arc<str>>,
}

/// Expressions that must all hold.
pub type Body = Box<[Op]>;

/// An expression.
#[derive(Debug)]
pub struct Op {
    /// What it is.
    pub kind: OpKind,
    /// Where it stands.
    pub span: Span,
    /// It has at most one solution, whatever its operands are.
    pub single: bool,
}

/// What an expression is.
#[derive(Debug)]
pub enum OpKind {
    /// Both sides are made equal.
    Unify(Box<(Side, Side)>),
    /// It is neither false nor undefined.
    Test(Side),
    /// A call.
    Call(Box<Call>),
    /// `every`
    Every(Box<Every>),
    /// `not`, with all that is computed for it.
    Not(Body),
    /// `not` of an expression alone.
    Negated(Box<Op>),
    /// `and`
    And(Body, Body),
    /// `or`
    Or(Body, Body),
    /// An expression with modifiers.
    With(Box<[With]>, Box<Op>),
}

/// A side of an equality.
#[derive(Debug)]
pub enum Side {
    /// A term.
    Term(Term),
    /// A reference.
    Ref(Box<Ref>),
    /// A comprehension.
    Comprehension(Box<Comprehension>),
}

/// A term with nothing to evaluate in it.
#[derive(Debug, Clone)]
pub enum Term {
    /// A constant of any type.
    Const(Value),
    /// A variable.
    Var(Slot),
    /// An array with variables.
    Array(Box<[Term]>),
    /// An object with variables.
    Object(Box<[(Term, Term)]>),
    /// A set with variables.
    Set(Box<[Term]>),
}

/// A reference.
#[derive(Debug)]
pub struct Ref {
    /// Where it begins.
    pub head: Head,
    /// Its operands; for `data`, all after `data`.
    pub path: Box<[Term]>,
    /// Where it stands.
    pub span: Span,
}

/// Where a reference begins.
#[derive(Debug)]
pub enum Head {
    /// `input`
    Input,
    /// A variable.
    Var(Slot),
    /// `data`
    Data(Resolved),
    /// A constant, as in `1[_]`: nothing is found in it.
    Nothing,
}

/// What the constant operands of a reference to `data` lead to, while nothing replaces data.
#[derive(Debug)]
pub enum Resolved {
    /// Rules, after so many operands.
    Rules(SetId, usize),
    /// A base document beside which there are no rules, after so many operands.
    Base(Option<Value>, usize),
    /// Anything.
    Tree,
}

/// A comprehension.
#[derive(Debug)]
pub struct Comprehension {
    /// What it makes of each solution.
    pub kind: ComprehensionKind,
    /// Its body.
    pub body: Body,
    /// Where it stands.
    pub span: Span,
    /// Made once for all values of these variables.
    pub index: Option<ComprehensionIndex>,
}

/// What a comprehension makes of each solution.
#[derive(Debug)]
pub enum ComprehensionKind {
    /// An element of an array.
    Array(Term),
    /// An element of a set.
    Set(Term),
    /// A member of an object, and where its key stands.
    Object(Term, Term, Span),
}

/// How a comprehension is remembered.
#[derive(Debug)]
pub struct ComprehensionIndex {
    /// Its own number.
    pub id: u32,
    /// The variables that it depends on.
    pub keys: Box<[Slot]>,
    /// The variables of its head, where some have their values from outside: then what the body gives
    /// is remembered, and the head is made of it each time.
    pub head: Box<[Slot]>,
    /// The size of its frame.
    pub slots: u32,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// What is called, while nothing replaces it.
    pub target: Target,
    /// Its name: `data.a.f`, `array.concat`.
    pub name: Arc<str>,
    /// The arguments.
    pub args: Box<[Term]>,
    /// What the result is made equal to; without it, the result must not be false.
    pub output: Option<Term>,
    /// Where, if a host function is called.
    pub site: Option<u32>,
}

/// What is called.
#[derive(Clone, Copy)]
pub enum Target {
    /// A comparison.
    Compare(Comparison),
    /// A built-in function.
    Builtin(&'static Builtin),
    /// A function of the host.
    Host(u32),
    /// A function of the policy.
    Function(SetId),
    /// A function that the machine runs itself.
    Native(Native),
    /// Nothing of this name: an error when it is reached.
    Missing,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Compare(it) => write!(f, "Compare({it:?})"),
            Self::Builtin(it) => write!(f, "Builtin({})", it.name),
            Self::Host(it) => write!(f, "Host({it})"),
            Self::Function(it) => write!(f, "Function({it:?})"),
            Self::Native(it) => write!(f, "Native({it:?})"),
            Self::Missing => f.write_str("Missing"),
        }
    }
}

/// Functions that need the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// `internal.print`: prints each combination of its operands' values.
    Print,
    /// `internal.template_string`: joins its operands' values.
    Template,
    /// `trace`: a note for who watches.
    Trace,
    /// `internal.member_2`: whether a collection has a value.
    Member,
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// `every`
#[derive(Debug)]
pub struct Every {
    /// The key's variable.
    pub key: Option<Term>,
    /// The value's variable.
    pub value: Term,
    /// What is looked through.
    pub domain: Term,
    /// What must hold for each.
    pub body: Body,
}

/// A modifier.
#[derive(Debug)]
pub struct With {
    /// What is replaced.
    pub target: WithTarget,
    /// By what.
    pub value: WithValue,
}

/// What is replaced.
#[derive(Debug)]
pub enum WithTarget {
    /// `input`, or a part of it.
    Input(Vec<Value>),
    /// `data`, or a part of it.
    Data(Vec<Value>),
    /// A function, by its name.
    Function(Arc<str>),
}

/// By what it is replaced.
#[derive(Debug)]
pub enum WithValue {
    /// A value.
    Term(Term),
    /// A function.
    Function(Target, Arc<str>),
    /// A reference, evaluated at each call of the function that it stands in for.
    Ref(Ref),
}

/// A query in its compiled form.
#[derive(Debug)]
pub struct QueryCore {
    /// Its variables.
    pub scope: Scope,
    /// Its body.
    pub body: Body,
    /// Where it stands.
    pub span: Span,
}

impl Core {
    /// A definition.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0 as usize)
    }

    /// The definitions of a path.
    pub fn set(&self, id: SetId) -> Option<&RuleSet> {
        self.sets.get(id.0 as usize)
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// What is below a node.
    pub fn child(&self, id: NodeId, key: &Value) -> Option<NodeId> {
        self.node(id)?.children.get(key).copied()
    }
}

impl Term {
    /// It has no variables.
    pub fn is_const(&self) -> bool {
        matches!(self, Self::Const(_))
    }

    /// True if its elements may be looked through in another order than that of their values.
    pub fn may_be_irregular(&self) -> bool {
        match self {
            Self::Const(_) | Self::Var(_) => false,
            Self::Array(items) => items.iter().any(Self::may_be_irregular),
            Self::Set(items) => items.len() > 1 || items.iter().any(Self::may_be_irregular),
            Self::Object(members) => {
                let keys = members.len() > 1 && members.iter().any(|(key, _)| !key.is_const());
                keys || members.iter().any(|(_, value)| value.may_be_irregular())
            }
        }
    }

    /// Calls back with each of its variables.
    pub fn each_slot(&self, visit: &mut dyn FnMut(Slot)) {
        match self {
            Self::Const(_) => {}
            Self::Var(slot) => visit(*slot),
            Self::Array(items) | Self::Set(items) => {
                for item in items {
                    item.each_slot(visit);
                }
            }
            Self::Object(members) => {
                for (key, value) in members {
                    key.each_slot(visit);
                    value.each_slot(visit);
                }
            }
        }
    }
}
