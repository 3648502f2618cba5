//! `evidence_prompt(evidence, prompt)`: an AI model's evaluation of a piece of evidence.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::rego::Value;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::arguments::{Invalid, argument, is_digest, string};
use super::{AnswerFuture, Argument, Cost, Field, Function, Origin, Request, Type};
use crate::Error;
use crate::client::{
    Client, Context, parse_envelope, protocol, refuse_failed, run_operation, tells_of_success,
    tells_of_trouble, undocumented, words,
};
use crate::text::{hex, shorten};

static RESULT: &[Field] = &[
    Field::required("skipped", Type::Boolean, "whether the analysis was skipped"),
    Field::required("violations", Type::Array(&Type::String), "what is wrong; empty when skipped"),
];

pub(super) static FUNCTION: Function = Function {
    name: "evidence_prompt",
    arguments: &[
        Argument {
            name: "evidence",
            ty: Type::String,
            doc: "a content-store digest (`sha256:<64 hex>`) or the content itself",
        },
        Argument { name: "prompt", ty: Type::String, doc: "what the model should look for" },
    ],
    result: Type::Object(RESULT),
    summary: "an AI model's evaluation of a piece of evidence",
    doc: "Costs money, so it is never sent twice and never before it is certain to be needed. When the analysis is \
          skipped (the feature is off, for one) `skipped` is true and `violations` empty: look at \
          `skipped` before you take that for a pass. A string that only looks like a digest is an \
          error. Interface section 4.7; needs a paid plan.",
    cost: Cost::Prompt,
    paid_plan: true,
    optional: false,
    origin: Origin::Composed,
    parse,
};

#[derive(Debug)]
struct EvidencePrompt {
    evidence: String,
    prompt: String,
}

fn parse(arguments: &[Value]) -> Result<Arc<dyn Request>, Invalid> {
    let evidence = string("evidence", argument(arguments, 0))?;
    if evidence.trim().is_empty() {
        return Err(Invalid::new("evidence", "is empty"));
    }
    if !is_digest(&evidence, &["sha256"]) && looks_like_digest(&evidence) {
        let message = format!(
            "`{}` looks like a digest, but isn't one of the content store's",
            shorten(&evidence, 100)
        );
        // A model asked about the text of a digest would find nothing wrong with it.
        return Err(Invalid::new("evidence", message)
            .hint("a digest is exactly `sha256:<64 lower-case hex digits>`, without white space"));
    }
    let prompt = string("prompt", argument(arguments, 1))?;
    if prompt.trim().is_empty() {
        return Err(Invalid::new("prompt", "is empty").hint("say what the model should look for"));
    }
    Ok(Arc::new(EvidencePrompt { evidence, prompt }))
}

/// Returns `true` if the content is a digest rather than a text worth analysing: a word with a
/// colon and hex digits behind it, or just hex digits of a digest's length, in any case and with
/// any white space around.
fn looks_like_digest(text: &str) -> bool {
    let text = text.trim();
    let is_hex = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_hexdigit());
    match text.split_once(':') {
        Some((algorithm, hex)) => {
            let algorithm = algorithm.trim();
            let named = algorithm.to_ascii_lowercase();
            let known = ["sha", "md5", "blake"].iter().any(|prefix| named.starts_with(prefix));
            let word = !algorithm.is_empty()
                && algorithm.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-_.".contains(&b));
            word && (known && !hex.trim().contains(char::is_whitespace)
                || is_hex(hex.trim()) && hex.trim().len() >= 32)
        }
        None => is_hex(text) && [32, 40, 56, 64, 96, 128].contains(&text.len()),
    }
}

impl Request for EvidencePrompt {
    fn normalised(&self) -> Vec<Value> {
        vec![Value::from(self.evidence.as_str()), Value::from(self.prompt.as_str())]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (key, digest) = if is_digest(&self.evidence, &["sha256"]) {
                ("digest", self.evidence.clone())
            } else {
                ("content", format!("sha256:{}", hex(&Sha256::digest(&self.evidence))))
            };
            let body = serde_json::json!({ key: self.evidence, "prompt": self.prompt });
            let body = Bytes::from(body.to_string());
            let done = run_operation(client, context, body, &digest).await?;
            Ok(answer(&done.0)?.into())
        })
    }
}

/// The fields of an operation's `output`. A model writes it, so nothing has a default.
static OUTPUT: &[Field] = &[
    Field::optional("skipped", Type::Boolean, ""),
    Field::optional("violations", Type::Array(&Type::String), ""),
];

/// Reads the documented object from an operation's `output`, which is either skipped or has
/// `violations`.
fn answer(output: &str) -> Result<Value, Error> {
    let output = parse_envelope(OUTPUT, output).map_err(|error| {
        let error = shorten(&error.to_string(), 200);
        protocol(format!("the AI evaluation's output can't be read: {error}"))
    })?;
    let field = |name: &str| output.get(&Value::from(name));
    if let Some(fields) = output.as_object() {
        refuse_failed(fields, OUTPUT)
            .map_err(|why| protocol(format!("the AI evaluation's output can't be read: {why}")))?;
        if let Some((key, _)) = undocumented(fields, OUTPUT).find(|(key, it)| !is_harmless(key, it))
        {
            let key = shorten(key, 80);
            return Err(protocol(format!(
                "the AI evaluation's output has `{key}`: it isn't documented"
            )));
        }
    }
    let skipped = field("skipped") == Some(&Value::Bool(true));
    let violations = match field("violations") {
        Some(Value::Array(all)) if skipped && !all.is_empty() => {
            return Err(protocol("the AI evaluation's output has `skipped: true` and violations"));
        }
        Some(violations) => violations.clone(),
        None if skipped => Value::new_array(),
        // A service that leaves an empty list out says this much, and nothing else.
        None if field("skipped").is_some() && output.len() == Some(1) => Value::new_array(),
        None => {
            let message = "the AI evaluation's output has neither `skipped: true` nor `violations`";
            return Err(protocol(message));
        }
    };
    Ok(Value::from(BTreeMap::from([
        (Value::from("skipped"), Value::Bool(skipped)),
        (Value::from("violations"), violations),
    ])))
}

/// Returns `true` for the answer of an analysis that didn't take place.
pub(crate) fn is_skipped(answer: &Value) -> bool {
    answer.get_str("skipped") == Some(&Value::Bool(true))
}

/// The words of keys under which a model explains itself. The policy doesn't get these texts, and
/// whatever they say, the result is in `violations`.
const EXPLANATIONS: [&str; 16] = [
    "analysis",
    "comment",
    "comments",
    "explanation",
    "language",
    "model",
    "note",
    "notes",
    "rationale",
    "reason",
    "reasoning",
    "reasons",
    "summary",
    "thinking",
    "thoughts",
    "version",
];

/// The words of a text that says that all is well.
const WELL: [&str; 20] = [
    "accept",
    "accepted",
    "approve",
    "approved",
    "clean",
    "complete",
    "completed",
    "compliant",
    "end",
    "finished",
    "ok",
    "okay",
    "pass",
    "passed",
    "safe",
    "stop",
    "succeeded",
    "success",
    "successful",
    "turn",
];

/// Returns `true` for an undocumented field that can't be a part of the result in other words.
fn is_harmless(key: &str, value: &Value) -> bool {
    let are_all = |words: &[String], known: &[&str]| {
        words.iter().all(|word| word.is_empty() || known.contains(&word.as_str()))
    };
    match value {
        Value::Null => true,
        Value::String(text) => {
            let explains = are_all(&words(key), &EXPLANATIONS);
            // "none" is good news of what may be found, and bad news of what should be.
            let none = tells_of_trouble(key) && are_all(&words(text), &["none"]);
            text.is_empty() || explains || none || !is_result(key) && are_all(&words(text), &WELL)
        }
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        // `truncated: false` says that all is well, `approved: false` doesn't.
        Value::Bool(false) => {
            let plain = |word: &String| is_result(word) || tells_of_trouble(word);
            !tells_of_success(key) && words(key).iter().all(plain)
        }
        _ => false,
    }
}

/// Returns `true` for a key that begins as a word for what an analysis finds does.
fn is_result(key: &str) -> bool {
    let key = key.to_lowercase();
    ["violation", "finding", "issue", "problem"].iter().any(|word| key.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_digest_is_not_taken_for_content() {
        let hex = "a".repeat(64);
        for near in [
            format!("sha256:{}", hex.to_uppercase()),
            format!(" sha256:{hex}"),
            format!("sha256:{hex}\n"),
            format!("SHA256:{hex}"),
            format!("sha512:{hex}"),
            format!("sha256:{}", &hex[1..]),
            format!("sha1:{}", &hex[..40]),
            format!("sha256: {hex}"),
            format!("sha256 :{hex}"),
            "sha256:".to_owned(),
            "sha256:xyz".to_owned(),
            hex.clone(),
        ] {
            assert!(looks_like_digest(&near), "{near}");
        }
        for content in
            ["# Threat model", "note: see below", "{\"a\":1}", "sha256: of the file", "abc"]
        {
            assert!(!looks_like_digest(content), "{content}");
        }
    }

    #[test]
    fn an_output_is_skipped_or_has_violations() {
        assert!(answer(r#"{"skipped":true}"#).is_ok());
        assert!(answer(r#"{"violations":[]}"#).is_ok());
        assert!(answer(r#"{"skipped":false}"#).is_ok());
        assert!(answer(r#"{"skipped":false,"violations":[],"reason":"fine"}"#).is_ok());
        assert!(answer(r#"{"violations":[],"remaining_risks":"none","status":"clean"}"#).is_ok());
        assert!(
            answer(r#"{"violations":[],"finish_reason":"end_turn","truncated":false}"#).is_ok()
        );
        for bad in [
            "",
            "{}",
            "[]",
            "[false,[]]",
            "null",
            r#"{"violations":[],"evaluated":false}"#,
            r#"{"violations":[],"matches_policy":false}"#,
            r#"{"violations":[],"violations_checked":false}"#,
            r#"{"violations":[],"issues_resolved":false}"#,
            r#"{"violations":[],"violation_free":false}"#,
            r#"{"violations":[],"verdict":"none passed"}"#,
            r#"{"violations":[],"approved":"none"}"#,
            r#"{"skipped":false,"violations":[]} x"#,
            r#"{"violations":[],"violations":[]}"#,
            r#"{"skipped":null}"#,
            r#"{"skipped":false,"Violations":["x"]}"#,
            r#"{"violations":[],"VIOLATIONS":["x"]}"#,
            r#"{"skipped":false,"findings":["x"]}"#,
            r#"{"violations":[],"error":"x"}"#,
            r#"{"violations":[],"success":false}"#,
            r#"{"violations":[],"status":"failed"}"#,
            r#"{"violations":[],"violation":"the key is hard-coded"}"#,
            r#"{"violations":[],"violation":["x"]}"#,
            r#"{"violations":[],"findings":["x"]}"#,
            r#"{"violations":[],"truncated":true}"#,
            r#"{"violations":[],"result":{"violations":["x"]}}"#,
            r#"{"violations":[],"pass":false}"#,
            r#"{"violations":[],"approved":false}"#,
            r#"{"violations":[],"verdict":"non-compliant"}"#,
            r#"{"violations":[],"decision":"reject"}"#,
            r#"{"violations":[],"answer":"no"}"#,
            r#"{"violations":[],"refusal":"I can't read this"}"#,
            r#"{"violations":[],"finish_reason":"length"}"#,
            r#"{"violations":[],"severity":"critical"}"#,
            r#"{"violations":[null]}"#,
            r#"{"violations":[1]}"#,
            r#"{"skipped":true,"violations":["x"]}"#,
            r#"{"violations":{}}"#,
            "violations: none",
        ] {
            assert!(answer(bad).is_err(), "{bad}");
        }
    }
}
