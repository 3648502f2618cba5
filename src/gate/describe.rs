//! What reports say of a package: its files, its annotations, and how severe its rules are.
//!
//! Owns the choice among the annotations of several definitions and files. Reading them is
//! `metadata`'s.

use sha2::{Digest as _, Sha256};

use super::metadata::{Annotation, annotations};
use super::model::{Policy, Rule, Severity};
use super::packages::Asked;
use super::split::hex;
use crate::sources::Sources;

/// What reports say of a package.
pub(super) fn describe(asked: &Asked, sources: &Sources) -> Policy {
    let modules: Vec<_> =
        sources.modules.iter().filter(|module| asked.files.contains(&module.path)).collect();
    let mut hash = Sha256::new();
    let mut files = Vec::new();
    let mut package = Annotation::default();
    let mut notes = Vec::new();
    for module in &modules {
        hash.update(format!("{} {}\n", hex(&Sha256::digest(&module.text)), module.path));
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
    let rules = asked.parts.iter().map(|part| {
        let mut rule = Rule {
            name: part.name.clone(),
            title: None,
            description: None,
            severity: None,
            position: Some(part.position.clone()),
        };
        let (mut all, mut some) = (true, None);
        for (module, found) in &notes {
            for (number, line) in (1..).zip(module.text.lines()) {
                if !defines(line, &part.name) {
                    continue;
                }
                let annotation = found.get(&number);
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
        name: asked.name.clone(),
        rules: rules.collect(),
        title: package.title,
        description: package.description,
        severity: package.severity,
        links: package.links,
        document: None,
        kind: None,
        files,
        digest: hex(&hash.finalize()),
    }
}

/// True if a line may begin a definition of the rule; mentions of it count too, which at worst
/// makes its severity unknown.
fn defines(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("default ").map_or(line, str::trim_start);
    line.strip_prefix(name)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// The more severe of two; what isn't known counts as the most severe.
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
