//! Answers to queries, in the form of `opa eval`.
//!
//! Owns the form of an answer and the text of a reference. The meaning of a query belongs to
//! [`crate::rego`].

use std::collections::BTreeMap;

use crate::Error;
use crate::rego::Solution;
use crate::rego::Value;

/// The value of one expression of a query, within a row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expression {
    /// The value it has in this solution.
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

    /// Returns the value of a query that must have exactly one: an undefined answer isn't a verdict.
    ///
    /// ```
    /// # use rego_platform::evaluate::sources::Sources;
    /// # use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let policies = Policies::builder().load(&Sources::text("p.rego", "package p\n\nallow := true"))?;
    /// # let options = EvaluateOptions::new(Answers::Unavailable(String::new()));
    /// # let ask = |query: &str| policies.evaluate(&policies.query(query).unwrap(), None, &options);
    /// let allow: bool = ask("data.p.allow").result?.required()?.deserialize()?;
    /// assert!(allow);
    /// let error = ask("data.p.alow").result?.required().unwrap_err();
    /// assert_eq!(error.to_string(), "no verdict: the query is undefined");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when the query is undefined, or has more than one value.
    pub fn required(&self) -> Result<&Value, Error> {
        self.value().ok_or_else(|| {
            if self.is_undefined() {
                Error::policy_failed("no verdict: the query is undefined")
                    .with_hint("compare the path with the packages and rules that are loaded")
            } else {
                Error::policy_failed("the query has more than one value")
            }
        })
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
