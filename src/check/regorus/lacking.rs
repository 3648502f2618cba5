//! Functions and syntax that regorus lacks.

use super::{Places, View};
use crate::check::model::function_name;
use crate::rego::internal::builtins::lookup;
use crate::rego::syntax::tree::{ExprKind, Term, TermKind};
use crate::rego::syntax::visit;

/// The built-in functions of regorus 0.14.1 with all of its features, without the stub `opa.runtime`;
/// `Platform::register` supplies `http.send` and `net.lookup_ip_addr`.
pub(super) const HAS: &[&str] = &[
    "abs",
    "array.concat",
    "array.reverse",
    "array.slice",
    "base64.decode",
    "base64.encode",
    "base64.is_valid",
    "base64url.decode",
    "base64url.encode",
    "base64url.encode_no_pad",
    "bits.and",
    "bits.lsh",
    "bits.negate",
    "bits.or",
    "bits.rsh",
    "bits.xor",
    "ceil",
    "concat",
    "contains",
    "count",
    "endswith",
    "floor",
    "format_int",
    "glob.match",
    "glob.quote_meta",
    "graph.reachable",
    "graph.reachable_paths",
    "hex.decode",
    "hex.encode",
    "http.send",
    "indexof",
    "indexof_n",
    "intersection",
    "is_array",
    "is_boolean",
    "is_null",
    "is_number",
    "is_object",
    "is_set",
    "is_string",
    "json.filter",
    "json.is_valid",
    "json.marshal",
    "json.marshal_with_options",
    "json.match_schema",
    "json.patch",
    "json.remove",
    "json.unmarshal",
    "json.verify_schema",
    "lower",
    "max",
    "min",
    "net.cidr_contains",
    "net.cidr_expand",
    "net.cidr_is_valid",
    "net.lookup_ip_addr",
    "numbers.range",
    "numbers.range_step",
    "object.filter",
    "object.get",
    "object.keys",
    "object.remove",
    "object.subset",
    "object.union",
    "object.union_n",
    "print",
    "product",
    "rand.intn",
    "regex.find_all_string_submatch_n",
    "regex.find_n",
    "regex.is_valid",
    "regex.match",
    "regex.replace",
    "regex.split",
    "regex.template_match",
    "replace",
    "round",
    "semver.compare",
    "semver.is_valid",
    "sort",
    "split",
    "sprintf",
    "startswith",
    "strings.any_prefix_match",
    "strings.any_suffix_match",
    "strings.count",
    "strings.replace_n",
    "strings.reverse",
    "substring",
    "sum",
    "time.add_date",
    "time.clock",
    "time.date",
    "time.diff",
    "time.format",
    "time.now_ns",
    "time.parse_duration_ns",
    "time.parse_ns",
    "time.parse_rfc3339_ns",
    "time.weekday",
    "to_number",
    "trace",
    "trim",
    "trim_left",
    "trim_prefix",
    "trim_right",
    "trim_space",
    "trim_suffix",
    "type_name",
    "union",
    "units.parse",
    "units.parse_bytes",
    "upper",
    "urlquery.decode",
    "urlquery.decode_object",
    "urlquery.encode",
    "urlquery.encode_object",
    "uuid.parse",
    "uuid.rfc4122",
    "walk",
    "yaml.is_valid",
    "yaml.marshal",
    "yaml.unmarshal",
];

/// Finds calls of built-in functions that regorus doesn't have, operators called by name among them.
pub(super) fn functions(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        for (name, _, span) in &file.model.others {
            let Some(builtin) = lookup(name) else { continue };
            let is_operator = builtin.infix.is_some() && view.all.sources.text(*span) != name;
            if is_operator || name.starts_with("internal.") || HAS.contains(&name.as_str()) {
                continue;
            }
            out.push((*span, format!("regorus has no function `{name}`")));
        }
        // Comparisons called by name aren't among the calls.
        for comparison in &file.model.comparisons {
            let written = view.all.sources.text(comparison.span);
            if let Some((name, _)) = written.split_once('(').filter(|(name, _)| is_infix(name)) {
                out.push((comparison.span, format!("regorus has no function `{name}`")));
            }
        }
    }
}

/// Finds template strings, `and` and `or`, `not` over several statements, and infix operators on the left
/// of `=`.
pub(super) fn syntax(view: &View<'_>, out: &mut Places) {
    for (_, file) in &view.files {
        visit::walk_terms(file.author, &mut |term| {
            if matches!(term.kind, TermKind::Template(_)) {
                out.push((term.span, "regorus has no template strings".to_owned()));
            }
            true
        });
        visit::walk_exprs(file.author, &mut |expr| {
            let what = match &expr.kind {
                ExprKind::And(_) => "`and`",
                ExprKind::Or(_) => "`or`",
                ExprKind::Not(not) if not.explicit => "`not` over a body",
                ExprKind::Call(terms) if has_infix_on_the_left(terms) => {
                    "infix operators on the left of `=`"
                }
                _ => return true,
            };
            out.push((expr.span, format!("regorus has no {what}")));
            true
        });
    }
}

fn has_infix_on_the_left(unification: &[Term]) -> bool {
    let [operator, left, _] = unification else { return false };
    let TermKind::Call(terms) = &left.kind else { return false };
    let infix = terms.first().and_then(function_name);
    function_name(operator).as_deref() == Some("eq") && infix.is_some_and(|name| is_infix(&name))
}

fn is_infix(name: &str) -> bool {
    lookup(name).is_some_and(|builtin| builtin.infix.is_some())
}

#[cfg(all(test, feature = "regorus"))]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use regorus::Engine;

    use super::*;
    use crate::rego::internal::builtins::all;
    use crate::rego::internal::types::Function;

    /// The functions that need a feature of regorus that is off here, or that `Platform::register` supplies.
    const NOT_HERE: [&str; 4] =
        ["http.send", "json.match_schema", "json.verify_schema", "net.lookup_ip_addr"];

    #[test]
    fn the_functions_are_those_that_regorus_has() {
        let has = |name: &str, arity: usize| {
            let arguments = vec!["input.x"; arity].join(", ");
            let mut engine = Engine::new();
            let policy = format!("package p\n\nr := {name}({arguments})\n");
            engine.set_input(regorus::Value::from_json_str("{\"x\": 1}").unwrap());
            engine.add_policy("p.rego".to_owned(), policy).unwrap();
            let error = engine.eval_rule("data.p.r".to_owned()).err();
            !error.is_some_and(|error| error.to_string().contains("could not find function"))
        };
        for builtin in all()
            .iter()
            .filter(|builtin| builtin.infix.is_none() && !NOT_HERE.contains(&builtin.name))
        {
            let arity = Function::parse(builtin.signature).unwrap().args.len();
            if !builtin.name.starts_with("internal.") && builtin.name != "opa.runtime" {
                assert_eq!(
                    has(builtin.name, arity),
                    HAS.contains(&builtin.name),
                    "{}",
                    builtin.name
                );
            }
        }
    }
}
