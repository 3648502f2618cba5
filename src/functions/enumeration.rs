//! Enumerations in arguments, whose values may be given without their prefix.
//!
//! Owns the one spelling that is sent. The values themselves are open: the service refuses those that it
//! doesn't know.

use crate::rego::Value;

use super::arguments::{Invalid, list, string};
use crate::text::shorten;

/// The type of findings.
pub(super) const FINDING_TYPE: Enumeration = Enumeration { prefix: "FINDING_TYPE_" };

/// The status of findings.
pub(super) const FINDING_STATUS: Enumeration = Enumeration { prefix: "FINDING_STATUS_" };

/// The severity of findings.
pub(super) const FINDING_SEVERITY: Enumeration = Enumeration { prefix: "FINDING_SEVERITY_" };

/// An enumeration of the service.
#[derive(Debug)]
pub(crate) struct Enumeration {
    /// The text that each value begins with.
    prefix: &'static str,
}

impl Enumeration {
    /// Returns a value with its prefix: `HIGH` is `FINDING_SEVERITY_HIGH`.
    pub fn value(&self, path: &str, value: &Value) -> Result<String, Invalid> {
        let text = string(path, value)?;
        let name = text.strip_prefix(self.prefix).unwrap_or(&text);
        let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if is_name {
            return Ok(format!("{}{name}", self.prefix));
        }
        let invalid = Invalid::new(path, format!("is `{}`, expected a name", shorten(&text, 80)));
        let prefix = self.prefix;
        Err(invalid.hint(format!("write it in capitals, with or without `{prefix}`")))
    }

    /// Returns the values of an argument that is one of them or several.
    pub fn values(&self, path: &str, value: &Value) -> Result<Vec<String>, Invalid> {
        match value {
            Value::String(_) => Ok(vec![self.value(path, value)?]),
            _ => list(path, value, |path, value| self.value(path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sent_with_their_prefix() {
        let values = |text: &str| {
            let value = Value::from_json(text).map_err(|_| ()).unwrap_or_default();
            FINDING_SEVERITY.values("severity", &value).map_err(|invalid| invalid.message)
        };
        let high = Ok(vec!["FINDING_SEVERITY_HIGH".to_owned()]);
        for same in [
            r#""HIGH""#,
            r#""FINDING_SEVERITY_HIGH""#,
            r#"["HIGH"]"#,
            r#"["FINDING_SEVERITY_HIGH", "HIGH"]"#,
        ] {
            assert_eq!(values(same), high, "{same}");
        }
        for bad in
            [r#""""#, r#""high""#, r#""HIGH ""#, r#""FINDING_SEVERITY_""#, "[]", "7", "[7]", "null"]
        {
            assert!(values(bad).is_err(), "{bad}");
        }
    }
}
