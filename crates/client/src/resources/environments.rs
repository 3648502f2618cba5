//! Environments (interface 2.12).

use super::resource::{open_enum, resource};

open_enum! {
    /// The purpose of an environment (interface 2.12).
    EnvironmentType {
        /// the default
        Unspecified = "ENVIRONMENT_TYPE_UNSPECIFIED",
    }
}

resource! {
    /// An environment (interface 2.12).
    Environment {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the organization's identifier
        organization_id: text,
        /// the time of its creation
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// its purpose
        kind = "type": (EnvironmentType),
    }
}
