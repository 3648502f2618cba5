//! `test` and `new`, through the real binary.

mod answers;
mod mocks;
mod new;
mod reports;
mod tables;
mod verdicts;
mod watch;

use crate::cli::{Output, Run, Sandbox};

/// Runs `test` over files in their own folder, from within it.
pub fn test(files: &[(&str, &str)], arguments: &[&str]) -> Output {
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    test_with(&Sandbox::new(), &files, arguments, |run| run)
}

/// Like [`test`], in a sandbox, with further settings of the process.
fn test_with(
    sandbox: &Sandbox,
    files: &[(&str, String)],
    arguments: &[&str],
    change: impl FnOnce(Run) -> Run,
) -> Output {
    for (name, text) in files {
        sandbox.write(&format!("p/{name}"), text);
    }
    let run = sandbox.run(&[&["test", "."], arguments].concat());
    change(run).within(sandbox.path("p")).output()
}
