//! The text that is read, and the parts of it that stay as they are written.

use std::ops::Range;

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use rego::Value;
use rego::value::Number;

use crate::problem::Problem;

/// The text that is read.
pub(super) struct Source<'t>(pub &'t str);

impl Source<'_> {
    pub fn wrong(&self, span: Option<Range<usize>>, message: String) -> Problem {
        Problem::at(self.0, span.map_or(0, |span| span.start), message)
    }

    /// Returns the text of something that was parsed.
    pub fn of(&self, parsed: &impl Span) -> &str {
        parsed.span().and_then(|span| self.0.get(span)).unwrap_or_default()
    }

    /// Returns the source of an expression as a template has it.
    pub fn quoted(&self, expression: &Expression) -> String {
        format!("${{{}}}", self.of(expression))
    }

    /// Returns the number of a literal, with all of its digits.
    pub fn number(&self, literal: &impl Span) -> Result<Value, String> {
        let text = self.of(literal);
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits.trim_start()),
            None => ("", text),
        };
        let kept = digits.trim_start_matches('0');
        let zero = if kept.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
        let number = Number::read(&format!("{sign}{zero}{kept}"));
        number
            .map(Value::from)
            .map_err(|error| format!("the number `{text}` can't be read: {error}"))
    }
}
