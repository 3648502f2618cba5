//! The state of an evaluation, and bodies.
//!
//! A body is run expression by expression. Those with one answer are run in a loop; for one that
//! may have several, the rest of the body is a continuation, called for each. Bindings are undone
//! when it returns: the trail says which.

use std::collections::BTreeMap;

use super::cache::{Caches, Remembered};
use super::context::World;
use super::open::Opens;
use super::with::{Mock, Replaced};
use super::{ErrorCode, EvalError, Locals, TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::core::{Body, Candidate, Core, Op, OpKind, Scope, Side, Term};
use crate::rego::index::Lookup;
use crate::rego::syntax::tree::Span;
use crate::rego::value::Value;

/// What a slot holds.
#[derive(Debug, Clone)]
pub(super) enum Bound<'p> {
    /// Nothing.
    Free,
    /// A value.
    Value(Value),
    /// What another slot holds.
    Alias(u32),
    /// A term with variables of a frame.
    Term(&'p Term, u32),
}

/// Why an evaluation goes no further here.
#[derive(Debug)]
pub(super) enum Stop {
    /// One answer was found where one is enough. The number says how many ends of bodies it
    /// passed since: whoever asked for one answer is as many rules further out.
    Exit(u32),
    /// An error.
    Fatal(Box<EvalError>),
}

impl Stop {
    /// With the place of the expression that was being evaluated, where whoever ended the
    /// evaluation, or the limit that did, didn't know it.
    fn at(mut self, span: Span) -> Self {
        if let Self::Fatal(error) = &mut self
            && matches!(error.code, ErrorCode::Cancel | ErrorCode::Limit)
        {
            error.span.get_or_insert(span);
        }
        self
    }
}

impl From<EvalError> for Stop {
    fn from(error: EvalError) -> Self {
        Self::Fatal(Box::new(error))
    }
}

/// Whether to go on.
pub(super) type Flow = Result<(), Stop>;

/// What comes next.
pub(super) type Next<'n, 'p, 'r> = &'n mut (dyn FnMut(&mut Machine<'p, 'r>) -> Flow + 'n);

/// What comes next with a value.
pub(super) type NextWith<'n, 'p, 'r> =
    &'n mut (dyn FnMut(&mut Machine<'p, 'r>, Given<'p>) -> Flow + 'n);

/// A value that a rule gives.
pub(super) enum Given<'p> {
    Value(Value),
    /// A term of the rule's frame that isn't looked through in the order of its elements' values.
    Term(&'p Term, u32),
}

/// The answer of an expression that has at most one; or that it may have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Yes,
    No,
    Many,
}

impl From<bool> for Step {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// A body being run.
#[derive(Clone)]
pub(super) struct Run<'p> {
    pub(super) body: &'p [Op],
    /// Where its frame begins.
    pub(super) base: u32,
    /// One answer is enough.
    pub(super) once: bool,
    pub(super) scope: &'p Scope,
    pub(super) query: u64,
    pub(super) parent: u64,
    pub(super) remembered: Remembered,
}

/// An evaluation.
pub(super) struct Machine<'p, 'r> {
    pub(super) core: &'p Core,
    pub(super) world: &'r World<'r>,
    pub(super) tracer: Option<&'r dyn Tracer>,
    pub(super) slots: Vec<Bound<'p>>,
    pub(super) trail: Vec<u32>,
    pub(super) input: Option<Value>,
    /// What replaces data.
    pub(super) data: Option<Value>,
    pub(super) replaced: Vec<Replaced<'p>>,
    /// The number of those that replace data.
    pub(super) replaced_data: usize,
    /// Functions that are replaced; only the last group is in force.
    pub(super) mocks: Vec<Vec<Vec<Mock<'p>>>>,
    /// What those put in place without a value, and how many slots frames need for it.
    pub(super) opens: Opens<'p>,
    pub(super) shadow: u32,
    pub(super) caches: Caches,
    /// The candidates of all rules that are being evaluated, one after the other.
    pub(super) candidates: Vec<Candidate>,
    /// Scratch space of the rule index.
    pub(super) lookup: Lookup,
    /// The errors of built-in functions.
    pub(super) errors: Vec<EvalError>,
    pub(super) calls: BTreeMap<u32, u64>,
    pub(super) steps: u64,
    depth: u32,
    queries: u64,
}

/// Steps between two questions to the host.
const POLL: u64 = 1024;

impl<'p, 'r> Machine<'p, 'r> {
    pub(super) fn new(
        core: &'p Core,
        world: &'r World<'r>,
        tracer: Option<&'r dyn Tracer>,
        input: Option<Value>,
    ) -> Self {
        Self {
            core,
            world,
            tracer,
            slots: Vec::new(),
            trail: Vec::new(),
            input,
            data: None,
            replaced: Vec::new(),
            replaced_data: 0,
            mocks: Vec::new(),
            opens: Opens::default(),
            shadow: 0,
            caches: Caches::new(),
            candidates: Vec::new(),
            lookup: Lookup::new(),
            errors: Vec::new(),
            calls: BTreeMap::new(),
            steps: 0,
            depth: 0,
            queries: 0,
        }
    }

    /// Counts a step; asks the host now and then whether to go on.
    #[inline]
    pub(super) fn step(&mut self) -> Flow {
        self.steps += 1;
        if self.steps.is_multiple_of(POLL) { self.poll() } else { Ok(()) }
    }

    #[cold]
    fn poll(&mut self) -> Flow {
        Ok(self.world.poll()?)
    }

    /// Goes one level deeper, with stack enough for it.
    #[inline]
    pub(super) fn deeper<R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        if self.depth >= self.world.depth() {
            let message = "bodies, rules and functions are entered too deeply within one another";
            return Err(EvalError::new(ErrorCode::Limit, None, message).into());
        }
        self.depth += 1;
        let result = stacker::maybe_grow(96 * 1024, 2 * 1024 * 1024, || work(self));
        self.depth -= 1;
        result
    }

    /// Adds a frame of free slots, and says where it begins.
    pub(super) fn enter_frame(&mut self, scope: &Scope) -> u32 {
        let base = self.slots.len();
        self.slots.resize(base + (scope.slots + self.shadow) as usize, Bound::Free);
        if self.shadow > 0 {
            for open in self.opens.iter() {
                open.give(|slot, value| {
                    if let Some(place) = self.slots.get_mut(base + (scope.slots + slot) as usize) {
                        *place = Bound::Value(value.clone());
                    }
                });
            }
        }
        u32::try_from(base).unwrap_or(u32::MAX)
    }

    /// Removes the last frame.
    pub(super) fn leave_frame(&mut self, base: u32) {
        self.slots.truncate(base as usize);
    }

    /// Frees the slots that were bound since.
    #[inline]
    pub(super) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(slot) = self.trail.pop() else { return };
            if let Some(bound) = self.slots.get_mut(slot as usize) {
                *bound = Bound::Free;
            }
        }
    }

    /// A body entered from another.
    pub(super) fn within(&mut self, run: &Run<'p>, body: &'p Body, once: bool) -> Run<'p> {
        self.queries += 1;
        Run { body, once, query: self.queries, parent: run.query, ..run.clone() }
    }

    /// The body of a query.
    pub(super) fn query(&mut self, body: &'p Body, scope: &'p Scope, base: u32) -> Run<'p> {
        self.queries += 1;
        let remembered = Remembered::default();
        Run { body, base, once: false, scope, query: self.queries, parent: 0, remembered }
    }

    /// A body with a frame of its own.
    pub(super) fn apart(
        &mut self,
        from: &Run<'p>,
        (body, scope, base): (&'p Body, &'p Scope, u32),
        once: bool,
    ) -> Run<'p> {
        self.queries += 1;
        let remembered = from.remembered.clone();
        Run { body, base, once, scope, query: self.queries, parent: from.query, remembered }
    }

    /// Runs a body from an expression on, and calls `next` for each of its solutions.
    pub(super) fn run(&mut self, run: &Run<'p>, index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        let mark = self.trail.len();
        let flow = if self.tracer.is_some() {
            self.run_traced(run, index, next)
        } else {
            self.run_from(run, index, next)
        };
        self.undo(mark);
        flow
    }

    fn run_from(&mut self, run: &Run<'p>, mut index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        loop {
            let Some(op) = run.body.get(index) else { return self.solved(run, next) };
            let step = self.step().and_then(|()| self.single(run, op));
            match step.map_err(|stop| stop.at(op.span))? {
                Step::Yes => index += 1,
                Step::No => return Ok(()),
                Step::Many => {
                    let flow = self.deeper(|machine| {
                        machine.many(run, op, &mut |machine| machine.run(run, index + 1, next))
                    });
                    return flow.map_err(|stop| stop.at(op.span));
                }
            }
        }
    }

    /// The end of a body: what comes next, and whether this was enough.
    #[inline]
    fn solved(&mut self, run: &Run<'p>, next: Next<'_, 'p, 'r>) -> Flow {
        match next(self) {
            Ok(()) if run.once => Err(Stop::Exit(0)),
            Err(Stop::Exit(ends)) => Err(Stop::Exit(ends + 1)),
            flow => flow,
        }
    }

    fn run_traced(&mut self, run: &Run<'p>, index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        let Some(op) = run.body.get(index) else { return self.solved(run, next) };
        self.step()?;
        self.trace_op(TraceOp::Eval, run, op);
        let mut defined = false;
        self.deeper(|machine| {
            machine.any(run, op, &mut |machine| {
                defined = true;
                let flow = machine.run(run, index + 1, next);
                machine.trace_op(TraceOp::Redo, run, op);
                flow
            })
        })?;
        if !defined {
            self.trace_op(TraceOp::Fail, run, op);
        }
        Ok(())
    }

    /// Any expression, for each of its answers.
    pub(super) fn any(&mut self, run: &Run<'p>, op: &'p Op, next: Next<'_, 'p, 'r>) -> Flow {
        let mark = self.trail.len();
        let flow = match self.single(run, op) {
            Ok(Step::Yes) => next(self),
            Ok(Step::No) => Ok(()),
            Ok(Step::Many) => self.many(run, op, next),
            Err(stop) => Err(stop),
        };
        self.undo(mark);
        flow
    }

    /// An expression with at most one answer; or the word that it may have several, before
    /// anything was done that can be noticed.
    fn single(&mut self, run: &Run<'p>, op: &'p Op) -> Result<Step, Stop> {
        match &op.kind {
            OpKind::Unify(sides) => self.unify_single(run, &sides.0, &sides.1),
            OpKind::Test(side) => self.test_single(run, side),
            OpKind::Call(call) => self.call_single(run, op, call),
            OpKind::Every(every) => Ok(self.every(run, op, every)?.into()),
            OpKind::Not(body) => Ok((!self.holds(run, body, false, op.span)?).into()),
            OpKind::Negated(op) => {
                Ok((!self.holds(run, std::slice::from_ref(&**op), false, op.span)?).into())
            }
            OpKind::And(left, right) => {
                let holds = self.holds(run, left, true, op.span)?
                    && self.holds(run, right, true, op.span)?;
                Ok(holds.into())
            }
            OpKind::Or(left, right) => {
                let holds = self.holds(run, left, true, op.span)?
                    || self.holds(run, right, true, op.span)?;
                Ok(holds.into())
            }
            OpKind::With(with, inner) => {
                if !inner.single || self.tracer.is_some() {
                    return Ok(Step::Many);
                }
                let replacement = self.replacement(run, with, op.span)?;
                let before = self.enter_with(run, &replacement);
                let step = self.single(run, inner);
                self.leave_with(run, before);
                step
            }
        }
    }

    /// An expression that may have several answers.
    fn many(&mut self, run: &Run<'p>, op: &'p Op, next: Next<'_, 'p, 'r>) -> Flow {
        match &op.kind {
            OpKind::Unify(sides) => self.unify_many(run, &sides.0, &sides.1, next),
            OpKind::Test(side) => self.test_many(run, side, next),
            OpKind::Call(call) => self.call_many(run, op, call, next),
            OpKind::With(with, inner) => {
                let replacement = self.replacement(run, with, op.span)?;
                let mut before = Some(self.enter_with(run, &replacement));
                let flow = self.any(run, inner, &mut |machine| {
                    // What follows isn't under the modifiers.
                    if let Some(before) = before.take() {
                        machine.leave_with(run, before);
                    }
                    let flow = next(machine);
                    before = Some(machine.enter_with(run, &replacement));
                    flow
                });
                if let Some(before) = before.take() {
                    self.leave_with(run, before);
                }
                flow
            }
            _ => Ok(()),
        }
    }

    /// True if a body within has a solution. With `once`, the first is enough; `not` looks at
    /// all, as in OPA.
    fn holds(
        &mut self,
        run: &Run<'p>,
        body: &'p [Op],
        once: bool,
        span: Span,
    ) -> Result<bool, Stop> {
        self.queries += 1;
        let within = Run { body, once, query: self.queries, parent: run.query, ..run.clone() };
        let mut holds = false;
        self.trace(TraceOp::Enter, TraceNode::Body, &within, span);
        let flow = self.deeper(|machine| {
            machine.run(&within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Body, &within, span);
                machine.trace(TraceOp::Redo, TraceNode::Body, &within, span);
                holds = true;
                Ok(())
            })
        });
        within_rule(flow)?;
        Ok(holds)
    }

    /// The terms of an event's expression.
    pub(super) fn trace_op(&mut self, what: TraceOp, run: &Run<'p>, op: &'p Op) {
        if let Some(tracer) = self.tracer {
            let locals = Seen { machine: self, run, op: Some(op) };
            tracer.event(&TraceEvent {
                op: what,
                node: TraceNode::Expression,
                span: op.span,
                query: run.query,
                parent: run.parent,
                message: "",
                locals: &locals,
            });
        }
    }

    pub(super) fn trace(&mut self, what: TraceOp, node: TraceNode, run: &Run<'p>, span: Span) {
        if let Some(tracer) = self.tracer {
            let locals = Seen { machine: self, run, op: None };
            tracer.event(&TraceEvent {
                op: what,
                node,
                span,
                query: run.query,
                parent: run.parent,
                message: "",
                locals: &locals,
            });
        }
    }

    pub(super) fn note(&mut self, run: &Run<'p>, span: Span, message: &str) {
        if let Some(tracer) = self.tracer {
            let locals = Seen { machine: self, run, op: None };
            tracer.event(&TraceEvent {
                op: TraceOp::Note,
                node: TraceNode::Expression,
                span,
                query: run.query,
                parent: run.parent,
                message,
                locals: &locals,
            });
        }
    }
}

/// What a loop over alternatives makes of one: where one answer is enough for a caller further
/// out, but not for the rule that the loop is in, it goes on and reports that at its end.
pub(super) struct Alternatives {
    once: bool,
    exit: Option<u32>,
}

impl Alternatives {
    pub(super) fn new(run: &Run<'_>) -> Self {
        Self { once: run.once, exit: None }
    }

    #[inline]
    pub(super) fn tried(&mut self, flow: Flow) -> Flow {
        match flow {
            Err(Stop::Exit(ends)) if !self.once => {
                self.exit.get_or_insert(ends);
                Ok(())
            }
            flow => flow,
        }
    }

    pub(super) fn done(self) -> Flow {
        self.exit.map_or(Ok(()), |ends| Err(Stop::Exit(ends)))
    }
}

/// What leaves a rule: an exit that was meant for it ends here.
#[inline]
pub(super) fn within_rule(flow: Flow) -> Flow {
    match flow {
        Err(Stop::Exit(0)) => Ok(()),
        Err(Stop::Exit(ends)) => Err(Stop::Exit(ends - 1)),
        flow => flow,
    }
}

/// What a tracer may see.
struct Seen<'m, 'p, 'r> {
    machine: &'m Machine<'p, 'r>,
    run: &'m Run<'p>,
    op: Option<&'p Op>,
}

impl Seen<'_, '_, '_> {
    fn operand(&self, term: &Term) -> Option<Value> {
        self.machine.seen(term, self.run.base)
    }
}

impl Locals for Seen<'_, '_, '_> {
    fn each(&self, visit: &mut dyn FnMut(&str, &Value)) {
        for (slot, name) in (0..).zip(&self.run.scope.names) {
            if let Some(value) = self.operand(&Term::Var(slot)) {
                visit(name, &value);
            }
        }
    }

    fn operands(&self) -> Vec<(Span, Option<Value>)> {
        let Some(mut op) = self.op else { return Vec::new() };
        while let OpKind::With(_, inner) | OpKind::Negated(inner) = &op.kind {
            op = inner;
        }
        let side = |side: &Side| match side {
            Side::Term(term) => (op.span, self.operand(term)),
            Side::Ref(reference) => (reference.span, None),
            Side::Comprehension(comprehension) => (comprehension.span, None),
        };
        match &op.kind {
            OpKind::Unify(sides) => vec![side(&sides.0), side(&sides.1)],
            OpKind::Test(it) => vec![side(it)],
            OpKind::Call(call) => {
                let terms = call.args.iter().chain(&call.output);
                terms.map(|term| (op.span, self.operand(term))).collect()
            }
            OpKind::Every(every) => vec![(op.span, self.operand(&every.domain))],
            _ => Vec::new(),
        }
    }
}
