//! Turns tokens into a tree: accepts the same texts as OPA's parser, and makes the same tree.
//!
//! The grammar can't be parsed with one token of lookahead (a brace opens a body, a set, an object
//! or a comprehension), so the parser tries one alternative and backtracks to the next, in OPA's
//! order of preference. Results are memoized by position, so that backtracking doesn't take
//! exponential time.

mod hints;
mod literals;
mod module;
mod rules;
mod statements;
mod terms;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

pub(super) use statements::head_word;

use super::lexer::{self, Lexed};
use super::token::{Keywords, Tok, Token};
use super::tree::{Body, Comment, Expr, FileId, Module, Span, Term, TermKind, Version};
use super::{MAX_CHAIN, MAX_DEPTH, normalize};
use crate::problem::{Problem, ProblemCode, Problems};

/// The options for parsing a text.
#[derive(Debug, Clone, Default)]
pub struct ParseOptions {
    /// The version of the language before any import.
    pub version: BaseVersion,
    /// The keywords that are imported.
    pub future_keywords: Vec<String>,
    /// `true` to keep [`TermKind::Group`] and the author's order of sets and objects, for printing.
    pub keep_layout: bool,
}

/// The version of the language in which a text is parsed before any import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BaseVersion {
    /// `--v0`
    V0,
    /// v0 with v1's rules for heads: `--v0-v1`.
    V0CompatV1,
    /// The default of OPA 1.x.
    #[default]
    V1,
    /// v1 with `and`, `or` and the newer `not`.
    V2,
}

impl ParseOptions {
    /// Creates the options for a version.
    pub fn version(version: BaseVersion) -> Self {
        Self { version, ..Self::default() }
    }
}

/// The errors of a file that can't be parsed, with its comments, which may have further problems.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unparsed {
    /// The problems, in order; never empty.
    pub problems: Problems,
    /// `true` if a statement can't be parsed; otherwise, the statements don't make a module.
    pub in_statement: bool,
    /// The comments up to the first statement that can't be parsed.
    pub comments: Vec<Comment>,
}

/// Parses a file.
///
/// # Errors
/// The problems, in order; never empty.
pub fn parse_module(file: FileId, text: &str, options: &ParseOptions) -> Result<Module, Problems> {
    parse_commented_module(file, text, options).map_err(|unparsed| unparsed.problems)
}

/// Parses a file; gives the comments also if that fails.
///
/// # Errors
/// The text isn't a module.
pub fn parse_commented_module(
    file: FileId,
    text: &str,
    options: &ParseOptions,
) -> Result<Module, Unparsed> {
    let mut parser = Parser::new(file, text, options).map_err(|problems| Unparsed {
        problems,
        in_statement: true,
        comments: Vec::new(),
    })?;
    let statements = parser.statements(false);
    let in_statement = parser.failed();
    let mut comments = std::mem::take(&mut parser.lexed.comments);
    if let Some(at) = parser.first_failure {
        let end = parser.token(at).start;
        comments.truncate(comments.partition_point(|comment| comment.span.start < end));
    }
    match parser.finish(statements) {
        Ok(module) => Ok(Module { comments, ..module }),
        Err(problems) => Err(Unparsed { problems, in_statement, comments }),
    }
}

/// Parses a query: expressions, separated by `;` or line breaks.
///
/// # Errors
/// The problems, in order; never empty.
pub fn parse_query(file: FileId, text: &str, options: &ParseOptions) -> Result<Body, Problems> {
    let mut parser = Parser::new(file, text, options)?;
    let statements = parser.statements(true);
    let mut body = parser.finish_query(statements)?;
    if !options.keep_layout {
        normalize::body(&mut body);
    }
    Ok(body)
}

/// Parses a single term.
///
/// # Errors
/// The problems, in order; never empty.
pub fn parse_term(file: FileId, text: &str, options: &ParseOptions) -> Result<Term, Problems> {
    let body = parse_query(file, text, options)?;
    let span = whole(file, text);
    let mut exprs = body.into_iter();
    match (exprs.next(), exprs.next()) {
        (Some(expr), None) => match expr.into_kind() {
            super::tree::ExprKind::Term(term) => Ok(*term),
            _ => Err(vec![Problem::parse(span, "expected term")]),
        },
        _ => Err(vec![Problem::parse(span, "expected exactly one term")]),
    }
}

fn whole(file: FileId, text: &str) -> Span {
    Span { file, start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}

/// The largest number of problems that are reported.
const MAX_PROBLEMS: usize = 20;

/// The state of the parser, which is saved before an attempt and restored after it.
#[derive(Debug, Clone)]
struct State {
    /// The index of the current token.
    at: usize,
    /// `true` if the space before the token hasn't been skipped.
    at_space: bool,
    /// The kind of the current token, with words classified as keywords or names.
    tok: Tok,
    /// The number of wildcards so far.
    wildcards: u32,
    /// The depth of the trees parsed within the current term or statement.
    height: usize,
    errors: Vec<Problem>,
}

/// A memoized result, with the state after it.
type Memo<T> = (Option<T>, State);

/// A memoized statement of a body.
#[derive(Debug, Clone)]
struct LiteralMemo {
    expr: Option<Expr>,
    state: State,
    /// The memoized term, if the statement begins with a keyword that is used as a name there.
    /// OPA's parser then finds this term again even where the word would be a keyword.
    named: Option<Memo<Term>>,
}

/// A map keyed by the index of a first token.
type ByToken<T> = HashMap<usize, T, BuildHasherDefault<TokenHasher>>;

/// Hashes indexes of tokens. They are consecutive, so no author can make them collide.
#[derive(Default)]
struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    tokens: Vec<Token>,
    lexed: Lexed,
    options: ParseOptions,
    state: State,
    keywords: Keywords,
    /// `true` if the operand of `not` is a body.
    not_bodies: bool,
    depth: usize,
    /// The token at which the first statement ended that can't be parsed.
    first_failure: Option<usize>,
    /// The number of attempts in progress, from which the parser may backtrack.
    attempts: usize,
    /// The memoized terms, ascending by their first token; those after a term that was parsed later
    /// are dropped. OPA's parser memoizes the same ones, which is observable where a word is first
    /// read as a keyword and then as a name.
    terms: Vec<(usize, Memo<Term>)>,
    /// All terms parsed during attempts, if braces may be bodies.
    attempted_terms: ByToken<Memo<Term>>,
    /// The statements of bodies parsed during attempts.
    literals: ByToken<LiteralMemo>,
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
        // The word `not` is always a keyword; this flag is about its newer meaning.
        let mut not_bodies = options.version == BaseVersion::V2;
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
            first_failure: None,
            attempts: 0,
            terms: Vec::new(),
            attempted_terms: ByToken::default(),
            literals: ByToken::default(),
        };
        parser.classify_current();
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

    /// The text of the current token; empty unless it's a word or a literal.
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

    /// The kind of a token, given the current keywords.
    fn kind_at(&self, at: usize) -> Tok {
        let token = self.token(at);
        if token.kind == Tok::Ident {
            self.keywords.classify(self.slice(token.start, token.end))
        } else {
            token.kind
        }
    }

    /// Classifies the current token, and reports its errors.
    fn classify_current(&mut self) {
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

    /// Advances to the next token.
    fn scan(&mut self) {
        if !self.state.at_space && self.state.at + 1 < self.tokens.len() {
            self.state.at += 1;
        }
        self.classify_current();
    }

    /// Advances to the next token or to the space before it, if there is any.
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
            self.classify_current();
        }
    }

    /// The kind of the next token; space counts as a token.
    fn next_or_space(&self) -> Tok {
        if self.state.at_space {
            return self.kind_at(self.state.at);
        }
        let next = self.token(self.state.at + 1);
        if next.space { Tok::Space } else { self.kind_at(self.state.at + 1) }
    }

    /// The start of the current token, or of the space before it.
    fn start(&self) -> u32 {
        if self.state.at_space { self.last_end() } else { self.current().start }
    }

    /// The end of the token before the current one.
    fn last_end(&self) -> u32 {
        match self.state.at.checked_sub(1) {
            Some(last) => self.token(last).end,
            None => 0,
        }
    }

    /// The end of the current token.
    fn token_end(&self) -> u32 {
        if self.state.at_space { self.last_end() } else { self.current().end }
    }

    fn span(&self, start: u32, end: u32) -> Span {
        Span { file: self.file, start, end: end.max(start) }
    }

    /// The span of the current token.
    fn here(&self) -> Span {
        self.span(self.start(), self.token_end())
    }

    /// The span from a position to the end of the last token.
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

    /// Runs a closure from which the parser may backtrack.
    fn attempt<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.attempts += 1;
        let result = run(self);
        self.attempts -= 1;
        result
    }

    /// The memoized term that begins at the current token.
    fn memoized_term(&self) -> Option<&Memo<Term>> {
        let at = self.state.at;
        let index = self.terms.binary_search_by_key(&at, |(first, _)| *first).ok()?;
        self.terms.get(index).map(|(_, kept)| kept)
    }

    fn memoize_term(&mut self, first: usize, term: Option<&Term>) {
        while self.terms.last().is_some_and(|(last, _)| *last >= first) {
            self.terms.pop();
        }
        // Outside of attempts, nothing is parsed twice.
        if self.attempts > 0 {
            let kept = (term.cloned(), self.state.clone());
            self.terms.push((first, kept));
        }
    }

    /// Drops the memoized results, between statements.
    fn forget(&mut self) {
        self.state.height = 0;
        self.terms.clear();
        self.attempted_terms.clear();
        self.literals.clear();
    }

    /// Runs a closure one level deeper, or reports that the nesting is too deep.
    fn nested<T>(&mut self, run: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.limit(format!("nested deeper than {MAX_DEPTH} levels"));
            return None;
        }
        self.depth += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || run(self));
        self.depth -= 1;
        result
    }

    /// Counts a level of the tree, or reports that it's too deep. A chain of operators is a tree as
    /// deep as the chain is long.
    fn grow(&mut self) -> Option<()> {
        self.state.height += 1;
        if self.state.height <= MAX_CHAIN {
            return Some(());
        }
        self.limit(format!("more than {MAX_CHAIN} operators in a row"));
        None
    }

    fn limit(&mut self, message: String) {
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

    /// Reports that the current token isn't allowed here.
    fn illegal(&mut self, note: &str) {
        let tok = self.tok();
        // The token's own error was reported when it became the current one.
        if tok == Tok::Illegal && self.failed() {
            return;
        }
        let word = if tok.is_keyword() { "keyword" } else { "token" };
        let shown = if note.is_empty() { String::new() } else { format!(": {note}") };
        let message = format!("unexpected {} {word}{shown}", tok.name());
        let mut problem = Problem::parse(self.here(), message);
        problem.hints.extend(self.hint_for_unexpected(note));
        self.report(problem);
    }

    /// Reports that the current token isn't allowed here, and returns nothing.
    fn reject<T>(&mut self, note: &str) -> Option<T> {
        self.illegal(note);
        None
    }

    /// Reports an error at the current token, and returns nothing.
    fn fail_here<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.error_here(message);
        None
    }

    /// Reports the current token unless it's `expected`.
    fn require(&mut self, expected: Tok, note: &str) -> Option<()> {
        if self.tok() == expected { Some(()) } else { self.reject(note) }
    }

    // Words.

    /// Returns `true` if a keyword may be used as a name in a reference.
    fn may_be_name(&self, tok: Tok) -> bool {
        let word = tok.name();
        keyword_in(self.options.version, word) || self.keywords.contains(word)
    }

    /// At a keyword that begins a reference (`if.x`, `not["x"]`), treats it as a name.
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

/// Returns `true` if a word is a keyword of a version, without any imports.
fn keyword_in(version: BaseVersion, word: &str) -> bool {
    let keywords = match version {
        BaseVersion::V0 => Keywords::NOT,
        BaseVersion::V1 | BaseVersion::V0CompatV1 => Keywords::NOT.with(Keywords::V0_FUTURE),
        BaseVersion::V2 => Keywords::ALL,
    };
    keywords.contains(word)
}

/// The version of a module that imports `rego.v1` or `rego.v2`.
fn module_version(base: BaseVersion, v1: bool, v2: bool) -> Version {
    match (base, v1, v2) {
        (_, _, true) | (BaseVersion::V2, ..) => Version::V2,
        (BaseVersion::V1, ..) => Version::V1,
        (BaseVersion::V0CompatV1, ..) | (BaseVersion::V0, true, _) => Version::V0CompatV1,
        (BaseVersion::V0, false, _) => Version::V0,
    }
}
