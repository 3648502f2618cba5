//! Terms: literals, references, calls, operators, composites, comprehensions.

use super::{Dialect, Generator, Kind, Scope, Type};

/// The inputs of programs; the first has what references look for.
pub(super) const INPUTS: &[&str] = &[
    r#"{"n":3,"m":2.5,"z":0,"neg":-1,"s":"a","t":"b,c","e":"","yes":true,"no":false,"nil":null,"xs":[1,2,3],"ys":[3,1,2,2],"ss":["a","b","c"],"mix":[1,"a",null,true,[1],{"k":1}],"none":[],"grid":[[1,2],[3]],"o":{"a":1,"b":2},"os":{"x":"a","y":"b"},"eo":{},"deep":{"a":{"b":{"c":[1,{"d":"x"}]}}},"us":[{"n":"a","r":["x","y"],"age":3},{"n":"b","r":[],"age":0},{"n":"c"}]}"#,
    r#"{"n":1,"m":1.10,"z":0,"s":"b","t":"","yes":true,"no":true,"nil":null,"xs":[2,5],"ys":[],"ss":["a"],"mix":[],"none":[],"grid":[[],[1]],"o":{"a":3},"os":{},"eo":{},"deep":{"a":{"b":1}},"us":[]}"#,
    r"{}",
    r#"{"n":"x","s":1,"xs":{"a":1,"b":[2]},"ss":"abc","o":[1,2],"us":{"k":{"n":"a","r":["x"],"age":3}},"yes":false,"no":null,"mix":3,"deep":null,"grid":"g","os":false}"#,
    r#"{"n":10000000000000000000000,"m":1e2,"z":-0.0,"s":"é😀","t":"a,b,,c","xs":[1,1.0,1e0],"ys":[0.1,1.2,2.3],"ss":["c","c","b"],"o":{"a":[1],"b":{"c":null}},"us":[{"n":"a","r":["a"],"age":3},{"n":"a","r":["b"],"age":3}],"yes":true,"no":false,"nil":null,"mix":[[],{"k":2},"",7,true],"grid":[[1,1],[1,1]],"os":{"a":"a","b":"a"},"deep":{"a":{"b":{"c":[1,{"d":"y"}]}}}}"#,
    r"[1,2,3]",
    r#""text""#,
];

/// Base documents.
pub(super) const DATA: &[&str] = &[
    "{}",
    r#"{"d":{"n":2,"s":"a","xs":[1,2],"ss":["a","z"],"o":{"a":1,"c":3},"us":{"a":{"age":3,"r":["x"]},"b":{"age":1,"r":[]}},"k":{"1":4},"yes":true}}"#,
    r#"{"d":{"n":0,"s":"b","xs":[],"ss":[],"o":{},"us":{},"yes":false},"p":{"base":{"k":[1,2]},"n":7},"lib":{"conf":"z"}}"#,
];

/// References that lead to something of a type.
const SOURCES: &[(&str, &str)] = &[
    ("n", "input.n"),
    ("n", "input.m"),
    ("n", "input.z"),
    ("n", "input.neg"),
    ("n", "data.d.n"),
    ("n", "input.o.a"),
    ("n", "input.xs[0]"),
    ("n", "input[\"n\"]"),
    ("n", "input.us[0].age"),
    ("s", "input.s"),
    ("s", "input.t"),
    ("s", "input.e"),
    ("s", "data.d.s"),
    ("s", "input.os.x"),
    ("s", "input.ss[1]"),
    ("s", "input.us[1].n"),
    ("s", "input.deep.a.b.c[1].d"),
    ("b", "input.yes"),
    ("b", "input.no"),
    ("b", "data.d.yes"),
    ("z", "input.nil"),
    ("an", "input.xs"),
    ("an", "input.ys"),
    ("an", "input.none"),
    ("an", "data.d.xs"),
    ("an", "input.grid[0]"),
    ("as", "input.ss"),
    ("as", "data.d.ss"),
    ("as", "input.us[0].r"),
    ("aa", "input.mix"),
    ("aa", "input.us"),
    ("aa", "input.grid"),
    ("on", "input.o"),
    ("on", "input.eo"),
    ("on", "data.d.o"),
    ("os", "input.os"),
    ("oa", "input.deep"),
    ("oa", "input.us[0]"),
    ("oa", "data.d.us"),
    ("oa", "data.d"),
    ("oa", "input"),
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "10",
    "1.5",
    "0.5",
    "1.0",
    "2.50",
    "1e2",
    "1E1",
    "5e-1",
    "-2.5e+1",
    "100000000000000000000",
    "9007199254740993",
    "0.1",
    "7",
    "-0",
];
const STRINGS: &[&str] = &[
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"x\"",
    "\"b,c\"",
    "`a`",
    "\"\\u00e9\"",
    "\"k\"",
    "\"n\"",
    "\"a\\n\\\"b\"",
    "`r\\n`",
    "\"abc\"",
    "\"1\"",
    "\"%d %v\"",
];

impl Generator {
    /// Returns any type, scalars more often.
    pub(super) fn any_type(&mut self, depth: usize) -> Type {
        let deep = if depth == 0 { 0 } else { 1 };
        match self.weighted(&[5, 5, 3, 1, 3 * deep, 3 * deep, 3 * deep, 2]) {
            0 => Type::Number,
            1 => Type::String,
            2 => Type::Boolean,
            3 => Type::Null,
            4 => Type::array(self.any_type(depth - 1)),
            5 => Type::set(self.any_type(depth - 1)),
            6 => Type::object(self.any_type(depth - 1)),
            _ => Type::Any,
        }
    }

    /// Generates a term of a type, most of the time.
    pub(super) fn term(&mut self, kind: &Type, scope: &mut Scope, depth: usize) -> String {
        self.fuel -= 1;
        if self.chance(1) {
            let other = self.any_type(1);
            return self.plain_term(&other, scope, depth);
        }
        self.plain_term(kind, scope, depth)
    }

    fn plain_term(&mut self, kind: &Type, scope: &mut Scope, depth: usize) -> String {
        let leaf = depth == 0 || self.fuel <= 0;
        let kind =
            if *kind == Type::Any { self.any_type(usize::from(!leaf)) } else { kind.clone() };
        // Often a variable or another reference.
        if self.chance(30)
            && let Some(name) = self.variable(&kind, scope)
        {
            return name;
        }
        if self.chance(if leaf { 45 } else { 22 }) {
            return self.source(&kind, scope);
        }
        if !leaf
            && self.chance(14)
            && let Some(text) = self.rule_value(&kind, scope, depth)
        {
            return text;
        }
        if !leaf && self.chance(6) {
            return self.host_call(&kind, scope, depth);
        }
        if matches!(&kind, Type::Object(of) if **of == Type::Any)
            && self.chance(20)
            && let Some(text) = self.whole_package()
        {
            return text;
        }
        if !leaf && self.chance(4) {
            self.hit("parentheses");
            let inner = self.term(&kind, scope, depth - 1);
            return format!("({inner})");
        }
        if leaf { self.literal(&kind) } else { self.made(&kind, scope, depth - 1) }
    }

    /// Returns a variable of a type, if there is one.
    pub(super) fn variable(&mut self, kind: &Type, scope: &Scope) -> Option<String> {
        let fitting: Vec<String> = scope
            .variables
            .iter()
            .filter(|variable| {
                variable.kind == *kind || *kind == Type::Any || variable.kind == Type::Any
            })
            .map(|variable| variable.name.clone())
            .collect();
        if fitting.is_empty() {
            return None;
        }
        self.hit("variable");
        let at = self.below(fitting.len());
        Some(fitting[at].clone())
    }

    /// Generates a reference to `input` or `data`.
    pub(super) fn source(&mut self, kind: &Type, scope: &mut Scope) -> String {
        if self.chance(3) {
            self.hit("reference to nothing");
            return self
                .one(&[
                    "input.nope",
                    "input.us[0].zip",
                    "data.nowhere.x",
                    "input.xs[9]",
                    "input.s.a",
                    "data.d.o.zz",
                ])
                .to_owned();
        }
        let code = match kind {
            Type::Number => "n",
            Type::String => "s",
            Type::Boolean => "b",
            Type::Null => "z",
            Type::Array(of) => match **of {
                Type::Number => "an",
                Type::String => "as",
                _ => "aa",
            },
            Type::Object(of) => match **of {
                Type::Number => "on",
                Type::String => "os",
                _ => "oa",
            },
            Type::Set(_) => return self.literal(kind),
            Type::Any => ["n", "s", "b", "an", "as", "aa", "on", "oa"][self.below(8)],
        };
        let fitting: Vec<&str> =
            SOURCES.iter().filter(|(of, _)| *of == code).map(|(_, path)| *path).collect();
        let mut path = self.one(&fitting).to_owned();
        self.hit(if path.starts_with("data") { "reference to data" } else { "reference to input" });
        if let Some(name) = self.file.input
            && self.chance(70)
        {
            path = path.replacen("input", name, 1);
        }
        // A variable in place of a constant.
        if self.chance(12)
            && let Some(open) = path.find('[')
            && let Some(close) = path[open..].find(']')
            && let Some(index) = self.variable(&Type::Number, scope)
        {
            self.hit("reference with a variable");
            path.replace_range(open + 1..open + close, &index);
        }
        path
    }

    /// Generates the value of a rule, a member of it, or a call of a function.
    pub(super) fn rule_value(
        &mut self,
        kind: &Type,
        scope: &mut Scope,
        depth: usize,
    ) -> Option<String> {
        let known: Vec<super::Known> = self
            .known
            .iter()
            .filter(|rule| match (&rule.kind, kind) {
                (Kind::Complete(of) | Kind::Function(_, of), wanted) => {
                    of == wanted || *of == Type::Any
                }
                (Kind::Set(of), Type::Set(wanted)) => of == &**wanted,
                (Kind::Set(of), wanted) => of == wanted,
                (Kind::Object(of) | Kind::Tree(of), Type::Object(wanted)) => of == &**wanted,
                (Kind::Object(of), wanted) => of == wanted,
                (Kind::Tree(_), _) => false,
            })
            .cloned()
            .collect();
        if known.is_empty() {
            return None;
        }
        let at = self.below(known.len());
        let rule = &known[at];
        let path = self.path(rule);
        Some(match &rule.kind {
            Kind::Complete(_) => {
                self.hit("reference to a rule");
                path
            }
            Kind::Function(args, _) => {
                self.hit("call of a function");
                let args: Vec<String> = args
                    .clone()
                    .iter()
                    .map(|arg| self.term(arg, scope, depth.saturating_sub(1)))
                    .collect();
                format!("{path}({})", args.join(", "))
            }
            Kind::Set(of) => {
                if matches!(kind, Type::Set(_)) {
                    self.hit("reference to a partial set");
                    path
                } else {
                    self.hit("element of a partial set");
                    let element = self.term(&of.clone(), scope, 0);
                    format!("{path}[{element}]")
                }
            }
            Kind::Object(_) | Kind::Tree(_) => {
                if matches!(kind, Type::Object(_)) {
                    self.hit("reference to a partial object");
                    path
                } else {
                    self.hit("member of a partial object");
                    let key = self.term(&Type::String, scope, 0);
                    format!("{path}[{key}]")
                }
            }
        })
    }

    /// Returns a rule's name in this file.
    pub(super) fn path(&mut self, rule: &super::Known) -> String {
        if rule.package == self.file.package && self.chance(85) {
            return rule.name.clone();
        }
        if rule.package != self.file.package
            && let Some((_, alias)) =
                self.file.aliases.iter().find(|(package, _)| *package == rule.package)
        {
            let alias = alias.clone();
            if self.chance(80) {
                self.hit("reference through an import");
                return format!("{alias}.{}", rule.name);
            }
        }
        self.hit("reference with data");
        format!("data.{}.{}", rule.package, rule.name)
    }

    fn host_call(&mut self, kind: &Type, scope: &mut Scope, depth: usize) -> String {
        match self.weighted(&[6, 1, 1, 3, 3, 1]) {
            0 => {
                self.hit("host call");
                let inner = self.term(kind, scope, depth - 1);
                format!("svc.ask({inner})")
            }
            1 => {
                self.hit("host call, undefined");
                let inner = self.term(kind, scope, depth - 1);
                format!("svc.none({inner})")
            }
            2 => {
                self.hit("host call that fails");
                let inner = self.term(kind, scope, depth - 1);
                format!("svc.fail({inner})")
            }
            3 if *kind == Type::Number => {
                self.hit("host call of two arguments");
                let a = self.term(&Type::Any, scope, depth - 1);
                let b = self.term(&Type::Any, scope, 0);
                format!("svc.num({a}, {b})")
            }
            4 => {
                self.hit("host call by cases");
                let a = self.term(&Type::String, scope, depth - 1);
                format!("svc.pick({a})")
            }
            _ => {
                if self.chance(20) {
                    self.hit("host call that ends the evaluation");
                    "svc.stop(1)".to_owned()
                } else {
                    "svc.ask(input.n)".to_owned()
                }
            }
        }
    }

    /// Generates a constant.
    pub(super) fn literal(&mut self, kind: &Type) -> String {
        match kind {
            Type::Number => {
                self.hit("number");
                self.one(NUMBERS).to_owned()
            }
            Type::String => {
                self.hit("string");
                self.one(STRINGS).to_owned()
            }
            Type::Boolean => {
                self.hit("boolean");
                self.one(&["true", "true", "false"]).to_owned()
            }
            Type::Null => {
                self.hit("null");
                "null".to_owned()
            }
            Type::Array(of) => {
                self.hit("constant array");
                let items: Vec<String> = (0..self.below(3)).map(|_| self.literal(of)).collect();
                format!("[{}]", items.join(", "))
            }
            Type::Set(of) => {
                self.hit("constant set");
                let items: Vec<String> = (0..self.below(3)).map(|_| self.literal(of)).collect();
                if items.is_empty() {
                    "set()".to_owned()
                } else {
                    format!("{{{}}}", items.join(", "))
                }
            }
            Type::Object(of) => {
                self.hit("constant object");
                let keys = ["\"a\"", "\"b\"", "\"x\"", "\"k\""];
                let items: Vec<String> = (0..self.below(3))
                    .map(|at| format!("{}: {}", keys[at + self.random.below(2)], self.literal(of)))
                    .collect();
                format!("{{{}}}", items.join(", "))
            }
            Type::Any => {
                let kind = self.any_type(0);
                if kind == Type::Any { "null".to_owned() } else { self.literal(&kind) }
            }
        }
    }

    /// Generates a call, an operator, or a composite.
    fn made(&mut self, kind: &Type, scope: &mut Scope, depth: usize) -> String {
        match kind {
            Type::Number => self.number(scope, depth),
            Type::String => self.string(scope, depth),
            Type::Boolean => self.boolean(scope, depth),
            Type::Null => self.literal(kind),
            Type::Array(of) => self.array(of, scope, depth),
            Type::Set(of) => self.set(of, scope, depth),
            Type::Object(of) => self.object(of, scope, depth),
            Type::Any => self.literal(kind),
        }
    }

    /// Generates a call of a built-in function with terms of these types.
    fn call(
        &mut self,
        name: &'static str,
        args: &[Type],
        scope: &mut Scope,
        depth: usize,
    ) -> String {
        self.hit(name);
        let args: Vec<String> = args.iter().map(|arg| self.term(arg, scope, depth)).collect();
        format!("{name}({})", args.join(", "))
    }

    fn numbers() -> Type {
        Type::array(Type::Number)
    }

    fn number(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.below(13) {
            0..=2 => {
                let operator = self.one(&["+", "-", "*", "/", "%", "+", "-"]);
                self.hit("arithmetic");
                let left = self.term(&Type::Number, scope, depth);
                let right = self.term(&Type::Number, scope, depth);
                format!("{left} {operator} {right}")
            }
            3 | 4 => {
                let of = self.collection();
                self.call("count", &[of], scope, depth)
            }
            5 => self.call("sum", &[Self::numbers()], scope, depth),
            6 => {
                let name = self.one(&["max", "min", "product"]);
                let name: &'static str = if name == "max" {
                    "max"
                } else if name == "min" {
                    "min"
                } else {
                    "product"
                };
                self.call(name, &[Self::numbers()], scope, depth)
            }
            7 => {
                let name = ["abs", "round", "ceil", "floor"][self.below(4)];
                self.call(name, &[Type::Number], scope, depth)
            }
            8 => self.call("to_number", &[Type::String], scope, depth),
            9 => self.call("indexof", &[Type::String, Type::String], scope, depth),
            10 => {
                let object = self.term(&Type::object(Type::Number), scope, depth);
                let key = self.literal(&Type::String);
                self.hit("object.get");
                format!("object.get({object}, {key}, {})", self.one(NUMBERS))
            }
            11 => {
                self.hit("array element by a term");
                let index = self.term(&Type::Number, scope, 0);
                format!("input.xs[{index}]")
            }
            _ => {
                let name = ["bits.and", "bits.or"][self.below(2)];
                self.call(name, &[Type::Number, Type::Number], scope, 0)
            }
        }
    }

    fn string(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.below(14) {
            0 => {
                let name = ["lower", "upper", "trim_space"][self.below(3)];
                self.call(name, &[Type::String], scope, depth)
            }
            1 => self.call("concat", &[Type::String, Type::array(Type::String)], scope, depth),
            2 | 3 => {
                self.hit("sprintf");
                let (format, count) = [
                    ("%v", 1),
                    ("%s-%d", 2),
                    ("%v %v", 2),
                    ("x", 0),
                    ("%d", 1),
                    ("%.2f", 1),
                    ("%q", 1),
                ][self.below(7)];
                let args: Vec<String> = (0..count)
                    .map(|at| {
                        let kind = if format.contains("%d") && at == count - 1 {
                            Type::Number
                        } else {
                            Type::Any
                        };
                        self.term(&kind, scope, depth)
                    })
                    .collect();
                format!("sprintf(\"{format}\", [{}])", args.join(", "))
            }
            4 => self.call("format_int", &[Type::Number, Type::Number], scope, 0),
            5 => self.call("substring", &[Type::String, Type::Number, Type::Number], scope, depth),
            6 => self.call("replace", &[Type::String, Type::String, Type::String], scope, depth),
            7 => {
                let name = ["trim", "trim_left", "trim_prefix", "trim_suffix"][self.below(4)];
                self.call(name, &[Type::String, Type::String], scope, depth)
            }
            8 => self.call("json.marshal", &[Type::Any], scope, depth),
            9 => self.call("type_name", &[Type::Any], scope, depth),
            10 => self.call("base64.encode", &[Type::String], scope, depth),
            _ if self.dialect != Dialect::V0 => {
                self.hit("template string");
                let raw = self.chance(25);
                let count = 1 + self.below(2);
                let mut text = String::new();
                for _ in 0..count {
                    text.push_str(self.one(&["", "a", " ", "\\{", "x: "]));
                    let kind = self.any_type(1);
                    let inner = self.term(&kind, scope, depth.min(1));
                    if self.chance(6) {
                        self.hit("with in a template string");
                        let modifier = self.one(&[
                            "with input.n as 8",
                            "with input.s as \"w\"",
                            "with data.d.n as 9",
                            "with input as {}",
                        ]);
                        text.push_str(&format!("{{{inner} {modifier}}}"));
                    } else {
                        text.push_str(&format!("{{{inner}}}"));
                    }
                }
                text.push_str(self.one(&["", "z"]));
                if raw { format!("$`{text}`") } else { format!("$\"{text}\"") }
            }
            _ => self.call("concat", &[Type::String, Type::set(Type::String)], scope, depth),
        }
    }

    pub(super) fn boolean(&mut self, scope: &mut Scope, depth: usize) -> String {
        match self.below(12) {
            0..=3 => {
                self.hit("comparison");
                let kind = if self.chance(70) { Type::Number } else { self.any_type(1) };
                let operator = self.one(&["==", "!=", "<", "<=", ">", ">=", "==", "!="]);
                if self.chance(5) {
                    self.hit("comparison of unlike types");
                    let kind = self.collection();
                    let left = self.term(&kind, scope, depth);
                    let other = kind.unlike();
                    let right = self.term(&other, scope, depth);
                    return format!("{left} == {right}");
                }
                let left = self.term(&kind, scope, depth);
                let right = self.term(&kind, scope, depth);
                format!("{left} {operator} {right}")
            }
            4 | 5 => {
                let bare = self.chance(4);
                self.member(scope, depth, !bare)
            }
            6 => {
                let name = ["startswith", "endswith", "contains"][self.below(3)];
                self.call(name, &[Type::String, Type::String], scope, depth)
            }
            7 => {
                let name = [
                    "is_number",
                    "is_string",
                    "is_null",
                    "is_array",
                    "is_object",
                    "is_set",
                    "is_boolean",
                ][self.below(7)];
                // A value of another type is undefined in some versions, false in others.
                self.call(name, &[Type::Any], scope, depth)
            }
            8 => {
                let name = ["regex.match", "regex.is_valid", "glob.match"][self.below(3)];
                self.hit(name);
                let subject = self.term(&Type::String, scope, depth);
                match name {
                    "regex.match" => format!(
                        "regex.match({}, {subject})",
                        self.one(&["\"^a\"", "\"[b-c]+$\"", "`\\w`", "\"(\""])
                    ),
                    "regex.is_valid" => format!("regex.is_valid({subject})"),
                    _ => format!(
                        "glob.match({}, [], {subject})",
                        self.one(&["\"a*\"", "\"?\"", "\"{a,b}\""])
                    ),
                }
            }
            9 => {
                let name = ["object.subset", "json.is_valid", "semver.is_valid"][self.below(3)];
                match name {
                    "object.subset" => self.call(
                        name,
                        &[Type::object(Type::Number), Type::object(Type::Number)],
                        scope,
                        depth,
                    ),
                    _ => self.call(name, &[Type::String], scope, depth),
                }
            }
            10 => self.source(&Type::Boolean, scope),
            _ => {
                let host = self.term(&Type::Any, scope, 0);
                self.hit("host call");
                format!("svc.ask({host})")
            }
        }
    }

    /// Generates `x in xs` or `k, v in xs`.
    pub(super) fn member(&mut self, scope: &mut Scope, depth: usize, parentheses: bool) -> String {
        let text = self.membership(scope, depth);
        if parentheses { format!("({text})") } else { text }
    }

    fn membership(&mut self, scope: &mut Scope, depth: usize) -> String {
        if self.chance(30) {
            self.hit("in with a key");
            if self.chance(50) {
                let array = self.term(&Type::array(Type::Number), scope, depth);
                let (key, value) =
                    (self.term(&Type::Number, scope, 0), self.term(&Type::Number, scope, 0));
                return format!("{key}, {value} in {array}");
            }
            let object = self.term(&Type::object(Type::Number), scope, depth);
            let (key, value) =
                (self.term(&Type::String, scope, 0), self.term(&Type::Number, scope, 0));
            return format!("{key}, {value} in {object}");
        }
        self.hit("in");
        let of = self.any_type(0);
        let of = if of == Type::Any { Type::Number } else { of };
        let kind = match self.below(3) {
            0 => Type::array(of.clone()),
            1 => Type::set(of.clone()),
            _ => Type::object(of.clone()),
        };
        let element = self.term(&of, scope, depth.min(1));
        let list = self.term(&kind, scope, depth);
        format!("{element} in {list}")
    }

    /// Returns a collection of some type.
    pub(super) fn collection(&mut self) -> Type {
        let of = [Type::Number, Type::String, Type::Any][self.below(3)].clone();
        match self.below(4) {
            0 | 1 => Type::array(of),
            2 => Type::set(of),
            _ => Type::object(of),
        }
    }

    fn list(&mut self, of: &Type, scope: &mut Scope, depth: usize) -> Vec<String> {
        let count = [0, 1, 1, 2, 2, 3][self.below(6)];
        (0..count).map(|_| self.term(of, scope, depth)).collect()
    }

    fn array(&mut self, of: &Type, scope: &mut Scope, depth: usize) -> String {
        match self.below(12) {
            0..=3 => {
                self.hit("array");
                let items = self.list(of, scope, depth);
                let comma = if !items.is_empty() && self.chance(4) { "," } else { "" };
                format!("[{}{comma}]", items.join(", "))
            }
            4..=7 => {
                self.hit("array comprehension");
                let (head, body) = self.comprehension(of, scope, depth);
                format!("[{head} | {body}]")
            }
            8 => self.call(
                "array.concat",
                &[Type::array(of.clone()), Type::array(of.clone())],
                scope,
                depth,
            ),
            9 => self.call(
                "array.slice",
                &[Type::array(of.clone()), Type::Number, Type::Number],
                scope,
                depth,
            ),
            10 => match of {
                Type::String => self.call("split", &[Type::String, Type::String], scope, depth),
                Type::Number => {
                    self.hit("numbers.range");
                    let (from, to) = (
                        self.one(&["1", "input.z", "-1", "5"]),
                        self.one(&["3", "0", "-2", "data.d.n"]),
                    );
                    format!("numbers.range({from}, {to})")
                }
                _ => self.call("array.reverse", &[Type::array(of.clone())], scope, depth),
            },
            _ => {
                let kind =
                    if self.chance(50) { Type::set(of.clone()) } else { Type::array(of.clone()) };
                self.call("sort", &[kind], scope, depth)
            }
        }
    }

    fn set(&mut self, of: &Type, scope: &mut Scope, depth: usize) -> String {
        match self.below(11) {
            0..=2 => {
                self.hit("set");
                let items = self.list(of, scope, depth);
                if items.is_empty() {
                    "set()".to_owned()
                } else {
                    format!("{{{}}}", items.join(", "))
                }
            }
            3..=6 => {
                self.hit("set comprehension");
                let (head, body) = self.comprehension(of, scope, depth);
                format!("{{{head} | {body}}}")
            }
            7 | 8 => {
                self.hit("set operator");
                let operator = self.one(&["|", "&", "-"]);
                let left = self.term(&Type::set(of.clone()), scope, depth);
                let right = self.term(&Type::set(of.clone()), scope, depth);
                format!("({left} {operator} {right})")
            }
            9 => {
                let name = ["union", "intersection"][self.below(2)];
                self.call(name, &[Type::set(Type::set(of.clone()))], scope, depth)
            }
            _ if *of == Type::String => {
                self.call("object.keys", &[Type::object(Type::Any)], scope, depth)
            }
            _ => {
                let inner = self.term(&Type::array(of.clone()), scope, depth);
                self.hit("set comprehension");
                format!("{{q | q := {inner}[_]}}")
            }
        }
    }

    fn object(&mut self, of: &Type, scope: &mut Scope, depth: usize) -> String {
        match self.below(11) {
            0..=3 => {
                self.hit("object");
                let count = self.below(3);
                let items: Vec<String> = (0..count)
                    .map(|_| {
                        let key = if self.chance(75) {
                            self.one(&["\"a\"", "\"b\"", "\"k\"", "\"x\""]).to_owned()
                        } else if self.chance(70) {
                            self.hit("object with a computed key");
                            self.term(&Type::String, scope, depth.min(1))
                        } else {
                            self.hit("object with another key");
                            self.term(&Type::Any, scope, 0)
                        };
                        let value = self.term(of, scope, depth);
                        format!("{key}: {value}")
                    })
                    .collect();
                format!("{{{}}}", items.join(", "))
            }
            4..=7 => {
                self.hit("object comprehension");
                let mut inner = scope.inner();
                let mut body = self.inner_body(&mut inner, depth);
                let key = self.term(&Type::String, &mut inner, depth.min(1));
                let value = self.term(of, &mut inner, depth);
                self.use_up(&mut inner, &mut body, &format!("{key} {value}"));
                format!("{{{key}: {value} | {}}}", body.join("; "))
            }
            8 if self.chance(40) => {
                self.hit("equal keys in an object comprehension");
                let list = self.source(&Type::array(Type::Number), scope);
                format!("{{q: q | q := {list}[_]}}")
            }
            8 => self.call(
                "object.union",
                &[Type::object(of.clone()), Type::object(of.clone())],
                scope,
                depth,
            ),
            9 => self.call(
                "object.remove",
                &[Type::object(of.clone()), Type::array(Type::String)],
                scope,
                depth,
            ),
            _ => {
                let name = ["object.filter", "json.remove"][self.below(2)];
                self.call(
                    name,
                    &[Type::object(of.clone()), Type::array(Type::String)],
                    scope,
                    depth,
                )
            }
        }
    }

    fn comprehension(&mut self, of: &Type, scope: &mut Scope, depth: usize) -> (String, String) {
        let mut inner = scope.inner();
        let mut body = self.inner_body(&mut inner, depth);
        // A comprehension is about the names that its body binds.
        let head = match self.variable(of, &inner) {
            Some(name) if self.chance(60) => name,
            _ => self.term(of, &mut inner, depth),
        };
        self.use_up(&mut inner, &mut body, &head);
        // `[a | b | c]` is the union of `a` and `b`, and so on.
        let head = if head.contains('|') { format!("({head})") } else { head };
        (head, body.join("; "))
    }

    /// Generates the body of a comprehension.
    pub(super) fn inner_body(&mut self, inner: &mut Scope, depth: usize) -> Vec<String> {
        let count = [1, 1, 2, 2, 3][self.below(5)];
        let mut body = vec![self.iteration(inner, depth.min(1))];
        body.extend(self.body(inner, count - 1, depth));
        body
    }
}
