//! References of images, as registries' clients read them.

/// The registry of references without one.
const DEFAULT_REGISTRY: &str = "index.docker.io";

/// Returns the repository of a reference with its registry: `index.docker.io/library/web` for `web:1`, and
/// `None` for what isn't a reference.
pub(crate) fn repository(reference: &str) -> Option<String> {
    let (base, _) = reference.split_once('@').unwrap_or((reference, ""));
    let (base, tag) = match base.rsplit_once(':') {
        Some((base, tag)) if !tag.contains('/') => (base, Some(tag)),
        _ => (base, None),
    };
    let is_tag = |tag: &str| {
        let is_known = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        (1..=128).contains(&tag.len()) && tag.chars().all(is_known)
    };
    let has_registry =
        |(first, _): &(&str, &str)| first.contains(['.', ':']) || *first == "localhost";
    let (registry, path) =
        base.split_once('/').filter(has_registry).unwrap_or((DEFAULT_REGISTRY, base));
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c);
    if !tag.is_none_or(is_tag) || !(2..=255).contains(&path.len()) || !path.chars().all(is_known) {
        return None;
    }
    let registry = if registry == "docker.io" { DEFAULT_REGISTRY } else { registry };
    let folder = if registry == DEFAULT_REGISTRY && !path.contains('/') { "library/" } else { "" };
    Some(format!("{registry}/{folder}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_have_a_repository() {
        for (reference, expected) in [
            ("web", Some("index.docker.io/library/web")),
            ("docker.io/a/web:1", Some("index.docker.io/a/web")),
            ("ghcr.io/a/web@sha256:00", Some("ghcr.io/a/web")),
            ("localhost:5000/web:1", Some("localhost:5000/web")),
            ("Web", None),
            ("w", None),
            ("a web", None),
            ("web:", None),
        ] {
            assert_eq!(repository(reference).as_deref(), expected, "{reference}");
        }
    }
}
