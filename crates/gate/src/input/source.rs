//! Sources of inputs: files, pipes, streams, strings in memory, images and folders.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Cursor};
use std::path::PathBuf;

use bytes::Bytes;

use super::image::Image;
use super::parser::Parser;
use super::split::Stream;
use super::streams::{Deadline, TimedStream};

/// A source of inputs.
#[non_exhaustive]
pub enum InputSource {
    /// A regular file, read to its end.
    File(PathBuf),
    /// A file of unbounded length, such as a pipe.
    Pipe(PathBuf),
    /// A stream, such as standard input, with its name in reports.
    Stream(String, Box<dyn std::io::BufRead + Send>),
    /// A string in memory with its name in reports. It is JSON unless the run sets a parser.
    Document(String, Bytes),
    /// An image, with the artifacts attached in its registry.
    Image(Box<Image>),
    /// A folder that is one input: the layout of an image.
    Folder(PathBuf),
}

impl InputSource {
    /// Returns the name, as reports show it.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::File(path) | Self::Pipe(path) | Self::Folder(path) => path.to_string_lossy(),
            Self::Stream(name, _) | Self::Document(name, _) => name.into(),
            Self::Image(image) => (&image.name).into(),
        }
    }

    /// Returns the name of its file or stream; an image has none.
    pub(crate) fn file(&self) -> Option<Cow<'_, str>> {
        (!matches!(self, Self::Image(_))).then(|| self.name())
    }

    /// Returns the parser that its name determines.
    pub(super) fn parser(&self) -> Option<Parser> {
        match self {
            Self::File(path) | Self::Pipe(path) => Parser::of(path),
            Self::Document(..) => Some(Parser::Json),
            Self::Stream(..) | Self::Image(_) | Self::Folder(_) => None,
        }
    }

    /// Opens the source for reading. Reads of pipes and streams fail at the deadline.
    pub(super) fn open(self, deadline: &Deadline) -> io::Result<Stream> {
        let irregular = || io::Error::other("it isn't a regular file");
        let timed = |stream| Box::new(BufReader::new(stream)) as Stream;
        match self {
            Self::Stream(_, stream) => TimedStream::new(|| Ok(stream), deadline.clone()).map(timed),
            Self::Pipe(path) => {
                TimedStream::new(move || File::open(path), deadline.clone()).map(timed)
            }
            Self::Document(_, bytes) => Ok(Box::new(Cursor::new(bytes))),
            Self::File(path) => {
                // A file that was replaced by a pipe after it was found could block forever.
                if !std::fs::metadata(&path)?.is_file() {
                    return Err(irregular());
                }
                Ok(Box::new(BufReader::with_capacity(64 << 10, File::open(&path)?)))
            }
            Self::Folder(_) | Self::Image(_) => Err(irregular()),
        }
    }
}

impl std::fmt::Debug for InputSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Pipe(path) => f.debug_tuple("Pipe").field(path).finish(),
            Self::Stream(name, _) => f.debug_tuple("Stream").field(name).finish(),
            Self::Document(name, _) => f.debug_tuple("Document").field(name).finish(),
            Self::Image(image) => f.debug_tuple("Image").field(image).finish(),
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
        }
    }
}
