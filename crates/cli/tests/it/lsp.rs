//! `lsp`: the language server, over its standard input and output as an editor has it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use url::Url;

use crate::cli::Sandbox;

/// An editor with a folder.
struct Editor {
    sandbox: Sandbox,
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Editor {
    fn new(files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        for (name, text) in files {
            sandbox.write(&format!("p/{name}"), text);
        }
        let mut command = sandbox.run(&["lsp"]).command();
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut editor = Self { sandbox, server, to, from: BufReader::new(from), last: 0 };
        let folder = Url::from_directory_path(editor.sandbox.path("p")).unwrap();
        let folders = json!([{"uri": folder.as_str(), "name": "p"}]);
        let given = json!({"capabilities": {}, "workspaceFolders": folders});
        let offered = editor.ask("initialize", &given);
        assert_eq!(offered["capabilities"]["hoverProvider"], true, "{offered}");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn uri(&self, file: &str) -> String {
        Url::from_file_path(self.sandbox.path(&format!("p/{file}"))).unwrap().to_string()
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the server has gone");
            match line.trim().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Returns the result of a request.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.asked(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    fn asked(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a text as a message, and returns the next response without an identifier.
    fn refused(&mut self, text: &[u8]) -> Value {
        write!(self.to, "Content-Length: {}\r\n\r\n", text.len()).unwrap();
        self.to.write_all(text).unwrap();
        self.to.flush().unwrap();
        loop {
            let message = self.receive();
            if message["method"].is_null() {
                assert_eq!(message["id"], Value::Null, "{message}");
                return message["error"].clone();
            }
        }
    }

    /// Returns the messages of the next findings of a file that are as many as expected.
    fn findings(&mut self, file: &str, count: usize) -> Vec<Value> {
        let uri = self.uri(file);
        loop {
            let message = self.receive();
            let params = &message["params"];
            if message["method"] == "textDocument/publishDiagnostics" && params["uri"] == uri {
                let found = params["diagnostics"].as_array().unwrap();
                if found.len() == count {
                    return found.clone();
                }
            }
        }
    }

    fn open(&mut self, file: &str, text: &str) {
        let document =
            json!({"uri": self.uri(file), "languageId": "rego", "version": 1, "text": text});
        self.tell("textDocument/didOpen", &json!({"textDocument": document}));
    }

    fn change(&mut self, file: &str, text: &str) {
        let document = json!({"uri": self.uri(file), "version": 2});
        let changes = json!([{"text": text}]);
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.tell("textDocument/didChange", &params);
    }

    /// Asks about the place in a file that `|` marks, the first of this text.
    fn at(&mut self, method: &str, file: &str, marked: &str) -> Value {
        let text = std::fs::read_to_string(self.sandbox.path(&format!("p/{file}"))).unwrap();
        let place = text.find(&marked.replace('|', "")).unwrap() + marked.find('|').unwrap();
        let before = &text[..place];
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let position = json!({"line": line, "character": character});
        let document = json!({"uri": self.uri(file)});
        let context = json!({"includeDeclaration": true});
        self.ask(
            method,
            &json!({"textDocument": document, "position": position, "context": context}),
        )
    }

    /// Ends the conversation.
    fn end(mut self) {
        self.ask("shutdown", &Value::Null);
        self.tell("exit", &Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

const MAIN: &str = "package main\n\nimport data.lib\n\n# METADATA\n# title: no images\ndeny contains \"é😀\" if {\n\t\
                    some image in input.images\n\tnot lib.trusted(image)\n\thelper\n}\n\nhelper if \
                    platform.discover(input.image, \"\").digest\n";
const LIB: &str = "package lib\n\n# Trusted images.\ntrusted(image) if startswith(image, \"registry/\")\n\n\
                   limit := data.lib.other\n\nother := 3\n";

/// The places of an answer, as `file:line:column`.
fn places(answer: &Value) -> Vec<String> {
    let place = |one: &Value| {
        let start = &one["range"]["start"];
        let file = one["uri"].as_str().unwrap().rsplit('/').next().unwrap();
        format!("{file}:{}:{}", start["line"], start["character"])
    };
    answer.as_array().unwrap().iter().map(place).collect()
}

/// The labels of completions.
fn labels(answer: &Value) -> Vec<String> {
    let items = answer.as_array().unwrap().iter();
    items.map(|item| item["label"].as_str().unwrap().to_owned()).collect()
}

/// JSON-RPC 2.0, "Error object": -32700 is invalid JSON, -32600 JSON that isn't a request.
#[test]
fn a_text_that_is_no_message_is_refused_and_the_server_goes_on() {
    let mut editor = Editor::new(&[("p.rego", "package p\n\nx := 1\n")]);
    let deep = "[".repeat(100_000);
    for text in [&b"{"[..], b"", b"{\"method\": \"exit\"", b"\xff", b"x", deep.as_bytes()] {
        let error = editor.refused(text);
        assert_eq!(error["code"], -32700, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    }
    for text in ["[]", "null", "1", "{}", "{\"id\": {}}"] {
        let error = editor.refused(text.as_bytes());
        assert_eq!(error["code"], -32600, "{text}: {error}");
    }
    let document = json!({"textDocument": {"uri": editor.uri("p.rego")}});
    assert_eq!(editor.ask("textDocument/documentSymbol", &document)[0]["name"], "x");
}

#[test]
fn findings_follow_the_text_in_the_editor() {
    let mut editor = Editor::new(&[("main.rego", MAIN), ("lib.rego", LIB)]);
    let wrong = MAIN.replace("discover", "discovr");
    editor.open("main.rego", &wrong);
    let found = editor.findings("main.rego", 1);
    assert_eq!(found[0]["code"], "unknown-function");
    assert_eq!(found[0]["severity"], 1);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("help: did you mean `platform.discover`?"), "{message}");
    assert_eq!(found[0]["range"]["start"], json!({"line": 12, "character": 10}));
    // Its fix is the one of `check --fix`.
    let document = json!({"uri": editor.uri("main.rego")});
    let range = found[0]["range"].clone();
    let params = json!({"textDocument": document, "range": range, "context": {"diagnostics": []}});
    let actions = editor.ask("textDocument/codeAction", &params);
    assert_eq!(actions[0]["title"], "Write `discover`");
    let uri = editor.uri("main.rego");
    assert_eq!(actions[0]["edit"]["changes"][&uri][0]["newText"], MAIN);
    let beyond = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let params =
        json!({"textDocument": {"uri": uri}, "range": beyond, "context": {"diagnostics": []}});
    assert_eq!(editor.ask("textDocument/codeAction", &params), json!([]));
    // Nothing is left of them.
    editor.change("main.rego", MAIN);
    editor.findings("main.rego", 0);
    // A syntax error, and another file that a change breaks.
    editor.change("main.rego", "package main\n\ndeny contains\n");
    assert_eq!(editor.findings("main.rego", 2)[0]["code"], "parse-error");
    editor.change("main.rego", MAIN);
    editor.open("lib.rego", &LIB.replace("trusted(image)", "trusted(image, x)"));
    let found = editor.findings("main.rego", 1);
    assert!(found[0]["message"].as_str().unwrap().contains("argument"), "{found:?}");
    // What isn't saved is forgotten with the file.
    let document = json!({"textDocument": {"uri": editor.uri("lib.rego")}});
    editor.tell("textDocument/didClose", &document);
    editor.findings("main.rego", 0);
    editor.end();
}

#[test]
fn names_lead_to_their_declarations_and_documentation() {
    let mut editor = Editor::new(&[("main.rego", MAIN), ("lib.rego", LIB)]);
    let definition = "textDocument/definition";
    assert_eq!(places(&editor.at(definition, "main.rego", "lib.tru|sted(")), ["lib.rego:3:0"]);
    assert_eq!(places(&editor.at(definition, "main.rego", "\thel|per")), ["main.rego:12:0"]);
    assert_eq!(places(&editor.at(definition, "main.rego", "data.l|ib")), ["lib.rego:0:0"]);
    assert_eq!(places(&editor.at(definition, "lib.rego", "data.lib.ot|her")), ["lib.rego:7:0"]);
    // A variable of the rule is no rule.
    assert!(places(&editor.at(definition, "main.rego", "trusted(ima|ge)")).is_empty());
    assert!(places(&editor.at(definition, "main.rego", "inp|ut.images")).is_empty());
    let references = editor.at("textDocument/references", "lib.rego", "tru|sted(image)");
    assert_eq!(places(&references), ["lib.rego:3:0", "main.rego:8:5"]);
    let hover = |editor: &mut Editor, file: &str, marked: &str| {
        let hover = editor.at("textDocument/hover", file, marked);
        hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let text = hover(&mut editor, "main.rego", "platform.disc|over");
    assert!(
        text.contains("platform.discover(digest, kind)") && text.contains("- `digest`: "),
        "{text}"
    );
    let text = hover(&mut editor, "lib.rego", "starts|with");
    assert!(text.contains("startswith: "), "{text}");
    let text = hover(&mut editor, "main.rego", "lib.tru|sted");
    assert!(text.contains("Trusted images.") && text.contains("`lib.rego:4`"), "{text}");
    let text = hover(&mut editor, "main.rego", "inp|ut.images");
    assert_eq!(text, "");
    let symbols = editor.at("textDocument/documentSymbol", "main.rego", "|package");
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["deny", "helper"]);
    editor.end();
}

#[test]
fn completion_continues_what_is_typed() {
    let typed = "package main\n\nimport data.lib\n\na := platform.\n\nb := lib.\n\nc := data.\n\nd := json.\n\ne := \n";
    let mut editor = Editor::new(&[("main.rego", MAIN), ("lib.rego", LIB), ("new.rego", typed)]);
    // The names of a text that can't parse are those that it had.
    let known = "package main\n\nimport data.lib\n\nx := 1\n";
    editor.open("new.rego", known);
    editor.change("new.rego", typed);
    let complete = |editor: &mut Editor, marked: &str| {
        labels(&editor.at("textDocument/completion", "new.rego", marked))
    };
    let functions = complete(&mut editor, "platform.|");
    assert!(functions.contains(&"discover".to_owned()), "{functions:?}");
    assert!(functions.contains(&"download_artifact".to_owned()), "{functions:?}");
    assert_eq!(complete(&mut editor, "lib.|\n\nc"), ["limit", "other", "trusted"]);
    assert_eq!(complete(&mut editor, "data.|\n\nd"), ["lib", "main"]);
    assert!(complete(&mut editor, "json.|").contains(&"unmarshal".to_owned()));
    let all = complete(&mut editor, "e := |");
    for name in ["lib", "helper", "input", "data", "platform", "startswith", "deny", "x"] {
        assert!(all.contains(&name.to_owned()), "{name}: {all:?}");
    }
    editor.end();
}

#[test]
fn a_text_is_formatted_as_by_fmt() {
    let text = "package p\nallow   if input.user==\"ann\"\n";
    let mut editor = Editor::new(&[("p.rego", text), ("broken.rego", "package")]);
    let options = json!({"tabSize": 4, "insertSpaces": false});
    let params = json!({"textDocument": {"uri": editor.uri("p.rego")}, "options": options});
    let edits = editor.ask("textDocument/formatting", &params);
    assert_eq!(edits[0]["newText"], "package p\n\nallow if input.user == \"ann\"\n");
    assert_eq!(edits[0]["range"]["end"], json!({"line": 2, "character": 0}));
    let params = json!({"textDocument": {"uri": editor.uri("broken.rego")}, "options": options});
    assert_eq!(editor.ask("textDocument/formatting", &params), Value::Null);
    editor.end();
}

#[test]
fn what_is_not_understood_is_refused_and_the_conversation_goes_on() {
    let mut editor = Editor::new(&[("p.rego", "package p\n")]);
    let answer = editor.asked("textDocument/unknown", &json!({}));
    assert_eq!(answer["error"]["code"], -32601);
    let answer = editor.asked("textDocument/hover", &json!({"textDocument": 1}));
    assert_eq!(answer["error"]["code"], -32602);
    editor.tell("textDocument/didOpen", &json!({"textDocument": []}));
    let elsewhere =
        json!({"textDocument": {"uri": "untitled:1"}, "position": {"line": 0, "character": 0}});
    assert_eq!(editor.ask("textDocument/hover", &elsewhere), Value::Null);
    let far = json!({"uri": editor.uri("p.rego")});
    let far =
        json!({"textDocument": far, "position": {"line": 99, "character": 4_000_000_000_u32}});
    assert_eq!(editor.ask("textDocument/hover", &far), Value::Null);
    editor.end();
    let ended = Sandbox::new().run(&["lsp"]).output();
    ended.fails("start `lsp` from an editor, not in a terminal");
}

/// Returns a policy document with modules.
fn document(modules: &[&str]) -> String {
    let indented = |module: &&str| {
        let lines = module.lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("        {line}\n"),
        });
        format!("    - kind: SARIF\n      embedded: |\n{}", lines.collect::<String>())
    };
    let modules: String = modules.iter().map(indented).collect();
    format!(
        "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: m\nspec:\n  policies:\n\
         {modules}  inputs:\n    - name: limit\n      default: '3'\n"
    )
}

const EMBEDDED: &str = "package main\n\nimport rego.v1\n\n# How many may fail.\nlimit := input.args.limit\n\n\
                        violations contains \"é\" if {\n  platform.discover(input.image, \"\").digest\n  \
                        input.failed > limit\n}\n";

/// Returns the findings that `check` prints for a document, as an editor shows them.
fn checked(sandbox: &Sandbox, text: &str) -> Vec<Value> {
    let path = sandbox.write("p/a.yaml", text);
    let report = sandbox.run(&["check", "--format", "json", &path]).output().json();
    let found = report["findings"].as_array().unwrap().iter().map(|found| {
        let hint = found["hint"].as_str().map(|hint| format!("\nhelp: {hint}"));
        let message = format!("{}{}", found["message"].as_str().unwrap(), hint.unwrap_or_default());
        let at = &found["position"];
        // What has no place in the document is at its beginning.
        let is_placed = at["file"] == *path;
        let number = |name: &str| at[name].as_u64().map_or(0, |number| number - 1);
        let (line, column) = if is_placed { (number("line"), number("column")) } else { (0, 0) };
        json!([line, column, found["code"], found["level"] == "error", message])
    });
    sorted(found.collect())
}

fn sorted(mut found: Vec<Value>) -> Vec<Value> {
    found.sort_by_key(Value::to_string);
    found
}

fn shown(found: &[Value]) -> Vec<Value> {
    let shown = found.iter().map(|found| {
        let start = &found["range"]["start"];
        let (line, column) = (&start["line"], &start["character"]);
        json!([line, column, found["code"], found["severity"] == 1, found["message"]])
    });
    sorted(shown.collect())
}

#[test]
fn findings_in_a_policy_document_are_those_of_check() {
    let good = document(&[EMBEDDED]);
    let mut editor = Editor::new(&[("lib.rego", LIB), ("a.yaml", &good), ("b.yaml", &good)]);
    editor.open("b.yaml", &good.replace("> limit", "> limt"));
    editor.findings("b.yaml", 2);
    let in_module = |from: &str, to: &str| good.replacen(from, to, 1);
    let two = document(&[EMBEDDED, &EMBEDDED.replace("> limit", "> limt")]);
    let quoted = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: m\nspec:\n  \
                  policies:\n    - embedded: \"package main\\n\\nimport rego.v1\\n\\nviolations := x\\n\"\n";
    let mut total = 0;
    for text in [
        in_module("> limit", "> limt"),
        in_module("discover", "discovr"),
        in_module("  input.failed", "  y := 1\n          input.failed"),
        in_module("# How many", "# check:ignore unused-local\n        # How many"),
        in_module("# How many may fail.", "# METADATA\n        # titel: x"),
        in_module("limit := input.args.limit", "limit := data.lib.limit"),
        in_module("limit := input.args.limit", "limit := input.args.other"),
        in_module("if {", "if {{"),
        in_module("        import rego.v1\n", ""),
        in_module("violations", "rejections"),
        in_module("  name: m", "  nam: m"),
        in_module("kind: SARIF", "kind: [SARIF"),
        in_module("      embedded", "      path: x.rego\n      embedded"),
        format!("{good}---\na: 1\n"),
        two,
        quoted.to_owned(),
    ] {
        let expected = checked(&editor.sandbox, &text);
        total += expected.len();
        editor.open("a.yaml", &text);
        if expected.is_empty() {
            continue;
        }
        let found = editor.findings("a.yaml", expected.len());
        assert_eq!(shown(&found), expected, "{text}");
        editor.change("a.yaml", &good);
        editor.findings("a.yaml", 0);
    }
    assert!(total > 15, "{total}");
    // Those of the other document haven't changed.
    editor.change("b.yaml", &good);
    editor.findings("b.yaml", 0);
    editor.end();
}

#[test]
fn policy_documents_of_a_folder_are_no_data() {
    let good = document(&[EMBEDDED]);
    let test = "package main_test\n\nimport data.main\n\ntest_it if main.limit == 1 with input.args as {\"limit\": 1}\n";
    let files = [("a.yaml", good.as_str()), ("b.yaml", &good), ("main_test.rego", test)];
    let mut editor = Editor::new(&files);
    // Neither the documents nor the test of one has a finding: this file's is the first.
    editor.open("c.rego", "package c\n\ndeny contains \"x\" if x\n");
    let uri = editor.uri("c.rego");
    let message = loop {
        let message = editor.receive();
        if message["method"].is_string() {
            break message;
        }
    };
    assert_eq!(message["params"]["uri"], uri, "{message}");
    editor.open("c.rego", "package c\n\ndeny contains \"x\" if input.x\n");
    let message = editor.receive();
    assert_eq!(message["params"], json!({"uri": uri, "diagnostics": []}));
    editor.end();
}

#[test]
fn names_in_a_policy_document_have_their_places_there() {
    let good = document(&[EMBEDDED]);
    let files = [("lib.rego", LIB), ("a.yaml", good.as_str()), ("b.yaml", &good)];
    let mut editor = Editor::new(&files);
    let places_of = |answer: Value| places(&answer);
    let definition = "textDocument/definition";
    assert_eq!(places_of(editor.at(definition, "a.yaml", "> li|mit")), ["a.yaml:13:8"]);
    let references = editor.at("textDocument/references", "a.yaml", "> li|mit");
    assert_eq!(places_of(references), ["a.yaml:13:8", "a.yaml:17:25"]);
    let text = editor.at("textDocument/hover", "a.yaml", "> li|mit");
    let text = text["contents"]["value"].as_str().unwrap().to_owned();
    assert!(text.contains("How many may fail.") && text.contains("`a.yaml:14`"), "{text}");
    let text = editor.at("textDocument/hover", "a.yaml", "platform.disc|over").to_string();
    assert!(text.contains("platform.discover(digest, kind)"), "{text}");
    assert_eq!(editor.at("textDocument/hover", "a.yaml", "meta|data"), Value::Null);
    let complete = |editor: &mut Editor, marked: &str| {
        labels(&editor.at("textDocument/completion", "a.yaml", marked))
    };
    let found = complete(&mut editor, "> li|mit");
    assert!(found.contains(&"limit".to_owned()) && !found.contains(&"trusted".to_owned()));
    assert!(complete(&mut editor, "platform.|discover").contains(&"discover".to_owned()));
    assert!(complete(&mut editor, "\").digest|").contains(&"digest".to_owned()));
    assert!(complete(&mut editor, "kind: |Policy").is_empty());
    let symbols = editor.at("textDocument/documentSymbol", "a.yaml", "kind|");
    let names: Vec<_> = symbols.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["limit", "violations"]);
    // A name is changed in its module alone.
    let at = json!({"line": 17, "character": 27});
    let params =
        json!({"textDocument": {"uri": editor.uri("a.yaml")}, "position": at, "newName": "most"});
    let edit = editor.ask("textDocument/rename", &params);
    let changes = edit["changes"].as_object().unwrap();
    assert_eq!(changes.len(), 1, "{edit}");
    let edits = &changes[&editor.uri("a.yaml")];
    assert_eq!(edits.as_array().unwrap().len(), 2, "{edit}");
    assert_eq!(edits[0]["range"]["start"], json!({"line": 13, "character": 8}));
    // A rule is evaluated as its document has it.
    let lenses = editor.at("textDocument/codeLens", "a.yaml", "kind|");
    let command = &lenses[0]["command"];
    let params = json!({"command": command["command"], "arguments": command["arguments"]});
    let value = editor.ask("workspace/executeCommand", &params);
    assert_eq!(value, "data.main.limit is undefined");
    // Names are known while the YAML is broken, and nothing is changed.
    editor.open("a.yaml", &good.replacen("kind: SARIF", "kind: [SARIF", 1));
    assert_eq!(places_of(editor.at(definition, "a.yaml", "> li|mit")), ["a.yaml:13:8"]);
    let answer = editor.asked(
        "textDocument/rename",
        &json!({"textDocument": {"uri": editor.uri("a.yaml")},
        "position": at, "newName": "most"}),
    );
    assert!(answer["error"]["message"].as_str().unwrap().contains("can't parse"), "{answer}");
    let params = json!({"textDocument": {"uri": editor.uri("a.yaml")}, "options": {"tabSize": 4, "insertSpaces": false}});
    assert_eq!(editor.ask("textDocument/formatting", &params), Value::Null);
    // A file that isn't a document is none of Rego.
    editor.open("c.yaml", "a: 1\n");
    let params = json!({"textDocument": {"uri": editor.uri("c.yaml")}});
    assert_eq!(editor.ask("textDocument/documentSymbol", &params), Value::Null);
    editor.end();
}

/// Returns a text after the edits of its whole lines.
fn edited(text: &str, edits: &Value) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    for edit in edits.as_array().unwrap().iter().rev() {
        let line = |of: &str| {
            assert_eq!(edit["range"][of]["character"], 0, "{edit}");
            usize::try_from(edit["range"][of]["line"].as_u64().unwrap()).unwrap()
        };
        lines.splice(line("start")..line("end"), [edit["newText"].as_str().unwrap()]);
    }
    lines.concat()
}

#[test]
fn edits_of_a_policy_document_change_its_modules_alone() {
    let rough = EMBEDDED.replace("input.failed > limit", "input.failed>limit");
    let text = document(&[&rough, EMBEDDED, &rough]);
    let mut editor = Editor::new(&[("a.yaml", &text)]);
    let uri = editor.uri("a.yaml");
    let params =
        json!({"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": false}});
    let edits = editor.ask("textDocument/formatting", &params);
    assert_eq!(edits[0]["range"]["start"], json!({"line": 8, "character": 0}));
    let path = editor.sandbox.write("formatted.yaml", &text);
    editor.sandbox.run(&["fmt", "-w", &path]).output().code(0);
    assert_eq!(edited(&text, &edits), std::fs::read_to_string(&path).unwrap());
    assert!(edited(&text, &edits).ends_with("default: '3'\n"));
    // A fix.
    let good = document(&[
        EMBEDDED,
        &EMBEDDED.replace("limit", "most").replace("args.most", "args.limit"),
    ]);
    let wrong = good.replacen("discover", "discovr", 1);
    editor.open("a.yaml", &wrong);
    let found = editor.findings("a.yaml", 1);
    let range = found[0]["range"].clone();
    let params =
        json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
    let actions = editor.ask("textDocument/codeAction", &params);
    assert_eq!(actions.as_array().unwrap().len(), 1, "{actions}");
    let edits = &actions[0]["edit"]["changes"][&uri];
    assert_eq!(edits[0]["range"]["start"], json!({"line": 8, "character": 0}));
    assert_eq!(edited(&wrong, edits), good);
    editor.change("a.yaml", &good);
    editor.findings("a.yaml", 0);
    editor.end();
}
