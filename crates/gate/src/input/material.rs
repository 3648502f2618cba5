//! Materials of policy groups and contracts.

use rego_platform_client::text::escape;

/// The kind whose inputs have signatures.
pub(crate) const ATTESTATION: &str = "ATTESTATION";

/// A material of a group, with policies of its own.
#[derive(Debug, Clone)]
pub(crate) struct Material {
    pub group: String,
    /// The name. Without a name, every input of the policies' kinds is this material.
    pub name: Option<String>,
    /// `true` if inputs match by a prefix of their name.
    pub is_prefix: bool,
    /// The kind of its inputs.
    pub kind: Option<String>,
    /// `true` if the material may be missing.
    pub optional: bool,
    /// The name of a set of materials of which at least one must be present.
    pub any_of: Option<String>,
}

impl Material {
    /// Returns `true` if an input with this material name is this material.
    pub fn is(&self, input: Option<&str>) -> bool {
        match (&self.name, input) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(input)) if self.is_prefix => input.starts_with(own.as_str()),
            (Some(own), Some(input)) => input == own,
        }
    }
}

/// Returns the message about the first missing material, given the material names of all inputs.
pub(crate) fn missing(all: &[Material], inputs: &[Option<&str>]) -> Option<String> {
    let is_there = |material: &Material| inputs.iter().any(|input| material.is(*input));
    for material in all {
        let Some(name) = &material.name else { continue };
        let (group, shown) = (escape(&material.group), escape(name));
        if !material.optional && !is_there(material) {
            return Some(format!("missing material `{shown}` of the group `{group}`"));
        }
        let Some(any_of) = &material.any_of else { continue };
        let is_same = |other: &&Material| {
            other.any_of.as_ref() == Some(any_of) && other.group == material.group
        };
        let same: Vec<_> = all.iter().filter(is_same).collect();
        if !same.iter().any(|own| is_there(own)) {
            let names: Vec<_> = same.iter().filter_map(|own| own.name.as_deref()).collect();
            let (any_of, names) = (escape(any_of), names.join("`, `"));
            return Some(format!(
                "missing material of the group `{any_of}`: expected one of `{names}`"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_material_is_the_inputs_of_its_name() {
        let material = |name: Option<&str>, is_prefix| Material {
            group: String::new(),
            name: name.map(str::to_owned),
            is_prefix,
            kind: None,
            optional: false,
            any_of: None,
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

    #[test]
    fn one_of_several_materials_is_enough() {
        let material = |name: &str, optional, any_of: Option<&str>| Material {
            group: "g".to_owned(),
            name: Some(name.to_owned()),
            is_prefix: false,
            kind: None,
            optional,
            any_of: any_of.map(str::to_owned),
        };
        let all = [
            material("a", true, Some("x")),
            material("b", true, Some("x")),
            material("c", false, None),
        ];
        for (inputs, says) in [
            (&["a", "c"][..], None),
            (&["b", "c"], None),
            (&["c"], Some("missing material of the group")),
            (&["a"], Some("missing material")),
        ] {
            let inputs: Vec<_> = inputs.iter().map(|name| Some(*name)).collect();
            match (missing(&all, &inputs), says) {
                (None, None) => {}
                (found, says) => assert!(found.unwrap().contains(says.unwrap()), "{inputs:?}"),
            }
        }
    }
}
