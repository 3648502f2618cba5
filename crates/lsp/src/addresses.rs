//! The addresses of documents (URIs), in any spelling that an editor sends.
//!
//! Only `file:` addresses are files. A document with any other scheme, such as the committed text of a file (`git:`),
//! is none of the workspace's.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use lsp_types::Uri;
use serde_json::Value;
use url::Url;

/// Returns the path of a file's address; `None` for any other document.
pub(crate) fn path(uri: &Uri) -> Option<PathBuf> {
    // A query or fragment isn't a part of such an address: its sign is one of a name.
    let text = uri.as_str().replace('?', "%3F").replace('#', "%23");
    let url = Url::from_str(&text).ok()?;
    (url.scheme() == "file").then(|| url.to_file_path().ok())?
}

/// Returns the address of a file.
pub(crate) fn uri(path: &Path) -> Option<Uri> {
    Uri::from_str(&escaped(Url::from_file_path(path).ok()?.as_str())).ok()
}

/// Escapes the addresses in a message, so that they are what the standard (RFC 3986) takes.
pub(crate) fn escape(message: &mut Value) {
    match message {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "uri" || name.ends_with("Uri") => {
                        *text = escaped(text);
                    }
                    member => escape(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(escape),
        _ => {}
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        let is_escape = || {
            let digits = text.as_bytes().get(at + 1..at + 3);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        };
        let stays = match byte {
            b'%' => is_escape(),
            byte => byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'()*+,;=".contains(&byte),
        };
        if stays {
            out.push(char::from(byte));
        } else {
            // Writing to a string doesn't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn path_of(text: &str) -> Option<PathBuf> {
        let mut message = serde_json::json!({"textDocument": {"uri": text}});
        escape(&mut message);
        let uri = message.pointer("/textDocument/uri").unwrap().clone();
        path(&serde_json::from_value(uri).ok()?)
    }

    #[test]
    fn any_spelling_is_the_file() {
        let folder = "/home/me/teams [2]|^é%";
        let file = Path::new(folder).join("p.rego");
        let own = uri(&file).unwrap();
        assert_eq!(path(&own).as_ref(), Some(&file));
        for text in [
            own.as_str(),
            "file:///home/me/teams [2]|^é%25/p.rego",
            "file:///home/me/teams [2]|^é%/p.rego",
            "file:///home/me/teams%20%5b2%5D%7c%5E%C3%A9%25/p.rego",
            "FILE://localhost/home/me/teams [2]|^é%/./p.rego",
            "file:/home/me/teams [2]|^é%/p.rego",
        ] {
            assert_eq!(path_of(text).as_ref(), Some(&file), "{text}");
        }
    }

    #[test]
    fn other_documents_are_no_files() {
        for text in [
            "git:/p.rego?%7B%22ref%22%3A%22~%22%7D",
            "vscode-notebook-cell:/p.rego#W0",
            "fugitive:///p.rego",
            "untitled:Untitled-1",
            "untitled:/p.rego",
            "inmemory://model/p.rego",
        ] {
            assert_eq!(path_of(text), None, "{text}");
        }
        for text in ["file:///p.rego?ref", "file:///p.rego#1"] {
            assert_ne!(path_of(text), Some(PathBuf::from("/p.rego")), "{text}");
        }
    }
}
