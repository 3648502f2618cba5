//! A call: what it costs, and its answer.

use rego::Value;

/// The cost of calling a function, beyond a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cost {
    /// One request or a few.
    Request,
    /// The bytes of an artifact.
    Content,
    /// Money: an AI model evaluates. Never sent twice, and never before it is certain to be needed.
    Prompt,
}

/// The answer to a call, as the policy sees it.
#[derive(Debug, Clone)]
pub struct Answer {
    pub value: Value,
    /// Set if the service had more than the author's `limit`.
    pub cut: bool,
    /// The number of times that a list was read again from its start, since it changed while it was read.
    pub rereads: u32,
    /// The form of content that was downloaded.
    pub form: Option<ContentForm>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, cut: false, rereads: 0, form: None }
    }
}

/// The form in which a policy is given content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContentForm {
    /// The content itself, which is UTF-8.
    Text,
    /// Base64, since the content isn't UTF-8.
    Base64,
}

impl ContentForm {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Base64 => "base64",
        }
    }
}
