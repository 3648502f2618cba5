//! Data sets that are refused, and starting and stopping.

use std::path::Path;

use rego_platform_emulator::{Error, Problem, is_loopback};

use super::*;

/// Returns the problems of the shipped data set after `change`.
fn problems(change: impl FnOnce(&Path)) -> Vec<Problem> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("data");
    copy(&data(), &root);
    change(&root);
    match Dataset::load(&root).unwrap_err() {
        Error::Dataset(problems) if !problems.is_empty() => problems,
        other => panic!("{other:?}"),
    }
}

/// Replaces the first `from` in a file; the problem must name that file and that line.
fn refused(file: &str, from: &str, to: &str, says: &str) {
    let mut line = 0;
    let found = problems(|root| {
        let path = root.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let at = text.find(from).unwrap_or_else(|| panic!("{file} has no {from}"));
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        line = u32::try_from(text[..at].matches('\n').count() + 1).unwrap();
    });
    let hit = found.iter().find(|problem| problem.message.contains(says));
    let hit = hit.unwrap_or_else(|| panic!("{file}: nothing says `{says}`: {found:#?}"));
    assert!(hit.file.ends_with(file), "{hit:?}");
    assert_eq!(hit.line, line, "{hit:#?}");
}

#[test]
fn the_shipped_data_set_is_small_and_loads() {
    Dataset::load(&data()).unwrap();
}

#[test]
fn broken_files_are_refused_with_file_and_line() {
    refused("organizations.yaml", "plan: paid", "plan: gold", "gold");
    refused("organizations.yaml", "  ai: true", "  ai: ]", "node content");
    refused("organizations.yaml", "ai: true", "a1: true", "a1");
    refused("users.yaml", "2099-12-31T00:00:00Z", "next year", "next year");
    refused(
        "users.yaml",
        "name: ci\n    kind: api",
        "name: ci\n    kind: user",
        "invalid members of a token: expected `user` and `expires_at` for `user`, `id` and `organization` for `api`",
    );
    refused("service.yaml", "max_page_size: 100", "max_page_size: 0", "nonzero");
    refused("graph/payments-api.yaml", "kind: CONTAINER_IMAGE", "kind: image", "`image`");
    refused("graph/payments-api.yaml", CLEAN_IMAGE, "sha256:abc", "sha256:abc");
    refused("projects.yaml", "2fb90197-269e", "2fb90197-269x", "UUID");
    refused("evidence/payments-api.yaml", "created_at: 2026", "created_at: x2026", "x2026");
    refused("compliance.yaml", "status: pass", "state: pass", "state");
    refused("prompts.yaml", "  skipped: true", "  skip: true", "skip");
}

#[test]
fn references_to_nothing_are_refused() {
    refused("users.yaml", "[acme, globex]", "[acme, glob]", "`glob`");
    refused("users.yaml", "default_organization: acme", "default_organization: hobbies", "hobbies");
    refused("service.yaml", "default_token: ci", "default_token: cj", "`cj`");
    refused("graph/hobby.yaml", "organization: hobby\nnodes", "organization: nope\nnodes", "nope");
    refused("evidence/catalog-web.yaml", "workflow: manual-upload", "workflow: other", "other");
    refused("compliance.yaml", "framework: product-security", "framework: none", "`none`");
    refused("compliance.yaml", "requirement: hosted-build", "requirement: hosting", "`hosting`");
    refused("compliance.yaml", "version: v1.8.0", "version: v2.4.0", "`v2.4.0`");
    refused("projects.yaml", "organization: globex", "organization: globes", "`globes`");
    let sbom = "sha256:c321d57bb3091416bdda4d3c170e77883f5db296d10d8985c4050fc06702c885";
    let unknown_sbom = sbom.replace("c321", "0000");
    refused("evidence/payments-api.yaml", sbom, &unknown_sbom, "no node of the graph");
    let unknown = format!("digest: sha256:{}", "0".repeat(64));
    refused(
        "prompts.yaml",
        &format!("digest: {THREAT_MODEL}"),
        &unknown,
        "artifact not listed in `artifacts.yaml`",
    );
    let binary = format!("- {{digest: {BINARY}}}");
    refused(
        "graph/payments-api.yaml",
        &binary,
        &format!("- {{{unknown}}}"),
        "no node for the reference to",
    );
}

#[test]
fn resources_are_refused_with_file_and_line() {
    let back_office = "compliance/back-office.yaml";
    refused("products.yaml", "description: The winter", "describtion: The winter", "describtion");
    refused("products.yaml", "    name: retail", "    nmae: retail", "`nmae`");
    refused("products.yaml", "[secure-supply-chain, ", "[supply-chain, ", "`supply-chain`");
    refused("projects.yaml", "released_at: 2026-01-20", "released_at: 2026-13-20", "2026-13-20");
    refused("projects.yaml", "linked_projects_count: 1", "linked_projects_count: many", "number");
    let theirs = "      created_at: 2026-01-05T09:00:00Z\n      project_versions";
    let named =
        theirs.replace("project_versions", "frameworks: [card-data]\n      project_versions");
    let found = problems(|root| {
        let path = root.join("products.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(theirs));
        std::fs::write(&path, text.replacen(theirs, &named, 1)).unwrap();
    });
    assert!(found[0].message.contains("unknown framework `card-data`"), "{found:?}");
    refused("frameworks.yaml", "requirements: [hosted-build]", "requirements: [h]", "`h`");
    let name = "version_id: 7b4028b2-f939-50e3-80e7-6047eb3acb75\n      revision: 1\n      name: numbers-not-logged";
    let found = "duplicate requirement `numbers-encrypted`";
    refused("frameworks.yaml", name, &name.replace("not-logged", "encrypted"), found);
    refused("environments.yaml", "organization: acme", "organization: acne", "`acne`");
    refused("assessments.yaml", "confidence_score: 0.82", "confidence_score: high", "high");
    refused("assessments.yaml", "type: ASSESSMENT", "kind: ASSESSMENT", "`kind`");
    refused("assessments.yaml", "reviewer: omar@", "reviewer: unknown@", "unknown user `unknown@");
    refused(back_office, "user_email: dana@", "user_mail: dana@", "`user_mail`");
    refused(
        back_office,
        "size_bytes: \"493\"",
        "size_bytes: 493",
        "unexpected type of `size_bytes`: expected a string",
    );
    refused(
        back_office,
        "uploaded_at: 2026",
        "uploaded_at: x2026",
        "unexpected type of `uploaded_at`: expected a time",
    );
    refused(back_office, "approved_by: omar@", "approved_by: unknown@", "unknown user `unknown@");
    refused(back_office, "optional: true", "optional: perhaps", "`true` or `false`");
    refused(
        back_office,
        "parameters: {severity: error}",
        "parameters: {severity: 1}",
        "of strings",
    );
}

#[test]
fn an_artifact_must_hash_to_its_name() {
    let hex = BINARY.strip_prefix("sha256:").unwrap();
    let content = |root: &Path| root.join("artifacts/sha256").join(hex);
    let found = problems(|root| std::fs::write(content(root), "tampered").unwrap());
    assert!(found[0].message.contains("digest mismatch"), "{found:?}");
    assert!(found[0].file.ends_with("artifacts.yaml") && found[0].text.contains(hex));
    let found = problems(|root| std::fs::remove_file(content(root)).unwrap());
    assert!(found[0].message.contains("missing file"), "{found:?}");
    let found = problems(|root| {
        std::fs::write(root.join("artifacts/sha256/extra"), "x").unwrap();
    });
    assert!(found[0].message.contains("artifact not listed in `artifacts.yaml`"), "{found:?}");
}

#[test]
fn duplicates_are_refused_at_the_second() {
    let found = problems(|root| {
        let path = root.join("artifacts.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let entry: Vec<&str> = text.lines().skip(1).take(3).collect();
        std::fs::write(&path, format!("{text}{}\n", entry.join("\n"))).unwrap();
    });
    assert!(found[0].message.contains("duplicate artifact"), "{found:?}");
    assert!(found[0].line > 90);
    for (file, copy, says) in [
        ("graph/catalog-web.yaml", "graph/copy.yaml", "duplicate kind"),
        ("evidence/portal.yaml", "evidence/copy.yaml", "id"),
        ("compliance/back-office.yaml", "compliance/copy.yaml", "duplicate evaluation of"),
        ("products.yaml", "products/copy.yaml", "duplicate id of a product or version"),
        ("projects.yaml", "projects/copy.yaml", "duplicate project `ledger-batch`"),
        ("frameworks.yaml", "frameworks/copy.yaml", "duplicate framework `card-data`"),
        ("environments.yaml", "environments/copy.yaml", "duplicate id of an environment"),
        ("assessments.yaml", "assessments/copy.yaml", "duplicate id of a revision"),
        ("users.yaml", "users/copy.yaml", "duplicate user `omar@acme.example`"),
    ] {
        let found = problems(|root| {
            std::fs::create_dir_all(root.join(copy).parent().unwrap()).unwrap();
            std::fs::copy(root.join(file), root.join(copy)).unwrap();
        });
        assert!(found.iter().any(|problem| problem.message.contains(says)), "{file}: {found:?}");
    }
}

#[test]
fn files_that_are_not_read_are_refused() {
    let found = problems(|root| {
        std::fs::rename(root.join("compliance.yaml"), root.join("complianse.yaml")).unwrap();
    });
    assert!(found[0].message.contains("complianse.yaml"), "{found:?}");
    assert_eq!(found[0].hint.as_deref(), Some("did you mean `compliance.yaml`?"));
    for name in ["graph.yml", "graph.json", "users", "service.txt"] {
        let found = problems(|root| std::fs::write(root.join(name), "x").unwrap());
        assert!(found[0].message.contains(name), "{found:?}");
    }
    for name in ["prompts", "graphs"] {
        let found = problems(|root| std::fs::create_dir(root.join(name)).unwrap());
        assert!(found[0].message.contains(name), "{found:?}");
    }
    let found = problems(|root| std::fs::write(root.join("evidence/a.json"), "[]").unwrap());
    assert!(found[0].hint.as_deref().unwrap().contains(".yaml"), "{found:?}");
}

#[test]
fn every_problem_is_reported_at_once() {
    let found = problems(|root| {
        std::fs::write(root.join("evidence/a.yaml"), "nonsense").unwrap();
        std::fs::write(root.join("prompts.yaml"), "- 1").unwrap();
    });
    assert_eq!(found.len(), 2, "{found:?}");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_refused_and_links_within_are_not() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.yaml");
    std::fs::write(&secret, "organization: acme\nnodes: []\n").unwrap();
    let hex = BINARY.strip_prefix("sha256:").unwrap();
    let binary = format!("artifacts/sha256/{hex}");
    let change = |name: &str, to: &Path| {
        let found = problems(|root| {
            let path = root.join(name);
            if path.is_dir() {
                std::fs::remove_dir_all(&path).unwrap();
            } else if path.exists() {
                std::fs::remove_file(&path).unwrap();
            }
            symlink(to, path).unwrap();
        });
        assert!(found.iter().any(|p| p.message.contains("outside of the data set")), "{found:?}");
        assert!(found.iter().all(|p| !format!("{p:?}").contains("nodes: []")));
    };
    change("graph/more.yaml", &secret);
    change("users.yaml", &secret);
    change("evidence", outside.path());
    change(&binary, &data().join(&binary));
    let folder = tempfile::tempdir().unwrap();
    copy(&data(), folder.path());
    std::fs::rename(folder.path().join(&binary), folder.path().join("content.bin")).unwrap();
    symlink("../../content.bin", folder.path().join(&binary)).unwrap();
    Dataset::load(folder.path()).unwrap();
}

#[test]
fn what_is_no_folder_or_has_no_data_is_refused() {
    let error = Dataset::load(Path::new("no/such/folder")).unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
    assert!(error.to_string().contains("`no/such/folder`") && error.hint().is_some());
    let error = Dataset::load(&data().join("service.yaml")).unwrap_err();
    assert!(matches!(error, Error::NotAFolder { .. }), "{error:?}");
    let empty = tempfile::tempdir().unwrap();
    let Error::Dataset(found) = Dataset::load(empty.path()).unwrap_err() else { panic!() };
    assert!(found[0].message.contains("service.yaml"), "{found:?}");
}

#[test]
fn it_starts_and_stops_inside_runtimes_of_either_flavour() {
    let check = || {
        let emulator = start(EmulatorOptions::default());
        let address = emulator.controlplane_url().replace("http://", "");
        assert!(std::net::TcpStream::connect(&address).is_ok());
        drop(emulator);
        assert!(std::net::TcpStream::connect(&address).is_err(), "the port is free again");
    };
    check();
    let current = tokio::runtime::Builder::new_current_thread().build().unwrap();
    current.block_on(async { check() });
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    multi.block_on(async { tokio::spawn(async move { check() }).await.unwrap() });
}

#[test]
fn a_port_in_use_is_reported() {
    let first = start(EmulatorOptions::default());
    let listen = first.controlplane_url().replace("http://", "").parse().unwrap();
    let options = EmulatorOptions { listen, ..EmulatorOptions::default() };
    let error = Emulator::start(Dataset::load(&data()).unwrap(), options).unwrap_err();
    assert!(matches!(error, Error::Listen { address, .. } if address == listen), "{error:?}");
    assert!(error.to_string().contains(&listen.to_string()), "{error}");
}

#[test]
fn loopback_addresses_are_recognized() {
    for (address, loopback) in [
        ("127.0.0.1:80", true),
        ("127.8.8.8:80", true),
        ("[::1]:80", true),
        ("[::ffff:127.0.0.1]:80", true),
        ("0.0.0.0:80", false),
        ("[::]:80", false),
        ("192.0.2.1:80", false),
    ] {
        assert_eq!(is_loopback(address.parse().unwrap()), loopback, "{address}");
    }
}
