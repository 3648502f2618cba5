//! Directives, anchors and tags.

use super::YamlError;
use super::chars::Mark;
use super::tokens::{Kind, Tokens};

/// The longest number of a version.
const MAX_VERSION_DIGITS: usize = 2;

impl Tokens<'_, '_> {
    pub(super) fn directive(&mut self) -> Result<Kind, YamlError> {
        let start = self.chars.mark;
        self.chars.skip();
        let name = self.word();
        if name.is_empty() {
            return self.fail(start, "could not find expected directive name");
        }
        if !self.chars.is_space(0) {
            return self.fail(start, "found unexpected non-alphabetical character");
        }
        let kind = match name.as_str() {
            "YAML" => {
                self.chars.skip_blanks();
                let major = self.version_number(start)?;
                if !self.chars.is(b'.') {
                    return self.fail(start, "did not find expected digit or '.' character");
                }
                self.chars.skip();
                Kind::Version(major, self.version_number(start)?)
            }
            "TAG" => {
                self.chars.skip_blanks();
                let handle = self.tag_handle(true, start)?;
                if !self.chars.is_blank(0) {
                    return self.fail(start, "did not find expected whitespace");
                }
                self.chars.skip_blanks();
                let prefix = self.tag_uri("", start)?;
                if !self.chars.is_space(0) {
                    return self.fail(start, "did not find expected whitespace or line break");
                }
                Kind::TagDirective(handle, prefix)
            }
            _ => return self.fail(start, "found unknown directive name"),
        };
        self.end_line(start)?;
        Ok(kind)
    }

    /// Skips the rest of a line, which may be a comment.
    pub(super) fn end_line(&mut self, start: Mark) -> Result<(), YamlError> {
        self.chars.skip_blanks();
        if self.chars.is(b'#') {
            self.chars.skip_line();
        }
        if !self.chars.is_line_end(0) {
            return self.fail(start, "did not find expected comment or line break");
        }
        self.chars.skip_break();
        Ok(())
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while self.chars.is_word() {
            self.chars.read(&mut word);
        }
        word
    }

    fn version_number(&mut self, start: Mark) -> Result<u8, YamlError> {
        let mut digits = String::new();
        while self.chars.peek(0).is_ascii_digit() {
            if digits.len() == MAX_VERSION_DIGITS {
                return self.fail(start, "found extremely long version number");
            }
            self.chars.read(&mut digits);
        }
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.fail(start, "did not find expected version number"),
        }
    }

    /// Reads an anchor or alias, and returns its name.
    pub(super) fn anchor(&mut self) -> Result<String, YamlError> {
        let start = self.chars.mark;
        self.chars.skip();
        let name = self.word();
        let next = self.chars.peek(0);
        let ended = self.chars.is_space(0)
            || matches!(next, b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ended {
            return self.fail(start, "did not find expected alphabetic or numeric character");
        }
        Ok(name)
    }

    /// Reads a tag, and returns its handle and suffix. Without a handle, the suffix is the tag.
    pub(super) fn tag(&mut self) -> Result<(String, String), YamlError> {
        let start = self.chars.mark;
        let found = if self.chars.peek(1) == b'<' {
            self.chars.skip_many(2);
            let whole = self.tag_uri("", start)?;
            if !self.chars.is(b'>') {
                return self.fail(start, "did not find the expected '>'");
            }
            self.chars.skip();
            (String::new(), whole)
        } else {
            let handle = self.tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.tag_uri("", start)?;
                (handle, suffix)
            } else {
                let suffix = self.tag_uri(&handle, start)?;
                if suffix.is_empty() {
                    (String::new(), "!".to_owned())
                } else {
                    ("!".to_owned(), suffix)
                }
            }
        };
        if !self.chars.is_space(0) {
            return self.fail(start, "did not find expected whitespace or line break");
        }
        Ok(found)
    }

    /// Reads `!`, `!!` or `!name!`; of a tag also the beginning `!name`.
    fn tag_handle(&mut self, directive: bool, start: Mark) -> Result<String, YamlError> {
        if !self.chars.is(b'!') {
            return self.fail(start, "did not find expected '!'");
        }
        let mut handle = String::new();
        self.chars.read(&mut handle);
        while self.chars.is_word() {
            self.chars.read(&mut handle);
        }
        if self.chars.is(b'!') {
            self.chars.read(&mut handle);
        } else if directive && handle != "!" {
            return self.fail(start, "did not find expected '!'");
        }
        Ok(handle)
    }

    /// Reads the rest of a tag, which begins with `head`, without its `!`.
    fn tag_uri(&mut self, head: &str, start: Mark) -> Result<String, YamlError> {
        let mut uri = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let mut found = !head.is_empty();
        loop {
            let next = self.chars.peek(0);
            match next {
                b'%' => self.uri_escape(&mut uri, start)?,
                _ if self.chars.is_word() || b";/?:@&=+$,.!~*'()[]".contains(&next) => {
                    uri.push(next);
                    self.chars.skip();
                }
                _ => break,
            }
            found = true;
        }
        if !found {
            return self.fail(start, "did not find expected tag URI");
        }
        match String::from_utf8(uri) {
            Ok(uri) => Ok(uri),
            Err(_) => self.fail(start, "found an incorrect UTF-8 octet"),
        }
    }

    /// Reads the `%XX` of one character.
    fn uri_escape(&mut self, uri: &mut Vec<u8>, start: Mark) -> Result<(), YamlError> {
        let mut rest = 1;
        let mut first = true;
        while rest > 0 {
            let digit = |ahead| char::from(self.chars.peek(ahead)).to_digit(16);
            let (true, Some(high), Some(low)) = (self.chars.is(b'%'), digit(1), digit(2)) else {
                return self.fail(start, "did not find URI escaped octet");
            };
            let octet = u8::try_from(high << 4 | low).unwrap_or_default();
            if first {
                rest = match octet {
                    0..=0x7f => 1,
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => return self.fail(start, "found an incorrect leading UTF-8 octet"),
                };
                first = false;
            } else if octet & 0xc0 != 0x80 {
                return self.fail(start, "found an incorrect trailing UTF-8 octet");
            }
            uri.push(octet);
            self.chars.skip_many(3);
            rest -= 1;
        }
        Ok(())
    }
}
