//! The tokens of a text, and the rules for where each may begin.
//!
//! These are the rules of YAML 1.1 as go-yaml applies them. Most of all, a key without `?` is
//! recognized by the `:` after it, on the same line and at most 1,024 characters on; and a tab
//! can't precede what may be a key.

use std::collections::{BTreeMap, VecDeque};

use super::chars::{Chars, Mark};
use super::{Host, Origin, YamlError};

/// The greatest distance from the beginning of a key to its `:`, in characters.
const MAX_KEY: usize = 1024;
/// The farthest that a comment looks for another one below it.
const COMMENT_REACH: usize = 512;
/// The tokens read in advance.
const LOOKAHEAD: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
    Block,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    StreamEnd,
    /// `%YAML`, with its version.
    Version(u8, u8),
    /// `%TAG`, with its handle and prefix.
    TagDirective(String, String),
    DocumentStart,
    DocumentEnd,
    BlockSequence,
    BlockMapping,
    BlockEnd,
    FlowSequence,
    FlowMapping,
    FlowSequenceEnd,
    FlowMappingEnd,
    /// `-`
    BlockEntry,
    /// `,`
    FlowEntry,
    /// `?`, or what precedes a key without it.
    Key,
    /// `:`
    Value,
    Alias(String),
    Anchor(String),
    /// The handle and the suffix.
    Tag(String, String),
    Scalar(String, Style),
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: Mark,
}

/// Something that is a key if a `:` follows.
#[derive(Clone, Copy)]
struct MaybeKey {
    possible: bool,
    /// `true` if it can't be anything else.
    required: bool,
    /// The number of its first token.
    token: usize,
    mark: Mark,
}

pub(super) struct Tokens<'t, 'h> {
    pub(super) chars: Chars<'t>,
    pub(super) host: &'h mut dyn Host,
    queue: VecDeque<Token>,
    /// The number of tokens that left the queue.
    taken: usize,
    /// The column of the innermost block collection.
    pub(super) indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// One for the block context, and one for each open bracket.
    keys: Vec<MaybeKey>,
    /// The index in `keys` by the number of the token.
    keys_by_token: BTreeMap<usize, usize>,
    key_allowed: bool,
}

impl<'t, 'h> Tokens<'t, 'h> {
    pub fn new(text: &'t str, host: &'h mut dyn Host) -> Self {
        let mark = Mark::default();
        Self {
            chars: Chars::new(text),
            host,
            queue: VecDeque::new(),
            taken: 0,
            indent: None,
            indents: Vec::new(),
            keys: vec![MaybeKey { possible: false, required: false, token: 0, mark }],
            keys_by_token: BTreeMap::new(),
            key_allowed: true,
        }
    }

    /// Returns the next token without taking it.
    pub fn peek(&mut self) -> Result<&Token, YamlError> {
        self.fill()?;
        self.queue.front().ok_or_else(|| YamlError::new(Mark::default(), "unexpected end"))
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Result<Token, YamlError> {
        self.fill()?;
        let token = self.queue.pop_front();
        self.keys_by_token.remove(&self.taken);
        self.taken += 1;
        token.ok_or_else(|| YamlError::new(Mark::default(), "unexpected end"))
    }

    /// Reads until it is known what the next token is.
    fn fill(&mut self) -> Result<(), YamlError> {
        loop {
            if self.queue.len() > LOOKAHEAD {
                match self.keys_by_token.get(&self.taken).copied() {
                    None => return Ok(()),
                    Some(index) if !self.is_key_possible(index)? => return Ok(()),
                    Some(_) => {}
                }
            }
            self.read()?;
        }
    }

    pub(super) fn in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    /// Returns an error at the current position; `context` is where its construct begins.
    pub(super) fn fail<T>(&self, context: Mark, message: &str) -> Result<T, YamlError> {
        let mut error = YamlError::new(self.chars.mark, message);
        error.context = Some(context);
        error.origin = Origin::Token;
        Err(error)
    }

    /// Returns an error about what is found at the current position.
    fn misplaced<T>(&self, message: &str) -> Result<T, YamlError> {
        self.fail(self.chars.mark, message)
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        self.queue.push_back(Token { kind, start });
    }

    /// Reads a token of `length` ASCII characters.
    fn indicator(&mut self, kind: Kind, length: usize) {
        let start = self.chars.mark;
        self.chars.skip_many(length);
        self.push(kind, start);
    }

    /// Reads at least one token.
    fn read(&mut self) -> Result<(), YamlError> {
        if !self.host.charge(96) {
            return Err(YamlError::stopped(self.chars.mark));
        }
        self.skip_to_token();
        let column = self.chars.mark.column;
        self.close_blocks(Some(column));
        if self.chars.at_end() {
            self.end_line_of_stream();
            self.end_document()?;
            self.push(Kind::StreamEnd, self.chars.mark);
            return Ok(());
        }
        let first = self.chars.peek(0);
        if column == 0 && first == b'%' {
            self.end_document()?;
            let start = self.chars.mark;
            let kind = self.directive()?;
            self.push(kind, start);
            return Ok(());
        }
        if self.chars.is_document_indicator() {
            self.end_document()?;
            let start = first == b'-';
            self.indicator(if start { Kind::DocumentStart } else { Kind::DocumentEnd }, 3);
            return Ok(());
        }
        self.content(first)?;
        if self.queue.back().is_none_or(|token| token.kind != Kind::BlockEntry) {
            self.skip_comment_after_token();
        }
        Ok(())
    }

    /// Moves the end of the stream to the beginning of a line.
    fn end_line_of_stream(&mut self) {
        if self.chars.mark.column != 0 {
            self.chars.mark.column = 0;
            self.chars.mark.line += 1;
        }
    }

    fn end_document(&mut self) -> Result<(), YamlError> {
        self.close_blocks(None);
        self.drop_key()?;
        self.key_allowed = false;
        Ok(())
    }

    /// Reads a token of a document's content.
    fn content(&mut self, first: u8) -> Result<(), YamlError> {
        let flow = self.in_flow();
        let spaced = self.chars.is_space(1);
        match first {
            b'[' => self.flow_start(Kind::FlowSequence)?,
            b'{' => self.flow_start(Kind::FlowMapping)?,
            b']' => self.flow_end(Kind::FlowSequenceEnd)?,
            b'}' => self.flow_end(Kind::FlowMappingEnd)?,
            b',' => {
                self.drop_key()?;
                self.key_allowed = true;
                self.indicator(Kind::FlowEntry, 1);
            }
            b'-' if spaced => {
                // Within brackets, the parser refuses it.
                if !flow {
                    if !self.key_allowed {
                        return self
                            .misplaced("block sequence entries are not allowed in this context");
                    }
                    self.open_block(Kind::BlockSequence, self.chars.mark, None);
                }
                self.drop_key()?;
                self.key_allowed = true;
                self.indicator(Kind::BlockEntry, 1);
            }
            b'?' if flow || spaced => {
                if !flow {
                    if !self.key_allowed {
                        return self.misplaced("mapping keys are not allowed in this context");
                    }
                    self.open_block(Kind::BlockMapping, self.chars.mark, None);
                }
                self.drop_key()?;
                self.key_allowed = !flow;
                self.indicator(Kind::Key, 1);
            }
            b':' if flow || spaced => self.value()?,
            b'*' | b'&' => {
                self.save_key()?;
                self.key_allowed = false;
                let start = self.chars.mark;
                let name = self.anchor()?;
                let alias = first == b'*';
                self.push(if alias { Kind::Alias(name) } else { Kind::Anchor(name) }, start);
            }
            b'!' => {
                self.save_key()?;
                self.key_allowed = false;
                let start = self.chars.mark;
                let (handle, suffix) = self.tag()?;
                self.push(Kind::Tag(handle, suffix), start);
            }
            b'|' | b'>' if !flow => {
                self.drop_key()?;
                self.key_allowed = true;
                let start = self.chars.mark;
                let text = self.block_scalar(first == b'|')?;
                self.push(Kind::Scalar(text, Style::Block), start);
            }
            b'\'' | b'"' => {
                self.save_key()?;
                self.key_allowed = false;
                let start = self.chars.mark;
                let text = self.quoted_scalar(first == b'\'')?;
                self.push(Kind::Scalar(text, Style::Quoted), start);
            }
            _ if self.may_begin_plain(first) => {
                self.save_key()?;
                self.key_allowed = false;
                let start = self.chars.mark;
                let (text, ends_line) = self.plain_scalar()?;
                self.key_allowed |= ends_line;
                self.push(Kind::Scalar(text, Style::Plain), start);
            }
            _ => return self.misplaced("found character that cannot start any token"),
        }
        Ok(())
    }

    fn may_begin_plain(&self, first: u8) -> bool {
        match first {
            b'-' => !self.chars.is_blank(1),
            b'?' | b':' => !self.in_flow() && !self.chars.is_space(1),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => false,
            _ => !self.chars.is_space(0),
        }
    }

    fn flow_start(&mut self, kind: Kind) -> Result<(), YamlError> {
        self.save_key()?;
        let (token, mark) = (self.taken + self.queue.len(), self.chars.mark);
        self.keys.push(MaybeKey { possible: false, required: false, token, mark });
        self.key_allowed = true;
        self.indicator(kind, 1);
        Ok(())
    }

    fn flow_end(&mut self, kind: Kind) -> Result<(), YamlError> {
        self.drop_key()?;
        if self.in_flow()
            && let Some(key) = self.keys.pop()
        {
            self.keys_by_token.remove(&key.token);
        }
        self.key_allowed = false;
        self.indicator(kind, 1);
        Ok(())
    }

    fn value(&mut self) -> Result<(), YamlError> {
        let index = self.keys.len() - 1;
        let flow = self.in_flow();
        if self.is_key_possible(index)?
            && let Some(key) = self.keys.get_mut(index)
        {
            key.possible = false;
            let key = *key;
            self.insert(key.token, Kind::Key, key.mark);
            self.open_block(Kind::BlockMapping, key.mark, Some(key.token));
            self.keys_by_token.remove(&key.token);
            self.key_allowed = false;
        } else {
            if !flow {
                if !self.key_allowed {
                    return self.misplaced("mapping values are not allowed in this context");
                }
                self.open_block(Kind::BlockMapping, self.chars.mark, None);
            }
            self.key_allowed = !flow;
        }
        self.indicator(Kind::Value, 1);
        Ok(())
    }

    /// Inserts an empty token before the one with this number.
    fn insert(&mut self, number: usize, kind: Kind, mark: Mark) {
        let at = number.checked_sub(self.taken).filter(|at| *at <= self.queue.len());
        self.queue.insert(at.unwrap_or(self.queue.len()), Token { kind, start: mark });
    }

    /// Returns `true` if a `:` would make a key of it.
    fn is_key_possible(&mut self, index: usize) -> Result<bool, YamlError> {
        let now = self.chars.mark;
        let Some(key) = self.keys.get_mut(index).filter(|key| key.possible) else {
            return Ok(false);
        };
        if key.mark.line < now.line || key.mark.index + MAX_KEY < now.index {
            if key.required {
                let mark = key.mark;
                return self.fail(mark, "could not find expected ':'");
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Notes that what begins here may be a key.
    fn save_key(&mut self) -> Result<(), YamlError> {
        if !self.key_allowed {
            return Ok(());
        }
        let mark = self.chars.mark;
        let required = !self.in_flow() && self.indent == Some(mark.column);
        let token = self.taken + self.queue.len();
        self.drop_key()?;
        let index = self.keys.len() - 1;
        if let Some(key) = self.keys.last_mut() {
            *key = MaybeKey { possible: true, required, token, mark };
        }
        self.keys_by_token.insert(token, index);
        Ok(())
    }

    /// Notes that what may have been a key isn't one.
    fn drop_key(&mut self) -> Result<(), YamlError> {
        let Some(key) = self.keys.last_mut().filter(|key| key.possible) else { return Ok(()) };
        let (required, token, mark) = (key.required, key.token, key.mark);
        if required {
            return self.fail(mark, "could not find expected ':'");
        }
        key.possible = false;
        self.keys_by_token.remove(&token);
        Ok(())
    }

    /// Begins a block collection if this column is right of the current one. Its token comes last,
    /// or before the token with a number.
    fn open_block(&mut self, kind: Kind, mark: Mark, before: Option<usize>) {
        if self.in_flow() || self.indent.is_some_and(|indent| indent >= mark.column) {
            return;
        }
        self.indents.push(self.indent);
        self.indent = Some(mark.column);
        self.insert(before.unwrap_or(usize::MAX), kind, mark);
    }

    /// Ends the block collections right of a column, or all of them.
    fn close_blocks(&mut self, column: Option<usize>) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.chars.mark);
            self.indent = self.indents.pop().flatten();
        }
    }

    /// Passes white space and comments.
    fn skip_to_token(&mut self) {
        loop {
            while self.chars.is(b' ')
                || (self.chars.is(b'\t') && (self.in_flow() || !self.key_allowed))
            {
                self.chars.skip();
            }
            if self.chars.is(b'#') {
                self.skip_comments();
            }
            if self.chars.at_end() || !self.chars.is_break(0) {
                return;
            }
            self.chars.skip_break();
            if !self.in_flow() {
                self.key_allowed = true;
            }
        }
    }

    /// Passes a comment and those below it, with the blanks before each, which may be tabs.
    fn skip_comments(&mut self) {
        loop {
            self.chars.skip_line();
            // The line break, and what follows it.
            let blank = |ahead: &usize| self.chars.is_blank(*ahead) || self.is_ascii_break(*ahead);
            let Some(next) = (1..COMMENT_REACH).find(|ahead| !blank(ahead)) else { return };
            if self.chars.peek(next) != b'#' {
                return;
            }
            while !self.chars.is(b'#') {
                if self.chars.is_break(0) {
                    self.chars.skip_break();
                } else {
                    self.chars.skip();
                }
            }
        }
    }

    fn is_ascii_break(&self, ahead: usize) -> bool {
        matches!(self.chars.peek(ahead), b'\r' | b'\n')
    }

    /// Passes a comment on the line of a token; no blank need precede it.
    fn skip_comment_after_token(&mut self) {
        if self.chars.newlines > 0 {
            return;
        }
        let next = (0..COMMENT_REACH).find(|ahead| !self.chars.is_blank(*ahead));
        if next.is_some_and(|next| self.chars.peek(next) == b'#') {
            self.chars.skip_line();
        }
    }
}
