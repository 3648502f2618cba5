//! Queries, checked and rewritten as modules are.
//!
//! Owns what a query is allowed to name and whether it is one reference into `data`. It doesn't
//! evaluate it.

use std::sync::Arc;

use regorus::unstable as ast;

use super::ahead;
use super::builtins::Functions;
use super::helpers;
use super::hidden_name;
use super::loaded::{Loaded, bind, contained};
use super::membership;
use super::modifiers;
use super::names::Names;
use super::negation;
use super::parse;
use super::rewrite;
use super::scope::{self, Head, Role, Use};
use super::text::{Edit, FileText, Rewritten};
use super::tree::RuleKind;
use super::vars;
use super::views::{Hidden, Views};
use crate::{Diagnostic, Error, ErrorKind};

/// The file name that positions in a query have.
pub const QUERY: &str = "<query>";

/// What a query that is one reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryTarget {
    /// All of `data`.
    Root,
    /// A package, or a path above packages.
    Package,
    /// A rule, or something in its value.
    Rule,
    /// A document that no package touches, or nothing.
    Document,
}

/// The form of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryForm {
    /// Exactly one reference into `data`, without variables.
    Reference {
        /// The path below `data`.
        path: Vec<String>,
        /// What it names.
        target: QueryTarget,
    },
    /// Anything else.
    Expression,
}

/// A query that the interpreter answers as Rego means it.
#[derive(Debug, Clone)]
pub struct RewrittenQuery {
    /// The text for the interpreter.
    pub text: String,
    /// Whether it is one reference.
    pub form: QueryForm,
    /// A module that must be added to the engine first: name and text.
    pub module: Option<(String, String)>,
    /// Functions that loading put into the text, and that the engine doesn't have yet.
    pub(crate) helpers: Vec<&'static str>,
    /// Full names of the product's functions that the query calls.
    pub functions: Vec<String>,
    /// Names that are neither rules nor the product's functions, each once: built-ins.
    pub builtins: Vec<String>,
}

impl Loaded {
    /// Checks and rewrites a query. Aliases don't reach into queries.
    ///
    /// # Errors
    /// [`Error::Policy`] with everything that is wrong with it.
    pub fn rewrite_query(&self, query: &str) -> Result<RewrittenQuery, Error> {
        let file = FileText::new(QUERY, query);
        contained(|| self.query(&file))?.map_err(Error::policy)
    }

    fn query(&self, file: &FileText) -> Result<RewrittenQuery, Vec<Diagnostic>> {
        parse::bounds(file).map_err(|d| vec![d])?;
        let wrong = |message: String| vec![parse::error(file, &message)];
        let source = ast::Source::from_contents(QUERY.to_owned(), file.author().to_owned())
            .map_err(|e| wrong(e.to_string()))?;
        let parsed = parse::parser(&source, self.options.rego_v0)
            .and_then(|mut p| p.parse_user_query().map_err(|e| e.to_string()))
            .map_err(wrong)?;
        let uses = scope::query_uses(&parsed);
        let functions = Functions::new(&self.options);
        let mut found = Vec::new();
        let names = Names { functions: &functions, tree: &self.tree };
        names.uses(file, &uses, !self.options.rego_v0, &mut found);
        let globals = scope::Globals::new(&[], &[], None);
        let arity = |fcn: &ast::ExprRef| names.arity_of(fcn, &globals);
        let context = vars::Context { globals: &globals, arity: &arity };
        vars::query(&parsed, file, &context, &mut found);
        if !found.is_empty() {
            return Err(found);
        }
        let mut hidden = Hidden::new(hidden_name(&self.tree));
        let mut shim = self.shim.clone();
        shim.extend(uses.iter(), &functions, &mut hidden);
        let replaces_direct = uses.iter().any(|found| {
            found.role == Role::Target
                && matches!(found.head, Head::Name(_))
                && functions.extension(&super::names::full_name(found)).is_some()
                && !self.shim.replaces(found)
        });
        let functions_here = rewrite::mocked(uses.iter(), &self.tree).into_iter().any(|g| {
            let kind = self.tree.groups.get(g).map(super::tree::Group::kind);
            matches!(kind, Some(RuleKind::Function { .. })) && !self.mocked.contains(&g)
        });
        if functions_here || replaces_direct {
            return Err(vec![
                Diagnostic::error(
                    "with-target",
                    "a query can't replace functions that the loaded modules call directly",
                )
                .with_hint("write the `with` into a test module"),
            ]);
        }
        // What modules replace with `with` isn't replaced out here.
        let replaced = targets(&uses).collect();
        let views = Views { tree: &self.tree, data: self.data(), replaced, mocked: &self.mocked };
        if let Some(at) = uses.iter().find(|u| {
            u.head == Head::Data
                && u.role == Role::Target
                && self.viewed.iter().any(|path| views.overlaps(&u.steps, path))
        }) {
            let diagnostic = Diagnostic::error(
                "whole-package",
                "`with` replaces part of a package that a module takes as a whole",
            )
            .with_hint("let the module refer to the package's rules by name");
            return Err(vec![diagnostic.at(file.position(at.start, at.end()))]);
        }
        let edits =
            rewrite::references(&uses, None, &shim, &views, &mut hidden).map_err(|(at, d)| {
                let position = uses.get(at).map(|u| file.position(u.start, u.end()));
                vec![match position {
                    Some(position) => d.at(position),
                    None => d,
                }]
            })?;
        let mut rewritten = file.rewrite(edits);
        self.layered(&parsed, &mut rewritten, &hidden).map_err(wrong)?;
        let mut helpers = helpers::called(&rewritten.text);
        helpers.extend(hidden.text().iter().flat_map(|text| helpers::called(text)));
        helpers.retain(|name| !self.helpers.contains(name));
        Ok(RewrittenQuery {
            text: rewritten.text,
            helpers,
            form: form(self, &parsed, &uses, &views),
            module: hidden.text().map(|text| (hidden.package.clone(), text)),
            functions: named(&uses, |name| name == self.options.product.as_str()),
            builtins: named(&uses, |name| name != self.options.product.as_str()),
        })
    }

    /// The layers over text in which names are resolved already, as modules have them.
    fn layered(
        &self,
        parsed: &ast::Query,
        rewritten: &mut Rewritten,
        hidden: &Hidden,
    ) -> Result<(), String> {
        let v0 = self.options.rego_v0;
        let layer = |rewritten: &mut Rewritten, find: fn(&ast::Query) -> Vec<Edit>| {
            if !find(parsed).is_empty() {
                rewritten.again(parse::query_again(&rewritten.text, v0, find)?);
            }
            Ok::<(), String>(())
        };
        layer(rewritten, membership::query_edits)?;
        let is_function = |path: &[Arc<str>]| {
            self.tree.is_function(path) || self.hidden.is_function(path) || hidden.is_function(path)
        };
        let prefix = modifiers::prefix(&rewritten.text);
        let binding =
            |step| modifiers::Binding { prefix: &prefix, step, is_function: &is_function };
        if !modifiers::query(parsed, binding(0)).is_empty() {
            bind(rewritten, |text, step| {
                parse::query_again(text, v0, |query| modifiers::query(query, binding(step)))
                    .map_err(|message| Error::new(ErrorKind::Internal, message))
            })
            .map_err(|error| error.to_string())?;
        }
        layer(rewritten, ahead::query_edits)?;
        if negation::query_edits(parsed).edits.is_empty() {
            return Ok(());
        }
        negation::rounds(rewritten, |text| {
            parse::query_again(text, v0, negation::query_edits)
                .map_err(|message| Error::new(ErrorKind::Internal, message))
        })
        .map_err(|error| error.to_string())
    }
}

fn targets(uses: &[Use]) -> impl Iterator<Item = Vec<scope::Step>> {
    uses.iter().filter(|u| u.head == Head::Data && u.role == Role::Target).map(|u| u.steps.clone())
}

/// Full names of what starts with a name that `wanted` accepts, each once.
fn named(uses: &[Use], wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names: Vec<String> = uses
        .iter()
        .filter(|u| matches!(&u.head, Head::Name(name) if wanted(name)))
        .map(super::names::full_name)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn form(loaded: &Loaded, query: &ast::Query, uses: &[Use], views: &Views<'_>) -> QueryForm {
    let [stmt] = query.stmts.as_slice() else { return QueryForm::Expression };
    let ast::Literal::Expr { expr, .. } = &stmt.literal else { return QueryForm::Expression };
    let [only] = uses else { return QueryForm::Expression };
    let reference = matches!(
        expr.as_ref(),
        ast::Expr::Var { .. } | ast::Expr::RefDot { .. } | ast::Expr::RefBrack { .. }
    );
    let path: Vec<Arc<str>> = only.keys().cloned().collect();
    if !reference
        || !stmt.with_mods.is_empty()
        || only.head != Head::Data
        || path.len() != only.steps.len()
        || views.crossing(only).is_some()
    {
        return QueryForm::Expression;
    }
    let target = target(loaded, &path);
    QueryForm::Reference { path: path.iter().map(ToString::to_string).collect(), target }
}

fn target(loaded: &Loaded, path: &[Arc<str>]) -> QueryTarget {
    if path.is_empty() {
        return QueryTarget::Root;
    }
    let mut node = &loaded.tree.root;
    for key in path {
        match node.children.get(key) {
            Some(child) => node = child,
            None => return QueryTarget::Document,
        }
        if node.group.is_some() {
            return QueryTarget::Rule;
        }
    }
    if node.packages { QueryTarget::Package } else { QueryTarget::Rule }
}
