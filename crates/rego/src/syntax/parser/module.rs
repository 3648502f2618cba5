//! Assembles statements into a module: turns expressions into rules, and checks v1's requirements.

use super::super::normalize;
use super::super::tree::{
    Body, Expr, ExprKind, Head, Import, Module, Package, Rule, Span, Term, TermKind, Version,
};
use super::super::words::{is_function, is_keyword_v1};
use super::rules::{empty_head, true_body};
use super::statements::{Statement, rego_version, value_name};
use super::{Parser, hints, module_version, whole};
use crate::problem::{Problem, Problems};

impl Parser<'_> {
    /// Makes the module of these statements, without its comments.
    pub(super) fn finish(mut self, statements: Vec<Statement>) -> Result<Module, Problems> {
        if self.failed() {
            return Err(self.problems());
        }
        let mut statements = statements.into_iter().peekable();
        let mut problems = Vec::new();
        let package = match statements.peek() {
            None => {
                let span = whole(self.file, "");
                return Err(vec![Problem::parse(span, "empty module").hint(hints::PACKAGE_FIRST)]);
            }
            Some(Statement::Package(package)) => package.clone(),
            Some(first) => {
                let span = first.span();
                problems.push(Problem::parse(span, "package expected").hint(hints::PACKAGE_FIRST));
                Package { path: Vec::new(), span }
            }
        };
        statements.next();
        let mut imports: Vec<Import> = Vec::new();
        let mut rules = Vec::new();
        for statement in statements {
            match statement {
                Statement::Import(import) => imports.push(import),
                Statement::Rule(rule) => rules.push(*rule),
                Statement::Package(package) => {
                    let hint = "a file has one package; put the rest into a file of its own";
                    problems.push(Problem::parse(package.span, "unexpected package").hint(hint));
                }
                Statement::Body(body) => match rule_from_body(body) {
                    Ok(rule) => rules.push(rule),
                    Err((span, message)) => {
                        let mut problem = Problem::parse(span, message);
                        problem.hints.extend(self.hint_for_stray(span));
                        problems.push(problem);
                    }
                },
            }
        }
        let v1 = imports.iter().any(|import| rego_version(import).0);
        let v2 = imports.iter().any(|import| rego_version(import).1);
        let version = module_version(self.options.version, v1, v2);
        if version != Version::V0 {
            for rule in rules.iter().flat_map(Rule::branches) {
                self.check_v1(rule, &mut problems);
            }
        }
        if !problems.is_empty() {
            problems.sort_by_key(|problem| problem.span.start);
            return Err(problems);
        }
        let span = whole(self.file, self.text);
        let comments = Vec::new();
        let mut module = Module { package, imports, rules, comments, version, span };
        if !self.options.keep_layout {
            normalize::module(&mut module);
        }
        Ok(module)
    }

    /// Makes the body of these statements.
    pub(super) fn finish_query(mut self, statements: Vec<Statement>) -> Result<Body, Problems> {
        let mut body = Vec::new();
        for statement in statements {
            let span = statement.span();
            match statement {
                Statement::Body(exprs) => body.extend(exprs),
                Statement::Package(_) => self.error(span, "expected body but got package"),
                Statement::Import(_) => self.error(span, "expected body but got import"),
                Statement::Rule(_) => self.error(span, "expected body but got rule"),
            }
        }
        if self.failed() { Err(self.problems()) } else { Ok(body) }
    }

    fn problems(&mut self) -> Problems {
        let mut problems = std::mem::take(&mut self.state.errors);
        problems.sort_by_key(|problem| problem.span.start);
        problems.dedup_by(|b, a| a.span == b.span && a.message == b.message);
        problems
    }

    fn check_v1(&self, rule: &Rule, problems: &mut Problems) {
        let Rule { head, span, .. } = rule;
        let kind = if head.args.is_empty() { "rule" } else { "function" };
        let mut report = |message: String, hint: Option<String>| {
            let mut problem = Problem::parse(*span, message);
            problem.valid_in_v0 = hint.is_some();
            problem.hints.extend(hint);
            problems.push(problem);
        };
        if let [Term { kind: TermKind::Var(name), .. }] = head.reference.as_slice()
            && is_keyword_v1(name)
        {
            report(format!("{name} keyword cannot be used for rule name"), None);
        }
        if rule.generated_body && head.generated_value {
            let message = format!("{kind} must have value assignment and/or body declaration");
            report(message, self.hint_for_bare_head(rule));
        }
        if !rule.generated_body && !head.has_if && !rule.default {
            let message = format!("`if` keyword is required before {kind} body");
            report(message, self.hint_for_missing_if(rule));
        }
        if head.value.is_none() && !head.has_contains {
            let message = "`contains` keyword is required for partial set rules".to_owned();
            report(message, self.hint_for_missing_contains(rule));
        }
    }
}

impl Statement {
    fn span(&self) -> Span {
        match self {
            Self::Package(package) => package.span,
            Self::Import(import) => import.span,
            Self::Rule(rule) => rule.span,
            Self::Body(body) => body.first().map(|first| first.span).unwrap_or_default(),
        }
    }
}

type HeadError = (Span, String);

/// Turns an expression between rules into the rule that it means: `p["a"]`, `f("a")`, `p = 1`.
fn rule_from_body(body: Body) -> Result<Rule, HeadError> {
    let first = body.first().map(|first| first.span).unwrap_or_default();
    let mut exprs = body.into_iter();
    match (exprs.next(), exprs.next()) {
        (Some(expr), None) => {
            let span = expr.span;
            let mut rule = rule_from_expr(expr).map_err(|message| (span, message))?;
            rule.generated_body = true;
            Ok(rule)
        }
        _ => Err((first, "multiple expressions cannot be used for rule head".to_owned())),
    }
}

fn rule_from_expr(expr: Expr) -> Result<Rule, String> {
    if !expr.with.is_empty() {
        return Err("expressions using with keyword cannot be used for rule head".to_owned());
    }
    if expr.negated {
        return Err("negated expressions cannot be used for rule head".to_owned());
    }
    let span = expr.span;
    match expr.into_kind() {
        ExprKind::Some(_) => Err("'some' declarations cannot be used for rule head".to_owned()),
        ExprKind::Term(term) => rule_from_term(term.into_ungrouped()),
        ExprKind::Call(parts) => {
            let operator = parts.first().map(ToString::to_string).unwrap_or_default();
            match operator.as_str() {
                "eq" | "assign" => rule_from_equality(parts, span, operator == "assign"),
                name if is_function(name) => {
                    Err("rule name conflicts with built-in function".to_owned())
                }
                _ => rule_from_call(parts),
            }
        }
        _ => Err("expression cannot be used for rule head".to_owned()),
    }
}

/// Makes a rule whose body isn't written, which has the position of its value.
fn rule_without_body(head: Head, span: Span) -> Rule {
    let body = true_body(head.value.as_ref().map_or(span, |value| value.span));
    Rule { default: false, head, body, generated_body: true, else_rule: None, span }
}

fn begins_with_var(parts: &[Term]) -> bool {
    matches!(parts.first().map(|first| &first.ungrouped().kind), Some(TermKind::Var(_)))
}

/// Makes a rule of `a.b.c`, with the value `true`, or of `p[x]`, an element of a set.
fn rule_from_term(term: Term) -> Result<Rule, String> {
    let name = value_name(&term);
    let span = term.span;
    let TermKind::Ref(mut parts) = term.into_kind() else {
        return Err(if name == "ref" {
            "refs cannot be used for rule head".to_owned()
        } else {
            format!("{name} cannot be used for rule name")
        });
    };
    if !begins_with_var(&parts) {
        return Err("invalid rule head".to_owned());
    }
    let mut head = empty_head(span);
    if parts.len() > 2 {
        head.value = Some(Term { kind: TermKind::Bool(true), span });
        head.generated_value = true;
    } else {
        head.key = parts.pop();
    }
    head.reference = parts;
    Ok(rule_without_body(head, span))
}

fn rule_from_equality(parts: Vec<Term>, span: Span, assign: bool) -> Result<Rule, String> {
    let mut parts = parts.into_iter().skip(1);
    let (Some(left), Some(right)) = (parts.next(), parts.next()) else {
        return Err("assignment requires two operands".to_owned());
    };
    let mut head = empty_head(span);
    head.assign = assign;
    head.value = Some(right);
    let name = value_name(&left);
    let left = left.into_ungrouped();
    let left_span = left.span;
    match left.into_kind() {
        TermKind::Call(call) if operator_is_named(&call) => {
            let mut call = call.into_iter();
            head.reference = call.next().map(Term::into_ref_parts).unwrap_or_default();
            head.args = call.collect();
            head.has_parentheses = true;
        }
        TermKind::Ref(parts) => {
            if !begins_with_var(&parts) {
                return Err("invalid rule head".to_owned());
            }
            if parts.len() == 2 {
                head.key = parts.last().cloned();
            }
            head.reference = parts;
        }
        kind @ TermKind::Var(_) => head.reference = vec![Term { kind, span: left_span }],
        _ => return Err(format!("{name} cannot be used for rule name")),
    }
    Ok(rule_without_body(head, span))
}

fn operator_is_named(call: &[Term]) -> bool {
    match call.first().map(|operator| &operator.kind) {
        Some(TermKind::Ref(parts)) => begins_with_var(parts),
        Some(_) => begins_with_var(call),
        None => false,
    }
}

/// Makes a rule of `f("a")`, with the value `true`.
fn rule_from_call(parts: Vec<Term>) -> Result<Rule, String> {
    if parts.len() <= 1 {
        return Err("rule argument list must take at least one argument".to_owned());
    }
    if !operator_is_named(&parts) {
        return Err("invalid rule head".to_owned());
    }
    let mut parts = parts.into_iter();
    let operator = parts.next();
    let span = operator.as_ref().map(|operator| operator.span).unwrap_or_default();
    let mut head = empty_head(span);
    head.reference = operator.map(Term::into_ref_parts).unwrap_or_default();
    head.args = parts.collect();
    head.has_parentheses = true;
    head.value = Some(Term { kind: TermKind::Bool(true), span });
    Ok(rule_without_body(head, span))
}
