//! Rules by cases: definitions that begin with tests of the same few values, which the rule index
//! reads; and rules with several answers, whose order can be seen in those that ask for them.

use super::{Generator, Kind, Scope, Type, Variable};

/// Values that definitions are chosen by, and tests of each.
const TESTS: &[(&str, &[&str])] = &[
    (
        "input.s",
        &[
            "@ == \"a\"",
            "@ = \"b\"",
            "\"a\" == @",
            "startswith(@, \"a\")",
            "endswith(@, \"b\")",
            "@ in {\"a\", \"b\"}",
            "glob.match(\"a*\", [], @)",
            "@ != \"a\"",
            "@",
        ],
    ),
    ("input.n", &["@ == 3", "@ = 1", "1 == @", "@ in [1, 3]", "@ > 1", "not @ == 3", "@ == \"x\""]),
    (
        "input.xs",
        &["@ == [1, 2, 3]", "[1, _, _] = @", "@ = [2, _]", "1 in @", "2 in @", "@[0] == 1"],
    ),
    (
        "input.ss",
        &["\"a\" in @", "\"c\" in @", "@ = [\"a\"]", "[\"a\", _, _] = @", "@[_] == \"b\""],
    ),
    ("input.yes", &["@", "@ == true", "not @", "@ = false"]),
    ("data.d.s", &["@ == \"a\"", "@ = \"b\"", "startswith(@, \"b\")"]),
    ("data.d.n", &["@ == 2", "@ = 0", "@ < 1"]),
    ("input.t", &["glob.match(\"b,*\", [\",\"], @)", "split(@, \",\")[0] == \"b\"", "@ == \"\""]),
];

/// Tests of arguments.
const OF_ARGUMENTS: &[&str] = &[
    "@ == 1",
    "@ = \"a\"",
    "@ == 3",
    "@ in {1, \"a\"}",
    "startswith(@, \"a\")",
    "is_number(@)",
    "@ = [1, _]",
    "@ != 1",
    "@",
];

/// Statements with several answers that bind nothing the rest of a body needs.
const SEVERAL: &[&str] = &[
    "input.xs[_]",
    "input.ss[_]",
    "input.us[_].r[_]",
    "data.d.ss[_]",
    "data.d.o[_]",
    "input.grid[_][_]",
    "input.us[_].age > 0",
    "walk(input.o, [_, _])",
    "walk(input.xs, [_, _])",
    "walk(data.d.o, [_, 1])",
    "walk(input.grid, [[_], _])",
];

impl Generator {
    /// Generates a rule whose definitions are chosen by tests.
    pub(super) fn by_cases(&mut self) {
        self.hit("rule by cases");
        let old = self.old_style();
        let function = self.chance(40);
        let name = self.name(if function { "f" } else { "c" });
        let first = self.below(TESTS.len());
        let about = [first, self.below(TESTS.len()), first];
        let constants = self.chance(30);
        let params = if function { "(a, b)" } else { "" };
        for _ in 0..2 + self.below(2) {
            let mut text = format!("{name}{params}");
            let (value, body) = self.one_case(&about, function, constants);
            text = self.definition(&format!("{text} := {value}"), &body, old);
            if self.chance(30) {
                self.hit("else by cases");
                for _ in 0..=self.below(2) {
                    let (value, body) = self.one_case(&about, function, constants);
                    text = self.definition(&format!("{text} else := {value}"), &body, old);
                }
            }
            self.file.rules.push(text);
        }
        if self.chance(15) {
            let params = if function { "(_, _)" } else { "" };
            let value = self.literal(&Type::Number);
            self.file.rules.push(format!("default {name}{params} := {value}"));
        }
        let kind = if function {
            Kind::Function(vec![Type::Any, Type::Any], Type::Any)
        } else {
            Kind::Complete(Type::Any)
        };
        self.learn(&name, kind);
    }

    /// Generates the value and the body of a definition: tests, and a call or a print among them,
    /// which shows that the definition was evaluated.
    fn one_case(
        &mut self,
        about: &[usize],
        function: bool,
        constants: bool,
    ) -> (String, Vec<String>) {
        let mut scope = Scope::default();
        if function {
            for name in ["a", "b"] {
                scope.own.push(name.to_owned());
                scope.variables.push(Variable { name: name.to_owned(), kind: Type::Any });
            }
        }
        let mut body = Vec::new();
        for _ in 0..1 + self.below(3) {
            let (subject, tests) = TESTS[about[self.below(about.len())]];
            let (subject, tests) = if function && self.chance(65) {
                (self.one(&["a", "b"]), OF_ARGUMENTS)
            } else {
                (subject, tests)
            };
            body.push(self.one(tests).replace('@', subject));
        }
        self.next += 1;
        let shown = format!("\"c{}\"", self.next);
        let seen =
            if self.chance(50) { format!("print({shown})") } else { format!("svc.ask({shown})") };
        let at = self.below(body.len() + 1);
        body.insert(at, seen);
        let value = if constants || self.chance(20) {
            self.one(&["1", "1", "2", "true"]).to_owned()
        } else {
            let value = self.term(&Type::Any, &mut scope, 0);
            body.push(format!("v := svc.ask({value})"));
            "v".to_owned()
        };
        (value, body)
    }

    /// Generates a rule with several answers, and often one that asks for it.
    pub(super) fn several_answers(&mut self) {
        self.hit("rule with several answers");
        let old = self.old_style();
        let function = self.chance(35);
        let name = self.name(if function { "f" } else { "r" });
        let params = if function { "(a)" } else { "" };
        let mut scope = Scope::default();
        if function {
            scope.own.push("a".to_owned());
            scope.variables.push(Variable { name: "a".to_owned(), kind: Type::Any });
        }
        let mut body = vec![self.one(SEVERAL).to_owned()];
        let value = self.term(&Type::Any, &mut scope, 0);
        body.push(if self.chance(50) {
            format!("v := svc.ask({value})")
        } else {
            format!("print(\"{name}\"); v := {value}")
        });
        if self.chance(20) {
            let more = self.statement(&mut scope, 0);
            let at = self.below(body.len());
            body.insert(at, more);
        }
        self.use_up(&mut scope, &mut body, "");
        let text = self.definition(&format!("{name}{params} := v"), &body, old);
        self.file.rules.push(text);
        let kind = if function {
            Kind::Function(vec![Type::Any], Type::Any)
        } else {
            Kind::Complete(Type::Any)
        };
        self.learn(&name, kind);
        if self.chance(60) {
            let asked = if function {
                format!("{name}({})", self.literal(&Type::Any))
            } else {
                name.clone()
            };
            let ask = match self.below(4) {
                0 => asked,
                1 => format!("w = {asked}"),
                2 => format!("{asked} != \"q\""),
                _ => format!("w := {asked}"),
            };
            let other = self.name("r");
            let text = self.definition(&other, &[ask, "print(\"then\")".to_owned()], old);
            self.file.rules.push(text);
            self.learn(&other, Kind::Complete(Type::Boolean));
        }
    }

    /// Generates definitions of one document whose paths have different lengths.
    pub(super) fn uneven(&mut self) {
        self.hit("paths of different lengths");
        let name = self.name("t");
        let kind = self.any_type(0);
        let old = self.old_style();
        for index in 0..2 + self.below(2) {
            let mut scope = Scope::default();
            let mut body = if self.chance(50) {
                vec![self.iteration(&mut scope, 0)]
            } else {
                self.body(&mut scope, 1, 1)
            };
            let key = if self.chance(50) {
                self.one(&["\"a\"", "\"b\"", "\"x\""]).to_owned()
            } else {
                self.term(&Type::String, &mut scope, 0)
            };
            // At least one path ends at a variable.
            let shape = if index == 0 { 0 } else { self.below(5) };
            let (path, of) = match shape {
                0 => (format!("[{key}]"), Type::object(kind.clone())),
                1 => (format!("[{key}].{}", self.one(&["a", "b"])), kind.clone()),
                2 => (format!("[{key}].b.{}", self.one(&["a", "c"])), kind.clone()),
                3 => {
                    let other = self.term(&Type::String, &mut scope, 0);
                    let field = self.one(&["", ".a", ".b", ".c"]);
                    (format!("[{key}][{other}]{field}"), kind.clone())
                }
                _ => (format!(".{}", self.one(&["a", "b", "x"])), Type::object(kind.clone())),
            };
            let value = self.term(&of, &mut scope, 1);
            self.use_up(&mut scope, &mut body, &format!("{path} {value}"));
            let key_is_variable = path.starts_with('[') && !path.starts_with("[\"");
            if index == 0 && !key_is_variable {
                // As a variable, it makes one document of all definitions.
                body.insert(0, format!("key := {key}"));
                let path = path.replacen(&key, "key", 1);
                let text = self.definition(&format!("{name}{path} := {value}"), &body, old);
                self.file.rules.push(text);
                continue;
            }
            let text = self.definition(&format!("{name}{path} := {value}"), &body, old);
            self.file.rules.push(text);
        }
        self.learn(&name, Kind::Tree(Type::Any));
    }

    /// Generates a document with several keys, and a rule that asks for it by some of them.
    pub(super) fn several_keys(&mut self) {
        self.hit("document of several keys");
        let old = self.old_style();
        let name = self.name("t");
        let set = !old && self.chance(30);
        let keys = 2 + self.below(2);
        for _ in 0..1 + self.below(2) {
            let names = &["x", "y", "z"][..keys];
            let mut body: Vec<String> = names
                .iter()
                .map(|key| match self.below(6) {
                    0 => format!("some {key} in input.ss"),
                    1 => format!("{key} := input.s"),
                    2 => format!("some {key} in [\"a\", \"b\"]"),
                    _ => format!("some {key} in {{\"a\", \"b\", \"c\"}}"),
                })
                .collect();
            let all = names.join(", ");
            let shown = if self.chance(60) {
                format!("print(\"{name}\", {all})")
            } else {
                format!("svc.ask([{all}])")
            };
            let at = self.below(body.len() + 1);
            let bound = &names[..at];
            body.insert(
                at,
                if at == keys { shown } else { format!("print({})", bound.join(", ")) },
            );
            let path: String = names.iter().map(|key| format!("[{key}]")).collect();
            let head = if set {
                let (last, above) = names.split_last().unwrap_or((&"x", &[]));
                let path: String = above.iter().map(|key| format!("[{key}]")).collect();
                format!("{name}{path} contains {last}")
            } else {
                let value = self.one(&["1", "x", "[y, x]", "input.n"]).to_owned();
                format!("{name}{path} := {value}")
            };
            let text = self.definition(&head, &body, old);
            self.file.rules.push(text);
        }
        self.learn(&name, Kind::Tree(Type::Any));
        let mut body = Vec::new();
        if self.chance(50) {
            body.push(format!("k := {}", self.one(&["\"a\"", "\"c\"", "input.s", "input.ss[_]"])));
        }
        let pool: &[&str] = if body.is_empty() {
            &["_", "_", "\"a\"", "\"b\"", "\"c\"", "input.s"]
        } else {
            &["_", "_", "\"a\"", "\"b\"", "\"c\"", "k", "k", "input.s"]
        };
        for _ in 0..2 + self.below(3) {
            let count = if self.chance(80) { keys } else { 1 + self.below(keys) };
            let path: String = (0..count).map(|_| format!("[{}]", self.one(pool))).collect();
            let changed = if self.chance(12) { " with input.s as \"b\"" } else { "" };
            body.push(match self.below(4) {
                0 => format!("print([v | v := {name}{path}{changed}])"),
                1 => format!("svc.ask([v | v := {name}{path}{changed}])"),
                2 => format!("not {name}{path} == \"q\"{changed}"),
                _ => format!("print(count({{v | v := {name}{path}{changed}}}))"),
            });
        }
        let other = self.name("r");
        let text = self.definition(&other, &body, old);
        self.file.rules.push(text);
        self.learn(&other, Kind::Complete(Type::Boolean));
    }
}
