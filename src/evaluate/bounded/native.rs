//! Calls of regorus' own functions, with made-up source positions and caught panics.

use std::sync::LazyLock;

use regorus::Value;
use regorus::unstable::{BUILTINS, Expr, Ref, Source, Span};

use super::{Fault, Outcome, Scope, operand, size};
use crate::evaluate::contain;
use crate::{Error, ErrorKind};

/// Where regorus' functions think that they were called; the extension adds the true place.
struct Place {
    span: Span,
    params: Vec<Ref<Expr>>,
}

static PLACE: LazyLock<Option<Place>> = LazyLock::new(|| {
    let source = Source::from_contents("call".to_owned(), "call".to_owned()).ok()?;
    let span = Span { source, line: 1, col: 1, start: 0, end: 4 };
    let param = |_| Ref::new(Expr::Null { span: span.clone(), value: Value::Null, eidx: 0 });
    let params = (0..8).map(param).collect();
    Some(Place { span, params })
});

/// The value that regorus' own `name` has for `args`.
pub(super) fn call(scope: &Scope, name: &str, args: &[Value]) -> Outcome {
    let (Some((function, _)), Some(place)) = (BUILTINS.get(name), &*PLACE) else {
        return Err(Error::new(ErrorKind::Internal, "the interpreter has no such function").into());
    };
    let params = place.params.get(..args.len()).unwrap_or(&place.params);
    let result = contain::caught(|| Ok(function(&place.span, params, args, true)))?;
    let value = match result {
        Ok(value) => value,
        Err(error) => {
            return match contain::limit(Some(scope), &error) {
                Some(limit) => Err(Fault::Refused(limit)),
                None => operand(said(&error.to_string())),
            };
        }
    };
    finite(&value)?;
    size::charge(scope, &value)?;
    Ok(value)
}

/// What regorus' message says, without the position and the excerpt of made-up source.
fn said(message: &str) -> String {
    let text = message.rsplit("error: ").next().unwrap_or(message).trim();
    text.to_owned()
}

/// Refuses numbers that no JSON can express, before they reach a comparison or a print.
pub(super) fn finite(value: &Value) -> Result<(), Fault> {
    match value {
        Value::Number(number) if number.as_f64().is_some_and(|float| !float.is_finite()) => {
            operand("the result is larger than any number")
        }
        _ => Ok(()),
    }
}
