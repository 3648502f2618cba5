//! x
use crate::{Error, ErrorKind};
use regorus::Value;
pub(crate) fn compact(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|e| Error::new(ErrorKind::Internal, "value").with_source(e))
}
