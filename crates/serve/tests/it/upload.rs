//! Uploads of decisions, to servers that fail.

use std::collections::VecDeque;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use rego_platform::{ErrorKind, Value};
use rego_platform_serve::{LogDestination, Server, Upload};

use super::support::{HANG, Heard, Served, load, options, serve, unavailable, until, write};

const POLICY: &str = "package p\n\nn := input.n\n";
/// More failures than a test waits for.
static ENDLESS: [u16; 5_000] = [503; 5_000];
const TOKEN: &str = "canary-0123456789";

/// A server that takes logs of decisions, and answers with the statuses that it is told before.
#[derive(Default)]
struct Collector {
    statuses: Mutex<VecDeque<u16>>,
    /// The most bytes of a body.
    most: Mutex<Option<usize>>,
    requests: Mutex<Vec<(HeaderMap, Vec<Value>)>>,
}

impl Collector {
    /// Returns it and its address.
    async fn start(statuses: &[u16]) -> (Arc<Self>, String) {
        let collector = Arc::new(Self::default());
        collector.statuses.lock().unwrap().extend(statuses);
        let own = Arc::clone(&collector);
        let take = move |headers: HeaderMap, body: Bytes| async move { own.take(headers, &body) };
        let router = axum::Router::new().route("/logs", axum::routing::post(take));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (collector, address)
    }

    fn take(&self, headers: HeaderMap, body: &[u8]) -> StatusCode {
        if let Some(status) = self.statuses.lock().unwrap().pop_front() {
            return StatusCode::from_u16(status).unwrap();
        }
        let mut text = String::new();
        flate2::read::GzDecoder::new(body).read_to_string(&mut text).unwrap();
        if self.most.lock().unwrap().is_some_and(|most| text.len() > most) {
            return StatusCode::PAYLOAD_TOO_LARGE;
        }
        let entries = Value::from_json(&text).unwrap();
        let entries = entries.as_array().unwrap().clone();
        self.requests.lock().unwrap().push((headers, entries));
        StatusCode::OK
    }

    /// The results in the entries that came, in their order.
    fn results(&self) -> Vec<i64> {
        let requests = self.requests.lock().unwrap();
        let entries = requests.iter().flat_map(|(_, entries)| entries);
        entries.map(|entry| entry.get_str("result").unwrap().as_i64().unwrap()).collect()
    }
}

fn upload(address: &str, spool: &Path) -> Upload {
    let mut upload = Upload::new(address, spool).unwrap();
    upload.interval = Duration::ZERO;
    upload.pauses = (Duration::from_millis(1), Duration::from_millis(4));
    upload
}

fn logged(upload: Upload, grace: Duration) -> Served {
    serve(&[("p.rego", POLICY)], unavailable(), |options| {
        options.decision_log = Some(LogDestination::Upload(Box::new(upload)));
        options.bounds.grace = grace;
    })
}

async fn decide(served: &Served, numbers: std::ops::Range<i64>) {
    for n in numbers {
        let answer = served.post("/v1/data/p/n", &format!(r#"{{"input": {{"n": {n}}}}}"#)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.json().get_str("decision_id").is_some());
    }
}

fn told(served: &Served) -> String {
    served.journal.failed.lock().unwrap().join("\n")
}

/// Returns a count in the metrics.
async fn metric(served: &Served, name: &str) -> i64 {
    let text = served.get("/metrics").await.body;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("rego_platform_{name} ")));
    line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_uploaded_as_opa_does() {
    let (collector, address) = Collector::start(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("token", &format!("{TOKEN}\n"))]);
    let mut upload = upload(&address, &folder.path().join("spool"));
    upload.token_file = Some(folder.path().join("token"));
    let served = logged(upload, HANG);
    decide(&served, 0..3).await;
    served.server.stop();
    assert_eq!(collector.results(), [0, 1, 2]);
    for (headers, _) in &*collector.requests.lock().unwrap() {
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["content-encoding"], "gzip");
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}"));
    }
    assert_eq!(told(&served), "");
    let left = std::fs::read_dir(folder.path().join("spool")).unwrap().count();
    assert_eq!(left, 1, "the lock alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_uploaded_again_and_the_reason_told_once() {
    let (collector, address) = Collector::start(&[503, 503, 401, 302, 429]).await;
    let folder = tempfile::tempdir().unwrap();
    let served = logged(upload(&address, folder.path()), HANG);
    decide(&served, 0..2).await;
    until("it is uploaded", || collector.results() == [0, 1]).await;
    let told = told(&served);
    for status in [503, 401, 302, 429] {
        assert_eq!(told.matches(&format!(": status {status}")).count(), 1, "{told}");
    }
    served.server.stop();

    collector.statuses.lock().unwrap().extend(ENDLESS);
    let served = logged(upload(&address, folder.path()), Duration::ZERO);
    decide(&served, 2..3).await;
    until("it fails", || !served.journal.failed.lock().unwrap().is_empty()).await;
    let status = served.get("/v1/status").await;
    assert!(
        status.body.contains(
            r#""decision_logs":{"dropped":0,"message":"unexpected response of http://127"#
        ),
        "{status:?}"
    );
    assert!(metric(&served, "decision_log_uploads_failed_total").await > 0);
    assert_eq!(metric(&served, "decision_log_waiting").await, 1);
    // It still decides, and so it is healthy.
    assert_eq!(served.get("/health?plugins").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_spool_survives_a_restart_and_no_torn_entry_is_uploaded() {
    let (collector, address) = Collector::start(&ENDLESS).await;
    let folder = tempfile::tempdir().unwrap();
    let served = logged(upload(&address, folder.path()), Duration::ZERO);
    decide(&served, 0..2).await;
    let second = serve_with(upload(&address, folder.path()));
    assert!(second.contains("another process uses it"), "{second}");
    served.server.stop();
    assert!(told(&served).contains("2 decisions weren't uploaded"), "{}", told(&served));

    // As a process leaves it that was killed while it wrote.
    std::fs::write(folder.path().join("00000000000000000099.jsonl"), "{\"result\":2}\n{\"resu")
        .unwrap();
    collector.statuses.lock().unwrap().clear();
    let served = logged(upload(&address, folder.path()), HANG);
    decide(&served, 3..4).await;
    served.server.stop();
    assert_eq!(collector.results(), [0, 1, 2, 3]);
}

/// Returns why a server doesn't start.
fn serve_with(upload: Upload) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("p.rego", POLICY)]);
    let mut options = options(unavailable(), &Arc::new(Heard::default()));
    options.decision_log = Some(LogDestination::Upload(Box::new(upload)));
    Server::start(load(folder.path()), options).unwrap_err().report()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_spool_drops_the_oldest_and_says_so() {
    let (collector, address) = Collector::start(&ENDLESS).await;
    let folder = tempfile::tempdir().unwrap();
    let mut upload = upload(&address, folder.path());
    // A chunk for each entry, and place for a few.
    (upload.chunk, upload.most) = (1, 3000);
    let served = logged(upload, HANG);
    decide(&served, 0..20).await;
    let dropped = metric(&served, "decision_log_dropped_total").await;
    assert!(dropped > 5, "{dropped}");
    assert_eq!(metric(&served, "decision_log_waiting").await, 20 - dropped);
    assert!(told(&served).contains("were dropped from the log: the spool"), "{}", told(&served));
    let status = served.get("/v1/status").await;
    assert!(status.body.contains(&format!(r#""dropped":{dropped}"#)), "{status:?}");
    collector.statuses.lock().unwrap().clear();
    served.server.stop();
    let results = collector.results();
    assert_eq!(i64::try_from(results.len()).unwrap(), 20 - dropped);
    // All but the one whose upload was under way.
    assert!(results[1..].iter().copied().eq(dropped + 1..20), "{results:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_for_the_server_comes_in_parts() {
    let (collector, address) = Collector::start(&[]).await;
    *collector.most.lock().unwrap() = Some(3000);
    let folder = tempfile::tempdir().unwrap();
    let mut upload = upload(&address, folder.path());
    upload.interval = HANG;
    let served = logged(upload, HANG);
    decide(&served, 0..8).await;
    let large = format!(r#"{{"input": {{"n": 8, "large": "{}"}}}}"#, "x".repeat(4000));
    served.post("/v1/data/p/n", &large).await;
    decide(&served, 9..12).await;
    served.server.stop();
    assert_eq!(collector.results(), [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]);
    assert!(told(&served).contains("a decision was dropped from the log: http://127.0.0.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn times_that_no_clock_has_are_without_end() {
    let (collector, address) = Collector::start(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let mut upload = upload(&address, folder.path());
    (upload.interval, upload.timeout) = (Duration::MAX, Duration::MAX);
    let served = logged(upload, Duration::MAX);
    decide(&served, 0..2).await;
    served.server.stop();
    assert_eq!(collector.results(), [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_cannot_be_spooled_is_not_given() {
    let (_, address) = Collector::start(&[]).await;
    let folder = tempfile::tempdir().unwrap();
    let served = logged(upload(&address, &folder.path().join("spool")), HANG);
    std::fs::remove_dir_all(folder.path().join("spool")).unwrap();
    let answer = served.post("/v1/data/p/n", r#"{"input": {"n": 1}}"#).await;
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("decision_logs: "), "{answer:?}");
    assert_eq!(served.get("/health?plugins").await.status, 500);
}

#[test]
fn addresses_and_tokens_are_checked_before_the_start() {
    for address in ["logs.example", "ftp://logs.example", "https://user:secret@logs.example"] {
        let error = Upload::new(address, "spool").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(!error.report().contains("secret"), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = serve_with(upload("http://logs.example/a?key=secret", folder.path()));
    assert_eq!(plain, "decisions would go to http://logs.example over plain HTTP");
    let with_token = |token: &Path, why: &str| {
        let mut upload = upload("http://127.0.0.1:1", folder.path());
        upload.token_file = Some(token.to_owned());
        let told = serve_with(upload);
        assert!(told.contains(why), "{told}");
    };
    let long = "x".repeat((64 << 10) + 1);
    for (text, why) in [
        ("", "is empty"),
        ("a b", "isn't one line of visible ASCII"),
        (&long, "isn't one line of visible ASCII"),
    ] {
        write(folder.path(), &[("token", text)]);
        with_token(&folder.path().join("token"), why);
    }
    // A file without an end.
    #[cfg(unix)]
    with_token(Path::new("/dev/zero"), "isn't one line of visible ASCII");
}

#[cfg(unix)]
#[test]
fn a_spool_that_leads_elsewhere_or_is_shared_is_refused() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let refused = |make: &dyn Fn(&Path) -> std::path::PathBuf, why: &str| {
        let folder = tempfile::tempdir().unwrap();
        let spool = make(folder.path());
        write(folder.path(), &[("p.rego", POLICY)]);
        let journal = Arc::new(Heard::default());
        let mut options = options(unavailable(), &journal);
        let upload = upload("http://127.0.0.1:1", &spool);
        options.decision_log = Some(LogDestination::Upload(Box::new(upload)));
        let error = Server::start(load(folder.path()), options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{why}");
        assert!(error.report().contains(why) && error.hint().is_some(), "{why}: {error:?}");
    };
    let spool = |folder: &Path| {
        let spool = folder.join("spool");
        std::fs::create_dir(&spool).unwrap();
        spool
    };
    let to_itself = |folder: &Path| {
        symlink(spool(folder), folder.join("link")).unwrap();
        folder.join("link/")
    };
    refused(&to_itself, "it is a link");
    for mode in [0o770, 0o707, 0o1777] {
        let shared = move |folder: &Path| {
            let spool = spool(folder);
            std::fs::set_permissions(&spool, PermissionsExt::from_mode(mode)).unwrap();
            spool
        };
        refused(&shared, "other users may write to it");
    }
    // Only root can give one away, and only for root it matters.
    let foreign = |folder: &Path| {
        chown(spool(folder), Some(65_534), None).unwrap();
        folder.join("spool")
    };
    if chown(outside.path(), Some(65_534), None).is_ok() {
        refused(&foreign, "it belongs to another user");
    }
    for name in ["lock", "00000000000000000001.jsonl"] {
        let linked = |folder: &Path| {
            symlink(&victim, spool(folder).join(name)).unwrap();
            folder.join("spool")
        };
        refused(&linked, "in it isn't a regular file");
    }
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
}
