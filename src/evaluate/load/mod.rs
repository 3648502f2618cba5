//! From sources to a sound set of modules.
//!
//! The interpreter disagrees with Rego in ways that let gates pass, and some policies make it die
//! or hang. The rule here: what is loaded is evaluated as Rego means it, or refused with a reason
//! and a position. Owns every check that needs no evaluation, the rewriting of modules, and the
//! way back from positions in rewritten text. It evaluates nothing, and reads no files:
//! [`super::sources`] does.

#![allow(clippy::result_large_err, reason = "an error ends the load: its size costs nothing")]

mod ahead;
mod builtins;
mod chain;
mod conflicts;
mod cycles;
mod data;
mod declare;
mod heads;
pub(crate) mod helpers;
mod imports;
mod lex;
mod loaded;
mod membership;
mod modifiers;
mod names;
mod negation;
mod parse;
mod parts;
mod pieces;
mod prints;
mod query;
mod report;
mod rewrite;
mod says;
mod scope;
mod shape;
mod sites;
mod syntax;
mod terms;
mod text;
mod tree;
mod vars;
mod views;

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

pub use loaded::{Loaded, Package, PrintLine, RuleInfo, Uses};
pub use query::{QueryForm, QueryTarget, RewrittenQuery};
pub use says::RuleDefinition;
pub(crate) use syntax::{Meaning, ModuleSyntax, Reference, Step, Syntax, bytes, chain};
pub use tree::RuleKind;

/// Runs what walks over syntax on a stack that is large enough for what the loader lets through.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    parse::on_large_stack(work)
}

use self::builtins::Functions;
use self::parse::Module;
use self::tree::Tree;
use super::sources::Sources;
use crate::{Diagnostic, Error, Level, Product};

#[cfg(test)]
mod tests;

/// One of the product's functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionName {
    /// The name after the product's: `discover`.
    pub short: String,
    /// How many arguments it takes.
    pub arity: u8,
}

/// How modules are loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The name that the functions start with.
    pub product: Product,
    /// The functions that policies can call; any other name is refused.
    pub enabled: crate::builtins::FunctionSet,
    /// The product's functions.
    pub functions: Vec<FunctionName>,
    /// The host's own extensions: full name and number of arguments.
    pub host_functions: Vec<(String, u8)>,
    /// Built-ins that the evaluation provides in place of the interpreter's.
    pub provided_builtins: Vec<(String, u8)>,
    /// Modules are Rego v0 unless they import `rego.v1`.
    pub rego_v0: bool,
}

/// Loads sources.
///
/// # Errors
/// [`Error::Policy`] with everything that was found: the first error of each file that doesn't
/// parse, or else all that is wrong among the modules.
pub fn load(sources: &Sources, options: &LoadOptions) -> Result<Loaded, Error> {
    let (found, loaded) = inspect(sources, options, &|_| Vec::new())?;
    loaded.ok_or_else(|| Error::policy(found))
}

/// What else is to be found in modules that parse.
pub(crate) type Inspection<'i> = &'i (dyn Fn(&Syntax<'_>) -> Vec<Diagnostic> + Sync);

/// Loads sources; everything that is wrong, with what `more` finds, and the modules unless one of
/// the findings is an error.
///
/// # Errors
/// Nothing about the policies: only what keeps them from being looked at.
pub(crate) fn inspect(
    sources: &Sources,
    options: &LoadOptions,
    more: Inspection<'_>,
) -> Result<(Vec<Diagnostic>, Option<Loaded>), Error> {
    let mut found = Vec::new();
    let done = parse::on_large_stack(|| run(sources, options, more, &mut found))?;
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    match done {
        Ok(loaded) => Ok((found, loaded)),
        Err(error) if error.diagnostics().is_empty() => Err(error),
        Err(error) => {
            found.extend_from_slice(error.diagnostics());
            Ok((found, None))
        }
    }
}

fn run(
    sources: &Sources,
    options: &LoadOptions,
    more: Inspection<'_>,
    found: &mut Vec<Diagnostic>,
) -> Result<Option<Loaded>, Error> {
    let mut modules = parsed(sources, options, found)?;
    if !found.is_empty() {
        return Ok(None);
    }
    let data = data::merge(&sources.data, found);
    let mut tree = Tree::default();
    for (index, module) in modules.iter_mut().enumerate() {
        imports::read(module, &options.product, found);
        tree.add(index, &module.ast);
    }
    for module in &mut modules {
        let package = tree::package_path(&module.ast);
        let roots = tree.package_at(&package).map(|p| &p.roots);
        let globals = scope::Globals::new(&module.imports, &package, roots);
        let names = scope::names(&module.ast, &globals);
        names::misread(&module.file, &names, found);
        (module.uses, module.hiding) = (names.uses, names.hiding);
    }
    let functions = Functions::new(options);
    check(&modules, &tree, &data, &functions, found)?;
    found.extend(more(&Syntax::new(&modules, &tree, options)));
    if found.iter().any(|d| d.level == Level::Error) {
        return Ok(None);
    }
    Loaded::new(modules, tree, data, options).map(Some)
}

fn order(diagnostic: &Diagnostic) -> Option<(&str, u32, u32)> {
    diagnostic.position.as_ref().map(|p| (p.file.as_str(), p.line, p.column))
}

fn check(
    modules: &[Module],
    tree: &Tree,
    data: &regorus::Value,
    functions: &Functions<'_>,
    found: &mut Vec<Diagnostic>,
) -> Result<(), Error> {
    conflicts::check(modules, tree, data, found);
    let names = names::Names { functions, tree };
    let one = |module: &Module| {
        let mut found = Vec::new();
        names.module(module, &mut found);
        let package = tree::package_path(&module.ast);
        let roots = tree.package_at(&package).map(|p| &p.roots);
        let globals = scope::Globals::new(&module.imports, &package, roots);
        let arity = |fcn: &regorus::unstable::ExprRef| names.arity_of(fcn, &globals);
        let context = vars::Context { globals: &globals, arity: &arity };
        shape::module(&module.ast, &module.file, &mut found);
        vars::module(&module.ast, &module.file, &context, &mut found);
        found
    };
    for each in parse::for_each(modules.iter().collect(), one)? {
        found.extend(each);
    }
    cycles::check(modules, tree, found);
    Ok(())
}

/// Parses every module that is to be loaded.
fn parsed(
    sources: &Sources,
    options: &LoadOptions,
    found: &mut Vec<Diagnostic>,
) -> Result<Vec<Module>, Error> {
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let mut paths: HashSet<&str> = HashSet::new();
    let mut files = Vec::new();
    for source in &sources.modules {
        if !seen.insert((&source.path, &source.text)) {
            continue;
        }
        if !paths.insert(&source.path) {
            let message = format!("two modules are called `{}`", source.path);
            found.push(Diagnostic::error("module-conflict", message));
            continue;
        }
        files.push(Arc::new(text::FileText::new(&source.path, &source.text)));
    }
    let mut modules = Vec::new();
    for result in parse::for_each(files, |file| parse::module(file, options.rego_v0))? {
        match result {
            Ok(module) => modules.push(module),
            Err(diagnostic) => found.push(diagnostic),
        }
    }
    Ok(modules)
}

/// A package name that no author can guess, and that `tree` doesn't have.
fn hidden_name(tree: &Tree) -> String {
    loop {
        // Two random keys, without a dependency for them.
        let word = || std::hash::RandomState::new().build_hasher().finish();
        let name = format!("hidden_{:016x}{:016x}", word(), word());
        if tree.node([&name]).is_none() {
            return name;
        }
    }
}
