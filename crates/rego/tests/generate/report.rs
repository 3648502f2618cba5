//! The results of a run of many cases: counts, and the cases that differ, shrunk.

use std::collections::BTreeMap;

use super::case::{Case, CaseOutcome};
use super::compare::{Compared, Verdict};

/// The results of a run.
#[derive(Default)]
pub struct Report {
    pub programs: usize,
    /// The programs that OPA compiles.
    pub compiled: usize,
    pub answers: usize,
    /// OPA's answers with a value, with a nonempty one, with an error.
    pub defined: usize,
    pub telling: usize,
    pub errors: usize,
    /// The answers in which a host function was called, or something printed.
    pub calls: usize,
    pub prints: usize,
    pub verdicts: BTreeMap<Verdict, usize>,
    /// For each production: the programs with it, and those that OPA compiles.
    pub productions: BTreeMap<&'static str, (usize, usize)>,
    /// The reasons why OPA refuses.
    pub opa_refusals: BTreeMap<String, usize>,
    /// The reasons why this crate refuses what OPA accepts.
    pub refusals: BTreeMap<String, usize>,
}

/// Returns a message without the parts that depend on the program.
pub fn message_pattern(message: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let particular =
            word.chars().any(|c| c.is_ascii_digit() || matches!(c, '.' | '_' | '"' | '[' | '{'))
                || word.chars().count() < 2;
        out.push_str(if particular && !word.is_empty() { "…" } else { word });
        word.clear();
    };
    for c in message.chars().take(160) {
        if c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';') {
            flush(&mut word, &mut out);
            out.push(if c == '\n' { ' ' } else { c });
        } else {
            word.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

impl Report {
    /// Counts a case.
    pub fn add(
        &mut self,
        case: &Case,
        opa: &CaseOutcome,
        compared: &[Compared],
        ours: &CaseOutcome,
    ) {
        self.programs += 1;
        let compiled = matches!(opa, CaseOutcome::Answers(_));
        for production in &case.productions {
            let entry = self.productions.entry(production).or_default();
            entry.0 += 1;
            entry.1 += usize::from(compiled);
        }
        match opa {
            CaseOutcome::Answers(answers) => {
                self.compiled += 1;
                for answer in answers.iter().flatten() {
                    self.answers += 1;
                    self.defined += usize::from(answer.error.is_none() && !answer.rows.is_empty());
                    self.telling += usize::from(answer.is_nonempty());
                    self.errors += usize::from(answer.error.is_some());
                    self.calls += usize::from(!answer.calls.is_empty());
                    self.prints += usize::from(!answer.prints.is_empty());
                }
            }
            CaseOutcome::Refused(faults) => {
                if let Some(fault) = faults.first() {
                    *self
                        .opa_refusals
                        .entry(format!("{}: {}", fault.code, message_pattern(&fault.message)))
                        .or_default() += 1;
                }
            }
            CaseOutcome::Broken(_) => {}
        }
        for one in compared {
            *self.verdicts.entry(one.verdict).or_default() += 1;
        }
        if compared
            .iter()
            .any(|one| matches!(one.verdict, Verdict::Refused | Verdict::FalselyRefused))
            && let CaseOutcome::Refused(faults) = ours
            && let Some(fault) = faults.first()
        {
            *self
                .refusals
                .entry(format!("{}: {}", fault.code, message_pattern(&fault.message)))
                .or_default() += 1;
        }
    }

    /// Returns the results in readable form.
    pub fn show(&self, productions: bool) -> String {
        let share = |part: usize, whole: usize| {
            if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
        };
        let mut out = format!(
            "programs {}, compiled by OPA {} ({:.1} %)\nanswers {}: defined {:.1} %, not empty {:.1} %, errors {:.1} %, with host calls {:.1} %, with prints {:.1} %\n",
            self.programs,
            self.compiled,
            share(self.compiled, self.programs),
            self.answers,
            share(self.defined, self.answers),
            share(self.telling, self.answers),
            share(self.errors, self.answers),
            share(self.calls, self.answers),
            share(self.prints, self.answers),
        );
        for (verdict, count) in &self.verdicts {
            out.push_str(&format!(
                "  {verdict:?}: {count}{}\n",
                if verdict.is_wrong() { "  <-- wrong" } else { "" }
            ));
        }
        let mut list = |title: &str, map: &BTreeMap<String, usize>| {
            if map.is_empty() {
                return;
            }
            out.push_str(&format!("{title}\n"));
            let mut sorted: Vec<_> = map.iter().collect();
            sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (cause, count) in sorted.into_iter().take(25) {
                out.push_str(&format!("  {count:6} {cause}\n"));
            }
        };
        list("refused by us, taken by OPA:", &self.refusals);
        list("refused by OPA:", &self.opa_refusals);
        if productions {
            out.push_str("productions (programs, compiled):\n");
            for (name, (count, compiled)) in &self.productions {
                out.push_str(&format!("  {name}: {count}, {compiled}\n"));
            }
        }
        out
    }

    /// Returns the number of wrong answers.
    pub fn wrong(&self) -> usize {
        self.verdicts
            .iter()
            .filter(|(verdict, _)| verdict.is_wrong())
            .map(|(_, count)| *count)
            .sum()
    }
}
