//! Bundles: generated ones against OPA's stored answers, and what archives may hide.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use rego_platform::Error;
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{ReadOptions, SourceLimits, Sources};
use serde_json::Value as Json;

use crate::cli::{Output, Sandbox};
use crate::compare::bundles::{self, Bundles, QUERY};

/// The reasons for which a bundle that OPA reads is refused.
const STRICTER: &[&str] = &[
    // One of the two is lost.
    " twice",
    "with two versions for",
    // The manifest is followed by something, which OPA doesn't read.
    "trailing characters",
    "names compiled policies",
    // OPA reads it as null.
    "is empty",
];

fn ask(case: &Bundles, folder: &Path) -> Result<Json, Error> {
    let names = case.write(folder).unwrap();
    let paths: Vec<String> =
        names.iter().map(|name| folder.join(name).to_str().unwrap().to_owned()).collect();
    let mut read = ReadOptions::default();
    read.skip_verify = true;
    let (bundles, data): (&[String], &[String]) =
        if case.as_bundles { (&paths, &[]) } else { (&[], &paths) };
    read.bundles = bundles;
    let sources = Sources::read_with(data, read)?;
    let mut load = LoadOptions::default();
    load.rego_v0 = case.v0;
    let policies = Policies::load(&sources, load)?;
    let options = EvaluateOptions::new(Answers::Unavailable("there are no calls".to_owned()));
    let query = QUERY.split_once(":= ").unwrap().1;
    let answer = policies.evaluate(&policies.query(query)?, None, &options).result?;
    let text = answer.value().unwrap().to_json();
    Ok(serde_json::from_str(&text.replace(&format!("{}/", folder.to_str().unwrap()), "")).unwrap())
}

fn shown(error: &Error) -> String {
    let all = error.diagnostics().iter().map(|found| format!("{}: {}", found.code, found.message));
    let all: Vec<String> = all.collect();
    if all.is_empty() { error.report() } else { all.join("; ") }
}

#[test]
fn bundles_are_read_as_opa_read_them() {
    let path = format!("{}/testdata/bundles.jsonl.gz", crate::ROOT);
    let file = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let (mut same, mut refused, mut stricter) = (0, 0, 0);
    let mut wrong = Vec::new();
    for line in BufReader::new(file).lines() {
        let stored: Json = serde_json::from_str(&line.unwrap()).unwrap();
        let case = Bundles::read(&stored).unwrap();
        let ours = ask(&case, dir.path());
        match (stored["opa"].get("value"), &ours) {
            (Some(opa), Ok(ours)) if opa == ours => same += 1,
            (None, Err(_)) => refused += 1,
            (Some(_), Err(error))
                if STRICTER.iter().any(|message| shown(error).contains(message)) =>
            {
                stricter += 1;
            }
            (opa, ours) => {
                let ours = ours.as_ref().map_or_else(shown, ToString::to_string);
                let opa = opa.unwrap_or(&stored["opa"]["error"]);
                wrong.push(format!("{case:?}\n  OPA:  {opa}\n  ours: {ours}\n"));
            }
        }
    }
    let some: String = wrong.iter().take(12).cloned().collect();
    assert!(wrong.is_empty(), "{} differ\n{some}", wrong.len());
    let all = same + refused + stricter;
    assert!(
        all >= 400 && same * 4 > all && refused * 4 > all && stricter * 10 < all,
        "{same} {refused} {stricter}"
    );
}

/// Writes an archive, and returns its path.
fn archive(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) -> String {
    let path = sandbox.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    bundles::archive(&path, &files.iter().map(owned).collect::<Vec<_>>()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn text(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.run(arguments).output().code(0).stdout.trim().to_owned()
}

const V0: &str = "package p\n\ndeny[m] { m := \"v0\"; input.bad }\n";
const V1: &str = "package q\n\ndeny contains \"v1\" if input.bad\n";

/// The file of a gate's input that every policy here denies.
fn bad(sandbox: &Sandbox) -> String {
    sandbox.write("bad.json", "{\"bad\": true}")
}

#[test]
fn the_manifest_decides_the_version_of_each_module() {
    let sandbox = Sandbox::new();
    let bad = bad(&sandbox);
    let gate = |bundle: &str, more: &[&str]| -> Output {
        let fixed = ["gate", "-d", bundle, "-i", &bad, "-f", "json"];
        sandbox.run(&[&fixed[..], more].concat()).output()
    };
    let denied = |output: Output| {
        let report = output.code(1).json();
        let verdicts = report["inputs"][0]["verdicts"].as_array().unwrap().clone();
        let message =
            |verdict: &Json| verdict["violations"][0]["message"].as_str().unwrap().to_owned();
        verdicts.iter().map(message).collect::<Vec<_>>()
    };
    let versions = "{\"rego_version\": 0, \"file_rego_versions\": {\"/q*\": 1}}";
    let mixed = [("/.manifest", versions), ("/p.rego", V0), ("/q.rego", V1)];
    let mixed = archive(&sandbox, "mixed.tar.gz", &mixed);
    assert_eq!(denied(gate(&mixed, &[])), ["v0", "v1"]);
    assert_eq!(denied(gate(&mixed, &["--v0"])), ["v0", "v1"]);
    // Patterns are compared with the name in the archive.
    let bare = [("/.manifest", versions), ("/p.rego", V0), ("q.rego", V1)];
    gate(&archive(&sandbox, "bare.tar.gz", &bare), &[]).fails("q.rego:3");
    let new = [("/.manifest", "{\"rego_version\": 1}"), ("/q.rego", V1)];
    assert_eq!(denied(gate(&archive(&sandbox, "new.tar.gz", &new), &["--v0"])), ["v1"]);
    let old = [("/.manifest", "{\"rego_version\": 1}"), ("/p.rego", V0)];
    gate(&archive(&sandbox, "old.tar.gz", &old), &["--v0"]).fails("`if`");
    let none = archive(&sandbox, "none.tar.gz", &[("/p.rego", V0)]);
    gate(&none, &[]).fails("`if`");
    assert_eq!(denied(gate(&none, &["--v0"])), ["v0"]);
    // `check --fix` leaves the old syntax where the manifest asks for it.
    sandbox.write("folder/.manifest", "{\"rego_version\": 0}");
    let policy = sandbox.write("folder/p.rego", V0);
    let folder = sandbox.path("folder");
    let folder = folder.to_str().unwrap();
    sandbox.run(&["check", "--fix", "-b", folder]).output().code(0);
    assert_eq!(std::fs::read_to_string(policy).unwrap(), V0);
    assert_eq!(text(&sandbox, &["eval", "-b", folder, "data.p", "-f", "raw"]), "{\"deny\":[]}");
}

#[test]
fn every_command_takes_a_bundle_as_an_archive_and_as_a_folder() {
    let sandbox = Sandbox::new();
    let tests = "package p_test\n\ntest_a if data.p.a == data.d.x\n";
    let files = [
        (".manifest", "{\"revision\": \"r1\", \"roots\": [\"p\", \"p_test\", \"d\"]}"),
        ("p.rego", "package p\n\na := 1\n\ndeny contains \"a\" if a != data.d.x\n"),
        ("p_test.rego", tests),
        ("d/data.json", "{\"x\": 1}"),
        ("d/other.json", "{\"x\": 2}"),
    ];
    let packed = archive(&sandbox, "some.bundle", &files);
    for (name, text) in files {
        sandbox.write(&format!("folder/{name}"), text);
    }
    let folder = sandbox.path("folder").to_str().unwrap().to_owned();
    for bundle in [&packed, &folder] {
        let query = "{\"d\": data, \"r\": data.system.bundles[_].manifest.revision}";
        let value = text(&sandbox, &["eval", "-b", bundle, query, "-f", "raw"]);
        let expected = "{\"d\":{\"d\":{\"x\":1},\"p\":{\"a\":1,\"deny\":[]},\
            \"p_test\":{\"test_a\":true}},\"r\":\"r1\"}";
        assert_eq!(value, expected);
        let output = sandbox.run(&["test", "-b", bundle]).output().code(0);
        assert!(output.stdout.contains("PASS: 1/1"), "{output:?}");
        sandbox.run(&["check", "-b", bundle]).output().code(0);
        let output = sandbox.run(&["run", "-b", bundle]).stdin("data.d.x\n").output().code(0);
        assert_eq!(output.stdout.trim(), "1");
        let fixed = ["gate", "-b", bundle, "--no-input", "-f", "json"];
        let report = sandbox.run(&fixed).output().code(0).json();
        let left: Vec<_> = report["inventory"]["policies"][0]["left_out"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap())
            .collect();
        assert_eq!(left, ["d/other.json"]);
        assert_eq!(
            report["sources"].as_array().unwrap().len(),
            if *bundle == packed { 1 } else { 4 }
        );
    }
    // In a folder of data, its data has the folder's path.
    let within = archive(&sandbox, "data/f/b.tar.gz", &[("/e/data.json", "1"), ("/r.rego", V1)]);
    let data = sandbox.path("data").to_str().unwrap().to_owned();
    let value =
        text(&sandbox, &["eval", "-d", &data, "{\"f\": data.f, \"q\": data.q}", "-f", "raw"]);
    let manifest = "{\"bundle\":{\"manifest\":{\"revision\":\"\",\"roots\":[\"\"]}}}";
    assert_eq!(value, format!("{{\"f\":{{\"e\":1,\"system\":{manifest}}},\"q\":{{\"deny\":[]}}}}"));
    let both = ["eval", "-b", &packed, "-b", &within, "data"];
    sandbox.run(&both).output().fails("roots that overlap");
    // OPA drops data beside a bundle; with `-d`, it merges both.
    let more = sandbox.write("more.json", "{\"d\": {\"y\": 2}}");
    let beside = ["eval", "-b", &packed, "-d", &more, "data.d", "-f", "raw"];
    sandbox.run(&beside).output().fails("OPA would drop that");
    // A policy document beside it isn't data.
    let whole = archive(&sandbox, "whole.tar.gz", &[("q.rego", V1)]);
    let document = "apiVersion: workflowcontract.example/v1\nkind: Policy\nmetadata:\n  name: d\nspec:\n  policies:\n    - \
        embedded: |\n        package main\n\n        import rego.v1\n\n        violations contains \"d\" if input.bad\n";
    let document = sandbox.write("document.yaml", document);
    let bad = bad(&sandbox);
    let both = ["gate", "-b", &whole, "-d", &document, "-i", &bad, "-f", "json"];
    let report = sandbox.run(&both).output().code(1).json();
    assert_eq!(report["policies"].as_array().unwrap().len(), 2);
    let named = sandbox.path("b.tar.gz").to_str().unwrap().to_owned();
    std::fs::copy(&packed, &named).unwrap();
    let merged = text(&sandbox, &["eval", "-d", &named, "-d", &more, "data.d", "-f", "raw"]);
    assert_eq!(merged, "{\"x\":1,\"y\":2}");
}

#[test]
fn a_bundle_holds_what_opa_reads_of_it() {
    let sandbox = Sandbox::new();
    let bad = bad(&sandbox);
    for (name, content, says) in [
        ("p.txt", V1, ""),
        ("p.yaml", "a: 1\n", ""),
        ("policy.wasm", "x", "is a compiled policy"),
        (".manifest.pb", "x", "a manifest, but not in JSON"),
        ("x/.manifest", "{}", "two manifests"),
        ("x/.signatures.json", "{}", "is signed"),
        ("x/patch.json", "{}", "is a delta"),
        ("./q.rego", V1, "twice"),
        ("../x.rego", V1, "`../x.rego`"),
    ] {
        let files = [(".manifest", "{}"), ("q.rego", V1), (name, content)];
        let bundle = archive(&sandbox, "b.tar.gz", &files);
        let output = sandbox.run(&["gate", "-d", &bundle, "-i", &bad, "-f", "json"]).output();
        if says.is_empty() {
            let report = output.code(1).json();
            assert_eq!(report["inventory"]["policies"][0]["left_out"][0]["path"], name);
        } else {
            output.fails(says);
        }
    }
    let files = [(".manifest", "{}"), ("q.rego", V1), ("d/p.txt", V1), ("x.manifest", "{}")];
    let bundle = archive(&sandbox, "b.tar.gz", &files[..3]);
    let gate = ["gate", "-b", &bundle, "-i", &bad, "-f", "json", "--ignore"];
    let report = sandbox.run(&[&gate[..], &["d/*.txt"]].concat()).output().code(1).json();
    assert_eq!(report["inventory"]["policies"][0]["left_out"][0]["path"], "d/p.txt");
    // What decides how the others are read can't be left out.
    archive(&sandbox, "b.tar.gz", &files);
    sandbox
        .run(&[&gate[..], &["*.txt", "--ignore", "*.manifest"]].concat())
        .output()
        .fails("two manifests");
    let empty = archive(&sandbox, "empty.tar.gz", &[(".manifest", "{}")]);
    sandbox.run(&["gate", "-d", &empty, "--no-input"]).output().fails("no policies and no data");
    // Elsewhere they are left out, as in OPA.
    let files = [("q.rego", V1), ("p.txt", V1), ("p.REGO", V1), ("d/DATA.json", "{}")];
    let bundle = archive(&sandbox, "b.tar.gz", &files);
    assert_eq!(
        text(&sandbox, &["eval", "-b", &bundle, "data", "-f", "raw"]),
        "{\"q\":{\"deny\":[]}}"
    );
}

#[test]
fn nothing_is_hidden_behind_the_end_of_an_archive() {
    let sandbox = Sandbox::new();
    let bad = bad(&sandbox);
    let one = archive(&sandbox, "one.tar.gz", &[("q.rego", "package q\n\ndeny := set()\n")]);
    let other = archive(&sandbox, "other.tar.gz", &[("r.rego", &V1.replace('q', "r"))]);
    let (one, other) = (std::fs::read(one).unwrap(), std::fs::read(other).unwrap());
    let unpacked = |gzip: &[u8]| {
        let mut bytes = Vec::new();
        std::io::copy(&mut flate2::read::GzDecoder::new(gzip), &mut bytes).unwrap();
        bytes
    };
    let packed = |parts: &[&[u8]]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        parts.iter().for_each(|part| gzip.write_all(part).unwrap());
        gzip.finish().unwrap()
    };
    let (first, second) = (unpacked(&one), unpacked(&other));
    let says = "goes on after the end of its archive";
    for (content, says) in [
        (one.clone(), ""),
        (packed(&[&first, &[0; 10_240]]), ""),
        ([&*one, &*other].concat(), says),
        (packed(&[&first, &second]), says),
        (packed(&[&first, b"x"]), says),
        // As if packing had ended with the first file.
        (packed(&[first.get(..1024).unwrap()]), "doesn't end as an archive does"),
        ([&*one, b"hidden"].concat(), "behind its archive"),
        (one[..one.len() - 9].to_vec(), "can't be read"),
        (first.clone(), "can't be read"),
        (Vec::new(), "can't be read"),
    ] {
        let bundle = sandbox.write("b.tar.gz", &content);
        let output = sandbox.run(&["gate", "-d", &bundle, "-i", &bad]).output();
        if says.is_empty() {
            output.code(0);
        } else {
            output.fails(says);
        }
    }
    // Within a folder, or a link, whose content OPA takes for the next file.
    for kind in [tar::EntryType::Directory, tar::EntryType::Symlink, tar::EntryType::Regular] {
        let mut hiding = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(second.len() as u64);
        header.as_old_mut().name[..5].copy_from_slice(b"more/");
        if kind == tar::EntryType::Regular {
            // As archives before 1988 have it.
            header.as_mut_bytes()[156] = 0;
        }
        header.set_cksum();
        hiding.append(&header, &*second).unwrap();
        let hiding = hiding.into_inner().unwrap();
        let hiding = packed(&[&hiding[..512 + second.len()], &first]);
        let bundle = sandbox.write("b.tar.gz", hiding);
        for command in [&["gate", "-d", &bundle, "-i", &bad][..], &["eval", "-d", &bundle, "data"]]
        {
            sandbox.run(command).output().fails("has content");
        }
    }
    // A link, which OPA overlooks.
    let mut linked = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    linked.append_link(&mut header, "r.rego", "q.rego").unwrap();
    let linked = packed(&[&linked.into_inner().unwrap()[..512], &first]);
    let bundle = sandbox.write("b.tar.gz", linked);
    sandbox.run(&["gate", "-d", &bundle, "-i", &bad]).output().code(0);
    assert_eq!(text(&sandbox, &["eval", "-d", &bundle, "data.q.deny", "-f", "raw"]), "[]");
}

#[test]
fn bundles_have_the_limits_of_files() {
    let sandbox = Sandbox::new();
    let bundle = archive(&sandbox, "b.tar.gz", &[("q.rego", V1), ("d/data.json", "[1]")]);
    let refused = |change: &dyn Fn(&mut SourceLimits)| {
        let mut read = ReadOptions::default();
        change(&mut read.limits);
        Sources::read_with([&bundle], read).map_err(|error| shown(&error)).err().unwrap_or_default()
    };
    assert_eq!(refused(&|_| {}), "");
    assert!(refused(&|limits| limits.files = 1).contains("more than 1 file"));
    assert!(refused(&|limits| limits.file_bytes = 10).contains("larger than 10 bytes"));
    assert!(refused(&|limits| limits.total_bytes = 2048).contains("larger than 2 KiB unpacked"));
}

#[cfg(unix)]
#[test]
fn a_bundle_in_a_folder_follows_no_links() {
    let sandbox = Sandbox::new();
    let bad = bad(&sandbox);
    sandbox.write("folder/q.rego", V1);
    sandbox.write("outside/r.rego", V1);
    let folder = sandbox.path("folder");
    std::os::unix::fs::symlink(sandbox.path("outside"), folder.join("more")).unwrap();
    std::os::unix::fs::symlink(&folder, sandbox.path("link")).unwrap();
    let folder = folder.to_str().unwrap().to_owned();
    let link = sandbox.path("link").to_str().unwrap().to_owned();
    sandbox.run(&["gate", "-b", &folder, "-i", &bad]).output().code(1);
    assert_eq!(
        text(&sandbox, &["eval", "-b", &folder, "data", "-f", "raw"]),
        "{\"q\":{\"deny\":[]}}"
    );
    sandbox.run(&["eval", "-b", &link, "data"]).output().fails("is a link to a folder");
    sandbox.run(&["eval", "-b", &format!("{link}/"), "data"]).output().code(0);
}
