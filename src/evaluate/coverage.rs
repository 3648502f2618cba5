//! Coverage: the heads of rules that gave a value, and the expressions that were evaluated.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::rego::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::Span;

/// The spans that were reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered(BTreeSet<Span>);

impl Covered {
    /// Adds the spans that another evaluation reached.
    pub(crate) fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.0.iter()
    }
}

/// Records the spans that an evaluation reaches.
#[derive(Default)]
pub(crate) struct CoverageTracer(RefCell<BTreeSet<Span>>);

impl CoverageTracer {
    pub(crate) fn into_covered(self) -> Covered {
        Covered(self.0.into_inner())
    }
}

impl Tracer for CoverageTracer {
    fn event(&self, event: &TraceEvent<'_>) {
        let counts = matches!(
            (event.op, event.node),
            (TraceOp::Eval, TraceNode::Expression) | (TraceOp::Exit, TraceNode::Rule)
        );
        if counts {
            self.0.borrow_mut().insert(event.span);
        }
    }
}
