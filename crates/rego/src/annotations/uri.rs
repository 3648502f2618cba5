//! URLs of related resources, parsed and written as by Go's `net/url`.

/// Returns the URL as Go writes it after parsing it, or the message of Go's parse error.
pub(super) fn normalize(text: &str) -> Result<String, String> {
    parse(text).map_err(|why| format!("parse \"{text}\": {why}"))
}

fn parse(text: &str) -> Result<String, String> {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (text, fragment) =
        text.split_once('#').map_or((text, None), |(text, fragment)| (text, Some(fragment)));
    let (scheme, rest) = scheme(text)?;
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (rest, None),
    };
    let mut out = String::with_capacity(text.len());
    if let Some(scheme) = scheme {
        out.push_str(&scheme.to_ascii_lowercase());
        out.push(':');
    }
    if scheme.is_some() && !rest.starts_with('/') {
        out.push_str(rest);
    } else {
        if scheme.is_none() && rest.split('/').next().is_some_and(|next| next.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
        let path = match rest
            .strip_prefix("//")
            .filter(|_| scheme.is_some() || !rest.starts_with("///"))
        {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                if scheme.is_some() || !authority.is_empty() {
                    out.push_str("//");
                }
                out.push_str(&self::authority(authority)?);
                path
            }
            None => rest,
        };
        out.push_str(&escaped(path, |c| {
            matches!(c, '/' | '$' | '&' | '+' | ',' | ':' | ';' | '=' | '@')
        })?);
    }
    if let Some(query) = query {
        out.push('?');
        out.push_str(query);
    }
    if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
        out.push('#');
        out.push_str(&escaped(fragment, |c| {
            matches!(
                c,
                '/' | '?' | '$' | '&' | '+' | ',' | ':' | ';' | '=' | '@' | '!' | '(' | ')' | '*'
            )
        })?);
    }
    Ok(out)
}

fn scheme(text: &str) -> Result<(Option<&str>, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text.get(..at), text.get(at + 1..).unwrap_or_default())),
            _ => break,
        }
    }
    Ok((None, text))
}

fn authority(text: &str) -> Result<String, String> {
    let (user, host) =
        text.rsplit_once('@').map_or((None, text), |(user, host)| (Some(user), host));
    if let Some(user) = user
        && !user.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c))
    {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let after = if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        host.get(end + 1..).unwrap_or_default()
    } else {
        host.rfind(':').and_then(|at| host.get(at..)).unwrap_or_default()
    };
    if !after.is_empty()
        && !after
            .strip_prefix(':')
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return Err(format!("invalid port \"{after}\" after host"));
    }
    if let Some(bad) = host.chars().find(|c| {
        c.is_ascii() && !c.is_ascii_alphanumeric() && !"-._~!$&'()*+,;=:[]<>\"%".contains(*c)
    }) {
        return Err(format!("invalid character \"{bad}\" in host name"));
    }
    Ok(text.to_owned())
}

/// Percent-encodes the characters that are neither unreserved nor `plain`, unless the text is
/// validly encoded already.
fn escaped(text: &str, plain: fn(char) -> bool) -> Result<String, String> {
    let bytes = decode(text)?;
    let unreserved = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    let valid = |c: char| unreserved(c) || "!$&'()*+,;=:@[]%".contains(c) || plain(c);
    if text.chars().all(valid) {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len() + 8);
    for byte in bytes {
        let c = char::from(byte);
        if c.is_ascii() && (unreserved(c) || plain(c)) {
            out.push(c);
        } else {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15]
                    .iter()
                    .filter_map(|digit| char::from_digit(u32::from(*digit), 16))
                    .map(|digit| digit.to_ascii_uppercase()),
            );
        }
    }
    Ok(out)
}

fn decode(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let rest: Vec<u8> = bytes.clone().take(2).collect();
        let digit = |at: usize| {
            rest.get(at)
                .and_then(|byte| char::from(*byte).to_digit(16))
                .and_then(|digit| u8::try_from(digit).ok())
        };
        match (digit(0), digit(1)) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return Err(format!("invalid URL escape \"%{}\"", String::from_utf8_lossy(&rest))),
        }
        bytes.nth(1);
    }
    Ok(out)
}
