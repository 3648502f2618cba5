//! A material of a group of policies.

/// The kind of attestations.
pub(super) const ATTESTATION: &str = "ATTESTATION";

/// A material of a group, for which some of its policies are.
#[derive(Debug, Clone)]
pub(crate) struct Material {
    pub group: String,
    /// Its name; without one, it is every input of the policies' kinds.
    pub name: Option<String>,
    /// Set if its name is the beginning of those of its inputs.
    pub is_prefix: bool,
    /// The kind of its inputs.
    pub kind: Option<String>,
    /// Set if no input has to be this material.
    pub optional: bool,
}

impl Material {
    /// Returns `true` if an input with this name as a material, if it has one, is this material.
    pub fn is(&self, input: Option<&str>) -> bool {
        match (&self.name, input) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(input)) if self.is_prefix => input.starts_with(own.as_str()),
            (Some(own), Some(input)) => input == own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_material_is_the_inputs_of_its_name() {
        let material = |name: Option<&str>, is_prefix| Material {
            group: String::new(),
            name: name.map(str::to_owned),
            is_prefix,
            kind: None,
            optional: false,
        };
        for (name, is_prefix, input, expected) in [
            (None, false, None, true),
            (None, false, Some("a"), true),
            (Some("a"), false, None, false),
            (Some("a"), false, Some("a"), true),
            (Some("a"), false, Some("a-1"), false),
            (Some("a"), true, Some("a-1"), true),
            (Some("a"), true, Some("b-a"), false),
        ] {
            assert_eq!(material(name, is_prefix).is(input), expected, "{name:?} {input:?}");
        }
    }
}
