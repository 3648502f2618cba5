//! Bundles: manifests, modules of several versions of Rego, and data, as OPA reads them.
//!
//! Owns the generator, writing archives, and asking the command `opa` about them. A case is defined
//! by its seed. Its queries are `data`, and what `data.system` has of the manifests.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use super::random::Random;

/// The query: both parts are defined whatever is loaded. OPA's store of versions isn't the manifest's.
pub const QUERY: &str =
    "x := {\"data\": data, \"system\": [object.remove(s, [\"modules\"]) | s := data.system]}";

/// Bundles that are loaded together.
#[derive(Debug, Clone)]
pub struct Bundles {
    /// The files of each: names and texts.
    pub files: Vec<Vec<(String, String)>>,
    /// `true` if they are given with `-b`, not with `-d`.
    pub as_bundles: bool,
    /// `true` if policies are v0 by default.
    pub v0: bool,
}

const ROOTS: &[&str] = &[
    "[\"\"]",
    "[]",
    "null",
    "[\"p\"]",
    "[\"p\",\"d\"]",
    "[\"p\",\"q\",\"d\"]",
    "[\"p\",\"q\",\"d/x\"]",
    "[\"/p/\",\"d\",\"q\"]",
    "[\"p\",\"p/q\"]",
    "[\"p\",\"d\",\"d\"]",
    "[\"p\",\"d\",\"d/x\"]",
    "[\"p\",\"pq\",\"d\",\"q\"]",
    "[\"p\",\"\"]",
    "[null]",
    "[1]",
    "\"p\"",
    "{}",
    "[\"p\",[\"d\"]]",
    "[\"q\",\"d/x/y\",\"p\"]",
    "[\"p.q\"]",
    "[\"data/p\"]",
    "[\"p\",\"q\",\"d/x\",\"d/z\"]",
    "[\"P\"]",
    "[\"p/q\",\"d\"]",
    "[\"/\"]",
    "[\"p\",\"q\",\"e/x\"]",
];
const VERSIONS: &[&str] = &["0", "1", "2", "3", "-1", "1.0", "1e0", "\"1\"", "null", "true", "01"];
const FILES: &[&str] = &[
    "{\"/p.rego\":0}",
    "{\"p.rego\":0}",
    "{\"*.rego\":0}",
    "{\"*\":0,\"/p*\":1}",
    "{\"/*/q.rego\":0}",
    "{\"**/q.rego\":0,\"*p*\":1}",
    "{\"/p.rego\":7}",
    "{\"/p.rego\":null}",
    "{\"[\":0}",
    "{}",
    "null",
    "{\"{/p,/m/q}.rego\":0}",
    "{\"?p.rego\":0}",
    "{\"./p.rego\":0}",
    "{\"/p.rego\":\"0\"}",
    "[]",
    "{\"*p.rego\":2}",
    "{\"m/q.rego\":0,\"m/*\":1}",
];
const OTHERS: &[(&str, &str)] = &[
    ("revision", "\"r1\""),
    ("revision", "1"),
    ("revision", "null"),
    ("Revision", "\"r2\""),
    ("metadata", "{\"a\":{\"b\":[1.50]}}"),
    ("metadata", "[]"),
    ("metadata", "null"),
    ("METADATA", "{}"),
    ("wasm", "[]"),
    ("wasm", "null"),
    ("wasm", "{}"),
    ("wasm", "[{\"entrypoint\":\"p/a\",\"module\":\"/policy.wasm\"}]"),
    ("unknown", "1"),
    ("roots ", "[\"zz\"]"),
    ("root", "[\"zz\"]"),
    ("rego-version", "0"),
    ("regoVersion", "0"),
];
const V0: &str = "a = 1 { true }\n\nb[x] { x := 2 }\n";
const V1: &str = "a := 1 if true\n\nb contains 2 if true\n";
const BOTH: &str = "a = 1\n\nc := a\n";
const DATA: &[&str] = &[
    "{\"x\":1}",
    "{\"x\":{\"y\":1}}",
    "{\"x\":{}}",
    "[1,2]",
    "1.50",
    "null",
    "{}",
    "\"s\"",
    "{\"x\":1,\"x\":2}",
    "{\"x\":1} {\"y\":2}",
    "x",
    "{\"z\":{\"y\":[{}]}}",
    "{\"p\":{\"o\":1}}",
    "{\"p\":{\"a\":1}}",
    "{\"d\":{\"z\":3}}",
];
const YAML: &[&str] = &[
    "x: 1\n",
    "x: 1\n---\ny: 2\n",
    "{\"x\": 1.50}",
    "- 1\n",
    "x: [\n",
    "x: on\n",
    "{\"x\":1}\n---\n{\"y\":2}\n",
];
const PACKAGES: &[&str] =
    &["p", "q", "p.q", "pq", "p[\"x/y\"]", "d.x", "d.w", "p[\"q.r\"]", "system.log", "P", "p.a"];

fn manifest(random: &mut Random) -> String {
    if random.chance(4) {
        let odd = [
            "null",
            "[]",
            "",
            "{",
            "{} {}",
            "1",
            "{\"roots\":[\"p\"],\"roots\":[\"q\"]}",
            "{\"roots\":[\"q\"],\"Roots\":[\"p\",\"d\",\"q\"]}",
        ];
        return (*random.pick(&odd)).to_owned();
    }
    let mut members = Vec::new();
    let mut add = |key: String, value: &str| members.push(format!("\"{key}\":{value}"));
    let cased = |random: &mut Random, key: &str| match random.below(12) {
        0 => key.to_uppercase(),
        1 => format!("{}{}", key[..1].to_uppercase(), &key[1..]),
        2 => key.replace('s', "\u{17f}"),
        _ => key.to_owned(),
    };
    if random.chance(60) {
        // Mostly those that leave room for the files.
        let roots = if random.chance(50) { &ROOTS[..7] } else { ROOTS };
        add(cased(random, "roots"), random.pick::<&str>(roots));
    }
    if random.chance(35) {
        let versions = if random.chance(70) { &VERSIONS[..3] } else { VERSIONS };
        add(cased(random, "rego_version"), random.pick::<&str>(versions));
    }
    if random.chance(35) {
        add(cased(random, "file_rego_versions"), random.pick::<&str>(FILES));
    }
    while random.chance(25) {
        let (key, value) = random.pick(OTHERS);
        add((*key).to_owned(), value);
    }
    random.shuffle(&mut members);
    format!("{{{}}}", members.join(","))
}

fn files(random: &mut Random) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let lead = |random: &mut Random| *random.pick(&["/", "/", "", "./"]);
    if random.chance(80) {
        let name = match random.below(20) {
            0 => "x/.manifest".to_owned(),
            1 => "odd.manifest".to_owned(),
            _ => format!("{}.manifest", lead(random)),
        };
        files.push((name, manifest(random)));
        if random.chance(3) {
            files.push(("x/.manifest".to_owned(), "{}".to_owned()));
        }
    }
    let lead = lead(random);
    for name in ["p.rego", "m/q.rego", "n.rego"] {
        if random.chance(60) {
            let package = if random.chance(70) {
                ["p", "q", "p.q"][random.below(3)]
            } else {
                random.pick(PACKAGES)
            };
            let body = *random.pick(&[V0, V1, V1, BOTH, BOTH]);
            let text = format!("package {package}\n\n{body}");
            // A package's rules conflict if two of its files have them.
            if !files.iter().any(|(_, other)| other.starts_with(&format!("package {package}\n"))) {
                files.push((format!("{lead}{name}"), text));
            }
        }
    }
    for _ in 0..random.below(3) {
        let folder = *random.pick(&["", "d/", "d/x/", "e/", ".h/", "d/../e/", "q/", "p/"]);
        let folder = if folder.contains("..") { "e/x/" } else { folder };
        let (name, text) = if random.chance(75) {
            ("data.json", random.pick(DATA))
        } else {
            (*random.pick(&["data.yaml", "data.yml"]), random.pick(YAML))
        };
        files.push((format!("{lead}{folder}{name}"), (*text).to_owned()));
    }
    if random.chance(10) {
        let (name, text) = random.pick(&[
            ("README.md", "words"),
            ("other.json", "{\"o\":1}"),
            ("plan.json", "{}"),
            ("DATA.json", "{\"o\":1}"),
            ("p.rego.bak", "package z\n\na := 1\n"),
            ("d/manifest", "{}"),
            (".manifest.json", "{\"roots\":[\"zz\"]}"),
        ]);
        files.push((format!("{lead}{name}"), (*text).to_owned()));
    }
    random.shuffle(&mut files);
    files
}

/// Returns a bundle with a root of its own, which may be another one's too.
fn own(random: &mut Random) -> Vec<(String, String)> {
    let (roots, package) = *random.pick(&[
        ("[\"p\",\"d\"]", "p"),
        ("[\"q\",\"e\"]", "q"),
        ("[\"p/q\",\"e/x\"]", "p.q"),
        ("[\"/r/\"]", "r"),
        ("[\"pq\",\"dd\"]", "pq"),
        ("[\"p/r\",\"d/x\"]", "p.r"),
        ("[\"P\"]", "P"),
    ]);
    let version = *random.pick(&["", ",\"rego_version\":0", ",\"rego_version\":1"]);
    let manifest = format!("{{\"roots\":{roots}{version}}}");
    let body = *random.pick(&[V1, BOTH, BOTH]);
    let mut files = vec![
        ("/.manifest".to_owned(), manifest),
        ("/p.rego".to_owned(), format!("package {package}\n\n{body}")),
    ];
    if random.chance(40) {
        let folder = *random.pick(&["d", "e", "d/x", "e/x", "dd"]);
        files.push((format!("/{folder}/data.json"), (*random.pick(DATA)).to_owned()));
    }
    files
}

/// Returns the case of a seed.
pub fn case(seed: u64) -> Bundles {
    let mut random = Random::new(seed);
    let count = if random.chance(15) { 2 } else { 1 };
    let as_bundles = count == 2 || random.chance(75);
    let v0 = random.chance(12);
    let own_roots = count == 2 && random.chance(70);
    let bundle = |_| if own_roots { own(&mut random) } else { files(&mut random) };
    Bundles { files: (0..count).map(bundle).collect(), as_bundles, v0 }
}

/// Writes an archive.
pub fn archive(path: &Path, files: &[(String, String)]) -> std::io::Result<()> {
    let gzip = GzEncoder::new(std::fs::File::create(path)?, Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::Regular);
        // Set directly: the library normalizes paths.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, text.as_bytes())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

impl Bundles {
    /// Writes the archives into a folder, as `0.tar.gz` and so on. Returns their names.
    pub fn write(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        let names = (0..self.files.len()).map(|index| format!("{index}.tar.gz"));
        let names: Vec<String> = names.collect();
        for (name, files) in names.iter().zip(&self.files) {
            archive(&folder.join(name), files)?;
        }
        Ok(names)
    }

    /// Returns a stored case.
    pub fn read(json: &Json) -> Option<Self> {
        Some(Self {
            files: serde_json::from_value(json.get("files")?.clone()).ok()?,
            as_bundles: json.get("as_bundles")?.as_bool()?,
            v0: json.get("v0")?.as_bool()?,
        })
    }

    /// Asks OPA: the value of the query, or the error.
    fn ask(&self, opa: &str, folder: &Path) -> std::io::Result<Json> {
        let mut command = Command::new(opa);
        command.current_dir(folder).args(["eval", QUERY]);
        if self.v0 {
            command.arg("--v0-compatible");
        }
        for name in self.write(folder)? {
            command.args([if self.as_bundles { "-b" } else { "-d" }, &name]);
        }
        let answer: Json = serde_json::from_slice(&command.output()?.stdout)?;
        Ok(match answer.pointer("/result/0/bindings/x") {
            Some(value) => json!({ "value": value }),
            None => json!({ "error": answer.pointer("/errors/0/message") }),
        })
    }
}

/// Asks OPA about the cases of seeds and stores them with its answers.
pub fn store(
    path: &str,
    opa: &str,
    folder: &Path,
    seeds: std::ops::Range<u64>,
) -> std::io::Result<usize> {
    let mut out = GzEncoder::new(std::fs::File::create(path)?, Compression::best());
    let mut stored = 0;
    for seed in seeds {
        let case = case(seed);
        let answer = case.ask(opa, folder)?;
        let (files, as_bundles, v0) = (&case.files, case.as_bundles, case.v0);
        let line = json!({ "files": files, "as_bundles": as_bundles, "v0": v0, "opa": answer });
        writeln!(out, "{line}")?;
        stored += 1;
    }
    out.finish()?;
    Ok(stored)
}
