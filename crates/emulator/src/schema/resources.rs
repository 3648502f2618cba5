//! The resources of interface section 2, field by field, in its order.

use super::Resource;
use super::Type::{Choice, Flag, Int, Keyed, List, Number, Of, Text, Texts, Time};

pub(crate) const REQUIREMENT_STATUS: &str = "REQUIREMENT_STATUS_UNSPECIFIED";

pub(crate) static PAGINATION: Resource = Resource::new(
    "Pagination",
    "2.1",
    &[("total_count", Int), ("page", Int), ("total_pages", Int), ("page_size", Int)],
);

pub(crate) static USER: Resource = Resource::new(
    "User",
    "2.2",
    &[
        ("intercom_hash", Text),
        ("created_at", Time),
        ("last_name", Text),
        ("first_name", Text),
        ("email", Text),
        ("id", Text),
        ("instance_admin", Flag),
    ],
);

pub(crate) static BUSINESS_UNIT: Resource = Resource::new(
    "BusinessUnit",
    "2.3",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("organization_id", Text),
        ("created_at", Time),
        ("updated_at", Time),
    ],
);

pub(crate) static PRODUCT: Resource = Resource::new(
    "Product",
    "2.3",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("organization_id", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("latest_version", Of(&PRODUCT_VERSION)),
        ("business_unit", Of(&BUSINESS_UNIT)),
    ],
);

pub(crate) static PRODUCT_SUMMARY: Resource = Resource::new(
    "ProductSummary",
    "2.3",
    &[("id", Text), ("name", Text), ("description", Text), ("created_at", Time)],
);

pub(crate) static PRODUCT_VERSION: Resource = Resource::new(
    "ProductVersion",
    "2.4",
    &[
        ("id", Text),
        ("product_id", Text),
        ("name", Text),
        ("description", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("released_at", Time),
        ("status", Choice("VERSION_STATUS_UNSPECIFIED")),
        ("frameworks", List(&Of(&FRAMEWORK))),
        ("project_versions", List(&Of(&PROJECT_VERSION_LINK))),
    ],
);

pub(crate) static PROJECT_VERSION_LINK: Resource = Resource::new(
    "ProjectVersionLink",
    "2.4",
    &[
        ("track_latest_project_version", Flag),
        ("project", Of(&PROJECT)),
        ("version", Of(&PROJECT_VERSION)),
    ],
);

pub(crate) static ORGANIZATION: Resource =
    Resource::new("Organization", "2.5", &[("id", Text), ("name", Text)]);

pub(crate) static PROJECT: Resource = Resource::new(
    "Project",
    "2.5",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("organization", Of(&ORGANIZATION)),
        ("created_at", Time),
        ("updated_at", Time),
        ("latest_released_version", Of(&PROJECT_VERSION)),
        ("latest_version", Of(&PROJECT_VERSION)),
        ("products", List(&Of(&PRODUCT_SUMMARY))),
        ("workflows", List(&Of(&WORKFLOW))),
        ("repository", Of(&REPOSITORY)),
    ],
);

pub(crate) static PROJECT_VERSION: Resource = Resource::new(
    "ProjectVersion",
    "2.6",
    &[
        ("id", Text),
        ("project_id", Text),
        ("version", Text),
        ("frameworks", List(&Of(&FRAMEWORK))),
        ("workflow_runs_count", Text),
        ("last_workflow_run_at", Time),
        ("created_at", Time),
        ("released_at", Time),
        ("pre_release", Flag),
        ("latest", Flag),
        ("status", Choice("")),
    ],
);

pub(crate) static WORKFLOW: Resource = Resource::new(
    "Workflow",
    "2.7",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("workflow_template_id", Text),
        ("pull_request", Flag),
        ("managed", Flag),
        ("inputs", Texts),
    ],
);

pub(crate) static REPOSITORY: Resource = Resource::new(
    "Repository",
    "2.8",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("kind", Text),
        ("visibility", Text),
        ("host", Text),
        ("external_id", Text),
        ("connection_id", Text),
        ("user_id", Text),
        ("user_email", Text),
        ("organization_id", Text),
        ("reachability_reason", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("linked_projects_count", Int),
        ("already_onboarded", Flag),
        ("reachability", Choice("REACHABILITY_UNSPECIFIED")),
    ],
);

pub(crate) static RAW_SCHEMA: Resource =
    Resource::new("RawSchema", "2.9", &[("format", Choice("FORMAT_UNSPECIFIED")), ("body", Text)]);

pub(crate) static FRAMEWORK: Resource = Resource::new(
    "Framework",
    "2.9",
    &[
        ("id", Text),
        ("name", Text),
        ("display_name", Text),
        ("description", Text),
        ("organization_id", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("preview", Flag),
        ("built_in", Flag),
        ("not_applicable", Flag),
        ("raw_schema", Of(&RAW_SCHEMA)),
        ("requirements", List(&Of(&REQUIREMENT))),
        ("sections", List(&Of(&SECTION))),
        ("projects", List(&Of(&PROJECT))),
        ("products", List(&Of(&PRODUCT_SUMMARY))),
    ],
);

pub(crate) static REQUIREMENT: Resource = Resource::new(
    "Requirement",
    "2.10",
    &[
        ("id", Text),
        ("name", Text),
        ("display_name", Text),
        ("description", Text),
        ("organization_id", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("preview", Flag),
        ("built_in", Flag),
        ("raw_schema", Of(&RAW_SCHEMA)),
        ("scope", Choice("UNSPECIFIED")),
        ("status", Choice(REQUIREMENT_STATUS)),
        ("frameworks", List(&Of(&FRAMEWORK))),
        ("version_references", List(&Of(&VERSION_REFERENCE))),
    ],
);

pub(crate) static VERSION_REFERENCE: Resource = Resource::new(
    "VersionReference",
    "2.10",
    &[
        ("id", Text),
        ("scope", Choice("UNSPECIFIED")),
        ("revision", Int),
        ("automated_policies_count", Int),
        ("manual_evidence_count", Int),
    ],
);

pub(crate) static SECTION: Resource = Resource::new(
    "Section",
    "2.11",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("parent_id", Text),
        ("requirements", List(&Of(&REQUIREMENT))),
        ("sub_sections", List(&Of(&SECTION))),
    ],
);

pub(crate) static ENVIRONMENT: Resource = Resource::new(
    "Environment",
    "2.12",
    &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("organization_id", Text),
        ("created_at", Time),
        ("updated_at", Time),
        ("type", Choice("ENVIRONMENT_TYPE_UNSPECIFIED")),
    ],
);

pub(crate) static ASSESSMENT_REVISION: Resource = Resource::new(
    "AssessmentRevision",
    "2.13",
    &[
        ("id", Text),
        ("assessment_id", Text),
        ("project_version_id", Text),
        ("revision", Int),
        ("note", Text),
        ("review_note", Text),
        ("justification_code", Choice("")),
        ("scope", Choice("")),
        ("status", Choice("")),
        ("approval_status", Choice("ASSESSMENT_APPROVAL_STATUS_UNSPECIFIED")),
        ("created_at", Time),
        ("reviewed_at", Time),
        ("reviewer", Of(&USER)),
        ("created_by", Of(&ASSESSMENT_CREATOR)),
        ("products", List(&Of(&ASSESSED_PRODUCT))),
        ("confidence_score", Number),
        ("auto_remediable", Flag),
        ("confidence_breakdown", Of(&CONFIDENCE_BREAKDOWN)),
    ],
);

pub(crate) static ASSESSMENT_CREATOR: Resource = Resource::new(
    "AssessmentCreator",
    "2.13",
    &[
        ("type", Choice("ASSESSMENT_CREATOR_TYPE_UNSPECIFIED")),
        ("user", Of(&USER)),
        ("api_token", Of(&API_TOKEN)),
        ("ai_agent", Of(&AI_AGENT)),
    ],
);

pub(crate) static API_TOKEN: Resource = Resource::new("ApiToken", "2.13", &[("id", Text)]);

pub(crate) static AI_AGENT: Resource = Resource::new("AiAgent", "2.13", &[("name", Text)]);

pub(crate) static ASSESSED_PRODUCT: Resource =
    Resource::new("AssessedProduct", "2.13", &[("purl_glob", Text)]);

pub(crate) static CONFIDENCE_BREAKDOWN: Resource = Resource::new(
    "ConfidenceBreakdown",
    "2.13",
    &[
        ("schema_version", Text),
        ("scores", Keyed(&CONFIDENCE_SCORE)),
        ("derived", Of(&DERIVED_CONFIDENCE)),
    ],
);

pub(crate) static CONFIDENCE_SCORE: Resource = Resource::new(
    "ConfidenceScore",
    "2.13",
    &[("reason", Text), ("abstained", Flag), ("value", Number)],
);

pub(crate) static DERIVED_CONFIDENCE: Resource = Resource::new(
    "DerivedConfidence",
    "2.13",
    &[("rollup", Number), ("rollup_active_axes", Int), ("dominant_low_axis", Of(&CONFIDENCE_AXIS))],
);

pub(crate) static CONFIDENCE_AXIS: Resource =
    Resource::new("ConfidenceAxis", "2.13", &[("axis", Text), ("reason", Text), ("value", Number)]);
