//! OPA's compliance cases, as they lie in a folder of YAML files.
//!
//! Owns what a case is and what it expects. Judging an answer against it is `judge`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rego_platform::regorus;
use regorus::Value;

/// One case. Fields that only describe (`want_defined`, `filename`) are left unread, as OPA's own
/// runner leaves them.
#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Case {
    pub(crate) note: String,
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) modules: Option<Vec<String>>,
    pub(crate) data: Option<Value>,
    pub(crate) input: Option<Value>,
    /// The input as a Rego term; wins over `input`.
    pub(crate) input_term: Option<String>,
    pub(crate) want_result: Option<Vec<BTreeMap<String, Value>>>,
    pub(crate) want_error: Option<String>,
    pub(crate) want_error_code: Option<String>,
    #[serde(default)]
    pub(crate) sort_bindings: bool,
    #[serde(default)]
    pub(crate) strict_error: bool,
    /// Written for Rego v0: the case lies below a folder `v0`.
    #[serde(skip)]
    pub(crate) v0: bool,
}

#[derive(serde::Deserialize)]
struct File {
    cases: Vec<Case>,
}

impl Case {
    /// The case's name, unlike its note unique over both language versions.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", if self.v0 { "v0" } else { "v1" }, self.note)
    }

    pub(crate) fn modules(&self) -> impl Iterator<Item = (String, &String)> {
        let modules = self.modules.as_deref().unwrap_or_default();
        modules.iter().enumerate().map(|(i, text)| (format!("test-{i}.rego"), text))
    }

    /// OPA answers this case with an error.
    pub(crate) fn wants_error(&self) -> bool {
        self.want_error.is_some() || self.want_error_code.is_some()
    }
}

/// Every case below `folder`, in a stable order.
pub(crate) fn read(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("`{}` can't be read", path.display()))?;
        let file: File = yaml_serde::from_str(&text)
            .with_context(|| format!("`{}` is no file of cases", path.display()))?;
        let v0 = path.components().any(|part| part.as_os_str() == "v0");
        cases.extend(file.cases.into_iter().map(|case| Case { v0, ..case }));
    }
    if cases.is_empty() {
        bail!("`{}` holds no cases", folder.display());
    }
    Ok(cases)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        folder.read_dir().with_context(|| format!("`{}` can't be read", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            files.push(path);
        }
    }
    Ok(())
}
