//! Answers to queries, as `opa eval` gives them.
//!
//! Owns which rows and expressions a query has, what is left out because it is false or
//! undefined, and how a package is put together from its rules. The loader has checked and
//! rewritten the query before; nothing here decides what a reference means.

use std::collections::BTreeMap;

use regorus::{Engine, Value};

use super::bounded::fits;
use super::scope::{self, Limits};
use crate::{Error, ErrorKind};

#[path = "query_shape.rs"]
mod shape;
use shape::Shape;

/// A rule that queries can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RulePath {
    /// The path below `data`.
    pub path: Vec<String>,
    /// The path as a reference.
    pub reference: String,
    /// Functions have no document.
    pub is_function: bool,
    /// An object that is built key by key: the interpreter doesn't know all of them by their path.
    pub is_partial_object: bool,
}

/// What queries can name: filled from the loaded modules, without what is hidden from authors.
#[derive(Debug, Clone)]
pub(crate) struct RuleIndex {
    /// All rules.
    pub rules: Vec<RulePath>,
    /// All packages, those without rules too.
    pub packages: Vec<Vec<String>>,
    /// The base documents.
    pub data: Value,
}

/// What a query asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// One rule that is no function, and nothing inside its value.
    Rule(RulePath),
    /// A package, what is above packages, or (with an empty path) all of `data`.
    Package(Vec<String>),
    /// Anything else.
    Expression,
}

/// A query that the loader has checked.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// As its author wrote it.
    pub text: String,
    /// As the interpreter takes it.
    pub rewritten: String,
    /// What it asks for.
    pub form: Form,
    /// Whether it is in the syntax before Rego 1.0.
    pub v0: bool,
}

/// One expression of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Never undefined.
    pub value: Value,
    /// The expression's text, as its author wrote it.
    pub text: String,
    /// Line, from 1.
    pub row: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One way in which a query is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The expressions, in their order.
    pub expressions: Vec<Expression>,
    /// The query's variables.
    pub bindings: BTreeMap<String, Value>,
}

/// The answer to a query; no rows when it is undefined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryOutput {
    /// The rows, in the interpreter's order.
    pub rows: Vec<Row>,
}

impl QueryOutput {
    /// Whether the query is undefined.
    pub fn is_undefined(&self) -> bool {
        self.rows.is_empty()
    }

    /// The value of a query of one expression with one row.
    pub fn value(&self) -> Option<&Value> {
        match self.rows.as_slice() {
            [Row { expressions, .. }] => match expressions.as_slice() {
                [one] => Some(&one.value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Answers `question` with `engine`, a clone with its input set, on an evaluation's thread.
///
/// `explain` makes an error of what the interpreter says.
pub(crate) fn answer(
    engine: &mut Engine,
    question: &Question,
    index: &RuleIndex,
    explain: &dyn Fn(anyhow::Error) -> Error,
) -> Result<QueryOutput, Error> {
    let output = match &question.form {
        Form::Rule(path) => single(question, rule(engine, path, explain)?),
        Form::Package(path) => single(question, package(engine, path, index, explain)?),
        Form::Expression => expressions(engine, question, explain)?,
    };
    let limits = scope::current().map_or_else(Limits::default, |scope| *scope.bounds());
    for row in &output.rows {
        let values = row.expressions.iter().map(|answer| &answer.value);
        for value in values.chain(row.bindings.values()) {
            fits(value, &limits)?;
        }
    }
    Ok(output)
}

/// A query of one reference has one row or, when it is undefined, none.
fn single(question: &Question, value: Value) -> QueryOutput {
    if value == Value::Undefined {
        return QueryOutput::default();
    }
    let text = question.text.trim();
    let before = question.text.len() - question.text.trim_start().len();
    let head = question.text.get(..before).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    let column = u32::try_from(line.chars().count()).unwrap_or(u32::MAX - 1) + 1;
    let row = u32::try_from(head.matches('\n').count()).unwrap_or(u32::MAX - 1) + 1;
    let answer = Expression { value, text: text.to_owned(), row, column };
    QueryOutput { rows: vec![Row { expressions: vec![answer], bindings: BTreeMap::new() }] }
}

fn rule(
    engine: &mut Engine,
    rule: &RulePath,
    explain: &dyn Fn(anyhow::Error) -> Error,
) -> Result<Value, Error> {
    if rule.is_partial_object {
        let value = values(engine, &[rule], explain)?.into_iter().next().flatten();
        return Ok(value.unwrap_or(Value::Undefined));
    }
    engine.eval_rule(rule.reference.clone()).map_err(explain)
}

/// The document of a package: base data, its rules one by one, and the packages below it.
fn package(
    engine: &mut Engine,
    path: &[String],
    index: &RuleIndex,
    explain: &dyn Fn(anyhow::Error) -> Error,
) -> Result<Value, Error> {
    let mut document = base(&index.data, path);
    for package in index.packages.iter().filter(|package| package.starts_with(path)) {
        let below = package.get(path.len()..).unwrap_or_default();
        document = put(document, below, Value::new_object())?;
    }
    // What leads to a rule, or a function, is there even while it is undefined: `r.a := 1 if false`
    // makes `r` an empty object.
    for rule in index.rules.iter().filter(|rule| rule.path.starts_with(path)) {
        let above = rule.path.split_last().map_or(&[][..], |(_, above)| above);
        if let Some(below) = above.get(path.len()..) {
            document = put(document, below, Value::new_object())?;
        }
    }
    let mut rules: Vec<_> = index
        .rules
        .iter()
        .filter(|rule| !rule.is_function && rule.path.starts_with(path))
        .collect();
    rules.sort_by_key(|rule| rule.path.len());
    for (rule, value) in rules.iter().zip(values(engine, &rules, explain)?) {
        let below = rule.path.get(path.len()..).unwrap_or_default();
        if let Some(value) = value {
            document = put(document, below, value)?;
        }
    }
    Ok(document)
}

/// The values of `rules`, evaluated together so that each helper is evaluated once.
fn values(
    engine: &mut Engine,
    rules: &[&RulePath],
    explain: &dyn Fn(anyhow::Error) -> Error,
) -> Result<Vec<Option<Value>>, Error> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let parts: Vec<_> = rules.iter().map(|rule| format!("[x | x := {}]", rule.reference)).collect();
    let query = format!("[\n{}\n]", parts.join(",\n"));
    let results = engine.eval_query(query, false).map_err(explain)?;
    let all = results.result.first().and_then(|row| row.expressions.first());
    let Some(Value::Array(all)) = all.map(|answer| &answer.value) else {
        return Err(broken("a package's rules have no values"));
    };
    if all.len() != rules.len() {
        return Err(broken("a package's rules have other values than rules"));
    }
    all.iter()
        .map(|value| match value {
            Value::Array(one) => Ok(one.first().cloned()),
            _ => Err(broken("a rule's value isn't in a list")),
        })
        .collect()
}

fn broken(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

fn base(data: &Value, path: &[String]) -> Value {
    let mut at = data;
    for key in path {
        match at {
            Value::Object(object) => match object.get(&Value::from(key.as_str())) {
                Some(below) => at = below,
                None => return Value::Undefined,
            },
            _ => return Value::Undefined,
        }
    }
    at.clone()
}

/// `document` with `value` at `path`; objects at the same place become one.
fn put(document: Value, path: &[String], value: Value) -> Result<Value, Error> {
    let Some((key, below)) = path.split_first() else {
        return merge(document, value);
    };
    let mut object = match document {
        Value::Undefined => Value::new_object(),
        other => other,
    };
    let Ok(fields) = object.as_object_mut() else {
        return Err(broken("a rule lies inside a value that is no object"));
    };
    let key = Value::from(key.as_str());
    let inner = fields.remove(&key).unwrap_or(Value::Undefined);
    fields.insert(key, put(inner, below, value)?);
    Ok(object)
}

fn merge(a: Value, b: Value) -> Result<Value, Error> {
    match (a, b) {
        (Value::Undefined, other) | (other, Value::Undefined) => Ok(other),
        (Value::Object(a), Value::Object(b)) => {
            let mut object = Value::Object(a);
            for (key, value) in b.iter() {
                let fields = object.as_object_mut().map_err(|_| broken("no object"))?;
                let inner = fields.remove(key).unwrap_or(Value::Undefined);
                fields.insert(key.clone(), merge(inner, value.clone())?);
            }
            Ok(object)
        }
        (a, b) if a == b => Ok(a),
        _ => Err(Error::new(ErrorKind::Policy, "a rule and a document have the same path")),
    }
}

/// `data.a["b c"]`.
pub(crate) fn reference(path: &[String]) -> String {
    let mut out = String::from("data");
    for key in path {
        let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if plain {
            out.push('.');
            out.push_str(key);
        } else {
            let quoted = serde_json::to_string(key).unwrap_or_default();
            out.push('[');
            out.push_str(&quoted);
            out.push(']');
        }
    }
    out
}

fn expressions(
    engine: &mut Engine,
    question: &Question,
    explain: &dyn Fn(anyhow::Error) -> Error,
) -> Result<QueryOutput, Error> {
    engine.set_rego_v0(question.v0);
    let ours = Shape::of(&question.rewritten, question.v0).map_err(explain)?;
    let authors = Shape::of(&question.text, question.v0).map_err(explain)?;
    let Some(query) = ours.as_rows(&authors) else {
        return Err(broken("the rewritten query has other statements"));
    };
    let results = engine.eval_query(query, false).map_err(explain)?;
    let all = results.result.first().and_then(|row| row.expressions.first());
    let Some(Value::Array(all)) = all.map(|answer| &answer.value) else {
        return Err(broken("the query has no list of rows"));
    };
    let mut rows = Vec::new();
    for row in all.iter() {
        rows.extend(authors.row(row)?);
    }
    Ok(QueryOutput { rows })
}

#[cfg(test)]
#[path = "query_tests.rs"]
pub(super) mod tests;
