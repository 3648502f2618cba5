//! Which texts a definition of a rule can say, as far as its own text shows.
//!
//! Owns telling apart the definitions of `deny` for somebody who has a message and looks for the
//! line that it came from. It is for display: nothing is decided by it.

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Query, Rule, RuleHead};

use crate::Position;

/// How many variables are followed to what they are assigned.
const DEPTH: u8 = 8;

/// One of the definitions of a rule.
#[derive(Debug, Clone)]
pub struct RuleDefinition {
    /// Its head.
    pub position: Position,
    /// What its messages look like; nothing where that isn't known.
    pub(super) patterns: Option<Vec<Pattern>>,
}

/// Pieces of text with anything between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

impl RuleDefinition {
    /// Whether this definition can have said `message`: an element of it that is this string, or
    /// an object with this `message`.
    pub fn can_say(&self, message: &str) -> bool {
        self.patterns.as_ref().is_none_or(|all| all.iter().any(|pattern| pattern.matches(message)))
    }
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
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

/// The texts of one definition; nothing where they aren't known.
pub(super) fn patterns(rule: &Rule) -> Option<Vec<Pattern>> {
    match rule {
        Rule::Default { value, .. } => elements(value, &[]),
        Rule::Spec { head, bodies, .. } => {
            if bodies.iter().any(|body| body.assign.is_some()) {
                return None;
            }
            let queries: Vec<&Query> = bodies.iter().map(|body| body.query.as_ref()).collect();
            match head {
                RuleHead::Set { key: Some(key), .. } => one(key, &queries),
                RuleHead::Set { refr, key: None, .. } => match refr.as_ref() {
                    Expr::RefBrack { index, .. } => one(index, &queries),
                    _ => None,
                },
                RuleHead::Compr { assign: Some(assign), .. } => elements(&assign.value, &queries),
                RuleHead::Compr { .. } | RuleHead::Func { .. } => None,
            }
        }
    }
}

/// The elements of a whole set or array.
fn elements(value: &ExprRef, queries: &[&Query]) -> Option<Vec<Pattern>> {
    match value.as_ref() {
        Expr::Array { items, .. } | Expr::Set { items, .. } => {
            items.iter().map(|item| pattern(item, queries, DEPTH)).collect()
        }
        Expr::ArrayCompr { term, query, .. } | Expr::SetCompr { term, query, .. } => {
            one(term, &[query.as_ref()])
        }
        // `set()` and `{}` say nothing.
        Expr::Call { fcn, params, .. } if fcn.span().text() == "set" && params.is_empty() => {
            Some(Vec::new())
        }
        Expr::Object { fields, .. } if fields.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

fn one(element: &ExprRef, queries: &[&Query]) -> Option<Vec<Pattern>> {
    pattern(element, queries, DEPTH).map(|pattern| vec![pattern])
}

fn pattern(element: &ExprRef, queries: &[&Query], depth: u8) -> Option<Pattern> {
    match element.as_ref() {
        Expr::String { value, .. } | Expr::RawString { value, .. } => {
            Some(Pattern(vec![value.as_string().ok()?.to_string()]))
        }
        Expr::Object { fields, .. } => {
            let named = |key: &Expr| matches!(super::scope::key(key), Some(k) if *k == *"message");
            let mut messages = fields.iter().filter(|(_, key, _)| named(key));
            let (_, _, value) = messages.next()?;
            pattern(value, queries, depth)
        }
        Expr::Call { fcn, params, .. } if fcn.span().text() == "sprintf" => {
            let (Expr::String { value, .. } | Expr::RawString { value, .. }) =
                params.first()?.as_ref()
            else {
                return None;
            };
            Some(format(value.as_string().ok()?))
        }
        Expr::Var { span, .. } => {
            let mut assigned = queries.iter().flat_map(|query| assigned(query, span.text()));
            match (assigned.next(), assigned.next(), depth.checked_sub(1)) {
                (Some(value), None, Some(depth)) => pattern(value, queries, depth),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What a query's own statements assign to a variable.
fn assigned<'q>(query: &'q Query, name: &str) -> impl Iterator<Item = &'q ExprRef> {
    query.stmts.iter().filter_map(move |statement| {
        let ast::Literal::Expr { expr, .. } = &statement.literal else { return None };
        let Expr::AssignExpr { lhs, rhs, .. } = expr.as_ref() else { return None };
        let is = |side: &Expr| matches!(side, Expr::Var { span, .. } if span.text() == name);
        match (is(lhs), is(rhs)) {
            (true, false) => Some(rhs),
            (false, true) => Some(lhs),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use crate::evaluate::load::{LoadOptions, load};
    use crate::evaluate::sources::{ModuleSource, Sources};

    /// The lines of the definitions that can have said a message.
    fn lines(module: &str, message: &str) -> Vec<u32> {
        let source = ModuleSource { path: "p.rego".to_owned(), text: module.to_owned() };
        let sources = Sources { modules: vec![source], ..Sources::default() };
        let loaded = load(&sources, &LoadOptions::default()).unwrap();
        let package = loaded.packages().next().unwrap();
        let rule = package.rules.iter().find(|rule| rule.name == "deny").unwrap();
        let can = rule.definitions.iter().filter(|definition| definition.can_say(message));
        can.map(|definition| definition.position.line).collect()
    }

    #[test]
    fn definitions_are_told_apart_by_what_they_can_say() {
        let module = "package p\n\ndeny contains \"plain\"\n\n\
            deny contains sprintf(\"%d%% of %-5s\", [1, input.x])\n\n\
            deny contains {\"message\": m, \"id\": 1} if {\n\tm := sprintf(\"a %v b %v c\", [1, 2])\n}\n\n\
            deny contains {\"message\": `raw`}\n";
        for (message, expected) in [
            ("plain", vec![3]),
            ("plain ", vec![]),
            ("7% of it", vec![5]),
            ("a 1 b 2 c", vec![7]),
            ("a  b  c", vec![7]),
            ("a b c", vec![]),
            ("raw", vec![11]),
        ] {
            assert_eq!(lines(module, message), expected, "{message}");
        }
    }

    #[test]
    fn what_is_not_known_can_be_anything() {
        let module = "package p\n\ndeny contains m if some m in input.xs\n\n\
            deny contains m if {\n\tm := \"one\"\n}\n\n\
            deny contains concat(\"\", [\"a\"])\n\ndeny contains {\"msg\": \"x\"}\n";
        assert_eq!(lines(module, "one"), [3, 5, 9, 11]);
        assert_eq!(lines(module, "two"), [3, 9, 11]);
        let module =
            "package p\n\ndefault deny := set()\n\ndeny := {\"a\", x} if {\n\tx := \"b\"\n}\n";
        assert_eq!(lines(module, "b"), [5]);
        let module = "package p\n\ndeny := [m | m := sprintf(\"x %s\", [input.y])]\n";
        assert_eq!(lines(module, "x y"), [3]);
    }
}
