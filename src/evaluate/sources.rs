//! Where modules and data come from.
//!
//! Owns reading files and folders as `opa eval -d` does.

use regorus::Value;

/// One module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSource {
    /// The name that positions show.
    pub path: String,
    /// The Rego text.
    pub text: String,
}

/// One data document, at the top of `data`.
#[derive(Debug, Clone)]
pub struct DataSource {
    /// The name that messages show.
    pub path: String,
    /// The document.
    pub value: Value,
}

/// Everything that is loaded together.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The modules.
    pub modules: Vec<ModuleSource>,
    /// The data documents.
    pub data: Vec<DataSource>,
}
