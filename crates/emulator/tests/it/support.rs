//! The shipped data set behind an emulator, its identifiers, and requests to it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use serde_json::Value;

pub const CLEAN_IMAGE: &str =
    "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";
pub const BAD_IMAGE: &str =
    "sha256:ee365d2f06e4e744b38aa060b129cda3c422b7186be525f49d4758e78dae1ad6";
pub const BUNDLE: &str = "sha256:d73228f15f7afdba5ef976de956831f7d30c6bc8213e209787f7011239414978";
pub const AMBIGUOUS: &str =
    "sha256:5f119f87b977f1ceb10787a95ace1e93dc9679d238f1353684433b0b32edf320";
pub const BINARY: &str = "sha256:ba62e6dfc9fd05b57e77adff62f7fd5ddb8f1939c3244fce7ca5dbc6c733385a";
pub const STORED_ONLY: &str =
    "sha256:80430fcbfef194995e1f7e4be8f9f3d1ffa59af41719930f4f1f67f516559fa6";
pub const THREAT_MODEL: &str =
    "sha256:b7b4d9068f27c970f6ed3912c3b697aae614ab107405bc644e7764f71715cb1b";

pub const WEB_SHOP: &str = "f6ffc9c7-4dc5-52a6-89b3-c3bcdf4abf63";
pub const WEB_SHOP_SPRING: &str = "a89601f5-271a-55e5-a205-4a3be66201af";
pub const BACK_OFFICE: &str = "277e9d62-3274-5f43-8d8d-44c31d8658a1";
pub const BACK_OFFICE_TRIAL: &str = "f1991c66-c33a-59b5-a22e-36db637ebfba";
pub const BACK_OFFICE_RELEASE: &str = "284cf269-ba73-515d-888a-f1e94e3fd0a4";
pub const PORTAL: &str = "63bf6566-b5ad-5b76-a9e8-bc965a3be2cf";
pub const PORTAL_VERSION: &str = "691bead4-be7f-5a51-889a-4038b5cb4298";
/// An assessment revision that is pending and has every field.
pub const PENDING: &str = "0677db93-c4d9-52f4-9a70-140fd180567b";
pub const UNKNOWN: &str = "00000000-0000-0000-0000-000000000000";

/// The shipped data set, from the package of whichever test this is compiled into.
pub fn data() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.map(|folder| folder.join("testdata/platform")).find(|data| data.is_dir()).unwrap()
}

/// Copies a folder with everything below it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The shipped data set, which is read once: nearly every test starts an emulator.
pub fn dataset() -> Dataset {
    static SHIPPED: LazyLock<Dataset> = LazyLock::new(|| Dataset::load(&data()).unwrap());
    SHIPPED.clone()
}

/// The shipped data set behind an emulator.
pub fn start(options: EmulatorOptions) -> Emulator {
    Emulator::start(dataset(), options).unwrap()
}

/// An HTTP answer.
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Sends the request of `build`, and follows no redirects.
pub fn send(
    build: impl FnOnce(&reqwest::Client) -> reqwest::RequestBuilder,
) -> Result<Answer, reqwest::Error> {
    // The default provider can be set only once per process; the second attempt may fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redirect = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().redirect(redirect).no_proxy().build().unwrap();
    let request = build(&client).timeout(std::time::Duration::from_secs(5));
    runtime.block_on(async {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
    })
}

/// Sends a `GET`, with a token of the data set if one is named.
pub fn get(url: &str, token: Option<&str>) -> Answer {
    send(|client| match token {
        Some(token) => client.get(url).bearer_auth(token),
        None => client.get(url),
    })
    .unwrap()
}

/// Sends a `GET` to the control plane with the default token.
pub fn control(emulator: &Emulator, target: &str) -> Answer {
    get(&format!("{}{target}", emulator.controlplane_url()), Some(&emulator.default_token()))
}

/// Sends a `GET` to the backend with the default token.
pub fn backend(emulator: &Emulator, target: &str) -> Answer {
    get(&format!("{}{target}", emulator.base_url()), Some(&emulator.default_token()))
}

/// Sends a `POST` to the backend with a token of the data set.
pub fn post(emulator: &Emulator, target: &str, token: &str, body: &str) -> Answer {
    let url = format!("{}{target}", emulator.base_url());
    let token = emulator.token(token).unwrap();
    send(|client| client.post(url).bearer_auth(token).body(body.to_owned())).unwrap()
}

/// Returns all rows of a cursor-paged list, and the number of its pages.
pub fn every_page(
    mut fetch: impl FnMut(&str) -> Value,
    rows: &[&str],
    cursor: &[&str],
) -> (Vec<Value>, usize) {
    let at =
        |value: &Value, path: &[&str]| path.iter().fold(value.clone(), |v, key| v[key].clone());
    let (mut all, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = fetch(&next);
        pages += 1;
        assert!(pages < 1000, "the cursors never end");
        all.extend(at(&page, rows).as_array().cloned().unwrap_or_default());
        next = at(&page, cursor).as_str().map(str::to_owned).unwrap_or_default();
        if next.is_empty() {
            return (all, pages);
        }
    }
}
