//! Expressions, to the degree that their values depend on them.

pub(super) mod template;

use super::scanner::{Scanner, Span};
use crate::problem::Problem;
use template::Template;

/// An expression.
pub(super) struct Expression {
    pub span: Span,
    pub kind: Kind,
}

pub(super) enum Kind {
    Null,
    Bool(bool),
    /// A number, as it is written.
    Number,
    /// `-` or `!` before another.
    Unary(Box<Expression>),
    Template(Template),
    Tuple(Vec<Expression>),
    /// Keys, with whether each is in parentheses, and values.
    Object(Vec<(Expression, Expression)>),
    /// The condition, and what follows `?` and `:`.
    Conditional(Box<[Expression; 3]>),
    /// A variable, with attributes and constant indexes.
    Variable,
    /// Any other expression, as source text.
    Other,
}

use Kind::Other;

/// The operators, the longer ones first.
const OPERATORS: [&str; 13] =
    ["||", "&&", "==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/", "%"];

pub(super) fn expression(scanner: &mut Scanner<'_>) -> Result<Expression, Problem> {
    scanner.nested(|scanner| {
        let condition = operation(scanner)?;
        let end = scanner.at;
        if !scanner.eat("?", &[])? {
            scanner.at = end;
            return Ok(condition);
        }
        let yes = expression(scanner)?;
        scanner.expect(":", &["::"])?;
        let no = expression(scanner)?;
        let span = condition.span.start..scanner.at;
        Ok(Expression { span, kind: Kind::Conditional(Box::new([condition, yes, no])) })
    })
}

/// Reads operands with operators between them.
fn operation(scanner: &mut Scanner<'_>) -> Result<Expression, Problem> {
    let mut all = operand(scanner)?;
    loop {
        let end = scanner.at;
        scanner.skip()?;
        let is_document = scanner.rest().starts_with("<<") && {
            let at = scanner.at;
            let begins = scanner.here_document().is_some();
            scanner.at = at;
            begins
        };
        let rest = scanner.rest();
        let operator = OPERATORS.iter().find(|own| !is_document && rest.starts_with(**own));
        let Some(operator) = operator else {
            scanner.at = end;
            return Ok(all);
        };
        scanner.at += operator.len();
        operand(scanner)?;
        all = Expression { span: all.span.start..scanner.at, kind: Other };
    }
}

/// Reads a term with its attributes, indexes and splats.
fn operand(scanner: &mut Scanner<'_>) -> Result<Expression, Problem> {
    let start = scanner.skip()?;
    let mut kind = term(scanner)?;
    loop {
        let end = scanner.at;
        if scanner.eat(".", &["..."])? {
            kind = attribute(scanner, kind)?;
        } else if scanner.eat("[", &[])? {
            kind = index(scanner, kind)?;
        } else {
            scanner.at = end;
            return Ok(Expression { span: start..end, kind });
        }
    }
}

/// Reads an attribute after a point: a name, a number, or `*` with names and numbers.
fn attribute(scanner: &mut Scanner<'_>, of: Kind) -> Result<Kind, Problem> {
    let variable = if matches!(of, Kind::Variable) { of } else { Other };
    if scanner.eat("*", &[])? {
        loop {
            let end = scanner.at;
            if !scanner.eat(".", &["..."])? {
                scanner.at = end;
                return Ok(Other);
            }
            step(scanner)?;
        }
    }
    step(scanner)?;
    Ok(variable)
}

fn step(scanner: &mut Scanner<'_>) -> Result<(), Problem> {
    if scanner.name()?.is_some() {
        return Ok(());
    }
    match scanner.number() {
        "" => Err(scanner.expected("the name of an attribute")),
        number if number.contains('.') => {
            Err(scanner.invalid("ambiguous legacy indexes: expected `[…]`"))
        }
        _ => Ok(()),
    }
}

/// Reads an index after `[`.
fn index(scanner: &mut Scanner<'_>, of: Kind) -> Result<Kind, Problem> {
    if scanner.eat("*", &[])? {
        scanner.expect("]", &[])?;
        return Ok(Other);
    }
    let key = scanner.within(false, |scanner| {
        let key = expression(scanner)?;
        scanner.expect("]", &[])?;
        Ok(key)
    })?;
    let is_constant = match key.kind {
        Kind::Null | Kind::Bool(_) | Kind::Number => true,
        Kind::Template(own) => own.is_literal(),
        _ => false,
    };
    Ok(if is_constant && matches!(of, Kind::Variable) { of } else { Other })
}

fn term(scanner: &mut Scanner<'_>) -> Result<Kind, Problem> {
    if let Some(name) = scanner.name()? {
        return named(scanner, name);
    }
    match scanner.peek() {
        Some('(') => scanner.within(false, |scanner| {
            scanner.expect("(", &[])?;
            expression(scanner)?;
            scanner.expect(")", &[])?;
            Ok(Other)
        }),
        Some('0'..='9') => {
            let number = scanner.number();
            let parts = number.split(['e', 'E']).count();
            let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
            if parts > 2 || mantissa.matches('.').count() > 1 || number.matches('.').count() > 1 {
                return Err(scanner.invalid(&format!("invalid number `{number}`")));
            }
            Ok(Kind::Number)
        }
        Some('"') => {
            scanner.expect("\"", &[])?;
            scanner.nested(template::quoted).map(Kind::Template)
        }
        Some('<') => match scanner.here_document() {
            Some(begun) => {
                scanner.nested(|scanner| template::document(scanner, begun)).map(Kind::Template)
            }
            None => Err(scanner.expected("an expression")),
        },
        Some('-' | '!') if !scanner.rest().starts_with("!=") => {
            scanner.at += 1;
            let own = scanner.nested(operand)?;
            Ok(Kind::Unary(Box::new(own)))
        }
        Some('[') => scanner.within(false, tuple),
        Some('{') => object(scanner),
        _ => Err(scanner.expected("an expression")),
    }
}

/// Reads a call, a literal or a variable, from its name on.
fn named(scanner: &mut Scanner<'_>, name: &str) -> Result<Kind, Problem> {
    let end = scanner.at;
    let mut is_call = false;
    while scanner.eat("::", &[])? {
        is_call = true;
        scanner.name()?.ok_or_else(|| scanner.expected("the name of a function"))?;
    }
    if scanner.eat("(", &[])? {
        scanner.within(false, arguments)?;
        return Ok(Other);
    }
    if is_call {
        return Err(scanner.expected("`(`"));
    }
    scanner.at = end;
    Ok(match name {
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        "null" => Kind::Null,
        _ => Kind::Variable,
    })
}

fn arguments(scanner: &mut Scanner<'_>) -> Result<(), Problem> {
    while !scanner.eat(")", &[])? {
        expression(scanner)?;
        if scanner.eat("...", &[])? {
            return scanner.expect(")", &[]);
        }
        if !scanner.eat(",", &[])? {
            return scanner.expect(")", &[]);
        }
    }
    Ok(())
}

fn tuple(scanner: &mut Scanner<'_>) -> Result<Kind, Problem> {
    scanner.expect("[", &[])?;
    if scanner.word("for")? {
        return comprehension(scanner, "]");
    }
    let mut items = Vec::new();
    while !scanner.eat("]", &[])? {
        items.push(expression(scanner)?);
        if !scanner.eat(",", &[])? {
            scanner.expect("]", &[])?;
            break;
        }
    }
    Ok(Kind::Tuple(items))
}

fn object(scanner: &mut Scanner<'_>) -> Result<Kind, Problem> {
    scanner.expect("{", &[])?;
    let start = scanner.at;
    // An object of `for` may begin on the next line.
    if scanner.within(false, |scanner| scanner.word("for"))? {
        return scanner.within(false, |scanner| comprehension(scanner, "}"));
    }
    scanner.at = start;
    scanner.within(true, |scanner| {
        let mut members = Vec::new();
        loop {
            while scanner.newline()? {}
            if scanner.eat("}", &[])? {
                return Ok(Kind::Object(members));
            }
            let key = expression(scanner)?;
            if !scanner.eat("=", &["==", "=>"])? {
                scanner.expect(":", &["::"])?;
            }
            members.push((key, expression(scanner)?));
            if !scanner.newline()? && !scanner.eat(",", &[])? {
                scanner.expect("}", &[])?;
                return Ok(Kind::Object(members));
            }
        }
    })
}

/// Reads the rest of `[for …]` or `{for …}`.
fn comprehension(scanner: &mut Scanner<'_>, close: &str) -> Result<Kind, Problem> {
    loop_names(scanner)?;
    expression(scanner)?;
    scanner.expect(":", &["::"])?;
    expression(scanner)?;
    if close == "}" {
        scanner.expect("=>", &[])?;
        expression(scanner)?;
        scanner.eat("...", &[])?;
    }
    if scanner.word("if")? {
        expression(scanner)?;
    }
    scanner.expect(close, &[])?;
    Ok(Other)
}

/// Reads the names of a loop and `in`; returns the first name, and the second if there are two.
pub(super) fn loop_names<'t>(
    scanner: &mut Scanner<'t>,
) -> Result<(&'t str, Option<&'t str>), Problem> {
    let name = |scanner: &mut Scanner<'t>| {
        scanner.name()?.ok_or_else(|| scanner.expected("the name of a variable"))
    };
    let first = name(scanner)?;
    let second = if scanner.eat(",", &[])? { Some(name(scanner)?) } else { None };
    if scanner.word("in")? { Ok((first, second)) } else { Err(scanner.expected("`in`")) }
}
