//! Findings of `check`, on separate threads.
//!
//! A change is followed by two checks. The first is of the changed files and what they refer to: what is
//! found in them is known at once. Warnings that also depend on who uses them go with their lines until the
//! second check, of everything, once nothing has changed for a moment. What that one finds is what `check`
//! finds; it is the last word on each state of the texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lsp_types::{DiagnosticSeverity, NumberOrString};
use parking_lot::{Condvar, Mutex};
use rego_platform::load::LoadOptions;
use rego_platform::sources::Sources;
use rego_platform::{Diagnostic, Level, check};
use serde_json::{Value, json};

use crate::addresses;
use crate::documents::PolicyDocuments;
use crate::files::Files;
use crate::text::Text;

/// The time without changes before everything is checked.
const PAUSE: Duration = Duration::from_millis(100);

/// The warnings that also depend on the users of a file.
const OF_USERS: [&str; 4] = ["dead-rule", "no-verdict", "unused-ignore", "unused-rule"];

/// The findings that depend on what other files declare.
const OF_OTHERS: [&str; 3] = ["missing-data", "unknown-rule", "unused-import"];

/// The number of files with errors that are checked together with a changed file: an error in another file
/// can hide later ones.
const ERRORS: usize = 20;

/// A state of the texts.
struct State {
    files: Files,
    /// The place among the states.
    number: u64,
    /// The changes since the previous state, if known.
    changed: BTreeSet<PathBuf>,
    /// `true` if someone is typing.
    is_typed: bool,
}

/// The findings of a file.
#[derive(Default)]
struct FileFindings {
    /// The text that the findings are about.
    text: Arc<Text>,
    found: Vec<Diagnostic>,
    /// The findings as sent to the editor, with their address.
    sent: Vec<lsp_types::Diagnostic>,
    uri: Option<Arc<str>>,
}

#[derive(Default)]
struct Shared {
    /// The number of the last state.
    last: u64,
    /// The state waiting for its first check.
    first: Option<Arc<State>>,
    /// The state waiting for the check of everything.
    whole: Option<Arc<State>>,
    /// The number of the last state that was checked as a whole.
    settled: u64,
    known: BTreeMap<PathBuf, FileFindings>,
    ended: bool,
}

/// A callback for the parameters of `textDocument/publishDiagnostics`.
type Publish = Arc<dyn Fn(Value) + Send + Sync>;

/// The checking threads.
pub(crate) struct Checker {
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

/// The data shared by both threads.
#[derive(Clone)]
struct Worker {
    shared: Arc<(Mutex<Shared>, Condvar)>,
    options: LoadOptions,
    documents: Option<PolicyDocuments>,
    publish: Publish,
}

impl Checker {
    /// Starts the threads, which pass changed findings of each file to `publish`.
    pub fn start(
        options: LoadOptions,
        documents: Option<PolicyDocuments>,
        publish: Publish,
    ) -> std::io::Result<Self> {
        let shared = Arc::default();
        let worker = Worker { shared: Arc::clone(&shared), options, documents, publish };
        let checker = Self { shared };
        let first = worker.clone();
        thread::Builder::new().name("check first".to_owned()).spawn(move || first.check_first())?;
        thread::Builder::new().name("check".to_owned()).spawn(move || worker.check_whole())?;
        Ok(checker)
    }

    /// Checks a state of the files; `changed` is the file whose text has changed.
    pub fn check(&self, files: Files, changed: Option<PathBuf>, is_typed: bool) {
        let mut shared = self.shared.0.lock();
        shared.last += 1;
        let number = shared.last;
        let before = shared.first.take();
        let mut changed: BTreeSet<PathBuf> = changed.into_iter().collect();
        changed.extend(before.iter().flat_map(|state| state.changed.clone()));
        let state = Arc::new(State { files, number, changed, is_typed });
        shared.first = (!state.changed.is_empty()).then(|| Arc::clone(&state));
        shared.whole = Some(state);
        self.shared.1.notify_all();
    }

    /// Returns the findings of a file.
    pub fn found(&self, path: &Path) -> Vec<Diagnostic> {
        self.shared.0.lock().known.get(path).map(|known| known.found.clone()).unwrap_or_default()
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.shared.0.lock().ended = true;
        self.shared.1.notify_all();
    }
}

impl Worker {
    /// Waits for a state to check; `None` at the end.
    fn next(&self, take: impl Fn(&mut Shared) -> Option<Arc<State>>) -> Option<Arc<State>> {
        let mut shared = self.shared.0.lock();
        loop {
            if shared.ended {
                return None;
            }
            if let Some(state) = take(&mut shared) {
                return Some(state);
            }
            self.shared.1.wait(&mut shared);
        }
    }

    fn check_first(&self) {
        while let Some(state) = self.next(|shared| shared.first.take()) {
            let wrong: Vec<PathBuf> = self.shared.0.lock().with_errors().take(ERRORS).collect();
            let broken = state.files.iter().filter(|(_, file)| file.is_broken);
            let broken = broken.map(|(path, _)| path).take(ERRORS);
            let changed = state.changed.iter().chain(&wrong).map(PathBuf::as_path);
            let needed = state.files.needed(changed.chain(broken));
            let mut by_file = self.check(&state, Some(&needed));
            let is_whole = needed.len() == state.files.iter().count();
            let is_wanted = |path: &Path| is_whole || state.changed.contains(path);
            by_file.extend(self.check_documents(&state, is_wanted));
            let mut shared = self.shared.0.lock();
            if shared.settled >= state.number {
                continue;
            }
            if is_whole {
                self.settle(&mut shared, &state, by_file);
                continue;
            }
            for path in &state.changed {
                let Some((text, _)) = state.files.text(path) else { continue };
                let mut found = by_file.remove(path).unwrap_or_default();
                if state.files.get(path).is_none() {
                    // Nothing uses what a policy document has.
                    self.give(&mut shared, &state, path, found);
                    continue;
                }
                found.retain(|finding| !is_of_users(finding));
                if let Some(known) = shared.known.get(path) {
                    let of_users = known.found.iter().filter(|finding| is_of_users(finding));
                    found.extend(of_users.filter_map(|one| moved(one, &known.text, text)));
                }
                self.give(&mut shared, &state, path, found);
            }
        }
    }

    fn check_whole(&self) {
        while let Some(state) = self.next(|shared| shared.whole.take()) {
            if state.is_typed {
                let none = |shared: &mut Shared| shared.whole.is_none() && !shared.ended;
                let mut shared = self.shared.0.lock();
                // Who types on is waited for.
                if !self.shared.1.wait_while_for(&mut shared, none, PAUSE).timed_out() {
                    continue;
                }
            }
            if self.shared.0.lock().settled >= state.number {
                continue;
            }
            let mut by_file = self.check(&state, None);
            by_file.extend(self.check_documents(&state, |_| true));
            let mut shared = self.shared.0.lock();
            // Texts that have changed meanwhile have other findings by now.
            if shared.whole.is_none() && shared.settled < state.number {
                self.settle(&mut shared, &state, by_file);
            }
        }
    }

    /// Returns the findings of a check by file.
    fn check(
        &self,
        state: &State,
        paths: Option<&BTreeSet<&Path>>,
    ) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        let files = &state.files;
        let is_broken = |finding: &Diagnostic| {
            let at = finding.position.as_ref().map(|at| Path::new(&at.file));
            at.and_then(|path| files.get(path)).is_some_and(|file| file.is_broken)
        };
        let check = |sources: Sources| {
            let mut found = check::check(&sources, self.options.clone());
            // `test` loads a document with its tests.
            found.retain(|one| one.code != check::MISSING_DATA || !files.is_of_document(one));
            found
        };
        let mut found = check(files.sources(paths));
        // A broken file ends the compilation before it comes to what else is wrong.
        if let Some(unknown) = files.broken(paths) {
            found.retain(is_broken);
            let others = check(files.unbroken(paths)).into_iter();
            let is_of_package = |one: &Diagnostic| {
                let at = one.position.as_ref().map(|at| Path::new(&at.file));
                let package = at.and_then(|path| files.get(path)).map(|file| &file.names.package);
                let package = package.map(|parts| parts.join(".")).unwrap_or_default();
                unknown.iter().any(|own| own.is_empty() || *own == package)
            };
            let depends = |one: &Diagnostic| {
                is_of_users(one)
                    || !unknown.is_empty() && OF_OTHERS.contains(&one.code)
                    || one.code == "unsafe-variable" && is_of_package(one)
            };
            found.extend(others.filter(|one| !is_broken(one) && !depends(one)));
        }
        let mut by_file: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        for finding in found {
            let Some(at) = &finding.position else { continue };
            by_file.entry(PathBuf::from(&at.file)).or_default().push(finding);
        }
        by_file
    }

    /// Returns the findings of policy documents.
    fn check_documents(
        &self,
        state: &State,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, Vec<Diagnostic>)> {
        let Some(reader) = &self.documents else { return Vec::new() };
        let wanted = state.files.documents().filter(|(path, _)| is_wanted(path));
        let checked = wanted.map(|(path, document)| {
            // While someone is typing, nothing changes but that text.
            let is_known =
                |known: &&FileFindings| state.is_typed && Arc::ptr_eq(&known.text, &document.text);
            let known =
                self.shared.0.lock().known.get(path).filter(is_known).map(|one| one.found.clone());
            let name = path.display().to_string();
            let check = || (reader.check)(&name, &document.text.content, &self.options);
            let mut found = known.unwrap_or_else(check);
            // A document may name others, which have findings of their own.
            found.retain(|one| one.position.as_ref().is_some_and(|at| *at.file == *name));
            (path.to_owned(), found)
        });
        checked.collect()
    }

    /// Publishes the findings of everything.
    fn settle(
        &self,
        shared: &mut Shared,
        state: &State,
        mut by_file: BTreeMap<PathBuf, Vec<Diagnostic>>,
    ) {
        shared.settled = state.number;
        let paths: BTreeSet<PathBuf> = shared.known.keys().chain(by_file.keys()).cloned().collect();
        for path in paths {
            let found = by_file.remove(&path).unwrap_or_default();
            if state.files.text(&path).is_some() {
                self.give(shared, state, &path, found);
            } else {
                // The file is gone.
                self.give(shared, state, &path, Vec::new());
                shared.known.remove(&path);
            }
        }
    }

    fn give(&self, shared: &mut Shared, state: &State, path: &Path, found: Vec<Diagnostic>) {
        let (text, open) = state.files.text(path).unzip();
        let text = text.map(Arc::clone).unwrap_or_default();
        let own = || addresses::uri(path).map(|uri| uri.as_str().into());
        let known = shared.known.entry(path.to_owned()).or_default();
        // As the editor spelt it, or did last.
        let uri = open.flatten().map(|(_, uri)| Arc::clone(uri)).or(known.uri.clone()).or_else(own);
        let sent: Vec<_> = found.iter().map(|finding| converted(finding, &text)).collect();
        let moves = known.uri.is_some() && known.uri != uri;
        let is_new = known.sent != sent || moves;
        let before = std::mem::replace(
            known,
            FileFindings { text, found, sent: sent.clone(), uri: uri.clone() },
        );
        if let Some(before) = before.uri.filter(|before| Some(before) != uri.as_ref()) {
            (self.publish)(json!({ "uri": *before, "diagnostics": [] }));
        }
        if is_new && let Some(uri) = uri {
            (self.publish)(json!({ "uri": *uri, "diagnostics": sent }));
        }
    }
}

impl Shared {
    /// Returns the files with errors.
    fn with_errors(&self) -> impl Iterator<Item = PathBuf> {
        let is_wrong =
            |known: &FileFindings| known.found.iter().any(|one| one.level == Level::Error);
        self.known.iter().filter(move |(_, known)| is_wrong(known)).map(|(path, _)| path.clone())
    }
}

fn is_of_users(finding: &Diagnostic) -> bool {
    OF_USERS.contains(&finding.code)
}

/// Returns a finding at the new position of its line; `None` if the line was changed.
fn moved(finding: &Diagnostic, before: &Text, after: &Text) -> Option<Diagnostic> {
    let mut finding = finding.clone();
    let position = finding.position.as_mut()?;
    let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
    position.line = u32::try_from(before.moved(line, after)? + 1).ok()?;
    Some(finding)
}

/// Converts a finding to the protocol's form.
fn converted(finding: &Diagnostic, text: &Text) -> lsp_types::Diagnostic {
    let hint = finding.hint.as_ref().map(|hint| format!("\nhelp: {hint}"));
    lsp_types::Diagnostic {
        range: finding.position.as_ref().map(|at| text.range_of(at)).unwrap_or_default(),
        severity: Some(match finding.level {
            Level::Error => DiagnosticSeverity::ERROR,
            _ => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(finding.code.to_owned())),
        source: Some("rego-platform".to_owned()),
        message: format!("{}{}", finding.message, hint.unwrap_or_default()),
        ..lsp_types::Diagnostic::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "package lib\n\nlimit := 3\n\nspare := 4\n\nunused if input.x\n";
    const MAIN: &str = "package main\n\nimport data.lib\n\ndeny contains \"x\" if {\n\tinput.n > lib.limit\n\thelper\n}\n\ndead if input.y\n";
    const MORE: &str = "package main\n\nhelper if input.z\n";
    const USER: &str = "package user\n\nimport data.main\n\nwarn contains \"y\" if main.deny\n";

    fn found(files: &Files, path: &Path, paths: Option<&BTreeSet<&Path>>) -> Vec<Diagnostic> {
        let mut found = check::check(&files.sources(paths), LoadOptions::default());
        let path = path.to_str();
        found.retain(|one| one.position.as_ref().map(|at| &*at.file) == path && !is_of_users(one));
        found
    }

    /// Warnings that depend on more than a file's references would come and go with each keystroke.
    #[test]
    fn what_a_file_refers_to_decides_on_its_findings_but_those_of_its_users() {
        let call = "\thelper\n\tplatform.discover(input.image, \"\")";
        for (to, code) in [
            ("\thelpr\n".to_owned(), "unsafe-variable"),
            ("\thelper\n\tlib.limits\n".to_owned(), "unknown-rule"),
            ("\thelper\n\tdata.absent\n".to_owned(), "missing-data"),
            (format!("{call}.digst\n"), "unknown-field"),
            (format!("{call}.kind == \"CONTAINER\"\n"), "unknown-value"),
            ("\thelper\n\tx := 1\n".to_owned(), "unused-local"),
            ("}\n\ndeny := 1 if {\n\thelper\n".to_owned(), "type-error"),
            (
                "}\n\nimport data.user\n\nwarn contains 1 if {\n\thelper\n".to_owned(),
                "unused-import",
            ),
            ("}\n\nresult := {\"passed\": false} if {\n\thelper\n".to_owned(), "verdict-shape"),
        ] {
            let mut files = Files::default();
            let main = Path::new("/main.rego");
            let edited = MAIN.replace("\thelper\n", &to);
            for (path, text) in [
                ("/lib.rego", LIB),
                ("/main.rego", &*edited),
                ("/more.rego", MORE),
                ("/user.rego", USER),
            ] {
                files.open(path.into(), "", 1, text.to_owned());
            }
            let needed = files.needed(std::iter::once(main));
            let (first, whole) = (found(&files, main, Some(&needed)), found(&files, main, None));
            let codes: Vec<_> = whole.iter().map(|one| one.code).collect();
            assert!(codes.contains(&code), "{code}: {whole:#?}");
            assert_eq!(format!("{first:?}"), format!("{whole:?}"), "{code}");
        }
    }
}
