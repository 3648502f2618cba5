//! Rules that are added to a test's module to look into it.
//!
//! Owns how they are added: behind the author's text, so that no position changes, and one by one
//! left out again when the loader refuses one. What they ask is said by those who make them.

use std::collections::HashMap;

use super::find::Names;
use super::source;
use super::suite::{Member, Suite};
use crate::evaluate::load::on_large_stack;
use crate::evaluate::{EvaluateOptions, Policies};
use crate::{Error, ErrorKind};
use regorus::Value;

/// A rule to add: the expression that is its value, in a test's module.
#[derive(Debug, Clone)]
pub(super) struct Probe {
    /// The test's place among the suite's.
    pub member: usize,
    /// The expression.
    pub term: String,
}

/// Policies with probes.
pub(super) struct Probed {
    policies: Policies,
    /// For each probe its rule's reference, unless it was refused.
    references: Vec<Option<String>>,
}

/// How often what is refused is left out before all of it is.
const ATTEMPTS: usize = 8;

impl Probed {
    /// Loads the suite with `probes`.
    pub fn load(suite: &Suite, probes: &[Probe]) -> Result<Self, Error> {
        let mut names = Names::new(&suite.sources.modules);
        let v0 = suite.load.rego_v0;
        let rules: Vec<(String, String)> = probes
            .iter()
            .map(|probe| {
                let name = names.fresh(12);
                let text = format!("{name} := {}\n", probe.term);
                (name, text)
            })
            .collect();
        let mut kept: Vec<bool> =
            on_large_stack(|| rules.iter().map(|(_, text)| source::is_rule(text, v0)).collect())?;
        for _ in 0..ATTEMPTS {
            let (sources, places) = with_rules(suite, probes, &rules, &kept);
            let error = match Policies::load(&sources, suite.load.clone()) {
                Ok(policies) => {
                    let references = probes
                        .iter()
                        .zip(&rules)
                        .zip(&kept)
                        .map(|((probe, (name, _)), kept)| {
                            let member = suite.members.get(probe.member).filter(|_| *kept)?;
                            Some(member.reference(name))
                        })
                        .collect();
                    return Ok(Self { policies, references });
                }
                Err(error) => error,
            };
            let refused = refused(&error, &places);
            if refused.is_empty() {
                return Err(error);
            }
            for index in refused {
                if let Some(kept) = kept.get_mut(index) {
                    *kept = false;
                }
            }
        }
        Err(Error::new(ErrorKind::Internal, "the rules that look into a test don't load"))
    }

    /// Whether a probe was let through.
    pub fn has(&self, index: usize) -> bool {
        self.references.get(index).is_some_and(Option::is_some)
    }

    /// The value of a probe: none when it was refused, fails or is undefined.
    pub fn value(&self, index: usize, options: &EvaluateOptions) -> Option<Value> {
        let reference = self.references.get(index)?.as_ref()?;
        let query = self.policies.query(reference).ok()?;
        let answer = self.policies.evaluate(&query, None, options).result.ok()?;
        answer.value().cloned()
    }
}

/// File and lines, from the first to the one before the last, of a probe.
type Places = HashMap<String, Vec<(u32, u32, usize)>>;

fn with_rules(
    suite: &Suite,
    probes: &[Probe],
    rules: &[(String, String)],
    kept: &[bool],
) -> (crate::evaluate::sources::Sources, Places) {
    let mut sources = suite.sources.clone();
    let mut places = Places::new();
    for (index, ((probe, (_, text)), _)) in
        probes.iter().zip(rules).zip(kept).enumerate().filter(|(_, (_, kept))| **kept)
    {
        let Some(module) = suite
            .members
            .get(probe.member)
            .and_then(|member: &Member| sources.modules.get_mut(member.found.module))
        else {
            continue;
        };
        if !module.text.ends_with('\n') {
            module.text.push('\n');
        }
        let first = line_after(&module.text);
        module.text.push_str(text);
        let last = line_after(&module.text);
        places.entry(module.path.clone()).or_default().push((first, last, index));
    }
    (sources, places)
}

fn line_after(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count() + 1).unwrap_or(u32::MAX)
}

/// The probes that an error is about.
fn refused(error: &Error, places: &Places) -> Vec<usize> {
    error
        .diagnostics()
        .iter()
        .filter_map(|diagnostic| diagnostic.position.as_ref())
        .filter_map(|position| {
            let within =
                |(first, last, _): &&(u32, u32, usize)| (*first..*last).contains(&position.line);
            places.get(&position.file)?.iter().find(within).map(|(_, _, index)| *index)
        })
        .collect()
}
