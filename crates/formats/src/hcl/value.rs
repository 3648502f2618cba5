//! Values of expressions: literals, arrays, objects, and the source of all other expressions.

use rego::Value;
use rego::value::{Number, Object};

use super::expression::template::{Piece, Template};
use super::expression::{Expression, Kind};
use super::scanner::Scanner;
use crate::problem::add;

/// The beginning of the alternative of a condition in a template.
const ELSE: &str = "%{else}";

/// Returns the value of an expression.
pub(super) fn of(scanner: &Scanner<'_>, own: &Expression) -> Result<Value, String> {
    Ok(match &own.kind {
        Kind::Null => Value::Null,
        Kind::Bool(is) => Value::from(*is),
        Kind::Number => number(scanner.source(own.span.clone()))?,
        Kind::Unary(inner) => {
            let source = scanner.source(own.span.clone());
            match (source.starts_with('!'), &inner.kind) {
                (true, Kind::Bool(is)) => Value::from(!*is),
                (false, Kind::Number) => {
                    number(&format!("-{}", scanner.source(inner.span.clone())))?
                }
                (_, Kind::Null | Kind::Bool(_) | Kind::Number) => {
                    return Err(format!("`{source}` has no value"));
                }
                _ => Value::from(quoted(scanner, own)),
            }
        }
        Kind::Template(template) => match template.only() {
            Some(only) => of(scanner, only)?,
            None => Value::from(text(scanner, template)?),
        },
        Kind::Tuple(items) => {
            items.iter().map(|item| of(scanner, item)).collect::<Result<Value, _>>()?
        }
        Kind::Object(members) => {
            let mut object = Object::new();
            for (key, member) in members {
                let name = match key.kind {
                    Kind::Variable => scanner.source(key.span.clone()).to_owned(),
                    _ => part(scanner, key)?,
                };
                add(&mut object, &name, of(scanner, member)?)?;
            }
            Value::from(object)
        }
        Kind::Conditional(_) | Kind::Variable | Kind::Other => Value::from(quoted(scanner, own)),
    })
}

/// Returns the text of an expression within a template.
pub(super) fn part(scanner: &Scanner<'_>, own: &Expression) -> Result<String, String> {
    Ok(match &own.kind {
        Kind::Null => "null".to_owned(),
        Kind::Bool(is) => is.to_string(),
        Kind::Number => decimal(scanner.source(own.span.clone()))?,
        Kind::Template(template) => match template.only() {
            Some(only) => part(scanner, only)?,
            None => text(scanner, template)?,
        },
        Kind::Conditional(parts) => {
            let [condition, yes, no] = &**parts;
            let condition = scanner.source(condition.span.clone());
            let (yes, no) = (part(scanner, yes)?, part(scanner, no)?);
            let no = if no.is_empty() { no } else { format!("{ELSE}{no}") };
            format!("%{{if {condition}}}{yes}{no}%{{endif}}")
        }
        _ => quoted(scanner, own),
    })
}

/// Returns the text of a template, with the source of interpolations.
fn text(scanner: &Scanner<'_>, template: &Template) -> Result<String, String> {
    let mut out = String::new();
    // Where the `%{else}` of each open `%{if}` begins.
    let mut open = Vec::new();
    for piece in &template.0 {
        match piece {
            Piece::Text(text) => out.push_str(&escaped(text)),
            Piece::Value(own) => out.push_str(&part(scanner, own)?),
            Piece::If(condition) => {
                open.push(None);
                out.push_str(&format!("%{{if {}}}", scanner.source(condition.clone())));
            }
            Piece::Else => {
                if let Some(own) = open.last_mut() {
                    *own = Some(out.len());
                }
                out.push_str(ELSE);
            }
            Piece::EndIf => {
                // Nothing is left of an empty one.
                let is_empty = |start: &usize| out.len() == start + ELSE.len();
                out.truncate(open.pop().flatten().filter(is_empty).unwrap_or(out.len()));
                out.push_str("%{endif}");
            }
            Piece::For(names, of) => {
                out.push_str(&format!("%{{for {names} in {}}}", scanner.source(of.clone())));
            }
            Piece::EndFor => out.push_str("%{endfor}"),
        }
    }
    Ok(out)
}

/// Escapes text of a template: `${` in it isn't the source of an expression.
pub(super) fn escaped(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// Returns the source of an expression as a template has it.
fn quoted(scanner: &Scanner<'_>, own: &Expression) -> String {
    format!("${{{}}}", scanner.source(own.span.clone()))
}

/// Returns the number of a literal, with all of its digits.
fn number(text: &str) -> Result<Value, String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let kept = digits.trim_start_matches('0');
    let zero = if kept.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    // `1.e5` is a number in HCL.
    let json = format!("{sign}{zero}{kept}").replace(".e", "e").replace(".E", "e");
    let number = Number::read(&json);
    number.map(Value::from).map_err(|error| format!("invalid number `{text}`: {error}"))
}

/// Returns the text of a number without an exponent, as HCL converts it.
fn decimal(text: &str) -> Result<String, String> {
    const MAX_EXPONENT: i64 = 1_000;
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(i64::MAX);
    if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
        return Err(format!("number too large or too small for a string: `{text}`"));
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let pad = "0".repeat(usize::try_from(exponent.unsigned_abs()).unwrap_or_default());
    let digits = format!("{pad}{whole}{fraction}{pad}");
    let point = i64::try_from(pad.len() + whole.len()).unwrap_or_default() + exponent;
    let (whole, fraction) =
        usize::try_from(point).ok().and_then(|at| digits.split_at_checked(at)).unwrap_or_default();
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}
