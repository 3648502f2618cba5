//! `JACOCO_XML`: a coverage report. Policies get the counters of its root.

use rego::Value;
use rego::value::Object;

use crate::file::File;
use crate::material::{Material, NotOfKind};
use crate::xml::{self, Element};

/// Reads a report with a counter of instructions.
pub(crate) fn read(file: &File<'_>) -> Result<Material, NotOfKind> {
    let root = xml::first(file.bytes)?;
    let counters: Vec<Value> = root.named("counter").map(counter).collect::<Result<_, _>>()?;
    let is_instruction =
        |counter: &Value| counter.get_str("type").and_then(Value::as_str) == Some("INSTRUCTION");
    if !counters.iter().any(is_instruction) {
        return Err(NotOfKind::new("missing counter of the type INSTRUCTION in the root"));
    }
    let report = Object::from([("counters".into(), Value::from(counters))]);
    Ok(Material::new(file, Value::from(report)))
}

fn counter(element: &Element) -> Result<Value, String> {
    let number = |name: &str| {
        // Each of equal attributes has to be a number.
        let mut all = element.attributes.iter().filter(|(own, _)| own == name);
        all.try_fold(0, |_, (_, text)| match text.trim().parse::<i64>() {
            Ok(number) => Ok(number),
            Err(_) if text.is_empty() => Ok(0),
            Err(_) => Err(format!("invalid attribute {name} of a counter: {text}")),
        })
    };
    Ok(Value::from(Object::from([
        ("type".into(), element.attribute("type").into()),
        ("missed".into(), number("missed")?.into()),
        ("covered".into(), number("covered")?.into()),
    ])))
}
