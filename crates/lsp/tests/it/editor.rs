//! An editor with a folder.

use std::collections::BTreeMap;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, Response};
use rego_platform_lsp::{Options, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

pub struct Editor {
    pub folder: TempDir,
    connection: Connection,
    last: i32,
    /// The texts as they are here.
    pub texts: BTreeMap<String, String>,
    /// The findings of each file that the server has sent.
    pub found: BTreeMap<String, Value>,
}

/// Writes a folder.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

impl Editor {
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::start(folder(files), files)
    }

    /// Starts a server for a folder with these files.
    pub fn start(folder: TempDir, files: &[(&str, &str)]) -> Self {
        let (server, connection) = Connection::memory();
        std::thread::spawn(move || serve(server, Options::default()).unwrap());
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let texts = files.iter().map(own).collect();
        let mut editor = Self { folder, connection, last: 0, texts, found: BTreeMap::new() };
        let folder = Url::from_directory_path(editor.folder.path()).unwrap();
        let folders = json!([{"uri": folder.as_str(), "name": "p"}]);
        editor.ask("initialize", json!({"capabilities": {}, "workspaceFolders": folders})).unwrap();
        editor.tell("initialized", json!({}));
        editor
    }

    pub fn uri(&self, file: &str) -> String {
        Url::from_file_path(self.folder.path().join(file)).unwrap().to_string()
    }

    pub fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).unwrap();
    }

    fn receive(&mut self) -> Option<Response> {
        // Only a server that says nothing more is waited for this long.
        let message = self.connection.receiver.recv_timeout(Duration::from_mins(1));
        match message.unwrap() {
            Message::Response(response) => Some(response),
            Message::Notification(mut message) => {
                if message.method == "textDocument/publishDiagnostics" {
                    let uri = message.params["uri"].as_str().unwrap();
                    let file = uri.rsplit('/').next().unwrap().to_owned();
                    self.found.insert(file, message.params["diagnostics"].take());
                }
                None
            }
            Message::Request(_) => None,
        }
    }

    /// Waits until the findings of a file are as expected.
    pub fn wait(&mut self, file: &str, is_expected: impl Fn(&Value) -> bool) {
        while !self.found.get(file).is_some_and(&is_expected) {
            assert!(self.receive().is_none());
        }
    }

    /// Returns the result of a request, or the message of its error.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last += 1;
        let message = Request { id: self.last.into(), method: method.to_owned(), params };
        self.connection.sender.send(message.into()).unwrap();
        loop {
            if let Some(response) = self.receive() {
                return response.response_result.map_err(|error| error.message);
            }
        }
    }

    pub fn open(&mut self, file: &str) {
        let text = self.texts[file].clone();
        let document =
            json!({"uri": self.uri(file), "languageId": "rego", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    pub fn change(&mut self, file: &str, text: &str) {
        self.texts.insert(file.to_owned(), text.to_owned());
        let document = json!({"uri": self.uri(file), "version": 2});
        let changes = json!([{"text": text}]);
        self.tell(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": changes}),
        );
    }

    /// Asks about the place in a file that `|` marks, the first of this text, with more parameters.
    pub fn at(
        &mut self,
        method: &str,
        file: &str,
        marked: &str,
        more: &Value,
    ) -> Result<Value, String> {
        let text = &self.texts[file];
        let place = text.find(&marked.replace('|', "")).unwrap() + marked.find('|').unwrap();
        let before = &text[..place];
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
        let mut params = json!({"textDocument": {"uri": self.uri(file)},
            "position": {"line": line, "character": character}});
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        self.ask(method, params)
    }
}
