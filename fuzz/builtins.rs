//! What built-in functions read from elsewhere, by families: each a policy whose input is a text.
//!
//! Shared by the fuzz targets, one for each family, and by the smoke run of the language crate's tests.

use base64::Engine as _;
use rego_platform_rego::{Options, Program, Query, Run, SourceText, Value};

/// The families, and the policies that read a text with each function of theirs.
pub const FAMILIES: &[(&str, &str)] = &[
    (
        // Certificates, requests and keys: the text is the bytes in base64.
        "der",
        r#"
certificates := crypto.x509.parse_certificates(input)
verified := crypto.x509.parse_and_verify_certificates(input)
request := crypto.x509.parse_certificate_request(input)
public := io.jwt.verify_es256("e30.e30.AAAA", pem("PUBLIC KEY"))
certified := io.jwt.verify_rs256("e30.e30.AAAA", pem("CERTIFICATE"))
keys[label] := crypto.parse_private_keys(pem(label)) if some label in labels
rsa[label] := crypto.x509.parse_rsa_private_key(pem(label)) if some label in labels
labels := ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"]
pem(label) := sprintf("-----BEGIN %s-----\n%s\n-----END %s-----\n", [label, input, label])
"#,
    ),
    (
        "jwk",
        r#"
es256 := io.jwt.verify_es256("e30.e30.AAAA", input)
ps384 := io.jwt.verify_ps384("e30.e30.AAAA", input)
eddsa := io.jwt.verify_eddsa("e30.e30.AAAA", input)
signed[name] := io.jwt.encode_sign_raw(sprintf(`{"alg": %q}`, [name]), "{}", input) if {
	some name in ["HS256", "RS256", "ES256", "ES384", "EdDSA"]
}
"#,
    ),
    (
        "token",
        r#"
decoded := io.jwt.decode(input)
verified := io.jwt.decode_verify(input, {"secret": "secret", "time": 1700000000000000000})
"#,
    ),
    ("yaml", "a := yaml.unmarshal(input)\nb := yaml.is_valid(input)\n"),
    (
        "regex",
        r#"
a := regex.match(input, "aab")
b := regex.find_all_string_submatch_n(input, "aé1 b", -1)
c := regex.replace("aab", input, "<$x>")
"#,
    ),
    ("glob", "a := glob.match(input, [], \"a.b\")\nb := regex.globs_match(input, \"a.*b\")\n"),
    (
        "template",
        "a := strings.render_template(input, {\"a\": [1, {\"b\": \"c\"}], \"b\": null})\n",
    ),
    (
        // Layouts, durations, addresses, versions, schemas: short texts with a grammar of their own.
        "format",
        r#"
a := sprintf(input, [1, "é", 2.5, {"a": [null]}])
b := time.parse_ns(input, "2024-01-02T03:04:05Z")
c := time.format([1700000000000000000, "Europe/Berlin", input])
d := time.parse_rfc3339_ns(input)
e := time.parse_duration_ns(input)
f := uri.parse(input)
g := semver.compare(input, "1.2.3")
h := units.parse(input)
i := json.match_schema({"a": "b"}, input)
j := uuid.parse(input)
k := net.cidr_contains(input, "10.0.0.1")
"#,
    ),
    ("module", "a := rego.parse_module(\"p.rego\", input)\n"),
];

/// A family, compiled.
pub struct Family {
    program: Program,
    query: Query,
    is_binary: bool,
}

impl Family {
    /// Compiles the policy of a family.
    pub fn new(name: &str) -> Self {
        let (_, policy) = FAMILIES.iter().find(|(family, _)| *family == name).expect("a family");
        let module = SourceText::new("p.rego", format!("package p\n{policy}"));
        let program = Program::compile(vec![module], &Options::default()).expect("a policy");
        let query = program.query("data.p").expect("a query");
        Self { program, query, is_binary: name == "der" }
    }

    /// Reads some bytes with each function. A panic is the only failure.
    pub fn run(&self, bytes: &[u8]) {
        let text = if self.is_binary {
            base64::engine::general_purpose::STANDARD.encode(bytes)
        } else {
            String::from_utf8_lossy(bytes).into_owned()
        };
        let input = Value::from(text);
        let outcome = self.program.evaluate(&self.query, &Run::default().input(&input));
        if let Ok(solutions) = outcome.result {
            assert!(solutions.len() == 1, "{} answers", solutions.len());
        }
    }
}
