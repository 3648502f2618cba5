//! `uri.*`, and URLs as Go parses them.
//!
//! Owns the distinction between URLs and other text, and the components of URLs. The common crates
//! parse URLs as browsers do; here nothing is normalized, and relative references are URLs too.
//! Names in certificates, signed requests and `http.send` use it as well.

use std::borrow::Cow;
use std::net::IpAddr;

use super::operands::{answer, string};
use super::{Answer, Context, Error};
use crate::value::{Object, Value, lossy};

pub(super) fn parse(_: &dyn Context, args: &[Value]) -> Answer {
    let url = Url::parse(string(args, 0)?).map_err(Error::failed)?;
    let mut parts = Object::new();
    let mut add = |name: &str, part: &[u8]| {
        if !part.is_empty() {
            parts.insert(Value::from(name), Value::from(lossy(part)));
        }
    };
    add("scheme", url.scheme.as_bytes());
    add("hostname", url.hostname());
    add("port", url.port());
    add("path", &url.path);
    add("raw_path", if url.raw_path.is_empty() { &url.path } else { &url.raw_path });
    add("raw_query", url.raw_query.as_bytes());
    add("fragment", &url.fragment);
    answer(parts)
}

pub(super) fn is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    let valid = string(args, 0).is_ok_and(|text| !text.is_empty() && Url::parse(text).is_ok());
    answer(valid)
}

/// Returns `true` for a URL with a scheme and `false` for a relative one, as Go parses them; `None` for other text.
pub fn is_absolute_url(text: &str) -> Option<bool> {
    Url::parse(text).ok().map(|url| !url.scheme.is_empty())
}

/// The components of a URL. Decoded components are bytes, since they need not be UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Url {
    /// The scheme, in lowercase.
    pub scheme: String,
    /// Everything after the scheme, if no slash follows it.
    pub opaque: String,
    /// The user, and the password if there is one.
    pub user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// The host with its port.
    pub host: Vec<u8>,
    pub path: Vec<u8>,
    /// The path as written, if it differs from our encoding of it.
    pub raw_path: Vec<u8>,
    /// `true` if the URL ends in an empty query.
    pub force_query: bool,
    pub raw_query: String,
    pub fragment: Vec<u8>,
    pub raw_fragment: String,
    /// `true` if there is a scheme and a path, but no `//`.
    pub omit_host: bool,
}

/// The components that differ in which characters need escaping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Component {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

impl Component {
    /// Returns `true` if a byte must be escaped in this component.
    fn escapes(self, byte: u8) -> bool {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            return false;
        }
        let host = matches!(self, Self::Host | Self::Zone);
        if host && b"!$&'()*+,;=:[]<>\"".contains(&byte) {
            return false;
        }
        if b"$&+,/:;=?@".contains(&byte) {
            return match self {
                Self::Path => byte == b'?',
                Self::User => matches!(byte, b'@' | b'/' | b'?' | b':'),
                Self::Fragment => false,
                Self::Host | Self::Zone => true,
            };
        }
        !(self == Self::Fragment && b"!()*".contains(&byte))
    }

    fn escape(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        for byte in bytes {
            if self.escapes(*byte) {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                let digit = |value: u8| {
                    DIGITS.get(usize::from(value)).map_or('0', |digit| char::from(*digit))
                };
                text.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            } else {
                text.push(char::from(*byte));
            }
        }
        text
    }

    fn unescape(self, text: &str) -> Result<Vec<u8>, String> {
        let host = matches!(self, Self::Host | Self::Zone);
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            if *byte == b'%' {
                let digits = after.split_at_checked(2).and_then(|(digits, after)| {
                    rest = after;
                    hex(digits)
                });
                let escape = || {
                    let bad: Vec<u8> =
                        [b'%'].into_iter().chain(after.iter().copied().take(2)).collect();
                    format!("invalid URL escape {:?}", lossy(&bad))
                };
                let value = digits.ok_or_else(escape)?;
                let allowed = match self {
                    // Escapes in a host may stand only for non-ASCII bytes and `%`.
                    Self::Host => value >= 0x80 || value == b'%',
                    Self::Zone => value == b'%' || value == b' ' || !Self::Host.escapes(value),
                    _ => true,
                };
                if !allowed {
                    return Err(escape());
                }
                bytes.push(value);
            } else {
                if host && byte.is_ascii() && self.escapes(*byte) {
                    let bad = char::from(*byte).to_string();
                    return Err(format!("invalid character {bad:?} in host name"));
                }
                bytes.push(*byte);
            }
        }
        Ok(bytes)
    }
}

fn hex(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())?;
        Some(value << 4 | digit)
    })
}

impl Url {
    /// Parses a URL or a relative reference.
    ///
    /// # Errors
    /// Returns a description of the problem.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let failed = |what: &str, error: String| format!("parse {what:?}: {error}");
        let mut url = Self::without_fragment(before).map_err(|error| failed(before, error))?;
        if !fragment.is_empty() {
            url.fragment =
                Component::Fragment.unescape(fragment).map_err(|error| failed(text, error))?;
            if Component::Fragment.escape(&url.fragment) != fragment {
                url.raw_fragment = fragment.to_owned();
            }
        }
        Ok(url)
    }

    fn without_fragment(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = rest.strip_suffix('?').unwrap_or(rest);
        } else if let Some((before, query)) = rest.split_once('?') {
            rest = before;
            query.clone_into(&mut url.raw_query);
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        match rest.strip_prefix("//") {
            Some(authority) if !url.scheme.is_empty() || !rest.starts_with("///") => {
                let end = authority.find('/').unwrap_or(authority.len());
                let (authority, path) = authority.split_at(end);
                url.authority(authority)?;
                rest = path;
            }
            _ => url.omit_host = !url.scheme.is_empty() && rest.starts_with('/'),
        }
        url.set_path(rest)?;
        Ok(url)
    }

    fn set_path(&mut self, path: &str) -> Result<(), String> {
        self.path = Component::Path.unescape(path)?;
        self.raw_path.clear();
        if Component::Path.escape(&self.path) != path {
            self.raw_path = path.as_bytes().to_vec();
        }
        Ok(())
    }

    /// Resolves a reference against this URL (RFC 3986, section 5.2).
    pub(super) fn resolve(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        let nothing = |url: &mut Self| {
            url.user = None;
            url.host.clear();
            url.path.clear();
        };
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            let path = resolve_path(&reference.escaped_path(), "");
            // Both paths come from parsed URLs, so the result is valid.
            let _ = url.set_path(&path);
            return url;
        }
        if !reference.opaque.is_empty() {
            nothing(&mut url);
            return url;
        }
        if reference.path.is_empty() && !reference.force_query && reference.raw_query.is_empty() {
            url.raw_query.clone_from(&self.raw_query);
            if reference.fragment.is_empty() {
                url.fragment.clone_from(&self.fragment);
                url.raw_fragment.clone_from(&self.raw_fragment);
            }
        }
        if reference.path.is_empty() && !self.opaque.is_empty() {
            url.opaque.clone_from(&self.opaque);
            nothing(&mut url);
            return url;
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        let path = resolve_path(&self.escaped_path(), &reference.escaped_path());
        let _ = url.set_path(&path);
        url
    }

    fn authority(&mut self, text: &str) -> Result<(), String> {
        let Some((user, host)) = text.rsplit_once('@') else {
            self.host = host(&self.scheme, text)?;
            return Ok(());
        };
        self.host = self::host(&self.scheme, host)?;
        let valid = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
        if !user.chars().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        self.user = Some(match user.split_once(':') {
            None => (Component::User.unescape(user)?, None),
            Some((name, password)) => {
                (Component::User.unescape(name)?, Some(Component::User.unescape(password)?))
            }
        });
        Ok(())
    }

    /// Splits the host into name and port.
    fn split_host(&self) -> (&[u8], &[u8]) {
        let host = self.host.as_slice();
        let colon = host.iter().rposition(|byte| *byte == b':');
        let (mut name, mut port) = (host, [].as_slice());
        if let Some(colon) = colon
            && let (Some(before), Some(after)) = (host.get(..colon), host.get(colon + 1..))
            && after.iter().all(u8::is_ascii_digit)
        {
            (name, port) = (before, after);
        }
        let inner = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]"));
        (inner.unwrap_or(name), port)
    }

    /// Returns the host without port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        self.split_host().0
    }

    /// Returns the port, if one is given.
    pub(super) fn port(&self) -> &[u8] {
        self.split_host().1
    }

    /// Returns the path as it is sent.
    pub(super) fn escaped_path(&self) -> Cow<'_, str> {
        let plain =
            |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || !Component::Path.escapes(*byte);
        if let Ok(raw) = std::str::from_utf8(&self.raw_path)
            && !raw.is_empty()
            && raw.as_bytes().iter().all(plain)
            && Component::Path.unescape(raw).as_ref() == Ok(&self.path)
        {
            return raw.into();
        }
        if self.path == b"*" { "*".into() } else { Component::Path.escape(&self.path).into() }
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        if self.opaque.is_empty() {
            let any = !self.host.is_empty() || self.user.is_some();
            if any || (!self.scheme.is_empty() && !self.omit_host && !self.path.is_empty()) {
                text.push_str("//");
            }
            if let Some((name, password)) = &self.user {
                text.push_str(&Component::User.escape(name));
                if let Some(password) = password {
                    text.push(':');
                    text.push_str(&Component::User.escape(password));
                }
                text.push('@');
            }
            text.push_str(&Component::Host.escape(&self.host));
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                text.push('/');
            }
            if text.is_empty() && path.split('/').next().is_some_and(|next| next.contains(':')) {
                text.push_str("./");
            }
            text.push_str(&path);
        } else {
            text.push_str(&self.opaque);
        }
        if self.force_query || !self.raw_query.is_empty() {
            text.push('?');
            text.push_str(&self.raw_query);
        }
        if !self.fragment.is_empty() {
            text.push('#');
            let raw = self.raw_fragment.as_str();
            let plain = |byte: u8| {
                b"!$&'()*+,;=:@[]%".contains(&byte) || !Component::Fragment.escapes(byte)
            };
            let usable = !raw.is_empty() && raw.bytes().all(plain);
            if usable && Component::Fragment.unescape(raw).as_ref() == Ok(&self.fragment) {
                text.push_str(raw);
            } else {
                text.push_str(&Component::Fragment.escape(&self.fragment));
            }
        }
        f.write_str(&text)
    }
}

/// Resolves a path against another and removes its dot segments.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        let folder = base.rfind('/').and_then(|slash| base.get(..=slash)).unwrap_or_default();
        format!("{folder}{reference}")
    };
    if full.is_empty() {
        return full;
    }
    let mut path = String::from("/");
    let mut first = true;
    let mut last = "";
    for element in full.split('/') {
        last = element;
        match element {
            "." => first = false,
            ".." => {
                let slash = path.rfind('/').filter(|slash| *slash > 0);
                path.truncate(slash.unwrap_or(1));
                first = path.len() == 1;
            }
            _ => {
                if !first {
                    path.push('/');
                }
                path.push_str(element);
                first = false;
            }
        }
    }
    if last == "." || last == ".." {
        path.push('/');
    }
    if path.starts_with("//") { path.split_off(1) } else { path }
}

/// Splits off the scheme, if there is one.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host(scheme: &str, text: &str) -> Result<Vec<u8>, String> {
    let port = |text: &str| {
        let digits = text.strip_prefix(':');
        let valid = text.is_empty()
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if valid { Ok(()) } else { Err(format!("invalid port {text:?} after host")) }
    };
    match text.rfind('[') {
        Some(0) => {
            let end = text.rfind(']').ok_or("missing ']' in host")?;
            let (name, rest) = (text.get(1..end), text.get(end + 1..));
            let (name, rest) = (name.unwrap_or_default(), rest.unwrap_or_default());
            port(rest)?;
            let mut inner;
            if let Some(zone) = name.find("%25") {
                let (address, zone) = name.split_at(zone);
                inner = Component::Host.unescape(address)?;
                inner.extend(Component::Zone.unescape(zone)?);
            } else {
                inner = Component::Host.unescape(name)?;
            }
            if !is_ipv6(&inner) {
                return Err("invalid IP-literal".to_owned());
            }
            inner.insert(0, b'[');
            inner.push(b']');
            inner.extend_from_slice(rest.as_bytes());
            return Ok(inner);
        }
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let (Some(first), Some(last)) = (text.find(':'), text.rfind(':')) {
        let strict = scheme == "http" || scheme == "https";
        port(text.get(if strict { first } else { last }..).unwrap_or_default())?;
    }
    Component::Host.unescape(text)
}

/// Returns `true` for an IPv6 address, with or without a zone.
fn is_ipv6(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let (address, zone) = text.split_once('%').map_or((text, None), |(a, z)| (a, Some(z)));
    zone != Some("") && matches!(address.parse(), Ok(IpAddr::V6(_)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    #[test]
    fn urls_are_parsed_without_normalization() {
        let url = Url::parse("HTTPS://u:p@[fe80::1%25en0]:8443/a%2Fb c?q=1#f%20").unwrap();
        assert_eq!((url.scheme.as_str(), url.hostname()), ("https", b"fe80::1%en0".as_slice()));
        assert_eq!(url.port(), b"8443");
        assert_eq!(
            (url.path.as_slice(), url.raw_path.as_slice()),
            (&b"/a/b c"[..], &b"/a%2Fb c"[..])
        );
        assert_eq!(url.escaped_path(), "/a/b%20c");
        assert_eq!(url.fragment, b"f ");
        for bad in [":a", "a:b/c d\n", "1a:b", "http://a:b", "http://a%41/", "http://[::1", "%zz"] {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Url::parse("mailto:x@y").unwrap().opaque, "x@y");
        let base = Url::parse("http://a/b/c/d;p?q").unwrap();
        for (reference, resolved) in [
            ("g", "http://a/b/c/g"),
            ("../../../g", "http://a/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("//g/x/../y", "http://g/y"),
            ("?y", "http://a/b/c/d;p?y"),
        ] {
            let reference = Url::parse(reference).unwrap();
            assert_eq!(base.resolve(&reference).to_string(), resolved);
        }
        for same in ["//a/b", "a/b?", "http:/x", "file:///x", "urn:a?b#c"] {
            assert_eq!(Url::parse(same).unwrap().to_string(), same);
        }
    }
}
