//! Comments of the form `# check:ignore CODE[, CODE]`, which silence warnings.
//!
//! Owns the comments and their scope: a comment silences findings on its line or, if it has the
//! line to itself, on the next line that isn't a comment. Errors can't be silenced, since
//! evaluations refuse them anyway. A comment that silences nothing is itself a warning.

use super::{File, Inspected};
use crate::rego::syntax::tree::Module;
use crate::rego::syntax::tree::{Comment, Span};
use crate::text::shorten;
use crate::{Diagnostic, Level};

const MARK: &str = "check:ignore";

/// One code in one comment.
pub(super) struct Ignore {
    /// The line whose findings it silences, from 1.
    line: u32,
    code: String,
    at: Span,
    file: String,
    unused: Diagnostic,
}

impl Ignore {
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns `true` if a finding isn't to be reported.
    pub fn silences(&self, finding: &Diagnostic) -> bool {
        finding.level == Level::Warning
            && self.code == finding.code
            && finding
                .position
                .as_ref()
                .is_some_and(|at| self.line == at.line && self.file == at.file)
    }
}

/// Returns the lines on which comments of a module silence a code.
#[doc(hidden)]
pub fn silenced(module: &Module, text: &str, code: &str) -> Vec<u32> {
    let comments = module.comments.iter().filter(|comment| {
        codes(comment)
            .is_some_and(|codes| codes.split([',', ' ', '\t', '\r']).any(|part| part == code))
    });
    comments.map(|comment| target(text, comment.span.start as usize)).collect()
}

/// Returns the codes that a comment names, if it is one that silences.
fn codes(comment: &Comment) -> Option<&str> {
    comment.text.trim_start_matches('#').trim_start().strip_prefix(MARK)
}

/// Returns the `check:ignore` comments of a module.
pub(super) fn comments(all: &Inspected<'_>, file: &File<'_>) -> Vec<Ignore> {
    let mut out = Vec::new();
    for comment in &file.author.comments {
        let Some(codes) = codes(comment) else { continue };
        let length = u32::try_from(codes.len()).unwrap_or(0);
        let from = comment.span.end.saturating_sub(length);
        let line = target(file.text, comment.span.start as usize);
        let span = |offset: usize, length: usize| {
            let start = from + u32::try_from(offset).unwrap_or(0);
            let end = start + u32::try_from(length).unwrap_or(0);
            Span { start, end, ..comment.span }
        };
        let mut at = 0;
        let mut any = false;
        for part in codes.split_inclusive([',', ' ', '\t']) {
            let code = part.trim_matches([',', ' ', '\t', '\r']);
            let offset = at + part.find(code).unwrap_or_default();
            at += part.len();
            if code.is_empty() {
                continue;
            }
            any = true;
            out.push(ignore(all, line, code, span(offset, code.len())));
        }
        if !any {
            out.push(ignore(all, line, "", comment.span));
        }
    }
    out
}

fn ignore(all: &Inspected<'_>, line: u32, code: &str, at: Span) -> Ignore {
    let rule = super::rules::rule(code);
    let message = match rule {
        _ if code.is_empty() => format!("`{MARK}` names no code"),
        None => format!("`{MARK}`: unknown code `{}`", shorten(code, 60)),
        Some(rule) if rule.level == Level::Error => {
            format!("`{code}` is an error, which can't be silenced")
        }
        Some(_) => format!("no finding `{code}` to silence here"),
    };
    let hint = match (rule, super::rules::nearest(code)) {
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "write the code that the finding shows in brackets".to_owned(),
        (Some(_), _) => "remove it".to_owned(),
    };
    let unused = Diagnostic::warning("unused-ignore", message).with_hint(hint).at(all.position(at));
    let file = all.sources.position(at).path.to_owned();
    Ignore { line, code: code.to_owned(), at, file, unused }
}

/// Removes silenced findings, and adds a warning for each comment that silences nothing.
pub(super) fn apply(mut ignores: Vec<Ignore>, found: &mut Vec<Diagnostic>) {
    ignores.sort_by(|a, b| (&a.file, a.at).cmp(&(&b.file, b.at)));
    let mut used = vec![false; ignores.len()];
    found.retain(|finding| {
        let mut silenced = false;
        for (ignore, used) in ignores.iter().zip(&mut used) {
            if ignore.silences(finding) {
                (*used, silenced) = (true, true);
            }
        }
        !silenced
    });
    let idle = ignores.into_iter().zip(used).filter(|(_, used)| !used);
    found.extend(idle.map(|(ignore, _)| ignore.unused));
}

/// Returns the line whose findings a comment silences.
fn target(text: &str, start: usize) -> u32 {
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let alone = before.rsplit('\n').next().unwrap_or_default().trim().is_empty();
    let skipped = if alone {
        let rest = text.get(start..).unwrap_or_default().split('\n');
        rest.take_while(|line| line.trim_start().starts_with('#')).count()
    } else {
        0
    };
    u32::try_from(line + skipped).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_comment_applies_to_its_own_line_or_the_next() {
        let text = "x\ny # one\n  # two\n# three\nz";
        let at = |word: &str| target(text, text.find(word).unwrap());
        assert_eq!((at("# one"), at("# two"), at("# three")), (2, 5, 5));
    }
}
