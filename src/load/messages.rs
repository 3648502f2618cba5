//! Which messages a definition of a rule can give, as far as its own text shows.
//!
//! Owns telling apart the definitions of `deny` for a reader who has a message and looks for the
//! line that it came from. It is for display: nothing is decided by it.

use crate::rego::syntax::tree::{Body, ExprKind, Rule, Term, TermKind};

/// The number of variables that are followed to what they are assigned.
const DEPTH: u8 = 8;

/// Pieces of text with anything between them.
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
        for piece in middle {
            match left.split_once(piece.as_str()) {
                Some((_, after)) => left = after,
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

/// The messages of one definition; nothing where they aren't known.
pub(super) fn patterns(rule: &Rule) -> Option<Vec<Pattern>> {
    if rule.else_rule.is_some() || rule.head.is_function {
        return None;
    }
    match (&rule.head.key, &rule.head.value) {
        (Some(key), None) => pattern(key, &rule.body, DEPTH).map(|pattern| vec![pattern]),
        (None, Some(value)) => elements(value, &rule.body),
        _ => None,
    }
}

/// The elements of a whole set or array.
fn elements(value: &Term, body: &Body) -> Option<Vec<Pattern>> {
    match &value.kind {
        TermKind::Array(items) | TermKind::Set(items) => {
            items.iter().map(|item| pattern(item, body, DEPTH)).collect()
        }
        TermKind::ArrayComprehension(it) | TermKind::SetComprehension(it) => {
            pattern(&it.term, &it.body, DEPTH).map(|pattern| vec![pattern])
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

/// What a body's own statements assign to a variable.
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

/// A format string of `sprintf`: a verb stands for anything.
fn format(text: &str) -> Pattern {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            piece.push(c);
        } else {
            while chars.next_if(|c| !c.is_alphabetic()).is_some() {}
            chars.next();
            pieces.push(std::mem::take(&mut piece));
        }
    }
    pieces.push(piece);
    Pattern(pieces)
}
