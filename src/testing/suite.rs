//! A suite: tests, loaded with the policies and data that they need.
//!
//! Owns loading, the names of tests, selecting tests by name, and the result of a test before it is
//! reported.

use std::time::Duration;

use super::find::TestRule;
use super::{Case, TestOutcome, cases, find};
use crate::evaluate::{Covered, Evaluated, Policies};
use crate::load::LoadOptions;
use crate::rego::Sources as Texts;
use crate::rego::Value;
use crate::rego::internal::program::{Hooks, Resolved};
use crate::rego::syntax::tree::{Module, Span, Term, TermKind};
use crate::sources::Sources;
use crate::{Error, Position};

/// A rule whose name begins with `test_` or `todo_test_`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Test {
    /// The package: `data.release_test`. A part that is a keyword or isn't a name is in brackets.
    pub package: String,
    /// The rule's name, with a number if it isn't the first of that name: `test_a#01`.
    pub name: String,
    /// The position of its definition.
    pub position: Position,
}

impl Test {
    /// Returns the full name, such as `data.release_test.test_a`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }
}

/// Tests with the policies and data that they need.
#[derive(Debug)]
pub struct Suite {
    pub(super) policies: Policies,
    pub(super) members: Vec<Member>,
}

/// A test and the rule that it is.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub test: Test,
    pub found: TestRule,
}

impl Member {
    /// Returns the path of its document below `data`.
    pub fn path(&self) -> Vec<&str> {
        let (_, above) = self.found.path.split_last().unwrap_or((&self.found.name, &[]));
        let package = self.found.package.iter().map(String::as_str);
        package.chain(above.iter().map(String::as_str)).chain([self.found.name.as_str()]).collect()
    }
}

/// The result of one test, before failures are explained.
pub(super) struct TestRun {
    pub outcome: TestOutcome,
    pub cases: Vec<Case>,
    /// The keys of the first failed case.
    pub failed: Option<Vec<Value>>,
    pub duration: Duration,
    /// The evaluation, if there was one.
    pub evaluated: Option<Evaluated>,
    /// With coverage, the code that is also reached if the rule index excludes nothing.
    pub without_index: Covered,
    /// With coverage, the code that is also reached if no definition ends the evaluation of its rule.
    pub without_exits: Covered,
}

/// Finds the tests while the modules are compiled.
#[derive(Default)]
pub(crate) struct Tests {
    found: Vec<TestRule>,
}

impl Hooks for Tests {
    fn parsed(&mut self, texts: &Texts, modules: &mut Vec<Module>) {
        self.found = find::rename(texts, modules);
    }

    fn resolved(&mut self, resolved: Resolved<'_>) {
        cases::report_cases(resolved.modules);
    }
}

impl Suite {
    /// Loads policies with their tests and data.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with every problem of the sources.
    pub fn load(sources: Sources, load: LoadOptions) -> Result<Self, Error> {
        let mut tests = Tests::default();
        let policies = Policies::load_tests(&sources, load, &mut tests)?;
        let members = tests
            .found
            .into_iter()
            .map(|found| Member {
                test: Test {
                    package: package_name(&found.package),
                    name: name(&found),
                    position: found.position.clone(),
                },
                found,
            })
            .collect();
        Ok(Self { policies, members })
    }

    /// Returns the same suite with what `change` makes of its policies.
    #[doc(hidden)]
    #[must_use]
    pub fn map_policies(mut self, change: impl Fn(Policies) -> Policies) -> Self {
        self.policies = change(self.policies);
        self
    }

    /// Returns all tests, in the order of the files.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.members.iter().map(|member| &member.test)
    }

    /// Keeps the tests whose reference matches, such as `data.release_test.test_a` and, for the second
    /// test of that name, `data.release_test["test_a#01"]`.
    pub fn retain(&mut self, matches: impl Fn(&str) -> bool) {
        self.members.retain(|Member { found, .. }| {
            let (_, above) = found.path.split_last().unwrap_or((&found.name, &[]));
            let path = found.package.iter().chain(above).chain([&found.name]);
            matches(&package_name(&path.cloned().collect::<Vec<_>>()))
        });
    }

    /// Keeps the tests that are definitions of a rule, by its path below `data`.
    #[doc(hidden)]
    pub fn retain_rule(&mut self, path: &[String]) {
        self.members
            .retain(|Member { found, .. }| found.package.iter().chain(&found.path).eq(path));
    }
}

/// Returns the name of a package as OPA prints it: keywords are in brackets.
fn package_name(path: &[String]) -> String {
    let span = Span::default();
    let head = Term { kind: TermKind::Var("data".into()), span };
    let keys = path.iter().map(|key| Term { kind: TermKind::String(key.as_str().into()), span });
    TermKind::Ref(std::iter::once(head).chain(keys).collect()).to_string()
}

fn name(found: &TestRule) -> String {
    let (_, above) = found.path.split_last().unwrap_or((&found.name, &[]));
    above.iter().chain([&found.name]).map(String::as_str).collect::<Vec<_>>().join(".")
}
