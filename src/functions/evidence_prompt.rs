//! `evidence_prompt(evidence, prompt)`: an AI model's evaluation of a piece of evidence.

use std::sync::Arc;

use crate::rego::Value;
use crate::rego::value::Object;
use bytes::Bytes;

use super::arguments::{Invalid, argument, is_digest, string};
use super::{AnswerFuture, Argument, Cost, Field, Function, Origin, Request, Type};
use crate::Error;
use crate::client::{Client, Context, EVALUATE_EVIDENCE, Row, parse as read, run_operation};
use crate::text::shorten;

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
    api: EVALUATE_EVIDENCE.api,
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
            .hint("a digest is exactly `sha256:<64 lowercase hex digits>`, without white space"));
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
            let is_digest = is_digest(&self.evidence, &["sha256"]);
            let key = if is_digest { "digest" } else { "content" };
            let body = serde_json::json!({ key: self.evidence, "prompt": self.prompt });
            let output = run_operation(client, context, Bytes::from(body.to_string())).await?;
            Ok(answer(&output)?.into())
        })
    }
}

/// The fields of an operation's `output`. A model writes it, so nothing has a default.
static OUTPUT: &[Field] = &[
    Field::optional("skipped", Type::Boolean, ""),
    Field::optional("violations", Type::Array(&Type::String), ""),
];

/// Reads the documented object from an operation's `output`, which has `skipped` or `violations`.
fn answer(output: &str) -> Result<Value, Error> {
    let output = read(Row::new(OUTPUT, "output"), output).map_err(|error| {
        let error = shorten(&error.to_string(), 200);
        Error::protocol(format!("the AI evaluation's output can't be read: {error}"))
    })?;
    let (skipped, violations) = (output.get_str("skipped"), output.get_str("violations"));
    if skipped.is_none() && violations.is_none() {
        return Err(Error::protocol(
            "the AI evaluation's output has neither `skipped` nor `violations`",
        ));
    }
    Ok(Value::from(Object::from([
        (Value::from("skipped"), skipped.cloned().unwrap_or(Value::Bool(false))),
        (Value::from("violations"), violations.cloned().unwrap_or_else(Value::new_array)),
    ])))
}

/// Returns `true` for the answer of an analysis that didn't take place.
pub(crate) fn is_skipped(answer: &Value) -> bool {
    answer.get_str("skipped") == Some(&Value::Bool(true))
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
    fn an_output_has_skipped_or_violations() {
        for (output, seen) in [
            (r#"{"skipped":true}"#, r#"{"skipped":true,"violations":[]}"#),
            (r#"{"skipped":false}"#, r#"{"skipped":false,"violations":[]}"#),
            (r#"{"violations":["x"]}"#, r#"{"skipped":false,"violations":["x"]}"#),
            (
                r#"{"violations":[],"Violations":["x"],"error":"x","verdict":"reject"}"#,
                r#"{"skipped":false,"violations":[]}"#,
            ),
        ] {
            assert_eq!(
                answer(output).map(|value| value.to_json()).unwrap_or_default(),
                seen,
                "{output}"
            );
        }
        for bad in [
            "",
            "{}",
            "[]",
            "[false,[]]",
            "null",
            "violations: none",
            r#"{"skipped":null}"#,
            r#"{"skipped":"false"}"#,
            r#"{"skipped":false,"violations":[]} x"#,
            r#"{"violations":[],"violations":[]}"#,
            r#"{"violations":[null]}"#,
            r#"{"violations":[1]}"#,
            r#"{"violations":{}}"#,
            r#"{"findings":[]}"#,
        ] {
            assert!(answer(bad).is_err(), "{bad}");
        }
    }
}
