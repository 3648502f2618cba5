//! Addresses of sources, each with a single spelling.

use std::fmt;

use rego_platform_client::Error;
use rego_platform_client::http::origin::is_loopback;
use rego_platform_client::text::escape;
use url::Url;

use crate::artifact::is_inside;
use crate::digest::Digest;

/// The address of a source. It is shown in the one form in which a lock has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Address {
    /// `oci://REGISTRY/REPOSITORY[:TAG][@DIGEST]`
    Registry(Reference),
    /// `https://HOST/….tar.gz`
    Archive(Archive),
    /// `git+https://HOST/REPOSITORY[//FOLDER][?ref=REF]`, `git+file://…`
    Repository(Repository),
}

/// A manifest in a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// `host` or `host:port`.
    registry: String,
    plain_http: bool,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A bundle at a web server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Archive(Url);

/// A folder of a git repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    url: Url,
    /// Names joined by `/`; empty for the whole repository.
    folder: String,
    /// A branch, a tag or a commit.
    reference: Option<String>,
    commit: Option<Digest>,
}

const REGISTRY: &str = "oci://";
/// The same over plain HTTP.
const PLAIN_REGISTRY: &str = "oci+http://";
const ARCHIVE: &str = "https://";
/// The prefix of a repository's address.
const GIT: &str = "git+";
const REFERENCE: &str = "?ref=";

/// The hint about addresses in registries.
const FORM: &str = "write `oci://REGISTRY/REPOSITORY`, followed by `:TAG` or `@sha256:DIGEST`";

/// The longest name of a repository and of a tag.
const MAX_REPOSITORY: usize = 255;
const MAX_TAG: usize = 128;

/// The name of Docker Hub in image names, which differs from its registry's host.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_HOST: &str = "registry-1.docker.io";
/// The name in the references that container tools write.
const DOCKER_HUB_NAME: &str = "index.docker.io";

impl Address {
    /// Parses the address of a source; `None` for strings without one of the prefixes `oci://`,
    /// `oci+http://`, `https://`, `git+https://` and `git+file://`, such as paths.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform_client::ErrorKind::Configuration) for an address that isn't valid, or holds a secret.
    pub fn parse(text: &str) -> Option<Result<Self, Error>> {
        if let Some(rest) = text.strip_prefix(REGISTRY) {
            return Some(Reference::parse(text, rest, false).map(Self::Registry));
        }
        if let Some(rest) = text.strip_prefix(PLAIN_REGISTRY) {
            return Some(Reference::parse(text, rest, true).map(Self::Registry));
        }
        if let Some(rest) = text.strip_prefix(GIT)
            && ["https://", "file://"].iter().any(|scheme| rest.starts_with(scheme))
        {
            return Some(Repository::parse(text, rest).map(Self::Repository));
        }
        text.starts_with(ARCHIVE).then(|| Archive::parse(text).map(Self::Archive))
    }

    /// Returns the digest in the address.
    pub fn digest(&self) -> Option<&Digest> {
        match self {
            Self::Registry(reference) => reference.digest.as_ref(),
            Self::Archive(_) => None,
            Self::Repository(repository) => repository.commit(),
        }
    }

    /// Returns a relative path for its content.
    pub fn folder(&self) -> String {
        let (place, version) = match self {
            Self::Registry(reference) => {
                let version = match (&reference.tag, &reference.digest) {
                    (Some(tag), _) => tag.clone(),
                    (None, digest) => digest.as_ref().map(ToString::to_string).unwrap_or_default(),
                };
                (format!("{}/{}", reference.registry, reference.repository), format!("@{version}"))
            }
            Self::Archive(Archive(url)) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                let host = url.host_str().unwrap_or_default();
                (format!("{host}{port}{}", url.path()), String::new())
            }
            Self::Repository(Repository { url, folder, reference, .. }) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                let host = url.host_str().unwrap_or("file");
                let reference = reference.as_deref().unwrap_or(HEAD).replace('/', "_");
                let below = if folder.is_empty() { String::new() } else { format!("/{folder}") };
                (format!("{host}{port}{}{below}", url.path()), format!("@{reference}"))
            }
        };
        // Neither character is one of file names everywhere.
        format!("{place}{version}").replace([':', '%'], "_")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => reference.fmt(f),
            Self::Archive(Archive(url)) => f.write_str(url.as_str()),
            Self::Repository(repository) => repository.fmt(f),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{GIT}{}", self.url)?;
        if !self.folder.is_empty() {
            write!(f, "//{}", self.folder)?;
        }
        match &self.reference {
            Some(reference) => write!(f, "{REFERENCE}{reference}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.plain_http { PLAIN_REGISTRY } else { REGISTRY };
        write!(f, "{scheme}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

impl Reference {
    fn parse(text: &str, rest: &str, plain_http: bool) -> Result<Self, Error> {
        let (registry, name) = rest.split_once('/').unwrap_or((rest, ""));
        let origin = Url::parse(&format!("https://{registry}/"))
            .map_err(|_| not_an_address(text).with_hint(FORM))?;
        refuse_secrets(&origin)?;
        let broken = |what: &str| not_an_address(text).with_hint(format!("{what}: {FORM}"));
        let port = origin.port().map(|port| format!(":{port}")).unwrap_or_default();
        let host = origin.host_str().unwrap_or_default();
        if origin.path() != "/" || origin.query().is_some() || registry.contains(['\\', '#', '?']) {
            return Err(broken("invalid registry"));
        }
        let (name, digest) = match name.split_once('@') {
            Some((name, digest)) => {
                let digest = Digest::parse(digest).ok_or_else(|| broken("invalid digest"))?;
                (name, Some(digest))
            }
            None => (name, None),
        };
        let (name, tag) = match name.split_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (name, None),
        };
        if !is_repository(name) {
            return Err(broken("invalid repository"));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(broken("invalid tag"));
        }
        let tag = tag.or_else(|| digest.is_none().then_some("latest"));
        Ok(Self {
            registry: format!("{host}{port}"),
            plain_http: plain_http && !is_loopback(&origin),
            repository: name.to_owned(),
            tag: tag.map(str::to_owned),
            digest,
        })
    }

    /// Parses the name of an image, `REGISTRY/REPOSITORY[:TAG][@DIGEST]`, with or without `oci://` or
    /// `oci+http://` before it.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform_client::ErrorKind::Configuration) for any other text.
    pub fn of_image(text: &str) -> Result<Self, Error> {
        match Address::parse(text) {
            None => Self::parse(text, text, false),
            Some(Ok(Address::Registry(reference))) => Ok(reference),
            Some(Ok(_)) => Err(not_an_address(text).with_hint(FORM)),
            Some(Err(error)) => Err(error),
        }
    }

    /// The registry's host, with a port other than the default.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name of the repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag; `None` for a reference with a digest, which takes precedence.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref().filter(|_| self.digest.is_none())
    }

    /// Returns the repository's full name in container tools, such as `index.docker.io/library/alpine`.
    pub fn full_name(&self) -> String {
        let registry =
            if self.registry == DOCKER_HUB { DOCKER_HUB_NAME } else { self.registry.as_str() };
        format!("{registry}/{}", self.repository)
    }

    /// Returns the manifest's name in the registry: the digest, or else the tag.
    pub(crate) fn manifest(&self) -> &str {
        let digest = self.digest.as_ref().map(Digest::as_str);
        digest.or(self.tag.as_deref()).unwrap_or_default()
    }

    /// Returns `true` for the name of its repository as container tools write it, which may have a tag.
    pub fn is_named(&self, name: &str) -> bool {
        // These tools have another name for Docker Hub.
        let hub = |registry: &str| registry == DOCKER_HUB || registry == DOCKER_HUB_NAME;
        Self::of_image(name).is_ok_and(|own| {
            let is_there =
                own.registry == self.registry || hub(&own.registry) && hub(&self.registry);
            is_there && own.repository == self.repository
        })
    }

    /// Returns the same manifest by its digest.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), tag: None, ..self.clone() }
    }

    /// The address of the registry's interface. It has TLS, unless the registry is on this machine or
    /// the reference says otherwise.
    pub(crate) fn origin(&self) -> Result<Url, Error> {
        let host = if self.registry == DOCKER_HUB { DOCKER_HUB_HOST } else { &self.registry };
        let parse = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/v2/"))
                .map_err(|_| not_an_address(&self.to_string()))
        };
        let secure = parse("https")?;
        if self.plain_http || is_loopback(&secure) { parse("http") } else { Ok(secure) }
    }

    /// The name of the registry in Docker's configuration.
    pub(crate) fn in_docker_configuration(&self) -> &str {
        if self.registry == DOCKER_HUB { "https://index.docker.io/v1/" } else { &self.registry }
    }
}

impl Archive {
    fn parse(text: &str) -> Result<Self, Error> {
        let url = Url::parse(text).map_err(|_| not_an_address(text))?;
        refuse_secrets(&url)?;
        let name = url.path().to_ascii_lowercase();
        if ![".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending)) {
            return Err(not_an_address(text)
                .with_hint("write the address of a bundle that ends in `.tar.gz`"));
        }
        Ok(Self(url))
    }

    pub(crate) const fn url(&self) -> &Url {
        &self.0
    }
}

/// The default branch of a repository.
const HEAD: &str = "HEAD";

impl Repository {
    fn parse(text: &str, rest: &str) -> Result<Self, Error> {
        let broken = || {
            not_an_address(text).with_hint(
                "write `git+https://HOST/REPOSITORY`, followed by `//FOLDER` and `?ref=REF`",
            )
        };
        let (place, reference) = match rest.split_once(REFERENCE) {
            Some((place, reference)) => (place, Some(reference)),
            None => (rest, None),
        };
        let mut url = Url::parse(place).map_err(|_| broken())?;
        refuse_secrets(&url)?;
        let path = url.path().to_owned();
        let (own, folder) = path.split_once("//").unwrap_or((&path, ""));
        let is_host = url.has_host() == (url.scheme() == "https");
        let is_folder = folder.is_empty() || is_inside(folder);
        if !is_host || own.len() < 2 || own.ends_with('/') || path.contains('%') || !is_folder {
            return Err(broken());
        }
        if reference.is_some_and(|reference| !is_reference(reference)) {
            return Err(broken());
        }
        url.set_path(own);
        Ok(Self {
            url,
            folder: folder.to_owned(),
            reference: reference.map(str::to_owned),
            commit: reference.and_then(Digest::of_commit),
        })
    }

    /// The address of the repository.
    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    /// The folder within it.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// The branch, tag or commit.
    pub(crate) fn reference(&self) -> &str {
        self.reference.as_deref().unwrap_or(HEAD)
    }

    /// The commit, if the address has one.
    pub(crate) const fn commit(&self) -> Option<&Digest> {
        self.commit.as_ref()
    }
}

/// Returns `true` for an unambiguous name of a branch or tag.
fn is_reference(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']);
    name.len() <= MAX_REPOSITORY
        && name.bytes().all(is_known)
        && name.split('/').all(is_part)
        && !name.contains("..")
}

/// Refuses secrets in an address, which would appear in logs and in the lock file.
fn refuse_secrets(url: &Url) -> Result<(), Error> {
    if url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
    {
        return Ok(());
    }
    let message = "unsupported user, query or fragment in the address of a source";
    Err(Error::configuration(message.to_owned())
        .with_hint("remove this part, and store credentials with `docker login`"))
}

fn not_an_address(text: &str) -> Error {
    // What follows an `@` may be meant as a host, and what is before it as a password.
    let shown =
        if text.contains('@') { "the text".to_owned() } else { format!("`{}`", escape(text)) };
    Error::configuration(format!("invalid address of a source: {shown}"))
}

/// Returns `true` for names in lowercase that are joined by `/`: within them, one `.`, one or two `_` or any
/// number of `-` separate letters and digits.
fn is_repository(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let separators = part.split(|c: char| c.is_ascii() && is_word(c as u8));
        let between: Vec<&str> = separators.collect();
        let is_separator = |text: &&str| {
            matches!(*text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-')
        };
        between.len() > 1
            && between.iter().all(is_separator)
            && between.first().is_some_and(|text| text.is_empty())
            && between.last().is_some_and(|text| text.is_empty())
    };
    name.len() <= MAX_REPOSITORY && name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shown(text: &str) -> String {
        match Address::parse(text) {
            Some(Ok(address)) => address.to_string(),
            Some(Err(error)) => format!("error: {}", error.report()),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn an_address_has_one_form() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (text, form) in [
            ("oci://R.Example/a/b-c", "oci://r.example/a/b-c:latest"),
            ("oci://r.example:443/a:V1", "oci://r.example/a:V1"),
            ("oci+http://r.example/a:1", "oci+http://r.example/a:1"),
            ("oci+http://127.0.0.1:5000/a:1", "oci://127.0.0.1:5000/a:1"),
            ("https://R.example/x/b.tar.gz", "https://r.example/x/b.tar.gz"),
            ("git+https://R.example/a/b.git", "git+https://r.example/a/b.git"),
            ("git+https://r.example/a//", "git+https://r.example/a"),
            ("git+https://r.example/a//b/c?ref=v1/x", "git+https://r.example/a//b/c?ref=v1/x"),
            ("git+file:///srv/a.git//b", "git+file:///srv/a.git//b"),
            ("git+ssh://r.example/a", "none"),
            ("policies/a.rego", "none"),
            ("file:///a", "none"),
        ] {
            assert_eq!(shown(text), form);
        }
        let by_digest = format!("oci://r.example/a@{digest}");
        assert_eq!(shown(&by_digest), by_digest);
        let both = format!("oci://r.example/a:v1@{digest}");
        assert_eq!(shown(&both), both);
    }

    #[test]
    fn what_is_no_address_is_refused_and_no_secret_repeated() {
        for text in [
            "oci://",
            "oci://r.example",
            "oci://r.example/",
            "oci://r.example/A",
            "oci://r.example/a//b",
            "oci://r.example/../a",
            "oci://r.example/a_.b",
            "oci://r.example/-a",
            "oci://r.example/a:",
            "oci://r.example/a:-x",
            "oci://r.example/a@sha256:00",
            "oci://r.example/a@sha512:00",
            "oci://r.example?x/a",
            "oci://u:canary@r.example/a",
            "oci://canary@r.example/a:v1",
            "https://u:canary@r.example/b.tar.gz",
            "https://r.example/b.tar.gz?token=canary",
            "https://r.example/b.zip",
            "git+https://",
            "git+https://r.example",
            "git+https://r.example/",
            "git+https://u:canary@r.example/a",
            "git+https://r.example/a?token=canary",
            "git+https://r.example/a?ref=",
            "git+https://r.example/a?ref=-x",
            "git+https://r.example/a?ref=a:b",
            "git+https://r.example/a?ref=+a",
            "git+https://r.example/a?ref=a..b",
            "git+https://r.example/a?ref=a^{/x}",
            "git+https://r.example/a//b//c",
            "git+https://r.example/a//b%2fc",
            "git+https://r.example/a\"//b",
            "git+file://host/a",
            "git+file://",
        ] {
            let shown = shown(text);
            assert!(shown.starts_with("error: ") && !shown.contains("canary"), "{text}: {shown}");
        }
    }

    #[test]
    fn tls_is_left_out_on_loopback_and_by_its_scheme_alone() {
        for (text, origin) in [
            ("oci://r.example/a", "https://r.example/v2/"),
            ("oci://docker.io/a/b", "https://registry-1.docker.io/v2/"),
            ("oci://localhost:5000/a", "http://localhost:5000/v2/"),
            ("oci://[::1]:5000/a", "http://[::1]:5000/v2/"),
            ("oci://127.0.0.1.example/a", "https://127.0.0.1.example/v2/"),
            ("oci+http://r.example:5000/a", "http://r.example:5000/v2/"),
        ] {
            match Address::parse(text).unwrap().unwrap() {
                Address::Registry(reference) => {
                    assert_eq!(reference.origin().unwrap().as_str(), origin);
                }
                _ => unreachable!(),
            }
        }
    }
}
