//! The report as JSON: the fields of `opa test --format json`, and the reason of a failure in
//! addition.

use base64::Engine as _;
use rego_platform::evaluate::CallRecord;
use rego_platform::testing::{Case, Cause, CoverageReport, Run, TestOutcome, TestResult};
use rego_platform::{Error, Position};
use rego_platform_client::text::shorten;
use serde_json::{Map, Value, json};

use crate::output;

pub(super) fn report(run: &Run) -> Result<String, Error> {
    let results: Vec<Value> = run.results.iter().map(test).collect();
    with_end(output::json(&results)?)
}

pub(super) fn coverage(report: &CoverageReport) -> Result<String, Error> {
    with_end(output::json(report)?)
}

#[allow(clippy::unnecessary_wraps, reason = "the end of a chain of results")]
fn with_end(mut text: String) -> Result<String, Error> {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn test(result: &TestResult) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("location", location(&result.test.position));
    put("package", json!(result.test.package));
    put("name", json!(result.test.name));
    match &result.outcome {
        TestOutcome::Skipped => drop(put("skip", json!(true))),
        TestOutcome::Failed(failure) => {
            put("fail", json!(true));
            if let Some(reason) = &failure.reason {
                put("reason", json!(reason));
            }
            if let Some(cause) = &failure.cause {
                put("cause", self::cause(cause));
            }
        }
        TestOutcome::Error { error, position } => {
            put("error", self::error(error, position.as_ref()));
        }
        _ => {}
    }
    put("duration", json!(u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX)));
    if !result.prints.is_empty() {
        let text: Vec<_> = result.prints.iter().map(|print| print.message.as_str()).collect();
        let text = text.join("\n") + "\n";
        put("output", json!(base64::engine::general_purpose::STANDARD.encode(text)));
    }
    if !result.cut.is_empty() {
        let call =
            |entry: &CallRecord| json!({"function": entry.function, "arguments": entry.arguments});
        put("cut", json!(result.cut.iter().map(call).collect::<Vec<_>>()));
    }
    if !result.cases.is_empty() {
        put("sub_results", cases(&result.cases));
    }
    Value::Object(fields)
}

fn location(position: &Position) -> Value {
    json!({"file": position.file, "row": position.line, "col": position.column})
}

fn cause(cause: &Cause) -> Value {
    let operands: Vec<Value> = cause
        .operands
        .iter()
        .map(|operand| {
            let shown = operand.values.iter().map(|value| {
                let text = serde_json::to_string(value).unwrap_or_default();
                serde_json::from_str(&text).unwrap_or_else(|_| json!(shorten(&text, 1_000)))
            });
            json!({"text": operand.text, "values": shown.collect::<Vec<_>>()})
        })
        .collect();
    json!({
        "case": cause.case,
        "location": location(&cause.position),
        "text": cause.position.text,
        "verdict": cause.verdict,
        "operands": operands,
    })
}

fn error(error: &Error, position: Option<&Position>) -> Value {
    let mut fields = Map::new();
    fields.insert("kind".to_owned(), json!(error.kind().as_str()));
    fields.insert("message".to_owned(), json!(error.report()));
    if let Some(hint) = crate::hint::hint(error) {
        fields.insert("hint".to_owned(), json!(hint));
    }
    // OPA's code, such as `eval_conflict_error`, or that of a check.
    if let Some(diagnostic) = error.diagnostics().first() {
        fields.insert("code".to_owned(), json!(diagnostic.code));
    }
    let own = error.diagnostics().first().and_then(|diagnostic| diagnostic.position.as_ref());
    if let Some(position) = own.or(position) {
        fields.insert("location".to_owned(), location(position));
    }
    Value::Object(fields)
}

fn cases(cases: &[Case]) -> Value {
    let each = cases.iter().map(|case| {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(case.name));
        if !case.passed {
            fields.insert("fail".to_owned(), json!(true));
        }
        if !case.cases.is_empty() {
            fields.insert("sub_results".to_owned(), self::cases(&case.cases));
        }
        (case.name.clone(), Value::Object(fields))
    });
    Value::Object(each.collect())
}
