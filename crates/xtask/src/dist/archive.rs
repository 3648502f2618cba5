//! Archives whose bytes depend on their content only: sorted, with one time, and without owners.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::{Outcome, read};

/// A tar archive.
pub(super) struct Archive {
    /// The time of all entries, in seconds since 1970.
    time: u64,
    /// The entries by path. A folder's path ends in `/`.
    entries: BTreeMap<String, Entry>,
}

struct Entry {
    content: Vec<u8>,
    mode: u32,
    owner: u64,
}

impl Archive {
    pub fn new(time: u64) -> Self {
        Self { time, entries: BTreeMap::new() }
    }

    /// Adds a file, and the folders that it is in.
    pub fn add(&mut self, path: &str, content: Vec<u8>, mode: u32) {
        for (end, _) in path.match_indices('/') {
            let folder = path.get(..=end).unwrap_or_default();
            if !self.entries.contains_key(folder) {
                self.add_folder(folder, 0o755, 0);
            }
        }
        self.entries.insert(path.to_owned(), Entry { content, mode, owner: 0 });
    }

    pub fn add_file(&mut self, path: &str, source: &Path, mode: u32) -> Outcome {
        self.add(path, read(source)?, mode);
        Ok(())
    }

    /// Adds a folder, whose path ends in `/`.
    pub fn add_folder(&mut self, path: &str, mode: u32, owner: u64) {
        self.entries.insert(path.to_owned(), Entry { content: Vec::new(), mode, owner });
    }

    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut builder = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_ustar();
            header.set_entry_type(if path.ends_with('/') {
                EntryType::Directory
            } else {
                EntryType::Regular
            });
            header.set_mode(entry.mode);
            header.set_uid(entry.owner);
            header.set_gid(entry.owner);
            header.set_mtime(self.time);
            header.set_size(entry.content.len() as u64);
            builder
                .append_data(&mut header, path, entry.content.as_slice())
                .map_err(|error| format!("{path}: {error}"))?;
        }
        builder.into_inner().map_err(|error| error.to_string())
    }

    pub fn compressed(&self) -> Result<Vec<u8>, String> {
        // The number of the system that compressed: unknown.
        let mut out = GzBuilder::new().operating_system(255).write(Vec::new(), Compression::best());
        out.write_all(&self.bytes()?).and_then(|()| out.finish()).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_order_of_additions_does_not_matter() {
        let archive = |paths: [&str; 2]| {
            let mut archive = Archive::new(1_700_000_000);
            for path in paths {
                archive.add(path, path.as_bytes().to_vec(), 0o644);
            }
            archive.compressed().unwrap()
        };
        assert_eq!(archive(["a/b", "a/c/d"]), archive(["a/c/d", "a/b"]));
        assert_ne!(archive(["a/b", "a/c/d"]), archive(["a/b", "a/c/e"]));
    }

    #[test]
    fn entries_have_the_time_and_no_owner() {
        let mut archive = Archive::new(1_700_000_000);
        archive.add("bin/run", b"x".to_vec(), 0o755);
        archive.add_folder("tmp/", 0o1777, 65532);
        let bytes = archive.bytes().unwrap();
        let found: Vec<_> = tar::Archive::new(bytes.as_slice())
            .entries()
            .unwrap()
            .map(|entry| {
                let header = entry.unwrap().header().clone();
                let path = header.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.uid().unwrap(), header.mtime().unwrap())
            })
            .collect();
        let time = 1_700_000_000;
        let file = ("bin/run".to_owned(), 0o755, 0, time);
        let folder = ("tmp/".to_owned(), 0o1777, 65532, time);
        assert_eq!(found, [("bin/".to_owned(), 0o755, 0, time), file, folder]);
    }
}
