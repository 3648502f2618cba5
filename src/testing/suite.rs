//! A set of tests with everything they need, loaded.
//!
//! Owns loading, the names of tests and which of them are chosen.

use regex::Regex;

use super::find::Found;
use super::{cases, find};
use crate::evaluate::Policies;
use crate::load::LoadOptions;
use crate::rego::problem::Sources as Texts;
use crate::rego::program::{Hooks, Resolved};
use crate::rego::syntax::tree::Module;
use crate::sources::Sources;
use crate::text::data_reference;
use crate::{Error, Position};

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Test {
    /// The package: `data.release_test`.
    pub package: String,
    /// The rule's name, with a number when it isn't the first of that name: `test_a#01`.
    pub name: String,
    /// Where it is defined.
    pub position: Position,
}

impl Test {
    /// `data.release_test.test_a`.
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

/// A test, and how to run it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub test: Test,
    pub found: Found,
}

impl Member {
    /// The path of its document below `data`.
    pub fn path(&self) -> Vec<&str> {
        let (_, above) = self.found.path.split_last().unwrap_or((&self.found.name, &[]));
        let package = self.found.package.iter().map(String::as_str);
        package.chain(above.iter().map(String::as_str)).chain([self.found.name.as_str()]).collect()
    }
}

/// Finds the tests while modules are compiled.
#[derive(Default)]
pub(crate) struct Tests {
    found: Vec<Found>,
}

impl Hooks for Tests {
    fn parsed(&mut self, texts: &Texts, modules: &mut Vec<Module>) {
        self.found = find::rename(texts, modules);
    }

    fn resolved(&mut self, resolved: Resolved<'_>) {
        cases::announce(resolved.modules);
    }
}

impl Suite {
    /// Loads policies, tests and data, and finds the tests.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with everything that is wrong with them.
    pub fn load(sources: Sources, load: LoadOptions) -> Result<Self, Error> {
        let mut tests = Tests::default();
        let policies = Policies::load_tests(&sources, load, &mut tests)?;
        let members = tests
            .found
            .into_iter()
            .map(|found| Member {
                test: Test {
                    package: data_reference(&found.package),
                    name: name(&found),
                    position: found.position.clone(),
                },
                found,
            })
            .collect();
        Ok(Self { policies, members })
    }

    /// All tests, in the order of the files.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.members.iter().map(|member| &member.test)
    }

    /// Keeps the tests whose full name, such as `data.release_test.test_a`, matches.
    pub fn retain(&mut self, pattern: &Regex) {
        self.members.retain(|member| pattern.is_match(&member.test.full_name()));
    }
}

fn name(found: &Found) -> String {
    let (_, above) = found.path.split_last().unwrap_or((&found.name, &[]));
    above.iter().chain([&found.name]).map(String::as_str).collect::<Vec<_>>().join(".")
}
