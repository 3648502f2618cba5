//! Standard input, which can be read only once.

use std::io::Read as _;

use rego_platform::Error;
use rego_platform_client::text::escape;

/// Keeps track of the reader of standard input.
#[derive(Debug, Default)]
pub(super) struct Stdin {
    taken_by: Option<String>,
}

impl Stdin {
    /// Reserves standard input for `reader`, an option or argument, which reads it itself.
    pub fn take(&mut self, reader: &str) -> Result<(), Error> {
        if let Some(other) = &self.taken_by {
            let (message, hint) = if other == reader {
                (format!("{reader} is given twice"), "standard input can be read only once")
            } else {
                let message = format!("standard input can't be both {other} and {reader}");
                (message, "put one of them into a file")
            };
            return Err(Error::configuration(message).with_hint(hint));
        }
        self.taken_by = Some(reader.to_owned());
        Ok(())
    }

    /// Reads all of standard input for `reader`, an option or argument.
    pub fn read(&mut self, reader: &str) -> Result<Vec<u8>, Error> {
        self.take(reader)?;
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
            Error::configuration("standard input can't be read").with_source(error)
        })?;
        Ok(bytes)
    }
}

/// Converts bytes to text, without a byte order mark.
pub(super) fn text(bytes: Vec<u8>, from: &str) -> Result<String, Error> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1;
        let from = escape(from);
        Error::configuration(format!("{from}:{line}: invalid UTF-8"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
