//! Rules: heads of every kind, defaults, `else`, several definitions.

use super::{Dialect, Generator, Kind, Known, Scope, Type};

impl Generator {
    pub(super) fn name(&mut self, letter: &str) -> String {
        // Sometimes another definition of an existing rule, in this file or another.
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    pub(super) fn old_style(&mut self) -> bool {
        self.dialect == Dialect::V0
            && !self.file.imports.iter().any(|import| import == "future.keywords.if")
            && {
                let all = self.file.imports.iter().any(|import| import == "future.keywords");
                !all || self.chance(50)
            }
    }

    /// Generates a rule, or several definitions of one.
    pub(super) fn rule(&mut self) {
        if self.annotated && self.chance(20) {
            return self.about_itself();
        }
        match self.weighted(&[24, 20, 16, 20, 10, 8, 8, 7, 5, 3, 5, 4]) {
            0 => self.complete(),
            1 => self.partial_set(),
            2 => self.partial_object(),
            3 => self.function(),
            4 => self.tree(),
            5 => self.with_else(),
            6 => self.by_cases(),
            7 => self.several_answers(),
            8 => self.uneven(),
            9 => self.about_itself(),
            10 => self.several_keys(),
            _ => self.passing(),
        }
    }

    fn statements(&mut self, scope: &mut Scope) -> Vec<String> {
        let count = [1, 1, 2, 2, 3, 3, 4][self.below(7)];
        self.body(scope, count, 2)
    }

    fn block(&mut self, body: &[String]) -> String {
        if body.len() == 1
            && self.dialect != Dialect::V0
            && self.chance(25)
            && !body[0].starts_with('{')
            && !body[0].contains(';')
        {
            self.hit("body without braces");
            return body[0].clone();
        }
        if self.chance(15) {
            return format!("{{ {} }}", body.join("; "));
        }
        format!("{{\n\t{}\n}}", body.join("\n\t"))
    }

    /// Returns `head if body` or, in the old syntax, `head { body }`.
    pub(super) fn definition(&mut self, head: &str, body: &[String], old: bool) -> String {
        let block = self.block(body);
        if old { format!("{head} {block}") } else { format!("{head} if {block}") }
    }

    fn equals(&mut self, old: bool) -> &'static str {
        if old || self.chance(10) { if self.chance(50) { "=" } else { ":=" } } else { ":=" }
    }

    pub(super) fn learn(&mut self, name: &str, kind: Kind) {
        if !self.known.iter().any(|rule| rule.name == name && rule.package == self.file.package) {
            self.known.push(Known { package: self.file.package, name: name.to_owned(), kind });
        }
    }

    fn complete(&mut self) {
        let name = self.name("r");
        let kind = if self.chance(25) { Type::Boolean } else { self.any_type(2) };
        let old = self.old_style();
        if self.chance(25) {
            self.hit("default");
            let value = self.literal(&kind);
            self.file.rules.push(format!("default {name} := {value}"));
        }
        if self.chance(20) {
            self.hit("complete rule without a body");
            let mut scope = Scope::default();
            let value = self.term(&kind, &mut scope, 2);
            self.file.rules.push(format!("{name} := {value}"));
            self.learn(&name, Kind::Complete(kind));
            return;
        }
        let definitions = [1, 1, 1, 2, 3][self.below(5)];
        for index in 0..definitions {
            if index > 0 {
                self.hit("several definitions");
            }
            let mut scope = Scope::default();
            let mut body = self.statements(&mut scope);
            let text = if kind == Type::Boolean && self.chance(60) {
                self.hit("complete rule without a value");
                self.use_up(&mut scope, &mut body, "");
                self.definition(&name, &body, old)
            } else {
                self.hit("complete rule");
                let value = self.term(&kind, &mut scope, 1);
                self.use_up(&mut scope, &mut body, &value);
                let equals = self.equals(old);
                self.definition(&format!("{name} {equals} {value}"), &body, old)
            };
            self.file.rules.push(text);
        }
        self.learn(&name, Kind::Complete(kind));
        if self.chance(1) {
            self.hit("recursion");
            self.file
                .rules
                .push(format!("{name} := {name} {} true", if old { "{" } else { "if {" }) + " }");
        }
    }

    fn partial_set(&mut self) {
        let name = self.name("s");
        let kind = self.any_type(1);
        let old = self.old_style();
        let definitions = [1, 1, 2][self.below(3)];
        for _ in 0..definitions {
            let mut scope = Scope::default();
            let mut body = self.statements(&mut scope);
            let element = self.term(&kind, &mut scope, 1);
            self.use_up(&mut scope, &mut body, &element);
            self.hit("partial set");
            if old {
                let mut text = format!("{name}[{element}] {}", self.braced(&body));
                if self.chance(8) {
                    self.hit("chained bodies");
                    let mut scope = Scope::default();
                    let mut more = self.statements(&mut scope);
                    self.use_up(&mut scope, &mut more, "");
                    text.push_str(&format!(" {}", self.braced(&more)));
                }
                self.file.rules.push(text);
            } else if self.chance(12) {
                self.hit("partial set without a body");
                let mut scope = Scope::default();
                let element = self.term(&kind, &mut scope, 1);
                self.file.rules.push(format!("{name} contains {element}"));
            } else {
                let text = self.definition(&format!("{name} contains {element}"), &body, false);
                self.file.rules.push(text);
            }
        }
        self.learn(&name, Kind::Set(kind));
    }

    fn braced(&mut self, body: &[String]) -> String {
        format!("{{\n\t{}\n}}", body.join("\n\t"))
    }

    fn partial_object(&mut self) {
        let name = self.name("o");
        let kind = self.any_type(1);
        let old = self.old_style();
        let definitions = [1, 1, 2][self.below(3)];
        for _ in 0..definitions {
            let mut scope = Scope::default();
            let mut body = self.statements(&mut scope);
            let key = self.term(&Type::String, &mut scope, 1);
            let value = self.term(&kind, &mut scope, 1);
            self.use_up(&mut scope, &mut body, &format!("{key} {value}"));
            self.hit("partial object");
            let equals = self.equals(old);
            let text = self.definition(&format!("{name}[{key}] {equals} {value}"), &body, old);
            self.file.rules.push(text);
        }
        if self.chance(15) {
            self.hit("constant key beside a partial object");
            let value = self.literal(&kind);
            self.file
                .rules
                .push(format!("{name}.{} := {value}", self.random.pick(&["a", "k", "zz"])));
        }
        self.learn(&name, Kind::Object(kind));
    }

    fn function(&mut self) {
        let name = self.name("f");
        let result = if self.chance(30) { Type::Boolean } else { self.any_type(1) };
        let old = self.old_style();
        let arity = [1, 1, 1, 2, 2, 3][self.below(6)];
        let args: Vec<Type> = (0..arity)
            .map(|_| {
                [
                    Type::Number,
                    Type::String,
                    Type::array(Type::Number),
                    Type::object(Type::Number),
                    Type::Any,
                ][self.random.below(5)]
                .clone()
            })
            .collect();
        let definitions = [1, 1, 2, 2, 3][self.below(5)];
        if self.chance(8) {
            self.hit("default function");
            let value = self.literal(&result);
            let names: Vec<&str> = ["_", "_", "_"][..arity].to_vec();
            self.file.rules.push(format!("default {name}({}) := {value}", names.join(", ")));
        }
        for _ in 0..definitions {
            let mut scope = Scope::default();
            let mut params = Vec::new();
            for (index, arg) in args.iter().enumerate() {
                let (text, bound) = self.parameter(arg, index);
                for (name, kind) in bound {
                    scope.own.push(name.clone());
                    scope.variables.push(super::Variable { name, kind });
                }
                params.push(text);
            }
            let params = params.join(", ");
            let arguments = scope.clone();
            self.hit("function");
            if self.chance(20) {
                self.hit("function without a body");
                let value = self.term(&result, &mut scope, 1);
                self.file.rules.push(format!("{name}({params}) := {value}"));
                continue;
            }
            let mut body = self.statements(&mut scope);
            let head = if result == Type::Boolean && self.chance(60) {
                self.use_up(&mut scope, &mut body, "");
                format!("{name}({params})")
            } else {
                let value = self.term(&result, &mut scope, 1);
                self.use_up(&mut scope, &mut body, &value);
                let equals = self.equals(old);
                format!("{name}({params}) {equals} {value}")
            };
            let mut text = self.definition(&head, &body, old);
            if self.chance(15) {
                self.hit("else of a function");
                let mut other = arguments.clone();
                other.own.clear();
                text = self.otherwise(text, &result, &mut other, old);
            }
            self.file.rules.push(text);
        }
        self.learn(&name, Kind::Function(args, result));
    }

    fn parameter(&mut self, kind: &Type, index: usize) -> (String, Vec<(String, Type)>) {
        let name = ["a", "b", "c"][index.min(2)].to_owned();
        match self.below(12) {
            0 => {
                self.hit("constant argument");
                let kind = if *kind == Type::Any { Type::Number } else { kind.clone() };
                (self.literal(&kind), Vec::new())
            }
            1 => {
                self.hit("wildcard argument");
                ("_".to_owned(), Vec::new())
            }
            2 if matches!(kind, Type::Array(_) | Type::Any) => {
                self.hit("array as an argument");
                (
                    format!("[{name}, {name}2]"),
                    vec![(name.clone(), Type::Number), (format!("{name}2"), Type::Number)],
                )
            }
            2 if matches!(kind, Type::Object(_)) => {
                self.hit("object as an argument");
                (format!("{{\"a\": {name}, \"b\": _}}"), vec![(name, Type::Number)])
            }
            3 if self.dialect != Dialect::V0 && self.chance(15) => {
                self.hit("reference as an argument");
                ("input.n".to_owned(), Vec::new())
            }
            _ => (name.clone(), vec![(name, kind.clone())]),
        }
    }

    /// Generates general references in heads.
    fn tree(&mut self) {
        let name = self.name("t");
        let kind = self.any_type(1);
        let old = self.old_style();
        let shape = self.below(5);
        for _ in 0..=self.below(2) {
            let mut scope = Scope::default();
            let mut body = self.statements(&mut scope);
            let key = self.term(&Type::String, &mut scope, 0);
            let value = self.term(&kind, &mut scope, 1);
            self.use_up(&mut scope, &mut body, &format!("{key} {value}"));
            let field = self.one(&["b", "c"]);
            let text = match shape {
                0 => {
                    self.hit("head with fields");
                    self.definition(&format!("{name}.{field}.d := {value}"), &body, old)
                }
                1 => {
                    self.hit("head with a variable and a field");
                    self.definition(&format!("{name}[{key}].{field} := {value}"), &body, old)
                }
                2 => {
                    self.hit("head with two variables");
                    let other = self.term(&Type::Number, &mut scope, 0);
                    self.definition(&format!("{name}[{key}][{other}] := {value}"), &body, old)
                }
                3 if !old => {
                    self.hit("set at a reference");
                    self.definition(&format!("{name}[{key}] contains {value}"), &body, old)
                }
                4 if !old => {
                    self.hit("set at fields");
                    self.definition(&format!("{name}.{field} contains {value}"), &body, old)
                }
                _ => self.definition(&format!("{name}.a[{key}] := {value}"), &body, old),
            };
            self.file.rules.push(text);
        }
        if self.chance(if shape == 0 { 25 } else { 4 }) {
            self.hit("default at fields");
            let value = self.literal(&kind);
            let field = self.one(&["b", "c"]);
            self.file.rules.push(format!("default {name}.{field}.d := {value}"));
        }
        self.learn(&name, Kind::Tree(Type::Any));
    }

    fn with_else(&mut self) {
        let name = self.name("e");
        let kind = self.any_type(1);
        let old = self.old_style();
        let mut scope = Scope::default();
        let mut body = self.statements(&mut scope);
        let value = self.term(&kind, &mut scope, 1);
        self.use_up(&mut scope, &mut body, &value);
        let equals = self.equals(old);
        let text = self.definition(&format!("{name} {equals} {value}"), &body, old);
        let text = self.otherwise(text, &kind, &mut Scope::default(), old);
        self.hit("else");
        self.file.rules.push(text);
        if self.chance(20) {
            let value = self.literal(&kind);
            self.hit("default with else");
            self.file.rules.push(format!("default {name} := {value}"));
        }
        self.learn(&name, Kind::Complete(kind));
    }

    fn otherwise(&mut self, mut text: String, kind: &Type, scope: &mut Scope, old: bool) -> String {
        let equals = if old { "=" } else { ":=" };
        for _ in 0..=self.below(2) {
            let mut inner = scope.clone();
            let mut body = self.statements(&mut inner);
            let value = self.term(kind, &mut inner, 1);
            self.use_up(&mut inner, &mut body, &value);
            text = self.definition(&format!("{text} else {equals} {value}"), &body, old);
        }
        if self.chance(35) {
            let value = self.term(kind, scope, 0);
            text = format!("{text} else {equals} {value}");
        }
        text
    }
}
