//! Questions to OPA, through the command of `tests/oracle`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

use super::case::{Answer, Case, CaseOutcome, Fault, HOST, HostAnswer};

/// A running oracle.
pub struct Oracle {
    child: Child,
    questions: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

/// The asking side; used on its own thread if there are many questions.
pub struct Questions(BufWriter<ChildStdin>);

impl Questions {
    /// Asks about a case.
    pub fn ask(&mut self, case: &Case) -> std::io::Result<()> {
        writeln!(self.0, "{}", question(case))
    }

    /// Sends the buffered questions.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Oracle {
    /// Starts the command at a path.
    pub fn start(path: &str) -> std::io::Result<Self> {
        let mut child = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let questions = child.stdin.take().map(|pipe| BufWriter::with_capacity(1 << 16, pipe));
        let answers = child.stdout.take().ok_or_else(|| std::io::Error::other("no output"))?;
        Ok(Self { child, questions, answers: BufReader::with_capacity(1 << 16, answers) })
    }

    /// Takes the asking side, to move it to another thread; dropping it ends the oracle.
    pub fn questions(&mut self) -> Option<Questions> {
        self.questions.take().map(Questions)
    }

    /// Asks about a case and waits for its outcome.
    pub fn ask(&mut self, case: &Case) -> std::io::Result<CaseOutcome> {
        let answer = self.send(&question(case))?;
        Ok(outcome(&answer))
    }

    /// Asks any question and waits for its answer.
    pub fn line(&mut self, question: &Json) -> std::io::Result<Json> {
        self.send(&question.to_string())
    }

    fn send(&mut self, question: &str) -> std::io::Result<Json> {
        let questions =
            self.questions.as_mut().ok_or_else(|| std::io::Error::other("given away"))?;
        writeln!(questions, "{question}")?;
        questions.flush()?;
        self.read()
    }

    /// Asks about a case and returns the raw answer.
    pub fn raw(&mut self, case: &Case) -> std::io::Result<Json> {
        self.send(&question(case))
    }

    /// Returns the next outcome of the cases asked about.
    pub fn next(&mut self) -> std::io::Result<CaseOutcome> {
        Ok(outcome(&self.read()?))
    }

    fn read(&mut self) -> std::io::Result<Json> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(std::io::Error::other("the oracle ended"));
        }
        serde_json::from_str(&line).map_err(std::io::Error::other)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the question about a case, as one line. Inputs and data are copied unchanged, so that
/// their numbers keep their digits.
pub fn question(case: &Case) -> String {
    let modules: serde_json::Map<String, Json> =
        case.files.iter().map(|(path, text)| (path.clone(), json!(text))).collect();
    let question = json!({
        "ask": "eval",
        "modules": modules,
        "version": case.version,
        "queries": case.queries,
        "strict_errors": case.strict_errors,
        "strict": case.strict,
        "timeout_ms": 4000,
        "no_index": case.without == Some("index"),
        "no_early_exit": case.without == Some("early exit"),
        "host": host(),
    });
    let question = question.to_string();
    let rest = question.strip_prefix('{').unwrap_or_default();
    if case.term_inputs {
        return format!("{{\"input_terms\":{},\"data\":{},{rest}", json!(case.inputs), case.data);
    }
    format!("{{\"inputs\":[{}],\"data\":{},{rest}", case.inputs.join(","), case.data)
}

fn host() -> Json {
    let functions = HOST.iter().map(|function| {
        let mut cases = Vec::new();
        let otherwise = match function.answer {
            HostAnswer::Echo => json!({"pure": "echo"}),
            HostAnswer::Undefined => json!({}),
            HostAnswer::Error(message) => json!({"error": message}),
            HostAnswer::Halt(message) => json!({"halt": message}),
            HostAnswer::Hash => json!({"pure": "hash"}),
            HostAnswer::Cases(list) => {
                for (args, value) in list {
                    cases.push(match *value {
                        "!" => json!({"args": args, "error": "no answer"}),
                        value => json!({"args": args, "value": value}),
                    });
                }
                json!({})
            }
        };
        json!({"name": function.name, "args": function.args, "result": function.result,
               "cases": cases, "otherwise": otherwise})
    });
    functions.collect()
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

/// Parses a fault in the oracle's form.
pub fn fault(json: &Json) -> Fault {
    Fault {
        code: text(&json["code"]),
        message: text(&json["message"]),
        row: json["row"].as_u64().and_then(|row| u32::try_from(row).ok()).unwrap_or(0),
        file: text(&json["file"]),
    }
}

fn faults(json: &Json) -> Option<Vec<Fault>> {
    Some(json.as_array()?.iter().map(fault).collect())
}

/// Parses an answer to an outcome.
pub fn outcome(json: &Json) -> CaseOutcome {
    if let Some(faults) = faults(&json["errors"]) {
        return CaseOutcome::Refused(faults);
    }
    let Some(results) = json["results"].as_array() else {
        return CaseOutcome::Broken(json.to_string());
    };
    if let Some(broken) =
        results.iter().find(|one| one.get("panic").is_some() || one.get("failed").is_some())
    {
        return CaseOutcome::Broken(broken.to_string());
    }
    CaseOutcome::Answers(results.iter().map(answer).collect())
}

fn answer(json: &Json) -> Result<Answer, Vec<Fault>> {
    if let Some(faults) = faults(&json["errors"]) {
        return Err(faults);
    }
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    let mut rows: Vec<BTreeMap<String, String>> = list("rows")
        .iter()
        .filter_map(Json::as_object)
        .map(|row| row.iter().map(|(name, value)| (name.clone(), text(value))).collect())
        .collect();
    rows.sort();
    Ok(Answer {
        rows,
        error: json.get("error").map(fault),
        failure: list("failures").first().map(fault),
        calls: list("calls")
            .iter()
            .map(|call| text(&call["name"]) + &text(&call["args"]))
            .collect(),
        prints: list("prints")
            .iter()
            .map(|line| {
                let fault = fault(line);
                (fault.row, text(&line["text"]))
            })
            .collect(),
    })
}
