//! The product's name, and the names derived from it.
//!
//! Owns the one setting that names functions, environment variables, the organization header, token
//! audiences and the configuration folder (interface 4.7 and 5.4: the prefix `platform` stands for
//! the product's name), and the variable that sets it.

use std::sync::Arc;

use rego::internal::builtins::all;

use crate::{Error, environment};

/// The variable that sets the product, for the library and the command.
pub const VARIABLE: &str = "REGO_PLATFORM_PRODUCT";

/// The name that a service gives to its functions, header and folders; `platform` by default.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Product(Arc<str>);

/// Keywords and root documents of Rego, which a product can't have as a name. Names of built-in functions are
/// excluded too.
const WORDS: &[&str] = &[
    "as", "data", "default", "else", "every", "false", "future", "if", "import", "in", "input",
    "not", "null", "package", "set", "some", "true", "with",
];

impl Product {
    /// Checks a product's name: a lowercase letter, then lowercase letters, digits and `_`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for another form, or a word that Rego reserves.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut chars = name.chars();
        let form = chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && name.len() <= 64;
        if !form {
            return Err(Error::configuration(format!(
                "invalid name of a product: `{}`",
                crate::text::escape(name)
            ))
            .with_hint("use a lowercase letter, then lowercase letters, digits and `_`"));
        }
        if Self::is_reserved(name) {
            return Err(Error::configuration(format!(
                "invalid name of a product: `{name}` is reserved in Rego"
            ))
            .with_hint("choose another name for the product"));
        }
        Ok(Self(name.into()))
    }

    /// Reads the product's name from the environment variable `REGO_PLATFORM_PRODUCT`; the default if it is unset
    /// or blank.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a name that [`new`](Self::new) refuses.
    pub fn from_env() -> Result<Self, Error> {
        let Some(name) = environment::read(VARIABLE)? else { return Ok(Self::default()) };
        let origin = format!("environment variable `{VARIABLE}`");
        Self::new(&name).map_err(|error| error.from_origin(&origin))
    }

    /// Returns `true` for keywords, built-in functions and their namespaces, which can't be a product's name.
    pub fn is_reserved(name: &str) -> bool {
        let is_root = |full: &str| full.split('.').next() == Some(name);
        WORDS.contains(&name) || all().iter().any(|builtin| is_root(builtin.name))
    }

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a function's full name: `platform.discover`.
    pub fn function(&self, short: &str) -> String {
        format!("{}.{short}", self.0)
    }

    /// Returns the name of a function without the product's name and the dot, if it has them.
    pub fn short<'n>(&self, full: &'n str) -> Option<&'n str> {
        full.strip_prefix(self.as_str())?.strip_prefix('.')
    }

    /// Returns the name of an environment variable: `PLATFORM_TOKEN`.
    pub fn env(&self, suffix: &str) -> String {
        format!("{}_{suffix}", self.0.to_ascii_uppercase())
    }

    /// The header with which a user token selects the organization (interface 5.4).
    pub fn organization_header(&self) -> String {
        format!("{}-organization", self.0)
    }

    /// The audience of user tokens.
    pub fn user_audience(&self) -> String {
        format!("user-auth.{}", self.0)
    }

    /// The audience of API tokens.
    pub fn api_audience(&self) -> String {
        format!("api-token-auth.{}", self.0)
    }

    /// Returns the field of an input for its metadata in policy documents: `platform_metadata`.
    pub fn metadata_field(&self) -> String {
        format!("{}_metadata", self.0)
    }

    /// The annotation, among those of the metadata, with the name of an input.
    pub fn name_annotation(&self) -> String {
        self.material_annotation("name")
    }

    /// The annotation, among those of the metadata, with the kind of an input.
    pub fn kind_annotation(&self) -> String {
        self.material_annotation("type")
    }

    /// The annotation, among those of the metadata, with a property of an input as a material.
    pub fn material_annotation(&self, property: &str) -> String {
        format!("{}.material.{property}", self.0)
    }
}

/// A product, or its name.
pub trait IntoProduct {
    /// Returns the product.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) for a name that [`Product::new`] refuses.
    fn into_product(self) -> Result<Product, Error>;
}

impl IntoProduct for Product {
    fn into_product(self) -> Result<Product, Error> {
        Ok(self)
    }
}

impl IntoProduct for &str {
    fn into_product(self) -> Result<Product, Error> {
        Product::new(self)
    }
}

impl Default for Product {
    fn default() -> Self {
        Self("platform".into())
    }
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_derived_from_the_products() {
        let product = Product::new("chainloop").unwrap();
        assert_eq!(product.function("discover"), "chainloop.discover");
        assert_eq!(product.env("TOKEN"), "CHAINLOOP_TOKEN");
        assert_eq!(product.organization_header(), "chainloop-organization");
        assert_eq!(product.user_audience(), "user-auth.chainloop");
        assert_eq!(product.api_audience(), "api-token-auth.chainloop");
        assert_eq!(product.metadata_field(), "chainloop_metadata");
        assert_eq!(product.name_annotation(), "chainloop.material.name");
        assert_eq!(product.kind_annotation(), "chainloop.material.type");
    }

    #[test]
    fn an_invalid_name_is_refused() {
        for name in [
            "", "Platform", "9p", "a-b", "a.b", "http", "json", "data", "a\nb", "é", "count",
            "sprintf", "print", "walk", "if", "every",
        ] {
            assert!(Product::new(name).is_err(), "{name}");
        }
    }

    /// A name that a newer Rego reserves changes what a product may be called: this list is to notice.
    const RESERVED: &str = "\
abs all and any array as assign base64 base64url bits cast_array cast_boolean cast_null \
cast_object cast_set cast_string ceil concat contains count crypto data default div else \
endswith eq equal every false floor format_int future glob graph graphql gt gte hex http \
if import in indexof indexof_n input internal intersection io is_array is_boolean \
is_null is_number is_object is_set is_string json lower lt lte max min minus mul neq net \
not null numbers object opa or package plus print product providers rand re_match regex \
rego rem replace round semver set set_diff some sort split sprintf startswith strings \
substring sum time to_number trace trim trim_left trim_prefix trim_right trim_space \
trim_suffix true type_name union units upper uri urlquery uuid walk with yaml";

    #[test]
    fn the_reserved_names_are_known() {
        let roots = all().iter().filter_map(|builtin| builtin.name.split('.').next());
        let reserved: BTreeSet<_> = roots.chain(WORDS.iter().copied()).collect();
        assert_eq!(reserved, RESERVED.split(' ').collect());
        assert!(RESERVED.split(' ').all(Product::is_reserved));
    }
}
