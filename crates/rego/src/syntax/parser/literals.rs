//! Parses the statements of bodies: `some`, `every`, `not`, `and`, `or`, `with`, assignments,
//! terms.

use std::sync::Arc;

use super::super::token::{Keywords, Tok};
use super::super::tree::{
    Body, Every, Expr, ExprKind, Logical, Not, SomeDecl, Span, Term, TermKind, With, is_root,
};
use super::{LiteralMemo, Parser, hints};
use crate::problem::Problem;

/// An operand of `and`, `or` or `not`.
struct Operand {
    body: Body,
    /// `true` if written with braces.
    explicit: bool,
    span: Span,
}

impl Operand {
    fn of(expr: Expr) -> Self {
        let span = expr.span;
        Self { body: vec![expr], explicit: false, span }
    }
}

/// The interpretation of a parenthesis at the beginning of an operand.
enum Group {
    /// Parentheses around operands.
    Operand(Operand),
    /// Part of a term, which isn't parsed yet.
    Term,
    /// A syntax error, which has been reported.
    Error,
}

impl Parser<'_> {
    /// Parses statements up to `end`, which isn't consumed.
    pub(super) fn body(&mut self, end: Tok) -> Option<Body> {
        self.nested(|parser| parser.query(false, end))
    }

    pub(super) fn query(&mut self, require_semicolon: bool, end: Tok) -> Option<Body> {
        if self.tok() == end {
            return self.fail_here("found empty body");
        }
        let mut body = Vec::new();
        loop {
            body.push(self.literal_expr()?);
            if self.tok() == Tok::Semicolon {
                self.scan();
                continue;
            }
            if self.tok() == end || require_semicolon {
                return Some(body);
            }
            if !self.current().newline {
                if !self.failed() {
                    self.illegal(&format!("expected \\n or ; or {}", end.name()));
                }
                return None;
            }
        }
    }

    /// Parses a statement.
    pub(super) fn literal_expr(&mut self) -> Option<Expr> {
        let first = self.state.at;
        // As in OPA, a name that was tried as a keyword here before can't be parsed any more.
        let unreadable = self.tok().is_keyword() && matches!(self.memoized_term(), Some((None, _)));
        // An earlier error would become part of the memoized state.
        let clean = !self.failed();
        if clean
            && !unreadable
            && let Some(kept) = self.literals.get(&first).cloned()
        {
            if let Some(named) = kept.named {
                self.terms.retain(|(index, _)| *index < first);
                self.terms.push((first, named));
            }
            self.restore(kept.state);
            return kept.expr;
        }
        let outer = std::mem::take(&mut self.state.height);
        let result = self.nested(Self::literal_located);
        self.state.height = self.state.height.max(outer);
        if clean && self.attempts > 0 && self.logical_keywords() {
            let is_keyword =
                self.token(first).kind == Tok::Ident && self.kind_at(first).is_keyword();
            let index = self.terms.binary_search_by_key(&first, |(index, _)| *index);
            let named = index.ok().filter(|_| is_keyword).and_then(|index| self.terms.get(index));
            let named = named.map(|(_, kept)| kept.clone());
            let kept = LiteralMemo { expr: result.clone(), state: self.save(), named };
            self.literals.insert(first, kept);
        }
        result
    }

    fn literal_located(&mut self) -> Option<Expr> {
        let start = self.start();
        let mut expr = self.literal_inner()?;
        expr.span = self.since(start);
        if let ExprKind::Not(not) = &mut expr.kind
            && !not.explicit
        {
            for inner in &mut not.body {
                inner.span = expr.span;
            }
        }
        Some(expr)
    }

    pub(super) fn logical_keywords(&self) -> bool {
        self.keywords.has(Keywords::AND) || self.keywords.has(Keywords::OR)
    }

    fn at_logical(&self) -> bool {
        matches!(self.tok(), Tok::LogicalAnd | Tok::LogicalOr)
    }

    fn literal_inner(&mut self) -> Option<Expr> {
        // `{ … } and …`: braces hold a body only if an operator follows them.
        if self.tok() == Tok::LBrace && self.logical_keywords() {
            let saved = self.save();
            let index = self.terms.partition_point(|(first, _)| *first < saved.at);
            let kept = self.terms.split_off(index);
            let span = self.here();
            let body = self.attempt(|parser| {
                parser.scan();
                let body = parser.body(Tok::RBrace)?;
                parser.scan();
                Some(body)
            });
            if let Some(body) = body
                && self.at_logical()
            {
                if self.is_ambiguous_union(&body) {
                    self.error_ambiguous_union(span);
                    return None;
                }
                let outer = self.logical_or(Operand { body, explicit: true, span })?;
                return self.attach_with(outer);
            }
            self.restore(saved);
            self.terms.truncate(index);
            self.terms.extend(kept);
        }
        if self.tok() == Tok::LParen && self.logical_keywords() {
            match self.logical_group(false) {
                Group::Operand(operand) => return self.fold_logical_tail(operand),
                Group::Error => return None,
                Group::Term => {}
            }
        }
        if self.may_be_name(self.tok()) && matches!(self.next_or_space(), Tok::Dot | Tok::LBracket)
        {
            self.state.tok = Tok::Ident;
            return self.plain(None);
        }
        let not = self.negation();
        if let Some(not) = not {
            if self.not_bodies && self.tok() == Tok::LBrace {
                let operand = self.not_body(not)?;
                return self.fold_logical_tail(operand);
            }
            match self.tok() {
                Tok::Some => {
                    return self.reject("illegal negation of 'some'");
                }
                Tok::Every => {
                    return self.reject("illegal negation of 'every'");
                }
                _ => {}
            }
        }
        match self.tok() {
            Tok::Some => self.some(),
            Tok::Every => self.every(),
            _ => self.plain(not),
        }
    }

    /// Consumes `not`, if it's a keyword here, and returns its position.
    fn negation(&mut self) -> Option<u32> {
        if self.tok() != Tok::Not || matches!(self.next_or_space(), Tok::Dot | Tok::LBracket) {
            return None;
        }
        let start = self.start();
        self.scan();
        Some(start)
    }

    /// Parses a term or an assignment, which may follow `not` or be the first operand of `and` and
    /// `or`.
    fn plain(&mut self, not: Option<u32>) -> Option<Expr> {
        let start = self.start();
        if let Some(not) = not
            && self.not_bodies
            && self.tok() == Tok::LParen
        {
            match self.logical_group(true) {
                Group::Operand(operand) => {
                    let span = self.since(not);
                    let negated = negation(operand.body, operand.explicit, span);
                    return self.fold_logical_tail(Operand::of(negated));
                }
                Group::Error => return None,
                Group::Term => {}
            }
        }
        let mut expr = self.expr()?;
        let mut with = None;
        if self.tok() == Tok::With {
            with = Some(self.here());
            expr.with = self.with()?;
        }
        if let Some(not) = not {
            if self.not_bodies {
                let with = std::mem::take(&mut expr.with);
                expr.span = self.since(not);
                expr = negation(vec![expr], false, self.since(not));
                expr.with = with;
            } else {
                expr.negated = true;
            }
        }
        if !self.at_logical() {
            return Some(expr);
        }
        let operator = self.tok().name();
        if let Some(with) = with {
            self.error_with_on_operand(with, operator);
            return None;
        }
        let begin = not.filter(|_| self.not_bodies).unwrap_or(start);
        expr.span = self.since(begin);
        if not.is_none() && self.slice(start, self.last_end()).starts_with('{') {
            let span = expr.span;
            let empty = matches!(&expr.kind, ExprKind::Term(term)
                if matches!(&term.kind, TermKind::Object(pairs) if pairs.is_empty()));
            if empty && expr.with.is_empty() {
                self.error(span, "found empty body");
            } else {
                let message = format!(
                    "operand of `{operator}` cannot begin with `{{` unless the braces hold a body"
                );
                let text = self.slice(start, self.last_end());
                let hint = format!("wrap the operand to keep the value: `({text}) {operator} ...`");
                self.report(Problem::parse(span, message).hint(hint));
            }
            return None;
        }
        let outer = self.logical_or(Operand::of(expr))?;
        self.attach_with(outer)
    }

    fn with(&mut self) -> Option<Vec<With>> {
        let mut withs = Vec::new();
        while self.tok() == Tok::With {
            let start = self.start();
            self.scan();
            self.require(Tok::Ident, "expected ident")?;
            let target = self.term()?;
            if !matches!(target.ungrouped().kind, TermKind::Ref(_) | TermKind::Var(_)) {
                self.illegal("expected with target path");
            }
            self.require(Tok::As, "expected as keyword")?;
            self.scan();
            let value = self.term_infix()?;
            withs.push(With { target, value, span: self.since(start) });
        }
        Some(withs)
    }

    fn attach_with(&mut self, mut expr: Expr) -> Option<Expr> {
        if self.tok() == Tok::With {
            expr.with = self.with()?;
        }
        Some(expr)
    }

    fn error_with_on_operand(&mut self, span: Span, operator: &str) {
        let message = format!("`with` modifier is not allowed on operand of `{operator}`");
        let hint = format!(
            "wrap the operand in `(...)` or `{{...}}` to scope, or move `with` after the \
             `{operator}` expression to apply it to the whole expression"
        );
        self.report(Problem::parse(span, message).hint(hint));
    }

    fn error_ambiguous_union(&mut self, span: Span) {
        let message = "ambiguous `{ ... | ... }` operand: read as a body holding a set-union \
                       expression, not as a comprehension";
        let hint = "write `({ ... | ... })` for the comprehension, or `{(... | ...)}` for the set \
                    union";
        self.report(Problem::parse(span, message).hint(hint));
    }

    /// Parses what follows a complete operand: further operators, or nothing.
    fn fold_logical_tail(&mut self, operand: Operand) -> Option<Expr> {
        let expr = if self.at_logical() {
            self.logical_or(operand)?
        } else {
            operand.body.into_iter().next()?
        };
        self.attach_with(expr)
    }

    fn some(&mut self) -> Option<Expr> {
        let start = self.start();
        let saved = self.save();
        let term = self.attempt(|parser| {
            parser.scan();
            parser.term_infix()
        });
        if let Some(term) = term
            && let TermKind::Call(parts) = &term.ungrouped().kind
        {
            match member_arity(parts) {
                Some(arity) if parts.len() == arity => {}
                Some(_) => {
                    return self.reject("illegal domain");
                }
                None => {
                    return self.reject("expected `x in xs` or `x, y in xs` expression");
                }
            }
            let symbols = vec![term.into_ungrouped()];
            let span = self.since(start);
            let expr = Expr::new(ExprKind::Some(SomeDecl { symbols, span }), span);
            return self.attach_with(expr);
        }
        self.restore(saved);
        let mut symbols = Vec::new();
        loop {
            self.scan();
            self.require(Tok::Ident, "expected var")?;
            symbols.push(self.var_here());
            self.scan();
            if self.tok() != Tok::Comma {
                break;
            }
        }
        let span = self.since(start);
        Some(Expr::new(ExprKind::Some(SomeDecl { symbols, span }), span))
    }

    fn every(&mut self) -> Option<Expr> {
        const EXPECTED: &str = "expected `x[, y] in xs { ... }` expression";
        let start = self.start();
        self.scan();
        let term = self.term_infix()?.into_ungrouped();
        let TermKind::Call(parts) = term.into_kind() else {
            return self.reject(EXPECTED);
        };
        let Some(arity) = member_arity(&parts) else {
            return self.reject(EXPECTED);
        };
        if parts.len() != arity {
            return self.reject("illegal domain");
        }
        let mut parts = parts.into_iter().skip(1);
        let key = if arity == 4 { parts.next() } else { None };
        let (value, domain) = (parts.next()?, parts.next()?);
        if key.as_ref().is_some_and(|key| !is_var(key)) {
            return self.reject("expected key to be a variable");
        }
        if !is_var(&value) {
            return self.reject("expected value to be a variable");
        }
        self.require(Tok::LBrace, hints::MISSING_BODY)?;
        self.scan();
        let body = self.body(Tok::RBrace)?;
        self.scan();
        let span = self.since(start);
        let every = Every { key, value, domain, body, span };
        let expr = Expr::new(ExprKind::Every(Box::new(every)), span);
        self.attach_with(expr)
    }

    /// Parses `{ … }` after `not`.
    fn not_body(&mut self, not: u32) -> Option<Operand> {
        let open = self.here();
        let hint = "`not { ... }` takes statements; to negate a value, write `not (...)`";
        let body = self.operand_body(Some(hint.to_owned()))?;
        if self.is_ambiguous_union(&body) {
            self.error_ambiguous_union(open);
            return None;
        }
        let span = self.since(not);
        Some(Operand::of(negation(body, true, span)))
    }

    /// Parses an operand in braces; adds the hint to its error, unless the braces are empty.
    fn operand_body(&mut self, hint: Option<String>) -> Option<Body> {
        let empty = self.kind_at(self.state.at + 1) == Tok::RBrace;
        self.scan();
        let Some(body) = self.body(Tok::RBrace) else {
            if !empty && let Some(problem) = self.state.errors.last_mut() {
                problem.hints.extend(hint);
            }
            return None;
        };
        self.scan();
        Some(body)
    }

    /// Parses the operators after a first operand. They associate to the left, and `and` binds
    /// tighter.
    fn logical_or(&mut self, first: Operand) -> Option<Expr> {
        self.nested(|parser| {
            let mut left = first;
            if parser.tok() == Tok::LogicalAnd {
                left = Operand::of(parser.logical_and(left)?);
            }
            while parser.tok() == Tok::LogicalOr {
                parser.scan();
                let mut right = parser.logical_operand(Some("or"))?;
                if parser.tok() == Tok::LogicalAnd {
                    right = Operand::of(parser.logical_and(right)?);
                }
                parser.check_void_calls(&left.body, &right.body, "or");
                left = Operand::of(parser.logical(left, right, ExprKind::Or)?);
            }
            left.body.into_iter().next()
        })
    }

    fn logical_and(&mut self, first: Operand) -> Option<Expr> {
        self.nested(|parser| {
            let mut left = first;
            while parser.tok() == Tok::LogicalAnd {
                parser.scan();
                let right = parser.logical_operand(Some("and"))?;
                parser.check_void_calls(&left.body, &right.body, "and");
                left = Operand::of(parser.logical(left, right, ExprKind::And)?);
            }
            left.body.into_iter().next()
        })
    }

    fn logical(
        &mut self,
        left: Operand,
        right: Operand,
        kind: fn(Box<Logical>) -> ExprKind,
    ) -> Option<Expr> {
        self.grow()?;
        let span = self.since(left.span.start);
        let node = Logical {
            left: left.body,
            right: right.body,
            explicit_left: left.explicit,
            explicit_right: right.explicit,
            span,
        };
        Some(Expr::new(kind(Box::new(node)), span))
    }

    /// Parses an operand after `operator`, or the first one within parentheses.
    fn logical_operand(&mut self, operator: Option<&str>) -> Option<Operand> {
        if self.tok() == Tok::LBrace {
            let span = self.here();
            let hint = operator.map(|operator| {
                format!("braces after `{operator}` hold statements; to use a value, write `(...)`")
            });
            let body = self.operand_body(hint)?;
            if self.is_ambiguous_union(&body) {
                self.error_ambiguous_union(span);
            }
            return Some(Operand { body, explicit: true, span });
        }
        let not = self.negation();
        if let Some(not) = not
            && self.not_bodies
            && self.tok() == Tok::LBrace
        {
            return self.not_body(not);
        }
        if self.tok() == Tok::LParen
            && self.logical_keywords()
            && (not.is_none() || self.not_bodies)
        {
            match self.logical_group(true) {
                Group::Operand(operand) => {
                    let Some(not) = not else { return Some(operand) };
                    let span = self.since(not);
                    return Some(Operand::of(negation(operand.body, operand.explicit, span)));
                }
                Group::Error => return None,
                Group::Term => {}
            }
        }
        let start = self.start();
        let mut expr = self.expr()?;
        expr.span = self.since(start);
        if let Some(not) = not {
            if self.not_bodies {
                expr = negation(vec![expr], false, self.since(not));
            } else {
                expr.negated = true;
            }
        }
        Some(Operand::of(expr))
    }

    /// Interprets a parenthesis: as operands, or as part of a term.
    fn logical_group(&mut self, operand_context: bool) -> Group {
        self.nested(|parser| Some(parser.logical_group_inner(operand_context)))
            .unwrap_or(Group::Error)
    }

    fn logical_group_inner(&mut self, operand_context: bool) -> Group {
        let saved = self.save();
        let open = self.here();
        self.scan();
        if self.tok() == Tok::RParen {
            if operand_context {
                self.error(open, "empty parenthesized group");
                return Group::Error;
            }
            self.restore(saved);
            return Group::Term;
        }
        let Some(mut left) = self.attempt(|parser| parser.logical_operand(None)) else {
            self.restore(saved);
            return Group::Term;
        };
        match self.tok() {
            Tok::LogicalAnd | Tok::LogicalOr => {
                let Some(expr) = self.logical_or(left) else { return Group::Error };
                let Some(expr) = self.attach_with(expr) else { return Group::Error };
                if !self.close_group() {
                    return Group::Error;
                }
                let span = self.since(open.start);
                Group::Operand(Operand { body: vec![expr], explicit: false, span })
            }
            Tok::With if !left.explicit && left.body.len() == 1 => {
                let with_span = self.here();
                let Some(with) = self.with() else { return Group::Error };
                if let Some(only) = left.body.first_mut() {
                    only.with = with;
                }
                if self.at_logical() {
                    let operator = self.tok().name();
                    self.error_with_on_operand(with_span, operator);
                    return Group::Error;
                }
                if !self.close_group() {
                    return Group::Error;
                }
                if operand_context || self.at_logical() {
                    let span = self.since(open.start);
                    return Group::Operand(Operand { body: left.body, explicit: false, span });
                }
                self.restore(saved);
                Group::Term
            }
            _ if left.explicit => {
                // Parentheses can't contain a body, but the braces may be a value.
                self.restore(saved.clone());
                self.scan();
                let term = self.attempt(Self::term);
                self.restore(saved);
                if term.is_some() {
                    return Group::Term;
                }
                let message = "`(...)` in an operand position cannot contain a body";
                let hint = "drop the parentheses to keep the body";
                self.report(Problem::parse(open, message).hint(hint));
                Group::Error
            }
            _ if is_logical(&left.body) || is_negated(&left.body) => {
                if !self.close_group() {
                    return Group::Error;
                }
                let span = self.since(open.start);
                Group::Operand(Operand { span, ..left })
            }
            _ => {
                self.restore(saved);
                Group::Term
            }
        }
    }

    fn close_group(&mut self) -> bool {
        if self.tok() != Tok::RParen {
            self.error_here("expected ) to close parenthesized group");
            return false;
        }
        self.scan();
        true
    }

    /// Parses a term, a call as a statement, `x := y` or `x = y`.
    fn expr(&mut self) -> Option<Expr> {
        let start = self.start();
        let left = self.term_infix()?;
        let kind = if matches!(self.tok(), Tok::Assign | Tok::Unify) {
            let name = Arc::from(self.tok().name());
            let operator = Term { kind: TermKind::Var(name), span: self.here() };
            self.scan();
            let right = self.term_infix()?;
            ExprKind::Call(vec![operator, left, right])
        } else if let TermKind::Call(_) = left.ungrouped().kind {
            match left.into_ungrouped().into_kind() {
                TermKind::Call(parts) => ExprKind::Call(parts),
                _ => return None,
            }
        } else {
            ExprKind::Term(Box::new(left))
        };
        Some(Expr::new(kind, self.since(start)))
    }

    /// Returns `true` if a body such as `{x | y}` looks like a comprehension; parentheses around
    /// the union prevent that.
    fn is_ambiguous_union(&self, body: &Body) -> bool {
        let Some(first) = body.first() else { return false };
        let ExprKind::Call(parts) = &first.kind else { return false };
        let Some(operator) = parts.first() else { return false };
        matches!(&operator.kind, TermKind::Var(name) if &**name == "or")
            && self.slice(operator.span.start, operator.span.end) == "|"
            && !self.slice(first.span.start, first.span.end).starts_with('(')
    }

    /// Reports an operand that only prints, because it can't fail.
    fn check_void_calls(&mut self, left: &Body, right: &Body, operator: &str) {
        for body in [left, right] {
            let prints = |expr: &Expr| !expr.negated && is_print(expr);
            if let Some(first) = body.first()
                && body.iter().all(prints)
            {
                let message =
                    format!("operand of `{operator}` cannot consist only of calls to `print`");
                let hint = "`print` produces no value and always succeeds, so the operand can never \
                            fail; move it out of the operand, or add an expression that can fail";
                self.report(Problem::parse(first.span, message).hint(hint));
            }
        }
    }
}

fn negation(body: Body, explicit: bool, span: Span) -> Expr {
    Expr::new(ExprKind::Not(Not { body, explicit, span }), span)
}

fn is_var(term: &Term) -> bool {
    match &term.ungrouped().kind {
        TermKind::Var(name) => !is_root(name),
        _ => false,
    }
}

/// The number of parts of a call of `in`, including the function.
fn member_arity(parts: &[Term]) -> Option<usize> {
    let TermKind::Ref(operator) = &parts.first()?.kind else { return None };
    let [first, second] = operator.as_slice() else { return None };
    match (&first.kind, &second.kind) {
        (TermKind::Var(first), TermKind::String(second)) if &**first == "internal" => {
            match &**second {
                "member_2" => Some(3),
                "member_3" => Some(4),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns `true` for a call of a function without a result; there are no others than these.
fn is_print(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(parts) => parts.first().is_some_and(|operator| match &operator.kind {
            TermKind::Var(name) => &**name == "print",
            TermKind::Ref(_) => {
                matches!(operator.to_string().as_str(), "internal.print" | "internal.test_case")
            }
            _ => false,
        }),
        _ => false,
    }
}

fn is_logical(body: &Body) -> bool {
    matches!(body.as_slice(), [Expr { kind: ExprKind::And(_) | ExprKind::Or(_), .. }])
}

fn is_negated(body: &Body) -> bool {
    match body.as_slice() {
        [only] => only.negated || matches!(only.kind, ExprKind::Not(_)),
        _ => false,
    }
}
