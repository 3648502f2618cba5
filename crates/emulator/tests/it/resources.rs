//! Products, projects and environments: filters, pages by offset, visibility.

use super::*;

/// Returns the rows under `key`, page by page.
fn rows(emulator: &Emulator, target: &str, key: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    loop {
        let sign = if target.contains('?') { '&' } else { '?' };
        let page = format!("{target}{sign}pagination.page={}&pagination.page_size=50", rows.len());
        let answer = backend(emulator, &page);
        assert_eq!(answer.status, 200, "{page} {}", answer.json());
        let body = answer.json();
        let more = body[key].as_array().unwrap();
        assert_eq!(body["pagination"]["page"], rows.len());
        rows.extend(more.iter().cloned());
        if more.is_empty() || rows.len() == body["pagination"]["total_count"] {
            return rows;
        }
    }
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn products_are_those_of_the_organization() {
    let emulator = start(EmulatorOptions::default());
    let products = rows(&emulator, "/v1/products", "products");
    assert_eq!(names(&products), ["web-shop", "back-office"]);
    assert_eq!(products[0]["latest_version"]["name"], "2026.03");
    assert_eq!(products[0]["business_unit"]["name"], "retail");
    let link = &products[0]["latest_version"]["project_versions"][1];
    assert_eq!(link["track_latest_project_version"], true);
    assert_eq!(link["project"]["name"], "catalog-web");
    assert_eq!(link["project"]["workflows"][1]["name"], "manual-upload");
    assert_eq!(link["version"]["version"], "v1.8.0");
    let url = format!("{}/v1/products", emulator.base_url());
    let token = emulator.token("user").unwrap();
    let theirs =
        send(|c| c.get(&url).bearer_auth(token).header("platform-organization", "globex")).unwrap();
    assert_eq!(names(theirs.json()["products"].as_array().unwrap()), ["portal"]);
}

#[test]
fn pages_are_by_offset_and_sizes_are_capped() {
    let emulator = start(EmulatorOptions { max_page_size: Some(2), ..EmulatorOptions::default() });
    let body = backend(&emulator, "/v1/environments?pagination.page=3").json();
    assert_eq!(names(body["environments"].as_array().unwrap()), ["bookkeeping", "Sandbox-Überall"]);
    let pagination = serde_json::json!({
        "total_count": 5, "page": 3, "total_pages": 3, "page_size": 2
    });
    assert_eq!(body["pagination"], pagination);
    let far = backend(&emulator, "/v1/environments?pagination.page=2147483647").json();
    assert_eq!(far["environments"], serde_json::json!([]));
    let whole = rows(&start(EmulatorOptions::default()), "/v1/environments", "environments");
    assert_eq!(rows(&emulator, "/v1/environments", "environments"), whole);
    assert_eq!(rows(&emulator, "/v1/projects", "results").len(), 4);
    for wrong in [
        "pagination.page=-1",
        "pagination.page=2147483648",
        "pagination.page_size=0",
        "pagination.page=x",
        "pagination.cursor=",
        "pagination.limit=2",
        "pagination.page=0&pagination.page=1",
    ] {
        let answer = backend(&emulator, &format!("/v1/environments?{wrong}"));
        assert_eq!((answer.status, &answer.json()["code"]), (400, &3.into()), "{wrong}");
    }
}

#[test]
fn a_version_comes_with_projects_frameworks_and_their_compliance() {
    let emulator = start(EmulatorOptions::default());
    let target = format!("/v1/products/{BACK_OFFICE}/versions/{BACK_OFFICE_RELEASE}");
    let version = &backend(&emulator, &target).json()["version"];
    assert_eq!(version["product_id"], BACK_OFFICE);
    let frameworks = version["frameworks"].as_array().unwrap();
    assert_eq!(names(frameworks), ["secure-supply-chain", "product-security", "card-data"]);
    let section = &frameworks[0]["sections"][0]["sub_sections"][0]["sub_sections"][0];
    assert_eq!(section["requirements"][0]["name"], "dependencies-attested");
    assert_eq!(section["parent_id"], frameworks[0]["sections"][0]["sub_sections"][0]["id"]);
    let mut statuses: Vec<&str> = frameworks
        .iter()
        .flat_map(|framework| framework["requirements"].as_array().unwrap())
        .map(|requirement| requirement["status"].as_str().unwrap())
        .collect();
    statuses.sort_unstable();
    statuses.dedup();
    assert_eq!(
        statuses,
        [
            "REQUIREMENT_STATUS_FAILING",
            "REQUIREMENT_STATUS_INACTIVE",
            "REQUIREMENT_STATUS_PARTIAL",
            "REQUIREMENT_STATUS_PASSING",
            "REQUIREMENT_STATUS_PENDING",
            "REQUIREMENT_STATUS_UNSPECIFIED",
        ]
    );
    let count = &version["project_versions"][0]["version"]["workflow_runs_count"];
    assert_eq!(count, "9007199254740993", "exact beyond 53 bits");
    let other = format!("/v1/products/{BACK_OFFICE}/versions/{BACK_OFFICE_TRIAL}");
    let trial = backend(&emulator, &other).json();
    assert_eq!(trial["version"]["project_versions"][0]["project"]["name"], "payments-api");
}

#[test]
fn versions_that_are_not_there_are_404() {
    let emulator = start(EmulatorOptions::default());
    for (product, version, status) in [
        (WEB_SHOP, BACK_OFFICE_RELEASE, 404),
        (WEB_SHOP, UNKNOWN, 404),
        (UNKNOWN, WEB_SHOP_SPRING, 404),
        (PORTAL, PORTAL_VERSION, 404),
        ("web-shop", WEB_SHOP_SPRING, 400),
        (WEB_SHOP, "2026.03", 400),
        (WEB_SHOP, "%FF", 400),
    ] {
        let target = format!("/v1/products/{product}/versions/{version}");
        assert_eq!(backend(&emulator, &target).status, status, "{target}");
    }
    let target = format!("/v1/products/{WEB_SHOP}/versions/{WEB_SHOP_SPRING}?expand=true");
    assert_eq!(backend(&emulator, &target).status, 400);
}

#[test]
fn projects_by_name_product_and_description() {
    let emulator = start(EmulatorOptions::default());
    let found = |filters: &str| {
        let rows = rows(&emulator, &format!("/v1/projects?{filters}"), "results");
        names(&rows).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("project_name=ledger-batch"), ["ledger-batch"]);
    assert_eq!(found("project_name=ledger"), [""; 0]);
    assert_eq!(found(&format!("product_id={WEB_SHOP}")), ["payments-api", "catalog-web"]);
    let back_office = ["payments-api", "ledger-batch", "mail-relay"];
    assert_eq!(found(&format!("product_id={BACK_OFFICE}")), back_office);
    assert_eq!(found(&format!("product_id={UNKNOWN}")), [""; 0]);
    assert_eq!(found("description=BILLS"), ["mail-relay"]);
    assert_eq!(found(&format!("description=the&product_id={BACK_OFFICE}")).len(), 2);
    let row = &rows(&emulator, "/v1/projects?project_name=payments-api", "results")[0];
    assert_eq!(row["latest_version"]["version"], "v2.5.0-rc.1");
    assert_eq!(row["latest_released_version"]["version"], "v2.4.0");
    assert_eq!(row["organization"]["name"], "acme");
    assert_eq!(names(row["products"].as_array().unwrap()), ["web-shop", "back-office"]);
    // Only in product listings.
    assert!(row.get("workflows").is_none() && row.get("repository").is_none());
    for wrong in ["product_id=web-shop", "project_name=", "name=x", "description=a&description=b"] {
        assert_eq!(backend(&emulator, &format!("/v1/projects?{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn environments_are_searched_in_name_and_description_in_any_case() {
    let emulator = start(EmulatorOptions::default());
    let found = |query: &str| {
        let rows = rows(&emulator, &format!("/v1/environments?query={query}"), "environments");
        names(&rows).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("PRODUCTION"), ["production", "staging"]);
    assert_eq!(found("company"), ["bookkeeping"]);
    assert_eq!(found("%C3%BCBERALL"), ["Sandbox-Überall"]);
    assert_eq!(found("nothing"), [""; 0]);
    assert_eq!(backend(&emulator, "/v1/environments?query=").status, 400);
}

#[test]
fn lists_without_rows_stay_recognizable_when_defaults_are_left_out() {
    let options = EmulatorOptions { omit_defaults: true, ..EmulatorOptions::default() };
    let emulator = start(options);
    for (target, kept) in [
        ("/v1/evidence?project_name=nothing", "pagination"),
        ("/v1/environments?query=nothing", "pagination"),
        ("/v1/projects?project_name=nothing", "pagination"),
        (
            "/v1/compliance/project?project_version_id=2fb90197-269e-5a23-8348-44b594d0d003",
            "pagination",
        ),
    ] {
        let body = backend(&emulator, target).json();
        let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(keys, [kept], "{target}");
        assert!(body[kept].is_object());
    }
    let answer = get(
        &format!(
            "{}/v1/compliance/product?product_version_id={PORTAL_VERSION}",
            emulator.base_url()
        ),
        emulator.token("globex-ci").as_deref(),
    );
    assert_eq!(answer.json(), serde_json::json!({ "frameworks": [] }));
}
