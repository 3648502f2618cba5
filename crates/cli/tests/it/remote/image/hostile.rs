//! What a registry may do to the evidence about an image: nothing that passes.

use serde_json::json;

use super::{By, DSSE, Image, PLACES, REPOSITORY, SHOWS, seen};
use crate::gate::digest_of;
use crate::hostile::script;
use crate::hostile::server::{Request, Server, Step};

/// An image whose attestations are everywhere.
fn attested() -> Image {
    let image = Image::new();
    for (number, place) in (1..).zip(PLACES) {
        image.attest(place, number);
    }
    image
}

/// Runs a gate that shows the attestations, with answers in place of the registry's.
fn gate(
    image: &Image,
    hook: impl Fn(&Request) -> Option<Vec<Step>> + Send + Sync + 'static,
) -> crate::cli::Output {
    image.registry.hook(hook);
    image.gate(SHOWS, &[])
}

#[test]
fn what_cant_be_looked_at_is_no_verdict_and_what_isnt_there_is_absent() {
    let image = attested();
    let all = "{1, 2, 3, 4, 5}";
    assert_eq!(seen(gate(&image, |_| None)), all);
    let tag = image.digest.replace(':', "-");
    let manifest = image.attest(By::Referrers, 1);
    let endings: [(String, Option<&str>); 7] = [
        (format!("/referrers/{}", image.digest), Some("{2, 3, 4, 5}")),
        (format!("/manifests/{tag}"), Some("{1, 3, 4, 5}")),
        (format!("/manifests/{tag}.att"), Some("{1, 2, 4, 5}")),
        (format!("/manifests/{tag}.sbom"), Some("{1, 2, 3, 5}")),
        (format!("/manifests/{tag}.sig"), Some("{1, 2, 3, 4}")),
        // What is listed has to be there.
        (format!("/manifests/{manifest}"), None),
        ("/manifests/v1".to_owned(), None),
    ];
    for (ending, without) in endings {
        let answer = |steps: fn() -> Vec<Step>| {
            let ending = ending.clone();
            gate(&image, move |request| request.path().ends_with(&ending).then(steps))
        };
        match without {
            Some(others) => {
                assert_eq!(seen(answer(|| script::status(404, &[], "no"))), others, "{ending}");
            }
            None => drop(answer(|| script::status(404, &[], "")).fails("not found at")),
        }
        answer(|| script::status(401, &[], "{}")).fails("unauthenticated at");
        answer(|| script::status(403, &[], "{}")).fails("permission denied");
        for status in [400, 405, 406, 501] {
            let step = match status {
                400 => || script::status(400, &[], "{}"),
                405 => || script::status(405, &[], "{}"),
                406 => || script::status(406, &[], "{}"),
                _ => || script::status(501, &[], "{}"),
            };
            match without {
                // So registries say that they have no such list.
                Some(others) if ending.contains("/referrers/") => {
                    assert_eq!(seen(answer(step)), others, "{status}");
                }
                _ => drop(answer(step).fails(&status.to_string())),
            }
        }
        answer(|| script::status(302, &[("location", "/x")], "")).fails(": 302 for");
        answer(|| script::raw(&script::announced(50, b"{\"schemaVersion\""))).fails("lost");
        answer(|| script::status(204, &[], "")).fails_with_one_of(&["neither", "digest mismatch"]);
        answer(|| script::ok(b"<html>".to_vec()))
            .fails_with_one_of(&["neither", "digest mismatch"]);
        answer(|| script::ok(b"{\"schemaVersion\": 2}".to_vec()))
            .fails_with_one_of(&["neither", "digest mismatch"]);
        answer(|| script::ok(vec![b' '; 5 << 20])).fails("exceeds the limit of");
    }
}

#[test]
fn failures_of_the_server_are_no_verdict() {
    let image = attested();
    let tag = image.digest.replace(':', "-");
    for ending in [format!("/referrers/{}", image.digest), format!("/manifests/{tag}.att")] {
        gate(&image, move |request| {
            request.path().ends_with(&ending).then(|| script::status(503, &[], ""))
        })
        .fails("failed with status");
    }
}

#[test]
fn an_altered_or_moved_blob_is_no_verdict() {
    let image = attested();
    let is_blob = |request: &Request| request.path().contains("/blobs/");
    let forged = image.signed(9).to_string();
    let blob =
        |steps: Vec<Step>| gate(&image, move |request| is_blob(request).then(|| steps.clone()));
    blob(script::ok(forged.into_bytes())).fails("digest mismatch from");
    blob(script::status(404, &[], "{}")).fails("not found at");
    blob(script::status(403, &[], "{}")).fails("permission denied");
    blob(script::ok(vec![b' '; 1 << 20])).fails("exceeds the limit of");
    blob(vec![Step::Reset]).fails("connection to");
    blob(vec![Step::Pause(std::time::Duration::from_mins(1))]).fails("timed out after 5s");
    // Elsewhere it may be, if it is the same.
    let contents: Vec<Vec<u8>> =
        (1..=5).map(|number| image.signed(number).to_string().into_bytes()).collect();
    let fresh = Image::new();
    fresh.registry.attach((REPOSITORY, &fresh.digest), By::Referrers, &[(DSSE, &contents[0], "")]);
    let elsewhere = Server::start(move |request| {
        let found = contents.iter().find(|one| request.path().ends_with(&digest_of(one)));
        script::ok(found.cloned().unwrap_or_default())
    });
    let to = elsewhere.url();
    fresh.registry.hook(move |request| {
        is_blob(request).then(|| {
            let location = format!("{to}{}", request.path());
            script::status(307, &[("location", &location)], "")
        })
    });
    let key = image.key.public(&fresh.sandbox, "other.pub");
    assert_eq!(seen(fresh.gate(SHOWS, &["--verify-key", &key])), "{1}");
    assert!(elsewhere.requests().iter().all(|one| one.header("authorization").is_none()));
}

#[test]
fn every_page_of_what_refers_to_an_image_is_read() {
    let image = Image::new();
    let manifests: Vec<String> = (1..=3).map(|number| image.attest(By::Tag("x"), number)).collect();
    let page = move |number: usize| {
        let entries: Vec<_> =
            manifests.get(number).map(|digest| json!({"digest": digest})).into_iter().collect();
        json!({"schemaVersion": 2, "manifests": entries}).to_string()
    };
    // Answers with a page, and this header about the next one.
    let paged = |link: fn(usize) -> Option<String>| {
        let page = page.clone();
        gate(&image, move |request| {
            request.path().contains("/referrers/").then(|| {
                let number = request.query("page").first().and_then(|page| page.parse().ok());
                let number = number.unwrap_or(0);
                let link = link(number);
                let headers: Vec<_> = link.iter().map(|link| ("link", link.as_str())).collect();
                script::status(200, &headers, &page(number))
            })
        })
    };
    let next =
        |number: usize| (number < 2).then(|| format!("<?page={}>; rel=\"next\"", number + 1));
    assert_eq!(seen(paged(next)), "{1, 2, 3}");
    paged(|_| Some("<?page=1>; rel=next".to_owned())).fails("too many pages of referrers");
    paged(|_| Some("<http://127.0.0.1:1/x>; rel=next".to_owned())).fails("to the next page");
    paged(|_| Some("?page=1; rel=next".to_owned())).fails("unreadable address");
    paged(|_| Some("<?a>; rel=next, <?b>; rel=next".to_owned())).fails("to the next page");
    // A later page that isn't there is a part that is missing.
    gate(&image, |request| {
        request.path().contains("/referrers/").then(|| match &*request.query("page") {
            [] => script::status(
                200,
                &[("link", "<?page=1>; rel=\"next\"")],
                "{\"schemaVersion\": 2, \"manifests\": []}",
            ),
            _ => script::status(404, &[], "{}"),
        })
    })
    .fails("not found at");
}

#[test]
fn manifests_that_cant_be_understood_are_no_verdict() {
    let digest = digest_of(b"another image");
    for (manifest, says) in [
        (json!({"schemaVersion": 2, "layers": [], "manifests": []}), "neither a manifest nor"),
        (json!({"schemaVersion": 1, "layers": []}), "neither a manifest nor"),
        (json!({"schemaVersion": 2, "config": {}}), "neither a manifest nor"),
        (
            json!({"schemaVersion": 2, "layers": [], "subject": {"digest": digest}}),
            "instead of the image",
        ),
        (
            json!({"schemaVersion": 2, "layers": [{"mediaType": DSSE, "digest": "sha512:0", "size": 1}]}),
            "has the unsupported digest `sha512:0`",
        ),
        (
            json!({"schemaVersion": 2, "layers": [{"mediaType": DSSE, "digest": digest, "size": u64::MAX}]}),
            "a file of more than 64 MiB",
        ),
        (json!({"schemaVersion": 2, "manifests": [{"digest": digest}]}), "not found at"),
    ] {
        for place in [By::Referrers, By::Fallback, By::Tag("att")] {
            let image = Image::new();
            image.registry.attach_manifest((REPOSITORY, &image.digest), place, &manifest);
            image.gate(SHOWS, &[]).fails(says);
        }
    }
    // An index among what is attached is looked into, also one that holds itself in turn.
    let image = Image::new();
    let inner = image.attest(By::Tag("x"), 1);
    let index = json!({"schemaVersion": 2, "manifests": [{"digest": inner}, {"digest": inner}]});
    image.registry.attach_manifest((REPOSITORY, &image.digest), By::Referrers, &index);
    assert_eq!(seen(image.gate(SHOWS, &[])), "{1}");
}

#[test]
fn more_than_anyone_attaches_is_no_verdict() {
    let image = Image::new();
    let entries: Vec<_> = (0..1_001)
        .map(|number| json!({"digest": digest_of(format!("{number}").as_bytes())}))
        .collect();
    let index = json!({"schemaVersion": 2, "manifests": entries}).to_string();
    image.registry.hook(move |request| {
        request.path().contains("/referrers/").then(|| script::ok(index.clone().into_bytes()))
    });
    let requests = || image.registry.server.requests().len();
    image.gate(SHOWS, &[]).fails("too many artifacts attached to");
    assert!(requests() < 10, "{}", requests());
}
