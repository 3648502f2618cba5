//! The compiled form of a policy, which the engine runs.
//!
//! Owns the core's types, the lowering from the compiled tree into them ([`lower`]) and their
//! printed form. Nothing in the core is looked up by name: a variable is a slot in its rule's
//! frame, a constant is a value built once, a reference knows whether it starts in the input, in
//! base data, at a rule or in a variable, and a call knows its callee. Expressions with at most one
//! solution are marked as such ([`Op::single`]), so that the engine can run them in a loop.

mod display;
mod lower;
mod marks;
mod reads;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::builtins::Builtin;
use crate::index::Index;
use crate::syntax::tree::Span;
use crate::value::{Value, deeper};

pub use lower::{Input, lower, lower_document, lower_query};
pub(crate) use lower::{destructured, function_name, member, push_part, result};
pub use marks::Marks;
pub(crate) use reads::RuleReads;

/// The index of a variable in its frame.
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
    /// All definitions, including those after `else`.
    pub rules: Vec<Rule>,
    /// Rule sets: the definitions that share a path.
    pub sets: Vec<RuleSet>,
    /// The tree of rule and package paths; the first node is `data`.
    pub nodes: Vec<Node>,
    /// The base documents.
    pub data: Value,
    /// The documents in the value of `data`: without `data.system`.
    pub visible: Value,
    /// The host's functions, sorted by name.
    pub host: Vec<HostFn>,
    /// Functions by their path, such as `data.a.f`.
    pub functions: BTreeMap<Arc<str>, SetId>,
    /// The calls of host functions, each with the rule set it is in.
    pub sites: Vec<Site>,
    /// The number of comprehensions whose results are cached.
    pub comprehensions: u32,
    /// `true` if a body refers to the input.
    pub reads_input: bool,
    /// `true` if a reference has a variable behind `input`.
    pub iterates_input: bool,
    /// `true` if a body calls `walk`.
    pub walks: bool,
    /// The places in memory of the collections and strings of the base documents, once asked for.
    pub places: OnceLock<HashSet<usize>>,
}

/// A function of the host.
#[derive(Debug, Clone)]
pub struct HostFn {
    /// The function's name.
    pub name: Arc<str>,
    /// The number of arguments.
    pub arity: usize,
    /// `true` if the function returns no value.
    pub void: bool,
}

/// A call site of a host function, or of a built-in one that uses the network.
#[derive(Debug, Clone)]
pub struct Site {
    /// The name of the function.
    pub name: Arc<str>,
    /// The span of the call.
    pub span: Span,
    /// The rule set that contains the call; `None` for a query.
    pub set: Option<SetId>,
}

/// A node in the tree of paths.
#[derive(Debug)]
pub struct Node {
    /// The last component of the node's path.
    pub key: Value,
    /// The nodes below this one.
    pub children: BTreeMap<Value, NodeId>,
    /// The rule set whose path ends here.
    pub set: Option<SetId>,
    /// `true` if the documents above leave this node out (`data.system`).
    pub hidden: bool,
}

/// The definitions that share a path.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts
pub struct RuleSet {
    /// The path, such as `data.a.b.allow`.
    pub path: Arc<str>,
    /// The components of the path after `data`.
    pub parts: Vec<Value>,
    /// `true` if the definitions build a set (`contains`).
    pub multi: bool,
    /// `true` if no definition's path contains a variable.
    pub ground: bool,
    /// `true` if the definitions are functions.
    pub function: bool,
    /// The number of arguments, of functions.
    pub arity: usize,
    /// The definitions, in order.
    pub definitions: Vec<Definition>,
    pub default: Option<RuleId>,
    /// `true` if all definitions have the same constant value, so the first one that holds decides.
    pub early: bool,
    /// `true` if the paths of the definitions differ in length, so one may define a value inside
    /// another's.
    pub uneven: bool,
    /// The number of operands after the path by which results are cached, if it's the same for all
    /// definitions.
    pub keys: Option<usize>,
    /// `true` if there is at most one answer, and nothing is left to evaluate after it.
    pub single: bool,
    /// `true` if a call site is reached from a body, by the graph of rules.
    pub reaches: bool,
    /// The marks of the expressions in its bodies.
    pub marks: Marks,
    /// `true` if the evaluation reaches no call site, no print and no built-in function whose result depends
    /// on more than its arguments.
    pub pure: bool,
    /// The index that selects the definitions that can hold; `None` if that depends on nothing.
    pub index: Option<Box<Index>>,
    /// The rules that the index refers to: each definition with its `else` branches.
    pub members: Vec<Vec<RuleId>>,
    /// All definitions with their `else` branches, as candidates.
    pub all: Vec<Candidate>,
}

impl RuleSet {
    /// All rules under the path: each definition, its `else` branches, and the default.
    pub fn rules(&self) -> impl Iterator<Item = RuleId> {
        let definitions = self.definitions.iter();
        let branches = definitions.flat_map(|definition| {
            std::iter::once(definition.rule).chain(definition.otherwise.iter().copied())
        });
        branches.chain(self.default)
    }

    /// The number of operands after the path that lead to a definition's values.
    pub fn keys_of(&self, rule: &Rule) -> usize {
        rule.reference.len().saturating_sub(self.parts.len()) + usize::from(rule.multi())
    }
}

/// A rule that may hold.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    pub rule: RuleId,
    /// `true` if the rule is always evaluated; the others are evaluated only if none has held since
    /// the last one that is.
    pub first: bool,
}

/// A definition and its `else` branches.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The definition itself.
    pub rule: RuleId,
    /// The `else` branches, in order.
    pub otherwise: Vec<RuleId>,
}

/// A single definition of a rule.
#[derive(Debug)]
pub struct Rule {
    /// The variables of its frame.
    pub scope: Scope,
    /// The source span of the definition.
    pub span: Span,
    /// The source span of its head.
    pub head_span: Span,
    /// The rule set that it belongs to.
    pub set: SetId,
    /// The path after `data`, including the package.
    pub reference: Vec<Term>,
    /// The arguments, of a function.
    pub args: Vec<Term>,
    /// The element, of a rule that builds a set.
    pub key: Option<Term>,
    /// The value, of any other rule.
    pub value: Option<Term>,
    /// The expressions that must hold.
    pub body: Body,
    /// `true` if the body has at most one solution.
    pub single: bool,
}

impl Rule {
    /// Returns `true` if the rule builds a set.
    pub fn multi(&self) -> bool {
        self.value.is_none()
    }
}

/// The variables in a frame.
#[derive(Debug, Default, Clone)]
pub struct Scope {
    /// The number of slots.
    pub slots: u32,
    /// The name of each variable, as the compile stages left it.
    pub names: Vec<Arc<str>>,
}

/// Expressions that must all hold.
pub type Body = Box<[Op]>;

/// An expression.
#[derive(Debug)]
pub struct Op {
    /// The kind of expression, with its operands.
    pub kind: OpKind,
    /// The source span.
    pub span: Span,
    /// `true` if there is at most one solution, whatever the operands are.
    pub single: bool,
    /// `true` if a compile stage made it, to compute an operand of an expression after it.
    pub generated: bool,
    /// `true` if a call site is in it or reached from it.
    pub reaches: bool,
    /// The distance in its body to the call whose operand it computes, if a call site is reached
    /// from that call; otherwise 0.
    pub operand_of: u32,
    /// The effect on a verdict if it is undefined.
    pub marks: Marks,
}

impl Op {
    /// The sides of an equation or a test; of any other operation none.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        let (first, second) = match &self.kind {
            OpKind::Unify(sides) => (Some(&sides.0), Some(&sides.1)),
            OpKind::Test(side) => (Some(side), None),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Calls back with the terms of which an expression needs values, but for those in bodies within it.
    pub(crate) fn each_operand(&self, found: &mut dyn FnMut(&Term)) {
        match &self.kind {
            OpKind::With(with, inner) => {
                for with in with {
                    if let WithValue::Term(term) = &with.value {
                        found(term);
                    }
                }
                inner.each_operand(found);
            }
            OpKind::Negated(inner) => inner.each_operand(found),
            OpKind::Call(call) => call.args.iter().for_each(found),
            _ => self.sides().for_each(|side| side.each_operand(found)),
        }
    }

    /// Makes an expression that the author wrote.
    pub(super) fn new(kind: OpKind, span: Span, single: bool) -> Self {
        Self {
            kind,
            span,
            single,
            generated: false,
            reaches: false,
            operand_of: 0,
            marks: Marks::NONE,
        }
    }
}

impl Drop for Op {
    fn drop(&mut self) {
        // A chain of operators is as deep as it is long.
        if let OpKind::And(left, right) | OpKind::Or(left, right) = &mut self.kind {
            let operands = (std::mem::take(left), std::mem::take(right));
            deeper(|| drop(operands));
        }
    }
}

/// The kinds of expressions.
#[derive(Debug)]
pub enum OpKind {
    /// Unifies both sides.
    Unify(Box<(Side, Side)>),
    /// Holds unless the value is false or undefined.
    Test(Side),
    Call(Box<Call>),
    Every(Box<Every>),
    /// `not`, with everything that is computed for its operand.
    Not(Body),
    /// `not` of a single expression.
    Negated(Box<Op>),
    And(Body, Body),
    Or(Body, Body),
    /// An expression with `with` modifiers.
    With(Box<[With]>, Box<Op>),
}

/// One side of an equality.
#[derive(Debug)]
pub enum Side {
    Term(Term),
    /// A reference.
    Ref(Box<Ref>),
    Comprehension(Box<Comprehension>),
}

impl Side {
    /// Calls back with the term, or the variable and the operands of the reference.
    pub(crate) fn each_operand(&self, found: &mut dyn FnMut(&Term)) {
        match self {
            Self::Term(term) => found(term),
            Self::Ref(reference) => reference.each_operand(found),
            Self::Comprehension(_) => {}
        }
    }
}

/// A term that needs no evaluation.
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
    /// The head, where the reference starts.
    pub head: Head,
    /// The operands after the head; for `data`, all those after `data`.
    pub path: Box<[Term]>,
    /// The part of the input in the head.
    pub part: InputPart,
    /// The source span.
    pub span: Span,
}

impl Ref {
    /// Calls back with the variable in the head, and the operands.
    pub(crate) fn each_operand(&self, found: &mut dyn FnMut(&Term)) {
        if let Head::Var(slot) = self.head {
            found(&Term::Var(slot));
        }
        self.path.iter().for_each(found);
    }
}

/// The head of a reference.
#[derive(Debug)]
pub enum Head {
    Input,
    /// A variable.
    Var(Slot),
    Data(Resolved),
    /// A constant, as in `1[_]`, in which nothing is ever found.
    Nothing,
}

/// The part of the input that a variable is bound to, if its body determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPart {
    /// None, or one that isn't known.
    None,
    /// The input: `input`, or `x` after `x := input`.
    Whole,
    /// An element: `x` after `some x in input`.
    Element,
}

/// The target of the constant operands of a reference to `data`, as long as no `with` replaces
/// data.
#[derive(Debug)]
pub enum Resolved {
    /// A rule set, and the number of operands that lead to it.
    Rules(SetId, usize),
    /// A base document without rules next to it, and the number of operands of its path.
    Base(Option<Value>, usize),
    /// Not known before evaluation: the tree of paths is walked.
    Tree,
}

#[derive(Debug)]
pub struct Comprehension {
    /// The kind of collection, with the terms of its head.
    pub kind: ComprehensionKind,
    /// The expressions that must hold.
    pub body: Body,
    /// The source span.
    pub span: Span,
    /// The key under which results are cached, if they are.
    pub index: Option<ComprehensionIndex>,
}

impl ComprehensionKind {
    /// Calls back with the terms of the head.
    pub fn each_term(&self, visit: &mut dyn FnMut(&Term)) {
        match self {
            Self::Array(term) | Self::Set(term) => visit(term),
            Self::Object(key, value, _) => {
                visit(key);
                visit(value);
            }
        }
    }
}

/// The kinds of comprehensions, each with what it collects per solution.
#[derive(Debug)]
pub enum ComprehensionKind {
    /// An element of an array.
    Array(Term),
    /// An element of a set.
    Set(Term),
    /// A member of an object, with the span of its key.
    Object(Term, Term, Span),
}

/// The cache key of a comprehension, and the frame to evaluate it in.
#[derive(Debug)]
pub struct ComprehensionIndex {
    /// The number of this comprehension among those that are cached.
    pub id: u32,
    /// The variables that the result depends on, which are the key in the cache.
    pub keys: Box<[Slot]>,
    /// The variables in the head, if some get their values outside the body. In that case the
    /// solutions of the body are cached, and the head is built from them each time.
    pub head: Box<[Slot]>,
    /// The size of the frame.
    pub slots: u32,
    /// `true` if a call site is reached from the body.
    pub reaches: bool,
}

#[derive(Debug)]
pub struct Call {
    /// The callee, unless a `with` replaces it.
    pub target: Target,
    /// The name of the callee, such as `data.a.f` or `array.concat`.
    pub name: Arc<str>,
    /// The arguments.
    pub args: Box<[Term]>,
    /// The term that the result is unified with; without one, the result must not be false.
    pub output: Option<Term>,
    /// The index of the call site, if a host function is called.
    pub site: Option<u32>,
    /// The record of the call in an evaluation.
    pub watch: Watch,
}

/// The record of calls of a built-in function in an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// Elements of different types that it puts in order.
    Order,
    /// The texts that it decodes.
    Decoding,
}

impl Watch {
    /// Returns what is recorded of calls of the function with a name.
    pub fn of(name: &str) -> Self {
        match name {
            "max" | "min" | "sort" => Self::Order,
            "json.is_valid" => Self::Decoding,
            _ if name.starts_with("base64.") => Self::Decoding,
            _ => Self::Nothing,
        }
    }
}

/// The callee of a call.
#[derive(Clone, Copy)]
pub enum Target {
    Compare(Comparison),
    /// A built-in function.
    Builtin(&'static Builtin),
    /// A function of the host.
    Host(u32),
    /// A function of the policy itself.
    Function(SetId),
    /// A function that the engine implements itself.
    Native(Native),
    /// No function has this name, which is an error once the call is reached.
    Missing,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Compare(operator) => write!(f, "Compare({operator:?})"),
            Self::Builtin(builtin) => write!(f, "Builtin({})", builtin.name),
            Self::Host(host) => write!(f, "Host({host})"),
            Self::Function(function) => write!(f, "Function({function:?})"),
            Self::Native(native) => write!(f, "Native({native:?})"),
            Self::Missing => f.write_str("Missing"),
        }
    }
}

/// Functions that need the state of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// `internal.print`: prints each combination of its operands' values.
    Print,
    /// `internal.template_string`: joins its operands' values.
    Template,
    /// `trace`: adds a note to the trace.
    Trace,
    /// `internal.member_2`: tests whether a collection contains a value.
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

/// An `every` expression.
#[derive(Debug)]
pub struct Every {
    /// The variable for keys.
    pub key: Option<Term>,
    /// The variable for values.
    pub value: Term,
    /// The collection to iterate over.
    pub domain: Term,
    /// The expressions that must hold for each element.
    pub body: Body,
}

/// A `with` modifier.
#[derive(Debug)]
pub struct With {
    /// The target that is replaced.
    pub target: WithTarget,
    /// The replacement.
    pub value: WithValue,
    /// The source span.
    pub span: Span,
}

/// The target of a `with` modifier.
#[derive(Debug)]
pub enum WithTarget {
    /// `input`, or a part of it.
    Input(Vec<Value>),
    /// `data`, or a part of it.
    Data(Vec<Value>),
    /// A function, by name.
    Function(Arc<str>),
}

/// The replacement in a `with` modifier.
#[derive(Debug)]
pub enum WithValue {
    /// A value.
    Term(Term),
    /// A function, with its name, and the call site if it is one of the host or asks the network.
    Function(Target, Arc<str>, Option<u32>),
    /// A reference, evaluated at each call of the function that it replaces.
    Ref(Ref),
    /// A comprehension, evaluated where the document that it replaces is read as a whole.
    Comprehension(Comprehension),
}

/// A query in its compiled form.
#[derive(Debug)]
pub struct QueryCore {
    /// The variables in its frame.
    pub scope: Scope,
    /// The expressions that must hold.
    pub body: Body,
    /// The source span.
    pub span: Span,
}

impl Core {
    /// Returns a definition.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0 as usize)
    }

    /// Returns a rule set.
    pub fn set(&self, id: SetId) -> Option<&RuleSet> {
        self.sets.get(id.0 as usize)
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Returns the child of a node under `key`.
    pub fn child(&self, id: NodeId, key: &Value) -> Option<NodeId> {
        self.node(id)?.children.get(key).copied()
    }
}

impl Comparison {
    /// Returns `true` for a comparison by order.
    pub fn orders(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

impl Term {
    /// Returns `true` if the term contains no variables.
    pub fn is_const(&self) -> bool {
        matches!(self, Self::Const(_))
    }

    /// Returns `true` if the elements may be iterated in an order other than that of their values.
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

    /// Calls `visit` with each variable in the term.
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
