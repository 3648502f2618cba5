//! Writing fetched sources into a folder.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rego_platform::Error;
use rego_platform_client::text::escape_path;
use rego_platform_remote::{Address, Content, File};

/// Returns the error of a path that can't be written.
pub(super) fn unwritable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("`{}` can't be written", escape_path(path));
    Error::configuration(message)
        .with_source(error)
        .with_hint("name another folder with `--output`")
}

/// Returns the files of a source. A bundle is one file.
pub(super) fn files(address: &Address, content: &Content) -> Vec<File> {
    match content {
        Content::Bundle(archive) => vec![File::new(bundle_name(address), archive.clone())],
        Content::Files(files) => files.clone(),
    }
}

/// Returns the name of a bundle's file: the last of its path, or of its repository.
fn bundle_name(address: &Address) -> String {
    let place = match address {
        Address::Registry(reference) => format!("{}.tar.gz", reference.repository()),
        _ => address.folder(),
    };
    place.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Writes files that aren't there yet. Their names lead nowhere else.
pub(super) fn write(folder: &Path, files: &[File]) -> Result<(), Error> {
    for File { name, bytes, .. } in files {
        let path: PathBuf = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| unwritable(parent, error))?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(bytes));
        written.map_err(|error| unwritable(&path, error))?;
    }
    Ok(())
}
