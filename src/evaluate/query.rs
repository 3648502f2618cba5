//! Answers to queries, as `opa eval` gives them.
//!
//! Owns the form of an answer and the text of a reference. What a query means is
//! [`crate::rego`]'s.

use std::collections::BTreeMap;

use crate::rego::Value;
use crate::rego::program::Solution;

/// One expression of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// Its value.
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
    /// The rows, in OPA's order.
    pub rows: Vec<Row>,
}

impl QueryOutput {
    /// True if the query is undefined.
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
