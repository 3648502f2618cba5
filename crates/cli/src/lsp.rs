//! `lsp`: the language server, for editors.

use std::path::PathBuf;

use clap::Args;
use rego_platform::{Error, ErrorKind, Product};
use rego_platform_lsp::serve_stdio;

use super::options::{LoadArgs, Options};
use super::{Exit, watchdog};

/// Serve an editor (language server protocol, on standard input and output)
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 when the editor ends the conversation, 2 if that breaks off.\n\n\
    Editors start it; docs/editors.md says how."
)]
pub(super) struct LspArgs {
    /// Policies, tests and data: files and folders; the folders that are open in the editor by default
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// As editors say that standard input is used
    #[arg(long, hide = true)]
    stdio: bool,
    #[command(flatten)]
    load: LoadArgs,
}

pub(super) fn run(args: LspArgs, options: &Options) -> Result<Exit, Error> {
    let mut server = rego_platform_lsp::Options::default();
    server.load = args.load.options(Product::new(&options.product)?, options.timeout)?;
    server.ignore = rego_platform::sources::Ignore::new(&args.load.ignore)?;
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    server.paths = args.paths.into_iter().map(absolute).collect();
    watchdog::stop();
    serve_stdio(server).map_err(|error| {
        Error::new(ErrorKind::Protocol, "the conversation with the editor broke off")
            .with_source(error.to_string())
            .with_hint("`lsp` is started by editors, not in a terminal")
    })?;
    Ok(Exit::Passed)
}
