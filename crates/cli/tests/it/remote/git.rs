//! Folders of git repositories: pinned by their commit, and nothing but their files.

mod hostile;

use std::process::Command;

use super::{DENY, NAMES};
use crate::cli::{CANARY, Output, Sandbox};

/// Runs `git` in a folder of the sandbox, with no configuration but this.
pub fn git(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", sandbox.path(""));
    command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(sandbox.path(folder));
    for setting in ["user.name=a", "user.email=a@example.test", "commit.gpgSign=false"] {
        command.args(["-c", setting]);
    }
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits everything that is in the folder of a repository. Returns the commit.
pub fn commit(sandbox: &Sandbox, repository: &str) -> String {
    git(sandbox, repository, &["add", "--all", "--force"]);
    git(sandbox, repository, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
    git(sandbox, repository, &["rev-parse", "HEAD"])
}

/// Makes a repository with the policy and its data in a folder, beside others. Returns the commit.
fn repository(sandbox: &Sandbox, name: &str) -> String {
    std::fs::create_dir_all(sandbox.path(name)).unwrap();
    git(sandbox, name, &["init", "--quiet", "--initial-branch=main", "."]);
    sandbox.write(&format!("{name}/release/p.rego"), DENY);
    sandbox.write(&format!("{name}/release/names/names.json"), NAMES);
    sandbox.write(&format!("{name}/release/README.md"), "# Release\n");
    sandbox.write(&format!("{name}/other/broken.rego"), "package");
    commit(sandbox, name)
}

pub fn address(sandbox: &Sandbox, name: &str, rest: &str) -> String {
    format!("git+file://{}{rest}", sandbox.path(name).to_str().unwrap())
}

/// Runs a command that finds `git`, with the service's token, which nobody is told.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let run = sandbox.run(arguments).within(sandbox.path("")).env("PLATFORM_TOKEN", CANARY);
    let path = std::env::var("PATH").unwrap();
    run.env("PATH", &path).stdin("{\"bad\": true}").output()
}

fn gate(sandbox: &Sandbox, source: &str, more: &[&str]) -> Output {
    run(sandbox, &[&["gate", "-d", source, "-i", "-", "-f", "json"], more].concat())
}

#[test]
fn a_folder_of_a_repository_is_taken_at_the_commit_that_the_lock_has() {
    let sandbox = Sandbox::new();
    let first = repository(&sandbox, "policies");
    let source = address(&sandbox, "policies", "//release?ref=main");
    gate(&sandbox, &source, &[]).fails("source not pinned");
    let report = gate(&sandbox, &source, &["--update-lock"]).code(1).json();
    let account = &report["inventory"]["policies"][0];
    assert_eq!(account["digest"], format!("sha1:{first}"));
    assert_eq!((&account["found"], &account["taken"]), (&3.into(), &2.into()));
    assert_eq!(account["left_out"][0]["path"], format!("{source}/README.md"));
    let violation = &report["inputs"][0]["verdicts"][0]["violations"][0];
    assert_eq!(violation["position"]["file"], format!("{source}/p.rego"));
    let lock = std::fs::read_to_string(sandbox.path("policies.lock")).unwrap();
    assert!(lock.contains(&source) && lock.contains(&format!("\"sha1:{first}\"")), "{lock}");
    // The branch moves, and the gate doesn't.
    sandbox.write("policies/release/p.rego", "package p\n\ndeny := set()\n");
    let second = commit(&sandbox, "policies");
    gate(&sandbox, &source, &[]).code(1);
    gate(&sandbox, &source, &["--update-lock"]).code(0).says(&second);
    gate(&sandbox, &source, &[]).code(0);
    // What isn't there any more is an error, whatever else is.
    let gone = lock.replace(&first, &"0".repeat(40));
    sandbox.write("policies.lock", gone);
    gate(&sandbox, &source, &[]).fails("can't fetch");
}

#[test]
fn a_branch_a_tag_and_a_commit_are_found() {
    let sandbox = Sandbox::new();
    let first = repository(&sandbox, "policies");
    git(&sandbox, "policies", &["tag", "--annotate", "--message", "x", "v1"]);
    git(&sandbox, "policies", &["branch", "feature/x"]);
    sandbox.write("policies/release/p.rego", "package p\n\ndeny := set()\n");
    let second = commit(&sandbox, "policies");
    let eval = |rest: &str| {
        let source = address(&sandbox, "policies", rest);
        run(&sandbox, &["eval", "-d", &source, "-i", "-", "-f", "raw", "count(data.p.deny)"])
    };
    for (rest, count) in [
        ("//release", "0"),
        ("//release?ref=main", "0"),
        ("//release?ref=v1", "1"),
        ("//release?ref=feature/x", "1"),
        (&*format!("//release?ref={first}"), "1"),
        (&*format!("//release?ref={second}"), "0"),
    ] {
        assert_eq!(eval(rest).code(0).stdout.trim(), count, "{rest}");
    }
    eval("//release?ref=none").fails("can't fetch `none`");
    eval("//none?ref=main").fails("has no folder `none`");
    eval("//release/p.rego").fails("has no folder");
    eval("?ref=main").fails("broken.rego");
    // A commit is a pin of its own; a tag's object isn't a commit.
    gate(&sandbox, &address(&sandbox, "policies", &format!("//release?ref={first}")), &[]).code(1);
    let tag = git(&sandbox, "policies", &["rev-parse", "v1"]);
    let source = address(&sandbox, "policies", &format!("//release?ref={tag}"));
    gate(&sandbox, &source, &[]).fails("write the commit, not the object of a tag");
    let nowhere = address(&sandbox, "nowhere", "//release?ref=main");
    run(&sandbox, &["check", &nowhere]).fails("can't fetch");
}

#[test]
fn a_repository_is_pulled_and_vendored_as_a_registry_is() {
    let sandbox = Sandbox::new();
    let commit = repository(&sandbox, "policies");
    let source = address(&sandbox, "policies", "//release?ref=main");
    let output = run(&sandbox, &["pull", &source, "-o", "pulled"]).code(0);
    assert_eq!(output.stdout.trim(), format!("sha1:{commit}  {source}"));
    let read = |path: &str| std::fs::read(sandbox.path(path)).unwrap();
    assert_eq!(read("pulled/p.rego"), DENY);
    assert_eq!(read("pulled/README.md"), b"# Release\n");
    gate(&sandbox, &source, &["--update-lock"]).code(1);
    let vendored = run(&sandbox, &["vendor"]).code(0).stdout.trim().to_owned();
    assert!(vendored.ends_with("/policies/release@main"), "{vendored}");
    gate(&sandbox, &vendored, &[]).code(1);
    run(&sandbox, &["push", &source, "pulled"]).fails("isn't in a registry");
}
