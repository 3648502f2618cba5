//! Dependencies of rules: rules, calls, inputs and data.
//!
//! Owns the questions that a gate asks before it trusts a verdict: whether `result` depends on a
//! verdict rule beside it, how the policies use `input`, which calls of the service a verdict can
//! make, and whether a part of the data is used. The answers come from the compiled policies and
//! their graph of rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rego_platform::Position;
use rego_platform::check::{INPUT_FILE, SIGNERS};
use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::rego::syntax::tree::{Expr, ExprKind, FileId, Span, Term, TermKind, With};
use rego_platform::rego::syntax::visit::{Node, Visit, walk_expr, walk_term, walk_with};
use rego_platform_client::text::data_reference;

use crate::input::ARGUMENTS;

/// The dependencies of the rules of one load.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The rules that each rule depends on, by path.
    edges: BTreeMap<String, BTreeSet<String>>,
    sites: BTreeMap<String, Vec<Site>>,
    /// The direct references of each rule.
    reads: BTreeMap<String, Reads>,
    data: Vec<(Vec<String>, Span)>,
}

/// The direct and indirect references of rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reads {
    references: BTreeSet<InputReference>,
    /// The arguments.
    pub arguments: Names,
    /// The fields of the input.
    pub fields: Names,
}

/// A property of an input that a rule can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InputReference {
    /// `input`.
    Input,
    /// The field of the input's metadata, by its name.
    Metadata,
    /// The file of the input ([`INPUT_FILE`]).
    File,
    /// The signers of the input ([`SIGNERS`]).
    Signers,
    /// Any member of `data`: the name isn't constant.
    AnyData,
}

impl Reads {
    /// Returns `true` if one of the rules has this reference.
    pub fn has(&self, reference: InputReference) -> bool {
        self.references.contains(&reference)
    }

    fn extend(&mut self, more: Self) {
        self.references.extend(more.references);
        self.arguments.extend(more.arguments);
        self.fields.extend(more.fields);
    }
}

/// References to members of `input`, or of `input.args`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Names {
    /// The names of members.
    pub keys: BTreeSet<String>,
    /// `true` if a reference may be to any member: to the entire object, or with a variable.
    pub any: bool,
}

/// A call of the service, or of a built-in that accesses the network, in a policy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Site {
    /// The function's full name.
    pub function: String,
    pub position: Position,
}

impl Reach {
    /// Reads the graph of rules and the compiled modules. Data used only by test suites is ignored.
    pub fn new(policies: &Policies) -> Self {
        let field = policies.product().metadata_field();
        let program = policies.program();
        let rules = program.rules();
        let path = |index: &usize| rules.get(*index).map(|rule| rule.path.clone());
        let edges = rules
            .iter()
            .map(|rule| (rule.path.clone(), rule.depends_on.iter().filter_map(path).collect()))
            .collect();
        let mut sites: BTreeMap<String, Vec<Site>> = BTreeMap::new();
        for site in program.call_sites() {
            let Some(rule) = site.rule.as_ref().and_then(path) else { continue };
            sites.entry(rule).or_default().push(Site {
                function: site.name.to_string(),
                position: position(program.sources(), site.span),
            });
        }
        let places: HashMap<(FileId, u32), &String> = rules
            .iter()
            .flat_map(|rule| rule.definitions.iter().map(move |span| (place(*span), &rule.path)))
            .collect();
        // A gate doesn't evaluate test suites, so the data that they use doesn't matter.
        let suites: BTreeSet<&str> = policies
            .packages()
            .filter(|package| package.is_suite)
            .flat_map(|package| package.files.iter().map(String::as_str))
            .collect();
        let (mut data, mut reads) = (Vec::new(), BTreeMap::<String, Reads>::new());
        for module in &program.compiled().modules {
            let file = program.sources().get(module.span.file).map_or("", |s| s.path());
            for rule in module.rules.iter().filter(|_| !suites.contains(file)) {
                let mut references = References { field: &field, ..References::default() };
                references.rule(rule);
                references.add_unused();
                let References { reads: mut own, data: named, .. } = references;
                for (reference, at) in
                    [(InputReference::File, INPUT_FILE), (InputReference::Signers, SIGNERS)]
                {
                    if named.iter().any(|(path, _)| may_reach(path, &at)) {
                        own.references.insert(reference);
                    }
                }
                if named.iter().any(|(path, _)| path.is_empty()) {
                    own.references.insert(InputReference::AnyData);
                }
                data.extend(named);
                let Some(path) = places.get(&place(rule.span)) else { continue };
                reads.entry((*path).clone()).or_default().extend(own);
            }
        }
        Self { edges, sites, reads, data }
    }

    /// Returns the rules that some rules of a package depend on, including themselves.
    fn reached<'r>(
        &self,
        package: &[String],
        rules: impl Iterator<Item = &'r str>,
    ) -> BTreeSet<String> {
        self.with_dependencies(rules.map(|rule| rule_path(package, rule)).collect())
    }

    /// Returns these rules and their dependencies.
    fn with_dependencies(&self, mut open: Vec<String>) -> BTreeSet<String> {
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(at) = open.pop() {
            for next in self.edges.get(&at).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    }

    /// Returns the calls that some rules of a package can make, in the order of the text.
    pub fn sites<'r>(&self, package: &[String], rules: impl Iterator<Item = &'r str>) -> Vec<Site> {
        let reached = self.reached(package, rules);
        let mut found: Vec<Site> = reached
            .iter()
            .flat_map(|rule| self.sites.get(rule).into_iter().flatten())
            .cloned()
            .collect();
        let place =
            |site: &Site| (site.position.file.clone(), site.position.line, site.position.column);
        found.sort_by_key(place);
        found.dedup();
        found
    }

    /// Returns a path below `data` outside of this package that a policy refers to, with its position.
    pub fn outside(&self, package: &[String]) -> Option<(&[String], Span)> {
        let is_own =
            |looked: &[String]| looked.iter().zip(package).all(|(own, other)| own == other);
        let mut data = self.data.iter().map(|(looked, span)| (looked.as_slice(), *span));
        data.find(|(looked, _)| !is_own(looked))
    }

    /// Returns the references of rules of a package and of their dependencies.
    pub fn reads<'r>(&self, package: &[String], rules: impl Iterator<Item = &'r str>) -> Reads {
        let mut found = Reads::default();
        for rule in self.reached(package, rules) {
            found.extend(self.reads.get(&rule).cloned().unwrap_or_default());
        }
        found
    }

    /// Returns `true` if the rule `from` of a package depends on `rule` of the same package.
    pub fn reaches(&self, package: &[String], from: &str, rule: &str) -> bool {
        let (from, wanted) = (rule_path(package, from), rule_path(package, rule));
        let direct = self.edges.get(&from).into_iter().flatten().cloned();
        self.with_dependencies(direct.collect()).contains(&wanted)
    }
}

impl Names {
    /// Returns `true` if a member is read.
    pub fn has(&self, key: &str) -> bool {
        self.any || self.keys.contains(key)
    }

    fn extend(&mut self, more: Self) {
        self.any |= more.any;
        self.keys.extend(more.keys);
    }

    /// Adds a reference with this operand after the object.
    fn refer(&mut self, operand: Option<&Term>) {
        match operand.map(|term| &term.kind) {
            Some(TermKind::String(key)) => {
                self.keys.insert(key.to_string());
            }
            _ => self.any = true,
        }
    }
}

/// The prefix of names that the compiler makes.
const GENERATED: &str = "__local";

/// The references of a rule to `input` and `data`.
#[derive(Default)]
struct References<'f> {
    /// The field of the input's metadata.
    field: &'f str,
    /// The references to the input.
    reads: Reads,
    /// The constant names of each path below `data`, with its position.
    data: Vec<(Vec<String>, Span)>,
    /// The operands of references to the input that the compiler gave names to, since they are arguments of calls.
    named: HashMap<String, Vec<Term>>,
    /// Those of these names that were used.
    used: BTreeSet<String>,
}

impl References<'_> {
    /// Adds a reference to the input with these operands.
    fn input(&mut self, operands: &[&Term]) {
        self.reads.references.insert(InputReference::Input);
        self.reads.fields.refer(operands.first().copied());
        match operands.first().map(|term| &term.kind) {
            Some(TermKind::String(field)) if **field != *ARGUMENTS => {}
            Some(TermKind::String(_)) => self.reads.arguments.refer(operands.get(1).copied()),
            _ => self.reads.arguments.any = true,
        }
    }

    /// Records the name that the compiler gave to a reference to the input. Returns `false` for other statements.
    fn name(&mut self, call: &[Term]) -> bool {
        let [function, name, value] = call else { return false };
        let TermKind::Var(name) = &name.kind else { return false };
        let is_generated = name.starts_with(GENERATED) && function_name(function) == "eq";
        let Some(operands) = of_input(value).filter(|_| is_generated) else { return false };
        for term in &operands {
            self.term(term);
        }
        self.named.insert(name.to_string(), operands);
        true
    }

    /// Returns the operands of the reference that has a name.
    fn named(&mut self, name: &str) -> Option<Vec<Term>> {
        let named = self.named.get(name).cloned();
        self.used.extend(named.is_some().then(|| name.to_owned()));
        named
    }

    /// Adds the references whose names nothing uses: they are read for their own sake.
    fn add_unused(&mut self) {
        for (name, operands) in std::mem::take(&mut self.named) {
            if !self.used.contains(&name) {
                self.input(&operands.iter().collect::<Vec<_>>());
            }
        }
    }

    /// Adds the reference that a look-up with a default makes: `object.get(input, ["args", "max"], 80)` reads what
    /// `input.args.max` reads. Returns `false` for other calls.
    fn look_up(&mut self, call: &[Term]) -> bool {
        let [function, object, path, rest @ ..] = call else { return false };
        if function_name(function) != "object.get" {
            return false;
        }
        let named = match &object.kind {
            TermKind::Var(name) => self.named(name),
            _ => None,
        };
        let Some(operands) = named.or_else(|| of_input(object)) else { return false };
        let path = match &path.kind {
            TermKind::Array(path) => path.as_slice(),
            _ => std::slice::from_ref(path),
        };
        self.input(&operands.iter().chain(path).collect::<Vec<_>>());
        for term in operands.iter().chain(path).chain(rest) {
            self.term(term);
        }
        true
    }
}

/// Returns the operands of a reference to the input.
fn of_input(term: &Term) -> Option<Vec<Term>> {
    let parts = match &term.kind {
        TermKind::Ref(parts) => parts.as_slice(),
        _ => std::slice::from_ref(term),
    };
    let (head, operands) = parts.split_first()?;
    let is_input = matches!(&head.kind, TermKind::Var(name) if **name == *"input");
    is_input.then(|| operands.to_vec())
}

/// Returns the name of the function of a call.
fn function_name(term: &Term) -> String {
    let parts = match &term.kind {
        TermKind::Ref(parts) => parts.as_slice(),
        _ => std::slice::from_ref(term),
    };
    let name = |part: &Term| match &part.kind {
        TermKind::Var(name) | TermKind::String(name) => name.to_string(),
        _ => String::new(),
    };
    parts.iter().map(name).collect::<Vec<_>>().join(".")
}

impl Visit for References<'_> {
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Call(call) if self.name(call) || self.look_up(call) => {
                expr.with.iter().for_each(|with| self.with(with));
            }
            _ => walk_expr(self, expr),
        }
    }

    fn term(&mut self, term: &Term) {
        if let TermKind::Call(call) = &term.kind
            && self.look_up(call)
        {
            return;
        }
        let (head, operands) = match &term.kind {
            TermKind::Ref(parts) => match parts.split_first() {
                Some((head, operands)) => (head, operands),
                None => return,
            },
            _ => (term, &[][..]),
        };
        match &head.kind {
            TermKind::Var(name) if **name == *"input" => {
                self.input(&operands.iter().collect::<Vec<_>>());
            }
            TermKind::Var(name) if **name == *"data" => {
                let name = |term: &Term| match &term.kind {
                    TermKind::String(name) => Some(name.to_string()),
                    _ => None,
                };
                self.data.push((operands.iter().map_while(name).collect(), term.span));
            }
            TermKind::String(name) if **name == *self.field => {
                self.reads.references.insert(InputReference::Metadata);
            }
            TermKind::String(_) => {}
            TermKind::Var(name) => {
                if let Some(named) = self.named(name) {
                    self.input(&named.iter().chain(operands).collect::<Vec<_>>());
                }
            }
            _ if operands.is_empty() => return walk_term(self, term),
            _ => self.term(head),
        }
        for operand in operands {
            self.term(operand);
        }
    }

    fn with(&mut self, with: &With) {
        // Replacing `input` doesn't use it.
        if of_input(&with.target).is_some() {
            self.term(&with.value);
        } else {
            walk_with(self, with);
        }
    }
}

/// Returns the paths below `data` that a node refers to.
pub(super) fn data_of<N: Node + ?Sized>(node: &N) -> Vec<Vec<String>> {
    let mut references = References::default();
    node.accept(&mut references);
    references.data.into_iter().map(|(path, _)| path).collect()
}

/// Returns the position of a definition.
fn place(span: Span) -> (FileId, u32) {
    (span.file, span.start)
}

/// Returns the path of a rule in the form of the compiled policies.
fn rule_path(package: &[String], rule: &str) -> String {
    let path: Vec<String> = package.iter().cloned().chain([rule.to_owned()]).collect();
    data_reference(&path)
}

/// Returns `true` if one path below `data` is a prefix of the other.
pub(super) fn may_reach(path: &[String], place: &[&str]) -> bool {
    !path.is_empty() && path.iter().zip(place).all(|(own, key)| own == key)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use rego_platform::load::LoadOptions;
    use rego_platform::sources::Sources;

    fn reach(text: &str) -> Reach {
        let sources = Sources::text("p.rego", text);
        let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
        Reach::new(&policies)
    }

    #[test]
    fn result_reaches_the_rules_that_its_definitions_name() {
        let package = ["p".to_owned()];
        for (rules, expected) in [
            ("result := {\"violations\": deny}", true),
            ("result := {\"violations\": all}\n\nall := [x | some x in deny]", true),
            ("result := {\"violations\": data.p.deny}", true),
            ("result := {\"violations\": data.p[\"deny\"]}", true),
            ("result := {\"violations\": []}", false),
            ("# deny\nresult := {\"violations\": [\"deny\"]}", false),
            ("result := {\"violations\": deny} if {\n\tdeny := input.d\n}", false),
            ("result := {\"violations\": [`deny`]}\n\nother := deny", false),
        ] {
            let text = format!("package p\n\n{rules}\n\ndeny contains \"x\" if input.x\n");
            assert_eq!(reach(&text).reaches(&package, "result", "deny"), expected, "{rules}");
        }
    }

    #[test]
    fn the_calls_of_a_verdict_are_those_that_its_rules_reach() {
        let reach = reach(
            "package p\n\ndeny contains \"x\" if not known\n\nknown if {\n\t\
             platform.discover(input.image, \"\").kind\n}\n\nother := platform.evidence({})\n",
        );
        let sites = reach.sites(&["p".to_owned()], ["deny"].into_iter());
        let found: Vec<_> = sites
            .iter()
            .map(|s| (s.function.as_str(), s.position.line, s.position.column))
            .collect();
        assert_eq!(found, [("platform.discover", 6, 2)]);
    }

    #[test]
    fn whether_a_verdict_reads_the_input_is_told_for_each_rule() {
        let reach = reach(
            "package p\n\ndeny contains \"x\" if bad\n\nbad if { doc := input; doc[0] }\n\n\
             warn contains \"y\" if other with input as 1\n\nother := \"input\"\n\n\
             violations contains data.q.input\n\n\
             deny_metadata contains \"z\" if object.get(input, [\"platform_metadata\"], 1) == 2\n",
        );
        for (rule, input, metadata) in [
            ("deny", true, false),
            ("warn", false, false),
            ("violations", false, false),
            ("deny_metadata", true, true),
        ] {
            let package = ["p".to_owned()];
            let reads = reach.reads(&package, [rule].into_iter());
            assert_eq!(reads.has(InputReference::Input), input, "{rule}");
            assert_eq!(reads.has(InputReference::Metadata), metadata, "{rule}");
        }
    }
}
