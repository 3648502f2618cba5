//! Compliance of a product's version, over all its projects (interface 2.14).

use super::resource::{open_enum, resource};
use super::{ExpiredTest, ManualEvidenceGroup, Override, PolicyResult, RequirementScope};

resource! {
    /// How a product's version fares against one framework (interface 2.14).
    FrameworkCompliance {
        /// the framework's identifier
        framework_id: text,
        /// the framework's name
        framework_name: text,
        /// the framework's name for people
        framework_display_name: text,
        /// one evaluation for each requirement
        evaluations: [RequirementEvaluation],
        /// how many requirements have which status
        metrics: {ComplianceMetrics},
    }
}

resource! {
    /// The requirements of a framework, counted by status (interface 2.14).
    ComplianceMetrics {
        /// all
        total_requirements: int,
        /// those that pass
        passing_requirements: int,
        /// those that fail
        failing_requirements: int,
        /// those that pass in part
        partial_requirements: int,
        /// those that wait for something
        pending_requirements: int,
        /// those that don't count
        inactive_requirements: int,
        /// how many of a hundred pass
        compliance_percentage: number,
    }
}

open_enum! {
    /// How much of a requirement is decided by policies (interface 2.14).
    AutomationLevel {
        /// the value shown
        Unspecified = "unspecified",
    }
}

resource! {
    /// A requirement over all projects of a product's version; the worst of them wins
    /// (interface 2.14).
    RequirementEvaluation {
        /// the requirement's identifier
        requirement_id: text,
        /// the identifier of the requirement's version
        requirement_version_id: text,
        /// the requirement's name
        name: text,
        /// the requirement's name for people
        display_name: text,
        /// what the requirement asks for
        description: text,
        /// the identifier of the product's version
        product_version_id: text,
        /// the requirement's revision
        requirement_revision: int,
        /// what the requirement is about
        scope: (RequirementScope),
        /// when it was evaluated
        created_at: time,
        /// the outcome, the worst over all projects
        overall_status: text,
        /// how much of it is decided by policies
        automation_level: (AutomationLevel),
        /// what people gave as evidence
        manual_evidence_submissions: [ManualEvidenceGroup],
        /// tests that are too old to count
        expired_tests: [ExpiredTest],
        /// what overrides the outcome
        overridden = "override": {Override},
        /// the outcome in each project's version
        project_evaluations: [ProjectEvaluation],
    }
}

resource! {
    /// A requirement in one project's version (interface 2.14).
    ProjectEvaluation {
        /// the project's identifier
        project_id: text,
        /// the project's name
        project_name: text,
        /// the identifier of the project's version
        project_version_id: text,
        /// the identifier of the exception that is made for it
        requirement_exception_id: text,
        /// the outcome
        status: text,
        /// when it was evaluated
        created_at: time,
        /// whether the requirement doesn't apply
        not_applicable: flag,
        /// how much of it is decided by policies
        automation_level: (AutomationLevel),
        /// what people gave as evidence
        manual_evidence_submissions: [ManualEvidenceGroup],
        /// tests that are too old to count
        expired_tests: [ExpiredTest],
        /// what overrides the outcome
        overridden = "override": {Override},
        /// what policies said, by the policy's key
        policies: {map PolicyResult},
    }
}
