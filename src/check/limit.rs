//! Lists that a `limit` may have cut, used as if they were whole.
//!
//! Owns the way of such a list through variables and rules to where it is counted, negated or
//! looked at element by element. A comparison that comes out the same for the cut list is fine.

use std::collections::{BTreeMap, HashMap, HashSet};

use regorus::Value;
use regorus::unstable as ast;

use ast::{BoolOp, Expr, ExprRef};

use super::walk::{Binding, Call, Compared, How, Model, Whole};
use crate::Diagnostic;
use crate::evaluate::load::{Meaning, ModuleSyntax, Syntax, bytes, chain};

/// How far variables are followed to see whether they are the list itself.
const MAX_DEPTH: usize = 20;

/// The sides of a comparison, each with the number that the other one is.
pub(super) fn comparison<'a>(
    op: &BoolOp,
    lhs: &'a ExprRef,
    rhs: &'a ExprRef,
) -> [(&'a ExprRef, Option<(f64, Compared)>); 2] {
    let (left, right) = match op {
        BoolOp::Eq | BoolOp::Ne => (Compared::Above, Compared::Above),
        BoolOp::Gt | BoolOp::Le => (Compared::Above, Compared::AtLeast),
        BoolOp::Ge | BoolOp::Lt => (Compared::AtLeast, Compared::Above),
    };
    [(lhs, number(rhs).map(|n| (n, left))), (rhs, number(lhs).map(|n| (n, right)))]
}

fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Number { value: Value::Number(number), .. } => number.as_f64(),
        _ => None,
    }
}

/// Rules whose value may come from a cut list, with the limit.
pub(super) struct CutRules(HashMap<usize, Limit>);

/// A `limit`: its number, where it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit(Option<f64>);

impl CutRules {
    /// Follows lists from the rules that ask for them to all that depend on those.
    pub fn new(syntax: &Syntax<'_>, direct: Vec<(usize, Limit)>) -> Self {
        let mut cut: HashMap<usize, Limit> = direct.iter().copied().collect();
        if cut.is_empty() {
            return Self(cut);
        }
        let mut users: HashMap<usize, HashSet<usize>> = HashMap::new();
        for (rule, on) in syntax.dependencies() {
            users.entry(on).or_default().insert(rule);
        }
        let mut work: Vec<usize> = cut.keys().copied().collect();
        while let Some(rule) = work.pop() {
            let Some(limit) = cut.get(&rule).copied() else { continue };
            for user in users.get(&rule).into_iter().flatten() {
                if !cut.contains_key(user) {
                    cut.insert(*user, limit);
                    work.push(*user);
                }
            }
        }
        Self(cut)
    }
}

/// The rules of a module that ask for a list with a limit.
pub(super) fn direct(module: &ModuleSyntax<'_>, model: &Model<'_>) -> Vec<(usize, Limit)> {
    let calls = model.calls.iter().zip(&model.call_rules);
    calls
        .filter_map(|(call, rule)| Some((module.rule(*rule)?, limit_of(module, model, call)?)))
        .collect()
}

/// The limit in the filters of a call.
fn limit_of(module: &ModuleSyntax<'_>, model: &Model<'_>, call: &Call<'_>) -> Option<Limit> {
    if call.replaced {
        return None;
    }
    let filters = super::arguments::literal(module, model, call.params.first()?);
    let Expr::Object { fields, .. } = filters.as_ref() else { return None };
    let value = fields.iter().find_map(|(_, key, value)| match key.as_ref() {
        Expr::String { value: Value::String(key), .. } if key.as_ref() == "limit" => Some(value),
        _ => None,
    })?;
    Some(Limit(number(super::arguments::literal(module, model, value))))
}

/// Finds where cut lists are taken for whole ones.
pub(super) fn check(
    module: &ModuleSyntax<'_>,
    model: &Model<'_>,
    cut: &CutRules,
    out: &mut Vec<Diagnostic>,
) {
    let mut seen = HashSet::new();
    let search = Search { module, model, cut, limited: limited(module, model) };
    if search.limited.is_empty() && cut.0.is_empty() {
        return;
    }
    for (_, whole) in &model.wholes {
        let Some(limit) = search.limit_in(bytes(whole.expr), &mut HashSet::new()) else { continue };
        if search.harmless(whole, limit) || !seen.insert(whole.bytes) {
            continue;
        }
        let what = match whole.how {
            How::Counted(_) => "is counted",
            How::Negated => "is negated",
            How::Every => "is taken for all there is",
        };
        let limit = match limit {
            Limit(Some(number)) => format!("`limit` {number}"),
            Limit(None) => "a `limit`".to_owned(),
        };
        out.push(
            Diagnostic::warning("cut-list", format!("a list that {limit} may have cut {what}"))
                .with_hint("leave `limit` out: every page is read then")
                .at(module.position(whole.bytes.0, whole.bytes.1)),
        );
    }
}

/// Calls with a limit, by where they start.
fn limited(module: &ModuleSyntax<'_>, model: &Model<'_>) -> BTreeMap<usize, Limit> {
    let calls = model.calls.iter();
    calls.filter_map(|call| Some((call.bytes.0, limit_of(module, model, call)?))).collect()
}

struct Search<'a> {
    module: &'a ModuleSyntax<'a>,
    model: &'a Model<'a>,
    cut: &'a CutRules,
    limited: BTreeMap<usize, Limit>,
}

impl Search<'_> {
    /// The limit of a list that is asked for, or mentioned, within these bytes.
    ///
    /// `seen` are the variables that were followed already: two may be mentioned by each other
    /// many times over.
    fn limit_in(&self, (start, end): (usize, usize), seen: &mut HashSet<usize>) -> Option<Limit> {
        if start >= end {
            return None;
        }
        if let Some((_, limit)) = self.limited.range(start..end).next() {
            return Some(*limit);
        }
        let local = self.model.mentions_in(start, end).find_map(|index| {
            let variable = self.model.variables.get(index)?;
            let within = start <= variable.bytes.0 && variable.bytes.1 <= end;
            match variable.binding {
                // What is defined within is looked at already.
                _ if within || !seen.insert(index) => None,
                Binding::Value(from) | Binding::Element(from) => self.limit_in(bytes(from), seen),
                Binding::Unknown => None,
            }
        });
        local.or_else(|| {
            self.module.meanings_in(start, end).find_map(|meaning| match meaning {
                Meaning::Rule { rule, .. } => self.cut.0.get(&rule).copied(),
                _ => None,
            })
        })
    }

    /// Whether the count of the cut list compares as that of the whole one would.
    fn harmless(&self, whole: &Whole<'_>, limit: Limit) -> bool {
        let (How::Counted(Some((number, compared))), Limit(Some(limit))) = (whole.how, limit)
        else {
            return false;
        };
        let enough = match compared {
            Compared::Above => number < limit,
            Compared::AtLeast => number <= limit,
        };
        enough && self.is_list(whole.expr, MAX_DEPTH)
    }

    /// Whether an expression is the list itself, and not a choice from it.
    fn is_list(&self, expr: &ExprRef, depth: usize) -> bool {
        let (base, _) = chain(expr);
        let start = base.span().start as usize;
        match base.as_ref() {
            Expr::Call { .. } => true,
            Expr::Var { .. } if depth > 0 => match self.model.variable(start) {
                Some(variable) => match variable.binding {
                    Binding::Value(value) => self.is_list(value, depth - 1),
                    _ => false,
                },
                None => match self.module.meaning(start) {
                    Some(Meaning::Rule { rule, .. }) => {
                        let value = self.module.all().constant(rule);
                        value.is_some_and(|v| matches!(chain(v).0.as_ref(), Expr::Call { .. }))
                    }
                    _ => false,
                },
            },
            _ => false,
        }
    }
}
