//! Tests of the page, read strictly as elements, attributes and text.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use super::*;
use crate::report::formats::fixture::{HOSTILE, assert_clean, hostile, sample, written};

/// Returns the tags in order with the names of their attributes, and every value of `href`.
fn read(page: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut tags, mut links) = (Vec::new(), BTreeSet::new());
    let mut rest = page.replace(SCRIPT, "").replace(STYLE, "");
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').expect("a tag that ends") + start;
        let inner = rest[start + 1..end].to_owned();
        let mut tag = String::new();
        let mut parts = inner.split('"');
        while let Some(name) = parts.next() {
            tag.push_str(name);
            let value = parts.next();
            if let Some(value) = value.filter(|_| name.ends_with("href=")) {
                links.insert(value.to_owned());
            }
        }
        tags.push(tag);
        rest = rest[end + 1..].to_owned();
    }
    (tags, links)
}

#[test]
fn the_page_is_complete() {
    let page = written(&Html::default(), &sample());
    for known in [
        "<h1>no verdict</h1>",
        "3 inputs, 1 passed, 1 failed, 1 without a verdict, 2 not evaluated",
        "license <code>GPL-3.0</code> is not allowed",
        "<dt>package</dt>",
        "<h2>Notes</h2>",
        "the waiver of ops expired on 2026-01-31: was urgent",
        "waived until 2027-12-31 by ops, matched by the input&#39;s digest: being replaced",
        "skipped: no image here",
        "help: try again",
        "An AI model was used",
        "not evidence of the present state",
        "release.licences sha256:2222: Licences",
        "<dt>digest</dt><dd>sha256:1111</dd>",
        "<dt>tool</dt><dd>rego-platform 0.1.0 (abc1234)</dd>",
        "<summary>Subjects and calls</summary>",
        "4 more calls are not shown",
    ] {
        assert!(page.contains(known), "{known}\n---\n{page}");
    }
    let (_, links) = read(&page);
    let (own, links): (BTreeSet<String>, BTreeSet<String>) =
        links.into_iter().partition(|link| link.starts_with('#'));
    for link in &own {
        let id = format!("id=\"{}\"", link.trim_start_matches('#'));
        assert_eq!(page.matches(&id).count(), 1, "{link}");
    }
    assert!(own.contains("#i0p0") && own.contains("#i0p0v0"), "{own:?}");
    assert_eq!(page.matches("license <code>GPL-3.0</code> is not allowed").count(), 1);
    assert_eq!(links, BTreeSet::from(["https://example.com/licences".to_owned()]));
}

#[test]
fn the_policy_allows_nothing_but_the_page_itself() {
    let page = written(&Html::default(), &sample());
    let (_, rest) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let (policy, _) = rest.split_once('"').unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for (open, close) in [("<style>", "</style>"), ("<script>", "</script>")] {
        assert_eq!(page.matches(open).count(), 1);
        let (_, rest) = page.split_once(open).unwrap();
        let (text, _) = rest.split_once(close).unwrap();
        let digest = STANDARD.encode(Sha256::digest(text.as_bytes()));
        assert!(policy.contains(&format!("'sha256-{digest}'")), "{open} {policy}");
    }
    for bad in ["src=", "style=", "url(", "@import", "onclick", "http:", "//cdn"] {
        assert!(!page.contains(bad), "{bad}");
    }
}

#[test]
fn hostile_text_never_becomes_markup() {
    let tags_of = |payload: &str| {
        let page = written(&Html::default(), &hostile(payload));
        assert_clean(&page, payload);
        let (tags, links) = read(&page);
        assert!(
            links.iter().all(|link| link.starts_with("https://") || link.starts_with('#')),
            "{links:?}"
        );
        tags.into_iter().filter(|tag| !tag.contains("href")).collect::<Vec<_>>()
    };
    let anchors = |tags: Vec<String>| {
        tags.into_iter()
            .filter(|tag| !["/a", "div", "/div", "code", "/code"].contains(&tag.as_str()))
            .collect::<Vec<_>>()
    };
    let plain = anchors(tags_of("plain"));
    for payload in HOSTILE {
        assert_eq!(anchors(tags_of(payload)), plain, "{payload:?}");
    }
}

#[test]
fn only_a_pass_is_shown_as_a_pass() {
    let mut run = sample();
    run.inputs.truncate(1);
    let page = written(&Html::default(), &run);
    assert!(page.contains("<b class=\"skipped\">skipped</b> release.image"), "{page}");
    run.inputs.clear();
    let page = written(&Html::default(), &run);
    assert!(page.contains("<b class=\"skipped\">not evaluated</b> release.image"), "{page}");
    assert!(!page.contains("nothing failed"), "{page}");
}

#[test]
fn a_long_ledger_is_shown_in_part() {
    let mut run = sample();
    let ledger = &mut run.inputs[0].ledger;
    ledger.calls = vec![ledger.calls[0].clone(); 400];
    ledger.left_out = 5;
    let page = written(&Html::default(), &run);
    assert!(page.contains("105 more calls are not shown"));
}
