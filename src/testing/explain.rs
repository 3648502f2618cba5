//! Why a test failed: at which expression, and what its operands were.
//!
//! Owns the search: the body's first statement alone, then the first two, and so on, are evaluated
//! as comprehensions beside the test, with the answers that the test had; the statement that leaves
//! nothing is the one. Then the operands of that statement are asked for. Only where a rule has one
//! body: with several, there is no one expression that decided.

use std::collections::BTreeMap;
use std::time::Duration;

use regorus::Value;
use regorus::unstable as ast;

use ast::{Literal, Rule, RuleHead};

use super::operands::{self, Asked, Sort};
use super::probe::{Probe, Probed};
use super::run::{Ran, replaying};
use super::source::{self, Part};
use super::suite::{Member, Suite};
use super::{Cause, Operand, Outcome, find, run};
use crate::Error;
use crate::evaluate::EvaluateOptions;
use crate::evaluate::load::on_large_stack;

/// How many tests are explained; nobody reads more.
const MOST: usize = 100;

/// How long an explaining evaluation may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Different values that are kept of an operand.
const VALUES: usize = 4;

/// A rule with one body, in pieces.
struct Body {
    /// The text from the body's first statement to each statement's end.
    prefixes: Vec<String>,
    statements: Vec<Asked>,
    /// The rule's value, which is looked at when the whole body holds.
    value: Option<Asked>,
}

/// A failed test, or the first case of one that failed.
struct Patient {
    member: usize,
    case: Vec<String>,
    body: Body,
    options: EvaluateOptions,
}

/// Finds the causes of failures. What can't be found is left out: the verdict stands.
pub(super) fn failures(suite: &Suite, done: &mut BTreeMap<usize, Ran>, options: &EvaluateOptions) {
    let mut options = options.clone();
    options.budget.timeout = options.budget.timeout.min(PATIENCE);
    match causes(suite, done, &options) {
        Ok(causes) => {
            for (member, cause) in causes {
                if let Some(Outcome::Failed(failure)) =
                    done.get_mut(&member).map(|ran| &mut ran.outcome)
                {
                    failure.cause = Some(cause);
                }
            }
        }
        Err(error) => tracing::debug!(%error, "failures can't be explained"),
    }
}

fn causes(
    suite: &Suite,
    done: &BTreeMap<usize, Ran>,
    options: &EvaluateOptions,
) -> Result<Vec<(usize, Cause)>, Error> {
    let mut patients = Vec::new();
    for (index, ran) in done {
        let Outcome::Failed(failure) = &ran.outcome else { continue };
        let (Some(member), Some(evaluated)) = (suite.members.get(*index), &ran.evaluated) else {
            continue;
        };
        if failure.reason.is_some()
            || ran.cases.is_empty() != ran.failed.is_none()
            || patients.len() == MOST
        {
            continue;
        }
        let keys = ran.failed.as_deref().unwrap_or_default();
        if let Some(body) = body(suite, member, keys)? {
            let options = replaying(evaluated, options)?;
            let case = keys.iter().map(run::name).collect();
            patients.push(Patient { member: *index, case, body, options });
        }
    }
    if patients.is_empty() {
        return Ok(Vec::new());
    }
    let stopped = search(suite, patients)?;
    ask(suite, stopped)
}

/// The patients with the statement at which each stopped, and the text before it.
fn search(suite: &Suite, patients: Vec<Patient>) -> Result<Vec<(Patient, Asked, String)>, Error> {
    let mut probes = Vec::new();
    for patient in &patients {
        probes.extend(patient.body.prefixes.iter().map(|prefix| Probe {
            member: patient.member,
            term: format!("[1 | {prefix}\ntrue\n]"),
        }));
    }
    let probed = Probed::load(suite, &probes)?;
    let mut at = 0;
    let mut found = Vec::new();
    for mut patient in patients {
        let first = at;
        at += patient.body.prefixes.len();
        let mut holding = 0;
        let mut stopped = None;
        for (count, index) in (first..at).enumerate() {
            if !probed.has(index) {
                // Needs what a later statement binds.
                continue;
            }
            match probed.value(index, &patient.options) {
                Some(Value::Array(rows)) if rows.is_empty() => {
                    stopped = Some(holding);
                    break;
                }
                Some(_) => holding = count + 1,
                None => {
                    stopped = Some(usize::MAX);
                    break;
                }
            }
        }
        let before = holding.checked_sub(1).and_then(|last| patient.body.prefixes.get(last));
        let before = before.cloned().unwrap_or_default();
        let asked = match stopped {
            Some(index) if index < patient.body.statements.len() => {
                Some(patient.body.statements.swap_remove(index))
            }
            Some(_) => None,
            None => patient.body.value.take(),
        };
        if let Some(asked) = asked {
            found.push((patient, asked, before));
        }
    }
    Ok(found)
}

/// Asks for operands.
fn ask(
    suite: &Suite,
    stopped: Vec<(Patient, Asked, String)>,
) -> Result<Vec<(usize, Cause)>, Error> {
    let mut probes = Vec::new();
    for (patient, asked, before) in &stopped {
        probes.extend(
            asked.terms(before).into_iter().map(|term| Probe { member: patient.member, term }),
        );
    }
    let probed = Probed::load(suite, &probes)?;
    let mut at = 0;
    let mut causes = Vec::new();
    for (patient, asked, before) in stopped {
        let count = asked.terms(&before).len();
        let values: Vec<Option<Vec<Value>>> = (at..at + count)
            .map(|index| match probed.value(index, &patient.options) {
                Some(Value::Array(values)) => Some(distinct(values.iter())),
                _ => None,
            })
            .collect();
        at += count;
        let cause = cause(asked, &values);
        causes.push((
            patient.member,
            Cause { case: patient.case, position: suite.authors_line(cause.position), ..cause },
        ));
    }
    Ok(causes)
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for value in values {
        if !kept.contains(value) {
            kept.push(value.clone());
            if kept.len() == VALUES {
                break;
            }
        }
    }
    kept
}

fn cause(asked: Asked, values: &[Option<Vec<Value>>]) -> Cause {
    let whole = values.first().cloned().flatten();
    let undefined_whole = whole.as_ref().is_some_and(Vec::is_empty);
    let shown: Vec<Operand> = asked
        .operands
        .iter()
        .zip(values.get(1..).unwrap_or_default())
        .filter_map(|(operand, values)| {
            let operand = operand.clone();
            values.clone().map(|values| (operand, values))
        })
        .fold(Vec::new(), |mut shown: Vec<Operand>, (operand, values)| {
            let undefined = |text: &str| {
                undefined_whole && asked.is_whole(text)
                    || shown.iter().any(|s| s.text == text && s.values.is_empty())
            };
            // What a reference hangs on is worth a line only when the reference is undefined.
            let idle = match &operand.within {
                Some(reference) => values.is_empty() || !undefined(reference),
                None => false,
            };
            if !idle && !shown.iter().any(|s| s.text == operand.text) {
                shown.push(Operand { text: operand.text, values });
            }
            shown
        });
    let undefined = shown.iter().any(|operand| operand.values.is_empty());
    let verdict = match asked.sort {
        Sort::Truth => match whole {
            Some(values) if values.is_empty() => "is undefined",
            Some(_) => "is false",
            None => "doesn't hold",
        },
        Sort::Negation => "is false",
        _ if undefined => "is undefined",
        Sort::Binding => "has no match",
        Sort::Iteration => "finds nothing",
        Sort::Every => "doesn't hold for each",
    };
    Cause {
        case: Vec::new(),
        position: asked.position,
        verdict: verdict.to_owned(),
        operands: shown,
    }
}

/// The one body of a test's rule, if it has one, for the case with these keys.
fn body(suite: &Suite, member: &Member, case: &[Value]) -> Result<Option<Body>, Error> {
    let Some(module) = suite.sources.modules.get(member.found.module) else { return Ok(None) };
    on_large_stack(|| {
        source::parsed(module, suite.load.rego_v0, |syntax, text| {
            let rule = syntax.policy.get(member.found.rule)?;
            let Rule::Spec { head: RuleHead::Compr { assign, .. }, bodies, .. } = rule.as_ref()
            else {
                return None;
            };
            if bodies.len() > 1 || bodies.iter().any(|body| body.is_else) {
                return None;
            }
            let file =
                operands::File { path: &module.path, text, aliases: operands::aliases(syntax) };
            let statements: Vec<_> =
                bodies.first().map(|body| body.query.stmts.iter().collect()).unwrap_or_default();
            let mut prefixes = prefixes(&statements, text);
            if !case.is_empty() {
                let (keys, first) = keys(rule, text)?;
                let case = as_text(case)?;
                for prefix in prefixes.iter_mut().skip(first) {
                    prefix.extend(["\n[", &keys, "] == ", &case]);
                }
            }
            Some(Body {
                prefixes,
                statements: statements.iter().map(|stmt| file.statement(stmt)).collect(),
                value: assign.as_ref().map(|assign| file.value(&assign.value)),
            })
        })
    })?
}

/// Values as an array's text, unless one is a set, which has no such text.
fn as_text(values: &[Value]) -> Option<String> {
    let text = serde_json::to_string(values).ok()?;
    let again = Value::from_json_str(&text).ok()?;
    (again == Value::from(values.to_vec())).then_some(text)
}

/// The text from the first statement to each statement's end.
fn prefixes(statements: &[&ast::LiteralStmt], text: &str) -> Vec<String> {
    let extents: Vec<_> =
        statements.iter().map(|stmt| source::statement_extent(text, stmt)).collect();
    let Some((start, _)) = extents.first() else { return Vec::new() };
    extents.iter().map(|(_, end)| text.get(*start..*end).unwrap_or_default().to_owned()).collect()
}

/// Sets of the keys of a table's cases, of which the first that is safe has them all.
pub(super) fn case_terms(rule: &Rule, text: &str) -> Vec<String> {
    let Rule::Spec { bodies, .. } = rule else { return Vec::new() };
    let [body] = bodies.as_slice() else { return Vec::new() };
    let Some((keys, first)) = keys(rule, text) else { return Vec::new() };
    let statements: Vec<_> = body.query.stmts.iter().collect();
    prefixes(&statements, text)
        .iter()
        .skip(first)
        .map(|prefix| format!("{{[{keys}] | {prefix}\ntrue\n}}"))
        .collect()
}

/// The keys of a table's cases, as its head has them, and the first statement after which they
/// may be known.
fn keys(rule: &Rule, text: &str) -> Option<(String, usize)> {
    let Rule::Spec { bodies, .. } = rule else { return None };
    let [body] = bodies.as_slice() else { return None };
    let (_, parts) = source::parts(find::reference(rule));
    let mut variables = Vec::new();
    let mut keys = Vec::new();
    for part in &parts {
        match part {
            Part::Key(key) => keys.push(serde_json::Value::from(key.as_str()).to_string()),
            Part::Variable(key) => {
                let (start, end) = source::extent(text, key.span());
                keys.push(text.get(start..end).unwrap_or_default().to_owned());
                operands::variables(key, &mut variables);
            }
        }
    }
    let statements: Vec<_> = body.query.stmts.iter().collect();
    let mentions = |stmt: &ast::LiteralStmt| {
        let mut found = Vec::new();
        for expr in source::expressions(&stmt.literal) {
            operands::variables(expr, &mut found);
        }
        if let Literal::SomeVars { vars, .. } = &stmt.literal {
            found.extend(vars.iter().map(|span| span.text().to_owned()));
        }
        found
    };
    // A name that the body declares means that, and not a rule: not before it is declared.
    let first = variables
        .iter()
        .filter_map(|name| statements.iter().position(|stmt| mentions(stmt).contains(name)))
        .max()
        .unwrap_or(0);
    Some((keys.join(", "), first))
}
