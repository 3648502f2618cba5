//! The value of an expression: literals, arrays and objects of them, and the source of everything else.

use hcl_edit::expr::{Expression, Object as HclObject, ObjectKey, UnaryOperator};
use rego::Value;
use rego::value::Object;

use super::source::Source;
use super::template;
use crate::problem::add;

pub(super) fn value(source: &Source<'_>, expression: &Expression) -> Result<Value, String> {
    Ok(match expression {
        Expression::Null(_) => Value::Null,
        Expression::Bool(own) => Value::from(*own.value()),
        Expression::Number(own) => source.number(own)?,
        Expression::String(own) => Value::from(template::literal(own.as_str())),
        Expression::Array(list) => {
            list.iter().map(|item| value(source, item)).collect::<Result<Value, _>>()?
        }
        Expression::Object(own) => object(source, own)?,
        Expression::StringTemplate(own) => match template::only(own) {
            Some(inner) => value(source, inner)?,
            None => Value::from(template::text(source, own)?),
        },
        Expression::HeredocTemplate(own) => Value::from(template::here_document(source, own)?),
        Expression::UnaryOp(own) => match (own.operator.value(), &own.expr) {
            (UnaryOperator::Not, Expression::Bool(is)) => Value::from(!*is.value()),
            _ => Value::from(source.quoted(expression)),
        },
        _ => Value::from(source.quoted(expression)),
    })
}

fn object(source: &Source<'_>, own: &HclObject) -> Result<Value, String> {
    let mut object = Object::new();
    for (name, one) in own {
        add(&mut object, &key(source, name)?, value(source, one.expr())?)?;
    }
    Ok(Value::from(object))
}

fn key(source: &Source<'_>, key: &ObjectKey) -> Result<String, String> {
    match key {
        ObjectKey::Ident(name) => Ok(name.as_str().to_owned()),
        ObjectKey::Expression(own @ (Expression::Variable(_) | Expression::Traversal(_))) => {
            Ok(source.of(own).to_owned())
        }
        ObjectKey::Expression(own) => template::part(source, own),
    }
}
