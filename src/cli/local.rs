//! `--local`: an emulator in this process.

use std::path::Path;

use crate::emulator::{Dataset, Emulator, EmulatorOptions, Fault};
use crate::{Error, Product};

/// Starts an emulator on free ports.
pub(super) fn start(dir: &Path, product: &Product, faults: &[String]) -> Result<Emulator, Error> {
    let faults = parse_faults(faults)?;
    let options =
        EmulatorOptions { faults, product: product.clone(), ..EmulatorOptions::default() };
    Emulator::start(Dataset::load(dir)?, options)
}

/// Parses the faults of an emulator.
pub(super) fn parse_faults(faults: &[String]) -> Result<Vec<Fault>, Error> {
    faults.iter().map(|text| text.parse()).collect()
}
