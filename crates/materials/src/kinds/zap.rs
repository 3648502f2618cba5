//! `ZAP_DAST_ZIP`: an archive with a report. Policies can't read it, since it isn't JSON.

use std::ops::ControlFlow;

use crate::archive;
use crate::file::File;
use crate::json;
use crate::material::{Content, Material, NotOfKind};

const REPORT: &str = "report_json.json";
const PROGRAM: &str = "@programName";

/// Reads a zip whose report says that it is of the program.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let is_report = |name: &str| name.rsplit('/').next() == Some(REPORT);
    let mut program = None;
    archive::zip(file.bytes, is_report, &mut |name, bytes| {
        let report = json::only(bytes).map_err(|error| format!("{name}: {error}"))?;
        program = Some(report.root().text_at(&[PROGRAM]));
        Ok(ControlFlow::Break(()))
    })?;
    match program.as_deref() {
        Some("ZAP") => {
            Ok(Material::with(file, Content::NotJson("the material is a zip archive".to_owned())))
        }
        Some(other) => Err(NotOfKind::new(format!("unexpected {PROGRAM}: {other}"))),
        None => Err(NotOfKind::new(format!("the archive lacks {REPORT}"))),
    }
}
