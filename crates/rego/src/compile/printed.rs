//! Prints a tree as OPA does: normalized, with the statements in one line, without layout.
//!
//! Messages show terms in this form, and tests compare the results of compile stages in it.

use std::fmt::{self, Display, Write};

use crate::syntax::tree::{
    Body, Every, Expr, ExprKind, Head, Import, Logical, Module, Not, Rule, TemplatePart, Term,
    TermKind, Version, With,
};
use crate::syntax::words;

use super::names::is_wildcard;
use super::stack::deep;

/// Formats a part of a tree as OPA does.
pub struct Text<T>(pub T);

macro_rules! text {
    ($($type:ty => $write:path),+ $(,)?) => {
        $(impl Display for Text<&$type> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $write(f, self.0)
            }
        })+
    };
}

text! {
    Term => write_term,
    Expr => write_expr,
    Body => write_body,
    Head => write_head_v1,
    Module => write_module,
    Import => write_import,
}

/// Formats a reference as OPA does.
pub struct RefText<'a>(pub &'a [Term]);

impl Display for RefText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ref(f, self.0)
    }
}

/// Formats a string with Go's quotes and escapes.
pub struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write_escaped(f, self.0)?;
        f.write_char('"')
    }
}

fn write_escaped(f: &mut impl Write, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{7}' => f.write_str("\\a")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{b}' => f.write_str("\\v")?,
            c if c < ' ' || c == '\u{7f}' => write!(f, "\\x{:02x}", u32::from(c))?,
            c if is_printable(c) => f.write_char(c)?,
            c if u32::from(c) < 0x10000 => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "\\U{:08x}", u32::from(c))?,
        }
    }
    Ok(())
}

/// Returns `true` if Go prints the character unescaped. Rust's definition is close: it escapes the
/// characters that aren't printable and, in addition, combining marks only.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return true;
    }
    if c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{fffe}' | '\u{ffff}')
    {
        return false;
    }
    c.is_alphanumeric() || c.escape_debug().len() == 1 || is_mark(c)
}

fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20f0 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

fn separated<'a, T: 'a>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = &'a T>,
    by: &str,
    write: impl Fn(&mut fmt::Formatter<'_>, &'a T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(by)?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn write_var(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    f.write_str(if is_wildcard(name) { "_" } else { name })
}

fn write_term(f: &mut fmt::Formatter<'_>, term: &Term) -> fmt::Result {
    match &term.kind {
        TermKind::Null => f.write_str("null"),
        TermKind::Bool(value) => write!(f, "{value}"),
        TermKind::Number(number) => write!(f, "{number}"),
        TermKind::String(text) => write!(f, "{}", Quoted(text)),
        TermKind::Var(name) => write_var(f, name),
        TermKind::Ref(terms) => deep(|| write_ref(f, terms)),
        TermKind::Array(terms) => deep(|| {
            f.write_char('[')?;
            separated(f, terms, ", ", write_term)?;
            f.write_char(']')
        }),
        TermKind::Set(terms) if terms.is_empty() => f.write_str("set()"),
        TermKind::Set(terms) => deep(|| {
            f.write_char('{')?;
            separated(f, terms, ", ", write_term)?;
            f.write_char('}')
        }),
        TermKind::Object(pairs) => deep(|| {
            f.write_char('{')?;
            separated(f, pairs, ", ", |f, (key, value)| {
                write_term(f, key)?;
                f.write_str(": ")?;
                write_term(f, value)
            })?;
            f.write_char('}')
        }),
        TermKind::ArrayComprehension(comprehension) => deep(|| {
            f.write_char('[')?;
            write_comprehension_term(f, &comprehension.term)?;
            f.write_str(" | ")?;
            write_body(f, &comprehension.body)?;
            f.write_char(']')
        }),
        TermKind::SetComprehension(comprehension) => deep(|| {
            f.write_char('{')?;
            write_comprehension_term(f, &comprehension.term)?;
            f.write_str(" | ")?;
            write_body(f, &comprehension.body)?;
            f.write_char('}')
        }),
        TermKind::ObjectComprehension(comprehension) => deep(|| {
            f.write_char('{')?;
            write_comprehension_term(f, &comprehension.key)?;
            f.write_str(": ")?;
            write_comprehension_term(f, &comprehension.value)?;
            f.write_str(" | ")?;
            write_body(f, &comprehension.body)?;
            f.write_char('}')
        }),
        TermKind::Call(terms) => deep(|| write_call(f, terms)),
        TermKind::Group(term) => deep(|| write_term(f, term)),
        TermKind::Template(template) => deep(|| {
            f.write_str("$\"")?;
            for part in &template.parts {
                match part {
                    TemplatePart::Expr(expr) => {
                        f.write_char('{')?;
                        write_expr(f, expr)?;
                        f.write_char('}')?;
                    }
                    TemplatePart::Text(Term { kind: TermKind::String(text), .. }) => {
                        let mut escaped = String::new();
                        write_escaped(&mut escaped, text)?;
                        let mut before = ' ';
                        for c in escaped.chars() {
                            if c == '{' && before != '\\' {
                                f.write_char('\\')?;
                            }
                            f.write_char(c)?;
                            before = c;
                        }
                    }
                    TemplatePart::Text(term) => write_term(f, term)?,
                }
            }
            f.write_char('"')
        }),
    }
}

fn infix(operator: &Term) -> Option<&'static str> {
    let name = match &operator.kind {
        TermKind::Var(name) => name,
        TermKind::Ref(terms) => match terms.as_slice() {
            [Term { kind: TermKind::Var(name), .. }] => name,
            _ => return None,
        },
        _ => return None,
    };
    words::infix(name)
}

fn write_comprehension_term(f: &mut fmt::Formatter<'_>, term: &Term) -> fmt::Result {
    if let TermKind::Call(terms) = &term.kind
        && let [operator, left, right] = terms.as_slice()
        && let Some(infix) = infix(operator)
    {
        return deep(|| {
            f.write_char('(')?;
            write_comprehension_term(f, left)?;
            write!(f, " {infix} ")?;
            write_comprehension_term(f, right)?;
            f.write_char(')')
        });
    }
    write_term(f, term)
}

fn write_call(f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
    let Some((operator, arguments)) = terms.split_first() else { return Ok(()) };
    write_term(f, operator)?;
    f.write_char('(')?;
    separated(f, arguments, ", ", write_term)?;
    f.write_char(')')
}

/// Returns `true` if a string can be written after a dot.
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !matches!(
            text,
            "not"
                | "package"
                | "import"
                | "as"
                | "default"
                | "else"
                | "with"
                | "null"
                | "true"
                | "false"
                | "some"
                | "if"
                | "contains"
                | "in"
                | "every"
        )
}

fn write_ref(f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
    let Some((head, operands)) = terms.split_first() else { return Ok(()) };
    if let TermKind::String(text) = &head.kind {
        f.write_str(text)?;
    } else {
        write_term(f, head)?;
    }
    for operand in operands {
        match &operand.kind {
            TermKind::String(text) if is_plain(text) => write!(f, ".{text}")?,
            TermKind::String(text) if text.contains(|c: char| c == '\\' || c.is_control()) => {
                write!(f, "[{}]", Quoted(text))?;
            }
            TermKind::String(text) => write!(f, "[\"{text}\"]")?,
            _ => {
                f.write_char('[')?;
                write_term(f, operand)?;
                f.write_char(']')?;
            }
        }
    }
    Ok(())
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &Body) -> fmt::Result {
    separated(f, body, "; ", write_expr)
}

fn write_expr(f: &mut fmt::Formatter<'_>, expr: &Expr) -> fmt::Result {
    if expr.negated {
        f.write_str("not ")?;
    }
    match &expr.kind {
        ExprKind::Term(term) => write_term(f, term)?,
        ExprKind::Call(terms) => match terms.as_slice() {
            [operator, left, right] if infix(operator) == Some("=") => {
                write_term(f, left)?;
                f.write_str(" = ")?;
                write_term(f, right)?;
            }
            terms => write_call(f, terms)?,
        },
        ExprKind::Some(decl) => {
            f.write_str("some ")?;
            match decl.symbols.as_slice() {
                [Term { kind: TermKind::Call(call), .. }] => match call.as_slice() {
                    [_, value, domain] => {
                        write_term(f, value)?;
                        f.write_str(" in ")?;
                        write_term(f, domain)?;
                    }
                    [_, key, value, domain] => {
                        write_term(f, key)?;
                        f.write_str(", ")?;
                        write_term(f, value)?;
                        f.write_str(" in ")?;
                        write_term(f, domain)?;
                    }
                    _ => {}
                },
                symbols => separated(f, symbols, ", ", write_term)?,
            }
        }
        ExprKind::Every(every) => deep(|| write_every(f, every))?,
        ExprKind::Not(not) => deep(|| write_not(f, not))?,
        ExprKind::And(logical) => deep(|| write_logical(f, logical, "and"))?,
        ExprKind::Or(logical) => deep(|| write_logical(f, logical, "or"))?,
    }
    for with in &expr.with {
        f.write_char(' ')?;
        write_with(f, with)?;
    }
    Ok(())
}

fn write_with(f: &mut fmt::Formatter<'_>, with: &With) -> fmt::Result {
    f.write_str("with ")?;
    write_term(f, &with.target)?;
    f.write_str(" as ")?;
    write_term(f, &with.value)
}

fn write_every(f: &mut fmt::Formatter<'_>, every: &Every) -> fmt::Result {
    f.write_str("every ")?;
    if let Some(key) = &every.key {
        write_term(f, key)?;
        f.write_str(", ")?;
    }
    write_term(f, &every.value)?;
    f.write_str(" in ")?;
    write_term(f, &every.domain)?;
    f.write_str(" { ")?;
    write_body(f, &every.body)?;
    f.write_str(" }")
}

/// Returns `true` if a term begins with a brace.
fn leads_with_brace(term: &Term) -> bool {
    match &term.kind {
        TermKind::Set(elements) => !elements.is_empty(),
        TermKind::Object(_) | TermKind::SetComprehension(_) | TermKind::ObjectComprehension(_) => {
            true
        }
        TermKind::Ref(terms) => terms.first().is_some_and(leads_with_brace),
        _ => false,
    }
}

fn write_not(f: &mut fmt::Formatter<'_>, not: &Not) -> fmt::Result {
    if let ([expr], false) = (not.body.as_slice(), not.explicit) {
        let grouped = !expr.with.is_empty()
            || match &expr.kind {
                ExprKind::Or(_) | ExprKind::And(_) | ExprKind::Not(_) => true,
                ExprKind::Term(term) => leads_with_brace(term),
                _ => false,
            };
        f.write_str(if grouped { "not (" } else { "not " })?;
        write_expr(f, expr)?;
        return f.write_str(if grouped { ")" } else { "" });
    }
    f.write_str("not {")?;
    write_body(f, &not.body)?;
    f.write_char('}')
}

fn write_logical(f: &mut fmt::Formatter<'_>, logical: &Logical, operator: &str) -> fmt::Result {
    write_operand(f, &logical.left, logical.explicit_left, operator, false)?;
    write!(f, " {operator} ")?;
    write_operand(f, &logical.right, logical.explicit_right, operator, true)
}

fn write_operand(
    f: &mut fmt::Formatter<'_>,
    body: &Body,
    explicit: bool,
    operator: &str,
    right: bool,
) -> fmt::Result {
    if let ([expr], false) = (body.as_slice(), explicit) {
        let grouped = !expr.with.is_empty()
            || match &expr.kind {
                ExprKind::Or(_) => operator == "and" || right,
                ExprKind::And(_) => operator == "and" && right,
                ExprKind::Term(term) => leads_with_brace(term),
                _ => false,
            };
        f.write_str(if grouped { "(" } else { "" })?;
        write_expr(f, expr)?;
        return f.write_str(if grouped { ")" } else { "" });
    }
    f.write_str("{ ")?;
    write_body(f, body)?;
    f.write_str(" }")
}

fn write_head_v1(f: &mut fmt::Formatter<'_>, head: &Head) -> fmt::Result {
    write_head(f, head, Version::V1)
}

fn write_head(f: &mut fmt::Formatter<'_>, head: &Head, version: Version) -> fmt::Result {
    write_ref(f, &head.reference)?;
    if !head.args.is_empty() {
        f.write_char('(')?;
        separated(f, &head.args, ", ", write_term)?;
        f.write_char(')')?;
    }
    if let Some(value) = &head.value {
        f.write_str(if head.assign { " := " } else { " = " })?;
        write_term(f, value)?;
    } else if let Some(key) = &head.key {
        if version == Version::V0 && head.reference.len() == 1 {
            f.write_char('[')?;
            write_term(f, key)?;
            f.write_char(']')?;
        } else {
            f.write_str(" contains ")?;
            write_term(f, key)?;
        }
    }
    Ok(())
}

fn write_rule(f: &mut fmt::Formatter<'_>, rule: &Rule, version: Version) -> fmt::Result {
    if rule.default {
        f.write_str("default ")?;
    }
    write_head(f, &rule.head, version)?;
    let open = if version == Version::V0 { " { " } else { " if { " };
    if !rule.default {
        f.write_str(open)?;
        write_body(f, &rule.body)?;
        f.write_str(" }")?;
    }
    let mut next = rule.else_rule.as_deref();
    while let Some(rule) = next {
        f.write_str(" else ")?;
        if let Some(value) = &rule.head.value {
            f.write_str("= ")?;
            write_term(f, value)?;
        }
        f.write_str(open)?;
        write_body(f, &rule.body)?;
        f.write_str(" }")?;
        next = rule.else_rule.as_deref();
    }
    Ok(())
}

fn write_import(f: &mut fmt::Formatter<'_>, import: &Import) -> fmt::Result {
    f.write_str("import ")?;
    write_term(f, &import.path)?;
    if let Some((alias, _)) = &import.alias {
        write!(f, " as {alias}")?;
    }
    Ok(())
}

fn write_module(f: &mut fmt::Formatter<'_>, module: &Module) -> fmt::Result {
    f.write_str("package ")?;
    write_ref(f, module.package.path.get(1..).unwrap_or_default())?;
    f.write_char('\n')?;
    if !module.imports.is_empty() {
        for import in &module.imports {
            f.write_char('\n')?;
            write_import(f, import)?;
        }
        f.write_char('\n')?;
    }
    for rule in &module.rules {
        f.write_char('\n')?;
        write_rule(f, rule, module.version)?;
    }
    Ok(())
}
