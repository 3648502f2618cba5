//! Which packages give verdicts, and by which rules.
//!
//! Owns the refusal of packages that would pass because a verdict rule is missing, misspelt or of
//! the wrong kind. What the rules' values mean is `verdict`'s.

use super::reach::Reach;
use crate::evaluate::{Policies, Query};
use crate::load::{Package, RuleDefinition, RuleInfo, RuleKind};
use crate::text::data_reference;
use crate::text::nearest;
use crate::{Diagnostic, Error, ErrorKind, Position};

/// What a rule says in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Result,
    Violations,
    Findings,
    Warnings,
    /// The four that policy documents may have beside their violations.
    Skipped,
    SkipReason,
    Ignore,
    ValidInput,
}

/// A rule that takes part in a verdict.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub role: Role,
    pub name: String,
    /// Where it is first defined.
    pub position: Position,
    pub definitions: Vec<RuleDefinition>,
}

impl Part {
    /// The only definition that can have said a message, or else the first of those that can.
    pub fn said(&self, message: &str) -> &Position {
        let found = self.definitions.iter().find(|definition| definition.can_say(message));
        found.map_or(&self.position, |definition| &definition.position)
    }
}

/// A package that gives verdicts, ready to be asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Dotted.
    pub name: String,
    /// Below `data`.
    pub path: Vec<String>,
    pub files: Vec<String>,
    pub query: Query,
    pub parts: Vec<Part>,
}

/// How the packages of a set of modules are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Rego on its own.
    Plain,
    /// A module of a policy document, whose missing pieces are supplied.
    Document,
}

/// The packages that give verdicts: those that were chosen, or else each one that has to.
pub(super) fn asked(
    policies: &Policies,
    chosen: &[String],
    manner: Manner,
    reach: &Reach,
) -> Result<Vec<Asked>, Error> {
    let packages: Vec<&Package> = policies.packages().collect();
    let mut found = Vec::new();
    let mut asked = Vec::new();
    for package in &packages {
        let name = dotted(&package.path);
        if !chosen.is_empty() && !is_chosen(chosen, &name) {
            continue;
        }
        let named = chosen.contains(&name);
        if !named && package.is_suite {
            continue;
        }
        let optional = !named
            && (package.is_test || packages.iter().any(|p| p.refers_to.contains(&package.path)));
        match parts(package, manner, reach) {
            Err(diagnostics) => found.extend(diagnostics),
            Ok(parts) if !gives_verdict(&parts) => {
                if !optional {
                    found.push(without_verdict(package, manner));
                }
            }
            Ok(parts) => asked.push(Asked {
                query: policies.query(&query(package, &parts))?,
                files: package.files.clone(),
                path: package.path.clone(),
                name,
                parts,
            }),
        }
    }
    if found.is_empty() { Ok(asked) } else { Err(Error::policy(found)) }
}

/// True if a package is among those that were chosen, by name or by a glob.
pub(super) fn is_chosen(chosen: &[String], name: &str) -> bool {
    chosen.iter().any(|given| {
        given == name
            || given.contains(['*', '?'])
                && glob::Pattern::new(given).is_ok_and(|pattern| pattern.matches(name))
    })
}

/// The packages that were chosen and are not there.
pub(super) fn refuse_unknown<'a>(
    chosen: &[String],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Error> {
    for name in chosen {
        let one = std::slice::from_ref(name);
        if !known.clone().any(|known| is_chosen(one, known)) {
            let message = format!("there is no package `{name}`");
            let error = Error::new(ErrorKind::Configuration, message);
            return Err(match nearest(name, known.clone()) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint("`-n` takes the name that the `package` line has"),
            });
        }
    }
    Ok(())
}

/// `a.b`; what is no name stands in brackets, so that no two packages are called the same:
/// `a["b.c"]`.
pub(super) fn dotted(path: &[String]) -> String {
    let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
        return String::new();
    };
    let shown = data_reference(rest);
    format!("{first}{}", shown.strip_prefix("data").unwrap_or(&shown))
}

/// The first rule of a package that would make a verdict, were it asked for one.
pub(super) fn verdict_rule(package: &Package) -> Option<&str> {
    let own = package.rules.iter().filter(|rule| !is_function(rule));
    let mut names = own.filter_map(|rule| rule.path.get(package.path.len()));
    names.find(|name| role(name, Manner::Plain).is_some()).map(String::as_str)
}

fn gives_verdict(parts: &[Part]) -> bool {
    parts.iter().any(|part| {
        matches!(part.role, Role::Result | Role::Violations | Role::Findings | Role::Warnings)
    })
}

fn without_verdict(package: &Package, manner: Manner) -> Diagnostic {
    let name = dotted(&package.path);
    let message = format!("the package `{name}` has no verdict rule: it would always pass");
    let hint = match manner {
        Manner::Plain => {
            "give it `deny`, `violations` or `result`, or choose the packages that count with `-n`"
        }
        Manner::Document => "give it `result`, `violations` or `findings`",
    };
    let diagnostic = Diagnostic::error("no-verdict-rule", message).with_hint(hint);
    match package.rules.first() {
        Some(rule) => diagnostic.at(rule.position.clone()),
        None => match package.files.first() {
            Some(file) => diagnostic.at(Position {
                file: file.clone(),
                line: 1,
                column: 1,
                length: 1,
                text: String::new(),
            }),
            None => diagnostic,
        },
    }
}

/// The rules of a package that take part in its verdict.
fn parts(package: &Package, manner: Manner, reach: &Reach) -> Result<Vec<Part>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut parts = Vec::new();
    for rule in &package.rules {
        let Some(first) = rule.path.get(package.path.len()) else { continue };
        let Some(role) = role(first, manner) else {
            if let (Some(meant), false) = (misspelt(first), is_function(rule)) {
                found.push(
                    Diagnostic::error(
                        "misspelt-verdict-rule",
                        format!(
                            "the rule `{first}` isn't a verdict rule: nothing would look at it"
                        ),
                    )
                    .with_hint(format!("did you mean `{meant}`? else give it another name"))
                    .at(rule.position.clone()),
                );
            }
            continue;
        };
        if rule.path.len() > package.path.len() + 1 {
            let message = format!("the verdict rule `{first}` is taken apart by a dotted name");
            found.push(
                Diagnostic::error("verdict-rule", message)
                    .with_hint(format!("write `{first} contains …`"))
                    .at(rule.position.clone()),
            );
        } else if is_function(rule) {
            let message =
                format!("the verdict rule `{first}` is a function: nothing would call it");
            found.push(
                Diagnostic::error("verdict-rule", message)
                    .with_hint("write it as a rule, or give it another name")
                    .at(rule.position.clone()),
            );
        } else {
            parts.push(Part {
                role,
                name: first.clone(),
                position: rule.position.clone(),
                definitions: rule.definitions.clone(),
            });
        }
    }
    // A package that has `result` says everything with it.
    if let Some(result) = parts.iter().find(|part| part.role == Role::Result) {
        let verdict_reaches = |rule: &str| reach.reaches(&package.path, &result.name, rule);
        let lost = parts.iter().filter(|part| says_something(part.role));
        for part in lost.filter(|part| !verdict_reaches(&part.name)) {
            let message = format!(
                "the verdict rule `{}` is switched off: `result` ({}:{}) doesn't look at it",
                part.name, result.position.file, result.position.line
            );
            found.push(
                Diagnostic::error("switched-off", message)
                    .with_hint("let `result` include it, or leave `result` out")
                    .at(part.position.clone()),
            );
        }
        parts.retain(|part| part.role == Role::Result);
    }
    if found.is_empty() { Ok(parts) } else { Err(found) }
}

/// True if a rule beside `result` finds something, that would be lost.
fn says_something(role: Role) -> bool {
    matches!(role, Role::Violations | Role::Findings | Role::Warnings)
}

fn is_function(rule: &RuleInfo) -> bool {
    matches!(rule.kind, RuleKind::Function { .. })
}

fn role(name: &str, manner: Manner) -> Option<Role> {
    match name {
        "result" => Some(Role::Result),
        "deny" | "violations" => Some(Role::Violations),
        "findings" => Some(Role::Findings),
        "warn" => Some(Role::Warnings),
        _ if name.starts_with("deny_") => Some(Role::Violations),
        _ if name.starts_with("warn_") => Some(Role::Warnings),
        _ if manner == Manner::Plain => None,
        "skipped" => Some(Role::Skipped),
        "skip_reason" => Some(Role::SkipReason),
        "ignore" => Some(Role::Ignore),
        "valid_input" => Some(Role::ValidInput),
        _ => None,
    }
}

/// What a rule's name was meant to be, if it is nearly a verdict rule's that fails.
fn misspelt(name: &str) -> Option<&'static str> {
    if name.starts_with("violation_") || name.starts_with("violations_") {
        return Some("violations");
    }
    let lower = name.to_lowercase();
    ["deny", "violations"].into_iter().find(|known| strsim::damerau_levenshtein(&lower, known) <= 1)
}

/// All rules at once, so that their calls travel together. A rule that is undefined is an empty
/// list.
fn query(package: &Package, parts: &[Part]) -> String {
    let lists: Vec<String> = parts
        .iter()
        .map(|part| {
            let path: Vec<String> =
                package.path.iter().cloned().chain([part.name.clone()]).collect();
            format!("[value | value := {}]", data_reference(&path))
        })
        .collect();
    format!("[\n{}\n]", lists.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_verdict_rules() {
        for name in ["violation", "Deny", "denny", "dney", "violation_x", "violatoins"] {
            assert!(misspelt(name).is_some(), "{name}");
        }
        for name in ["results", "denied", "rows", "message"] {
            assert!(misspelt(name).is_none(), "{name}");
        }
        assert_eq!(role("deny_x", Manner::Plain), Some(Role::Violations));
        assert_eq!(role("skipped", Manner::Plain), None);
    }
}
