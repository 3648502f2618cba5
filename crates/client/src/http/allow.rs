//! The hosts that policies' requests may go to.
//!
//! Owns the list of allowed hosts and the rules about addresses: a host must be listed, and an
//! address that a name resolves to must be within the reach of its entry. Private addresses need
//! the exact host name, loopback and link-local ones need the address itself.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// One allowed host, as `--allow-host` takes it: `HOST[:PORT]`, where `*.example.com` is the only
/// form of wildcard. Without a port all ports are allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    /// All names below this one.
    Below(String),
    Address(IpAddr),
}

/// The error of a text that isn't a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` isn't a valid host: it looks like `example.com`, `*.example.com:8443` or `10.0.0.1:80`"
)]
pub struct NoHost(String);

impl FromStr for AllowedHost {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let invalid = || NoHost(text.to_owned());
        let trimmed = text.trim();
        if let Ok(address) = trimmed.parse::<IpAddr>() {
            return Ok(Self { host: Host::Address(canonical(address)), port: None });
        }
        let (host, port) = match trimmed.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| invalid())?)),
            None => (trimmed, None),
        };
        if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            let address: Ipv6Addr = address.parse().map_err(|_| invalid())?;
            return Ok(Self { host: Host::Address(canonical(address.into())), port });
        }
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Ok(Self { host: Host::Address(address.into()), port });
        }
        let (name, wildcard) = match host.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (host, false),
        };
        // As in a URL: lower case, and ASCII.
        let name = match url::Host::parse(name) {
            Ok(url::Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
            _ => return Err(invalid()),
        };
        let label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.split('.').any(|part| part.is_empty() || !part.chars().all(label)) {
            return Err(invalid());
        }
        Ok(Self { host: if wildcard { Host::Below(name) } else { Host::Name(name) }, port })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}")?,
            Host::Below(name) => write!(f, "*.{name}")?,
            Host::Address(IpAddr::V6(address)) if self.port.is_some() => write!(f, "[{address}]")?,
            Host::Address(address) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The class of an address, which decides which entries reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// On the public internet.
    Public,
    /// In a private network, or reserved for special use.
    Private,
    /// On this machine or its link, or no host's address at all.
    Local,
}

/// The list of allowed hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

/// The reach of an allowed host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    exact: bool,
}

impl AllowedHosts {
    /// Allows one more host.
    pub fn add(&mut self, host: AllowedHost) {
        self.0.push(host);
    }

    /// Iterates over the hosts, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &AllowedHost> {
        self.0.iter()
    }

    /// Returns `true` if no host is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if the host of an address is allowed, at its port.
    #[doc(hidden)]
    pub fn allow(&self, url: &url::Url) -> bool {
        let port = url.port_or_known_default().unwrap_or_default();
        url.host().is_some_and(|host| self.grant(&host, port).is_some())
    }

    /// Returns the reach of a host, as it is in a URL, at a port; `None` if it isn't allowed.
    pub(super) fn grant<S: AsRef<str>>(&self, host: &url::Host<S>, port: u16) -> Option<Grant> {
        let mut grant = None;
        for entry in self.0.iter().filter(|entry| entry.port.is_none_or(|allowed| allowed == port))
        {
            let exact = match (&entry.host, host) {
                (Host::Name(name), url::Host::Domain(host)) => {
                    same(name, host.as_ref()).then_some(true)
                }
                (Host::Below(name), url::Host::Domain(host)) => {
                    let host = host.as_ref().trim_end_matches('.').to_ascii_lowercase();
                    let below =
                        host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'));
                    below.then_some(false)
                }
                (Host::Address(address), url::Host::Ipv4(host)) => {
                    (*address == IpAddr::from(*host)).then_some(true)
                }
                (Host::Address(address), url::Host::Ipv6(host)) => {
                    (*address == canonical((*host).into())).then_some(true)
                }
                _ => None,
            };
            match exact {
                Some(true) => return Some(Grant { exact: true }),
                Some(false) => grant = Some(Grant { exact: false }),
                None => {}
            }
        }
        grant
    }

    /// Returns `true` if connections to `address` are allowed for a host with this grant.
    pub(super) fn reaches(&self, grant: Grant, address: IpAddr, port: u16) -> bool {
        let address = canonical(address);
        match reach(address) {
            Reach::Public => true,
            Reach::Private => grant.exact,
            Reach::Local => self.0.iter().any(|entry| {
                entry.host == Host::Address(address)
                    && entry.port.is_none_or(|allowed| allowed == port)
            }),
        }
    }

    /// Returns the widest grant of a name over all ports; `None` if it may not be looked up.
    pub(super) fn knows(&self, host: &url::Host) -> Option<Grant> {
        let ports = self.0.iter().map(|entry| entry.port.unwrap_or(0));
        let grants = ports.filter_map(|port| self.grant(host, port));
        grants.max_by_key(|grant| grant.exact)
    }
}

impl FromIterator<AllowedHost> for AllowedHosts {
    fn from_iter<I: IntoIterator<Item = AllowedHost>>(hosts: I) -> Self {
        Self(hosts.into_iter().collect())
    }
}

fn same(name: &str, host: &str) -> bool {
    host.trim_end_matches('.').eq_ignore_ascii_case(name)
}

/// Converts an IPv4 address within IPv6 to IPv4.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    let local = address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || a == 0
        || a >= 240;
    let shared = a == 100 && b & 0xc0 == 64;
    let benchmarks = a == 198 && b & 0xfe == 18;
    let protocols = (a, b, c) == (192, 0, 0);
    let private =
        address.is_private() || shared || benchmarks || protocols || address.is_documentation();
    if local {
        Reach::Local
    } else if private {
        Reach::Private
    } else {
        Reach::Public
    }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // The unspecified address, loopback, and IPv4 in the obsolete form.
        [0, 0, 0, 0, 0, 0, 0, _] => Reach::Local,
        [0, 0, 0, 0, 0, 0, high, low] => embedded(high, low),
        // Through a translator to IPv4: the well-known prefix, or a network's own.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x64, 0xff9b, ..] => Reach::Private,
        // Through a relay to IPv4.
        [0x2002, high, low, ..] => embedded(high, low),
        [0x2001, 0, ..] => Reach::Local,
        [first, ..] if first & 0xffc0 == 0xfe80 || first & 0xff00 == 0xff00 => Reach::Local,
        [first, ..] if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => Reach::Private,
        [0x2001, 0xdb8, ..] | [0x100, 0, ..] => Reach::Private,
        _ => Reach::Public,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    fn list(entries: &[&str]) -> AllowedHosts {
        entries.iter().map(|entry| entry.parse().unwrap()).collect()
    }

    fn allowed(list: &AllowedHosts, url: &str, address: &str) -> bool {
        let url = url::Url::parse(url).unwrap();
        let port = url.port_or_known_default().unwrap();
        let grant = list.grant(&url.host().unwrap(), port);
        grant.is_some_and(|grant| list.reaches(grant, address.parse().unwrap(), port))
    }

    #[test]
    fn a_host_is_allowed_by_its_entry_and_port() {
        let hosts = list(&["Example.com", "a.test:8443", "*.wild.org", "10.0.0.1:80", "[::1]:1"]);
        for (url, expected) in [
            ("https://example.com/", true),
            ("http://EXAMPLE.com.:99/", true),
            ("https://sub.example.com/", false),
            ("https://a.test:8443/", true),
            ("https://a.test/", false),
            ("https://x.y.wild.org/", true),
            ("https://wild.org/", false),
            ("https://evilwild.org/", false),
            ("https://b.test/", false),
        ] {
            assert_eq!(allowed(&hosts, url, "93.184.216.34"), expected, "{url}");
        }
        for bad in ["", "*", "*.", "a*.b", "https://a", "a/b", "a:b", "a:99999", "*.1.2.3.4", "a b"]
        {
            assert!(bad.parse::<AllowedHost>().is_err(), "{bad}");
        }
        assert_eq!("[::1]:1".parse::<AllowedHost>().unwrap().to_string(), "[::1]:1");
    }

    #[test]
    fn a_name_reaches_only_the_addresses_its_entry_allows() {
        let hosts = list(&["exact.test", "*.wild.test", "127.0.0.1:8080", "169.254.1.1"]);
        let reaches = |url, address| allowed(&hosts, url, address);
        for private in ["10.1.2.3", "192.168.0.1", "100.64.0.1", "fd00::1", "::ffff:172.16.0.1"] {
            assert!(reaches("http://exact.test/", private), "{private}");
            assert!(!reaches("http://a.wild.test/", private), "{private}");
        }
        for local in [
            "127.0.0.2",
            "0.0.0.0",
            "169.254.169.254",
            "::1",
            "fe80::1",
            "::",
            "224.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "255.255.255.255",
            "::7f00:1",
        ] {
            let expected = local == "::ffff:127.0.0.1";
            assert!(!reaches("http://exact.test/", local), "{local}");
            assert_eq!(reaches("http://exact.test:8080/", local), expected, "{local}");
        }
        assert!(reaches("http://127.0.0.1:8080/", "127.0.0.1"));
        assert!(!reaches("http://127.0.0.1:8081/", "127.0.0.1"));
        assert!(reaches("http://[::ffff:127.0.0.1]:8080/", "127.0.0.1"));
        assert!(reaches("http://169.254.1.1/", "169.254.1.1"));
    }
}
