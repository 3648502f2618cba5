//! The contents of a program: its packages, its rules, and the dependencies between these.

use std::collections::BTreeMap;

use super::{PackageInfo, RuleInfo, RuleKind};
use crate::core::{Core, RuleReads, SetId, push_part};
use crate::syntax::tree::{Module, TermKind};
use crate::value::Value;

/// Returns the packages, the rules, and the index of each rule set among the rules.
pub(super) fn describe(
    core: &Core,
    modules: &[Module],
) -> (Vec<PackageInfo>, Vec<RuleInfo>, BTreeMap<SetId, usize>) {
    let mut packages: BTreeMap<String, PackageInfo> = BTreeMap::new();
    for module in modules {
        let path = package_path(module);
        let package =
            packages.entry(path.clone()).or_insert_with(|| PackageInfo { path, spans: Vec::new() });
        package.spans.push(module.package.span);
    }
    let mut ids: Vec<SetId> = (0..).map(SetId).take(core.sets.len()).collect();
    let path = |id: &SetId| core.set(*id).map(|set| &set.path);
    ids.sort_by(|a, b| path(a).cmp(&path(b)));
    let indices: BTreeMap<SetId, usize> = ids.iter().copied().zip(0..).collect();
    let rules = ids.iter().filter_map(|id| rule(core, *id, &packages, &indices)).collect();
    (packages.into_values().collect(), rules, indices)
}

fn package_path(module: &Module) -> String {
    let mut path = String::from("data");
    for part in module.package.path.iter().skip(1) {
        if let TermKind::String(text) = &part.kind {
            push_part(&mut path, &Value::from(text.clone()));
        }
    }
    path
}

fn rule(
    core: &Core,
    id: SetId,
    packages: &BTreeMap<String, PackageInfo>,
    indices: &BTreeMap<SetId, usize>,
) -> Option<RuleInfo> {
    let set = core.set(id)?;
    let kind = match (set.function, set.multi, set.ground) {
        (true, _, _) => RuleKind::Function,
        (_, true, true) => RuleKind::PartialSet,
        (_, false, true) => RuleKind::Complete,
        _ => RuleKind::PartialObject,
    };
    // The longest package path that is a prefix of the rule's.
    let mut package = String::from("data");
    let mut path = package.clone();
    for part in &set.parts {
        push_part(&mut path, part);
        if packages.contains_key(&path) {
            package.clone_from(&path);
        }
    }
    let rules: Vec<_> = set.rules().filter_map(|id| core.rule(id)).collect();
    let mut reads = RuleReads::new(core);
    for rule in &rules {
        reads.body(&rule.body);
    }
    Some(RuleInfo {
        path: set.path.to_string(),
        package,
        kind,
        arity: set.arity,
        has_default: set.default.is_some(),
        definitions: rules.iter().map(|rule| rule.span).collect(),
        depends_on: reads.sets().iter().filter_map(|set| indices.get(set).copied()).collect(),
    })
}
