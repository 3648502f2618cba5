//! Package URLs, normalized.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// The types with case-insensitive namespaces and names.
const LOWER: [&str; 10] =
    ["alpm", "apk", "bitbucket", "composer", "github", "gitlab", "hex", "luarocks", "pypi", "qpkg"];

/// The types with case-insensitive names only.
const LOWER_NAME: [&str; 4] = ["bitnami", "npm", "oci", "pub"];

/// A package URL. Equal ones are spellings of the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Purl {
    kind: String,
    namespace: String,
    name: String,
    version: Option<String>,
    qualifiers: BTreeMap<String, String>,
    subpath: String,
}

impl Purl {
    /// Parses a package URL; `None` for other strings.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(':')?;
        if !scheme.eq_ignore_ascii_case("pkg") {
            return None;
        }
        let (rest, subpath) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, qualifiers) = rest.split_once('?').unwrap_or((rest, ""));
        let (kind, path) = rest.trim_matches('/').split_once('/')?;
        let (namespace, last) = path.rsplit_once('/').unwrap_or(("", path));
        // The scope of a package may have an `@` that isn't encoded.
        let (name, version) = match last.rsplit_once('@') {
            Some((name, version)) if !name.is_empty() => (name, Some(version)),
            _ => (last, None),
        };
        let kind = kind.to_ascii_lowercase();
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let segments = |path: &str| {
            let all = path.split('/').filter(|segment| !matches!(*segment, "" | "." | ".."));
            all.map(decoded).collect::<Vec<_>>().join("/")
        };
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=')?;
            (!value.is_empty()).then(|| (key.to_ascii_lowercase(), decoded(value)))
        };
        let (mut namespace, mut name) = (segments(namespace), decoded(name));
        let mut version = version.map(decoded).filter(|version| !version.is_empty());
        let is_lower = LOWER.contains(&kind.as_str());
        if is_lower {
            namespace = namespace.to_lowercase();
        }
        if is_lower || LOWER_NAME.contains(&kind.as_str()) {
            name = name.to_lowercase();
        }
        match kind.as_str() {
            "pypi" | "hackage" => name = name.replace('_', "-"),
            "oci" | "huggingface" => version = version.map(|version| version.to_lowercase()),
            _ => {}
        }
        let qualifiers = qualifiers.split('&').filter_map(pair).collect();
        let subpath = segments(subpath);
        Some(Self { kind, namespace, name, version, qualifiers, subpath })
    }

    /// Returns `true` if both may be the same package, since no component contradicts.
    pub fn may_be(&self, other: &Self) -> bool {
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        let version = |own: &Self| {
            own.version.as_deref().map(|own| own.trim_start_matches('v').to_lowercase())
        };
        let versions = version(self).zip(version(other));
        let named = |own: &Self| own.name.replace('_', "-");
        self.kind == other.kind
            && same(&self.namespace, &other.namespace)
            && same(&named(self), &named(other))
            && versions.is_none_or(|(own, other)| own == other)
            && self.qualifiers.iter().all(|(key, value)| {
                other.qualifiers.get(key).is_none_or(|other| same(value, other))
            })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Which spellings are the same was taken from packageurl-python 0.17.6, by `PackageURL.from_string(…).to_string()`.
    #[test]
    fn spellings_of_a_package_are_equal() {
        let parse = |text: &str| Purl::parse(text).unwrap();
        for (a, b) in [
            ("pkg:npm/%40a/b@1", "pkg:npm/@a/b@1"),
            ("pkg:npm/@a/b", "pkg:NPM/%40a/b"),
            ("pkg:npm/A@1", "pkg:npm/a@1"),
            ("pkg://npm/a@1", "pkg:npm/a@1"),
            ("pkg:pypi/My_Pack@1", "pkg:pypi/my-pack@1"),
            ("pkg:github/Acme/App@v1", "pkg:github/acme/app@v1"),
            ("pkg:deb/debian/x@1?b=2&a=1", "pkg:deb/debian/x@1?A=1&b=2&c="),
            ("pkg:deb/debian/x@1%2B2", "pkg:deb/debian/x@1+2"),
            ("pkg:oci/app@sha256:AB", "pkg:oci/app@sha256%3Aab"),
            ("pkg:golang/a/b@1#./c//d", "pkg:golang/a/b@1#c/d"),
        ] {
            assert_eq!(parse(a), parse(b), "{a} {b}");
        }
        for (a, b) in [
            ("pkg:maven/A/b@1", "pkg:maven/a/b@1"),
            ("pkg:npm/a@1", "pkg:npm/a"),
            ("pkg:npm/a@1", "pkg:npm/a@1?x=y"),
            ("pkg:npm/a@1A", "pkg:npm/a@1a"),
            ("pkg:golang/a/b@1", "pkg:golang/a/b@1#c"),
        ] {
            assert_ne!(parse(a), parse(b), "{a} {b}");
        }
        assert_eq!(Purl::parse("https://example.com/a"), None);
        assert_eq!(Purl::parse("pkg:npm"), None);
    }
}
