//! Projects, their versions, workflows and repositories (interface 2.5 to 2.8).

use super::resource::{open_enum, resource};
use super::{Framework, ProductSummary};

resource! {
    /// A project (interface 2.5).
    Project {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the organization
        organization: {OrganizationReference},
        /// the time of its creation
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// the latest of its versions that was released
        latest_released_version: {ProjectVersion},
        /// the latest of its versions
        latest_version: {ProjectVersion},
        /// the products that it is part of
        products: [ProductSummary],
        /// its workflows, in product listings
        workflows: [Workflow],
        /// its repository, in product listings
        repository: {Repository},
    }
}

resource! {
    /// The organization of a project (interface 2.5).
    OrganizationReference {
        /// identifier
        id: text,
        /// name
        name: text,
    }
}

resource! {
    /// A version of a project (interface 2.6).
    ProjectVersion {
        /// identifier
        id: text,
        /// the project's identifier
        project_id: text,
        /// the version's name
        version: text,
        /// the frameworks that it has to comply with
        frameworks: [Framework],
        /// the number of its workflow runs
        workflow_runs_count: count,
        /// the time of the last one
        last_workflow_run_at: time,
        /// the time of its creation
        created_at: time,
        /// the time of its release
        released_at: time,
        /// `true` for a pre-release
        pre_release: flag,
        /// `true` for the project's latest version
        latest: flag,
        /// its state, an enumeration without documented values
        status: text,
    }
}

resource! {
    /// A workflow (interface 2.7).
    Workflow {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the identifier of the template that it was made from
        workflow_template_id: text,
        /// `true` if it runs for pull requests
        pull_request: flag,
        /// `true` if the platform manages it
        managed: flag,
        /// its inputs
        inputs: texts,
    }
}

open_enum! {
    /// The reachability of a repository for the platform (interface 2.8).
    Reachability {
        /// the default
        Unspecified = "REACHABILITY_UNSPECIFIED",
    }
}

resource! {
    /// A source repository (interface 2.8).
    Repository {
        /// identifier
        id: text,
        /// name
        name: text,
        /// description
        description: text,
        /// the system that hosts it
        kind: text,
        /// its visibility
        visibility: text,
        /// the host that serves it
        host: text,
        /// its identifier there
        external_id: text,
        /// the identifier of the connection by which it is reached
        connection_id: text,
        /// the identifier of the person who connected it
        user_id: text,
        /// the email address of the person who connected it
        user_email: text,
        /// the organization's identifier
        organization_id: text,
        /// the reason for its reachability
        reachability_reason: text,
        /// the time at which it was connected
        created_at: time,
        /// the time of its last change
        updated_at: time,
        /// the number of linked projects
        linked_projects_count: int,
        /// `true` if it was onboarded before
        already_onboarded: flag,
        /// its reachability
        reachability: (Reachability),
    }
}
