//! Prints the tree as OPA's `String()` does: on one line, canonical, with calls for operators.

use std::fmt::{self, Display, Formatter, Write as _};

use super::compare;
use super::tree::{
    Body, Collection, Expr, ExprKind, Head, Import, Logical, Module, Package, Rule, SomeDecl,
    Template, TemplatePart, Term, TermKind, Version, With,
};
use super::words::{infix, is_keyword_v1};
use crate::value::deeper;
pub(crate) use crate::value::quoted as quote;

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.kind, f)
    }
}

impl Display for TermKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        deeper(|| print_kind(self, f))
    }
}

fn print_kind(kind: &TermKind, f: &mut Formatter<'_>) -> fmt::Result {
    match kind {
        TermKind::Null => f.write_str("null"),
        TermKind::Bool(value) => write!(f, "{value}"),
        TermKind::Number(number) => write!(f, "{number}"),
        TermKind::String(text) => f.write_str(&quote(text)),
        TermKind::Template(template) => print_template(template, f),
        TermKind::Var(name) if name.starts_with('$') => f.write_char('_'),
        TermKind::Var(name) => f.write_str(name),
        TermKind::Ref(parts) => print_ref(parts, f),
        TermKind::Array(elements) => {
            f.write_char('[')?;
            list(elements, ", ", f)?;
            f.write_char(']')
        }
        TermKind::Set(elements) if elements.is_empty() => f.write_str("set()"),
        TermKind::Set(elements) => {
            let mut sorted: Vec<_> = elements.iter().collect();
            sorted.sort_by(|a, b| compare::terms(a, b));
            f.write_char('{')?;
            list(&sorted, ", ", f)?;
            f.write_char('}')
        }
        TermKind::Object(pairs) => {
            let mut sorted: Vec<_> = pairs.iter().collect();
            sorted.sort_by(|a, b| compare::terms(&a.0, &b.0));
            f.write_char('{')?;
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{key}: {value}")?;
            }
            f.write_char('}')
        }
        TermKind::Comprehension(of, inner) => {
            let (open, close) = of.delimiters();
            f.write_char(open)?;
            if let Some(key) = &inner.key {
                comprehension_term(key, f)?;
                f.write_str(": ")?;
            }
            comprehension_term(&inner.value, f)?;
            write!(f, " | {}{close}", body(&inner.body))
        }
        TermKind::Call(parts) => print_call(parts, f),
        TermKind::Group(inner) => Display::fmt(inner, f),
    }
}

fn list<T: Display>(items: &[T], separator: &str, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        Display::fmt(item, f)?;
    }
    Ok(())
}

fn print_call(parts: &[Term], f: &mut Formatter<'_>) -> fmt::Result {
    let Some((operator, args)) = parts.split_first() else { return Ok(()) };
    write!(f, "{operator}(")?;
    list(args, ", ", f)?;
    f.write_char(')')
}

/// Prints operators in the head of a comprehension in infix form, within parentheses.
fn comprehension_term(term: &Term, f: &mut Formatter<'_>) -> fmt::Result {
    if let TermKind::Call(parts) = &term.ungrouped().kind
        && let [operator, left, right] = parts.as_slice()
        && let Some(symbol) = function_name(operator).and_then(infix)
    {
        f.write_char('(')?;
        deeper(|| comprehension_term(left, f))?;
        write!(f, " {symbol} ")?;
        deeper(|| comprehension_term(right, f))?;
        return f.write_char(')');
    }
    Display::fmt(term, f)
}

/// The name of a function without dots: a variable or, in compiled trees, a reference of one part.
fn function_name(operator: &Term) -> Option<&str> {
    match &operator.kind {
        TermKind::Var(name) => Some(name),
        TermKind::Ref(parts) if parts.len() == 1 => function_name(parts.first()?),
        _ => None,
    }
}

fn print_ref(parts: &[Term], f: &mut Formatter<'_>) -> fmt::Result {
    let Some((first, rest)) = parts.split_first() else { return Ok(()) };
    match &first.kind {
        TermKind::String(text) => f.write_str(text)?,
        kind => Display::fmt(kind, f)?,
    }
    for part in rest {
        match &part.kind {
            TermKind::String(text) if is_name(text) && !is_keyword_v1(text) => {
                write!(f, ".{text}")?;
            }
            TermKind::String(text) if text.chars().any(|ch| ch == '\\' || ch.is_control()) => {
                write!(f, "[{}]", quote(text))?;
            }
            TermKind::String(text) => write!(f, "[\"{text}\"]")?,
            kind => write!(f, "[{kind}]")?,
        }
    }
    Ok(())
}

/// Returns `true` if a string can be written after a dot.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn print_template(template: &Template, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("$\"")?;
    for part in &template.parts {
        match part {
            TemplatePart::Expr(expr) => write!(f, "{{{expr}}}")?,
            TemplatePart::Text(term) => match &term.ungrouped().kind {
                TermKind::String(text) => {
                    let quoted = quote(text);
                    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
                    f.write_str(&escape_braces(inner))?;
                }
                kind => Display::fmt(kind, f)?,
            },
        }
    }
    f.write_char('"')
}

/// Escapes the braces in the text of a template string, where they would begin an expression.
pub fn escape_braces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = None;
    for ch in text.chars() {
        if ch == '{' && previous != Some('\\') {
            out.push('\\');
        }
        out.push(ch);
        previous = Some(ch);
    }
    out
}

/// Prints a reference, given its parts.
pub struct RefText<'a>(pub &'a [Term]);

impl Display for RefText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        print_ref(self.0, f)
    }
}

/// Prints a body.
pub fn body(body: &Body) -> impl Display + '_ {
    Separated(body, "; ")
}

struct Separated<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for Separated<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(self.0, self.1, f)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.kind.has_bodies() { deeper(|| print_expr(self, f)) } else { print_expr(self, f) }
    }
}

fn print_expr(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    if expr.negated {
        f.write_str("not ")?;
    }
    match &expr.kind {
        ExprKind::Term(term) => Display::fmt(term, f)?,
        ExprKind::Call(parts) => match parts.as_slice() {
            [operator, left, right] if function_name(operator) == Some("eq") => {
                write!(f, "{left} = {right}")?;
            }
            parts => print_call(parts, f)?,
        },
        ExprKind::Some(some) => Display::fmt(some, f)?,
        ExprKind::Every(every) => {
            f.write_str("every ")?;
            if let Some(key) = &every.key {
                write!(f, "{key}, ")?;
            }
            write!(f, "{} in {} {{ {} }}", every.value, every.domain, body(&every.body))?;
        }
        ExprKind::Not(not) => match not.body.as_slice() {
            [only] if !not.explicit && not_needs_parens(only) => write!(f, "not ({only})")?,
            [only] if !not.explicit => write!(f, "not {only}")?,
            _ => write!(f, "not {{{}}}", body(&not.body))?,
        },
        ExprKind::And(logical) => print_logical("and", logical, f)?,
        ExprKind::Or(logical) => print_logical("or", logical, f)?,
    }
    for with in &expr.with {
        write!(f, " {with}")?;
    }
    Ok(())
}

fn print_logical(operator: &str, logical: &Logical, f: &mut Formatter<'_>) -> fmt::Result {
    print_operand(&logical.left, logical.explicit_left, operator, false, f)?;
    write!(f, " {operator} ")?;
    print_operand(&logical.right, logical.explicit_right, operator, true, f)
}

fn print_operand(
    operand: &Body,
    explicit: bool,
    operator: &str,
    right: bool,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match operand.as_slice() {
        [only] if !explicit && operand_needs_parens(only, operator, right) => {
            write!(f, "({only})")
        }
        [only] if !explicit => write!(f, "{only}"),
        _ => write!(f, "{{ {} }}", body(operand)),
    }
}

/// Returns `true` if the operand of an implicit `not` needs parentheses to be parsed as the same
/// tree.
pub fn not_needs_parens(expr: &Expr) -> bool {
    !expr.with.is_empty()
        || match &expr.kind {
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) => true,
            ExprKind::Term(term) => begins_with_brace(term),
            _ => false,
        }
}

/// Returns `true` if an operand of `and` or `or` needs parentheses to be parsed as the same tree.
pub fn operand_needs_parens(expr: &Expr, operator: &str, right: bool) -> bool {
    !expr.with.is_empty()
        || match &expr.kind {
            ExprKind::Or(_) => operator == "and" || right,
            ExprKind::And(_) => operator == "and" && right,
            ExprKind::Term(term) => begins_with_brace(term),
            _ => false,
        }
}

/// Returns `true` if the printed term begins with a brace.
pub fn begins_with_brace(term: &Term) -> bool {
    match &term.ungrouped().kind {
        TermKind::Set(elements) => !elements.is_empty(),
        TermKind::Object(_) => true,
        TermKind::Comprehension(of, _) => *of != Collection::Array,
        TermKind::Ref(parts) => parts.first().is_some_and(begins_with_brace),
        _ => false,
    }
}

impl Display for SomeDecl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("some ")?;
        match self.symbols.first().map(|first| &first.ungrouped().kind) {
            Some(TermKind::Call(parts)) => match parts.as_slice() {
                [_, value, domain] => write!(f, "{value} in {domain}"),
                [_, key, value, domain] => write!(f, "{key}, {value} in {domain}"),
                _ => Ok(()),
            },
            _ => list(&self.symbols, ", ", f),
        }
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "with {} as {}", self.target, self.value)
    }
}

impl Display for Package {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("package ")?;
        print_ref(self.path.get(1..).unwrap_or_default(), f)
    }
}

impl Display for Import {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "import {}", self.path)?;
        match &self.alias {
            Some((alias, _)) => write!(f, " as {alias}"),
            None => Ok(()),
        }
    }
}

impl Head {
    /// Prints the head as in a module of this version.
    pub fn display(&self, version: Version) -> impl Display + '_ {
        InVersion(self, version)
    }
}

impl Rule {
    /// Prints the rule as in a module of this version.
    pub fn display(&self, version: Version) -> impl Display + '_ {
        InVersion(self, version)
    }
}

/// Prints the head as in a module of v1.
impl Display for Head {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.display(Version::V1), f)
    }
}

/// Prints the rule as in a module of v1.
impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.display(Version::V1), f)
    }
}

struct InVersion<'a, T>(&'a T, Version);

impl Display for InVersion<'_, Head> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(head, version) = self;
        print_ref(&head.reference, f)?;
        let mut contains = false;
        if !head.args.is_empty() {
            f.write_char('(')?;
            list(&head.args, ", ", f)?;
            f.write_char(')')?;
        } else if head.reference.len() == 1
            && let Some(key) = &head.key
        {
            if *version == Version::V0 {
                write!(f, "[{key}]")?;
            } else {
                write!(f, " contains {key}")?;
                contains = true;
            }
        }
        match (&head.value, &head.key) {
            (Some(value), _) => {
                write!(f, " {} {value}", if head.assign { ":=" } else { "=" })
            }
            (None, Some(key)) if !contains && head.reference.len() > 1 => {
                write!(f, " contains {key}")
            }
            _ => Ok(()),
        }
    }
}

impl Display for InVersion<'_, Rule> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(rule, version) = self;
        let condition = if *version == Version::V0 { "" } else { "if " };
        if rule.default {
            return write!(f, "default {}", rule.head.display(*version));
        }
        write!(f, "{} {condition}{{ {} }}", rule.head.display(*version), body(&rule.body))?;
        for rule in rule.branches().skip(1) {
            f.write_str(" else ")?;
            if let Some(value) = &rule.head.value {
                write!(f, "= {value}")?;
            }
            write!(f, " {condition}{{ {} }}", body(&rule.body))?;
        }
        Ok(())
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.package)?;
        for import in &self.imports {
            write!(f, "\n{import}")?;
        }
        if !self.imports.is_empty() {
            f.write_char('\n')?;
        }
        for rule in &self.rules {
            write!(f, "\n{}", rule.display(self.version))?;
        }
        Ok(())
    }
}
