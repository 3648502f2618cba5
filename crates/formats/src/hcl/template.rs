//! The text of a template: its literals, with the source of what is between them.

use hcl_edit::expr::Expression;
use hcl_edit::template::{Directive, Element, Strip, Template};

use super::source::Source;

/// Returns the expression that is all of a template: its value is that of the template.
pub(super) fn only(template: &Template) -> Option<&Expression> {
    match template.as_single_element()? {
        Element::Interpolation(own) => Some(&own.expr),
        _ => None,
    }
}

pub(super) fn text(source: &Source<'_>, template: &Template) -> Result<String, String> {
    stripped(source, template, (false, false))
}

/// Returns the text of a template within a directive, which may strip its begin and end.
fn stripped(
    source: &Source<'_>,
    template: &Template,
    (begin, end): (bool, bool),
) -> Result<String, String> {
    let mut out = String::new();
    let mut strips_next = begin;
    let mut elements = template.iter().peekable();
    while let Some(element) = elements.next() {
        match element {
            Element::Literal(own) => {
                let mut text = own.as_str();
                if strips_next {
                    text = text.trim_start();
                }
                if elements.peek().map_or(end, |next| strips(next).0) {
                    text = text.trim_end();
                }
                out.push_str(&literal(text));
            }
            Element::Interpolation(own) => out.push_str(&part(source, &own.expr)?),
            Element::Directive(own) => out.push_str(&directive(source, own)?),
        }
        strips_next = strips(element).1;
    }
    Ok(out)
}

/// Returns the text of a literal as a template has it: `${` in it isn't the source of an expression.
pub(super) fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// Returns whether an element strips what is before it, and after it.
fn strips(element: &Element) -> (bool, bool) {
    let of = |first: Strip, last: Strip| (first.strip_start(), last.strip_end());
    match element {
        Element::Literal(_) => (false, false),
        Element::Interpolation(own) => of(own.strip, own.strip),
        Element::Directive(own) => match own.as_ref() {
            Directive::If(own) => of(own.if_expr.strip, own.endif_expr.strip),
            Directive::For(own) => of(own.for_expr.strip, own.endfor_expr.strip),
        },
    }
}

/// Returns the text of an expression within a template.
pub(super) fn part(source: &Source<'_>, expression: &Expression) -> Result<String, String> {
    Ok(match expression {
        Expression::String(own) => literal(own.as_str()),
        Expression::Null(_) => "null".to_owned(),
        Expression::Bool(own) => own.value().to_string(),
        Expression::Number(own) => source.number(own)?.to_json(),
        Expression::StringTemplate(own) => text(source, own)?,
        Expression::HeredocTemplate(own) => text(source, &own.template)?,
        Expression::Conditional(own) => {
            let condition = source.of(&own.cond_expr);
            let (yes, no) = (part(source, &own.true_expr)?, part(source, &own.false_expr)?);
            format!("%{{if {condition}}}{yes}%{{else}}{no}%{{endif}}")
        }
        _ => source.quoted(expression),
    })
}

fn directive(source: &Source<'_>, directive: &Directive) -> Result<String, String> {
    Ok(match directive {
        Directive::If(own) => {
            let (first, last) = (&own.if_expr, own.endif_expr.strip.strip_start());
            let condition = source.of(&first.cond_expr);
            let end = own.else_expr.as_ref().map_or(last, |other| other.strip.strip_start());
            let yes = stripped(source, &first.template, (first.strip.strip_end(), end))?;
            let no = match &own.else_expr {
                None => String::new(),
                Some(other) => {
                    let no = stripped(source, &other.template, (other.strip.strip_end(), last))?;
                    format!("%{{else}}{no}")
                }
            };
            format!("%{{if {condition}}}{yes}{no}%{{endif}}")
        }
        Directive::For(own) => {
            let (first, last) = (&own.for_expr, own.endfor_expr.strip.strip_start());
            let key =
                first.key_var.as_ref().map_or(String::new(), |key| format!("{}, ", key.as_str()));
            let (value, list) = (first.value_var.as_str(), source.of(&first.collection_expr));
            let each = stripped(source, &first.template, (first.strip.strip_end(), last))?;
            format!("%{{for {key}{value} in {list}}}{each}%{{endfor}}")
        }
    })
}
