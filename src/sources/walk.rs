//! Walking folders.
//!
//! Owns the order of a folder's entries, and the refusal of loops of links and of deep nesting. What an entry
//! means belongs to whoever walks.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

/// The deepest nesting of folders.
pub const MAX_FOLDERS: usize = 64;

/// The folders that are being walked.
#[derive(Debug, Default)]
pub struct Walk {
    /// The canonical paths of the open folders.
    open: Vec<PathBuf>,
}

/// The reason why a folder isn't walked.
#[derive(Debug)]
pub enum NotWalked {
    /// The folder, or one of its entries, can't be read.
    Unreadable(io::Error),
    /// The folder is within itself, or nested too deeply.
    Loop,
}

impl NotWalked {
    /// The message of [`NotWalked::Loop`], after the folder's path.
    pub const LOOP: &str = "is a folder within itself, through a link, or nested too deeply";
}

impl From<io::Error> for NotWalked {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl Walk {
    /// Enters a folder and returns its entries, sorted by name. [`Self::leave`] ends its walk.
    ///
    /// # Errors
    /// [`NotWalked`]: then there is nothing to leave.
    pub fn enter(&mut self, folder: &Path) -> Result<Vec<DirEntry>, NotWalked> {
        let real = std::fs::canonicalize(folder)?;
        if self.open.contains(&real) || self.open.len() >= MAX_FOLDERS {
            return Err(NotWalked::Loop);
        }
        let entries = entries(folder)?;
        self.open.push(real);
        Ok(entries)
    }

    /// Leaves the folder that was entered last.
    pub fn leave(&mut self) {
        self.open.pop();
    }
}

/// Returns a folder's entries, sorted by name.
///
/// # Errors
/// If it, or one of its entries, can't be read.
pub fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}
