//! From a module's text to its AST.
//!
//! Owns the call of the interpreter's parser, on a stack that is large enough for what
//! [`super::lex`] lets through, and the translation of its errors. It checks no meaning.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

use regorus::unstable as ast;

use super::lex;
use super::scope::{Import, Use};
use super::text::FileText;
use crate::{Diagnostic, Error, ErrorKind};

/// Rewriting makes lines longer; the parser's own limit of 1,024 columns would refuse them.
pub(super) const MAX_COLUMN: u32 = 1 << 20;
/// Largest module, as the interpreter bounds it.
pub(super) const MAX_MODULE_BYTES: usize = 1 << 20;
/// Room for the recursion that `lex` lets through, in the parser and in our own walks.
const STACK: usize = 256 << 20;

/// A parsed module.
pub(super) struct Module {
    pub(super) file: Arc<FileText>,
    pub(super) ast: ast::Module,
    /// Imports of `data` and `input`.
    pub(super) imports: Vec<Import>,
    /// Filled in when all packages are known.
    pub(super) uses: Vec<Use>,
    /// Byte ranges of locals that hide a rule.
    pub(super) hiding: Vec<(usize, usize)>,
}

/// Runs `work` on a thread with a large stack.
pub(super) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let broken = |what: &str| Error::new(ErrorKind::Internal, format!("loading policies {what}"));
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("rego-load".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|error| broken("needs a thread").with_source(error))?
            .join()
            .map_err(|_| broken("panicked"))
    })
}

/// Does `work` for each item, on several threads with large stacks when there are many, and keeps
/// their order.
pub(super) fn for_each<T: Send, R: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Result<Vec<R>, Error> {
    const MANY: usize = 32;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if threads < 2 || items.len() < MANY {
        return Ok(items.into_iter().map(work).collect());
    }
    let size = items.len().div_ceil(threads);
    let mut items = items.into_iter();
    let parts: Vec<Vec<T>> = (0..threads).map(|_| items.by_ref().take(size).collect()).collect();
    let work = &work;
    let broken = |what: &str| Error::new(ErrorKind::Internal, format!("loading policies {what}"));
    std::thread::scope(|scope| {
        let mut running = Vec::with_capacity(threads);
        for part in parts {
            let thread = std::thread::Builder::new()
                .name("rego-load".to_owned())
                .stack_size(STACK)
                .spawn_scoped(scope, move || part.into_iter().map(work).collect::<Vec<R>>());
            running.push(thread.map_err(|error| broken("needs a thread").with_source(error))?);
        }
        let mut done = Vec::new();
        for thread in running {
            done.extend(thread.join().map_err(|_| broken("panicked"))?);
        }
        Ok(done)
    })
}

/// A parser over `source`, after the bounds were checked.
pub(super) fn parser(source: &ast::Source, v0: bool) -> Result<ast::Parser<'_>, String> {
    let mut parser = ast::Parser::new(source).map_err(|e| e.to_string())?;
    parser.set_max_col(NonZeroU32::new(MAX_COLUMN).unwrap_or(NonZeroU32::MAX));
    if !v0 {
        parser.enable_rego_v1().map_err(|e| e.to_string())?;
    }
    Ok(parser)
}

/// Checks the bounds of a text.
pub(super) fn bounds(file: &FileText) -> Result<(), Diagnostic> {
    if file.author().len() > MAX_MODULE_BYTES {
        return Err(Diagnostic::error(
            "too-large",
            format!("`{}` is larger than {MAX_MODULE_BYTES} bytes", file.path()),
        )
        .with_hint("split the policy into several files"));
    }
    lex::check(file.author()).map_err(|refusal| {
        let end = refusal.offset + 1;
        Diagnostic::error("too-deep", refusal.message)
            .with_hint("name parts of the expression by rules or variables of their own")
            .at(file.position(refusal.offset, end))
    })
}

/// Parses one module.
pub(super) fn module(file: Arc<FileText>, v0: bool) -> Result<Module, Diagnostic> {
    bounds(&file)?;
    let parsed = ast::Source::from_contents(file.path().to_owned(), file.author().to_owned())
        .map_err(|e| e.to_string())
        .and_then(|source| parser(&source, v0)?.parse().map_err(|e| e.to_string()));
    match parsed {
        Ok(ast) => {
            Ok(Module { file, ast, imports: Vec::new(), uses: Vec::new(), hiding: Vec::new() })
        }
        Err(message) => Err(error(&file, &message)),
    }
}

/// What `find` finds in text that is rewritten already.
pub(super) fn again<T>(
    text: &str,
    v0: bool,
    find: impl FnOnce(&ast::Module) -> T,
) -> Result<T, Error> {
    let broken = |e: String| {
        Error::new(ErrorKind::Internal, format!("a rewritten policy doesn't parse: {e}"))
    };
    let source = ast::Source::from_contents_with_limits(
        String::new(),
        text.to_owned(),
        NonZeroUsize::MAX,
        NonZeroUsize::MAX,
    )
    .map_err(|e| broken(e.to_string()))?;
    let module = parser(&source, v0).and_then(|mut p| p.parse().map_err(|e| e.to_string()));
    Ok(find(&module.map_err(broken)?))
}

/// As [`again`], for a query.
pub(super) fn query_again<T>(
    text: &str,
    v0: bool,
    find: impl FnOnce(&ast::Query) -> T,
) -> Result<T, String> {
    let source =
        ast::Source::from_contents(String::new(), text.to_owned()).map_err(|e| e.to_string())?;
    let query = parser(&source, v0)?.parse_user_query().map_err(|e| e.to_string())?;
    Ok(find(&query))
}

/// The parser's error as a diagnostic.
pub(super) fn error(file: &FileText, text: &str) -> Diagnostic {
    let found = super::report::locate(text).into_iter().rfind(|at| at.file == file.path());
    let message = super::report::message(text, found.as_ref());
    let diagnostic = Diagnostic::error("parse-error", message);
    match found {
        Some(at) => diagnostic.at(file.position_at(at.line, at.column)),
        None => diagnostic.with_hint(format!("in `{}`", file.path())),
    }
}
