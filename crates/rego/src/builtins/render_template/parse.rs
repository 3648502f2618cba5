//! Parses the text of templates into nodes.

use std::collections::HashMap;

use super::super::{Code, Context, Error};

/// Templates by name; the text itself is the one with the empty name.
pub(super) type Templates = HashMap<String, Vec<Node>>;

/// A node of a template.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    /// `{{pipeline}}`; prints the result unless the pipeline declares or assigns variables.
    Output(Pipeline),
    /// `if` and `with`, including `else`.
    Branch {
        with: bool,
        pipeline: Pipeline,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Range {
        pipeline: Pipeline,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Break,
    Continue,
    /// `template`, and `block` at its place.
    Include {
        name: String,
        pipeline: Option<Pipeline>,
    },
}

/// A sequence of commands, each of which takes the previous result as its last argument.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipeline {
    /// The variables that the pipeline sets.
    pub variables: Vec<String>,
    /// `true` if the variables exist already (`=`).
    pub assigns: bool,
    pub commands: Vec<Vec<Operand>>,
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// `.a.b`
    Fields(Vec<String>),
    /// `$x.a.b`
    Variable(String, Vec<String>),
    /// `(pipeline).a.b`, or fields of a function's result.
    Chain(Box<Operand>, Vec<String>),
    Pipeline(Pipeline),
    Function(Function),
}

macro_rules! functions {
    ($($(#[$doc:meta])* $function:ident $name:literal),+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Function {
            $($(#[$doc])* $function),+
        }

        impl Function {
            pub(super) const ALL: [(&'static str, Self); 19] = [$(($name, Self::$function)),+];
        }
    };
}

functions! {
    And "and", Or "or",
    /// Fails, since values are never functions.
    Call "call",
    Not "not", Len "len", Index "index", Slice "slice", Print "print", Printf "printf",
    Println "println", Html "html", Js "js", UrlQuery "urlquery", Eq "eq", Ne "ne", Lt "lt",
    Le "le", Gt "gt", Ge "ge"
}

impl Function {
    pub(super) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, keyword)| *keyword == self).map_or("", |(name, _)| name)
    }
}

/// Returns an error in the words of Go's `text/template`.
pub(super) fn bad(message: impl std::fmt::Display) -> Error {
    Error::failed(format!("template: template: {message}"))
}

/// Parses a text.
///
/// # Errors
/// Returns an error if the text isn't a valid template.
pub(super) fn parse(ctx: &dyn Context, text: &str) -> Result<Templates, Error> {
    let mut parser = Parser {
        ctx,
        rest: text,
        trim: false,
        templates: Templates::new(),
        variables: vec!["$".to_owned()],
        depth: 0,
        loops: 0,
    };
    let (nodes, end) = parser.list()?;
    if let Some(end) = end {
        return Err(bad(format!("unexpected {{{{{}}}}}", end.name())));
    }
    parser.define(String::new(), nodes)?;
    Ok(parser.templates)
}

/// An action that ends a list of nodes.
enum End {
    End,
    /// `else`, with the tokens that follow it: `else if …`, `else with …`.
    Else(Vec<Token>),
}

impl End {
    fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Else(_) => "else",
        }
    }
}

/// A token in an action.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Space,
    Field(String),
    Variable(String),
    Word(String),
    Text(String),
    Int(i64),
    Float(f64),
    Dot,
    Open,
    Close,
    Pipe,
    Comma,
    Declare,
    Assign,
}

/// The limit on nested actions.
const MAX_NESTING: u32 = 200;

struct Parser<'t, 'c> {
    ctx: &'c dyn Context,
    rest: &'t str,
    /// `true` if leading whitespace is to be trimmed from the text that follows.
    trim: bool,
    templates: Templates,
    variables: Vec<String>,
    depth: u32,
    /// The number of enclosing loops in the current template.
    loops: u32,
}

const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

impl Parser<'_, '_> {
    fn define(&mut self, name: String, nodes: Vec<Node>) -> Result<(), Error> {
        let blank = |nodes: &[Node]| {
            nodes.iter().all(
                |node| matches!(node, Node::Text(text) if text.trim_matches(SPACES).is_empty()),
            )
        };
        // Of an empty definition and another one, the other counts.
        if self.templates.get(&name).is_none_or(|known| blank(known)) {
            self.templates.insert(name, nodes);
        } else if !blank(&nodes) {
            return Err(bad(format!("multiple definition of template {name:?}")));
        }
        Ok(())
    }

    /// Parses nodes up to the action that ends them.
    fn list(&mut self) -> Result<(Vec<Node>, Option<End>), Error> {
        let mut nodes = Vec::new();
        loop {
            self.ctx.check()?;
            let (mut text, action) = match self.rest.find("{{") {
                Some(at) => {
                    let (text, rest) = self.rest.split_at(at);
                    (text, rest.get(2..))
                }
                None => (self.rest, None),
            };
            if self.trim {
                text = text.trim_start_matches(SPACES);
                self.trim = false;
            }
            let Some(mut action) = action else {
                self.rest = "";
                if !text.is_empty() {
                    nodes.push(Node::Text(text.to_owned()));
                }
                return Ok((nodes, None));
            };
            if let Some(rest) = action.strip_prefix('-')
                && rest.starts_with(SPACES)
            {
                text = text.trim_end_matches(SPACES);
                action = rest.get(1..).unwrap_or_default();
            }
            if !text.is_empty() {
                nodes.push(Node::Text(text.to_owned()));
            }
            self.rest = action;
            if let Some(comment) = action.strip_prefix("/*") {
                self.comment(comment)?;
                continue;
            }
            let tokens = self.tokens()?;
            if let Some(end) = self.action(tokens, &mut nodes)? {
                return Ok((nodes, Some(end)));
            }
        }
    }

    fn comment(&mut self, text: &str) -> Result<(), Error> {
        let (_, after) = text.split_once("*/").ok_or_else(|| bad("unclosed comment"))?;
        let offset = self.rest.len() - after.len();
        let after = self.rest.get(offset..).unwrap_or_default();
        let trimmed = after.strip_prefix(SPACES).and_then(|after| after.strip_prefix("-}}"));
        self.trim = trimmed.is_some();
        let rest = trimmed.or_else(|| after.strip_prefix("}}"));
        self.rest = rest.ok_or_else(|| bad("comment ends before closing delimiter"))?;
        Ok(())
    }

    /// Reads the tokens of an action, including its closing delimiter.
    fn tokens(&mut self) -> Result<Vec<Token>, Error> {
        let mut tokens = Vec::new();
        let mut open = 0_u32;
        loop {
            let rest = self.rest;
            let trimmed = rest.strip_prefix(SPACES).and_then(|rest| rest.strip_prefix("-}}"));
            if let Some(after) = trimmed.or_else(|| rest.strip_prefix("}}")) {
                if open > 0 {
                    return Err(bad("unclosed left paren"));
                }
                self.trim = trimmed.is_some();
                self.rest = after;
                return Ok(tokens);
            }
            let c = rest.chars().next().ok_or_else(|| bad("unclosed action"))?;
            let (token, length) = match c {
                c if SPACES.contains(&c) => {
                    // The space before a trim marker is part of the marker.
                    let spaces = rest.len() - rest.trim_start_matches(SPACES).len();
                    let marker = rest.get(spaces..).is_some_and(|rest| rest.starts_with("-}}"));
                    (Token::Space, if marker { spaces - 1 } else { spaces })
                }
                ':' if rest.starts_with(":=") => (Token::Declare, 2),
                '=' => (Token::Assign, 1),
                '|' => (Token::Pipe, 1),
                ',' => (Token::Comma, 1),
                '(' => {
                    open += 1;
                    (Token::Open, 1)
                }
                ')' => {
                    open = open.checked_sub(1).ok_or_else(|| bad("unexpected right paren"))?;
                    (Token::Close, 1)
                }
                '"' => quoted(rest)?,
                '`' => {
                    let inner = rest.get(1..).and_then(|rest| rest.split_once('`'));
                    let (inner, _) = inner.ok_or_else(|| bad("unterminated raw quoted string"))?;
                    (Token::Text(inner.to_owned()), inner.len() + 2)
                }
                '\'' => character(rest)?,
                '$' => {
                    let name = word(rest.get(1..).unwrap_or_default());
                    (Token::Variable(format!("${name}")), name.len() + 1)
                }
                '.' if !rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => {
                    let name = word(rest.get(1..).unwrap_or_default());
                    let token =
                        if name.is_empty() { Token::Dot } else { Token::Field(name.to_owned()) };
                    (token, name.len() + 1)
                }
                '0'..='9' | '.' | '+' | '-' => number(rest)?,
                c if is_word(c) => {
                    let name = word(rest);
                    (Token::Word(name.to_owned()), name.len())
                }
                c => return Err(bad(format!("unexpected bad character {c:?} in command"))),
            };
            if length > 0 {
                tokens.push(token);
            }
            self.rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// Parses an action; returns it if it ends the list that contains it.
    fn action(&mut self, tokens: Vec<Token>, nodes: &mut Vec<Node>) -> Result<Option<End>, Error> {
        let mut stream = Stream::new(tokens);
        stream.spaces();
        let keyword = match stream.peek() {
            Some(Token::Word(word)) => word.clone(),
            _ => String::new(),
        };
        const KEYWORDS: [&str; 10] = [
            "if", "with", "range", "define", "block", "template", "break", "continue", "end",
            "else",
        ];
        if KEYWORDS.contains(&keyword.as_str()) {
            stream.next();
        }
        match keyword.as_str() {
            "end" => {
                stream.done("end")?;
                return Ok(Some(End::End));
            }
            "else" => {
                stream.spaces();
                return Ok(Some(End::Else(stream.rest())));
            }
            "if" | "with" => {
                let node = self.nested(|parser| parser.branch(keyword == "with", stream))?;
                nodes.push(node);
            }
            "range" => {
                let node = self.nested(|parser| parser.range(stream))?;
                nodes.push(node);
            }
            "break" | "continue" => {
                stream.done(&keyword)?;
                if self.loops == 0 {
                    return Err(bad(format!("{{{{{keyword}}}}} outside {{{{range}}}}")));
                }
                nodes.push(if keyword == "break" { Node::Break } else { Node::Continue });
            }
            "define" => {
                if self.depth > 0 {
                    return Err(bad("unexpected {{define}}"));
                }
                let name = stream.name("define clause")?;
                stream.done("define clause")?;
                let body = self.template_body()?;
                self.define(name, body)?;
            }
            "template" => {
                let name = stream.name("template clause")?;
                stream.spaces();
                let pipeline = if stream.is_empty() {
                    None
                } else {
                    Some(self.pipeline(&mut stream, "template clause")?)
                };
                nodes.push(Node::Include { name, pipeline });
            }
            "block" => {
                let name = stream.name("block clause")?;
                let pipeline = self.pipeline(&mut stream, "block clause")?;
                let body = self.template_body()?;
                self.define(name.clone(), body)?;
                nodes.push(Node::Include { name, pipeline: Some(pipeline) });
            }
            _ => {
                let pipeline = self.pipeline(&mut stream, "command")?;
                nodes.push(Node::Output(pipeline));
            }
        }
        Ok(None)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("the template is nested in more than {MAX_NESTING} levels");
            return Err(Error::halt(Code::Limit, message));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Parses the body of a separate template.
    fn template_body(&mut self) -> Result<Vec<Node>, Error> {
        let variables = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, end) = self.nested(Self::list)?;
        self.variables = variables;
        self.loops = loops;
        match end {
            Some(End::End) => Ok(nodes),
            Some(End::Else(_)) => Err(bad("unexpected {{else}}")),
            None => Err(bad("unexpected EOF")),
        }
    }

    fn branch(&mut self, with: bool, mut stream: Stream) -> Result<Node, Error> {
        let scope = self.variables.len();
        let pipeline = self.pipeline(&mut stream, if with { "with" } else { "if" })?;
        let (then, end) = self.list()?;
        let otherwise = self.otherwise(end, Some(with))?;
        self.variables.truncate(scope);
        Ok(Node::Branch { with, pipeline, then, otherwise })
    }

    /// Parses what follows `else`, if that ended a list: another branch of the same kind, or a list
    /// up to `end`.
    fn otherwise(&mut self, end: Option<End>, with: Option<bool>) -> Result<Vec<Node>, Error> {
        let tokens = match end {
            None => return Err(bad("unexpected EOF")),
            Some(End::End) => return Ok(Vec::new()),
            Some(End::Else(tokens)) => tokens,
        };
        let mut stream = Stream::new(tokens);
        let word = with.map(|with| if with { "with" } else { "if" });
        if let (Some(with), Some(Token::Word(next))) = (with, stream.peek())
            && Some(next.as_str()) == word
        {
            stream.next();
            let node = self.nested(|parser| parser.branch(with, stream))?;
            return Ok(vec![node]);
        }
        stream.done("else")?;
        match self.list()? {
            (nodes, Some(End::End)) => Ok(nodes),
            (_, Some(End::Else(_))) => Err(bad("expected end; found {{else}}")),
            (_, None) => Err(bad("unexpected EOF")),
        }
    }

    fn range(&mut self, mut stream: Stream) -> Result<Node, Error> {
        let scope = self.variables.len();
        let pipeline = self.pipeline(&mut stream, "range")?;
        self.loops += 1;
        let (body, end) = self.list()?;
        self.loops -= 1;
        let otherwise = self.otherwise(end, None)?;
        self.variables.truncate(scope);
        Ok(Node::Range { pipeline, body, otherwise })
    }

    /// Parses a pipeline that takes up the rest of an action.
    fn pipeline(&mut self, stream: &mut Stream, context: &str) -> Result<Pipeline, Error> {
        let pipeline = self.inner_pipeline(stream, context)?;
        if stream.is_empty() {
            Ok(pipeline)
        } else {
            Err(bad(format!("unexpected right paren in {context}")))
        }
    }

    fn inner_pipeline(&mut self, stream: &mut Stream, context: &str) -> Result<Pipeline, Error> {
        let mut pipeline = Pipeline::default();
        stream.spaces();
        self.declaration(stream, context, &mut pipeline)?;
        loop {
            stream.spaces();
            let command = self.command(stream)?;
            if command.is_empty() {
                let what =
                    if pipeline.commands.is_empty() { "missing value" } else { "empty command" };
                return Err(bad(format!("{what} for {context}")));
            }
            pipeline.commands.push(command);
            if stream.peek() != Some(&Token::Pipe) {
                break;
            }
            stream.next();
        }
        for command in pipeline.commands.iter().skip(1) {
            use Operand::{Bool, Dot, Float, Int, Nil, Text};
            if let Some(Bool(_) | Dot | Nil | Int(_) | Float(_) | Text(_)) = command.first() {
                return Err(bad("non executable command in pipeline"));
            }
        }
        Ok(pipeline)
    }

    /// Parses `$x :=` or `$x =`, or `$i, $x :=` in a loop.
    fn declaration(
        &mut self,
        stream: &mut Stream,
        context: &str,
        pipeline: &mut Pipeline,
    ) -> Result<(), Error> {
        let start = stream.at;
        let mut names = Vec::new();
        while let Some(Token::Variable(name)) = stream.peek().cloned() {
            stream.next();
            stream.spaces();
            names.push(name);
            match stream.peek() {
                Some(Token::Declare | Token::Assign) => {
                    pipeline.assigns = stream.peek() == Some(&Token::Assign);
                    stream.next();
                    // As in Go, an assignment also makes the name known. Whether the variable
                    // exists is asked when the assignment is executed.
                    self.variables.extend(names.iter().cloned());
                    pipeline.variables = names;
                    return Ok(());
                }
                Some(Token::Comma) if context == "range" && names.len() == 1 => {
                    stream.next();
                    stream.spaces();
                }
                Some(Token::Comma) => {
                    return Err(bad(format!("too many declarations in {context}")));
                }
                _ => break,
            }
        }
        stream.at = start;
        Ok(())
    }

    fn known(&self, name: &str) -> Result<(), Error> {
        if self.variables.iter().any(|variable| variable == name) {
            return Ok(());
        }
        Err(bad(format!("undefined variable {name:?}")))
    }

    fn command(&mut self, stream: &mut Stream) -> Result<Vec<Operand>, Error> {
        let mut operands = Vec::new();
        loop {
            stream.spaces();
            match stream.peek() {
                None | Some(Token::Pipe | Token::Close) => return Ok(operands),
                _ => {}
            }
            operands.push(self.operand(stream)?);
            match stream.peek() {
                None | Some(Token::Space | Token::Pipe | Token::Close) => {}
                Some(other) => return Err(bad(format!("unexpected {other:?} in operand"))),
            }
        }
    }

    fn operand(&mut self, stream: &mut Stream) -> Result<Operand, Error> {
        let operand = match stream.next() {
            Some(Token::Dot) => Operand::Dot,
            Some(Token::Int(number)) => Operand::Int(number),
            Some(Token::Float(number)) => Operand::Float(number),
            Some(Token::Text(text)) => Operand::Text(text),
            Some(Token::Field(name)) => Operand::Fields(vec![name]),
            Some(Token::Variable(name)) => {
                self.known(&name)?;
                Operand::Variable(name, Vec::new())
            }
            Some(Token::Word(name)) => match name.as_str() {
                "true" => Operand::Bool(true),
                "false" => Operand::Bool(false),
                "nil" => Operand::Nil,
                name => {
                    let known = Function::ALL.iter().find(|(known, _)| *known == name);
                    let (_, function) =
                        known.ok_or_else(|| bad(format!("function {name:?} not defined")))?;
                    Operand::Function(*function)
                }
            },
            Some(Token::Open) => {
                let pipeline =
                    self.nested(|parser| parser.inner_pipeline(stream, "parenthesized pipeline"))?;
                if stream.next() != Some(Token::Close) {
                    return Err(bad("unclosed left paren"));
                }
                Operand::Pipeline(pipeline)
            }
            other => return Err(bad(format!("unexpected {other:?} in operand"))),
        };
        let mut fields = Vec::new();
        while let Some(Token::Field(name)) = stream.peek().cloned() {
            stream.next();
            fields.push(name);
        }
        if fields.is_empty() {
            return Ok(operand);
        }
        match operand {
            Operand::Fields(mut first) => {
                first.extend(fields);
                Ok(Operand::Fields(first))
            }
            Operand::Variable(name, _) => Ok(Operand::Variable(name, fields)),
            Operand::Pipeline(_) | Operand::Function(_) => {
                Ok(Operand::Chain(Box::new(operand), fields))
            }
            _ => Err(bad("unexpected . after term")),
        }
    }
}

/// The tokens of an action, read one by one.
struct Stream {
    tokens: Vec<Token>,
    at: usize,
}

impl Stream {
    fn new(tokens: Vec<Token>) -> Self {
        Self { tokens, at: 0 }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn spaces(&mut self) {
        while self.peek() == Some(&Token::Space) {
            self.at += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn rest(mut self) -> Vec<Token> {
        self.tokens.split_off(self.at.min(self.tokens.len()))
    }

    fn done(&mut self, context: &str) -> Result<(), Error> {
        self.spaces();
        if self.is_empty() { Ok(()) } else { Err(bad(format!("unexpected tokens in {context}"))) }
    }

    fn name(&mut self, context: &str) -> Result<String, Error> {
        self.spaces();
        match self.next() {
            Some(Token::Text(name)) => Ok(name),
            _ => Err(bad(format!("unexpected token in {context}"))),
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn word(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}

/// The meaning of an escape.
enum Escaped {
    Char(char),
    /// A byte of UTF-8: `\xff` or `\377`.
    Byte(u8),
}

/// Reads one of Go's escapes, after its backslash; returns the meaning and the length.
fn escape(text: &str, quote: char) -> Option<(Escaped, usize)> {
    let digits = |from: usize, count: usize, radix: u32| {
        let digits = text.get(from..from + count)?;
        let valid = digits.chars().all(|c| c.is_digit(radix));
        let value = valid.then(|| u32::from_str_radix(digits, radix).ok()).flatten()?;
        Some((value, from + count))
    };
    let char = |(value, length)| Some((Escaped::Char(char::from_u32(value)?), length));
    let byte = |(value, length)| Some((Escaped::Byte(u8::try_from(value).ok()?), length));
    let plain = |c| Some((Escaped::Char(c), 1));
    match text.chars().next()? {
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        '\\' => plain('\\'),
        c if c == quote => plain(c),
        'x' => byte(digits(1, 2, 16)?),
        'u' => char(digits(1, 4, 16)?),
        'U' => char(digits(1, 8, 16)?),
        '0'..='7' => byte(digits(0, 3, 8)?),
        _ => None,
    }
}

fn quoted(text: &str) -> Result<(Token, usize), Error> {
    let unterminated = || bad("unterminated quoted string");
    let mut out = Vec::new();
    let mut at = 1;
    let push = |out: &mut Vec<u8>, c: char| {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    };
    loop {
        let rest = text.get(at..).ok_or_else(unterminated)?;
        match rest.chars().next().ok_or_else(unterminated)? {
            '"' => {
                let out = String::from_utf8(out).map_err(|_| {
                    let message = "text that isn't valid UTF-8 is not supported in templates";
                    Error::halt(Code::Builtin, message)
                })?;
                return Ok((Token::Text(out), at + 1));
            }
            '\n' => return Err(unterminated()),
            '\\' => {
                let escaped = rest.get(1..).and_then(|rest| escape(rest, '"'));
                let (meaning, length) = escaped.ok_or_else(|| bad("invalid syntax in string"))?;
                match meaning {
                    Escaped::Char(c) => push(&mut out, c),
                    Escaped::Byte(byte) => out.push(byte),
                }
                at += 1 + length;
            }
            c => {
                push(&mut out, c);
                at += c.len_utf8();
            }
        }
    }
}

fn character(text: &str) -> Result<(Token, usize), Error> {
    let malformed = || bad("malformed character constant");
    let rest = text.get(1..).ok_or_else(malformed)?;
    let (code, length) = match rest.chars().next().ok_or_else(malformed)? {
        '\'' | '\n' => return Err(malformed()),
        '\\' => {
            let (meaning, length) =
                rest.get(1..).and_then(|rest| escape(rest, '\'')).ok_or_else(malformed)?;
            let code = match meaning {
                Escaped::Char(c) => u32::from(c),
                Escaped::Byte(byte) => u32::from(byte),
            };
            (code, length + 1)
        }
        c => (u32::from(c), c.len_utf8()),
    };
    if rest.get(length..).is_none_or(|rest| !rest.starts_with('\'')) {
        return Err(malformed());
    }
    Ok((Token::Int(i64::from(code)), length + 2))
}

/// Returns `true` if each underscore of a number is between two digits, or a prefix and a digit.
fn separates_digits(written: &str) -> bool {
    let lower = written.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let hexadecimal = lower.starts_with("0x");
    let digits = ["0x", "0o", "0b"].into_iter().find_map(|prefix| lower.strip_prefix(prefix));
    let is_digit = |c: char| c.is_digit(if hexadecimal { 16 } else { 10 });
    let mut before = if digits.is_some() { '0' } else { ' ' };
    let mut good = true;
    for c in digits.unwrap_or(&lower).chars() {
        good &= if c == '_' { is_digit(before) } else { before != '_' || is_digit(c) };
        before = c;
    }
    good && before != '_'
}

fn number(text: &str) -> Result<(Token, usize), Error> {
    let mut length = 0;
    let mut before = ' ';
    for c in text.chars() {
        let sign = matches!(c, '+' | '-') && (length == 0 || matches!(before, 'e' | 'E'));
        if !(sign || c == '.' || is_word(c)) {
            break;
        }
        before = c;
        length += c.len_utf8();
    }
    let written = text.get(..length).unwrap_or_default();
    let wrong = || bad(format!("bad number syntax: {written:?}"));
    if !separates_digits(written) {
        return Err(wrong());
    }
    let plain = written.replace('_', "");
    let (sign, digits) = match plain.strip_prefix(['+', '-']) {
        Some(digits) => (if plain.starts_with('-') { "-" } else { "" }, digits),
        None => ("", plain.as_str()),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((lower.strip_prefix(prefix)?, radix)));
    let (body, radix) = match radix {
        Some(found) => found,
        None if lower.len() > 1
            && lower.starts_with('0')
            && lower.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (lower.as_str(), 8)
        }
        None => (lower.as_str(), 10),
    };
    if body.starts_with(['+', '-']) {
        return Err(wrong());
    }
    if let Ok(value) = i64::from_str_radix(&format!("{sign}{body}"), radix) {
        return Ok((Token::Int(value), length));
    }
    if radix == 16 && (body.contains('.') || body.contains('p')) || lower.ends_with('i') {
        let message = format!("the template number `{written}` is not supported");
        return Err(Error::halt(Code::Builtin, message));
    }
    let float = radix == 10 && lower.bytes().all(|b| b.is_ascii_digit() || b".e+-".contains(&b));
    let value =
        float.then(|| plain.parse::<f64>().ok()).flatten().filter(|value| value.is_finite());
    let value = value.ok_or_else(wrong)?;
    if !lower.contains(['.', 'e']) {
        return Err(bad(format!("{written} overflows int")));
    }
    Ok((Token::Float(value), length))
}
