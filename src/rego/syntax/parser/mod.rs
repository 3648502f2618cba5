//! Tokens to tree: what OPA's parser takes, and the same tree.
//!
//! The grammar can't be read with one token of lookahead (a brace opens a body, a set, an object or
//! a comprehension), so the parser tries one reading and goes back for the next, in OPA's order of
//! preference. What was read once at a place is kept, so that going back costs no time.

mod hints;
mod literals;
mod module;
mod rules;
mod statements;
mod terms;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use statements::head_word;

use super::lexer::{self, Lexed};
use super::token::{Keywords, Tok, Token};
use super::tree::{Body, Expr, FileId, Module, Span, Term, TermKind, Version};
use super::{MAX_DEPTH, normalize};
use crate::rego::problem::{Problem, ProblemCode, Problems};

/// How to read a text.
#[derive(Debug, Clone, Default)]
pub struct ParseOptions {
    /// The version of the language before any import.
    pub version: BaseVersion,
    /// All keywords that may be imported are, as `import future.keywords` does.
    pub all_future_keywords: bool,
    /// These keywords are imported.
    pub future_keywords: Vec<String>,
    /// Keep [`TermKind::Group`] and the author's order of sets and objects, for printing.
    pub keep_layout: bool,
}

/// The version of the language that a text is read in before any import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BaseVersion {
    /// `--v0`
    V0,
    /// v0 with v1's rules for heads: `--v0-v1`.
    V0CompatV1,
    /// What OPA 1.x reads.
    #[default]
    V1,
    /// With `and`, `or` and the newer `not`.
    V2,
}

impl ParseOptions {
    /// The options of a version.
    pub fn version(version: BaseVersion) -> Self {
        Self { version, ..Self::default() }
    }
}

/// Reads a file.
///
/// # Errors
/// What is wrong with it, in order; never empty.
pub fn parse_module(file: FileId, text: &str, options: &ParseOptions) -> Result<Module, Problems> {
    let mut parser = Parser::new(file, text, options)?;
    let statements = parser.statements(false);
    parser.finish(statements)
}

/// Reads a query: expressions, separated by `;` or line breaks.
///
/// # Errors
/// What is wrong with it, in order; never empty.
pub fn parse_query(file: FileId, text: &str, options: &ParseOptions) -> Result<Body, Problems> {
    let mut parser = Parser::new(file, text, options)?;
    let statements = parser.statements(true);
    let mut body = parser.finish_query(statements)?;
    if !options.keep_layout {
        normalize::body(&mut body);
    }
    Ok(body)
}

/// Reads one term.
///
/// # Errors
/// What is wrong with it, in order; never empty.
pub fn parse_term(file: FileId, text: &str, options: &ParseOptions) -> Result<Term, Problems> {
    let body = parse_query(file, text, options)?;
    let span = whole(file, text);
    let mut exprs = body.into_iter();
    match (exprs.next(), exprs.next()) {
        (Some(expr), None) => match expr.kind {
            super::tree::ExprKind::Term(term) => Ok(*term),
            _ => Err(vec![Problem::parse(span, "expected term")]),
        },
        _ => Err(vec![Problem::parse(span, "expected exactly one term")]),
    }
}

/// Reads one reference; `input` and `data` alone are references, too.
///
/// # Errors
/// What is wrong with it, in order; never empty.
pub fn parse_ref(file: FileId, text: &str, options: &ParseOptions) -> Result<Vec<Term>, Problems> {
    let term = parse_term(file, text, options)?;
    match term.kind {
        TermKind::Ref(parts) => Ok(parts),
        TermKind::Var(ref name) if is_root(name) => Ok(vec![term]),
        _ => Err(vec![Problem::parse(term.span, "expected ref")]),
    }
}

/// `data` and `input`.
pub(super) fn is_root(name: &str) -> bool {
    matches!(name, "data" | "input")
}

fn whole(file: FileId, text: &str) -> Span {
    Span { file, start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}

/// Errors beyond these aren't reported.
const MAX_PROBLEMS: usize = 20;

/// Where the parser is. It is kept before an attempt and put back after it.
#[derive(Debug, Clone)]
struct State {
    /// The current token.
    at: usize,
    /// The space before it hasn't been skipped.
    at_space: bool,
    /// What the current token is: a word as a keyword or not.
    tok: Tok,
    /// The number of wildcards there have been.
    wildcards: u32,
    /// How deep the trees are that were read within the term or statement that is being read.
    height: usize,
    errors: Vec<Problem>,
}

/// A reading that is kept: where it began, what it gave, where it ended.
type Kept<T> = (Option<T>, State);

/// A statement of a body that is kept.
#[derive(Debug, Clone)]
struct KeptLiteral {
    expr: Option<Expr>,
    state: State,
    /// Where it begins with a keyword that is a name there: the term of that, which OPA's parser
    /// then finds again also where the word would be a keyword.
    named: Option<Kept<Term>>,
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    lexed: Lexed,
    options: ParseOptions,
    state: State,
    keywords: Keywords,
    /// `not` takes a body, and its operand is one.
    not_bodies: bool,
    depth: usize,
    /// The number of attempts that are under way that may be gone back on.
    attempts: usize,
    /// Terms that were read, by their first token in ascending order; those behind a term that was
    /// read later are dropped. OPA's parser remembers the same ones, which shows where the same
    /// word is read as a keyword first and as a name then.
    terms: Vec<(usize, Kept<Term>)>,
    /// All terms that were read while that could be gone back on, where braces may be bodies.
    tried: HashMap<usize, Kept<Term>>,
    /// Statements of bodies that were read while that could be gone back on.
    literals: HashMap<usize, KeptLiteral>,
}

impl<'a> Parser<'a> {
    fn new(file: FileId, text: &'a str, options: &ParseOptions) -> Result<Self, Problems> {
        if u32::try_from(text.len()).is_err() {
            let span = Span { file, start: 0, end: 0 };
            return Err(vec![Problem::new(
                ProblemCode::Limit,
                span,
                "the text is larger than 4 GiB",
            )]);
        }
        let mut lexed = lexer::lex(file, text);
        let tokens = std::mem::take(&mut lexed.tokens);
        let mut keywords = match options.version {
            BaseVersion::V0 | BaseVersion::V0CompatV1 => Keywords::NONE.with(Keywords::NOT),
            BaseVersion::V1 => Keywords::V0_FUTURE.with(Keywords::NOT),
            BaseVersion::V2 => Keywords::ALL,
        };
        // The word `not` is a keyword always; this is about its newer meaning.
        let mut not_bodies = options.version == BaseVersion::V2 || options.all_future_keywords;
        if options.all_future_keywords {
            keywords = Keywords::ALL;
        }
        for word in &options.future_keywords {
            let Some(keyword) = Keywords::named(word) else {
                let message = format!("unknown future keyword: {word}");
                return Err(vec![Problem::parse(whole(file, ""), message)]);
            };
            keywords = keywords.with(keyword);
            not_bodies |= keyword == Keywords::NOT;
        }
        let mut parser = Self {
            file,
            text,
            tokens,
            lexed,
            options: options.clone(),
            state: State {
                at: 0,
                at_space: false,
                tok: Tok::Eof,
                wildcards: 0,
                height: 0,
                errors: Vec::new(),
            },
            keywords,
            not_bodies,
            depth: 0,
            attempts: 0,
            terms: Vec::new(),
            tried: HashMap::new(),
            literals: HashMap::new(),
        };
        parser.arrive();
        Ok(parser)
    }

    // Tokens.

    fn tok(&self) -> Tok {
        self.state.tok
    }

    fn token(&self, at: usize) -> Token {
        const END: Token =
            Token { kind: Tok::Eof, start: 0, end: 0, space: false, newline: false, comments: 0 };
        self.tokens.get(at).or(self.tokens.last()).copied().unwrap_or(END)
    }

    fn current(&self) -> Token {
        self.token(self.state.at)
    }

    /// The author's text of the current token; empty where it isn't a word or a literal.
    fn literal(&self) -> &'a str {
        let token = self.current();
        match token.kind {
            Tok::Ident | Tok::Number | Tok::String | Tok::RawString | Tok::Template { .. }
                if !self.state.at_space =>
            {
                self.slice(token.start, token.end)
            }
            _ => "",
        }
    }

    fn slice(&self, start: u32, end: u32) -> &'a str {
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        self.text.get(range).unwrap_or_default()
    }

    /// What a token is with these keywords.
    fn kind_at(&self, at: usize) -> Tok {
        let token = self.token(at);
        if token.kind == Tok::Ident {
            self.keywords.classify(self.slice(token.start, token.end))
        } else {
            token.kind
        }
    }

    /// Looks at the token that was moved to.
    fn arrive(&mut self) {
        self.state.at_space = false;
        self.state.tok = self.kind_at(self.state.at);
        if self.state.tok == Tok::Illegal {
            let at = self.state.at;
            let from = self.lexed.errors.partition_point(|(index, _)| *index < at);
            let found: Vec<_> = self
                .lexed
                .errors
                .iter()
                .skip(from)
                .take_while(|(index, _)| *index == at)
                .map(|(_, problem)| problem.clone())
                .collect();
            if found.is_empty() {
                self.error_here("illegal token");
            }
            for problem in found {
                self.report(problem);
            }
        }
    }

    /// Goes to the next token.
    fn scan(&mut self) {
        if !self.state.at_space && self.state.at + 1 < self.tokens.len() {
            self.state.at += 1;
        }
        self.arrive();
    }

    /// Goes to the next token or, if there is any, the space before it.
    fn scan_space(&mut self) {
        if self.state.at_space || self.state.at + 1 >= self.tokens.len() {
            self.scan();
            return;
        }
        self.state.at += 1;
        if self.current().space {
            self.state.at_space = true;
            self.state.tok = Tok::Space;
        } else {
            self.arrive();
        }
    }

    /// The kind of the token after this one, space counting as one.
    fn next_or_space(&self) -> Tok {
        if self.state.at_space {
            return self.kind_at(self.state.at);
        }
        let next = self.token(self.state.at + 1);
        if next.space { Tok::Space } else { self.kind_at(self.state.at + 1) }
    }

    /// Where the current token (or the space before it) begins.
    fn start(&self) -> u32 {
        if self.state.at_space { self.last_end() } else { self.current().start }
    }

    /// Where the last token before the current one ends.
    fn last_end(&self) -> u32 {
        match self.state.at.checked_sub(1) {
            Some(last) => self.token(last).end,
            None => 0,
        }
    }

    /// Where the current token ends.
    fn token_end(&self) -> u32 {
        if self.state.at_space { self.last_end() } else { self.current().end }
    }

    fn span(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end: end.max(start) }
    }

    /// The current token's place.
    fn here(&self) -> Span {
        self.span(self.start(), self.token_end())
    }

    /// From a place to the end of the last token.
    fn since(&self, start: u32) -> Span {
        self.span(start, self.last_end())
    }

    // Attempts.

    fn save(&self) -> State {
        self.state.clone()
    }

    fn restore(&mut self, state: State) {
        self.state = state;
    }

    /// Does something that may be gone back on.
    fn attempt<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.attempts += 1;
        let result = run(self);
        self.attempts -= 1;
        result
    }

    /// What was read at the current token before.
    fn kept_term(&self) -> Option<&Kept<Term>> {
        let at = self.state.at;
        let index = self.terms.binary_search_by_key(&at, |(first, _)| *first).ok()?;
        self.terms.get(index).map(|(_, kept)| kept)
    }

    fn keep_term(&mut self, first: usize, term: Option<&Term>) {
        while self.terms.last().is_some_and(|(last, _)| *last >= first) {
            self.terms.pop();
        }
        // A statement that can't be gone back on is never read again.
        if self.attempts > 0 {
            let kept = (term.cloned(), self.state.clone());
            self.terms.push((first, kept));
        }
    }

    /// Forgets what was read, between statements.
    fn forget(&mut self) {
        self.state.height = 0;
        self.terms.clear();
        self.tried.clear();
        self.literals.clear();
    }

    /// One level deeper; nothing where that is too deep.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.report_depth();
            return None;
        }
        self.depth += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || run(self));
        self.depth -= 1;
        result
    }

    /// A tree became one level deeper; nothing where that is too deep. Chains of operators are
    /// trees as deep as they are long.
    fn grow(&mut self) -> Option<()> {
        self.state.height += 1;
        if self.state.height <= MAX_DEPTH {
            return Some(());
        }
        self.report_depth();
        None
    }

    fn report_depth(&mut self) {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        self.report(Problem::new(ProblemCode::Limit, self.here(), message));
    }

    // Errors.

    fn failed(&self) -> bool {
        !self.state.errors.is_empty()
    }

    fn report(&mut self, problem: Problem) {
        if self.state.errors.len() < MAX_PROBLEMS {
            self.state.errors.push(problem);
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.report(Problem::parse(span, message));
    }

    fn error_here(&mut self, message: impl Into<String>) {
        let here = self.here();
        self.error(here, message);
    }

    /// The current token can't stand here.
    fn illegal(&mut self, note: &str) {
        let tok = self.tok();
        // What is wrong with the token was reported when it was reached.
        if tok == Tok::Illegal && self.failed() {
            return;
        }
        let word = if tok.is_keyword() { "keyword" } else { "token" };
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        let message = format!("unexpected {} {word}{note}", tok.name());
        let mut problem = Problem::parse(self.here(), message);
        problem.hints.extend(self.hint_for_unexpected());
        self.report(problem);
    }

    // Words.

    /// True if a token may stand for its word in a reference although it is a keyword.
    fn may_be_name(&self, tok: Tok) -> bool {
        let word = tok.name();
        keyword_in(self.options.version, word) || self.keywords.contains(word)
    }

    /// At a keyword that begins a reference (`if.x`, `not["x"]`): takes it for a name.
    fn name_of_reference(&mut self) -> bool {
        let is = self.may_be_name(self.tok())
            && matches!(self.next_or_space(), Tok::Dot | Tok::LBracket);
        if is {
            self.state.tok = Tok::Ident;
        }
        is
    }

    fn var_here(&mut self) -> Term {
        let word = self.literal();
        let kind = if word == "_" { self.wildcard() } else { TermKind::Var(Arc::from(word)) };
        Term { kind, span: self.here() }
    }

    fn wildcard(&mut self) -> TermKind {
        let name = format!("${}", self.state.wildcards);
        self.state.wildcards += 1;
        TermKind::Var(name.into())
    }
}

/// True if a word is a keyword of a version, imports aside.
fn keyword_in(version: BaseVersion, word: &str) -> bool {
    let keywords = match version {
        BaseVersion::V0 => Keywords::NOT,
        BaseVersion::V1 | BaseVersion::V0CompatV1 => Keywords::NOT.with(Keywords::V0_FUTURE),
        BaseVersion::V2 => Keywords::ALL,
    };
    keywords.contains(word)
}

/// The version of a module with these imports.
fn raised(base: BaseVersion, v1: bool, v2: bool) -> Version {
    match (base, v1, v2) {
        (_, _, true) | (BaseVersion::V2, ..) => Version::V2,
        (BaseVersion::V1, ..) => Version::V1,
        (BaseVersion::V0CompatV1, ..) | (BaseVersion::V0, true, _) => Version::V0CompatV1,
        (BaseVersion::V0, false, _) => Version::V0,
    }
}
