//! Expressions of a kind, and the conditions of rule bodies.

use super::documents;
use super::plan::{KINDS, Kind, Plan, SHARED_NAMES, Symbol};

/// The writing of one definition of one rule.
pub(super) struct Scope<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) file: usize,
    /// Local variables that can be used here.
    pub(super) locals: Vec<(String, Kind)>,
    /// Names that the definition has declared, in whatever part of it.
    declared: Vec<String>,
    /// Names under which it has used something from outside.
    used: Vec<String>,
    /// How many expressions it may still nest or add.
    budget: usize,
    pub(super) in_function: bool,
}

impl<'a> Scope<'a> {
    pub(super) fn new(plan: &'a mut Plan, file: usize) -> Self {
        Self {
            plan,
            file,
            locals: Vec::new(),
            declared: Vec::new(),
            used: Vec::new(),
            budget: 40,
            in_function: false,
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.plan.random.chance(percent)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.plan.random.below(bound)
    }

    /// Declares a local variable under a name that nothing in this definition stands for.
    pub(super) fn declare(&mut self, kind: Kind) -> String {
        let name = if self.chance(30) {
            (*self.plan.random.pick(&SHARED_NAMES)).to_owned()
        } else {
            format!("v{}", self.declared.len())
        };
        let free = !self.declared.contains(&name) && !self.used.contains(&name);
        let name = if free { name } else { format!("w{}", self.declared.len()) };
        self.declared.push(name.clone());
        self.locals.push((name.clone(), kind));
        name
    }

    /// An expression of `kind`.
    pub(super) fn expression(&mut self, kind: Kind) -> String {
        if self.budget == 0 {
            return self.constant(kind);
        }
        self.budget -= 1;
        match self.below(10) {
            0 | 1 => self.constant(kind),
            2 | 3 => self.local(kind),
            4 | 5 => self.document(kind),
            6 | 7 => self.symbol(kind),
            _ => self.compound(kind),
        }
    }

    /// A constant of `kind`.
    pub(super) fn constant(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Bool => if self.chance(60) { "true" } else { "false" }.to_owned(),
            Kind::Number => self.below(6).to_string(),
            Kind::Text => format!("\"{}\"", self.plan.random.pick(&documents::TEXTS)),
            Kind::Numbers => format!("[{}, {}]", self.below(5), self.below(5)),
            Kind::Texts => {
                let one = self.plan.random.pick(&documents::TEXTS);
                format!("{{\"{one}\", \"b\"}}")
            }
            Kind::Levels => format!("{{\"a\": {}, \"c\": {}}}", self.below(5), self.below(5)),
        }
    }

    fn local(&mut self, kind: Kind) -> String {
        let fitting: Vec<String> =
            self.locals.iter().filter(|(_, k)| *k == kind).map(|(name, _)| name.clone()).collect();
        if fitting.is_empty() {
            return self.document(kind);
        }
        self.plan.random.pick(&fitting).clone()
    }

    /// A value from the input or the base documents, directly or through an alias.
    fn document(&mut self, kind: Kind) -> String {
        if kind == Kind::Texts {
            return format!("{{t | t := {}}}", self.document(Kind::Text));
        }
        let (root, path) = if self.chance(60) {
            ("input".to_owned(), documents::in_input(kind, &mut self.plan.random))
        } else {
            let root = format!("data.{}.conf", self.plan.root);
            (root, documents::in_conf(kind, &mut self.plan.random))
        };
        let root = if self.chance(40) { self.aliased(root) } else { root };
        format!("{root}.{path}")
    }

    fn aliased(&mut self, target: String) -> String {
        match self.plan.alias(self.file, &target, None, &self.declared) {
            Some(alias) => {
                self.used.push(alias.clone());
                alias
            }
            None => target,
        }
    }

    fn symbol(&mut self, kind: Kind) -> String {
        match self.plan.symbol(|symbol| symbol.kind == kind) {
            Some(symbol) => self.refer(&symbol),
            None => self.document(kind),
        }
    }

    /// A reference to a rule, or a call with fitting arguments.
    fn refer(&mut self, symbol: &Symbol) -> String {
        let name = self.spell(symbol);
        match &symbol.params {
            None => name,
            Some(params) => {
                let arguments: Vec<String> = params.iter().map(|&k| self.expression(k)).collect();
                format!("{name}({})", arguments.join(", "))
            }
        }
    }

    fn spell(&mut self, symbol: &Symbol) -> String {
        let name = self.plan.spell(self.file, symbol, &self.declared);
        let first = name.split(['.', '[']).next().unwrap_or_default().to_owned();
        self.used.push(first);
        name
    }

    fn compound(&mut self, kind: Kind) -> String {
        match kind {
            Kind::Bool => self.condition_value(),
            Kind::Number => self.number(),
            Kind::Text => self.text(),
            Kind::Numbers => self.numbers(),
            Kind::Texts => self.texts(),
            Kind::Levels => self.levels(),
        }
    }

    fn condition_value(&mut self) -> String {
        let text = self.expression(Kind::Text);
        match self.below(5) {
            0 => format!("startswith({text}, \"a\")"),
            3 => format!("({text} in {})", self.expression(Kind::Texts)),
            4 => {
                let (key, value) = (self.expression(Kind::Number), self.expression(Kind::Number));
                format!("({key}, {value} in {})", self.expression(Kind::Numbers))
            }
            1 => format!("contains({text}, \"l\")"),
            _ => format!("is_string({text})"),
        }
    }

    fn number(&mut self) -> String {
        match self.below(8) {
            0 => format!("count({})", self.expression(Kind::Texts)),
            1 => format!("sum({})", self.expression(Kind::Numbers)),
            2 => format!("max({})", self.expression(Kind::Numbers)),
            3 => format!("({} + {})", self.expression(Kind::Number), self.expression(Kind::Number)),
            4 => format!("({} * {})", self.expression(Kind::Number), self.expression(Kind::Number)),
            5 => format!("({} - {})", self.expression(Kind::Number), self.expression(Kind::Number)),
            6 => format!("count({})", self.expression(Kind::Levels)),
            _ => format!("object.get({}, \"a\", 7)", self.expression(Kind::Levels)),
        }
    }

    fn text(&mut self) -> String {
        match self.below(4) {
            0 => format!("upper({})", self.expression(Kind::Text)),
            1 => format!("concat(\"-\", {})", self.expression(Kind::Texts)),
            2 => format!("sprintf(\"%v/%s\", [{}, \"s\"])", self.expression(Kind::Number)),
            _ => format!("trim_prefix({}, \"a\")", self.expression(Kind::Text)),
        }
    }

    fn numbers(&mut self) -> String {
        match self.below(4) {
            0 => self.comprehension('[', Kind::Number, ']'),
            1 => format!(
                "array.concat({}, {})",
                self.expression(Kind::Numbers),
                self.expression(Kind::Numbers)
            ),
            2 => format!("sort({})", self.expression(Kind::Numbers)),
            _ => format!("[{}, {}]", self.expression(Kind::Number), self.expression(Kind::Number)),
        }
    }

    fn texts(&mut self) -> String {
        match self.below(4) {
            0 => self.comprehension('{', Kind::Text, '}'),
            1 => format!("({} | {})", self.expression(Kind::Texts), self.expression(Kind::Texts)),
            2 => format!("({} - {})", self.expression(Kind::Texts), self.expression(Kind::Texts)),
            _ => format!("object.keys({})", self.expression(Kind::Levels)),
        }
    }

    fn levels(&mut self) -> String {
        let outer = self.locals.len();
        match self.below(3) {
            0 => {
                let domain = self.domain(Kind::Levels);
                let (k, v) = (self.declare(Kind::Text), self.declare(Kind::Number));
                let condition = self.condition();
                let value = self.expression(Kind::Number);
                self.locals.truncate(outer);
                format!("{{{k}: {value} | some {k}, {v} in {domain}; {condition}}}")
            }
            1 => format!(
                "object.union({}, {})",
                self.expression(Kind::Levels),
                self.expression(Kind::Levels)
            ),
            _ => format!("{{{}: {}}}", self.expression(Kind::Text), self.expression(Kind::Number)),
        }
    }

    fn comprehension(&mut self, open: char, kind: Kind, close: char) -> String {
        let outer = self.locals.len();
        let iteration = self.iteration();
        let condition = self.condition();
        let head = self.expression(kind);
        self.locals.truncate(outer);
        format!("{open}{head} | {iteration}; {condition}{close}")
    }

    /// A statement that binds variables, one or many times.
    pub(super) fn iteration(&mut self) -> String {
        match self.below(6) {
            0 => {
                let domain = self.domain(Kind::Levels);
                let (k, v) = (self.declare(Kind::Text), self.declare(Kind::Number));
                format!("some {k}, {v} in {domain}")
            }
            1 => {
                let domain = self.domain(Kind::Texts);
                format!("some {} in {domain}", self.declare(Kind::Text))
            }
            2 => {
                let name = self.declare(Kind::Number);
                format!("{name} := data.{}.items[_].n", self.plan.root)
            }
            3 => {
                let name = self.declare(Kind::Text);
                format!("some {name}; data.{}.conf.levels[{name}]", self.plan.root)
            }
            4 => {
                let kind = *self.plan.random.pick(&KINDS);
                let value = self.expression(kind);
                format!("{} := {value}", self.declare(kind))
            }
            _ => {
                let domain = self.domain(Kind::Numbers);
                format!("some {} in {domain}", self.declare(Kind::Number))
            }
        }
    }

    /// What is iterated over. In functions no comprehension: OPA's type checker loses the types
    /// of arguments in there, and refuses.
    fn domain(&mut self, kind: Kind) -> String {
        if !self.in_function {
            return self.expression(kind);
        }
        match kind {
            Kind::Texts => format!("object.keys({})", self.document(Kind::Levels)),
            kind if self.chance(30) => self.constant(kind),
            kind => self.document(kind),
        }
    }

    /// A statement that holds or doesn't.
    pub(super) fn condition(&mut self) -> String {
        if self.below(400) == 0
            && let Some(condition) = self.whole_package()
        {
            return condition;
        }
        match self.below(12) {
            0..=3 => {
                let kind = *self.plan.random.pick(&[Kind::Number, Kind::Text, Kind::Number]);
                let operator = *self.plan.random.pick(&["==", "!=", "<", ">=", ">"]);
                format!("{} {operator} {}", self.expression(kind), self.expression(kind))
            }
            4 => format!("{} in {}", self.expression(Kind::Number), self.expression(Kind::Numbers)),
            5 => format!("{} in {}", self.expression(Kind::Text), self.expression(Kind::Texts)),
            6 | 7 => format!("not {}", self.negatable()),
            8 => self.every(),
            9 => self.replaced(),
            _ => self.expression(Kind::Bool),
        }
    }

    /// Something about a package as a value. It gets no rules from here on, or rules could come to
    /// depend on themselves.
    fn whole_package(&mut self) -> Option<String> {
        let home = self.plan.files[self.file].package;
        let open = |p: &usize| {
            let family = &self.plan.packages[*p].family;
            // OPA's type checker has no type for a package with a function in it.
            let functions = self.plan.symbols.iter().filter(|symbol| symbol.params.is_some());
            let without = functions.map(|f| f.package).all(|package| !family.contains(&package));
            let ruled = self.plan.symbols.iter().any(|symbol| symbol.package == *p);
            !family.contains(&home) && without && ruled
        };
        let others: Vec<usize> = (0..self.plan.packages.len()).filter(open).collect();
        if others.is_empty() {
            return None;
        }
        let package = *self.plan.random.pick(&others);
        for related in self.plan.packages[package].family.clone() {
            self.plan.packages[related].closed = true;
        }
        let path = format!("data.{}", self.plan.packages[package].path);
        let path = if self.chance(50) { self.aliased(path) } else { path };
        Some(if self.chance(50) {
            format!("count({path}) > {}", self.below(4))
        } else {
            let name = self.declare(Kind::Text);
            format!("some {name}; {path}[{name}]")
        })
    }

    fn negatable(&mut self) -> String {
        match self.below(3) {
            0 => format!("{} in {}", self.expression(Kind::Text), self.expression(Kind::Texts)),
            1 => format!("{} > {}", self.expression(Kind::Number), self.expression(Kind::Number)),
            _ => self.expression(Kind::Bool),
        }
    }

    fn every(&mut self) -> String {
        let outer = self.locals.len();
        let domain = self.expression(Kind::Numbers);
        let name = self.declare(Kind::Number);
        let condition = self.condition();
        self.locals.truncate(outer);
        format!("every {name} in {domain} {{ {name} >= 0; {condition} }}")
    }

    /// A symbol's value with something it depends on replaced.
    fn replaced(&mut self) -> String {
        let Some(symbol) = self.plan.symbol(|symbol| symbol.kind == Kind::Number) else {
            return self.expression(Kind::Bool);
        };
        let reference = self.refer(&symbol);
        let replacement = self.replacement();
        let again = if self.chance(25) { self.replacement() } else { String::new() };
        let limit = self.below(6);
        let operator = *self.plan.random.pick(&["==", ">", "<="]);
        let negation = if self.chance(25) { "not " } else { "" };
        format!("{negation}{reference} {operator} {limit}{replacement}{again}")
    }

    /// What stands behind `as`: a constant, or what has to be evaluated first.
    fn given(&mut self, kind: Kind) -> String {
        if self.chance(40) { self.constant(kind) } else { self.expression(kind) }
    }

    pub(super) fn replacement(&mut self) -> String {
        match self.below(9) {
            0 => format!(" with input as {{\"n\": {}}}", self.given(Kind::Number)),
            1 => format!(" with input.n as {}", self.given(Kind::Number)),
            2 => format!(" with input.m.a as {}", self.given(Kind::Number)),
            3 => {
                let limit = self.given(Kind::Number);
                format!(" with data.{}.conf.limit as {limit}", self.plan.root)
            }
            4 => " with upper as \"UP\"".to_owned(),
            5 => format!(" with input as data.{}.conf", self.plan.root),
            6 => self.replace_function(),
            _ => match self.plan.symbol(|s| s.complete) {
                Some(symbol) => self.replace_symbol(&symbol),
                None => " with input.ok as true".to_owned(),
            },
        }
    }

    fn replace_symbol(&mut self, symbol: &Symbol) -> String {
        // The whole path: what an alias means as a target is a matter of its own.
        let path = &self.plan.packages[symbol.package].path;
        let target = format!("data.{path}.{}", symbol.name);
        let value = self.given(symbol.kind);
        format!(" with {target} as {value}")
    }

    /// A function by another one with arguments of the same kinds, or by a value.
    fn replace_function(&mut self) -> String {
        let Some(target) = self.plan.symbol(|s| s.params.is_some()) else {
            return format!(" with input.xs as {}", self.given(Kind::Numbers));
        };
        let same = |s: &Symbol| s.params == target.params && s.kind == target.kind;
        let path =
            |plan: &Plan, s: &Symbol| format!("data.{}.{}", plan.packages[s.package].path, s.name);
        let value = match self.plan.symbol(|s| same(s) && s.name != target.name) {
            Some(other) => path(self.plan, &other),
            None => self.constant(target.kind),
        };
        format!(" with {} as {value}", path(self.plan, &target))
    }
}
