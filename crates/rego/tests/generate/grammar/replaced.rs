//! Statements about what their own `with` replaces: functions by functions that are replaced too,
//! and documents by variables that get their values later.

use super::{Generator, Kind, Known, Scope, Type};

/// Functions of one argument that aren't the program's.
const UNARY: &[&str] =
    &["svc.ask", "svc.none", "svc.fail", "is_null", "type_name", "json.marshal", "svc.ask"];

/// Places of documents, terms that can take them, and references into these.
const PLACES: &[(&str, &str, &str)] = &[
    ("input.n", "@", "input.n"),
    ("input.xs", "[@]", "input.xs[0]"),
    ("input.xs", "[@]", "input.xs[_]"),
    ("input.xs", "[1, @]", "input.xs[_]"),
    ("input.xs", "[@, @]", "input.xs[_]"),
    ("input.o", "{\"a\": @}", "input.o.a"),
    ("input.o", "{\"a\": @, \"b\": 1}", "input.o[_]"),
    ("input.o.a", "@", "input.o.a"),
    ("input", "{\"n\": @}", "input.n"),
    ("data.d.n", "@", "data.d.n"),
    ("data.d.o", "{\"a\": @}", "data.d.o.a"),
    ("svc.ask", "@", "svc.ask(1)"),
    ("svc.none", "[@]", "svc.none(1)[0]"),
];

impl Generator {
    /// Generates a function that passes its argument on to another.
    pub(super) fn passing(&mut self) {
        self.hit("function that passes its argument on");
        let name = self.name("f");
        let old = self.old_style();
        let own: Vec<Known> = self
            .known
            .iter()
            .filter(|rule| matches!(&rule.kind, Kind::Function(args, _) if args.len() == 1))
            .cloned()
            .collect();
        let (full, path) = if !own.is_empty() && self.chance(40) {
            let at = self.below(own.len());
            let rule = &own[at];
            (format!("data.{}.{}", rule.package, rule.name), self.path(rule))
        } else {
            let name = self.one(UNARY).to_owned();
            (name.clone(), name)
        };
        let text = match self.below(3) {
            0 => format!("{name}(a) := {path}(a)"),
            1 => format!("{name}(a) := [\"{name}\", {path}(a)]"),
            _ => self.definition(&format!("{name}(a) := v"), &[format!("v := {path}(a)")], old),
        };
        self.file.rules.push(text);
        self.passes.push((format!("data.{}.{name}", self.file.package), full));
        self.learn(&name, Kind::Function(vec![Type::Any], Type::Any));
        if self.chance(50) {
            let other = self.name("r");
            let mut scope = Scope::default();
            let mut body = vec![self.replaced_call(&mut scope)];
            self.use_up(&mut scope, &mut body, "");
            let text = self.definition(&other, &body, old);
            self.file.rules.push(text);
            self.learn(&other, Kind::Complete(Type::Boolean));
        }
    }

    /// Generates a call under `with` on its function.
    pub(super) fn replaced_call(&mut self, scope: &mut Scope) -> String {
        self.hit("call of a replaced function");
        let functions: Vec<Known> = self
            .known
            .iter()
            .filter(|rule| matches!(rule.kind, Kind::Function(..)))
            .cloned()
            .collect();
        let own = (!functions.is_empty() && self.chance(60)).then(|| self.below(functions.len()));
        let (mut replaced, path, args) = if let Some(rule) = own.and_then(|at| functions.get(at))
            && let Kind::Function(args, _) = rule.kind.clone()
        {
            (format!("data.{}.{}", rule.package, rule.name), self.path(rule), args)
        } else {
            let name = self.one(UNARY).to_owned();
            (name.clone(), name, vec![Type::Any])
        };
        let mut others: Vec<String> = functions
            .iter()
            .filter(|rule| matches!(&rule.kind, Kind::Function(of, _) if of.len() == args.len()))
            .map(|rule| format!("data.{}.{}", rule.package, rule.name))
            .collect();
        if args.len() == 1 {
            others.extend(UNARY.iter().map(|name| (*name).to_owned()));
        }
        let terms: Vec<String> = args.iter().map(|of| self.term(of, scope, 0)).collect();
        let call = format!("{path}({})", terms.join(", "));
        let mut text = match self.below(4) {
            0 => call,
            1 => format!("{call} != \"q\""),
            _ => {
                let name = self.unbound(scope);
                scope.bind(&name, Type::Any);
                format!("{name} = {call}")
            }
        };
        let length = 1 + self.below(3);
        for index in 0..length {
            let at = if args.len() == 1 && self.chance(40) {
                // A function that calls another is the more interesting replacement.
                let passing = |name: &String| self.passes.iter().any(|(other, _)| other == name);
                others.iter().position(passing).unwrap_or_default()
            } else {
                self.below(others.len())
            };
            let by = match others.get(at) {
                Some(by) if *by != replaced && (index + 1 < length || self.chance(60)) => {
                    by.clone()
                }
                _ => {
                    let value = self.term(&Type::Any, scope, 0);
                    return format!("{text} with {replaced} as {value}");
                }
            };
            text = format!("{text} with {replaced} as {by}");
            if index > 0 {
                self.hit("chain of replaced functions");
            }
            // The next modifier is about what stands in, or about what that calls.
            let passed = self.passes.iter().find(|(name, _)| *name == by).cloned();
            replaced = match passed {
                Some((_, passed)) if self.chance(60) => passed,
                _ if by.starts_with("data.") && self.chance(30) => "svc.ask".to_owned(),
                _ => by,
            };
        }
        text
    }

    /// Generates a print of the same value without `with`, under it, and without it again.
    pub(super) fn asked_again(&mut self, scope: &mut Scope) -> String {
        if self.known.is_empty() {
            return self.boolean(scope, 0);
        }
        self.hit("the same under with and without");
        let count = self.known.len();
        let rule: Known = self.known[self.random.below(count)].clone();
        let path = self.path(&rule);
        let asked = match &rule.kind {
            Kind::Function(args, _) => {
                let args: Vec<Type> = args.clone();
                let args: Vec<String> = args.iter().map(|of| self.term(of, scope, 0)).collect();
                format!("{path}({})", args.join(", "))
            }
            _ => path,
        };
        let modifier = if self.chance(50) {
            let other: Known = self.known[self.random.below(count)].clone();
            match &other.kind {
                Kind::Complete(of) => {
                    let value = self.term(&of.clone(), scope, 0);
                    format!("with data.{}.{} as {value}", other.package, other.name)
                }
                _ => self.modifier(scope, 0),
            }
        } else {
            self.one(&[
                "with data.d as {\"n\": 2, \"s\": \"b\", \"xs\": [7], \"ss\": [\"a\"], \"o\": {\"a\": 2}}",
                "with data.d.n as 0",
                "with data.d.s as \"b\"",
                "with data.d.ss as [\"q\"]",
                "with data.d.o as {\"q\": 1}",
                "with input as {\"s\": \"a\", \"n\": 1}",
                "with input.s as \"b\"",
            ])
            .to_owned()
        };
        format!("print([q | q := {asked}], [q | q := {asked} {modifier}], [q | q := {asked}])")
    }

    /// Generates an expression with a closure under `with`, by a variable that gets its value after
    /// it.
    pub(super) fn placed_variable(&mut self, scope: &mut Scope) -> String {
        self.hit("with a variable that has no value yet");
        let mut parts = Vec::new();
        let known = if let Some(known) = self.variable(&Type::Number, scope) {
            known
        } else {
            let name = self.unbound(scope);
            parts.push(format!("{name} := {}", self.one(&["0", "1", "2", "input.n"])));
            scope.bind(&name, Type::Number);
            name
        };
        let late = self.unbound(scope);
        let rules: Vec<Known> = self
            .known
            .iter()
            .filter(|rule| matches!(rule.kind, Kind::Complete(_)))
            .cloned()
            .collect();
        let (place, form, read) = if !rules.is_empty() && self.chance(15) {
            let rule = &rules[self.random.below(rules.len())];
            let path = format!("data.{}.{}", rule.package, rule.name);
            (path.clone(), "@", path)
        } else {
            let (place, form, read) = *self.random.pick(PLACES);
            (place.to_owned(), form, read.to_owned())
        };
        let closure = self.one(&[
            "[q | q = READ; q = KNOWN] == [KNOWN]",
            "[q | q = KNOWN; q = READ] != []",
            "{q | READ = q; q = KNOWN; READ = 1} == {1}",
            "count([1 | READ = KNOWN]) > 0",
            "[1 | READ = q; q = KNOWN] != [2]",
            "[1 | READ = KNOWN; READ = 1] == []",
            "every q in [KNOWN] { READ = q }",
            "every q in [1] { READ = KNOWN; q == 1 }",
            "{q: 1 | q = READ; q = KNOWN} != {}",
            "not READ = KNOWN",
        ]);
        let closure = closure.replace("READ", &read).replace("KNOWN", &known);
        parts.push(format!("{closure} with {place} as {}", form.replace('@', &late)));
        let value = self.term(&Type::Number, scope, 0);
        parts.push(match self.below(3) {
            0 => format!("svc.ask({value}, {late})"),
            _ => format!("{late} = {value}"),
        });
        scope.bind(&late, Type::Number);
        parts.join("; ")
    }
}
