//! Patterns of names, where `*` matches any string.

/// Returns `true` if a pattern matches a name. Only `*` is special.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The first occurrence leaves the most for the other parts.
        let Some(at) = left.find(part) else { return false };
        left = left.get(at + part.len()..).unwrap_or_default();
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_star_of_a_pattern_is_special() {
        for (pattern, name) in [
            ("a.b", "a.b"),
            ("*", "a.b"),
            ("a.*", "a.b.c"),
            ("*.c", "a.b.c"),
            ("a*c", "ac"),
            ("a.*.c", "a.c.c.c"),
            ("*b*", "a.b.c"),
            ("a[\"?\"].*", "a[\"?\"].b"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("?", "p"),
            ("[pq]", "p"),
            ("a", "a.b"),
            ("a*a", "a"),
            ("a.*.c", "a.c"),
            ("*b", "a.b.c"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
