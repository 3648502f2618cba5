//! What a repository, its server and the environment may do: nothing but hand over files.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use super::{address, commit, gate, git, repository};
use crate::cli::{CANARY, Sandbox};
use crate::hostile::authority::Authority;
use crate::hostile::script::{self, http};
use crate::hostile::server::{Request, Server, Step};

#[cfg(unix)]
#[test]
fn links_submodules_and_names_that_lead_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    let first = repository(&sandbox, "policies");
    let path = |name: &str| sandbox.path(&format!("policies/{name}"));
    std::os::unix::fs::symlink("/etc", path("release/link")).unwrap();
    std::os::unix::fs::symlink("release", path("folder")).unwrap();
    let index = format!("160000,{first},inner/module");
    sandbox.write(
        "policies/.gitmodules",
        "[submodule \"inner/module\"]\n\tpath = inner/module\n\turl = /\n",
    );
    git(&sandbox, "policies", &["update-index", "--add", "--cacheinfo", &index]);
    sandbox.write("policies/inner/p.rego", "package p\n\ndeny := set()\n");
    sandbox.write("policies/odd/a\\b.rego", "package p\n\ndeny := set()\n");
    git(&sandbox, "policies", &["add", "inner/p.rego", "odd", "release", "folder", ".gitmodules"]);
    git(&sandbox, "policies", &["commit", "--quiet", "--message", "x"]);
    for (folder, says) in [
        ("release", "has a link or a submodule: `link`"),
        ("folder", "has no folder"),
        ("inner", "has a link or a submodule: `module`"),
        ("odd", "has a path outside of its folder"),
    ] {
        let source = address(&sandbox, "policies", &format!("//{folder}?ref=main"));
        gate(&sandbox, &source, &["--update-lock"]).fails(says);
    }
}

/// Nothing that is in the repository is run, and attributes change no file.
#[cfg(unix)]
#[test]
fn hooks_filters_and_attributes_have_no_say() {
    use std::os::unix::fs::PermissionsExt as _;

    let sandbox = Sandbox::new();
    repository(&sandbox, "policies");
    let ran = sandbox.path("ran");
    let script = format!("#!/bin/sh\ntouch {}\n", ran.display());
    for hook in ["post-checkout", "reference-transaction", "post-merge", "pre-auto-gc"] {
        for folder in ["policies/.git/hooks", "templates/hooks"] {
            let hook = sandbox.write(&format!("{folder}/{hook}"), &script);
            std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
    let filter = format!("touch {}; echo", ran.display());
    sandbox.write("policies/.gitattributes", "*.rego filter=f ident export-ignore\n");
    git(&sandbox, "policies", &["config", "core.hooksPath", "/dev/null"]);
    commit(&sandbox, "policies");
    git(&sandbox, "policies", &["config", "core.hooksPath", ".git/hooks"]);
    // What the user has set up is no reason to run something either.
    let templates = sandbox.path("templates");
    sandbox.write(
        ".gitconfig",
        format!(
            "[init]\n\ttemplateDir = {0}\n[core]\n\thooksPath = {0}/hooks\n\tfsmonitor = {1}\n\
             [filter \"f\"]\n\tsmudge = {1}\n",
            templates.display(),
            filter
        ),
    );
    let source = address(&sandbox, "policies", "//release?ref=main");
    gate(&sandbox, &source, &["--update-lock"]).code(1);
    assert!(!ran.exists());
}

/// Answers as `git http-backend` does, for the repositories below a folder.
fn backend(root: &std::path::Path, request: &Request) -> Vec<Step> {
    let (path, query) = request.target().split_once('?').unwrap_or((request.target(), ""));
    let mut command = Command::new("git");
    command.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    for (name, value) in [
        ("GIT_PROJECT_ROOT", root.to_str().unwrap()),
        ("GIT_HTTP_EXPORT_ALL", "1"),
        ("HOME", root.to_str().unwrap()),
        ("PATH_INFO", path),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", request.method()),
        ("CONTENT_TYPE", request.header("content-type").unwrap_or_default()),
        ("HTTP_CONTENT_ENCODING", request.header("content-encoding").unwrap_or_default()),
        ("GIT_PROTOCOL", request.header("git-protocol").unwrap_or_default()),
        ("CONTENT_LENGTH", &request.body.len().to_string()),
    ] {
        command.env(name, value);
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    writer.join().unwrap();
    child.wait().unwrap();
    let end = out.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(out[..end].to_vec()).unwrap();
    let headers: Vec<(&str, &str)> =
        head.lines().filter_map(|line| line.split_once(": ")).collect();
    let status = headers.iter().find(|(name, _)| *name == "Status");
    let status = status.and_then(|(_, text)| text.get(..3)?.parse().ok()).unwrap_or(200);
    vec![Step::Send(http(status, &headers, &out[end + 4..]))]
}

#[test]
fn a_repository_is_fetched_over_https_alone() {
    let (sandbox, authority) = (Sandbox::new(), Authority::new());
    repository(&sandbox, "policies");
    let root = sandbox.path("");
    let hook: fn(&Request) -> Option<Vec<Step>> = |request| {
        let location = "/policies/info/refs?service=git-upload-pack";
        match request.path() {
            "/moved/info/refs" => Some(script::status(301, &[("location", location)], "")),
            "/denied/info/refs" => {
                Some(script::status(401, &[("www-authenticate", "Basic realm=\"x\"")], ""))
            }
            "/cut/info/refs" => Some(script::raw(&script::announced(500, b"001e# service"))),
            "/slow/info/refs" => Some(vec![Step::Pause(std::time::Duration::from_mins(1))]),
            _ => None,
        }
    };
    let server = Server::start_tls(authority.server("127.0.0.1", false), move |request| {
        hook(request).unwrap_or_else(|| backend(&root, request))
    });
    let certificates = sandbox.write("ca.pem", &authority.pem);
    let eval = |name: &str, certificates: &str| {
        let source = format!("git+https://{}/{name}//release?ref=main", server.address);
        let eval = ["eval", "-d", &source, "-i", "-", "-f", "raw", "count(data.p.deny)"];
        let run = sandbox.run(&[&eval[..], &["--timeout", "5s"]].concat());
        run.within(sandbox.path(""))
            .env("GIT_SSL_CAINFO", certificates)
            .env("GIT_SSL_NO_VERIFY", "1")
            .env("PATH", std::env::var("PATH").unwrap().as_str())
            .env("PLATFORM_TOKEN", CANARY)
            .stdin("{\"bad\": true}")
            .output()
    };
    assert_eq!(eval("policies", &certificates).code(0).stdout.trim(), "1");
    for request in server.requests() {
        assert!(!request.head.contains(CANARY), "{request:?}");
    }
    for name in ["moved", "denied", "cut", "none"] {
        eval(name, &certificates).fails("can't fetch `main`");
    }
    eval("slow", &certificates).fails("timed out after 5s");
    // A certificate is checked, whatever the user's configuration says.
    let other = sandbox.write("other.pem", &Authority::new().pem);
    let url = format!("https://{}/policies", server.address);
    sandbox.write(
        ".gitconfig",
        format!("[http]\n\tsslVerify = false\n[http \"{url}\"]\n\tsslVerify = false\n"),
    );
    eval("policies", &other).fails("can't fetch `main`");
    assert_eq!(eval("policies", &certificates).code(0).stdout.trim(), "1");
    // Nor leads it elsewhere by another way.
    sandbox.write(".gitconfig", format!("[url \"ext::touch \"]\n\tinsteadOf = {url}\n"));
    eval("policies", &certificates).fails("can't fetch `main`");
}
