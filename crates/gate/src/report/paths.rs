//! Normalization of the paths of inputs and policies for waivers, fingerprints and reports.

use std::path::{Component, Path, PathBuf};

/// Returns a path from the root of the file system, without `.` and `..`. An absolute path and one with `..` are
/// resolved as far as their folder exists, so links don't matter in them.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let plain = std::env::current_dir().unwrap_or_default().join(path);
    let plain: PathBuf = plain.components().filter(|part| *part != Component::CurDir).collect();
    if path.is_relative() && !path.components().any(|part| part == Component::ParentDir) {
        return plain;
    }
    match (plain.parent().map(Path::canonicalize), plain.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => plain,
    }
}

/// Returns a path from `root`, which may begin with `..`. Without a root, and on another drive, the path is as it is
/// written, without `.`.
pub(crate) fn relative(path: &str, root: &Path) -> PathBuf {
    let own = Path::new(path);
    let absolute = absolute(own);
    let pairs = absolute.components().zip(root.components());
    let shared = pairs.take_while(|(own, other)| own == other).count();
    if shared == 0 {
        return own.components().filter(|part| *part != Component::CurDir).collect();
    }
    let above = root.components().skip(shared).map(|_| Component::ParentDir);
    above.chain(absolute.components().skip(shared)).collect()
}

/// Returns the root of the repository: the CI checkout, or else the nearest folder with `.git`, or else the
/// current folder.
#[doc(hidden)]
pub fn repository() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let of_ci = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].into_iter().filter_map(std::env::var_os);
    let mut of_ci = of_ci.filter_map(|root| Path::new(&root).canonicalize().ok());
    let of_git = || here.ancestors().find(|folder| folder.join(".git").exists());
    of_ci.next().or_else(|| of_git().map(Path::to_owned)).unwrap_or(here)
}

/// Returns a path with forward slashes.
pub(super) fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_has_one_path_whatever_its_spelling() {
        let here = std::env::current_dir().unwrap();
        let name = here.file_name().unwrap().to_str().unwrap();
        let both = |path: &str| [absolute(Path::new(path)), relative(path, &here)];
        let inside = here.join("src/lib.rs");
        for path in [
            "src/lib.rs",
            "./src/lib.rs",
            "src//./lib.rs",
            "tests/../src/lib.rs",
            &format!("../{name}/src/lib.rs"),
            inside.to_str().unwrap(),
        ] {
            assert_eq!(both(path), [inside.clone(), "src/lib.rs".into()], "{path}");
        }
        let outside = here.parent().unwrap().join("x.json");
        for path in ["../x.json", &format!("../{name}/../x.json"), outside.to_str().unwrap()] {
            assert_eq!(both(path), [outside.clone(), "../x.json".into()], "{path}");
        }
        assert_eq!(relative("./a/../b", Path::new("")), Path::new("a/../b"));
    }
}
