//! Artifacts on disk, named by their digests.
//!
//! Owns the folder: its permissions, its size limit, and the check that content read from it has
//! its digest. The caller decides whether an entry may be used: it has asked the service for this
//! very token first (`download`). A failure of the disk never fails a call: an entry that can't be
//! read is downloaded, one that can't be written is left out.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use cacache::{Algorithm, Integrity};

/// A folder of artifacts, shared by any number of processes.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    /// The bytes in the folder as far as this process knows; counted at the first write.
    known: Mutex<Option<u64>>,
}

impl Cache {
    pub const fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self { folder, max_bytes, known: Mutex::new(None) }
    }

    /// Returns the size of the entry for `digest` (`sha256:<hex>`).
    pub fn size(&self, digest: &str) -> Option<usize> {
        let metadata = std::fs::metadata(self.content_path(digest)?).ok()?;
        usize::try_from(metadata.len()).ok()
    }

    /// Reads the content of `digest` into `buffer`, whose capacity is the entry's size, if the
    /// entry is there and intact.
    ///
    /// The thread that will free the content allocates the buffer: memory that one thread allocates
    /// and another frees isn't reusable at once.
    pub fn read(&self, digest: &str, mut buffer: Vec<u8>) -> Option<Vec<u8>> {
        let integrity = integrity(digest)?;
        let read = cacache::SyncReader::open_hash(&self.folder, integrity.clone()).and_then(
            |mut reader| {
                // An entry that has grown since its size was read fails the check.
                let mut whole = (&mut reader).take(buffer.capacity() as u64);
                whole.read_to_end(&mut buffer).map_err(|error| {
                    cacache::Error::IoError(error, "an entry can't be read".to_owned())
                })?;
                reader.check()
            },
        );
        match read {
            Ok(_) => {
                // The modification time is the time of last use: the least recently used are
                // removed first.
                let path = self.content_path(digest)?;
                if let Ok(file) = std::fs::File::options().append(true).open(path) {
                    let _ = file.set_modified(SystemTime::now());
                }
                Some(buffer)
            }
            Err(error) => {
                tracing::warn!(%error, "an artifact in the cache is broken; it is fetched anew");
                let _ = cacache::remove_hash_sync(&self.folder, &integrity);
                None
            }
        }
    }

    /// Stores content that was verified against its digest.
    pub fn write(&self, content: &[u8]) {
        let size = content.len() as u64;
        if size > self.max_bytes / 2 {
            return;
        }
        let written = private_folder(&self.folder).and_then(|()| {
            cacache::write_hash_sync_with_algo(Algorithm::Sha256, &self.folder, content)
                .map_err(std::io::Error::other)
        });
        match written {
            Ok(_) => self.enforce_limit(size),
            Err(error) => tracing::warn!(%error, "an artifact can't be kept in the cache"),
        }
    }

    /// Removes the least recently used entries when the folder has grown beyond its limit.
    fn enforce_limit(&self, added: u64) {
        let Ok(mut known) = self.known.lock() else { return };
        let total = match *known {
            Some(before) => before + added,
            None => entries(&self.folder).iter().map(|e| e.size).sum(),
        };
        *known = Some(total);
        if total <= self.max_bytes {
            return;
        }
        let mut entries = entries(&self.folder);
        entries.sort_by_key(|entry| entry.used);
        let mut total: u64 = entries.iter().map(|e| e.size).sum();
        // Down to four fifths, so that not every write has to list the whole folder.
        let goal = self.max_bytes / 5 * 4;
        for entry in entries {
            if total <= goal {
                break;
            }
            if std::fs::remove_file(&entry.path).is_ok() {
                total = total.saturating_sub(entry.size);
            }
        }
        *known = Some(total);
    }

    /// Returns the path of a digest's content in the content store, whose interface doesn't tell an
    /// entry's size and time.
    fn content_path(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:")?;
        let (a, b, rest) = (hex.get(..2)?, hex.get(2..4)?, hex.get(4..)?);
        Some(self.folder.join("content-v2").join("sha256").join(a).join(b).join(rest))
    }
}

/// Removes everything from a cache folder.
#[cfg(any(feature = "cli", test))]
pub(crate) fn clear(folder: &Path) -> Result<(), crate::Error> {
    if !folder.exists() {
        return Ok(());
    }
    cacache::clear_sync(folder).map_err(|e| {
        let message = format!("the cache `{}` can't be cleared", folder.display());
        crate::Error::new(crate::ErrorKind::Configuration, message).with_source(e.to_string())
    })
}

fn integrity(digest: &str) -> Option<Integrity> {
    Integrity::from_hex(digest.strip_prefix("sha256:")?, Algorithm::Sha256).ok()
}

/// Creates the folder with access for its owner only; an existing folder's permissions are reduced.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = std::fs::metadata(folder)?.permissions();
        if permissions.mode() & 0o777 != 0o700 {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

fn entries(folder: &Path) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut folders = vec![folder.join("content-v2")];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = std::fs::read_dir(folder) else { continue };
        for entry in listing.flatten() {
            // Links aren't followed: files elsewhere aren't the cache's to count or to remove.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.is_file() {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                out.push(Entry { path: entry.path(), size: metadata.len(), used });
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sha2::{Digest as _, Sha256};

    use super::*;

    fn digest(content: &[u8]) -> String {
        let bytes: [u8; 32] = Sha256::digest(content).into();
        format!("sha256:{:064x}", Hex(bytes))
    }

    fn read(cache: &Cache, digest: &str) -> Option<Vec<u8>> {
        cache.read(digest, Vec::with_capacity(cache.size(digest).unwrap_or(0)))
    }

    struct Hex([u8; 32]);

    impl std::fmt::LowerHex for Hex {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }
    }

    #[test]
    fn an_entry_is_read_unless_it_was_altered() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("artifacts"), 1 << 20);
        let digest = digest(b"content");
        assert_eq!(cache.size(&digest), None);
        assert_eq!(read(&cache, &digest), None);
        cache.write(b"content");
        assert_eq!(read(&cache, &digest).unwrap(), b"content");
        assert_eq!(cache.read(&digest, Vec::with_capacity(3)), None);
        cache.write(b"content");
        std::fs::write(cache.content_path(&digest).unwrap(), b"CONTENT").unwrap();
        assert_eq!(read(&cache, &digest), None);
        assert!(!cache.content_path(&digest).unwrap().exists(), "a broken entry is removed");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(folder.path().join("artifacts")).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o700);
        }
        clear(&folder.path().join("artifacts")).unwrap();
    }

    #[test]
    fn the_folder_stays_within_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned(), 10_000);
        for index in 0..50_u8 {
            cache.write(&[index; 1000]);
            let total: u64 = entries(folder.path()).iter().map(|e| e.size).sum();
            assert!(total <= 10_000, "{total}");
        }
        assert!(read(&cache, &digest(&[49; 1000])).is_some(), "the newest is kept");
    }

    #[test]
    fn a_folder_that_cannot_be_written_does_not_fail() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let cache = Cache::new(file, 10_000);
        cache.write(b"content");
        assert_eq!(read(&cache, &digest(b"content")), None);
    }
}
