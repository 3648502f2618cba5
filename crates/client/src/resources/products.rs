//! Products and their versions (interface 2.3, 2.4).

use super::resource::{open_enum, resource};
use super::{Framework, Project, ProjectVersion};

resource! {
    /// A product (interface 2.3).
    ProductResource {
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
        /// its latest version
        latest_version: {ProductVersion},
        /// the business unit that owns it
        business_unit: {BusinessUnit},
    }
}

resource! {
    /// A business unit, embedded in products (interface 2.3).
    BusinessUnit {
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
    }
}

resource! {
    /// A product in short, embedded in projects and frameworks (interface 2.3).
    ProductSummary {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the time of its creation
        created_at: time,
    }
}

open_enum! {
    /// The state of a product's version (interface 2.4).
    VersionStatus {
        /// the default
        Unspecified = "VERSION_STATUS_UNSPECIFIED",
    }
}

resource! {
    /// A version of a product, with its projects and frameworks (interface 2.4).
    ProductVersion {
        /// identifier
        id: text,
        /// the product's identifier
        product_id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the time of its creation
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// the time of its release
        released_at: time,
        /// its state
        status: (VersionStatus),
        /// the frameworks that it has to comply with
        frameworks: [Framework],
        /// the versions of projects that it consists of
        project_versions: [ProjectVersionLink],
    }
}

resource! {
    /// A project's version as a part of a product's version (interface 2.4).
    ProjectVersionLink {
        /// `true` if it always stands for the project's latest version
        track_latest_project_version: flag,
        /// the project
        project: {Project},
        /// the project's version
        version: {ProjectVersion},
    }
}
