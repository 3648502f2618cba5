//! `COBERTURA_XML`: a coverage report. Every member is there, whatever the report says.

use rego::Value;
use rego::value::Object;

use crate::file::File;
use crate::material::{Material, NotOfKind};
use crate::number;
use crate::xml::{self, Element};

/// The type of an attribute.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    /// A text that is left out if it is empty.
    Optional,
    Rate,
    Count,
    Flag,
}

/// The attributes of an element and the elements in it, which are in a list of their own.
struct Shape {
    attributes: &'static [(&'static str, Type)],
    lists: &'static [(&'static str, &'static str, &'static Shape)],
}

const RATES: [(&str, Type); 3] =
    [("line-rate", Type::Rate), ("branch-rate", Type::Rate), ("complexity", Type::Rate)];

const COVERAGE: Shape = Shape {
    attributes: &[
        RATES[0],
        RATES[1],
        RATES[2],
        ("lines-covered", Type::Count),
        ("lines-valid", Type::Count),
        ("branches-covered", Type::Count),
        ("branches-valid", Type::Count),
        ("version", Type::Text),
        ("timestamp", Type::Count),
    ],
    lists: &[("packages", "package", &PACKAGE)],
};

const PACKAGE: Shape = Shape {
    attributes: &[("name", Type::Text), RATES[0], RATES[1], RATES[2]],
    lists: &[("classes", "class", &CLASS)],
};

const CLASS: Shape = Shape {
    attributes: &[("name", Type::Text), ("filename", Type::Text), RATES[0], RATES[1], RATES[2]],
    lists: &[("methods", "method", &METHOD), ("lines", "line", &LINE)],
};

const METHOD: Shape = Shape {
    attributes: &[("name", Type::Text), ("signature", Type::Text), RATES[0], RATES[1], RATES[2]],
    lists: &[("lines", "line", &LINE)],
};

const LINE: Shape = Shape {
    attributes: &[
        ("number", Type::Count),
        ("hits", Type::Count),
        ("branch", Type::Flag),
        ("condition-coverage", Type::Optional),
    ],
    lists: &[],
};

/// Reads a report that has a rate or a package.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let root = xml::first(file.bytes)?;
    if root.name != "coverage" {
        return Err(NotOfKind::new(format!("unexpected root {}: expected coverage", root.name)));
    }
    let mut report = object(&root, &COVERAGE)?;
    let sources = root.within("sources", "source").map(|one| one.text.as_str().into());
    report.insert("sources".into(), list(sources.collect()));
    let report = Value::from(report);
    let is_zero = report.get_str("line-rate").and_then(Value::as_f64) == Some(0.0);
    if is_zero && report.get_str("packages") == Some(&Value::Null) {
        return Err(NotOfKind::new("no coverage: the rate is 0 and there are no packages"));
    }
    Ok(Material::new(file, report))
}

fn object(element: &Element, shape: &Shape) -> Result<Object, String> {
    let mut members = Object::new();
    for (name, of) in shape.attributes {
        // Each of equal attributes has to be of the type.
        let all = element.attributes.iter().filter(|(own, _)| own == name);
        let mut last = value("", *of);
        for (_, text) in all {
            let invalid = || format!("invalid attribute {name} of {}: {text}", element.name);
            last = Some(value(text, *of).ok_or_else(invalid)?);
        }
        let is_left_out = |value: &Value| {
            matches!(of, Type::Optional) && value.as_str().is_none_or(str::is_empty)
        };
        if let Some(value) = last.filter(|value| !is_left_out(value)) {
            members.insert((*name).into(), value);
        }
    }
    for (name, item, shape) in shape.lists {
        let all = element.within(name, item).map(|one| object(one, shape).map(Value::from));
        members.insert((*name).into(), list(all.collect::<Result<_, _>>()?));
    }
    Ok(members)
}

fn list(all: Vec<Value>) -> Value {
    if all.is_empty() { Value::Null } else { Value::from(all) }
}

/// Converts an attribute. One that is empty is zero, with white space around a number is that number.
fn value(text: &str, of: Type) -> Option<Value> {
    let trimmed = if text.is_empty() { "0" } else { text.trim() };
    match of {
        Type::Text | Type::Optional => Some(text.into()),
        Type::Rate => number::float(trimmed).map(number::json),
        Type::Count => trimmed.parse::<i64>().ok().map(Value::from),
        Type::Flag => match trimmed {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true.into()),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false.into()),
            _ => None,
        },
    }
}
