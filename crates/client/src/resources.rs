//! The resources of the service: the contents of its responses.
//!
//! Owns the types that the table of functions and the typed client share ([`types`]), the macros
//! that define a resource from its fields ([`resource`]), what an answer must be ([`validate`]), and
//! the resources of interface section 2.
//! Sends no requests.

mod assessments;
mod compliance;
mod environments;
mod frameworks;
mod manual;
mod policies;
mod products;
mod projects;
#[doc(hidden)]
pub mod resource;
#[doc(hidden)]
pub mod scalars;
#[doc(hidden)]
pub mod types;
mod users;
#[doc(hidden)]
pub mod validate;

pub use assessments::{
    AiAgent, ApiTokenReference, AssessmentApprovalStatus, AssessmentCreator, AssessmentCreatorType,
    AssessmentProduct, AssessmentRevision, ConfidenceAxis, ConfidenceBreakdown, ConfidenceDerived,
    ConfidenceScore,
};
pub use compliance::{
    AutomationLevel, ComplianceMetrics, FrameworkCompliance, ProjectEvaluation,
    RequirementEvaluation,
};
pub use environments::{Environment, EnvironmentType};
pub use frameworks::{
    Framework, RawSchema, Requirement, RequirementScope, RequirementStatus, SchemaFormat, Section,
    VersionReference,
};
pub use manual::{
    ApprovalStatus, FileUpload, ManualEvidence, ManualEvidenceGroup, Override, Submission,
};
pub use policies::{
    ExpiredTest, Interval, Periodicity, PolicyDefinition, PolicyEvaluation, PolicyEvaluationStatus,
    PolicyResult, Sla,
};
pub use products::{
    BusinessUnit, ProductResource, ProductSummary, ProductVersion, ProjectVersionLink,
    VersionStatus,
};
pub use projects::{
    OrganizationReference, Project, ProjectVersion, Reachability, Repository, Workflow,
};
pub use scalars::{Count, Timestamp};
pub use users::User;
