//! `GET /v1/compliance/product`: the worst case wins, and requirements that aren't applicable are
//! left out.

use super::*;

const SUPPLY_CHAIN: &str = "ed7889a0-4842-5a66-b59c-6a1d1017500d";
const SECURITY: &str = "05bb449f-aba1-5eee-918b-786ed8b8839a";
const CARD_DATA: &str = "35e0eee8-0e8c-56d6-a33c-dd3ad67a5db2";

fn frameworks(emulator: &Emulator, version: &str, more: &str) -> Vec<Value> {
    let target = format!("/v1/compliance/product?product_version_id={version}{more}");
    let answer = backend(emulator, &target);
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()["frameworks"].as_array().unwrap().clone()
}

/// Returns each requirement's name, overall status and the statuses of its projects.
fn statuses(framework: &Value) -> Vec<(String, String, String)> {
    let evaluations = framework["evaluations"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let projects = row["project_evaluations"].as_array().unwrap();
        let of: Vec<String> = projects.iter().map(|project| text(&project["status"])).collect();
        (text(&row["name"]), text(&row["overall_status"]), of.join(" "))
    };
    evaluations.iter().map(row).collect()
}

fn rows(expected: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    expected.iter().map(|(a, b, c)| ((*a).into(), (*b).into(), (*c).into())).collect()
}

#[test]
fn the_worst_case_wins_and_what_is_not_applicable_is_left_out() {
    let emulator = start(EmulatorOptions::default());
    let all = frameworks(&emulator, BACK_OFFICE_RELEASE, "");
    assert_eq!(all.len(), 3);
    assert_eq!(all[0]["framework_id"], SUPPLY_CHAIN);
    assert_eq!(all[0]["framework_display_name"], "Secure supply chain");
    let expected = [
        ("signed-provenance", "pass", "pass pass"),
        ("hosted-build", "fail", "fail pass"),
        ("sbom-present", "partial", "partial pass"),
        ("licences-approved", "fail", "fail pass"),
        ("two-person-review", "inactive", "inactive pass"),
        ("dependencies-attested", "pending", "pending pass"),
    ];
    assert_eq!(statuses(&all[0]), rows(&expected));
    let metrics = serde_json::json!({
        "total_requirements": 6, "passing_requirements": 1, "failing_requirements": 2,
        "partial_requirements": 1, "pending_requirements": 1, "inactive_requirements": 1,
        "compliance_percentage": 16.66,
    });
    assert_eq!(all[0]["metrics"], metrics);
    // `vulnerabilities-triaged` applies to no project; `static-analysis` to one of the two;
    // `secrets-scanned` was evaluated for one only, which isn't a pass.
    let expected = [
        ("static-analysis", "pass", "pass inactive"),
        ("tests-pass", "fail", "fail pass"),
        ("threat-model-reviewed", "partial", "partial pass"),
        ("secrets-scanned", "pending", "pass"),
    ];
    assert_eq!(statuses(&all[1]), rows(&expected));
    assert_eq!(all[1]["metrics"]["compliance_percentage"], 25.0);
    // A framework that isn't applicable has no requirements.
    assert_eq!(all[2]["framework_id"], CARD_DATA);
    assert_eq!(all[2]["evaluations"], serde_json::json!([]));
    assert_eq!(all[2]["metrics"]["total_requirements"], 0);
}

#[test]
fn a_requirement_has_what_its_projects_have() {
    let emulator = start(EmulatorOptions::default());
    let framework =
        &frameworks(&emulator, BACK_OFFICE_RELEASE, &format!("&framework_ids={SECURITY}"))[0];
    let find = |name: &str| {
        let rows = framework["evaluations"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let threat_model = find("threat-model-reviewed");
    assert_eq!(threat_model["product_version_id"], BACK_OFFICE_RELEASE);
    assert_eq!(threat_model["automation_level"], "partial", "the same for both");
    assert_eq!(threat_model["created_at"], "2026-02-19T10:00:00Z", "the latest");
    assert_eq!(threat_model["override"]["source_product_name"], "back-office");
    assert_eq!(threat_model["override"]["approved_by"]["first_name"], "Omar");
    let groups = threat_model["manual_evidence_submissions"].as_array().unwrap();
    let states: Vec<&str> = groups
        .iter()
        .flat_map(|group| group["submissions"].as_array().unwrap())
        .map(|submission| submission["approval_status"].as_str().unwrap())
        .collect();
    let expected =
        ["APPROVAL_STATUS_APPROVED", "APPROVAL_STATUS_REJECTED", "APPROVAL_STATUS_PENDING"];
    assert_eq!(states, expected);
    let project = &threat_model["project_evaluations"][0];
    assert!(project["requirement_exception_id"].as_str().unwrap().len() == 36);
    assert_eq!(project["policies"]["threat-model-age"]["evaluations"][0]["status"], "FAILED");
    let tests = find("tests-pass");
    assert_eq!(tests["expired_tests"][0]["test_name"], "restore-from-backup");
    assert_eq!(tests["automation_level"], "automated");
    // An override of one project version isn't one of the product version.
    let secrets = find("secrets-scanned");
    assert!(secrets.get("override").is_none());
    assert_eq!(secrets["project_evaluations"][0]["override"]["override_status"], "pass");
    let analysis = find("static-analysis");
    assert_eq!(analysis["automation_level"], "automated", "of those that it is applicable to");
    assert_eq!(analysis["project_evaluations"][1]["not_applicable"], true);
}

#[test]
fn a_version_that_complies_with_everything_passes() {
    let emulator = start(EmulatorOptions::default());
    let all = frameworks(&emulator, BACK_OFFICE_TRIAL, "");
    let percentages: Vec<f64> =
        all.iter().map(|one| one["metrics"]["compliance_percentage"].as_f64().unwrap()).collect();
    assert_eq!(percentages, [100.0, 100.0]);
    let spring = frameworks(&emulator, WEB_SHOP_SPRING, "");
    assert_eq!(spring[0]["metrics"]["failing_requirements"], 2);
    assert_eq!(spring[1]["metrics"]["failing_requirements"], 2);
}

/// Returns the first framework of back-office 1.0, and the second, with `from` in its file changed.
fn changed(from: &str, to: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    super::copy(&data(), folder.path());
    let path = folder.path().join("compliance/back-office.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    let dataset = Dataset::load(folder.path()).unwrap();
    let emulator = Emulator::start(dataset, EmulatorOptions::default()).unwrap();
    frameworks(&emulator, BACK_OFFICE_RELEASE, "")
}

#[test]
fn an_unknown_status_is_the_worst() {
    let provenance = "requirement: signed-provenance, status: ";
    let all = changed(&format!("{provenance}pass"), &format!("{provenance}exploded"));
    assert_eq!(statuses(&all[0])[0].1, "exploded");
    let metrics = &all[0]["metrics"];
    assert_eq!(
        (&metrics["total_requirements"], &metrics["passing_requirements"]),
        (&6.into(), &0.into())
    );
    let hosted = "requirement: hosted-build, status: ";
    let all = changed(&format!("{hosted}pass"), &format!("{hosted}exploded"));
    assert_eq!(statuses(&all[0])[1].1, "exploded", "worse than fail");
}

#[test]
fn not_applicable_to_one_and_never_evaluated_for_the_other_is_pending() {
    let row =
        "    - {requirement: vulnerabilities-triaged, status: inactive, not_applicable: true}\n";
    let all = changed(row, "");
    let found = statuses(&all[1]);
    let triage = found.iter().find(|(name, ..)| name == "vulnerabilities-triaged").unwrap();
    assert_eq!((triage.1.as_str(), triage.2.as_str()), ("pending", "inactive"));
    assert_eq!(all[1]["metrics"]["total_requirements"], 5);
}

#[test]
fn frameworks_are_chosen_by_id_and_unknown_ones_are_refused() {
    let emulator = start(EmulatorOptions::default());
    let ids = |more: &str| {
        let all = frameworks(&emulator, BACK_OFFICE_RELEASE, more);
        all.iter().map(|one| one["framework_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&format!("&framework_ids={SECURITY}")), [SECURITY]);
    let two = format!("&framework_ids={CARD_DATA}&framework_ids={SUPPLY_CHAIN}");
    assert_eq!(ids(&two), [SUPPLY_CHAIN, CARD_DATA]);
    for (query, status) in [
        (String::new(), 400),
        ("product_version_id=".to_owned(), 400),
        ("product_version_id=1.0".to_owned(), 400),
        (format!("product_version_id={UNKNOWN}"), 404),
        (format!("product_version_id={BACK_OFFICE}"), 404),
        (format!("product_version_id={PORTAL_VERSION}"), 404),
        (format!("product_version_id={BACK_OFFICE_RELEASE}&framework_ids={UNKNOWN}"), 404),
        (format!("product_version_id={BACK_OFFICE_TRIAL}&framework_ids={CARD_DATA}"), 404),
        (format!("product_version_id={BACK_OFFICE_RELEASE}&framework_ids="), 400),
        (format!("product_version_id={BACK_OFFICE_RELEASE}&framework_id={SECURITY}"), 400),
        (format!("product_version_id={BACK_OFFICE_RELEASE}&pagination.page=0"), 400),
    ] {
        let answer = backend(&emulator, &format!("/v1/compliance/product?{query}"));
        assert_eq!(answer.status, status, "{query}");
        assert_eq!(answer.json()["code"], if status == 404 { 5 } else { 3 }, "{query}");
    }
}
