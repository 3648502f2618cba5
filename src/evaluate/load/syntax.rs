//! What a static check sees of the modules.
//!
//! Owns the view of parsed modules that [`crate::check`] has while they are being loaded: their
//! syntax, what their names mean, and positions. It finds nothing wrong itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use regorus::unstable as ast;

use ast::{Expr, ExprRef, Rule, RuleHead};

use super::loaded::{self, Package};
use super::parse::{self, Module};
use super::scope::{self, Head, Role, Use};
use super::tree::{Tree, package_path};
use super::{LoadOptions, RuleKind};
use crate::Position;

/// All modules, parsed and with their names resolved; something may still be wrong with them.
pub(crate) struct Syntax<'a> {
    modules: &'a [Module],
    tree: &'a Tree,
    options: &'a LoadOptions,
}

/// One module.
pub(crate) struct ModuleSyntax<'a> {
    all: &'a Syntax<'a>,
    module: &'a Module,
    /// Every reference, by where it starts.
    uses: BTreeMap<usize, &'a Use>,
}

/// What a reference that isn't local means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    /// A call of one of the product's functions, by its short name.
    Call(&'a str),
    /// A call of something that is no rule, by the first part of its name.
    Builtin(&'a str),
    /// A rule (a function, if it is called), and how many of the author's steps led to it.
    Rule { rule: usize, steps: usize },
    /// A name that nothing declares: a variable, unless it is an error.
    Undeclared,
    /// Something else: `input`, data, a package.
    Other,
}

/// An import of `data` or `input`.
pub(crate) struct ImportSyntax<'a> {
    /// The name by which the module refers to it.
    pub alias: &'a str,
    pub position: Position,
    pub used: bool,
}

impl<'a> Syntax<'a> {
    pub(super) fn new(modules: &'a [Module], tree: &'a Tree, options: &'a LoadOptions) -> Self {
        Self { modules, tree, options }
    }

    /// The name before each function's.
    pub fn product(&self) -> &crate::Product {
        &self.options.product
    }

    /// Does `work` for every module that `which` chooses; when there are many, on several threads.
    pub fn for_each<R: Send>(
        &self,
        which: impl Fn(&Self, usize) -> bool,
        work: impl Fn(&ModuleSyntax<'_>) -> R + Sync,
    ) -> Vec<R> {
        let chosen: Vec<usize> = (0..self.modules.len()).filter(|i| which(self, *i)).collect();
        let work = |index: usize| self.module(index).map(|module| work(&module));
        // A thread that can't be started ends the load for other reasons soon enough.
        parse::for_each(chosen.clone(), work)
            .unwrap_or_else(|_| chosen.into_iter().map(work).collect())
            .into_iter()
            .flatten()
            .collect()
    }

    /// Whether a module names one of the product's functions.
    pub fn calls_functions(&self, module: usize) -> bool {
        let product = self.options.product.as_str();
        self.modules.get(module).is_some_and(|module| {
            module.uses.iter().any(|u| matches!(&u.head, Head::Name(name) if **name == *product))
        })
    }

    pub fn module(&self, index: usize) -> Option<ModuleSyntax<'_>> {
        let module = self.modules.get(index)?;
        let uses = module.uses.iter().map(|u| (u.start, u)).collect();
        Some(ModuleSyntax { all: self, module, uses })
    }

    /// All packages, by path.
    pub fn packages(&self) -> Vec<Package> {
        loaded::packages(self.modules, self.tree)
    }

    /// Where the first file of a package says its name.
    pub fn package_position(&self, package: &Package) -> Option<Position> {
        let path = package.files.first()?;
        let module = self.modules.iter().find(|m| m.file.path() == path)?;
        let refr = &module.ast.package.refr;
        let ends = scope::chain(refr).steps.last().map(scope::Link::end);
        let start = scope::chain(refr).base.span().start as usize;
        Some(module.file.position(start, ends.unwrap_or_else(|| scope::end(refr.span()))))
    }

    /// The value of a rule that is defined once and without conditions.
    pub fn constant(&self, rule: usize) -> Option<&ExprRef> {
        let group = self.tree.groups.get(rule)?;
        let [definition] = group.definitions.as_slice() else { return None };
        if group.kind() != RuleKind::Complete {
            return None;
        }
        let module = self.modules.get(definition.module)?;
        let groups = self.tree.group_of.get(definition.module)?;
        let index = groups.iter().position(|g| *g == rule)?;
        match module.ast.policy.get(index)?.as_ref() {
            Rule::Spec { head: RuleHead::Compr { assign: Some(assign), .. }, bodies, .. }
                if bodies.iter().all(|b| b.query.stmts.is_empty()) =>
            {
                Some(&assign.value)
            }
            _ => None,
        }
    }

    /// For every rule, the rules whose value it needs directly.
    pub fn dependencies(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (module, groups) in self.modules.iter().zip(&self.tree.group_of) {
            for used in module.uses.iter().filter(|u| u.head == Head::Data) {
                let Some(rule) = groups.get(used.rule) else { continue };
                found.extend(self.tree.targets(&used.steps).into_iter().map(|on| (*rule, on)));
            }
        }
        found
    }
}

impl<'a> ModuleSyntax<'a> {
    pub fn all(&self) -> &'a Syntax<'a> {
        self.all
    }

    pub fn ast(&self) -> &'a ast::Module {
        &self.module.ast
    }

    pub fn path(&self) -> &'a str {
        self.module.file.path()
    }

    /// The author's text.
    pub fn text(&self) -> &'a str {
        self.module.file.author()
    }

    /// Whether it is a test by its file's or its package's name.
    pub fn is_test(&self) -> bool {
        self.path().ends_with("_test.rego")
            || package_path(self.ast()).last().is_some_and(|name| name.ends_with("_test"))
    }

    /// The position of the bytes from `start` to `end`.
    pub fn position(&self, start: usize, end: usize) -> Position {
        self.module.file.position(start, end)
    }

    /// The group of one of the module's rules.
    pub fn rule(&self, index: usize) -> Option<usize> {
        let own = |module: &&Module| std::ptr::eq::<Module>(*module, self.module);
        let module = self.all.modules.iter().position(|m| own(&m))?;
        self.all.tree.group_of.get(module)?.get(index).copied()
    }

    /// What the reference that starts at `offset` means, unless it is local.
    pub fn meaning(&self, offset: usize) -> Option<Meaning<'a>> {
        self.uses.get(&offset).map(|used| self.meaning_of(used))
    }

    /// What the references within these bytes mean.
    pub fn meanings_in(&self, start: usize, end: usize) -> impl Iterator<Item = Meaning<'a>> {
        self.uses.range(start..end).map(|(_, used)| self.meaning_of(used))
    }

    fn meaning_of(&self, used: &'a Use) -> Meaning<'a> {
        match &used.head {
            Head::Input => Meaning::Other,
            Head::Data => self.data(used),
            Head::Name(name) if **name == *self.all.options.product.as_str() => {
                match used.steps.first() {
                    Some(scope::Step::Key(key)) if matches!(used.role, Role::Call { .. }) => {
                        Meaning::Call(key)
                    }
                    _ => Meaning::Other,
                }
            }
            Head::Name(name) => match used.role {
                Role::Read => Meaning::Undeclared,
                Role::Call { .. } => Meaning::Builtin(name),
                _ => Meaning::Other,
            },
        }
    }

    /// The rule that a reference leads to, on its way or at its end.
    fn data(&self, used: &Use) -> Meaning<'a> {
        let keys: Vec<&Arc<str>> = used.keys().collect();
        let given = used.steps.len() - used.written();
        (1..=keys.len())
            .find_map(|length| {
                let rule = self.all.tree.group_at(keys.iter().take(length))?;
                Some(Meaning::Rule { rule, steps: length.saturating_sub(given) })
            })
            .unwrap_or(Meaning::Other)
    }

    /// The references into `data`, as far as their steps are known.
    pub fn references(&self) -> impl Iterator<Item = Reference<'a>> {
        let uses = self.module.uses.iter().filter(|used| used.head == Head::Data);
        uses.map(|used| Reference {
            keys: used.keys().map(AsRef::as_ref).collect(),
            is_target: used.role == Role::Target,
            used,
        })
    }

    /// The short name of the function that a `with` replaces.
    pub fn replaced(&self, target: &ExprRef) -> Option<&'a str> {
        let used: &'a Use = self.uses.get(&(chain(target).0.span().start as usize)).copied()?;
        match (&used.head, used.steps.first()) {
            (Head::Name(name), Some(scope::Step::Key(key)))
                if used.role == Role::Target && **name == *self.all.options.product.as_str() =>
            {
                Some(key)
            }
            _ => None,
        }
    }

    pub fn imports(&self) -> Vec<ImportSyntax<'a>> {
        let uses = &self.module.uses;
        let named = self.module.imports.iter().enumerate();
        named
            .filter_map(|(index, import)| {
                Some(ImportSyntax {
                    alias: import.alias.as_deref()?,
                    position: self.position(import.start, import.end),
                    used: uses.iter().any(|u| u.import == Some(index)),
                })
            })
            .collect()
    }
}

/// A reference into `data`.
pub(crate) struct Reference<'a> {
    /// The path below `data`, up to what is known only in an evaluation.
    pub keys: Vec<&'a str>,
    /// Whether it is the target of `with`.
    pub is_target: bool,
    used: &'a Use,
}

impl Reference<'_> {
    /// Whether its value is asked for.
    pub fn is_read(&self) -> bool {
        matches!(self.used.role, Role::Read | Role::Replacement)
    }

    /// The bytes from its start to the end of the given number of keys, or of its name.
    pub fn bytes(&self, keys: usize) -> (usize, usize) {
        let given = self.used.steps.len() - self.used.written();
        let last = keys.checked_sub(given + 1).and_then(|at| self.used.ends.get(at));
        (self.used.start, last.copied().unwrap_or(self.used.name_end))
    }
}

/// One step of a reference.
pub(crate) enum Step<'a> {
    /// A field or a quoted key, with the bytes that it is written in.
    Key(Arc<str>, (usize, usize)),
    /// An index that is known only in an evaluation, or a number.
    Index(&'a ExprRef),
}

/// A reference taken apart: what it starts from, and its steps.
pub(crate) fn chain(expr: &ExprRef) -> (&ExprRef, Vec<Step<'_>>) {
    let chain = scope::chain(expr);
    let steps = chain.steps.iter().map(|link| match link {
        scope::Link::Field(span, _) => {
            Step::Key(span.text().into(), (span.start as usize, scope::end(span)))
        }
        scope::Link::Index(index, _) => match scope::key(index) {
            Some(key) => Step::Key(key, bytes(index)),
            None => Step::Index(index),
        },
    });
    (chain.base, steps.collect())
}

/// The bytes of an expression, with the quotation marks of a string.
pub(crate) fn bytes(expr: &Expr) -> (usize, usize) {
    let span = expr.span();
    let (start, end) = (span.start as usize, scope::end(span));
    match expr {
        Expr::String { .. } | Expr::RawString { .. } => (start.saturating_sub(1), end + 1),
        // The span of a call starts where its function's name does.
        _ => (start, end),
    }
}
