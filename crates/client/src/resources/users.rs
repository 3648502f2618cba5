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
        /// email address
        email: text,
        /// the time of the account's creation
        created_at: time,
        /// `true` if the person administers the whole instance
        instance_admin: flag,
        /// the person's identifier in a support tool
        intercom_hash: text,
    }
}
