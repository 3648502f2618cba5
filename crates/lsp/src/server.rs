//! The conversation with the editor: messages in, answers out.

use std::error::Error;
use std::path::PathBuf;
use std::sync::PoisonError;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::{
    CodeActionOrCommand, CompletionOptions, CompletionResponse, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentSymbolResponse,
    GotoDefinitionResponse, HoverProviderCapability, InitializeParams, OneOf, ServerCapabilities,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use rego_platform::load::LoadOptions;
use rego_platform::sources::Ignore;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::files::{self, Files};
use crate::findings::{Checker, State};
use crate::{actions, completion, definition, hover, symbols};

/// How policies are read and checked.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The product, the functions and the version of Rego.
    pub load: LoadOptions,
    /// The files and folders to read; the workspace's folders if empty.
    pub paths: Vec<PathBuf>,
    /// The files and folders to leave out.
    pub ignore: Ignore,
}

/// Serves an editor over standard input and output, until it ends the conversation.
///
/// # Errors
/// The conversation breaks off, or isn't one in the protocol.
pub fn serve_stdio(options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (connection, threads) = Connection::stdio();
    serve(connection, options)?;
    threads.join()?;
    Ok(())
}

/// Serves an editor over a connection, until it ends the conversation.
///
/// # Errors
/// The conversation breaks off, or isn't one in the protocol.
pub fn serve(connection: Connection, options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let capabilities = serde_json::to_value(capabilities())?;
    let given: InitializeParams = serde_json::from_value(connection.initialize(capabilities)?)?;
    let mut server = Server::new(&given, options);
    let publisher = connection.sender.clone();
    let _thread = server.checker.start(server.options.load.clone(), move |found| {
        let method = notification::PublishDiagnostics::METHOD.to_owned();
        // The editor may have gone.
        let _ = publisher.send(Notification::new(method, found).into());
    })?;
    server.read(&connection)?;
    server.check();
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request)? {
                    break;
                }
                connection.sender.send(server.answer(request).into())?;
            }
            Message::Notification(notification) => server.note(notification, &connection)?,
            Message::Response(_) => {}
        }
    }
    Ok(())
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned()]),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(true.into()),
        ..ServerCapabilities::default()
    }
}

struct Server {
    options: Options,
    files: Files,
    checker: Checker,
}

/// Where a request is about.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfDocument {
    text_document: lsp_types::TextDocumentIdentifier,
}

impl Server {
    fn new(given: &InitializeParams, options: Options) -> Self {
        let mut paths = options.paths.clone();
        if paths.is_empty() {
            let folders = given.workspace_folders.iter().flatten();
            paths = folders.filter_map(|folder| files::path(&folder.uri)).collect();
        }
        #[allow(deprecated, reason = "older editors name no folders")]
        if paths.is_empty() {
            paths.extend(given.root_uri.as_ref().and_then(files::path));
        }
        let files = Files::new(paths, options.ignore.clone());
        Self { options, files, checker: Checker::default() }
    }

    /// Reads the disk; what can't be read is shown, and what was read before stays.
    fn read(&mut self, connection: &Connection) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Err(error) = self.files.read() {
            let params = lsp_types::ShowMessageParams {
                typ: lsp_types::MessageType::WARNING,
                message: error.report(),
            };
            let method = notification::ShowMessage::METHOD.to_owned();
            connection.sender.send(Notification::new(method, params).into())?;
        }
        Ok(())
    }

    fn check(&self) {
        let (sources, texts) = (self.files.sources(), self.files.texts());
        self.checker.check(State { sources, texts });
    }

    /// Takes a notification. One that can't be read, or isn't known, changes nothing.
    fn note(
        &mut self,
        notification: Notification,
        connection: &Connection,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Notification { method, params } = notification;
        match method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                let Some(given) = read::<DidOpenTextDocumentParams>(params) else { return Ok(()) };
                let document = given.text_document;
                self.open(&document.uri, document.version, document.text);
            }
            notification::DidChangeTextDocument::METHOD => {
                let Some(given) = read::<DidChangeTextDocumentParams>(params) else {
                    return Ok(());
                };
                let document = given.text_document;
                if let Some(last) = given.content_changes.into_iter().next_back() {
                    self.open(&document.uri, document.version, last.text);
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                let Some(given) = read::<DidCloseTextDocumentParams>(params) else { return Ok(()) };
                if let Some(path) = files::path(&given.text_document.uri) {
                    self.files.close(&path);
                }
            }
            notification::DidSaveTextDocument::METHOD
            | notification::DidChangeWatchedFiles::METHOD => self.read(connection)?,
            _ => return Ok(()),
        }
        self.check();
        Ok(())
    }

    fn open(&mut self, uri: &Uri, version: i32, content: String) {
        if let Some(path) = files::path(uri) {
            self.files.open(path, version, content);
        }
    }

    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        match self.result(&method, params) {
            Some(Ok(result)) => Response::new_ok(id, result),
            Some(Err(error)) => {
                Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string())
            }
            None => {
                let message = format!("`{method}` isn't supported");
                Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
            }
        }
    }

    /// Returns the result of a request; `None` if its method isn't known.
    fn result(&self, method: &str, params: Value) -> Option<serde_json::Result<Value>> {
        let product = &self.options.load.product;
        Some(match method {
            request::HoverRequest::METHOD => Self::at(params, |path, at, _| {
                serde_json::to_value(hover::hover(&self.files, product, path, at))
            }),
            request::Completion::METHOD => Self::at(params, |path, at, _| {
                let items = completion::completions(&self.files, product, path, at);
                serde_json::to_value(CompletionResponse::Array(items))
            }),
            request::GotoDefinition::METHOD => Self::at(params, |path, at, _| {
                let found = definition::definitions(&self.files, path, at);
                serde_json::to_value(GotoDefinitionResponse::Array(found))
            }),
            request::References::METHOD => Self::at(params, |path, at, params| {
                let wanted = params.pointer("/context/includeDeclaration");
                let wanted = wanted.and_then(Value::as_bool).unwrap_or(true);
                serde_json::to_value(definition::references(&self.files, path, at, wanted))
            }),
            request::DocumentSymbolRequest::METHOD => self.of(params, |file, _, _| {
                serde_json::to_value(DocumentSymbolResponse::Nested(symbols::symbols(file)))
            }),
            request::Formatting::METHOD => self
                .of(params, |file, path, _| serde_json::to_value(actions::formatted(path, file))),
            request::CodeActionRequest::METHOD => self.of(params, |file, path, params| {
                let range = params.get("range").cloned().unwrap_or_default();
                let range = serde_json::from_value(range)?;
                let found = self.checker.found.lock().unwrap_or_else(PoisonError::into_inner);
                let fixes = actions::fixes(path, file, range, &found);
                let fixes = fixes.into_iter().map(CodeActionOrCommand::CodeAction);
                serde_json::to_value(fixes.collect::<Vec<_>>())
            }),
            _ => return None,
        })
    }

    /// Answers a request about a position.
    fn at(
        params: Value,
        answer: impl Fn(&std::path::Path, lsp_types::Position, &Value) -> serde_json::Result<Value>,
    ) -> serde_json::Result<Value> {
        let about: TextDocumentPositionParams = serde_json::from_value(params.clone())?;
        match files::path(&about.text_document.uri) {
            Some(path) => answer(&path, about.position, &params),
            None => Ok(Value::Null),
        }
    }

    /// Answers a request about a file.
    fn of(
        &self,
        params: Value,
        answer: impl Fn(&files::File, &std::path::Path, &Value) -> serde_json::Result<Value>,
    ) -> serde_json::Result<Value> {
        let about: OfDocument = serde_json::from_value(params.clone())?;
        let path = files::path(&about.text_document.uri);
        let file = path.as_deref().and_then(|path| Some((self.files.get(path)?, path)));
        file.map_or(Ok(Value::Null), |(file, path)| answer(file, path, &params))
    }
}

/// Reads the parameters of a notification.
fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
