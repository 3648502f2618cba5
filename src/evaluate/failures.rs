//! What the interpreter says of a failure, in the author's text.
//!
//! Owns which of its errors are limits, and where a failed call stands. What a position is in the
//! author's text is the loader's to know.

use super::contain;
use super::load::Loaded;
use super::scope::Scope;
use crate::{Error, Position};

/// The interpreter's error as ours.
pub(super) fn explained(loaded: &Loaded, scope: &Scope, error: &anyhow::Error) -> Error {
    contain::limit(Some(scope), error).unwrap_or_else(|| {
        let diagnostic = loaded.diagnose(&error.to_string());
        // A call that goes through a rule fails in that rule, which isn't the author's.
        let lost = diagnostic.position.is_none() && scope.failure().is_some();
        let site = lost.then(|| loaded.site(scope.site())).flatten();
        Error::policy(vec![match site {
            Some(position) => diagnostic.at(position),
            None => diagnostic,
        }])
    })
}

/// Where the failure of a pass is, if the interpreter's error is about it.
pub(super) fn position(
    scope: &Scope,
    error: &anyhow::Error,
    explained: &Error,
) -> Option<Position> {
    let failure = scope.failure()?;
    // A policy that swallowed it and met it again at another call, or ended otherwise, says
    // nothing about its place.
    if scope.was_repeated() || !error.to_string().contains(&failure.to_string()) {
        return None;
    }
    let place = explained.diagnostics().first()?.position.clone()?;
    Some(failure.function().map_or_else(|| place.clone(), |name| at_name(place.clone(), name)))
}

/// The interpreter points at a call's parenthesis: the place of the name before it.
fn at_name(mut place: Position, name: &str) -> Position {
    let before: String = place.text.chars().take(place.column.saturating_sub(1) as usize).collect();
    let length = u32::try_from(name.chars().count()).unwrap_or(u32::MAX);
    if before.ends_with(name) && place.column > length {
        place.column -= length;
        place.length = length;
    }
    place
}
