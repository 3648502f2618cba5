//! People (interface 2.2).

use super::resource::resource;

resource! {
    /// A person (interface 2.2).
    User {
        /// identifier
        id: text,
        /// given name
        first_name: text,
        /// family name
        last_name: text,
        /// address
        email: text,
        /// when the account was made
        created_at: time,
        /// whether the person administers the whole instance
        instance_admin: flag,
        /// what a support tool knows the person by
        intercom_hash: text,
    }
}
