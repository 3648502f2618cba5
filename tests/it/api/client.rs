//! The typed client over the shipped data: the emulator's answers arrive complete.

use futures_util::TryStreamExt as _;
use rego_platform::api::*;
use rego_platform::{Api, Error, ErrorKind};
use rego_platform_emulator::EmulatorOptions;
use serde_json::{Value, json};

use super::*;
use crate::emulator::{backend, control, start};
use crate::functions::{client, client_as};
use crate::hostile::server::runtime;

/// A pending revision of the shipped data.
const PENDING: &str = "0677db93-c4d9-52f4-9a70-140fd180567b";

fn rows<T>(rows: impl Iterator<Item = Result<T, Error>>) -> Vec<T> {
    rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{}", error.report()))
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// The emulator shares no type with the client.
#[test]
fn every_answer_is_kept_as_it_was_served() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let api = platform.api().blocking();
    let served = |target: &str| backend(&emulator, target).json();
    assert_eq!(json_of(&rows(api.products())), served("/v1/products")["products"]);
    assert_eq!(
        json_of(&rows(api.projects(&ProjectFilters::new()))),
        served("/v1/projects")["results"]
    );
    assert_eq!(
        json_of(&rows(api.environments(&EnvironmentFilters::new()))),
        served("/v1/environments")["environments"]
    );
    let products = rows(api.products());
    assert_eq!(products.len(), 2);
    for version in [TRIAL, FIRST_RELEASE] {
        let found = api.product_version(BACK_OFFICE, version).unwrap();
        let target = format!("/v1/products/{BACK_OFFICE}/versions/{version}");
        assert_eq!(json_of(&found), served(&target)["version"]);
        let filters = ProductComplianceFilters::new(version);
        let found = api.product_compliance(&filters).unwrap();
        let target = format!("/v1/compliance/product?product_version_id={version}");
        assert_eq!(json_of(&found), served(&target)["frameworks"]);
    }
    assert_eq!(json_of(&api.infoz().unwrap()), control(&emulator, "/infoz").json());
    let text = |answer: crate::emulator::Answer| String::from_utf8(answer.body).unwrap();
    for (which, served) in [
        (Api::Backend, text(backend(&emulator, "/openapi.yaml"))),
        (Api::ControlPlane, text(control(&emulator, "/openapi.yaml"))),
    ] {
        assert_eq!(api.openapi(which).unwrap(), served);
    }
}

#[test]
fn async_and_blocking_answers_are_equal_inside_and_outside_runtimes() {
    let emulator = start(EmulatorOptions { max_page_size: Some(1), ..EmulatorOptions::default() });
    let platform = client(&emulator);
    let (api, blocking) = (platform.api(), platform.api().blocking());
    runtime().block_on(async {
        let products: Vec<_> = api.products().try_collect().await.unwrap();
        assert_eq!(products, rows(blocking.products()));
        assert_eq!(emulator.requests().len(), 4, "a page holds one product");
        let filters = ProjectFilters::new().product_id(BACK_OFFICE);
        let projects: Vec<_> = api.projects(&filters).try_collect().await.unwrap();
        assert_eq!(projects, rows(blocking.projects(&filters)));
        let filters = EnvironmentFilters::new().query("ÜBERALL");
        let environments: Vec<_> = api.environments(&filters).try_collect().await.unwrap();
        assert_eq!(environments, rows(blocking.environments(&filters)));
        assert_eq!(environments.len(), 1);
        assert_eq!(
            api.product_version(BACK_OFFICE, TRIAL).await.unwrap(),
            blocking.product_version(BACK_OFFICE, TRIAL).unwrap()
        );
        let filters = ProductComplianceFilters::new(TRIAL).framework_ids([PRODUCT_SECURITY]);
        let compliance = api.product_compliance(&filters).await.unwrap();
        assert_eq!(compliance, blocking.product_compliance(&filters).unwrap());
        assert_eq!(compliance[0].framework_id.as_deref(), Some(PRODUCT_SECURITY));
        assert_eq!(api.infoz().await.unwrap(), blocking.infoz().unwrap());
        let specification = api.openapi(Api::Backend).await.unwrap();
        assert_eq!(specification, blocking.openapi(Api::Backend).unwrap());
    });
}

#[test]
fn filters_and_pages_are_sent_as_documented() {
    let emulator = start(EmulatorOptions::default());
    let platform = client(&emulator);
    let api = platform.api().blocking();
    let filters =
        ProjectFilters::new().project_name("a b&c=é").product_id(BACK_OFFICE).description("+");
    rows(api.projects(&filters));
    rows(api.environments(&EnvironmentFilters::new().query("PROD")));
    rows(api.products());
    let filters = ProductComplianceFilters::new(TRIAL)
        .framework_ids([PRODUCT_SECURITY, "ed7889a0-4842-5a66-b59c-6a1d1017500d"]);
    api.product_compliance(&filters).unwrap();
    let targets: Vec<String> = emulator.requests().iter().map(|r| r.target.clone()).collect();
    assert_eq!(
        targets,
        [
            &format!(
                "/v1/projects?project_name=a+b%26c%3D%C3%A9&product_id={BACK_OFFICE}\
                 &description=%2B&pagination.page=0&pagination.page_size=1000"
            ),
            "/v1/environments?query=PROD&pagination.page=0&pagination.page_size=1000",
            "/v1/products?pagination.page=0&pagination.page_size=1000",
            &format!(
                "/v1/compliance/product?product_version_id={TRIAL}\
                 &framework_ids={PRODUCT_SECURITY}\
                 &framework_ids=ed7889a0-4842-5a66-b59c-6a1d1017500d"
            ),
        ]
    );
}

#[test]
fn a_person_approves_what_is_pending_once() {
    let emulator = start(EmulatorOptions::default());
    let api = client_as(&emulator, "user").build().unwrap().api().blocking();
    let before = chrono::Utc::now() - chrono::TimeDelta::seconds(1);
    let revision = api.approve(PENDING, Some("seen\nand tried")).unwrap();
    assert_eq!(revision.id.as_deref(), Some(PENDING));
    assert_eq!(revision.review_note.as_deref(), Some("seen\nand tried"));
    assert!(revision.reviewed_at.unwrap().utc().unwrap() >= before);
    assert_eq!(revision.reviewer.unwrap().email.as_deref(), Some("dana@acme.example"));
    let again = api.approve(PENDING, None).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidArgument);
    assert!(again.to_string().contains("isn't pending"), "{again}");
    let unknown = api.approve("00000000-0000-0000-0000-000000000000", None).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Protocol);
    // API tokens aren't allowed to.
    let ci = client(&emulator).api().blocking();
    assert_eq!(ci.approve(PENDING, None).unwrap_err().kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_free_plan_is_refused_and_organizations_are_apart() {
    let emulator = start(EmulatorOptions::default());
    let globex = client_as(&emulator, "user").organization("globex").build().unwrap();
    let names = |api: BlockingApiClient| {
        rows(api.products()).into_iter().map(|p| p.name.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(globex.api().blocking()), ["portal"]);
    let theirs = globex.api().blocking().product_version(BACK_OFFICE, TRIAL);
    assert_eq!(theirs.unwrap_err().kind(), ErrorKind::Protocol);
    let free = client_as(&emulator, "free").build().unwrap();
    let refused = free.api().blocking().products().next().unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    assert_eq!(json_of(&free.api().blocking().infoz().unwrap())["version"], json!("v1.42.0"));
}
