//! The header of the C library, from its source.
//!
//! Owns the translation of types, constants and functions to C. Doc comments are taken over. What it can't
//! translate is an error.

use std::fmt::Write as _;

use crate::{Outcome, root};

/// The file that declares everything in the header.
const SOURCE: &str = "bindings/c/src/lib.rs";
const HEADER: &str = "bindings/c/include/rego_platform.h";

const TOP: &str = "/* Rego policies that query a supply-chain compliance service, for C.

   Written by `cargo xtask header`. Strings are UTF-8 and end with a zero byte. Arguments stay the caller's, and are
   copied where they are kept. Strings and handles that a function returns are the caller's to free.

   A function with `error` sets `*error` to NULL on success, and on failure to JSON: {\"kind\", \"message\", \"hint\",
   \"diagnostics\"}. Free it with `rp_string_free`. `error` may be NULL. `hint` may be null.

   Any thread can call any function. After `fork`, policies can be evaluated in the child, unless the parent has used
   their service: that is an error at once. Load them again in the child. */

#ifndef REGO_PLATFORM_H
#define REGO_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif
";

const BOTTOM: &str = "
#ifdef __cplusplus
}
#endif

#endif
";

/// Writes the header, or with `--check` compares it.
pub fn write(arguments: &[String]) -> Outcome {
    let read = |path: &str| {
        std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
    };
    let header = translate(&read(SOURCE)?)?;
    match arguments {
        [] => std::fs::write(root().join(HEADER), header).map_err(|e| format!("{HEADER}: {e}")),
        [option] if option == "--check" && read(HEADER)? == header => Ok(()),
        [option] if option == "--check" => {
            Err(format!("{HEADER} differs from {SOURCE}: run `cargo xtask header`"))
        }
        _ => Err("usage: `cargo xtask header [--check]`".to_owned()),
    }
}

/// Translates the public items of a source, in their order.
fn translate(source: &str) -> Result<String, String> {
    let mut out = TOP.to_owned();
    let (mut docs, mut transparent) = (Vec::new(), false);
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("///") {
            docs.push(text.trim());
            continue;
        }
        if line.starts_with("#[") {
            transparent |= line == "#[repr(C)]";
            continue;
        }
        let item = line.strip_prefix("pub ").map(|item| {
            // A declaration ends with a line that ends with one of these, at the level of the item.
            let mut item = item.to_owned();
            while !item.ends_with([';', '{']) {
                let Some(next) = lines.next() else { break };
                item.push(' ');
                item.push_str(next.trim());
            }
            item
        });
        if let Some(item) = item {
            comment(&mut out, &docs, "");
            if let Some(item) = item.strip_prefix("const ") {
                constant(&mut out, item)?;
            } else if let Some(item) = item.strip_prefix("type ") {
                callback(&mut out, item)?;
            } else if let Some(item) = item.strip_prefix("struct ") {
                let name = type_name(item.split(['(', ' ']).next().unwrap_or_default());
                if transparent {
                    structure(&mut out, &name, &mut lines)?;
                } else {
                    let _ = writeln!(out, "typedef struct {name} {name};");
                }
            } else {
                function(&mut out, &item)?;
            }
        }
        docs.clear();
        transparent = false;
    }
    out.push_str(BOTTOM);
    Ok(out)
}

/// Writes a doc comment.
fn comment(out: &mut String, docs: &[&str], indent: &str) {
    if indent.is_empty() {
        out.push('\n');
    }
    let docs: Vec<_> = docs.iter().filter(|line| **line != "# Safety").copied().collect();
    let mut text = docs.join(&format!("\n{indent}   "));
    while text.contains("\n   \n   \n") {
        text = text.replace("\n   \n   \n", "\n   \n");
    }
    let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let _ = writeln!(out, "{indent}/* {text} */");
}

fn constant(out: &mut String, item: &str) -> Outcome {
    let parts = item.strip_suffix(';').and_then(|item| {
        let (name, rest) = item.split_once(": ")?;
        Some((name, rest.split_once(" = ")?.1))
    });
    let (name, value) = parts.ok_or_else(|| untranslated(item))?;
    let _ = writeln!(out, "#define {name} {value}");
    Ok(())
}

fn callback(out: &mut String, item: &str) -> Outcome {
    let parts = item.strip_suffix(");").and_then(|item| item.split_once(" = "));
    let (name, signature) = parts.ok_or_else(|| untranslated(item))?;
    let arguments =
        signature.strip_prefix("unsafe extern \"C\" fn(").ok_or_else(|| untranslated(item))?;
    let _ = writeln!(out, "typedef void (*{})({});", type_name(name), parameters(arguments)?);
    Ok(())
}

fn structure<'a>(
    out: &mut String,
    name: &str,
    lines: &mut impl Iterator<Item = &'a str>,
) -> Outcome {
    let _ = writeln!(out, "typedef struct {name} {{");
    let mut docs = Vec::new();
    for line in lines.by_ref().map(str::trim).take_while(|line| *line != "}") {
        if let Some(text) = line.strip_prefix("///") {
            docs.push(text.trim());
            continue;
        }
        let member = line.strip_prefix("pub ").and_then(|line| line.strip_suffix(','));
        let member = member.ok_or_else(|| untranslated(line))?;
        comment(out, &docs, "    ");
        docs.clear();
        let _ = writeln!(out, "    {};", declared(member)?);
    }
    let _ = writeln!(out, "}} {name};");
    Ok(())
}

fn function(out: &mut String, item: &str) -> Outcome {
    let signature = item
        .strip_prefix("unsafe ")
        .unwrap_or(item)
        .strip_prefix("extern \"C\" fn ")
        .and_then(|item| item.strip_suffix(" {"))
        .ok_or_else(|| untranslated(item))?;
    let (signature, result) = match signature.split_once(" -> ") {
        Some((signature, result)) => (signature, c_type(result)?),
        None => (signature, "void ".to_owned()),
    };
    let parts = signature.strip_suffix(')').and_then(|signature| signature.split_once('('));
    let (name, arguments) = parts.ok_or_else(|| untranslated(item))?;
    let _ = writeln!(out, "{result}{name}({});", parameters(arguments)?);
    Ok(())
}

/// Translates `name: type, …`.
fn parameters(list: &str) -> Result<String, String> {
    let all = list.split(',').map(str::trim).filter(|own| !own.is_empty());
    let all = all.map(declared).collect::<Result<Vec<_>, _>>()?;
    Ok(if all.is_empty() { "void".to_owned() } else { all.join(", ") })
}

/// Translates `name: type`.
fn declared(item: &str) -> Result<String, String> {
    let (name, of_type) = item.split_once(": ").ok_or_else(|| untranslated(item))?;
    Ok(format!("{}{name}", c_type(of_type)?))
}

/// Translates a type. The result is followed by a name.
fn c_type(rust: &str) -> Result<String, String> {
    if let Some(inner) = rust.strip_prefix("*const ") {
        return Ok(format!("const {}*", c_type(inner)?));
    }
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return Ok(format!("{}*", c_type(inner)?));
    }
    if let Some(inner) = rust.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')) {
        return c_type(inner);
    }
    Ok(match rust {
        "c_char" => "char ".to_owned(),
        "c_int" => "int ".to_owned(),
        "c_void" => "void ".to_owned(),
        "u32" => "uint32_t ".to_owned(),
        "usize" => "size_t ".to_owned(),
        own if own.starts_with(char::is_uppercase) => format!("{} ", type_name(own)),
        other => return Err(untranslated(other)),
    })
}

/// `RespondFunction` is `rp_respond_function`.
fn type_name(rust: &str) -> String {
    let mut name = "rp".to_owned();
    for letter in rust.chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

fn untranslated(item: &str) -> String {
    format!("{SOURCE}: no translation to C: {item}")
}
