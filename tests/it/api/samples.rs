//! Every resource of interface section 2 with every field filled, written from the interface.
//!
//! No value is a default; keys of maps have no underscore, so that their casing stays.

use serde_json::{Value, json};

const AT: &str = "2026-03-04T05:06:07.890123Z";

pub fn user() -> Value {
    json!({
        "id": "u-1", "first_name": "Ada", "last_name": "Byron", "email": "ada@example.com",
        "created_at": AT, "instance_admin": true, "intercom_hash": "h",
    })
}

pub fn product_summary() -> Value {
    json!({"id": "p-1", "name": "store", "description": "d", "created_at": AT})
}

fn raw_schema() -> Value {
    json!({"format": "FORMAT_YAML", "body": "a: 1\n"})
}

pub fn requirement(frameworks: &Value) -> Value {
    json!({
        "id": "r-1", "name": "signed", "display_name": "Signed", "description": "d",
        "organization_id": "o-1", "created_at": AT, "updated_at": AT,
        "preview": true, "built_in": true, "raw_schema": raw_schema(),
        "scope": "PROJECT", "status": "REQUIREMENT_STATUS_ACTIVE", "frameworks": frameworks,
        "version_references": [{
            "id": "rv-1", "scope": "UNSPECIFIED", "revision": 3, "automated_policies_count": 2,
            "manual_evidence_count": 1,
        }],
    })
}

pub fn section() -> Value {
    let part = |id: &str, parent: &str, inner: Value| {
        json!({
            "id": id, "name": "n", "description": "d", "parent_id": parent,
            "requirements": [requirement(&json!([]))], "sub_sections": inner,
        })
    };
    let third = part("s-3", "s-2", json!([]));
    part("s-1", "s-0", json!([part("s-2", "s-1", json!([third]))]))
}

pub fn framework(projects: &Value) -> Value {
    json!({
        "id": "f-1", "name": "baseline", "display_name": "Baseline", "description": "d",
        "organization_id": "o-1", "created_at": AT, "updated_at": AT,
        "preview": true, "built_in": true, "not_applicable": true, "raw_schema": raw_schema(),
        "requirements": [requirement(&json!([{"id": "f-1"}]))], "sections": [section()],
        "projects": projects, "products": [product_summary()],
    })
}

pub fn project_version(frameworks: &Value) -> Value {
    json!({
        "id": "pv-1", "project_id": "pr-1", "version": "1.2.3", "frameworks": frameworks,
        "workflow_runs_count": "9223372036854775807", "last_workflow_run_at": AT,
        "created_at": AT, "released_at": AT, "pre_release": true, "latest": true,
        "status": "RELEASED",
    })
}

pub fn repository() -> Value {
    json!({
        "id": "repo-1", "name": "api", "description": "d", "kind": "GITHUB",
        "visibility": "private", "host": "git.example.com", "external_id": "77",
        "connection_id": "c-1", "user_id": "u-1", "user_email": "ada@example.com",
        "organization_id": "o-1", "reachability_reason": "token", "created_at": AT,
        "updated_at": AT, "linked_projects_count": 4, "already_onboarded": true,
        "reachability": "REACHABILITY_REACHABLE",
    })
}

pub fn workflow() -> Value {
    json!({
        "id": "w-1", "name": "build", "description": "d", "workflow_template_id": "t-1",
        "pull_request": true, "managed": true, "inputs": {"branch": "main", "Größe": ""},
    })
}

pub fn project() -> Value {
    json!({
        "id": "pr-1", "name": "api", "description": "d",
        "organization": {"id": "o-1", "name": "acme"}, "created_at": AT, "updated_at": AT,
        "latest_released_version": project_version(&json!([])),
        "latest_version": project_version(&json!([framework(&json!([]))])),
        "products": [product_summary()], "workflows": [workflow()], "repository": repository(),
    })
}

pub fn product_version() -> Value {
    json!({
        "id": "v-1", "product_id": "p-1", "name": "2.0", "description": "d", "created_at": AT,
        "updated_at": AT, "released_at": AT, "status": "VERSION_STATUS_RELEASED",
        "frameworks": [framework(&json!([project()]))],
        "project_versions": [{
            "track_latest_project_version": true, "project": project(),
            "version": project_version(&json!([])),
        }],
    })
}

pub fn product() -> Value {
    json!({
        "id": "p-1", "name": "store", "description": "d", "organization_id": "o-1",
        "created_at": AT, "updated_at": AT, "latest_version": product_version(),
        "business_unit": {
            "id": "b-1", "name": "retail", "description": "d", "organization_id": "o-1",
            "created_at": AT, "updated_at": AT,
        },
    })
}

pub fn environment() -> Value {
    json!({
        "id": "e-1", "name": "production", "description": "d", "organization_id": "o-1",
        "created_at": AT, "updated_at": AT, "type": "ENVIRONMENT_TYPE_PRODUCTION",
    })
}

pub fn assessment() -> Value {
    json!({
        "id": "a-1", "assessment_id": "as-1", "project_version_id": "pv-1", "revision": 2,
        "note": "n", "review_note": "r", "justification_code": "J", "scope": "S", "status": "T",
        "approval_status": "ASSESSMENT_APPROVAL_STATUS_APPROVED", "created_at": AT,
        "reviewed_at": AT, "reviewer": user(),
        "created_by": {
            "type": "ASSESSMENT_CREATOR_TYPE_USER", "user": user(), "api_token": {"id": "t-1"},
            "ai_agent": {"name": "triage"},
        },
        "products": [{"purl_glob": "pkg:oci/*"}], "confidence_score": 0.75,
        "auto_remediable": true,
        "confidence_breakdown": {
            "schema_version": "1",
            "scores": {"reachability": {"reason": "r", "abstained": true, "value": 1}},
            "derived": {
                "rollup": 0.5, "rollup_active_axes": 3,
                "dominant_low_axis": {"axis": "reachability", "reason": "r", "value": -0.25},
            },
        },
    })
}

fn periodicity() -> Value {
    json!({"interval": "monthly", "expires_at": AT})
}

fn sla() -> Value {
    json!({"hours": "72", "due_date": AT, "failing_since": AT})
}

fn submission() -> Value {
    json!({
        "id": "su-1", "attestation_digest": "sha256:ab", "requirement_version_id": "rv-1",
        "url": "https://example.com/x", "comment": "c", "user_id": "u-1",
        "user_email": "ada@example.com", "approval_status": "APPROVAL_STATUS_APPROVED",
        "created_at": AT, "approved_at": AT, "user": user(), "approved_by": user(),
        "file_upload": {
            "id": "fu-1", "file_name": "x.pdf", "digest": "sha256:cd",
            "size_bytes": "18446744073709551615", "uploaded_at": AT, "user": user(),
        },
    })
}

fn manual() -> Value {
    json!({
        "definition": {
            "id": "me-1", "name": "n", "description": "d", "group": "g", "optional": true,
            "periodicity": periodicity(),
        },
        "submissions": [submission()], "expiration": periodicity(),
    })
}

fn replaced() -> Value {
    json!({
        "id": "ov-1", "parent_override_id": "ov-0", "requirement_version_id": "rv-1",
        "product_version_id": "v-1", "project_version_id": "pv-1", "source_product_name": "store",
        "override_status": "pass", "justification": "j", "approval_status": "APPROVED",
        "created_at": AT, "approved_at": AT, "user": user(), "approved_by": user(),
        "evidence_submissions": [submission()],
    })
}

fn policy_result() -> Value {
    json!({
        "definition": {
            "policy_id": "po-1", "name": "n", "group": "g", "policy_built_in": true,
            "periodicity": periodicity(), "sla": sla(), "parameters": {"severity": "high"},
        },
        "evaluations": [{
            "policy_evaluation_id": "pe-1", "policy_id": "po-1", "policy_version_id": "pov-1",
            "name": "n", "workflow_name": "build", "workflow_run_id": "run-1",
            "material_name": "sbom", "policy_organization_name": "acme", "policy_built_in": true,
            "created_at": AT, "sla_due_date": AT, "failing_since": AT, "sla": sla(),
            "periodicity": periodicity(), "status": "FAIL",
        }],
        "expiration": periodicity(),
    })
}

pub fn framework_compliance() -> Value {
    let expired = json!({"test_name": "t", "expires_at": AT});
    json!({
        "framework_id": "f-1", "framework_name": "baseline", "framework_display_name": "Baseline",
        "evaluations": [{
            "requirement_id": "r-1", "requirement_version_id": "rv-1", "name": "signed",
            "display_name": "Signed", "description": "d", "product_version_id": "v-1",
            "requirement_revision": 3, "scope": "PROJECT", "created_at": AT,
            "overall_status": "fail", "automation_level": "automated",
            "manual_evidence_submissions": [manual()], "expired_tests": [expired],
            "override": replaced(),
            "project_evaluations": [{
                "project_id": "pr-1", "project_name": "api", "project_version_id": "pv-1",
                "requirement_exception_id": "ex-1", "status": "fail", "created_at": AT,
                "not_applicable": true, "automation_level": "manual",
                "manual_evidence_submissions": [manual()], "expired_tests": [expired],
                "override": replaced(), "policies": {"po": policy_result()},
            }],
        }],
        "metrics": {
            "total_requirements": 6, "passing_requirements": 0, "failing_requirements": 1,
            "partial_requirements": 0, "pending_requirements": 0, "inactive_requirements": 5,
            "compliance_percentage": 16.5,
        },
    })
}
