//! Dockerfiles: an array of instructions, each an object with `Cmd`, `SubCmd`, `Flags`, `JSON`, `Value` and
//! `Stage`, as conftest's policies find them in `input`.
//!
//! Owns their order, comments and stages. [`lines`] joins the lines of an instruction, [`arguments`] splits
//! what follows its name.

mod arguments;
mod lines;

use rego::Value;
use rego::value::Object;

use super::problem::Problem;
use arguments::{form, quoted_words, take_flags};
use lines::{Line, Lines};

pub(crate) fn read(text: &str) -> Result<Value, Problem> {
    let mut lines = Lines::new(text);
    let (mut all, mut comments, mut stages) = (Vec::new(), Vec::new(), 0_usize);
    while let Some(line) = lines.next() {
        let (number, text) = match line {
            Line::Comment(text) => {
                comments.push(text);
                continue;
            }
            Line::Instruction(number, text) => (number, text),
        };
        let wrong = |message: String| Problem::on(number, message);
        let instruction = parse(&text, &mut lines).map_err(wrong)?;
        stages += usize::from(instruction.cmd == "from");
        let stage = Value::from(stages.saturating_sub(1));
        all.extend(comments.drain(..).map(|text| comment(text, stage.clone())));
        all.push(instruction.value(stage));
    }
    if all.is_empty() {
        return Err(Problem::on(1, "there is no instruction"));
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
    let (name, rest) = split_word(text);
    let cmd = name.to_ascii_lowercase();
    let (flags, rest) = take_flags(rest);
    if cmd == "onbuild" {
        let trigger = split_word(rest).0;
        if ["onbuild", "from", "maintainer"].iter().any(|own| trigger.eq_ignore_ascii_case(own)) {
            return Err(format!("`{name}` can't be followed by `{trigger}`"));
        }
        let sub = parse(rest, lines)?;
        let flags = [flags, sub.flags].concat();
        return Ok(Instruction { cmd, sub: trigger.to_owned(), flags, ..sub });
    }
    let form = form(&cmd).ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        format!("`{shown}` is no instruction of a Dockerfile")
    })?;
    if rest.is_empty() {
        return Err(format!("`{name}` needs an argument"));
    }
    let (is_json, mut values) = form.split(rest)?;
    let count = values.len();
    match cmd.as_str() {
        "from" if count != 1 && count != 3 => {
            return Err(format!("`{name}` takes one argument, or three: `IMAGE AS NAME`"));
        }
        "add" | "copy" if count < 2 => {
            return Err(format!("`{name}` needs a source and a destination"));
        }
        _ => {}
    }
    if !is_json && matches!(cmd.as_str(), "run" | "add" | "copy") {
        let mut values = values.iter_mut().peekable();
        for word in quoted_words(rest) {
            let Some((document, name)) = lines.here_document(word)? else { continue };
            // What a here-document says is part of the value that names it, or of the only one.
            let is_other = |value: &&mut String| !value.contains(word);
            while values.len() > 1 && values.next_if(is_other).is_some() {}
            if let Some(value) = values.peek_mut() {
                value.push('\n');
                value.push_str(&document);
                value.push_str(&name);
            }
        }
    }
    Ok(Instruction { cmd, sub: String::new(), is_json, flags, values })
}

/// Splits off the first word.
fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim())
}
