//! `lsp`: the language server, for editors.

use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;
use rego_platform_gate::{EmbeddedText, Material, document_options};
use rego_platform_lsp::{EmbeddedModule, PolicyDocuments, serve_stdio};

use super::options::{LoadArgs, Options};
use super::{Exit, check, watchdog};

/// Serve an editor (language server protocol, on standard input and output)
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 when the editor ends the session, 2 if the connection is lost.\n\n\
    Editors start it; docs/guides/editors.md says how."
)]
pub(super) struct LspArgs {
    /// Policies, tests and data; by default the folders open in the editor
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Accepted from editors; standard input is always used
    #[arg(long, hide = true)]
    stdio: bool,
    #[command(flatten)]
    load: LoadArgs,
}

pub(super) fn run(args: LspArgs, options: &Options) -> Result<Exit, Error> {
    let mut server = rego_platform_lsp::Options::default();
    server.load = args.load.options(options.product()?, options.timeout)?;
    server.ignore = rego_platform::sources::Ignore::new(&args.load.ignore)?;
    server.documents = Some(PolicyDocuments {
        load: document_options(&server.load),
        modules,
        check: check::of_document,
    });
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    server.paths = args.paths.into_iter().map(absolute).collect();
    watchdog::stop();
    serve_stdio(server).map_err(|error| {
        Error::protocol("connection to the editor lost")
            .with_source(error.to_string())
            .with_hint("start `lsp` from an editor, not in a terminal")
    })?;
    Ok(Exit::Passed)
}

/// Returns the modules of a policy document.
fn modules(path: &str, text: &str) -> Result<Vec<EmbeddedModule>, Error> {
    let found = EmbeddedText::all(path, text)?
        .ok_or_else(|| Error::configuration(format!("not a policy document: `{path}`")))?;
    // As they are evaluated: at their lines, with the rules that they omit.
    let material = Material::of_document(path, text).ok();
    let documents = material.iter().flat_map(|material| &material.documents);
    let evaluated: Vec<_> = documents.flat_map(|document| &document.modules).collect();
    let module = |found: EmbeddedText| {
        let EmbeddedText { line, lines, indent, text, .. } = found;
        let omitted = evaluated.iter().find_map(|module| {
            let first = module.text.lines().position(|line| !line.trim().is_empty())?;
            let is_same = module.path == path && (line..line + lines).contains(&first);
            is_same.then(|| module.text.split_inclusive('\n').skip(line + lines).collect())
        });
        EmbeddedModule { line, lines, indent, text, omitted_rules: omitted.unwrap_or_default() }
    };
    Ok(found.into_iter().map(module).collect())
}
