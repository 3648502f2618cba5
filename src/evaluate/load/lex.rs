//! Bounds on a module's text, checked before the parser sees it.
//!
//! Owns one linear, iterative scan over strings, comments and brackets. The interpreter's parser
//! is recursive and tries each bracketed literal as a comprehension first, so its stack and its
//! time depend on nesting: both are estimated here and refused beyond a bound. It decides nothing
//! about meaning; what it lets through may still be no Rego.

/// Deepest nesting of brackets.
const MAX_BRACKETS: usize = 100;
/// Longest chain of operators and fields in one expression, counted with the chains around it.
const MAX_CHAIN: usize = 2_000;
/// Most tokens that the parser may look at, each counted as often as it is parsed again.
const MAX_WORK: u64 = 4_000_000;

/// Why a text is refused, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) offset: usize,
    pub(super) message: &'static str,
}

/// One open bracket.
struct Group {
    /// Chain length of the expression around the bracket.
    outer_chain: usize,
    /// How often the parser reads what stands here.
    factor: u64,
    /// The factor outside the bracket.
    outer_factor: u64,
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    groups: Vec<Group>,
    chain: usize,
    /// Chain lengths of the groups around the current one.
    chain_below: usize,
    factor: u64,
    work: u64,
    /// A line break came after the last token.
    broken: bool,
    /// The last token was part of a term, so that a term on the next line starts a statement.
    after_term: bool,
}

/// Checks the bounds of `text`.
pub(super) fn check(text: &str) -> Result<(), Refusal> {
    // The parser takes a NUL for the end of the file and drops the rest without a word.
    if let Some(offset) = text.bytes().position(|b| b == 0) {
        return Err(Refusal { offset, message: "a NUL byte isn't allowed in a policy" });
    }
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
        groups: Vec::new(),
        chain: 0,
        chain_below: 0,
        factor: 1,
        work: 0,
        broken: false,
        after_term: false,
    };
    while let Some(&byte) = scan.bytes.get(scan.at) {
        let start = scan.at;
        scan.step(byte).map_err(|message| Refusal { offset: start, message })?;
    }
    Ok(())
}

impl Scan<'_> {
    fn step(&mut self, byte: u8) -> Result<(), &'static str> {
        match byte {
            b' ' | b'\t' | b'\r' => self.at += 1,
            b'\n' => {
                self.at += 1;
                self.broken = true;
            }
            b'#' => self.skip_until(b'\n'),
            _ => {
                self.token(byte)?;
                self.work = self.work.saturating_add(self.factor);
                if self.work > MAX_WORK {
                    return Err("literals are nested too deeply for the parser to read in time");
                }
            }
        }
        Ok(())
    }

    fn token(&mut self, byte: u8) -> Result<(), &'static str> {
        let operator = matches!(
            byte,
            b'+' | b'-'
                | b'*'
                | b'/'
                | b'%'
                | b'&'
                | b'|'
                | b'<'
                | b'>'
                | b'='
                | b'!'
                | b'.'
                | b':'
        );
        if !operator && self.broken && self.after_term && !self.at_in() {
            self.restart();
        }
        self.broken = false;
        self.after_term = matches!(byte, b']' | b'}' | b')')
            || !(operator || matches!(byte, b',' | b';' | b'[' | b'{' | b'('));
        match byte {
            b'"' => self.string(),
            b'`' => {
                self.at += 1;
                self.skip_until(b'`');
                self.at += 1;
            }
            b'[' | b'{' | b'(' => self.open(byte)?,
            b']' | b'}' | b')' => self.close(),
            b';' | b',' => {
                self.at += 1;
                self.restart();
            }
            _ if operator => {
                self.at += 1;
                self.link()?;
                // The first statement of a comprehension's body is read twice.
                if let (b'|', Some(group)) = (byte, self.groups.last()) {
                    self.factor = group.factor;
                }
            }
            _ => self.word()?,
        }
        Ok(())
    }

    /// The operator `in` goes on with the expression of the line before.
    fn at_in(&self) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| {
            rest.starts_with(b"in")
                && !rest.get(2).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
        })
    }

    /// A new element or statement starts here.
    fn restart(&mut self) {
        self.chain = 0;
        if let Some(group) = self.groups.last() {
            self.factor = group.outer_factor;
        }
    }

    fn link(&mut self) -> Result<(), &'static str> {
        self.chain += 1;
        if self.chain_below + self.chain > MAX_CHAIN {
            return Err("the expression has too many operators or fields");
        }
        Ok(())
    }

    fn open(&mut self, byte: u8) -> Result<(), &'static str> {
        self.at += 1;
        if self.groups.len() >= MAX_BRACKETS {
            return Err("brackets are nested too deeply");
        }
        let doubled = if byte == b'(' { self.factor } else { self.factor.saturating_mul(2) };
        self.groups.push(Group {
            outer_chain: self.chain,
            factor: doubled,
            outer_factor: self.factor,
        });
        self.link()?;
        self.chain_below += self.chain;
        self.chain = 0;
        self.factor = doubled;
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        if let Some(group) = self.groups.pop() {
            self.chain = group.outer_chain;
            self.chain_below = self.chain_below.saturating_sub(group.outer_chain + 1);
            self.factor = group.outer_factor;
        }
    }

    fn word(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            self.at += 1;
        }
        if self.at == start {
            self.at += 1;
        }
        match self.bytes.get(start..self.at) {
            Some(b"in") => {
                self.after_term = false;
                self.link()
            }
            _ => Ok(()),
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                // A string ends at the line's end at the latest; the parser says what is wrong.
                b'\n' => return,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn skip_until(&mut self, end: u8) {
        while self.bytes.get(self.at).is_some_and(|b| *b != end) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_policies_pass() {
        let text =
            "package p\nx := {\"a\": [{\"b\": [1, {2: [3]}]}]} # ]]]\ny if { \"[[[\" == `{{{` }\n";
        assert_eq!(check(text), Ok(()));
        let rules = "a if { input.x.y.z == [1, 2, 3]; count({v | some v in input.xs}) > 1 }\n";
        assert_eq!(check(&rules.repeat(5_000)), Ok(()));
    }

    #[test]
    fn what_the_parser_cant_bear_is_refused() {
        for text in [
            "[".repeat(5_000),
            format!("x := {}{}", "[".repeat(30), "]".repeat(30)),
            format!("x := {}{}", "[{".repeat(16), "}]".repeat(16)),
            format!("x := {}1{}", "f(".repeat(200), ")".repeat(200)),
            format!("x := 1{}", " + 1".repeat(15_000)),
            format!("x := input{}", ".a".repeat(15_000)),
            format!("x := {}1", "-".repeat(15_000)),
            format!("x := 1{}", "\n+\n1".repeat(15_000)),
            format!("x := 1{}", "\nin\n1".repeat(15_000)),
            format!("x := {}{}", "[\n".repeat(30), "]".repeat(30)),
            "package p\n\0x".to_owned(),
        ] {
            assert!(check(&text).is_err(), "{}", &text[..20]);
        }
    }

    #[test]
    fn a_chain_ends_with_its_group() {
        let text = format!("x := [{}]", "a.b.c.d + 1, ".repeat(3_000));
        assert_eq!(check(&text), Ok(()));
        let text = format!("x := {}1", "f(a.b) + ".repeat(400));
        assert_eq!(check(&text), Ok(()));
    }
}
