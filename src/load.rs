//! Loading: sources and options become a compiled program, a description of its packages, and
//! findings.
//!
//! Owns the load options and the description of packages and rules for gates, tests and checks. The
//! meaning of a policy belongs to [`crate::rego`].

mod compile;
mod findings;
pub(crate) mod functions;
mod messages;
pub(crate) mod paths;
#[doc(hidden)]
pub mod roles;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use messages::Pattern;
use roles::PackageOrigin;

use crate::functions::FunctionSet;
use crate::rego::Sources as Texts;
use crate::rego::internal::threads;
use crate::rego::syntax::BaseVersion;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};
use crate::rego::syntax::visit;
use crate::sources::SchemaSet;
use crate::{Platform, Position, Product};

pub(crate) use compile::{Compilation, Findings, Inspected, Loaded, compile, wrong_arguments};
#[doc(hidden)]
pub use findings::diagnostics;
pub(crate) use findings::path_of;
#[doc(hidden)]
pub use findings::{diagnostic, position};
pub use functions::HostFunction;

/// The function with which a table test reports a case: its argument is the array of the case's
/// keys.
pub(crate) const TEST_CASE: &str = "internal.rego_platform_test_case";

/// Options for loading modules.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The name that the functions start with.
    pub product: Product,
    /// The service's functions that policies can call; any other name is refused.
    pub enabled: FunctionSet,
    /// The host's own functions.
    pub host_functions: Vec<HostFunction>,
    /// Set if modules are Rego v0 unless they import `rego.v1`.
    pub rego_v0: bool,
    /// The schemas of documents from outside.
    pub schemas: SchemaSet,
    #[doc(hidden)]
    pub origin: PackageOrigin,
}

impl LoadOptions {
    /// Returns options for policies whose calls `platform` answers: with its product, and the
    /// functions that are enabled there.
    pub fn of_platform(platform: &Platform) -> Self {
        let (product, enabled) = (platform.product().clone(), platform.functions());
        Self { product, enabled, ..Self::default() }
    }

    /// Returns the version of Rego that modules are in unless their bundle names another.
    #[doc(hidden)]
    pub fn version(&self) -> BaseVersion {
        if self.rego_v0 { BaseVersion::V0 } else { BaseVersion::V1 }
    }
}

/// The kind of value that the definitions of a rule make together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleKind {
    /// One value.
    Complete,
    /// A set, element by element.
    PartialSet,
    /// An object, key by key.
    PartialObject,
    /// A rule with arguments.
    Function {
        /// The number of arguments it takes.
        arity: usize,
    },
}

/// One rule: all definitions under one path.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuleInfo {
    /// The path below `data`.
    pub path: Vec<String>,
    /// The last part of the path.
    pub name: String,
    /// The kind of value that the definitions make together.
    pub kind: RuleKind,
    /// `true` if one of the definitions is a default.
    pub has_default: bool,
    /// The position of its first definition.
    pub position: Position,
    /// The rule's definitions, in the order of the files.
    pub definitions: Vec<RuleDefinition>,
}

/// A definition of a rule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RuleDefinition {
    /// The position of its head.
    pub position: Position,
    /// Patterns of the rule's messages; `None` if they aren't known.
    patterns: Option<Vec<Pattern>>,
}

impl RuleDefinition {
    /// Returns `true` if this definition can have given `message`, as an element that is this
    /// string or an object with this `message`.
    pub fn can_say(&self, message: &str) -> bool {
        self.patterns.as_ref().is_none_or(|all| all.iter().any(|pattern| pattern.matches(message)))
    }
}

/// One package, over all its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Package {
    /// The path below `data`.
    pub path: Vec<String>,
    /// The package's rules, by path.
    pub rules: Vec<RuleInfo>,
    /// The files that contribute to it.
    pub files: Vec<String>,
    /// `true` if its name ends in `_test`, or all its files' names end in `_test.rego`.
    pub is_test: bool,
    /// `true` if its name ends in `_test` and it contains a test, which isn't a function or a
    /// constant: its denials are about mocks.
    pub is_suite: bool,
    /// The packages that its modules import or refer to, by path; references from tests alone don't
    /// count.
    pub refers_to: Vec<Vec<String>>,
}

impl Package {
    /// Returns `true` if every rule has the name of a test.
    pub(crate) fn has_only_tests(&self) -> bool {
        let mut names = self.rules.iter().map(|rule| rule.path.get(self.path.len()));
        let is_test = |name: &String| name.starts_with("test_") || name.starts_with("todo_test_");
        !self.rules.is_empty() && names.all(|name| name.is_some_and(is_test))
    }
}

/// Returns the packages of modules. `authors` are the modules as they were written, `resolved` the
/// same modules with full references.
pub(crate) fn packages(texts: &Texts, authors: &[&Module], resolved: &[Module]) -> Vec<Package> {
    let mut all: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (index, module) in authors.iter().enumerate() {
        let path = constant_parts(below_data(module)).map(ToOwned::to_owned).collect();
        all.entry(path).or_default().push(index);
    }
    let paths: HashSet<Vec<&str>> =
        authors.iter().map(|module| constant_parts(below_data(module)).collect()).collect();
    let path_of = |index: usize| {
        let span = authors.get(index).map(|module| module.span).unwrap_or_default();
        texts.get(span.file).map_or("", |source| source.path())
    };
    threads::map(all.into_iter().collect(), |(path, modules)| {
        let rules =
            rules(texts, &path, modules.iter().filter_map(|index| authors.get(*index).copied()));
        let named = is_test_package(path.last());
        let is_test = |index: &usize| named || is_test_file(path_of(*index));
        let referring = modules
            .iter()
            .filter(|index| !is_test(index))
            .filter_map(|index| Some((*authors.get(*index)?, resolved.get(*index)?)));
        Package {
            files: modules.iter().map(|index| path_of(*index).to_owned()).collect(),
            is_test: modules.iter().all(is_test),
            is_suite: named
                && modules
                    .iter()
                    .filter_map(|index| authors.get(*index))
                    .any(|module| module.rules.iter().any(is_test_rule)),
            refers_to: refers_to(referring, &path, &paths),
            rules,
            path,
        }
    })
}

/// Returns `true` for the name of a file of tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("_test.rego")
}

/// Returns `true` for the last part of the name of a package of tests.
pub(crate) fn is_test_package<S: AsRef<str>>(name: Option<S>) -> bool {
    name.is_some_and(|name| name.as_ref().ends_with("_test"))
}

/// Returns `true` for a rule that is a test. Functions and constants, such as `test_cases := [...]`,
/// aren't: they can't fail.
fn is_test_rule(rule: &Rule) -> bool {
    let (path, _) = described(rule);
    let named = path.last().is_some_and(|n| n.starts_with("test_") || n.starts_with("todo_test_"));
    let constant = rule.head.value.as_ref().is_some_and(|value| match value.kind {
        TermKind::Bool(_) => rule.default || rule.generated_body,
        _ => matches!(
            value.kind,
            TermKind::Null
                | TermKind::Number(_)
                | TermKind::String(_)
                | TermKind::Array(_)
                | TermKind::Object(_)
                | TermKind::Set(_)
        ),
    });
    named && !rule.head.is_function() && !constant
}

/// Returns the path of a module's package without its first part, `data`.
fn below_data(module: &Module) -> &[Term] {
    module.package.path.get(1..).unwrap_or_default()
}

/// Returns the constant parts at the beginning of a path.
fn constant_parts(terms: &[Term]) -> impl Iterator<Item = &str> {
    terms.iter().map_while(|term| match &term.kind {
        TermKind::String(name) | TermKind::Var(name) => Some(&**name),
        _ => None,
    })
}

/// Returns the path of a rule within its package, without variable parts, and the kind of the rule.
fn described(rule: &Rule) -> (Vec<String>, RuleKind) {
    let head = &rule.head;
    let mut path = Vec::new();
    let mut keys = 0;
    for (index, term) in head.reference.iter().enumerate() {
        match &term.kind {
            TermKind::Var(name) if index == 0 => path.push(name.to_string()),
            TermKind::String(name) if keys == 0 => path.push(name.to_string()),
            _ => keys += 1,
        }
    }
    let kind = if head.is_function() {
        RuleKind::Function { arity: head.args.len() }
    } else if head.key.is_some() && head.value.is_none() && keys == 0 {
        RuleKind::PartialSet
    } else if keys > 0 || head.key.is_some() {
        RuleKind::PartialObject
    } else {
        RuleKind::Complete
    };
    (path, kind)
}

fn rules<'a>(
    texts: &Texts,
    package: &[String],
    modules: impl Iterator<Item = &'a Module>,
) -> Vec<RuleInfo> {
    let mut groups: BTreeMap<Vec<String>, RuleInfo> = BTreeMap::new();
    for rule in modules.flat_map(|module| &module.rules) {
        let (own, kind) = described(rule);
        let path: Vec<String> = package.iter().cloned().chain(own).collect();
        let at = position(texts, head_span(rule));
        let definition =
            RuleDefinition { position: at.clone(), patterns: messages::patterns(rule) };
        let info = groups.entry(path.clone()).or_insert_with(|| RuleInfo {
            name: path.last().cloned().unwrap_or_default(),
            path,
            kind,
            has_default: false,
            position: at,
            definitions: Vec::new(),
        });
        info.has_default |= rule.default;
        info.definitions.push(definition);
    }
    // A rule for a single key of an object is part of the object's rule. In the order of paths, it
    // follows that rule.
    let mut all: Vec<RuleInfo> = Vec::with_capacity(groups.len());
    for (path, info) in groups {
        if !all.last().is_some_and(|parent| path.starts_with(&parent.path)) {
            all.push(info);
        }
    }
    all
}

/// Returns the span of a rule's head, or of the whole rule if the head has none.
pub(crate) fn head_span(rule: &Rule) -> Span {
    let head = rule.head.span;
    if head.start < head.end { head } else { rule.span }
}

/// Returns the other packages that modules import or refer to.
fn refers_to<'a>(
    modules: impl Iterator<Item = (&'a Module, &'a Module)>,
    own: &[String],
    packages: &HashSet<Vec<&str>>,
) -> Vec<Vec<String>> {
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    let mut visit = |term: &Term| {
        let TermKind::Ref(parts) = &term.kind else { return };
        let Some((head, rest)) = parts.split_first() else { return };
        if !matches!(&head.kind, TermKind::Var(name) if &**name == "data") {
            return;
        }
        let path: Vec<&str> = rest
            .iter()
            .map_while(|term| match &term.kind {
                TermKind::String(name) => Some(&**name),
                _ => None,
            })
            .collect();
        // Packages that it leads into, and those below it: `data.lib[_].problems`.
        let leads = |package: &&Vec<&str>| path.starts_with(package) || package.starts_with(&path);
        for package in packages.iter().filter(leads).filter(|package| **package != own) {
            found.insert(package.iter().map(|&part| part.to_owned()).collect());
        }
    };
    for (author, resolved) in modules {
        for import in &author.imports {
            visit(&import.path);
        }
        for rule in &resolved.rules {
            visit::walk_terms(rule, &mut |term| {
                visit(term);
                true
            });
        }
    }
    found.into_iter().collect()
}
