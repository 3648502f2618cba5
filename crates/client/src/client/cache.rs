//! Artifacts on disk, named by their digests.
//!
//! Owns the folder: its permissions, its size limit, and the check that content read from it has
//! its digest. The caller decides whether an entry may be used: it has asked the service for this
//! very token first (`download`). A failure of the disk never fails a call: an entry that can't be
//! read is downloaded, one that can't be written is left out.

use std::fs::File;
use std::io::{Read as _, Take, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

/// The folder of verified content.
const CONTENT: &str = "content-v2";

/// The folder of content that isn't verified yet.
const TEMPORARY: &str = "tmp";

/// The age from which a temporary file counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(24);

/// A folder of artifacts, shared by any number of processes.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    /// The size of the folder as known to this process, in bytes. It is counted at the first write.
    known: Mutex<Option<u64>>,
}

impl Cache {
    pub const fn new(folder: PathBuf, max_bytes: u64) -> Self {
        Self { folder, max_bytes, known: Mutex::new(None) }
    }

    /// Passes the file of the content of `digest` (`sha256:<hex>`) and its size to `read`, if the entry
    /// exists and has at most `cap` bytes. An entry that `read` rejects is removed.
    pub fn read<T>(
        &self,
        digest: &str,
        cap: u64,
        read: impl FnOnce(Take<File>, u64) -> Result<T, String>,
    ) -> Option<T> {
        let path = self.content_path(digest)?;
        let file = File::open(&path).ok()?;
        let size = file.metadata().ok()?.len();
        if size > cap {
            return None;
        }
        match read(file.take(size), size) {
            Ok(content) => {
                // The modification time is the time of last use: the least recently used are
                // removed first.
                if let Ok(file) = File::options().append(true).open(&path) {
                    let _ = file.set_modified(SystemTime::now());
                }
                Some(content)
            }
            Err(error) => {
                tracing::warn!(%error, "digest mismatch of a cached artifact: fetching it again");
                let _ = std::fs::remove_file(&path);
                None
            }
        }
    }

    /// Opens an entry for incoming content of this size; 0 if unknown.
    pub fn create(self: Arc<Self>, size: u64) -> Option<NewEntry> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if size > self.max_bytes / 2 {
            return None;
        }
        let folder = self.folder.join(TEMPORARY);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let path = folder.join(format!("{}-{number}-{}", std::process::id(), now.as_nanos()));
        let file = private_folder(&self.folder)
            .and_then(|()| std::fs::create_dir_all(&folder))
            .and_then(|()| File::options().write(true).create_new(true).open(&path));
        match file {
            Ok(file) => Some(NewEntry { cache: self, file: Some(file), path, size: 0 }),
            Err(error) => {
                warn_not_kept(&error);
                None
            }
        }
    }

    /// Removes the least recently used entries when the folder has grown beyond its limit.
    fn enforce_limit(&self, added: u64) {
        let mut known = self.known.lock();
        let total = match *known {
            // An estimate, since other processes write too. The listing below corrects it.
            Some(before) => before + added,
            None => {
                self.remove_abandoned();
                entries(&self.folder).iter().map(|e| e.size).sum()
            }
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

    /// Removes the temporary files of processes that ended while they wrote.
    fn remove_abandoned(&self) {
        let Ok(listing) = std::fs::read_dir(self.folder.join(TEMPORARY)) else { return };
        for entry in listing.flatten() {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = modified.and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > ABANDONED) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the path of a digest's content.
    fn content_path(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:")?;
        let (a, b, rest) = (hex.get(..2)?, hex.get(2..4)?, hex.get(4..)?);
        Some(self.folder.join(CONTENT).join("sha256").join(a).join(b).join(rest))
    }
}

/// Content that is being written to the cache. Dropping it removes it, unless it was kept.
pub struct NewEntry {
    cache: Arc<Cache>,
    /// `None` after a failure.
    file: Option<File>,
    path: PathBuf,
    size: u64,
}

impl NewEntry {
    /// Appends a chunk.
    pub fn write(&mut self, chunk: &[u8]) {
        let Some(file) = &mut self.file else { return };
        self.size += chunk.len() as u64;
        let written = file.write_all(chunk);
        if let Err(error) = &written {
            warn_not_kept(error);
        }
        if written.is_err() || self.size > self.cache.max_bytes / 2 {
            self.file = None;
        }
    }

    /// Commits the content, which was verified against `digest`.
    pub fn keep(mut self, digest: &str) {
        let Some((file, to)) = self.file.take().zip(self.cache.content_path(digest)) else {
            return;
        };
        drop(file);
        let kept = to
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::rename(&self.path, &to));
        match kept {
            Ok(()) => self.cache.enforce_limit(self.size),
            Err(error) => warn_not_kept(&error),
        }
    }
}

impl Drop for NewEntry {
    fn drop(&mut self) {
        self.file = None;
        // Content that was kept isn't there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn warn_not_kept(error: &std::io::Error) {
    tracing::warn!(%error, "can't write an artifact to the cache");
}

/// Removes the content of a cache folder.
pub fn clear(folder: &Path) -> Result<(), crate::Error> {
    // Earlier versions kept an index, too.
    for part in [CONTENT, TEMPORARY, "index-v5"] {
        match std::fs::remove_dir_all(folder.join(part)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let message = format!("can't clear the cache `{}`", folder.display());
                let error = crate::Error::new(crate::ErrorKind::Configuration, message)
                    .with_source(error.to_string());
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
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

struct CachedFile {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

fn entries(folder: &Path) -> Vec<CachedFile> {
    let mut out = Vec::new();
    let mut folders = vec![folder.join(CONTENT)];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = std::fs::read_dir(folder) else { continue };
        for entry in listing.flatten() {
            // Links aren't followed: files elsewhere aren't the cache's to count or to remove.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.is_file() {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                out.push(CachedFile { path: entry.path(), size: metadata.len(), used });
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

    fn read_within(cache: &Cache, expected: &str, cap: u64) -> Option<Vec<u8>> {
        cache.read(expected, cap, |mut file, size| {
            let mut content = Vec::new();
            file.read_to_end(&mut content).map_err(|error| error.to_string())?;
            assert_eq!(content.len() as u64, size);
            if digest(&content) == expected { Ok(content) } else { Err("altered".to_owned()) }
        })
    }

    fn read(cache: &Cache, digest: &str) -> Option<Vec<u8>> {
        read_within(cache, digest, 1 << 20)
    }

    fn write(cache: &Arc<Cache>, content: &[u8]) {
        if let Some(mut entry) = Arc::clone(cache).create(content.len() as u64) {
            content.chunks(300).for_each(|chunk| entry.write(chunk));
            entry.keep(&digest(content));
        }
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
        let cache = Arc::new(Cache::new(folder.path().join("artifacts"), 1 << 20));
        let digest = digest(b"content");
        assert_eq!(read(&cache, &digest), None);
        write(&cache, b"content");
        assert_eq!(read(&cache, &digest).unwrap(), b"content");
        assert!(read_within(&cache, &digest, 3).is_none(), "beyond what is allowed");
        Arc::clone(&cache).create(7).unwrap().write(b"altered");
        let left = std::fs::read_dir(folder.path().join("artifacts/tmp")).unwrap().count();
        assert_eq!(left, 0, "what isn't kept is removed");
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
        let cache = Arc::new(Cache::new(folder.path().to_owned(), 10_000));
        for index in 0..50_u8 {
            write(&cache, &[index; 1000]);
            let total: u64 = entries(folder.path()).iter().map(|e| e.size).sum();
            assert!(total <= 10_000, "{total}");
        }
        assert!(read(&cache, &digest(&[49; 1000])).is_some(), "the newest is kept");
        write(&cache, &[50; 5001]);
        assert!(read(&cache, &digest(&[50; 5001])).is_none(), "half of the bound is too much");
    }

    #[test]
    fn a_folder_that_cannot_be_written_does_not_fail() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let cache = Arc::new(Cache::new(file, 10_000));
        write(&cache, b"content");
        assert_eq!(read(&cache, &digest(b"content")), None);
    }
}
