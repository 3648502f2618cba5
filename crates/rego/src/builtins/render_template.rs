//! `strings.render_template`: Go's `text/template`.
//!
//! Owns the function. Templates are parsed into nodes (`parse`), which are executed with the
//! variables (`run`). All actions and functions of Go's package are supported; complex numbers and
//! text that isn't valid UTF-8 are not.

mod parse;
mod run;

use super::operands::{answer, object, string};
use super::{Answer, Context, Error};
use crate::value::Value;

pub(super) fn render(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    let variables = Value::from(object(args, 1)?.clone());
    ctx.charge(variables.size().saturating_add(text.len() as u64 * 16))?;
    // OPA reads the Rego text of the variables as JSON, so sets and keys that aren't strings fail.
    let variables = Value::from_json(&variables.to_string())
        .map_err(|error| Error::failed(error.to_string()))?;
    let templates = parse::parse(ctx, text)?;
    let rendered = run::run(ctx, &templates, &variables)?;
    answer(rendered.replace("<no value>", "<undefined>"))
}
