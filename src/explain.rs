//! Explanations of an evaluation: the statements at which rules failed, and the notes of `trace`.
//!
//! Owns the search: the query is evaluated again with the recorded answers, under a tracer. For
//! each definition that was reached and gave no value, the explanation is the last of the reached
//! statements that never succeeded. A definition that the rule index skipped was never entered:
//! there, the statement that the input contradicts is found without evaluating it.

mod documents;
mod statement;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::check::constant;
use crate::evaluate::{Answers, EvaluateOptions, Evaluated, Policies, Query, Replay};
use crate::load::position;
use crate::rego::Program;
use crate::rego::Sources as Texts;
use crate::rego::Value;
use crate::rego::internal::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::syntax::tree::{Expr, ExprKind, FileId, Module, Rule, Span, Term, TermKind, With};
use crate::rego::syntax::visit;
use crate::{Error, Position};

pub(crate) use documents::{Documents, Found};
pub(crate) use statement::{LastFailed, generated_locals, operand_values, verdict};

/// The time limit of the evaluation that explains.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// The most notes and definitions that are kept.
const MAX_ITEMS: usize = 200;

/// An operand of an expression.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Operand {
    /// The text of the operand.
    pub text: String,
    /// The operand's distinct values, over all bindings of the variables before it; none if it is undefined.
    pub values: Vec<Value>,
}

/// The explanation of an evaluation.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Explanation {
    /// The notes of `trace(…)`, in order.
    pub notes: Vec<Note>,
    /// The definitions that gave no value, in the order of the files.
    pub fails: Vec<Fail>,
}

/// A note of `trace(…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// The position of the call.
    pub position: Position,
    /// The text of the note.
    pub message: String,
}

/// A definition that gave no value.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fail {
    /// The definition's rule, such as `data.release.allow`.
    pub rule: String,
    /// The position of its head.
    pub position: Position,
    /// The statement that failed; `None` if there is no single one.
    pub reason: Option<Reason>,
}

/// The statement at which a definition failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reason {
    /// The position of the statement in the policy.
    pub position: Position,
    /// The statement as the author wrote it.
    pub text: String,
    /// The way in which it failed, such as `is false`.
    pub verdict: &'static str,
    /// The statement's operands with their values.
    pub operands: Vec<Operand>,
}

impl Policies {
    /// Explains the result of an evaluation by repeating it with its recorded responses; the service
    /// isn't asked again.
    ///
    /// # Errors
    /// As [`Evaluated::recording`].
    pub fn explain(
        &self,
        query: &Query,
        input: Option<&Value>,
        evaluated: &Evaluated,
        options: &EvaluateOptions,
    ) -> Result<Explanation, Error> {
        let mut options = replaying(evaluated, options)?;
        options.budget.timeout = options.budget.timeout.min(TIME_LIMIT);
        let program = self.program();
        let tracer = DefinitionTracer::new(program);
        self.evaluate_watched(query, input, &options, &tracer);
        let DefinitionTracer { definitions, state, .. } = tracer;
        let state = state.into_inner();
        let begun = definitions.iter().zip(&state.seen).filter(|(_, seen)| seen.begun);
        let begun = begun.map(|(definition, _)| definition.whole);
        let outside = InputValues::new(program, query, begun, input);
        let documents = Documents {
            policies: self,
            input,
            options: &options,
            until: Instant::now() + TIME_LIMIT,
        };
        let fails = definitions.iter().zip(&state.seen).filter_map(|(definition, seen)| {
            let gave_nothing =
                !seen.held && (seen.begun || seen.left_out || seen.failed.place.is_some());
            gave_nothing.then(|| definition.fail(program, seen, (&outside, &documents)))
        });
        Ok(Explanation { notes: state.notes, fails: fails.take(MAX_ITEMS).collect() })
    }
}

/// Returns options that replay the answers of `evaluated`, without asking the service.
pub(crate) fn replaying(
    evaluated: &Evaluated,
    options: &EvaluateOptions,
) -> Result<EvaluateOptions, Error> {
    let replay = Replay::new(evaluated.recording()?);
    let mut replaying = EvaluateOptions::new(Answers::Replay(Arc::new(replay)));
    replaying.budget = options.budget.clone();
    replaying.strict_builtin_errors = options.strict_builtin_errors;
    replaying.not_found = options.not_found;
    replaying.cancellation.clone_from(&options.cancellation);
    replaying.http.clone_from(&options.http);
    Ok(replaying)
}

/// A definition as its author wrote it.
struct Definition<'p> {
    module: &'p Module,
    /// The path of the rule.
    path: String,
    /// The definition, or the first one of a chain of `else`.
    whole: &'p Rule,
    rule: &'p Rule,
}

impl Definition<'_> {
    fn fail(
        &self,
        program: &Program,
        seen: &DefinitionTrace,
        (outside, documents): (&InputValues<'_>, &Documents<'_>),
    ) -> Fail {
        let texts = program.sources();
        let index = match (seen.failed.place, seen.begun) {
            (None, false) => self.rule.body.iter().position(|expr| outside.contradicts(expr)),
            (failed, _) => failed,
        };
        let statement = index.and_then(|index| self.rule.body.get(index));
        let reason = statement.map(|statement| {
            let made = generated_locals(program, self.whole);
            let document = |with: &[&With], term: &Term| {
                if outside.replaced {
                    Found::Unknown
                } else {
                    documents.value(self.module, with, term)
                }
            };
            let operands =
                operand_values(program, statement, (&made, &seen.failed.bound), &document);
            let undefined = operands.iter().any(|operand| operand.values.is_empty());
            Reason {
                position: position(texts, statement.span),
                text: texts.text(statement.span).to_owned(),
                verdict: verdict(statement, undefined),
                operands,
            }
        });
        let head = crate::load::head_span(self.rule);
        Fail { rule: self.path.clone(), position: position(texts, head), reason }
    }
}

/// The events of a definition.
#[derive(Default)]
struct DefinitionTrace {
    begun: bool,
    held: bool,
    left_out: bool,
    failed: LastFailed,
}

#[derive(Default)]
struct State {
    seen: Vec<DefinitionTrace>,
    notes: Vec<Note>,
}

/// A statement of a body: its span, and the indices of its definition and of itself in the body.
type Statement = (Span, usize, usize);

struct DefinitionTracer<'p> {
    texts: &'p Texts,
    definitions: Vec<Definition<'p>>,
    /// The definitions by the place at which they begin.
    begins: HashMap<(FileId, u32), usize>,
    /// The statements by place.
    statements: Vec<Statement>,
    state: RefCell<State>,
}

impl<'p> DefinitionTracer<'p> {
    fn new(program: &'p Program) -> Self {
        let mut tracer = Self {
            texts: program.sources(),
            definitions: Vec::new(),
            begins: HashMap::new(),
            statements: Vec::new(),
            state: RefCell::default(),
        };
        for module in program.modules() {
            let package = module.package.path.iter().filter_map(constant);
            let package: Vec<&str> = package.collect();
            for whole in module.rules.iter().filter(|rule| !rule.default) {
                let parts = whole.head.reference.iter().map_while(constant);
                let path: Vec<&str> = package.iter().copied().chain(parts).collect();
                let path = path.join(".");
                let mut next = Some(whole);
                while let Some(rule) = next {
                    tracer.add(path.clone(), (module, whole), rule);
                    next = rule.else_rule.as_deref();
                }
            }
        }
        tracer.statements.sort_by_key(|(span, ..)| (span.file, span.start));
        tracer.state.get_mut().seen.resize_with(tracer.definitions.len(), DefinitionTrace::default);
        tracer
    }

    fn add(&mut self, path: String, (module, whole): (&'p Module, &'p Rule), rule: &'p Rule) {
        let index = self.definitions.len();
        for span in [rule.span, rule.head.span] {
            self.begins.entry((span.file, span.start)).or_insert(index);
        }
        if !rule.generated_body {
            let body = rule.body.iter().enumerate();
            self.statements.extend(body.map(|(place, expr)| (expr.span, index, place)));
        }
        self.definitions.push(Definition { module, path, whole, rule });
    }

    fn definition(&self, span: Span) -> Option<usize> {
        self.begins.get(&(span.file, span.start)).copied()
    }

    /// Returns the statement that contains a span, as the indices of its definition and of itself.
    fn statement(&self, span: Span) -> Option<(usize, usize)> {
        let after = self
            .statements
            .partition_point(|(own, ..)| (own.file, own.start) <= (span.file, span.start));
        let before = self.statements.get(..after)?.last()?;
        let (own, definition, place) = *before;
        (own.file == span.file && span.end <= own.end).then_some((definition, place))
    }
}

impl Tracer for DefinitionTracer<'_> {
    fn event(&self, event: &TraceEvent<'_>) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        match (event.op, event.node) {
            (TraceOp::Note, _) if state.notes.len() < MAX_ITEMS => state.notes.push(Note {
                position: position(self.texts, event.span),
                message: event.message.to_owned(),
            }),
            (TraceOp::Enter | TraceOp::Exit, TraceNode::Rule) => {
                let seen = self.definition(event.span).and_then(|index| state.seen.get_mut(index));
                if let Some(seen) = seen {
                    seen.begun = true;
                    seen.held |= event.op == TraceOp::Exit;
                }
            }
            (TraceOp::Fail, TraceNode::Expression) => {
                let Some((definition, place)) = self.statement(event.span) else { return };
                let Some(seen) = state.seen.get_mut(definition) else { return };
                seen.failed.note(place, event);
            }
            _ => {}
        }
    }

    fn left_out(&self, span: Span) {
        let mut state = self.state.borrow_mut();
        let seen = self.definition(span).and_then(|index| state.seen.get_mut(index));
        if let Some(seen) = seen {
            seen.left_out = true;
        }
    }
}

/// The values of references to `input`.
struct InputValues<'a> {
    texts: &'a Texts,
    input: Option<&'a Value>,
    /// Set if the query or a definition that was reached replaces anything for others: then no value
    /// is known.
    replaced: bool,
}

impl<'a> InputValues<'a> {
    fn new<'r>(
        program: &'a Program,
        query: &Query,
        begun: impl Iterator<Item = &'r Rule>,
        input: Option<&'a Value>,
    ) -> Self {
        let mut replaced = query.text().split_whitespace().any(|word| word == "with");
        for rule in begun {
            visit::walk_exprs(rule, &mut |expr| {
                replaced |= !expr.with.is_empty();
                true
            });
        }
        Self { texts: program.sources(), input, replaced }
    }

    /// Returns the value of a constant reference to `input`, `Some(None)` if it is undefined;
    /// `None` for any other term.
    fn value(&self, term: &Term) -> Option<Option<Value>> {
        if self.replaced || !is_input(term) {
            return None;
        }
        let TermKind::Ref(parts) = &term.kind else { return Some(self.input.cloned()) };
        let mut found = self.input;
        for part in parts.iter().skip(1) {
            let key = self.constant(part)?;
            found = found.and_then(|value| match value {
                Value::Object(_) => value.as_object()?.get(&key),
                _ => None,
            });
            if found.is_none() && !matches!(part.kind, TermKind::String(_)) {
                return None;
            }
        }
        Some(found.cloned())
    }

    fn constant(&self, term: &Term) -> Option<Value> {
        match &term.kind {
            TermKind::String(text) => Some(Value::from(&**text)),
            TermKind::Null | TermKind::Bool(_) | TermKind::Number(_) => {
                Value::from_json(self.texts.text(term.span)).ok()
            }
            _ => None,
        }
    }

    /// Returns `true` if the input alone shows that a statement doesn't hold.
    fn contradicts(&self, statement: &Expr) -> bool {
        if statement.negated {
            return false;
        }
        match &statement.kind {
            ExprKind::Term(term) => {
                matches!(self.value(term), Some(None | Some(Value::Bool(false))))
            }
            ExprKind::Call(terms) => {
                let [operator, left, right] = terms.as_slice() else { return false };
                if !["equal", "eq"].iter().any(|name| statement::is(operator, name)) {
                    return false;
                }
                [(left, right), (right, left)].iter().any(|(one, other)| {
                    match (self.value(one), self.constant(other)) {
                        (Some(None), _) => true,
                        (Some(Some(value)), Some(constant)) => value != constant,
                        _ => false,
                    }
                })
            }
            _ => false,
        }
    }
}

fn is_input(term: &Term) -> bool {
    match &term.kind {
        TermKind::Var(name) => &**name == "input",
        TermKind::Ref(parts) => parts.first().is_some_and(is_input),
        _ => false,
    }
}
