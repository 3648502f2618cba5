//! Parses terms: values, references, calls, operators, collections, comprehensions.

use std::sync::Arc;

use super::super::compare;
use super::super::lexer::{unescape, unescape_template};
use super::super::token::Tok;
use super::super::tree::{
    Body, Collection, ExprKind, Span, Template, TemplatePart, Term, TermKind, is_root,
};
use super::statements::value_name;
use super::{BaseVersion, Parser};
use crate::value::{Number, NumberError};

/// The precedence of an operator, from the loosest to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Relation,
    Or,
    And,
    Sum,
    Product,
}

impl Precedence {
    fn of(tok: Tok) -> Option<Self> {
        Some(match tok {
            Tok::Equal | Tok::Neq | Tok::Lt | Tok::Gt | Tok::Lte | Tok::Gte => Self::Relation,
            Tok::Or => Self::Or,
            Tok::And => Self::And,
            Tok::Add | Tok::Sub => Self::Sum,
            Tok::Mul | Tok::Div | Tok::Rem => Self::Product,
            _ => return None,
        })
    }

    fn tighter(self) -> Option<Self> {
        Some(match self {
            Self::Relation => Self::Or,
            Self::Or => Self::And,
            Self::And => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product => return None,
        })
    }
}

impl Parser<'_> {
    /// Parses a term with operators, including `k, v in xs`.
    pub(super) fn term_infix(&mut self) -> Option<Term> {
        self.term_in(true)
    }

    /// Parses a term with operators in a list, where a comma ends it.
    fn term_infix_in_list(&mut self) -> Option<Term> {
        self.term_in(false)
    }

    fn term_in(&mut self, key_value: bool) -> Option<Term> {
        let outer = std::mem::take(&mut self.state.height);
        let term = self.term_in_chain(key_value);
        self.state.height = self.state.height.max(outer);
        term
    }

    fn term_in_chain(&mut self, key_value: bool) -> Option<Term> {
        let start = self.start();
        let mut left = self.term_with_operators(Precedence::Relation, None, start)?;
        loop {
            if key_value && self.tok() == Tok::Comma {
                let saved = self.save();
                let found = self.attempt(|parser| {
                    parser.scan();
                    let value = parser.term_with_operators(Precedence::Relation, None, start)?;
                    let operator = parser.member_operator(true)?;
                    let rest = parser.start();
                    let domain = parser.term_with_operators(Precedence::Relation, None, rest)?;
                    Some((operator, value, domain))
                });
                if let Some((operator, value, domain)) = found {
                    self.grow()?;
                    let kind = TermKind::Call(vec![operator, left, value, domain]);
                    left = Term { kind, span: self.since(start) };
                    if self.tok() == Tok::In {
                        continue;
                    }
                    return Some(left);
                }
                self.restore(saved);
            }
            self.name_of_reference();
            let Some(operator) = self.member_operator(false) else { return Some(left) };
            let rest = self.start();
            let Some(right) = self.term_with_operators(Precedence::Relation, None, rest) else {
                return Some(left);
            };
            self.grow()?;
            let kind = TermKind::Call(vec![operator, left, right]);
            left = Term { kind, span: self.since(start) };
            if self.tok() != Tok::In {
                return Some(left);
            }
        }
    }

    /// Parses `in` and returns the function that it stands for.
    fn member_operator(&mut self, with_key: bool) -> Option<Term> {
        if self.tok() != Tok::In {
            return None;
        }
        let span = self.here();
        self.scan();
        let name = if with_key { "member_3" } else { "member_2" };
        Some(Term::internal(name, span))
    }

    /// Parses operators of this precedence and tighter ones, which associate to the left.
    fn term_with_operators(
        &mut self,
        level: Precedence,
        first: Option<Term>,
        start: u32,
    ) -> Option<Term> {
        let mut left = match (first, level.tighter()) {
            (Some(first), _) => first,
            (None, Some(tighter)) => self.term_with_operators(tighter, None, start)?,
            (None, None) => self.term()?,
        };
        while Precedence::of(self.tok()) == Some(level) {
            let tok = self.tok();
            let operator = Term { kind: TermKind::Var(Arc::from(tok.name())), span: self.here() };
            self.scan();
            let right = match level.tighter() {
                Some(tighter) => {
                    let rest = self.start();
                    self.term_with_operators(tighter, None, rest)
                }
                None => self.term(),
            };
            // The error has been reported; the left operand is returned as it is.
            let Some(right) = right else { break };
            self.grow()?;
            let kind = TermKind::Call(vec![operator, left, right]);
            left = Term { kind, span: self.since(start) };
        }
        Some(left)
    }

    /// Parses a term, without operators around it.
    pub(super) fn term(&mut self) -> Option<Term> {
        if let Some((term, state)) = self.memoized_term().cloned() {
            self.restore(state);
            return term;
        }
        let first = self.state.at;
        // The term may have been parsed during an abandoned attempt.
        let again = self.logical_keywords() && !self.tok().is_keyword() && !self.failed();
        if again && let Some((term, state)) = self.attempted_terms.get(&first).cloned() {
            self.restore(state);
            self.memoize_term(first, term.as_ref());
            return term;
        }
        let outer = std::mem::take(&mut self.state.height);
        let term = self.nested(Self::term_inner);
        let term = if self.grow().is_some() { term } else { None };
        self.state.height = self.state.height.max(outer);
        self.memoize_term(first, term.as_ref());
        if again && self.attempts > 0 {
            self.attempted_terms.insert(first, (term.clone(), self.save()));
        }
        term
    }

    fn term_inner(&mut self) -> Option<Term> {
        // `and(x, y)` and `or(x, y)` are calls even where these words are keywords.
        if matches!(self.tok(), Tok::LogicalAnd | Tok::LogicalOr)
            && self.next_or_space() == Tok::LParen
        {
            self.state.tok = Tok::Ident;
        }
        let here = self.here();
        let scalar = |kind| Some(Term { kind, span: here });
        let mut minus = None;
        let term = match self.tok() {
            Tok::Null => scalar(TermKind::Null),
            Tok::True => scalar(TermKind::Bool(true)),
            Tok::False => scalar(TermKind::Bool(false)),
            Tok::Sub => {
                let saved = self.save();
                self.scan();
                if matches!(self.tok(), Tok::Ident | Tok::Contains) {
                    minus = Some(here);
                    Some(self.var_here())
                } else {
                    self.restore(saved);
                    self.number()
                }
            }
            Tok::Dot | Tok::Number => self.number(),
            Tok::String | Tok::RawString => self.string(),
            Tok::Template { raw, .. } => self.template(raw),
            Tok::Ident | Tok::Contains => Some(self.var_here()),
            Tok::LBracket => self.collection(Tok::RBracket),
            Tok::LBrace => self.collection(Tok::RBrace),
            Tok::LParen => self.group(),
            _ => self.reject(""),
        }?;
        let term = self.term_finish(term)?;
        let Some(minus) = minus else { return Some(term) };
        let zero = Term { kind: TermKind::Number(Number::from(0_i64)), span: minus };
        let operator = Term { kind: TermKind::Var(Arc::from("minus")), span: minus };
        let kind = TermKind::Call(vec![operator, zero, term]);
        Some(Term { kind, span: self.since(minus.start) })
    }

    fn group(&mut self) -> Option<Term> {
        let start = self.start();
        self.scan();
        let inner = self.term_infix()?;
        if self.tok() != Tok::RParen {
            return self.fail_here("non-terminated expression");
        }
        Some(self.closed(TermKind::Group(Box::new(inner)), start))
    }

    /// Parses the operands of a reference or the arguments of a call directly after a term.
    fn term_finish(&mut self, head: Term) -> Option<Term> {
        let start = head.span.start;
        self.scan_space();
        match self.tok() {
            Tok::LParen | Tok::Dot | Tok::LBracket => self.reference(head, start),
            Tok::Space => {
                self.scan();
                Some(head)
            }
            _ => Some(head),
        }
    }

    /// Parses the operands or parameters after the name of a rule. Space may precede them.
    pub(super) fn head_finish(&mut self, head: Term) -> Option<Term> {
        let start = head.span.start;
        self.scan_space();
        match self.tok() {
            tok if Precedence::of(tok).is_some() => self.illegal(""),
            Tok::Space => self.scan(),
            _ => {}
        }
        match self.tok() {
            Tok::LParen | Tok::Dot | Tok::LBracket => self.reference(head, start),
            _ => Some(head),
        }
    }

    /// Parses the operands and arguments after `head`, at the first of them.
    fn reference(&mut self, head: Term, start: u32) -> Option<Term> {
        self.nested(|parser| {
            parser.grow()?;
            parser.reference_inner(head, start)
        })
    }

    fn reference_inner(&mut self, head: Term, start: u32) -> Option<Term> {
        let allowed = match &head.kind {
            TermKind::Group(_) => match &head.ungrouped().kind {
                TermKind::Var(name) => !is_root(name),
                kind => may_be_head(kind),
            },
            kind => may_be_head(kind),
        };
        if !allowed {
            let message = format!("illegal ref (head cannot be {})", value_name(&head));
            let span = head.span;
            self.error(span, message);
        }
        let mut parts = vec![head];
        loop {
            match self.tok() {
                Tok::Dot => {
                    self.scan_space();
                    if self.tok() != Tok::Ident && !self.may_be_name(self.tok()) {
                        return self.reject("expected identifier");
                    }
                    let kind = TermKind::String(Arc::from(self.literal()));
                    parts.push(Term { kind, span: self.here() });
                    self.scan_space();
                }
                Tok::LParen => {
                    let operator = reference_or_name(parts, self.span(start, self.start()));
                    let call = self.call(operator, start)?;
                    return match self.tok() {
                        Tok::Space => {
                            self.scan();
                            Some(call)
                        }
                        Tok::Dot | Tok::LBracket => self.reference(call, start),
                        _ => Some(call),
                    };
                }
                Tok::LBracket => {
                    self.scan();
                    let operand = self.term_infix()?;
                    self.require(Tok::RBracket, "expected [")?;
                    parts.push(operand);
                    self.scan_space();
                }
                tok => {
                    let end = self.last_end();
                    if tok == Tok::Space {
                        self.scan();
                    }
                    return Some(reference_or_name(parts, self.span(start, end)));
                }
            }
        }
    }

    /// Parses a call, at its opening parenthesis.
    fn call(&mut self, operator: Term, start: u32) -> Option<Term> {
        self.scan();
        let is_set = matches!(&operator.ungrouped().kind, TermKind::Var(name) if &**name == "set");
        if self.tok() == Tok::RParen {
            let span = self.span(start, self.token_end());
            self.scan_space();
            let kind =
                if is_set { TermKind::Set(Vec::new()) } else { TermKind::Call(vec![operator]) };
            return Some(Term { kind, span });
        }
        let terms = self.term_list(Tok::RParen, vec![operator])?;
        let span = self.span(start, self.token_end());
        self.scan_space();
        Some(Term { kind: TermKind::Call(terms), span })
    }

    fn number(&mut self) -> Option<Term> {
        let start = self.start();
        let mut text = String::new();
        if self.tok() == Tok::Sub {
            text.push('-');
            self.scan();
            if !matches!(self.tok(), Tok::Number | Tok::Dot) {
                return self.reject("expected number");
            }
        }
        if self.tok() == Tok::Dot {
            text.push('.');
            self.scan();
            self.require(Tok::Number, "expected number")?;
        }
        let literal = self.literal();
        let bytes = literal.as_bytes();
        if !text.ends_with('.') && bytes.len() > 1 && bytes.first() == Some(&b'0') {
            let decimal = bytes.get(1) == Some(&b'.');
            let exponent = bytes.len() > 2 && matches!(bytes.get(1), Some(b'e' | b'E'));
            if !decimal && !exponent {
                return self.reject("expected number without leading zero");
            }
        }
        text.push_str(literal);
        let number = match read_number(&text) {
            Ok(number) => number,
            Err(NumberError::TooBig) => return self.fail_here("number too big"),
            Err(_) => return self.reject("invalid float"),
        };
        Some(self.closed(TermKind::Number(number), start))
    }

    fn string(&mut self) -> Option<Term> {
        let literal = self.literal();
        let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
        let text = if self.tok() == Tok::RawString {
            Arc::from(inner)
        } else if let Some(text) = unescape(inner) {
            Arc::from(text)
        } else {
            return self.fail_here(format!("illegal string literal: {literal}"));
        };
        Some(Term { kind: TermKind::String(text), span: self.here() })
    }

    fn template(&mut self, raw: bool) -> Option<Term> {
        let start = self.start();
        if matches!(self.options.version, BaseVersion::V0 | BaseVersion::V0CompatV1) {
            return self.fail_here("template strings are not supported by current capabilities");
        }
        let mut parts = Vec::new();
        // Only the first part begins with `$"`.
        let mut begin = 2;
        while let Tok::Template { last, .. } = self.tok() {
            let literal = self.literal();
            let inner = literal.get(begin..literal.len().saturating_sub(1)).unwrap_or_default();
            let Some(text) = unescape_template(inner, raw) else {
                return self.fail_here(format!("illegal template-string part: {literal}"));
            };
            if !text.is_empty() {
                let kind = TermKind::String(text.into());
                parts.push(TemplatePart::Text(Term { kind, span: self.here() }));
            }
            if last {
                break;
            }
            begin = 0;
            let comments = self.current().comments;
            self.scan();
            let commented = self.current().comments > comments;
            parts.push(self.template_expr(commented)?);
            if self.tok() != Tok::RBrace {
                return self.fail_here("expected } to end template string expression");
            }
            self.scan();
        }
        Some(self.closed(TermKind::Template(Template { parts, raw }), start))
    }

    fn template_expr(&mut self, commented: bool) -> Option<TemplatePart> {
        let Some(expr) = self.literal_expr() else {
            return self.fail_here("invalid template-string expression");
        };
        let operator = match &expr.kind {
            ExprKind::Call(terms) => match terms.first().map(|operator| &operator.kind) {
                Some(TermKind::Var(name)) => &**name,
                _ => "",
            },
            _ => "",
        };
        let wrong = match (&expr.kind, operator) {
            _ if expr.negated => "negation ('not')",
            (_, "eq") => "unification ('=')",
            (_, "assign") => "assignment (':=')",
            (ExprKind::Every(_), _) => "'every'",
            (ExprKind::Some(_), _) => "'some'",
            _ => "",
        };
        if !wrong.is_empty() {
            let message = format!("unexpected {wrong} in template-string expression");
            self.error(expr.span, message);
            return None;
        }
        let is_text = matches!(&expr.kind, ExprKind::Term(term)
        if !commented
            && matches!(
                term.ungrouped().kind,
                TermKind::String(_)
                    | TermKind::Number(_)
                    | TermKind::Bool(_)
                    | TermKind::Null
            ));
        if !is_text {
            return Some(TemplatePart::Expr(expr));
        }
        match expr.into_kind() {
            ExprKind::Term(term) => Some(TemplatePart::Text(*term)),
            _ => None,
        }
    }

    // Collections. A leading comma is allowed; it rules a comprehension out.

    /// Parses the body of a comprehension, at the `|` before it.
    fn comprehension_body(&mut self, end: Tok) -> Option<Body> {
        self.attempt(|parser| {
            parser.scan();
            parser.body(end)
        })
    }

    /// Makes a term that ends with the current token.
    fn closed(&self, kind: TermKind, start: u32) -> Term {
        Term { kind, span: self.span(start, self.token_end()) }
    }

    /// Parses an array, or a set or object, at its first token.
    fn collection(&mut self, end: Tok) -> Option<Term> {
        let start = self.start();
        let kind = self.collection_kind(end)?;
        Some(self.closed(kind, start))
    }

    fn collection_kind(&mut self, end: Tok) -> Option<TermKind> {
        let is_array = end == Tok::RBracket;
        self.scan();
        if self.tok() == end {
            let (array, object) = (TermKind::Array(Vec::new()), TermKind::Object(Vec::new()));
            return Some(if is_array { array } else { object });
        }
        let may_be_comprehension = self.tok() != Tok::Comma;
        if !may_be_comprehension {
            self.scan();
        }
        let saved = self.save();
        // The first term is parsed without operators: `[x | y]` is a comprehension, not a union.
        let head = self.attempt(Self::term)?;
        match self.tok() {
            Tok::Or if may_be_comprehension => {
                if let Some(body) = self.comprehension_body(end) {
                    let of = if is_array { Collection::Array } else { Collection::Set };
                    return Some(TermKind::comprehension(of, None, head, body));
                }
                if self.tok() != Tok::Comma {
                    return None;
                }
                self.restore(saved);
                return self.list(end, Vec::new());
            }
            Tok::Comma => return self.list_rest(end, head),
            tok if tok == end => return self.list_rest(end, head),
            Tok::Colon if !is_array => return self.object(head, may_be_comprehension),
            _ => {}
        }
        self.restore(saved);
        let head = self.term_infix_in_list()?;
        match self.tok() {
            Tok::Colon if !is_array => self.object(head, may_be_comprehension),
            tok if is_array || tok == end || tok == Tok::Comma => self.list_rest(end, head),
            _ => self.reject("non-terminated set"),
        }
    }

    /// Parses the elements of an array or set after the first.
    fn list_rest(&mut self, end: Tok, head: Term) -> Option<TermKind> {
        if self.tok() != end {
            self.comma(end)?;
        }
        self.list(end, vec![head])
    }

    fn list(&mut self, end: Tok, terms: Vec<Term>) -> Option<TermKind> {
        let terms = self.term_list(end, terms)?;
        let is_array = end == Tok::RBracket;
        Some(if is_array { TermKind::Array(terms) } else { TermKind::Set(compare::unique(terms)) })
    }

    /// Parses an object or an object comprehension, at the colon after its first key.
    fn object(&mut self, key: Term, may_be_comprehension: bool) -> Option<TermKind> {
        self.scan();
        let saved = self.save();
        let value = self.attempt(Self::term)?;
        if may_be_comprehension {
            match self.tok() {
                Tok::RBrace | Tok::Comma => return self.object_rest(key, value),
                Tok::Or => {
                    if let Some(body) = self.comprehension_body(Tok::RBrace) {
                        let (of, key) = (Collection::Object, Some(key));
                        return Some(TermKind::comprehension(of, key, value, body));
                    }
                }
                _ => {}
            }
        }
        self.restore(saved);
        let value = self.term_infix_in_list()?;
        if matches!(self.tok(), Tok::RBrace | Tok::Comma) {
            return self.object_rest(key, value);
        }
        self.reject("non-terminated object")
    }

    fn object_rest(&mut self, key: Term, value: Term) -> Option<TermKind> {
        if self.tok() == Tok::RBrace {
            return Some(TermKind::Object(vec![(key, value)]));
        }
        self.scan();
        let mut pairs = vec![(key, value)];
        while self.tok() != Tok::RBrace {
            let key = self.term_infix_in_list()?;
            self.require(Tok::Colon, "expected \":\"")?;
            self.scan();
            let value = self.term_infix_in_list()?;
            pairs.push((key, value));
            if self.tok() != Tok::RBrace {
                self.comma(Tok::RBrace)?;
            }
        }
        Some(TermKind::Object(pairs))
    }

    fn term_list(&mut self, end: Tok, mut terms: Vec<Term>) -> Option<Vec<Term>> {
        while self.tok() != end {
            terms.push(self.term_infix_in_list()?);
            if self.tok() == end {
                break;
            }
            self.comma(end)?;
        }
        Some(terms)
    }

    /// Passes the comma before the next element.
    fn comma(&mut self, end: Tok) -> Option<()> {
        if self.tok() != Tok::Comma {
            return self.reject(&format!("expected \",\" or \"{}\"", end.name()));
        }
        self.scan();
        Some(())
    }
}

/// Makes a reference, or returns a single name as it is.
fn reference_or_name(mut parts: Vec<Term>, span: Span) -> Term {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    Term { kind: TermKind::Ref(parts), span }
}

fn may_be_head(kind: &TermKind) -> bool {
    matches!(
        kind,
        TermKind::Var(_)
            | TermKind::Array(_)
            | TermKind::Object(_)
            | TermKind::Set(_)
            | TermKind::Comprehension(..)
            | TermKind::Call(_)
    )
}

/// Parses a number, which may begin with its decimal point.
fn read_number(text: &str) -> Result<Number, NumberError> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ("-", text),
        None => ("", text),
    };
    let zero = if text.starts_with('.') { "0" } else { "" };
    let text = format!("{sign}{zero}{text}");
    if text.contains(['e', 'E']) && exponent(&text).is_none() {
        return Err(NumberError::Invalid);
    }
    match Number::read_literal(&text) {
        // OPA rounds a number of this size down to zero.
        Err(NumberError::TooBig) if exponent(&text).is_some_and(|at| at < -646_456_993) => {
            Ok(Number::from(0_i64))
        }
        number => number,
    }
}

/// The exponent of a number, as written.
fn exponent(text: &str) -> Option<i64> {
    let (_, exponent) = text.split_once(['e', 'E'])?;
    exponent.parse().ok()
}
