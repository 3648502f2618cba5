//! Complete rules and functions, and the dispatch of references to all kinds of rules.
//!
//! As in OPA, the continuation runs in the middle: with the first value that a definition gives,
//! before the definitions after it are evaluated, which must then give the same value.

use std::borrow::Cow;

use super::cache::CachedRule;
use super::machine::{Flow, Machine, Next, NextWith, Run, Stop, within_rule};
use super::results::{OtherSide, RuleValue, SingleValue, is_false};
use super::{ErrorCode, EvalError, TraceNode, TraceOp};
use crate::core::{Candidate, Marks, Rule, RuleId, RuleSet, SetId, Term};
use crate::index::{Reference, Resolver, Root};
use crate::syntax::tree::Span;
use crate::value::Value;

/// The definitions of a rule that may hold.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'p> {
    list: CandidateList<'p>,
    default: Option<RuleId>,
    /// `true` if the first definition that holds decides.
    early: bool,
}

#[derive(Clone, Copy)]
enum CandidateList<'p> {
    /// All definitions of a set.
    All(&'p [Candidate]),
    /// Those found by the set's index: a range of [`Machine::candidates`].
    Found(usize, usize),
}

fn count(candidates: Candidates<'_>) -> usize {
    match candidates.list {
        CandidateList::All(all) => all.len(),
        CandidateList::Found(start, end) => end - start,
    }
}

/// The approximate size, in bytes, of a cache entry for a function's value.
const KEPT: u64 = 128;

/// A value, and the operands that remain to be looked up in it; `None` if it's undefined.
pub(super) type ValueAndRest<'p> = Option<(Value, &'p [Term])>;

impl<'p, 'r> Machine<'p, 'r> {
    /// Returns the definitions of a set that may hold, for a function with these arguments. The
    /// caller must release them with [`Self::drop_candidates`].
    pub(super) fn find_candidates(&mut self, set: &'p RuleSet, args: &[Value]) -> Candidates<'p> {
        let whole = self.spares_nothing(set.reaches);
        let reads_all = self.reading.is_some() && !set.marks.is_none();
        let all = whole || reads_all || self.tracer.is_some_and(super::Tracer::wants_all);
        let may_exit = !whole && self.tracer.is_none_or(super::Tracer::exits_early);
        let Some(index) = set.index.as_ref().filter(|_| !all) else {
            return Candidates {
                list: CandidateList::All(&set.all),
                default: set.default,
                early: set.early && may_exit,
            };
        };
        let start = self.candidates.len();
        let mut lookup = std::mem::take(&mut self.lookup);
        let mut found = std::mem::take(&mut self.candidates);
        let Ok((candidates, early)) =
            index.lookup(&mut lookup, &mut IndexResolver { machine: self, args, set });
        found.extend(candidates.iter().filter_map(|candidate| {
            let rule = *set.members.get(candidate.rule)?.get(candidate.branch)?;
            Some(Candidate { rule, first: candidate.first })
        }));
        self.candidates = found;
        self.lookup = lookup;
        self.spared(set.reaches && self.candidates.len() - start < set.all.len());
        if let Some(tracer) = self.tracer {
            let kept = self.candidates.get(start..).unwrap_or_default();
            let others = set.members.iter().flatten();
            let left_out =
                others.filter(|rule| !kept.iter().any(|candidate| candidate.rule == **rule));
            for rule in left_out.filter_map(|rule| self.core.rule(*rule)) {
                tracer.left_out(rule.span);
            }
        }
        let list = CandidateList::Found(start, self.candidates.len());
        Candidates { list, default: set.default, early: early && may_exit }
    }

    pub(super) fn drop_candidates(&mut self, candidates: Candidates<'p>) {
        if let CandidateList::Found(start, _) = candidates.list {
            self.candidates.truncate(start);
        }
    }

    /// Returns a candidate by its index, with `true` if it's the first of its rule. Those that
    /// follow are its `else` branches.
    pub(super) fn candidate(
        &self,
        candidates: Candidates<'p>,
        place: usize,
    ) -> Option<(&'p Rule, bool)> {
        let candidate = match candidates.list {
            CandidateList::All(all) => *all.get(place)?,
            CandidateList::Found(start, end) => *self.candidates.get(start..end)?.get(place)?,
        };
        Some((self.core.rule(candidate.rule)?, candidate.first))
    }

    /// Returns `true` if there is nothing to evaluate.
    pub(super) fn has_none(candidates: Candidates<'p>) -> bool {
        count(candidates) == 0 && candidates.default.is_none()
    }

    /// Returns `true` if nothing is left to evaluate once one of them has held.
    fn ends_at_first(&self, candidates: Candidates<'p>) -> bool {
        candidates.early || {
            let rest = (1..count(candidates)).filter_map(|place| self.candidate(candidates, place));
            rest.filter(|(_, first)| *first).count() == 0
        }
    }

    /// Evaluates a reference to rules, with the operands after their path.
    pub(super) fn rules(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        path: &'p [Term],
        other: OtherSide<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(()) };
        if set.multi || !set.ground {
            if path.first().is_some_and(|first| self.is_free(first, run.base)) {
                run.iterates();
            }
            return match self.partial(run, id, set, path)? {
                Some((value, rest)) => self.walk(run, value, rest, other, next),
                None => Ok(()),
            };
        }
        // Functions aren't part of a package's document.
        if set.arity > 0 {
            return Ok(());
        }
        match self.caches.document(id) {
            Some(CachedRule::Undefined) => {
                self.known_undefined(id);
                Ok(())
            }
            Some(CachedRule::Value(value)) => {
                let value = value.clone();
                self.walk(run, value, path, other, next)
            }
            None => {
                let candidates = self.find_candidates(set, &[]);
                let flow = self.complete(run, id, candidates, &mut |machine, given| match given {
                    RuleValue::Value(value) => machine.walk(run, value, path, other, &mut *next),
                    RuleValue::Term(term, base) => {
                        machine.walk_term(run, (term, base), path, other, &mut *next)
                    }
                });
                self.drop_candidates(candidates);
                flow
            }
        }
    }

    /// Evaluates a reference to rules if it has at most one answer; returns `None` if it may have
    /// several.
    pub(super) fn rules_single(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        path: &'p [Term],
    ) -> Result<Option<ValueAndRest<'p>>, Stop> {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(Some(None)) };
        if set.multi || !set.ground {
            if path.iter().any(|term| self.value(term, run.base).is_none()) {
                return Ok(None);
            }
            return Ok(Some(self.partial(run, id, set, path)?));
        }
        if set.arity > 0 {
            return Ok(Some(None));
        }
        match self.caches.document(id) {
            Some(CachedRule::Undefined) => {
                self.known_undefined(id);
                return Ok(Some(None));
            }
            Some(CachedRule::Value(value)) => return Ok(Some(Some((value.clone(), path)))),
            None => {}
        }
        if !set.single || self.tracer.is_some() {
            return Ok(None);
        }
        let candidates = self.find_candidates(set, &[]);
        if !self.ends_at_first(candidates) {
            self.drop_candidates(candidates);
            return Ok(None);
        }
        let mut found = None;
        let flow = self.complete(run, id, candidates, &mut |machine, given| {
            found = machine.plain_value(given);
            Ok(())
        });
        self.drop_candidates(candidates);
        flow?;
        Ok(Some(found.map(|value| (value, path))))
    }

    /// Evaluates a complete rule.
    fn complete(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        candidates: Candidates<'p>,
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        if Self::has_none(candidates) {
            return Ok(());
        }
        if self.guessing && self.unknown_rules.contains(&id) {
            self.unknown = true;
            return Ok(());
        }
        let flow = self.deeper(|machine| machine.complete_within(run, id, candidates, next));
        within_rule(flow)
    }

    fn complete_within(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        candidates: Candidates<'p>,
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let before = self.set_unknown(false);
        let (found, flow) = self.definitions(run, id, candidates, &[], |machine, rule, first| {
            machine.complete_rule(run, id, rule, first, candidates.early, next)
        });
        let unknown = self.unknown;
        self.unknown |= before;
        if unknown && self.guessing {
            self.unknown_rules.insert(id);
        }
        if !found {
            self.caches.keep_document(id, CachedRule::Undefined);
            self.undefined_rule(id);
        }
        flow
    }

    /// Evaluates the definitions of a rule or of a function, and its default if none holds. Returns
    /// `false` if it turned out to be undefined.
    fn definitions(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        candidates: Candidates<'p>,
        args: &[Value],
        mut evaluate: impl FnMut(&mut Self, &'p Rule, Option<Value>) -> (Option<Value>, Flow),
    ) -> (bool, Flow) {
        let mut first: Option<Value> = None;
        let mut exit = None;
        let mut held = false;
        let mut unknown = false;
        for place in 0.. {
            let Some((rule, is_first)) = self.candidate(candidates, place) else { break };
            held = held && !is_first;
            if held {
                continue;
            }
            let before = self.set_unknown(false);
            let (value, flow) = evaluate(self, rule, first.clone());
            // Whether its `else` branches are reached isn't known either.
            held = self.set_unknown(before) && value.is_none();
            unknown |= held;
            self.spared_by_exit(id, (rule, place), candidates, &flow);
            match flow {
                Ok(()) => {}
                Err(Stop::Exit(ends)) if !candidates.early => {
                    exit.get_or_insert(ends);
                }
                Err(stop) => {
                    self.set_unknown(before || unknown);
                    return (true, Err(self.explain_conflict(run, stop, rule, candidates, args)));
                }
            }
            if value.is_some() {
                first = value;
                held = true;
            }
        }
        if unknown {
            self.set_unknown(true);
        } else if first.is_none()
            && let Some(rule) = candidates.default.and_then(|rule| self.core.rule(rule))
        {
            return (true, evaluate(self, rule, None).1);
        }
        (unknown || first.is_some(), exit.map_or(Ok(()), |ends| Err(Stop::Exit(ends))))
    }

    /// Notes an early exit that spares something from which a call site is reached.
    fn spared_by_exit(
        &self,
        id: SetId,
        (rule, place): (&Rule, usize),
        candidates: Candidates<'p>,
        flow: &Flow,
    ) {
        if matches!(flow, Err(Stop::Exit(_)))
            && candidates.early
            && (!rule.single || place + 1 < count(candidates))
        {
            self.spared(self.core.set(id).is_some_and(|set| set.reaches));
        }
    }

    /// Evaluates a definition and returns the last value that it had.
    fn complete_rule(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        rule: &'p Rule,
        mut first: Option<Value>,
        once: bool,
        next: NextWith<'_, 'p, 'r>,
    ) -> (Option<Value>, Flow) {
        let base = self.enter_frame(&rule.scope);
        let within = self.framed_run(run, (&rule.body, &rule.scope, base), once);
        let mut result = None;
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let flow = self.run(&within, 0, &mut |machine| {
            machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
            let value = machine.head_value(rule, base)?;
            result = Some(value.clone());
            if let Some(first) = &first {
                if *first != value && machine.reports_conflicts() {
                    return Err(machine.conflict(rule, "rule").into());
                }
                machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                return Ok(());
            }
            first = Some(value.clone());
            machine.caches.keep_document(id, CachedRule::Value(value.clone()));
            let given = machine.rule_value(rule, base, value);
            next(machine, given)?;
            machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
            Ok(())
        });
        self.leave_frame(base);
        (result, flow)
    }

    /// The value of a definition's head, once its body holds.
    fn head_value(&self, rule: &'p Rule, base: u32) -> Result<Value, Stop> {
        let value = rule.value.as_ref().and_then(|value| self.value(value, base));
        value.map_or_else(|| self.without_value(rule.head_span), |value| Ok(value.into_owned()))
    }

    /// Returns the result for a head with an unbound variable: in a reading, a message that couldn't be
    /// built; otherwise an error. OPA gives a term with a variable in this case.
    #[cold]
    pub(super) fn without_value(&self, head: Span) -> Result<Value, Stop> {
        if self.reading.is_some() {
            return Ok(Value::from("(the message has no value)"));
        }
        let message = "a variable of the head has no value";
        Err(EvalError::new(ErrorCode::Unsupported, Some(head), message).into())
    }

    /// The value of a definition for the continuation.
    fn rule_value(&self, rule: &'p Rule, base: u32, value: Value) -> RuleValue<'p> {
        match rule.value.as_ref().and_then(|term| self.irregular(term, base)) {
            Some((term, base)) => RuleValue::Term(term, base),
            None => RuleValue::Value(value),
        }
    }

    /// The value within a [`RuleValue`].
    fn plain_value(&self, given: RuleValue<'p>) -> Option<Value> {
        match given {
            RuleValue::Value(value) => Some(value),
            RuleValue::Term(term, base) => self.value(term, base).map(std::borrow::Cow::into_owned),
        }
    }

    /// The error for definitions that give different values.
    #[cold]
    fn conflict(&self, rule: &Rule, what: &str) -> EvalError {
        let path = self.core.set(rule.set).map_or("", |set| &*set.path);
        let message = if what == "function" {
            format!("function {path} produced conflicting values for the same inputs")
        } else {
            format!("rule {path} produced conflicting values")
        };
        EvalError::new(ErrorCode::Conflict, Some(rule.span), message)
    }

    /// Calls a function. `output` is the term that its value is unified with before its body runs,
    /// unless that is an unbound variable; `captured` is `true` if the value is used at all.
    pub(super) fn function(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        (args, terms): (Vec<Value>, ArgumentTerms<'p>),
        (output, captured): (Option<&'p Term>, bool),
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(()) };
        let candidates = self.find_candidates(set, &args);
        let flow = self.function_of(run, (id, candidates), (args, terms), (output, captured), next);
        self.drop_candidates(candidates);
        flow
    }

    /// Calls a function, if nothing is left to evaluate once it has a value; otherwise returns
    /// [`SingleValue::Many`].
    pub(super) fn function_single(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        args: Vec<Value>,
        captured: bool,
    ) -> Result<SingleValue, Stop> {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(SingleValue::Undefined) };
        let candidates = self.find_candidates(set, &args);
        if !self.ends_at_first(candidates) && self.caches.function(id, &args).is_none() {
            self.drop_candidates(candidates);
            return Ok(SingleValue::Many);
        }
        let mut found = None;
        let flow = self.function_of(
            run,
            (id, candidates),
            (args, ArgumentTerms::Plain),
            (None, captured),
            &mut |machine, given| {
                found = machine.plain_value(given);
                Ok(())
            },
        );
        self.drop_candidates(candidates);
        flow?;
        Ok(found.map_or(SingleValue::Undefined, SingleValue::Value))
    }

    fn function_of(
        &mut self,
        run: &Run<'p>,
        (id, candidates): (SetId, Candidates<'p>),
        (args, terms): (Vec<Value>, ArgumentTerms<'p>),
        (output, captured): (Option<&'p Term>, bool),
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        if Self::has_none(candidates) {
            return Ok(());
        }
        if !terms.have_unbound()
            && let Some(value) = self.caches.function(id, &args).cloned()
        {
            if !captured && is_false(&value) {
                return Ok(());
            }
            return next(self, RuleValue::Value(value));
        }
        let call = FunctionCall { run, id, args: &args, terms, output, captured };
        let flow = self.deeper(|machine| machine.function_within(&call, candidates, next));
        within_rule(flow)
    }

    fn function_within(
        &mut self,
        call: &FunctionCall<'_, 'p>,
        candidates: Candidates<'p>,
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let FunctionCall { run, id, args, .. } = *call;
        self.watch_heads(id, |machine| {
            let definitions =
                machine.definitions(run, id, candidates, args, |machine, rule, first| {
                    machine.function_rule(call, rule, first, candidates.early, next)
                });
            definitions.1
        })
    }

    fn function_rule(
        &mut self,
        call: &FunctionCall<'_, 'p>,
        rule: &'p Rule,
        mut first: Option<Value>,
        once: bool,
        next: NextWith<'_, 'p, 'r>,
    ) -> (Option<Value>, Flow) {
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within = self.framed_run(call.run, (&rule.body, &rule.scope, base), once);
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let mut result = None;
        let flow = if self.bind_args(call, rule, base) {
            self.run(&within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
                if call.terms.have_unbound()
                    && let Some(term) = &rule.value
                    && machine.owned_value(term, base).is_none()
                {
                    let outline = machine.outline(term, base);
                    result = Some(outline.clone());
                    return match first.replace(outline.clone()) {
                        Some(first) if first != outline && machine.reports_conflicts() => {
                            Err(machine.conflict(rule, "function").into())
                        }
                        Some(_) => Ok(()),
                        None => next(machine, RuleValue::Term(term, base)),
                    };
                }
                let value = machine.head_value(rule, base)?;
                result = Some(value.clone());
                if !call.terms.have_unbound() {
                    machine.context.spend(KEPT)?;
                    machine.caches.keep_function(call.id, call.args, value.clone());
                }
                let dropped = !call.captured && is_false(&value);
                if let Some(first) = &first {
                    if *first != value && machine.reports_conflicts() {
                        return Err(machine.conflict(rule, "function").into());
                    }
                    if !dropped {
                        machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                    }
                    return Ok(());
                }
                first = Some(value.clone());
                if dropped {
                    return Ok(());
                }
                let given = machine.rule_value(rule, base, value);
                next(machine, given)?;
                machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                Ok(())
            })
        } else {
            Ok(())
        };
        self.undo(mark);
        self.leave_frame(base);
        (result, flow)
    }

    /// Unifies a function's arguments, and its value with the expected output.
    fn bind_args(&mut self, call: &FunctionCall<'_, 'p>, rule: &'p Rule, base: u32) -> bool {
        let bound = match call.terms {
            ArgumentTerms::Plain => {
                let mut pairs = rule.args.iter().zip(call.args);
                pairs.all(|(arg, value)| self.unify_value(arg, base, value))
            }
            ArgumentTerms::Irregular(terms) | ArgumentTerms::Unbound(terms) => {
                let mut pairs = rule.args.iter().zip(terms);
                pairs.all(|(arg, term)| self.unify(term, call.run.base, arg, base))
            }
        };
        self.note_head((rule, base), (call.id, call.args), bound);
        bound
            && match (call.output, &rule.value) {
                (Some(output), Some(value)) => self.unify(output, call.run.base, value, base),
                _ => true,
            }
    }

    /// Adds to a rule's conflict the list of its values; returns other errors unchanged.
    fn explain_conflict(
        &mut self,
        run: &Run<'p>,
        stop: Stop,
        rule: &Rule,
        candidates: Candidates<'p>,
        args: &[Value],
    ) -> Stop {
        let Stop::Fatal(mut error) = stop else { return stop };
        if error.code != ErrorCode::Conflict || error.span != Some(rule.span) {
            return Stop::Fatal(error);
        }
        // Errors raised while the values are listed aren't the evaluation's.
        let errors = self.errors.len();
        let mut values: Vec<(&'p Rule, Value)> = Vec::new();
        let mut more = false;
        let mut held = false;
        for place in 0.. {
            let Some((rule, is_first)) = self.candidate(candidates, place) else { break };
            held = held && !is_first;
            if held {
                continue;
            }
            let (produced, flow) =
                self.list_values(run, rule, (candidates.early, args), &mut values, &mut more);
            if flow.is_err() && (candidates.early || !matches!(flow, Err(Stop::Exit(_)))) {
                break;
            }
            held = produced;
        }
        self.errors.truncate(errors);
        if values.len() >= 2 {
            values.sort_by_key(|(rule, _)| rule.span);
            let list =
                values.into_iter().map(|(rule, value)| (rule.span, shortened(&value))).collect();
            error.conflicts = list;
            error.more_conflicts = more;
        }
        Stop::Fatal(error)
    }

    /// Lists the values of a definition that differ from the first one, at most one for each
    /// definition.
    fn list_values(
        &mut self,
        run: &Run<'p>,
        rule: &'p Rule,
        (once, args): (bool, &[Value]),
        values: &mut Vec<(&'p Rule, Value)>,
        more: &mut bool,
    ) -> (bool, Flow) {
        const MAX: usize = 10;
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within = self.framed_run(run, (&rule.body, &rule.scope, base), once);
        let mut produced = false;
        let mut found = false;
        let bound =
            rule.args.iter().zip(args).all(|(arg, value)| self.unify_value(arg, base, value));
        let flow = if bound {
            self.run(&within, 0, &mut |machine| {
                produced = true;
                let value = machine.head_value(rule, base)?;
                if values.first().is_some_and(|(_, first)| *first == value) {
                    return Ok(());
                }
                if values.len() == MAX {
                    *more = true;
                    return Err(EvalError::new(ErrorCode::Internal, None, "").into());
                }
                values.push((rule, value));
                if values.len() == 1 {
                    return Ok(());
                }
                found = true;
                Err(EvalError::new(ErrorCode::Internal, None, "").into())
            })
        } else {
            Ok(())
        };
        self.undo(mark);
        self.leave_frame(base);
        // One conflicting value of a definition is enough to report it.
        (produced, if found { Ok(()) } else { flow })
    }
}

impl Machine<'_, '_> {
    /// Notes that the rule index may exclude a reference to a member that the input or the data can't have.
    fn suspect_spared(&self, reference: &Reference) {
        let document = match reference.root {
            Root::Input => self.input.as_ref(),
            Root::Data if self.data.is_some() => self.data.as_ref(),
            Root::Data | Root::Argument(_) => return,
        };
        if self.excludes_path(document, reference.path.iter().map(Cow::Borrowed)) {
            self.suspect(Marks::CLOSED);
        }
    }
}

/// Resolves the references that the rule index asks for.
struct IndexResolver<'k, 'p, 'r> {
    machine: &'k Machine<'p, 'r>,
    args: &'k [Value],
    /// The definitions: one may be left out for lack of what a marked expression reads.
    set: &'p RuleSet,
}

impl Resolver for IndexResolver<'_, '_, '_> {
    type Error = std::convert::Infallible;

    fn resolve(&mut self, reference: &Reference) -> Result<Option<Value>, Self::Error> {
        let path = &reference.path;
        let found = match reference.root {
            Root::Input => {
                let input = self.machine.input.as_ref();
                input.and_then(|input| path.iter().try_fold(input, Value::get)).cloned()
            }
            Root::Data => self.machine.resolve(path),
            Root::Argument(place) => self.args.get(place).cloned(),
        };
        match &found {
            None => {
                self.machine.suspect(self.set.marks);
                self.machine.suspect_spared(reference);
            }
            // The index may ask for an element of it.
            Some(value) if self.machine.closed.contains(value) => {
                self.machine.suspect(Marks::CLOSED);
            }
            Some(_) => return Ok(found),
        }
        if self.set.reaches {
            self.machine.suspect(Marks::LEFT_OUT);
        }
        Ok(found)
    }
}

/// The terms of a function call's arguments.
#[derive(Clone, Copy)]
pub(super) enum ArgumentTerms<'p> {
    /// The values are sufficient.
    Plain,
    /// At least one term has elements that aren't in the order of their values.
    Irregular(&'p [Term]),
    /// At least one has no value yet. The compile stages prevent that, except where a comprehension
    /// is evaluated for all values of its outer variables at once.
    Unbound(&'p [Term]),
}

impl ArgumentTerms<'_> {
    fn have_unbound(&self) -> bool {
        matches!(self, Self::Unbound(_))
    }
}

struct FunctionCall<'c, 'p> {
    run: &'c Run<'p>,
    id: SetId,
    args: &'c [Value],
    terms: ArgumentTerms<'p>,
    output: Option<&'p Term>,
    captured: bool,
}

/// Shortens a value for a list of conflicts.
fn shortened(value: &Value) -> String {
    const MAX: usize = 80;
    let text = value.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
