//! Fields that policy documents, groups and contracts have in common.

use rego_platform::sources::{refuse_boolean_words, typed};
use rego_platform::{Error, Product};
use rego_platform_client::text::{escape, nearest};
use rego_platform_materials::Kind;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::file::{DocumentFile, Placed};

/// The kind of materials that means any.
const UNSPECIFIED: &str = "MATERIAL_TYPE_UNSPECIFIED";

/// The group of the vendor's `apiVersion`.
const VENDOR: &str = "chainloop";

/// The beginning of the older spelling of an `apiVersion`.
const OLDER: &str = "workflowcontract.";

/// Reads a file into a type. Messages name the type as `what`.
pub(crate) fn typed_as<T: DeserializeOwned>(
    file: DocumentFile<'_>,
    what: &str,
) -> Result<T, Error> {
    let refused = |mut found: rego_platform::Diagnostic| {
        found.message = format!("invalid {what}: {}", found.message);
        Error::policy(vec![found])
    };
    let value = typed(file.path, file.text).map_err(refused)?;
    refuse_boolean_words(file.path, file.text).map_err(refused)?;
    Ok(value)
}

/// Refuses an `apiVersion` that isn't one of those of a product.
pub(crate) fn refuse_version(version: &Placed<String>, product: &Product) -> Result<(), Error> {
    let product = product.as_str();
    let (is_older, group) = match version.value.strip_prefix(OLDER) {
        Some(group) => (true, group),
        None => (false, version.value.as_str()),
    };
    let is_known = match group.strip_suffix("/v1") {
        Some("chainloop.dev") => true,
        Some(domain) if product != VENDOR => is_older || domain.split('.').next() == Some(product),
        _ => false,
    };
    if is_known {
        return Ok(());
    }
    let known = match product {
        VENDOR => "`chainloop.dev/v1` or `workflowcontract.chainloop.dev/v1`".to_owned(),
        _ => format!(
            "`chainloop.dev/v1` or `workflowcontract.chainloop.dev/v1`, or for the product `{product}` \
             `{product}.DOMAIN/v1` or `workflowcontract.DOMAIN/v1`"
        ),
    };
    let message = format!("unknown apiVersion `{}`: expected {known}", escape(&version.value));
    Err(version.refused(message, Some("leave out documents of other products")))
}

/// Reads a name: lowercase letters, digits and hyphens within.
pub(crate) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if is_name(&name) {
        return Ok(name);
    }
    let name = escape(&name);
    Err(D::Error::custom(format!(
        "invalid name `{name}`: expected lowercase letters and digits, with hyphens inside"
    )))
}

pub(crate) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(allowed) && !name.starts_with('-') && !name.ends_with('-')
}

/// Reads the name of an input, which templates and policies refer to.
pub(crate) fn input_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let is_valid = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_valid {
        return Ok(name);
    }
    let name = escape(&name);
    Err(D::Error::custom(format!(
        "invalid name `{name}` of an input: expected a letter, then letters, digits and `_`"
    )))
}

/// Reads a kind of materials; `None` for the one that means any.
pub(crate) fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(kind) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    match kind.as_str() {
        UNSPECIFIED => Ok(None),
        known if Kind::named(known).is_some() => Ok(Some(kind)),
        unknown => {
            let known = Kind::all().iter().map(|kind| kind.name);
            let near = nearest(&unknown.to_ascii_uppercase(), known);
            let near = near.map(|near| format!(": did you mean `{near}`?"));
            let (kind, near) = (escape(unknown), near.unwrap_or_default());
            Err(D::Error::custom(format!("unknown kind `{kind}`{near}")))
        }
    }
}

/// Reads the kind of a policy: any kind except that of all files.
pub(crate) fn policy_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    refuse_kinds(kind(deserializer)?, &["ARTIFACT"])
}

/// Reads the kind of a policy in the older form.
pub(crate) fn older_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    refuse_kinds(kind(deserializer)?, &["STRING", "ARTIFACT", "EVIDENCE"])
}

fn refuse_kinds<E: serde::de::Error>(
    kind: Option<String>,
    refused: &[&str],
) -> Result<Option<String>, E> {
    match kind.as_deref().filter(|kind| refused.contains(kind)) {
        Some(kind) => Err(E::custom(format!("unsupported kind of a policy: `{kind}`"))),
        None => Ok(kind),
    }
}

/// Reads a value, or its default for `null`.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rego_platform::Position;

    #[test]
    fn a_version_is_the_vendors_or_the_products() {
        for (version, product, is_known) in [
            ("chainloop.dev/v1", "chainloop", true),
            ("workflowcontract.chainloop.dev/v1", "chainloop", true),
            ("workflowcontract.chainloop.dev/v1", "other", true),
            ("chainloop.dev/v1", "other", true),
            ("other.example/v1", "other", true),
            ("workflowcontract.example/v1", "other", true),
            ("workflowcontract.example/v1", "chainloop", false),
            ("chainloop.dev/v1/", "chainloop", false),
            ("chainloop.dev/v2", "chainloop", false),
            ("chainloop.dev/v1 ", "chainloop", false),
            ("Chainloop.dev/v1", "chainloop", false),
            ("chainloop.example/v1", "chainloop", false),
            ("kyverno.io/v1", "other", false),
            ("v1", "other", false),
            ("", "other", false),
        ] {
            let at = Position {
                file: String::new(),
                line: 1,
                column: 1,
                length: 1,
                text: String::new(),
            };
            let placed = Placed { value: version.to_owned(), at };
            let product = Product::new(product).unwrap();
            assert_eq!(
                refuse_version(&placed, &product).is_ok(),
                is_known,
                "{version} {product:?}"
            );
        }
    }
}
