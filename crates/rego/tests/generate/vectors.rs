//! Public test vectors as calls of built-in functions: signed tokens, keys and message codes of
//! Wycheproof (`testvectors_v1/*.json`), and the chains of x509-limbo (`limbo.json`).
//!
//! The files are read from clones; none is copied here. What counts is OPA's answer, not the
//! vector's own verdict.

use serde_json::{Value as Json, json};

use super::case::Case;

/// The functions that take a token and a key, or the secret of a key.
const TOKENS: &str = r#"package p

decoded := io.jwt.decode(input.jws)

verified := io.jwt.decode_verify(input.jws, {"cert": input.key, "time": 1700000000000000000})

with_secret := io.jwt.decode_verify(input.jws, {"secret": input.secret})

es256 := io.jwt.verify_es256(input.jws, input.key)

es384 := io.jwt.verify_es384(input.jws, input.key)

es512 := io.jwt.verify_es512(input.jws, input.key)

ps256 := io.jwt.verify_ps256(input.jws, input.key)

ps384 := io.jwt.verify_ps384(input.jws, input.key)

ps512 := io.jwt.verify_ps512(input.jws, input.key)

rs256 := io.jwt.verify_rs256(input.jws, input.key)

rs384 := io.jwt.verify_rs384(input.jws, input.key)

rs512 := io.jwt.verify_rs512(input.jws, input.key)

eddsa := io.jwt.verify_eddsa(input.jws, input.key)

hs256 := io.jwt.verify_hs256(input.jws, input.secret)

hs384 := io.jwt.verify_hs384(input.jws, input.secret)

hs512 := io.jwt.verify_hs512(input.jws, input.secret)
"#;

/// The functions that read a key alone; signatures differ each time, so only a token's text counts.
const KEYS: &str = r#"package p

es256 := io.jwt.verify_es256("e30.e30.AAAA", input)

rs256 := io.jwt.verify_rs256("e30.e30.AAAA", input)

eddsa := io.jwt.verify_eddsa("e30.e30.AAAA", input)

private := crypto.parse_private_keys(input)

rsa := crypto.x509.parse_rsa_private_key(input)

signed[name] := array.slice(split(token, "."), 0, 2) if {
	some name in ["HS256", "RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]
	token := io.jwt.encode_sign_raw(sprintf(`{"alg": %q}`, [name]), "{}", input)
}
"#;

const CODES: &str = r"package p

md5 := crypto.hmac.md5(input.msg, input.key)

sha1 := crypto.hmac.sha1(input.msg, input.key)

sha256 := crypto.hmac.sha256(input.msg, input.key)

sha512 := crypto.hmac.sha512(input.msg, input.key)
";

const CHAINS: &str = r"package p

parsed := crypto.x509.parse_certificates(input.certs)

verified := crypto.x509.parse_and_verify_certificates_with_options(input.certs, input.options)
";

/// Returns the cases of a file of vectors.
pub fn cases(path: &str) -> std::io::Result<Vec<Case>> {
    let file: Json = serde_json::from_slice(&std::fs::read(path)?)?;
    let mut cases = Vec::new();
    let mut add = |policy: &str, name: &str, input: &Json| {
        let rules = policy.lines().filter_map(|line| line.split_once(" := ").map(|(head, _)| head));
        let rules = rules.filter(|head| !head.starts_with('\t'));
        let queries =
            rules.map(|head| format!("data.p.{}", head.split('[').next().unwrap_or(head)));
        cases.push(Case {
            origin: format!("{path} {name}"),
            ..Case::new(policy.to_owned(), queries.collect(), vec![input.to_string()])
        });
    };
    for chain in elements(&file["testcases"]) {
        let name = text(&chain["id"]);
        for certs in chains(chain) {
            add(CHAINS, &name, &json!({"certs": certs, "options": options(chain)}));
        }
    }
    for (group, at) in elements(&file["testGroups"]).iter().zip(1..) {
        let name = format!("group {at}");
        let mut keys = Vec::new();
        find_keys(group, &mut keys);
        for key in &keys {
            add(KEYS, &name, &json!(key));
        }
        for test in elements(&group["tests"]) {
            let name = format!("{} {}", test["tcId"], text(&test["comment"]));
            let code = json!({"msg": from_hex(&test["msg"]), "key": from_hex(&test["key"])});
            if test["tag"].is_string() && code["msg"].is_string() && code["key"].is_string() {
                add(CODES, &name, &code);
            }
            for key in keys.iter().filter(|_| test["jws"].is_string()) {
                // The secret is text in OPA; what isn't, can't be given to it.
                let secret = text(&group["private"]["k"]);
                add(TOKENS, &name, &json!({"jws": test["jws"], "key": key, "secret": secret}));
            }
        }
    }
    Ok(cases)
}

/// Returns the chains to try: each root with the intermediates and the leaf, in OPA's order.
fn chains(chain: &Json) -> Vec<String> {
    let rest =
        elements(&chain["untrusted_intermediates"]).iter().chain([&chain["peer_certificate"]]);
    let rest: Vec<String> = rest.map(text).collect();
    let roots = elements(&chain["trusted_certs"]).iter();
    roots.map(|root| format!("{}\n{}", text(root), rest.join("\n"))).collect()
}

fn options(chain: &Json) -> Json {
    // The chains without a time are valid for centuries.
    let time = chain["validation_time"].as_str().unwrap_or("2024-06-01T00:00:00Z");
    let time = chrono::DateTime::parse_from_rfc3339(time).ok();
    let usages = elements(&chain["extended_key_usage"]).iter().filter_map(|usage| {
        Some(match usage.as_str()? {
            "anyExtendedKeyUsage" => "KeyUsageAny",
            "serverAuth" => "KeyUsageServerAuth",
            "clientAuth" => "KeyUsageClientAuth",
            "codeSigning" => "KeyUsageCodeSigning",
            "emailProtection" => "KeyUsageEmailProtection",
            "timeStamping" => "KeyUsageTimeStamping",
            "OCSPSigning" => "KeyUsageOCSPSigning",
            _ => return None,
        })
    });
    let mut options = json!({
        "CurrentTime": time.and_then(|time| time.timestamp_nanos_opt()),
        "KeyUsages": usages.collect::<Vec<_>>(),
    });
    if let Some(name) = chain["expected_peer_name"]["value"].as_str() {
        options["DNSName"] = json!(name);
    }
    options
}

/// Collects the keys in a group: PEM texts, and the JSON of JWKs and of their sets.
fn find_keys(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::String(text) if text.contains("-----BEGIN") => found.push(text.clone()),
        Json::Object(object) if object.contains_key("kty") || object.contains_key("keys") => {
            found.push(json.to_string());
        }
        Json::Object(object) => object.values().for_each(|inner| find_keys(inner, found)),
        Json::Array(array) => array.iter().for_each(|inner| find_keys(inner, found)),
        _ => {}
    }
}

fn elements(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// Returns the text that a hexadecimal text stands for, if it is one.
fn from_hex(json: &Json) -> Option<String> {
    let digits = json.as_str()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(digits.chunks(2).map(byte).collect::<Option<_>>()?).ok()
}
