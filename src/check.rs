//! Static checks: problems of policies that are found without asking the service.
//!
//! Owns the findings that follow from the table of functions, and common mistakes around them.
//! Errors of the language are found by [`crate::rego`]; showing findings belongs to the command.
//! The checks whose findings are errors run at every load, so that a wrong argument never reaches
//! the service.

mod always;
mod arguments;
mod capabilities;
mod choices;
mod dead;
mod fields;
mod fix;
mod ignore;
mod infer;
pub(crate) mod mocks;
mod model;
mod names;
mod network;
mod packages;
mod regorus;
mod rules;
#[doc(hidden)]
pub mod shapes;
mod undecided;
mod unknown;
mod unused;
mod values;
mod vendor;

use std::collections::{HashMap, HashSet};

use crate::load::{self, Findings, Inspected, LoadOptions};
use crate::rego::syntax::tree::{ExprKind, FileId, Module, Name, Span, Term, TermKind};
use crate::rego::syntax::visit;
use crate::sources::{ModuleSource, Sources};
use crate::{Diagnostic, Level, Position};

pub use capabilities::{capabilities, declared_functions, merged};
#[doc(hidden)]
pub use choices::{Choice, choices};
pub use fix::{Fixed, fix};
#[doc(hidden)]
pub use ignore::silenced;
pub(crate) use names::{constant, unknown_function};
#[cfg(feature = "regorus-core")]
pub(crate) use regorus::PREFIX as REGORUS;
pub use rules::{RULES, Rule, rule, rules};
#[doc(hidden)]
pub use unknown::{INPUT_FILE, MISSING_DATA, SIGNERS, is_in};

/// Returns every finding about sources, tests included, sorted by file and line.
pub fn check(sources: &Sources, options: LoadOptions) -> Vec<Diagnostic> {
    load::compile(sources, &options, &everything, None).findings
}

/// Returns the places where regorus is known to differ, sorted by file and line. Tests are left out.
pub fn check_for_regorus(sources: &Sources, options: LoadOptions) -> Vec<Diagnostic> {
    let differences = |all: &Inspected<'_>| {
        let mut found = regorus::differences(all);
        let files = all.files();
        let comments = files.iter().filter(|file| !file.is_test);
        let comments = comments.flat_map(|file| ignore::comments(all, file));
        let about = comments.filter(|ignore| ignore.code().starts_with(regorus::PREFIX));
        ignore::apply(about.collect(), &mut found);
        Findings { all: found, ..Findings::default() }
    };
    let mut found = load::compile(sources, &options, &differences, None).findings;
    found.retain(|found| found.code.starts_with(regorus::PREFIX) || found.code == "unused-ignore");
    found
}

impl<'a> Inspected<'a> {
    fn position(&self, span: Span) -> Position {
        crate::load::position(self.sources, span)
    }

    /// Returns a local variable's name as its author wrote it.
    fn author_name<'n>(&'n self, name: &'n Name) -> &'n str {
        self.locals.get(name).unwrap_or(name)
    }

    /// Returns `true` if a local variable was declared, not just used.
    fn is_declared(&self, name: &Name) -> bool {
        self.locals.contains_key(name)
    }

    fn files(&self) -> Vec<File<'a>> {
        self.files_of(|_| true)
    }

    /// The files of the modules whose indices are `wanted`.
    fn files_of(&self, wanted: impl Fn(usize) -> bool) -> Vec<File<'a>> {
        self.authors
            .iter()
            .zip(self.modules)
            .enumerate()
            .filter(|(at, _)| wanted(*at))
            .map(|(_, (&author, module))| {
                let file = author.span.file;
                let source = self.sources.get(file);
                let path = source.map_or("", |source| source.path());
                File {
                    text: source.map_or("", |source| source.all()),
                    is_test: is_test(path, module),
                    model: model::model(module, self.product.as_str()),
                    author,
                    module,
                }
            })
            .collect()
    }

    /// Returns the constant rules: those with a single definition and no body.
    fn constants(&self) -> Constants<'a> {
        let mut all: HashMap<Vec<&'a str>, Option<&'a Term>> = HashMap::new();
        for module in self.modules {
            for rule in &module.rules {
                let Some(path) = names::rule_path(module, rule) else { continue };
                let constant = rule.generated_body && rule.else_rule.is_none() && !rule.default;
                let value =
                    rule.head.value.as_ref().filter(|_| constant && !rule.head.is_function());
                all.entry(path).and_modify(|known| *known = None).or_insert(value);
            }
        }
        Constants(all.into_iter().filter_map(|(path, term)| Some((path, term?))).collect())
    }
}

/// Rules whose only value is written in their head, by path below `data`.
struct Constants<'a>(HashMap<Vec<&'a str>, &'a Term>);

impl<'a> Constants<'a> {
    /// Returns the constant that a reference leads to or through, and the number of operands up to
    /// it.
    fn find(&self, term: &Term) -> Option<(&'a Term, usize)> {
        let path = model::data_path(term)?;
        let keys: Vec<&str> = path.iter().map(|(key, _)| *key).collect();
        (1..=keys.len()).find_map(|length| Some((*self.0.get(keys.get(..length)?)?, length)))
    }
}

/// A file as the checks see it.
struct File<'a> {
    text: &'a str,
    /// `true` for a test file: the name of the file or of its package ends in `_test`.
    is_test: bool,
    author: &'a Module,
    module: &'a Module,
    model: model::Model<'a>,
}

impl File<'_> {
    fn id(&self) -> FileId {
        self.author.span.file
    }
}

fn is_test(path: &str, module: &Module) -> bool {
    let package = names::package_path(module);
    load::is_test_file(path) || load::is_test_package(package.last())
}

/// Returns the names that begin references in rules, except those that the rule itself declares.
fn used_names(module: &Module) -> HashSet<Name> {
    let mut all = HashSet::new();
    for rule in &module.rules {
        let mut names = HashSet::new();
        visit::walk_terms(rule, &mut |term| {
            if let TermKind::Var(name) = &term.kind {
                names.insert(Name::clone(name));
            }
            true
        });
        let mut declared = HashSet::new();
        for argument in &rule.head.args {
            variables(argument, &mut declared);
        }
        visit::walk_exprs(rule, &mut |expr| {
            match &expr.kind {
                ExprKind::Call(terms) => {
                    if let [operator, left, _] = terms.as_slice()
                        && model::function_name(operator).as_deref() == Some("assign")
                    {
                        variables(left, &mut declared);
                    }
                }
                ExprKind::Some(some) => {
                    for symbol in &some.symbols {
                        match &symbol.kind {
                            // The last operand is the collection after `in`.
                            TermKind::Call(terms) => {
                                let symbols = terms.get(1..terms.len().saturating_sub(1));
                                for term in symbols.unwrap_or_default() {
                                    variables(term, &mut declared);
                                }
                            }
                            _ => variables(symbol, &mut declared),
                        }
                    }
                }
                ExprKind::Every(every) => {
                    for term in every.key.iter().chain([&every.value]) {
                        variables(term, &mut declared);
                    }
                }
                _ => {}
            }
            true
        });
        all.extend(names.difference(&declared).cloned());
    }
    all
}

/// Collects the variables of a pattern.
fn variables(term: &Term, out: &mut HashSet<Name>) {
    visit::walk_terms(term, &mut |term| {
        if let TermKind::Var(name) = &term.kind {
            out.insert(Name::clone(name));
        }
        !matches!(term.kind, TermKind::Ref(_) | TermKind::Call(_))
    });
}

/// Runs the checks whose findings are errors, which every load runs in addition to the language's own.
pub(crate) fn errors(all: &Inspected<'_>) -> Findings {
    let mut found = Findings::default();
    let mentioning = names::check(all, &mut found.all);
    if mentioning.is_empty() {
        return found;
    }
    let constants = all.constants();
    // A module that doesn't mention the prefix has no calls to check.
    for file in all.files_of(|at| mentioning.contains(&at)) {
        arguments::check(all, &file, &constants, &mut found);
    }
    found
}

/// Finds errors, and mocks that aren't of the type of an answer, which are errors of tests.
pub(crate) fn errors_and_mocks(all: &Inspected<'_>) -> Findings {
    let mut found = errors(all);
    let (constants, files) = (all.constants(), all.files());
    let mut wrong = Vec::new();
    mocks::check(all, &files, &constants, &mut wrong);
    if wrong.is_empty() {
        return found;
    }
    let allowed: Vec<_> = files.iter().flat_map(|file| ignore::comments(all, file)).collect();
    for (at, mut finding) in wrong {
        if allowed.iter().any(|ignore| ignore.silences(&finding)) {
            found.silenced_mocks.insert(at);
        } else {
            finding.level = Level::Error;
            found.all.push(finding);
        }
    }
    found
}

/// A call of a function that isn't the product's.
#[cfg(feature = "regorus-core")]
pub(crate) struct OtherCall {
    pub name: String,
    pub arity: usize,
    pub position: Position,
}

/// Returns the calls of functions that aren't the product's.
#[cfg(feature = "regorus-core")]
pub(crate) fn other_calls(all: &Inspected<'_>) -> Vec<OtherCall> {
    let files = all.files();
    let calls = files.iter().flat_map(|file| &file.model.others);
    calls
        .map(|(name, arguments, span)| OtherCall {
            name: name.clone(),
            arity: arguments.len(),
            position: all.position(*span),
        })
        .collect()
}

/// The warnings that a gate notes, or refuses policies for: about what can't exist, or can't be part of
/// a verdict.
pub(crate) const GATE_WARNINGS: &[&str] = &[
    "dead-rule",
    unknown::MISSING_DATA,
    "no-verdict",
    "unknown-field",
    "unknown-rule",
    "unknown-value",
    "unused-rule",
    "verdict-shape",
];

/// Finds everything but built-ins that contact hosts.
pub(crate) fn everything_but_network(all: &Inspected<'_>) -> Findings {
    let mut found = everything(all);
    found.all.retain(|finding| finding.code != "unsupported-builtin");
    found
}

/// Finds wrong literal arguments of the product's functions in a query.
pub(crate) fn query_arguments(query: &str, options: &LoadOptions) -> Vec<Diagnostic> {
    let text = format!("{QUERY_HEAD}{query}\n}}\n");
    let module = ModuleSource { path: load::path_of("").to_owned(), text };
    let sources = Sources { modules: vec![module], ..Sources::default() };
    let mut found = load::compile(&sources, options, &errors, None).findings;
    found.retain(|finding| matches!(finding.code, "invalid-argument" | "arity"));
    let before = QUERY_HEAD.lines().count();
    for position in found.iter_mut().filter_map(|finding| finding.position.as_mut()) {
        position.line = position.line.saturating_sub(u32::try_from(before).unwrap_or(0));
    }
    found
}

/// The lines that make a module of a query.
const QUERY_HEAD: &str = "package query\n\nanswer if {\n";

/// Finds everything that there is to say about policies.
pub(crate) fn everything(all: &Inspected<'_>) -> Findings {
    let Findings { all: mut found, wrong_calls, .. } = errors(all);
    let constants = all.constants();
    let files = all.files();
    let known = unknown::Known::new(all, &files);
    let mut ignores = Vec::new();
    let types = infer::Types::new(all, &files);
    for (at, file) in files.iter().enumerate() {
        fields::check(all, (at, file), &types, &mut found);
        network::check(all, file, &mut found);
        vendor::check(all, (at, file), &types, &mut found);
        unknown::check(all, file, (&known, &constants), &mut found);
        unused::imports(all, file, &mut found);
        unused::variables(all, file, &mut found);
        if !file.is_test {
            shapes::check(all, (at, file), &types, &mut found);
            values::check(all, (at, file), &types, &constants, &mut found);
        }
        // Those about regorus are for its own check.
        let comments = ignore::comments(all, file).into_iter();
        ignores.extend(comments.filter(|ignore| !ignore.code().starts_with(regorus::PREFIX)));
    }
    // What the function itself says of a literal is enough.
    let wrong: HashSet<_> = found
        .iter()
        .filter(|finding| finding.code == "invalid-argument")
        .map(|finding| finding.position.clone())
        .collect();
    found.retain(|finding| finding.code != "unknown-value" || !wrong.contains(&finding.position));
    always::check(all, &files, &constants, &mut found);
    undecided::check(all, &files, &mut found);
    let mut wrong_mocks = Vec::new();
    mocks::check(all, &files, &constants, &mut wrong_mocks);
    for (_, finding) in wrong_mocks {
        if !found.contains(&finding) {
            found.push(finding);
        }
    }
    dead::check(all, &files, &mut found);
    packages::check(all, &mut found);
    ignore::apply(ignores, &mut found);
    Findings { all: found, wrong_calls, ..Findings::default() }
}
