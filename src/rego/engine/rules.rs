//! Rules: complete ones and functions; which way a reference to a rule goes.
//!
//! As in OPA, what comes next runs in the middle: with the first value that a definition gives,
//! before the definitions after it are looked at, which must then give the same.

use super::cache::Kept;
use super::machine::{Flow, Machine, Next, NextWith, Run, Stop, within_rule};
use super::reference::{Other, is_false};
use super::{ErrorCode, EvalError, TraceNode, TraceOp};
use crate::rego::core::{Definition, Rule, RuleId, RuleSet, SetId, Term};
use crate::rego::value::Value;

/// The definitions that may hold.
#[derive(Clone, Copy)]
pub(super) struct Candidates<'p> {
    pub(super) definitions: &'p [Definition],
    pub(super) default: Option<RuleId>,
    /// The first that holds decides.
    pub(super) early: bool,
}

impl Candidates<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.definitions.is_empty() && self.default.is_none()
    }
}

/// A value found, and the operands that are left to look up in it.
pub(super) type Rest<'p> = Option<(Value, &'p [Term])>;

impl<'p, 'r> Machine<'p, 'r> {
    /// The definitions of a set that may hold.
    pub(super) fn candidates(&mut self, set: &'p RuleSet, _args: Option<&[Value]>) -> Candidates<'p> {
        Candidates { definitions: &set.definitions, default: set.default, early: set.early }
    }

    /// A reference to rules, with the operands after their path.
    pub(super) fn rules(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        path: &'p [Term],
        other: Other<'_, 'p>,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(()) };
        if set.multi || !set.ground {
            return match self.partial(run, id, set, path)? {
                Some((value, rest)) => self.walk(run, value, rest, other, next),
                None => Ok(()),
            };
        }
        // The whole document of a package has no functions.
        if set.arity > 0 {
            return Ok(());
        }
        match self.caches.document(id) {
            Some(Kept::Undefined) => Ok(()),
            Some(Kept::Value(value)) => {
                let value = value.clone();
                self.walk(run, value, path, other, next)
            }
            None => self.complete(run, id, set, &mut |machine, value| {
                machine.walk(run, value, path, other, &mut *next)
            }),
        }
    }

    /// The same where it takes no alternatives; nothing where it may.
    pub(super) fn rules_single(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        path: &'p [Term],
    ) -> Result<Option<Rest<'p>>, Stop> {
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
            Some(Kept::Undefined) => return Ok(Some(None)),
            Some(Kept::Value(value)) => return Ok(Some(Some((value.clone(), path)))),
            None => {}
        }
        if !set.single || (set.definitions.len() > 1 && !set.early) || self.tracer.is_some() {
            return Ok(None);
        }
        let mut found = None;
        self.complete(run, id, set, &mut |_, value| {
            found = Some(value);
            Ok(())
        })?;
        Ok(Some(found.map(|value| (value, path))))
    }

    /// Evaluates a complete rule.
    fn complete(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        set: &'p RuleSet,
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let candidates = self.candidates(set, None);
        if candidates.is_empty() {
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
        let mut first: Option<Value> = None;
        let mut exit = None;
        for definition in candidates.definitions {
            let rules = std::iter::once(definition.rule).chain(definition.otherwise.iter().copied());
            for rule_id in rules {
                let Some(rule) = self.core.rule(rule_id) else { continue };
                let (value, flow) =
                    self.complete_rule(run, id, rule, first.clone(), candidates.early, next);
                match flow {
                    Ok(()) => {}
                    Err(Stop::Exit(ends)) if !candidates.early => {
                        exit.get_or_insert(ends);
                    }
                    Err(stop) => return Err(self.explain_conflict(run, stop, rule, candidates, &mut Vec::new())),
                }
                if value.is_some() {
                    first = value;
                    break;
                }
            }
        }
        if first.is_none() {
            if let Some(rule) = candidates.default.and_then(|rule| self.core.rule(rule)) {
                return self.complete_rule(run, id, rule, None, candidates.early, next).1;
            }
            self.caches.keep_document(id, Kept::Undefined);
        }
        exit.map_or(Ok(()), |ends| Err(Stop::Exit(ends)))
    }

    /// Evaluates a definition; gives the last value that it had.
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
        let within = self.apart(run.query, (&rule.body, &rule.scope, base), once, rule.span);
        let mut result = None;
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let flow = self.run(&within, 0, &mut |machine| {
            machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
            let value = machine.head_value(rule, base)?;
            result = Some(value.clone());
            if let Some(first) = &first {
                if *first != value {
                    return Err(machine.conflict(rule, "rule").into());
                }
                machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
                return Ok(());
            }
            first = Some(value.clone());
            machine.caches.keep_document(id, Kept::Value(value.clone()));
            next(machine, value)?;
            machine.trace(TraceOp::Redo, TraceNode::Rule, &within, rule.span);
            Ok(())
        });
        self.leave_frame(base);
        (result, flow)
    }

    /// The value that a definition's head has when its body holds.
    fn head_value(&self, rule: &'p Rule, base: u32) -> Result<Value, Stop> {
        let value = rule.value.as_ref().and_then(|value| self.value(value, base));
        value.map(std::borrow::Cow::into_owned).ok_or_else(|| {
            let message = "a variable of the head has no value";
            EvalError::new(ErrorCode::Internal, Some(rule.head_span), message).into()
        })
    }

    /// Two definitions, two values.
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

    /// Calls a function. `output` is what its value is made equal to before its body runs, where
    /// that isn't a free variable; `captured` says whether the value is taken at all.
    pub(super) fn function(
        &mut self,
        run: &Run<'p>,
        id: SetId,
        args: Vec<Value>,
        (output, captured): (Option<&'p Term>, bool),
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let core = self.core;
        let Some(set) = core.set(id) else { return Ok(()) };
        let candidates = self.candidates(set, Some(&args));
        if candidates.is_empty() {
            return Ok(());
        }
        if let Some(value) = self.caches.function(id, &args).cloned() {
            if !captured && is_false(&value) {
                return Ok(());
            }
            return next(self, value);
        }
        let call = Calling { run, id, args: &args, output, captured };
        let flow = self.deeper(|machine| machine.function_within(&call, candidates, next));
        within_rule(flow)
    }

    fn function_within(
        &mut self,
        call: &Calling<'_, 'p>,
        candidates: Candidates<'p>,
        next: NextWith<'_, 'p, 'r>,
    ) -> Flow {
        let mut first: Option<Value> = None;
        let mut exit = None;
        for definition in candidates.definitions {
            let rules = std::iter::once(definition.rule).chain(definition.otherwise.iter().copied());
            for rule_id in rules {
                let Some(rule) = self.core.rule(rule_id) else { continue };
                let (value, flow) =
                    self.function_rule(call, rule, first.clone(), candidates.early, next);
                match flow {
                    Ok(()) => {}
                    Err(Stop::Exit(ends)) if !candidates.early => {
                        exit.get_or_insert(ends);
                    }
                    Err(stop) => {
                        let mut args = call.args.to_vec();
                        return Err(self.explain_conflict(call.run, stop, rule, candidates, &mut args));
                    }
                }
                if value.is_some() {
                    first = value;
                    break;
                }
            }
        }
        if first.is_none()
            && let Some(rule) = candidates.default.and_then(|rule| self.core.rule(rule))
        {
            return self.function_rule(call, rule, None, candidates.early, next).1;
        }
        exit.map_or(Ok(()), |ends| Err(Stop::Exit(ends)))
    }

    fn function_rule(
        &mut self,
        call: &Calling<'_, 'p>,
        rule: &'p Rule,
        mut first: Option<Value>,
        once: bool,
        next: NextWith<'_, 'p, 'r>,
    ) -> (Option<Value>, Flow) {
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within =
            self.apart(call.run.query, (&rule.body, &rule.scope, base), once, rule.span);
        self.trace(TraceOp::Enter, TraceNode::Rule, &within, rule.span);
        let mut result = None;
        let flow = if self.bind_args(call, rule, base) {
            self.run(&within, 0, &mut |machine| {
                machine.trace(TraceOp::Exit, TraceNode::Rule, &within, rule.span);
                let value = machine.head_value(rule, base)?;
                result = Some(value.clone());
                machine.caches.keep_function(call.id, call.args, value.clone());
                let dropped = !call.captured && is_false(&value);
                if let Some(first) = &first {
                    if *first != value {
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
                next(machine, value)?;
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

    /// Binds a function's arguments, and what its value must be.
    fn bind_args(&mut self, call: &Calling<'_, 'p>, rule: &'p Rule, base: u32) -> bool {
        let bound =
            rule.args.iter().zip(call.args).all(|(arg, value)| self.unify_value(arg, base, value));
        bound
            && match (call.output, &rule.value) {
                (Some(output), Some(value)) => self.unify(output, call.run.base, value, base),
                _ => true,
            }
    }

    /// A conflict of a rule with a list of all the values that it has; other errors as they are.
    fn explain_conflict(
        &mut self,
        run: &Run<'p>,
        stop: Stop,
        rule: &Rule,
        candidates: Candidates<'p>,
        args: &mut Vec<Value>,
    ) -> Stop {
        let Stop::Fatal(mut error) = stop else { return stop };
        if error.code != ErrorCode::Conflict || error.span != Some(rule.span) {
            return Stop::Fatal(error);
        }
        // What fails while the values are listed isn't what ended the evaluation.
        let errors = self.errors.len();
        let mut values: Vec<(&'p Rule, Value)> = Vec::new();
        let mut more = false;
        'definitions: for definition in candidates.definitions {
            let rules = std::iter::once(definition.rule).chain(definition.otherwise.iter().copied());
            for id in rules {
                let Some(rule) = self.core.rule(id) else { continue };
                let (produced, flow) =
                    self.list_values(run, rule, (candidates.early, args), &mut values, &mut more);
                if flow.is_err() {
                    break 'definitions;
                }
                if produced {
                    break;
                }
            }
        }
        self.errors.truncate(errors);
        if values.len() >= 2 {
            values.sort_by_key(|(rule, _)| rule.span);
            let list = values.into_iter().map(|(rule, value)| (rule.span, short(&value))).collect();
            error.conflicts = list;
            error.more_conflicts = more;
        }
        Stop::Fatal(error)
    }

    /// The values of a definition that differ from the first; one of each definition.
    fn list_values(
        &mut self,
        run: &Run<'p>,
        rule: &'p Rule,
        (once, args): (bool, &[Value]),
        values: &mut Vec<(&'p Rule, Value)>,
        more: &mut bool,
    ) -> (bool, Flow) {
        const MOST: usize = 10;
        let base = self.enter_frame(&rule.scope);
        let mark = self.trail.len();
        let within = self.apart(run.query, (&rule.body, &rule.scope, base), once, rule.span);
        let mut produced = false;
        let mut found = false;
        let bound = rule.args.iter().zip(args).all(|(arg, value)| self.unify_value(arg, base, value));
        let flow = if bound {
            self.run(&within, 0, &mut |machine| {
                produced = true;
                let value = machine.head_value(rule, base)?;
                if values.first().is_some_and(|(_, first)| *first == value) {
                    return Ok(());
                }
                if values.len() == MOST {
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
        // One conflicting value of a definition is enough to point at it.
        (produced, if found { Ok(()) } else { flow })
    }
}

/// A call of a function.
struct Calling<'c, 'p> {
    run: &'c Run<'p>,
    id: SetId,
    args: &'c [Value],
    output: Option<&'p Term>,
    captured: bool,
}

/// A value as a list of conflicts shows it.
fn short(value: &Value) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
