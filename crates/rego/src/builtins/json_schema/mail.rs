//! Mail addresses (RFC 5322), with or without a display name, or as a group of one.

/// Returns `true` if a text is a single mail address.
pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser(text);
    let single = parser.address(true) == Some(1);
    single && parser.skip_comments().is_some() && parser.0.is_empty()
}

struct Parser<'t>(&'t str);

fn is_visible(c: char) -> bool {
    ('!'..='~').contains(&c) || !c.is_ascii()
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}

fn is_atom(c: char) -> bool {
    is_visible(c) && !"()<>[]:;@\\,\"".contains(c)
}

impl<'t> Parser<'t> {
    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_start_matches(is_space);
    }

    fn take(&mut self, c: char) -> bool {
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Reads an address or a group; returns the number of addresses.
    fn address(&mut self, group: bool) -> Option<usize> {
        self.skip_spaces();
        if self.0.is_empty() {
            return None;
        }
        if self.spec().is_some() {
            self.skip_spaces();
            if self.take('(') {
                self.comment()?;
            }
            return Some(1);
        }
        if !self.0.starts_with('<') {
            self.phrase()?;
        }
        self.skip_spaces();
        if group && self.take(':') {
            return self.group();
        }
        if !self.take('<') {
            return None;
        }
        self.spec()?;
        self.take('>').then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.skip_spaces();
        if self.take(';') {
            self.skip_comments()?;
            return Some(0);
        }
        let mut count = 0;
        loop {
            self.skip_spaces();
            count += self.address(false)?;
            self.skip_comments()?;
            if self.take(';') {
                self.skip_comments()?;
                return Some(count);
            }
            if !self.take(',') {
                return None;
            }
        }
    }

    /// Reads `local@domain`; consumes nothing on failure.
    fn spec(&mut self) -> Option<()> {
        let start = self.0;
        let spec = self.whole_spec();
        if spec.is_none() {
            self.0 = start;
        }
        spec
    }

    fn whole_spec(&mut self) -> Option<()> {
        self.skip_spaces();
        if self.0.starts_with('"') {
            self.quoted().filter(|empty| !empty)?;
        } else {
            self.atom(false)?;
        }
        if !self.take('@') {
            return None;
        }
        self.skip_spaces();
        if self.take('[') {
            let (address, rest) = self.0.split_once(']')?;
            address.parse::<std::net::IpAddr>().ok()?;
            self.0 = rest;
            return Some(());
        }
        self.atom(false).map(|_| ())
    }

    /// Reads a quoted string; returns `true` if it is empty.
    fn quoted(&mut self) -> Option<bool> {
        let mut chars = self.0.char_indices().skip(1);
        let mut empty = true;
        loop {
            let (at, c) = chars.next()?;
            match c {
                '"' => {
                    self.0 = self.0.get(at + 1..)?;
                    return Some(empty);
                }
                '\\' => {
                    let (_, c) = chars.next()?;
                    if !is_visible(c) && !is_space(c) {
                        return None;
                    }
                }
                c if is_visible(c) || is_space(c) => {}
                _ => return None,
            }
            empty = false;
        }
    }

    fn atom(&mut self, any_dots: bool) -> Option<&'t str> {
        let end = self.0.find(|c| !is_atom(c)).unwrap_or(self.0.len());
        let (atom, rest) = self.0.split_at_checked(end)?;
        let dots = atom.starts_with('.') || atom.ends_with('.') || atom.contains("..");
        if atom.is_empty() {
            return None;
        }
        self.0 = rest;
        (any_dots || !dots).then_some(atom)
    }

    /// Reads the words before an address in angle brackets.
    fn phrase(&mut self) -> Option<()> {
        let mut any = false;
        loop {
            if any {
                self.skip_comments()?;
            }
            self.skip_spaces();
            if self.0.is_empty() {
                return Some(());
            }
            let word = if self.0.starts_with('"') {
                self.quoted().map(|_| ())
            } else {
                match self.atom(true) {
                    // An encoded word in an unknown character set ends the phrase.
                    Some(word) if unknown_charset(word) => None,
                    word => word.map(|_| ()),
                }
            };
            match word {
                Some(()) => any = true,
                None => return any.then_some(()),
            }
        }
    }

    /// Skips the rest of a comment, after its opening parenthesis.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 1_u32;
        let mut chars = self.0.char_indices();
        while depth > 0 {
            let (at, c) = chars.next()?;
            match c {
                '\\' => drop(chars.next()),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.0 = self.0.get(at + 1..)?;
            }
        }
        Some(())
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_spaces();
        while self.take('(') {
            self.comment()?;
            self.skip_spaces();
        }
        Some(())
    }
}

/// Returns `true` if a word is encoded (RFC 2047) in a character set other than the three known
/// ones.
fn unknown_charset(word: &str) -> bool {
    let inner = word.strip_prefix("=?").and_then(|word| word.strip_suffix("?="));
    let parts: Option<Vec<&str>> = inner.map(|inner| inner.split('?').collect());
    let Some([charset, encoding, _]) = parts.as_deref() else { return false };
    let known = ["utf-8", "iso-8859-1", "us-ascii"];
    !charset.is_empty()
        && matches!(*encoding, "B" | "b" | "Q" | "q")
        && !known.iter().any(|known| known.eq_ignore_ascii_case(charset))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn mail_addresses_are_recognized() {
        for good in ["a@b", "a.b@c.d", "\"a b\"@c", "N <a@b>", "a@[1.2.3.4]", "a@b (x)", "g: a@b;"]
        {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b c", "a..b@c", "<a@b", "a@[x]", "g:;", "g: a@b, c@d;"]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
