//! The forms of an answer that `opa eval` has.

use clap::ValueEnum;
use regorus::Value;
use serde_json::{Map, json};

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

fn document(answer: &Answer) -> Result<String, Error> {
    if answer.is_empty() {
        return Ok("{}".to_owned());
    }
    let rows = answer.iter().map(|row| {
        let expressions: Result<Vec<_>, Error> = row
            .expressions
            .iter()
            .map(|e| {
                let location = json!({"row": e.location.row, "col": e.location.col});
                Ok(json!({"value": tree(&e.value)?, "text": &*e.text, "location": location}))
            })
            .collect();
        let mut object = Map::from_iter([("expressions".to_owned(), json!(expressions?))]);
        if row.bindings.as_object().is_ok_and(|bindings| !bindings.is_empty()) {
            object.insert("bindings".to_owned(), tree(&row.bindings)?);
        }
        Ok(serde_json::Value::from(object))
    });
    let rows: Vec<_> = rows.collect::<Result<_, Error>>()?;
    output::json(&json!({"result": rows}))
}

fn tree(value: &Value) -> Result<serde_json::Value, Error> {
    serde_json::to_value(value).map_err(|error| {
        Error::new(ErrorKind::Internal, "the answer can't be written as JSON").with_source(error)
    })
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
