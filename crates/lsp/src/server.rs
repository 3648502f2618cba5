//! The server: requests and notifications of the editor, and responses.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::{
    CodeActionOrCommand, CodeLensOptions, CompletionOptions, CompletionResponse,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DocumentSymbolResponse, ExecuteCommandOptions, ExecuteCommandParams, GotoDefinitionResponse,
    HoverProviderCapability, InitializeParams, MessageType, OneOf, PrepareRenameResponse,
    RenameOptions, ServerCapabilities, ShowMessageParams, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkDoneProgressOptions,
};
use rego_platform::load::LoadOptions;
use rego_platform::sources::Ignore;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::addresses;
use crate::documents::PolicyDocuments;
use crate::file::File;
use crate::files::{Files, Place};
use crate::findings::Checker;
use crate::lenses::Task;
use crate::{actions, completion, definition, hover, lenses, rename, stdio, symbols};

/// Options for reading and checking policies.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The product, the functions and the version of Rego.
    pub load: LoadOptions,
    /// The files and folders to read; the workspace's folders if empty.
    pub paths: Vec<PathBuf>,
    /// The files and folders to leave out.
    pub ignore: Ignore,
    /// The functions for policy documents; without them, these are data.
    pub documents: Option<PolicyDocuments>,
}

/// Serves an editor over standard input and output until it exits.
///
/// # Errors
/// The conversation breaks off, or isn't one in the protocol.
pub fn serve_stdio(options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let (connection, threads) = stdio::connect()?;
    let served = serve(connection, options);
    // Why reading failed is the better reason.
    threads.join().and(served)
}

/// Serves an editor over a connection until it exits.
///
/// # Errors
/// The conversation breaks off, or isn't one in the protocol.
pub fn serve(connection: Connection, options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let capabilities = serde_json::to_value(capabilities())?;
    let (id, mut given) = connection.initialize_start()?;
    addresses::escape(&mut given);
    let given: InitializeParams = serde_json::from_value(given)?;
    connection.initialize_finish(id, json!({ "capabilities": capabilities }))?;
    let publisher = connection.sender.clone();
    let publish = move |found| {
        let method = notification::PublishDiagnostics::METHOD.to_owned();
        // The editor may have gone.
        let _ = publisher.send(Notification::new(method, found).into());
    };
    let checker =
        Checker::start(options.load.clone(), options.documents.clone(), Arc::new(publish))?;
    let mut server = Server::new(&given, options, checker);
    server.read(&connection)?;
    server.check(None, false);
    for message in &connection.receiver {
        match message {
            Message::Request(mut request) => {
                addresses::escape(&mut request.params);
                if connection.handle_shutdown(&request)? {
                    break;
                }
                if request.method == request::ExecuteCommand::METHOD {
                    server.run(request, &connection)?;
                } else {
                    connection.sender.send(server.answer(request).into())?;
                }
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
            trigger_characters: Some(vec![".".to_owned(), "\"".to_owned()]),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(true.into()),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: [lenses::EVALUATE, lenses::TEST].map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        ..ServerCapabilities::default()
    }
}

struct Server {
    options: Options,
    /// The paths on the disk.
    paths: Vec<PathBuf>,
    files: Files,
    checker: Checker,
}

/// The reason why a request has no result.
enum Refused {
    /// The parameters can't be read.
    Params(serde_json::Error),
    /// The request failed.
    Failed(String),
}

type RequestResult = Result<Value, Refused>;

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Self {
        Self::Params(error)
    }
}

impl Refused {
    fn response(self, id: RequestId) -> Response {
        match self {
            Self::Params(error) => {
                Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string())
            }
            Self::Failed(why) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
        }
    }
}

/// Returns an error with its hint.
fn explained(error: &rego_platform::Error) -> String {
    let hint = error.hint().map(|hint| format!("\nhelp: {hint}"));
    format!("{}{}", error.report(), hint.unwrap_or_default())
}

/// Returns a message that the editor shows.
fn shown(typ: MessageType, message: String) -> Message {
    let method = notification::ShowMessage::METHOD.to_owned();
    Notification::new(method, ShowMessageParams { typ, message }).into()
}

/// The document of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfDocument {
    text_document: lsp_types::TextDocumentIdentifier,
}

impl Server {
    fn new(given: &InitializeParams, options: Options, checker: Checker) -> Self {
        let mut paths = options.paths.clone();
        if paths.is_empty() {
            let folders = given.workspace_folders.iter().flatten();
            paths = folders.filter_map(|folder| addresses::path(&folder.uri)).collect();
        }
        #[allow(deprecated, reason = "older editors name no folders")]
        if paths.is_empty() {
            paths.extend(given.root_uri.as_ref().and_then(addresses::path));
        }
        let files = Files::new(options.load.version(), options.documents.clone());
        Self { options, paths, files, checker }
    }

    /// Reads the disk. On an error, the message is shown and the previous state stays.
    fn read(&mut self, connection: &Connection) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Err(error) = self.files.read(&self.paths, &self.options.ignore) {
            connection.sender.send(shown(MessageType::WARNING, explained(&error)))?;
        }
        Ok(())
    }

    fn check(&self, changed: Option<PathBuf>, is_typed: bool) {
        self.checker.check(self.files.clone(), changed, is_typed);
    }

    /// Handles a notification. One that can't be read, or isn't known, changes nothing.
    fn note(
        &mut self,
        notification: Notification,
        connection: &Connection,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Notification { method, mut params } = notification;
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
        let uri = uri.unwrap_or_default().to_owned();
        addresses::escape(&mut params);
        let is_typed = method == notification::DidChangeTextDocument::METHOD;
        let mut changed = None;
        match method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                let Some(given) = read::<DidOpenTextDocumentParams>(params) else { return Ok(()) };
                let document = given.text_document;
                changed = self.open((&document.uri, &uri), document.version, document.text);
            }
            notification::DidChangeTextDocument::METHOD => {
                let Some(given) = read::<DidChangeTextDocumentParams>(params) else {
                    return Ok(());
                };
                let document = given.text_document;
                if let Some(last) = given.content_changes.into_iter().next_back() {
                    changed = self.open((&document.uri, &uri), document.version, last.text);
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                let Some(given) = read::<DidCloseTextDocumentParams>(params) else { return Ok(()) };
                if let Some(path) = addresses::path(&given.text_document.uri) {
                    self.files.close(&path);
                }
            }
            notification::DidSaveTextDocument::METHOD
            | notification::DidChangeWatchedFiles::METHOD => self.read(connection)?,
            _ => return Ok(()),
        }
        self.check(changed, is_typed);
        Ok(())
    }

    /// Sets the text of an open file, with the editor's spelling of its address, and returns the path.
    fn open(
        &mut self,
        (uri, spelt): (&Uri, &str),
        version: i32,
        content: String,
    ) -> Option<PathBuf> {
        let path = addresses::path(uri)?;
        self.files.open(path.clone(), spelt, version, content);
        Some(path)
    }

    /// Runs a test or evaluates a rule on a separate thread, and shows the outcome.
    fn run(
        &self,
        request: Request,
        connection: &Connection,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Request { id, params, .. } = request;
        let task = match self.task(params) {
            Ok(task) => task,
            Err(refused) => return Ok(connection.sender.send(refused.response(id).into())?),
        };
        let (sender, own) = (connection.sender.clone(), id.clone());
        let run = move || {
            let (shown_as, response) = match task.run() {
                Ok((text, is_good)) => {
                    let typ = if is_good { MessageType::INFO } else { MessageType::WARNING };
                    (Some((typ, text.clone())), Response::new_ok(own, text))
                }
                Err(error) => (None, Refused::Failed(explained(&error)).response(own)),
            };
            // The editor may have gone.
            if let Some((typ, text)) = shown_as {
                let _ = sender.send(shown(typ, text));
            }
            let _ = sender.send(response.into());
        };
        if let Err(error) = std::thread::Builder::new().name("run".to_owned()).spawn(run) {
            connection.sender.send(Refused::Failed(error.to_string()).response(id).into())?;
        }
        Ok(())
    }

    /// Returns the task of a command.
    fn task(&self, params: Value) -> Result<Task, Refused> {
        let ExecuteCommandParams { command, mut arguments, .. } = serde_json::from_value(params)?;
        let is_test = match command.as_str() {
            lenses::TEST => true,
            lenses::EVALUATE => false,
            _ => return Err(Refused::Failed(format!("unknown command `{command}`"))),
        };
        // The line of the rule says which module of a policy document has it.
        let line = arguments.get(2).and_then(Value::as_u64).and_then(|line| line.try_into().ok());
        arguments.truncate(2);
        let (uri, rule): (Uri, Vec<String>) = serde_json::from_value(Value::Array(arguments))?;
        let file = addresses::path(&uri).filter(|path| !self.files.modules(path).is_empty());
        let unknown =
            || Refused::Failed(format!("file outside of the workspace: `{}`", uri.as_str()));
        let file = file.ok_or_else(unknown)?;
        let line = line.unwrap_or_default();
        let (files, load) = self.files.visible_from(&file, line, &self.options.load);
        Ok(Task {
            files: files.into_owned(),
            load: load.clone(),
            folders: self.paths.clone(),
            file,
            rule,
            is_test,
        })
    }

    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        match self.result(&method, params) {
            Some(Ok(result)) => Response::new_ok(id, result),
            Some(Err(refused)) => refused.response(id),
            None => {
                let message = format!("unsupported method `{method}`");
                Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
            }
        }
    }

    /// Returns the result of a request; `None` for an unknown method.
    fn result(&self, method: &str, params: Value) -> Option<RequestResult> {
        let product = &self.options.load.product;
        Some(match method {
            request::HoverRequest::METHOD => self.at(params, |at, _| Ok(hover::hover(at, product))),
            request::Completion::METHOD => {
                self.at(params, |at, _| Ok(CompletionResponse::Array(completion::completions(at))))
            }
            request::GotoDefinition::METHOD => self
                .at(params, |at, _| Ok(GotoDefinitionResponse::Array(definition::definitions(at)))),
            request::References::METHOD => self.at(params, |at, params| {
                let wanted = params.pointer("/context/includeDeclaration");
                let wanted = wanted.and_then(Value::as_bool).unwrap_or(true);
                Ok(definition::references(at, wanted))
            }),
            request::DocumentSymbolRequest::METHOD => self.of(params, |files, _, _| {
                let symbols = files.iter().flat_map(|file| symbols::symbols(file));
                Ok(DocumentSymbolResponse::Nested(symbols.collect()))
            }),
            request::Formatting::METHOD => {
                self.of(params, |files, path, _| Ok(actions::formatted(path, files)))
            }
            request::CodeLensRequest::METHOD => self.of(params, |files, _, params| {
                let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
                let uri = uri.unwrap_or_default();
                Ok(files.iter().flat_map(|file| lenses::lenses(file, uri)).collect::<Vec<_>>())
            }),
            request::PrepareRenameRequest::METHOD => self.at(params, |at, _| {
                let found = rename::find(at).map_err(Refused::Failed)?;
                let rename::Found { range, name: placeholder, .. } = found;
                Ok(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
            }),
            request::Rename::METHOD => self.at(params, |at, params| {
                let new = params.get("newName").and_then(Value::as_str).unwrap_or_default();
                rename::rename(at, new).map_err(Refused::Failed)
            }),
            request::CodeActionRequest::METHOD => self.of(params, |files, path, params| {
                let range = params.get("range").cloned().unwrap_or_default();
                let range = serde_json::from_value(range)?;
                let found = self.checker.found(path);
                let fixes = files.iter().flat_map(|file| actions::fixes(path, file, range, &found));
                Ok(fixes.map(CodeActionOrCommand::CodeAction).collect::<Vec<_>>())
            }),
            _ => return None,
        })
    }

    /// Handles a request about a position.
    fn at<T: Serialize>(
        &self,
        params: Value,
        answer: impl Fn(Place<'_>, &Value) -> Result<T, Refused>,
    ) -> RequestResult {
        let about: TextDocumentPositionParams = serde_json::from_value(params.clone())?;
        let Some(path) = addresses::path(&about.text_document.uri) else { return Ok(Value::Null) };
        let position = about.position;
        let (files, load) = self.files.visible_from(&path, position.line, &self.options.load);
        let place = Place { files: &files, load, path: &path, position };
        Ok(serde_json::to_value(answer(place, &params)?)?)
    }

    /// Handles a request about a file, or about the modules of a policy document.
    fn of<T: Serialize>(
        &self,
        params: Value,
        answer: impl Fn(&[&File], &Path, &Value) -> Result<T, Refused>,
    ) -> RequestResult {
        let about: OfDocument = serde_json::from_value(params.clone())?;
        let Some(path) = addresses::path(&about.text_document.uri) else { return Ok(Value::Null) };
        let files = self.files.modules(&path);
        if files.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::to_value(answer(&files, &path, &params)?)?)
    }
}

/// Reads the parameters of a notification.
fn read<T: DeserializeOwned>(params: Value) -> Option<T> {
    serde_json::from_value(params).ok()
}
