//! Files, values and folders as candidates for materials.

use std::path::Path;

/// A file, a value or a folder as a candidate for a material.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct File<'a> {
    /// The file's name, without its folders.
    pub name: &'a str,
    /// The bytes; none of a folder.
    pub bytes: &'a [u8],
    /// The path of a folder, such as an image layout.
    pub folder: Option<&'a Path>,
}

impl<'a> File<'a> {
    /// Creates a file from its name and bytes.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, folder: None }
    }

    /// Creates a folder from its name and path.
    pub fn folder(name: &'a str, path: &'a Path) -> Self {
        Self { name, bytes: &[], folder: Some(path) }
    }
}
