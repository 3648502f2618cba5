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
        /// when it was made
        created_at: time,
        /// when it was last changed
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
        /// how many workflow runs it has
        workflow_runs_count: count,
        /// when the last of them was
        last_workflow_run_at: time,
        /// when it was made
        created_at: time,
        /// when it was released
        released_at: time,
        /// whether it is a pre-release
        pre_release: flag,
        /// whether it is the project's latest
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
        /// whether it runs for pull requests
        pull_request: flag,
        /// whether the platform manages it
        managed: flag,
        /// what it is given
        inputs: texts,
    }
}

open_enum! {
    /// True if the platform can reach a repository (interface 2.8).
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
        /// which system it is in
        kind: text,
        /// who can see it
        visibility: text,
        /// the host that serves it
        host: text,
        /// its identifier there
        external_id: text,
        /// the identifier of the connection by which it is reached
        connection_id: text,
        /// the identifier of whoever connected it
        user_id: text,
        /// the address of whoever connected it
        user_email: text,
        /// the organization's identifier
        organization_id: text,
        /// why it is or isn't reached
        reachability_reason: text,
        /// when it was connected
        created_at: time,
        /// when it was last changed
        updated_at: time,
        /// how many projects it is linked to
        linked_projects_count: int,
        /// whether it was onboarded before
        already_onboarded: flag,
        /// whether it can be reached
        reachability: (Reachability),
    }
}
