//! `cache`: the folder of artifacts, shown or cleared.
//!
//! Owns the folder's location. The client owns its contents.

use std::path::PathBuf;

use clap::Subcommand;
use etcetera::BaseStrategy as _;
use rego_platform::{Error, Product};
use rego_platform_client::client::cache::clear;

use super::options::Options;
use super::{Exit, output};

#[derive(Debug, Clone, Subcommand)]
pub(super) enum CacheCommand {
    /// Print the folder of the cache
    Dir,
    /// Delete all cached artifacts
    Clear,
}

pub(super) fn run(command: &CacheCommand, options: &Options) -> Result<Exit, Error> {
    let folder = folder(&options.product()?)?;
    match command {
        CacheCommand::Dir => output::to_stdout(format!("{}\n", folder.display()).as_bytes())?,
        CacheCommand::Clear => clear(&folder)?,
    }
    Ok(Exit::Passed)
}

/// Returns the user's folder for artifacts: `$XDG_CACHE_HOME/<product>/artifacts`.
pub(super) fn folder(product: &Product) -> Result<PathBuf, Error> {
    let strategy = etcetera::base_strategy::choose_base_strategy()
        .map_err(|error| Error::configuration("this user has no home folder").with_source(error))?;
    Ok(strategy.cache_dir().join(product.as_str()).join("artifacts"))
}
