//! The messages that a definition of a rule can give, as far as its own text shows.
//!
//! Owns the patterns by which a reader with a message finds the definition of `deny` that it came
//! from. They are for display: no verdict depends on them.

use crate::rego::syntax::tree::{Body, Collection, ExprKind, Rule, Term, TermKind};

/// The most variables that are followed to the value assigned to them.
const DEPTH: u8 = 8;

/// Literal parts of a text, with anything between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    pub(super) fn matches(&self, text: &str) -> bool {
        let (first, rest) = match self.0.as_slice() {
            [] => return true,
            [only] => return only == text,
            [first, rest @ ..] => (first, rest),
        };
        let Some((last, middle)) = rest.split_last() else { return false };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for literal in middle {
            match left.split_once(literal.as_str()) {
                Some((_, after)) => left = after,
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

/// Returns patterns of the messages of one definition, or `None` if they aren't known.
pub(super) fn patterns(rule: &Rule) -> Option<Vec<Pattern>> {
    if rule.else_rule.is_some() || rule.head.is_function() {
        return None;
    }
    match (&rule.head.key, &rule.head.value) {
        (Some(key), None) => pattern(key, &rule.body, DEPTH).map(|pattern| vec![pattern]),
        (None, Some(value)) => elements(value, &rule.body),
        _ => None,
    }
}

/// Returns patterns of the elements of a set or array that is given as a whole.
fn elements(value: &Term, body: &Body) -> Option<Vec<Pattern>> {
    match &value.kind {
        TermKind::Array(items) | TermKind::Set(items) => {
            items.iter().map(|item| pattern(item, body, DEPTH)).collect()
        }
        TermKind::Comprehension(Collection::Array | Collection::Set, inner) => {
            pattern(&inner.value, &inner.body, DEPTH).map(|pattern| vec![pattern])
        }
        TermKind::Object(members) if members.is_empty() => Some(Vec::new()),
        TermKind::Group(inner) => elements(inner, body),
        _ => None,
    }
}

fn pattern(element: &Term, body: &Body, depth: u8) -> Option<Pattern> {
    match &element.kind {
        TermKind::String(text) => Some(Pattern(vec![text.to_string()])),
        TermKind::Object(members) => {
            let named = |key: &Term| matches!(&key.kind, TermKind::String(k) if &**k == "message");
            let (_, value) = members.iter().find(|(key, _)| named(key))?;
            pattern(value, body, depth)
        }
        TermKind::Call(terms) => {
            let (operator, arguments) = terms.split_first()?;
            let name = match &operator.kind {
                TermKind::Var(name) => name,
                TermKind::Ref(parts) => match parts.as_slice() {
                    [Term { kind: TermKind::Var(name), .. }] => name,
                    _ => return None,
                },
                _ => return None,
            };
            match (&**name, arguments.first().map(|first| &first.kind)) {
                ("sprintf", Some(TermKind::String(text))) => Some(format(text)),
                _ => None,
            }
        }
        TermKind::Group(inner) => pattern(inner, body, depth),
        TermKind::Var(name) => {
            let mut assigned = assigned(body, name);
            match (assigned.next(), assigned.next(), depth.checked_sub(1)) {
                (Some(value), None, Some(depth)) => pattern(value, body, depth),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the terms that a body's own statements assign to a variable.
fn assigned<'q>(body: &'q Body, name: &str) -> impl Iterator<Item = &'q Term> {
    body.iter().filter_map(move |statement| {
        let ExprKind::Call(terms) = &statement.kind else { return None };
        let [operator, left, right] = terms.as_slice() else { return None };
        let is = |term: &Term, name: &str| match &term.kind {
            TermKind::Var(var) => &**var == name,
            TermKind::Ref(parts) => {
                matches!(parts.as_slice(), [Term { kind: TermKind::Var(var), .. }] if &**var == name)
            }
            _ => false,
        };
        if !is(operator, "eq") && !is(operator, "assign") {
            return None;
        }
        match (is(left, name), is(right, name)) {
            (true, false) => Some(right),
            (false, true) => Some(left),
            _ => None,
        }
    })
}

/// Returns the pattern of a `sprintf` format string: a verb stands for anything.
fn format(text: &str) -> Pattern {
    let mut literals = Vec::new();
    let mut literal = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            literal.push(c);
        } else {
            while chars.next_if(|c| !c.is_alphabetic()).is_some() {}
            chars.next();
            literals.push(std::mem::take(&mut literal));
        }
    }
    literals.push(literal);
    Pattern(literals)
}
