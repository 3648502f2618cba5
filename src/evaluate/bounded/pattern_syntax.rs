//! The translation of a pattern in Go's syntax to the syntax of the `regex` crate.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use super::super::{Fault, differs, operand};

/// Nested groups of a pattern, at most.
const GROUPS: usize = 200;

/// `pattern` with the same meaning in the syntax of the `regex` crate.
pub(in crate::evaluate::bounded) fn translate(pattern: &str) -> Result<String, Fault> {
    let mut translation = Translation { rest: pattern.chars().peekable(), out: String::new() };
    translation.all()?;
    Ok(translation.out)
}

struct Translation<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

fn invalid<T>() -> Result<T, Fault> {
    operand("error parsing regexp")
}

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0C\r ";

impl Translation<'_> {
    fn all(&mut self) -> Result<(), Fault> {
        // Whether the last thing was a repetition, which takes no second one.
        let mut repeated = false;
        let mut groups = 0_usize;
        while let Some(c) = self.rest.next() {
            let mut repeats = false;
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => {
                    groups += 1;
                    if groups > GROUPS {
                        return differs("a pattern with very many groups");
                    }
                    self.group()?;
                }
                '*' | '+' | '?' => {
                    self.out.push(c);
                    repeats = true;
                }
                '{' => repeats = self.braces()?,
                _ => self.out.push(c),
            }
            if repeats {
                if repeated {
                    return invalid();
                }
                if self.rest.next_if_eq(&'?').is_some() {
                    self.out.push('?');
                }
            }
            repeated = repeats;
        }
        Ok(())
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self) -> Result<(), Fault> {
        match self.rest.next() {
            Some(c @ ('A' | 'z')) => {
                self.out.push('\\');
                self.out.push(c);
                Ok(())
            }
            Some('b') => {
                self.out.push_str(r"(?-u:\b)");
                Ok(())
            }
            Some('B') => differs(r"`\B` in a pattern"),
            Some('Q') => {
                self.quoted();
                Ok(())
            }
            Some(c) => {
                let text = self.member(c)?;
                match text {
                    Member::Char(c) => self.literal(c),
                    Member::Class(negated, class) => {
                        let not = if negated { "^" } else { "" };
                        let _ = write!(self.out, "[{not}{class}]");
                    }
                    Member::Property(text) => self.out.push_str(&text),
                }
                Ok(())
            }
            None => invalid(),
        }
    }

    fn quoted(&mut self) {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(c);
        }
    }

    fn literal(&mut self, c: char) {
        let _ = write!(self.out, "\\x{{{:X}}}", u32::from(c));
    }

    /// What follows a backslash, inside a class or outside.
    fn member(&mut self, c: char) -> Result<Member, Fault> {
        Ok(match c {
            'd' => Member::Class(false, DIGIT),
            'D' => Member::Class(true, DIGIT),
            'w' => Member::Class(false, WORD),
            'W' => Member::Class(true, WORD),
            's' => Member::Class(false, SPACE),
            'S' => Member::Class(true, SPACE),
            'a' => Member::Char('\u{7}'),
            'f' => Member::Char('\u{c}'),
            't' => Member::Char('\t'),
            'n' => Member::Char('\n'),
            'r' => Member::Char('\r'),
            'v' => Member::Char('\u{b}'),
            'x' => Member::Char(self.hex()?),
            'p' | 'P' => Member::Property(self.property(c)?),
            '0'..='7' => Member::Char(self.octal(c)?),
            c if c.is_ascii_punctuation() || c == ' ' => Member::Char(c),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Member::Char(c),
            _ => return invalid(),
        })
    }

    fn hex(&mut self) -> Result<char, Fault> {
        let mut digits = String::new();
        if self.rest.next_if_eq(&'{').is_some() {
            loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(c) if c.is_ascii_hexdigit() && digits.len() < 8 => digits.push(c),
                    _ => return invalid(),
                }
            }
        } else {
            for _ in 0..2 {
                digits.extend(self.rest.next_if(char::is_ascii_hexdigit));
            }
            if digits.len() != 2 {
                return invalid();
            }
        }
        let code = u32::from_str_radix(&digits, 16).ok();
        code.and_then(char::from_u32).map_or_else(invalid, Ok)
    }

    fn octal(&mut self, first: char) -> Result<char, Fault> {
        let is_octal = |c: &char| ('0'..='7').contains(c);
        // A single digit other than 0 would be a reference back, which there isn't.
        if first != '0' && !self.rest.peek().is_some_and(is_octal) {
            return invalid();
        }
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            if let Some(digit) = self.rest.next_if(is_octal) {
                code = code * 8 + digit.to_digit(8).unwrap_or_default();
            }
        }
        char::from_u32(code).map_or_else(invalid, Ok)
    }

    /// `\pL`, `\p{Lu}`, `\p{^Greek}` and the like: categories of one or two letters, and scripts
    /// that both sides know by the same name.
    fn property(&mut self, case: char) -> Result<String, Fault> {
        const SCRIPTS: [&str; 12] = [
            "Arabic",
            "Armenian",
            "Cyrillic",
            "Devanagari",
            "Georgian",
            "Greek",
            "Han",
            "Hangul",
            "Hebrew",
            "Hiragana",
            "Katakana",
            "Latin",
        ];
        const LETTERS: &str = "CLMNPSZ";
        let mut name = String::new();
        if self.rest.next_if_eq(&'{').is_some() {
            loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(c) if name.len() < 40 => name.push(c),
                    _ => return invalid(),
                }
            }
        } else {
            name.extend(self.rest.next());
        }
        let (bare, caret) = name.strip_prefix('^').map_or((&*name, false), |bare| (bare, true));
        let category = bare.len() <= 2 && bare.starts_with(|c| LETTERS.contains(c));
        if !category && !SCRIPTS.contains(&bare) {
            // Go may know it, or not: which it is decides the answer.
            return differs(format!("`\\p{{{}}}` in a pattern", crate::text::shorten(&name, 40)));
        }
        let letter = if caret == (case == 'P') { 'p' } else { 'P' };
        Ok(format!("\\{letter}{{{bare}}}"))
    }

    /// After `(`: the flags and names that Go knows.
    fn group(&mut self) -> Result<(), Fault> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        self.out.push('?');
        if self.rest.next_if_eq(&'P').is_some() {
            if self.rest.peek() != Some(&'<') {
                return invalid();
            }
            self.out.push('P');
        }
        if self.rest.next_if_eq(&'<').is_some() {
            self.out.push('<');
            let mut name = String::new();
            loop {
                match self.rest.next() {
                    Some('>') => break,
                    Some(c) if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
                    _ => return invalid(),
                }
            }
            if name.is_empty() {
                return invalid();
            }
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                return differs("a group whose name begins with a digit");
            }
            self.out.push_str(&name);
            self.out.push('>');
            return Ok(());
        }
        loop {
            match self.rest.next() {
                Some(c @ ('i' | 'm' | 's' | 'U' | '-')) => self.out.push(c),
                Some(c @ (':' | ')')) => {
                    self.out.push(c);
                    return Ok(());
                }
                _ => return invalid(),
            }
        }
    }

    /// After `{`: a repetition, or a brace that stands for itself. Says whether it repeats.
    fn braces(&mut self) -> Result<bool, Fault> {
        let ahead: String = self.rest.clone().take_while(|c| *c != '}').take(40).collect();
        let closed = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        let (from, to) = ahead.split_once(',').unwrap_or((&ahead, &ahead));
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !closed || from.is_empty() || !number(from) || !number(to) {
            self.out.push_str("\\{");
            return Ok(false);
        }
        let too_many =
            |text: &str| !text.is_empty() && text.parse().map_or(true, |n: u32| n > 1000);
        if too_many(from) || too_many(to) {
            return invalid();
        }
        let _ = write!(self.out, "{{{ahead}}}");
        for _ in 0..=ahead.len() {
            self.rest.next();
        }
        Ok(true)
    }

    /// After `[`.
    fn class(&mut self) -> Result<(), Fault> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(c) = self.rest.next() else { return invalid() };
            if c == ']' && !first {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if c == '[' && self.rest.peek() == Some(&':') {
                self.posix()?;
                continue;
            }
            let low = match self.class_member(c)? {
                Member::Char(c) => c,
                Member::Class(negated, class) => {
                    let not = if negated { "^" } else { "" };
                    let _ = write!(self.out, "[{not}{class}]");
                    continue;
                }
                Member::Property(text) => {
                    self.out.push_str(&text);
                    continue;
                }
            };
            self.literal(low);
            let mut ahead = self.rest.clone();
            if ahead.next() == Some('-') && !matches!(ahead.next(), Some(']') | None) {
                self.rest.next();
                let Some(c) = self.rest.next() else { return invalid() };
                let Member::Char(high) = self.class_member(c)? else { return invalid() };
                if high < low {
                    return invalid();
                }
                self.out.push('-');
                self.literal(high);
            }
        }
    }

    fn class_member(&mut self, c: char) -> Result<Member, Fault> {
        if c != '\\' {
            return Ok(Member::Char(c));
        }
        match self.rest.next() {
            Some(c) => self.member(c),
            None => invalid(),
        }
    }

    /// After `[` in a class, before `:`.
    fn posix(&mut self) -> Result<(), Fault> {
        let ahead: String = self.rest.clone().take(12).collect();
        let name = ahead.split(":]").next().unwrap_or_default();
        let bare = name.trim_start_matches(':').trim_start_matches('^');
        let known = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        if name.len() == ahead.len() {
            // No `:]` follows: a bracket that stands for itself.
            self.literal('[');
            return Ok(());
        }
        if !known.contains(&bare) {
            return invalid();
        }
        let _ = write!(self.out, "[{name}:]");
        for _ in 0..name.chars().count() + 2 {
            self.rest.next();
        }
        Ok(())
    }
}

/// What a class can have, and an escape can stand for.
enum Member {
    Char(char),
    /// Whether it is negated, and the members.
    Class(bool, &'static str),
    Property(String),
}
