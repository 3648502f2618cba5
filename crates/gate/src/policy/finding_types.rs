//! The types of findings that a policy document declares (`metadata.finding_type`), and their fields.
//!
//! Owns one table. What becomes of an item that doesn't fit is decided in `verdict::rule_values`.

use rego_platform_client::text::other_casing;
use serde_json::{Map, Value};

/// A type of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FindingType {
    /// The name in a document.
    pub name: &'static str,
    fields: &'static [(&'static str, FieldForm)],
}

/// The form of a field that is present and not null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldForm {
    /// A required nonempty string.
    Needed,
    Text,
    Texts,
    /// A number, or a string that is one, from 0 to 10.
    Score,
    Number,
    /// A whole number of 32 bits.
    Whole,
    Object,
}

use FieldForm::{Needed, Number, Object, Score, Text, Texts, Whole};

/// The types.
pub(super) static TYPES: [FindingType; 3] = [
    FindingType {
        name: "VULNERABILITY",
        fields: &[
            ("message", Needed),
            ("external_id", Needed),
            ("package_purl", Needed),
            ("severity", Needed),
            ("cvss_v3_score", Score),
            ("cwes", Texts),
            ("recommendation", Text),
            ("description", Text),
            ("fixed_version", Text),
            ("assessment", Object),
        ],
    },
    FindingType {
        name: "SAST",
        fields: &[
            ("message", Needed),
            ("rule_id", Needed),
            ("severity", Needed),
            ("location", Needed),
            ("line_number", Whole),
            ("code_snippet", Text),
            ("recommendation", Text),
            ("severity_score", Number),
            ("assessment", Object),
        ],
    },
    FindingType {
        name: "LICENSE_VIOLATION",
        fields: &[
            ("message", Needed),
            ("component_name", Needed),
            ("license_id", Needed),
            ("package_purl", Text),
            ("license_name", Text),
            ("component_version", Text),
            ("recommendation", Text),
            ("assessment", Object),
        ],
    },
];

impl FindingType {
    /// Returns the mistake in an item, worded to follow its description. Unknown fields are ignored.
    pub fn mistake(self, item: &Map<String, Value>) -> Option<String> {
        self.fields.iter().find_map(|&(name, form)| {
            let value = item.get(name).or_else(|| item.get(&other_casing(name)));
            let value = value.filter(|value| !value.is_null());
            let wanted = match (form, value) {
                (Needed, None) => return Some(format!("without its `{name}`")),
                (_, None) => return None,
                (form, Some(value)) if form.fits(value) => return None,
                (Needed, _) => "a string that isn't empty",
                (Text, _) => "a string",
                (Texts, _) => "an array of strings",
                (Score, _) => "a number from 0 to 10",
                (Number, _) => "a number",
                (Whole, _) => "a whole number",
                (Object, _) => "an object",
            };
            Some(format!("whose `{name}` isn't {wanted}"))
        })
    }

    /// Returns the names of the fields that an item needs.
    pub fn needed(self) -> impl Iterator<Item = &'static str> {
        let needed = self.fields.iter().filter(|(_, form)| *form == Needed);
        needed.map(|(name, _)| *name)
    }
}

impl FieldForm {
    fn fits(self, value: &Value) -> bool {
        let number = || match value {
            Value::String(text) => text.parse::<f64>().ok(),
            other => other.as_f64(),
        };
        match self {
            Needed => value.as_str().is_some_and(|text| !text.is_empty()),
            Text => value.is_string(),
            Texts => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
            Score => number().is_some_and(|number| (0.0..=10.0).contains(&number)),
            Number => number().is_some(),
            Whole => number().is_some_and(|number| {
                number.fract() == 0.0
                    && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
            }),
            Object => value.is_object(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_finding_fits_its_type() {
        let [vulnerability, sast, license] = TYPES;
        let whole =
            r#"{"message": "m", "external_id": "CVE-1", "package_purl": "p", "severity": "HIGH""#;
        let of_code = r#"{"message": "m", "rule_id": "r", "severity": "LOW", "location": "l""#;
        for (of, item, expected) in [
            (vulnerability, format!("{whole}}}"), None),
            (
                vulnerability,
                format!("{whole}, \"suppress\": true, \"new\": 1, \"cwes\": null}}"),
                None,
            ),
            (
                vulnerability,
                format!("{whole}, \"cvss_v3_score\": \"9.8\", \"cwes\": [\"CWE-1\"]}}"),
                None,
            ),
            (vulnerability, whole.replace("external_id", "externalId") + "}", None),
            (
                vulnerability,
                whole.replace("CVE-1", "") + "}",
                Some("whose `external_id` isn't a string that"),
            ),
            (
                vulnerability,
                whole.replace("\"CVE-1\"", "1") + "}",
                Some("whose `external_id` isn't a string"),
            ),
            (
                vulnerability,
                whole.replace("external_id", "id") + "}",
                Some("without its `external_id`"),
            ),
            (
                vulnerability,
                format!("{whole}, \"cvss_v3_score\": 10.1}}"),
                Some("number from 0 to 10"),
            ),
            (vulnerability, format!("{whole}, \"cvssV3Score\": []}}"), Some("number from 0 to 10")),
            (vulnerability, format!("{whole}, \"cwes\": \"CWE-1\"}}"), Some("array of strings")),
            (sast, format!("{of_code}, \"line_number\": 3, \"severity_score\": 70}}"), None),
            (sast, format!("{of_code}, \"line_number\": 3.5}}"), Some("whole number")),
            (sast, format!("{whole}}}"), Some("without its `rule_id`")),
            (
                license,
                r#"{"message": "m", "component_name": "c", "license_id": "GPL-3.0"}"#.to_owned(),
                None,
            ),
            (
                license,
                r#"{"message": "m", "component_name": "c"}"#.to_owned(),
                Some("`license_id`"),
            ),
        ] {
            let found = of.mistake(&serde_json::from_str(&item).unwrap());
            match expected {
                None => assert_eq!(found, None, "{item}"),
                Some(text) => assert!(found.unwrap().contains(text), "{item}"),
            }
        }
    }
}
