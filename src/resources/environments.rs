//! Environments (interface 2.12).

use super::resource::{open_enum, resource};

open_enum! {
    /// What an environment is for (interface 2.12).
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
        /// when it was made
        created_at: time,
        /// when it was last changed
        updated_at: time,
        /// what it is for
        kind = "type": (EnvironmentType),
    }
}
