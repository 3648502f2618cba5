//! The commands in the README and in `docs` print what is shown there, for a reader who has the
//! command and no clone; those of `console clone` blocks for one who has a clone only.
//!
//! The blocks of a page run in their order, in a folder that is empty at the beginning of the page.
//! The word after a block's language says how it is run:
//!
//! | block | |
//! |---|---|
//! | `console` | a line that begins with `$ ` is a command; `# status N` after it is its exit status; the lines that follow are its standard output, in which `...` stands for any number of lines and, within a line, for any text |
//! | `sh` | a script, which must succeed |
//! | `console service` | the environment has the token and the addresses of a service |
//! | `console registry` | `$REGISTRY` is a registry on loopback |
//! | `console clone` | run in the clone; `cargo run -- ` stands for the command |
//! | `sh clone` | not run here: commands of a checkout, which CI runs |
//! | `sh opa` | not run here: it needs OPA, or the service's own client |

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rego_platform_emulator::Emulator;

use crate::remote::registry::Registry;
use crate::support::emulator;

struct Example {
    command: String,
    status: i32,
    /// The output that is shown, for an example of a `console` block.
    output: Option<Vec<String>>,
    asks_service: bool,
    in_clone: bool,
}

/// Returns the examples of a page that are run here.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block: Option<&str> = None;
    for line in page.lines() {
        match (block, line) {
            (None, line) => {
                block = line.strip_prefix("```");
                if block == Some("sh") {
                    examples.push(Example {
                        command: String::new(),
                        status: 0,
                        output: None,
                        asks_service: false,
                        in_clone: false,
                    });
                }
            }
            (Some(_), "```") => block = None,
            (Some("sh"), line) => {
                let script = &mut examples.last_mut().unwrap().command;
                *script += line;
                *script += "\n";
            }
            (
                Some(
                    language @ ("console" | "console service" | "console clone"
                    | "console registry"),
                ),
                line,
            ) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    let (command, status) =
                        command.rsplit_once(" # status ").unwrap_or((command, "0"));
                    let in_clone = language == "console clone";
                    assert!(!in_clone || command.starts_with("cargo run -- "), "{command}");
                    examples.push(Example {
                        command: command.replace("cargo run -- ", "rego-platform "),
                        status: status.parse().unwrap(),
                        output: Some(Vec::new()),
                        asks_service: language == "console service",
                        in_clone,
                    });
                } else {
                    let output = examples.last_mut().unwrap().output.as_mut();
                    output.expect("a block begins with a command").push(line.to_owned());
                }
            }
            (Some(language), line) => {
                // No command escapes for want of a word that is known here.
                let language = language.split([' ', ',']).next().unwrap_or_default();
                let known = [
                    "sh", "c", "rust", "go", "python", "json", "yaml", "toml", "rego", "mermaid",
                    "text",
                ];
                let plain = language.is_empty() && !line.contains("rego-platform ");
                assert!(plain || known.contains(&language), "`{language}`: {line}");
            }
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
    let Some((start, rest)) = shown.split_once("...") else { return shown == found };
    let Some(found) = found.strip_prefix(start) else { return false };
    let mut ends = found.char_indices().map(|(at, _)| at).chain([found.len()]);
    ends.any(|at| like(rest, &found[at..]))
}

fn root() -> &'static Path {
    Path::new(crate::ROOT)
}

/// A reader's machine: an empty folder, an empty home, and the command in the search path.
struct Reader {
    folder: tempfile::TempDir,
    home: tempfile::TempDir,
    path: String,
    service: Emulator,
    registry: Registry,
    /// The port of the server that a page starts, instead of the one that is shown.
    port: String,
}

impl Reader {
    fn new() -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_rego-platform"));
        let folder = tempfile::tempdir().unwrap();
        assert!(
            !folder.path().starts_with(root()),
            "a temporary folder outside the clone is needed"
        );
        Self {
            folder,
            home: tempfile::tempdir().unwrap(),
            path: format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().unwrap().display()),
            service: emulator(),
            registry: Registry::new(),
            port: free_port(),
        }
    }

    fn run(&self, example: &Example) -> Output {
        let mut command = Command::new("sh");
        command
            .args(["-e", "-c", &example.command.replace(SHOWN_PORT, &self.port)])
            .current_dir(if example.in_clone { root() } else { self.folder.path() })
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.home.path())
            .env("REGISTRY", self.registry.server.address.to_string());
        if example.asks_service {
            command
                .env("PLATFORM_TOKEN", self.service.default_token())
                .env("PLATFORM_CONTROLPLANE_URL", self.service.controlplane_url())
                .env("PLATFORM_BASE_URL", self.service.base_url());
        }
        command.output().unwrap()
    }
}

impl Drop for Reader {
    /// Ends the server that a page started, if the page didn't.
    fn drop(&mut self) {
        if let Ok(id) = std::fs::read_to_string(self.folder.path().join("serve.pid")) {
            let _ = Command::new("kill").arg(id.trim()).output();
        }
    }
}

/// The port in examples.
const SHOWN_PORT: &str = "8181";

fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// Returns the README and the pages of `docs` and its folders.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Returns those pages, and the other pages that people read.
fn all_pages() -> Vec<PathBuf> {
    let mut pages = pages();
    let others = [
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "benches/README.md",
        "bindings/c/README.md",
        "bindings/python/README.md",
        "crates/rego/CONFORMANCE.md",
        "policies/README.md",
        "testdata/platform/README.md",
    ];
    pages.extend(others.map(|page| root().join(page)));
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let readmes = crates.map(|entry| entry.unwrap().path().join("README.md"));
    pages.extend(readmes.filter(|page| page.exists()));
    pages
}

#[test]
fn commands_do_what_is_shown_in_an_empty_folder() {
    let mut count = 0;
    for page in pages() {
        let examples = examples(&std::fs::read_to_string(&page).unwrap());
        if examples.is_empty() {
            continue;
        }
        let reader = Reader::new();
        for example in examples {
            count += 1;
            let Output { status, stdout, stderr } = reader.run(&example);
            let (stdout, stderr) =
                (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
            let place = format!("{}: {}", page.display(), example.command);
            assert_eq!(status.code(), Some(example.status), "{place}\n{stdout}\n{stderr}");
            if let Some(shown) = &example.output {
                let found: Vec<&str> = stdout.lines().collect();
                assert!(matches(shown, &found), "{place}\n{stdout}\n{stderr}");
            }
        }
    }
    assert!(count > 20, "{count}");
}

/// Returns `true` if a page has a heading with this anchor, as GitHub derives it from the heading's text.
fn has_heading(page: &Path, anchor: &str) -> bool {
    let text = std::fs::read_to_string(page).unwrap();
    let headings = text
        .lines()
        .filter_map(|line| line.split_once("# "))
        .filter(|(level, _)| level.chars().all(|character| character == '#'));
    headings.map(|(_, heading)| heading.to_lowercase()).any(|heading| {
        let kept = heading.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).eq(anchor.chars())
    })
}

#[test]
fn links_and_paths_lead_to_files() {
    let link = regex::Regex::new(r"\]\(([^)#:]*)(?:#([^)]*))?\)").unwrap();
    let folders = "src|crates|tests|docs|benches|examples|testdata|policies|fuzz|\\.ci|\\.github";
    let path = regex::Regex::new(&format!("`((?:{folders})/[A-Za-z0-9_./-]+)`")).unwrap();
    let (mut count, mut dead) = (0, Vec::new());
    for page in all_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for found in link.captures_iter(&text) {
            let target =
                if found[1].is_empty() { page.clone() } else { page.with_file_name(&found[1]) };
            let anchor = found.get(2).map(|anchor| anchor.as_str());
            count += 1;
            if !target.exists() || anchor.is_some_and(|anchor| !has_heading(&target, anchor)) {
                dead.push(format!("{}: {}", page.display(), &found[0]));
            }
        }
        for found in path.captures_iter(&text) {
            count += 1;
            if !root().join(&found[1]).exists() {
                dead.push(format!("{}: {}", page.display(), &found[1]));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
    assert!(count > 100, "{count}");
}

#[test]
fn no_line_is_longer_than_a_reader_can_follow() {
    for page in all_pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for (index, line) in text.lines().enumerate() {
            let length = line.chars().count();
            assert!(length <= 400, "{}:{}: {length}", page.display(), index + 1);
        }
    }
}

#[test]
fn no_page_is_longer_than_its_limit() {
    for page in pages() {
        let limit = match page.strip_prefix(root()).unwrap().to_str().unwrap() {
            "README.md" => 120,
            "docs/reference/gate.md" => 150,
            _ => 400,
        };
        let lines = std::fs::read_to_string(&page).unwrap().lines().count();
        assert!(lines <= limit, "{}: {lines} of at most {limit} lines", page.display());
    }
}
