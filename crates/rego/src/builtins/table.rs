//! The table of built-in functions: every name in OPA 1.22.4, with its types.
//!
//! Owns the declarations. The implementation of a function is in the file of its family.

use std::cmp::Ordering;

use base64::engine::general_purpose as engines;

#[cfg(feature = "crypto")]
use super::crypto::{Hmac, Md5, Sha1, Sha256, Sha512};
use super::operands::{answer, operand, string};
use super::{
    Answer, Builtin, Context, Run, aggregates, casts, collections, comparison, encoding, glob,
    glob_intersect, graph, http, json_patch, json_schema, net, net_lookup, numbers, objects,
    parse_module, regex, render_template, runtime, semver, sprintf, strings, time, units, uri,
    uuid, yaml,
};
#[cfg(feature = "crypto")]
use super::{aws, crypto, crypto::signature::Hash, jwt, jwt::Check};
use crate::value::unicode::{lower, upper};
use crate::value::{Number, Value};

/// Returns `true` if a function is declared but not implemented. Its name and types are checked as
/// in OPA, but a policy that calls it doesn't load.
pub fn is_missing(name: &str) -> bool {
    lookup(name).is_some_and(|builtin| matches!(builtin.run, Run::Missing))
}

/// Declares a function that has no implementation here.
const fn declare(name: &'static str, signature: &'static str, run: Run) -> Builtin {
    let (infix, nondeterministic, deprecated, relation) = (None, false, false, false);
    Builtin { name, infix, signature, nondeterministic, deprecated, relation, run }
}

/// Declares a function of its arguments.
const fn f(
    name: &'static str,
    signature: &'static str,
    run: fn(&dyn Context, &[Value]) -> Answer,
) -> Builtin {
    declare(name, signature, Run::Plain(run))
}

/// Declares a function that the feature `crypto` implements.
macro_rules! crypto {
    ($name:literal, $signature:literal, $run:expr) => {
        declare($name, $signature, {
            #[cfg(feature = "crypto")]
            let run = Run::Plain($run);
            #[cfg(not(feature = "crypto"))]
            let run = Run::Missing;
            run
        })
    };
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

/// Returns the function of this name; operators have OPA's names.
pub fn lookup(name: &str) -> Option<&'static Builtin> {
    let at = TABLE.binary_search_by_key(&name, |builtin| builtin.name).ok()?;
    TABLE.get(at)
}

/// Returns all functions, ordered by name.
pub fn all() -> &'static [Builtin] {
    TABLE
}

#[rustfmt::skip]
static TABLE: &[Builtin] = &[
    f("abs", "number -> number", |_, args| numbers::unary(args, Number::abs)),
    f("all", "array[any] | set[any] -> boolean", aggregates::all).deprecated(),
    f("and", "set[any], set[any] -> set[any]", collections::and).infix("&"),
    f("any", "array[any] | set[any] -> boolean", aggregates::some).deprecated(),
    f("array.concat", "array[any], array[any] -> array[any]", collections::concat),
    f("array.flatten", "array[any] -> array[any]", collections::flatten),
    f("array.reverse", "array[any] -> array[any]", collections::reverse),
    f("array.slice", "array[any], number, number -> array[any]", collections::slice),
    declare("assign", "any, any -> boolean", Run::Machine).infix(":="),
    f("base64.decode", "string -> string", encoding::base64_decode),
    f("base64.encode", "string -> string", |ctx, args| encoding::to_base64(ctx, args, &engines::STANDARD)),
    f("base64.is_valid", "string -> boolean", encoding::base64_is_valid),
    f("base64url.decode", "string -> string", encoding::base64url_decode),
    f("base64url.encode", "string -> string", |ctx, args| encoding::to_base64(ctx, args, &engines::URL_SAFE)),
    f("base64url.encode_no_pad", "string -> string", |ctx, args| encoding::to_base64(ctx, args, &engines::URL_SAFE_NO_PAD)),
    f("bits.and", "number, number -> number", |_, args| numbers::bits(args, |a, b| a & b)),
    f("bits.lsh", "number, number -> number", numbers::shift_left),
    f("bits.negate", "number -> number", numbers::negate),
    f("bits.or", "number, number -> number", |_, args| numbers::bits(args, |a, b| a | b)),
    f("bits.rsh", "number, number -> number", numbers::shift_right),
    f("bits.xor", "number, number -> number", |_, args| numbers::bits(args, |a, b| a ^ b)),
    f("cast_array", "any -> array[any]", casts::cast_array).deprecated(),
    f("cast_boolean", "any -> boolean", |_, args| casts::cast(args, "boolean")).deprecated(),
    f("cast_null", "any -> null", |_, args| casts::cast(args, "null")).deprecated(),
    f("cast_object", "any -> object[any: any]", |_, args| casts::cast(args, "object")).deprecated(),
    f("cast_set", "any -> set[any]", casts::cast_set).deprecated(),
    f("cast_string", "any -> string", |_, args| casts::cast(args, "string")).deprecated(),
    f("ceil", "number -> number", |_, args| numbers::unary(args, Number::ceil)),
    f("concat", "string, array[string] | set[string] -> string", strings::concat),
    f("contains", "string, string -> boolean", |_, args| answer(string(args, 0)?.contains(string(args, 1)?))),
    f("count", "string | array[any] | object[any: any] | set[any] -> number", aggregates::count),
    crypto!("crypto.hmac.equal", "string, string -> boolean", crypto::hmac_equal),
    crypto!("crypto.hmac.md5", "string, string -> string", crypto::hmac::<Hmac<Md5>>),
    crypto!("crypto.hmac.sha1", "string, string -> string", crypto::hmac::<Hmac<Sha1>>),
    crypto!("crypto.hmac.sha256", "string, string -> string", crypto::hmac::<Hmac<Sha256>>),
    crypto!("crypto.hmac.sha512", "string, string -> string", crypto::hmac::<Hmac<Sha512>>),
    crypto!("crypto.md5", "string -> string", crypto::hash::<Md5>),
    crypto!("crypto.parse_private_keys", "string -> array[object[string: any]]", crypto::parse_private_keys),
    crypto!("crypto.sha1", "string -> string", crypto::hash::<Sha1>),
    crypto!("crypto.sha256", "string -> string", crypto::hash::<Sha256>),
    crypto!("crypto.x509.parse_and_verify_certificates", "string -> array<boolean, array[object[string: any]]>", crypto::parse_and_verify_certificates),
    crypto!("crypto.x509.parse_and_verify_certificates_with_options", "string, object[string: any] -> array<boolean, array[object[string: any]]>", crypto::parse_and_verify_certificates_with_options),
    crypto!("crypto.x509.parse_certificate_request", "string -> object[string: any]", crypto::parse_certificate_request),
    crypto!("crypto.x509.parse_certificates", "string -> array[object[string: any]]", crypto::parse_certificates),
    crypto!("crypto.x509.parse_keypair", "string, string -> object[string: any]", crypto::parse_keypair),
    crypto!("crypto.x509.parse_rsa_private_key", "string -> object[string: any]", crypto::parse_rsa_private_key),
    f("div", "number, number -> number", |_, args| numbers::binary(args, Number::div)).infix("/"),
    f("endswith", "string, string -> boolean", |_, args| answer(string(args, 0)?.ends_with(string(args, 1)?))),
    declare("eq", "any, any -> boolean", Run::Machine).infix("="),
    f("equal", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_eq)).infix("=="),
    f("floor", "number -> number", |_, args| numbers::unary(args, Number::floor)),
    f("format_int", "number, number -> string", numbers::format_int),
    f("glob.match", "string, null | array[string], string -> boolean", glob::matches),
    f("glob.quote_meta", "string -> string", glob::quote_meta),
    f("graph.reachable", "object[any: any<array[any], set[any]>], array[any] | set[any] -> set[any]", graph::reachable),
    f("graph.reachable_paths", "object[any: any<array[any], set[any]>], array[any] | set[any] -> set[array[any]]", graph::reachable_paths),
    declare("graphql.is_valid", "string | object[any: any], string | object[any: any] -> boolean", Run::Missing),
    declare("graphql.parse", "string | object[any: any], string | object[any: any] -> array<object[any: any], object[any: any]>", Run::Missing),
    declare("graphql.parse_and_verify", "string | object[any: any], string | object[any: any] -> array<boolean, object[any: any], object[any: any]>", Run::Missing),
    declare("graphql.parse_query", "string -> object[any: any]", Run::Missing),
    declare("graphql.parse_schema", "string -> object[any: any]", Run::Missing),
    declare("graphql.schema_is_valid", "string | object[any: any] -> boolean", Run::Missing),
    f("gt", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_gt)).infix(">"),
    f("gte", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_ge)).infix(">="),
    f("hex.decode", "string -> string", encoding::hex_decode),
    f("hex.encode", "string -> string", encoding::hex_encode),
    f("http.send", "object[string: any] -> object[any: any]", http::send).nondeterministic(),
    f("indexof", "string, string -> number", strings::index_of),
    f("indexof_n", "string, string -> array[number]", strings::index_of_n),
    f("internal.member_2", "any, any -> boolean", comparison::member).infix("in"),
    f("internal.member_3", "any, any, any -> boolean", comparison::member_with_key).infix("in"),
    declare("internal.print", "array[set[any]] ->", Run::Machine),
    f("internal.template_string", "array[any] -> string", strings::template),
    declare("internal.test_case", "array[any] ->", Run::Machine),
    f("intersection", "set[set[any]] -> set[any]", collections::intersection),
    crypto!("io.jwt.decode", "string -> array<object[any: any], object[any: any], string>", jwt::decode),
    crypto!("io.jwt.decode_verify", "string, object[string: any] -> array<boolean, object[any: any], object[any: any]>", jwt::decode_verify).nondeterministic(),
    crypto!("io.jwt.encode_sign", "object[string: any], object[string: any], object[string: any] -> string", jwt::encode_sign).nondeterministic(),
    crypto!("io.jwt.encode_sign_raw", "string, string, string -> string", jwt::encode_sign_raw).nondeterministic(),
    crypto!("io.jwt.verify_eddsa", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::EdDsa)),
    crypto!("io.jwt.verify_es256", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Ecdsa(Hash::Sha256))),
    crypto!("io.jwt.verify_es384", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Ecdsa(Hash::Sha384))),
    crypto!("io.jwt.verify_es512", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Ecdsa(Hash::Sha512))),
    crypto!("io.jwt.verify_hs256", "string, string -> boolean", |_, args| jwt::verify_secret(args, Hash::Sha256)),
    crypto!("io.jwt.verify_hs384", "string, string -> boolean", |_, args| jwt::verify_secret(args, Hash::Sha384)),
    crypto!("io.jwt.verify_hs512", "string, string -> boolean", |_, args| jwt::verify_secret(args, Hash::Sha512)),
    crypto!("io.jwt.verify_ps256", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Pss(Hash::Sha256))),
    crypto!("io.jwt.verify_ps384", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Pss(Hash::Sha384))),
    crypto!("io.jwt.verify_ps512", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Pss(Hash::Sha512))),
    crypto!("io.jwt.verify_rs256", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Rsa(Hash::Sha256))),
    crypto!("io.jwt.verify_rs384", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Rsa(Hash::Sha384))),
    crypto!("io.jwt.verify_rs512", "string, string -> boolean", |ctx, args| jwt::verify(ctx, args, Check::Rsa(Hash::Sha512))),
    f("is_array", "any -> boolean", |_, args| casts::is(args, "array")),
    f("is_boolean", "any -> boolean", |_, args| casts::is(args, "boolean")),
    f("is_null", "any -> boolean", |_, args| casts::is(args, "null")),
    f("is_number", "any -> boolean", |_, args| casts::is(args, "number")),
    f("is_object", "any -> boolean", |_, args| casts::is(args, "object")),
    f("is_set", "any -> boolean", |_, args| casts::is(args, "set")),
    f("is_string", "any -> boolean", |_, args| casts::is(args, "string")),
    f("json.filter", "object[any: any], array[any<string, array[any]>] | set[any<string, array[any]>] -> object[any: any]", objects::json_filter),
    f("json.is_valid", "string -> boolean", encoding::json_is_valid),
    f("json.marshal", "any -> string", encoding::json_marshal),
    f("json.marshal_with_options", "any, object<indent: string, prefix: string, pretty: boolean>[string: any] -> string", encoding::json_marshal_with_options),
    f("json.match_schema", "string | object[any: any], string | object[any: any] -> array<boolean, array[object<desc: string, error: string, field: string, type: string>]>", json_schema::match_schema).nondeterministic(),
    f("json.patch", "any, array[object<op: string, path: any>[any: any]] -> any", json_patch::patch),
    f("json.remove", "object[any: any], array[any<string, array[any]>] | set[any<string, array[any]>] -> object[any: any]", objects::json_remove),
    f("json.unmarshal", "string -> any", encoding::json_unmarshal),
    f("json.verify_schema", "string | object[any: any] -> array<boolean, any<null, string>>", json_schema::verify_schema).nondeterministic(),
    f("lower", "string -> string", |ctx, args| strings::mapped(ctx, args, lower)),
    f("lt", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_lt)).infix("<"),
    f("lte", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_le)).infix("<="),
    f("max", "array[any] | set[any] -> any", aggregates::max),
    f("min", "array[any] | set[any] -> any", aggregates::min),
    f("minus", "number | set[any], number | set[any] -> number | set[any]", numbers::minus).infix("-"),
    f("mul", "number, number -> number", |_, args| numbers::binary(args, Number::mul)).infix("*"),
    f("neq", "any, any -> boolean", |_, args| comparison::compare(args, Ordering::is_ne)).infix("!="),
    f("net.cidr_contains", "string, string -> boolean", net::contains),
    f("net.cidr_contains_matches", "string | array[any<string, array[any]>] | object[string: any<string, array[any]>] | set[any<string, array[any]>], string | array[any<string, array[any]>] | object[string: any<string, array[any]>] | set[any<string, array[any]>] -> set[array<any, any>]", net::contains_matches),
    f("net.cidr_expand", "string -> set[string]", net::expand),
    f("net.cidr_intersects", "string, string -> boolean", net::intersects),
    f("net.cidr_is_valid", "string -> boolean", net::is_valid),
    f("net.cidr_merge", "array[any<string>] | set[string] -> set[string]", net::merge),
    f("net.cidr_overlap", "string, string -> boolean", net::contains).deprecated(),
    f("net.lookup_ip_addr", "string -> set[string]", net_lookup::lookup).nondeterministic(),
    f("numbers.range", "number, number -> array[number]", numbers::range),
    f("numbers.range_step", "number, number, number -> array[number]", numbers::range_step),
    f("object.filter", "object[any: any], array[any] | object[any: any] | set[any] -> object[any: any]", objects::filter),
    f("object.get", "object[any: any], any, any -> any", objects::get),
    f("object.keys", "object[any: any] -> set[any]", objects::keys),
    f("object.remove", "object[any: any], array[any] | object[any: any] | set[any] -> object[any: any]", objects::remove),
    f("object.subset", "array[any] | object[any: any] | set[any], array[any] | object[any: any] | set[any] -> boolean", objects::subset),
    f("object.union", "object[any: any], object[any: any] -> object[any: any]", objects::union),
    f("object.union_n", "array[object[any: any]] -> object[any: any]", objects::union_n),
    f("opa.runtime", "-> object[string: any]", runtime::runtime).nondeterministic(),
    f("or", "set[any], set[any] -> set[any]", collections::or).infix("|"),
    f("plus", "number, number -> number", |_, args| numbers::binary(args, Number::add)).infix("+"),
    declare("print", "any... ->", Run::Machine),
    f("product", "array[number] | set[number] -> number", |_, args| aggregates::total(args, |numbers| Number::product(numbers.iter().copied()))),
    crypto!("providers.aws.sign_req", "object[string: any], object[string: any], number -> object[any: any]", aws::sign_req),
    f("rand.intn", "string, number -> number", numbers::random).nondeterministic(),
    f("re_match", "string, string -> boolean", regex::is_match).deprecated(),
    f("regex.find_all_string_submatch_n", "string, string, number -> array[array[string]]", regex::find_submatches),
    f("regex.find_n", "string, string, number -> array[string]", regex::find_n),
    f("regex.globs_match", "string, string -> boolean", glob_intersect::globs_match),
    f("regex.is_valid", "string -> boolean", regex::is_valid),
    f("regex.match", "string, string -> boolean", regex::is_match),
    f("regex.replace", "string, string, string -> string", regex::replace),
    f("regex.split", "string, string -> array[string]", regex::split),
    f("regex.template_match", "string, string, string, string -> boolean", regex::template_match),
    declare("rego.metadata.chain", "-> array[any]", Run::Machine),
    declare("rego.metadata.rule", "-> any", Run::Machine),
    f("rego.parse_module", "string, string -> object[string: any]", parse_module::parse),
    f("rem", "number, number -> number", |_, args| numbers::binary(args, Number::rem)).infix("%"),
    f("replace", "string, string, string -> string", strings::replace),
    f("round", "number -> number", |_, args| numbers::unary(args, Number::round)),
    f("semver.compare", "string, string -> number", semver::compare),
    f("semver.is_valid", "any -> boolean", semver::is_valid),
    f("set_diff", "set[any], set[any] -> set[any]", collections::difference).deprecated(),
    f("sort", "array[any] | set[any] -> array[any]", aggregates::sort),
    f("split", "string, string -> array[string]", strings::split),
    f("sprintf", "string, array[any] -> string", sprintf::sprintf),
    f("startswith", "string, string -> boolean", |_, args| answer(string(args, 0)?.starts_with(string(args, 1)?))),
    f("strings.any_prefix_match", "string | array[string] | set[string], string | array[string] | set[string] -> boolean", strings::any_prefix),
    f("strings.any_suffix_match", "string | array[string] | set[string], string | array[string] | set[string] -> boolean", strings::any_suffix),
    f("strings.count", "string, string -> number", strings::count),
    f("strings.render_template", "string, object[string: any] -> string", render_template::render),
    f("strings.replace_n", "object[string: string], string -> string", strings::replace_n),
    f("strings.reverse", "string -> string", strings::reverse),
    f("strings.split_n", "string, string, number -> array[string]", strings::split_n),
    f("substring", "string, number, number -> string", strings::substring),
    f("sum", "array[number] | set[number] -> number", |_, args| aggregates::total(args, |numbers| Number::sum(numbers.iter().copied()))),
    f("time.add_date", "number, number, number, number -> number", time::add_date),
    f("time.clock", "number | array<number, string> -> array<number, number, number>", time::clock),
    f("time.date", "number | array<number, string> -> array<number, number, number>", time::date),
    f("time.diff", "number | array<number, string>, number | array<number, string> -> array<number, number, number, number, number, number>", time::diff),
    f("time.format", "number | array<number, string> | array<number, string, string> -> string", time::format),
    f("time.now_ns", "-> number", |ctx, _| answer(ctx.now_ns())).nondeterministic(),
    f("time.parse_duration_ns", "string -> number", |_, args| answer(time::duration::parse(string(args, 0)?)?)),
    f("time.parse_ns", "string, string -> number", time::parse),
    f("time.parse_rfc3339_ns", "string -> number", time::parse_rfc3339),
    f("time.weekday", "number | array<number, string> -> string", time::weekday),
    f("to_number", "null | boolean | number | string -> number", casts::to_number),
    f("trace", "string -> boolean", |_, args| string(args, 0).and(answer(true))),
    f("trim", "string, string -> string", |_, args| strings::part(args, |text, set| text.trim_matches(|c| set.contains(c)))),
    f("trim_left", "string, string -> string", |_, args| strings::part(args, |text, set| text.trim_start_matches(|c| set.contains(c)))),
    f("trim_prefix", "string, string -> string", |_, args| strings::part(args, |text, prefix| text.strip_prefix(prefix).unwrap_or(text))),
    f("trim_right", "string, string -> string", |_, args| strings::part(args, |text, set| text.trim_end_matches(|c| set.contains(c)))),
    f("trim_space", "string -> string", |_, args| strings::same_or(args, string(args, 0)?.trim())),
    f("trim_suffix", "string, string -> string", |_, args| strings::part(args, |text, suffix| text.strip_suffix(suffix).unwrap_or(text))),
    f("type_name", "any -> string", |_, args| answer(operand(args, 0)?.type_name())),
    f("union", "set[set[any]] -> set[any]", collections::union),
    f("units.parse", "string -> number", units::parse),
    f("units.parse_bytes", "string -> number", units::parse_bytes),
    f("upper", "string -> string", |ctx, args| strings::mapped(ctx, args, upper)),
    f("uri.is_valid", "string -> boolean", uri::is_valid),
    f("uri.parse", "string -> object[string: string]", uri::parse),
    f("urlquery.decode", "string -> string", encoding::query_decode),
    f("urlquery.decode_object", "string -> object[string: array[string]]", encoding::query_decode_object),
    f("urlquery.encode", "string -> string", encoding::query_encode),
    f("urlquery.encode_object", "object[string: any<string, array[string], set[string]>] -> string", encoding::query_encode_object),
    f("uuid.parse", "string -> object[string: any]", uuid::parse),
    f("uuid.rfc4122", "string -> string", uuid::random).nondeterministic(),
    declare("walk", "any -> array<array[any], any>", Run::Each(graph::walk)).relation(),
    f("yaml.is_valid", "string -> boolean", yaml::is_valid),
    f("yaml.marshal", "any -> string", yaml::marshal),
    f("yaml.unmarshal", "string -> any", yaml::unmarshal),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;
    use crate::types::Function;

    #[test]
    fn every_declared_function_is_implemented_and_has_valid_types() {
        assert!(all().is_sorted_by_key(|function| function.name));
        for function in all() {
            Function::parse(function.signature).unwrap();
            if cfg!(feature = "crypto") {
                let missing = function.name.starts_with("graphql.");
                assert_eq!(is_missing(function.name), missing, "{}", function.name);
            }
        }
    }
}
