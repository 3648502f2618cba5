//! What the author probably meant.

use super::Compiler;
use super::rule_tree::RuleId;

/// The function that a name is close to.
pub fn function(compiler: &Compiler<'_>, name: &str) -> Option<String> {
    let rules = compiler.rules.iter().filter(|(_, info)| info.args > 0 && info.branch == 0);
    let rules = rules.map(|(id, _): (RuleId, _)| compiler.rule_text(id));
    let functions =
        compiler.options.functions.iter().filter(|it| !it.deprecated).map(|it| it.name.to_string());
    closest(name, rules.chain(functions)).map(|name| format!("did you mean `{name}`?"))
}

fn closest(name: &str, of: impl Iterator<Item = String>) -> Option<String> {
    let limit = (name.chars().count() / 4).clamp(1, 3);
    of.filter(|other| other != name && !other.starts_with("internal."))
        .map(|other| (strsim::damerau_levenshtein(name, &other), other))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, other)| other)
}
