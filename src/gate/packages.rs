//! The packages that give verdicts, and their verdict rules.
//!
//! Owns refusing packages that would pass because a verdict rule is missing, misspelt or of the
//! wrong kind. The names belong to `names`, the meaning of the rules' values to `verdict`.

use std::collections::{BTreeSet, HashMap, HashSet};

pub(super) use super::names::{PackageOrigin, Role};
use super::names::{near, role};
use super::reach::Reach;
use crate::evaluate::{Policies, Query};
use crate::load::{Package, RuleDefinition, RuleInfo, RuleKind};
use crate::text::data_reference;
use crate::text::nearest;
use crate::{Diagnostic, Error, ErrorKind, Position};

/// A rule that contributes to a verdict.
#[derive(Debug, Clone)]
pub(super) struct VerdictRule {
    pub role: Role,
    pub name: String,
    /// The position of its first definition.
    pub position: Position,
    pub definitions: Vec<RuleDefinition>,
}

impl VerdictRule {
    /// Returns the position of the only definition that can have given a message, or else of the
    /// first one that can.
    pub fn origin_of(&self, message: &str) -> &Position {
        let found = self.definitions.iter().find(|definition| definition.can_say(message));
        found.map_or(&self.position, |definition| &definition.position)
    }
}

/// A package that gives verdicts, with the query for them.
#[derive(Debug, Clone)]
pub(super) struct VerdictPackage {
    /// The dotted name.
    pub name: String,
    /// The path below `data`.
    pub path: Vec<String>,
    pub files: Vec<String>,
    pub query: Query,
    pub rules: Vec<VerdictRule>,
}

/// Returns the packages that give verdicts: the chosen ones, or else all that have to.
pub(super) fn verdict_packages(
    policies: &Policies,
    chosen: &[String],
    origin: PackageOrigin,
    reach: &Reach,
) -> Result<Vec<VerdictPackage>, Error> {
    let all: Vec<&Package> = policies.packages().collect();
    let is_named = |package: &Package| chosen.contains(&dotted(&package.path));
    let candidates: Vec<&Package> = all
        .iter()
        .filter(|package| chosen.is_empty() || is_chosen(chosen, &dotted(&package.path)))
        .filter(|package| is_named(package) || !package.is_suite)
        .copied()
        .collect();
    let seen = seen(&candidates, origin, reach);
    let used = used(&all, origin);
    let suites = all.iter().filter(|package| package.is_suite);
    let tested: HashSet<&Vec<String>> = suites.flat_map(|suite| &suite.refers_to).collect();
    let mut found = Vec::new();
    let mut asked = Vec::new();
    for package in candidates {
        let name = dotted(&package.path);
        let optional = !is_named(package)
            && (package.is_test
                    || used.contains(package.path.as_slice())
                    // Functions alone, which tests share, are no policy.
                    || package.rules.iter().all(is_function) && tested.contains(&package.path));
        match verdict_rules(package, origin, reach, &seen) {
            Err(diagnostics) => found.extend(diagnostics),
            Ok(rules) if !gives_verdict(&rules) => {
                if !optional {
                    found.push(without_verdict(package, origin));
                }
            }
            Ok(rules) => asked.push(VerdictPackage {
                query: policies.query(&query(package, &rules))?,
                files: package.files.clone(),
                path: package.path.clone(),
                name,
                rules,
            }),
        }
    }
    if found.is_empty() { Ok(asked) } else { Err(Error::policy(found)) }
}

/// Returns the rules that verdicts depend on, by path.
fn seen(candidates: &[&Package], origin: PackageOrigin, reach: &Reach) -> BTreeSet<String> {
    let rules = candidates.iter().flat_map(|package| {
        verdict_names(package, origin).map(|name| (package.path.as_slice(), name))
    });
    reach.reached(rules)
}

/// Returns the packages that a package with a verdict refers to, directly or through others: they
/// need no verdict of their own. Packages that only refer to each other do.
fn used<'p>(all: &[&'p Package], origin: PackageOrigin) -> BTreeSet<&'p [String]> {
    let by_path: HashMap<&Vec<String>, &Package> =
        all.iter().map(|package| (&package.path, *package)).collect();
    let gives = |package: &&&Package| verdict_names(package, origin).next().is_some();
    let mut open: Vec<&'p Package> = all.iter().filter(gives).copied().collect();
    let mut used = BTreeSet::new();
    while let Some(package) = open.pop() {
        for path in &package.refers_to {
            if used.insert(path.as_slice()) {
                open.extend(by_path.get(path).copied());
            }
        }
    }
    used
}

/// Returns the sets that no verdict depends on, though their package gives one: each may be meant as
/// a verdict rule, under a name that is further from one than [`near`] looks.
pub(super) fn unused_sets<'p>(
    policies: &'p Policies,
    origin: PackageOrigin,
    reach: &Reach,
) -> Vec<&'p RuleInfo> {
    let packages: Vec<&Package> = policies.packages().filter(|package| !package.is_test).collect();
    let seen = seen(&packages, origin, reach);
    let with_verdict =
        packages.iter().filter(|package| verdict_names(package, origin).next().is_some());
    with_verdict
        .flat_map(|package| {
            let name = |rule: &RuleInfo| rule.path.get(package.path.len()).cloned();
            let is_verdict_rule =
                move |rule: &RuleInfo| name(rule).is_some_and(|name| role(&name, origin).is_some());
            package.rules.iter().filter(move |rule| !is_verdict_rule(rule))
        })
        .filter(|rule| rule.kind == RuleKind::PartialSet)
        .filter(|rule| !seen.contains(&data_reference(&rule.path)))
        .collect()
}

/// Returns the names of a package's rules that can contribute to its verdict.
fn verdict_names(package: &Package, origin: PackageOrigin) -> impl Iterator<Item = &str> {
    let own = package.rules.iter().filter(|rule| !is_function(rule));
    own.filter_map(|rule| rule.path.get(package.path.len()).map(String::as_str))
        .filter(move |name| role(name, origin).is_some())
}

/// Returns `true` if a package was chosen, by name or by a glob.
pub(super) fn is_chosen(chosen: &[String], name: &str) -> bool {
    chosen.iter().any(|given| matches(given, name))
}

/// Returns `true` if a pattern, in which only `*` is special, matches a name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The first occurrence leaves the most for the other parts.
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

/// Refuses chosen packages that don't exist.
pub(super) fn refuse_unknown<'a>(
    chosen: &[String],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Error> {
    for name in chosen {
        let one = std::slice::from_ref(name);
        if !known.clone().any(|known| is_chosen(one, known)) {
            let message = format!("no package matches `{name}`");
            let error = Error::new(ErrorKind::Configuration, message);
            return Err(match nearest(name, known.clone()) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint("`-n` takes the name from the `package` line"),
            });
        }
    }
    Ok(())
}

/// Returns the dotted name of a package, such as `a.b`. A part that isn't an identifier is put in
/// brackets, as in `a["b.c"]`, so that names are unique.
pub(super) fn dotted(path: &[String]) -> String {
    let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
        return String::new();
    };
    let shown = data_reference(rest);
    format!("{first}{}", shown.strip_prefix("data").unwrap_or(&shown))
}

/// Returns the name of the first rule of a package that would be a verdict rule if the package were
/// evaluated.
pub(super) fn verdict_rule(package: &Package) -> Option<&str> {
    verdict_names(package, PackageOrigin::Plain).next()
}

fn gives_verdict(rules: &[VerdictRule]) -> bool {
    rules.iter().any(|rule| {
        matches!(rule.role, Role::Result | Role::Violations | Role::Findings | Role::Warnings)
    })
}

fn without_verdict(package: &Package, origin: PackageOrigin) -> Diagnostic {
    let name = dotted(&package.path);
    let message = format!("the package `{name}` has no verdict rule: it would always pass");
    let hint = match origin {
        _ if package.has_only_tests() => crate::check::TESTS_HINT,
        PackageOrigin::Plain => {
            "give it `deny`, `violations`, `findings`, `warn` or `result`, or choose the packages that count with `-n`"
        }
        PackageOrigin::Document => "give it `result`, `violations` or `findings`",
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

/// Returns the rules of a package that contribute to its verdict.
fn verdict_rules(
    package: &Package,
    origin: PackageOrigin,
    reach: &Reach,
    seen: &BTreeSet<String>,
) -> Result<Vec<VerdictRule>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut rules = Vec::new();
    for rule in &package.rules {
        let Some((first, rest)) =
            rule.path.get(package.path.len()..).and_then(<[String]>::split_first)
        else {
            continue;
        };
        let Some(role) = role(first, origin) else {
            if let Some(part) = rest.iter().find(|part| is_verdict_name(part, rule, origin))
                && !seen.contains(&data_reference(&rule.path))
            {
                let name = dotted(rule.path.get(package.path.len()..).unwrap_or_default());
                let hint = format!("did you mean `{part}`? a verdict rule's name has one part");
                found.push(unused(rule, &name, hint));
            }
            if let Some(meant) = near(first, rule.kind == RuleKind::PartialSet)
                && !is_function(rule)
                && !seen.contains(&data_reference(&rule.path))
            {
                let hint = format!("did you mean `{meant}`? otherwise give it another name");
                found.push(unused(rule, first, hint));
            }
            continue;
        };
        if rule.path.len() > package.path.len() + 1 {
            let message = format!("the verdict rule `{first}` has further parts in its name");
            found.push(
                Diagnostic::error("verdict-rule", message)
                    .with_hint(match role {
                        Role::Result => "write `result := {\"violations\": …}`".to_owned(),
                        _ => format!("write `{first} contains …`"),
                    })
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
            rules.push(VerdictRule {
                role,
                name: first.clone(),
                position: rule.position.clone(),
                definitions: rule.definitions.clone(),
            });
        }
    }
    // The rule `result` is the whole verdict of its package.
    if let Some(result) = rules.iter().find(|rule| rule.role == Role::Result) {
        let verdict_reaches = |rule: &str| reach.reaches(&package.path, &result.name, rule);
        let lost = rules.iter().filter(|rule| would_be_lost(rule.role));
        for rule in lost.filter(|rule| !verdict_reaches(&rule.name)) {
            let message = format!(
                "the verdict rule `{}` is switched off: `result` ({}:{}) doesn't look at it",
                rule.name, result.position.file, result.position.line
            );
            found.push(
                Diagnostic::error("switched-off", message)
                    .with_hint("let `result` include it, or leave `result` out")
                    .at(rule.position.clone()),
            );
        }
        rules.retain(|rule| rule.role == Role::Result);
    }
    if found.is_empty() { Ok(rules) } else { Err(found) }
}

/// Returns the finding for a rule that no verdict depends on, though its name is nearly a verdict
/// rule's.
fn unused(rule: &RuleInfo, name: &str, hint: String) -> Diagnostic {
    let message = format!("the rule `{name}` isn't a verdict rule: no verdict uses it");
    Diagnostic::error("misspelt-verdict-rule", message).with_hint(hint).at(rule.position.clone())
}

/// Returns `true` if a part of the name of a rule that makes a set would make it a verdict rule.
fn is_verdict_name(part: &str, rule: &RuleInfo, origin: PackageOrigin) -> bool {
    rule.kind == RuleKind::PartialSet && role(part, origin).is_some()
}

/// Returns `true` if the violations of a rule with this role would be lost beside `result`.
fn would_be_lost(role: Role) -> bool {
    matches!(role, Role::Violations | Role::Findings | Role::Warnings)
}

fn is_function(rule: &RuleInfo) -> bool {
    matches!(rule.kind, RuleKind::Function { .. })
}

/// Returns a query for all rules at once, so that their calls are batched. An undefined rule gives
/// an empty list.
fn query(package: &Package, rules: &[VerdictRule]) -> String {
    let lists: Vec<String> = rules
        .iter()
        .map(|rule| {
            let path: Vec<String> =
                package.path.iter().cloned().chain([rule.name.clone()]).collect();
            format!("[value | value := {}]", data_reference(&path))
        })
        .collect();
    format!("[\n{}\n]", lists.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_star_of_a_pattern_is_special() {
        for (pattern, name) in [
            ("a.b", "a.b"),
            ("*", "a.b"),
            ("a.*", "a.b.c"),
            ("*.c", "a.b.c"),
            ("a*c", "ac"),
            ("a.*.c", "a.c.c.c"),
            ("*b*", "a.b.c"),
            ("a[\"?\"].*", "a[\"?\"].b"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("?", "p"),
            ("[pq]", "p"),
            ("a", "a.b"),
            ("a*a", "a"),
            ("a.*.c", "a.c"),
            ("*b", "a.b.c"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
