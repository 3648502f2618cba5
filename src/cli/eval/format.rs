//! The forms of an answer that `opa eval` has.

use clap::ValueEnum;
use regorus::Value;
use serde::Serialize;

use super::engine::{Answer, Row};
use crate::cli::output;
use crate::text::escape_lines;
use crate::{Error, ErrorKind};

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Json,
    Pretty,
    Raw,
    Values,
    Bindings,
}

pub(super) fn render(answer: &Answer, format: Format) -> Result<String, Error> {
    Ok(match format {
        Format::Json => document(answer)? + "\n",
        Format::Values => each(answer, |row| output::json(&values(row)))?,
        Format::Bindings => each(answer, |row| output::json(&row.bindings))?,
        Format::Raw => each(answer, |row| joined(row, raw))?,
        Format::Pretty if answer.is_empty() => "undefined\n".to_owned(),
        Format::Pretty => each(answer, |row| joined(row, output::json))?,
    })
}

/// Each row on its own line; nothing where there is none.
fn each(answer: &Answer, one: impl Fn(&Row) -> Result<String, Error>) -> Result<String, Error> {
    answer.iter().map(|row| Ok(one(row)? + "\n")).collect()
}

fn joined(row: &Row, one: impl Fn(&Value) -> Result<String, Error>) -> Result<String, Error> {
    let texts: Result<Vec<String>, Error> = values(row).into_iter().map(one).collect();
    Ok(texts?.join(" "))
}

fn values(row: &Row) -> Vec<&Value> {
    row.expressions.iter().map(|expression| &expression.value).collect()
}

/// The document that `opa eval` writes.
#[derive(Serialize)]
struct Document<'a> {
    result: Vec<ResultRow<'a>>,
}

#[derive(Serialize)]
struct ResultRow<'a> {
    expressions: Vec<Expression<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bindings: Option<&'a Value>,
}

#[derive(Serialize)]
struct Expression<'a> {
    value: &'a Value,
    text: &'a str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    row: u32,
    col: u32,
}

fn document(answer: &Answer) -> Result<String, Error> {
    if answer.is_empty() {
        return Ok("{}".to_owned());
    }
    output::json(&Document { result: answer.iter().map(result_row).collect() })
}

fn result_row(row: &Row) -> ResultRow<'_> {
    let expressions = row.expressions.iter().map(|e| Expression {
        value: &e.value,
        text: &e.text,
        location: Location { row: e.location.row, col: e.location.col },
    });
    let bindings = Some(&row.bindings).filter(|b| b.as_object().is_ok_and(|b| !b.is_empty()));
    ResultRow { expressions: expressions.collect(), bindings }
}

fn raw(value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) if output::is_terminal() => Ok(escape_lines(text)),
        Value::String(text) => Ok(text.to_string()),
        other => serde_json::to_string(other).map_err(|error| {
            Error::new(ErrorKind::Internal, "the answer can't be written as JSON")
                .with_source(error)
        }),
    }
}
