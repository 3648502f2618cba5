//! `CHAINLOOP_*`: information about a run, collected by the vendor's client.

use super::{missing, typed};
use crate::file::File;
use crate::json::Json;
use crate::material::{Material, NotOfKind};
use crate::types::Types;

pub(super) const TYPES: &str = include_str!("../types/platform.txt");

const ACCOUNTS: &[&str] = &["User", "Bot", "unknown"];
const REVIEWS: &[&str] =
    &["", "APPROVED", "CHANGES_REQUESTED", "COMMENTED", "DISMISSED", "PENDING"];
const FILES: &[&str] = &["configuration", "instruction", "skill", "agent"];

/// Reads the context of a runner.
pub(crate) fn read_runner_context(file: &File<'_>) -> Result<Material, NotOfKind> {
    typed(file, TYPES, "RunnerContext").map(|(_, material)| material)
}

/// Reads the description of a pull request. Its author is a name or an account.
pub(crate) fn read_pull_request(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "PullRequest")?;
    let Some(data) = document.root().member("data") else { return Err(missing("data")) };
    one_of(data, "platform", &["github", "gitlab"])?;
    one_of(data, "type", &["pull_request", "merge_request"])?;
    if !is_url(&data.text_at(&["url"])) {
        return Err(NotOfKind::new("invalid `url`: expected an absolute URL"));
    }
    if let Some(author) =
        data.member("author").filter(|author| !author.is_null() && !author.is_text())
    {
        Types::new(TYPES).check(author, "Author")?;
        one_of(author, "type", ACCOUNTS)?;
    }
    for reviewer in data.elements_at(&["reviewers"]) {
        one_of(reviewer, "type", ACCOUNTS)?;
        one_of(reviewer, "review_status", REVIEWS)?;
    }
    Ok(material)
}

/// Reads the configuration of a coding agent.
pub(crate) fn read_agent_config(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "object")?;
    let data = data(document.root(), "AgentConfig")?;
    for file in data.elements_at(&["config_files"]) {
        one_of(file, "kind", FILES)?;
    }
    Ok(material.annotate_text("aiagent.name", &data.text_at(&["agent", "name"])))
}

/// Reads the record of an agent's session.
pub(crate) fn read_coding_session(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, TYPES, "object")?;
    let data = data(document.root(), "CodingSession")?;
    let material = material.annotate_text("aiagent.name", &data.text_at(&["agent", "name"]));
    Ok(material.annotate_text("aiagent.model", &data.text_at(&["model", "primary"])))
}

/// Returns the member `data`, which is of a type.
fn data<'a>(document: Json<'a>, of: &str) -> Result<Json<'a>, NotOfKind> {
    let Some(data) = document.member("data") else { return Err(missing("data")) };
    Types::new(TYPES).check(data, of)?;
    Ok(data)
}

/// Checks that a member is one of some texts.
fn one_of(value: Json<'_>, name: &str, expected: &[&str]) -> Result<(), NotOfKind> {
    let text = value.text_at(&[name]);
    if expected.contains(&text.as_str()) {
        return Ok(());
    }
    let expected =
        expected.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(", ");
    Err(NotOfKind::new(format!("unexpected `{name}`: expected one of {expected}, found `{text}`")))
}

/// Returns `true` for a URL with a scheme, without control characters and broken escapes.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let host = rest
        .strip_prefix("//")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    let is_escaped =
        |rest: &str| rest.get(..2).is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    is_scheme
        && !text.chars().any(|c| c.is_ascii_control())
        && !host.contains([' ', '<', '>', '"'])
        && rest.split('%').skip(1).all(is_escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme() {
        for (text, expected) in [
            ("https://h.example/7", true),
            ("urn:x", true),
            ("x y", false),
            ("", false),
            ("/a:b", false),
            ("https://h h/", false),
            ("https://h/%zz", false),
            ("1http://h", false),
        ] {
            assert_eq!(is_url(text), expected, "{text}");
        }
    }
}
