//! Renaming of rules and functions in all files, names of imports, and local variables.
//!
//! A name is only changed if the policies mean the same afterwards: resolved, the texts before and after
//! differ in this name and nothing else, and no error is new.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use lsp_types::{Range, TextEdit, WorkspaceEdit};
use rego::SourceText;
use rego::internal::program::{Hooks, Options, Program, Resolved};
use rego::syntax::tree::{ExprKind, Module, Name, Rule, Span, Term, TermKind, is_root};
use rego::syntax::visit::{
    VisitMut, walk_exprs, walk_module_mut, walk_rule_mut, walk_term_mut, walk_terms,
};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{ModuleSource, Sources};
use rego_platform::{Level, check};

use crate::addresses;
use crate::file::File;
use crate::files::{Files, Place};
use crate::names::Part;

/// A place in a text, as bytes.
type ByteRange = (usize, usize);

/// The target of a name.
enum NameTarget {
    /// A rule, by its path below `data`.
    Rule(Vec<String>),
    /// The target of an import's name.
    Import,
    /// A variable, in the rule that begins at this byte, by the name that it has when resolved.
    Variable(Name, u32),
}

/// A name with its occurrences.
pub(crate) struct Found {
    named: NameTarget,
    pub name: String,
    /// The position of the request.
    pub range: Range,
    places: BTreeMap<PathBuf, BTreeSet<ByteRange>>,
    /// The position for a new name of an import.
    import: Option<usize>,
    /// A `some` before the places of a variable, which may declare it.
    some: Option<ByteRange>,
}

/// Finds the name at a position, with its occurrences.
pub(crate) fn find(place: Place<'_>) -> Result<Found, String> {
    let Place { files, path, position, .. } = place;
    let file = files.get(path).ok_or("file outside of the workspace")?;
    if let Some((broken, _)) = files.iter().find(|(_, file)| file.is_broken) {
        let name = broken.file_name().unwrap_or_default().to_string_lossy();
        return Err(format!("can't parse `{name}`"));
    }
    let offset = file.text.offset(position);
    let is_there = |(from, to): ByteRange| from <= offset && offset <= to;
    let names = &file.names;
    let alias = |import: &crate::names::Imported| import.alias.is_some_and(is_there);
    if let Some((name, import)) = names.imports.iter().find(|(_, import)| alias(import)) {
        return Ok(of_import(path, file, name, import.alias.unwrap_or_default()));
    }
    let parts =
        names.written().flat_map(|(path, parts)| parts.iter().map(move |part| (path, part)));
    let at = parts
        .filter(|(_, part)| is_there(part.span))
        .min_by_key(|(_, part)| part.span.1 - part.span.0);
    if let Some((full, part)) = at {
        let own = full.get(..part.names).unwrap_or_default();
        if part.names > 0 && is_rule(files, own) {
            return Ok(of_rule(files, file, own, part.span));
        }
        if part.is_import {
            let name = file.text.content.get(part.span.0..part.span.1).unwrap_or_default();
            return Ok(of_import(path, file, name, part.span));
        }
        let is_package = |(_, file): (&Path, &File)| file.names.package.starts_with(own);
        if part.names > 0 && files.iter().any(is_package) {
            return Err(format!("can't rename a package: `{}`", own.join(".")));
        }
    }
    of_variable(place, file, offset)
}

fn is_rule(files: &Files, path: &[String]) -> bool {
    let declares = |file: &File| {
        path.len() > file.names.package.len()
            && file.names.rules.iter().any(|rule| rule.path.starts_with(path))
    };
    files.iter().any(|(_, file)| declares(file))
}

/// Returns a rule with all occurrences of its name.
fn of_rule(files: &Files, file: &File, rule: &[String], at: ByteRange) -> Found {
    let mut places: BTreeMap<PathBuf, BTreeSet<ByteRange>> = BTreeMap::new();
    for (path, file) in files.iter() {
        for (_, parts) in file.names.written().filter(|(path, _)| path.starts_with(rule)) {
            let own = parts.iter().filter(|part| part.names == rule.len());
            let own = own.map(|part| unquoted(file, part));
            places.entry(path.to_owned()).or_default().extend(own);
        }
    }
    places.retain(|_, places| !places.is_empty());
    Found {
        named: NameTarget::Rule(rule.to_vec()),
        name: rule.last().cloned().unwrap_or_default(),
        range: file.text.range(at.0, at.1),
        places,
        import: None,
        some: None,
    }
}

/// Returns the place of a name without the quotes that it has in brackets.
fn unquoted(file: &File, part: &Part) -> ByteRange {
    let (from, to) = part.span;
    let text = file.text.content.get(from..to).unwrap_or_default();
    if text.starts_with(['"', '`']) { (from + 1, to.saturating_sub(1)) } else { (from, to) }
}

/// Returns the name that an import gives, with all its places.
fn of_import(path: &Path, file: &File, name: &str, at: ByteRange) -> Found {
    let import = file.names.imports.get(name);
    let parts = file.names.used.iter().flat_map(|used| &used.parts);
    let own = parts.filter(|part| part.is_import).map(|part| part.span);
    let is_own = |(from, to): &ByteRange| file.text.content.get(*from..*to) == Some(name);
    let mut places: BTreeSet<ByteRange> = own.filter(is_own).collect();
    places.extend(import.and_then(|import| import.alias));
    Found {
        named: NameTarget::Import,
        name: name.to_owned(),
        range: file.text.range(at.0, at.1),
        places: BTreeMap::from([(path.to_owned(), places)]),
        import: import.filter(|import| import.alias.is_none()).map(|import| import.end),
        some: None,
    }
}

/// Returns the local variable at a byte, with all its places.
fn of_variable(place: Place<'_>, file: &File, offset: usize) -> Result<Found, String> {
    let Place { files, load, path, .. } = place;
    let needed = files.needed(std::iter::once(path));
    let all = resolved(&files.sources(Some(&needed)), load)?;
    let name = path.display().to_string();
    let module = all.iter().find(|(path, _)| *path == name).map(|(_, module)| module);
    let module = module.ok_or("file outside of the workspace")?;
    let bytes = |span: Span| (span.start as usize, span.end as usize);
    let mut variables: Vec<(Name, ByteRange, u32)> = Vec::new();
    let mut functions: BTreeSet<ByteRange> = BTreeSet::new();
    let mut called = |terms: &[Term]| functions.extend(terms.first().map(|term| bytes(term.span)));
    for rule in &module.rules {
        walk_terms(rule, &mut |term| {
            match &term.kind {
                TermKind::Var(name) if !name.starts_with('$') && !is_root(name) => {
                    variables.push((Name::clone(name), bytes(term.span), rule.span.start));
                }
                TermKind::Call(terms) => called(terms),
                _ => {}
            }
            true
        });
        walk_exprs(rule, &mut |expr| {
            if let ExprKind::Call(terms) = &expr.kind {
                called(terms);
            }
            true
        });
    }
    variables.retain(|(_, place, _)| !functions.contains(place));
    let written = |(from, to): ByteRange| file.text.content.get(from..to).unwrap_or_default();
    let is_name = |place: ByteRange| {
        let text = written(place);
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let at = variables
        .iter()
        .filter(|(_, place, _)| place.0 <= offset && offset <= place.1 && is_name(*place));
    let (variable, place, rule) = at.min_by_key(|(_, place, _)| place.1 - place.0).ok_or(
        "can't rename this: expected a rule, a function, the name of an import or a variable",
    )?;
    let name = written(*place).to_owned();
    // An argument is a variable of its own in each branch after `else`.
    let mut same: BTreeSet<&Name> = BTreeSet::from([variable]);
    let mut places: BTreeSet<ByteRange> = BTreeSet::new();
    let own = variables.iter().filter(|(_, place, of)| of == rule && written(*place) == name);
    loop {
        let before = (same.len(), places.len());
        for (variable, place, _) in own.clone() {
            if same.contains(variable) || places.contains(place) {
                same.insert(variable);
                places.insert(*place);
            }
        }
        if before == (same.len(), places.len()) {
            break;
        }
    }
    // `some x` is gone when names are resolved.
    let options = rego::syntax::ParseOptions::version(files.rego(path));
    let author = rego::syntax::parse_module(rego::FileId(0), &file.text.content, &options);
    let first = places.first().copied().unwrap_or_default();
    let mut declared = None;
    for author in author.iter().flat_map(|module| &module.rules) {
        walk_exprs(author, &mut |expr| {
            if let ExprKind::Some(some) = &expr.kind {
                let own = some.symbols.iter().map(|symbol| bytes(symbol.span));
                let own = own.filter(|place| written(*place) == name && *place < first);
                let in_rule = author.span.start == *rule;
                declared = declared.max(own.filter(|_| in_rule).max());
            }
            true
        });
    }
    let is_declared = variable.starts_with("__local");
    Ok(Found {
        named: NameTarget::Variable(Name::clone(variable), *rule),
        name,
        range: file.text.range(place.0, place.1),
        places: BTreeMap::from([(path.to_owned(), places)]),
        import: None,
        some: declared.filter(|_| is_declared),
    })
}

/// Returns the edits that rename a name.
pub(crate) fn rename(place: Place<'_>, new: &str) -> Result<WorkspaceEdit, String> {
    let Place { files, load, path, .. } = place;
    let mut found = find(place)?;
    if !is_name(new) {
        return Err(format!("invalid name `{new}`"));
    }
    if let NameTarget::Rule(rule) = &found.named {
        let taken = [rule.get(..rule.len() - 1).unwrap_or_default(), &[new.to_owned()]].concat();
        let is_taken = |(_, file): (&Path, &File)| {
            let other = |path: &[String]| !path.starts_with(rule) && path.starts_with(&taken);
            other(&file.names.package) || file.names.rules.iter().any(|rule| other(&rule.path))
        };
        if files.iter().any(is_taken) {
            return Err(format!("conflicting name: `data.{}` exists", taken.join(".")));
        }
    }
    let (edit, after) = edited(files, &found, new)?;
    let before = OriginalTexts::new(files.sources(None), load, &found, (path, new))?;
    let Err(refused) = before.means(&after) else { return Ok(edit) };
    let some = found.some.take().ok_or_else(|| refused.clone())?;
    found.places.entry(path.to_owned()).or_default().insert(some);
    let (edit, after) = edited(files, &found, new)?;
    before.means(&after).map_err(|_| refused)?;
    Ok(edit)
}

/// Returns the edits, and the texts after them.
fn edited(files: &Files, found: &Found, new: &str) -> Result<(WorkspaceEdit, Sources), String> {
    let (mut changes, mut after) = (HashMap::new(), files.sources(None));
    for (path, places) in &found.places {
        let (Some(file), Some(uri)) = (files.get(path), addresses::uri(path)) else { continue };
        let mut edits: Vec<(ByteRange, String)> =
            places.iter().map(|place| (*place, new.to_owned())).collect();
        edits.extend(found.import.map(|end| ((end, end), format!(" as {new}"))));
        edits.sort();
        let mut text = file.text.content.clone();
        for ((from, to), new) in edits.iter().rev() {
            if from != to && text.get(*from..*to) != Some(found.name.as_str()) {
                return Err(format!("can't rename `{}`: it has several spellings", found.name));
            }
            text.replace_range(from..to, new);
        }
        let name = path.display().to_string();
        if let Some(module) = after.modules.iter_mut().find(|module| module.path == name) {
            module.text = file.loaded(text);
        }
        let edit =
            |((from, to), new): (ByteRange, String)| TextEdit::new(file.text.range(from, to), new);
        changes.insert(uri, edits.into_iter().map(edit).collect());
    }
    Ok((WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }, after))
}

/// Returns `true` for valid names of rules and variables.
fn is_name(text: &str) -> bool {
    let module = rego::parse(SourceText::new("", format!("package p\n\n{text} := 1\n")));
    let head = |module: &Module| match module.rules.first()?.head.reference.as_slice() {
        [Term { kind: TermKind::Var(name), .. }] => Some(name.to_string()),
        _ => None,
    };
    !is_root(text) && module.is_ok_and(|module| head(&module).as_deref() == Some(text))
}

/// The texts before a name is changed.
struct OriginalTexts<'a> {
    load: &'a LoadOptions,
    sources: Sources,
    /// The required meaning.
    wanted: Vec<String>,
    /// The message about a different meaning.
    other: String,
    /// The messages of their errors, once these are asked for.
    errors: OnceCell<Vec<String>>,
}

impl<'a> OriginalTexts<'a> {
    fn new(
        sources: Sources,
        load: &'a LoadOptions,
        found: &Found,
        (path, new): (&Path, &str),
    ) -> Result<Self, String> {
        let mut modules = resolved(&sources, load)?;
        let path = path.display().to_string();
        for (of, module) in &mut modules {
            let mut naming = Renamer { package: Vec::new(), of: &found.named, new, rule: 0 };
            naming.package = names(module.package.path.get(1..).unwrap_or_default());
            if matches!(found.named, NameTarget::Rule(_)) || *of == path {
                walk_module_mut(&mut naming, module);
            }
        }
        let other = format!(
            "conflicting name: `{new}` has a different meaning in the scope of `{}`",
            found.name
        );
        Ok(Self { load, sources, wanted: shown(&modules), other, errors: OnceCell::new() })
    }

    /// Fails if texts differ in more than the name.
    fn means(&self, after: &Sources) -> Result<(), String> {
        if self.wanted != shown(&resolved(after, self.load)?) {
            return Err(self.other.clone());
        }
        let new = errors(after, self.load);
        if new.is_empty() {
            return Ok(());
        }
        let old = self.errors.get_or_init(|| errors(&self.sources, self.load));
        match new.iter().find(|message| !old.contains(message)).filter(|_| new.len() > old.len()) {
            Some(message) => Err(message.clone()),
            None => Ok(()),
        }
    }
}

fn shown(modules: &[(String, Module)]) -> Vec<String> {
    modules.iter().map(|(_, module)| module.to_string()).collect()
}

/// Returns the messages of all errors.
fn errors(sources: &Sources, load: &LoadOptions) -> Vec<String> {
    let found = check::check(sources, load.clone()).into_iter();
    found.filter(|one| one.level == Level::Error).map(|one| one.message).collect()
}

fn names(terms: &[Term]) -> Vec<String> {
    let name = |term: &Term| match &term.kind {
        TermKind::String(name) | TermKind::Var(name) => Some(name.to_string()),
        _ => None,
    };
    terms.iter().map_while(name).collect()
}

/// Renames the target in a module with resolved names.
struct Renamer<'a> {
    package: Vec<String>,
    of: &'a NameTarget,
    new: &'a str,
    /// The beginning of the rule.
    rule: u32,
}

impl VisitMut for Renamer<'_> {
    fn rule(&mut self, rule: &mut Rule) {
        self.rule = if self.rule == 0 { rule.span.start } else { self.rule };
        let outer = self.rule;
        if let NameTarget::Rule(path) = self.of
            && let path_there = [self.package.as_slice(), &names(&rule.head.reference)].concat()
            && path_there.starts_with(path)
            && let Some(at) = path.len().checked_sub(self.package.len() + 1)
            && let Some(term) = rule.head.reference.get_mut(at)
            && let TermKind::Var(name) | TermKind::String(name) = &mut term.kind
        {
            *name = self.new.into();
        }
        walk_rule_mut(self, rule);
        self.rule = if outer == rule.span.start { 0 } else { outer };
    }

    fn term(&mut self, term: &mut Term) {
        match (&mut term.kind, self.of) {
            (TermKind::Ref(parts), NameTarget::Rule(path))
                if matches!(parts.first(), Some(Term { kind: TermKind::Var(head), .. }) if **head == *"data")
                    && names(parts.get(1..).unwrap_or_default()).starts_with(path) =>
            {
                if let Some(Term { kind: TermKind::String(name), .. }) = parts.get_mut(path.len()) {
                    *name = self.new.into();
                }
            }
            (TermKind::Var(name), NameTarget::Variable(own, rule))
                if name == own && self.rule == *rule && !name.starts_with("__local") =>
            {
                *name = self.new.into();
            }
            _ => {}
        }
        walk_term_mut(self, term);
    }
}

/// Captures the modules after name resolution.
#[derive(Default)]
struct ResolvedModules(Option<Vec<(String, Module)>>);

impl Hooks for ResolvedModules {
    fn resolved(&mut self, resolved: Resolved<'_>) {
        let path = |module: &Module| {
            resolved.sources.get(module.span.file).map_or("", |source| source.path()).to_owned()
        };
        self.0 =
            Some(resolved.modules.iter().map(|module| (path(module), module.clone())).collect());
    }
}

/// Returns modules with complete references and unique local variables.
fn resolved(sources: &Sources, load: &LoadOptions) -> Result<Vec<(String, Module)>, String> {
    let text = |module: &ModuleSource| {
        let named = sources.versions.get(&module.path).map(|version| (*version).into());
        SourceText::new(&module.path, &module.text).version(named.unwrap_or(load.version()))
    };
    let mut taken = ResolvedModules::default();
    let compiled = Program::compile_with(
        sources.modules.iter().map(text).collect(),
        &Options::default(),
        &mut taken,
    );
    match (taken.0, compiled) {
        (Some(modules), _) => Ok(modules),
        (None, compiled) => {
            let error = compiled.err();
            let first = error.and_then(|error| error.problems.into_iter().next());
            Err(first.map(|problem| problem.message).unwrap_or_default())
        }
    }
}
