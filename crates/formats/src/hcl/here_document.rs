//! Where here-documents end. The parser's rule differs from HCL's, by which a here-document ends with the first
//! line that is its marker between white space: a text in which both rules differ isn't read.

use hcl_edit::Span as _;
use hcl_edit::expr::Expression;
use hcl_edit::structure::Body;
use hcl_edit::visit::{Visit, visit_expr};

use crate::problem::Problem;

/// Checks that all here-documents end where HCL ends them.
pub(super) fn check(text: &str, body: &Body) -> Result<(), Problem> {
    let mut ends = Ends { text, wrong: None };
    ends.visit_body(body);
    let Some(at) = ends.wrong else { return Ok(()) };
    let message = "this here-document may end at another line than in HCL: leave no line in it that \
                   is or begins with its marker, and write an empty one as `\"\"`";
    Err(Problem::at(text, at, message))
}

struct Ends<'t> {
    text: &'t str,
    /// The start of the first here-document whose end differs.
    wrong: Option<usize>,
}

impl Visit for Ends<'_> {
    fn visit_expr(&mut self, own: &Expression) {
        if let Expression::HeredocTemplate(_) = own {
            let span = own.span().unwrap_or_default();
            if self.wrong.is_none() && end(self.text, span.start) != Some(span.end) {
                self.wrong = Some(span.start);
            }
        }
        visit_expr(self, own);
    }
}

/// Returns the end of the marker that ends the here-document at `start`, by HCL's rule.
fn end(text: &str, start: usize) -> Option<usize> {
    let mut lines = text.get(start..)?.split_inclusive('\n');
    let first = lines.next()?;
    let marker = first.strip_prefix("<<")?;
    let marker = marker.strip_prefix('-').unwrap_or(marker).trim_end();
    let mut at = start + first.len();
    for line in lines {
        if line.trim() == marker {
            return line.ends_with('\n').then_some(at + line.trim_end().len());
        }
        at += line.len();
    }
    None
}
