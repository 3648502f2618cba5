//! Verdicts of earlier runs: what counts, and everything that doesn't, which is evaluated.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::signed::{Key, envelope};
use crate::cli::{Output, Sandbox};

/// Says when it is evaluated.
const POLICY: &str = "package p\n\ndeny contains \"it is bad\" if {\n\tprint(\"evaluated\")\n\tinput.bad\n}\n\n\
    warn contains \"it is odd\" if input.odd\n";

struct Gate {
    sandbox: Sandbox,
    key: Key,
    /// The file of the public key.
    public: String,
}

impl Gate {
    fn new() -> Self {
        Self::with(POLICY)
    }

    fn with(policy: &str) -> Self {
        let (sandbox, key) = (Sandbox::new(), Key::new());
        sandbox.write("p.rego", policy);
        sandbox.write("a.json", "{\"bad\": false}");
        sandbox.write("b.json", "{\"bad\": false, \"number\": 2}");
        let public = key.public(&sandbox, "gate.pub");
        Self { sandbox, key, public }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.sandbox.run(arguments).within(self.sandbox.path("")).output()
    }

    /// Runs a gate with these arguments, and signs a statement about it.
    fn stated(&self, arguments: &[&str]) -> Output {
        let gate = ["gate", "-d", "p.rego", "-o", "json=gate.json"];
        let output = self.run(&[&gate, arguments].concat());
        let private = self.key.private(&self.sandbox, "gate.key");
        let statement = self.run(&["attest", "gate.json", "--sign-key", &private]).code(0);
        self.sandbox.write("statement.json", statement.stdout);
        output
    }

    /// Runs a gate that accepts the statement.
    fn accepting(&self, arguments: &[&str]) -> Output {
        let gate = ["gate", "-d", "p.rego", "-f", "json"];
        let accept = ["--accept-verdict", &*self.public, "statement.json"];
        self.run(&[&gate, arguments, &accept].concat())
    }

    /// Checks that nothing is reused, and why.
    fn evaluates(&self, arguments: &[&str], why: &str) -> Value {
        let output = self.accepting(arguments);
        assert_eq!(reused(&output), 0, "{output:#?}");
        let report = output.json();
        let accepted = &report["inventory"]["accepted"][0];
        assert_eq!(accepted["inputs"], 0, "{accepted}");
        assert!(accepted["reason"].as_str().unwrap().contains(why), "{accepted}");
        assert!(output.stderr.contains("`statement.json` isn't reused: "), "{}", output.stderr);
        report
    }

    /// Changes the statement, and signs it again.
    fn resign(&self, change: impl Fn(&mut Value)) {
        let text = std::fs::read_to_string(self.sandbox.path("statement.json")).unwrap();
        let signed: Value = serde_json::from_str(&text).unwrap();
        let payload = STANDARD.decode(signed["payload"].as_str().unwrap()).unwrap();
        let mut statement: Value = serde_json::from_slice(&payload).unwrap();
        change(&mut statement);
        let signed = envelope(&statement.to_string(), &[&self.key]);
        self.sandbox.write("statement.json", signed.to_string());
    }
}

/// The number of inputs that weren't evaluated: the policy prints for each that was.
fn reused(output: &Output) -> usize {
    let report = output.json();
    let inputs = report["inputs"].as_array().unwrap();
    let reused = inputs.iter().filter(|input| input["reused"].is_string()).count();
    assert_eq!(output.stderr.matches("evaluated").count(), inputs.len() - reused, "{output:#?}");
    reused
}

const BOTH: [&str; 4] = ["-i", "a.json", "-i", "b.json"];

#[test]
fn what_passed_on_the_same_basis_is_not_evaluated_again() {
    let gate = Gate::new();
    gate.stated(&BOTH).code(0);
    let output = gate.accepting(&BOTH).code(0);
    assert_eq!(reused(&output), 2);
    let report = output.json();
    let text = std::fs::read(gate.sandbox.path("statement.json")).unwrap();
    let digest = super::digest_of(&text);
    let accepted = json!([{"path": "statement.json", "digest": digest, "inputs": 2}]);
    assert_eq!(report["inventory"]["accepted"], accepted);
    for input in report["inputs"].as_array().unwrap() {
        assert_eq!((&input["reused"], &input["outcome"]), (&json!(digest), &json!("passed")));
        assert_eq!(input["verdicts"][0]["status"], "passed");
    }
    let accept = ["--accept-verdict", &*gate.public, "statement.json"];
    let output = gate.run(&[&["gate", "-d", "p.rego"], &BOTH[..], &accept].concat()).code(0);
    assert_eq!(output.stdout.trim(), "passed: 2 inputs, 2 by an earlier verdict");
    // One that has changed is evaluated beside one that hasn't.
    gate.sandbox.write("b.json", "{\"bad\": true}");
    let output = gate.accepting(&BOTH).code(1);
    assert_eq!(reused(&output), 1);
    assert_eq!(output.json()["inputs"][1]["verdicts"][0]["violations"][0]["message"], "it is bad");
    gate.sandbox.write("c.json", "{\"bad\": false}");
    // The name is a policy's to read.
    gate.evaluates(&["-i", "c.json"], "no input has the name and the content");
}

#[test]
fn with_another_basis_everything_is_evaluated() {
    let gate = Gate::new();
    let other = "the options, the waivers or this program are others";
    gate.stated(&BOTH).code(0);
    gate.sandbox.write("data.json", "{}");
    gate.sandbox.write("w.yaml", "waivers: []\n");
    for more in [
        &["--fail-on-warn"][..],
        &["--fail-on", "high"],
        &["--set", "x=1"],
        &["--allow-warnings"],
        &["-d", "data.json"],
        &["--waivers", "w.yaml"],
        &["--max-calls", "7"],
        &["--not-found", "undefined"],
        &["--product", "other"],
        &["-n", "p"],
        &["--allow-host", "example.test"],
        &["--explain", "notes"],
    ] {
        let report = gate.evaluates(&[&BOTH[..], more].concat(), other);
        assert_eq!(report["outcome"], "passed", "{more:?}");
    }
    gate.evaluates(&[&BOTH[..], &["--combine"]].concat(), "inputs that are combined have no basis");
    gate.accepting(&[&BOTH[..], &["--shard", "1/2"]].concat()).fails("cannot be used with");
    gate.sandbox.write("p.rego", POLICY.replace("input.odd", "input.od"));
    gate.evaluates(&BOTH, other);
    gate.sandbox.write("p.rego", POLICY);
    assert_eq!(reused(&gate.accepting(&BOTH)), 2);
    // By its data alone.
    gate.stated(&[&BOTH[..], &["-d", "data.json"]].concat()).code(0);
    gate.sandbox.write("data.json", "{\"x\": 1}");
    gate.evaluates(&[&BOTH[..], &["-d", "data.json"]].concat(), other);
}

#[test]
fn what_states_no_clean_pass_is_evaluated() {
    let gate = Gate::new();
    let reserved = "didn't pass without reservations";
    gate.sandbox.write("b.json", "{\"bad\": true}");
    gate.stated(&BOTH).code(1);
    // The one that passed, too.
    assert_eq!(gate.evaluates(&BOTH, reserved)["outcome"], "failed");
    gate.sandbox.write("b.json", "{\"bad\": false, \"odd\": true}");
    gate.stated(&BOTH).code(0);
    gate.evaluates(&BOTH, reserved);
    let waiver = "waivers:\n- policy: p\n  subject: {input: 'b.json'}\n  reason: r\n  owner: o\n  \
        expires: 2099-12-31\nmax_days: 100000\n";
    gate.sandbox.write("w.yaml", waiver);
    gate.sandbox.write("b.json", "{\"bad\": true}");
    let waived = [&BOTH[..], &["--waivers", "w.yaml"]].concat();
    gate.stated(&waived).code(0);
    gate.evaluates(&waived, reserved);
    let skips = "package p\n\nresult := {\"skipped\": input.skip, \"violations\": []} if print(\"evaluated\")\n";
    gate.sandbox.write("p.rego", skips);
    gate.sandbox.write("a.json", "{\"skip\": true}");
    gate.stated(&["-i", "a.json", "--allow-skipped"]).code(0);
    gate.evaluates(&["-i", "a.json", "--allow-skipped"], reserved);
}

#[test]
fn what_may_answer_otherwise_is_asked_again() {
    for (call, function) in [
        ("time.now_ns() > 0", "time.now_ns"),
        ("rand.intn(\"x\", 10) >= 0", "rand.intn"),
        ("uuid.rfc4122(\"x\")", "uuid.rfc4122"),
    ] {
        let policy = POLICY.replace("print(", &format!("{call}\n\tprint("));
        let gate = Gate::with(&policy);
        gate.stated(&BOTH).code(0);
        gate.evaluates(&BOTH, &format!("`{function}`, which has to be asked again"));
    }
    let gate = Gate::new();
    gate.stated(&BOTH).code(0);
    let basis = |statement: &mut Value| {
        let all = statement["predicate"]["configuration"].as_array_mut().unwrap();
        let inventory = all.iter_mut().find(|entry| entry["name"] == "inventory.json").unwrap();
        inventory["annotations"]["asked"] = json!(["platform.discover"]);
    };
    gate.resign(basis);
    gate.evaluates(&BOTH, "`platform.discover`, which has to be asked again");
}

#[test]
fn what_the_key_did_not_sign_is_evaluated() {
    let gate = Gate::new();
    gate.stated(&BOTH).code(0);
    let text = std::fs::read_to_string(gate.sandbox.path("statement.json")).unwrap();
    let signed: Value = serde_json::from_str(&text).unwrap();
    let payload = STANDARD.decode(signed["payload"].as_str().unwrap()).unwrap();
    let payload = String::from_utf8(payload).unwrap();
    let mut other = signed.clone();
    other["payload"] = STANDARD.encode(payload.replace("a.json", "z.json")).into();
    let untrusted = "not by a key that is trusted";
    let vsa = payload.replace("in-toto.io/attestation/test-result/v0.1", "slsa.dev/x");
    let none = payload.replace("\"basis\"", "\"base\"");
    for (text, why) in [
        (envelope(&payload, &[&Key::new()]).to_string(), untrusted),
        (other.to_string(), untrusted),
        (payload.clone(), "the statement isn't signed"),
        (envelope(&vsa, &[&gate.key]).to_string(), "isn't a test result"),
        (envelope(&none, &[&gate.key]).to_string(), "it has no basis"),
        ("{}".to_owned(), "neither a DSSE envelope"),
        ("{".to_owned(), "statement.json:1"),
    ] {
        gate.sandbox.write("statement.json", text);
        gate.evaluates(&BOTH, why);
    }
    gate.sandbox.write("statement.json", &text);
    gate.accepting(&[&BOTH[..], &["--accept-verdict", "none.pub", "statement.json"]].concat())
        .fails("none.pub");
    // What was taken over isn't found out anew, and can't be handed on.
    let accept = ["--accept-verdict", &*gate.public, "statement.json"];
    gate.stated(&[&BOTH[..], &accept].concat()).code(0);
    gate.evaluates(&BOTH, "it has no basis");
}

/// Documents of one file have verdicts of their own.
#[test]
fn documents_of_a_file_are_told_apart_by_their_names() {
    let gate = Gate::new();
    gate.sandbox.write("a.json", "{\"bad\": false}\n{\"bad\": false, \"n\": 2}\n");
    gate.stated(&["-i", "a.json"]).code(0);
    assert_eq!(reused(&gate.accepting(&["-i", "a.json"]).code(0)), 2);
    gate.resign(|statement| {
        statement["subject"].as_array_mut().unwrap().remove(1);
    });
    assert_eq!(reused(&gate.accepting(&["-i", "a.json"]).code(0)), 1);
    gate.sandbox.write("a.json", "{\"bad\": false}\n{\"bad\": true}\n");
    assert_eq!(reused(&gate.accepting(&["-i", "a.json"]).code(1)), 1);
}
