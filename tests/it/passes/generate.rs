//! Random policies: every way in which Rego can use, hide or depend on an answer.
//!
//! Owns the policies' text. Rules refer to earlier ones only, so nothing is recursive. `world` owns
//! the service's answers.

use std::fmt::Write as _;

use super::world::{NODES, digest, mix, store};

/// The type of a rule, for those that refer to it.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Bool,
    Number,
    Node,
    Digests,
    Object,
    Function,
}

pub struct Generator {
    world: u64,
    state: u64,
    rules: Vec<(String, Type)>,
    text: String,
    variables: usize,
}

/// Returns the policy of a case; `data.p.out` is its answer.
pub fn policy(world: u64) -> String {
    let text = "package p\n\nroot := platform.discover(input.d[0], \"\")\n".to_owned();
    let mut generator = Generator { world, state: 1, rules: Vec::new(), text, variables: 0 };
    let rules = 2 + generator.below(6);
    for index in 0..rules {
        generator.rule(usize::try_from(index).unwrap());
    }
    for (name, kind) in generator.rules.clone() {
        if kind == Type::Function {
            let digest = generator.digest(0);
            let _ = writeln!(
                generator.text,
                "out[k] := v if {{\n\tk := \"{name}\"\n\tv := {name}({digest})\n}}"
            );
        } else {
            let _ =
                writeln!(generator.text, "out[k] := v if {{\n\tk := \"{name}\"\n\tv := {name}\n}}");
        }
    }
    generator.text
}

impl Generator {
    fn next(&mut self) -> u64 {
        self.state += 1;
        mix(&[self.world, self.state, 99])
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn variable(&mut self) -> String {
        self.variables += 1;
        format!("v{}", self.variables)
    }

    fn known(&mut self, kind: Type) -> Option<String> {
        let all: Vec<String> =
            self.rules.iter().filter(|(_, k)| *k == kind).map(|(name, _)| name.clone()).collect();
        let chosen = usize::try_from(self.next()).unwrap_or(0) % all.len().max(1);
        all.get(chosen).cloned()
    }

    fn digest(&mut self, depth: u64) -> String {
        match self.below(12) {
            0 => format!("\"{}\"", digest(self.world, self.next() % NODES)),
            1 if depth > 0 => format!("input.d[{} % {NODES}]", self.count(depth - 1)),
            2 | 3 if depth > 0 => {
                let (node, at) = (self.node(depth - 1), self.below(3));
                format!("{node}.references[{at}].digest")
            }
            // A literal that isn't a valid digest would be refused on load.
            4 if self.below(8) == 0 => "concat(\":\", [\"sha256\", \"wrong\"])".to_owned(),
            5 if self.below(4) == 0 => format!("sprintf(\"%s\", [input.d[{}]])", self.below(NODES)),
            _ => format!("input.d[{}]", self.below(NODES)),
        }
    }

    fn kind(&mut self, depth: u64) -> String {
        match self.below(16) {
            0 if self.below(6) == 0 => "\"BAD\"".to_owned(),
            1 => "null".to_owned(),
            2 if depth > 0 => format!("object.get({}, \"kind\", \"\")", self.node(depth - 1)),
            _ => "\"\"".to_owned(),
        }
    }

    fn node(&mut self, depth: u64) -> String {
        if let (0 | 1, Some(rule)) = (self.below(4), self.known(Type::Node)) {
            return rule;
        }
        if let (0, Some(function)) = (self.below(4), self.known(Type::Function)) {
            return format!("{function}({})", self.digest(depth));
        }
        match self.below(6) {
            0 => "root".to_owned(),
            _ => format!("platform.discover({}, {})", self.digest(depth), self.kind(depth)),
        }
    }

    /// Generates a number that is never negative.
    fn count(&mut self, depth: u64) -> String {
        match self.below(7) {
            0 | 1 => format!("count({}.references)", self.node(depth)),
            2 => {
                let (world, node) = (self.world, self.below(NODES));
                format!(
                    "count(platform.evidence({{\"project_name\": \"{world}-{node}\"}}).results)"
                )
            }
            3 => format!("count({})", self.digests(depth)),
            4 => {
                let (world, node) = (self.world, self.below(NODES));
                format!("count(platform.evidence_prompt(\"{world}-{node}\", \"fine?\").violations)")
            }
            5 => {
                let digest = store(self.world, self.below(NODES));
                format!("json.unmarshal(platform.download_artifact(\"{digest}\")).size")
            }
            _ => self.below(4).to_string(),
        }
    }

    fn number(&mut self, depth: u64) -> String {
        match self.below(8) {
            0 => format!("{}.score", self.node(depth)),
            1 => format!("object.get({}, \"score\", 7)", self.node(depth)),
            2 if depth > 0 => format!("{} + {}", self.number(depth - 1), self.number(depth - 1)),
            3 => {
                let (x, node) = (self.variable(), self.node(depth));
                format!("sum([{x}.rank | some {x} in {node}.references])")
            }
            4 => self.known(Type::Number).unwrap_or_else(|| "1".to_owned()),
            5 => format!("max([0, {}])", self.count(depth)),
            6 if depth > 0 && self.below(3) == 0 => {
                format!("10 / {}", self.number(depth - 1))
            }
            _ => self.count(depth),
        }
    }

    /// Generates a set of digests.
    fn digests(&mut self, depth: u64) -> String {
        if let (0, Some(rule)) = (self.below(3), self.known(Type::Digests)) {
            return rule;
        }
        let (x, node) = (self.variable(), self.node(depth.saturating_sub(1)));
        let condition = match self.below(4) {
            0 => format!("; platform.discover({x}.digest, \"\").public"),
            1 => format!("; not platform.discover({x}.digest, {x}.kind).downloadable"),
            2 => format!("; {x}.rank > {}", self.below(4)),
            _ => String::new(),
        };
        format!("{{{x}.digest | some {x} in {node}.references{condition}}}")
    }

    fn bool(&mut self, depth: u64) -> String {
        match self.below(8) {
            0 | 1 => format!("{}.public", self.node(depth)),
            2 => format!("{} > {}", self.number(depth), self.number(depth.saturating_sub(1))),
            3 => format!("{}.kind == \"K{}\"", self.node(depth), self.below(3)),
            4 => {
                self.known(Type::Bool).map_or_else(|| "true".to_owned(), |r| format!("{r} == true"))
            }
            5 => format!("input.d[{}] in {}", self.below(NODES), self.digests(depth)),
            6 => match self.below(3) {
                0 => "time.now_ns() == time.now_ns()".to_owned(),
                1 => "uuid.rfc4122(\"a\") != \"\"".to_owned(),
                _ => "rand.intn(\"k\", 5) < 5".to_owned(),
            },
            _ => format!("{} == {}", self.count(depth), self.below(3)),
        }
    }

    fn statement(&mut self, depth: u64) -> String {
        match self.below(14) {
            0 | 1 => format!("not {}", self.bool(depth)),
            2 | 3 => {
                let (x, node, least) = (self.variable(), self.node(depth), self.below(NODES));
                format!(
                    "some {x} in {node}.references\n\t{x}.rank >= {least}\n\tplatform.discover({x}.digest, \"\").score > 1"
                )
            }
            4 | 5 => {
                let (x, node) = (self.variable(), self.node(depth));
                let body = match self.below(3) {
                    0 => format!("platform.discover({x}.digest, \"\").public"),
                    1 => format!("not platform.discover({x}.digest, \"\").public"),
                    _ => format!("{x}.rank < 6; {}", self.bool(0)),
                };
                format!("every {x} in {node}.references {{ {body} }}")
            }
            6 => {
                let (x, node) = (self.variable(), self.node(depth));
                format!("{x} := {node}\n\tcount({x}.references) > 0")
            }
            7 => format!("print(\"said\", {}, {})", self.number(depth), self.bool(0)),
            8 => {
                let d = self.digest(0);
                format!("{} with input.d as [{d}, {d}, {d}, {d}]", self.plain_bool(depth))
            }
            9 => {
                let rule = self.known(Type::Bool).unwrap_or_else(|| "root.public".to_owned());
                format!("{rule} with input as input.other")
            }
            10 => {
                let rule = self.known(Type::Number).unwrap_or_else(|| "data.limit".to_owned());
                format!("{rule} >= 0 with data.limit as {}", self.below(3))
            }
            _ => self.bool(depth),
        }
    }

    /// Generates an expression that a `with` may follow.
    fn plain_bool(&mut self, depth: u64) -> String {
        let node = self.node(depth);
        if self.below(2) == 0 { format!("{node}.public") } else { format!("{node}.score > 1") }
    }

    fn body(&mut self, depth: u64) -> String {
        let statements: Vec<String> = (0..=self.below(2)).map(|_| self.statement(depth)).collect();
        statements.join("\n\t")
    }

    fn rule(&mut self, index: usize) {
        let name = format!("r{index}");
        let text = match self.below(10) {
            0 | 1 => self.complete(&name, Type::Bool),
            2 | 3 => self.complete(&name, Type::Number),
            4 => {
                self.rules.push((name.clone(), Type::Node));
                let node = self.node_without(&name);
                let body = self.body_without(&name);
                format!("{name} := {node} if {{\n\t{body}\n}}\n")
            }
            5 | 6 => {
                let mut text = String::new();
                for _ in 0..=self.below(2) {
                    let (x, node) = (self.variable(), self.node(1));
                    let body = self.body(1);
                    let _ = writeln!(
                        text,
                        "{name} contains {x}.digest if {{\n\tsome {x} in {node}.references\n\t{body}\n}}"
                    );
                }
                self.rules.push((name, Type::Digests));
                text
            }
            7 => {
                let (x, node) = (self.variable(), self.node(1));
                let (value, body) = (self.number(1), self.body(0));
                self.rules.push((name.clone(), Type::Object));
                format!(
                    "{name}[{x}.digest] := {value} if {{\n\tsome {x} in {node}.references\n\t{body}\n}}\n"
                )
            }
            _ => self.function(name),
        };
        self.text.push_str(&text);
    }

    /// Generates a node that doesn't refer to the rule that is being generated.
    fn node_without(&mut self, name: &str) -> String {
        loop {
            let node = self.node(1);
            if !node.contains(name) {
                return node;
            }
        }
    }

    fn body_without(&mut self, name: &str) -> String {
        loop {
            let body = self.body(1);
            if !body.contains(name) {
                return body;
            }
        }
    }

    fn complete(&mut self, name: &str, kind: Type) -> String {
        let value = |g: &mut Self| match kind {
            Type::Bool => "true".to_owned(),
            _ => g.number(1),
        };
        let mut text = String::new();
        if self.below(3) == 0 {
            let default = if kind == Type::Bool { "false" } else { "0" };
            let _ = writeln!(text, "default {name} := {default}");
        }
        for _ in 0..=self.below(3).min(1) {
            let (result, body) = (value(self), self.body(2));
            let _ = write!(text, "{name} := {result} if {{\n\t{body}\n}}");
            if self.below(4) == 0 {
                let (result, body) = (value(self), self.body(1));
                let _ = write!(text, " else := {result} if {{\n\t{body}\n}}");
            }
            text.push('\n');
        }
        self.rules.push((name.to_owned(), kind));
        text
    }

    fn function(&mut self, name: String) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(3) {
            let body = self.body(1);
            let node = match self.below(3) {
                0 => "platform.discover(x, \"\")".to_owned(),
                1 => format!(
                    "{{\"public\": true, \"score\": {}, \"references\": []}}",
                    self.number(1)
                ),
                _ => self.node(1),
            };
            let _ = writeln!(text, "{name}(x) := {node} if {{\n\tx != \"\"\n\t{body}\n}}");
        }
        self.rules.push((name, Type::Function));
        text
    }
}
