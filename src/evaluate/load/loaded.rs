//! A loaded set of modules.
//!
//! Owns what the rest of the crate asks of it: a fresh engine, the packages and rules there are,
//! and the way from the interpreter's positions back to the author's text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regorus::unstable as ast;
use regorus::{Engine, Value};

use super::ahead;
use super::builtins::Functions;
use super::heads;
use super::helpers;
use super::membership;
use super::modifiers;
use super::negation;
use super::parse::{self, MAX_COLUMN, MAX_MODULE_BYTES, Module};
use super::report;
use super::rewrite::{self, Shim};
use super::says::{self, RuleDefinition};
use super::scope::{Globals, Head, Role};
use super::text::{Edit, FileText, Rewritten};
use super::tree::{self, RuleKind, Tree};
use super::views::{Hidden, Views};
use super::{LoadOptions, hidden_name};
use crate::{Diagnostic, Error, ErrorKind, Position};

/// One rule: all definitions under one path.
#[derive(Debug, Clone)]
pub struct RuleInfo {
    /// The path below `data`.
    pub path: Vec<String>,
    /// The last part of the path.
    pub name: String,
    /// What the definitions make together.
    pub kind: RuleKind,
    /// Whether one of the definitions is a default.
    pub has_default: bool,
    /// Where it is first defined.
    pub position: Position,
    /// Its definitions, in the order of the files.
    pub definitions: Vec<RuleDefinition>,
}

/// One package, over all its files.
#[derive(Debug, Clone)]
pub struct Package {
    /// The path below `data`.
    pub path: Vec<String>,
    /// Its rules, by path.
    pub rules: Vec<RuleInfo>,
    /// The files that it is in.
    pub files: Vec<String>,
    /// Whether its name ends in `_test`, or each of its files' names in `_test.rego`.
    pub is_test: bool,
    /// Whether its name ends in `_test`, and it has a test: what it denies, it denies of mocks.
    pub is_suite: bool,
    /// Packages that its modules import or refer to, by path; what only tests refer to isn't here.
    pub refers_to: Vec<Vec<String>>,
}

/// What of the functions a set of modules uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Full names of the product's functions that are called, each once.
    pub functions: Vec<String>,
    /// Names that are neither rules nor the product's functions, each once: built-ins.
    pub builtins: Vec<String>,
    /// Whether calls go through rules, since some `with` replaces a function.
    pub shim: bool,
}

/// A line that `print` wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintLine {
    /// The file of the statement.
    pub file: String,
    /// The line of the statement.
    pub line: u32,
    /// What was printed.
    pub message: String,
}

/// A sound, rewritten set of modules with its data.
pub struct Loaded {
    engine: Engine,
    data: Value,
    files: HashMap<String, (Arc<FileText>, Rewritten)>,
    packages: Vec<Package>,
    uses: Uses,
    /// The functions that the modules call besides the author's.
    pub(super) helpers: Vec<&'static str>,
    pub(super) tree: Tree,
    pub(super) options: LoadOptions,
    /// Paths that are taken as a whole somewhere.
    pub(super) viewed: Vec<Vec<Arc<str>>>,
    pub(super) shim: Shim,
    /// The module that is made for the others.
    pub(super) hidden: Hidden,
    /// Groups that are functions which some `with` of a module replaces.
    pub(super) mocked: HashSet<usize>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("packages", &self.packages).finish_non_exhaustive()
    }
}

impl Loaded {
    pub(super) fn new(
        modules: Vec<Module>,
        tree: Tree,
        data: Value,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        let functions = Functions::new(options);
        let mut hidden = Hidden::new(hidden_name(&tree));
        let all = || modules.iter().flat_map(|m| &m.uses);
        let shim = Shim::new(all(), &functions, &mut hidden);
        let replaced: Vec<_> = all()
            .filter(|u| u.head == Head::Data && u.role == Role::Target)
            .map(|u| u.steps.clone())
            .collect();
        let mocked = rewrite::mocked(all(), &tree);
        let views = Views { tree: &tree, data: &data, replaced, mocked: &mocked };
        let mut found = Vec::new();
        let mut files = HashMap::with_capacity(modules.len());
        let mut engine = new_engine();
        let mut first = Vec::with_capacity(modules.len());
        for module in &modules {
            match rewrite::module(module, &shim, &views, &mut hidden) {
                Ok(edits) => first.push((module, module.file.rewrite(edits))),
                Err(diagnostic) => found.push(diagnostic),
            }
        }
        if !found.is_empty() {
            return Err(Error::policy(found));
        }
        for result in parse::for_each(first, |(module, rewritten)| {
            layered(module, rewritten, &tree, &hidden).map(|rewritten| (module, rewritten))
        })? {
            let (module, rewritten) = result?;
            add(&mut engine, module.file.path(), &rewritten.text, !module.ast.rego_v1)?;
            files.insert(module.file.path().to_owned(), (module.file.clone(), rewritten));
        }
        if let Some(text) = hidden.text() {
            add(&mut engine, &hidden.package, &text, false)?;
        }
        let mut helpers: Vec<_> =
            files.values().flat_map(|(_, rewritten)| helpers::called(&rewritten.text)).collect();
        helpers.extend(hidden.text().iter().flat_map(|text| helpers::called(text)));
        helpers.sort_unstable();
        helpers.dedup();
        helpers::install(&mut engine, &helpers)?;
        engine.add_data(data.clone()).map_err(|e| internal(&e.to_string()))?;
        let viewed = all()
            .filter_map(|u| Some(u.keys().take(views.needed(u)?).cloned().collect()))
            .collect();
        let packages = packages(&modules, &tree);
        let uses = used(&modules, &functions, &shim);
        Ok(Self {
            engine,
            data,
            files,
            packages,
            uses,
            tree,
            helpers,
            options: options.clone(),
            viewed,
            shim,
            hidden,
            mocked,
        })
    }

    /// A fresh engine with all modules and data: errors of built-ins are strict,
    /// nothing is prepared, and no function registered but those that rewritten modules call.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// All packages, by path.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter()
    }

    /// The data documents, merged.
    pub fn data(&self) -> &Value {
        &self.data
    }

    /// Whether a module of the author's has this name.
    pub(crate) fn has_file(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// What of the functions the modules use.
    pub fn uses(&self) -> &Uses {
        &self.uses
    }

    /// The author's position of a position that the interpreter reports.
    pub fn position(&self, file: &str, line: u32, column: u32) -> Option<Position> {
        let (author, rewritten) = self.files.get(file)?;
        let start = rewritten.author_offset_at(line, column);
        let end = start + super::text::token_length(author.author(), start);
        Some(author.position(start, end))
    }

    /// An error of the interpreter's as a diagnostic in the author's text.
    pub fn diagnose(&self, error: &str) -> Diagnostic {
        let place = report::locate(error).into_iter().rfind(|p| self.files.contains_key(&p.file));
        let message = report::message(error, place.as_ref());
        let diagnostic = Diagnostic::error("evaluation-error", message);
        match place.and_then(|p| self.position(&p.file, p.line, p.column)) {
            Some(position) => diagnostic.at(position),
            None => diagnostic,
        }
    }

    /// The position of a call that was noted as it was made.
    pub(crate) fn site(&self, site: u64) -> Option<Position> {
        let (file, start, end) = self.hidden.sites.get(usize::try_from(site).ok()?)?;
        Some(self.files.get(file)?.0.position(*start, *end))
    }

    /// A line that the interpreter gathered from `print`, with the file and line of the statement.
    pub fn print_line(&self, line: &str) -> PrintLine {
        // A path may hold `:` and digits, so only a known one is taken for a file.
        let known = line.match_indices(':').find_map(|(at, _)| {
            let file = line.get(..at)?;
            self.files.get(file)?;
            let (number, message) = line.get(at + 1..)?.split_once(": ")?;
            Some((file, number.parse().ok()?, message))
        });
        match known {
            Some((file, line, message)) => {
                PrintLine { file: file.to_owned(), line, message: message.to_owned() }
            }
            None => PrintLine { file: String::new(), line: 0, message: line.to_owned() },
        }
    }

    /// A file's text as the interpreter sees it.
    #[cfg(test)]
    pub(super) fn rewritten(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(|(_, rewritten)| rewritten.text.as_str())
    }
}

/// The layers over text in which names are resolved already: each needs the one before it.
fn layered(
    module: &Module,
    mut rewritten: Rewritten,
    tree: &Tree,
    hidden: &Hidden,
) -> Result<Rewritten, Error> {
    let v0 = !module.ast.rego_v1;
    let package = tree::package_path(&module.ast);
    let roots = tree.package_at(&package).map(|p| &p.roots);
    let globals = Globals::new(&module.imports, &package, roots);
    let layer = |rewritten: &mut Rewritten, find: &dyn Fn(&ast::Module) -> Vec<Edit>| {
        if !find(&module.ast).is_empty() {
            rewritten.again(parse::again(&rewritten.text, v0, find)?);
        }
        Ok::<(), Error>(())
    };
    layer(&mut rewritten, &heads::bodies)?;
    layer(&mut rewritten, &|ast| heads::values(ast, &globals))?;
    layer(&mut rewritten, &|ast| membership::edits(ast, &globals))?;
    let is_function = |path: &[Arc<str>]| tree.is_function(path) || hidden.is_function(path);
    let prefix = modifiers::prefix(&rewritten.text);
    let binding = |step| modifiers::Binding { prefix: &prefix, step, is_function: &is_function };
    if !modifiers::module(&module.ast, binding(0)).is_empty() {
        bind(&mut rewritten, |text, step| {
            parse::again(text, v0, |ast| modifiers::module(ast, binding(step)))
        })?;
    }
    layer(&mut rewritten, &|ast| ahead::edits(ast, tree))?;
    if !negation::edits(&module.ast, tree).edits.is_empty() {
        negation::rounds(&mut rewritten, |text| {
            parse::again(text, v0, |ast| negation::edits(ast, tree))
        })?;
    }
    Ok(rewritten)
}

/// Binds replacements of `with`, those inside replacements first.
pub(super) fn bind(
    rewritten: &mut Rewritten,
    edits: impl Fn(&str, usize) -> Result<Vec<Edit>, Error>,
) -> Result<(), Error> {
    for step in 0..MAX_NESTED_WITH {
        let edits = edits(&rewritten.text, step)?;
        if edits.is_empty() {
            return Ok(());
        }
        rewritten.again(edits);
    }
    let message = format!("`with` stands in a `with` more than {MAX_NESTED_WITH} levels deep");
    Err(Error::new(ErrorKind::Policy, message))
}

/// Levels of `with` inside replacements of `with`.
const MAX_NESTED_WITH: usize = 8;

fn new_engine() -> Engine {
    use std::num::{NonZeroU32, NonZeroUsize};
    let mut engine = Engine::new();
    engine.set_strict_builtin_errors(true);
    // Rewriting makes a module longer by full paths; the author's text is bounded by itself.
    let bytes = NonZeroUsize::new(MAX_MODULE_BYTES * 64).unwrap_or(NonZeroUsize::MAX);
    engine.set_policy_length_config(regorus::PolicyLengthConfig {
        max_col: NonZeroU32::new(MAX_COLUMN).unwrap_or(NonZeroU32::MAX),
        max_file_bytes: bytes,
        max_lines: NonZeroUsize::new(1_000_000).unwrap_or(NonZeroUsize::MAX),
    });
    engine
}

fn add(engine: &mut Engine, path: &str, text: &str, v0: bool) -> Result<(), Error> {
    engine.set_rego_v0(v0);
    engine
        .add_policy(path.to_owned(), text.to_owned())
        .map(drop)
        .map_err(|error| internal(&error.to_string()))
}

fn internal(error: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("the interpreter refused a rewritten policy: {error}"))
}

fn strings(path: &[Arc<str>]) -> Vec<String> {
    path.iter().map(ToString::to_string).collect()
}

pub(super) fn packages(modules: &[Module], tree: &Tree) -> Vec<Package> {
    let mut rules: HashMap<&[Arc<str>], Vec<RuleInfo>> = HashMap::new();
    for group in &tree.groups {
        // A rule for one key of an object is part of the object.
        let parents = group.path.len().saturating_sub(1);
        if (group.package + 1..=parents)
            .any(|length| tree.group_at(group.path.iter().take(length)).is_some())
        {
            continue;
        }
        let Some((first, module)) =
            group.definitions.first().and_then(|d| Some((d, modules.get(d.module)?)))
        else {
            continue;
        };
        rules.entry(group.path.get(..group.package).unwrap_or(&[])).or_default().push(RuleInfo {
            path: strings(&group.path),
            name: group.path.last().map(ToString::to_string).unwrap_or_default(),
            kind: group.kind(),
            has_default: group.definitions.iter().any(|d| d.is_default),
            position: module.file.position(first.start, first.end),
            definitions: group.definitions.iter().filter_map(|d| definition(modules, d)).collect(),
        });
    }
    let mut packages: Vec<Package> = tree
        .packages
        .iter()
        .map(|package| {
            let mut rules = rules.remove(package.path.as_slice()).unwrap_or_default();
            rules.sort_by(|a, b| a.path.cmp(&b.path));
            let own = || package.modules.iter().filter_map(|index| modules.get(*index));
            let named = package.path.last().is_some_and(|name| name.ends_with("_test"));
            let is_test = |module: &&Module| named || module.file.path().ends_with("_test.rego");
            Package {
                path: strings(&package.path),
                files: own().map(|m| m.file.path().to_owned()).collect(),
                is_test: own().all(|m| is_test(&m)),
                is_suite: named && has_test(&rules),
                refers_to: refers_to(own().filter(|m| !is_test(m)), &package.path, tree),
                rules,
            }
        })
        .collect();
    packages.sort_by(|a, b| a.path.cmp(&b.path));
    packages
}

fn definition(modules: &[Module], at: &tree::Definition) -> Option<RuleDefinition> {
    let module = modules.get(at.module)?;
    Some(RuleDefinition {
        position: module.file.position(at.start, at.end),
        patterns: says::patterns(module.ast.policy.get(at.rule)?),
    })
}

fn has_test(rules: &[RuleInfo]) -> bool {
    rules.iter().any(|rule| rule.name.starts_with("test_") || rule.name.starts_with("todo_test_"))
}

/// The other packages that modules import or refer to.
fn refers_to<'a>(
    modules: impl Iterator<Item = &'a Module>,
    own: &[Arc<str>],
    tree: &Tree,
) -> Vec<Vec<String>> {
    let mut found = std::collections::BTreeSet::new();
    let mut visit = |path: &mut dyn Iterator<Item = &Arc<str>>| {
        let mut node = &tree.root;
        for key in path {
            match node.children.get(key) {
                Some(child) => node = child,
                None => break,
            }
            if let Some(package) = node.package.and_then(|p| tree.packages.get(p))
                && package.path != own
            {
                found.insert(strings(&package.path));
            }
        }
    };
    for module in modules {
        for import in module.imports.iter().filter(|i| i.head == Head::Data) {
            visit(&mut import.path.iter());
        }
        for used in module.uses.iter().filter(|u| u.head == Head::Data) {
            visit(&mut used.keys());
        }
    }
    found.into_iter().collect()
}

fn used(modules: &[Module], functions: &Functions<'_>, shim: &Shim) -> Uses {
    let mut names = std::collections::BTreeSet::new();
    let mut builtins = std::collections::BTreeSet::new();
    for found in modules.iter().flat_map(|m| &m.uses) {
        let Head::Name(name) = &found.head else { continue };
        if name.as_ref() != functions.options().product.as_str() {
            builtins.insert(super::names::full_name(found));
        } else if matches!(found.role, Role::Call { .. } | Role::Replacement) {
            names.insert(super::names::full_name(found));
        }
    }
    Uses {
        functions: names.into_iter().collect(),
        builtins: builtins.into_iter().collect(),
        shim: shim.is_on(),
    }
}

/// Runs on a large stack, as [`super::load`] does.
pub(super) fn contained<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    parse::on_large_stack(work)
}
