//! Bundles as folders.
//!
//! Owns walking the folder. As OPA, it doesn't follow links.

use std::fs::File;
use std::path::Path;

use super::super::walk::{MAX_FOLDERS, entries};
use super::Reading;
use crate::Diagnostic;
use crate::text::{escape, escape_path};

/// Reads a folder.
pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), Diagnostic> {
    let path = Path::new(reading.path);
    // `std::fs` follows a link if a slash is at its end, and so does OPA.
    let linked = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    if linked {
        return Err(reading
            .refused("is a link to a folder, which OPA doesn't follow")
            .with_hint("end it with `/`"));
    }
    walk(reading, path, "", 0)
}

fn walk(
    reading: &mut Reading<'_>,
    folder: &Path,
    within: &str,
    depth: usize,
) -> Result<(), Diagnostic> {
    if depth > MAX_FOLDERS {
        return Err(reading.refused(format!("nests folders too deeply, at `{}`", escape(within))));
    }
    let shown = escape_path(folder);
    let bundle = reading.path.to_owned();
    let failed = move |error: std::io::Error| {
        super::refused(&bundle, format!("holds `{shown}`, which can't be read: {error}"))
    };
    for entry in entries(folder).map_err(&failed)? {
        let path = entry.path();
        let name = entry.file_name().into_string().map_err(|name| {
            let name = escape(&name.to_string_lossy());
            reading.refused(format!("holds `{name}`, whose name isn't UTF-8"))
        })?;
        let name = if within.is_empty() { name } else { format!("{within}/{name}") };
        let kind = entry.file_type().map_err(&failed)?;
        if kind.is_file() {
            let mut file = File::open(&path).map_err(&failed)?;
            reading.take(&name, &format!("/{name}"), &mut file)?;
        } else if let Some(reason) = reading.ignored(&name) {
            reading.account.leave(Path::new(&name), reason);
        } else if kind.is_dir() {
            walk(reading, &path, &name, depth + 1)?;
        } else {
            reading.account.leave(Path::new(&name), "it isn't a file");
        }
    }
    Ok(())
}
