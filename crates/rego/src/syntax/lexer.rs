//! Splits a text into tokens, in one pass.
//!
//! The whole text is read before parsing begins, so that the parser can backtrack cheaply. Only
//! template strings depend on the context: a stack of open ones determines which `}` ends an
//! expression.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::token::{Tok, Token};
use super::tree::{Comment, FileId, Span};
use crate::problem::Problem;
use crate::value::Value;

/// The tokens and comments of a text.
pub(super) struct Lexed {
    /// The tokens; the last is [`Tok::Eof`].
    pub(super) tokens: Vec<Token>,
    pub(super) comments: Vec<Comment>,
    /// The errors, each with the index of the [`Tok::Illegal`] token that it's in.
    pub(super) errors: Vec<(usize, Problem)>,
}

/// The maximum number of reported errors.
const MAX_ERRORS: usize = 20;

/// As in OPA, non-ASCII decimal digits may be part of names.
static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d$").ok());

fn is_letter(ch: char) -> bool {
    ch.is_ascii_alphabetic() || ch == '_'
}

fn is_name_part(ch: char) -> bool {
    if ch.is_ascii() {
        return is_letter(ch) || ch.is_ascii_digit();
    }
    let mut buffer = [0; 4];
    let text = ch.encode_utf8(&mut buffer);
    DIGIT.as_ref().is_some_and(|digit| digit.is_match(text))
}

/// Splits a text into tokens.
pub(super) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer {
        file,
        text,
        at: 0,
        out: Lexed { tokens: Vec::new(), comments: Vec::new(), errors: Vec::new() },
        templates: Vec::new(),
        failed: false,
    };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    at: usize,
    out: Lexed,
    /// The open template strings: `true` for a raw one, and the number of open braces in its
    /// expression.
    templates: Vec<(bool, u32)>,
    /// `true` if the current token has an error.
    failed: bool,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    fn peek_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn offset(at: usize) -> u32 {
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: Self::offset(start), end: Self::offset(end) }
    }

    fn error(&mut self, start: usize, message: &str, hint: Option<&str>) {
        self.failed = true;
        if self.out.errors.len() < MAX_ERRORS {
            let mut problem = Problem::parse(self.span(start, self.at.max(start)), message);
            problem.hints.extend(hint.map(str::to_owned));
            self.out.errors.push((self.out.tokens.len(), problem));
        }
    }

    /// Consumes a character, and reports it if it isn't allowed anywhere.
    fn next(&mut self) -> Option<char> {
        let ch = self.peek()?;
        let at = self.at;
        self.at += ch.len_utf8();
        match ch {
            '\0' => self.error(at, "illegal null character", None),
            '\u{feff}' if at > 0 => self.error(at, "illegal byte-order mark", None),
            _ => {}
        }
        Some(ch)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek_byte() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn push(&mut self, kind: Tok, start: usize, space: bool, newline: bool) {
        let kind = if self.failed { Tok::Illegal } else { kind };
        self.failed = false;
        self.out.tokens.push(Token {
            kind,
            start: Self::offset(start),
            end: Self::offset(self.at),
            space,
            newline,
            comments: Self::offset(self.out.comments.len()),
        });
    }

    fn run(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
        }
        loop {
            let (space, newline) = self.skip_space();
            let start = self.at;
            let Some(ch) = self.next() else {
                self.push(Tok::Eof, start, space, newline);
                return;
            };
            let kind = self.token(ch, start);
            self.push(kind, start, space, newline);
            match kind {
                Tok::LBrace => {
                    if let Some((_, depth)) = self.templates.last_mut() {
                        *depth += 1;
                    }
                }
                Tok::RBrace => match self.templates.last_mut() {
                    Some((raw, 0)) => {
                        // After the expression, the text of the template string continues.
                        let (raw, start) = (*raw, self.at);
                        let kind = self.template(raw);
                        self.end_template(kind);
                        self.push(kind, start, false, false);
                    }
                    Some((_, depth)) => *depth -= 1,
                    None => {}
                },
                Tok::Template { raw, last: false } => self.templates.push((raw, 0)),
                _ => {}
            }
        }
    }

    fn end_template(&mut self, kind: Tok) {
        if matches!(kind, Tok::Template { last: true, .. }) {
            self.templates.pop();
        }
    }

    fn skip_space(&mut self) -> (bool, bool) {
        let (mut space, mut newline) = (false, false);
        loop {
            match self.peek_byte() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') => {
                    newline = true;
                    self.at += 1;
                }
                Some(b'#') => self.comment(),
                _ => return (space, newline),
            }
            space = true;
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        while self.peek_byte().is_some_and(|byte| byte != b'\n') {
            self.next();
        }
        let text = self.text.get(start + 1..self.at).unwrap_or_default().trim_end_matches('\r');
        let span = self.span(start, start + 1 + text.len());
        self.out.comments.push(Comment { text: Arc::from(text), span });
    }

    fn token(&mut self, ch: char, start: usize) -> Tok {
        match ch {
            '"' => self.string(),
            '`' => self.raw_string(),
            '[' => Tok::LBracket,
            ']' => Tok::RBracket,
            '{' => Tok::LBrace,
            '}' => Tok::RBrace,
            '(' => Tok::LParen,
            ')' => Tok::RParen,
            ',' => Tok::Comma,
            ';' => Tok::Semicolon,
            '.' => Tok::Dot,
            ':' if self.eat(b'=') => Tok::Assign,
            ':' => Tok::Colon,
            '+' => Tok::Add,
            '-' => Tok::Sub,
            '*' => Tok::Mul,
            '/' => Tok::Div,
            '%' => Tok::Rem,
            '&' => Tok::And,
            '|' => Tok::Or,
            '=' if self.eat(b'=') => Tok::Equal,
            '=' => Tok::Unify,
            '>' if self.eat(b'=') => Tok::Gte,
            '>' => Tok::Gt,
            '<' if self.eat(b'=') => Tok::Lte,
            '<' => Tok::Lt,
            '!' if self.eat(b'=') => Tok::Neq,
            '!' => {
                self.error(
                    start,
                    "illegal ! character",
                    Some("to negate a condition, write `not x`"),
                );
                Tok::Illegal
            }
            '\u{a0}' => {
                let message = "illegal non-breaking space character, use a regular space instead";
                self.error(start, message, None);
                Tok::Illegal
            }
            '$' => {
                if let Some(quote @ (b'`' | b'"')) = self.peek_byte() {
                    self.at += 1;
                    return self.template(quote == b'`');
                }
                let hint = "a template string is written `$\"…\"`";
                self.error(start, "illegal $ character", Some(hint));
                Tok::Illegal
            }
            ch if is_letter(ch) => {
                while self.peek().is_some_and(is_name_part) {
                    self.next();
                }
                Tok::Ident
            }
            ch if ch.is_ascii_digit() => self.number(start),
            _ => {
                let hint = match ch {
                    '\'' => "strings are written in double quotes",
                    '\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' => {
                        "strings are written in plain double quotes (`\"`)"
                    }
                    '?' => "Rego has no `?`: write `else`, or a second rule",
                    '^' => "Rego has no `^`; bits are combined with `bits.xor`",
                    _ => "",
                };
                let hint = Some(hint).filter(|hint| !hint.is_empty());
                self.error(start, "illegal token", hint);
                Tok::Illegal
            }
        }
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek_byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self, start: usize) -> Tok {
        self.digits();
        if self.eat(b'.') && !self.digits() {
            self.error(start, "expected fraction", None);
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            if !self.digits() {
                self.error(start, "expected exponent", None);
            }
        }
        if self.peek().is_some_and(is_letter) {
            while self.peek().is_some_and(is_name_part) {
                self.next();
            }
            self.error(start, "illegal number format", None);
        }
        Tok::Number
    }

    /// Consumes the character after a backslash. The escape is decoded when the string is used.
    fn escape(&mut self, template: bool) {
        match self.peek() {
            Some('\\' | '"' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => self.at += 1,
            Some('{') if template => self.at += 1,
            Some('u') => {
                for _ in 0..4 {
                    self.next();
                }
            }
            _ => {
                let hint = "in a string, a backslash is written `\\\\`; in backquotes it stands for itself";
                self.error(self.at.saturating_sub(1), "illegal escape sequence", Some(hint));
            }
        }
    }

    fn string(&mut self) -> Tok {
        let start = self.at - 1;
        loop {
            match self.peek() {
                None | Some('\n') => {
                    let hint = "the closing `\"` is missing; a string of several lines is written in \
                                backquotes";
                    self.error(start, "non-terminated string", Some(hint));
                    return Tok::Illegal;
                }
                Some(ch) => {
                    self.next();
                    match ch {
                        '"' => return Tok::String,
                        '\\' => self.escape(false),
                        _ => {}
                    }
                }
            }
        }
    }

    fn raw_string(&mut self) -> Tok {
        let start = self.at - 1;
        loop {
            match self.next() {
                Some('`') => return Tok::RawString,
                Some(_) => {}
                None => {
                    self.error(start, "non-terminated string", None);
                    return Tok::Illegal;
                }
            }
        }
    }

    /// Consumes the text of a template string up to an expression or the end.
    fn template(&mut self, raw: bool) -> Tok {
        let start = self.at - 1;
        loop {
            match self.peek() {
                None => {}
                Some('\n') if !raw => {}
                Some(ch) => {
                    self.next();
                    match ch {
                        '`' if raw => return Tok::Template { raw, last: true },
                        '"' if !raw => return Tok::Template { raw, last: true },
                        '{' => return Tok::Template { raw, last: false },
                        '\\' if raw => {
                            self.eat(b'{');
                        }
                        '\\' => self.escape(true),
                        _ => {}
                    }
                    continue;
                }
            }
            self.error(start, "non-terminated string", None);
            return Tok::Template { raw, last: true };
        }
    }
}

/// Decodes the escapes in the text between the quotes of a string; `None` if one is invalid.
pub(super) fn unescape(inner: &str) -> Option<String> {
    if !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    Value::from_json(&format!("\"{inner}\"")).ok()?.as_str().map(str::to_owned)
}

/// Decodes the text of a part of a template string: removes the backslashes before braces and,
/// unless it's raw, decodes the other escapes.
pub(super) fn unescape_template(inner: &str, raw: bool) -> Option<String> {
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(ch) = chars.next() {
        if ch != '\\' {
            text.push(ch);
            continue;
        }
        match chars.peek() {
            Some('{') => {}
            // If the text isn't raw, an escaped backslash doesn't escape the next character.
            Some(next) if !raw => {
                text.push(ch);
                text.push(*next);
                chars.next();
            }
            _ => text.push(ch),
        }
    }
    if raw { Some(text) } else { unescape(&text) }
}
