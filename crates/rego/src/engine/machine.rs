//! The state of an evaluation, and the evaluation of bodies.
//!
//! A body is run expression by expression. Expressions with at most one answer are run in a loop;
//! for one that may have several, the rest of the body is a continuation that is called for each
//! answer. Bindings are undone when it returns, by means of the trail.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};

use super::cache::{Caches, ComprehensionCache};
use super::context::EvalContext;
use super::groups::Groupings;
use super::reached::{ClosedObjects, InputKind, Misordered, SurveyState, Watched};
use super::reading_state::ReadingState;
use super::replaced::{DeferredValues, Mock, Replaced};
use super::results::{RuleValue, SingleResult};
use super::{ErrorCode, EvalError, Locals, TraceEvent, TraceNode, TraceOp, Tracer};
use crate::core::{Body, Candidate, Core, Marks, Op, OpKind, Scope, SetId, Side, Term};
use crate::index::Lookup;
use crate::syntax::tree::Span;
use crate::value::Value;

/// The content of a slot.
#[derive(Debug, Clone)]
pub(super) enum Bound<'p> {
    /// No value yet.
    Free,
    Value(Value),
    /// The content of another slot.
    Alias(u32),
    /// A term with unbound variables, of the frame that begins at the given slot.
    Term(&'p Term, u32),
    /// No value: in a reading, the variable is an operand that is missing; in a guess, an unknown one.
    Missing,
    /// A term that contains the variable itself, as in `x = {x: 1}`. Its members can be looked up,
    /// but it has no value.
    Endless(&'p Term, u32),
}

/// The reason to unwind.
#[derive(Debug)]
pub(super) enum Stop {
    /// One answer was found where one is enough. The number counts the ends of bodies that were
    /// passed since: the rule that needed one answer only is that many rules further out.
    Exit(u32),
    Fatal(Box<EvalError>),
}

impl Stop {
    /// Adds the span of the expression that was being evaluated, if the error comes from a limit or
    /// from a host that didn't know the position.
    pub(super) fn at(mut self, span: Span) -> Self {
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

/// `Ok` to go on, or the reason to unwind.
pub(super) type Flow = Result<(), Stop>;

/// The continuation.
pub(super) type Next<'n, 'p, 'r> = &'n mut (dyn FnMut(&mut Machine<'p, 'r>) -> Flow + 'n);

/// The continuation that takes a rule's value.
pub(super) type NextWith<'n, 'p, 'r> =
    &'n mut (dyn FnMut(&mut Machine<'p, 'r>, RuleValue<'p>) -> Flow + 'n);

/// A body being run.
#[derive(Clone)]
pub(super) struct Run<'p> {
    pub(super) body: &'p [Op],
    /// The slot at which its frame begins.
    pub(super) base: u32,
    /// `true` if one answer is enough.
    pub(super) once: bool,
    pub(super) scope: &'p Scope,
    pub(super) query: u64,
    pub(super) parent: u64,
    pub(super) comprehensions: ComprehensionCache,
    /// The look-ups of the expression being run, if it computes an operand and a survey asks.
    pub(super) watched: Watched,
}

/// The state of an evaluation.
pub(super) struct Machine<'p, 'r> {
    pub(super) core: &'p Core,
    pub(super) context: &'r EvalContext<'r>,
    pub(super) tracer: Option<&'r dyn Tracer>,
    pub(super) slots: Vec<Bound<'p>>,
    pub(super) trail: Vec<u32>,
    pub(super) input: Option<Value>,
    /// The document that replaces parts of data.
    pub(super) data: Option<Value>,
    pub(super) replaced: Vec<Replaced<'p>>,
    /// The number of modifiers in force that replace data.
    pub(super) replaced_data: usize,
    /// The replaced functions; only the last group is in force.
    pub(super) mocks: Vec<Vec<Vec<Mock<'p>>>>,
    /// The deferred values of `with`, and the number of slots that frames need for them.
    pub(super) deferred: DeferredValues<'p>,
    pub(super) shadow: u32,
    pub(super) caches: Caches,
    pub(super) groupings: Groupings,
    /// The candidates of all rules that are being evaluated, as a stack.
    pub(super) candidates: Vec<Candidate>,
    /// Scratch space for the rule index.
    pub(super) lookup: Lookup,
    /// The errors of built-in functions so far.
    pub(super) errors: Vec<EvalError>,
    /// The number of calls made at each call site.
    pub(super) calls: BTreeMap<u32, u64>,
    /// The state of the survey, if this is one.
    pub(super) survey: Option<Box<SurveyState>>,
    /// The state of the reading, if this is one.
    pub(super) reading: Option<Box<ReadingState>>,
    /// Set once the result of a call isn't known, so that the evaluation only finds further calls.
    pub(super) guessing: bool,
    /// Set while the expression being evaluated depends on a result that isn't known.
    pub(super) unknown: bool,
    /// The queries of the bodies of which an expression was skipped.
    pub(super) skipping: Vec<u64>,
    /// The complete rules whose value isn't known.
    pub(super) unknown_rules: HashSet<SetId>,
    /// `false` while `with` replaces the input or a part of it.
    pub(super) own_input: bool,
    /// `false` while `with` replaces the whole input.
    pub(super) closed_input: bool,
    /// `true` once the expression being evaluated looked up a member that an object can't have.
    pub(super) lacks: Cell<bool>,
    /// `true` if a reference to a field of the input has found something.
    pub(super) found_field: Cell<bool>,
    /// The marks of expressions that were undefined, or spared.
    pub(super) suspects: Cell<Marks>,
    /// The objects that can have no other members than they have.
    pub(super) closed: ClosedObjects<'r>,
    /// The orderings of values of different types.
    pub(super) misordered: RefCell<Vec<Misordered>>,
    /// The values that were given to functions that decode.
    pub(super) decoded: RefCell<HashSet<Value>>,
    pub(super) steps: u64,
    /// The number of steps at which something is due: a check with the host, or `fuse`.
    alarm: u64,
    /// The number of steps at which the attempt that is being made is given up.
    fuse: u64,
    depth: u32,
    queries: u64,
}

/// The number of steps between two checks with the host.
const POLL: u64 = 1024;

impl<'p, 'r> Machine<'p, 'r> {
    pub(super) fn new(
        core: &'p Core,
        context: &'r EvalContext<'r>,
        tracer: Option<&'r dyn Tracer>,
        input: Option<Value>,
    ) -> Self {
        Self {
            core,
            context,
            tracer,
            slots: Vec::new(),
            trail: Vec::new(),
            input,
            data: None,
            replaced: Vec::new(),
            replaced_data: 0,
            mocks: Vec::new(),
            deferred: DeferredValues::default(),
            shadow: 0,
            caches: Caches::new(),
            groupings: Groupings::default(),
            candidates: Vec::new(),
            lookup: Lookup::new(),
            errors: Vec::new(),
            calls: BTreeMap::new(),
            survey: None,
            reading: None,
            guessing: false,
            unknown: false,
            skipping: Vec::new(),
            unknown_rules: HashSet::new(),
            own_input: true,
            closed_input: true,
            lacks: Cell::new(false),
            found_field: Cell::new(false),
            suspects: Cell::new(Marks::NONE),
            closed: ClosedObjects::new(InputKind::UNKNOWN, None),
            misordered: RefCell::default(),
            decoded: RefCell::default(),
            steps: 0,
            alarm: POLL,
            fuse: u64::MAX,
            depth: 0,
            queries: 0,
        }
    }

    /// Counts a step; every [`POLL`] steps, checks with the host whether to go on.
    #[inline]
    pub(super) fn step(&mut self) -> Flow {
        self.steps += 1;
        if self.steps >= self.alarm { self.ring() } else { Ok(()) }
    }

    /// The error of an evaluation that ended within a value: the host's reason.
    pub(super) fn ended(&self) -> Flow {
        self.context.poll()?;
        Err(EvalError::new(ErrorCode::Cancel, None, "the evaluation was ended").into())
    }

    #[cold]
    fn ring(&mut self) -> Flow {
        if self.steps >= self.fuse {
            let message = "the attempt takes too many steps";
            return Err(EvalError::new(ErrorCode::Limit, None, message).into());
        }
        let polls = self.steps.is_multiple_of(POLL);
        self.set_fuse(self.fuse);
        if polls { Ok(self.context.poll()?) } else { Ok(()) }
    }

    /// Sets the number of steps at which an attempt is given up, and returns the former one.
    pub(super) fn set_fuse(&mut self, fuse: u64) -> u64 {
        let next_poll = (self.steps / POLL + 1) * POLL;
        self.alarm = next_poll.min(fuse);
        std::mem::replace(&mut self.fuse, fuse)
    }

    /// Returns the number of steps at which the attempt that is being made is given up.
    pub(super) fn fuse(&self) -> u64 {
        self.fuse
    }

    /// Runs a closure one level deeper, with enough stack for it.
    #[inline]
    pub(super) fn deeper<R>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<R, Stop>,
    ) -> Result<R, Stop> {
        if self.depth >= self.context.depth() {
            let message = "bodies, rules and functions are entered too deeply within one another";
            return Err(EvalError::new(ErrorCode::Limit, None, message).into());
        }
        self.depth += 1;
        let result = stacker::maybe_grow(96 * 1024, 2 * 1024 * 1024, || work(self));
        self.depth -= 1;
        result
    }

    /// Adds a frame of unbound slots and returns its first slot.
    pub(super) fn enter_frame(&mut self, scope: &Scope) -> u32 {
        let base = self.slots.len();
        self.slots.resize(base + (scope.slots + self.shadow) as usize, Bound::Free);
        if self.shadow > 0 {
            for deferred in self.deferred.iter() {
                deferred.give(|slot, value| {
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

    /// Unbinds the slots that were bound since the trail had this length.
    #[inline]
    pub(super) fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(slot) = self.trail.pop() else { return };
            if let Some(bound) = self.slots.get_mut(slot as usize) {
                *bound = Bound::Free;
            }
        }
    }

    /// Evaluates `flow` and undoes its bindings.
    #[inline]
    pub(super) fn attempt(&mut self, flow: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let mark = self.trail.len();
        let flow = flow(self);
        self.undo(mark);
        flow
    }

    /// Unifies a term with a value, continues if they can be equal, and undoes all bindings.
    #[inline]
    pub(super) fn if_equal(
        &mut self,
        (term, base): (&'p Term, u32),
        value: &Value,
        next: impl FnOnce(&mut Self) -> Flow,
    ) -> Flow {
        self.attempt(
            |machine| {
                if machine.unify_value(term, base, value) { next(machine) } else { Ok(()) }
            },
        )
    }

    /// Returns a run of a body that is nested in another and shares its frame.
    pub(super) fn nested_run(&mut self, run: &Run<'p>, body: &'p Body, once: bool) -> Run<'p> {
        self.queries += 1;
        Run { body, once, query: self.queries, parent: run.query, watched: None, ..run.clone() }
    }

    /// Returns a run of a query's body.
    pub(super) fn query_run(&mut self, body: &'p Body, scope: &'p Scope, base: u32) -> Run<'p> {
        self.queries += 1;
        let (comprehensions, watched) = (ComprehensionCache::default(), None);
        let (once, query) = (false, self.queries);
        Run { body, base, once, scope, query, parent: 0, comprehensions, watched }
    }

    /// Returns a run of a body that has a frame of its own.
    pub(super) fn framed_run(
        &mut self,
        from: &Run<'p>,
        (body, scope, base): (&'p Body, &'p Scope, u32),
        once: bool,
    ) -> Run<'p> {
        self.queries += 1;
        let (comprehensions, watched) = (from.comprehensions.clone(), None);
        let (query, parent) = (self.queries, from.query);
        Run { body, base, once, scope, query, parent, comprehensions, watched }
    }

    /// Runs a body from an expression on and calls `next` for each of its solutions.
    pub(super) fn run(&mut self, run: &Run<'p>, index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        let mark = self.trail.len();
        let flow = if self.tracer.is_some() {
            self.run_traced(run, index, next)
        } else if self.survey.is_some() {
            self.run_surveyed(run, index, next)
        } else if self.reading.is_some() {
            self.run_reading(run, index, next)
        } else if self.guessing {
            self.run_guessing(run, index, next)
        } else {
            self.run_from(run, index, next)
        };
        self.undo(mark);
        flow
    }

    fn run_from(&mut self, run: &Run<'p>, mut index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        loop {
            let Some(op) = run.body.get(index) else { return self.solved(run, next) };
            let mark = self.trail.len();
            let step = self.step().and_then(|()| self.evaluate_single(run, op));
            let step = step.map_err(|stop| stop.at(op.span))?;
            if self.unknown {
                self.undo(mark);
                return self.skip(run, index, op, next);
            }
            match step {
                SingleResult::Yes => index += 1,
                SingleResult::No => {
                    self.suspect(op.marks);
                    return Ok(());
                }
                SingleResult::Many => {
                    self.spared(op.operand_of > 0);
                    let (mut defined, mut later) = (false, false);
                    let flow = self.deeper(|machine| {
                        let after = run.body.get(index + 1..).unwrap_or_default();
                        machine.evaluate_many(run, op, after, &mut |machine| {
                            defined = true;
                            let own = machine.set_unknown(false);
                            let flow = machine.run(run, index + 1, next);
                            later |= machine.set_unknown(own);
                            flow
                        })
                    });
                    if !defined {
                        self.suspect(op.marks);
                    }
                    flow.map_err(|stop| stop.at(op.span))?;
                    if self.set_unknown(later) {
                        self.skip(run, index, op, next)?;
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Continues after the end of a body, and unwinds if one answer was enough.
    #[inline]
    pub(super) fn solved(&mut self, run: &Run<'p>, next: Next<'_, 'p, 'r>) -> Flow {
        match next(self) {
            Ok(()) if run.once => Err(Stop::Exit(0)),
            Err(Stop::Exit(ends)) => Err(Stop::Exit(ends + 1)),
            flow => flow,
        }
    }

    fn run_traced(&mut self, run: &Run<'p>, index: usize, next: Next<'_, 'p, 'r>) -> Flow {
        let Some(op) = run.body.get(index) else { return self.solved(run, next) };
        self.step().map_err(|stop| stop.at(op.span))?;
        self.trace_op(TraceOp::Eval, run, op);
        let mut defined = false;
        let flow = self.deeper(|machine| {
            machine.each_answer(run, op, &mut |machine| {
                defined = true;
                let flow = machine.run(run, index + 1, next);
                machine.trace_op(TraceOp::Redo, run, op);
                flow
            })
        });
        flow.map_err(|stop| stop.at(op.span))?;
        self.spared(op.operand_of > 0);
        if !defined {
            self.suspect(op.marks);
            self.trace_op(TraceOp::Fail, run, op);
        }
        Ok(())
    }

    /// Evaluates any expression and calls `next` for each of its answers.
    pub(super) fn each_answer(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        self.attempt(|machine| match machine.evaluate_single(run, op)? {
            SingleResult::Yes => next(machine),
            SingleResult::No => Ok(()),
            SingleResult::Many => machine.evaluate_many(run, op, &[], next),
        })
    }

    /// Evaluates an expression that has at most one answer. Returns [`SingleResult::Many`], before
    /// any observable effect, if it may have several.
    fn evaluate_single(&mut self, run: &Run<'p>, op: &'p Op) -> Result<SingleResult, Stop> {
        if self.survey.is_some() {
            self.judge(run, op)?;
        }
        match &op.kind {
            OpKind::Unify(sides) => self.unify_single(run, &sides.0, &sides.1),
            OpKind::Test(side) => self.test_single(run, side),
            OpKind::Call(call) => self.call_single(run, op, call),
            OpKind::Every(every) => Ok(self.every(run, op, every)?.into()),
            OpKind::Not(body) => Ok((!self.holds(run, body, false, op.span)?).into()),
            OpKind::Negated(inner) => {
                let holds = self.holds(run, std::slice::from_ref(&**inner), false, inner.span)?;
                if !holds && op.marks.intersects(Marks::EQUALITY) && self.finds_nothing(run, inner)
                {
                    self.suspect(Marks::EQUALITY);
                }
                Ok((!holds).into())
            }
            OpKind::And(left, right) => {
                self.spared(op.reaches);
                let once = !self.spares_nothing(op.reaches);
                let holds = self.holds(run, left, once, op.span)?
                    && self.holds(run, right, once, op.span)?;
                Ok(holds.into())
            }
            OpKind::Or(left, right) => {
                self.spared(op.reaches);
                let once = !self.spares_nothing(op.reaches);
                let holds = self.holds(run, left, once, op.span)?
                    || !self.ends_at_unknown() && self.holds(run, right, once, op.span)?;
                Ok(holds.into())
            }
            OpKind::With(with, inner) => {
                if !inner.single || self.tracer.is_some() {
                    return Ok(SingleResult::Many);
                }
                let replacement = self.replacement(run, with, op.span)?;
                let before = self.enter_with(run, &replacement);
                let step = self.evaluate_single(run, inner);
                self.leave_with(run, before);
                step
            }
        }
    }

    /// Evaluates an expression that may have several answers; `after` are those that follow.
    fn evaluate_many(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        after: &'p [Op],
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match &op.kind {
            OpKind::Unify(sides) => self.unify_many(run, (&sides.0, &sides.1), after, next),
            OpKind::Test(side) => self.test_many(run, side, next),
            OpKind::Call(call) => self.call_many(run, op, call, next),
            OpKind::With(with, inner) => {
                let replacement = self.replacement(run, with, op.span)?;
                let mut before = Some(self.enter_with(run, &replacement));
                let flow = self.each_answer(run, inner, &mut |machine| {
                    // The modifiers don't apply to the rest of the body.
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

    /// Returns `true` if a nested body has a solution. With `once`, it stops at the first; `not`
    /// evaluates all solutions, as in OPA.
    fn holds(
        &mut self,
        run: &Run<'p>,
        body: &'p [Op],
        once: bool,
        span: Span,
    ) -> Result<bool, Stop> {
        self.queries += 1;
        let (query, parent) = (self.queries, run.query);
        let within = Run { body, once, query, parent, watched: None, ..run.clone() };
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

    /// Traces an event about an expression.
    pub(super) fn trace_op(&mut self, event: TraceOp, run: &Run<'p>, op: &'p Op) {
        if let Some(tracer) = self.tracer {
            let locals = TraceLocals { machine: self, run, op: Some(op) };
            tracer.event(&TraceEvent {
                op: event,
                node: TraceNode::Expression,
                span: op.span,
                query: run.query,
                parent: run.parent,
                message: "",
                locals: &locals,
            });
        }
    }

    pub(super) fn trace(&mut self, event: TraceOp, node: TraceNode, run: &Run<'p>, span: Span) {
        if let Some(tracer) = self.tracer {
            let locals = TraceLocals { machine: self, run, op: None };
            tracer.event(&TraceEvent {
                op: event,
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
            let locals = TraceLocals { machine: self, run, op: None };
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

/// The state of a loop over alternatives. An early exit that is meant for a caller further out, but
/// not for the rule that the loop is in, is held back until the loop has ended.
pub(super) struct Alternatives {
    once: bool,
    exit: Option<u32>,
}

impl Alternatives {
    pub(super) fn new(run: &Run<'_>) -> Self {
        Self { once: run.once, exit: None }
    }

    #[inline]
    pub(super) fn record(&mut self, flow: Flow) -> Flow {
        match flow {
            Err(Stop::Exit(ends)) if !self.once => {
                self.exit.get_or_insert(ends);
                Ok(())
            }
            flow => flow,
        }
    }

    pub(super) fn finish(self) -> Flow {
        self.exit.map_or(Ok(()), |ends| Err(Stop::Exit(ends)))
    }
}

/// Passes an unwind through the boundary of a rule: an early exit meant for this rule ends here.
#[inline]
pub(super) fn within_rule(flow: Flow) -> Flow {
    match flow {
        Err(Stop::Exit(0)) => Ok(()),
        Err(Stop::Exit(ends)) => Err(Stop::Exit(ends - 1)),
        flow => flow,
    }
}

/// The variables and operands that a tracer sees.
struct TraceLocals<'m, 'p, 'r> {
    machine: &'m Machine<'p, 'r>,
    run: &'m Run<'p>,
    op: Option<&'p Op>,
}

impl TraceLocals<'_, '_, '_> {
    fn operand(&self, term: &Term) -> Option<Value> {
        self.machine.owned_value(term, self.run.base)
    }
}

impl Locals for TraceLocals<'_, '_, '_> {
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
            OpKind::Test(tested) => vec![side(tested)],
            OpKind::Call(call) => {
                let terms = call.args.iter().chain(&call.output);
                terms.map(|term| (op.span, self.operand(term))).collect()
            }
            OpKind::Every(every) => vec![(op.span, self.operand(&every.domain))],
            _ => Vec::new(),
        }
    }
}
