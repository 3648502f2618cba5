//! Describing a package for reports: its files, its annotations, and the severity of its rules.
//!
//! Owns the choice among the annotations of several definitions and files. Reading them belongs to
//! `metadata`.

use sha2::{Digest as _, Sha256};

use super::metadata::{Annotation, annotations};
use super::model::{Policy, Rule, Severity};
use super::names::{PackageOrigin, Role, role};
use super::packages::VerdictPackage;
use super::split::hex;
use crate::sources::Sources;

/// Describes a package for reports.
pub(super) fn describe(verdict_package: &VerdictPackage, sources: &Sources) -> Policy {
    let modules: Vec<_> = sources
        .modules
        .iter()
        .filter(|module| verdict_package.files.contains(&module.path))
        .collect();
    // Names don't count: they depend on how the command line spells the paths.
    let mut digests: Vec<_> =
        modules.iter().map(|module| hex(&Sha256::digest(&module.text))).collect();
    digests.sort_unstable();
    let digest = match digests.as_slice() {
        [one] => one.clone(),
        all => hex(&Sha256::digest(all.join("\n"))),
    };
    let mut files = Vec::new();
    let mut package = Annotation::default();
    let mut notes = Vec::new();
    for module in &modules {
        files.push(module.path.clone());
        let mut found = annotations(&module.text);
        let line = (1..).zip(module.text.lines()).find(|(_, line)| line.starts_with("package"));
        if let Some(own) = line.and_then(|(number, _)| found.remove(&number)) {
            package.severity = most_severe(package.severity, own.severity);
            package.title = package.title.or(own.title);
            package.description = package.description.or(own.description);
            package.links.extend(own.links);
        }
        notes.push((module, found));
    }
    let rules = verdict_package.rules.iter().map(|own| {
        let mut rule = Rule {
            name: own.name.clone(),
            title: None,
            description: None,
            severity: None,
            position: Some(own.position.clone()),
        };
        let (mut all, mut some) = (true, None);
        for (module, found) in &notes {
            for (number, line) in (1..).zip(module.text.lines()) {
                let annotation = found.get(&number);
                if !defines(line, &own.name) {
                    // What the author says of `violations` holds for `result`, which consists of it.
                    if own.role == Role::Result && defines_part(line) {
                        let severity = annotation.and_then(|it| it.severity.clone());
                        some = most_severe(some.take(), severity);
                    }
                    continue;
                }
                all &= annotation.is_some_and(|a| a.severity.is_some());
                let Some(annotation) = annotation else { continue };
                some = most_severe(some.take(), annotation.severity.clone());
                rule.title = rule.title.take().or_else(|| annotation.title.clone());
                rule.description =
                    rule.description.take().or_else(|| annotation.description.clone());
            }
        }
        // A definition without an annotation is as severe as the package, or unknown.
        rule.severity = match (all, &package.severity) {
            (true, _) => some,
            (false, Some(own)) => most_severe(some, Some(own.clone())),
            (false, None) => None,
        };
        rule
    });
    Policy {
        name: verdict_package.name.clone(),
        rules: rules.collect(),
        title: package.title,
        description: package.description,
        severity: package.severity,
        links: package.links,
        document: None,
        kind: None,
        files,
        digest,
    }
}

/// Returns `true` if a line may begin a definition of the rule. A mere mention may count too, which
/// at worst makes the rule's severity unknown.
fn defines(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("default ").map_or(line, str::trim_start);
    line.strip_prefix(name)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Returns `true` if a line may begin a definition of a rule whose items are violations.
fn defines_part(line: &str) -> bool {
    let line = line.trim_start();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
    let name = line.get(..end).unwrap_or_default();
    matches!(role(name, PackageOrigin::Plain), Some(Role::Violations | Role::Findings))
}

/// Returns the more severe of two; an unknown severity counts as the most severe.
fn most_severe(a: Option<String>, b: Option<String>) -> Option<String> {
    let rank = |text: &str| Severity::parse(text).map_or(usize::MAX, |severity| severity as usize);
    match (a, b) {
        (Some(a), Some(b)) => Some(if rank(&b) > rank(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_severe_counts() {
        let severe = |a: &str, b: &str| most_severe(Some(a.into()), Some(b.into()));
        assert_eq!(severe("low", "high").as_deref(), Some("high"));
        assert_eq!(severe("who knows", "critical").as_deref(), Some("who knows"));
        assert!(defines("default deny := []", "deny") && defines("deny contains x", "deny"));
        assert!(!defines("deny_x contains x", "deny"));
    }
}
