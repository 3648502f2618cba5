//! Options of the form `KEY=VALUE`, and the values of the input that `--set` gives.

use rego_platform::Error;
use rego_platform_client::text::escape;
use rego_platform_gate::InputValues;

/// Splits the value of an option into its key and its value.
pub(super) fn split<'t>(option: &str, text: &'t str) -> Result<(&'t str, &'t str), Error> {
    let lacks = |what: &str| {
        Error::configuration(format!("`{option} {}` has no {what}", escape(text)))
            .with_hint(format!("write `{option} KEY=VALUE`"))
    };
    match text.split_once('=') {
        None => Err(lacks("value")),
        Some(("", _)) => Err(lacks("key")),
        Some(split) => Ok(split),
    }
}

/// Returns the values that `--set` gives.
pub(super) fn parse(given: &[String]) -> Result<InputValues, Error> {
    let mut values = InputValues::default();
    for text in given {
        let (path, value) = split("--set", text)?;
        // As when a variable of the shell isn't set.
        if value.trim().is_empty() {
            let path = escape(path);
            return Err(Error::configuration(format!("`--set {path}` has an empty value"))
                .with_hint(format!("leave it out, or write `--set '{path}=\"\"'`")));
        }
        values.set(path, value)?;
    }
    Ok(values)
}
