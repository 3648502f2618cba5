//! `cargo xtask messages`: the catalog of everything that the project says to people.
//!
//! Lists messages, hints, help texts and first lines of documentation with their place, so that a reviewer
//! can read them in one go. Texts come from the syntax tree of the production code; tests are left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit};

use crate::{Outcome, root};

/// The kinds of text, as the first column names them.
const KINDS: [&str; 4] = ["message", "hint", "help", "doc"];

/// Attributes of clap: what they document is a help text.
const HELP_ATTRIBUTES: [&str; 3] = ["arg", "command", "clap"];

/// One text: its file, its line, its kind.
type Row = (PathBuf, usize, &'static str, String);

/// Prints the catalog, or only the kinds that `arguments` name.
pub fn list(arguments: &[String]) -> Outcome {
    if let Some(unknown) = arguments.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(format!("unknown kind `{unknown}`: expected one of {}", KINDS.join(", ")));
    }
    let mut rows = BTreeSet::new();
    for folder in ["src", "crates", "bindings"] {
        read_folder(&root().join(folder), &mut rows)?;
    }
    for (file, line, kind, text) in rows {
        if arguments.is_empty() || arguments.iter().any(|wanted| wanted == kind) {
            println!("{kind}\t{}:{line}\t{text}", file.display());
        }
    }
    Ok(())
}

/// Reads the Rust files below a folder, without tests, examples, benchmarks and this program.
fn read_folder(folder: &Path, rows: &mut BTreeSet<Row>) -> Outcome {
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["tests", "examples", "benches", "target", "xtask"].contains(&name) {
                read_folder(&path, rows)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !name.ends_with("tests.rs")
        {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let file =
                syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            let shown = path.strip_prefix(root()).unwrap_or(&path).to_owned();
            Reader { file: shown, hint: false, rows }.visit_file(&file);
        }
    }
    Ok(())
}

/// Collects the texts of one file.
struct Reader<'a> {
    file: PathBuf,
    /// Set within the arguments of a method that takes a hint.
    hint: bool,
    rows: &'a mut BTreeSet<Row>,
}

impl Reader<'_> {
    /// Adds a text that a person reads: at least two words.
    fn text(&mut self, line: usize, text: &str) {
        let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
        if words.count() > 1 {
            let kind = if self.hint { "hint" } else { "message" };
            self.add(line, kind, text);
        }
    }

    /// Adds the texts of a macro's arguments. Documentation in them has the form `doc = "…"` there.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut is_doc = false;
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(name) => is_doc = name == "doc",
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    match Lit::new(literal) {
                        Lit::Str(text) if is_doc => self.add(line, "doc", text.value().trim()),
                        Lit::Str(text) => self.text(line, &text.value()),
                        _ => {}
                    }
                    is_doc = false;
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn add(&mut self, line: usize, kind: &'static str, text: &str) {
        self.rows.insert((self.file.clone(), line, kind, text.escape_debug().to_string()));
    }

    /// Adds the first line of an item's documentation, and the texts of its other attributes.
    fn attributes(&mut self, attributes: &[Attribute]) {
        let is_help = |attribute: &Attribute| {
            HELP_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name))
        };
        let kind = if attributes.iter().any(is_help) { "help" } else { "doc" };
        let mut lines = attributes.iter().filter_map(|attribute| {
            let value = &attribute.meta.require_name_value().ok()?.value;
            match value {
                Expr::Lit(text) if attribute.path().is_ident("doc") => match &text.lit {
                    Lit::Str(text) => Some((attribute.span().start().line, text.value())),
                    _ => None,
                },
                _ => None,
            }
        });
        if let Some((line, text)) = lines.find(|(_, text)| !text.trim().is_empty()) {
            self.add(line, kind, text.trim());
        }
        for attribute in attributes.iter().filter(|attribute| is_help(attribute)) {
            if let Ok(list) = attribute.meta.require_list() {
                self.tokens(list.tokens.clone());
            }
        }
    }
}

/// Returns `true` for `#[cfg(test)]` and the like.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let list = attribute.meta.require_list();
        list.is_ok_and(|list| {
            list.tokens.clone().into_iter().any(|token| match token {
                TokenTree::Ident(name) => name == "test",
                TokenTree::Group(group) => {
                    group.stream().to_string().split(", ").any(|name| name == "test")
                }
                _ => false,
            })
        })
    })
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        if !is_test(&file.attrs) {
            self.attributes(&file.attrs);
            visit::visit_file(self, file);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.attributes(&item.attrs);
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.attributes(&item.attrs);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.attributes(&item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.attributes(&item.attrs);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.attributes(&item.attrs);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.attributes(&item.attrs);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.attributes(&item.attrs);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.attributes(&item.attrs);
        visit::visit_item_const(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.attributes(&item.attrs);
        visit::visit_item_type(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.attributes(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.attributes(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    // Attributes are read with their item.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let before = self.hint;
        self.hint |= call.method.to_string().contains("hint");
        call.args.iter().for_each(|argument| self.visit_expr(argument));
        self.hint = before;
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.text(text.span().start().line, &text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }
}
