//! Settings from the environment.
//!
//! Owns reading the variables and refusing values that can't be read. The builder owns the
//! settings.

use std::ffi::OsString;

use super::PlatformBuilder;
use crate::client::{Credentials, Token};
use crate::{Error, ErrorKind};

impl PlatformBuilder {
    /// Takes the token, organization and addresses from the environment (`PLATFORM_TOKEN`,
    /// `PLATFORM_ORGANIZATION`, `PLATFORM_CONTROLPLANE_URL`, `PLATFORM_BASE_URL`) if they are set
    /// and not empty; `PLATFORM` stands for the product's name in upper case.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a token that can't be valid, and for a variable that isn't
    /// UTF-8, which the message names.
    pub fn from_env(self) -> Result<Self, Error> {
        self.with_variables(|name| std::env::var_os(name))
    }

    fn with_variables(
        mut self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, Error> {
        let read = |suffix| text(&self.product.env(suffix), &variable);
        let (token, organization) = (read("TOKEN")?, read("ORGANIZATION")?);
        let (control_plane, backend) = (read("CONTROLPLANE_URL")?, read("BASE_URL")?);
        if let Some(token) = token {
            self.credentials = Credentials::Fixed(Token::new(token)?);
        }
        self.organization = organization.or(self.organization);
        self.control_plane = control_plane.or(self.control_plane);
        self.backend = backend.or(self.backend);
        Ok(self)
    }
}

/// Reads an environment variable; `None` if it is unset or blank. One that can't be read isn't
/// treated as unset: without its token or its proxy, a call would not go where its user meant.
pub(super) fn text(
    name: &str,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<String>, Error> {
    let Some(value) = variable(name) else { return Ok(None) };
    match value.into_string() {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(_) => Err(Error::new(
            ErrorKind::Configuration,
            format!("the environment variable `{name}` isn't UTF-8"),
        )
        .with_hint("set it again, or unset it")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::{Platform, Product};

    #[test]
    fn a_variable_that_is_not_utf8_is_an_error_and_not_unset() {
        for suffix in ["TOKEN", "ORGANIZATION", "CONTROLPLANE_URL", "BASE_URL"] {
            let product = Product::new("chainloop").unwrap();
            let name = product.env(suffix);
            let garbled =
                |asked: &str| (asked == name).then(|| OsString::from_vec(b"canary-\xff".to_vec()));
            let built = Platform::builder().product(product).with_variables(garbled);
            let error = built.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert!(error.report().contains(&format!("`{name}`")), "{}", error.report());
            assert!(!error.report().contains("canary"));
        }
    }

    #[test]
    fn blank_variables_are_unset() {
        let blank = |_: &str| Some(OsString::from(" "));
        let builder = Platform::builder().organization("acme").with_variables(blank).unwrap();
        assert_eq!(builder.organization.as_deref(), Some("acme"));
    }
}
