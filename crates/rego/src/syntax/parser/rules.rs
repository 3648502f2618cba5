//! Parses rules: heads, bodies, `else`, defaults.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::MAX_CHAIN;
use super::super::token::Tok;
use super::super::tree::{Body, Expr, ExprKind, Head, Rule, Span, Term, TermKind, is_root};
use super::super::visit::{is_ground, locate_body, locate_head, walk_terms};
use super::Parser;
use super::statements::value_name;
use crate::problem::Problem;

pub(super) fn empty_head(span: Span) -> Head {
    Head {
        reference: Vec::new(),
        args: Vec::new(),
        has_parentheses: false,
        key: None,
        value: None,
        generated_value: false,
        assign: false,
        has_if: false,
        has_contains: false,
        span,
    }
}

/// The body of a rule for which none is written.
pub(super) fn true_body(span: Span) -> Body {
    let term = Box::new(Term { kind: TermKind::Bool(true), span });
    let mut expr = Expr::new(ExprKind::Term(term), span);
    expr.generated = true;
    vec![expr]
}

fn is_wildcard(term: &Term) -> bool {
    matches!(&term.ungrouped().kind, TermKind::Var(name) if name.starts_with('$'))
}

impl Parser<'_> {
    /// Parses a rule, with its chained bodies as rules of their own. Returns `None` without an
    /// error if the text may be an expression.
    #[allow(clippy::too_many_lines)]
    pub(super) fn rules(&mut self) -> Option<Vec<Rule>> {
        let start = self.start();
        let first_end = self.token_end();
        self.name_of_reference();
        let mut default = false;
        if self.tok() == Tok::Default {
            self.scan();
            default = true;
            self.name_of_reference();
        }
        if self.tok() != Tok::Ident {
            if default {
                self.keyword_as_rule_name(true);
            }
            return None;
        }
        let mut head = self.head(default)?;
        if default {
            let rule = self.span(start, first_end);
            self.check_default_value(rule, &head)?;
            self.check_default_args(rule, &head)?;
            let span = self.since(start);
            let body = true_body(rule);
            let (generated_body, else_rule) = (false, None);
            return Some(vec![Rule { default, head, body, generated_body, else_rule, span }]);
        }
        let has_if = self.tok() == Tok::If;
        if has_if && !head.has_contains && head.reference.len() == 2 {
            // `p[x] if …` is a member of the object `p`.
            if let Some(operand) = head.reference.last()
                && head.args.is_empty()
                && (!is_ground(operand) || value_name(operand) == "ref")
            {
                head.key = Some(operand.clone());
            }
            if head.value.is_none() {
                head.generated_value = true;
                head.value = Some(Term { kind: TermKind::Bool(true), span: head.span });
            } else if !matches!(head.reference.first()?.ungrouped().kind, TermKind::Var(_)) {
                return None;
            }
        }
        if !has_if && !head.has_contains && head.args.is_empty() && head.reference.len() == 2 {
            // `p[x] { … }` is an element of the set `p`.
            if !matches!(head.reference.first()?.ungrouped().kind, TermKind::Var(_)) {
                return None;
            }
            head.key = head.reference.last().cloned();
            if head.value.is_none() {
                head.reference.pop();
            }
        }
        let mut body = Vec::new();
        if has_if {
            head.has_if = true;
            self.scan();
            let saved = self.save();
            let brace = self.tok() == Tok::LBrace;
            // Braces may hold an operand. A set is never false, so braces around one are a body
            // instead.
            let expr = if brace { self.attempt(Self::literal_expr) } else { self.literal_expr() };
            let is_set = brace
                && matches!(&expr, Some(Expr { kind: ExprKind::Term(term), .. })
                    if matches!(term.ungrouped().kind, TermKind::Set(_)));
            match expr {
                Some(expr) if !is_set => body.push(expr),
                _ if !brace => return None,
                _ => {
                    self.restore(saved);
                    body = self.braced_body()?;
                }
            }
        } else if self.tok() == Tok::LBrace {
            body = self.braced_body()?;
        } else if head.has_contains {
            let (span, body) = (head.span, true_body(self.span(start, first_end)));
            let (generated_body, else_rule) = (true, None);
            return Some(vec![Rule { default, head, body, generated_body, else_rule, span }]);
        } else {
            return None;
        }
        let mut else_rule = None;
        if self.tok() == Tok::Else && !self.name_of_reference() {
            if head.reference.len() > 1 && !head.reference.iter().skip(1).all(is_ground) {
                let message = "else keyword cannot be used on rules with variables in head";
                return self.fail_here(message);
            }
            if head.key.is_some() {
                return self.fail_here("else keyword cannot be used on multi-value rules");
            }
            else_rule = Some(self.else_rules(&head)?);
        }
        let span = self.since(start);
        let has_else = else_rule.is_some();
        let mut rules =
            vec![Rule { default: false, head, body, generated_body: false, else_rule, span }];
        while self.tok() == Tok::LBrace {
            if has_else {
                return self.fail_here("expected else keyword");
            }
            let start = self.start();
            let body = self.braced_body()?;
            let span = self.since(start);
            let mut head = rules.first()?.head.clone();
            self.fresh_wildcards(&mut head);
            locate_head(&mut head, span);
            let (generated_body, else_rule) = (false, None);
            rules.push(Rule { default, head, body, generated_body, else_rule, span });
        }
        Some(rules)
    }

    fn braced_body(&mut self) -> Option<Body> {
        self.scan();
        let body = self.body(Tok::RBrace)?;
        self.scan();
        Some(body)
    }

    /// Gives the wildcards among the parameters new names, since they differ in each definition.
    fn fresh_wildcards(&mut self, head: &mut Head) {
        for arg in &mut head.args {
            if is_wildcard(arg) {
                arg.kind = self.wildcard();
            }
        }
    }

    /// Parses a chain of `else` branches, at the first one.
    fn else_rules(&mut self, outer: &Head) -> Option<Box<Rule>> {
        let mut branches = Vec::new();
        loop {
            if branches.len() >= MAX_CHAIN {
                self.limit(format!("more than {MAX_CHAIN} `else` branches"));
                return None;
            }
            branches.push(self.else_rule(outer)?);
            let has_body = branches.last().is_some_and(|(rule, _)| !rule.generated_body);
            if !has_body || self.tok() != Tok::Else {
                break;
            }
        }
        let mut next = None;
        for (mut rule, braces) in branches.into_iter().rev() {
            rule.span = self.since(rule.span.start);
            if !braces && self.options.keep_layout {
                // OPA gives the body the position of the `else` keyword here, which affects the
                // layout.
                locate_body(&mut rule.body, rule.span);
            }
            rule.else_rule = next;
            next = Some(Box::new(rule));
        }
        next
    }

    /// Parses one branch. Returns `true` beside it if its body has braces, or if it has none.
    fn else_rule(&mut self, outer: &Head) -> Option<(Rule, bool)> {
        let start = self.start();
        let mut head = outer.clone();
        head.generated_value = false;
        head.has_if = false;
        head.has_contains = false;
        self.fresh_wildcards(&mut head);
        let keyword = self.here();
        head.span = keyword;
        self.scan();
        match self.tok() {
            Tok::LBrace | Tok::If => {
                head.generated_value = true;
                head.value = Some(Term { kind: TermKind::Bool(true), span: keyword });
            }
            Tok::Assign | Tok::Unify => {
                head.assign = self.tok() == Tok::Assign;
                self.scan();
                head.value = Some(self.term_infix()?);
                head.span = self.since(start);
            }
            _ => return self.reject("expected else value term or rule body"),
        }
        let has_if = self.tok() == Tok::If;
        let generated_body = !has_if && self.tok() != Tok::LBrace;
        if has_if {
            head.has_if = true;
            self.scan();
        }
        let braces = generated_body || self.tok() == Tok::LBrace;
        let body = if generated_body {
            true_body(self.since(start))
        } else if braces {
            self.braced_body()?
        } else if self.tok() == Tok::Eof {
            return self.reject("rule body expected");
        } else {
            vec![self.literal_expr()?]
        };
        let span = self.since(start);
        let rule = Rule { default: false, head, body, generated_body, else_rule: None, span };
        Some((rule, braces))
    }

    #[allow(clippy::too_many_lines)]
    fn head(&mut self, default: bool) -> Option<Head> {
        let start = self.start();
        let name = self.var_here();
        let Some(term) = self.head_finish(name) else {
            return self.reject("expected rule head name");
        };
        let mut head = empty_head(term.span);
        let name_span = term.span;
        match term.into_kind() {
            kind @ TermKind::Var(_) => head.reference = vec![Term { kind, span: name_span }],
            TermKind::Ref(parts) => head.reference = parts,
            TermKind::Call(parts) => {
                let mut parts = parts.into_iter();
                head.reference = parts.next()?.into_ref_parts();
                // The result of a call can't be defined by a rule.
                if !matches!(head.reference.first().map(|part| &part.kind), Some(TermKind::Var(_)))
                {
                    return self.reject("rule head ref invalid");
                }
                head.args = parts.collect();
                head.has_parentheses = true;
            }
            _ => return None,
        }
        let name = |head: &Head| {
            Term { kind: TermKind::Ref(head.reference.clone()), span: head.span }.to_string()
        };
        match self.tok() {
            Tok::Contains => {
                if head.has_parentheses {
                    let name = name(&head);
                    self.illegal(&format!(
                        "the contains keyword can only be used with multi-value rule definitions \
                         (e.g., {name} contains <VALUE> {{ ... }})"
                    ));
                }
                self.scan();
                head.key = self.term_infix();
                if head.key.is_none() {
                    let name = name(&head);
                    self.illegal(&format!(
                        "expected rule key term (e.g., {name} contains <VALUE> {{ ... }})"
                    ));
                }
                head.has_contains = true;
                head.span = self.since(start);
                return Some(head);
            }
            operator @ (Tok::Unify | Tok::Assign) => {
                self.scan();
                head.assign = operator == Tok::Assign;
                head.value = self.term_infix();
                if head.value.is_none() {
                    let name = name(&head);
                    let (kind, example) = if !head.assign {
                        ("rule", format!("{name} = <VALUE> {{ ... }}"))
                    } else if !head.args.is_empty() {
                        ("function", format!("{name}(...) := <VALUE> {{ ... }}"))
                    } else if default {
                        ("default rule", format!("default {name} := <VALUE>"))
                    } else {
                        ("rule", format!("{name} := <VALUE> {{ ... }}"))
                    };
                    self.illegal(&format!("expected {kind} value term (e.g., {example})"));
                }
            }
            _ => {}
        }
        head.span = self.since(start);
        if head.value.is_none() && (head.reference.len() != 2 || !head.args.is_empty()) {
            head.generated_value = true;
            head.value = Some(Term { kind: TermKind::Bool(true), span: name_span });
        }
        Some(head)
    }

    /// Checks that a default value needs no evaluation, except of comprehensions.
    fn check_default_value(&mut self, rule: Span, head: &Head) -> Option<()> {
        let Some(value) = &head.value else {
            self.error(rule, "illegal default rule (must have a value)");
            return None;
        };
        let mut wrong = None;
        walk_terms(value, &mut |term| {
            match &term.kind {
                TermKind::Comprehension(..) => return false,
                TermKind::Ref(_) | TermKind::Var(_) | TermKind::Call(_) => {
                    wrong.get_or_insert((value_name(term), term.span));
                    return false;
                }
                _ => {}
            }
            true
        });
        let Some((name, span)) = wrong else { return Some(()) };
        let message = format!("illegal default rule (value cannot contain {name})");
        self.report(Problem::parse(span, message));
        None
    }

    fn check_default_args(&mut self, rule: Span, head: &Head) -> Option<()> {
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        let mut fine = Some(());
        for arg in &head.args {
            let message = match &arg.ungrouped().kind {
                TermKind::Var(name) if is_root(name) => {
                    "illegal default rule (arguments cannot contain ref)".to_owned()
                }
                TermKind::Var(name) if !seen.insert(Arc::clone(name)) => {
                    format!("illegal default rule (arguments cannot be repeated {name})")
                }
                TermKind::Var(_) => continue,
                _ => format!("illegal default rule (arguments cannot contain {})", value_name(arg)),
            };
            self.error(rule, message);
            fine = None;
        }
        fine
    }
}
