//! Links that lead out of a folder, which an untrusted settings file can't follow.

use std::fs::canonicalize;
use std::path::Path;

use rego_platform::sources::walk::Walk;
use rego_platform_gate::expand;

/// Returns `true` if a path, or anything in it if it is a folder, is outside of a folder once links are resolved.
/// A pattern is all that it matches. A file that `is_written` takes the place of a link.
pub(super) fn leads_out(folder: &Path, path: &Path, is_written: bool) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(root) = canonicalize(folder) else { return true };
    let path = if is_written { path.parent().unwrap_or(path) } else { path };
    let is_pattern = path.to_string_lossy().contains(['*', '?', '[']) && !is_written;
    // A pattern that can't be expanded is an error when it is read.
    let matched = if is_pattern { expand(path).unwrap_or_default() } else { Vec::new() };
    let mut all = matched.iter().map(std::path::PathBuf::as_path).chain([path]);
    all.any(|path| is_outside(&root, path) || (!is_written && has_outside(&root, path)))
}

/// Returns `true` if a path leads out of a folder, or the part of it that exists does.
fn is_outside(root: &Path, path: &Path) -> bool {
    let real = path.ancestors().find_map(|part| {
        canonicalize(if part.as_os_str().is_empty() { Path::new(".") } else { part }).ok()
    });
    real.is_none_or(|real| !real.starts_with(root))
}

/// Returns `true` if a link in a folder leads out.
fn has_outside(root: &Path, folder: &Path) -> bool {
    fn search(root: &Path, folder: &Path, walk: &mut Walk) -> bool {
        // What can't be read, or contains itself, is an error when it is read.
        let Ok(entries) = walk.enter(folder) else { return false };
        let found = entries.iter().any(|entry| {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            (is_link && is_outside(root, &path)) || (path.is_dir() && search(root, &path, walk))
        });
        walk.leave();
        found
    }
    folder.is_dir() && search(root, folder, &mut Walk::default())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_in_paths_in_folders_and_in_matches() {
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| own.path().join(name);
        std::fs::write(other.path().join("s.json"), "{}").unwrap();
        for folder in ["policies", "in/deep"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        std::fs::write(at("policies/p.rego"), "").unwrap();
        symlink(at("policies"), at("near")).unwrap();
        symlink(other.path(), at("far")).unwrap();
        symlink(other.path().join("s.json"), at("in/deep/s.json")).unwrap();
        let out = |name: &str, is_written| leads_out(own.path(), &at(name), is_written);
        for name in ["policies", "near", "near/p.rego", "none/x", "policies/*.rego"] {
            assert!(!out(name, false), "{name}");
        }
        for name in ["far", "far/s.json", "far/none", "in", "in/**/*.json", "f*", "*/s.json", "."] {
            assert!(out(name, false), "{name}");
        }
        assert!(out("far/r.json", true) && !out("in/deep/s.json", true) && !out("r.json", true));
    }
}
