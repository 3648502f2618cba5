//! `--watch`: runs again whenever a file changes.
//!
//! Owns the files that are watched and the time of the next run. Returns only with an error or a
//! signal.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify_debouncer_full::notify::{EventKind, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, DebouncedEvent, new_debouncer};
use rego_platform::Error;
use rego_platform::sources::split;
use rego_platform_client::text::escape;

use super::paths::is_address;
use super::{Exit, output, watchdog};

/// The time without changes before a run: editors write in several steps.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Runs `once` now and after each change of `paths`.
pub(super) fn run(paths: &[String], once: impl Fn() -> Result<Exit, Error>) -> Result<Exit, Error> {
    let broken = |error| Error::configuration("the files can't be watched").with_source(error);
    let paths = &files(paths)?;
    let (sender, changes) = mpsc::channel::<DebounceEventResult>();
    let mut watcher = new_debouncer(DEBOUNCE, None, sender).map_err(broken)?;
    for path in paths {
        // An editor replaces a file, and a watch on the old one sees nothing more: the folder is
        // watched.
        let (folder, mode) = if path.is_dir() {
            (path.as_path(), RecursiveMode::Recursive)
        } else {
            (folder_of(path), RecursiveMode::NonRecursive)
        };
        watcher.watch(folder, mode).map_err(broken)?;
    }
    loop {
        if let Err(error) = once() {
            output::error(&error);
        }
        watchdog::stop();
        output::plain_note("watching for changes");
        loop {
            let change =
                changes.recv().map_err(|_| Error::internal("watching for changes ended"))?;
            match change {
                Ok(events) if events.iter().any(|event| is_relevant(event, paths)) => break,
                Ok(_) => {}
                Err(errors) => {
                    for error in errors {
                        tracing::debug!(%error, "watching");
                    }
                    // Events were lost: a run too many is better than a missed change.
                    break;
                }
            }
        }
    }
}

/// Returns the files and folders that the arguments name; `a.b:path` names `path`.
fn files(paths: &[String]) -> Result<Vec<PathBuf>, Error> {
    paths
        .iter()
        .filter(|argument| !is_address(argument))
        .map(|argument| {
            let path = split(argument).1;
            // A path that doesn't exist is an error: its folder may be the wrong one to watch.
            std::fs::metadata(&path).map(|_| path).map_err(|error| {
                let shown = escape(argument);
                Error::configuration(format!("`{shown}` can't be watched")).with_source(error)
            })
        })
        .collect()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns `true` if a change is of a file that a run reads.
fn is_relevant(event: &DebouncedEvent, paths: &[PathBuf]) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    event.paths.iter().any(|changed| {
        let extension = changed.extension().and_then(|extension| extension.to_str());
        let named = || paths.iter().any(|path| path.file_name() == changed.file_name());
        match extension {
            // No extension: a folder that was created or removed.
            Some("rego" | "json" | "yaml" | "yml") | None => true,
            Some(_) => named(),
        }
    })
}
