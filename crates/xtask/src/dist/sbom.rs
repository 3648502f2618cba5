//! Software bills of materials of what is released, in `CycloneDX` 1.6.
//!
//! Owns their content: the crates that a package is built from, as Cargo resolves them for the target, with
//! the checksums of `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Dist, Outcome, cargo, manifest, output, read, root, sha256, without_settings};

/// A crate.
#[derive(Debug, Default)]
struct Component {
    license: String,
    is_local: bool,
    uses: BTreeSet<Id>,
}

/// The name and the version of a crate.
type Id = (String, String);

/// Writes the bill of a package.
pub(super) fn write(dist: &Dist, package: &str, product: &str) -> Outcome {
    let mut tree = cargo(&["tree", "--locked", "--edges", "normal", "--prefix", "depth"]);
    tree.args(["--package", package, "--target", &dist.target, "--format", "\t{p}\t{l}"]);
    let components = components(&output(without_settings(&mut tree))?)?;
    let lock = String::from_utf8_lossy(&read(&root().join("Cargo.lock"))?).into_owned();
    let bill = bill(dist, package, &components, &checksums(&lock))?;
    let text = serde_json::to_string_pretty(&bill).map_err(|error| error.to_string())?;
    dist.write(&format!("{}.cdx.json", dist.name(product)), format!("{text}\n").as_bytes())
}

/// Reads Cargo's tree: in each line the depth, the crate and its license.
fn components(tree: &str) -> Result<BTreeMap<Id, Component>, String> {
    let mut components: BTreeMap<Id, Component> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let read = || {
            let mut columns = line.split('\t');
            let depth: usize = columns.next()?.parse().ok()?;
            let package = columns.next()?;
            let mut words = package.split(' ');
            let id = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
            // A crate that was listed before, with what it uses, is marked so.
            let license = columns.next()?.trim_end_matches(" (*)").to_owned();
            Some((depth, id, package.contains("(/"), license))
        };
        let (depth, id, is_local, license) =
            read().ok_or_else(|| format!("unexpected line of `cargo tree`: {line}"))?;
        above.truncate(depth);
        if let Some(user) = above.last().and_then(|user| components.get_mut(user)) {
            user.uses.insert(id.clone());
        }
        above.push(id.clone());
        let component = components.entry(id).or_default();
        component.is_local = is_local;
        component.license = license;
    }
    Ok(components)
}

/// Reads the checksums of a lock file.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let package = |text: &str| {
        let value = |key: &str| {
            let value = |line: &str| line.strip_prefix(key)?.strip_suffix('"').map(str::to_owned);
            text.lines().find_map(value)
        };
        Some(((value("name = \"")?, value("version = \"")?), value("checksum = \"")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

fn bill(
    dist: &Dist,
    package: &str,
    components: &BTreeMap<Id, Component>,
    checksums: &BTreeMap<Id, String>,
) -> Result<Value, String> {
    let (mut main, mut rest, mut edges) = (Value::Null, Vec::new(), Vec::new());
    for (id, component) in components {
        let mut own = described(id, component);
        if let (Some(about), Some(checksum)) = (own.as_object_mut(), checksums.get(id)) {
            about.insert("hashes".into(), json!([{ "alg": "SHA-256", "content": checksum }]));
        }
        let uses: Vec<String> = component.uses.iter().map(purl).collect();
        edges.push(json!({ "ref": purl(id), "dependsOn": uses }));
        if id.0 == package {
            main = own;
        } else {
            rest.push(own);
        }
    }
    let mut bill = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time(dist.epoch)?,
            "component": main,
            "properties": [
                { "name": "rego-platform:commit", "value": dist.commit },
                { "name": "rego-platform:target", "value": dist.target },
                { "name": "rego-platform:repository", "value": manifest("repository")? },
            ],
        },
        "components": rest,
        "dependencies": edges,
    });
    let digest = sha256(bill.to_string().as_bytes());
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    // Version 8: a UUID of content that its maker defines.
    let serial = format!(
        "urn:uuid:{}-{}-8{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    );
    if let Some(bill) = bill.as_object_mut() {
        bill.insert("serialNumber".into(), serial.into());
    }
    Ok(bill)
}

fn described(id: &Id, component: &Component) -> Value {
    let (name, version) = id;
    let kind =
        if component.is_local && name == "rego-platform-cli" { "application" } else { "library" };
    let mut described = json!({
        "type": kind, "bom-ref": purl(id), "name": name, "version": version, "purl": purl(id),
    });
    if let (Some(about), false) = (described.as_object_mut(), component.license.is_empty()) {
        // The form of crates that were published before SPDX's expressions were asked for.
        let license = component.license.replace('/', " OR ");
        about.insert("licenses".into(), json!([{ "expression": license }]));
    }
    described
}

fn purl((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// Returns a time, in seconds since 1970, in the form of RFC 3339.
pub(super) fn time(epoch: u64) -> Result<String, String> {
    let time =
        i64::try_from(epoch).ok().and_then(|epoch| chrono::DateTime::from_timestamp(epoch, 0));
    let time = time.ok_or_else(|| format!("invalid time: {epoch}"))?;
    Ok(time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used)]

    use super::*;

    #[test]
    fn crates_have_what_they_use() {
        let tree = "0\ttop v1.0.0 (/home/x)\tApache-2.0\n1\ta v0.1.0\tMIT/Apache-2.0\n2\tb v2.0.0+1 (proc-macro)\t\n1\tb v2.0.0+1 (proc-macro)\t (*)\n";
        let components = components(tree).unwrap();
        let id = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let (a, b) = (id("a", "0.1.0"), id("b", "2.0.0+1"));
        let top = &components[&id("top", "1.0.0")];
        assert!(top.is_local && !components[&a].is_local && !components[&b].is_local);
        assert_eq!(top.uses, BTreeSet::from([a.clone(), b.clone()]));
        assert_eq!(components[&a].uses, BTreeSet::from([b.clone()]));
        assert_eq!(
            described(&a, &components[&a])["licenses"][0]["expression"],
            "MIT OR Apache-2.0"
        );
        assert_eq!(purl(&b), "pkg:cargo/b@2.0.0%2B1");
    }

    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\nsource = \"r\"\nchecksum = \"c0\"\n\n[[package]]\nname = \"own\"\nversion = \"1.0.0\"\n";
        let known = BTreeMap::from([(("a".to_owned(), "0.1.0".to_owned()), "c0".to_owned())]);
        assert_eq!(checksums(lock), known);
    }
}
