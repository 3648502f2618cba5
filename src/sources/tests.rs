#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::path::Path;

use super::*;

fn write(root: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn read(arguments: &[&str]) -> Result<Sources, Error> {
    Sources::read(arguments, SourceLimits::default())
}

/// The code, message and position of a finding.
type Refusal = (String, String, Option<(u32, u32)>);

fn refusals(arguments: &[&str]) -> Vec<Refusal> {
    let error = read(arguments).unwrap_err();
    error
        .diagnostics()
        .iter()
        .map(|d| {
            let at = d.position.as_ref().map(|p| (p.line, p.column));
            (d.code.to_owned(), d.message.clone(), at)
        })
        .collect()
}

fn merged(sources: &Sources) -> serde_json::Value {
    let options = crate::load::LoadOptions::default();
    let policies = crate::evaluate::Policies::load(sources, options).unwrap();
    serde_json::to_value(policies.data()).unwrap()
}

#[test]
fn folders_become_the_path_of_their_data() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("r.json", b"\xef\xbb\xbf{\"a\": 1}"),
            ("sub/x.yaml", b"b: 2\nc: \"yes\"\n"),
            ("sub/deep/y.yml", b"c: [1, 2.5, null, true]\n"),
            (".hidden/h.json", b"{\"h\": 1}"),
            ("readme.txt", b"\xff"),
            ("t.rego", b"package t"),
        ],
    );
    let root = dir.path().to_str().unwrap();
    let sources = read(&[root]).unwrap();
    assert_eq!(sources.modules.len(), 1);
    assert_eq!(
        merged(&sources),
        serde_json::json!({
            "a": 1,
            ".hidden": {"h": 1},
            "sub": {"b": 2, "c": "yes", "deep": {"c": [1, 2.5, null, true]}},
        })
    );
    let file = read(&[&format!("{root}/sub/x.yaml")]).unwrap();
    assert_eq!(merged(&file), serde_json::json!({"b": 2, "c": "yes"}));
    let under = read(&[&format!("foo.bar:{root}/sub/deep")]).unwrap();
    assert_eq!(merged(&under), serde_json::json!({"foo": {"bar": {"c": [1, 2.5, null, true]}}}));
}

#[test]
fn problems_are_reported_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    for (name, text, at, expected) in [
        ("a.json", &b"{\n \"a\": }"[..], Some((2, 7)), "invalid JSON"),
        ("b.json", b"", None, "is empty"),
        ("c.json", b"[1]", Some((1, 1)), "doesn't contain an object"),
        ("d.json", b"\xff\xfe", None, "isn't UTF-8"),
        ("f.yaml", b"a: 1\n[1]: x\n", None, "invalid map key"),
        ("g.yaml", b"a: !!int x\n", None, "cannot decode !!str `x` as a !!int"),
        ("h.yaml", b"a: .inf\n", Some((1, 4)), "isn't a valid JSON number"),
        ("i.yaml", b"a: 7.0000000000000000001\n", Some((1, 4)), "rounded to 7"),
        ("j.yaml", b"a: [1e-400]", Some((1, 5)), "rounded to 0"),
        ("k.json", b"{\"a\": [1e999999]}", Some((1, 8)), "too big"),
        ("l.json", b"{\"x\": 1} {\"y\": 2}", Some((1, 10)), "after top-level value"),
        ("m.txt", b"{}", None, "neither"),
        ("missing.json", b"-", None, "exist"),
    ] {
        if text != b"-" {
            write(dir.path(), &[(name, text)]);
        }
        let found = refusals(&[&format!("{root}/{name}")]);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].1.contains(expected), "{name}: {found:?}");
        if at.is_some() {
            assert_eq!(found[0].2, at, "{name}: {found:?}");
        }
    }
}

#[test]
fn every_file_of_a_folder_is_accounted_for() {
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        &[
            ("p.REGO", b"package p\n"),
            ("d.YAML", b"a: 1\n---\nb: 2\n"),
            ("w.yml", b"on: push\nkey: !Ref x\n"),
            (".gitignore", b"x"),
            ("README.md", b"# Words\n\nkey: value\n"),
            ("x.png", b"\x89PNG\0"),
            ("v/x.rego", b"package v"),
            ("main.go", b"package main\n\nimport (\n\t\"fmt\"\n)\n"),
        ],
    );
    let root = dir.path().to_str().unwrap();
    let ignore = Ignore::new(["v"]).unwrap();
    let gather = || {
        let options = ReadOptions { ignore: Some(&ignore), ..ReadOptions::default() };
        Sources::gather([root], options)
    };
    let gathered = gather().unwrap();
    assert_eq!(gathered.files.modules.len(), 1);
    let data: Vec<_> =
        gathered.files.data.iter().map(|d| serde_json::to_string(&d.value).unwrap()).collect();
    assert_eq!(data, [r#"{"a":1}"#, r#"{"key":"x","on":"push"}"#]);
    assert_eq!(gathered.accounts[0].taken, 3);
    let left: Vec<_> = gathered.accounts[0]
        .left_out
        .iter()
        .map(|l| (l.path.rsplit('/').next().unwrap(), l.reason.as_str()))
        .collect();
    let other = "its extension isn't one of policies or data";
    assert_eq!(
        left,
        [
            (".gitignore", other),
            ("README.md", other),
            ("main.go", other),
            ("v", "the pattern `v` ignores it"),
            ("x.png", other),
            ("d.YAML", "1 further documents: one is read"),
        ]
    );
    write(dir.path(), &[("n.yaml", b"a1: {b: [1, 7.0000000000000000001]}")]);
    let error = gather().unwrap_err();
    assert!(error.diagnostics()[0].message.contains("would be rounded"), "{error}");
}

#[test]
fn deep_documents_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    write(dir.path(), &[("a.json", deep.as_bytes()), ("b.yaml", deep.as_bytes())]);
    assert_eq!(refusals(&[dir.path().to_str().unwrap()]).len(), 2);
}

#[cfg(unix)]
#[test]
fn a_loop_of_symbolic_links_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("sub/x.json", b"{\"b\": 2}")]);
    std::os::unix::fs::symlink("..", dir.path().join("sub/loop")).unwrap();
    let found = refusals(&[dir.path().to_str().unwrap()]);
    assert_eq!(found[0].0, "folder-loop");
    fs::remove_file(dir.path().join("sub/loop")).unwrap();
    std::os::unix::fs::symlink("x.json", dir.path().join("sub/y.json")).unwrap();
    let sources = read(&[dir.path().to_str().unwrap()]).unwrap();
    assert_eq!(sources.data.len(), 2);
}

#[cfg(unix)]
#[test]
fn the_content_behind_a_symbolic_link_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let secret = "canary: yes\nroot:x:0:0\n";
    write(dir.path(), &[("outside/a.txt", secret.as_bytes()), ("outside/b.json", b"canary")]);
    let policies = dir.path().join("policies");
    fs::create_dir(&policies).unwrap();
    for name in ["a.json", "a.yaml", "a.rego"] {
        std::os::unix::fs::symlink("../outside/a.txt", policies.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("../outside", policies.join("folder")).unwrap();
    let error = read(&[policies.to_str().unwrap()]).unwrap_err();
    let shown: Vec<String> = error.diagnostics().iter().map(Diagnostic::render).collect();
    assert_eq!(shown.len(), 4, "{shown:#?}");
    for text in &shown {
        assert!(text.contains("reached through a link"), "{text}");
        assert!(!text.contains("canary") && !text.contains("root"), "{text}");
    }
    // A file that the user named directly may be shown.
    let named = policies.join("a.json");
    assert_eq!(refusals(&[named.to_str().unwrap()])[0].2, Some((1, 1)));
    // A valid module behind a link is loaded.
    write(dir.path(), &[("outside/m.rego", b"# a module\n\npackage m\n\nx := 1\n")]);
    let modules = dir.path().join("modules");
    fs::create_dir(&modules).unwrap();
    std::os::unix::fs::symlink("../outside/m.rego", modules.join("m.rego")).unwrap();
    assert_eq!(read(&[modules.to_str().unwrap()]).unwrap().modules.len(), 1);
}

#[test]
fn files_over_the_limits_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("a.json", b"{\"a\": 1}"), ("b.json", b"{\"b\": 1}")]);
    let root = dir.path().to_str().unwrap();
    let code = |limits| Sources::read([root], limits).unwrap_err().diagnostics()[0].code;
    let limits = SourceLimits::default();
    assert_eq!(code(SourceLimits { files: 1, ..limits }), "too-large");
    assert_eq!(code(SourceLimits { file_bytes: 7, ..limits }), "too-large");
    assert_eq!(code(SourceLimits { total_bytes: 10, ..limits }), "too-large");
}
