//! Descriptions of packages for reports, from files and annotations.
//!
//! Owns the choice among the annotations of several definitions and files.

use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::load::roles::{PackageOrigin, Role, role};
use rego_platform::rego::Value;
use rego_platform::rego::internal::annotations::{Annotations, Scope, Target, of_modules};
use rego_platform::rego::syntax::tree::{self, Module, TermKind};

use super::packages::{VerdictPackage, VerdictRule};
use crate::digest;
use crate::report::formats::facts::place;
use crate::report::model::{Policy, Rule, Severity};

/// Describes a package for reports. Returns notes about controls that no report can have as well.
pub(crate) fn describe(package: &VerdictPackage, policies: &Policies) -> (Policy, Vec<String>) {
    let texts = policies.program().sources();
    let mut policy = Policy { name: package.name.clone(), ..Policy::default() };
    let (mut controls, mut notes) = (Vec::new(), Vec::new());
    let mut digests = Vec::new();
    let mut definitions = Vec::new();
    for module in policies.program().modules() {
        let source = texts.get(module.span.file);
        let Some(source) = source.filter(|own| package.files.iter().any(|file| file == own.path()))
        else {
            continue;
        };
        policy.files.push(source.path().to_owned());
        digests.push(digest::sha256(source.all().as_bytes()));
        // Blocks that can't be read are refused when a module is compiled.
        let blocks = of_modules([module], texts).unwrap_or_default();
        for block in blocks.iter().filter(|block| matches!(block.target, Target::Package(_))) {
            policy.severity = most_severe(policy.severity, severity(block));
            policy.title = policy.title.or_else(|| written(&block.title));
            policy.description = policy.description.or_else(|| written(&block.description));
            policy.remediation = policy.remediation.or_else(|| custom(block, REMEDIATION));
            policy.effective_on = policy.effective_on.or_else(|| effective_on(block));
            let links = block.related_resources.iter().map(|resource| &resource.address);
            policy.links.extend(links.filter(|link| link.starts_with("https://")).cloned());
        }
        let undated = |block: &&Annotations| {
            block.custom.contains_key(&Value::from(EFFECTIVE_ON)) && effective_on(block).is_none()
        };
        notes.extend(blocks.iter().filter(undated).map(|block| {
            format!(
                "date ignored: `custom.effective_on` at `{}` isn't a date such as `2027-01-31`",
                place(&position(texts, block.span))
            )
        }));
        for block in blocks.iter().filter(|block| block.custom.contains_key(&Value::from(CONTROLS)))
        {
            let of = below(block, module);
            match controls_of(block).filter(|_| is_of_verdict(block, of, package)) {
                Some(names) => controls.push((of.map(str::to_owned), names)),
                None => notes.push(format!(
                    "controls ignored: `custom.controls` at `{}` isn't an array of names above a package or a verdict rule",
                    place(&position(texts, block.span))
                )),
            }
        }
        for rule in &module.rules {
            let Some(name) = rule_name(rule) else { continue };
            let about = blocks.iter().filter(|block| is_about(block, module, rule));
            definitions.push((name, about.cloned().collect()));
        }
    }
    // Names don't count: they depend on how the command line spells the paths.
    digests.sort_unstable();
    policy.digest = match digests.as_slice() {
        [one] => one.clone(),
        all => digest::sha256(all.join("\n")),
    };
    let rules = package.rules.iter();
    policy.rules = rules.map(|own| rule(own, &definitions, policy.severity.as_ref())).collect();
    for (of, names) in controls {
        let Some(of) = of else {
            add_new(&mut policy.controls, &names);
            continue;
        };
        let own = package.rules.iter().zip(&mut policy.rules).filter(|(own, _)| is_part(&of, own));
        own.for_each(|(_, rule)| add_new(&mut rule.controls, &names));
    }
    (policy, notes)
}

/// The member of `custom` with the names of controls.
const CONTROLS: &str = "controls";

/// The member of `custom` with the remedy of violations.
const REMEDIATION: &str = "remediation";

/// The member of `custom` with the date from which violations fail.
const EFFECTIVE_ON: &str = "effective_on";

/// Returns the controls of a block, of all frameworks; `None` if they are malformed.
fn controls_of(block: &Annotations) -> Option<Vec<String>> {
    let names = |list: &Value| {
        let names = list.as_array()?.iter();
        names.map(|name| written(name.as_str()?)).collect::<Option<Vec<_>>>()
    };
    match block.custom.get(&Value::from(CONTROLS))? {
        Value::Object(frameworks) => {
            Some(frameworks.values().map(names).collect::<Option<Vec<_>>>()?.concat())
        }
        list => names(list),
    }
}

/// Returns the date from which violations fail. YAML reads an unquoted date as a time.
fn effective_on(block: &Annotations) -> Option<String> {
    let text = custom(block, EFFECTIVE_ON)?;
    let date = text.strip_suffix("T00:00:00Z").unwrap_or(&text);
    let parsed = chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    Some(date.to_owned()).filter(|date| parsed.to_string() == *date)
}

/// Returns the name of the rule below a block.
fn below<'m>(block: &Annotations, module: &'m Module) -> Option<&'m str> {
    let Target::Rule(_, span) = &block.target else { return None };
    rule_name(module.rules.iter().find(|rule| rule.span == *span)?)
}

/// Returns `true` if a block annotates the package or a verdict rule.
fn is_of_verdict(block: &Annotations, below: Option<&str>, package: &VerdictPackage) -> bool {
    matches!(block.target, Target::Package(_))
        || below.is_some_and(|name| package.rules.iter().any(|own| is_part(name, own)))
}

/// Returns `true` if a rule is a verdict rule, or used by `result`.
fn is_part(name: &str, own: &VerdictRule) -> bool {
    let role = || role(name, PackageOrigin::Plain);
    name == own.name
        || own.role == Role::Result && matches!(role(), Some(Role::Violations | Role::Findings))
}

fn add_new(all: &mut Vec<String>, more: &[String]) {
    for name in more {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
}

/// Describes a rule, given the annotations of each definition in its package.
fn rule(
    own: &VerdictRule,
    definitions: &[(&str, Vec<Annotations>)],
    of_package: Option<&String>,
) -> Rule {
    let mut rule = Rule {
        name: own.name.clone(),
        title: None,
        description: None,
        severity: None,
        remediation: None,
        effective_on: None,
        controls: Vec::new(),
        position: Some(own.position.clone()),
    };
    let (mut all, mut some) = (true, None);
    let mut dates = Vec::new();
    for (name, blocks) in definitions {
        let severity = blocks.iter().map(severity).fold(None, most_severe);
        if *name != own.name {
            // What the author says of `violations` holds for `result`, which consists of it.
            if is_part(name, own) {
                some = most_severe(some, severity);
            }
            continue;
        }
        all &= severity.is_some();
        some = most_severe(some, severity);
        for block in blocks {
            rule.title = rule.title.or_else(|| written(&block.title));
            rule.description = rule.description.or_else(|| written(&block.description));
            rule.remediation = rule.remediation.or_else(|| custom(block, REMEDIATION));
        }
        dates.push(blocks.iter().find_map(effective_on));
    }
    // A definition without a date fails now, so the earliest counts only if each has one.
    rule.effective_on =
        dates.into_iter().collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min());
    // A definition without an annotation is as severe as the package, or unknown.
    rule.severity = match (all, of_package) {
        (true, _) => some,
        (false, Some(own)) => most_severe(some, Some(own.clone())),
        (false, None) => None,
    };
    rule
}

/// Returns the first name of a rule's path in its package.
pub(super) fn rule_name(rule: &tree::Rule) -> Option<&str> {
    match &rule.head.reference.first()?.kind {
        TermKind::Var(name) => Some(name),
        _ => None,
    }
}

/// Returns `true` if a block annotates a definition: it is above the definition, or above one of the same
/// name with the scope `document`.
fn is_about(block: &Annotations, module: &Module, rule: &tree::Rule) -> bool {
    matches!(&block.target, Target::Rule(_, span) if *span == rule.span)
        || block.scope == Scope::Document
            && below(block, module).is_some_and(|name| Some(name) == rule_name(rule))
}

fn severity(block: &Annotations) -> Option<String> {
    custom(block, "severity")
}

/// Returns a string of `custom`.
fn custom(block: &Annotations, name: &str) -> Option<String> {
    written(block.custom.get(&Value::from(name))?.as_str()?)
}

/// Returns a trimmed string, unless it is empty.
fn written(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
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
    }
}
