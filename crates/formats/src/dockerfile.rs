//! Dockerfiles: an array of instructions, each an object with `Cmd`, `SubCmd`, `Flags`, `JSON`, `Value` and
//! `Stage`, as conftest's policies find them in `input`.
//!
//! Owns their order, comments and stages. [`lines`] joins the lines of an instruction, [`arguments`] splits
//! what follows its name, [`here_documents`] finds those that it begins.

mod arguments;
mod here_documents;
mod lines;

use rego::Value;
use rego::value::Object;

use super::problem::{Problem, shown};
use arguments::{form, split_blank, take_flags};
use here_documents::markers;
use lines::{Line, Lines};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut lines = Lines::new(text)?;
    let (mut all, mut comments, mut stages) = (Vec::new(), Vec::new(), 0_usize);
    while let Some(line) = lines.next() {
        let (number, text) = match line {
            Line::Comment(text) => {
                comments.push(text);
                continue;
            }
            Line::Instruction(number, text) => (number, text),
        };
        let invalid = |message: String| Problem::on(number, message);
        let instruction = parse(&text, &mut lines).map_err(invalid)?;
        stages += usize::from(instruction.cmd == "from");
        let stage = Value::from(stages.saturating_sub(1));
        all.extend(comments.drain(..).map(|text| comment(text, stage.clone())));
        all.push(instruction.value(stage));
    }
    if all.is_empty() {
        return Err(Problem::on(1, "no instruction"));
    }
    Ok(Value::from(all))
}

struct Instruction {
    /// In lower case.
    cmd: String,
    /// That of `ONBUILD`.
    sub: String,
    is_json: bool,
    flags: Vec<String>,
    values: Vec<String>,
}

impl Instruction {
    fn value(self, stage: Value) -> Value {
        let list = |all: Vec<String>| all.into_iter().map(Value::from).collect::<Value>();
        let value = if self.values.is_empty() { Value::Null } else { list(self.values) };
        fields(self.cmd, self.sub, list(self.flags), self.is_json, (value, stage))
    }
}

fn comment(text: String, stage: Value) -> Value {
    let value = Value::from(vec![Value::from(text)]);
    fields("comment".to_owned(), String::new(), Value::Null, false, (value, stage))
}

fn fields(
    cmd: String,
    sub: String,
    flags: Value,
    is_json: bool,
    (value, stage): (Value, Value),
) -> Value {
    Value::from(Object::from([
        ("Cmd".into(), cmd.into()),
        ("SubCmd".into(), sub.into()),
        ("Flags".into(), flags),
        ("JSON".into(), is_json.into()),
        ("Value".into(), value),
        ("Stage".into(), stage),
    ]))
}

/// Parses an instruction; its here-documents are the next lines.
fn parse(text: &str, lines: &mut Lines<'_>) -> Result<Instruction, String> {
    let (name, rest) = split_blank(text);
    let cmd = name.to_ascii_lowercase();
    let (flags, rest) = take_flags(rest, lines.escape())?;
    if cmd == "onbuild" {
        let trigger = split_blank(rest).0;
        if ["onbuild", "from", "maintainer"].iter().any(|own| trigger.eq_ignore_ascii_case(own)) {
            return Err(format!("unexpected `{trigger}` after `{name}`"));
        }
        let sub = parse(rest, lines)?;
        let flags = [flags, sub.flags].concat();
        return Ok(Instruction { cmd, sub: trigger.to_owned(), flags, ..sub });
    }
    let form = form(&cmd).ok_or_else(|| format!("unknown instruction `{}`", shown(name)))?;
    if rest.is_empty() {
        return Err(format!("missing argument of `{name}`"));
    }
    let (is_json, mut values) = form.split(rest, lines.escape())?;
    let count = values.len();
    match cmd.as_str() {
        "from" if count != 1 && count != 3 => {
            return Err(format!(
                "invalid arguments of `{name}`: expected `IMAGE` or `IMAGE AS NAME`"
            ));
        }
        "add" | "copy" if count < 2 => {
            return Err(format!(
                "invalid arguments of `{name}`: expected a source and a destination"
            ));
        }
        _ => {}
    }
    if !is_json && matches!(cmd.as_str(), "run" | "add" | "copy") {
        let mut values = values.iter_mut().peekable();
        for marker in markers(text)? {
            let document = lines.here_document(&marker)?;
            // What a here-document says is part of the value that names it, or of the only one.
            let own = marker.word.split_whitespace().next_back().unwrap_or_default();
            let is_other = |value: &&mut String| !value.contains(own);
            while values.len() > 1 && values.next_if(is_other).is_some() {}
            if let Some(value) = values.peek_mut() {
                value.push('\n');
                value.push_str(&document);
                value.push_str(&marker.name);
            }
        }
    }
    Ok(Instruction { cmd, sub: String::new(), is_json, flags, values })
}
