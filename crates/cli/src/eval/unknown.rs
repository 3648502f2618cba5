//! Warnings about references of a query to rules and data that don't exist.
//!
//! Owns a warning. OPA answers such a query with undefined, and so does `eval`; but a misspelt
//! package or rule looks the same as one without violations. Only the query's text is examined: the
//! loader refuses what can't be evaluated.

use std::fmt::Write as _;

use rego_platform::check::{INPUT_FILE, SIGNERS, is_in};
use rego_platform::evaluate::Policies;
use rego_platform_client::text::{escape, nearest};

/// Returns a warning about the first reference below `data` that names neither a rule nor data.
pub(super) fn warning(policies: &Policies, query: &str) -> Option<String> {
    let path = references(query).into_iter().find(|path| !is_known(policies, path))?;
    let shown = format!("data.{}", path.join("."));
    let mut message = format!("`{}` doesn't exist, so it is undefined", escape(&shown));
    let known: Vec<String> = policies
        .packages()
        .flat_map(|package| &package.rules)
        .map(|rule| format!("data.{}", rule.path.join(".")))
        .collect();
    if let Some(near) = nearest(&shown, known.iter().map(String::as_str)) {
        let _ = write!(message, "; did you mean `{}`?", escape(near));
    } else if known.is_empty() && policies.data().is_empty() == Some(true) {
        message.push_str("; no policies or data are loaded: name them with `-d`");
    }
    Some(message)
}

/// Returns the paths of names after `data.`, up to the first part that isn't a name.
fn references(query: &str) -> Vec<Vec<&str>> {
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let starts = query.match_indices("data.").filter(|(at, _)| {
        let before = query.get(..*at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| is_name(c) || c == '.' || c == '"' || c == '`')
    });
    starts
        .filter_map(|(at, word)| {
            let rest = query.get(at + word.len()..)?;
            let end = rest.find(|c: char| !is_name(c) && c != '.').unwrap_or(rest.len());
            let path: Vec<&str> = rest.get(..end)?.split('.').collect();
            // `data.p.` followed by something other than a name isn't Rego.
            (!path.iter().any(|part| part.is_empty())).then_some(path)
        })
        .collect()
}

fn is_known(policies: &Policies, path: &[&str]) -> bool {
    let along = |other: &[String]| path.iter().zip(other).all(|(a, b)| a == b);
    path.starts_with(&INPUT_FILE)
        || path.starts_with(&SIGNERS)
        || policies.packages().any(|package| {
            along(&package.path)
                && (path.len() <= package.path.len()
                    || package.rules.iter().any(|rule| along(&rule.path)))
        })
        || is_in(policies.data(), path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rego_platform::load::LoadOptions;
    use rego_platform::rego::Value;
    use rego_platform::sources::{DataSource, ModuleSource, Sources};

    #[test]
    fn an_unknown_reference_is_named() {
        let text = "package a.b\n\ndeny contains \"x\"\n\nf(x) := x\n";
        let module = ModuleSource::new("a.rego", text);
        let value = Value::from_json(r#"{"d": {"e": [1]}}"#).unwrap();
        let data = DataSource::new("d.json", value);
        let sources = Sources::new([module], [data]);
        let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
        for known in [
            "data",
            "data.a",
            "data.a.b",
            "data.a.b.deny",
            "data.a.b.deny.x",
            "data.a.b.f(1)",
            "data.d.e[0]",
            "data.d.e.x",
            "count(data.a.b.deny)",
            "data.a[x]",
            "metadata.x",
            "input.data.x",
            "\"data.x\"",
            "data[\"x\"]",
        ] {
            assert_eq!(warning(&policies, known), None, "{known}");
        }
        for (query, expected) in [
            (
                "data.a.b.denny",
                "`data.a.b.denny` doesn't exist, so it is undefined; did you mean `data.a.b.deny`",
            ),
            ("count(data.a.c.deny) == 0", "did you mean `data.a.b.deny`"),
            ("not data.release", "`data.release`"),
            ("data.d.x", "`data.d.x`"),
        ] {
            let message = warning(&policies, query).unwrap();
            assert!(message.contains(expected), "{query}: {message}");
        }
    }
}
