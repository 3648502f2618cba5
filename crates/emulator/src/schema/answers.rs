//! Whole answers, the rows of the policy functions' routes (interface 4.7), request bodies, and the
//! bodies of refusals (interface 7).

use super::Type::{Any, Choice, Flag, Int, List, Of, Pages, Text, Texts, Time};
use super::{
    ASSESSMENT_REVISION, ENVIRONMENT, FRAMEWORK_COMPLIANCE, PRODUCT, PRODUCT_VERSION, PROJECT,
    Resource,
};

pub(crate) static INFOZ: Resource = Resource::envelope(
    "Infoz",
    "1.6",
    &[("loginURL", Text), ("version", Text), ("chartVersion", Text)],
);

pub(crate) static PRODUCT_LIST: Resource = Resource::envelope(
    "ProductList",
    "4.2",
    &[("products", List(&Of(&PRODUCT))), ("pagination", Pages)],
);

pub(crate) static PRODUCT_VERSION_ANSWER: Resource =
    Resource::envelope("ProductVersionAnswer", "4.1", &[("version", Of(&PRODUCT_VERSION))]);

pub(crate) static PROJECT_LIST: Resource = Resource::envelope(
    "ProjectList",
    "4.3",
    &[("results", List(&Of(&PROJECT))), ("pagination", Pages)],
);

pub(crate) static ENVIRONMENT_LIST: Resource = Resource::envelope(
    "EnvironmentList",
    "4.4",
    &[("environments", List(&Of(&ENVIRONMENT))), ("pagination", Pages)],
);

pub(crate) static APPROVAL: Resource = Resource::new("Approval", "4.5", &[("review_note", Text)]);

pub(crate) static APPROVAL_ANSWER: Resource =
    Resource::envelope("ApprovalAnswer", "4.5", &[("result", Of(&ASSESSMENT_REVISION))]);

pub(crate) static PRODUCT_COMPLIANCE: Resource = Resource::envelope(
    "ProductCompliance",
    "4.6",
    &[("frameworks", List(&Of(&FRAMEWORK_COMPLIANCE)))],
);

pub(crate) static CURSOR: Resource = Resource::new("Cursor", "4.7", &[("next_cursor", Text)]);

pub(crate) static DISCOVERY: Resource =
    Resource::envelope("Discovery", "4.7", &[("result", Of(&ARTIFACT)), ("pagination", Pages)]);

pub(crate) static ARTIFACT: Resource = Resource::new(
    "Artifact",
    "4.7",
    &[
        ("digest", Text),
        ("kind", Text),
        ("downloadable", Flag),
        ("public", Flag),
        ("created_at", Time),
        ("metadata", Texts),
        ("annotations", Texts),
        ("references", List(&Of(&REFERENCE))),
    ],
);

pub(crate) static REFERENCE: Resource = Resource::new(
    "Reference",
    "4.7",
    &[
        ("digest", Text),
        ("kind", Text),
        ("downloadable", Flag),
        ("public", Flag),
        ("created_at", Time),
        ("metadata", Texts),
        ("annotations", Texts),
    ],
);

pub(crate) static EVIDENCE_LIST: Resource = Resource::envelope(
    "EvidenceList",
    "4.7",
    &[("results", List(&Of(&EVIDENCE))), ("pagination", Pages)],
);

pub(crate) static EVIDENCE: Resource = Resource::new(
    "Evidence",
    "4.7",
    &[
        ("id", Text),
        ("name", Text),
        ("digest", Text),
        ("kind", Text),
        ("subject_name", Text),
        ("subject_version", Text),
        ("annotations", Texts),
        ("organization_id", Text),
        ("organization_name", Text),
        ("workflow_id", Text),
        ("workflow_name", Text),
        ("workflow_run_id", Text),
        ("project_id", Text),
        ("project_name", Text),
        ("project_version_id", Text),
    ],
);

pub(crate) static EVALUATION_LIST: Resource = Resource::envelope(
    "EvaluationList",
    "4.7",
    &[("evaluations", List(&Of(&EVALUATION))), ("pagination", Pages)],
);

pub(crate) static EVALUATION: Resource = Resource::new(
    "Evaluation",
    "4.7",
    &[
        ("requirement_id", Text),
        ("requirement_version_id", Text),
        ("requirement_revision", Int),
        ("name", Text),
        ("display_name", Text),
        ("description", Text),
        ("project_version_id", Text),
        ("framework_id", Text),
        ("status", Text),
        ("created_at", Time),
    ],
);

pub(crate) static PROMPT: Resource =
    Resource::new("Prompt", "4.7", &[("digest", Text), ("content", Text), ("prompt", Text)]);

pub(crate) static STARTED: Resource =
    Resource::envelope("Started", "4.7", &[("operation_id", Text)]);

pub(crate) static OPERATION_ANSWER: Resource =
    Resource::envelope("OperationAnswer", "4.7", &[("operation", Of(&OPERATION))]);

pub(crate) static OPERATION: Resource = Resource::new(
    "Operation",
    "4.7",
    &[
        ("id", Text),
        ("status", Choice("ASYNC_OPERATION_STATUS_UNSPECIFIED")),
        ("output", Text),
        ("error_message", Text),
        ("created_at", Time),
        ("started_at", Time),
        ("finished_at", Time),
    ],
);

pub(crate) static FINDING_LIST: Resource = Resource::envelope(
    "FindingList",
    "1.4",
    &[("results", List(&Of(&FINDING))), ("pagination", Pages)],
);

pub(crate) static FINDING: Resource = Resource::new(
    "Finding",
    "1.4",
    &[
        ("id", Text),
        ("external_id", Text),
        ("finding_type", Choice("FINDING_TYPE_UNSPECIFIED")),
        ("severity", Choice("FINDING_SEVERITY_UNSPECIFIED")),
        ("status", Choice("FINDING_STATUS_UNSPECIFIED")),
        ("source", Text),
        ("package_purl", Text),
        ("is_in_kev", Flag),
        ("first_seen_at", Time),
        ("last_seen_at", Time),
        ("project_name", Text),
        ("project_version_name", Text),
        ("artifact_ids", List(&Text)),
    ],
);

pub(crate) static LOOKUP: Resource =
    Resource::new("Lookup", "1.4", &[("external_id", Text), ("identity", Text)]);

pub(crate) static EFFECTIVE_REQUEST: Resource = Resource::new(
    "EffectiveAssessmentsRequest",
    "1.4",
    &[
        ("project_name", Text),
        ("project_version_name", Text),
        ("finding_type", Choice("FINDING_TYPE_UNSPECIFIED")),
        ("lookups", List(&Of(&LOOKUP))),
    ],
);

pub(crate) static EFFECTIVE_LIST: Resource =
    Resource::envelope("EffectiveAssessmentList", "1.4", &[("results", List(&Of(&EFFECTIVE)))]);

pub(crate) static EFFECTIVE: Resource = Resource::new(
    "EffectiveAssessment",
    "1.4",
    &[
        ("lookup", Of(&LOOKUP)),
        ("effective_status", Choice("ASSESSMENT_STATUS_UNSPECIFIED")),
        ("assessments", List(&Any)),
    ],
);
