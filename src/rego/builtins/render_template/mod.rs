//! `strings.render_template`: Go's `text/template`.
//!
//! Owns the function. Templates are read into nodes (`parse`), which are run over the variables
//! (`run`). All actions and functions of Go's package are there except `call`, for which there is
//! nothing to call.

mod parse;
mod run;

use super::operands::{answer, object, string};
use super::table::Family;
use super::{Answer, Context, Error, Run};
use crate::rego::value::Value;

/// The functions of this file.
pub(super) const FUNCTIONS: Family = &[("strings.render_template", Run::Plain(render))];

fn render(ctx: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    let variables = Value::from(object(args, 1)?.clone());
    ctx.charge(variables.size().saturating_add(text.len() as u64 * 16))?;
    // As in OPA, which reads their Rego text as JSON: sets and keys that are no strings fail.
    let variables = Value::from_json(&variables.to_string())
        .map_err(|error| Error::failed(error.to_string()))?;
    let templates = parse::parse(ctx, text)?;
    let rendered = run::run(ctx, &templates, &variables)?;
    answer(rendered.replace("<no value>", "<undefined>"))
}
