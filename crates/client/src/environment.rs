//! Settings from the environment.
//!
//! Owns reading the variables, and refusing values that can't be read.

use std::ffi::OsString;

use crate::Error;

/// Reads the address of the proxy for HTTPS; `None` if no variable has one.
pub fn proxy() -> Result<Option<String>, Error> {
    first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
}

/// Reads the hosts for which there is no proxy; `None` if no variable has them.
pub fn no_proxy() -> Result<Option<String>, Error> {
    first(&["NO_PROXY", "no_proxy"])
}

fn first(names: &[&str]) -> Result<Option<String>, Error> {
    names.iter().find_map(|name| read(name).transpose()).transpose()
}

/// Reads an environment variable; `None` if it is unset or blank. One that can't be read isn't
/// treated as unset: without its token or its proxy, a call would not go where its user meant.
pub fn read(name: &str) -> Result<Option<String>, Error> {
    std::env::var_os(name).map_or(Ok(None), |value| text(name, value))
}

fn text(name: &str, value: OsString) -> Result<Option<String>, Error> {
    match value.into_string() {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(_) => {
            Err(Error::configuration(format!("invalid UTF-8 in the environment variable `{name}`"))
                .with_hint("set the variable again, or unset it"))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_variable_that_is_not_utf8_is_an_error_and_a_blank_one_unset() {
        let name = "CHAINLOOP_TOKEN";
        let error = text(name, OsString::from_vec(b"canary-\xff".to_vec())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.report().contains("`CHAINLOOP_TOKEN`"), "{}", error.report());
        assert!(!error.report().contains("canary"));
        assert_eq!(text(name, OsString::from(" ")).unwrap(), None);
        assert_eq!(text(name, OsString::from("x")).unwrap().as_deref(), Some("x"));
    }
}
