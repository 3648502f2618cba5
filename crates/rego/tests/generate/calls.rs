//! Calls of built-in functions with edge values: each function, with values of every type, with
//! edge values of its own types, and with damaged arguments of calls that OPA was asked about
//! before.
//!
//! The arguments are an input that is an array, so that no type checker sees them. A case is
//! defined by its seed: one function and some forty calls, with strict errors or without.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::rego::value::{Object, Value};

use super::case::Case;
use super::random::Random;
use super::subject;

#[path = "../../src/builtins/opa_sample.rs"]
mod opa_sample;
use opa_sample::decode;

/// The number of calls in a case.
const CALLS: usize = 40;

/// The functions with the kinds of their arguments. Left out are functions of the network and
/// random ones, those that can't be called from a policy, `graphql.*`, and `rego.metadata.*`, which
/// have no arguments.
const FUNCTIONS: &[(&str, &str)] = &[
    ("abs", "number"),
    ("all", "collection"),
    ("and", "set set"),
    ("any", "collection"),
    ("array.concat", "collection collection"),
    ("array.flatten", "collection"),
    ("array.reverse", "collection"),
    ("array.slice", "collection small small"),
    ("base64.decode", "base64"),
    ("base64.encode", "string"),
    ("base64.is_valid", "base64"),
    ("base64url.decode", "base64"),
    ("base64url.encode", "string"),
    ("base64url.encode_no_pad", "string"),
    ("bits.and", "number number"),
    ("bits.lsh", "number small"),
    ("bits.negate", "number"),
    ("bits.or", "number number"),
    ("bits.rsh", "number small"),
    ("bits.xor", "number number"),
    ("cast_array", "any"),
    ("cast_boolean", "any"),
    ("cast_null", "any"),
    ("cast_object", "any"),
    ("cast_set", "any"),
    ("cast_string", "any"),
    ("ceil", "number"),
    ("concat", "string strings"),
    ("contains", "string string"),
    ("count", "any"),
    ("crypto.hmac.equal", "string string"),
    ("crypto.hmac.md5", "string string"),
    ("crypto.hmac.sha1", "string string"),
    ("crypto.hmac.sha256", "string string"),
    ("crypto.hmac.sha512", "string string"),
    ("crypto.md5", "string"),
    ("crypto.parse_private_keys", "sample"),
    ("crypto.sha1", "string"),
    ("crypto.sha256", "string"),
    ("crypto.x509.parse_and_verify_certificates", "sample"),
    ("crypto.x509.parse_and_verify_certificates_with_options", "sample sample"),
    ("crypto.x509.parse_certificate_request", "sample"),
    ("crypto.x509.parse_certificates", "sample"),
    ("crypto.x509.parse_keypair", "sample sample"),
    ("crypto.x509.parse_rsa_private_key", "sample"),
    ("div", "number number"),
    ("endswith", "string string"),
    ("equal", "value value"),
    ("floor", "number"),
    ("format_int", "number base"),
    ("glob.match", "glob delimiters glob_text"),
    ("glob.quote_meta", "glob"),
    ("graph.reachable", "graph nodes"),
    ("graph.reachable_paths", "graph nodes"),
    ("gt", "value value"),
    ("gte", "value value"),
    ("hex.decode", "hex"),
    ("hex.encode", "string"),
    ("indexof", "string string"),
    ("indexof_n", "string string"),
    ("intersection", "sets"),
    ("io.jwt.decode", "sample"),
    ("io.jwt.decode_verify", "sample sample"),
    ("io.jwt.encode_sign", "sample sample sample"),
    ("io.jwt.encode_sign_raw", "sample sample sample"),
    ("io.jwt.verify_eddsa", "sample sample"),
    ("io.jwt.verify_es256", "sample sample"),
    ("io.jwt.verify_es384", "sample sample"),
    ("io.jwt.verify_es512", "sample sample"),
    ("io.jwt.verify_hs256", "sample sample"),
    ("io.jwt.verify_hs384", "sample sample"),
    ("io.jwt.verify_hs512", "sample sample"),
    ("io.jwt.verify_ps256", "sample sample"),
    ("io.jwt.verify_ps384", "sample sample"),
    ("io.jwt.verify_ps512", "sample sample"),
    ("io.jwt.verify_rs256", "sample sample"),
    ("io.jwt.verify_rs384", "sample sample"),
    ("io.jwt.verify_rs512", "sample sample"),
    ("is_array", "any"),
    ("is_boolean", "any"),
    ("is_null", "any"),
    ("is_number", "any"),
    ("is_object", "any"),
    ("is_set", "any"),
    ("is_string", "any"),
    ("json.filter", "object paths"),
    ("json.is_valid", "json"),
    ("json.marshal", "value"),
    ("json.marshal_with_options", "value options"),
    ("json.match_schema", "sample sample"),
    ("json.patch", "document patches"),
    ("json.remove", "object paths"),
    ("json.unmarshal", "json"),
    ("json.verify_schema", "sample"),
    ("lower", "string"),
    ("lt", "value value"),
    ("lte", "value value"),
    ("max", "collection"),
    ("min", "collection"),
    ("minus", "number_or_set number_or_set"),
    ("mul", "number number"),
    ("neq", "value value"),
    ("net.cidr_contains", "network network"),
    ("net.cidr_contains_matches", "matches matches"),
    ("net.cidr_expand", "network"),
    ("net.cidr_intersects", "network network"),
    ("net.cidr_is_valid", "network"),
    ("net.cidr_merge", "networks"),
    ("net.cidr_overlap", "network network"),
    ("numbers.range", "small small"),
    ("numbers.range_step", "small small small"),
    ("object.filter", "object keys"),
    ("object.get", "object key any"),
    ("object.keys", "object"),
    ("object.remove", "object keys"),
    ("object.subset", "document document"),
    ("object.union", "object object"),
    ("object.union_n", "objects"),
    ("or", "set set"),
    ("plus", "number number"),
    ("product", "numbers"),
    ("providers.aws.sign_req", "sample sample sample"),
    ("re_match", "pattern text"),
    ("regex.find_all_string_submatch_n", "pattern text small"),
    ("regex.find_n", "pattern text small"),
    ("regex.globs_match", "intersection intersection"),
    ("regex.is_valid", "pattern"),
    ("regex.match", "pattern text"),
    ("regex.replace", "text pattern replacement"),
    ("regex.split", "pattern text"),
    ("regex.template_match", "template text open close"),
    ("rego.parse_module", "sample sample"),
    ("rem", "number number"),
    ("replace", "string string string"),
    ("round", "number"),
    ("semver.compare", "version version"),
    ("semver.is_valid", "version"),
    ("set_diff", "set set"),
    ("sort", "collection"),
    ("split", "string string"),
    ("sprintf", "format values"),
    ("startswith", "string string"),
    ("strings.any_prefix_match", "string_or_strings string_or_strings"),
    ("strings.any_suffix_match", "string_or_strings string_or_strings"),
    ("strings.count", "string string"),
    ("strings.render_template", "sample sample"),
    ("strings.replace_n", "renames string"),
    ("strings.reverse", "string"),
    ("strings.split_n", "string string small"),
    ("substring", "string small small"),
    ("sum", "numbers"),
    ("time.add_date", "time small small small"),
    ("time.clock", "time"),
    ("time.date", "time"),
    ("time.diff", "time time"),
    ("time.format", "time"),
    ("time.now_ns", ""),
    ("time.parse_duration_ns", "duration"),
    ("time.parse_ns", "layout time_text"),
    ("time.parse_rfc3339_ns", "time_text"),
    ("time.weekday", "time"),
    ("to_number", "number_text"),
    ("trim", "string string"),
    ("trim_left", "string string"),
    ("trim_prefix", "string string"),
    ("trim_right", "string string"),
    ("trim_space", "string"),
    ("trim_suffix", "string string"),
    ("type_name", "any"),
    ("union", "sets"),
    ("units.parse", "unit"),
    ("units.parse_bytes", "unit"),
    ("upper", "string"),
    ("uri.is_valid", "url"),
    ("uri.parse", "url"),
    ("urlquery.decode", "query"),
    ("urlquery.decode_object", "query"),
    ("urlquery.encode", "string"),
    ("urlquery.encode_object", "query_object"),
    ("uuid.parse", "uuid"),
    ("walk", "document"),
    ("yaml.is_valid", "yaml"),
    ("yaml.marshal", "yaml_value"),
    ("yaml.unmarshal", "yaml"),
];

/// Functions that only Rego v0 has.
const DEPRECATED: &[&str] = &[
    "all",
    "any",
    "cast_array",
    "cast_boolean",
    "cast_null",
    "cast_object",
    "cast_set",
    "cast_string",
    "net.cidr_overlap",
    "re_match",
    "set_diff",
];

/// Returns the number of seeds that cover every function once.
pub fn round() -> u64 {
    FUNCTIONS.len() as u64
}

/// Returns the names of the covered functions.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// Returns the calls of a seed: neighbouring seeds have neighbouring functions.
pub fn case(seed: u64) -> Case {
    let (name, kinds) = FUNCTIONS[(seed % round()) as usize];
    let kinds: Vec<&str> = kinds.split_whitespace().collect();
    let mut random = Random::new(seed);
    let calls = (0..CALLS).map(|call| {
        if call < 2 {
            // Values of any type: the type errors.
            let arguments = kinds.iter().map(|_| any(&mut random));
            return list('[', arguments.collect::<Vec<_>>(), ']');
        }
        loop {
            let arguments = arguments(name, &kinds, &mut random);
            if !is_left_out(name, &arguments) {
                return list('[', arguments, ']');
            }
        }
    });
    let inputs = calls.collect();
    let arguments: Vec<String> = (0..kinds.len()).map(|at| format!("input[{at}]")).collect();
    let arguments = arguments.join(", ");
    let rule = match name {
        "walk" => "r := [x | walk(input[0], x)]".to_owned(),
        // The digits are kept as in the text, in a form that JSON may not allow.
        "to_number" => "r := to_number(input[0]) + 0".to_owned(),
        // Signatures differ each time.
        "io.jwt.encode_sign" | "io.jwt.encode_sign_raw" => {
            format!("r := array.slice(split({name}({arguments}), \".\"), 0, 2)")
        }
        // The problems come in no fixed order.
        "json.match_schema" => {
            format!("m := {name}({arguments})\n\nr := [m[0], {{x | x := m[1][_]}}]")
        }
        _ => format!("r := {name}({arguments})"),
    };
    Case {
        version: if DEPRECATED.contains(&name) { "v0" } else { "v1" },
        term_inputs: true,
        strict_errors: (seed / round()).is_multiple_of(2),
        origin: format!("calls {seed}"),
        ..Case::new(format!("package p\n\n{rule}\n"), vec!["data.p.r".to_owned()], inputs)
    }
}

fn arguments(name: &str, kinds: &[&str], random: &mut Random) -> Vec<String> {
    if kinds.contains(&"sample") {
        return sample(name, kinds.len(), random);
    }
    let one = |kind: &&str| {
        if random.chance(4) { any(random) } else { argument(kind, random) }
    };
    kinds.iter().map(one).collect()
}

/// Returns `true` for calls that would keep OPA busy forever, and for those where it is known to be
/// wrong: when it merges networks, it takes IPv4 within IPv6 for longer addresses.
fn is_left_out(name: &str, arguments: &[String]) -> bool {
    let beyond = |limit: f64| {
        arguments
            .iter()
            .skip(usize::from(name == "bits.lsh"))
            .any(|text| text.parse::<f64>().is_ok_and(|number| number.abs() > limit))
    };
    match name {
        "bits.lsh" => beyond(5_000.0),
        "numbers.range" | "numbers.range_step" => beyond(20_000.0),
        "net.cidr_expand" => {
            let length = arguments[0].trim_matches('"').rsplit('/').next();
            length.is_some_and(|length| {
                length
                    .parse::<u32>()
                    .is_ok_and(|length| length < 20 || arguments[0].contains(':') && length < 116)
            })
        }
        "net.cidr_merge" => arguments[0].contains("::ffff:"),
        "units.parse" | "units.parse_bytes" => arguments[0].contains("1e9999999"),
        _ => false,
    }
}

fn one_of(random: &mut Random, texts: &[&'static str]) -> &'static str {
    texts[random.below(texts.len())]
}

fn edges(name: &str) -> &'static [String] {
    static EDGES: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    let edges = EDGES.get_or_init(|| serde_json::from_str(include_str!("edges.json")).unwrap());
    &edges[name]
}

fn raw(name: &str, random: &mut Random) -> String {
    random.pick(edges(name)).clone()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Some of the texts of a list, joined.
fn joined(name: &str, least: usize, most: usize, random: &mut Random) -> String {
    let count = least + random.below(most - least + 1);
    quoted(&(0..count).map(|_| raw(name, random)).collect::<String>())
}

fn list(open: char, items: Vec<String>, close: char) -> String {
    format!("{open}{}{close}", items.join(", "))
}

fn array(items: Vec<String>) -> String {
    list('[', items, ']')
}

fn set(items: Vec<String>) -> String {
    if items.is_empty() { "set()".to_owned() } else { list('{', items, '}') }
}

fn object(members: Vec<(String, String)>) -> String {
    let mut seen = Vec::new();
    let mut items = Vec::new();
    for (key, value) in members {
        if !seen.contains(&key) {
            items.push(format!("{key}: {value}"));
            seen.push(key);
        }
    }
    list('{', items, '}')
}

fn some(
    most: usize,
    random: &mut Random,
    mut one: impl FnMut(&mut Random) -> String,
) -> Vec<String> {
    let count = random.below(most + 1);
    (0..count).map(|_| one(random)).collect()
}

fn array_or_set(items: Vec<String>, random: &mut Random) -> String {
    if random.chance(60) { array(items) } else { set(items) }
}

fn any(random: &mut Random) -> String {
    if random.chance(60) { raw("any", random) } else { value(3, random) }
}

fn number(random: &mut Random) -> String {
    match random.below(100) {
        0..80 => raw("numbers", random),
        80..92 => (random.below(350) as i64 - 50).to_string(),
        92..96 => format!("{}.{}", random.below(20_000) as i64 - 10_000, random.below(100_000)),
        _ => format!("{}{:09}", random.next(), random.below(1_000_000_000)),
    }
}

fn small(random: &mut Random) -> String {
    if random.chance(80) { (random.below(16) as i64 - 3).to_string() } else { number(random) }
}

fn string(random: &mut Random) -> String {
    if random.chance(70) {
        quoted(&raw("strings", random))
    } else {
        joined("strings", 1, 4, random)
    }
}

fn scalar(random: &mut Random) -> String {
    match random.below(7) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => "false".to_owned(),
        3 | 4 => number(random),
        _ => string(random),
    }
}

/// A value with sets, and with keys of any type.
fn value(depth: usize, random: &mut Random) -> String {
    if depth == 0 || random.chance(50) {
        return scalar(random);
    }
    match random.below(100) {
        0..35 => array(some(4, random, |random| value(depth - 1, random))),
        35..60 => set(some(4, random, |random| value(depth - 1, random))),
        _ => {
            let count = random.below(5);
            let member = |_| {
                let key = if random.chance(80) { string(random) } else { raw("any", random) };
                (key, value(depth - 1, random))
            };
            object((0..count).map(member).collect())
        }
    }
}

/// A value with few keys, so that paths often lead somewhere.
fn document(depth: usize, random: &mut Random) -> String {
    if depth == 0 {
        return scalar(random);
    }
    match random.below(100) {
        0..35 => scalar(random),
        35..60 => array(some(4, random, |random| document(depth - 1, random))),
        60..68 => set(some(3, random, |random| document(depth - 1, random))),
        _ => keyed(depth, random),
    }
}

fn keyed(depth: usize, random: &mut Random) -> String {
    let mut keys = ["a", "b", "c", "0", "1", "x/y", "~", ""];
    random.shuffle(&mut keys);
    let count = random.below(5);
    object(keys[..count].iter().map(|key| (quoted(key), document(depth - 1, random))).collect())
}

fn path_text(random: &mut Random) -> String {
    const STEPS: [&str; 14] =
        ["a", "b", "c", "0", "1", "2", "-", "x~1y", "~0", "", "+1", "01", "1.0", "00"];
    let steps = 1 + random.below(3);
    let steps: Vec<&str> = (0..steps).map(|_| *random.pick(&STEPS)).collect();
    quoted(&format!("{}{}", if random.chance(50) { "/" } else { "" }, steps.join("/")))
}

fn path(random: &mut Random) -> String {
    const STEPS: [&str; 14] = [
        "\"a\"", "\"b\"", "\"c\"", "\"0\"", "\"1\"", "0", "1", "-1", "1.0", "\"-\"", "\"\"", "[1]",
        "{1}", "null",
    ];
    match random.below(100) {
        0..60 => path_text(random),
        60..95 => array(some(3, random, |random| (*random.pick(&STEPS)).to_owned())),
        _ => any(random),
    }
}

fn patch(random: &mut Random) -> String {
    const OPERATIONS: [&str; 8] =
        ["add", "remove", "replace", "move", "copy", "test", "add", "remove"];
    let operation = *random.pick(&OPERATIONS);
    let mut members =
        vec![("\"op\"".to_owned(), quoted(operation)), ("\"path\"".to_owned(), path(random))];
    if matches!(operation, "add" | "replace" | "test") || random.chance(10) {
        members.push(("\"value\"".to_owned(), document(2, random)));
    }
    if matches!(operation, "move" | "copy") {
        members.push(("\"from\"".to_owned(), path(random)));
    }
    if random.chance(5) {
        members.remove(random.below(members.len()));
    }
    if random.chance(3) {
        members[0].1 = any(random);
    }
    object(members)
}

/// A directive of `sprintf`.
fn directive(random: &mut Random) -> String {
    const VERBS: [&str; 22] = [
        "v", "s", "d", "q", "x", "X", "b", "o", "c", "U", "e", "E", "f", "F", "g", "G", "t", "T",
        "%", "O", "z", "é",
    ];
    let mut out = String::from("%");
    for _ in 0..random.below(3) {
        if random.chance(40) {
            out.push_str(one_of(random, &["+", "-", "#", " ", "0"]));
        }
    }
    if random.chance(15) {
        out.push_str(one_of(random, &["[1]", "[2]", "[3]", "[0]", "[x]", "[]", "[9]"]));
    }
    match random.below(100) {
        0..25 => out.push_str(one_of(random, &["0", "1", "3", "5", "8", "12", "20"])),
        25..30 => out.push('*'),
        _ => {}
    }
    match random.below(100) {
        0..25 => out.push_str(one_of(random, &[".", ".0", ".1", ".2", ".3", ".5", ".10", ".17"])),
        25..28 => out.push_str(".*"),
        _ => {}
    }
    out + *random.pick(&VERBS)
}

fn format(random: &mut Random) -> String {
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        out.push_str(one_of(random, &["", "", " ", "x", "%%", "a:"]));
        out.push_str(&directive(random));
    }
    out.push_str(one_of(random, &["", "", "z", "%", "%5", "%."]));
    quoted(&out)
}

fn network(random: &mut Random) -> String {
    match random.below(100) {
        0..35 => {
            let (a, c) = (*random.pick(&[10, 192]), random.below(4));
            let (b, d) = (*random.pick(&[0, 1, 168]), *random.pick(&[0, 1, 64, 128, 192, 255]));
            quoted(&format!(
                "{a}.{b}.{c}.{d}/{}",
                random.pick(&[8, 16, 22, 23, 24, 25, 26, 30, 32])
            ))
        }
        35..60 => quoted(&raw("networks", random)),
        60..80 => quoted(&raw("networks6", random)),
        _ => quoted(&raw("addresses", random)),
    }
}

fn matches(random: &mut Random) -> String {
    let one = |random: &mut Random| match random.below(10) {
        0..8 => network(random),
        8 => array(vec![network(random), value(1, random)]),
        _ => any(random),
    };
    match random.below(4) {
        0 => network(random),
        1 => array(some(4, random, one)),
        2 => set(some(4, random, one)),
        _ => {
            let items = some(4, random, one);
            let named = items.into_iter().enumerate();
            object(named.map(|(at, item)| (format!("\"k{at}\""), item)).collect())
        }
    }
}

fn nanoseconds(random: &mut Random) -> String {
    match random.below(4) {
        0 | 1 => raw("nanoseconds", random),
        2 => (random.next() as i64).to_string(),
        _ => (random.next() % 1_700_000_000_000_000_000).to_string(),
    }
}

fn layout(random: &mut Random) -> String {
    const PIECES: [&str; 22] = [
        "2006", "01", "02", "15", "04", "05", "Jan", "Mon", "-", "/", " ", "T", "Z07:00", "MST",
        ".000", "PM", "3", "__2", "002", "06", "_2", "-0700",
    ];
    if random.chance(80) {
        return quoted(&raw("layouts", random));
    }
    let count = 1 + random.below(6);
    quoted(&(0..count).map(|_| *random.pick(&PIECES)).collect::<String>())
}

fn time_text(random: &mut Random) -> String {
    if random.chance(65) {
        return quoted(&raw("times", random));
    }
    quoted(&format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z",
        1600 + random.below(700),
        random.below(14),
        random.below(33),
        random.below(25),
        random.below(61),
        random.below(61),
        one_of(random, &["", ".5", ".123456789", ".000001"])
    ))
}

fn time(random: &mut Random) -> String {
    match random.below(100) {
        0..30 => nanoseconds(random),
        30..70 => array(vec![nanoseconds(random), quoted(&raw("zones", random))]),
        70..93 => array(vec![nanoseconds(random), quoted(&raw("zones", random)), layout(random)]),
        93..96 => array(some(3, random, any)),
        _ => any(random),
    }
}

fn url(random: &mut Random) -> String {
    let between = one_of(random, &[":", "://", "://", ":/", "", "//", ":///"]);
    let mut text: String = raw("schemes", random) + between + &raw("hosts", random);
    text += &raw("url_tails", random);
    if random.chance(25) {
        text += &raw("url_tails", random);
    }
    if random.chance(15) {
        let at = random.below(text.chars().count() + 1);
        let at = text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
        text.insert_str(
            at,
            one_of(random, &[" ", "%", ":", "/", "?", "#", "[", "]", "@", "\0", "é", "\\"]),
        );
    }
    quoted(&text)
}

fn uuid(random: &mut Random) -> String {
    if random.chance(50) {
        return quoted(&raw("uuids", random));
    }
    let digits = format!("{:016x}{:016x}", random.next(), random.next());
    let version = one_of(random, &["1", "2", "3", "4", "5"]);
    let text = format!(
        "{}-{}-{version}{}-{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[16..20],
        &digits[20..]
    );
    quoted(&text)
}

fn nodes(random: &mut Random) -> String {
    let items = some(3, random, |random| quoted(one_of(random, &["a", "b", "c", "d", "e", "z"])));
    array_or_set(items, random)
}

fn graph(random: &mut Random) -> String {
    let mut names = ["a", "b", "c", "d", "e"];
    random.shuffle(&mut names);
    let count = random.below(6);
    let node =
        |name: &&str| (quoted(name), if random.chance(95) { nodes(random) } else { any(random) });
    object(names[..count].iter().map(node).collect())
}

fn yaml_block(depth: usize, indent: usize, random: &mut Random) -> String {
    let margin = " ".repeat(indent);
    let kind = random.below(100);
    if depth == 0 || kind < 45 {
        return format!(" {}", raw("yaml", random).replace('\n', &format!("\n{margin}")));
    }
    let mut out = String::new();
    for _ in 0..=random.below(3) {
        let item = if kind < 75 {
            let key = raw("yaml_keys", random);
            let deeper = indent + *random.pick(&[2, 2, 2, 1, 4]);
            format!("{key}:{}", yaml_block(depth - 1, deeper, random))
        } else {
            format!("-{}", yaml_block(depth - 1, indent + 2, random))
        };
        out.push_str(&format!("\n{margin}{item}"));
    }
    out
}

fn yaml(random: &mut Random) -> String {
    if random.chance(25) {
        return quoted(&raw("yaml", random));
    }
    let block = yaml_block(1 + random.below(3), 0, random);
    let mut text = block.trim_start_matches([' ', '\n']).to_owned();
    match random.below(100) {
        0..13 => text.insert_str(0, "---\n"),
        13..20 => text = format!("{text}\n---\n{}", raw("yaml", random)),
        20..27 => {
            text = "base: &base\n  x: 1\n  y: 2\nd:\n  <<: *base\n  y: 3\n".to_owned();
            text += one_of(random, &["e: [*base, *base]\n", "f:\n  <<: [*base, {z: 1}]\n", ""]);
        }
        _ => {}
    }
    if random.chance(50) {
        text.push('\n');
    }
    quoted(&text)
}

fn options(random: &mut Random) -> String {
    let mut members = Vec::new();
    for (name, values) in [
        ("pretty", ["true", "false", "1"]),
        ("indent", ["\"  \"", "\"\\t\"", "1"]),
        ("prefix", ["\"\"", "\"> \"", "1"]),
        ("other", ["1", "1", "1"]),
    ] {
        if random.chance(40) {
            members.push((quoted(name), (*random.pick(&values)).to_owned()));
        }
    }
    object(members)
}

fn argument(kind: &str, random: &mut Random) -> String {
    let text = |name: &str, random: &mut Random| quoted(&raw(name, random));
    match kind {
        "any" => any(random),
        "base" => (one_of(random, &["2", "8", "10", "16", "16.0", "3", "-2"])).to_owned(),
        "base64" | "hex" | "json" => text(kind, random),
        "close" => (one_of(random, &["\"}\"", "\">\"", "\"\"", "\"{\""])).to_owned(),
        "collection" => {
            let items = some(5, random, |random| value(2, random));
            array_or_set(items, random)
        }
        "delimiters" => raw(kind, random),
        "document" => document(3, random),
        "duration" => text("durations", random),
        "format" => format(random),
        "glob" => joined("globs", 1, 4, random),
        "glob_text" => joined("glob_texts", 0, 4, random),
        "graph" => graph(random),
        "intersection" => joined("intersections", 0, 6, random),
        "key" => {
            if random.chance(50) {
                string(random)
            } else {
                path(random)
            }
        }
        "keys" => {
            let items = some(5, random, |random| {
                if random.chance(50) {
                    quoted(one_of(random, &["a", "b", "c", "0", "x/y"]))
                } else {
                    string(random)
                }
            });
            array_or_set(items, random)
        }
        "layout" => layout(random),
        "matches" => matches(random),
        "network" => network(random),
        "networks" => {
            let items = some(5, random, network);
            array_or_set(items, random)
        }
        "nodes" => nodes(random),
        "number" => number(random),
        "number_or_set" => {
            if random.chance(60) {
                number(random)
            } else {
                set(some(5, random, any))
            }
        }
        "number_text" => text("number_texts", random),
        "numbers" => {
            let items = some(5, random, number);
            array_or_set(items, random)
        }
        "object" => keyed(3, random),
        "objects" => array(some(4, random, |random| keyed(3, random))),
        "open" => (one_of(random, &["\"{\"", "\"<\"", "\"\"", "\"é\"", "\"{{\""])).to_owned(),
        "options" => options(random),
        "patches" => array(some(4, random, patch)),
        "paths" => {
            let items = some(4, random, path);
            array_or_set(items, random)
        }
        "pattern" => joined("patterns", 1, 3, random),
        "query" => text("queries", random),
        "query_object" => {
            let count = random.below(5);
            let member = |_| {
                let value = if random.chance(40) {
                    string(random)
                } else {
                    let items = some(4, random, string);
                    array_or_set(items, random)
                };
                (string(random), value)
            };
            object((0..count).map(member).collect())
        }
        "renames" => {
            let count = random.below(5);
            object((0..count).map(|_| (string(random), string(random))).collect())
        }
        "replacement" => joined("replacements", 0, 3, random),
        "set" => set(some(6, random, any)),
        "sets" => set(some(4, random, |random| set(some(6, random, any)))),
        "small" => small(random),
        "string" => string(random),
        "string_or_strings" => {
            if random.chance(50) {
                string(random)
            } else {
                argument("strings", random)
            }
        }
        "strings" => {
            let items = some(5, random, string);
            array_or_set(items, random)
        }
        "template" => {
            let (open, close) = *random.pick(&[("{", "}"), ("<", ">")]);
            let before = one_of(random, &["a", "urn:", ""]);
            let after = one_of(random, &["", "b", ".*"]);
            quoted(&format!("{before}{open}{}{close}{after}", raw("patterns", random)))
        }
        "text" => joined("texts", 1, 3, random),
        "time" => time(random),
        "time_text" => time_text(random),
        "unit" => {
            const NUMBERS: [&str; 24] = [
                "1",
                "10",
                "1.5",
                "0",
                "100",
                "1024",
                "0.1",
                "1000",
                "1e3",
                "1e-3",
                "1E3",
                "1.2.3",
                "",
                "e",
                "1e",
                "1e+",
                "5.",
                ".5",
                "123456789012345678901",
                "0.000000000001",
                "1_0",
                "007",
                ".",
                "1,5",
            ];
            let sign = one_of(random, &["", "", "-", "+"]);
            let number = *random.pick(&NUMBERS);
            quoted(&format!(
                "{sign}{number}{}{}",
                raw("units", random),
                one_of(random, &["", "", " "])
            ))
        }
        "url" => url(random),
        "uuid" => uuid(random),
        "value" => value(3, random),
        "values" => array(some(4, random, |random| {
            if random.chance(60) { number(random) } else { value(2, random) }
        })),
        "version" => text("versions", random),
        "yaml" => yaml(random),
        "yaml_value" => {
            if random.chance(50) {
                return value(3, random);
            }
            let scalar = text("yaml", random);
            match random.below(3) {
                0 => scalar,
                1 => format!("[{scalar}, {{{scalar}: [{scalar}]}}]"),
                _ => format!("{{\"k\": {{{scalar}: {scalar}}}}}"),
            }
        }
        _ => panic!("no such kind of argument: {kind}"),
    }
}

/// The arguments of calls that OPA was asked about, by function: certificates, keys, tokens,
/// schemas, templates, requests.
fn samples() -> &'static BTreeMap<String, Vec<Vec<Value>>> {
    static SAMPLES: OnceLock<BTreeMap<String, Vec<Vec<Value>>>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/builtins/opa_sample.jsonl");
        let mut samples: BTreeMap<String, Vec<Vec<Value>>> = BTreeMap::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let call = Value::from_json(line).unwrap();
            let name = call.get_str("f").and_then(Value::as_str).unwrap();
            let arguments = call.get_str("args").and_then(Value::as_array).unwrap();
            let arguments = arguments.iter().map(decode).collect();
            samples.entry(name.to_owned()).or_default().push(arguments);
        }
        samples
    })
}

/// The arguments of one call, of several calls mixed, of a related function, or damaged.
fn sample(name: &str, count: usize, random: &mut Random) -> Vec<String> {
    let samples = samples();
    let family = name.rsplit_once('.').map_or(name, |(family, _)| family);
    let related: Vec<&Vec<Vec<Value>>> = samples
        .iter()
        .filter(|(other, _)| other.starts_with(family))
        .map(|(_, calls)| calls)
        .collect();
    let own = samples.get(name).unwrap_or_else(|| related[0]);
    let base = random.pick(own);
    let argument = |at: usize| {
        let from = match random.below(100) {
            0..70 => base,
            70..90 => random.pick(own),
            _ => {
                let calls = *random.pick(&related);
                random.pick(calls)
            }
        };
        let mut value = from.get(at).cloned().unwrap_or(Value::Null);
        while random.chance(35) {
            value = damaged(&value, random);
        }
        term(&value)
    };
    (0..count).map(argument).collect()
}

/// A value with one random change.
fn damaged(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::String(text) => {
            let mut letters: Vec<char> = text.chars().collect();
            let at = random.below(letters.len() + 1);
            match random.below(5) {
                0 => letters.truncate(at),
                1 if at < letters.len() => {
                    letters.remove(at);
                }
                2 => letters
                    .insert(at, *random.pick(&['.', '=', 'A', '{', '"', ' ', '\n', '0', 'é'])),
                3 if at < letters.len() => {
                    letters[at] = *random.pick(&['B', '-', '1', '}', ',', '/'])
                }
                _ => {
                    let end = letters.len();
                    letters.extend_from_within(at.min(end)..);
                }
            }
            Value::from(letters.into_iter().collect::<String>())
        }
        Value::Array(items) if !items.is_empty() && random.chance(85) => {
            let mut items: Vec<Value> = items.iter().cloned().collect();
            let at = random.below(items.len());
            if random.chance(15) {
                items.remove(at);
            } else {
                items[at] = damaged(&items[at], random);
            }
            Value::from(items)
        }
        Value::Object(members) if random.chance(90) => {
            let mut members: Vec<(Value, Value)> =
                members.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
            if members.is_empty() {
                return value.clone();
            }
            let at = random.below(members.len());
            match random.below(10) {
                0 | 1 => {
                    members.remove(at);
                }
                2 => members[at].0 = damaged(&members[at].0, random),
                _ => members[at].1 = damaged(&members[at].1, random),
            }
            Value::from(members.into_iter().collect::<Object>())
        }
        _ => {
            let text = any(random);
            subject::term(&text).unwrap_or(Value::Null)
        }
    }
}

/// A value in Rego's syntax.
fn term(value: &Value) -> String {
    match value {
        Value::Set(items) => set(items.iter().map(term).collect()),
        Value::Array(items) => array(items.iter().map(term).collect()),
        Value::Object(members) => {
            object(members.iter().map(|(key, value)| (term(key), term(value))).collect())
        }
        other => subject::canonical(other),
    }
}
