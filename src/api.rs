//! The documented operations of the service as a typed client, and their resources.
//!
//! Functions for policies are in [`functions`](crate::functions); this is for hosts and tools, over
//! the same connection: [`Platform::api`](crate::Platform::api) returns an [`ApiClient`], and
//! [`ApiClient::blocking`] a [`BlockingApiClient`].
//!
//! | Operation | Interface | Async and blocking |
//! |---|---|---|
//! | `GET /v1/products/{product_id}/versions/{version_id}` | 4.1 | `product_version` |
//! | `GET /v1/products` | 4.2 | `products` |
//! | `GET /v1/projects` | 4.3 | `projects` |
//! | `GET /v1/environments` | 4.4 | `environments` |
//! | `POST /v1/assessments/revisions/{revision_id}/approve` | 4.5 | `approve` |
//! | `GET /v1/compliance/product` | 4.6 | `product_compliance` |
//! | `GET /infoz` | 1.6 | `infoz` |
//! | `GET /openapi.yaml`, on either address | 1.5 | `openapi` |
//!
//! # Resources
//!
//! Every documented field (interface section 2) is there and optional; an undocumented field is
//! kept in `other`, so reading and writing loses nothing but the casing and nulls. Enumerations are
//! open: the interface names only some values, and any other is kept. Whole numbers are exact to 64
//! bits, also when they come as strings; fields documented as strings stay strings ([`Count`]).
//!
//! ```
//! use rego_platform::api::{Environment, EnvironmentType};
//!
//! let json = r#"{"name":"production","type":"ENVIRONMENT_TYPE_PRODUCTION","region":"eu"}"#;
//! let environment: Environment = serde_json::from_str(json)?;
//! assert_eq!(environment.name.as_deref(), Some("production"));
//! assert!(matches!(environment.kind, Some(EnvironmentType::Other(_))));
//! assert_eq!(environment.other["region"].as_str(), Some("eu"));
//! assert_eq!(serde_json::to_string(&environment)?, json);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod blocking;
mod client;
mod filters;
mod infoz;
mod operations;

pub use crate::resources::{
    AiAgent, ApiTokenReference, ApprovalStatus, AssessmentApprovalStatus, AssessmentCreator,
    AssessmentCreatorType, AssessmentProduct, AssessmentRevision, AutomationLevel, BusinessUnit,
    ComplianceMetrics, ConfidenceAxis, ConfidenceBreakdown, ConfidenceDerived, ConfidenceScore,
    Count, Environment, EnvironmentType, ExpiredTest, FileUpload, Framework, FrameworkCompliance,
    Interval, ManualEvidence, ManualEvidenceGroup, OrganizationReference, Override, Periodicity,
    PolicyDefinition, PolicyEvaluation, PolicyEvaluationStatus, PolicyResult, ProductResource,
    ProductSummary, ProductVersion, Project, ProjectEvaluation, ProjectVersion, ProjectVersionLink,
    RawSchema, Reachability, Repository, Requirement, RequirementEvaluation, RequirementScope,
    RequirementStatus, SchemaFormat, Section, Sla, Submission, Timestamp, User, VersionReference,
    VersionStatus, Workflow,
};
pub use blocking::BlockingApiClient;
pub use client::ApiClient;
pub use filters::{EnvironmentFilters, ProductComplianceFilters, ProjectFilters};
pub use infoz::Infoz;
