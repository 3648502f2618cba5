//! Compliance of a product's version, over all its projects (interface 2.14).

use super::resource::{open_enum, resource};
use super::{ExpiredTest, ManualEvidenceGroup, Override, PolicyResult, RequirementScope};

resource! {
    /// The compliance of a product's version with one framework (interface 2.14).
    FrameworkCompliance {
        /// the framework's identifier
        framework_id: text,
        /// the framework's name
        framework_name: text,
        /// the framework's display name
        framework_display_name: text,
        /// one evaluation for each requirement
        evaluations: [RequirementEvaluation],
        /// the requirements, counted by status
        metrics: {ComplianceMetrics},
    }
}

resource! {
    /// The requirements of a framework, counted by status (interface 2.14).
    ComplianceMetrics {
        /// all requirements
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
        /// the percentage that passes
        compliance_percentage: number,
    }
}

open_enum! {
    /// The share of a requirement that policies decide (interface 2.14).
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
        /// the requirement's display name
        display_name: text,
        /// the requirement's description
        description: text,
        /// the identifier of the product's version
        product_version_id: text,
        /// the requirement's revision
        requirement_revision: int,
        /// the requirement's subject
        scope: (RequirementScope),
        /// the time of the evaluation
        created_at: time,
        /// the outcome, the worst over all projects
        overall_status: text,
        /// the share of it that policies decide
        automation_level: (AutomationLevel),
        /// the evidence that people gave
        manual_evidence_submissions: [ManualEvidenceGroup],
        /// tests that are too old to count
        expired_tests: [ExpiredTest],
        /// the override of the outcome
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
        /// the time of the evaluation
        created_at: time,
        /// `true` if the requirement doesn't apply
        not_applicable: flag,
        /// the share of it that policies decide
        automation_level: (AutomationLevel),
        /// the evidence that people gave
        manual_evidence_submissions: [ManualEvidenceGroup],
        /// tests that are too old to count
        expired_tests: [ExpiredTest],
        /// the override of the outcome
        overridden = "override": {Override},
        /// the results of policies, by the policy's key
        policies: {map PolicyResult},
    }
}
