//! What may be seen of an evaluation while it runs: OPA's trace events.

use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceOp {
    /// A query or a rule is begun.
    Enter,
    /// It held.
    Exit,
    /// An expression is evaluated.
    Eval,
    /// It is asked for further answers.
    Redo,
    /// It doesn't hold.
    Fail,
    /// `trace(…)` says something.
    Note,
}

/// What it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceNode {
    /// An expression.
    Expression,
    /// A body: the query's, a comprehension's, `every`'s.
    Body,
    /// A rule.
    Rule,
}

/// An event.
pub struct TraceEvent<'a> {
    /// What happens.
    pub op: TraceOp,
    /// What it happens to.
    pub node: TraceNode,
    /// Where that stands.
    pub span: Span,
    /// Which query: each body that is entered is one.
    pub query: u64,
    /// The query that it was entered from.
    pub parent: u64,
    /// What `trace(…)` says.
    pub message: &'a str,
    /// The variables of the rule or query.
    pub locals: &'a dyn Locals,
}

/// The variables at an event.
pub trait Locals {
    /// Calls back with each variable that has a value, by the name that the compile stages left it;
    /// `Compiled::rewritten` has its author's.
    fn each(&self, visit: &mut dyn FnMut(&str, &Value));
    /// The values of the operands of the event's expression, in order: a call's arguments and
    /// result, an equality's sides, a term; nothing for those that have none.
    fn operands(&self) -> Vec<(Span, Option<Value>)>;
}

/// Takes the events of an evaluation.
pub trait Tracer {
    /// One event.
    fn event(&self, event: &TraceEvent<'_>);
    /// A definition that the index tells can't hold: it isn't begun.
    fn left_out(&self, definition: Span) {
        let _ = definition;
    }
}
