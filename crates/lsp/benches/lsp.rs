//! A workspace of 1,000 policies: the first findings, and those after a keystroke.
//!
//! ```text
//! cargo bench --bench lsp
//! ```

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]
#![allow(clippy::pedantic)]

use std::path::Path;
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request};
use rego_platform_lsp::{Options, serve};
use serde_json::{Value, json};
use url::Url;

const FILES: usize = 1_000;

const LIB: &str = "package lib\n\nok(c) if c.user == \"app\"\n";

fn policy(number: usize) -> String {
    format!(
        "package p{number}\n\nimport data.lib\n\ndefault allow := false\n\nallow if {{\n\tinput.user == \
         \"u{number}\"\n\tsome c in input.containers\n\tc.image == \"docker.io/{number}\"\n\t\
         lib.ok(c)\n}}\n\ndeny contains msg if {{\n\tsome c in input.containers\n\tnot \
         startswith(c.image, \"docker.io/library\")\n\tmsg := sprintf(\"%s has %d\", [c.name, \
         {number}])\n}}\n\nwarn contains \"closed\" if not allow\n"
    )
}

/// An editor, in this process.
struct Editor {
    connection: Connection,
    folder: Url,
    version: i32,
}

impl Editor {
    fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).unwrap();
    }

    fn ask(&self, id: i32, method: &str, params: Value) {
        let message = Request { id: id.into(), method: method.to_owned(), params };
        self.connection.sender.send(message.into()).unwrap();
        let is_answer = |message| matches!(message, Message::Response(_));
        while !is_answer(self.connection.receiver.recv().unwrap()) {}
    }

    fn uri(&self, file: &str) -> String {
        self.folder.join(file).unwrap().to_string()
    }

    /// Waits for findings of a file with a text in them.
    fn wait(&self, file: &str, text: &str) {
        let uri = self.uri(file);
        loop {
            let Message::Notification(message) = self.connection.receiver.recv().unwrap() else {
                continue;
            };
            let params = message.params;
            if params["uri"] == uri.as_str() && params["diagnostics"].to_string().contains(text) {
                return;
            }
        }
    }

    /// Changes a file, and returns the time until findings have a text.
    fn change(&mut self, file: &str, content: &str, text: &str, of: &str) -> Duration {
        self.version += 1;
        let document = json!({"uri": self.uri(file), "version": self.version});
        let changes = json!([{"text": content}]);
        let start = Instant::now();
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.tell("textDocument/didChange", params);
        self.wait(of, text);
        start.elapsed()
    }
}

/// Returns the processor time that this process has used in its own code.
fn user_time() -> Duration {
    // Linux counts in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 =
        fields.clone().nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or_default();
    Duration::from_millis(10 * ticks)
}

fn shown(name: &str, mut times: Vec<Duration>, user: Duration) {
    times.sort();
    let rounds = u32::try_from(times.len()).unwrap();
    let (median, most) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    let user = user / rounds;
    println!("{name}: median {median:.1?}, 95 % below {most:.1?}, {user:.1?} of user time each");
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let rounds: usize = std::env::var("ROUNDS").map_or(50, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let write = |name: String, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("lib.rego".to_owned(), LIB);
    for number in 0..FILES {
        write(format!("p{number}.rego"), &policy(number));
    }
    write("p7.rego".to_owned(), &policy(7).replace("sprintf", "sprint"));
    let (mut times, used) = (Vec::new(), user_time());
    for _ in 0..rounds.div_ceil(10) {
        let start = Instant::now();
        let editor = editor(folder.path());
        editor.wait("p7.rego", "function sprint");
        times.push(start.elapsed());
        editor.ask(2, "shutdown", Value::Null);
        editor.tell("exit", Value::Null);
    }
    shown("the first findings", times, user_time() - used);
    write("p7.rego".to_owned(), &policy(7));
    let mut editor = editor(folder.path());
    for (file, text) in [("p500.rego", policy(500)), ("lib.rego", LIB.to_owned())] {
        let document =
            json!({"uri": editor.uri(file), "languageId": "rego", "version": 1, "text": text});
        editor.tell("textDocument/didOpen", json!({"textDocument": document}));
    }
    let (mut times, used) = (Vec::new(), user_time());
    for round in 0..rounds {
        let wrong = policy(500).replace("startswith", &format!("startwith{round}"));
        let expected = format!("function startwith{round}");
        times.push(editor.change("p500.rego", &wrong, &expected, "p500.rego"));
    }
    shown("after a keystroke, those of the file", times, user_time() - used);
    let (mut times, used) = (Vec::new(), user_time());
    for round in 0..rounds {
        let other = format!("package lib\n\nok{round}(c) if c.user == \"app\"\n");
        times.push(editor.change("lib.rego", &other, "data.lib.ok", "p999.rego"));
        editor.change("lib.rego", LIB, "[]", "p999.rego");
    }
    shown("those of all 1,000 files", times, user_time() - used);
    editor.ask(2, "shutdown", Value::Null);
    editor.tell("exit", Value::Null);
}

/// Starts a server for a folder.
fn editor(folder: &Path) -> Editor {
    let (server, client) = Connection::memory();
    std::thread::spawn(move || serve(server, Options::default()).unwrap());
    let folder = Url::from_directory_path(folder).unwrap();
    let editor = Editor { connection: client, folder, version: 1 };
    let folders = json!([{"uri": editor.folder.as_str(), "name": "p"}]);
    editor.ask(1, "initialize", json!({"capabilities": {}, "workspaceFolders": folders}));
    editor.tell("initialized", json!({}));
    editor
}
