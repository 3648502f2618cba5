//! The text of scalars: plain, quoted and in blocks.

use super::YamlError;
use super::chars::Mark;
use super::tokens::Tokens;

/// White space between two words of a scalar that may span lines.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: String,
    further_breaks: String,
}

impl Gap {
    /// Adds what the white space stands for: a single line break is a space, more are one less.
    fn fold_into(&mut self, out: &mut String) {
        if self.first_break.starts_with('\n') {
            out.push_str(if self.further_breaks.is_empty() { " " } else { &self.further_breaks });
        } else {
            out.push_str(&self.first_break);
            out.push_str(&self.further_breaks);
        }
        self.first_break.clear();
        self.further_breaks.clear();
    }
}

impl Tokens<'_, '_> {
    /// Returns the text, and `true` if a line break follows.
    pub(super) fn plain_scalar(&mut self) -> Result<(String, bool), YamlError> {
        let (start, least) = (self.chars.mark, self.indent.map_or(0, |indent| indent + 1));
        let (mut text, mut gap, mut broken) = (String::new(), Gap::default(), false);
        loop {
            if self.chars.is_document_indicator() || self.chars.is(b'#') {
                break;
            }
            while !self.chars.is_space(0) && !self.ends_plain() {
                if broken {
                    gap.fold_into(&mut text);
                    broken = false;
                } else {
                    text.push_str(&gap.blanks);
                }
                gap.blanks.clear();
                self.chars.read(&mut text);
            }
            if self.chars.at_end() || !self.chars.is_space(0) {
                break;
            }
            self.gap(&mut gap, &mut broken, least, start)?;
            if !self.in_flow() && self.chars.mark.column < least {
                break;
            }
        }
        Ok((text, broken))
    }

    /// Reads white space; `broken` becomes `true` at a line break. After one, a tab before column
    /// `least` is an error.
    fn gap(
        &mut self,
        gap: &mut Gap,
        broken: &mut bool,
        least: usize,
        start: Mark,
    ) -> Result<(), YamlError> {
        while !self.chars.at_end() && self.chars.is_space(0) {
            if self.chars.is_break(0) {
                if *broken {
                    self.chars.read_break(&mut gap.further_breaks);
                } else {
                    gap.blanks.clear();
                    self.chars.read_break(&mut gap.first_break);
                    *broken = true;
                }
            } else if !*broken {
                self.chars.read(&mut gap.blanks);
            } else if self.chars.is(b'\t') && self.chars.mark.column < least {
                return self.fail(start, "found a tab character that violates indentation");
            } else {
                self.chars.skip();
            }
        }
        Ok(())
    }

    /// Returns `true` for an indicator that ends a plain scalar.
    fn ends_plain(&self) -> bool {
        match self.chars.peek(0) {
            b':' => self.chars.is_space(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.in_flow(),
            _ => false,
        }
    }

    pub(super) fn quoted_scalar(&mut self, single: bool) -> Result<String, YamlError> {
        let start = self.chars.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.chars.skip();
        let (mut text, mut gap) = (String::new(), Gap::default());
        loop {
            if self.chars.is_document_indicator() {
                return self.fail(start, "found unexpected document indicator");
            }
            if self.chars.at_end() {
                return self.fail(start, "found unexpected end of stream");
            }
            let mut broken = false;
            while !self.chars.is_space(0) {
                let next = self.chars.peek(0);
                if single && next == quote && self.chars.peek(1) == quote {
                    text.push('\'');
                    self.chars.skip_many(2);
                } else if next == quote {
                    break;
                } else if !single && next == b'\\' && self.chars.is_break(1) {
                    self.chars.skip();
                    self.chars.skip_break();
                    broken = true;
                    break;
                } else if !single && next == b'\\' {
                    let c = self.escape(start)?;
                    text.push(c);
                } else {
                    self.chars.read(&mut text);
                }
            }
            if self.chars.is(quote) {
                break;
            }
            // In quotes, tabs don't matter.
            self.gap(&mut gap, &mut broken, 0, start)?;
            if broken {
                gap.fold_into(&mut text);
            } else {
                text.push_str(&gap.blanks);
                gap.blanks.clear();
            }
        }
        self.chars.skip();
        Ok(text)
    }

    /// Reads an escape sequence.
    fn escape(&mut self, start: Mark) -> Result<char, YamlError> {
        let digits = match self.chars.peek(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            other => {
                let c = match other {
                    b'0' => '\0',
                    b'a' => '\u{7}',
                    b'b' => '\u{8}',
                    b't' | b'\t' => '\t',
                    b'n' => '\n',
                    b'v' => '\u{b}',
                    b'f' => '\u{c}',
                    b'r' => '\r',
                    b'e' => '\u{1b}',
                    b' ' | b'"' | b'\'' | b'\\' => char::from(other),
                    b'N' => '\u{85}',
                    b'_' => '\u{a0}',
                    b'L' => '\u{2028}',
                    b'P' => '\u{2029}',
                    _ => return self.fail(start, "found unknown escape character"),
                };
                self.chars.skip_many(2);
                return Ok(c);
            }
        };
        self.chars.skip_many(2);
        let mut code = 0_u32;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.chars.peek(ahead)).to_digit(16) else {
                return self.fail(start, "did not find expected hexdecimal number");
            };
            code = code << 4 | digit;
        }
        let Some(c) = char::from_u32(code) else {
            return self.fail(start, "found invalid Unicode character escape code");
        };
        self.chars.skip_many(digits);
        Ok(c)
    }

    pub(super) fn block_scalar(&mut self, literal: bool) -> Result<String, YamlError> {
        let start = self.chars.mark;
        self.chars.skip();
        let (mut chomping, mut increment) = (None, None);
        for _ in 0..2 {
            match self.chars.peek(0) {
                sign @ (b'+' | b'-') if chomping.is_none() => chomping = Some(sign),
                b'0' if increment.is_none() => {
                    return self.fail(start, "found an indentation indicator equal to 0");
                }
                digit @ b'1'..=b'9' if increment.is_none() => {
                    increment = Some(usize::from(digit - b'0'));
                }
                _ => break,
            }
            self.chars.skip();
        }
        self.end_line(start)?;

        let mut indent = increment.map(|more| self.indent.unwrap_or_default() + more);
        let mut text = String::new();
        let (mut first_break, mut further_breaks) = (String::new(), String::new());
        self.block_indentation(&mut indent, &mut further_breaks, start)?;
        let mut after_blank = false;
        while Some(self.chars.mark.column) == indent && !self.chars.at_end() {
            let blank = self.chars.is_blank(0);
            let fold = !literal && !after_blank && !blank && first_break.starts_with('\n');
            if !fold {
                text.push_str(&first_break);
            } else if further_breaks.is_empty() {
                text.push(' ');
            }
            text.push_str(&further_breaks);
            first_break.clear();
            further_breaks.clear();
            after_blank = blank;
            while !self.chars.is_line_end(0) {
                self.chars.read(&mut text);
            }
            self.chars.read_break(&mut first_break);
            self.block_indentation(&mut indent, &mut further_breaks, start)?;
        }
        if chomping != Some(b'-') {
            text.push_str(&first_break);
        }
        if chomping == Some(b'+') {
            text.push_str(&further_breaks);
        }
        Ok(text)
    }

    /// Passes the indentation of a block scalar's next line, and empty lines before it. If the
    /// indentation isn't known yet, it is that of the widest of these lines.
    fn block_indentation(
        &mut self,
        indent: &mut Option<usize>,
        breaks: &mut String,
        start: Mark,
    ) -> Result<(), YamlError> {
        let mut widest = 0;
        loop {
            let within = |column: usize| indent.is_none_or(|indent| column < indent);
            while within(self.chars.mark.column) && self.chars.is(b' ') {
                self.chars.skip();
            }
            widest = widest.max(self.chars.mark.column);
            if within(self.chars.mark.column) && self.chars.is(b'\t') {
                let message = "found a tab character where an indentation space is expected";
                return self.fail(start, message);
            }
            if self.chars.at_end() || !self.chars.is_break(0) {
                break;
            }
            self.chars.read_break(breaks);
        }
        indent.get_or_insert_with(|| widest.max(self.indent.map_or(0, |indent| indent + 1)).max(1));
        Ok(())
    }
}
