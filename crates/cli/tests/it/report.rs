//! `report comment`, with servers that answer as GitHub's GraphQL API and GitLab's notes API do.
//!
//! The forms of requests and responses are those of GitHub's public schema of 2026-07-22
//! (`PullRequest.comments`, `Comment.viewerDidAuthor`, `addComment`, `updateIssueComment`), and of GitLab's pages
//! "Notes API" (merge requests), "Users API" (`GET /user`) and "REST API" (`per_page`, `page`).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::cli::{CANARY, Output, Sandbox};
use crate::hostile::script::http;
use crate::hostile::server::{Request, Server, Step};

/// The first line of the comment.
const MARKER: &str = "<!-- rego-platform: gate -->\n";

/// A service with the comments of one request.
struct Forge {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The author and the text of each.
    comments: Vec<(&'static str, String)>,
    /// The methods or mutations of the requests that weren't for reading.
    written: Vec<String>,
    /// The status of every response, if it isn't a success.
    status: Option<u16>,
}

impl Forge {
    fn start(answer: fn(&mut State, &Request) -> Value) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = Arc::clone(&state);
        let server = Server::start(move |request| {
            let mut state = own.lock().unwrap();
            assert_eq!(request.header("authorization").unwrap(), format!("Bearer {CANARY}"));
            let answer = answer(&mut state, request);
            let status = state.status.unwrap_or(200);
            vec![Step::Send(http(
                status,
                &[("Content-Type", "application/json")],
                answer.to_string().as_bytes(),
            ))]
        });
        Self { server, state }
    }

    fn github() -> Self {
        Self::start(github)
    }

    fn gitlab() -> Self {
        Self::start(gitlab)
    }

    fn add(&self, author: &'static str, text: &str) {
        self.state.lock().unwrap().comments.push((author, text.to_owned()));
    }

    fn comments(&self) -> Vec<(&'static str, String)> {
        self.state.lock().unwrap().comments.clone()
    }

    fn written(&self) -> Vec<String> {
        self.state.lock().unwrap().written.clone()
    }
}

fn github(state: &mut State, request: &Request) -> Value {
    assert_eq!((request.method(), request.path()), ("POST", "/graphql"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let variables = &body["variables"];
    let query = body["query"].as_str().unwrap();
    let text = || variables["body"].as_str().unwrap().to_owned();
    if query.contains("addComment(input:{subjectId:$subject,body:$body})") {
        assert_eq!(variables["subject"], "PR_7");
        state.comments.push(("own", text()));
        state.written.push("addComment".to_owned());
        return json!({"data": {"addComment": {"clientMutationId": null}}});
    }
    if query.contains("updateIssueComment(input:{id:$id,body:$body})") {
        let index: usize =
            variables["id"].as_str().unwrap().strip_prefix("IC_").unwrap().parse().unwrap();
        state.comments[index].1 = text();
        state.written.push("updateIssueComment".to_owned());
        return json!({"data": {"updateIssueComment": {"clientMutationId": null}}});
    }
    assert_eq!((&variables["owner"], &variables["name"]), (&json!("acme"), &json!("app")));
    if variables["number"] != 7 {
        return json!({"data": {"repository": {"pullRequest": null}}, "errors": [
            {"type": "NOT_FOUND", "message": "Could not resolve to a PullRequest with the number of 8."},
        ]});
    }
    let begin = variables["after"].as_str().map_or(0, |after| after.parse().unwrap());
    let end = state.comments.len().min(begin + 100);
    let nodes: Vec<Value> = (begin..end)
        .map(|index| {
            let (author, body) = &state.comments[index];
            json!({"id": format!("IC_{index}"), "body": body, "viewerDidAuthor": *author == "own"})
        })
        .collect();
    let page = json!({"hasNextPage": end < state.comments.len(), "endCursor": end.to_string()});
    json!({"data": {"repository": {"pullRequest": {
        "id": "PR_7", "comments": {"nodes": nodes, "pageInfo": page},
    }}}})
}

fn gitlab(state: &mut State, request: &Request) -> Value {
    let note = |index: usize, (author, body): &(&str, String)| {
        let (id, name) = if *author == "own" { (1, "project_5_bot") } else { (2, "pipin") };
        json!({"id": 300 + index, "body": body, "author": {"id": id, "username": name}, "system": false,
            "noteable_type": "MergeRequest", "noteable_iid": 7, "project_id": 5})
    };
    let text = || {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        body["body"].as_str().unwrap().to_owned()
    };
    let notes = "/api/v4/projects/5/merge_requests/7/notes";
    match (request.method(), request.path()) {
        ("GET", "/api/v4/user") => json!({"id": 1, "username": "project_5_bot"}),
        ("GET", path) if path == notes => {
            assert_eq!(
                (request.query("per_page"), request.query("sort")),
                (vec!["100".into()], vec!["asc".into()])
            );
            let page = &request.query("page")[0];
            let begin = 100 * (page.parse::<usize>().unwrap() - 1);
            let list = state.comments.iter().enumerate().skip(begin).take(100);
            list.map(|(index, comment)| note(index, comment)).collect()
        }
        ("POST", path) if path == notes => {
            state.written.push("POST".to_owned());
            // Ends of lines come back as the page shows them.
            state.comments.push(("own", text().replace('\n', "\r\n")));
            note(state.comments.len() - 1, state.comments.last().unwrap())
        }
        ("PUT", path) => {
            let id: usize = path.strip_prefix(notes).unwrap()[1..].parse().unwrap();
            state.written.push("PUT".to_owned());
            state.comments[id - 300].1 = text();
            note(id - 300, &state.comments[id - 300])
        }
        (method, path) => panic!("{method} {path}"),
    }
}

/// Writes the report of a gate that fails, or passes.
fn report(sandbox: &Sandbox, passes: bool) -> String {
    let policy =
        sandbox.write("p.rego", "package p\n\ndeny contains \"the image is old\" if input.old\n");
    let input = sandbox.write("input.json", json!({"old": !passes}).to_string());
    let file = sandbox.path("gate.json").to_str().unwrap().to_owned();
    let output = format!("json={file}");
    let run = sandbox.run(&["gate", "-q", "-d", &policy, "-i", &input, "-o", &output]).output();
    run.code(i32::from(!passes));
    file
}

fn on_github(sandbox: &Sandbox, forge: &Forge, number: u64, report: &str) -> Output {
    let event = json!({"pull_request": {"number": number}}).to_string();
    sandbox
        .run(&["report", "comment", "--github", report])
        .env("GITHUB_GRAPHQL_URL", &format!("http://{}/graphql", forge.server.address))
        .env("GITHUB_REPOSITORY", "acme/app")
        .env("GITHUB_EVENT_PATH", &sandbox.write("event.json", event))
        .env("GITHUB_TOKEN", CANARY)
        .output()
}

fn on_gitlab(sandbox: &Sandbox, forge: &Forge, report: &str) -> Output {
    sandbox
        .run(&["report", "comment", "--gitlab", report])
        .env("CI_API_V4_URL", &format!("http://{}/api/v4", forge.server.address))
        .env("CI_PROJECT_ID", "5")
        .env("CI_MERGE_REQUEST_IID", "7")
        .env("GITLAB_TOKEN", CANARY)
        .output()
}

#[test]
fn a_comment_is_created_once_and_updated_in_place() {
    let sandbox = Sandbox::new();
    for (forge, writes) in [
        (Forge::github(), ["addComment", "updateIssueComment"]),
        (Forge::gitlab(), ["POST", "PUT"]),
    ] {
        let is_github = writes[0] == "addComment";
        let comment = |file: &str| {
            let output = if is_github {
                on_github(&sandbox, &forge, 7, file)
            } else {
                on_gitlab(&sandbox, &forge, file)
            };
            output.code(0)
        };
        forge.add("somebody", "please have a look");
        let failed = report(&sandbox, false);
        assert_eq!(comment(&failed).stderr, "comment created\n");
        let [_, (_, text)] = &forge.comments()[..] else { panic!() };
        let text = text.replace("\r\n", "\n");
        assert!(text.starts_with(&format!("{MARKER}## rego-platform gate: ❌ failed\n")), "{text}");
        assert!(text.contains("`the image is old`"), "{text}");
        comment(&failed).silent();
        assert_eq!(forge.written(), writes[..1]);
        let passed = report(&sandbox, true);
        assert_eq!(comment(&passed).stderr, "comment updated\n");
        comment(&passed).silent();
        assert_eq!(forge.written(), writes);
        let [(_, other), (_, text)] = &forge.comments()[..] else { panic!() };
        assert_eq!(other, "please have a look");
        assert!(text.contains("✅ passed") && !text.contains("old"), "{text}");
    }
}

#[test]
fn an_own_comment_is_found_on_a_later_page_and_nobody_elses_is_taken() {
    let sandbox = Sandbox::new();
    let file = report(&sandbox, true);
    for (forge, write) in [(Forge::github(), "updateIssueComment"), (Forge::gitlab(), "PUT")] {
        forge.add("somebody", &format!("{MARKER}a forged verdict"));
        for _ in 0..150 {
            forge.add("somebody", "talk");
        }
        forge.add("own", "<!-- rego-platform: elsewhere -->\nanother job's");
        forge.add("own", &format!("{MARKER}old"));
        if write == "PUT" {
            on_gitlab(&sandbox, &forge, &file).code(0);
        } else {
            on_github(&sandbox, &forge, 7, &file).code(0);
        }
        assert_eq!(forge.written(), [write]);
        let comments = forge.comments();
        assert!(comments[0].1.ends_with("a forged verdict"));
        assert!(comments[151].1.ends_with("another job's"));
        assert!(comments[152].1.contains("✅ passed"));
    }
}

#[test]
fn a_failure_says_the_next_step_and_never_the_token() {
    let sandbox = Sandbox::new();
    let file = report(&sandbox, true);
    let (github, gitlab) = (Forge::github(), Forge::gitlab());
    let missing = on_github(&sandbox, &github, 8, &file);
    missing
        .fails("Could not resolve to a PullRequest")
        .says("the permission `pull-requests: write`");
    for (status, hint) in [(401, "check the token in `GITLAB_TOKEN`"), (403, "the scope `api`")] {
        gitlab.state.lock().unwrap().status = Some(status);
        on_gitlab(&sandbox, &gitlab, &file).fails(hint);
    }
    assert!(github.written().is_empty() && gitlab.written().is_empty());
}

#[test]
fn outside_of_a_pull_request_nothing_is_sent() {
    let sandbox = Sandbox::new();
    let file = report(&sandbox, true);
    let event = sandbox.write("push.json", "{\"ref\": \"refs/heads/main\"}");
    let comment = ["report", "comment", "--github", &file];
    let run = sandbox.run(&comment).env("GITHUB_EVENT_PATH", &event);
    run.output().fails("the workflow doesn't run for a pull request").says("--number");
    sandbox.run(&comment).output().fails("missing environment variable: `GITHUB_EVENT_PATH`");
    let gitlab = ["report", "comment", "--gitlab", &file];
    sandbox.run(&gitlab).output().fails("missing environment variable: `CI_MERGE_REQUEST_IID`");
    sandbox.run(&["report", "comment", &file]).output().fails("--github");
    sandbox.run(&[&comment[..], &["--name", "a --> b"]].concat()).output().fails("--name");
    let other = sandbox.write("other.json", "{}");
    let comment = ["report", "comment", "--github", "--number", "7", &other];
    let run = sandbox.run(&comment).env("GITHUB_GRAPHQL_URL", "http://127.0.0.1:1/graphql");
    let run = run.env("GITHUB_REPOSITORY", "acme/app").env("GITHUB_TOKEN", CANARY);
    run.output().fails("isn't a JSON report of the gate");
}
