//! Hints about the author's probable intention.

use std::collections::BTreeSet;

use super::Compiler;
use super::rule_tree::RuleId;
use crate::syntax::tree::{Module, Rule, Term, TermKind};
use crate::syntax::visit;
use crate::value::Value;

/// The hint about a function with a similar name, or about a missing import.
pub fn unknown_function(compiler: &Compiler<'_>, name: &str) -> Option<String> {
    let rules = compiler.rules.iter().filter(|(_, info)| info.args > 0 && info.branch == 0);
    let rules = rules.map(|(id, _): (RuleId, _)| compiler.rule_text(id));
    let functions = compiler
        .options
        .functions
        .iter()
        .filter(|function| !function.deprecated)
        .map(|function| function.name.to_string());
    let near = closest(name, rules.chain(functions)).or_else(|| other_word(compiler, name));
    near.map(|name| format!("did you mean `{name}`?")).or_else(|| {
        let (first, rest) = name.split_once('.').filter(|(first, _)| *first != "data")?;
        // The same function of another namespace: the host's product may have another name.
        let mut elsewhere = compiler.options.functions.iter().filter_map(|function| {
            let (_, other) = function.name.split_once('.')?;
            (function.external && other == rest).then_some(&function.name)
        });
        if let Some(name) = elsewhere.next() {
            return Some(format!("did you mean `{name}`?"));
        }
        // A name with an unknown namespace probably lacks its import.
        let builtin = compiler.options.functions.iter().any(|function| {
            function.name.split_once('.').is_some_and(|(namespace, _)| namespace == first)
        });
        (!builtin).then(|| format!("is `import data.….{first}` missing?"))
    })
}

/// Returns the built-in that corresponds to a name from another language or library.
fn other_word(compiler: &Compiler<'_>, name: &str) -> Option<String> {
    fn folded(name: &str) -> String {
        let last = name.rsplit('.').next().unwrap_or(name);
        last.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
    }
    let word = folded(name);
    let usual = match word.as_str() {
        "len" | "length" | "size" => "count",
        "hasprefix" | "beginswith" => "startswith",
        "hassuffix" => "endswith",
        "tolower" | "lowercase" | "downcase" => "lower",
        "toupper" | "uppercase" | "upcase" => "upper",
        "matches" | "rematch" | "regexmatch" => "regex.match",
        "format" | "printf" => "sprintf",
        "join" => "concat",
        "indexof" | "find" => "indexof",
        "typeof" | "gettype" => "type_name",
        "isinteger" | "isint" | "isfloat" => "is_number",
        "isbool" => "is_boolean",
        "islist" => "is_array",
        "isdict" | "ismap" => "is_object",
        "int" | "parseint" | "atoi" => "to_number",
        "fromjson" | "parsejson" | "jsondecode" => "json.unmarshal",
        "tojson" | "jsonencode" | "stringify" => "json.marshal",
        "b64decode" | "base64decode" => "base64.decode",
        "now" => "time.now_ns",
        word => word,
    };
    let functions = || {
        let functions = compiler.options.functions.iter();
        functions
            .filter(|function| !function.deprecated && !function.external)
            .map(|function| &*function.name)
    };
    if functions().any(|name| name == usual) {
        return Some(usual.to_owned());
    }
    let mut same = functions().filter(|name| folded(name) == usual);
    let found = same.next()?.to_owned();
    same.next().is_none().then_some(found)
}

/// The hint about a `with` whose target isn't a document or a function.
pub fn with_target(compiler: &Compiler<'_>, name: &str) -> Option<String> {
    let head = name.split(['.', '[']).next().unwrap_or(name);
    let root = closest(head, ["input", "data"].into_iter().map(str::to_owned));
    let rest = name.get(head.len()..).unwrap_or_default();
    let near = root.map(|root| format!("{root}{rest}")).or_else(|| {
        let functions = compiler.options.functions.iter().map(|function| function.name.to_string());
        closest(name, functions)
    });
    near.map(|near| format!("did you mean `{near}`?"))
}

/// The hint about a variable that nothing binds.
pub fn unsafe_variable(
    compiler: &Compiler<'_>,
    (name, place): (&str, Option<(&Module, &Rule)>),
    sought: bool,
    negated: bool,
) -> Option<String> {
    match name {
        "True" | "False" => return Some(format!("write `{}`", name.to_lowercase())),
        "None" | "Null" | "nil" | "undefined" => return Some("write `null`".to_owned()),
        "self" | "this" => return Some("the document is `input`".to_owned()),
        _ => {}
    }
    if sought && name != "_" {
        return Some(format!("`in` only tests: `some {name} in xs` binds `{name}`"));
    }
    let key = Value::from(name);
    // The root of the tree is `data`.
    if compiler.rule_tree.children.contains_key(&key)
        || compiler.options.data.is_some_and(|data| data.get(&key).is_some())
    {
        return Some(format!("did you mean `data.{name}`?"));
    }
    if let Some(root) = closest(name, ["input", "data"].into_iter().map(str::to_owned)) {
        return Some(format!("did you mean `{root}`?"));
    }
    if let Some(near) = place.and_then(|place| near_name(compiler, name, place)) {
        return Some(format!("did you mean `{near}`?"));
    }
    if name == "_" {
        return None;
    }
    if let Some(package) = only_package_with(compiler, &key) {
        let last = package.rsplit('.').next().unwrap_or_default();
        return Some(format!("import its package: `import {package}`, then `{last}.{name}`"));
    }
    if negated {
        return Some(format!(
            "`not` gives no variable a value; bind `{name}` before, as in `some {name}, _ in xs`"
        ));
    }
    // In a query there's nothing to assign before.
    place.map(|_| format!("nothing gives `{name}` a value: assign one with `{name} := ...`"))
}

/// Returns the only package, as a reference, that has a rule of a name.
fn only_package_with(compiler: &Compiler<'_>, name: &Value) -> Option<String> {
    let packages: BTreeSet<String> = (compiler.rules.iter())
        .filter_map(|(_, rule)| {
            let (last, package) = rule.path.split_last()?;
            // The first is the root.
            let parts = package.iter().skip(1).map(|part| part.as_ref()?.as_str());
            let parts = parts.collect::<Option<Vec<_>>>()?;
            (last.as_ref() == Some(name) && rule.branch == 0)
                .then(|| format!("data.{}", parts.join(".")))
        })
        .collect();
    let mut packages = packages.into_iter();
    packages.next().filter(|_| packages.next().is_none())
}

/// The length of the shortest name that is taken for a slip; shorter ones are near too many others.
const MIN_NAME: usize = 4;

/// The name of an import, of a rule of the package or of a variable of the rule that is nearest.
fn near_name(
    compiler: &Compiler<'_>,
    name: &str,
    (module, rule): (&Module, &Rule),
) -> Option<String> {
    if name.chars().count() < MIN_NAME {
        return None;
    }
    let imports = module.imports.iter().filter_map(|import| match (&import.alias, &import.path) {
        (Some((alias, _)), _) => Some(alias.to_string()),
        (None, Term { kind: TermKind::Ref(parts), .. }) => string(parts.last()?),
        _ => None,
    });
    let mut package = Some(&*compiler.rule_tree);
    for part in &module.package.path {
        let key = match &part.kind {
            // The root of the tree is `data`.
            TermKind::Var(_) => continue,
            _ => string(part).map(Value::from),
        };
        package = package.zip(key).and_then(|(node, key)| node.children.get(&key));
    }
    let rules = package.into_iter().flat_map(|node| node.children.keys());
    let rules = rules.filter_map(Value::as_str).map(str::to_owned);
    let vars = visit::vars(rule).into_iter();
    let vars = vars.map(|var| compiler.rewritten.get(&var).unwrap_or(&var).to_string());
    let vars = vars.filter(|var| !var.starts_with("__local") && !var.starts_with('$'));
    closest(name, imports.chain(rules).chain(vars))
}

fn string(term: &Term) -> Option<String> {
    match &term.kind {
        TermKind::String(text) => Some(text.to_string()),
        _ => None,
    }
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

/// Returns the name that is nearer than all others, if it is near enough.
fn closest(name: &str, of: impl Iterator<Item = String>) -> Option<String> {
    let length = name.chars().count();
    let limit = (length / 4).clamp(1, 3);
    let near: BTreeSet<_> = of
        .filter(|other| other != name && !other.starts_with("internal."))
        // The distance isn't less than this, which takes less time.
        .filter(|other| other.chars().count().abs_diff(length) <= limit)
        .map(|other| (strsim::damerau_levenshtein(name, &other), other))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    let mut near = near.into_iter();
    let (distance, first) = near.next()?;
    near.all(|(other, _)| other > distance).then_some(first)
}
