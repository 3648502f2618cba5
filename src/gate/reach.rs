//! The rules, calls, inputs and data that rules depend on.
//!
//! Owns the questions that a gate asks before it trusts a verdict: whether `result` depends on a
//! verdict rule beside it, how the policies use `input`, which calls of the service a verdict can
//! make, and whether a part of the data is used. The answers come from the compiled policies and
//! their graph of rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::input_use::{InputUses, References, RuleInput};
use crate::Position;
use crate::evaluate::{Policies, is_network};
use crate::load::paths::Paths;
use crate::load::position;
use crate::rego::Value;
use crate::rego::syntax::tree::{FileId, Span};
use crate::text::data_reference;

/// The dependencies of the rules of one load.
#[derive(Debug)]
pub(super) struct Reach {
    /// The rules that each rule depends on, by path.
    edges: BTreeMap<String, BTreeSet<String>>,
    sites: BTreeMap<String, Vec<Site>>,
    inputs: InputUses,
    data: Vec<(Vec<String>, Span)>,
    collections: Vec<(Vec<String>, Span)>,
}

/// A call of the service, or of a built-in that accesses the network, in a policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Site {
    /// The function's full name.
    pub function: String,
    pub position: Position,
}

impl Site {
    /// Returns `true` if it calls the service or the host, not the network.
    pub fn asks_service(&self) -> bool {
        !is_network(&self.function)
    }
}

impl Reach {
    /// Reads the graph of rules and the compiled modules; data used only by test suites doesn't
    /// count.
    pub fn new(policies: &Policies) -> Self {
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
        let names = program.call_sites().iter().map(|site| site.name.to_string());
        let functions: BTreeSet<String> = names.filter(|name| !is_network(name)).collect();
        let (mut data, mut collections, mut definitions) = (Vec::new(), Vec::new(), Vec::new());
        for module in &program.compiled().modules {
            let file = program.sources().get(module.span.file).map_or("", |s| s.path());
            for rule in &module.rules {
                let mut references = References::of(rule, &functions);
                if suites.contains(file) {
                    continue;
                }
                data.append(&mut references.data);
                collections.append(&mut references.collections);
                let path = places.get(&place(rule.span)).map(|path| path.as_str());
                definitions.push((path, references));
            }
        }
        let inputs = InputUses::new(&definitions);
        Self { edges, sites, inputs, data, collections }
    }

    /// Returns the rules that some rules depend on, including themselves. Each is given by its package
    /// and its name.
    pub fn reached<'r>(
        &self,
        rules: impl Iterator<Item = (&'r [String], &'r str)>,
    ) -> BTreeSet<String> {
        let mut open: Vec<String> = rules.map(|(package, rule)| rule_path(package, rule)).collect();
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
    pub fn sites<'r>(
        &self,
        package: &'r [String],
        rules: impl Iterator<Item = &'r str>,
    ) -> Vec<Site> {
        let reached = self.reached(rules.map(|rule| (package, rule)));
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

    /// Returns the paths below `data` that policies may use the values at.
    pub fn data(&self) -> Paths {
        self.data.iter().map(|(path, _)| path.as_slice()).collect()
    }

    /// Returns the paths below `data` that a policy names and that nothing is at: no document and no
    /// package; with their places.
    pub fn missing(&self, policies: &Policies) -> Vec<(&[String], Span)> {
        let packages: Paths = policies.packages().map(|it| it.path.as_slice()).collect();
        let is_data = |path: &[String]| {
            let mut at = policies.data();
            path.iter().all(|key| match at {
                Value::Object(members) => {
                    let member = members.get(&Value::from(key.as_str()));
                    member.inspect(|member| at = *member).is_some()
                }
                // A key of an array or a set is looked up at run time.
                _ => true,
            })
        };
        let named = self.data.iter().map(|(path, span)| (path.as_slice(), *span));
        named.filter(|(path, _)| !packages.meets(path) && !is_data(path)).collect()
    }

    /// Returns the paths below `data` of which policies look at elements, and where there is a value
    /// that has none, such as null; with that value and their places.
    pub fn without_elements<'p>(
        &'p self,
        policies: &'p Policies,
    ) -> Vec<(&'p [String], &'p Value, Span)> {
        let mut found = Vec::new();
        for (path, span) in &self.collections {
            let mut at = policies.data();
            for (index, key) in path.iter().enumerate() {
                let Value::Object(members) = at else { break };
                let Some(member) = members.get(&Value::from(key.as_str())) else { break };
                at = member;
                let is_scalar = !matches!(at, Value::Object(_) | Value::Array(_) | Value::Set(_));
                if is_scalar && let Some(path) = path.get(..=index) {
                    found.push((path, at, *span));
                }
            }
        }
        found
    }

    /// Returns a path below `data` that a policy names and that isn't of this package, and its
    /// place.
    pub fn outside(&self, package: &[String]) -> Option<(&[String], Span)> {
        let is_own =
            |looked: &[String]| looked.iter().zip(package).all(|(own, other)| own == other);
        let mut data = self.data.iter().map(|(looked, span)| (looked.as_slice(), *span));
        data.find(|(looked, _)| !is_own(looked))
    }

    /// Returns the way in which some rules of a package, and all rules that they depend on, use
    /// `input`.
    pub fn input<'r>(&self, package: &[String], rules: impl Iterator<Item = &'r str>) -> RuleInput {
        let rules: Vec<&str> = rules.collect();
        let reached = self.reached(rules.iter().map(|rule| (package, *rule)));
        let roots: Vec<String> = rules.iter().map(|rule| rule_path(package, rule)).collect();
        self.inputs.of(roots.iter().map(String::as_str), reached.iter().map(String::as_str))
    }

    /// Returns `true` if the rule `from` of a package depends on `rule` of the same package.
    pub fn reaches(&self, package: &[String], from: &str, rule: &str) -> bool {
        let (from, wanted) = (rule_path(package, from), rule_path(package, rule));
        let direct = self.edges.get(&from).into_iter().flatten().cloned();
        let mut open: Vec<String> = direct.collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if at == wanted {
                return true;
            }
            if seen.insert(at.clone()) {
                open.extend(self.edges.get(&at).into_iter().flatten().cloned());
            }
        }
        false
    }
}

/// Returns the place of a definition.
fn place(span: Span) -> (FileId, u32) {
    (span.file, span.start)
}

/// Returns the path of a rule in the form of the compiled policies.
fn rule_path(package: &[String], rule: &str) -> String {
    let path: Vec<String> = package.iter().cloned().chain([rule.to_owned()]).collect();
    data_reference(&path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::input_use::InputUse;
    use super::*;
    use crate::load::LoadOptions;
    use crate::sources::{ModuleSource, Sources};

    fn reach(text: &str) -> Reach {
        let module = ModuleSource { path: "p.rego".to_owned(), text: text.to_owned() };
        let sources = Sources { modules: vec![module], ..Sources::default() };
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

    /// Returns the uses of the input, and of the contents of combined ones, by a body.
    fn used(body: &str) -> (InputUse, InputUse) {
        let found = reach(&format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n"));
        let RuleInput { alone, contents, .. } =
            found.input(&["p".to_owned()], ["deny"].into_iter());
        (alone.how, contents.how)
    }

    #[test]
    fn input_is_used_by_field_as_a_whole_or_not_at_all() {
        for (body, expected) in [
            ("true", InputUse::None),
            ("\"input\" != \"x\" # input", InputUse::None),
            ("input.a.b", InputUse::Fields),
            ("input[\"a b\"]", InputUse::Fields),
            ("count(input.a) > 1", InputUse::Fields),
            ("doc := input\n\tdoc.a", InputUse::Fields),
            ("doc := input\n\ta := doc.a\n\ta[0]", InputUse::Fields),
            ("every x in input.list { x.a }", InputUse::Fields),
            ("doc := input\n\tdoc.a\n\tdoc[0]", InputUse::Whole),
            ("doc := input\n\tcount(doc) > 1", InputUse::Whole),
            ("doc := input", InputUse::Whole),
            ("doc := input\n\tother := doc\n\tother.a", InputUse::Fields),
            ("some x in [{\"a\": 1}]\n\tx = input\n\tx.a", InputUse::Whole),
            ("some x in [{\"a\": 1}]\n\tnot x = input\n\tx.a", InputUse::Whole),
            ("input[0]", InputUse::Whole),
            ("some x in input", InputUse::Whole),
            ("some i\n\tinput[i]\n\tinput.a", InputUse::Whole),
            ("every x in input { x.a }", InputUse::Whole),
            ("data.q.input", InputUse::None),
        ] {
            assert_eq!(used(body).0, expected, "{body}");
        }
    }

    #[test]
    fn contents_of_combined_inputs_are_used_by_field_or_as_a_whole() {
        for (body, expected) in [
            ("input[_].path", InputUse::None),
            ("count(input) > 1", InputUse::None),
            ("input.a", InputUse::None),
            ("input[_].contents.bad", InputUse::Fields),
            ("input.elements[_].contents.bad", InputUse::Fields),
            ("some i\n\tinput[i].contents.a == input[i].path", InputUse::Fields),
            ("some f in input\n\tf.contents.bad\n\tf.path", InputUse::Fields),
            ("some i, f in input\n\tf.contents.bad", InputUse::Fields),
            ("f := input[_].contents\n\tf.bad\n\tcount(input) > 1", InputUse::Fields),
            ("every f in input { not f.contents.bad }", InputUse::Fields),
            ("every i, f in input { not f.contents.bad[i] }", InputUse::Fields),
            ("count([f | some f in input; f.contents.bad]) > 1", InputUse::Whole),
            ("count([1 | some f in input; f.contents.bad]) > 1", InputUse::Fields),
            ("some f in input\n\tf.contents.bad\n\tf.contents[0]", InputUse::Whole),
            ("some f in input\n\tis_string(f.contents)", InputUse::Whole),
            ("input[_].contents[_].a", InputUse::Whole),
            ("input[_].contents", InputUse::Whole),
            ("some f in input", InputUse::Whole),
            ("some key in [\"a\"]\n\tinput[_][key]", InputUse::Whole),
            ("walk(input, [_, _])", InputUse::Whole),
        ] {
            assert_eq!(used(body).1, expected, "{body}");
        }
    }

    #[test]
    fn input_is_followed_through_functions_rules_and_built_ins() {
        for (body, rules, expected) in [
            ("bad(input)", "bad(doc) if doc.a == 1", InputUse::Fields),
            ("bad(input)", "bad(doc) if other(doc)\n\nother(x) if x.a", InputUse::Fields),
            ("bad(input)", "bad(doc) if other(doc)\n\nother(x) if x[0]", InputUse::Whole),
            ("bad(1, input)", "bad(n, doc) if doc.list[n]", InputUse::Fields),
            ("bad(input, 1)", "bad(n, doc) if doc.list[n]", InputUse::Whole),
            ("bad(input)", "bad(doc) if doc.a\n\nbad(doc) if doc[0]", InputUse::Whole),
            ("bad(input)", "bad(doc) if doc.a\n\nelse := true if doc[0]", InputUse::Whole),
            ("bad(input)", "default bad(_) := true\n\nbad(doc) if doc.a", InputUse::Fields),
            ("bad(input)", "bad(_) := true", InputUse::None),
            ("bad(input)", "bad({\"a\": x}) if x == 1", InputUse::Fields),
            ("bad(input)", "bad([x]) if x == 1", InputUse::Whole),
            ("bad(input)", "bad(doc) := doc", InputUse::Whole),
            ("bad(input.a)", "bad(doc) if doc[0]", InputUse::Fields),
            ("f := bad(input)\n\tf[0]", "bad(doc) := doc.list", InputUse::Fields),
            ("doc.a", "doc := input", InputUse::Fields),
            ("doc[0]", "doc := input", InputUse::Whole),
            ("doc[0]", "doc := input.list", InputUse::Fields),
            ("doc.a", "doc := other\n\nother := input", InputUse::Fields),
            ("doc[0]", "doc := other\n\nother := input", InputUse::Whole),
            ("bad(doc)", "doc := input\n\nbad(x) if x.a", InputUse::Fields),
            ("bad(doc)", "doc := input\n\nbad(x) if x == doc", InputUse::Whole),
            ("doc.a", "doc := input if input.b\n\nelse := input.c[0]", InputUse::Fields),
            ("data.p.doc[0]", "doc := input", InputUse::Whole),
            ("docs.x[0]", "docs[\"x\"] := input", InputUse::Whole),
            ("bad(input) with data.p.bad as f", "bad(x) if x.a\n\nf(x) if x[0]", InputUse::Whole),
            ("bad(input) with count as f", "bad(x) if count(x.a)\n\nf(x) if x[0]", InputUse::Whole),
            ("bad(1) with input as [1]", "bad(x) if input.a", InputUse::Fields),
            ("object.get(input, \"a\", 1) == 1", "", InputUse::Fields),
            ("object.get(input, [\"a\", 0], 1) == 1", "", InputUse::Fields),
            ("object.keys(input) == {1}", "", InputUse::Fields),
            ("json.remove(input, [\"a\"]) == {}", "", InputUse::Fields),
            ("walk(input, [[\"a\"], _])", "", InputUse::Whole),
            ("print(input)\n\tinput.a", "", InputUse::Fields),
            ("print(bad(input))\n\tinput.a", "bad(x) if x[0]", InputUse::Whole),
            ("print(input[0])\n\tinput.a", "", InputUse::Whole),
        ] {
            let text = format!("package p\n\ndeny contains \"x\" if {{\n\t{body}\n}}\n\n{rules}\n");
            let found = reach(&text).input(&["p".to_owned()], ["deny"].into_iter());
            assert_eq!(found.alone.how, expected, "{body}: {rules}");
        }
    }

    #[test]
    fn a_verdict_that_is_a_part_of_the_input_uses_it() {
        for (value, expected) in [("input", InputUse::Whole), ("input.a", InputUse::Fields)] {
            let reach = reach(&format!("package p\n\ndeny := {value}\n"));
            let found = reach.input(&["p".to_owned()], ["deny"].into_iter());
            assert_eq!(found.alone.how, expected, "{value}");
        }
    }

    #[test]
    fn the_use_of_input_is_told_for_each_rule() {
        let reach = reach(
            "package p\n\ndeny contains \"x\" if bad\n\nbad if input.bad\n\nelse := true if \
             input.worse\n\nwarn contains \"y\" if many(input)\n\nmany(doc) if count(doc) > 9\n\n\
             violations contains \"z\" if data.q\n",
        );
        for (rule, expected) in
            [("deny", InputUse::Fields), ("warn", InputUse::Whole), ("violations", InputUse::None)]
        {
            let found = reach.input(&["p".to_owned()], [rule].into_iter());
            assert_eq!(found.alone.how, expected, "{rule}");
        }
    }
}
