//! `# check:ignore CODE[, CODE]`: warnings that their author has looked at.
//!
//! Owns the comments and what they silence: findings on their own line, or, where nothing else is
//! on it, on the next line that isn't a comment. Errors can't be silenced, since evaluations refuse
//! them all the same. A comment that silences nothing is a warning itself.

use crate::evaluate::load::ModuleSyntax;
use crate::text::shorten;
use crate::{Diagnostic, Level};

const MARK: &str = "check:ignore";

/// One code in one comment.
pub(super) struct Ignore {
    /// The line whose findings it silences, from 1.
    line: u32,
    code: String,
    /// Where the code is, in bytes.
    at: (usize, usize),
    file: String,
    unused: Diagnostic,
}

/// The comments of a module that silence something.
pub(super) fn comments(module: &ModuleSyntax<'_>) -> Vec<Ignore> {
    let text = module.text();
    if !text.contains(MARK) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (start, end) in spans(text) {
        let comment = text.get(start..end).unwrap_or_default();
        let Some(codes) = comment.trim_start_matches('#').trim_start().strip_prefix(MARK) else {
            continue;
        };
        let from = end - codes.len();
        let line = target(text, start);
        let mut at = from;
        let mut any = false;
        for part in codes.split_inclusive([',', ' ', '\t']) {
            let code = part.trim_matches([',', ' ', '\t', '\r']);
            let offset = at + part.find(code).unwrap_or_default();
            at += part.len();
            if code.is_empty() {
                continue;
            }
            any = true;
            out.push(ignore(module, line, code, (offset, offset + code.len())));
        }
        if !any {
            out.push(ignore(module, line, "", (start, end)));
        }
    }
    out
}

fn ignore(module: &ModuleSyntax<'_>, line: u32, code: &str, at: (usize, usize)) -> Ignore {
    let rule = super::rules::rule(code);
    let message = match rule {
        _ if code.is_empty() => format!("`{MARK}` names no code"),
        None => format!("`{MARK}`: there is no code `{}`", shorten(code, 60)),
        Some(rule) if rule.level == Level::Error => {
            format!("`{code}` is an error, which can't be silenced")
        }
        Some(_) => format!("there is no finding `{code}` here to silence"),
    };
    let hint = match (rule, super::rules::nearest(code)) {
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "write the code that the finding shows in brackets".to_owned(),
        (Some(_), _) => "remove it".to_owned(),
    };
    let unused = Diagnostic::warning("unused-ignore", message)
        .with_hint(hint)
        .at(module.position(at.0, at.1));
    let file = module.path().to_owned();
    Ignore { line, code: code.to_owned(), at, file, unused }
}

/// Takes away what is silenced, and adds what silences nothing.
pub(super) fn apply(mut ignores: Vec<Ignore>, found: &mut Vec<Diagnostic>) {
    ignores.sort_by(|a, b| (&a.file, a.at).cmp(&(&b.file, b.at)));
    let mut used = vec![false; ignores.len()];
    found.retain(|finding| {
        let Some(position) = &finding.position else { return true };
        let mut silenced = false;
        for (ignore, used) in ignores.iter().zip(&mut used) {
            if finding.level == Level::Warning
                && ignore.code == finding.code
                && ignore.line == position.line
                && ignore.file == position.file
            {
                (*used, silenced) = (true, true);
            }
        }
        !silenced
    });
    let idle = ignores.into_iter().zip(used).filter(|(_, used)| !used);
    found.extend(idle.map(|(ignore, _)| ignore.unused));
}

/// The line that a comment is about.
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

/// The byte ranges of the comments of a text that parses.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        at += 1 + match byte {
            b'#' => {
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                out.push((at, at + 1 + length));
                length
            }
            b'`' => rest.iter().position(|b| *b == b'`').map_or(rest.len(), |n| n + 1),
            b'"' => string(rest),
            _ => 0,
        };
    }
    out
}

/// The length of a string after its first quotation mark.
fn string(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used)]

    use super::*;

    #[test]
    fn comments_are_found_outside_strings() {
        let text = "a := \"# no \\\" # no\" # yes\nb := `# no\n# no` # and\n#last";
        let found: Vec<&str> = spans(text).into_iter().map(|(s, e)| &text[s..e]).collect();
        assert_eq!(found, ["# yes", "# and", "#last"]);
    }

    #[test]
    fn a_comment_is_about_its_line_or_the_next() {
        let text = "x\ny # one\n  # two\n# three\nz";
        let at = |word: &str| target(text, text.find(word).unwrap());
        assert_eq!((at("# one"), at("# two"), at("# three")), (2, 5, 5));
    }
}
