//! The names of verdict rules, and the names that are nearly one.
//!
//! Owns one table of both, for the rules of a package and for the fields of `result`. What is done
//! about a near miss is decided in `packages` and `verdict`.

/// The role of a rule in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Result,
    Violations,
    Findings,
    Warnings,
    /// This role and the next three exist only in policy documents.
    Skipped,
    SkipReason,
    Ignore,
    ValidInput,
}

/// The origin of a package, which determines its verdict rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageOrigin {
    /// Plain Rego.
    Plain,
    /// A module of a policy document, which may omit some of the rules.
    Document,
}

/// A verdict rule's name.
struct VerdictName {
    name: &'static str,
    role: Role,
    /// `true` if `NAME_*` are verdict rules as well.
    is_family: bool,
    /// `true` if a complete rule that begins with such a name is a near miss as well. Constants often
    /// begin like that: `warning_days`, `denied_countries`.
    constants: bool,
    /// Other forms of the word, which authors write for it.
    forms: &'static [&'static str],
}

const NAMES: &[VerdictName] = &[
    VerdictName {
        name: "deny",
        role: Role::Violations,
        is_family: true,
        constants: false,
        forms: &["denies", "denied", "denial", "denials"],
    },
    VerdictName {
        name: "violations",
        role: Role::Violations,
        is_family: false,
        constants: true,
        forms: &["violation", "violates", "violated"],
    },
    VerdictName {
        name: "findings",
        role: Role::Findings,
        is_family: false,
        constants: true,
        forms: &["finding"],
    },
    VerdictName {
        name: "warn",
        role: Role::Warnings,
        is_family: true,
        constants: false,
        forms: &["warns", "warned", "warning", "warnings"],
    },
    VerdictName {
        name: "result",
        role: Role::Result,
        is_family: false,
        constants: false,
        forms: &["results"],
    },
];

/// The rules that only policy documents have.
const OF_DOCUMENTS: &[(&str, Role)] = &[
    ("skipped", Role::Skipped),
    ("skip_reason", Role::SkipReason),
    ("ignore", Role::Ignore),
    ("valid_input", Role::ValidInput),
];

/// Returns the role of a rule in a verdict.
pub(super) fn role(name: &str, origin: PackageOrigin) -> Option<Role> {
    let family = |known: &VerdictName| {
        known.is_family && name.strip_prefix(known.name).is_some_and(|rest| rest.starts_with('_'))
    };
    if let Some(known) = NAMES.iter().find(|known| known.name == name || family(known)) {
        return Some(known.role);
    }
    let mut own = OF_DOCUMENTS.iter().filter(|_| origin == PackageOrigin::Document);
    own.find(|(known, _)| *known == name).map(|(_, role)| *role)
}

/// Returns the verdict rule that a name, which isn't one, is a near miss of: a slip of one letter,
/// another form or casing of the word, or one of these followed by more words. `is_set` is `true` for
/// a rule that makes a set, as most verdict rules do.
pub(super) fn near(name: &str, is_set: bool) -> Option<&'static str> {
    // No such name is long, and the distance takes memory in the product of the lengths.
    let word = first_word(name);
    if word.len() > 40 {
        return None;
    }
    let whole = word.len() == name.len();
    // A separator within the word: `d_eny`. One before it marks a rule for internal use.
    let is_split = |known: &VerdictName| {
        !name.starts_with('_') && name.chars().filter(|c| *c != '_').eq(known.name.chars())
    };
    let meant = |known: &&VerdictName| {
        let more = known.role != Role::Result && (is_set || known.constants);
        (whole || more) && is_form_of(known, word) || is_set && is_split(known)
    };
    NAMES.iter().find(meant).map(|known| known.name)
}

/// Returns a name up to its first `_` or capital after a small letter: `deny` of `denyAll`.
fn first_word(name: &str) -> &str {
    let mut before = None;
    let end = name.char_indices().find(|(_, c)| {
        let small = before.replace(*c).is_some_and(char::is_lowercase);
        *c == '_' || small && c.is_uppercase()
    });
    end.and_then(|(at, _)| name.get(..at)).unwrap_or(name)
}

/// Returns `true` for a form of a word with at most one slip. Another first letter in place of the
/// right one isn't one: `bindings` aren't `findings`.
fn is_form_of(known: &VerdictName, word: &str) -> bool {
    let word = word.to_lowercase();
    [known.name].iter().chain(known.forms).any(|form| {
        let other_first = word.get(1..) == form.get(1..) && word != *form;
        !other_first && strsim::damerau_levenshtein(&word, form) <= 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_of_every_verdict_rule_are_recognised() {
        for (meant, names) in [
            (
                "deny",
                "Deny DENY denny dney edny eny ideny d_eny denys denies denyAll Deny_x denies_x",
            ),
            ("violations", "violation Violations violatoins violaton violation_x violationsHigh"),
            ("findings", "finding Findings fidings findings_high findingsHigh"),
            ("warn", "warns Warn warnings warnnings warning_x"),
            ("result", "Result results reslt reuslt"),
        ] {
            for name in names.split(' ') {
                assert_eq!(near(name, true), Some(meant), "{name}");
                assert!(role(name, PackageOrigin::Plain).is_none(), "{name}");
            }
        }
        assert_eq!(near("violation_x", false), Some("violations"));
        for name in ["rows", "message", "bindings", "result_code", "allow", "errors", "dn", "_deny"]
        {
            assert_eq!(near(name, true), None, "{name}");
        }
        for constant in ["warning_days", "denied_countries"] {
            assert_eq!(near(constant, false), None, "{constant}");
        }
    }

    #[test]
    fn verdict_rules_have_their_roles() {
        for (name, expected) in [
            ("deny", Some(Role::Violations)),
            ("deny_x", Some(Role::Violations)),
            ("violations_x", None),
            ("warn_x", Some(Role::Warnings)),
            ("result", Some(Role::Result)),
            ("result_x", None),
            ("skipped", None),
        ] {
            assert_eq!(role(name, PackageOrigin::Plain), expected, "{name}");
        }
        assert_eq!(role("skipped", PackageOrigin::Document), Some(Role::Skipped));
    }
}
