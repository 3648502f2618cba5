//! The table of built-in functions: every name in OPA 1.22.4, with its types.
//!
//! Owns the declarations. The implementation of a function is in the file of its family, which
//! lists its functions by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Builtin, Family, Run};

macro_rules! families {
    ($($family:ident)+; crypto: $($crypto:ident)+) => {
        const FAMILIES: &[Family] = &[
            $(super::$family::FUNCTIONS,)+
            $(#[cfg(feature = "crypto")] super::$crypto::FUNCTIONS,)+
        ];
    };
}

families! {
    aggregates casts collections comparison encoding glob glob_intersect graph http json_patch
    json_schema net net_lookup numbers objects parse_module regex render_template runtime semver
    sprintf strings time units uri uuid yaml;
    crypto: aws crypto jwt
}

/// Functions that are left to the engine or to a compile stage.
const MACHINE: &[&str] = &[
    "assign",
    "eq",
    "internal.print",
    "internal.test_case",
    "print",
    "rego.metadata.chain",
    "rego.metadata.rule",
];

/// Returns `true` if a function is declared but not implemented. Its name and types are checked as
/// in OPA, but a policy that calls it doesn't load.
pub fn is_missing(name: &str) -> bool {
    !MACHINE.contains(&name)
        && lookup(name).is_some_and(|builtin| matches!(builtin.run, Run::Machine))
}

/// Declares a function.
const fn f(name: &'static str, signature: &'static str) -> Builtin {
    Builtin {
        name,
        infix: None,
        signature,
        nondeterministic: false,
        deprecated: false,
        relation: false,
        run: Run::Machine,
    }
}

impl Builtin {
    const fn infix(mut self, operator: &'static str) -> Self {
        self.infix = Some(operator);
        self
    }

    const fn nondeterministic(mut self) -> Self {
        self.nondeterministic = true;
        self
    }

    const fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }

    const fn relation(mut self) -> Self {
        self.relation = true;
        self
    }
}

/// All functions with an index by name, built once.
struct Table {
    functions: Vec<Builtin>,
    index: HashMap<&'static str, usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let runs: HashMap<&str, Run> =
        FAMILIES.iter().flat_map(|family| family.iter().copied()).collect();
    let mut functions = declarations();
    for function in &mut functions {
        if let Some(run) = runs.get(function.name) {
            function.run = *run;
        }
    }
    let index = functions.iter().enumerate().map(|(at, function)| (function.name, at)).collect();
    Table { functions, index }
});

/// Returns the function of this name; operators have OPA's names.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    let at = TABLE.index.get(name)?;
    TABLE.functions.get(*at)
}

/// Returns all functions, ordered by name.
pub fn all() -> &'static [Builtin] {
    &TABLE.functions
}

#[rustfmt::skip]
#[allow(clippy::too_many_lines)]
fn declarations() -> Vec<Builtin> {
    vec![
        f("abs", "number -> number"),
        f("all", "array[any] | set[any] -> boolean").deprecated(),
        f("and", "set[any], set[any] -> set[any]").infix("&"),
        f("any", "array[any] | set[any] -> boolean").deprecated(),
        f("array.concat", "array[any], array[any] -> array[any]"),
        f("array.flatten", "array[any] -> array[any]"),
        f("array.reverse", "array[any] -> array[any]"),
        f("array.slice", "array[any], number, number -> array[any]"),
        f("assign", "any, any -> boolean").infix(":="),
        f("base64.decode", "string -> string"),
        f("base64.encode", "string -> string"),
        f("base64.is_valid", "string -> boolean"),
        f("base64url.decode", "string -> string"),
        f("base64url.encode", "string -> string"),
        f("base64url.encode_no_pad", "string -> string"),
        f("bits.and", "number, number -> number"),
        f("bits.lsh", "number, number -> number"),
        f("bits.negate", "number -> number"),
        f("bits.or", "number, number -> number"),
        f("bits.rsh", "number, number -> number"),
        f("bits.xor", "number, number -> number"),
        f("cast_array", "any -> array[any]").deprecated(),
        f("cast_boolean", "any -> boolean").deprecated(),
        f("cast_null", "any -> null").deprecated(),
        f("cast_object", "any -> object[any: any]").deprecated(),
        f("cast_set", "any -> set[any]").deprecated(),
        f("cast_string", "any -> string").deprecated(),
        f("ceil", "number -> number"),
        f("concat", "string, array[string] | set[string] -> string"),
        f("contains", "string, string -> boolean"),
        f("count", "string | array[any] | object[any: any] | set[any] -> number"),
        f("crypto.hmac.equal", "string, string -> boolean"),
        f("crypto.hmac.md5", "string, string -> string"),
        f("crypto.hmac.sha1", "string, string -> string"),
        f("crypto.hmac.sha256", "string, string -> string"),
        f("crypto.hmac.sha512", "string, string -> string"),
        f("crypto.md5", "string -> string"),
        f("crypto.parse_private_keys", "string -> array[object[string: any]]"),
        f("crypto.sha1", "string -> string"),
        f("crypto.sha256", "string -> string"),
        f("crypto.x509.parse_and_verify_certificates", "string -> array<boolean, array[object[string: any]]>"),
        f("crypto.x509.parse_and_verify_certificates_with_options", "string, object[string: any] -> array<boolean, array[object[string: any]]>"),
        f("crypto.x509.parse_certificate_request", "string -> object[string: any]"),
        f("crypto.x509.parse_certificates", "string -> array[object[string: any]]"),
        f("crypto.x509.parse_keypair", "string, string -> object[string: any]"),
        f("crypto.x509.parse_rsa_private_key", "string -> object[string: any]"),
        f("div", "number, number -> number").infix("/"),
        f("endswith", "string, string -> boolean"),
        f("eq", "any, any -> boolean").infix("="),
        f("equal", "any, any -> boolean").infix("=="),
        f("floor", "number -> number"),
        f("format_int", "number, number -> string"),
        f("glob.match", "string, null | array[string], string -> boolean"),
        f("glob.quote_meta", "string -> string"),
        f("graph.reachable", "object[any: any<array[any], set[any]>], array[any] | set[any] -> set[any]"),
        f("graph.reachable_paths", "object[any: any<array[any], set[any]>], array[any] | set[any] -> set[array[any]]"),
        f("graphql.is_valid", "string | object[any: any], string | object[any: any] -> boolean"),
        f("graphql.parse", "string | object[any: any], string | object[any: any] -> array<object[any: any], object[any: any]>"),
        f("graphql.parse_and_verify", "string | object[any: any], string | object[any: any] -> array<boolean, object[any: any], object[any: any]>"),
        f("graphql.parse_query", "string -> object[any: any]"),
        f("graphql.parse_schema", "string -> object[any: any]"),
        f("graphql.schema_is_valid", "string | object[any: any] -> boolean"),
        f("gt", "any, any -> boolean").infix(">"),
        f("gte", "any, any -> boolean").infix(">="),
        f("hex.decode", "string -> string"),
        f("hex.encode", "string -> string"),
        f("http.send", "object[string: any] -> object[any: any]").nondeterministic(),
        f("indexof", "string, string -> number"),
        f("indexof_n", "string, string -> array[number]"),
        f("internal.member_2", "any, any -> boolean").infix("in"),
        f("internal.member_3", "any, any, any -> boolean").infix("in"),
        f("internal.print", "array[set[any]] ->"),
        f("internal.template_string", "array[any] -> string"),
        f("internal.test_case", "array[any] ->"),
        f("intersection", "set[set[any]] -> set[any]"),
        f("io.jwt.decode", "string -> array<object[any: any], object[any: any], string>"),
        f("io.jwt.decode_verify", "string, object[string: any] -> array<boolean, object[any: any], object[any: any]>").nondeterministic(),
        f("io.jwt.encode_sign", "object[string: any], object[string: any], object[string: any] -> string").nondeterministic(),
        f("io.jwt.encode_sign_raw", "string, string, string -> string").nondeterministic(),
        f("io.jwt.verify_eddsa", "string, string -> boolean"),
        f("io.jwt.verify_es256", "string, string -> boolean"),
        f("io.jwt.verify_es384", "string, string -> boolean"),
        f("io.jwt.verify_es512", "string, string -> boolean"),
        f("io.jwt.verify_hs256", "string, string -> boolean"),
        f("io.jwt.verify_hs384", "string, string -> boolean"),
        f("io.jwt.verify_hs512", "string, string -> boolean"),
        f("io.jwt.verify_ps256", "string, string -> boolean"),
        f("io.jwt.verify_ps384", "string, string -> boolean"),
        f("io.jwt.verify_ps512", "string, string -> boolean"),
        f("io.jwt.verify_rs256", "string, string -> boolean"),
        f("io.jwt.verify_rs384", "string, string -> boolean"),
        f("io.jwt.verify_rs512", "string, string -> boolean"),
        f("is_array", "any -> boolean"),
        f("is_boolean", "any -> boolean"),
        f("is_null", "any -> boolean"),
        f("is_number", "any -> boolean"),
        f("is_object", "any -> boolean"),
        f("is_set", "any -> boolean"),
        f("is_string", "any -> boolean"),
        f("json.filter", "object[any: any], array[any<string, array[any]>] | set[any<string, array[any]>] -> object[any: any]"),
        f("json.is_valid", "string -> boolean"),
        f("json.marshal", "any -> string"),
        f("json.marshal_with_options", "any, object<indent: string, prefix: string, pretty: boolean>[string: any] -> string"),
        f("json.match_schema", "string | object[any: any], string | object[any: any] -> array<boolean, array[object<desc: string, error: string, field: string, type: string>]>").nondeterministic(),
        f("json.patch", "any, array[object<op: string, path: any>[any: any]] -> any"),
        f("json.remove", "object[any: any], array[any<string, array[any]>] | set[any<string, array[any]>] -> object[any: any]"),
        f("json.unmarshal", "string -> any"),
        f("json.verify_schema", "string | object[any: any] -> array<boolean, any<null, string>>").nondeterministic(),
        f("lower", "string -> string"),
        f("lt", "any, any -> boolean").infix("<"),
        f("lte", "any, any -> boolean").infix("<="),
        f("max", "array[any] | set[any] -> any"),
        f("min", "array[any] | set[any] -> any"),
        f("minus", "number | set[any], number | set[any] -> number | set[any]").infix("-"),
        f("mul", "number, number -> number").infix("*"),
        f("neq", "any, any -> boolean").infix("!="),
        f("net.cidr_contains", "string, string -> boolean"),
        f("net.cidr_contains_matches", "string | array[any<string, array[any]>] | object[string: any<string, array[any]>] | set[any<string, array[any]>], string | array[any<string, array[any]>] | object[string: any<string, array[any]>] | set[any<string, array[any]>] -> set[array<any, any>]"),
        f("net.cidr_expand", "string -> set[string]"),
        f("net.cidr_intersects", "string, string -> boolean"),
        f("net.cidr_is_valid", "string -> boolean"),
        f("net.cidr_merge", "array[any<string>] | set[string] -> set[string]"),
        f("net.cidr_overlap", "string, string -> boolean").deprecated(),
        f("net.lookup_ip_addr", "string -> set[string]").nondeterministic(),
        f("numbers.range", "number, number -> array[number]"),
        f("numbers.range_step", "number, number, number -> array[number]"),
        f("object.filter", "object[any: any], array[any] | object[any: any] | set[any] -> object[any: any]"),
        f("object.get", "object[any: any], any, any -> any"),
        f("object.keys", "object[any: any] -> set[any]"),
        f("object.remove", "object[any: any], array[any] | object[any: any] | set[any] -> object[any: any]"),
        f("object.subset", "array[any] | object[any: any] | set[any], array[any] | object[any: any] | set[any] -> boolean"),
        f("object.union", "object[any: any], object[any: any] -> object[any: any]"),
        f("object.union_n", "array[object[any: any]] -> object[any: any]"),
        f("opa.runtime", "-> object[string: any]").nondeterministic(),
        f("or", "set[any], set[any] -> set[any]").infix("|"),
        f("plus", "number, number -> number").infix("+"),
        f("print", "any... ->"),
        f("product", "array[number] | set[number] -> number"),
        f("providers.aws.sign_req", "object[string: any], object[string: any], number -> object[any: any]"),
        f("rand.intn", "string, number -> number").nondeterministic(),
        f("re_match", "string, string -> boolean").deprecated(),
        f("regex.find_all_string_submatch_n", "string, string, number -> array[array[string]]"),
        f("regex.find_n", "string, string, number -> array[string]"),
        f("regex.globs_match", "string, string -> boolean"),
        f("regex.is_valid", "string -> boolean"),
        f("regex.match", "string, string -> boolean"),
        f("regex.replace", "string, string, string -> string"),
        f("regex.split", "string, string -> array[string]"),
        f("regex.template_match", "string, string, string, string -> boolean"),
        f("rego.metadata.chain", "-> array[any]"),
        f("rego.metadata.rule", "-> any"),
        f("rego.parse_module", "string, string -> object[string: any]"),
        f("rem", "number, number -> number").infix("%"),
        f("replace", "string, string, string -> string"),
        f("round", "number -> number"),
        f("semver.compare", "string, string -> number"),
        f("semver.is_valid", "any -> boolean"),
        f("set_diff", "set[any], set[any] -> set[any]").deprecated(),
        f("sort", "array[any] | set[any] -> array[any]"),
        f("split", "string, string -> array[string]"),
        f("sprintf", "string, array[any] -> string"),
        f("startswith", "string, string -> boolean"),
        f("strings.any_prefix_match", "string | array[string] | set[string], string | array[string] | set[string] -> boolean"),
        f("strings.any_suffix_match", "string | array[string] | set[string], string | array[string] | set[string] -> boolean"),
        f("strings.count", "string, string -> number"),
        f("strings.render_template", "string, object[string: any] -> string"),
        f("strings.replace_n", "object[string: string], string -> string"),
        f("strings.reverse", "string -> string"),
        f("strings.split_n", "string, string, number -> array[string]"),
        f("substring", "string, number, number -> string"),
        f("sum", "array[number] | set[number] -> number"),
        f("time.add_date", "number, number, number, number -> number"),
        f("time.clock", "number | array<number, string> -> array<number, number, number>"),
        f("time.date", "number | array<number, string> -> array<number, number, number>"),
        f("time.diff", "number | array<number, string>, number | array<number, string> -> array<number, number, number, number, number, number>"),
        f("time.format", "number | array<number, string> | array<number, string, string> -> string"),
        f("time.now_ns", "-> number").nondeterministic(),
        f("time.parse_duration_ns", "string -> number"),
        f("time.parse_ns", "string, string -> number"),
        f("time.parse_rfc3339_ns", "string -> number"),
        f("time.weekday", "number | array<number, string> -> string"),
        f("to_number", "null | boolean | number | string -> number"),
        f("trace", "string -> boolean"),
        f("trim", "string, string -> string"),
        f("trim_left", "string, string -> string"),
        f("trim_prefix", "string, string -> string"),
        f("trim_right", "string, string -> string"),
        f("trim_space", "string -> string"),
        f("trim_suffix", "string, string -> string"),
        f("type_name", "any -> string"),
        f("union", "set[set[any]] -> set[any]"),
        f("units.parse", "string -> number"),
        f("units.parse_bytes", "string -> number"),
        f("upper", "string -> string"),
        f("uri.is_valid", "string -> boolean"),
        f("uri.parse", "string -> object[string: string]"),
        f("urlquery.decode", "string -> string"),
        f("urlquery.decode_object", "string -> object[string: array[string]]"),
        f("urlquery.encode", "string -> string"),
        f("urlquery.encode_object", "object[string: any<string, array[string], set[string]>] -> string"),
        f("uuid.parse", "string -> object[string: any]"),
        f("uuid.rfc4122", "string -> string").nondeterministic(),
        f("walk", "any -> array<array[any], any>").relation(),
        f("yaml.is_valid", "string -> boolean"),
        f("yaml.marshal", "any -> string"),
        f("yaml.unmarshal", "string -> any"),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;
    use crate::types::Function;

    #[test]
    fn every_declared_function_is_implemented_and_has_valid_types() {
        assert!(all().is_sorted_by_key(|function| function.name));
        for function in declarations() {
            Function::parse(function.signature).unwrap();
            if cfg!(feature = "crypto") {
                let missing = function.name.starts_with("graphql.");
                assert_eq!(is_missing(function.name), missing, "{}", function.name);
            }
        }
        for (name, _) in FAMILIES.iter().flat_map(|family| family.iter()) {
            assert!(lookup(name).is_some(), "{name} isn't declared");
        }
    }
}
