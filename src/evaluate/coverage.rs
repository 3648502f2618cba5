//! Coverage: the heads of rules that gave a value, and the expressions that were evaluated.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::rego::internal::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::Span;

/// The spans that were reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Covered(BTreeSet<Span>);

impl Covered {
    /// Adds the spans that another evaluation reached.
    pub(crate) fn add(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// The spans that were reached.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.0.iter()
    }
}

/// A part of an evaluation that is skipped without a change of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortcut {
    /// Definitions that the rule index excludes.
    Index,
    /// Definitions after one that held.
    EarlyExit,
}

/// Records the spans that an evaluation reaches.
#[derive(Default)]
pub(crate) struct CoverageTracer {
    reached: RefCell<BTreeSet<Span>>,
    /// The shortcut that isn't taken.
    without: Option<Shortcut>,
}

impl CoverageTracer {
    /// Creates a tracer of an evaluation that doesn't take a shortcut.
    pub(crate) fn without(shortcut: Shortcut) -> Self {
        Self { without: Some(shortcut), ..Self::default() }
    }

    pub(crate) fn into_covered(self) -> Covered {
        Covered(self.reached.into_inner())
    }
}

impl Tracer for CoverageTracer {
    fn event(&self, event: &TraceEvent<'_>) {
        let counts = matches!(
            (event.op, event.node),
            (TraceOp::Eval, TraceNode::Expression) | (TraceOp::Exit, TraceNode::Rule)
        );
        if counts {
            self.reached.borrow_mut().insert(event.span);
        }
    }

    fn wants_all(&self) -> bool {
        self.without == Some(Shortcut::Index)
    }

    fn exits_early(&self) -> bool {
        self.without != Some(Shortcut::EarlyExit)
    }
}
