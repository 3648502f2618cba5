//! The characters of a text, read forwards, with their positions.

/// A position in a text; all numbers count from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// The number of characters before it.
    pub index: usize,
    /// The line. `\r`, U+0085, U+2028 and U+2029 end lines too.
    pub line: usize,
    /// The number of characters before it in its line.
    pub column: usize,
}

impl Mark {
    /// The position of a byte in a text where only `\n` ends lines.
    pub fn of_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            index: before.chars().count(),
            line: before.matches('\n').count(),
            column: line.chars().count(),
        }
    }
}

/// The rest of a text.
pub(super) struct Chars<'t> {
    text: &'t str,
    byte: usize,
    pub mark: Mark,
    /// The number of line breaks since the last character that isn't a blank.
    pub newlines: usize,
}

impl<'t> Chars<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, byte: 0, mark: Mark::default(), newlines: 0 }
    }

    /// Returns the byte `ahead` of the current one; NUL, which no text contains, after the end.
    pub fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.byte + ahead).copied().unwrap_or_default()
    }

    pub fn is(&self, byte: u8) -> bool {
        self.peek(0) == byte
    }

    pub fn at_end(&self) -> bool {
        self.byte >= self.text.len()
    }

    /// Returns `true` for a space or a tab.
    pub fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    /// Returns `true` for a line break of YAML 1.1.
    pub fn is_break(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            b'\n' | b'\r' => true,
            0xc2 => self.peek(ahead + 1) == 0x85,
            0xe2 => self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xa8 | 0xa9),
            _ => false,
        }
    }

    /// Returns `true` for a line break and after the end.
    pub fn is_line_end(&self, ahead: usize) -> bool {
        self.byte + ahead >= self.text.len() || self.is_break(ahead)
    }

    /// Returns `true` for a blank, a line break and after the end.
    pub fn is_space(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_line_end(ahead)
    }

    /// Returns `true` for a character of names: an ASCII letter or digit, `_` or `-`.
    pub fn is_word(&self) -> bool {
        let byte = self.peek(0);
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
    }

    /// Returns `true` if `---` or `...` stands alone at the beginning of a line.
    pub fn is_document_indicator(&self) -> bool {
        self.mark.column == 0
            && matches!(self.peek(0), b'-' | b'.')
            && self.peek(1) == self.peek(0)
            && self.peek(2) == self.peek(0)
            && self.is_space(3)
    }

    /// Passes a character that isn't a line break.
    pub fn skip(&mut self) {
        if !self.is_blank(0) {
            self.newlines = 0;
        }
        let rest = self.text.get(self.byte..).unwrap_or_default();
        if let Some(c) = rest.chars().next() {
            self.byte += c.len_utf8();
            self.mark.index += 1;
            self.mark.column += 1;
        }
    }

    pub fn skip_many(&mut self, count: usize) {
        (0..count).for_each(|_| self.skip());
    }

    pub fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    /// Passes the rest of the line, up to its break.
    pub fn skip_line(&mut self) {
        while !self.is_line_end(0) {
            self.skip();
        }
    }

    /// Passes a line break, if there is one.
    pub fn skip_break(&mut self) {
        self.read_break(&mut String::new());
    }

    /// Moves a character that isn't a line break into `out`.
    pub fn read(&mut self, out: &mut String) {
        let start = self.byte;
        self.skip();
        out.push_str(self.text.get(start..self.byte).unwrap_or_default());
    }

    /// Moves a line break, if there is one, into `out`: as `\n`, except for U+2028 and U+2029.
    pub fn read_break(&mut self, out: &mut String) {
        if self.at_end() || !self.is_break(0) {
            return;
        }
        let (bytes, chars) = match (self.peek(0), self.peek(1)) {
            (b'\r', b'\n') => (2, 2),
            (b'\r' | b'\n', _) => (1, 1),
            (0xc2, _) => (2, 1),
            _ => (3, 1),
        };
        if bytes == 3 {
            out.push_str(self.text.get(self.byte..self.byte + 3).unwrap_or_default());
        } else {
            out.push('\n');
        }
        self.byte += bytes;
        self.mark.index += chars;
        self.mark.column = 0;
        self.mark.line += 1;
        self.newlines += 1;
    }
}
