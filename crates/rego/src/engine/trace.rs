//! The events by which an evaluation can be followed while it runs: OPA's trace events.

use crate::syntax::tree::Span;
use crate::value::Value;

/// The operation that an event reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceOp {
    /// A query or a rule is entered.
    Enter,
    /// A query or a rule has succeeded.
    Exit,
    /// An expression is about to be evaluated.
    Eval,
    /// A query, a rule or an expression is evaluated again, for further answers.
    Redo,
    /// A rule or an expression has failed.
    Fail,
    /// A message of `trace(…)`.
    Note,
}

/// The kind of node that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceNode {
    /// A statement of a body.
    Expression,
    /// A body: the query's, a comprehension's, `every`'s.
    Body,
    /// One definition of a rule.
    Rule,
}

/// One step of an evaluation, as OPA's tracer reports it.
pub struct TraceEvent<'a> {
    /// The operation.
    pub op: TraceOp,
    /// The kind of node.
    pub node: TraceNode,
    /// The position of the node.
    pub span: Span,
    /// The id of the query; every body that is entered is a query of its own.
    pub query: u64,
    /// The query that it was entered from.
    pub parent: u64,
    /// The message of `trace(…)`; empty for other events.
    pub message: &'a str,
    /// The variables of the rule or query at this moment.
    pub locals: &'a dyn Locals,
}

/// The variables at an event.
pub trait Locals {
    /// Calls back with each variable that has a value, under the name that the compile stages left
    /// it; `Compiled::rewritten` maps that to the author's.
    fn each(&self, visit: &mut dyn FnMut(&str, &Value));
    /// Returns the values of the operands of the event's expression, in order: a call's arguments
    /// and result, an equality's sides, a term. A value is `None` if the operand has none.
    fn operands(&self) -> Vec<(Span, Option<Value>)>;
}

/// A receiver of the events of an evaluation.
pub trait Tracer {
    /// Receives an event.
    fn event(&self, event: &TraceEvent<'_>);
    /// Returns `true` to have those definitions entered as well that the rule index would exclude.
    fn wants_all(&self) -> bool {
        false
    }
    /// Returns `false` to have further definitions of a rule evaluated although the first that held
    /// determines the value.
    fn exits_early(&self) -> bool {
        true
    }
    /// Receives a definition that isn't entered, because the rule index excludes it.
    fn left_out(&self, definition: Span) {
        let _ = definition;
    }
}
