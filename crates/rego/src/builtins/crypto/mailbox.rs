//! Mailboxes, as in certificates.

/// Splits a mailbox (RFC 2821) into its local part, unquoted, and its domain.
pub(super) fn mailbox(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut bytes = text.bytes();
    let mut name = Vec::new();
    if text.starts_with('"') {
        bytes.next();
        loop {
            match bytes.next()? {
                b'"' => break,
                b'\\' => match bytes.next()? {
                    byte @ (1..=9 | 11 | 12 | 14..=127) => name.push(byte),
                    _ => return None,
                },
                byte @ (1..=8 | 11 | 12 | 14..=33 | 35..=91 | 93..=127) => name.push(byte),
                _ => return None,
            }
        }
    } else {
        loop {
            let mut rest = bytes.clone();
            match rest.next() {
                Some(b'\\') => name.push(rest.next()?),
                Some(byte) if byte.is_ascii_alphanumeric() => name.push(byte),
                Some(byte) if b"!#$%&'*+-/=?^_`{|}~.".contains(&byte) => name.push(byte),
                _ => break,
            }
            bytes = rest;
        }
        let dots = name.starts_with(b".") || name.ends_with(b".");
        if name.is_empty() || dots || name.windows(2).any(|pair| pair == b"..") {
            return None;
        }
    }
    let domain = text.get(text.len() - bytes.len()..)?.strip_prefix('@')?;
    let labels = domain.is_empty()
        || domain
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| (33..=126).contains(&b)));
    labels.then_some((name, domain))
}
