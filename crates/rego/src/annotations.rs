//! Annotations: `# METADATA` blocks, their targets, and the results of `rego.metadata.*`.
//!
//! Owns the reading of the blocks from modules' comments and their attachment to the statement
//! below ([`of_modules`]), and the set of all of them ([`AnnotationSet`]), which can be
//! queried by rule. Of a module, only the comments and the positions of statements are used.

mod block;
mod set;
mod uri;

use std::sync::Arc;

use super::problem::{Problem, Problems, Source, Sources};
use super::syntax::Unparsed;
use super::syntax::tree::{Comment, Module, Rule, Span, Term};
use super::value::{Object, Value};

pub use set::{AnnotationSet, Link};

/// A `# METADATA` block.
#[derive(Debug, Clone)]
pub struct Annotations {
    /// The part of the policy that the block applies to.
    pub scope: Scope,
    /// A short name for people; empty if it isn't given, as are the other texts.
    pub title: String,
    /// A longer text for people.
    pub description: String,
    /// `true` if the rule or package is meant to be queried from outside.
    pub entrypoint: bool,
    /// The organizations that are responsible for the policy.
    pub organizations: Vec<String>,
    /// `related_resources`
    pub related_resources: Vec<RelatedResource>,
    /// The people who wrote the policy.
    pub authors: Vec<Author>,
    /// The types of documents that the policy reads.
    pub schemas: Vec<SchemaAnnotation>,
    /// Settings for OPA's compile API.
    pub compile: Option<CompileAnnotation>,
    /// Anything else, in the author's own form.
    pub custom: Object,
    /// Labels, by name.
    pub labels: Object,
    /// The span of its first line.
    pub span: Span,
    /// The statement below it.
    pub target: Target,
}

/// The part of a policy that a block applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Not written; the statement below determines it.
    Unwritten,
    /// The rule below the block.
    Rule,
    /// All rules of one name.
    Document,
    /// The package, in this and other files.
    Package,
    /// The package and those below it.
    Subpackages,
    /// Anything else, which is an error when the block is attached.
    Other(String),
}

/// The statement below a block.
#[derive(Debug, Clone)]
pub enum Target {
    /// No statement.
    None,
    /// The package, by its path.
    Package(Vec<Term>),
    /// An import: the next statement is one.
    Import,
    /// A rule: the ground part of its path, and its span.
    Rule(Vec<Term>, Span),
}

/// A page about the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedResource {
    /// The URL.
    pub address: String,
    /// The description of the page; empty if it isn't given.
    pub description: String,
}

/// An author of the policy: a name, an email address, or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The person's name; empty if only the address is given.
    pub name: String,
    /// The email address.
    pub email: String,
}

/// The schema of a document.
#[derive(Debug, Clone)]
pub struct SchemaAnnotation {
    /// The document.
    pub path: Vec<Term>,
    /// The schema that the document's type is read from.
    pub schema: Schema,
}

/// The schema of an annotation.
#[derive(Debug, Clone)]
pub enum Schema {
    /// One of the schemas that were loaded, by its reference.
    Reference(Vec<Term>),
    /// A schema that is written in the annotation itself.
    Definition(Value),
}

/// The value of `compile`.
#[derive(Debug, Clone, Default)]
pub struct CompileAnnotation {
    /// The references whose values stay unknown.
    pub unknowns: Vec<Vec<Term>>,
    /// `mask_rule`
    pub mask_rule: Option<Vec<Term>>,
}

impl Scope {
    fn of(text: String) -> Self {
        match text.as_str() {
            "" => Self::Unwritten,
            "rule" => Self::Rule,
            "document" => Self::Document,
            "package" => Self::Package,
            "subpackages" => Self::Subpackages,
            _ => Self::Other(text),
        }
    }

    /// The name of the scope.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unwritten => "",
            Self::Rule => "rule",
            Self::Document => "document",
            Self::Package => "package",
            Self::Subpackages => "subpackages",
            Self::Other(text) => text,
        }
    }
}

/// Reads the blocks of all modules' comments and attaches them. The modules are as they were parsed:
/// a block may stand above an import.
///
/// # Errors
/// A block can't be read, or its scope doesn't fit the statement below.
pub fn of_modules<'m>(
    modules: impl IntoIterator<Item = &'m Module>,
    sources: &Sources,
) -> Result<Vec<Annotations>, Problems> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for module in modules.into_iter().filter(|module| !module.comments.is_empty()) {
        let Some(source) = sources.get(module.span.file) else { continue };
        let (mut blocks, found) = parse(&module.comments, source);
        // As in OPA, blocks are attached if all can be read.
        let readable = found.is_empty();
        problems.extend(found);
        if readable {
            problems.extend(attach(&mut blocks, module, source));
        }
        all.extend(blocks);
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// All problems of a file that can't be parsed. OPA's parser reads the blocks after the statements, up
/// to the first that can't be parsed, and before it makes a module of them.
pub fn problems_of(unparsed: Unparsed, source: &Source) -> Problems {
    let Unparsed { mut problems, in_statement, comments } = unparsed;
    let (_, mut of_blocks) = parse(&comments, source);
    if !in_statement && !of_blocks.is_empty() {
        return of_blocks;
    }
    problems.append(&mut of_blocks);
    problems
}

/// Reads the blocks of a module's comments; they aren't attached yet. Returns the problems as well.
fn parse(comments: &[Comment], source: &Source) -> (Vec<Annotations>, Problems) {
    let position = |comment: &Comment| source.line_column(comment.span.start);
    let begins =
        |comment: &Comment| position(comment).1 == 1 && comment.text.trim().starts_with("METADATA");
    let (mut blocks, mut problems) = (Vec::new(), Vec::new());
    for (at, first) in comments.iter().enumerate().filter(|(_, comment)| begins(comment)) {
        let mut line = position(first).0;
        let lines: Vec<&Comment> = comments
            .iter()
            .skip(at + 1)
            .take_while(|comment| {
                line += 1;
                position(comment) == (line, 1) && !begins(comment)
            })
            .collect();
        match block::read(first, &lines) {
            Ok(annotations) => blocks.push(annotations),
            Err((at, message)) => problems.push(Problem::parse(at, message)),
        }
    }
    (blocks, problems)
}

/// Attaches each block to the first statement below it, and checks that its scope fits.
fn attach(blocks: &mut [Annotations], module: &Module, source: &Source) -> Problems {
    let mut statements: Vec<(u32, Target)> =
        Vec::with_capacity(1 + module.imports.len() + module.rules.len());
    let row = |span: Span| source.line_column(span.start).0;
    statements.push((row(module.package.span), Target::Package(module.package.path.clone())));
    statements.extend(module.imports.iter().map(|import| (row(import.span), Target::Import)));
    statements.extend(
        module
            .rules
            .iter()
            .map(|rule| (row(rule.span), Target::Rule(document_path(module, rule), rule.span))),
    );
    statements.sort_by_key(|statement| statement.0);

    let mut problems = Vec::new();
    for block in blocks {
        let below = statements.partition_point(|statement| statement.0 <= row(block.span));
        if let Some((_, target)) = statements.get(below) {
            block.target = target.clone();
        }
        if block.scope == Scope::Unwritten {
            block.scope = match block.target {
                Target::None => Scope::Unwritten,
                Target::Rule(..) if block.entrypoint => Scope::Document,
                Target::Rule(..) => Scope::Rule,
                Target::Package(_) => Scope::Package,
                Target::Import => Scope::Other("import".to_owned()),
            };
        }
        problems.extend(check_scope(block));
        if block.entrypoint && !matches!(block.scope, Scope::Document | Scope::Package) {
            let scope = block.scope.as_str();
            problems.push(Problem::parse(
                block.span,
                format!("annotation entrypoint applied to non-document or package scope '{scope}'"),
            ));
        }
    }
    problems
}

/// Returns the problem of a block whose scope doesn't fit the statement below it.
fn check_scope(block: &Annotations) -> Option<Problem> {
    let scope = block.scope.as_str();
    let wanted = match (&block.scope, &block.target) {
        (Scope::Rule | Scope::Document, Target::Rule(..)) => return None,
        (Scope::Package | Scope::Subpackages, Target::Package(_)) => return None,
        (Scope::Rule | Scope::Document, _) => "rule",
        (Scope::Package | Scope::Subpackages, _) => "package",
        _ => {
            return Some(Problem::parse(
                block.span,
                format!(
                    "invalid annotation scope '{scope}'. Use one of 'rule', 'document', 'package', or 'subpackages'"
                ),
            ));
        }
    };
    let below = match &block.target {
        Target::None => "",
        Target::Package(_) => "package",
        Target::Import => "import",
        Target::Rule(..) => "rule",
    };
    let message = if below.is_empty() {
        format!("annotation scope '{scope}' must be applied to {wanted}")
    } else {
        format!("annotation scope '{scope}' must be applied to {wanted} (have {below})")
    };
    Some(Problem::parse(block.span, message))
}

/// The ground part of a rule's path, beginning with `data`.
pub fn document_path(module: &Module, rule: &Rule) -> Vec<Term> {
    document_path_in(&module.package.path, rule)
}

/// The same, for a rule in the package with this path.
pub fn document_path_in(package: &[Term], rule: &Rule) -> Vec<Term> {
    use super::syntax::tree::TermKind;
    let mut path = package.to_vec();
    for (at, term) in rule.head.reference.iter().enumerate() {
        match &term.kind {
            TermKind::Var(name) if at == 0 => {
                path.push(Term { kind: TermKind::String(Arc::clone(name)), span: term.span });
            }
            // Other terms, also constant ones, have been moved to the body by OPA at this point.
            _ if term.ungrouped().is_scalar() => {
                path.push(term.ungrouped().clone());
            }
            _ => break,
        }
    }
    path
}
