//! Statements of bodies.

use super::{Dialect, Generator, Kind, Known, Scope, Type, Variable};

const NAMES: &[&str] = &["x", "y", "z", "i", "k", "v", "w", "u", "j"];

/// Counts the occurrences of a name as a word.
fn mentions(text: &str, name: &str) -> usize {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| *word == name)
        .count()
}

impl Scope {
    pub(super) fn bind(&mut self, name: &str, kind: Type) {
        self.variables.retain(|variable| variable.name != name);
        self.variables.push(Variable { name: name.to_owned(), kind });
        self.own.push(name.to_owned());
    }

    /// Adds a name declared by `some`.
    fn declare(&mut self, name: &str, kind: Type) {
        self.bind(name, kind);
        self.due.push(name.to_owned());
    }

    /// Returns the scope of a nested body.
    pub(super) fn inner(&self) -> Self {
        Self { variables: self.variables.clone(), ..Self::default() }
    }
}

impl Generator {
    /// Generates a body of `count` statements.
    pub(super) fn body(&mut self, scope: &mut Scope, count: usize, depth: usize) -> Vec<String> {
        let mut body: Vec<String> = (0..count).map(|_| self.statement(scope, depth)).collect();
        if body.len() > 1 && self.chance(8) {
            self.hit("statements out of order");
            self.random.shuffle(&mut body);
        }
        body
    }

    /// Uses the declared names that aren't used, as OPA requires.
    pub(super) fn use_up(&mut self, scope: &mut Scope, body: &mut Vec<String>, head: &str) {
        for name in std::mem::take(&mut scope.due) {
            let text = format!("{head} {}", body.join(" "));
            if mentions(&text, &name) < 2 && self.chance(96) {
                let about = self.one(&[
                    "@ != 2",
                    "@ != \"b\"",
                    "svc.ask(@)",
                    "print(@)",
                    "@ == @",
                    "not @ != 1",
                    "type_name(@) != \"null\"",
                    "@ > 1",
                    "@ <= \"b\"",
                ]);
                body.push(about.replace('@', &name));
            }
        }
    }

    /// Returns a name that this body hasn't declared yet, most of the time.
    fn fresh(&mut self, scope: &Scope) -> String {
        // Names that are used elsewhere in the rule collide: sometimes this is wanted.
        let collide = self.chance(20);
        for _ in 0..8 {
            let name = self.one(NAMES);
            if !scope.own.iter().any(|own| own == name)
                && (collide || !self.used.iter().any(|used| used == name))
            {
                self.used.push(name.to_owned());
                return name.to_owned();
            }
        }
        if self.chance(4) {
            return self.one(NAMES).to_owned();
        }
        self.next += 1;
        format!("n{}", self.next)
    }

    /// Returns a name that nothing binds yet; `=` and references bind it.
    pub(super) fn unbound(&mut self, scope: &Scope) -> String {
        let collide = self.chance(20);
        for _ in 0..6 {
            let name = self.one(NAMES);
            if !collide && self.used.iter().any(|used| used == name) {
                continue;
            }
            if !scope.variables.iter().any(|variable| variable.name == name)
                && !scope.own.iter().any(|own| own == name)
            {
                self.used.push(name.to_owned());
                return name.to_owned();
            }
        }
        self.next += 1;
        format!("n{}", self.next)
    }

    /// Generates a statement, including `with` modifiers.
    pub(super) fn statement(&mut self, scope: &mut Scope, depth: usize) -> String {
        self.fuel -= 1;
        // The names in a modifier are bound by other statements.
        let modifiers =
            if depth > 0 && self.chance(9) { Some(self.modifiers(scope, depth)) } else { None };
        // A modifier can't be on a declaration, and its statement must not bind.
        let (text, takes) = match self
            .weighted(&[22, 16, 10, 14, 8, 8, 5, 3, 4, 4, 3, 4, 3, 7, 4, 3, 3, 3])
        {
            0 if self.chance(12) => (self.member(scope, depth, false), true),
            0 => (self.boolean(scope, depth), true),
            1 => (self.assignment(scope, depth), true),
            2 => (self.unification(scope, depth), true),
            3 => (self.iteration(scope, depth), false),
            4 => (self.negation(scope, depth), true),
            5 => (self.every(scope, depth), true),
            6 => (self.of_a_rule(scope, depth), true),
            7 => {
                self.hit("walk");
                let subject = self.term(&Type::Any, scope, depth.min(1));
                let (a, b) = (self.unbound(scope), self.fresh(scope));
                let pattern =
                    if self.chance(30) { format!("[_, {b}]") } else { format!("[{a}, {b}]") };
                if pattern != format!("[_, {b}]") {
                    scope.bind(&a, Type::Any);
                }
                if a != b {
                    scope.bind(&b, Type::Any);
                }
                (format!("walk({subject}, {pattern})"), true)
            }
            8 => (self.print(scope, depth), false),
            9 => {
                self.hit("term as a statement");
                let kind = self.any_type(1);
                (self.term(&kind, scope, depth), true)
            }
            10 => {
                self.hit("output argument");
                let name = self.unbound(scope);
                let text = match self.below(4) {
                    0 => format!("count({}, {name})", self.term(&Type::array(Type::Any), scope, 0)),
                    1 => format!("plus({}, 1, {name})", self.term(&Type::Number, scope, 0)),
                    2 => format!("svc.ask({}, {name})", self.term(&Type::Number, scope, 0)),
                    _ => format!("upper({}, {name})", self.term(&Type::String, scope, 0)),
                };
                let kind = if text.starts_with("upper") { Type::String } else { Type::Number };
                scope.bind(&name, kind);
                (text, true)
            }
            11 if self.dialect == Dialect::V2 => (self.logic(scope, depth), true),
            11 => (self.boolean(scope, depth), true),
            12 => {
                self.hit("host call as a statement");
                let name = self.one(&["svc.ask", "svc.ask", "svc.none", "svc.fail"]);
                (format!("{name}({})", self.term(&Type::Any, scope, depth.min(1))), true)
            }
            13 => (self.how_often(scope), false),
            14 => (self.replaced_call(scope), false),
            15 => (self.placed_variable(scope), false),
            16 => (self.asked_again(scope), false),
            _ => {
                self.hit("some");
                let name = self.fresh(scope);
                scope.declare(&name, Type::Number);
                let from = self.one(&["input.xs", "input.ys", "data.d.xs", "input.ss", "input.us"]);
                let other = self.fresh(scope);
                scope.bind(&other, Type::Any);
                if other == name {
                    return format!("some {name}; {from}[{name}]");
                }
                (format!("some {name}; {other} := {from}[{name}]"), true)
            }
        };
        match modifiers {
            Some(modifiers) if takes => format!("{text} {modifiers}"),
            _ => text,
        }
    }

    fn assignment(&mut self, scope: &mut Scope, depth: usize) -> String {
        let kind = self.any_type(2);
        if self.chance(12) {
            self.hit(":= with a pattern");
            let (a, b) = (self.fresh(scope), self.fresh(scope));
            return match self.below(3) {
                0 => {
                    let text = format!("[{a}, {b}] := {}", self.pair(scope, depth));
                    scope.bind(&a, Type::Number);
                    scope.bind(&b, Type::Number);
                    text
                }
                1 => {
                    let text = format!("[_, {a}] := {}", self.pair(scope, depth));
                    scope.bind(&a, Type::Number);
                    text
                }
                _ => {
                    let value = self.term(&Type::Number, scope, depth.min(1));
                    let text = format!("{{\"a\": {a}}} := {{\"a\": {value}}}");
                    scope.bind(&a, Type::Number);
                    text
                }
            };
        }
        self.hit(":=");
        let value = self.term(&kind, scope, depth);
        let name = self.fresh(scope);
        scope.bind(&name, kind);
        format!("{name} := {value}")
    }

    fn pair(&mut self, scope: &mut Scope, depth: usize) -> String {
        if self.chance(30) {
            return self.one(&["data.d.xs", "input.xs", "input.grid[_]", "[1, 2]"]).to_owned();
        }
        let a = self.term(&Type::Number, scope, depth.min(1));
        let b = self.term(&Type::Number, scope, depth.min(1));
        format!("[{a}, {b}]")
    }

    fn unification(&mut self, scope: &mut Scope, depth: usize) -> String {
        if self.chance(45) {
            self.hit("= with a pattern");
            let first = scope.clone();
            let mut pattern = self.pattern(scope, 2);
            if !pattern.starts_with(['[', '{']) && self.chance(95) {
                *scope = first;
                let name = self.unbound(scope);
                scope.bind(&name, Type::Any);
                pattern = format!("[{name}, _]");
            }
            let value = match self.below(5) {
                0 => self.pair(scope, depth),
                1 | 4 => self
                    .one(&["input.grid[0]", "input.us[_]", "data.d.us[_]", "input.xs", "input.o"])
                    .to_owned(),
                2 if self.chance(15) => self.pattern(scope, 1),
                2 => self.source(&Type::array(Type::Any), scope),
                _ => self.source(&Type::object(Type::Number), scope),
            };
            return if self.chance(20) {
                format!("{value} = {pattern}")
            } else {
                format!("{pattern} = {value}")
            };
        }
        self.hit("=");
        let kind = self.any_type(2);
        let value = self.term(&kind, scope, depth);
        if self.chance(30)
            && let Some(name) = self.variable(&kind, scope)
        {
            return format!("{name} = {value}");
        }
        let name = self.unbound(scope);
        scope.bind(&name, kind);
        if self.chance(25) { format!("{value} = {name}") } else { format!("{name} = {value}") }
    }

    /// Generates a pattern with new and known variables.
    fn pattern(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0 if self.chance(50) => self.literal(&Type::Number),
            0 => "_".to_owned(),
            1 | 2 => {
                let name = self.unbound(scope);
                scope.bind(&name, Type::Any);
                name
            }
            3 => {
                if self.chance(50)
                    && let Some(name) = self.variable(&Type::Number, scope)
                {
                    name
                } else {
                    self.literal(&Type::Number)
                }
            }
            4 | 5 => {
                let count = 1 + self.below(2);
                let items: Vec<String> =
                    (0..count).map(|_| self.pattern(scope, depth - 1)).collect();
                format!("[{}]", items.join(", "))
            }
            _ => {
                let keys: &[&str] = match self.below(4) {
                    0 => &["\"a\"", "\"b\""],
                    1 => &["\"n\"", "\"r\"", "\"age\""],
                    2 => &["\"n\""],
                    _ => &["\"age\"", "\"r\""],
                };
                self.hit("object pattern");
                let items: Vec<String> = keys
                    .iter()
                    .map(|key| format!("{key}: {}", self.pattern(scope, depth - 1)))
                    .collect();
                format!("{{{}}}", items.join(", "))
            }
        }
    }

    /// Generates an expression with several solutions.
    pub(super) fn iteration(&mut self, scope: &mut Scope, depth: usize) -> String {
        let of = [Type::Number, Type::String, Type::Number, Type::Any][self.below(4)].clone();
        let kind = match self.below(4) {
            0 | 1 => Type::array(of.clone()),
            2 => Type::object(of.clone()),
            _ => Type::set(of.clone()),
        };
        match self.below(10) {
            0..=2 => {
                self.hit("some … in");
                let list = self.term(&kind, scope, depth);
                let name = self.fresh(scope);
                scope.declare(&name, of);
                format!("some {name} in {list}")
            }
            3 => {
                self.hit("some k, v in");
                let list = self.term(&kind, scope, depth);
                let (key, value) = (self.fresh(scope), self.fresh(scope));
                let of_key = match kind {
                    Type::Array(_) => Type::Number,
                    Type::Set(_) => of.clone(),
                    _ => Type::String,
                };
                if key == value {
                    return format!("some _, {value} in {list}");
                }
                scope.declare(&key, of_key);
                scope.declare(&value, of);
                format!("some {key}, {value} in {list}")
            }
            4 => {
                self.hit("some with a pattern");
                let (a, b) = (self.fresh(scope), self.fresh(scope));
                if a == b {
                    return format!("some {a} in input.xs");
                }
                scope.declare(&a, Type::String);
                match self.below(4) {
                    0 => {
                        scope.declare(&b, Type::Number);
                        format!("some {{\"n\": {a}, \"r\": _, \"age\": {b}}} in input.us")
                    }
                    1 => format!("some {{\"n\": {a}}} in input.us"),
                    2 => {
                        scope.declare(&a, Type::Number);
                        scope.declare(&b, Type::Number);
                        format!("some [{a}, {b}] in input.grid")
                    }
                    _ => {
                        scope.declare(&b, Type::Number);
                        format!("some {a}, {{\"age\": {b}, \"r\": [\"x\"]}} in data.d.us")
                    }
                }
            }
            5 | 6 => {
                self.hit("reference with an unbound variable");
                let index = if self.chance(35) { "_".to_owned() } else { self.unbound(scope) };
                let (path, of_key, of_value) = match self.below(7) {
                    0 => ("input.xs", Type::Number, Type::Number),
                    1 => ("input.ss", Type::Number, Type::String),
                    2 => ("input.o", Type::String, Type::Number),
                    3 => ("data.d.o", Type::String, Type::Number),
                    4 => ("input.os", Type::String, Type::String),
                    5 => ("input.mix", Type::Number, Type::Any),
                    _ => ("data.d.us", Type::String, Type::Any),
                };
                if index != "_" {
                    scope.bind(&index, of_key);
                }
                let name = self.unbound(scope);
                scope.bind(&name, of_value);
                let operator = if self.chance(60) { "=" } else { ":=" };
                format!("{name} {operator} {path}[{index}]")
            }
            7 => {
                self.hit("reference with several variables");
                let (a, b) = (self.unbound(scope), self.unbound(scope));
                if a == b {
                    scope.bind(&a, Type::Number);
                    return format!("input.grid[{a}][{b}]");
                }
                scope.bind(&a, Type::Number);
                scope.bind(&b, Type::Number);
                match self.below(3) {
                    0 => format!("input.grid[{a}][{b}]"),
                    1 => format!("{b} = input.grid[{a}][_]"),
                    _ => format!("input.us[{a}].r[{b}] != \"q\""),
                }
            }
            8 => self.of_a_rule(scope, depth),
            _ => {
                self.hit("comparison with an iteration");
                let path =
                    self.one(&["input.us[_].n", "input.us[_].r[_]", "input.ss[_]", "data.d.ss[_]"]);
                let value = self.term(&Type::String, scope, 0);
                let operator = self.one(&["==", "=", "!="]);
                format!("{path} {operator} {value}")
            }
        }
    }

    /// Generates an expression that shows the order and number of evaluations.
    fn how_often(&mut self, scope: &mut Scope) -> String {
        self.hit("order and number of calls");
        let (a, b) = (self.fresh(scope), self.fresh(scope));
        match self.below(10) {
            0 if a != b => {
                let (one, other) =
                    (self.term(&Type::Any, scope, 0), self.term(&Type::Any, scope, 0));
                format!("{a} := {one}; {b} := {other}; every q in {{{b}, {a}}} {{ svc.ask(q) }}")
            }
            1 => {
                let (one, other) =
                    (self.term(&Type::Any, scope, 0), self.term(&Type::Any, scope, 0));
                format!("svc.ask({one}) == svc.ask({other})")
            }
            2 | 3 if !self.known.is_empty() => {
                let count = self.known.len();
                let at = if self.chance(40) { count - 1 } else { self.below(count) };
                let rule: Known = self.known[at].clone();
                let path = self.path(&rule);
                match &rule.kind {
                    Kind::Complete(_) => format!("{path} != \"q\"; print(\"then\")"),
                    Kind::Set(of) => {
                        let element = self.term(&of.clone(), scope, 0);
                        format!("{path}[{element}]; print(\"then\"); {path}[{element}]")
                    }
                    Kind::Tree(_) if self.chance(50) => {
                        let key = self.one(&["\"a\"", "\"b\"", "input.s"]);
                        let (one, other) = (self.operands(), self.operands());
                        format!(
                            "print([{a} | {a} := {path}[{key}]{one}], [{a} | {a} := {path}[{key}]{other}])"
                        )
                    }
                    Kind::Object(_) | Kind::Tree(_) => {
                        let key = self.term(&Type::String, scope, 0);
                        format!("{path}[{key}]; print(\"then\"); {path}[{key}]")
                    }
                    Kind::Function(args, _) => {
                        let args: Vec<Type> = args.clone();
                        let mut call = |machine: &mut Self| {
                            let args: Vec<String> =
                                args.iter().map(|of| machine.term(of, scope, 0)).collect();
                            format!("{path}({})", args.join(", "))
                        };
                        let (one, other) = (call(self), call(self));
                        format!("{one} != \"q\"; print(\"then\"); {other} != \"q\"")
                    }
                }
            }
            4 => "data.d.k[1] != input.n; data.d.xs[\"0\"] != input.n".to_owned(),
            5 => {
                let from = self.one(&["input.xs", "input.ss", "input.mix", "data.d.ss"]);
                let what = self.one(&["input.s", "input.n", "data.d.s"]);
                if self.chance(50) {
                    return format!("print(\"before\"); data.d.o[{what}]");
                }
                format!("print(\"before\"); {what} in {from}")
            }
            6 => {
                let of = self.term(&Type::Any, scope, 0);
                format!("{of} != [q | q := svc.ask(2)]; {of} = [p | p := svc.ask(3)]")
            }
            7 => "count({1: q | some q in input.ys}) > 0".to_owned(),
            8 if self.dialect == Dialect::V2 => {
                "not { input.xs[_]; svc.none(1); svc.ask(1) }; not { input.xs[_]; svc.none(svc.ask(1)) }"
                    .to_owned()
            }
            _ => {
                let from = self.one(&["input.xs", "input.ss", "data.d.ss"]);
                format!(
                    "some {a} in {from}; {b} := [[q, {a}] | q = {from}[_]; print(\"in\", q); q = {a}]; print({b})"
                )
            }
        }
    }

    /// Generates further operands of a reference, of which some iterate.
    fn operands(&mut self) -> String {
        let first = self.one(&["[_]", "[_]", ".b", "[1]"]);
        let second = self.one(&[".a", ".b", ".c", "[_]", "", "[2]"]);
        format!("{first}{second}")
    }

    fn of_a_rule(&mut self, scope: &mut Scope, depth: usize) -> String {
        if self.known.is_empty() {
            return self.boolean(scope, depth);
        }
        let at = self.below(self.known.len());
        let rule: Known = self.known[at].clone();
        let path = self.path(&rule);
        match &rule.kind {
            Kind::Complete(of) => {
                self.hit("rule as a statement");
                match self.below(3) {
                    0 => path,
                    1 => {
                        let value = self.term(&of.clone(), scope, 0);
                        format!("{path} == {value}")
                    }
                    _ => {
                        let name = self.unbound(scope);
                        scope.bind(&name, of.clone());
                        format!("{name} = {path}")
                    }
                }
            }
            Kind::Set(of) | Kind::Object(of) | Kind::Tree(of) => {
                self.hit("elements of a rule");
                let set = matches!(rule.kind, Kind::Set(_));
                let index = match self.below(3) {
                    0 => "_".to_owned(),
                    1 => {
                        let name = self.unbound(scope);
                        scope.bind(&name, if set { of.clone() } else { Type::String });
                        name
                    }
                    _ => self.term(&if set { of.clone() } else { Type::String }, scope, 0),
                };
                if self.chance(50) {
                    let name = self.unbound(scope);
                    scope.bind(&name, of.clone());
                    format!("{name} = {path}[{index}]")
                } else {
                    format!("{path}[{index}]")
                }
            }
            Kind::Function(args, of) => {
                self.hit("function as a statement");
                let of = of.clone();
                let args: Vec<String> =
                    args.clone().iter().map(|arg| self.term(arg, scope, depth.min(1))).collect();
                let args = args.join(", ");
                if self.chance(60) {
                    let name = self.unbound(scope);
                    scope.bind(&name, of);
                    format!("{name} = {path}({args})")
                } else {
                    format!("{path}({args})")
                }
            }
        }
    }

    fn negation(&mut self, scope: &mut Scope, depth: usize) -> String {
        self.hit("not");
        let mut inner = scope.clone();
        if self.dialect == Dialect::V2 && self.chance(45) {
            self.hit("not with a body");
            let count = 1 + self.below(2);
            inner.own.clear();
            inner.due.clear();
            let mut body = self.body(&mut inner, count, depth.saturating_sub(1));
            self.use_up(&mut inner, &mut body, "");
            return format!("not {{ {} }}", body.join("; "));
        }
        let text = match self.below(6) {
            0 | 1 => self.boolean(&mut inner, depth.min(1)),
            2 => self.of_a_rule_bound(&mut inner),
            3 => self.source(&Type::Boolean, &mut inner),
            4 => {
                let kind = self.any_type(1);
                self.term(&kind, &mut inner, depth.min(1))
            }
            _ if self.chance(80) => {
                let value = self.term(&Type::String, &mut inner, 0);
                format!(
                    "{value} in {}",
                    self.one(&["input.ss", "input.os", "{\"a\", \"x\"}", "data.d.ss"])
                )
            }
            _ => {
                self.hit("not with an iteration");
                let value = self.term(&Type::String, &mut inner, 0);
                format!(
                    "{} == {value}",
                    self.one(&["input.ss[_]", "input.us[_].n", "data.d.ss[_]"])
                )
            }
        };
        format!("not {text}")
    }

    /// Generates a reference to a rule that binds nothing.
    fn of_a_rule_bound(&mut self, scope: &mut Scope) -> String {
        if self.known.is_empty() {
            return self.boolean(scope, 0);
        }
        let at = self.below(self.known.len());
        let rule: Known = self.known[at].clone();
        let path = self.path(&rule);
        match &rule.kind {
            Kind::Complete(_) => path,
            Kind::Set(of) => {
                let element = self.term(&of.clone(), scope, 0);
                format!("{path}[{element}]")
            }
            Kind::Object(_) | Kind::Tree(_) => {
                let key = self.term(&Type::String, scope, 0);
                format!("{path}[{key}]")
            }
            Kind::Function(args, _) => {
                let args: Vec<String> =
                    args.clone().iter().map(|arg| self.term(arg, scope, 0)).collect();
                format!("{path}({})", args.join(", "))
            }
        }
    }

    fn every(&mut self, scope: &mut Scope, depth: usize) -> String {
        if depth == 0 {
            return self.boolean(scope, 0);
        }
        self.hit("every");
        let of = [Type::Number, Type::String, Type::Any][self.below(3)].clone();
        let kind = match self.below(4) {
            0 | 1 => Type::array(of.clone()),
            2 => Type::set(of.clone()),
            _ => Type::object(of.clone()),
        };
        let domain = self.term(&kind, scope, depth - 1);
        let mut inner = scope.inner();
        let value = self.one(NAMES);
        let mut names = value.to_owned();
        if self.chance(30) {
            self.hit("every with a key");
            let key = self.one(NAMES);
            if key != value {
                names = format!("{key}, {value}");
                let of_key =
                    if matches!(kind, Type::Array(_)) { Type::Number } else { Type::String };
                inner.declare(key, of_key);
            }
        }
        inner.declare(value, of);
        if self.chance(5) {
            inner.own.clear();
        }
        let count = 1 + self.below(2);
        let mut body = self.body(&mut inner, count, depth - 1);
        // Its variables precede the body: one mention in the body is a use.
        let before: String = inner.due.iter().map(|name| format!(" {name}")).collect();
        self.use_up(&mut inner, &mut body, &before);
        format!("every {names} in {domain} {{ {} }}", body.join("; "))
    }

    fn print(&mut self, scope: &mut Scope, depth: usize) -> String {
        self.hit("print");
        let count = self.below(3);
        let args: Vec<String> = (0..count)
            .map(|_| {
                let kind = self.any_type(1);
                if self.chance(1) {
                    "input.xs[_]".to_owned()
                } else {
                    self.term(&kind, scope, depth.min(1))
                }
            })
            .collect();
        format!("print({})", args.join(", "))
    }

    /// Generates `and`, `or` and their operands.
    fn logic(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut inner = scope.clone();
        inner.own.clear();
        let operand = |this: &mut Self, inner: &mut Scope| {
            if this.chance(35) {
                this.hit("operand with braces");
                let mut own = inner.clone();
                own.own.clear();
                own.due.clear();
                let count = 1 + this.below(2);
                let mut body = this.body(&mut own, count, depth.saturating_sub(1));
                this.use_up(&mut own, &mut body, "");
                format!("{{ {} }}", body.join("; "))
            } else if this.chance(20) {
                this.negation(inner, depth.saturating_sub(1))
            } else {
                this.boolean(inner, depth.min(1))
            }
        };
        let left = operand(self, &mut inner);
        let right = operand(self, &mut inner);
        let operator = if self.chance(55) {
            self.hit("or");
            "or"
        } else {
            self.hit("and");
            "and"
        };
        let mut text = format!("{left} {operator} {right}");
        if self.chance(20) {
            self.hit("three operands");
            let third = operand(self, &mut inner);
            let operator = self.one(&["and", "or"]);
            text = format!("{text} {operator} {third}");
        }
        text
    }

    /// Generates `with` modifiers.
    fn modifiers(&mut self, scope: &mut Scope, depth: usize) -> String {
        let mut text = self.modifier(scope, depth);
        if self.chance(20) {
            text = format!("{text} {}", self.modifier(scope, depth));
        }
        text
    }

    pub(super) fn modifier(&mut self, scope: &mut Scope, depth: usize) -> String {
        let depth = depth.min(1);
        match self.below(9) {
            0 => {
                self.hit("with input");
                let value = if self.chance(60) {
                    self.one(&[
                        "{\"n\": 5, \"s\": \"q\", \"xs\": [9]}",
                        "{}",
                        "[1]",
                        "\"t\"",
                        "input.us[0]",
                    ])
                    .to_owned()
                } else {
                    self.term(&Type::object(Type::Any), scope, depth)
                };
                format!("with input as {value}")
            }
            1 | 2 => {
                self.hit("with input.…");
                let (path, kind) = [
                    ("input.n", Type::Number),
                    ("input.s", Type::String),
                    ("input.xs", Type::array(Type::Number)),
                    ("input.o.a", Type::Number),
                    ("input.nope", Type::Any),
                    ("input.yes", Type::Boolean),
                ][self.below(6)]
                .clone();
                let value = self.term(&kind, scope, depth);
                format!("with {path} as {value}")
            }
            3 => {
                self.hit("with data");
                let (path, kind) = [
                    ("data.d.n", Type::Number),
                    ("data.d", Type::object(Type::Any)),
                    ("data.d.xs", Type::array(Type::Number)),
                    ("data.nowhere.x", Type::Any),
                ][self.below(4)]
                .clone();
                let value = self.term(&kind, scope, depth);
                format!("with {path} as {value}")
            }
            4 | 5 => {
                let rules: Vec<Known> = self.known.clone();
                if rules.is_empty() {
                    return "with input.n as 4".to_owned();
                }
                let at = self.below(rules.len());
                let rule = &rules[at];
                let path = format!("data.{}.{}", rule.package, rule.name);
                match &rule.kind {
                    Kind::Complete(of) => {
                        self.hit("with a rule");
                        let value = self.term(&of.clone(), scope, depth);
                        format!("with {path} as {value}")
                    }
                    Kind::Set(of) => {
                        self.hit("with a partial set");
                        let value = self.term(&Type::set(of.clone()), scope, depth);
                        format!("with {path} as {value}")
                    }
                    Kind::Object(of) | Kind::Tree(of) => {
                        let of = of.clone();
                        if self.chance(8) {
                            self.hit("with a member of a partial object");
                            let value = self.term(&of, scope, depth);
                            return format!("with {path}.a as {value}");
                        }
                        self.hit("with a partial object");
                        let value = self.term(&Type::object(of), scope, depth);
                        format!("with {path} as {value}")
                    }
                    Kind::Function(args, of) => {
                        let (args, of) = (args.clone(), of.clone());
                        let other: Vec<&Known> = rules
                            .iter()
                            .filter(|rule| matches!(&rule.kind, Kind::Function(others, _) if others.len() == args.len()))
                            .collect();
                        if self.chance(40) && !other.is_empty() {
                            self.hit("with a function by a function");
                            let at = self.below(other.len());
                            let other = other[at];
                            return format!("with {path} as data.{}.{}", other.package, other.name);
                        }
                        self.hit("with a function by a value");
                        let value = self.term(&of, scope, 0);
                        format!("with {path} as {value}")
                    }
                }
            }
            6 => {
                self.hit("with a built-in by a value");
                let (name, kind) = [
                    ("count", Type::Number),
                    ("upper", Type::String),
                    ("time.now_ns", Type::Number),
                    ("startswith", Type::Boolean),
                    ("svc.ask", Type::Any),
                    ("svc.fail", Type::Any),
                    ("object.get", Type::Any),
                ][self.below(7)]
                .clone();
                let value = self.term(&kind, scope, 0);
                format!("with {name} as {value}")
            }
            7 => {
                self.hit("with a built-in by a built-in");
                self.one(&[
                    "with upper as lower",
                    "with lower as svc.ask",
                    "with count as sum",
                    "with svc.ask as svc.none",
                    "with svc.none as svc.ask",
                    "with svc.ask as svc.fail",
                    "with svc.ask as is_null",
                    "with svc.fail as count",
                ])
                .to_owned()
            }
            _ => {
                self.hit("with a package");
                let package = self.one(&["data.lib", "data.p.q", "data.a.b", "data.nowhere"]);
                let value = self.term(&Type::object(Type::Any), scope, depth);
                format!("with {package} as {value}")
            }
        }
    }
}
