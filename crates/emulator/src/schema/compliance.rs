//! The resources of product compliance, interface section 2.14.

use super::Type::{Choice, Flag, Int, Keyed, List, Number, Of, Text, Texts, Time};
use super::USER;

schema! {
    object FRAMEWORK_COMPLIANCE "FrameworkCompliance" "2.14" {
        framework_id: Text, framework_name: Text, framework_display_name: Text,
        evaluations: List(&Of(&REQUIREMENT_EVALUATION)), metrics: Of(&METRICS),
    }
    object METRICS "ComplianceMetrics" "2.14" {
        total_requirements: Int, passing_requirements: Int, failing_requirements: Int,
        partial_requirements: Int, pending_requirements: Int, inactive_requirements: Int,
        compliance_percentage: Number,
    }
    object REQUIREMENT_EVALUATION "RequirementEvaluation" "2.14" {
        requirement_id: Text, requirement_version_id: Text, name: Text, display_name: Text,
        description: Text, product_version_id: Text, requirement_revision: Int,
        scope: Choice("UNSPECIFIED"), created_at: Time, overall_status: Text,
        automation_level: Choice("unspecified"),
        manual_evidence_submissions: List(&Of(&MANUAL_EVIDENCE_GROUP)),
        expired_tests: List(&Of(&EXPIRED_TEST)), override: Of(&OVERRIDE),
        project_evaluations: List(&Of(&PROJECT_EVALUATION)),
    }
    object PROJECT_EVALUATION "ProjectEvaluation" "2.14" {
        project_id: Text, project_name: Text, project_version_id: Text,
        requirement_exception_id: Text, status: Text, created_at: Time, not_applicable: Flag,
        automation_level: Choice("unspecified"),
        manual_evidence_submissions: List(&Of(&MANUAL_EVIDENCE_GROUP)),
        expired_tests: List(&Of(&EXPIRED_TEST)), override: Of(&OVERRIDE),
        policies: Keyed(&POLICY_RESULT),
    }
    object POLICY_RESULT "PolicyResult" "2.14" {
        definition: Of(&POLICY_DEFINITION), evaluations: List(&Of(&POLICY_EVALUATION)),
        expiration: Of(&PERIODICITY),
    }
    object POLICY_DEFINITION "PolicyDefinition" "2.14" {
        policy_id: Text, name: Text, group: Text, policy_built_in: Flag,
        periodicity: Of(&PERIODICITY), sla: Of(&SLA), parameters: Texts,
    }
    object POLICY_EVALUATION "PolicyEvaluation" "2.14" {
        policy_evaluation_id: Text, policy_id: Text, policy_version_id: Text, name: Text,
        workflow_name: Text, workflow_run_id: Text, material_name: Text,
        policy_organization_name: Text, policy_built_in: Flag, created_at: Time, sla_due_date: Time,
        failing_since: Time, sla: Of(&SLA), periodicity: Of(&PERIODICITY),
        status: Choice("UNKNOWN"),
    }
    object SLA "Sla" "2.14" { hours: Text, due_date: Time, failing_since: Time }
    object PERIODICITY "Periodicity" "2.14" { interval: Choice("unknown_period"), expires_at: Time }
    object EXPIRED_TEST "ExpiredTest" "2.14" { test_name: Text, expires_at: Time }
    object MANUAL_EVIDENCE_GROUP "ManualEvidenceGroup" "2.14" {
        definition: Of(&MANUAL_EVIDENCE_DEFINITION), submissions: List(&Of(&SUBMISSION)),
        expiration: Of(&PERIODICITY),
    }
    object MANUAL_EVIDENCE_DEFINITION "ManualEvidenceDefinition" "2.14" {
        id: Text, name: Text, description: Text, group: Text, optional: Flag,
        periodicity: Of(&PERIODICITY),
    }
    object SUBMISSION "Submission" "2.14" {
        id: Text, attestation_digest: Text, requirement_version_id: Text, url: Text, comment: Text,
        user_id: Text, user_email: Text, approval_status: Choice("APPROVAL_STATUS_UNSPECIFIED"),
        created_at: Time, approved_at: Time, user: Of(&USER), approved_by: Of(&USER),
        file_upload: Of(&FILE_UPLOAD),
    }
    object FILE_UPLOAD "FileUpload" "2.14" {
        id: Text, file_name: Text, digest: Text, size_bytes: Text, uploaded_at: Time,
        user: Of(&USER),
    }
    object OVERRIDE "Override" "2.14" {
        id: Text, parent_override_id: Text, requirement_version_id: Text, product_version_id: Text,
        project_version_id: Text, source_product_name: Text, override_status: Text,
        justification: Text, approval_status: Choice("APPROVAL_STATUS_UNSPECIFIED"),
        created_at: Time, approved_at: Time, user: Of(&USER), approved_by: Of(&USER),
        evidence_submissions: List(&Of(&SUBMISSION)),
    }
}
