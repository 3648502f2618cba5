//! The functions that rewritten modules and queries call.
//!
//! Owns their list and how an engine gets them; what each does is the room's that writes its calls.
//! Each function makes every clone of an engine slower, so one gets those that it needs.

use regorus::{Engine, Value};

use super::{ahead, membership, prints, sites};
use crate::{Error, ErrorKind};

/// A function that no author can call.
pub(super) struct Helper {
    pub(super) name: &'static str,
    pub(super) arity: u8,
    pub(super) run: fn(Vec<Value>) -> anyhow::Result<Value>,
}

fn all() -> impl Iterator<Item = &'static Helper> {
    let rooms: [&[Helper]; 4] =
        [&membership::HELPERS, &sites::HELPERS, &prints::HELPERS, &ahead::HELPERS];
    rooms.into_iter().flatten()
}

/// The names of the functions that `text` calls.
pub(crate) fn called(text: &str) -> Vec<&'static str> {
    // Nothing else in a text is as rare as the prefix.
    if !text.contains("internal.") {
        return Vec::new();
    }
    all().map(|helper| helper.name).filter(|name| text.contains(name)).collect()
}

/// Adds the functions of these names.
pub(crate) fn install(engine: &mut Engine, names: &[&'static str]) -> Result<(), Error> {
    for helper in all().filter(|helper| names.contains(&helper.name)) {
        let run = helper.run;
        engine.add_extension(helper.name.to_owned(), helper.arity, Box::new(run)).map_err(
            |error| {
                let message = format!("`{}` can't be added", helper.name);
                Error::new(ErrorKind::Internal, message).with_source(error.to_string())
            },
        )?;
    }
    Ok(())
}

/// What is wrong when the interpreter calls one with other arguments than it is added for.
pub(super) fn misused<T>(name: &str) -> anyhow::Result<T> {
    anyhow::bail!("{name} takes another number of arguments")
}
