//! The syntax of patterns, parsed as Go does and written for the `regex` crate.
//!
//! Nothing relies on the crate's own flags and classes: each part is written out with its meaning.

use std::fmt::Write as _;

use crate::builtins::{Code, Error};
use crate::value::deeper;

/// Go's limits.
const MAX_REPEAT: u32 = 1000;
const MAX_HEIGHT: usize = 1000;
/// Our limit on the number of nodes in a pattern.
const MAX_NODES: usize = 200_000;

/// A pattern in the crate's syntax.
pub(super) struct Translated {
    pub(super) text: String,
    /// The names of the groups, from the first.
    pub(super) names: Vec<Option<String>>,
}

pub(super) fn translate(pattern: &str) -> Result<Translated, Error> {
    let mut parser = Parser {
        whole: pattern,
        rest: pattern,
        flags: Flags::default(),
        frames: vec![Frame::default()],
        names: Vec::new(),
        nodes: 0,
    };
    let node = parser.parse()?;
    let mut text = String::new();
    node.write(&mut text, false);
    Ok(Translated { text, names: parser.names })
}

fn failed<T>(message: &str, part: &str) -> Result<T, Error> {
    Err(Error::failed(format!("error parsing regexp: {message}: `{part}`")))
}

#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "these are the flags of a pattern")]
struct Flags {
    fold: bool,
    lines: bool,
    dot_all: bool,
    lazy: bool,
}

/// The kinds of nodes in a pattern.
#[derive(Debug)]
enum Kind {
    Empty,
    /// Text in the crate's syntax that needs no group around it.
    Atom(String),
    Group(Box<Node>),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    /// The operand, the minimum, the maximum, and `true` for a lazy repetition.
    Repeat(Box<Node>, u32, Option<u32>, bool),
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    height: usize,
}

impl Node {
    fn atom(text: impl Into<String>) -> Self {
        Self { kind: Kind::Atom(text.into()), height: 1 }
    }

    fn combine(mut parts: Vec<Self>, kind: fn(Vec<Self>) -> Kind) -> Self {
        if parts.len() > 1 {
            let height = parts.iter().map(|part| part.height).max().unwrap_or(0) + 1;
            return Self { kind: kind(parts), height };
        }
        parts.pop().unwrap_or(Self { kind: Kind::Empty, height: 1 })
    }

    /// Writes the node. If `alone`, an operator after it applies to the whole node.
    fn write(&self, out: &mut String, alone: bool) {
        match &self.kind {
            Kind::Empty => out.push_str("(?:)"),
            Kind::Atom(text) => out.push_str(text),
            Kind::Group(inner) => {
                out.push('(');
                deeper(|| inner.write(out, false));
                out.push(')');
            }
            Kind::Concat(parts) => enclosed(out, alone, |out| {
                for part in parts {
                    let alone = matches!(part.kind, Kind::Alternate(_));
                    deeper(|| part.write(out, alone));
                }
            }),
            Kind::Alternate(parts) => enclosed(out, alone, |out| {
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        out.push('|');
                    }
                    deeper(|| part.write(out, false));
                }
            }),
            Kind::Repeat(inner, least, most, lazy) => enclosed(out, alone, |out| {
                deeper(|| inner.write(out, true));
                // Writing to a string doesn't fail.
                let _ = match (least, most) {
                    (0, None) => write!(out, "*"),
                    (1, None) => write!(out, "+"),
                    (0, Some(1)) => write!(out, "?"),
                    (least, None) => write!(out, "{{{least},}}"),
                    (least, Some(most)) => write!(out, "{{{least},{most}}}"),
                };
                if *lazy {
                    out.push('?');
                }
            }),
        }
    }

    /// Returns `true` if nested repetition counts multiply to at most `limit`.
    fn repeats_within(&self, limit: u32) -> bool {
        match &self.kind {
            Kind::Empty | Kind::Atom(_) => true,
            Kind::Group(inner) => deeper(|| inner.repeats_within(limit)),
            Kind::Concat(parts) | Kind::Alternate(parts) => {
                parts.iter().all(|part| deeper(|| part.repeats_within(limit)))
            }
            Kind::Repeat(inner, least, most, _) => {
                // `*`, `+` and `?` don't count.
                let counted = !matches!((least, most), (0 | 1, None) | (0, Some(1)));
                let count = if counted { most.unwrap_or(*least) } else { 1 };
                if *most == Some(0) {
                    return true;
                }
                count <= limit && deeper(|| inner.repeats_within(limit / count.max(1)))
            }
        }
    }
}

fn enclosed(out: &mut String, alone: bool, write: impl FnOnce(&mut String)) {
    if alone {
        out.push_str("(?:");
    }
    write(out);
    if alone {
        out.push(')');
    }
}

/// A group that hasn't been closed yet.
#[derive(Default)]
struct Frame {
    captures: bool,
    /// The flags to restore after the group.
    flags: Flags,
    alternatives: Vec<Node>,
    parts: Vec<Node>,
}

impl Frame {
    fn end(mut self) -> Node {
        let last = Node::combine(self.parts, Kind::Concat);
        self.alternatives.push(last);
        Node::combine(self.alternatives, Kind::Alternate)
    }
}

struct Parser<'a> {
    whole: &'a str,
    rest: &'a str,
    flags: Flags,
    frames: Vec<Frame>,
    names: Vec<Option<String>>,
    nodes: usize,
}

/// A member of a class.
enum Member {
    Char(char),
    /// A surrogate, which never occurs in text.
    Surrogate(u32),
}

impl Member {
    fn code(&self) -> u32 {
        match self {
            Self::Char(c) => u32::from(*c),
            Self::Surrogate(code) => *code,
        }
    }
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    fn eat(&mut self, text: &str) -> bool {
        self.rest.strip_prefix(text).is_some_and(|rest| {
            self.rest = rest;
            true
        })
    }

    /// Returns the text from `start` to the current position.
    fn since(&self, start: &'a str) -> &'a str {
        start.get(..start.len() - self.rest.len()).unwrap_or(start)
    }

    fn count(&mut self, nodes: usize) -> Result<(), Error> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            // Go's limits differ, so this isn't an answer.
            return Err(Error::halt(Code::Limit, "the pattern is too large"));
        }
        Ok(())
    }

    /// Counts the members of a range that are folded one by one.
    fn fold(&mut self, members: u32) -> Result<(), Error> {
        if self.flags.fold && members > 1000 { self.count(1000) } else { Ok(()) }
    }

    fn push(&mut self, node: Node) -> Result<(), Error> {
        self.count(1)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.parts.push(node);
        }
        Ok(())
    }

    fn literal(&mut self, c: char) -> Result<(), Error> {
        let mut text = String::new();
        write_char(&mut text, u32::from(c));
        let cased = self.flags.fold && (c.is_ascii_alphabetic() || !c.is_ascii());
        self.push(Node::atom(if cased { format!("(?i:{text})") } else { text }))
    }

    fn parse(&mut self) -> Result<Node, Error> {
        // The start of the previous repetition operator; another one directly after it is an error.
        let mut last_repeat: Option<&'a str> = None;
        loop {
            let start = self.rest;
            let Some(c) = self.next() else { break };
            let mut repeat = None;
            match c {
                '(' => self.open(start)?,
                '|' => {
                    if let Some(frame) = self.frames.last_mut() {
                        let parts = std::mem::take(&mut frame.parts);
                        frame.alternatives.push(Node::combine(parts, Kind::Concat));
                    }
                }
                ')' => self.close()?,
                '^' => self.push(Node::atom(if self.flags.lines { "(?m:^)" } else { r"\A" }))?,
                '$' => self.push(Node::atom(if self.flags.lines { "(?m:$)" } else { r"\z" }))?,
                '.' => self.push(Node::atom(if self.flags.dot_all { "(?s:.)" } else { "." }))?,
                '[' => self.class(start)?,
                '*' => repeat = Some((0, None)),
                '+' => repeat = Some((1, None)),
                '?' => repeat = Some((0, Some(1))),
                '{' => match self.counts() {
                    None => self.literal('{')?,
                    Some((least, most)) => {
                        let (Some(least), good) = (least, most.is_none_or(|most| most.is_some()))
                        else {
                            return failed("invalid repeat count", self.since(start));
                        };
                        let most = most.flatten();
                        if !good
                            || least > MAX_REPEAT
                            || most.is_some_and(|most| most > MAX_REPEAT || most < least)
                        {
                            return failed("invalid repeat count", self.since(start));
                        }
                        repeat = Some((least, most));
                    }
                },
                '\\' => self.escape(start)?,
                c => self.literal(c)?,
            }
            last_repeat = match repeat {
                None => None,
                Some((least, most)) => {
                    self.repeat(start, last_repeat, least, most)?;
                    Some(start)
                }
            };
        }
        let frame = self.frames.pop().unwrap_or_default();
        if !self.frames.is_empty() {
            return failed("missing closing )", self.whole);
        }
        Ok(frame.end())
    }

    fn repeat(
        &mut self,
        start: &'a str,
        before: Option<&'a str>,
        least: u32,
        most: Option<u32>,
    ) -> Result<(), Error> {
        let lazy = self.eat("?") != self.flags.lazy;
        if let Some(before) = before {
            return failed("invalid nested repetition operator", self.since(before));
        }
        let operand = self.frames.last_mut().and_then(|frame| frame.parts.pop());
        let Some(operand) = operand else {
            return failed("missing argument to repetition operator", self.since(start));
        };
        let height = operand.height + 1;
        let node = Node { kind: Kind::Repeat(Box::new(operand), least, most, lazy), height };
        let counted = start.starts_with('{');
        if counted
            && (least >= 2 || most.is_some_and(|most| most >= 2))
            && !node.repeats_within(MAX_REPEAT)
        {
            return failed("invalid repeat count", self.since(start));
        }
        if height > MAX_HEIGHT {
            return failed("expression nests too deeply", self.whole);
        }
        self.push(node)
    }

    /// Reads the counts of a repetition, after its `{`. A count is `None` if it is far too large;
    /// the result is `None` if this isn't a repetition.
    #[allow(clippy::type_complexity, clippy::option_option)]
    fn counts(&mut self) -> Option<(Option<u32>, Option<Option<u32>>)> {
        let mut rest = self.rest;
        let number = |rest: &mut &str| -> Option<Option<u32>> {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
                return None;
            }
            *rest = after;
            Some(if digits.len() > 8 { None } else { digits.parse().ok() })
        };
        let least = number(&mut rest)?;
        let most = match rest.strip_prefix(',') {
            None => Some(least),
            Some(after) if after.starts_with('}') => {
                rest = after;
                None
            }
            Some(after) => {
                rest = after;
                Some(number(&mut rest)?)
            }
        };
        self.rest = rest.strip_prefix('}')?;
        Some((least, most))
    }

    /// Opens a group, after its `(`.
    fn open(&mut self, start: &'a str) -> Result<(), Error> {
        let mut frame = Frame { captures: true, flags: self.flags, ..Frame::default() };
        if !self.eat("?") {
            self.names.push(None);
            self.frames.push(frame);
            return Ok(());
        }
        let named = (self.rest.starts_with("P<") && start.len() > 4)
            || (self.rest.starts_with('<') && start.len() > 3);
        if named {
            self.eat("P");
            self.eat("<");
            let Some((name, rest)) = self.rest.split_once('>') else {
                return failed("invalid named capture", start);
            };
            self.rest = rest;
            if name.is_empty()
                || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                return failed("invalid named capture", self.since(start));
            }
            self.names.push(Some(name.to_owned()));
            self.frames.push(frame);
            return Ok(());
        }
        let mut flags = self.flags;
        let (mut on, mut seen) = (true, false);
        while let Some(c) = self.next() {
            match c {
                'i' => flags.fold = on,
                'm' => flags.lines = on,
                's' => flags.dot_all = on,
                'U' => flags.lazy = on,
                '-' if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                ':' | ')' if on || seen => {
                    if c == ':' {
                        frame.captures = false;
                        self.frames.push(frame);
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            seen = true;
        }
        failed("invalid or unsupported Perl syntax", self.since(start))
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.frames.len() < 2 {
            return failed("unexpected )", self.whole);
        }
        let frame = self.frames.pop().unwrap_or_default();
        self.flags = frame.flags;
        let captures = frame.captures;
        let inner = frame.end();
        let height = inner.height + usize::from(captures);
        if height > MAX_HEIGHT {
            return failed("expression nests too deeply", self.whole);
        }
        self.push(if captures {
            Node { kind: Kind::Group(Box::new(inner)), height }
        } else {
            inner
        })
    }

    /// Reads an escape outside a class, after the backslash.
    fn escape(&mut self, start: &'a str) -> Result<(), Error> {
        for (text, written) in [("A", r"\A"), ("z", r"\z"), ("b", r"(?-u:\b)"), ("B", r"(?-u:\B)")]
        {
            if self.eat(text) {
                return self.push(Node::atom(written));
            }
        }
        if self.eat("C") {
            return failed("invalid escape sequence", self.since(start));
        }
        if self.eat("Q") {
            let (literal, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
            self.rest = rest;
            return literal.chars().try_for_each(|c| self.literal(c));
        }
        if let Some(class) = self.named_class(start)? {
            return self.push(Node::atom(self.folded(&format!("[{class}]"))));
        }
        match self.escaped(start)? {
            Member::Char(c) => self.literal(c),
            Member::Surrogate(_) => self.push(Node::atom(EMPTY_CLASS)),
        }
    }

    fn folded(&self, class: &str) -> String {
        if self.flags.fold { format!("(?i:{class})") } else { class.to_owned() }
    }

    /// Reads `\d`, `\pL` and similar classes, after the backslash.
    fn named_class(&mut self, start: &'a str) -> Result<Option<String>, Error> {
        for (text, class) in [("d", "[0-9]"), ("w", "[0-9A-Za-z_]"), ("s", r"[\t\n\x0C\r\x20]")] {
            if self.eat(text) {
                return Ok(Some(class.to_owned()));
            }
        }
        for (text, class) in [("D", "[^0-9]"), ("W", "[^0-9A-Za-z_]"), ("S", r"[^\t\n\x0C\r\x20]")]
        {
            if self.eat(text) {
                self.fold(0x10_ffff)?;
                return Ok(Some(class.to_owned()));
            }
        }
        let mut negated = self.rest.starts_with('P');
        if !self.eat("p") && !self.eat("P") {
            return Ok(None);
        }
        let name = if self.eat("{") {
            let Some((name, rest)) = self.rest.split_once('}') else {
                return failed("invalid character class range", start);
            };
            self.rest = rest;
            name
        } else {
            let rest = self.rest;
            self.next();
            self.since(rest)
        };
        let name = match name.strip_prefix('^') {
            Some(name) => {
                negated = !negated;
                name
            }
            None => name,
        };
        // Such a class has hundreds of ranges.
        self.count(if self.flags.fold { 1000 } else { 100 })?;
        match property(name) {
            Some(class) => Ok(Some(format!("[{}{class}]", if negated { "^" } else { "" }))),
            None => failed("invalid character class range", self.since(start)),
        }
    }

    /// Reads an escaped character, after the backslash.
    fn escaped(&mut self, start: &'a str) -> Result<Member, Error> {
        let Some(c) = self.next() else {
            return failed("trailing backslash at end of expression", "");
        };
        let octal = |text: &str| text.starts_with(|c: char| ('0'..='7').contains(&c));
        let code = match c {
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            // A single digit other than 0 would be a back-reference.
            '0'..='7' if c == '0' || octal(self.rest) => {
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    if octal(self.rest) {
                        code =
                            code * 8 + self.next().and_then(|c| c.to_digit(8)).unwrap_or_default();
                    }
                }
                code
            }
            'x' => match self.hexadecimal() {
                Some(code) => code,
                None => return failed("invalid escape sequence", self.since(start)),
            },
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
            _ => return failed("invalid escape sequence", self.since(start)),
        };
        Ok(char::from_u32(code).map_or(Member::Surrogate(code), Member::Char))
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        if !self.eat("{") {
            let high = self.next()?.to_digit(16);
            let low = self.next()?.to_digit(16);
            return Some(high? * 16 + low?);
        }
        let mut code = None;
        loop {
            let c = self.next()?;
            if c == '}' {
                return code;
            }
            let next = code.unwrap_or(0) * 16 + c.to_digit(16)?;
            if next > 0x10_ffff {
                return None;
            }
            code = Some(next);
        }
    }

    /// Reads a class, after its `[`.
    fn class(&mut self, start: &'a str) -> Result<(), Error> {
        let mut class = String::from("[");
        if self.eat("^") {
            class.push('^');
        }
        let mut any = false;
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            if self.rest.len() > 2
                && self.rest.starts_with("[:")
                && let Some(length) = self.rest.get(2..).and_then(|rest| rest.find(":]"))
            {
                let at = self.rest;
                self.rest = at.get(length + 4..).unwrap_or_default();
                let name = at.get(2..length + 2).unwrap_or_default();
                let bare = name.strip_prefix('^');
                let Some(members) = posix(bare.unwrap_or(name)) else {
                    return failed("invalid character class range", self.since(at));
                };
                class.extend(["[", if bare.is_some() { "^" } else { "" }, members, "]"]);
                any = true;
                continue;
            }
            let at = self.rest;
            if self.eat("\\") {
                if let Some(members) = self.named_class(at)? {
                    class.push_str(&members);
                    any = true;
                    continue;
                }
                self.rest = at;
            }
            let low = self.class_char(start)?.code();
            let mut high = low;
            if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.eat("-");
                high = self.class_char(start)?.code();
                if high < low {
                    return failed("invalid character class range", self.since(at));
                }
            }
            self.fold(high - low)?;
            any |= write_range(&mut class, low, high);
        }
        self.eat("]");
        if !any {
            // The class contains only surrogates.
            let all = class.starts_with("[^");
            return self.push(Node::atom(if all { "(?s:.)" } else { EMPTY_CLASS }));
        }
        class.push(']');
        let class = self.folded(&class);
        self.push(Node::atom(class))
    }

    fn class_char(&mut self, start: &'a str) -> Result<Member, Error> {
        let at = self.rest;
        match self.next() {
            None => failed("missing closing ]", start),
            Some('\\') => self.escaped(at),
            Some(c) => Ok(Member::Char(c)),
        }
    }
}

/// A class that contains nothing.
const EMPTY_CLASS: &str = r"[^\x{0}-\x{10FFFF}]";

pub(in super::super) fn write_char(out: &mut String, code: u32) {
    // Writing to a string doesn't fail.
    let _ = match char::from_u32(code) {
        Some(c) if c.is_ascii_alphanumeric() => write!(out, "{c}"),
        _ => write!(out, "\\x{{{code:X}}}"),
    };
}

/// Writes a range without the surrogates in it; returns `true` if anything is left.
fn write_range(out: &mut String, low: u32, high: u32) -> bool {
    let mut any = false;
    for (low, high) in [(low, high.min(0xd7ff)), (low.max(0xe000), high)] {
        if low <= high {
            any = true;
            write_char(out, low);
            if low < high {
                out.push('-');
                write_char(out, high);
            }
        }
    }
    any
}

fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7F",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1F\x7F",
        "digit" => "0-9",
        "graph" => r"\x21-\x7E",
        "lower" => "a-z",
        "print" => r"\x20-\x7E",
        "punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        "space" => r"\t\n\x0B\x0C\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// The general categories.
const CATEGORIES: &[&str] = &[
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Lc", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me",
    "Mn", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk",
    "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Long names of categories.
const ALIASES: &[(&str, &str)] = &[
    ("casedletter", "Lc"),
    ("closepunctuation", "Pe"),
    ("cntrl", "Cc"),
    ("combiningmark", "M"),
    ("connectorpunctuation", "Pc"),
    ("control", "Cc"),
    ("currencysymbol", "Sc"),
    ("dashpunctuation", "Pd"),
    ("decimalnumber", "Nd"),
    ("digit", "Nd"),
    ("enclosingmark", "Me"),
    ("finalpunctuation", "Pf"),
    ("format", "Cf"),
    ("initialpunctuation", "Pi"),
    ("letter", "L"),
    ("letternumber", "Nl"),
    ("lineseparator", "Zl"),
    ("lowercaseletter", "Ll"),
    ("mark", "M"),
    ("mathsymbol", "Sm"),
    ("modifierletter", "Lm"),
    ("modifiersymbol", "Sk"),
    ("nonspacingmark", "Mn"),
    ("number", "N"),
    ("openpunctuation", "Ps"),
    ("other", "C"),
    ("otherletter", "Lo"),
    ("othernumber", "No"),
    ("otherpunctuation", "Po"),
    ("othersymbol", "So"),
    ("paragraphseparator", "Zp"),
    ("privateuse", "Co"),
    ("punct", "P"),
    ("punctuation", "P"),
    ("separator", "Z"),
    ("spaceseparator", "Zs"),
    ("spacingmark", "Mc"),
    ("surrogate", "Cs"),
    ("symbol", "S"),
    ("titlecaseletter", "Lt"),
    ("unassigned", "Cn"),
    ("uppercaseletter", "Lu"),
];

/// Scripts whose names are a single word; Go 1.26 doesn't find any others.
const SCRIPTS: &str = "adlam ahom arabic armenian avestan balinese bamum batak bengali bhaiksuki bopomofo \
    brahmi braille buginese buhid carian chakma cham cherokee chorasmian common coptic cuneiform cypriot \
    cyrillic deseret devanagari dogra duployan elbasan elymaic ethiopic georgian glagolitic gothic grantha \
    greek gujarati gurmukhi han hangul hanunoo hatran hebrew hiragana inherited javanese kaithi kannada \
    katakana kawi kharoshthi khmer khojki khudawadi lao latin lepcha limbu lisu lycian lydian mahajani \
    makasar malayalam mandaic manichaean marchen medefaidrin miao modi mongolian mro multani myanmar \
    nabataean nandinagari newa nko nushu ogham oriya osage osmanya palmyrene phoenician rejang runic \
    samaritan saurashtra sharada shavian siddham sinhala sogdian soyombo sundanese syriac tagalog tagbanwa \
    takri tamil tangsa tangut telugu thaana thai tibetan tifinagh tirhuta toto ugaritic vai vithkuqi wancho \
    yezidi yi";

/// Returns the members of a Unicode class in the crate's syntax. Case, spaces, hyphens and
/// underscores in the name are ignored.
fn property(name: &str) -> Option<String> {
    let lower: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .map(|c| c.to_ascii_lowercase())
        .collect();
    match lower.as_str() {
        "any" => return Some(r"\x{0}-\x{10FFFF}".to_owned()),
        "ascii" => return Some(r"\x00-\x7F".to_owned()),
        "assigned" => return Some(r"\P{Cn}".to_owned()),
        _ => {}
    }
    let category = CATEGORIES.iter().find(|category| category.eq_ignore_ascii_case(&lower));
    let category = category.or_else(|| Some(&ALIASES.iter().find(|(alias, _)| *alias == lower)?.1));
    match category {
        Some(&"Cs") => Some(EMPTY_CLASS.to_owned()),
        Some(category) => Some(format!("\\p{{{category}}}")),
        None => SCRIPTS
            .split_ascii_whitespace()
            .find(|script| *script == lower)
            .map(|found| format!("\\p{{{found}}}")),
    }
}
