//! Authentication challenges of registries (`WWW-Authenticate`).

/// The authentication scheme of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    /// With a token from `realm`, for `service`.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Parses the value of the header; `None` for other schemes, and without a realm.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        let mut rest = rest.trim_start();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('=')?;
            let value;
            (value, rest) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => after.split_once(',').map_or((after, ""), |(value, _)| {
                    (value, after.get(value.len()..).unwrap_or_default())
                }),
            };
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            let known = match name.trim() {
                name if name.eq_ignore_ascii_case("realm") => &mut realm,
                name if name.eq_ignore_ascii_case("service") => &mut service,
                _ => continue,
            };
            if known.replace(value.to_owned()).is_some() {
                return None;
            }
        }
        Some(Self::Bearer { realm: realm?, service })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (text, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a/t\",service=\"s, x\",scope=\"repository:a:pull,push\"",
                bearer("https://a/t", Some("s, x")),
            ),
            ("bearer scope=x, realm=https://a/t", bearer("https://a/t", None)),
            ("Bearer service=\"s\"", None),
            ("Bearer realm=\"a\",realm=\"b\"", None),
            ("Bearer realm=\"a", None),
            ("Bearer", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }
}
