//! The position in a text, and its tokens.

use std::ops::Range;

use rego::value::deeper;

use crate::problem::{Problem, shown};

/// The deepest nesting of expressions and blocks.
const MAX_DEPTH: usize = 200;

/// A part of a text.
pub(super) type Span = Range<usize>;

/// A text that is being read.
pub(super) struct Scanner<'t> {
    pub text: &'t str,
    pub at: usize,
    /// `true` if the end of a line is a token, not white space.
    newlines: bool,
    depth: usize,
}

impl<'t> Scanner<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, newlines: true, depth: 0 }
    }

    /// Returns the text that isn't read yet.
    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn source(&self, span: Span) -> &'t str {
        self.text.get(span).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns a problem at the current position.
    pub fn invalid(&self, message: &str) -> Problem {
        Problem::at(self.text, self.at, format!("invalid HCL: {message}"))
    }

    /// Returns the problem of a token that isn't what was expected.
    pub fn expected(&self, what: &str) -> Problem {
        let found = self.rest().split_whitespace().next().map(shown);
        let found = found.map_or("the end".to_owned(), |found| format!("`{found}`"));
        self.invalid(&format!("expected {what}, found {found}"))
    }

    /// Runs `read` one level deeper, where ends of lines are tokens or not.
    pub fn within<T>(
        &mut self,
        newlines: bool,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.depth >= MAX_DEPTH {
            return Err(
                self.invalid(&format!("nested too deeply: the limit is {MAX_DEPTH} levels"))
            );
        }
        let before = std::mem::replace(&mut self.newlines, newlines);
        self.depth += 1;
        let done = deeper(|| read(self));
        self.depth -= 1;
        self.newlines = before;
        done
    }

    /// Runs `read` one level deeper.
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        self.within(self.newlines, read)
    }

    /// Skips white space and comments, and returns the position of the next token.
    pub fn skip(&mut self) -> Result<usize, Problem> {
        loop {
            let rest = self.rest();
            let length = if rest.starts_with([' ', '\t']) {
                1
            } else if rest.starts_with('#') || rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                end.ok_or_else(|| self.invalid("missing `*/` of a comment"))? + 4
            } else if !self.newlines && rest.starts_with(['\r', '\n']) {
                1
            } else {
                return Ok(self.at);
            };
            self.at += length;
        }
    }

    /// Consumes a token, if it is next and none of the longer ones is.
    pub fn eat(&mut self, token: &str, longer: &[&str]) -> Result<bool, Problem> {
        self.skip()?;
        let rest = self.rest();
        let is_next = rest.starts_with(token) && !longer.iter().any(|own| rest.starts_with(own));
        if is_next {
            self.at += token.len();
        }
        Ok(is_next)
    }

    /// Consumes a token that has to be next.
    pub fn expect(&mut self, token: &str, longer: &[&str]) -> Result<(), Problem> {
        if self.eat(token, longer)? { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    /// Consumes the end of a line, if it is next.
    pub fn newline(&mut self) -> Result<bool, Problem> {
        Ok(self.eat("\n", &[])? || self.eat("\r\n", &[])?)
    }

    /// Returns the name that is next, without consuming it.
    pub fn peek_name(&mut self) -> Result<Option<&'t str>, Problem> {
        self.skip()?;
        let rest = self.rest();
        if !rest.starts_with(|c| c == '_' || unicode_ident::is_xid_start(c)) {
            return Ok(None);
        }
        let is_part = |c| c == '-' || unicode_ident::is_xid_continue(c);
        Ok(rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())))
    }

    /// Consumes a name, if one is next.
    pub fn name(&mut self) -> Result<Option<&'t str>, Problem> {
        let name = self.peek_name()?;
        self.at += name.map_or(0, str::len);
        Ok(name)
    }

    /// Consumes a word, if it is next.
    pub fn word(&mut self, word: &str) -> Result<bool, Problem> {
        let is_next = self.peek_name()? == Some(word);
        self.at += if is_next { word.len() } else { 0 };
        Ok(is_next)
    }

    /// Consumes a number: digits, points and exponents in any order, of which the last isn't a point.
    pub fn number(&mut self) -> &'t str {
        let bytes = self.rest().as_bytes();
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let (mut at, mut end) = (0, 0);
        loop {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            match bytes.get(at) {
                Some(b'0'..=b'9') => at += 1,
                Some(b'e' | b'E') if is_digit(at + 1 + sign) => at += 2 + sign,
                Some(b'.') if at > 0 => {
                    at += 1;
                    continue;
                }
                _ => break,
            }
            end = at;
        }
        let number = self.rest().get(..end).unwrap_or_default();
        self.at += end;
        number
    }

    /// Consumes the beginning of a here-document, and returns its marker and whether lines lose their indentation.
    pub fn here_document(&mut self) -> Option<(&'t str, bool)> {
        let begun = self.rest().strip_prefix("<<")?;
        let (begun, is_flush) = begun.strip_prefix('-').map_or((begun, false), |own| (own, true));
        let mut inner = Scanner { at: self.text.len() - begun.len(), ..Scanner::new(self.text) };
        let starts = |c| c == '_' || unicode_ident::is_xid_start(c);
        let marker = inner.name().ok()?.filter(|_| begun.starts_with(starts))?;
        let rest = inner.rest();
        let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
        self.at = self.text.len() - rest.len();
        Some((marker, is_flush))
    }
}
