//! The data set: a folder of plain files, read and checked as a whole.
//!
//! Owns the order of loading and the tables for the routes; each topic's form is in its own file.
//! Shares no type with the client. Everything is read on load, so a running emulator opens no
//! files.

mod aggregate;
mod artifacts;
mod assessments;
mod compliance;
mod environments;
mod evidence;
mod fields;
mod files;
mod findings;
mod frameworks;
mod graph;
mod identity;
mod products;
mod projects;
mod prompts;
mod records;
mod service;

use std::collections::HashMap;
use std::path::Path;

use crate::Error;

pub(super) use artifacts::Artifact;
pub(super) use assessments::Assessment;
pub(super) use compliance::Evaluation;
pub(super) use environments::Environment;
pub(super) use evidence::Evidence;
pub(super) use fields::with;
pub(super) use findings::Finding;
pub(super) use frameworks::Framework;
pub(super) use graph::{Graph, Node};
pub(super) use identity::{Credential, Identity, Organization, TokenKind};
pub(super) use products::Product;
pub(super) use projects::{Project, Projects};
pub(super) use prompts::{PromptOutcome, Prompts};
pub use service::Paging;
pub(super) use service::Service;

use super::scalars::Digest;
use files::{Folder, code};

/// The data that an [`Emulator`](super::Emulator) serves: a folder of plain files, checked.
///
/// `testdata/platform/README.md` describes the files. To start many with the same data, clone it: that takes
/// far less than reading it again.
#[derive(Clone)]
pub struct Dataset {
    pub(super) service: Service,
    pub(super) identity: Identity,
    pub(super) graph: Graph,
    pub(super) artifacts: HashMap<Digest, Artifact>,
    pub(super) projects: Projects,
    pub(super) evidence: Vec<Evidence>,
    pub(super) frameworks: Vec<Framework>,
    pub(super) evaluations: Vec<Evaluation>,
    pub(super) products: Vec<Product>,
    pub(super) environments: Vec<Environment>,
    pub(super) assessments: Vec<Assessment>,
    pub(super) findings: Vec<Finding>,
    pub(super) prompts: Prompts,
}

impl Dataset {
    /// Reads and checks the data set in `dir`.
    ///
    /// # Errors
    /// [`Error::Unreadable`] and [`Error::NotAFolder`]; [`Error::Dataset`] with every problem: syntax,
    /// forms, references to what doesn't exist, duplicates, artifacts that don't hash to their
    /// digest, links that leave the folder.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        let folder = Folder::open(dir)?;
        known_files(&folder);
        let service = service::load(&folder);
        let identity = identity::load(&folder);
        // Everything else refers to these: it is checked only if they could be read.
        folder.check()?;
        let Some(service) = service else { return Err(Error::Dataset(Vec::new())) };
        let artifacts = artifacts::load(&folder);
        let graph = graph::load(&folder, &identity, &artifacts);
        let frameworks = frameworks::load(&folder, &identity);
        let mut projects = projects::load(&folder, &identity, &frameworks);
        let entries = products::link(&folder, &identity, &mut projects);
        let evidence = evidence::load(&folder, &projects, &graph);
        let evaluations = compliance::load(&folder, &identity, &projects, &frameworks);
        let products =
            products::build(entries, &identity, &frameworks, &evaluations, &mut projects);
        let environments = environments::load(&folder, &identity);
        let assessments = assessments::load(&folder, &identity, &projects);
        let findings = findings::load(&folder, &identity, &projects);
        let prompts = prompts::load(&folder, &artifacts);
        service.check(&identity);
        folder.check()?;
        Ok(Self {
            service: service.value,
            identity,
            graph,
            artifacts: artifacts.by_digest,
            projects,
            evidence,
            frameworks,
            evaluations,
            products,
            environments,
            assessments,
            findings,
            prompts,
        })
    }
}

impl std::fmt::Debug for Dataset {
    // It contains a signing key and whole artifacts.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dataset").finish_non_exhaustive()
    }
}

/// Topics that are one file.
const FILES: &[&str] = &["artifacts", "prompts", "service"];

/// Topics that are one file, a folder of files, or both.
const TOPICS: &[&str] = &[
    "assessments",
    "compliance",
    "environments",
    "evidence",
    "findings",
    "frameworks",
    "graph",
    "organizations",
    "products",
    "projects",
    "users",
];

/// Refuses data files that aren't read: a misspelt name would be an empty list.
fn known_files(folder: &Folder) {
    let names = match folder.list(Path::new("")) {
        Ok(names) => names,
        Err(problem) => return folder.push(problem),
    };
    for name in names {
        let path = Path::new(&name);
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let stem = path.file_stem().and_then(|e| e.to_str()).unwrap_or_default();
        let known = if folder.is_dir(&name) {
            name == "artifacts" || TOPICS.contains(&name.as_str())
        } else {
            match extension {
                "yaml" => FILES.contains(&stem) || TOPICS.contains(&stem),
                "yml" | "json" => false,
                // Such as a README or a licence, unless it has a topic's name.
                _ => !FILES.contains(&stem) && !TOPICS.contains(&stem),
            }
        };
        if !known {
            let shown = rego::internal::text::escape(&name);
            let message = format!("unexpected file in the data set: `{shown}`");
            let all = FILES.iter().chain(TOPICS).copied();
            let hint = rego::internal::text::nearest(stem, all).map_or_else(
                || "remove the file: the data set's README lists the names".to_owned(),
                |near| format!("did you mean `{near}.yaml`?"),
            );
            folder.push(folder.problem(path, code::PATH, message).with_hint(hint));
        }
    }
}
