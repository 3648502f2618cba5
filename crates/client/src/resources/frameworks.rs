//! Frameworks, their requirements and sections (interface 2.9 to 2.11).

use super::resource::{open_enum, resource};
use super::{ProductSummary, Project};

resource! {
    /// A framework: a set of requirements (interface 2.9).
    Framework {
        /// identifier
        id: text,
        /// name
        name: text,
        /// display name
        display_name: text,
        /// description
        description: text,
        /// the organization's identifier
        organization_id: text,
        /// the time of its creation
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// `true` for a preview
        preview: flag,
        /// `true` if it comes with the platform
        built_in: flag,
        /// `true` if it doesn't apply
        not_applicable: flag,
        /// the text that it was made from
        raw_schema: {RawSchema},
        /// its requirements
        requirements: [Requirement],
        /// its sections
        sections: [Section],
        /// the projects that have to comply with it
        projects: [Project],
        /// the products that have to comply with it
        products: [ProductSummary],
    }
}

open_enum! {
    /// The language of a raw schema (interface 2.9).
    SchemaFormat {
        /// the default
        Unspecified = "FORMAT_UNSPECIFIED",
    }
}

resource! {
    /// The text that a framework or requirement was made from (interface 2.9).
    RawSchema {
        /// its language
        format: (SchemaFormat),
        /// the text
        body: text,
    }
}

open_enum! {
    /// The subject of a requirement (interface 2.10).
    RequirementScope {
        /// the value shown
        Unspecified = "UNSPECIFIED",
    }
}

open_enum! {
    /// The state of a requirement (interface 2.10).
    RequirementStatus {
        /// the default
        Unspecified = "REQUIREMENT_STATUS_UNSPECIFIED",
    }
}

resource! {
    /// A requirement of frameworks (interface 2.10).
    Requirement {
        /// identifier
        id: text,
        /// name
        name: text,
        /// display name
        display_name: text,
        /// description
        description: text,
        /// the organization's identifier
        organization_id: text,
        /// the time of its creation
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// `true` for a preview
        preview: flag,
        /// `true` if it comes with the platform
        built_in: flag,
        /// the text that it was made from
        raw_schema: {RawSchema},
        /// its subject
        scope: (RequirementScope),
        /// its state
        status: (RequirementStatus),
        /// the frameworks that it is in
        frameworks: [Framework],
        /// its versions
        version_references: [VersionReference],
    }
}

resource! {
    /// A version of a requirement (interface 2.10).
    VersionReference {
        /// identifier
        id: text,
        /// its subject
        scope: (RequirementScope),
        /// the revision's number
        revision: int,
        /// the number of policies that decide about it
        automated_policies_count: int,
        /// the number of items of evidence that people have to give
        manual_evidence_count: int,
    }
}

resource! {
    /// A section of a framework (interface 2.11).
    Section {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the identifier of the section that it is in
        parent_id: text,
        /// its requirements
        requirements: [Requirement],
        /// the sections in it, to any depth
        sub_sections: [Section],
    }
}
