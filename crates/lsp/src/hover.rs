//! Documentation of the name at a position.

use std::fmt::Write as _;

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use rego::internal::builtins;
use rego_platform::Product;
use rego_platform::functions::{self, Function};

use crate::definition::declared;
use crate::files::Place;
use crate::names::{Declared, Target};
use crate::text::Text;

/// Returns the documentation of the name at a position.
pub(crate) fn hover(place: Place<'_>, product: &Product) -> Option<Hover> {
    let Place { files, path, position, .. } = place;
    let file = files.get(path)?;
    let offset = file.text.offset(position);
    let used = file.names.at(offset)?;
    let text = match &used.target {
        Target::Function(name) => function(product, name)?,
        Target::Path(path) => {
            let all = declared(files, path);
            let (at, other, rule) = all.first()?;
            let more = all.len() - 1;
            let mut text = described(&other.text, rule);
            let name = at.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let _ = write!(text, "\n\n`{name}:{}`", other.text.position(rule.head.0).line + 1);
            text.extend((more > 0).then(|| format!(" and {more} more")));
            text
        }
    };
    let contents = MarkupContent { kind: MarkupKind::Markdown, value: text };
    let range = Some(file.text.range(used.span.0, used.span.1));
    Some(Hover { contents: HoverContents::Markup(contents), range })
}

/// Returns the documentation of a function of the product or of the language.
pub(crate) fn function(product: &Product, name: &str) -> Option<String> {
    if let Some(function) = of_product(product, name) {
        let mut text =
            format!("```rego\n{product}.{}\n```\n\n{}", function.signature(), function.doc);
        for argument in function.arguments {
            let _ = write!(text, "\n- `{}`: {}", argument.name, argument.doc);
        }
        return Some(text);
    }
    let builtin = builtins::lookup(name)?;
    let mut text = format!("```rego\n{name}: {}\n```", builtin.signature);
    text.extend(builtin.deprecated.then_some("\n\nRego v1 rejects it."));
    Some(text)
}

/// Returns a function of the product by its full name.
fn of_product(product: &Product, name: &str) -> Option<&'static Function> {
    let own = name.strip_prefix(product.to_string().as_str())?.strip_prefix('.')?;
    functions::function(own)
}

/// Returns a rule's comment and first line.
fn described(text: &Text, rule: &Declared) -> String {
    let line = text.position(rule.span.0).line;
    let line = usize::try_from(line).unwrap_or_default();
    let comment = |line: &usize| text.line(*line).trim_start().starts_with('#');
    let above = (0..line).rev().take_while(comment).count();
    let comments = (line - above..line).map(|line| text.line(line).trim_start());
    let comments: Vec<_> =
        comments.map(|line| line.trim_start_matches('#').trim_start_matches(' ')).collect();
    let mut out = format!("```rego\n{}\n```", text.line(line).trim_start());
    if !comments.is_empty() {
        let _ = write!(out, "\n\n```yaml\n{}\n```", comments.join("\n"));
    }
    out
}
