//! Marks the expressions whose being undefined may hide a violation.
//!
//! ```text
//! not startswith(input.image, "x")    slot 0 = input.image           operand of a negated call
//!                                     not startswith(slot 0, "x")
//! input.a != 1                        slot 0 = input.a               operand of a comparison
//!                                     neq(slot 0, 1)
//! deny contains m if {                not slot 0 = …                 a condition
//!   m := sprintf("%v", [input.b])     slot 1 = input.b               parts of the message
//! }                                   sprintf("%v", [slot 1]) → slot 2
//! ```
//!
//! The message of a verdict rule is its head, with the assignments that only the head uses. A rule
//! or comprehension whose elements are a verdict's has a message in the same sense.

use std::collections::{BTreeMap, BTreeSet};

use super::slots::{Mentions, mentioned, named};
use crate::core::{
    Body, Core, Head, Marks, Native, Op, OpKind, Ref, Resolved, Rule, SetId, Side, Slot, Target,
    Term,
};
use crate::value::{Value, deeper};

type Slots = BTreeSet<Slot>;

/// The built-in functions whose result has elements of all their operands, or of a collection among them.
const COMBINING: &[&str] = &[
    "or",
    "and",
    "union",
    "intersection",
    "array.concat",
    "array.flatten",
    "array.reverse",
    "array.slice",
    "sort",
    "object.union",
    "object.union_n",
    "object.keys",
    "object.remove",
    "object.filter",
    "walk",
];

/// Sets the marks of all expressions. `reports` returns `true` for the name of a verdict rule.
pub(super) fn finish(core: &mut Core, reports: &dyn Fn(&str) -> bool) {
    for rule in &mut core.rules {
        operands(&mut rule.body);
        heads(rule);
    }
    let is_verdict = |parts: &[Value]| parts.last().and_then(Value::as_str).is_some_and(reports);
    let verdicts = (0_u32..).map(SetId).zip(&core.sets).filter(|(_, set)| is_verdict(&set.parts));
    let mut open: Vec<SetId> = verdicts.map(|(id, _)| id).collect();
    let mut seen: BTreeSet<SetId> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        let Some(set) = core.set(id) else { continue };
        // The result of a function is a condition; what it builds its result from isn't.
        let marks_head = !set.function;
        let rules: Vec<_> = set.rules().collect();
        let mut used = Used::default();
        for rule in rules {
            if let Some(rule) = core.rules.get_mut(rule.0 as usize) {
                message_of_rule(rule, marks_head, &mut used);
            }
        }
        let sets = (0_u32..).map(SetId).zip(&core.sets);
        let below = sets.filter(|(_, set)| !set.function && used.has_below(&set.parts));
        let below: Vec<SetId> = below.map(|(id, _)| id).collect();
        open.extend(used.sets.into_iter().chain(below).filter(|id| seen.insert(*id)));
    }
    let all = |rule: &mut Rule| marks_of(&mut rule.body);
    let of_rules: Vec<Marks> = core.rules.iter_mut().map(all).collect();
    for set in &mut core.sets {
        let members = set.members.iter().flatten();
        let all = members.filter_map(|id| of_rules.get(id.0 as usize));
        set.marks = all.fold(Marks::NONE, |marks, own| marks.with(*own));
    }
}

/// The rules whose elements a message takes over.
#[derive(Default)]
struct Used {
    sets: BTreeSet<SetId>,
    /// Operands behind `data` that lead to rules, or to packages with rules.
    paths: Vec<Vec<Option<Value>>>,
}

impl Used {
    /// Returns `true` for rules that one of the paths leads to, or leads into.
    fn has_below(&self, parts: &[Value]) -> bool {
        let leads = |path: &Vec<Option<Value>>| {
            let mut steps = path.iter().zip(parts);
            steps.all(|(step, part)| step.as_ref().is_none_or(|step| step == part))
        };
        self.paths.iter().any(leads)
    }

    /// Adds a reference to rules.
    fn add(&mut self, resolved: &Resolved, path: &[Term]) {
        match resolved {
            Resolved::Rules(set, _) => {
                self.sets.insert(*set);
            }
            Resolved::Tree => {
                let step = |term: &Term| match term {
                    Term::Const(value) => Some(value.clone()),
                    _ => None,
                };
                self.paths.push(path.iter().map(step).collect());
            }
            Resolved::Base(..) => {}
        }
    }
}

/// Returns the marks in a body, also of the bodies within its expressions.
fn marks_of(body: &mut Body) -> Marks {
    let mut all = Marks::NONE;
    for op in body {
        all.add(op.marks);
        deeper(|| each_body(op, &mut |body| all.add(marks_of(body))));
    }
    all
}

/// Marks the parts of the heads of a rule and of the comprehensions in it.
fn heads(rule: &mut Rule) {
    let (mut head, mut given) = (Slots::new(), Slots::new());
    for term in rule.reference.iter().chain(&rule.key).chain(&rule.value) {
        named(term, &mut head);
    }
    rule.args.iter().for_each(|term| named(term, &mut given));
    head_of_body(&mut rule.body, &head, &given);
}

fn head_of_body(body: &mut Body, head: &Slots, given: &Slots) {
    let parts = head_parts(body, &Mentions::of(body), head, given);
    for (op, is_part) in body.iter_mut().zip(parts) {
        if is_part {
            op.marks.add(Marks::HEAD);
        }
        heads_within(op);
    }
}

fn heads_within(op: &mut Op) {
    let side = |side: &mut Side| {
        let Side::Comprehension(comprehension) = side else { return };
        let mut head = Slots::new();
        comprehension.kind.each_term(&mut |term| named(term, &mut head));
        head_of_body(&mut comprehension.body, &head, &Slots::new());
    };
    deeper(|| match &mut op.kind {
        OpKind::Unify(sides) => {
            side(&mut sides.0);
            side(&mut sides.1);
        }
        OpKind::Test(tested) => side(tested),
        OpKind::Negated(op) | OpKind::With(_, op) => heads_within(op),
        _ => each_body(op, &mut |body| body.iter_mut().for_each(heads_within)),
    });
}

/// Marks the operands of negations and comparisons in a body.
///
/// An expression that computes an operand, directly or through others, has the mark of the expression that takes it.
fn operands(body: &mut Body) {
    // From the end: the mark that the next expression with a variable gives to whatever computes it.
    let mut given: BTreeMap<Slot, Marks> = BTreeMap::new();
    for op in body.iter_mut().rev() {
        let (own, for_operands) = if op.generated {
            let of_result = result(op).and_then(|slot| given.get(&slot).copied());
            let marks = of_result.unwrap_or(Marks::NONE);
            (marks, marks)
        } else {
            (mark(op, false), mark(op, true))
        };
        given.extend(mentioned(op).into_iter().map(|slot| (slot, for_operands)));
        op.marks.add(own);
        if op.sides().any(|side| destructured(side).is_some()) {
            op.marks.add(Marks::CLOSED);
        }
        deeper(|| each_body(op, &mut operands));
    }
}

/// Returns a side of an equation that is a pattern with an object: `{"name": n} := input`.
pub(crate) fn destructured(side: &Side) -> Option<&Term> {
    fn has_object(term: &Term) -> bool {
        match term {
            Term::Object(members) => !members.is_empty(),
            Term::Array(items) => deeper(|| items.iter().any(has_object)),
            _ => false,
        }
    }
    match side {
        Side::Term(term) if has_object(term) => Some(term),
        _ => None,
    }
}

/// Calls back with the bodies within an expression.
fn each_body(op: &mut Op, visit: &mut dyn FnMut(&mut Body)) {
    let mut side = |side: &mut Side| {
        if let Side::Comprehension(comprehension) = side {
            visit(&mut comprehension.body);
        }
    };
    match &mut op.kind {
        OpKind::Unify(sides) => {
            side(&mut sides.0);
            side(&mut sides.1);
        }
        OpKind::Test(tested) => side(tested),
        OpKind::Call(_) => {}
        OpKind::Every(every) => visit(&mut every.body),
        OpKind::Not(body) => visit(body),
        OpKind::Negated(op) | OpKind::With(_, op) => each_body(op, visit),
        OpKind::And(left, right) | OpKind::Or(left, right) => {
            visit(left);
            visit(right);
        }
    }
}

/// The mark that an expression gives to its operands, or has itself: a negated equality looks its
/// references up itself.
fn mark(op: &Op, for_operand: bool) -> Marks {
    match &op.kind {
        OpKind::With(_, op) => mark(op, for_operand),
        OpKind::Negated(_) if for_operand => Marks::NEGATION,
        OpKind::Negated(op) => match &op.kind {
            OpKind::Unify(_) => Marks::EQUALITY,
            _ => Marks::NONE,
        },
        OpKind::Call(call)
            if for_operand
                && matches!(call.target, Target::Compare(_))
                && call.output.is_none() =>
        {
            Marks::COMPARISON
        }
        _ => Marks::NONE,
    }
}

/// Returns the variable that a generated expression computes.
pub(crate) fn result(op: &Op) -> Option<Slot> {
    match &op.kind {
        OpKind::With(_, op) => result(op),
        OpKind::Unify(sides) => match &**sides {
            (Side::Term(Term::Var(slot)), _) | (_, Side::Term(Term::Var(slot))) => Some(*slot),
            _ => None,
        },
        OpKind::Call(call) => match &call.output {
            Some(Term::Var(slot)) => Some(*slot),
            _ => None,
        },
        _ => None,
    }
}

/// Marks the message of a rule, and adds the rules whose elements it takes over.
fn message_of_rule(rule: &mut Rule, marks_head: bool, used: &mut Used) {
    let mut given = Slots::new();
    rule.args.iter().for_each(|term| named(term, &mut given));
    let (mut head, mut direct) = (Slots::new(), Slots::new());
    for term in rule.reference.iter().chain(&rule.key).chain(&rule.value) {
        named(term, &mut head);
    }
    rule.key.iter().chain(&rule.value).for_each(|term| taken_over(term, &mut direct));
    message(&mut rule.body, (&head, direct), &given, (marks_head, used));
}

/// Adds the variables whose values are messages, or collections of them.
fn taken_over(term: &Term, direct: &mut Slots) {
    match term {
        Term::Var(slot) => {
            direct.insert(*slot);
        }
        // The message of an item, the violations and findings of a `result`, and collections of collections.
        Term::Object(members) => {
            let is_item = members.iter().any(|(key, _)| is_message(key));
            let taken = members.iter().filter(|(key, _)| !is_item || is_message(key));
            taken.for_each(|(_, value)| taken_over(value, direct));
        }
        Term::Array(items) | Term::Set(items) => {
            items.iter().for_each(|item| taken_over(item, direct));
        }
        Term::Const(_) => {}
    }
}

/// Returns `true` for the member of an item that holds its message; the others are details of what is reported
/// anyway.
fn is_message(key: &Term) -> bool {
    matches!(key, Term::Const(key) if matches!(key.as_str(), Some("msg" | "message")))
}

/// Marks the message of a body with a head, or only the messages of the comprehensions that build it. `direct`
/// are the variables of the head whose values are messages, `given` the variables that have values before.
fn message(
    body: &mut Body,
    (head, mut direct): (&Slots, Slots),
    given: &Slots,
    (marks_head, used): (bool, &mut Used),
) {
    let mentions = Mentions::of(body);
    let parts = head_parts(body, &mentions, head, given);
    let is_call = |(op, is_part): (&Op, &bool)| {
        *is_part
            && matches!(&op.kind, OpKind::Call(call) if matches!(call.target, Target::Function(_)))
    };
    let has_call = body.iter().zip(&parts).any(is_call);
    let marks = if has_call { Marks::FUNCTION_MESSAGE } else { Marks::MESSAGE };
    // The expressions through which nothing but a message passes.
    let mut carries = parts.clone();
    for index in (0..body.len()).rev() {
        let Some(op) = body.get_mut(index) else { continue };
        if marks_head && parts.get(index).copied().unwrap_or(false) {
            op.marks.add(marks);
        }
        // Of an element on which a condition depends, nobody knows whether it would be reported.
        let is_condition = |at: &usize| *at > index && !carries.get(*at).copied().unwrap_or(false);
        direct.retain(|slot| {
            let users = mentions.users(*slot);
            users.first() != Some(&index) || !users.iter().any(is_condition)
        });
        if let Some(carries) = carries.get_mut(index) {
            *carries |= mentions.new_at(index).any(|slot| direct.contains(&slot));
        }
        let outside = || mentions.besides(index).chain(given).chain(head).copied().collect();
        let is_new = |slot| !given.contains(&slot) && mentions.users(slot).first() == Some(&index);
        take_over(op, &mut direct, (&outside, &is_new), used);
    }
}

/// Returns for each expression of a body whether only the head uses what it assigns. `given` are the variables
/// that have values before.
fn head_parts(body: &Body, mentions: &Mentions, head: &Slots, given: &Slots) -> Vec<bool> {
    let mut parts = vec![false; body.len()];
    for (index, op) in body.iter().enumerate().rev() {
        let is_part = if is_print(op) {
            true
        } else {
            let users = |slot| mentions.users(slot).iter().filter(|at| **at != index);
            let is_used = |slot: &Slot| head.contains(slot) || users(*slot).next().is_some();
            let serves_parts = |slot: &Slot| {
                let is_part = |at: &usize| *at > index && parts.get(*at).copied().unwrap_or(false);
                !given.contains(slot) && users(*slot).all(is_part)
            };
            let is_message =
                |slots: Slots| slots.iter().any(is_used) && slots.iter().all(serves_parts);
            assigned(op).into_iter().any(is_message)
        };
        if let Some(part) = parts.get_mut(index) {
            *part = is_part;
        }
    }
    parts
}

/// Follows messages through the expression that computes them. `is_new` returns `true` for a variable that the
/// expression is the first to mention.
fn take_over(
    op: &mut Op,
    direct: &mut Slots,
    (outside, is_new): (&dyn Fn() -> Slots, &dyn Fn(Slot) -> bool),
    used: &mut Used,
) {
    match &mut op.kind {
        OpKind::With(_, op) => take_over(op, direct, (outside, is_new), used),
        OpKind::Unify(sides) => {
            let (left, right) = &mut **sides;
            let (target, side) = if is_direct(left, direct) {
                (left, right)
            } else if is_direct(right, direct) {
                (right, left)
            } else {
                for side in [left, right] {
                    taken_by_key(side, direct, is_new, used);
                }
                return;
            };
            match side {
                Side::Term(other) => taken_over(other, direct),
                Side::Comprehension(comprehension) => {
                    let mut given = outside();
                    if let Side::Term(target) = target {
                        named(target, &mut given);
                    }
                    let (mut head, mut inner) = (Slots::new(), Slots::new());
                    comprehension.kind.each_term(&mut |term| {
                        named(term, &mut head);
                        taken_over(term, &mut inner);
                    });
                    let body = &mut comprehension.body;
                    deeper(|| message(body, (&head, inner), &given, (true, used)));
                }
                Side::Ref(reference) => taken_from(reference, direct, is_new, used),
            }
        }
        OpKind::Test(side) => taken_by_key(side, direct, is_new, used),
        OpKind::Call(call) => {
            if !call.output.as_ref().is_some_and(|output| has_direct(output, direct)) {
                return;
            }
            match (&*call.name, call.target) {
                (_, Target::Function(set)) => {
                    used.sets.insert(set);
                }
                // What the second operand lacks takes nothing away.
                ("minus", _) => call.args.iter().take(1).for_each(|arg| taken_over(arg, direct)),
                (name, _) if COMBINING.contains(&name) => {
                    call.args.iter().for_each(|arg| taken_over(arg, direct));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

/// Takes over what a reference looks up, or iterates over.
fn taken_from(reference: &Ref, direct: &mut Slots, is_new: &dyn Fn(Slot) -> bool, used: &mut Used) {
    let takes = |term: &Term| match term {
        Term::Var(slot) => is_new(*slot),
        term => matches!(term, Term::Const(_)),
    };
    match &reference.head {
        Head::Data(resolved @ Resolved::Rules(_, count)) => {
            let path = reference.path.get(*count..).unwrap_or_default();
            if matches!(path, [Term::Var(_)]) || path.iter().all(takes) {
                used.add(resolved, path);
            }
        }
        Head::Data(resolved) => used.add(resolved, &reference.path),
        Head::Var(slot) if reference.path.iter().all(takes) => {
            direct.insert(*slot);
        }
        _ => {}
    }
}

/// Takes over the keys that a reference iterates over, if one of them is a message.
fn taken_by_key(side: &Side, direct: &mut Slots, is_new: &dyn Fn(Slot) -> bool, used: &mut Used) {
    let Side::Ref(reference) = side else { return };
    let is_key =
        |term: &Term| matches!(term, Term::Var(slot) if direct.contains(slot) && is_new(*slot));
    if reference.path.iter().any(is_key) {
        taken_from(reference, direct, is_new, used);
    }
}

/// Returns `true` for a variable or pattern of variables of which one has a message.
fn is_direct(side: &Side, direct: &Slots) -> bool {
    matches!(side, Side::Term(term) if has_direct(term, direct))
}

fn has_direct(term: &Term, direct: &Slots) -> bool {
    let mut found = false;
    if is_pattern(term) {
        term.each_slot(&mut |slot| found |= direct.contains(&slot));
    }
    found
}

fn is_print(op: &Op) -> bool {
    matches!(&op.kind, OpKind::Call(call) if matches!(call.target, Target::Native(Native::Print)))
}

/// Returns the variables that an expression assigns, if that is all it does: with one answer, or none. Of an
/// equality, either side may be what is assigned.
fn assigned(op: &Op) -> Vec<Slots> {
    if op.single { assigned_by(op) } else { Vec::new() }
}

fn assigned_by(op: &Op) -> Vec<Slots> {
    let slots = |term: &Term| {
        let mut slots = Slots::new();
        named(term, &mut slots);
        slots
    };
    let of_side = |side: &Side| match side {
        Side::Term(term) if is_pattern(term) => Some(slots(term)),
        _ => None,
    };
    match &op.kind {
        OpKind::With(_, op) => assigned_by(op),
        OpKind::Unify(sides) => [&sides.0, &sides.1].into_iter().filter_map(of_side).collect(),
        OpKind::Call(call) if call.site.is_none() => {
            call.output.iter().filter(|term| is_pattern(term)).map(slots).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns `true` for a variable, and for a pattern that holds for every value of its form.
fn is_pattern(term: &Term) -> bool {
    match term {
        Term::Var(_) => true,
        Term::Array(items) => items.iter().all(is_pattern),
        Term::Object(members) => {
            members.iter().all(|(key, value)| matches!(key, Term::Const(_)) && is_pattern(value))
        }
        _ => false,
    }
}
