//! Converting problems of the language to findings, and spans to positions.
//!
//! Owns the code of each finding, and the choice of a problem's details that are shown.

use crate::diagnostic::MAX_LINE;
use crate::rego::internal::program;
use crate::rego::syntax::tree::Span;
use crate::rego::{Problem, ProblemCode, Sources as Texts};
use crate::text::nearest;
use crate::{Diagnostic, Position, setting, sources};

/// Converts the problems of a failed load to findings.
#[doc(hidden)]
pub fn diagnostics(error: &program::LoadError) -> Vec<Diagnostic> {
    error.problems.iter().map(|problem| diagnostic(problem, &error.sources)).collect()
}

/// Converts a problem of the language to a finding.
#[doc(hidden)]
pub fn diagnostic(problem: &Problem, texts: &Texts) -> Diagnostic {
    let mut message = problem.message.clone();
    // The lines in which OPA draws a caret are redundant: the finding has a position.
    for detail in problem.details.iter().map(|line| line.trim()) {
        if ["have", "want", "left", "right"].iter().any(|word| detail.starts_with(word)) {
            message.push_str("; ");
            let words: Vec<_> = detail.split_whitespace().collect();
            message.push_str(&words.join(" ").replacen(" :", ":", 1));
        }
    }
    let starts = |text: &str| problem.message.starts_with(text);
    let arity =
        problem.message.contains("arity mismatch") || problem.message.contains(" has arity ");
    let finding = match problem.code {
        ProblemCode::Parse => Diagnostic::error("parse-error", message),
        ProblemCode::UnsafeVar => Diagnostic::error("unsafe-variable", message),
        ProblemCode::Recursion => Diagnostic::error("recursion", message),
        ProblemCode::Type if starts("undefined function") => {
            Diagnostic::error("unknown-function", message)
        }
        ProblemCode::Type if arity => Diagnostic::error("arity", message),
        ProblemCode::Type => Diagnostic::error("type-error", message),
        ProblemCode::Unsupported => Diagnostic::error("unsupported", message),
        ProblemCode::Limit => Diagnostic::error("too-large", message),
        _ => Diagnostic::error("compile-error", message),
    };
    let mut finding = finding.at(position(texts, problem.span));
    if problem.valid_in_v0 {
        finding = finding.by_setting(setting::REGO_V0);
    }
    if let Some(wrong) = misspelt(&problem.message)
        && let [hint] = problem.hints.as_slice()
        && let Some(right) = hint.strip_prefix("did you mean `")
        && let Some(right) = right.strip_suffix("`?")
    {
        // The same function of another product isn't misspelt.
        match other_product(wrong, right) {
            Some(product) => return finding.with_hint(hint_for_product(product, right)),
            None => {
                let (wrong, right) = last_names(wrong, right);
                finding = finding.renamed(wrong, right);
            }
        }
    }
    if let Some(hint) = sources::remote_hint(&problem.message) {
        finding = finding.with_hint(hint);
    } else if !problem.hints.is_empty() {
        finding = finding.with_hint(problem.hints.join("; "));
    } else if starts("undefined function data.") {
        finding = finding.with_hint("no loaded file defines it; load the file of its package too");
    }
    finding
}

/// Returns the name that a problem says is none of a function, or of a rule or variable.
fn misspelt(message: &str) -> Option<&str> {
    let variable = || message.strip_prefix("var ")?.strip_suffix(" is unsafe");
    message.strip_prefix("undefined function ").or_else(variable)
}

/// Returns the last names of two paths if they differ in nothing else: what is before may be written as the
/// name of an import.
fn last_names<'n>(wrong: &'n str, right: &'n str) -> (&'n str, &'n str) {
    match (wrong.rsplit_once('.'), right.rsplit_once('.')) {
        (Some((before, wrong)), Some((same, right))) if before == same => (wrong, right),
        _ => (wrong, right),
    }
}

/// Returns the hint for a function of a product other than the one that is loaded.
pub(super) fn hint_for_product(product: &str, right: &str) -> String {
    let own = right.split('.').next().unwrap_or_default();
    format!(
        "functions of the product `{own}` are registered: write `{right}`, or set the product to `{product}`"
    )
}

/// Returns the product of a function whose name differs in nothing else from the right one.
fn other_product<'n>(wrong: &'n str, right: &str) -> Option<&'n str> {
    let ((product, function), (own, same)) = (wrong.split_once('.')?, right.split_once('.')?);
    let is_other = function == same && nearest(product, [own]).is_none();
    is_other.then_some(product)
}

/// Returns a file's path for display; a query has no file and is shown as `query`.
pub(crate) fn path_of(path: &str) -> &str {
    if path.is_empty() { "query" } else { path }
}

/// Converts a span to a position with its line's text.
#[doc(hidden)]
pub fn position(texts: &Texts, span: Span) -> Position {
    let at = texts.position(span);
    let text = texts.get(span.file).and_then(|source| source.line(at.line));
    let text = text.filter(|line| line.len() <= MAX_LINE).unwrap_or_default();
    let shown = texts.text(span);
    let length = shown.lines().next().map_or(0, |line| line.chars().count());
    Position {
        file: path_of(at.path).to_owned(),
        line: at.line,
        column: at.column,
        length: u32::try_from(length.max(1)).unwrap_or(u32::MAX),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_does_not_repeat_a_long_line() {
        let mut texts = Texts::new();
        let text = format!("short\n{}\n", "é".repeat(MAX_LINE));
        let file = texts.add("p.rego", text.as_str());
        let short = position(&texts, Span { file, start: 1, end: 3 });
        assert_eq!((short.column, short.text.as_str()), (2, "short"));
        let long = position(&texts, Span { file, start: 26, end: 30 });
        assert_eq!((long.line, long.column, long.length, long.text.as_str()), (2, 11, 2, ""));
        let shown = crate::Diagnostic::error("parse-error", "message").with_hint("hint").at(long);
        let expected = "error[parse-error]: message\n --> p.rego:2:11\n  = help: hint";
        assert_eq!(shown.render(), expected);
    }
}
