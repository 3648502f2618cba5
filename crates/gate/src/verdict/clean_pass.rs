//! Clean passes: without reservations, and evidence of compliance.
//!
//! Owns the judgment on which statements about a run rely. Their forms and the wording of a refusal belong to
//! the command.

use crate::report::model::{AnsweredBy, Effect, Input, Outcome, Run};

/// The way in which a run passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Without reservations.
    Clean,
    /// With reservations: a note, a warning, a waived violation, an option that took effect, a value that was
    /// put into the inputs, or something that was left out.
    WithReservations,
}

/// The reason why a run isn't evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// It has no verdict.
    NoVerdict,
    /// An emulator sent the responses.
    Emulator,
    /// A recording supplied the responses.
    Recording,
    /// It is one shard of a run.
    Shard,
    /// Violations didn't fail it ([`Rules::no_fail`](crate::model::Rules::no_fail)).
    CannotFail,
    /// The signatures of its attestations weren't verified.
    UnverifiedSignatures,
}

impl Run {
    /// Returns the reason why a statement about this run isn't evidence, if any.
    pub fn unproven(&self) -> Option<Unproven> {
        match (self.outcome, self.answers) {
            (Outcome::NoVerdict, _) => Some(Unproven::NoVerdict),
            (_, AnsweredBy::Emulator) => Some(Unproven::Emulator),
            (_, AnsweredBy::Replay) => Some(Unproven::Recording),
            _ if self.part.is_some() => Some(Unproven::Shard),
            _ if self.rules.no_fail => Some(Unproven::CannotFail),
            _ if self.inventory.unverified => Some(Unproven::UnverifiedSignatures),
            _ => None,
        }
    }

    /// Returns the way in which the run passed; `None` if it didn't pass.
    pub fn pass(&self) -> Option<Pass> {
        if self.outcome != Outcome::Passed {
            return None;
        }
        let inventory = &self.inventory;
        let is_clean = self.notes.is_empty()
            && inventory.values.is_empty()
            && !inventory.is_narrowed()
            && inventory.took_effect().next().is_none()
            && !self.inputs.iter().any(Input::has_reservations);
        Some(if is_clean { Pass::Clean } else { Pass::WithReservations })
    }
}

impl Input {
    /// Returns `true` if it has warnings, or violations that don't count because of an option.
    pub fn has_reservations(&self) -> bool {
        let mut found = self.verdicts.iter().flat_map(|verdict| &verdict.violations);
        found.any(|found| {
            matches!(found.effect, Effect::Warns | Effect::Waived | Effect::BelowThreshold)
        })
    }
}
