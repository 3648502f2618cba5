//! Faults on request.

use std::time::{Duration, Instant};

use rego_platform_emulator::{Fault, FaultKind, FaultTarget, RouteKind};

use super::*;

fn faulty(faults: &[&str]) -> Emulator {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    start(EmulatorOptions { faults, ..EmulatorOptions::default() })
}

fn discover(emulator: &Emulator) -> Result<Answer, reqwest::Error> {
    let url = format!("{}/discover/{CLEAN_IMAGE}", emulator.controlplane_url());
    let token = emulator.default_token();
    send(|client| client.get(url).bearer_auth(token))
}

#[test]
fn a_status_fault_affects_as_many_requests_as_its_count() {
    let emulator = faulty(&["discover:status=503:after=1:count=2:retry-after=7"]);
    let statuses: Vec<u16> = (0..5).map(|_| discover(&emulator).unwrap().status).collect();
    assert_eq!(statuses, [200, 503, 503, 200, 200]);
    assert_eq!(backend(&emulator, "/v1/evidence").status, 200);
    emulator.set_faults(vec!["*:status=429:retry-after=7".parse().unwrap()]);
    let answer = discover(&emulator).unwrap();
    assert_eq!((answer.status, answer.header("retry-after")), (429, "7"));
    assert_eq!(answer.json()["code"], 429);
    assert_eq!(backend(&emulator, "/v1/evidence").json()["code"], 8);
    emulator.set_faults(Vec::new());
    assert_eq!(discover(&emulator).unwrap().status, 200);
}

#[test]
fn one_fault_after_the_other() {
    let emulator = faulty(&["discover:status=500:count=1", "discover:status=502:count=1"]);
    let statuses: Vec<u16> = (0..3).map(|_| discover(&emulator).unwrap().status).collect();
    assert_eq!(statuses, [500, 502, 200]);
}

#[test]
fn a_body_and_headers_can_be_given() {
    let emulator = faulty(&[
        "evidence:status=200:body={\"a\":1}",
        "/discover/sha256:8f:status=307:header=Location=/auth/login",
    ]);
    assert_eq!(backend(&emulator, "/v1/evidence").json()["a"], 1);
    let answer = discover(&emulator).unwrap();
    assert_eq!((answer.status, answer.header("location")), (307, "/auth/login"));
}

#[test]
fn latency_delays() {
    let emulator = faulty(&["discover:latency=150ms", "*:latency=100ms"]);
    let begin = Instant::now();
    assert_eq!(discover(&emulator).unwrap().status, 200);
    assert!(begin.elapsed() >= Duration::from_millis(250));
}

#[test]
fn requests_in_flight_are_counted() {
    let emulator = faulty(&["discover:latency=2s"]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| discover(&emulator).unwrap());
        }
    });
    assert_eq!(emulator.max_in_flight(), 3);
}

#[test]
fn a_cut_body_ends_short_of_its_length() {
    let emulator = faulty(&["discover:cut=100"]);
    let error = discover(&emulator).err().unwrap();
    assert!(error.is_body() || error.is_decode(), "{error:?}");
    // On the wire: the head announces more than is sent, and then the connection ends.
    let raw = raw_get(&emulator.controlplane_url(), "/infoz", &[]);
    assert!(raw.ends_with('}'), "only discover is cut: {raw}");
    let authorization = format!("Authorization: Bearer {}", emulator.default_token());
    let raw = raw_get(
        &emulator.controlplane_url(),
        &format!("/discover/{CLEAN_IMAGE}"),
        &[&authorization],
    );
    let (head, body) = raw.split_once("\r\n\r\n").unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(body.len(), 100);
    assert!(length.parse::<usize>().unwrap() > 100);
}

#[test]
fn the_store_can_cut_and_lie() {
    let emulator = faulty(&["store:wrong-bytes:count=1", "store:cut=10:count=1"]);
    let location = || {
        let answer = control(&emulator, &format!("/download/{BINARY}"));
        answer.header("location").to_owned()
    };
    let wrong = get(&location(), None);
    let link = location();
    assert!(send(|client| client.get(&link)).is_err());
    let right = get(&location(), None);
    assert_eq!(wrong.body.len(), right.body.len());
    assert_ne!(wrong.body, right.body);
}

#[test]
fn a_reset_and_a_stall_are_errors_of_their_own() {
    let emulator = faulty(&["discover:reset:count=1", "discover:stall=60:count=1"]);
    let error = discover(&emulator).err().unwrap();
    assert!(error.is_request() && !error.is_timeout(), "{error:?}");
    let url = format!("{}/discover/{CLEAN_IMAGE}", emulator.controlplane_url());
    let token = emulator.default_token();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let response = client.get(url).bearer_auth(token).send().await.unwrap();
        tokio::time::timeout(Duration::from_millis(300), response.bytes()).await
    });
    assert!(answer.is_err());
}

#[test]
fn only_the_method_that_is_named_is_hit() {
    let emulator = faulty(&["*:status=500:method=post"]);
    assert_eq!(discover(&emulator).unwrap().status, 200);
    let url = format!("{}/infoz", emulator.controlplane_url());
    assert_eq!(send(|client| client.post(url)).unwrap().status, 500);
}

#[test]
fn every_route_has_a_name() {
    let emulator = start(EmulatorOptions::default());
    let base = emulator.base_url();
    for (name, target) in [
        ("products", "/v1/products"),
        ("products", "/v1/products/a/versions/b"),
        ("projects", "/v1/projects"),
        ("environments", "/v1/environments"),
        ("approve", "/v1/assessments/revisions/a/approve"),
        ("product-compliance", "/v1/compliance/product"),
        ("compliance", "/v1/compliance/project"),
        ("openapi", "/openapi.yaml"),
    ] {
        emulator.set_faults(vec![format!("{name}:status=418").parse().unwrap()]);
        assert_eq!(get(&format!("{base}{target}"), None).status, 418, "{name} {target}");
        assert_ne!(get(&format!("{base}/v1/evidence"), None).status, 418, "{name}");
    }
    emulator.set_faults(vec!["openapi:status=418".parse().unwrap()]);
    let control = emulator.controlplane_url();
    assert_eq!(get(&format!("{control}/openapi.yaml"), None).status, 418);
    emulator.set_faults(vec!["compliance:status=418".parse().unwrap()]);
    assert_eq!(get(&format!("{base}/v1/compliance/product"), None).status, 401);
}

#[test]
fn faults_are_read_from_text() {
    let parse = |text: &str| text.parse::<Fault>();
    let fault = parse("operations:latency=2s:after=3:count=4:method=get").unwrap();
    assert_eq!(fault.target, FaultTarget::Route(RouteKind::Operations));
    assert_eq!(fault.kind, FaultKind::Latency(Duration::from_secs(2)));
    assert_eq!((fault.after, fault.count, fault.method.as_deref()), (3, Some(4), Some("GET")));
    for (text, says) in [
        ("", "unknown route"),
        ("discovery:reset", "unknown route `discovery`"),
        ("discover", "no effect"),
        ("discover:count=2", "no effect"),
        ("discover:reset:reset", "more than one effect"),
        ("discover:status=99", "`99`"),
        ("discover:status=abc", "whole number"),
        ("discover:latency=5", "`5`"),
        ("discover:reset:times=2", "`times=2`"),
        ("discover:reset:body=x", "`status=`"),
        ("discover:status=503:header=a b=c", "header"),
        ("/discover/sha256:ab", "no effect"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(error.hint().unwrap().contains("discover:status=503:count=2"));
    }
}

/// Returns the server's bytes until it closes the connection.
fn raw_get(base: &str, target: &str, headers: &[&str]) -> String {
    use std::io::{Read as _, Write as _};
    let address = base.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
