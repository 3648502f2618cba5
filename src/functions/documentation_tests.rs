//! Compares the tables in `docs/reference/functions.md` and `optional-functions.md` with the table of
//! functions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fmt::Write as _;

use super::known_fields::{KINDS, METADATA, STATUSES};
use super::{Argument, FUNCTIONS, Field, Function, Type, effective_assessments, findings};
use crate::resources::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/functions.md");
const OPTIONAL_PATH: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/optional-functions.md");

/// The marks around the generated lines of a page, which `UPDATE_DOCS=1` replaces.
const BEGIN: &str = "<!-- The tables from here on are generated: `UPDATE_DOCS=1 cargo test the_documented_tables` -->\n";
const END: &str = "<!-- The end of the generated tables -->\n";

/// The resources that optional functions return, under the names of the documentation.
fn resources() -> Vec<(&'static str, &'static [Field])> {
    vec![
        ("Product", &ProductResource),
        ("BusinessUnit", &BusinessUnit),
        ("ProductSummary", &ProductSummary),
        ("ProductVersion", &ProductVersion),
        ("ProjectVersionLink", &ProjectVersionLink),
        ("Project", &Project),
        ("OrganizationReference", &OrganizationReference),
        ("ProjectVersion", &ProjectVersion),
        ("Workflow", &Workflow),
        ("Repository", &Repository),
        ("Environment", &Environment),
        ("Framework", &Framework),
        ("RawSchema", &RawSchema),
        ("Section", &Section),
        ("Requirement", &Requirement),
        ("VersionReference", &VersionReference),
        ("FrameworkCompliance", &FrameworkCompliance),
        ("ComplianceMetrics", &ComplianceMetrics),
        ("RequirementEvaluation", &RequirementEvaluation),
        ("ProjectEvaluation", &ProjectEvaluation),
        ("PolicyResult", &PolicyResult),
        ("PolicyDefinition", &PolicyDefinition),
        ("PolicyEvaluation", &PolicyEvaluation),
        ("Periodicity", &Periodicity),
        ("Sla", &Sla),
        ("ExpiredTest", &ExpiredTest),
        ("ManualEvidenceGroup", &ManualEvidenceGroup),
        ("ManualEvidence", &ManualEvidence),
        ("Submission", &Submission),
        ("FileUpload", &FileUpload),
        ("Override", &Override),
        ("User", &User),
        ("Finding", findings::FINDING),
        ("EffectiveAssessment", effective_assessments::EFFECTIVE),
        ("Lookup", effective_assessments::LOOKUP),
        ("LookedUp", effective_assessments::LOOKED_UP),
    ]
}

/// Returns the name of an object's table.
fn name(fields: &[Field]) -> Option<&'static str> {
    resources().into_iter().find(|(_, own)| std::ptr::eq(*own, fields)).map(|(name, _)| name)
}

/// Returns a type's name, and whether it is one of the resources'.
fn type_name(ty: Type) -> String {
    match ty {
        Type::Timestamp => "time, RFC 3339".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Count => "integer, in a string".to_owned(),
        Type::Array(Type::Object(fields)) => format!("array of `{}`", name(fields).unwrap()),
        Type::Map(Type::Object(fields)) => format!("object of `{}`", name(fields).unwrap()),
        Type::Array(Type::Map(Type::Any)) => "array of objects".to_owned(),
        Type::Object(fields) => format!("`{}`", name(fields).unwrap()),
        other => other.to_string(),
    }
}

fn table(
    heading: &str,
    fields: impl IntoIterator<Item = (&'static str, Type, &'static str)>,
) -> String {
    let mut out = format!("| {heading} | type | |\n|---|---|---|\n");
    for (name, ty, doc) in fields {
        let _ = writeln!(out, "| `{name}` | {} | {doc} |", type_name(ty));
    }
    out.push('\n');
    out
}

fn fields(fields: &'static [Field]) -> impl Iterator<Item = (&'static str, Type, &'static str)> {
    fields.iter().map(|field| (field.name, field.ty, field.doc))
}

/// Adds the resources that a type contains, in the order in which a reader meets them.
fn reachable(ty: Type, found: &mut Vec<&'static [Field]>) {
    match ty {
        Type::Array(of) | Type::Map(of) => reachable(*of, found),
        Type::Object(fields) if !found.iter().any(|known| std::ptr::eq(*known, fields)) => {
            found.push(fields);
            for field in fields {
                reachable(field.ty, found);
            }
        }
        _ => {}
    }
}

fn section(function: &Function) -> String {
    let mut out = format!("## `platform.{}`\n\n", function.signature());
    let mut summary = function.summary.to_owned();
    summary[..1].make_ascii_uppercase();
    let _ = writeln!(out, "{summary}. {}\n", function.doc);
    match function.arguments {
        [only] => {
            let Type::Object(filters) = only.ty else { panic!("not filters: {only:?}") };
            out.push_str(&table("filter", fields(filters)));
        }
        several => {
            let arguments =
                several.iter().map(|argument| (argument.name, argument.ty, argument.doc));
            out.push_str(&table("argument", arguments));
        }
    }
    match function.result {
        Type::Object([Field { name: list, ty: Type::Array(Type::Object(row)), .. }]) => {
            let row = name(row).unwrap();
            let _ = writeln!(out, "The result is `{{\"{list}\": [...]}}`, an array of `{row}`.\n");
        }
        Type::Array(Type::Object(row)) => {
            let _ = writeln!(out, "The result is an array of `{}`.\n", name(row).unwrap());
        }
        Type::Object(result) => {
            let _ = writeln!(out, "The result is a `{}`.\n", name(result).unwrap());
        }
        other => panic!("{other:?}"),
    }
    out
}

/// Returns the sections of the optional functions, and the table of the objects in their filters and
/// results.
fn optional_functions() -> String {
    let optional = || FUNCTIONS.iter().filter(|function| function.optional);
    let mut out = optional().map(|function| section(function)).collect::<String>();
    let mut found = Vec::new();
    for function in optional() {
        if let [Argument { ty: Type::Object(filters), .. }] = function.arguments {
            filters.iter().for_each(|filter| reachable(filter.ty, &mut found));
        }
        match function.result {
            Type::Object([Field { ty: Type::Array(row), .. }]) => reachable(**row, &mut found),
            other => reachable(other, &mut found),
        }
    }
    out.push_str("## Objects\n\n| field | type | |\n|---|---|---|\n");
    for resource in found {
        let object = name(resource).unwrap();
        for (field, ty, doc) in fields(resource) {
            let _ = writeln!(out, "| `{object}.{field}` | {} | {doc} |", type_name(ty));
        }
    }
    out.push('\n');
    out
}

/// Returns the section about known values.
fn known_values() -> String {
    let list = |values: &[&str]| {
        values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
    };
    let mut out = String::from("## Known values\n\n");
    let kinds = format!("**Kinds** of materials and digests: {}", list(KINDS));
    let mut length = 0;
    for word in kinds.split(' ') {
        if length + word.len() > 118 {
            out.push('\n');
            length = 0;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += word.len();
    }
    out.push_str("\n\n");
    let _ = writeln!(out, "**Statuses** of requirements: {}\n", list(STATUSES));
    out.push_str("**`metadata`** of a digest or a reference:\n\n");
    out.push_str(&table("field", fields(METADATA)));
    out
}

/// Returns the lines of a page before its generated lines, which must be as expected.
fn checked(path: &str, generated: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}\n{generated}{END}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let is = std::fs::read_to_string(path).unwrap() == expected;
    assert!(is, "{path}: the functions have changed: UPDATE_DOCS=1 writes the tables anew");
    before.to_owned()
}

#[test]
fn the_documented_tables_are_those_of_the_functions() {
    let before = checked(PATH, &known_values());
    checked(OPTIONAL_PATH, &optional_functions());
    // The others' tables are written by hand, as are their types.
    for function in FUNCTIONS.iter().filter(|function| !function.optional) {
        assert!(before.contains(&format!("## `platform.{}`", function.signature())));
        let mut objects = Vec::new();
        for ty in function.arguments.iter().map(|argument| argument.ty).chain([function.result]) {
            reachable(ty, &mut objects);
        }
        for field in objects.into_iter().flatten().filter(|field| !is_list(field)) {
            let (start, end) = (format!("| `{}` | ", field.name), format!(" | {} |", field.doc));
            let row = before.lines().find(|row| row.starts_with(&start) && row.ends_with(&end));
            assert!(row.is_some(), "{}: {field:?}", function.name);
        }
    }
}

/// Returns `true` for the only field of a list function's result.
fn is_list(field: &Field) -> bool {
    matches!(field.name, "results" | "evaluations")
}

#[test]
fn the_type_checker_parses_every_signature() {
    use crate::rego::internal::types;
    for function in FUNCTIONS {
        let arguments = function.arguments.iter().map(|argument| argument.ty.argument_in_rego());
        for text in arguments.chain([function.result.result_in_rego()]) {
            let read = types::Type::parse(&text).unwrap();
            assert!(!read.is_any(), "{}: {text}", function.name);
            // What is read, shown and read again is the same.
            assert_eq!(types::Type::parse(&read.to_string()).unwrap(), read, "{text}");
        }
        let text = function.result.result_in_rego();
        // The members may be in another order, but nothing else changes.
        let read = types::Type::parse(&text).unwrap();
        assert_eq!(read.to_string().len(), text.len(), "{}", function.name);
    }
}
