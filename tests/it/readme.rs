//! The commands in the README and in `docs` print what is shown there.
//!
//! In a `console` block, a line that begins with `$ ` is a command; `# status N` after it is its
//! exit status; the lines that follow are its standard output, in which `...` stands for any number
//! of lines and, within a line, for any text.

use std::path::Path;
use std::process::Command;

struct Example {
    command: String,
    status: i32,
    output: Vec<String>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    let (command, status) =
                        command.rsplit_once(" # status ").unwrap_or((command, "0"));
                    let status = status.parse().unwrap();
                    let command = command.to_owned();
                    examples.push(Example { command, status, output: Vec::new() });
                }
                None => examples.last_mut().unwrap().output.push(line.to_owned()),
            },
            _ => {}
        }
    }
    examples
}

fn matches(shown: &[String], found: &[&str]) -> bool {
    match (shown, found) {
        ([], []) => true,
        ([first, rest @ ..], found) if first == "..." => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        ([first, rest @ ..], [line, lines @ ..]) => like(first, line) && matches(rest, lines),
        _ => false,
    }
}

fn like(shown: &str, found: &str) -> bool {
    match shown.split_once("...") {
        Some((start, end)) => {
            found.len() >= start.len() + end.len()
                && found.starts_with(start)
                && found.ends_with(end)
        }
        None => shown == found,
    }
}

#[test]
fn commands_do_what_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    pages.extend(std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut examples = Vec::new();
    for page in pages {
        examples.extend(self::examples(&std::fs::read_to_string(page).unwrap()));
    }
    assert!(examples.len() > 10);
    let binary = Path::new(env!("CARGO_BIN_EXE_rego-platform"));
    let home = tempfile::tempdir().unwrap();
    // The examples write there; it may not exist while tests are built.
    std::fs::create_dir_all(root.join("target")).unwrap();
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    for example in examples {
        assert!(example.command.starts_with("rego-platform "), "{}", example.command);
        let output = Command::new("sh")
            .args(["-c", &example.command])
            .current_dir(root)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", home.path())
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let found: Vec<&str> = stdout.lines().collect();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let shown = &example.output;
        assert_eq!(output.status.code(), Some(example.status), "{}\n{stderr}", example.command);
        assert!(matches(shown, &found), "{}\n{stdout}\n{stderr}", example.command);
    }
}
