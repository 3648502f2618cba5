//! Hints about the author's probable intention.

use super::Compiler;
use super::rule_tree::RuleId;

/// The hint about a function with a similar name, or about a missing import.
pub fn unknown_function(compiler: &Compiler<'_>, name: &str) -> Option<String> {
    let rules = compiler.rules.iter().filter(|(_, info)| info.args > 0 && info.branch == 0);
    let rules = rules.map(|(id, _): (RuleId, _)| compiler.rule_text(id));
    let functions =
        compiler.options.functions.iter().filter(|it| !it.deprecated).map(|it| it.name.to_string());
    let near = closest(name, rules.chain(functions)).map(|name| format!("did you mean `{name}`?"));
    // A name with an unknown namespace probably lacks its import.
    near.or_else(|| {
        let (first, _) = name.split_once('.').filter(|(first, _)| *first != "data")?;
        let builtin = compiler.options.functions.iter().any(|function| {
            function.name.split_once('.').is_some_and(|(namespace, _)| namespace == first)
        });
        (!builtin).then(|| format!("is `import data.….{first}` missing?"))
    })
}

/// The hint about the replacement of a function that Rego v1 has removed.
pub fn deprecated(name: &str) -> String {
    let instead = match name {
        "all" => "`every x in xs { x }`",
        "any" => "`true in xs`",
        "cast_array" => "`[x | some x in xs]`",
        "cast_set" => "`{x | some x in xs}`",
        "cast_boolean" => "`is_boolean(x)`",
        "cast_null" => "`is_null(x)`",
        "cast_object" => "`is_object(x)`",
        "cast_string" => "`is_string(x)`",
        "net.cidr_overlap" => "`net.cidr_contains(network, other)`",
        "re_match" => "`regex.match(pattern, text)`",
        "set_diff" => "`xs - ys`",
        _ => return format!("Rego v1 has no `{name}`"),
    };
    format!("Rego v1 has no `{name}`: write {instead}")
}

fn closest(name: &str, of: impl Iterator<Item = String>) -> Option<String> {
    let limit = (name.chars().count() / 4).clamp(1, 3);
    of.filter(|other| other != name && !other.starts_with("internal."))
        .map(|other| (strsim::damerau_levenshtein(name, &other), other))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, other)| other)
}
