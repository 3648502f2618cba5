//! Annotations, and rules that read their own.

use super::{Generator, Kind, Type};

impl Generator {
    /// Generates a block of annotations.
    pub(super) fn annotations(&mut self, scopes: &[&str]) -> String {
        self.hit("annotations");
        self.next += 1;
        let mut text = format!("# METADATA\n# title: t{}\n", self.next);
        let scope = self.one(scopes);
        if !scope.is_empty() {
            text.push_str(&format!("# scope: {scope}\n"));
        }
        for _ in 0..self.below(3) {
            let field = self.one(&[
                "description: more",
                "custom:\n#   n: 1\n#   xs: [1, a]",
                "organizations: [o, p]",
                "authors:\n# - A <a@example.com>\n# - B",
                "related_resources:\n# - https://example.com/a",
                "description: |\n#   two\n#   lines",
            ]);
            let name = field.split(':').next().unwrap_or_default();
            if !text.contains(name) {
                text.push_str(&format!("# {field}\n"));
            }
        }
        if self.chance(5) {
            text.push_str("# entrypoint: true\n");
        }
        text
    }

    /// Generates a rule that reads its annotations.
    pub(super) fn about_itself(&mut self) {
        self.hit("rego.metadata");
        let name = self.name("m");
        let old = self.old_style();
        let mut text = String::new();
        for _ in 0..self.below(3) {
            text.push_str(&self.annotations(&["", "rule", "rule", "document"]));
            text.push('\n');
        }
        let text = text.trim_end_matches('\n').to_owned();
        let text = if text.is_empty() { text } else { text + "\n" };
        let (value, kind) = match self.below(6) {
            0 => ("rego.metadata.chain()", Type::array(Type::Any)),
            1 => {
                ("[x | x := rego.metadata.chain()[_].annotations.title]", Type::array(Type::String))
            }
            2 => ("count(rego.metadata.chain())", Type::Number),
            3 => ("rego.metadata.rule().title", Type::String),
            4 => ("object.get(rego.metadata.rule(), \"custom\", 0)", Type::Any),
            _ => ("rego.metadata.rule()", Type::object(Type::Any)),
        };
        let body = [format!("v := {value}")];
        let rule = self.definition(&format!("{name} := v"), &body, old);
        self.file.rules.push(format!("{text}{rule}"));
        self.learn(&name, Kind::Complete(kind));
    }
}
