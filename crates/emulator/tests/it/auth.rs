//! Tokens, organizations, paid plans, and requests to the wrong address.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rego_platform_emulator::Address;

use super::*;

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn as_organization(emulator: &Emulator, token: &str, organization: &str) -> Answer {
    let url = format!("{}/v1/evidence", emulator.base_url());
    let token = emulator.token(token).unwrap();
    send(|client| client.get(url).bearer_auth(token).header("platform-organization", organization))
        .unwrap()
}

#[test]
fn tokens_are_jwts_and_the_same_each_time() {
    let one = start(EmulatorOptions::default());
    let two = start(EmulatorOptions::default());
    assert_eq!(one.token_names(), ["user", "ci", "globex-ci", "expired", "free"]);
    for name in &one.token_names() {
        assert_eq!(one.token(name), two.token(name), "{name}");
        assert!(one.token(name).is_some(), "{name}");
    }
    assert_eq!(one.token("unknown"), None);
    assert_eq!(Some(one.default_token()), one.token("ci"));
    assert_eq!(claims(&one.token("user").unwrap())["aud"][0], "user-auth.platform");
    let ci = claims(&one.token("ci").unwrap());
    assert_eq!(
        (&ci["aud"][0], &ci["org_name"]),
        (&"api-token-auth.platform".into(), &"acme".into())
    );
    assert_eq!(ci.get("exp"), None);
    assert_eq!(claims(&one.token("expired").unwrap())["exp"], 1_767_225_600);
}

#[test]
fn another_product_has_other_audiences_and_another_header() {
    let product = "shipyard".to_owned();
    let emulator = start(EmulatorOptions { product, ..EmulatorOptions::default() });
    let token = emulator.token("user").unwrap();
    assert_eq!(claims(&token)["aud"][0], "user-auth.shipyard");
    let url = format!("{}/v1/evidence", emulator.base_url());
    let answer =
        send(|c| c.get(&url).bearer_auth(&token).header("shipyard-organization", "globex"))
            .unwrap();
    assert_eq!(answer.json()["results"][0]["organization_name"], "globex");
    let theirs = start(EmulatorOptions::default());
    let url = format!("{}/v1/evidence", theirs.base_url());
    assert_eq!(get(&url, Some(&token)).status, 401, "a token for another audience");
}

#[test]
fn without_a_good_token_everything_but_infoz_is_401() {
    let emulator = start(EmulatorOptions::default());
    let good = emulator.default_token();
    let forged = format!("{good}x");
    let expired = emulator.token("expired").unwrap();
    let control = emulator.controlplane_url();
    let base = emulator.base_url();
    for token in [None, Some("nonsense"), Some(forged.as_str()), Some(expired.as_str())] {
        for url in [
            format!("{control}/discover/{CLEAN_IMAGE}"),
            format!("{control}/download/{BINARY}"),
            format!("{base}/v1/evidence"),
            format!("{base}/v1/compliance/project"),
            format!("{base}/v1/operations/x"),
        ] {
            let answer = get(&url, token);
            assert_eq!(answer.status, 401, "{url} {token:?}");
            let code = if url.starts_with(&control) { 401 } else { 16 };
            assert_eq!(answer.json()["code"], code, "{url}");
        }
    }
    let url = format!("{control}/discover/{CLEAN_IMAGE}");
    let basic = send(|c| c.get(&url).header("authorization", format!("Basic {good}"))).unwrap();
    assert_eq!(basic.status, 401);
    let expired = get(&url, Some(&expired)).json();
    assert!(expired["message"].as_str().unwrap().contains("expired"));
    let infoz = get(&format!("{control}/infoz"), None);
    let keys: Vec<String> = infoz.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["chartVersion", "loginURL", "version"]);
}

#[test]
fn a_user_token_chooses_among_its_organizations_and_an_api_token_does_not() {
    let emulator = start(EmulatorOptions::default());
    let organization = |answer: &Answer| {
        let name = answer.json()["results"][0]["organization_name"].clone();
        name.as_str().unwrap_or_default().to_owned()
    };
    let url = format!("{}/v1/evidence", emulator.base_url());
    assert_eq!(organization(&get(&url, emulator.token("user").as_deref())), "acme");
    assert_eq!(organization(&as_organization(&emulator, "user", "acme")), "acme");
    assert_eq!(organization(&as_organization(&emulator, "user", "globex")), "globex");
    assert_eq!(organization(&as_organization(&emulator, "ci", "globex")), "acme");
    for other in ["hobby", "unknown", ""] {
        let answer = as_organization(&emulator, "user", other);
        assert_eq!(answer.status, 403, "{other}");
        assert_eq!(answer.json()["code"], 7);
    }
}

#[test]
fn the_free_plan_has_discover_only() {
    let emulator = start(EmulatorOptions::default());
    let token = emulator.token("free").unwrap();
    let (control, base) = (emulator.controlplane_url(), emulator.base_url());
    let bot = "sha256:e5f0ea481ecf7b84adc0ed39976841e48789951a621fcc7e1c0a53823de446bd";
    assert_eq!(get(&format!("{control}/discover/{bot}"), Some(&token)).status, 200);
    for url in [
        format!("{control}/download/{BINARY}"),
        format!("{base}/v1/evidence"),
        format!("{base}/v1/compliance/project"),
        format!("{base}/v1/operations/x"),
    ] {
        let answer = get(&url, Some(&token));
        assert_eq!(answer.status, 403, "{url}");
        assert!(answer.json()["message"].as_str().unwrap().contains("paid plan"), "{url}");
    }
    let url = format!("{base}/v1/agents/evaluate-evidence");
    let answer = send(|client| client.post(url).bearer_auth(token).body("{}")).unwrap();
    assert_eq!(answer.status, 403);
}

#[test]
fn each_address_has_its_own_routes() {
    let emulator = start(EmulatorOptions::default());
    let token = emulator.default_token();
    for (base, target) in [
        (emulator.base_url(), format!("/discover/{CLEAN_IMAGE}")),
        (emulator.base_url(), "/infoz".to_owned()),
        (emulator.controlplane_url(), "/v1/evidence".to_owned()),
        (emulator.store_url(), "/v1/evidence".to_owned()),
        (emulator.controlplane_url(), format!("/content/{BINARY}")),
    ] {
        assert_eq!(get(&format!("{base}{target}"), Some(&token)).status, 404, "{base}{target}");
    }
    let url = format!("{}/v1/evidence", emulator.base_url());
    let answer = send(|client| client.post(url).bearer_auth(&token)).unwrap();
    assert_eq!((answer.status, &answer.json()["code"]), (405, &12.into()));
}

#[test]
fn the_log_has_what_was_sent_and_no_token() {
    let emulator = start(EmulatorOptions::default());
    as_organization(&emulator, "user", "globex");
    get(&format!("{}/infoz?a=b", emulator.controlplane_url()), None);
    let requests = emulator.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].api, requests[0].target.as_str()), (Address::Backend, "/v1/evidence"));
    assert_eq!(requests[0].organization.as_deref(), Some("globex"));
    assert!(requests[0].had_authorization && !requests[1].had_authorization);
    assert_eq!((requests[1].target.as_str(), requests[1].path()), ("/infoz?a=b", "/infoz"));
    assert!(requests[0].header_names.iter().any(|name| name == "authorization"));
    let shown = format!("{requests:?}{emulator:?}");
    assert!(!shown.contains(&emulator.token("user").unwrap()));
    assert_eq!(emulator.max_in_flight(), 1);
    emulator.clear_requests();
    assert_eq!((emulator.requests().len(), emulator.max_in_flight()), (0, 0));
}
