//! Which built-in functions there are.
//!
//! Owns Rego's table of built-ins, what the interpreter has of it, and what of that only
//! pretends. It doesn't implement any.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::LoadOptions;

/// Name and number of arguments of every built-in of Rego.
static TABLE: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    include_str!("builtins.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, arity)| Some((name, arity.parse().ok()?)))
        .collect()
});

/// Built-ins that the interpreter answers without doing what they are for.
const PRETENDED: &[&str] = &["http.send", "opa.runtime"];
/// Built-ins that only new modules can't call.
const DEPRECATED: &[&str] = &[
    "all",
    "any",
    "cast_array",
    "cast_boolean",
    "cast_null",
    "cast_object",
    "cast_set",
    "cast_string",
    "net.cidr_overlap",
    "re_match",
    "set_diff",
];

/// What a called name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    /// Can be called with so many arguments.
    Function(usize),
    /// `print`, which takes any number.
    Print,
    /// One of Rego's, which can't be evaluated here.
    Unsupported,
    /// One of Rego's, which modules of today can't call.
    Deprecated,
    /// Nothing.
    Unknown,
}

/// All functions that aren't rules.
pub(super) struct Functions<'a> {
    options: &'a LoadOptions,
    /// Functions of the host and of the product, by full name.
    extensions: HashMap<String, usize>,
    provided: HashMap<&'a str, usize>,
}

impl<'a> Functions<'a> {
    pub(super) fn new(options: &'a LoadOptions) -> Self {
        let product = options
            .functions
            .iter()
            .map(|f| (options.product.function(&f.short), usize::from(f.arity)));
        let host = options.host_functions.iter().map(|(n, a)| (n.clone(), usize::from(*a)));
        let provided =
            options.provided_builtins.iter().map(|(n, a)| (n.as_str(), usize::from(*a))).collect();
        Self { options, extensions: product.chain(host).collect(), provided }
    }

    pub(super) fn options(&self) -> &LoadOptions {
        self.options
    }

    /// The number of arguments of a function of the host or the product.
    pub(super) fn extension(&self, name: &str) -> Option<usize> {
        self.extensions.get(name).copied()
    }

    /// Whether a function that is no rule can be called with a variable for its result besides
    /// its arguments. The interpreter knows the number of arguments of its own functions only;
    /// such a call of another one would be undefined.
    pub(super) fn takes_result(name: &str) -> bool {
        regorus::unstable::BUILTINS.contains_key(name)
    }

    /// What calling `name` means.
    pub(super) fn called(&self, name: &str, v1: bool) -> Called {
        if let Some(arity) = self.extension(name) {
            return Called::Function(arity);
        }
        if name == "print" {
            return Called::Print;
        }
        let Some(arity) = TABLE.get(name).copied() else {
            return match self.provided.get(name) {
                Some(arity) => Called::Function(*arity),
                None => Called::Unknown,
            };
        };
        if v1 && DEPRECATED.contains(&name) {
            return Called::Deprecated;
        }
        let available = self.provided.contains_key(name)
            || (regorus::unstable::BUILTINS.contains_key(name) && !PRETENDED.contains(&name));
        if available { Called::Function(arity) } else { Called::Unsupported }
    }

    /// The callable name that is nearest to `name`.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let known = TABLE.keys().copied().filter(|n| !n.starts_with("internal."));
        crate::text::nearest(name, known.chain(self.extensions.keys().map(String::as_str)))
            .map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_of_the_interpreter_is_one_of_regos_with_the_same_arity() {
        for (name, (_, arity)) in regorus::unstable::BUILTINS.iter() {
            if !name.starts_with("__") {
                assert_eq!(TABLE.get(name), Some(&usize::from(*arity)), "{name}");
            }
        }
    }

    #[test]
    fn what_is_missing_or_pretends_is_unsupported_unless_provided() {
        let mut options = LoadOptions::default();
        for name in ["http.send", "opa.runtime", "io.jwt.decode", "crypto.sha256", "plus"] {
            assert_eq!(Functions::new(&options).called(name, true), Called::Unsupported, "{name}");
        }
        options.provided_builtins.push(("http.send".into(), 1));
        let functions = Functions::new(&options);
        assert_eq!(functions.called("http.send", true), Called::Function(1));
        assert_eq!(functions.called("count", true), Called::Function(1));
        assert_eq!(functions.called("any", true), Called::Deprecated);
        assert_eq!(functions.called("any", false), Called::Unsupported);
        assert_eq!(functions.called("cuont", true), Called::Unknown);
        assert_eq!(functions.nearest("cuont").as_deref(), Some("count"));
    }
}
