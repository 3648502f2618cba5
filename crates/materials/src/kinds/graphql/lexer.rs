//! The tokens of GraphQL.

use std::fmt;

/// A token. Commas, blanks and comments are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Sign(char),
    Spread,
    Name(&'a str),
    Number,
    /// A string, in quotes or as a block.
    Text {
        is_empty: bool,
    },
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::Spread => f.write_str("`...`"),
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Number => f.write_str("number"),
            Self::Text { .. } => f.write_str("string"),
            Self::End => f.write_str("end"),
        }
    }
}

/// Reads the tokens of a text.
pub(super) struct Lexer<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    /// Returns the line that was reached, from 1.
    pub fn line(&self) -> usize {
        let end = self.text.len() - self.rest.len();
        self.text.get(..end).unwrap_or_default().matches('\n').count() + 1
    }

    pub fn next(&mut self) -> Result<Token<'a>, String> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', ',', '\u{feff}']);
            let Some(comment) = self.rest.strip_prefix('#') else { break };
            self.rest = comment.trim_start_matches(|c| c > '\u{1f}' || c == '\t');
        }
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        if let Some(rest) = self.rest.strip_prefix("...") {
            self.rest = rest;
            return Ok(Token::Spread);
        }
        if let Some(rest) = self.rest.strip_prefix("\"\"\"") {
            return self.block(rest);
        }
        match first {
            '!' | '$' | '&' | '(' | ')' | ':' | '=' | '@' | '[' | ']' | '{' | '|' | '}' => {
                self.take(first.len_utf8());
                Ok(Token::Sign(first))
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                let is_in = |c: char| c == '_' || c.is_ascii_alphanumeric();
                let end = self.rest.find(|c| !is_in(c)).unwrap_or(self.rest.len());
                Ok(Token::Name(self.take(end)))
            }
            '-' | '0'..='9' => self.number(),
            '"' => self.string(),
            other => Err(format!("unexpected character `{}`", other.escape_default())),
        }
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (token, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        token
    }

    fn skip(&mut self, signs: &[char]) -> bool {
        let rest = self.rest.strip_prefix(signs);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips digits; returns their number.
    fn digits(&mut self) -> usize {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let count = self.rest.len() - rest.len();
        self.rest = rest;
        count
    }

    fn number(&mut self) -> Result<Token<'a>, String> {
        let invalid = || Err("invalid number".to_owned());
        self.skip(&['-']);
        let starts_with_zero = self.skip(&['0']);
        if (self.digits() == 0) != starts_with_zero {
            return invalid();
        }
        if self.skip(&['.']) && self.digits() == 0 {
            return invalid();
        }
        if self.skip(&['e', 'E']) {
            self.skip(&['-', '+']);
            if self.digits() == 0 {
                return invalid();
            }
        }
        Ok(Token::Number)
    }

    fn string(&mut self) -> Result<Token<'a>, String> {
        let content = self.rest.get(1..).unwrap_or_default();
        let is_hex = |next: Option<(usize, char)>| next.is_some_and(|(_, c)| c.is_ascii_hexdigit());
        let mut chars = content.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.take(at + 2);
                    return Ok(Token::Text { is_empty: at == 0 });
                }
                '\\' => match chars.next() {
                    Some((_, '"' | '/' | '\\' | 'b' | 'f' | 'n' | 'r' | 't')) => {}
                    Some((_, 'u')) if (0..4).all(|_| is_hex(chars.next())) => {}
                    _ => return Err("invalid escape in a string".to_owned()),
                },
                '\t' => {}
                '\0'..='\u{1f}' => break,
                _ => {}
            }
        }
        Err("unterminated string".to_owned())
    }

    fn block(&mut self, content: &'a str) -> Result<Token<'a>, String> {
        let (mut rest, mut is_empty) = (content, true);
        while let Some(first) = rest.chars().next() {
            let quotes = rest.len() - rest.trim_start_matches('"').len();
            if quotes >= 3 {
                self.rest = rest.get(quotes..).unwrap_or_default();
                return Ok(Token::Text { is_empty: is_empty && quotes == 3 });
            }
            if first < ' ' && !matches!(first, '\t' | '\n' | '\r') {
                break;
            }
            is_empty &= matches!(first, ' ' | '\t' | '\n' | '\r');
            let escaped = rest.strip_prefix("\\\"\"\"");
            rest = escaped.or_else(|| rest.get(first.len_utf8()..)).unwrap_or_default();
        }
        Err("unterminated string".to_owned())
    }
}
