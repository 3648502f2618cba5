//! OPA's own compliance cases, from its module through the oracle's `-cases`; none is stored here.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value as Json;

use super::case::{Case, CaseOutcome};
use super::compare::{Verdict, compare};
use super::oracle::Oracle;
use super::subject;

struct Compliance {
    file: String,
    note: String,
    case: Case,
    wanted: Wanted,
}

/// The expectation of OPA's test: checked if this crate's answer isn't OPA's own, as with random
/// numbers.
struct Wanted {
    rows: Option<Json>,
    code: Option<String>,
    text: Option<String>,
    sort: bool,
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

fn read(line: &str) -> Option<Compliance> {
    let json: Json = serde_json::from_str(line).ok()?;
    let case = &json["case"];
    let strings = |json: &Json| {
        json.as_array().map(|list| list.iter().map(text).collect::<Vec<_>>()).unwrap_or_default()
    };
    let term = case["input_term"].as_str();
    let input = json["input"].as_str().filter(|text| !text.is_empty());
    let data = json["data"].as_str().filter(|text| !text.is_empty());
    let option = |name: &str| case[name].as_str().map(str::to_owned);
    Some(Compliance {
        file: text(&json["file"]),
        note: text(&case["note"]),
        case: Case {
            files: strings(&case["modules"])
                .into_iter()
                .enumerate()
                .map(|(index, text)| (format!("test-{index}.rego"), text))
                .collect(),
            version: if json["version"] == "v0" { "v0" } else { "v1" },
            queries: vec![text(&case["query"])],
            inputs: term.or(input).map(str::to_owned).into_iter().collect(),
            term_inputs: term.is_some(),
            data: data.unwrap_or("{}").to_owned(),
            strict_errors: case["strict_error"].as_bool().unwrap_or(false),
            strict: false,
            without: None,
            origin: String::new(),
            productions: Vec::new(),
        },
        wanted: Wanted {
            rows: case.get("want_result").filter(|rows| !rows.is_null()).cloned(),
            code: option("want_error_code"),
            text: option("want_error"),
            sort: case["sort_bindings"].as_bool().unwrap_or(false),
        },
    })
}

/// Returns `true` if an outcome is what OPA's test expects.
fn is_as_expected(wanted: &Wanted, ours: &CaseOutcome) -> bool {
    let CaseOutcome::Answers(answers) = ours else { return false };
    let Some(Ok(answer)) = answers.first() else { return false };
    if wanted.code.is_some() || wanted.text.is_some() {
        let Some(error) = &answer.error else { return false };
        return wanted.code.as_ref().is_none_or(|code| *code == error.code)
            && wanted.text.as_ref().is_none_or(|text| {
                format!("{}: {}", error.code, error.message).contains(text.as_str())
            });
    }
    let Some(rows) = wanted.rows.as_ref().and_then(Json::as_array) else { return false };
    if answer.error.is_some() {
        return false;
    }
    let normal = |json: &Json| {
        let mut json = json.clone();
        if wanted.sort
            && let Some(list) = json.as_array_mut()
        {
            list.sort_by_key(Json::to_string);
        }
        json.to_string()
    };
    let mut want: Vec<BTreeMap<String, String>> = rows
        .iter()
        .filter_map(Json::as_object)
        .map(|row| row.iter().map(|(name, value)| (name.clone(), normal(value))).collect())
        .collect();
    let mut got: Vec<BTreeMap<String, String>> = answer
        .rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|(name, value)| {
                    let plain = arrays(value);
                    (name.clone(), serde_json::from_str(&plain).map_or(plain, |json| normal(&json)))
                })
                .collect()
        })
        .collect();
    want.sort();
    want.dedup();
    got.sort();
    got.dedup();
    want == got
}

/// Returns canonical text with arrays in place of sets.
fn arrays(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        out.push(match c {
            '<' if !quoted => '[',
            '>' if !quoted => ']',
            other => other,
        });
        if quoted {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' {
                quoted = false;
            }
        } else if c == '"' {
            quoted = true;
        }
    }
    out
}

/// Asks OPA and this crate about all cases whose file contains `only`. Returns the number of
/// disagreements. With `itself`, OPA is asked twice: a check of the harness.
pub fn run(
    oracle: &str,
    directory: &str,
    only: &str,
    verbose: usize,
    itself: bool,
) -> std::io::Result<usize> {
    let output = Command::new(oracle).args(["-cases", directory]).output()?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut judge = Oracle::start(oracle)?;
    let (mut agree, mut met, mut words, mut refused) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut refusals: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0_usize;
    // OPA checks certificates against the clock.
    let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_nanos() as i64);
    for one in lines
        .lines()
        .filter_map(read)
        .filter(|one| one.file.contains(only) || one.note.contains(only))
    {
        total += 1;
        if let Ok(path) = std::env::var("JOURNAL") {
            std::fs::write(path, one.case.show())?;
        }
        let opa = judge.ask(&one.case)?;
        let ours = if itself { opa.clone() } else { subject::ask_at(&one.case, now) };
        if itself && !is_as_expected(&one.wanted, &ours) {
            println!("OPA itself: {} ({})\n{}{opa:?}\n", one.note, one.file, one.case.show());
        }
        let compared = compare(&one.case, &opa, &ours);
        let worst = compared.iter().max_by_key(|one| one.verdict);
        let verdict = match worst {
            None => Verdict::Unknown,
            Some(one) if one.ours.contains("aren't allowed here") => Verdict::Refused,
            Some(one) => one.verdict,
        };
        match verdict {
            Verdict::Agree => agree += 1,
            _ if is_as_expected(&one.wanted, &ours) => met += 1,
            Verdict::OtherReason | Verdict::OtherWording | Verdict::OtherPosition => words += 1,
            Verdict::Refused => {
                refused += 1;
                if let Some(worst) = worst {
                    *refusals.entry(super::report::message_pattern(&worst.ours)).or_default() += 1;
                }
            }
            _ => {
                let family = one.file.split('/').take(2).collect::<Vec<_>>().join("/");
                let text = worst.map(|worst| {
                    format!(
                        "{} ({})\n{}## {:?}\n  OPA:  {}\n  ours: {}\n",
                        one.note,
                        one.file,
                        one.case.show(),
                        worst.verdict,
                        worst.opa,
                        worst.ours
                    )
                });
                wrong.entry(family).or_default().extend(text);
            }
        }
    }
    let disagree: usize = wrong.values().map(Vec::len).sum();
    for (family, texts) in &wrong {
        for text in texts.iter().take(verbose) {
            println!("{family}: {text}");
        }
    }
    for (family, texts) in &wrong {
        println!("{:5} {family}", texts.len());
    }
    for (why, count) in &refusals {
        println!("refused {count}: {why}");
    }
    println!(
        "cases {total}: agree {agree}, as wanted {met}, other words or place {words}, refused {refused}, disagree {disagree}"
    );
    Ok(disagree)
}
