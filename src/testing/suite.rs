//! A set of tests with everything they need, loaded.
//!
//! Owns loading, the names of tests and which of them are chosen.

use regex::Regex;

use super::find::{self, Found};
use super::source;
use crate::evaluate::load::{LoadOptions, on_large_stack};
use crate::evaluate::sources::Sources;
use crate::evaluate::{Policies, reference};
use crate::{Diagnostic, Error, Position};

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
    /// As loaded: with a name of its own for each definition of a test.
    pub(super) sources: Sources,
    /// As their authors wrote them.
    pub(super) authors: Sources,
    pub(super) load: LoadOptions,
    pub(super) members: Vec<Member>,
}

/// A test, and how to run it.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub test: Test,
    pub found: Found,
    /// The rule's name as loaded.
    pub given: String,
}

impl Member {
    /// The reference to its rule, or to another of its package.
    pub fn reference(&self, rule: &str) -> String {
        let mut path = self.found.package.clone();
        path.push(rule.to_owned());
        reference(&path)
    }
}

impl Suite {
    /// Loads policies, tests and data, and finds the tests.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) with everything that is wrong with them.
    pub fn load(sources: Sources, load: LoadOptions) -> Result<Self, Error> {
        let mut policies = Policies::load(&sources, load.clone())?;
        let found = on_large_stack(|| {
            let each = sources.modules.iter().enumerate();
            each.map(|(index, module)| find::tests(index, module, load.rego_v0))
                .collect::<Result<Vec<_>, _>>()
        })??;
        let found: Vec<Found> = found.into_iter().flatten().collect();
        let authors = sources.clone();
        let mut sources = sources;
        let given = find::rename(&found, &mut sources.modules);
        if found.iter().zip(&given).any(|(test, given)| test.name != *given) {
            policies = Policies::load(&sources, load.clone())?;
        }
        let members = find::numbered(&found)
            .into_iter()
            .zip(found)
            .zip(given)
            .map(|((name, found), given)| Member {
                test: Test {
                    package: reference(&found.package),
                    name,
                    position: found.position.clone(),
                },
                found,
                given,
            })
            .collect();
        Ok(Self { policies, sources, authors, load, members })
    }

    /// All tests, in the order of the files.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.members.iter().map(|member| &member.test)
    }

    /// Keeps the tests whose full name, such as `data.release_test.test_a`, matches.
    pub fn retain(&mut self, pattern: &Regex) {
        self.members.retain(|member| pattern.is_match(&member.test.full_name()));
    }

    /// What is said about a test's rule, with the name that its author gave it.
    pub(super) fn in_authors_words(&self, error: Error, member: &Member) -> Error {
        let named = |text: &str| text.replace(&member.given, &member.found.name);
        match error {
            Error::Policy(diagnostics) => Error::policy(
                diagnostics
                    .iter()
                    .map(|diagnostic| {
                        let mut diagnostic: Diagnostic = diagnostic.clone();
                        diagnostic.message = named(&diagnostic.message);
                        diagnostic.position = diagnostic.position.map(|p| self.authors_line(p));
                        diagnostic
                    })
                    .collect(),
            ),
            other => other,
        }
    }

    /// A position with its line as its author wrote it.
    pub(super) fn authors_line(&self, mut position: Position) -> Position {
        let file = self.authors.modules.iter().find(|module| module.path == position.file);
        let number = position.line.saturating_sub(1) as usize;
        if let Some(line) = file.and_then(|f| source::without_mark(&f.text).split('\n').nth(number))
        {
            position.text = line.trim_end_matches('\r').to_owned();
        }
        position
    }
}
