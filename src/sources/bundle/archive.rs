//! Bundles as archives.
//!
//! Owns what is taken from an archive, and what in it can't be left out: parsers of archives differ
//! in what they overlook.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use tar::EntryType;

use super::Reading;
use crate::text::escape;
use crate::unreadable;
use crate::{Diagnostic, setting};

/// Reads an archive.
pub(super) fn read(reading: &mut Reading<'_>) -> Result<(), Diagnostic> {
    match reading.content {
        Some(content) => unpack(reading, content),
        None => {
            let file = open(reading)?;
            unpack(reading, file)
        }
    }
}

fn open(reading: &Reading<'_>) -> Result<File, Diagnostic> {
    let path = Path::new(reading.path);
    File::open(path).map_err(|error| reading.refused(unreadable::described(path, &error)))
}

fn unpack(reading: &mut Reading<'_>, packed: impl Read) -> Result<(), Diagnostic> {
    // The limit applies to all unpacked bytes, including headers and files that aren't used.
    let most = reading.options.limits.total_bytes;
    let unpacked = MultiGzDecoder::new(packed).take(most + 1);
    let mut archive = tar::Archive::new(Watched { inner: unpacked, zeros: 0 });
    let entries = entries(reading, &mut archive);
    let mut rest = archive.into_inner();
    // An archive that is cut at the limit isn't wrong because of where that is.
    let rested = entries.and_then(|()| end(reading, &mut rest));
    if rest.inner.limit() == 0 {
        let most = crate::text::size(most);
        return Err(reading.refused(format!("is larger than {most} unpacked")));
    }
    rested
}

/// A reader that counts the zeros at the end of what was read.
struct Watched<R> {
    inner: R,
    zeros: u64,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.inner.read(buffer)?;
        let read = buffer.get(..length).unwrap_or_default();
        let zeros = read.iter().rev().take_while(|byte| **byte == 0).count();
        let before = if zeros == length { self.zeros } else { 0 };
        self.zeros = before + zeros as u64;
        Ok(length)
    }
}

/// The size of a block; a block of zeros marks an archive's end.
const BLOCK: u64 = 512;

/// Reads the files of an archive.
fn entries<R: Read>(
    reading: &mut Reading<'_>,
    archive: &mut tar::Archive<R>,
) -> Result<(), Diagnostic> {
    let bundle = reading.path.to_owned();
    let failed = |error: std::io::Error| super::refused(&bundle, format!("can't be read: {error}"));
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
        let kind = entry.header().entry_type();
        let is_file = kind == EntryType::Regular && !raw.ends_with('/');
        // OPA takes the content of anything else for the next header.
        if !is_file && kind != EntryType::XGlobalHeader && entry.size() > 0 {
            return Err(
                reading.refused(format!("holds `{shown}`, which isn't a file and has content"))
            );
        }
        // Older archives mark folders by the slash alone.
        let old = entry.header().as_bytes().get(156) == Some(&0);
        match kind {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular if is_file => {}
            EntryType::Regular if old => continue,
            kind => {
                if kind == EntryType::Regular {
                    return Err(reading
                        .refused(format!("holds `{shown}`, which isn't a file"))
                        .by_setting(setting::IGNORED_IN_BUNDLES));
                }
                let reason = reading.ignored(&name);
                let reason = reason.unwrap_or_else(|| "it isn't a file".to_owned());
                reading.account.leave(Path::new(&name), reason);
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
    Ok(())
}

/// Checks that the end of an archive is marked, and that nothing but zeros follows it.
fn end(reading: &Reading<'_>, rest: &mut Watched<impl Read>) -> Result<(), Diagnostic> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = rest.read(&mut buffer).map_err(|error| {
            reading.refused(format!("has bytes behind its archive that can't be read: {error}"))
        })?;
        if length == 0 {
            // As when the program that packs it was stopped between two files.
            return match rest.zeros {
                BLOCK.. => Ok(()),
                _ => Err(reading
                    .refused("doesn't end as an archive does: files may be missing")
                    .with_hint("pack it again")),
            };
        }
        if buffer.get(..length).unwrap_or_default().iter().any(|byte| *byte != 0) {
            return Err(reading
                .refused("goes on after the end of its archive")
                .with_hint("archives can't be joined: pack all files into one"));
        }
    }
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
