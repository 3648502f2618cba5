//! Why rules gave nothing, and what they noted.
//!
//! Owns the search: what was evaluated is evaluated again, with the answers that it had, and
//! watched. Of each definition that was reached and gave nothing, the statement that comes last
//! among those that were reached, and that nothing got past, is the one. Definitions that the rule
//! index left out were never begun: there, the input says which statement can't hold.

mod statement;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::evaluate::{Answers, EvaluateOptions, Evaluated, Policies, Query, Replay};
use crate::load::position;
use crate::rego::Value;
use crate::rego::engine::{TraceEvent, TraceNode, TraceOp, Tracer};
use crate::rego::problem::Sources as Texts;
use crate::rego::program::Program;
use crate::rego::syntax::tree::{Expr, ExprKind, FileId, Rule, Span, Term, TermKind};
use crate::rego::syntax::visit;
use crate::{Error, Position};

pub(crate) use statement::{LastFailed, made, shown, verdict};

/// How long an explaining evaluation may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Notes and definitions that are kept; more is more than anyone reads.
const MOST: usize = 200;

/// An operand of an expression.
#[derive(Debug, Clone)]
pub struct Operand {
    /// Its text.
    pub text: String,
    /// Its values, one for each binding of the variables before it, each once; none when it is
    /// undefined.
    pub values: Vec<Value>,
}

/// What an evaluation had to say, and what it didn't.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Explanation {
    /// What `trace(…)` said, in order.
    pub notes: Vec<Note>,
    /// The definitions that gave nothing, in the order of the files.
    pub fails: Vec<Fail>,
}

/// What `trace(…)` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where it stands.
    pub position: Position,
    /// What it said.
    pub message: String,
}

/// A definition that gave nothing.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fail {
    /// Its rule, such as `data.release.allow`.
    pub rule: String,
    /// Its head.
    pub position: Position,
    /// The statement that ended it; nothing where no single one did.
    pub reason: Option<Reason>,
}

/// The statement that ended a definition.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reason {
    /// Where it is.
    pub position: Position,
    /// It.
    pub text: String,
    /// What is the matter with it, such as `is false`.
    pub verdict: &'static str,
    /// What its operands were.
    pub operands: Vec<Operand>,
}

impl Policies {
    /// Why an evaluation came out as it did: it is done again with the answers that it had, and
    /// nothing is asked.
    ///
    /// # Errors
    /// When its answers can't be given again.
    pub fn explain(
        &self,
        query: &Query,
        input: Option<&Value>,
        evaluated: &Evaluated,
        options: &EvaluateOptions,
    ) -> Result<Explanation, Error> {
        let mut options = replaying(evaluated, options)?;
        options.budget.timeout = options.budget.timeout.min(PATIENCE);
        let program = self.program();
        let watch = Watch::new(program);
        self.evaluate_watched(query, input, &options, &watch);
        let Watch { definitions, state, .. } = watch;
        let state = state.into_inner();
        let outside = Outside::new(program, input);
        let fails = definitions.iter().zip(&state.seen).filter_map(|(definition, seen)| {
            let gave_nothing =
                !seen.held && (seen.begun || seen.left_out || seen.failed.place.is_some());
            gave_nothing.then(|| definition.fail(program, seen, &outside))
        });
        Ok(Explanation { notes: state.notes, fails: fails.take(MOST).collect() })
    }
}

/// Options under which everything that `evaluated` was told is answered again, and nothing is
/// asked.
pub(crate) fn replaying(
    evaluated: &Evaluated,
    options: &EvaluateOptions,
) -> Result<EvaluateOptions, Error> {
    let replay = Replay::new(evaluated.recording()?);
    let mut replaying = EvaluateOptions::new(Answers::Replay(Arc::new(replay)));
    replaying.budget = options.budget.clone();
    replaying.strict_builtin_errors = options.strict_builtin_errors;
    replaying.not_found = options.not_found;
    replaying.http.clone_from(&options.http);
    Ok(replaying)
}

/// A definition as its author wrote it.
struct Definition<'p> {
    /// The rule, up to here.
    path: String,
    /// The definition, or the first of those that `else` joins.
    whole: &'p Rule,
    rule: &'p Rule,
}

impl Definition<'_> {
    fn fail(&self, program: &Program, seen: &Seen, outside: &Outside<'_>) -> Fail {
        let texts = program.sources();
        let index = match (seen.failed.place, seen.begun) {
            (None, false) => self.rule.body.iter().position(|expr| outside.denies(expr)),
            (failed, _) => failed,
        };
        let statement = index.and_then(|index| self.rule.body.get(index));
        let reason = statement.map(|statement| {
            let made = made(program, self.whole);
            let known = |term: &Term| outside.value(term);
            let operands = shown(program, statement, (&made, &seen.failed.bound), &known);
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

/// What happened to a definition.
#[derive(Default)]
struct Seen {
    begun: bool,
    held: bool,
    left_out: bool,
    failed: LastFailed,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    notes: Vec<Note>,
}

/// A statement of a body: where it stands, its definition and its place there.
type Statement = (Span, usize, usize);

/// Watches all definitions.
struct Watch<'p> {
    texts: &'p Texts,
    definitions: Vec<Definition<'p>>,
    /// The definition that begins at a place.
    begins: HashMap<(FileId, u32), usize>,
    /// By place.
    statements: Vec<Statement>,
    state: RefCell<State>,
}

impl<'p> Watch<'p> {
    fn new(program: &'p Program) -> Self {
        let mut watch = Self {
            texts: program.sources(),
            definitions: Vec::new(),
            begins: HashMap::new(),
            statements: Vec::new(),
            state: RefCell::default(),
        };
        for module in program.modules() {
            let package = module.package.path.iter().filter_map(word);
            let package: Vec<&str> = package.collect();
            for whole in module.rules.iter().filter(|rule| !rule.default) {
                let parts = whole.head.reference.iter().map_while(word);
                let path: Vec<&str> = package.iter().copied().chain(parts).collect();
                let path = path.join(".");
                let mut next = Some(whole);
                while let Some(rule) = next {
                    watch.add(path.clone(), whole, rule);
                    next = rule.else_rule.as_deref();
                }
            }
        }
        watch.statements.sort_by_key(|(span, ..)| (span.file, span.start));
        watch.state.get_mut().seen.resize_with(watch.definitions.len(), Seen::default);
        watch
    }

    fn add(&mut self, path: String, whole: &'p Rule, rule: &'p Rule) {
        let index = self.definitions.len();
        for span in [rule.span, rule.head.span] {
            self.begins.entry((span.file, span.start)).or_insert(index);
        }
        if !rule.generated_body {
            let body = rule.body.iter().enumerate();
            self.statements.extend(body.map(|(place, expr)| (expr.span, index, place)));
        }
        self.definitions.push(Definition { path, whole, rule });
    }

    fn definition(&self, span: Span) -> Option<usize> {
        self.begins.get(&(span.file, span.start)).copied()
    }

    /// The statement that a span is in.
    fn statement(&self, span: Span) -> Option<(usize, usize)> {
        let after = self
            .statements
            .partition_point(|(own, ..)| (own.file, own.start) <= (span.file, span.start));
        let before = self.statements.get(..after)?.last()?;
        let (own, definition, place) = *before;
        (own.file == span.file && span.end <= own.end).then_some((definition, place))
    }
}

/// A part of a path that is a name.
fn word(term: &Term) -> Option<&str> {
    match &term.kind {
        TermKind::Var(name) | TermKind::String(name) => Some(name),
        _ => None,
    }
}

impl Tracer for Watch<'_> {
    fn event(&self, event: &TraceEvent<'_>) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        match (event.op, event.node) {
            (TraceOp::Note, _) if state.notes.len() < MOST => state.notes.push(Note {
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

/// What is known of `input` wherever it is looked at.
struct Outside<'a> {
    texts: &'a Texts,
    input: Option<&'a Value>,
    /// Somewhere another input is put in its place: nothing is known.
    replaced: bool,
}

impl<'a> Outside<'a> {
    fn new(program: &'a Program, input: Option<&'a Value>) -> Self {
        let mut replaced = false;
        for module in program.modules() {
            visit::walk_exprs(module, &mut |expr| {
                replaced |= expr.with.iter().any(|with| is_input(&with.target));
                true
            });
        }
        Self { texts: program.sources(), input, replaced }
    }

    /// The value of a reference to `input` that is written out; `None` of anything else.
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

    /// True if the input alone says that a statement doesn't hold.
    fn denies(&self, statement: &Expr) -> bool {
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
