//! Findings: those of `check`, on a thread of their own.
//!
//! Owns which state of the texts is checked: the last one, once the check before it is done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use lsp_types::{DiagnosticSeverity, NumberOrString, PublishDiagnosticsParams};
use rego_platform::load::LoadOptions;
use rego_platform::sources::Sources;
use rego_platform::{Diagnostic, Level, check};

use crate::files;
use crate::text::Text;

/// The texts that are checked together.
pub(crate) struct State {
    pub sources: Sources,
    pub texts: HashMap<String, (PathBuf, Arc<Text>)>,
}

/// What is waited for.
#[derive(Default)]
struct Waiting {
    state: Option<State>,
    ended: bool,
}

/// The thread that checks.
#[derive(Default)]
pub(crate) struct Checker {
    waiting: Arc<(Mutex<Waiting>, Condvar)>,
    /// The findings of the last check.
    pub found: Arc<Mutex<Vec<Diagnostic>>>,
}

impl Checker {
    /// Checks a state, and no older one.
    pub fn check(&self, state: State) {
        let (waiting, changed) = &*self.waiting;
        waiting.lock().unwrap_or_else(PoisonError::into_inner).state = Some(state);
        changed.notify_one();
    }

    /// Starts the thread, which gives the findings of each file that has or had some to `publish`.
    pub fn start(
        &self,
        options: LoadOptions,
        publish: impl Fn(PublishDiagnosticsParams) + Send + 'static,
    ) -> std::io::Result<std::thread::JoinHandle<()>> {
        let (waiting, found) = (Arc::clone(&self.waiting), Arc::clone(&self.found));
        let next = move || {
            let (waiting, changed) = &*waiting;
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = |waiting: &mut Waiting| waiting.state.is_none() && !waiting.ended;
            let mut waiting =
                changed.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner);
            waiting.state.take().filter(|_| !waiting.ended)
        };
        std::thread::Builder::new().name("check".to_owned()).spawn(move || {
            let mut before = BTreeSet::new();
            while let Some(state) = next() {
                let all = check::check(&state.sources, options.clone());
                let mut by_file: BTreeMap<String, Vec<_>> = BTreeMap::new();
                for finding in &all {
                    let Some(at) = &finding.position else { continue };
                    let Some((_, text)) = state.texts.get(&at.file) else { continue };
                    by_file.entry(at.file.clone()).or_default().push(converted(finding, text));
                }
                *found.lock().unwrap_or_else(PoisonError::into_inner) = all;
                let now: BTreeSet<String> = by_file.keys().cloned().collect();
                for file in before.union(&now) {
                    let path = state
                        .texts
                        .get(file)
                        .map_or_else(|| PathBuf::from(file), |(path, _)| path.clone());
                    let Some(uri) = files::uri(&path) else { continue };
                    let diagnostics = by_file.remove(file).unwrap_or_default();
                    publish(PublishDiagnosticsParams { uri, diagnostics, version: None });
                }
                before = now;
            }
        })
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        let (waiting, changed) = &*self.waiting;
        waiting.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        changed.notify_one();
    }
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
