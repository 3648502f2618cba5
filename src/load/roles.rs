//! The names of verdict rules, and the role of each in a verdict.

/// The role of a rule in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Role {
    Result,
    Violations,
    Findings,
    Warnings,
    /// Names the rules whose items don't count, in plain Rego, as in conftest.
    Exception,
    /// A role that exists only in policy documents, like the next three.
    Skipped,
    SkipReason,
    Ignore,
    ValidInput,
}

/// The origin of a package, which determines its verdict rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum PackageOrigin {
    /// Plain Rego.
    #[default]
    Plain,
    /// A module of a policy document, which may omit some of the rules.
    Document,
}

/// The names, and `true` where `NAME_*` are verdict rules as well.
const NAMES: &[(&str, bool, Role)] = &[
    ("deny", true, Role::Violations),
    ("violation", true, Role::Violations),
    ("violations", false, Role::Violations),
    ("findings", false, Role::Findings),
    ("warn", true, Role::Warnings),
    ("result", false, Role::Result),
];

/// The rules that only policy documents have.
const OF_DOCUMENTS: &[(&str, Role)] = &[
    ("skipped", Role::Skipped),
    ("skip_reason", Role::SkipReason),
    ("ignore", Role::Ignore),
    ("valid_input", Role::ValidInput),
];

#[doc(hidden)]
pub const RESULT_FIELDS: &[&str] = &["skipped", "skip_reason", "ignore", "violations", "findings"];

impl Role {
    /// Returns `true` if a rule with this role gives a verdict by itself.
    pub fn gives_verdict(self) -> bool {
        matches!(self, Self::Result | Self::Violations | Self::Findings | Self::Warnings)
    }
}

/// Returns the role of a rule in a verdict.
#[doc(hidden)]
pub fn role(name: &str, origin: PackageOrigin) -> Option<Role> {
    let in_family =
        |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.starts_with('_'));
    let mut all = NAMES.iter();
    if let Some((.., role)) =
        all.find(|(known, is_family, _)| *known == name || *is_family && in_family(known))
    {
        return Some(*role);
    }
    if origin == PackageOrigin::Plain && name == "exception" {
        return Some(Role::Exception);
    }
    let mut own = OF_DOCUMENTS.iter().filter(|_| origin == PackageOrigin::Document);
    own.find(|(known, _)| *known == name).map(|(_, role)| *role)
}

/// Returns the verdict rule that a name is near to, for a hint.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    crate::text::nearest(name, NAMES.iter().map(|(known, ..)| *known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict_rules_have_their_roles() {
        for (name, expected) in [
            ("deny", Some(Role::Violations)),
            ("deny_x", Some(Role::Violations)),
            ("denyx", None),
            ("violation", Some(Role::Violations)),
            ("violation_x", Some(Role::Violations)),
            ("violations_x", None),
            ("warn_x", Some(Role::Warnings)),
            ("result", Some(Role::Result)),
            ("result_x", None),
            ("skipped", None),
            ("exception", Some(Role::Exception)),
            ("exceptions", None),
        ] {
            assert_eq!(role(name, PackageOrigin::Plain), expected, "{name}");
        }
        assert_eq!(role("skipped", PackageOrigin::Document), Some(Role::Skipped));
        assert_eq!(role("exception", PackageOrigin::Document), None);
    }
}
