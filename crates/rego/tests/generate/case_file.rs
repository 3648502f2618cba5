//! A case and OPA's answer to it as a line of a file, compressed or not.

use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};

use super::case::Case;

/// Returns the line of a case with OPA's answer.
pub fn line(case: &Case, answer: &Json) -> Json {
    json!({
        "files": case.files, "version": case.version, "queries": case.queries, "inputs": case.inputs,
        "data": case.data, "strict_errors": case.strict_errors, "strict": case.strict,
        "term_inputs": case.term_inputs, "origin": case.origin, "opa": answer,
    })
}

/// Reads every `every`th case of a file, with OPA's answer.
pub fn cases(
    path: &str,
    every: usize,
) -> std::io::Result<impl Iterator<Item = std::io::Result<(Case, Json)>>> {
    let file = std::fs::File::open(path)?;
    let text: Box<dyn BufRead> = if path.ends_with(".gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    Ok(text.lines().step_by(every).map(|line| {
        let mut json: Json = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        let unreadable = || std::io::Error::other("a stored case can't be read");
        let case = read(&json).ok_or_else(unreadable)?;
        Ok((case, json["opa"].take()))
    }))
}

fn read(json: &Json) -> Option<Case> {
    let strings =
        |json: &Json| -> Option<Vec<String>> { serde_json::from_value(json.clone()).ok() };
    Some(Case {
        files: serde_json::from_value(json["files"].clone()).ok()?,
        version: ["v0", "v1", "v2"].into_iter().find(|name| json["version"] == *name)?,
        queries: strings(&json["queries"])?,
        inputs: strings(&json["inputs"])?,
        term_inputs: json["term_inputs"].as_bool().unwrap_or(false),
        data: json["data"].as_str()?.to_owned(),
        strict_errors: json["strict_errors"].as_bool()?,
        strict: json["strict"].as_bool()?,
        without: None,
        origin: json["origin"].as_str().unwrap_or_default().to_owned(),
        productions: Vec::new(),
    })
}
