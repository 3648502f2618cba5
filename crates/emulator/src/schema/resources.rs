//! The resources of interface section 2, field by field, in its order.

use super::Type::{Choice, Flag, Int, Keyed, List, Number, Of, Text, Texts, Time};

pub(crate) const REQUIREMENT_STATUS: &str = "REQUIREMENT_STATUS_UNSPECIFIED";

schema! {
    object PAGINATION "Pagination" "2.1" {
        total_count: Int, page: Int, total_pages: Int, page_size: Int,
    }
    object USER "User" "2.2" {
        intercom_hash: Text, created_at: Time, last_name: Text, first_name: Text, email: Text,
        id: Text, instance_admin: Flag,
    }
    object BUSINESS_UNIT "BusinessUnit" "2.3" {
        id: Text, name: Text, description: Text, organization_id: Text, created_at: Time,
        updated_at: Time,
    }
    object PRODUCT "Product" "2.3" {
        id: Text, name: Text, description: Text, organization_id: Text, created_at: Time,
        updated_at: Time, latest_version: Of(&PRODUCT_VERSION), business_unit: Of(&BUSINESS_UNIT),
    }
    object PRODUCT_SUMMARY "ProductSummary" "2.3" {
        id: Text, name: Text, description: Text, created_at: Time,
    }
    object PRODUCT_VERSION "ProductVersion" "2.4" {
        id: Text, product_id: Text, name: Text, description: Text, created_at: Time,
        updated_at: Time, released_at: Time, status: Choice("VERSION_STATUS_UNSPECIFIED"),
        frameworks: List(&Of(&FRAMEWORK)), project_versions: List(&Of(&PROJECT_VERSION_LINK)),
    }
    object PROJECT_VERSION_LINK "ProjectVersionLink" "2.4" {
        track_latest_project_version: Flag, project: Of(&PROJECT), version: Of(&PROJECT_VERSION),
    }
    object ORGANIZATION "Organization" "2.5" { id: Text, name: Text }
    object PROJECT "Project" "2.5" {
        id: Text, name: Text, description: Text, organization: Of(&ORGANIZATION), created_at: Time,
        updated_at: Time, latest_released_version: Of(&PROJECT_VERSION),
        latest_version: Of(&PROJECT_VERSION), products: List(&Of(&PRODUCT_SUMMARY)),
        workflows: List(&Of(&WORKFLOW)), repository: Of(&REPOSITORY),
    }
    object PROJECT_VERSION "ProjectVersion" "2.6" {
        id: Text, project_id: Text, version: Text, frameworks: List(&Of(&FRAMEWORK)),
        workflow_runs_count: Text, last_workflow_run_at: Time, created_at: Time, released_at: Time,
        pre_release: Flag, latest: Flag, status: Choice(""),
    }
    object WORKFLOW "Workflow" "2.7" {
        id: Text, name: Text, description: Text, workflow_template_id: Text, pull_request: Flag,
        managed: Flag, inputs: Texts,
    }
    object REPOSITORY "Repository" "2.8" {
        id: Text, name: Text, description: Text, kind: Text, visibility: Text, host: Text,
        external_id: Text, connection_id: Text, user_id: Text, user_email: Text,
        organization_id: Text, reachability_reason: Text, created_at: Time, updated_at: Time,
        linked_projects_count: Int, already_onboarded: Flag,
        reachability: Choice("REACHABILITY_UNSPECIFIED"),
    }
    object RAW_SCHEMA "RawSchema" "2.9" { format: Choice("FORMAT_UNSPECIFIED"), body: Text }
    object FRAMEWORK "Framework" "2.9" {
        id: Text, name: Text, display_name: Text, description: Text, organization_id: Text,
        created_at: Time, updated_at: Time, preview: Flag, built_in: Flag, not_applicable: Flag,
        raw_schema: Of(&RAW_SCHEMA), requirements: List(&Of(&REQUIREMENT)),
        sections: List(&Of(&SECTION)), projects: List(&Of(&PROJECT)),
        products: List(&Of(&PRODUCT_SUMMARY)),
    }
    object REQUIREMENT "Requirement" "2.10" {
        id: Text, name: Text, display_name: Text, description: Text, organization_id: Text,
        created_at: Time, updated_at: Time, preview: Flag, built_in: Flag,
        raw_schema: Of(&RAW_SCHEMA), scope: Choice("UNSPECIFIED"),
        status: Choice(REQUIREMENT_STATUS), frameworks: List(&Of(&FRAMEWORK)),
        version_references: List(&Of(&VERSION_REFERENCE)),
    }
    object VERSION_REFERENCE "VersionReference" "2.10" {
        id: Text, scope: Choice("UNSPECIFIED"), revision: Int, automated_policies_count: Int,
        manual_evidence_count: Int,
    }
    object SECTION "Section" "2.11" {
        id: Text, name: Text, description: Text, parent_id: Text,
        requirements: List(&Of(&REQUIREMENT)), sub_sections: List(&Of(&SECTION)),
    }
    object ENVIRONMENT "Environment" "2.12" {
        id: Text, name: Text, description: Text, organization_id: Text, created_at: Time,
        updated_at: Time, type: Choice("ENVIRONMENT_TYPE_UNSPECIFIED"),
    }
    object ASSESSMENT_REVISION "AssessmentRevision" "2.13" {
        id: Text, assessment_id: Text, project_version_id: Text, revision: Int, note: Text,
        review_note: Text, justification_code: Choice(""), scope: Choice(""), status: Choice(""),
        approval_status: Choice("ASSESSMENT_APPROVAL_STATUS_UNSPECIFIED"), created_at: Time,
        reviewed_at: Time, reviewer: Of(&USER), created_by: Of(&ASSESSMENT_CREATOR),
        products: List(&Of(&ASSESSED_PRODUCT)), confidence_score: Number, auto_remediable: Flag,
        confidence_breakdown: Of(&CONFIDENCE_BREAKDOWN),
    }
    object ASSESSMENT_CREATOR "AssessmentCreator" "2.13" {
        type: Choice("ASSESSMENT_CREATOR_TYPE_UNSPECIFIED"), user: Of(&USER),
        api_token: Of(&API_TOKEN), ai_agent: Of(&AI_AGENT),
    }
    object API_TOKEN "ApiToken" "2.13" { id: Text }
    object AI_AGENT "AiAgent" "2.13" { name: Text }
    object ASSESSED_PRODUCT "AssessedProduct" "2.13" { purl_glob: Text }
    object CONFIDENCE_BREAKDOWN "ConfidenceBreakdown" "2.13" {
        schema_version: Text, scores: Keyed(&CONFIDENCE_SCORE), derived: Of(&DERIVED_CONFIDENCE),
    }
    object CONFIDENCE_SCORE "ConfidenceScore" "2.13" {
        reason: Text, abstained: Flag, value: Number,
    }
    object DERIVED_CONFIDENCE "DerivedConfidence" "2.13" {
        rollup: Number, rollup_active_axes: Int, dominant_low_axis: Of(&CONFIDENCE_AXIS),
    }
    object CONFIDENCE_AXIS "ConfidenceAxis" "2.13" { axis: Text, reason: Text, value: Number }
}
