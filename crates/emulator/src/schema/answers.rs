//! Whole responses, the rows of the policy functions' routes (interface 4.7), request bodies, and the bodies
//! of refusals (interface 7).

use super::Type::{Any, Choice, Flag, Int, List, Of, Pages, Text, Texts, Time};
use super::{
    ASSESSMENT_REVISION, ENVIRONMENT, FRAMEWORK_COMPLIANCE, PRODUCT, PRODUCT_VERSION, PROJECT,
};

schema! {
    answer INFOZ "Infoz" "1.6" { loginURL: Text, version: Text, chartVersion: Text }
    answer PRODUCT_LIST "ProductList" "4.2" { products: List(&Of(&PRODUCT)), pagination: Pages }
    answer PRODUCT_VERSION_ANSWER "ProductVersionAnswer" "4.1" { version: Of(&PRODUCT_VERSION) }
    answer PROJECT_LIST "ProjectList" "4.3" { results: List(&Of(&PROJECT)), pagination: Pages }
    answer ENVIRONMENT_LIST "EnvironmentList" "4.4" {
        environments: List(&Of(&ENVIRONMENT)), pagination: Pages,
    }
    object APPROVAL "Approval" "4.5" { review_note: Text }
    answer APPROVAL_ANSWER "ApprovalAnswer" "4.5" { result: Of(&ASSESSMENT_REVISION) }
    answer PRODUCT_COMPLIANCE "ProductCompliance" "4.6" {
        frameworks: List(&Of(&FRAMEWORK_COMPLIANCE)),
    }
    object CURSOR "Cursor" "4.7" { next_cursor: Text }
    answer DISCOVERY "Discovery" "4.7" { result: Of(&ARTIFACT), pagination: Pages }
    object ARTIFACT "Artifact" "4.7" {
        digest: Text, kind: Text, downloadable: Flag, public: Flag, created_at: Time,
        metadata: Texts, annotations: Texts, references: List(&Of(&REFERENCE)),
    }
    object REFERENCE "Reference" "4.7" {
        digest: Text, kind: Text, downloadable: Flag, public: Flag, created_at: Time,
        metadata: Texts, annotations: Texts,
    }
    answer EVIDENCE_LIST "EvidenceList" "4.7" { results: List(&Of(&EVIDENCE)), pagination: Pages }
    object EVIDENCE "Evidence" "4.7" {
        id: Text, name: Text, digest: Text, kind: Text, subject_name: Text, subject_version: Text,
        annotations: Texts, organization_id: Text, organization_name: Text, workflow_id: Text,
        workflow_name: Text, workflow_run_id: Text, project_id: Text, project_name: Text,
        project_version_id: Text,
    }
    answer EVALUATION_LIST "EvaluationList" "4.7" {
        evaluations: List(&Of(&EVALUATION)), pagination: Pages,
    }
    object EVALUATION "Evaluation" "4.7" {
        requirement_id: Text, requirement_version_id: Text, requirement_revision: Int, name: Text,
        display_name: Text, description: Text, project_version_id: Text, framework_id: Text,
        status: Text, created_at: Time,
    }
    object PROMPT "Prompt" "4.7" { digest: Text, content: Text, prompt: Text }
    answer STARTED "Started" "4.7" { operation_id: Text }
    answer OPERATION_ANSWER "OperationAnswer" "4.7" { operation: Of(&OPERATION) }
    object OPERATION "Operation" "4.7" {
        id: Text, status: Choice("ASYNC_OPERATION_STATUS_UNSPECIFIED"), output: Text,
        error_message: Text, created_at: Time, started_at: Time, finished_at: Time,
    }
    answer FINDING_LIST "FindingList" "1.4" { results: List(&Of(&FINDING)), pagination: Pages }
    object FINDING "Finding" "1.4" {
        id: Text, external_id: Text, finding_type: Choice("FINDING_TYPE_UNSPECIFIED"),
        severity: Choice("FINDING_SEVERITY_UNSPECIFIED"),
        status: Choice("FINDING_STATUS_UNSPECIFIED"), source: Text, package_purl: Text,
        is_in_kev: Flag, first_seen_at: Time, last_seen_at: Time, project_name: Text,
        project_version_name: Text, artifact_ids: List(&Text),
    }
    object LOOKUP "Lookup" "1.4" { external_id: Text, identity: Text }
    object EFFECTIVE_REQUEST "EffectiveAssessmentsRequest" "1.4" {
        project_name: Text, project_version_name: Text,
        finding_type: Choice("FINDING_TYPE_UNSPECIFIED"), lookups: List(&Of(&LOOKUP)),
    }
    answer EFFECTIVE_LIST "EffectiveAssessmentList" "1.4" { results: List(&Of(&EFFECTIVE)) }
    object EFFECTIVE "EffectiveAssessment" "1.4" {
        lookup: Of(&LOOKUP), effective_status: Choice("ASSESSMENT_STATUS_UNSPECIFIED"),
        assessments: List(&Any),
    }
}
