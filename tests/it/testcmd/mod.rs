//! `test` and `new`, through the real binary.

mod mocks;
mod new;
mod verdicts;

use crate::cli::{Output, Sandbox};

/// Runs `test` over files written into a folder of their own, from within it.
pub fn test(files: &[(&str, &str)], arguments: &[&str]) -> Output {
    let sandbox = Sandbox::new();
    for (name, text) in files {
        sandbox.write(&format!("p/{name}"), text);
    }
    let mut command = sandbox.run(&[&["test", "."], arguments].concat()).command();
    let output = command.current_dir(sandbox.path("p")).output().unwrap();
    Output {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
