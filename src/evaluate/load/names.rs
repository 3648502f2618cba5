//! Names that mean nothing, and functions used as they can't be.
//!
//! Owns the refusals about single references: unknown functions and names under the product's
//! prefix, wrong numbers of arguments, `with` targets that don't exist, built-ins that aren't
//! available. Reached or not makes no difference. Variables are [`super::vars`]'.

use std::sync::Arc;

use regorus::unstable::ExprRef;

use super::builtins::{Called, Functions};
use super::parse::Module;
use super::scope::{Globals, Head, Role, Step, Use};
use super::text::FileText;
use super::tree::{RuleKind, Tree, push_step};
use crate::Diagnostic;

/// What references are checked against.
pub(super) struct Names<'a> {
    pub(super) functions: &'a Functions<'a>,
    pub(super) tree: &'a Tree,
}

impl Names<'_> {
    /// Checks every reference of a module.
    pub(super) fn module(&self, module: &Module, out: &mut Vec<Diagnostic>) {
        self.uses(&module.file, &module.uses, module.ast.rego_v1, out);
    }

    /// Checks references of a text.
    pub(super) fn uses(&self, file: &FileText, uses: &[Use], v1: bool, out: &mut Vec<Diagnostic>) {
        for found in uses {
            let problem = match (&found.head, found.role) {
                (Head::Input, Role::Call { .. }) => Some(not_a_function(found)),
                (Head::Input, _) => None,
                (Head::Data, Role::Call { arguments, statement }) => {
                    self.rule_call(found, arguments, statement)
                }
                (Head::Data, Role::Read) => self.function_as_value(found),
                (Head::Data, Role::Target | Role::Replacement) => self.mock(found, uses),
                (Head::Name(name), role) => self.name(found, name, role, uses, v1),
            };
            out.extend(problem.map(|d| d.at(file.position(found.start, found.end()))));
        }
    }

    fn rule_call(&self, found: &Use, arguments: usize, statement: bool) -> Option<Diagnostic> {
        let group = self.tree.group_at(found.keys()).and_then(|g| self.tree.groups.get(g));
        match group.map(super::tree::Group::kind) {
            Some(RuleKind::Function { arity }) if found.keys().count() == found.steps.len() => {
                arity_problem(&full_name(found), arity, arguments, statement)
            }
            Some(_) => Some(not_a_function(found)),
            None => {
                let name = full_name(found);
                let known: Vec<String> = self
                    .tree
                    .groups
                    .iter()
                    .filter(|g| matches!(g.kind(), RuleKind::Function { .. }))
                    .map(super::tree::Group::name)
                    .collect();
                let near = crate::text::nearest(&name, known.iter().map(String::as_str));
                Some(unknown(&name, near))
            }
        }
    }

    /// A function's name is no value.
    fn function_as_value(&self, found: &Use) -> Option<Diagnostic> {
        let group = self.tree.groups.get(self.tree.group_at(found.keys())?)?;
        matches!(group.kind(), RuleKind::Function { .. }).then(|| {
            Diagnostic::error(
                "function-as-value",
                format!("function `{}` isn't called", group.name()),
            )
            .with_hint("call it with its arguments in parentheses")
        })
    }

    /// A function in place of something that isn't one would be ignored without a word.
    fn mock(&self, found: &Use, uses: &[Use]) -> Option<Diagnostic> {
        let target = uses.get(found.target?)?;
        let replacement = self.arity(found)?;
        match self.arity(target) {
            None => Some(with_target(
                target,
                "is no function, so no function can replace it",
                self.nearest_function(target),
            )),
            Some(arity) if arity != replacement => Some(Diagnostic::error(
                "arity",
                format!(
                    "`{}` takes {} and can't replace `{}`, which takes {}",
                    full_name(found),
                    arguments_text(replacement),
                    full_name(target),
                    arguments_text(arity)
                ),
            )),
            Some(_) => None,
        }
    }

    fn nearest_function(&self, found: &Use) -> Option<String> {
        let name = full_name(found);
        let known: Vec<String> = self
            .tree
            .groups
            .iter()
            .filter(|g| matches!(g.kind(), RuleKind::Function { .. }))
            .map(super::tree::Group::name)
            .collect();
        crate::text::nearest(&name, known.iter().map(String::as_str)).map(str::to_owned)
    }

    /// How many arguments the function takes that a reference means, if it means one.
    fn arity(&self, found: &Use) -> Option<usize> {
        match &found.head {
            Head::Data => match self.tree.groups.get(self.tree.group_at(found.keys())?)?.kind() {
                RuleKind::Function { arity } if found.keys().count() == found.steps.len() => {
                    Some(arity)
                }
                _ => None,
            },
            Head::Input => None,
            Head::Name(_) => match self.functions.called(&full_name(found), true) {
                Called::Function(arity) => Some(arity),
                _ => None,
            },
        }
    }

    /// How many arguments the function takes that an expression names, if it names one.
    pub(super) fn arity_of(&self, fcn: &ExprRef, globals: &Globals<'_>) -> Option<usize> {
        let (first, rest) = super::scope::path(fcn)?;
        let import = globals.import(&first);
        if let Some(import) = import {
            let path = import.path.iter().chain(&rest);
            return self.rule_arity(path);
        }
        if globals.is_rule(&first) {
            return self.rule_arity(globals.package.iter().chain([&first]).chain(&rest));
        }
        if first.as_ref() == "data" {
            return self.rule_arity(rest.iter());
        }
        let name: Vec<&str> =
            std::iter::once(first.as_ref()).chain(rest.iter().map(AsRef::as_ref)).collect();
        match self.functions.called(&name.join("."), false) {
            Called::Function(arity) => Some(arity),
            _ => None,
        }
    }

    fn rule_arity<'p>(&self, path: impl Iterator<Item = &'p Arc<str>>) -> Option<usize> {
        match self.tree.groups.get(self.tree.group_at(path)?)?.kind() {
            RuleKind::Function { arity } => Some(arity),
            _ => None,
        }
    }

    fn name(
        &self,
        found: &Use,
        name: &str,
        role: Role,
        uses: &[Use],
        v1: bool,
    ) -> Option<Diagnostic> {
        let full = full_name(found);
        let product = self.functions.options().product.as_str() == name;
        let called = self.functions.called(&full, v1);
        if product && self.functions.extension(&full).is_none() {
            return Some(self.unknown_product(&full, found));
        }
        match role {
            Role::Call { arguments, statement } => self.call(&full, called, arguments, statement),
            Role::Read if product => Some(
                Diagnostic::error("function-as-value", format!("function `{full}` isn't called"))
                    .with_hint("call it with its arguments in parentheses"),
            ),
            Role::Read => None,
            Role::Target => self.target(found, &full, called),
            Role::Replacement => match called {
                Called::Function(_) => self.mock(found, uses),
                Called::Unsupported => Some(unsupported(&full)),
                _ => None,
            },
        }
    }

    fn call(
        &self,
        full: &str,
        called: Called,
        arguments: usize,
        statement: bool,
    ) -> Option<Diagnostic> {
        match called {
            Called::Print if statement => None,
            Called::Print => Some(
                Diagnostic::error("function-as-value", "`print` has no value".to_owned())
                    .with_hint("write it as a statement of its own"),
            ),
            Called::Function(arity)
                if arguments == arity + 1 && statement && !Functions::takes_result(full) =>
            {
                Some(
                    arity_error(full, arity, arguments)
                        .with_hint("assign what it returns: `x := …`, without a last argument"),
                )
            }
            Called::Function(arity) => arity_problem(full, arity, arguments, statement),
            Called::Unsupported => Some(unsupported(full)),
            Called::Deprecated => Some(
                Diagnostic::error("deprecated-builtin", format!("`{full}` is deprecated"))
                    .with_hint(
                        "write it with `every`, `some … in` or the function that replaced it",
                    ),
            ),
            Called::Unknown => Some(unknown(full, self.functions.nearest(full).as_deref())),
        }
    }

    fn target(&self, found: &Use, full: &str, called: Called) -> Option<Diagnostic> {
        match called {
            Called::Function(_) if full != "walk" => None,
            Called::Function(_) | Called::Print => {
                Some(with_target(found, "can't be replaced", None))
            }
            Called::Unsupported => {
                // Its mock is all that would ever be called, but the interpreter doesn't know it.
                Some(unsupported(full))
            }
            Called::Deprecated | Called::Unknown => {
                Some(with_target(found, "doesn't exist", self.functions.nearest(full)))
            }
        }
    }

    fn unknown_product(&self, full: &str, found: &Use) -> Diagnostic {
        let options = self.functions.options();
        let short = match found.steps.first() {
            Some(Step::Key(key)) => key.as_ref(),
            _ => "",
        };
        let names = options.functions.iter().map(|f| f.short.as_str());
        let diagnostic = if short.is_empty() {
            Diagnostic::error("unknown-name", format!("`{full}` is no value"))
        } else {
            Diagnostic::error("unknown-function", format!("there is no function `{full}`"))
        };
        if crate::builtins::function(short).is_some_and(|function| function.optional)
            && names.clone().all(|name| name != short)
        {
            return Diagnostic::error(
                "unknown-function",
                format!("nobody turned on the function `{full}`"),
            )
            .with_hint(crate::builtins::turn_on(short));
        }
        match crate::text::nearest(short, names.clone()) {
            Some(near) if near != short => {
                diagnostic.with_hint(format!("did you mean `{}`?", options.product.function(near)))
            }
            _ => {
                let all: Vec<_> = names.map(|n| options.product.function(n)).collect();
                diagnostic.with_hint(format!("the functions are {}", all.join(", ")))
            }
        }
    }
}

/// Refuses what the interpreter takes for calls and Rego doesn't.
pub(super) fn misread(file: &FileText, names: &super::scope::Names, out: &mut Vec<Diagnostic>) {
    for &(start, end) in &names.called {
        let name = file.author().get(start..end).unwrap_or("");
        let message = format!("`{name}` is no function: its name is a variable here");
        out.push(
            Diagnostic::error("unknown-function", message)
                .with_hint("give the variable another name")
                .at(file.position(start, end)),
        );
    }
    for &(start, end) in &names.apart {
        let name = file.author().get(start..end).unwrap_or("");
        let message = format!("the parenthesis after `{name}` stands apart from it");
        out.push(
            Diagnostic::error("parse-error", message)
                .with_hint(
                    "write a call without white space, and end a statement before `(` with `;`",
                )
                .at(file.position(start, end)),
        );
    }
}

/// The name as it is looked up: `platform.discover`, `data.p.f`.
pub(super) fn full_name(found: &Use) -> String {
    let mut name = match &found.head {
        Head::Data => "data".to_owned(),
        Head::Input => "input".to_owned(),
        Head::Name(name) => name.to_string(),
    };
    for step in &found.steps {
        match step {
            Step::Key(key) => push_step(&mut name, key),
            Step::Any => name.push_str("[…]"),
        }
    }
    name
}

fn arguments_text(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

fn arity_problem(
    name: &str,
    arity: usize,
    arguments: usize,
    statement: bool,
) -> Option<Diagnostic> {
    let output = statement && arguments == arity + 1;
    (arguments != arity && !output).then(|| arity_error(name, arity, arguments))
}

fn arity_error(name: &str, arity: usize, arguments: usize) -> Diagnostic {
    let message = format!("`{name}` takes {}, not {arguments}", arguments_text(arity));
    Diagnostic::error("arity", message)
}

fn unknown(name: &str, near: Option<&str>) -> Diagnostic {
    let diagnostic =
        Diagnostic::error("unknown-function", format!("there is no function `{name}`"));
    match near {
        Some(near) if near != name => diagnostic.with_hint(format!("did you mean `{near}`?")),
        _ => diagnostic,
    }
}

fn unsupported(name: &str) -> Diagnostic {
    Diagnostic::error("unsupported-builtin", format!("the built-in `{name}` isn't available here"))
        .with_hint("the policy would be evaluated wrongly without it, so it is refused")
}

fn not_a_function(found: &Use) -> Diagnostic {
    Diagnostic::error("unknown-function", format!("`{}` is no function", full_name(found)))
}

fn with_target(found: &Use, why: &str, near: Option<String>) -> Diagnostic {
    let diagnostic =
        Diagnostic::error("with-target", format!("`with {}`: the target {why}", full_name(found)));
    match near {
        Some(near) => diagnostic.with_hint(format!("did you mean `{near}`?")),
        None => {
            diagnostic.with_hint("only `input`, `data` and functions that exist can be replaced")
        }
    }
}
