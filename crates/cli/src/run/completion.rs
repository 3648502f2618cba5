//! Completion of names.

use rego_platform::rego::internal::builtins;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::session::{COMMANDS, Session};

/// Keywords that are worth completing.
const KEYWORDS: &[&str] =
    &["contains", "default", "every", "import", "input", "package", "some", "with"];

/// All names that can be completed at present, sorted.
pub(super) struct Completions(Vec<String>);

impl Completions {
    pub fn new(session: &Session) -> Self {
        let mut words: Vec<String> = KEYWORDS.iter().map(|word| (*word).to_owned()).collect();
        for package in session.policies().packages() {
            words.push(format!("data.{}", package.path.join(".")));
            words.extend(package.rules.iter().map(|rule| format!("data.{}", rule.path.join("."))));
        }
        words.extend(session.typed_names().cloned());
        let options = session.options();
        words
            .extend(options.enabled.iter().map(|function| options.product.function(function.name)));
        let plain =
            builtins::all().iter().filter(|builtin| !builtin.deprecated && builtin.infix.is_none());
        let plain = plain.filter(|builtin| !builtin.name.starts_with("internal."));
        words.extend(plain.map(|builtin| builtin.name.to_owned()));
        let command = |(command, _): &(&str, &str)| command.split(' ').next().map(str::to_owned);
        words.extend(COMMANDS.iter().filter_map(command));
        words.sort();
        words.dedup();
        Self(words)
    }

    /// Returns the start of the name before the cursor, and its possible completions.
    fn complete(&self, before: &str) -> (usize, Vec<&str>) {
        let is_part = |c: char| c == '_' || c == '.' || c == ':' || c.is_ascii_alphanumeric();
        let start = before.rfind(|c: char| !is_part(c)).map_or(0, |at| {
            at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
        });
        let begun = before.get(start..).unwrap_or_default();
        if begun.is_empty() {
            return (start, Vec::new());
        }
        let found = self.0.iter().map(String::as_str).filter(|word| word.starts_with(begun));
        (start, found.collect())
    }
}

impl Completer for Completions {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, found) = Self::complete(self, line.get(..pos).unwrap_or_default());
        let pair = |word: &str| Pair { display: word.to_owned(), replacement: word.to_owned() };
        Ok((start, found.into_iter().map(pair).collect()))
    }
}

impl Hinter for Completions {
    type Hint = String;
}

impl Highlighter for Completions {}

impl Validator for Completions {}

impl Helper for Completions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_completed() {
        let words =
            Completions(["data.p", "data.p.allow", "count", ":calls"].map(str::to_owned).into());
        assert_eq!(words.complete("data.p"), (0, vec!["data.p", "data.p.allow"]));
        assert_eq!(words.complete("x := co"), (5, vec!["count"]));
        assert_eq!(words.complete(":c"), (0, vec![":calls"]));
        assert_eq!(words.complete("é+data.p.a"), (3, vec!["data.p.allow"]));
        assert!(words.complete("x ").1.is_empty());
    }
}
