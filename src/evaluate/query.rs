//! Answers to queries, in the form of `opa eval`.
//!
//! Owns the form of an answer and the text of a reference. The meaning of a query belongs to
//! [`crate::rego`].

use std::collections::BTreeMap;

use crate::rego::Value;
use crate::rego::program::Solution;

/// The value of one expression of a query, within a row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expression {
    /// Its value.
    pub value: Value,
    /// The expression's text, as its author wrote it.
    pub text: String,
    /// The line, from 1.
    pub row: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// One solution of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The expressions, in their order.
    pub expressions: Vec<Expression>,
    /// The values of the query's variables.
    pub bindings: BTreeMap<String, Value>,
}

/// The answer to a query; without rows if it is undefined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryOutput {
    /// The rows, in OPA's order.
    pub rows: Vec<Row>,
}

impl QueryOutput {
    /// Returns `true` if the query is undefined.
    pub fn is_undefined(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the value if there is one row with one expression.
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

impl From<Vec<Solution>> for QueryOutput {
    fn from(solutions: Vec<Solution>) -> Self {
        let rows = solutions.into_iter().map(|solution| Row {
            expressions: solution
                .expressions
                .into_iter()
                .map(|expression| Expression {
                    value: expression.value,
                    text: expression.text,
                    row: expression.position.0,
                    column: expression.position.1,
                })
                .collect(),
            bindings: solution.bindings,
        });
        Self { rows: rows.collect() }
    }
}
