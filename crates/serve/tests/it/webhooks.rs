//! Decisions about the images of workloads: reviews of Kubernetes, and Gatekeeper's external data.

use std::time::{Duration, Instant};

use rego_platform::Value;
use rego_platform::evaluate::Answers;
use rego_platform_serve::{AccessToken, LogDestination, WebhookSecret};
use reqwest::Method;
use serde_json::json;

use super::support::{
    Answer, CLEAN_IMAGE, Served, ask, emulator, platform, serve, serve_policy, unavailable, write,
};

const SECRET: &str = "0123456789abcdef-secret";

/// Denies by the reference, and warns of every image.
const POLICY: &str = r#"package p

deny contains "it is bad" if startswith(input.reference, "bad.example/")

deny contains "it has no digest" if not startswith(input.image, "sha256:")

warn contains sprintf("seen: %s", [input.image])
"#;

/// Asks the service about the image.
const ASKING: &str = "package p\n\ndeny contains \"unknown\" if platform.discover(input.image, \"\").kind != \"CONTAINER_IMAGE\"\n";

fn reference(registry: &str) -> String {
    format!("{registry}.example/app@{CLEAN_IMAGE}")
}

fn review(object: serde_json::Value) -> String {
    let request = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "operation": "CREATE",
        "userInfo": {"username": "admin"},
        "object": object,
    });
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
        .to_string()
}

fn pod(image: &str) -> serde_json::Value {
    json!({"kind": "Pod", "spec": {"containers": [{"name": "web", "image": image}]}})
}

/// Returns the response of a review.
fn response(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let review = answer.json();
    let text = |name: &str| review.get_str(name).and_then(Value::as_str).unwrap().to_owned();
    assert_eq!(
        (text("apiVersion"), text("kind")),
        ("admission.k8s.io/v1".into(), "AdmissionReview".into())
    );
    let response = review.get_str("response").unwrap().clone();
    let uid = response.get_str("uid").and_then(Value::as_str).unwrap();
    assert_eq!(uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
    response
}

fn is_allowed(answer: &Answer) -> bool {
    response(answer).get_str("allowed") == Some(&true.into())
}

fn status(answer: &Answer) -> (String, String) {
    let status = response(answer).get_str("status").cloned().unwrap();
    let message = status.get_str("message").and_then(Value::as_str).unwrap().to_owned();
    (status.get_str("code").unwrap().to_string(), message)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_allowed_if_every_image_passes() {
    let served = serve_policy(POLICY);
    let (good, bad) = (reference("good"), reference("bad"));
    let allowed = served.post("/v1/admission", &review(pod(&good))).await;
    assert!(is_allowed(&allowed), "{allowed:?}");
    assert!(response(&allowed).get_str("status").is_none(), "{allowed:?}");
    let warnings = response(&allowed).get_str("warnings").cloned().unwrap();
    assert_eq!(warnings.to_json(), format!(r#"["seen: {CLEAN_IMAGE} (`{good}`)"]"#));

    let container = |image: &str| json!([{"name": "c", "image": image}]);
    let specification = |list: &str| {
        let mut specification = json!({"containers": container(&good)});
        specification[list] = container(&bad);
        specification
    };
    let bad_pod = specification("containers");
    let mut objects: Vec<serde_json::Value> =
        ["containers", "initContainers", "ephemeralContainers"]
            .map(|list| json!({"spec": specification(list)}))
            .to_vec();
    objects.extend([
        json!({"spec": {"template": {"spec": bad_pod}}}),
        json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": bad_pod}}}}}),
        json!({"template": {"spec": bad_pod}}),
        json!({"spec": {
            "containers": container(&good),
            "volumes": [{"name": "v", "image": {"reference": bad}}],
        }}),
    ]);
    for object in objects {
        let denied = served.post("/v1/admission", &review(object.clone())).await;
        assert!(!is_allowed(&denied), "{object}: {denied:?}");
        let expected = ("403".to_owned(), format!("`{bad}`: it is bad"));
        assert_eq!(status(&denied), expected, "{object}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_judged_is_not_allowed() {
    let served = serve_policy(POLICY);
    for (object, expected) in [
        (pod("good.example/app:1"), "has no digest"),
        (pod("good.example/app@sha256:0"), "invalid digest"),
        (pod(&format!("good.example/app@{}", CLEAN_IMAGE.to_uppercase())), "invalid digest"),
        (pod(&format!("a@b@{CLEAN_IMAGE}")), "invalid reference"),
        (pod(&format!("@{CLEAN_IMAGE}")), "invalid reference"),
        (pod(""), "the container `web` has no image"),
        (json!({"spec": {"containers": [{"name": "web"}]}}), "the container `web` has no image"),
        (json!({"spec": {"containers": {}}}), "`spec.containers` isn't an array"),
        (json!({"spec": {"containers": []}}), "no container in the Pod"),
        (json!({"spec": {"replicas": 1}}), "no container in the Pod"),
        (json!(null), "no container in the Pod"),
    ] {
        let denied = served.post("/v1/admission", &review(object.clone())).await;
        assert!(!is_allowed(&denied), "{object}: {denied:?}");
        let (code, message) = status(&denied);
        assert!(code == "500" && message.contains(expected), "{object}: {denied:?}");
    }
    // A policy that can't give a verdict.
    let library = serve_policy("package p\n\nallow if input.image\n");
    let denied = library.post("/v1/admission", &review(pod(&reference("good")))).await;
    let (code, message) = status(&denied);
    assert!(
        !is_allowed(&denied) && code == "500" && message.contains("no verdict rule"),
        "{denied:?}"
    );
    let unreached =
        serve_policy("package p\n\ndeny contains \"x\" if platform.discover(input.imge, \"\").x\n");
    let denied = unreached.post("/v1/admission", &review(pod(&reference("good")))).await;
    assert!(!is_allowed(&denied), "{denied:?}");
    for body in [
        String::new(),
        "{}".to_owned(),
        review(pod("x")).replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"),
        review(pod("x")).replace("AdmissionReview", "Review"),
        review(pod("x")).replace("\"uid\"", "\"id\""),
    ] {
        let answer = served.post("/v1/admission", &body).await;
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_see_the_request() {
    let served = serve_policy(
        "package p\n\ndeny contains sprintf(\"%s %s\", [user, input.request.object.kind]) if {\n\tuser := input.request.userInfo.username\n}\n",
    );
    let denied = served.post("/v1/admission", &review(pod(&reference("good")))).await;
    assert_eq!(status(&denied).1, format!("`{}`: admin Pod", reference("good")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_answered_in_the_clients_time() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    let platform = platform(&emulator);
    let served = serve(&[("p.rego", ASKING)], Answers::Service(platform.clone()), |_| {});
    let began = Instant::now();
    let denied = served.post("/v1/admission?timeout=5s", &review(pod(&reference("good")))).await;
    assert!(!is_allowed(&denied) && status(&denied).1.contains("timed out"), "{denied:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    super::support::until("the calls are given up", || platform.calls_in_flight() == 0).await;

    for (path, body) in [
        ("/v1/gate", r#"{"inputs": {"a": {"image": "IMAGE"}}}"#),
        ("/v1/data/p/deny", r#"{"input": {"image": "IMAGE"}}"#),
        ("/v1/call/discover", r#"{"arguments": ["IMAGE", ""]}"#),
    ] {
        let body = body.replace("IMAGE", CLEAN_IMAGE);
        let began = Instant::now();
        let answer = served.post(&format!("{path}?timeout=200ms"), &body).await;
        assert!(answer.status == 500 && answer.body.contains("timed out"), "{path}: {answer:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{path}");
        let wrong = served.post(&format!("{path}?timeout=200"), &body).await;
        assert_eq!(wrong.status, 400, "{path}: {wrong:?}");
    }
}

fn provided(keys: &[&str]) -> String {
    json!({
        "apiVersion": "externaldata.gatekeeper.sh/v1beta1",
        "kind": "ProviderRequest",
        "request": {"keys": keys},
    })
    .to_string()
}

/// Returns the response of the provider, and the errors of its items by their keys.
fn items(answer: &Answer) -> (Value, Vec<(String, Option<String>)>) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let whole = answer.json();
    assert_eq!(whole.get_str("apiVersion"), Some(&"externaldata.gatekeeper.sh/v1beta1".into()));
    assert_eq!(whole.get_str("kind"), Some(&"ProviderResponse".into()));
    let response = whole.get_str("response").unwrap().clone();
    let text =
        |item: &Value, name: &str| item.get_str(name).and_then(Value::as_str).map(str::to_owned);
    let items = response.get_str("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let items =
        items.iter().map(|item| (text(item, "key").unwrap(), text(item, "error"))).collect();
    (response, items)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_has_an_item_for_each_key() {
    let served = serve_policy(POLICY);
    let (good, bad) = (reference("good"), reference("bad"));
    let answer = served.post("/v1/provider", &provided(&[&good, &bad, "good.example/app:1"])).await;
    let (response, found) = items(&answer);
    assert_eq!(response.get_str("idempotent"), Some(&true.into()));
    assert_eq!(found[0], (good, None));
    assert_eq!(found[1], (bad, Some("it is bad".to_owned())));
    assert!(found[2].1.as_ref().unwrap().contains("has no digest"), "{found:?}");
    assert!(response.get_str("systemError").is_none(), "{answer:?}");
    assert_eq!(items(&served.post("/v1/provider", &provided(&[])).await).1, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_always_answers_in_gatekeepers_form() {
    let small = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.bounds.queue = 0;
        options.access.tokens = vec![AccessToken::new("0123456789abcdef-token").unwrap()];
    });
    let served = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.bounds.queue = 0;
    });
    let open = serve_policy(POLICY);
    let request = provided(&[]);
    for (answer, expected) in [
        (open.post("/v1/provider", "{").await, "malformed"),
        (open.post("/v1/provider", "{}").await, "expected `ProviderRequest`"),
        (
            open.post("/v1/provider", &request.replace("v1beta1", "v1alpha1")).await,
            "expected `ProviderRequest`",
        ),
        (open.post("/v1/provider", &request.replace("[]", "[1]")).await, "`request.keys`"),
        (open.post("/v1/provider?timeout=x", &request).await, "timeout"),
        (open.post("/v1/provider/other", &request).await, "unknown address"),
        (open.get("/v1/provider").await, "method not supported"),
        (served.post("/v1/provider", &request).await, "too many requests"),
        (small.post("/v1/provider", &request).await, "no valid token"),
    ] {
        let (response, found) = items(&answer);
        let error = response.get_str("systemError").and_then(Value::as_str).unwrap();
        assert!(error.contains(expected) && found.is_empty(), "{expected}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_answers_within_three_seconds() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=60s".parse().unwrap()]);
    let served = serve(&[("p.rego", ASKING)], Answers::Service(platform(&emulator)), |_| {});
    let began = Instant::now();
    let (_, found) = items(&served.post("/v1/provider", &provided(&[&reference("good")])).await);
    assert!(
        found[0].1.as_ref().unwrap().contains("no verdict: the decision timed out"),
        "{found:?}"
    );
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_stands_for_a_token() {
    let token = "0123456789abcdef-token";
    let with = |tokens: bool, expose: bool| {
        serve(&[("p.rego", POLICY)], unavailable(), |options| {
            options.access.expose = expose;
            options.access.webhook_secret = Some(WebhookSecret::new(SECRET).unwrap());
            options.access.tokens =
                tokens.then(|| AccessToken::new(token).unwrap()).into_iter().collect();
        })
    };
    let body = review(pod(&reference("good")));
    let header = format!("Bearer {token}");
    for (tokens, expose) in [(false, false), (true, false), (false, true), (true, true)] {
        let served = with(tokens, expose);
        let right = served.post(&format!("/v1/admission/{SECRET}?timeout=10s"), &body).await;
        assert!(is_allowed(&right), "{right:?}");
        let right = served.post(&format!("/v1/provider/{SECRET}"), &provided(&[])).await;
        assert!(items(&right).0.get_str("systemError").is_none(), "{right:?}");
        let (half, more) = (&SECRET[1..], format!("{SECRET}0"));
        for wrong in
            ["", "/", "/0", &format!("/{half}"), &format!("/{more}"), &format!("/{SECRET}/x")]
        {
            for headers in [vec![], vec![("authorization", header.as_str())]] {
                let path = format!("/v1/admission{wrong}");
                let answer = served.send(Method::POST, &path, &headers, body.clone()).await;
                assert_eq!(answer.status, 401, "{path}: {answer:?}");
                assert!(!answer.body.contains(SECRET), "{answer:?}");
            }
        }
        // What is exposed by the secret alone isn't open to others.
        let other = served.post("/v1/data/p/deny", "{}").await;
        assert_eq!(other.status == 401, tokens || expose, "{tokens} {expose}: {other:?}");
        let health = served.get("/health").await;
        assert_eq!(health.status, 200, "{health:?}");
    }
    for wrong in ["short", "0123456789abcdef/0", "0123456789abcdef%", "0123456789abcdef é"] {
        assert!(WebhookSecret::new(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_questions_in_flight_are_one() {
    let emulator = emulator();
    emulator.set_faults(vec!["discover:latency=500ms".parse().unwrap()]);
    let served = serve(&[("p.rego", ASKING)], Answers::Service(platform(&emulator)), |_| {});
    // Reviews differ in their `uid` and their pod, which this policy doesn't read.
    let asked = (0..8).map(|number| {
        let mut object = pod(&reference("good"));
        object["metadata"] = json!({"name": format!("pod-{number}")});
        let (url, body) = (served.url("/v1/admission"), review(object));
        tokio::spawn(async move { ask(&url, Method::POST, &[], body).await })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert!(is_allowed(&answer.await.unwrap()));
    }
    assert_eq!(evaluations(&served).await, 1);
    // Nothing is kept unless that is asked for.
    served.post("/v1/admission", &review(pod(&reference("good")))).await;
    assert_eq!(evaluations(&served).await, 2);
}

async fn evaluations(served: &Served) -> u64 {
    let metrics = served.get("/metrics").await.body;
    let line =
        metrics.lines().find_map(|line| line.strip_prefix("rego_platform_evaluations_total "));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_kept_for_a_time() {
    let kept = |policy: &str| {
        serve(&[("p.rego", policy)], unavailable(), |options| {
            options.decision_cache = Some(Duration::from_millis(1500));
        })
    };
    let served = kept(POLICY);
    let request = review(pod(&reference("bad")));
    for _ in 0..3 {
        let denied = served.post("/v1/admission", &request).await;
        assert!(!is_allowed(&denied), "{denied:?}");
        served.post("/v1/provider", &provided(&[&reference("bad")])).await;
    }
    assert_eq!(evaluations(&served).await, 1);
    // Other policies decide anew.
    write(
        served.folder.path(),
        &[("p.rego", "package p\n\ndeny contains \"x\" if input.image == \"\"\n")],
    );
    served.server.reload().unwrap();
    assert!(is_allowed(&served.post("/v1/admission", &request).await));
    assert_eq!(evaluations(&served).await, 2);
    tokio::time::sleep(Duration::from_millis(1600)).await;
    assert!(is_allowed(&served.post("/v1/admission", &request).await));
    assert_eq!(evaluations(&served).await, 3);

    // A policy that reads the request decides about each, but not by its `uid`.
    let served =
        kept("package p\n\ndeny contains \"x\" if input.request.object.metadata.name == \"b\"\n");
    for (name, count) in [("a", 1), ("a", 1), ("b", 2)] {
        let mut object = pod(&reference("good"));
        object["metadata"] = json!({"name": name});
        let uid = review(object).replace("705ab4f5-6393", &format!("{name}0000000-0000"));
        let answer = served.post("/v1/admission", &uid).await;
        assert_eq!(answer.body.contains("\"allowed\":true"), name == "a", "{answer:?}");
        assert_eq!(evaluations(&served).await, count);
    }
    // No verdict isn't kept.
    let served = kept(
        "package p\n\ndeny contains \"x\" if input.imge[0] == 1\n\ndeny contains \"y\" if platform.discover(input.image, \"\")\n",
    );
    for count in 1..3 {
        assert!(!is_allowed(&served.post("/v1/admission", &request).await));
        assert_eq!(evaluations(&served).await, count);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let served = serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.decision_log = Some(LogDestination::File(log.clone()));
    });
    served.post("/v1/admission", &review(pod(&reference("bad")))).await;
    served.post("/v1/provider", &provided(&[&reference("bad")])).await;
    let text = std::fs::read_to_string(&log).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| Value::from_json(line).unwrap()).collect();
    let [review, provided] = entries.as_slice() else { panic!("{text}") };
    assert_eq!(review.get_str("path"), Some(&"/v1/admission".into()));
    assert_eq!(review.get_str("result").unwrap().get_str("allowed"), Some(&false.into()));
    assert!(review.get_str("input").unwrap().get_str("userInfo").is_some(), "{text}");
    assert_eq!(provided.get_str("path"), Some(&"/v1/provider".into()));
    assert!(provided.get_str("result").unwrap().get_str("items").is_some(), "{text}");
}
