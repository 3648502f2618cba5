//! The clients of the example: decisions, a deadline, a cancellation, new policies.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use futures_util::future::try_join_all;
use rego_platform::reqwest::{self, Client, StatusCode};
use rego_platform_emulator::Emulator;

use super::Service;

const RULE: &str = "/v1/data/upstream_attestations/deny";

async fn ask(client: &Client, url: String, input: &str) -> reqwest::Result<(StatusCode, String)> {
    let response = client.post(url).body(format!("{{\"input\": {input}}}")).send().await?;
    Ok((response.status(), response.text().await?))
}

fn expect(what: &str, holds: bool) -> Result<(), Box<dyn Error>> {
    println!("{what}: {}", if holds { "yes" } else { "no" });
    if holds { Ok(()) } else { Err(what.into()) }
}

/// Waits until `holds` returns `true`, for some seconds at most.
async fn until(holds: impl Fn() -> bool) -> bool {
    for _ in 0..1000 {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

pub async fn ask_all(
    url: &str,
    file: &Path,
    emulator: &Emulator,
    service: &Service,
) -> Result<(), Box<dyn Error>> {
    let client = Client::new();
    let rule = || format!("{url}{RULE}");
    let input = |name: &str| {
        std::fs::read_to_string(format!("testdata/inputs/upstream_attestations/{name}.json"))
    };
    let (clean, bad) = (input("pass")?, input("fail")?);

    let (status, body) = ask(&client, rule(), &clean).await?;
    expect("a clean image has no violations", status == 200 && body == r#"{"result":[]}"#)?;
    let (status, body) = ask(&client, rule(), &bad).await?;
    expect("a bad one has some", status == 200 && body.contains("policy violations"))?;

    let many =
        try_join_all((0..200).map(|_| ask(&client, format!("{}?timeout_ms=30000", rule()), &bad)))
            .await?;
    let same = many.iter().all(|(status, other)| *status == 200 && *other == body);
    expect("200 clients at once get the same", same)?;

    emulator.set_faults(vec!["discover:latency=20s".parse()?]);
    let (status, _) = ask(&client, format!("{}?timeout_ms=100", rule()), &clean).await?;
    expect("a deadline of 100 ms is kept", status == StatusCode::GATEWAY_TIMEOUT)?;

    let leaving = {
        let (client, url, clean) = (client.clone(), rule(), clean.clone());
        let patient = format!("{url}?timeout_ms=30000");
        tokio::spawn(async move { ask(&client, patient, &clean).await.map(drop) })
    };
    let waiting = until(|| service.platform.calls_in_flight() > 0).await;
    leaving.abort();
    let ended = until(|| service.platform.calls_in_flight() == 0).await;
    expect("the calls of a client that leaves are given up", waiting && ended)?;
    emulator.set_faults(Vec::new());

    let reload = || client.post(format!("{url}/reload")).send();
    std::fs::write(file, "package upstream_attestations\n\ndeny contains platform.discovr(1)\n")?;
    let refused = reload().await?;
    let still = ask(&client, rule(), &clean).await?.0 == 200;
    let holds = refused.status() == StatusCode::CONFLICT && still;
    expect("policies that don't load leave the old ones in place", holds)?;
    std::fs::write(file, "package upstream_attestations\n\ndeny := {\"closed\"}\n")?;
    let taken = reload().await?.status().is_success();
    let now = ask(&client, rule(), &clean).await?.1;
    expect("new policies hold at once", taken && now == r#"{"result":["closed"]}"#)?;

    print!("{}", client.get(format!("{url}/metrics")).send().await?.text().await?);
    Ok(())
}
