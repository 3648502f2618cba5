//! What the command says about an error: the error's own hint, or the option that raises the limit
//! it is about. The library doesn't know the command's options.

use crate::{Error, Limit};

/// What to do next about `error`, if there is something to say.
pub(crate) fn hint(error: &Error) -> Option<String> {
    if let Some(hint) = error.hint() {
        return Some(hint.to_owned());
    }
    Some(match error.limit()? {
        Limit::Timeout => "`--timeout` gives an evaluation more time".to_owned(),
        Limit::Passes => "`--max-passes` raises the limit".to_owned(),
        Limit::Calls => "`--max-calls` raises the limit".to_owned(),
        Limit::Bytes | Limit::AnswerBytes => "`--max-bytes` raises the limit".to_owned(),
        Limit::Memory => "simplify the policy, or evaluate less at a time".to_owned(),
    })
}
