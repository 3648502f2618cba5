//! Errors before the emulator serves: in its data set, its addresses, or the text of a fault.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rego::internal::text::{escape, shorten};

/// A failure of the emulator, or of the data that it is to serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder of the data set can't be read.
    #[error("the data set `{}` can't be read", shown(.path))]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// The data set isn't a folder.
    #[error("the data set `{}` isn't a folder", shown(.path))]
    NotAFolder {
        /// The path that was given.
        path: PathBuf,
    },
    /// The data set's files are invalid.
    #[error("{}", summary(.0))]
    Dataset(Vec<Problem>),
    /// An address can't be listened on.
    #[error("can't listen on `{address}`")]
    Listen {
        /// The address that is taken or not permitted.
        address: SocketAddr,
        /// The underlying error.
        source: io::Error,
    },
    /// A text isn't a fault.
    #[error("fault `{}`: {problem}", shorten(.text, 120))]
    Fault {
        /// The fault as it was written.
        text: String,
        /// The reason.
        problem: String,
    },
    /// The thread that serves can't be started.
    #[error("can't start the emulator")]
    Start(#[source] io::Error),
}

impl Error {
    /// Returns the next step, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } | Self::NotAFolder { .. } => {
                Some("name the folder of a data set")
            }
            Self::Listen { .. } => Some("choose another port, or 0 for any free one"),
            Self::Fault { .. } => Some(
                "write TARGET:WHAT[:OPTION]…, such as `discover:status=503:count=2`; WHAT is one of \
                 latency=200ms, status=503, cut=100, stall=100, wrong-bytes, reset; OPTION is one of \
                 count=2, after=1, method=GET, retry-after=1, header=NAME=VALUE, body=TEXT",
            ),
            Self::Dataset(_) | Self::Start(_) => None,
        }
    }
}

/// A problem of a data set, at a position in one of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// A stable name for this kind of problem, such as `dataset-reference`.
    pub code: &'static str,
    /// The message, a lowercase fragment.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// The file, below the folder as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The number of characters, at least 1.
    pub length: u32,
    /// The line's text, without its line break.
    pub text: Box<str>,
}

impl Problem {
    /// Sets the next step.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string())
}

/// A line for each problem.
fn summary(problems: &[Problem]) -> String {
    let line = |p: &Problem| format!("{}:{}:{}: {}", p.file, p.line, p.column, p.message);
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
