//! The address of the repository and the tags of a release.
//!
//! Owns the value `repository` of the workspace's manifest, from which all other places are written.

use std::fs;

use super::dist::{git, manifest, version};
use super::{Outcome, root, run};

/// The owner that stands for the one that isn't known yet.
const PLACEHOLDER: &str = "OWNER";

/// Writes the address of the repository, `OWNER/NAME` on GitHub, wherever it stands.
pub(super) fn set_repository(arguments: &[String]) -> Outcome {
    let [new] = arguments else { return Err("expected OWNER/NAME".to_owned()) };
    let is_name = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    if !new.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name)) {
        return Err(format!("invalid repository `{new}`: expected OWNER/NAME"));
    }
    let old = repository()?;
    for file in git(&["grep", "--files-with-matches", "--fixed-strings", "-e", &old])?.lines() {
        let path = root().join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        fs::write(&path, text.replace(&old, new)).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}");
    }
    Ok(())
}

/// Creates the signed tags of a release: the version's, and the Go module's, whose name Go prescribes.
/// `--push` pushes them, which starts the release workflow. `--check OWNER/NAME TAG` only compares.
pub(super) fn release(arguments: &[String]) -> Outcome {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let pushes = match arguments[..] {
        ["--check", name, tag] => return check(name, tag),
        ["--push"] => true,
        [] => false,
        _ => return Err("expected --push, or --check OWNER/NAME TAG".to_owned()),
    };
    let version = version()?;
    let name = repository()?;
    check(&name, &format!("v{version}"))?;
    if name.starts_with(PLACEHOLDER) {
        return Err("the repository isn't set: `cargo xtask repository OWNER/NAME`".to_owned());
    }
    if !git(&["status", "--porcelain"])?.is_empty() {
        return Err("uncommitted changes: commit or stash them".to_owned());
    }
    let changes =
        fs::read_to_string(root().join("CHANGELOG.md")).map_err(|error| error.to_string())?;
    if !changes.lines().any(|line| line.starts_with(&format!("## {version} "))) {
        return Err(format!("CHANGELOG.md has no heading `## {version} (DATE)`"));
    }
    let tags = [format!("v{version}"), format!("bindings/go/v{version}")];
    for tag in &tags {
        let message = format!("rego-platform {version}");
        run(std::process::Command::new("git")
            .args(["tag", "--sign", "--message", &message, tag])
            .current_dir(root()))?;
    }
    if pushes {
        run(std::process::Command::new("git")
            .args(["push", "--atomic", "origin"])
            .args(&tags)
            .current_dir(root()))?;
    } else {
        println!(
            "created {}; push them: git push --atomic origin {}",
            tags.join(" and "),
            tags.join(" ")
        );
    }
    Ok(())
}

/// Compares a repository and a tag with those of the sources.
fn check(name: &str, tag: &str) -> Outcome {
    let (known, version) = (repository()?, version()?);
    if name != known {
        return Err(format!(
            "the sources are of `{known}`, not of `{name}`: `cargo xtask repository {name}`"
        ));
    }
    if tag != format!("v{version}") {
        return Err(format!("the tag is `{tag}`, and the version {version}"));
    }
    Ok(())
}

/// Returns the owner and the name of the repository.
fn repository() -> Result<String, String> {
    let address = manifest("repository")?;
    let name = address.strip_prefix("https://github.com/").map(str::to_owned);
    name.ok_or_else(|| format!("`repository` in Cargo.toml isn't on GitHub: {address}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A page that names a version installs it.
    #[test]
    fn pages_name_the_repository_and_its_version() {
        let (name, version) = (repository().unwrap(), version().unwrap());
        let mut count = 0;
        let files =
            git(&["ls-files", "*.md", "*.yml", "*.yaml", "*.sh", "*.toml", "*.txt"]).unwrap();
        for file in files.lines() {
            let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
            let prefixes = [
                format!("{name}@v"),
                format!("{name}/raw/v"),
                "rego-platform==".to_owned(),
                format!("ghcr.io/{name}:"),
                format!("{name}/bindings/go@v"),
            ];
            for found in prefixes.iter().flat_map(|prefix| text.split(prefix.as_str()).skip(1)) {
                assert!(
                    found.starts_with(&version),
                    "{file}: {}",
                    found.get(..20).unwrap_or(found)
                );
                count += 1;
            }
            let owner = name.split('/').next().unwrap();
            for (at, _) in text.match_indices("/rego-platform@") {
                assert!(text.get(..at).unwrap().ends_with(owner), "{file}");
            }
        }
        assert!(count > 4, "{count}");
        for (file, known) in [
            ("action.yml", format!("default: {version}\n")),
            ("templates/rego-platform.yml", format!("default: {version}\n")),
            ("install.sh", format!("\nversion={version}\nrepository={name}\n")),
            ("pyproject.toml", format!("\nversion = \"{version}\"\n")),
        ] {
            assert!(fs::read_to_string(root().join(file)).unwrap().contains(&known), "{file}");
        }
    }
}
