//! The exit status of the command, which a report states for its run.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// The exit status of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Exit {
    /// 0: done, and passed.
    Passed,
    /// 1: the verdict is negative.
    Failed,
    /// 2: an error prevented a verdict.
    NoVerdict,
}

impl Exit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NoVerdict => 2,
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        exit.code()
    }
}

impl TryFrom<u8> for Exit {
    type Error = String;

    fn try_from(code: u8) -> Result<Self, String> {
        [Self::Passed, Self::Failed, Self::NoVerdict]
            .into_iter()
            .find(|exit| exit.code() == code)
            .ok_or_else(|| format!("unknown exit status of the gate: {code}"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
