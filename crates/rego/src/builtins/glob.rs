//! Globs: `*` matches within delimiters, `**` across them; `?`, `[…]` and `{…,…}`.

use super::operands::{answer, element_error, operand, string};
use super::regex::{Compiled, backslashed, write_char};
use super::{Answer, Context, Error, Value};

pub(super) fn matches(context: &dyn Context, args: &[Value]) -> Answer {
    let pattern = string(args, 0)?;
    let delimiters = match operand(args, 1)? {
        Value::Null => String::new(),
        Value::Array(array) if array.is_empty() => ".".to_owned(),
        Value::Array(array) => {
            let whole = operand(args, 1)?;
            let one = |value: &Value| {
                let text =
                    value.as_str().ok_or_else(|| element_error(2, whole, value, &["string"]))?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(c), None) => Ok(c),
                    _ => Err(element_error(2, whole, value, &["rune"])),
                }
            };
            array.iter().map(one).collect::<Result<_, Error>>()?
        }
        other => return Err(Error::operand(2, other, &["array", "null"])),
    };
    let text = string(args, 2)?;
    // The length tells where the delimiters end: each character may be one.
    let key = format!("{}/{delimiters}{pattern}", delimiters.len());
    let compiled = context
        .patterns()
        .glob
        .get(&key, || Compiled::new(Translation::new(pattern, &delimiters).pattern()?))?;
    answer(compiled.is_match(text, &|| context.check())?)
}

pub(super) fn quote_meta(context: &dyn Context, args: &[Value]) -> Answer {
    let text = string(args, 0)?;
    context.charge((text.len() as u64).saturating_mul(2))?;
    answer(backslashed(text, r"*?\[]{}"))
}

/// The translation of a glob into a regular expression.
struct Translation<'a> {
    pattern: &'a str,
    rest: std::str::Chars<'a>,
    /// The expression for a single character that isn't a delimiter.
    one: String,
    /// The expression for any number of characters that aren't delimiters.
    any: String,
    out: String,
    groups: usize,
}

impl<'a> Translation<'a> {
    fn new(pattern: &'a str, delimiters: &str) -> Self {
        let mut others = String::new();
        delimiters.chars().for_each(|c| write_char(&mut others, c.into()));
        let one = if others.is_empty() { "(?s:.)".to_owned() } else { format!("[^{others}]") };
        // Bytes other than those of ASCII delimiters make up whole characters, and their automaton
        // is a fraction of that of characters.
        let any = match others.is_empty() {
            true => "(?s-u:.)*".to_owned(),
            false if delimiters.is_ascii() => format!("(?-u:[^{others}])*"),
            false => format!("{one}*"),
        };
        Self { pattern, rest: pattern.chars(), one, any, out: String::new(), groups: 0 }
    }

    fn fail<T>(&self, reason: &str) -> Result<T, Error> {
        let at = self.pattern.len() - self.rest.as_str().len();
        Err(Error::failed(format!("glob: syntax error at {at}: {reason}")))
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn pattern(mut self) -> Result<String, Error> {
        self.out.push_str("^(?:");
        while let Some(c) = self.rest.next() {
            match c {
                '{' => {
                    self.groups += 1;
                    if self.groups > 100 {
                        return self.fail("too many nested groups");
                    }
                    self.out.push_str("(?:");
                }
                ',' if self.groups > 0 => self.out.push('|'),
                '}' if self.groups > 0 => {
                    self.groups -= 1;
                    self.out.push(')');
                }
                '[' => self.class()?,
                '?' => self.out.push_str(&self.one),
                '*' => {
                    let mut across = false;
                    while self.peek() == Some('*') {
                        self.rest.next();
                        across = true;
                    }
                    self.out.push_str(if across { "(?s-u:.)*" } else { &self.any });
                }
                '\\' => match self.rest.next() {
                    Some(c) => write_char(&mut self.out, c.into()),
                    None => return self.fail("trailing backslash"),
                },
                c => write_char(&mut self.out, c.into()),
            }
        }
        if self.groups > 0 {
            return self.fail("unclosed `{`");
        }
        self.out.push_str(")$");
        Ok(self.out)
    }

    /// Translates a class, after its `[`: characters or a single range, negated by `!`.
    fn class(&mut self) -> Result<(), Error> {
        let negated = self.peek() == Some('!');
        if negated {
            self.rest.next();
        }
        let Some(first) = self.peek() else { return self.fail("unexpected end of input") };
        let mut lookahead = self.rest.clone();
        lookahead.next();
        let mut class = String::from(if negated { "[^" } else { "[" });
        if lookahead.next() == Some('-') {
            self.rest = lookahead;
            let Some(last) = self.rest.next() else { return self.fail("unexpected end of input") };
            if last < first {
                return self.fail("range hi character is less than lo");
            }
            write_char(&mut class, first.into());
            class.push('-');
            write_char(&mut class, last.into());
        } else {
            let mut any = false;
            loop {
                let c = match self.peek() {
                    Some(']') | None => break,
                    Some('\\') => {
                        self.rest.next();
                        match self.rest.next() {
                            Some(c) => c,
                            None => return self.fail("trailing backslash"),
                        }
                    }
                    Some(c) => {
                        self.rest.next();
                        c
                    }
                };
                write_char(&mut class, c.into());
                any = true;
            }
            if !any && self.peek().is_some() {
                return self.fail("could not parse range");
            }
        }
        match self.rest.next() {
            Some(']') => {}
            Some(_) => return self.fail("expected close range character"),
            None => return self.fail("unexpected end of input"),
        }
        class.push(']');
        self.out.push_str(&class);
        Ok(())
    }
}

/// A glob without delimiters: each of its `*` matches any text.
pub struct PathGlob(Compiled);

impl PathGlob {
    /// Compiles a glob. An error is the reason why it isn't one.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let compiled = Translation::new(pattern, "").pattern().and_then(Compiled::new);
        compiled.map(Self).map_err(|error| error.to_string())
    }

    /// Returns `true` if the glob matches the whole of a text.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text, &|| Ok(())).is_ok_and(|found| found)
    }
}
