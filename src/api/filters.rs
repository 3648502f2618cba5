//! Filters of the typed lists.
//!
//! Owns the filters' form for hosts. The function of the same list checks their values, with the
//! message that a policy would get. An empty value is an invalid argument: if it were dropped, the
//! request would ask for everything.

use crate::rego::Value;
use crate::rego::value::Object;

/// Defines a filter type: a struct, a method for each key, and its form as a policy's argument.
macro_rules! filters {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $field:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: Option<String>,)*
        }

        impl $name {
            /// No filter: matches everything.
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
                Value::from(given.collect::<Object>())
            }
        }
    };
}

filters! {
    /// Selects projects (interface 4.3).
    ProjectFilters {
        /// Projects with this name.
        project_name,
        /// Projects of this product.
        product_id,
        /// Projects with this description.
        description,
    }
}

filters! {
    /// Selects environments (interface 4.4).
    EnvironmentFilters {
        /// Environments with this text in their name or description, ignoring case.
        query,
    }
}

/// Selects a version of a product, and some or all of its frameworks (interface 4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProductComplianceFilters {
    /// The identifier of the product's version, not its name.
    pub product_version_id: String,
    /// The frameworks to answer for; all when absent.
    pub framework_ids: Option<Vec<String>>,
}

impl ProductComplianceFilters {
    /// All frameworks of a product's version.
    pub fn new(product_version_id: impl Into<String>) -> Self {
        Self { product_version_id: product_version_id.into(), framework_ids: None }
    }

    /// Restricts the answer to these frameworks.
    #[must_use]
    pub fn framework_ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.framework_ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    pub(super) fn argument(&self) -> Value {
        let text = |text: &String| Value::from(text.as_str());
        let mut object =
            Object::from([(Value::from("product_version_id"), text(&self.product_version_id))]);
        if let Some(ids) = &self.framework_ids {
            let ids = ids.iter().map(text).collect::<Vec<_>>();
            object.insert(Value::from("framework_ids"), Value::from(ids));
        }
        Value::from(object)
    }
}
