//! The Rego that is written into policy documents, formatted where it stands.

use rego_platform::Error;
use rego_platform::rego::{self, FormatOptions};
use rego_platform_client::text::escape;
use rego_platform_gate::EmbeddedText;

/// Returns `true` for a policy document or a group of them.
pub(super) fn is_document(name: &str, text: &str) -> bool {
    EmbeddedText::all(name, text).map_or(true, |found| found.is_some())
}

/// Returns a document whose modules are formatted. One that isn't a block of lines, such as one in quotes, stays
/// as it is.
pub(super) fn format(name: &str, text: &str, mut options: FormatOptions) -> Result<String, Error> {
    let Some(modules) = EmbeddedText::all(name, text)? else {
        let message = format!("`{}` isn't a policy document", escape(name));
        return Err(Error::configuration(message)
            .with_hint("policies are `.rego` files, and documents with `kind: Policy`"));
    };
    // The vendor's engine needs them.
    options.drop_imports = false;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for module in modules.iter().rev() {
        let formatted = rego::format(name, &module.text, options).map_err(|error| {
            let mut found = rego_platform::load::diagnostics(&error);
            for finding in &mut found {
                let position = finding.position.as_mut();
                if let Some(position) = position {
                    position.line += u32::try_from(module.line).unwrap_or_default();
                    position.column += u32::try_from(module.indent.len()).unwrap_or_default();
                }
            }
            Error::policy(found)
        })?;
        let indented = formatted.lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("{}{line}\n", module.indent),
        });
        let end = (module.line + module.lines).min(lines.len());
        let is_last = end == lines.len();
        lines.splice(module.line.min(end)..end, indented.collect::<Vec<_>>());
        // The file ends as it did.
        if is_last
            && !text.ends_with('\n')
            && let Some(last) = lines.last_mut()
        {
            last.truncate(last.trim_end_matches('\n').len());
        }
    }
    Ok(lines.concat())
}
