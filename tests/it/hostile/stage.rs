//! The stage for the cells of a table: one hostile service, one client, all cells at once.
//!
//! A cell is a row (what goes wrong) in a column (at which request). Its number is part of the
//! call's arguments, so that the service knows the cell of a request.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rego_platform::Value;
use rego_platform::{Error, ErrorKind, Platform, PlatformBuilder, Token};
use serde_json::{Value as J, json};

use super::script;
use super::server::{Request, Server, Step};
use crate::support::HANG;

/// The token, which only the service may ever see.
pub const CANARY: &str = "canary-5f8e0d2c71b94a36";
/// A replacement for the signature in URLs of the content store.
pub const SIGNED: &str = "signed-c04a9b7e";

/// The request that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Discover,
    Evidence,
    Compliance,
    /// The start of an AI evaluation.
    Prompt,
    /// A poll of the operation.
    Poll,
    /// The control plane's answer to a download.
    Download,
    /// The content store's.
    Store,
}

pub const COLUMNS: [Column; 7] = [
    Column::Discover,
    Column::Evidence,
    Column::Compliance,
    Column::Prompt,
    Column::Poll,
    Column::Download,
    Column::Store,
];

/// The end of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The documented object, complete.
    Answer,
    Fails(ErrorKind),
    /// The row doesn't apply to this column.
    Nothing,
}

/// The request that a script answers.
pub struct Seen<'a> {
    pub request: &'a Request,
    pub column: Column,
    /// The number of earlier requests for the cell.
    pub attempt: usize,
    /// The right body.
    pub good: Vec<u8>,
    /// The cell's number.
    pub cell: usize,
    /// Another origin, which must never see a token.
    pub elsewhere: String,
}

pub type Script = Box<dyn Fn(&Seen) -> Vec<Step> + Send + Sync>;

/// The rule that a row is about, as SECURITY.md and docs/reference/functions.md number them.
#[derive(Clone, Copy, Debug)]
pub struct Rule(pub &'static str);

/// The rules by their numbers.
pub mod rules {
    use super::Rule;

    /// The rules that rows are about: an answer is JSON once over; its types; paging; the question; newer
    /// fields; errors; bounds and digests.
    pub const A1: Rule = Rule("A1");
    pub const A2: Rule = Rule("A2");
    pub const A3: Rule = Rule("A3");
    pub const A4: Rule = Rule("A4");
    pub const A5: Rule = Rule("A5");
    pub const A6: Rule = Rule("A6");
    pub const A7: Rule = Rule("A7");
    /// What must never happen: a failure passes; a list is cut; wrong content; a secret is shown.
    pub const N1: Rule = Rule("N1");
    pub const N3: Rule = Rule("N3");
    pub const N4: Rule = Rule("N4");
    pub const N5: Rule = Rule("N5");
}

pub struct Row {
    pub rule: Rule,
    pub name: String,
    /// The answer is late: played with short timeouts.
    pub slow: bool,
    pub script: Script,
    pub expect: [Expect; 7],
}

pub fn digest(content: &[u8]) -> String {
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(content);
    hash.iter().fold("sha256:".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

pub fn content(cell: usize) -> Vec<u8> {
    format!("the artifact of cell {cell}, in which nothing is wrong").into_bytes()
}

fn uuid(cell: usize) -> String {
    format!("00000000-0000-4000-8000-{cell:012x}")
}

/// Returns the right answer to a request.
pub fn good(column: Column, cell: usize) -> Vec<u8> {
    let body = match column {
        Column::Discover => json!({"result": {
            "digest": format!("sha256:{cell:064x}"), "kind": "CONTAINER_IMAGE",
            "downloadable": true, "public": false, "createdAt": "2026-01-02T03:04:05Z", "extra": 0,
            "references": [{"digest": format!("sha1:{cell:040x}"), "kind": "ATTESTATION"}],
        }, "pagination": {"nextCursor": ""}}),
        Column::Evidence => json!({"results": [
            {"id": "1", "name": "sbom", "annotations": {"a": "b"}, "extra": 0},
        ], "pagination": {"next_cursor": ""}}),
        Column::Compliance => json!({"evaluations": [
            {"requirement_id": "1", "requirement_revision": 3, "status": "pass", "extra": 0},
        ], "pagination": {"next_cursor": ""}}),
        Column::Prompt => json!({"operation_id": format!("op-{cell}"), "extra": 0}),
        Column::Poll => json!({"operation": {
            "id": format!("op-{cell}"), "status": "ASYNC_OPERATION_STATUS_SUCCEEDED", "extra": 0,
            "output": json!({"skipped": false, "violations": ["no owner"]}).to_string(),
        }}),
        Column::Download | Column::Store => return content(cell),
    };
    body.to_string().into_bytes()
}

/// Returns the arguments of the call for `cell`.
pub fn call(column: Column, cell: usize) -> (&'static str, Vec<Value>) {
    let object = |value: J| Value::from_json(&value.to_string()).unwrap();
    match column {
        Column::Discover => {
            ("discover", vec![Value::from(format!("sha256:{cell:064x}")), Value::Null])
        }
        Column::Evidence => ("evidence", vec![object(json!({"search": format!("cell-{cell}")}))]),
        Column::Compliance => {
            ("project_compliance", vec![object(json!({"project_version_id": uuid(cell)}))])
        }
        Column::Prompt | Column::Poll => {
            ("evidence_prompt", vec!["some content".into(), format!("cell-{cell}").into()])
        }
        Column::Download | Column::Store => {
            ("download_artifact", vec![Value::from(digest(&content(cell)))])
        }
    }
}

/// Returns the request's column and its cell.
fn identify(request: &Request, digests: &BTreeMap<String, usize>) -> Option<(Column, usize)> {
    let path = request.path();
    let number = |text: &str, radix| usize::from_str_radix(text, radix).ok();
    if let Some(hex) = path.strip_prefix("/discover/sha256:") {
        return Some((Column::Discover, number(hex, 16)?));
    }
    if let Some(digest) = path.strip_prefix("/download/") {
        return Some((Column::Download, *digests.get(digest)?));
    }
    if let Some(id) = path.strip_prefix("/v1/operations/op-") {
        return Some((Column::Poll, number(id, 10)?));
    }
    match path {
        "/v1/evidence" => {
            let search = request.query("search").pop()?;
            Some((Column::Evidence, number(search.strip_prefix("cell-")?, 10)?))
        }
        "/v1/compliance/project" => {
            let id = request.query("project_version_id").pop()?;
            Some((Column::Compliance, number(id.rsplit('-').next()?, 16)?))
        }
        "/v1/agents/evaluate-evidence" => {
            let body: J = serde_json::from_slice(&request.body).ok()?;
            let prompt = body["prompt"].as_str()?;
            Some((Column::Prompt, number(prompt.strip_prefix("cell-")?, 10)?))
        }
        _ => None,
    }
}

/// Returns a client with small limits.
pub fn builder() -> PlatformBuilder {
    Platform::builder()
        .token(Token::new(CANARY).unwrap())
        .proxy_from_env(false)
        .retries(1)
        .first_pause(Duration::from_millis(1))
        .max_answer_bytes(256 << 10)
        .max_artifact_bytes(256 << 10)
        .max_pages(40)
        .max_results(1000)
}

/// Returns the client of a server that is both control plane and backend.
pub fn platform(server: &Server) -> Platform {
    builder().controlplane_url(server.url()).base_url(server.url()).build().unwrap()
}

/// Checks that an error shows no secret, and no character that a terminal interprets.
pub fn harmless(error: &Error) -> Result<(), String> {
    // The hint has a line of its own.
    let debug = format!("{error:?}").replacen("\n  = help: ", " ", 1);
    let shown = format!("{error} {debug} {} {:?}", error.report(), error.hint());
    let bad = |c: char| c.is_control() || c == '\u{202e}';
    if shown.contains("canary-") || shown.contains("signed-") || shown.contains(bad) {
        return Err(format!("it shows what it may not: {shown:?}"));
    }
    Ok(())
}

/// A documented field, and a check of its type.
type Documented<'a> = (&'a str, fn(&J) -> bool);

/// Checks that a value has the form of interface 4.7, complete.
pub fn documented(function: &str, value: &Value) -> Result<(), String> {
    let value = serde_json::to_value(value).unwrap();
    let has = |object: &J, fields: &[Documented]| {
        for (name, is) in fields {
            if !object.get(*name).is_some_and(is) {
                return Err(format!("`{name}` isn't as documented in {object}"));
            }
        }
        Ok(())
    };
    let rows = |name: &str, fields: &[Documented]| {
        let rows = value[name].as_array().ok_or_else(|| format!("no array `{name}` in {value}"))?;
        rows.iter().try_for_each(|row| has(row, fields))
    };
    match function {
        "discover" => {
            let root: &[Documented] = &[
                ("digest", J::is_string),
                ("kind", J::is_string),
                ("downloadable", J::is_boolean),
                ("createdAt", J::is_string),
            ];
            has(&value, root)?;
            rows("references", &root[..2])
        }
        "evidence" => {
            const TEXTS: [&str; 14] = [
                "id",
                "name",
                "digest",
                "kind",
                "subject_name",
                "subject_version",
                "organization_id",
                "organization_name",
                "workflow_id",
                "workflow_name",
                "workflow_run_id",
                "project_id",
                "project_name",
                "project_version_id",
            ];
            rows("results", &TEXTS.map(|name| (name, J::is_string as fn(&J) -> bool)))?;
            rows("results", &[("annotations", J::is_object)])
        }
        "project_compliance" => {
            const TEXTS: [&str; 9] = [
                "requirement_id",
                "requirement_version_id",
                "name",
                "display_name",
                "description",
                "project_version_id",
                "framework_id",
                "status",
                "created_at",
            ];
            rows("evaluations", &TEXTS.map(|name| (name, J::is_string as fn(&J) -> bool)))?;
            rows("evaluations", &[("requirement_revision", |v| v.is_i64() || v.is_u64())])
        }
        "evidence_prompt" => {
            has(&value, &[("skipped", J::is_boolean), ("violations", J::is_array)])?;
            let all = value["violations"].as_array().unwrap().iter().all(J::is_string);
            if all { Ok(()) } else { Err(format!("a violation isn't a string in {value}")) }
        }
        _ => value.as_str().map(|_| ()).ok_or_else(|| format!("no string: {value}")),
    }
}

/// Plays every cell of a table.
pub fn play(rows: Vec<Row>) {
    let cells = rows.len() * COLUMNS.len();
    let stage = Arc::new(Stage {
        digests: (0..cells).map(|cell| (digest(&content(cell)), cell)).collect(),
        attempts: (0..cells).map(|_| AtomicUsize::new(0)).collect(),
        rows,
    });
    let elsewhere = Server::start(|_| script::ok(b"{}".to_vec()));
    let other = elsewhere.url();
    let (behind, to) = (Arc::clone(&stage), other.clone());
    let store = Server::start(move |request| behind.store(request, &to));
    let store_url = store.url();
    let behind = Arc::clone(&stage);
    let service = Server::start(move |request| behind.service(request, &store_url, &other));
    let patient = platform(&service);
    let hasty = builder()
        .controlplane_url(service.url())
        .base_url(service.url())
        .connect_timeout(Duration::from_secs(2))
        .idle_timeout(Duration::from_millis(250))
        .call_timeout(Duration::from_millis(700))
        .build()
        .unwrap();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                loop {
                    let cell = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = stage.rows.get(cell / COLUMNS.len()) else { return };
                    let platform = if row.slow { &hasty } else { &patient };
                    if let Err(why) = one(platform, row, cell) {
                        let column = COLUMNS[cell % COLUMNS.len()];
                        wrong
                            .lock()
                            .unwrap()
                            .push(format!("{} {} × {column:?}: {why}", row.rule.0, row.name));
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
    for request in elsewhere.requests().iter().chain(&store.requests()) {
        assert!(!format!("{request:?}").contains("canary-"), "the token went elsewhere");
        assert_eq!(request.header("authorization"), None);
    }
}

fn one(platform: &Platform, row: &Row, cell: usize) -> Result<(), String> {
    let index = cell % COLUMNS.len();
    let expect = row.expect[index];
    if expect == Expect::Nothing {
        return Ok(());
    }
    let (function, arguments) = call(COLUMNS[index], cell);
    let started = Instant::now();
    let result = platform.call(function, &arguments);
    let took = started.elapsed();
    if took > HANG {
        return Err(format!("it took {took:?}"));
    }
    match (result, expect) {
        (Ok(value), Expect::Answer) => documented(function, &value),
        (Err(error), Expect::Fails(kind)) => {
            harmless(&error)?;
            if error.kind() == kind {
                Ok(())
            } else {
                Err(format!("{} instead of {kind}: {}", error.kind(), error.report()))
            }
        }
        (Ok(value), _) => Err(format!("it passed: {value}")),
        (Err(error), _) => Err(format!("{}: {}", error.kind(), error.report())),
    }
}

struct Stage {
    rows: Vec<Row>,
    digests: BTreeMap<String, usize>,
    attempts: Vec<AtomicUsize>,
}

impl Stage {
    fn service(&self, request: &Request, store: &str, elsewhere: &str) -> Vec<Step> {
        let Some((column, cell)) = identify(request, &self.digests) else {
            return script::status(404, &[], r#"{"code":5,"message":"no such","details":[]}"#);
        };
        if column == COLUMNS[cell % COLUMNS.len()] {
            return self.script(request, column, cell, elsewhere);
        }
        if column == Column::Download {
            let location = format!("{store}/{SIGNED}/{cell}?sig={SIGNED}");
            return script::status(302, &[("location", &location)], "");
        }
        script::ok(good(column, cell))
    }

    fn store(&self, request: &Request, elsewhere: &str) -> Vec<Step> {
        let cell = request.path().rsplit('/').next().and_then(|cell| cell.parse().ok());
        match cell {
            Some(cell) => self.script(request, Column::Store, cell, elsewhere),
            None => script::status(404, &[], ""),
        }
    }

    fn script(&self, request: &Request, column: Column, cell: usize, other: &str) -> Vec<Step> {
        let attempt = self.attempts[cell].fetch_add(1, Ordering::SeqCst);
        let elsewhere = other.to_owned();
        let seen = Seen { request, column, attempt, good: good(column, cell), cell, elsewhere };
        (self.rows[cell / COLUMNS.len()].script)(&seen)
    }
}
