//! Package URLs, normalized.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// The types with case-insensitive namespaces. These lists are from the definitions of types in
/// `package-url/purl-spec` (`types/*.json`, commit 16f3d0e of 2026-08-21), and from its list of candidates for
/// `gitlab`.
const LOWER_NAMESPACE: [&str; 14] = [
    "alpm",
    "apk",
    "bitbucket",
    "brew",
    "composer",
    "deb",
    "github",
    "gitlab",
    "hex",
    "luarocks",
    "qpkg",
    "rpm",
    "vscode-extension",
    "yocto",
];

/// The types with case-insensitive names.
const LOWER_NAME: [&str; 17] = [
    "alpm",
    "apk",
    "bitbucket",
    "bitnami",
    "brew",
    "chrome-extension",
    "composer",
    "deb",
    "github",
    "gitlab",
    "hex",
    "luarocks",
    "oci",
    "otp",
    "pub",
    "pypi",
    "vscode-extension",
];

/// The types with case-insensitive versions.
const LOWER_VERSION: [&str; 4] = ["huggingface", "oci", "pypi", "vscode-extension"];

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
        if LOWER_NAMESPACE.contains(&kind.as_str()) {
            namespace = namespace.to_lowercase();
        }
        if LOWER_NAME.contains(&kind.as_str()) {
            name = name.to_lowercase();
        }
        if LOWER_VERSION.contains(&kind.as_str()) {
            version = version.map(|version| version.to_lowercase());
        }
        match kind.as_str() {
            "pypi" | "hackage" => name = name.replace('_', "-"),
            "pub" => name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"),
            "cpan" => namespace = namespace.to_uppercase(),
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

    /// The spellings of components are those of packageurl-python 0.17.6 (`PackageURL.from_string(…).to_string()`), and
    /// those of types as in `package-url/purl-spec`, `types/*.json`, commit 16f3d0e.
    #[test]
    fn spellings_of_a_package_are_equal() {
        let parse = |text: &str| Purl::parse(text).unwrap();
        for (a, b) in [
            ("pkg:npm/%40a/b@1", "pkg:npm/@a/b@1"),
            ("pkg:npm/@a/b", "pkg:NPM/%40a/b"),
            ("pkg://npm/a@1", "pkg:npm/a@1"),
            ("pkg:pypi/My_Pack@1", "pkg:pypi/my-pack@1"),
            ("pkg:github/Acme/App@v1", "pkg:github/acme/app@v1"),
            ("pkg:deb/debian/x@1?b=2&a=1", "pkg:deb/debian/x@1?A=1&b=2&c="),
            ("pkg:deb/debian/x@1%2B2", "pkg:deb/debian/x@1+2"),
            ("pkg:oci/app@sha256:AB", "pkg:oci/app@sha256%3Aab"),
            ("pkg:golang/a/b@1#./c//d", "pkg:golang/a/b@1#c/d"),
            ("pkg:deb/Debian/Curl@1", "pkg:deb/debian/curl@1"),
            ("pkg:rpm/Fedora/curl@1", "pkg:rpm/fedora/curl@1"),
            ("pkg:yocto/Core/x@1", "pkg:yocto/core/x@1"),
            ("pkg:brew/Homebrew/Core/X@1", "pkg:brew/homebrew/core/x@1"),
            ("pkg:vscode-extension/MS/Go@1-A", "pkg:vscode-extension/ms/go@1-a"),
            ("pkg:chrome-extension/Ab@1", "pkg:chrome-extension/ab@1"),
            ("pkg:otp/Cowboy@1", "pkg:otp/cowboy@1"),
            ("pkg:cpan/gdt/URI@1", "pkg:cpan/GDT/URI@1"),
            ("pkg:pub/A-b.c@1", "pkg:pub/a_b_c@1"),
            ("pkg:pypi/a@1.0RC1", "pkg:pypi/a@1.0rc1"),
            ("pkg:qpkg/BlackBerry/x@1", "pkg:qpkg/blackberry/x@1"),
        ] {
            assert_eq!(parse(a), parse(b), "{a} {b}");
        }
        for (a, b) in [
            ("pkg:maven/A/b@1", "pkg:maven/a/b@1"),
            ("pkg:npm/a@1", "pkg:npm/a"),
            ("pkg:npm/a@1", "pkg:npm/a@1?x=y"),
            ("pkg:npm/a@1A", "pkg:npm/a@1a"),
            ("pkg:npm/A@1", "pkg:npm/a@1"),
            ("pkg:rpm/fedora/Curl@1", "pkg:rpm/fedora/curl@1"),
            ("pkg:deb/debian/curl@1A", "pkg:deb/debian/curl@1a"),
            ("pkg:yocto/core/X@1", "pkg:yocto/core/x@1"),
            ("pkg:cpan/GDT/uri@1", "pkg:cpan/GDT/URI@1"),
            ("pkg:golang/A/b@1", "pkg:golang/a/b@1"),
            ("pkg:nuget/A@1", "pkg:nuget/a@1"),
            ("pkg:docker/A@1", "pkg:docker/a@1"),
            ("pkg:golang/a/b@1", "pkg:golang/a/b@1#c"),
        ] {
            assert_ne!(parse(a), parse(b), "{a} {b}");
        }
        assert_eq!(Purl::parse("https://example.com/a"), None);
        assert_eq!(Purl::parse("pkg:npm"), None);
    }
}
