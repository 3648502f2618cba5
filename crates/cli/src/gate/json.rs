//! The report as JSON: the model itself, safe to show on a terminal.

use std::io::{self, Write};

use rego_platform_gate::model::Run;
use rego_platform_gate::reports::Report;

use crate::output;

pub(super) struct Json;

impl Report for Json {
    fn write(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        output::json_to(&mut *out, run)?;
        writeln!(out)
    }
}
