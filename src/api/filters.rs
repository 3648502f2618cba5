//! What lists are filtered by.
//!
//! Owns the filters' form for hosts; what is right in them is checked by the function of the same
//! list, with the same message that a policy gets. An empty value is an invalid argument: dropped,
//! it would ask for everything.

use std::collections::BTreeMap;

use crate::rego::Value;

/// Defines filters: a struct, a method for each key, and their form as a policy's argument.
macro_rules! filters {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: Option<String>,)*
        }

        impl $name {
            /// No filter: everything.
            pub fn new() -> Self {
                Self::default()
            }

            $($(#[doc = $doc])+ #[must_use]
            pub fn $field(mut self, value: impl Into<String>) -> Self {
                self.$field = Some(value.into());
                self
            })*

            pub(super) fn argument(&self) -> Value {
                let given = [$((stringify!($field), &self.$field)),*];
                let given = given.into_iter().filter_map(|(key, value)| {
                    Some((Value::from(key), Value::from(value.as_deref()?)))
                });
                Value::from(given.collect::<BTreeMap<_, _>>())
            }
        }
    };
}

filters! {
    /// Which projects (interface 4.3).
    ProjectFilters {
        /// With this name.
        project_name,
        /// Of this product.
        product_id,
        /// With this description.
        description,
    }
}

filters! {
    /// Which environments (interface 4.4).
    EnvironmentFilters {
        /// With this in the name or description, in any case.
        query,
    }
}

/// Which version of a product, and which of its frameworks (interface 4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProductComplianceFilters {
    /// The version of the product.
    pub product_version_id: String,
    /// Only these frameworks; all when absent.
    pub framework_ids: Option<Vec<String>>,
}

impl ProductComplianceFilters {
    /// All frameworks of a product's version.
    pub fn new(product_version_id: impl Into<String>) -> Self {
        Self { product_version_id: product_version_id.into(), framework_ids: None }
    }

    /// Only these frameworks.
    #[must_use]
    pub fn framework_ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.framework_ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    pub(super) fn argument(&self) -> Value {
        let text = |text: &String| Value::from(text.as_str());
        let mut object =
            BTreeMap::from([(Value::from("product_version_id"), text(&self.product_version_id))]);
        if let Some(ids) = &self.framework_ids {
            let ids = ids.iter().map(text).collect::<Vec<_>>();
            object.insert(Value::from("framework_ids"), Value::from(ids));
        }
        Value::from(object)
    }
}
