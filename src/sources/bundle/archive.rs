//! Bundles as archives.
//!
//! Owns what is taken from an archive, and what in it can't be left out: parsers of archives differ
//! in what they overlook.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::EntryType;

use super::Reading;
use crate::Diagnostic;
use crate::text::escape;
use crate::unreadable;

/// Reads an archive.
pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), Diagnostic> {
    let path = Path::new(reading.path);
    let file = File::open(path).map_err(|error| {
        let (why, hint) = unreadable::reason(path, &error);
        let refused = if unreadable::is_worded(&error) {
            reading.refused(why)
        } else {
            reading.refused(format!("{why}: {error}"))
        };
        match hint {
            Some(hint) => refused.with_hint(hint),
            None => refused,
        }
    })?;
    let bundle = reading.path.to_owned();
    let failed = |error: std::io::Error| super::refused(&bundle, format!("can't be read: {error}"));
    // The limit applies to all unpacked bytes, including headers and files that aren't used.
    let most = reading.options.limits.total_bytes;
    let unpacked = MultiGzDecoder::new(file).take(most + 1);
    let mut archive = tar::Archive::new(unpacked);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let raw = path.to_string_lossy().into_owned();
        let shown = escape(&raw);
        let name = inner(&path).ok_or_else(|| {
            reading
                .refused(format!("holds the path `{shown}`"))
                .with_hint("paths in a bundle are relative and lead nowhere else")
        })?;
        // Older archives mark folders by the slash alone.
        let old = entry.header().as_bytes().get(156) == Some(&0);
        match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular if !raw.ends_with('/') => {}
            EntryType::Regular if old => continue,
            _ if reading.is_strict() || raw.ends_with('/') => {
                return Err(reading.refused(format!("holds `{shown}`, which isn't a file")));
            }
            _ => {
                reading.account.leave(&path, "it isn't a file");
                continue;
            }
        }
        if let Some(extensions) = entry.pax_extensions().map_err(failed)? {
            for extension in extensions {
                let extension = extension.map_err(failed)?;
                if extension.key_bytes().starts_with(b"GNU.sparse") {
                    return Err(reading
                        .refused(format!("holds `{shown}`, from which blocks are left out"))
                        .with_hint("pack it without sparse files"));
                }
            }
        }
        reading.take(&name, &raw, &mut entry)?;
    }
    let mut rest = archive.into_inner();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = rest.read(&mut buffer).map_err(|error| {
            reading.refused(format!("has bytes behind its archive that can't be read: {error}"))
        })?;
        if length == 0 {
            break;
        }
        if buffer.get(..length).unwrap_or_default().iter().any(|byte| *byte != 0) {
            return Err(reading
                .refused("goes on after the end of its archive")
                .with_hint("archives can't be joined: pack all files into one"));
        }
    }
    if rest.limit() == 0 {
        let most = crate::text::size(most);
        return Err(reading.refused(format!("is larger than {most} unpacked")));
    }
    Ok(())
}

/// Normalises a path to names joined by `/`; `None` if it leads out of the bundle.
fn inner(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir | Component::RootDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}
