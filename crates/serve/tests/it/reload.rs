//! Policies that change.

use super::support::{serve_policy, write};
use rego_platform::Value;

const FIRST: &str = "package p\n\nversion := 1\n";

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_exchanged_at_once() {
    let served = serve_policy(FIRST);
    let revision = |answer: &Value| {
        let bundles = answer.get_str("result").unwrap().get_str("bundles").unwrap().clone();
        bundles.get_str("policies").unwrap().get_str("active_revision").cloned().unwrap()
    };
    let before = revision(&served.get("/v1/status").await.json());
    assert_eq!(served.get("/v1/data/p/version").await.body, "{\"result\":1}\n");
    write(served.folder.path(), &[("p.rego", "package p\n\nversion := 2\n")]);
    assert_eq!(served.get("/v1/data/p/version").await.body, "{\"result\":1}\n");
    served.server.reload().unwrap();
    assert_eq!(served.get("/v1/data/p/version").await.body, "{\"result\":2}\n");
    let query = served.get("/v1/query?q=x%3Ddata.p.version").await;
    assert_eq!(query.body, "{\"result\":[{\"x\":2}]}\n");
    assert_ne!(before, revision(&served.get("/v1/status").await.json()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_policies_that_loaded_stay_and_it_is_loud() {
    let served = serve_policy(FIRST);
    write(served.folder.path(), &[("p.rego", "package p\n\nversion := platform.discovr(1)\n")]);
    let error = served.server.reload().unwrap_err();
    assert!(error.report().contains("discovr"), "{error}");
    assert_eq!(served.get("/v1/data/p/version").await.body, "{\"result\":1}\n");
    assert_eq!(served.get("/health").await.status, 200);
    for path in ["/health?bundles", "/health?plugins", "/health?bundle=true"] {
        assert_eq!(served.get(path).await.status, 500, "{path}");
    }
    let status = served.get("/v1/status").await;
    assert!(status.body.contains("discovr") && status.body.contains("ERROR"), "{status:?}");
    let metrics = served.get("/metrics").await;
    assert!(metrics.body.contains("rego_platform_policies_loaded 0\n"), "{metrics:?}");

    write(served.folder.path(), &[("p.rego", "package p\n\nversion := 3\n")]);
    served.server.reload().unwrap();
    assert_eq!(served.get("/v1/data/p/version").await.body, "{\"result\":3}\n");
    assert_eq!(served.get("/health?bundles&plugins").await.status, 200);
}
