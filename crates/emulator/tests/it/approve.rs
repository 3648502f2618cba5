//! `POST /v1/assessments/revisions/{revision_id}/approve`.

use rego_platform_emulator::Fault;

use super::*;

const WITHOUT_NOTE: &str = "03f15fed-ba3d-5b11-a5cb-af87a180f3fb";
const APPROVED: &str = "96b187d2-922a-5da9-b7ad-2a0c3fb43d46";
const REJECTED: &str = "62f913cc-4c42-5b79-9eb7-bb83f1113d57";
const UNSPECIFIED: &str = "bbcf3121-9f4f-558d-b430-50209e770c2d";
const OF_GLOBEX: &str = "4c4646a1-d064-53e2-afe1-9f3d831bdc62";

fn target(revision: &str) -> String {
    format!("/v1/assessments/revisions/{revision}/approve")
}

#[test]
fn a_pending_revision_is_approved_once_by_its_reviewer() {
    let emulator = start(EmulatorOptions::default());
    let before = chrono::Utc::now();
    let answer = post(&emulator, &target(PENDING), "user", r#"{"review_note":"checked"}"#);
    assert_eq!(answer.status, 200, "{}", answer.json());
    let result = &answer.json()["result"];
    assert_eq!(result["id"], PENDING);
    assert_eq!(result["approval_status"], "ASSESSMENT_APPROVAL_STATUS_APPROVED");
    assert_eq!(result["review_note"], "checked");
    assert_eq!(result["reviewer"]["email"], "dana@acme.example");
    assert_eq!(result["reviewer"]["first_name"], "Dana");
    assert_eq!(result["note"], "the parser is only reached with files that the batch wrote itself");
    let time = result["reviewed_at"].as_str().unwrap();
    let time = chrono::DateTime::parse_from_rfc3339(time).unwrap();
    assert!(time >= before && time <= chrono::Utc::now());
    let again = post(&emulator, &target(PENDING), "user", "{}");
    assert_eq!((again.status, &again.json()["code"]), (400, &9.into()));
    assert!(again.json()["message"].as_str().unwrap().contains("isn't pending"));
    // It is kept in memory only.
    let fresh = start(EmulatorOptions::default());
    assert_eq!(post(&fresh, &target(PENDING), "user", "{}").status, 200);
}

#[test]
fn the_body_and_the_note_are_optional() {
    for (body, note) in [("", None), ("{}", None), (r#"{"review_note":null}"#, None)] {
        let emulator = start(EmulatorOptions::default());
        let answer = post(&emulator, &target(WITHOUT_NOTE), "user", body);
        assert_eq!(answer.status, 200, "{body}");
        let review_note = answer.json()["result"].get("review_note").cloned();
        assert_eq!(review_note, note, "{body}");
    }
    let emulator = start(EmulatorOptions::default());
    for body in ["[", "[]", r#"{"note":"x"}"#, r#"{"review_note":1}"#, "approved"] {
        let answer = post(&emulator, &target(WITHOUT_NOTE), "user", body);
        assert_eq!((answer.status, &answer.json()["code"]), (400, &3.into()), "{body}");
    }
    let answer = post(&emulator, &target(WITHOUT_NOTE), "user", r#"{"review_note":""}"#);
    assert_eq!(answer.json()["result"]["review_note"], "", "a wrong body has approved nothing");
}

#[test]
fn a_revision_that_is_missing_or_not_pending_is_refused() {
    let emulator = start(EmulatorOptions::default());
    for (revision, status, code) in [
        (APPROVED, 400, 9),
        (REJECTED, 400, 9),
        (UNSPECIFIED, 400, 9),
        (OF_GLOBEX, 404, 5),
        (UNKNOWN, 404, 5),
        ("1", 400, 3),
    ] {
        let answer = post(&emulator, &target(revision), "user", "{}");
        assert_eq!((answer.status, &answer.json()["code"]), (status, &code.into()), "{revision}");
    }
}

#[test]
fn only_users_of_paid_plans_approve() {
    let emulator = start(EmulatorOptions::default());
    for (token, status) in [("ci", 403), ("globex-ci", 403), ("free", 403), ("expired", 401)] {
        let answer = post(&emulator, &target(PENDING), token, "{}");
        assert_eq!(answer.status, status, "{token}");
    }
    let url = format!("{}{}", emulator.base_url(), target(PENDING));
    assert_eq!(send(|client| client.post(&url)).unwrap().status, 401);
    assert_eq!(get(&url, emulator.token("user").as_deref()).status, 405);
    assert_eq!(post(&emulator, &target(PENDING), "user", "{}").status, 200);
}

#[test]
fn of_many_at_once_one_approves() {
    let emulator = start(EmulatorOptions::default());
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let send = || post(&emulator, &target(PENDING), "user", "{}").status;
        let all: Vec<_> = (0..8).map(|_| scope.spawn(send)).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 7, "{statuses:?}");
}

#[test]
fn a_cut_answer_has_approved_all_the_same() {
    let emulator = start(EmulatorOptions::default());
    emulator.set_faults(vec!["approve:cut=10:count=1".parse::<Fault>().unwrap()]);
    let url = format!("{}{}", emulator.base_url(), target(PENDING));
    let token = emulator.token("user").unwrap();
    assert!(send(|client| client.post(&url).bearer_auth(&token)).is_err());
    assert_eq!(post(&emulator, &target(PENDING), "user", "{}").status, 400);
}
