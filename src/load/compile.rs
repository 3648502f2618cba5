//! Compiling sources to a program, with all findings about them.
//!
//! Owns the order in which findings are collected, and the choice among several about the same
//! line. The checks themselves are supplied by the caller ([`Inspection`]).

use std::collections::{BTreeMap, HashSet};

use super::findings::{diagnostic, hint_for_product};
use super::functions::HostFunction;
use super::roles::{self, PackageOrigin, Role};
use super::{LoadOptions, Package, TEST_CASE, packages};
use crate::functions::{Function, FunctionSet};
use crate::rego::Value;
use crate::rego::internal::compile::NameMap;
use crate::rego::internal::program::{self, Hooks, Program, Resolved, SourceText};
use crate::rego::syntax::BaseVersion;
use crate::rego::syntax::tree::{FileId, Module, Name, Span};
use crate::rego::{Problem, Sources as Texts};
use crate::sources::{DataSource, Sources};
use crate::{Diagnostic, Level, Product};

/// Policies as the checks see them.
pub(crate) struct Inspected<'a> {
    /// The prefix of the functions.
    pub product: &'a Product,
    /// The functions that policies can call.
    pub enabled: FunctionSet,
    /// The host's own functions.
    pub host_functions: &'a [HostFunction],
    /// The texts, for positions.
    pub sources: &'a Texts,
    /// The modules as their authors wrote them.
    pub authors: &'a [&'a Module],
    /// The same modules, in the same order, after OPA's stage `RewriteLocalVars`.
    pub modules: &'a [Module],
    /// The authors' names of the local variables that were declared.
    pub locals: &'a NameMap<Name>,
    /// The packages that the modules make up.
    pub packages: &'a [Package],
    /// The base documents.
    pub data: &'a [DataSource],
    pub origin: PackageOrigin,
}

/// A check of parsed modules that returns findings beyond the language's own errors.
pub(crate) type Inspection<'i> = &'i dyn Fn(&Inspected<'_>) -> Findings;

/// The result of an inspection.
#[derive(Default)]
pub(crate) struct Findings {
    /// The errors and warnings.
    pub all: Vec<Diagnostic>,
    /// The positions of calls of the product's functions with an error for an argument, which is more
    /// precise than the type checker's.
    pub wrong_calls: HashSet<(FileId, u32)>,
    /// The modifiers of wrong mocks that a comment allows.
    pub silenced_mocks: HashSet<Span>,
}

/// A program that compiled without errors, with its packages and data.
pub(crate) struct Loaded {
    pub program: Program,
    pub packages: Vec<Package>,
    /// The merged base documents.
    pub data: Value,
    /// The modifiers of wrong mocks that a comment allows.
    pub silenced_mocks: HashSet<Span>,
}

/// The result of compiling sources.
pub(crate) struct Compilation {
    /// Errors and warnings, by file and line.
    pub findings: Vec<Diagnostic>,
    /// `None` if one of the findings is an error.
    pub loaded: Option<Loaded>,
}

/// Compiles sources. `tests`, if given, collects the tests among them.
pub(crate) fn compile(
    sources: &Sources,
    options: &LoadOptions,
    more: Inspection<'_>,
    tests: Option<&mut dyn Hooks>,
) -> Compilation {
    let mut found = HostFunction::invalid(&options.host_functions, &options.product);
    let texts = texts(sources, options.version(), &mut found);
    let data = crate::sources::merged(&sources.data, &mut found);
    let functions = program_options(options, &data, tests.is_some());
    let mut inspector = Inspector {
        options,
        sources,
        more,
        tests,
        found: Findings::default(),
        packages: Vec::new(),
    };
    let compiled = Program::compile_with(texts, &functions, &mut inspector);
    let Inspector { found: inspected, packages, .. } = inspector;
    found.extend(inspected.all);
    let mut refused = Vec::new();
    let program = match compiled {
        Ok(program) => Some(program),
        Err(error) => {
            for problem in &error.problems {
                let mut finding = diagnostic(problem, &error.sources);
                if let Some(function) = wrong_arguments(problem, &options.product, options.enabled)
                {
                    let call = call_start(problem.span, error.sources.text(problem.span));
                    if inspected.wrong_calls.contains(&call) {
                        continue;
                    }
                    finding.hint.get_or_insert_with(|| function.called_as(&options.product));
                }
                if problem.message.starts_with("with keyword target")
                    && let target = error.sources.text(problem.span)
                    && let Some((product, name)) = target.split_once('.')
                    && product != options.product.as_str()
                    && options.enabled.iter().any(|function| function.name == name)
                {
                    let right = options.product.function(name);
                    finding.hint.get_or_insert_with(|| hint_for_product(product, &right));
                }
                refused.push(finding);
            }
            None
        }
    };
    // An unknown name is reported once, by the check that gives the most detail.
    let line = |finding: &Diagnostic| {
        finding.position.as_ref().map(|place| (place.file.clone(), place.line))
    };
    let named: HashSet<_> = found
        .iter()
        .filter(|f| matches!(f.code, "unknown-function" | "arity"))
        .filter_map(line)
        .collect();
    let own = found.len();
    found.extend(refused);
    let mut index = 0;
    found.retain(|finding| {
        index += 1;
        let again =
            matches!(finding.code, "unknown-function" | "arity" | "type-error" | "compile-error");
        index <= own || !again || line(finding).is_none_or(|line| !named.contains(&line))
    });
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    found.dedup();
    let is_refused = found.iter().any(|finding| finding.level == Level::Error);
    let silenced_mocks = inspected.silenced_mocks;
    let loaded = program.filter(|_| !is_refused).map(|program| Loaded {
        program,
        packages,
        data,
        silenced_mocks,
    });
    Compilation { findings: found, loaded }
}

/// Returns the function of the product whose arguments a problem is about.
pub(crate) fn wrong_arguments(
    problem: &Problem,
    product: &Product,
    enabled: FunctionSet,
) -> Option<&'static Function> {
    let wrong = [": invalid argument(s)", ": arity mismatch"];
    let name = wrong.iter().find_map(|wrong| problem.message.strip_suffix(wrong))?;
    enabled.iter().find(|function| product.function(function.name) == name)
}

/// Returns the position of the call in a statement that consists of a call.
fn call_start(statement: Span, text: &str) -> (FileId, u32) {
    let call = text.strip_prefix("not").unwrap_or(text);
    let call = call.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let before = u32::try_from(text.len() - call.len()).unwrap_or_default();
    (statement.file, statement.start.saturating_add(before))
}

/// Returns the texts to compile, each file once.
fn texts(sources: &Sources, version: BaseVersion, found: &mut Vec<Diagnostic>) -> Vec<SourceText> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut texts = Vec::new();
    for module in &sources.modules {
        match seen.insert(&module.path, &module.text) {
            Some(same) if same == module.text => {}
            Some(_) => {
                let message = format!("two modules are called `{}`", module.path);
                found.push(Diagnostic::error("module-conflict", message));
            }
            None => {
                let named = sources.versions.get(&module.path).map(|version| (*version).into());
                let text = SourceText::new(&module.path, &module.text);
                texts.push(text.version(named.unwrap_or(version)));
            }
        }
    }
    texts
}

/// Inspects modules between the stages of the compiler.
struct Inspector<'l, 't> {
    options: &'l LoadOptions,
    sources: &'l Sources,
    more: Inspection<'l>,
    tests: Option<&'t mut dyn Hooks>,
    found: Findings,
    packages: Vec<Package>,
}

impl Hooks for Inspector<'_, '_> {
    fn parsed(&mut self, texts: &Texts, modules: &mut Vec<Module>) {
        if let Some(tests) = &mut self.tests {
            tests.parsed(texts, modules);
        }
    }

    fn resolved(&mut self, resolved: Resolved<'_>) {
        let packages = packages(resolved.sources, resolved.authors, resolved.modules);
        self.found = (self.more)(&Inspected {
            product: &self.options.product,
            enabled: self.options.enabled,
            host_functions: &self.options.host_functions,
            sources: resolved.sources,
            authors: resolved.authors,
            modules: resolved.modules,
            locals: resolved.locals,
            packages: &packages,
            data: &self.sources.data,
            origin: self.options.origin,
        });
        self.packages = packages;
        if let Some(tests) = &mut self.tests {
            tests.resolved(resolved);
        }
    }
}

fn program_options(options: &LoadOptions, data: &Value, tests: bool) -> program::Options {
    let ours = options.enabled.iter().map(|function| {
        let name = options.product.function(function.name);
        program::HostFunction::new(name, function.rego_signature())
    });
    let hosts = options.host_functions.iter();
    let hosts =
        hosts.map(|function| program::HostFunction::new(function.name(), function.signature()));
    let case = || program::HostFunction::new(TEST_CASE, "array[any] -> boolean");
    let all = ours.chain(hosts).chain(tests.then(case));
    let mut compiling = program::Options::default();
    compiling.data = data.clone();
    compiling.schemas = options.schemas.schemas();
    compiling.reports =
        |name| roles::role(name, PackageOrigin::Plain).is_some_and(Role::gives_verdict);
    compiling.host_functions = all.map(program::HostFunction::nondeterministic).collect();
    compiling
}

fn order(diagnostic: &Diagnostic) -> Option<(&str, u32, u32)> {
    diagnostic.position.as_ref().map(|p| (p.file.as_str(), p.line, p.column))
}
