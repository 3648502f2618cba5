//! Links to the next page of a registry's list (the header `Link`).

use rego_platform_client::Error;
use rego_platform_client::http::origin::origin;
use reqwest::Response;
use reqwest::header::LINK;
use url::Url;

/// Returns the URL of the next page, which must have the same origin.
pub(crate) fn next(url: &Url, answer: &Response) -> Result<Option<Url>, Error> {
    let broken = |what: &str| {
        let message = format!("invalid link of {} to the next page: {what}", origin(url));
        Error::protocol(message)
            .with_hint("report it to the registry's operator: the list is incomplete")
    };
    let mut found = None;
    for value in answer.headers().get_all(LINK) {
        let links =
            value.to_str().ok().and_then(links).ok_or_else(|| broken("unreadable address"))?;
        for target in links {
            if found.replace(target).is_some() {
                return Err(broken("twice"));
            }
        }
    }
    let Some(target) = found else { return Ok(None) };
    let next = url.join(&target).map_err(|_| broken("unreadable address"))?;
    if next.origin() != url.origin() {
        return Err(broken("elsewhere"));
    }
    Ok(Some(next))
}

/// Returns the targets of a header's links to next pages; `None` if it can't be read.
fn links(text: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (target, mut after) = rest.strip_prefix('<')?.split_once('>')?;
        let mut is_next = false;
        loop {
            after = after.trim_start();
            let Some(parameter) = after.strip_prefix(';') else { break };
            let end = parameter.find(['=', ';', ',']).unwrap_or(parameter.len());
            let (name, value) = parameter.split_at_checked(end)?;
            let (value, behind) = match value.strip_prefix('=').map(str::trim_start) {
                None => ("", value),
                Some(quoted) if quoted.starts_with('"') => quoted.get(1..)?.split_once('"')?,
                Some(bare) => bare.split_at_checked(bare.find([';', ',']).unwrap_or(bare.len()))?,
            };
            if name.trim().eq_ignore_ascii_case("rel") {
                is_next |= value.split_whitespace().any(|word| word.eq_ignore_ascii_case("next"));
            }
            after = behind;
        }
        if is_next {
            all.push(target.to_owned());
        }
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn links_to_next_pages_are_found_and_no_text_is_passed_over() {
        let found = |text: &str| links(text).map(|all| all.join(" "));
        for (text, expected) in [
            ("</v2/a?n=2>; rel=\"next\"", Some("/v2/a?n=2")),
            ("</b>;rel=next", Some("/b")),
            ("</b>; title=\"a, b; <c>\" ; REL = \"prev Next\"", Some("/b")),
            ("</a>; rel=\"prev\", </b>; rel=\"next\"", Some("/b")),
            ("</a>; rel=next, </b>; rel=next", Some("/a /b")),
            ("</a>; rel=\"first\"", Some("")),
            ("</a>; x", Some("")),
            ("", Some("")),
            ("/b; rel=next", None),
            ("</b; rel=next", None),
            ("</b> rel=next", None),
            ("</b>; rel=\"next", None),
        ] {
            assert_eq!(found(text).as_deref(), expected, "{text}");
        }
    }
}
