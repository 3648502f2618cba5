//! The meter of an evaluation's work within values: comparing, hashing, measuring and writing one
//! visits all its parts, and a value that shares its parts may have far more of them than memory
//! could hold.
//!
//! These don't know the evaluation that they are part of, and most can't fail. So the evaluation
//! installs a meter on its thread. Once its host says that the time is up, everything that asks the
//! meter ends at once, with a result that means nothing; the evaluation ends with an error.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Returns `false` once an evaluation must end.
pub type GoesOn = Arc<dyn Fn() -> bool + Send + Sync>;

/// The number of parts that are visited between two questions to the host.
const INTERVAL: usize = 1 << 14;

thread_local! {
    /// The number of parts until the host is asked again.
    static LEFT: Cell<usize> = const { Cell::new(INTERVAL) };
    static ENDED: Cell<bool> = const { Cell::new(false) };
    static HOST: RefCell<Option<GoesOn>> = const { RefCell::new(None) };
}

/// Counts the parts of a collection; returns `false` once everything must end.
#[inline]
pub(crate) fn visits(parts: usize) -> bool {
    let left = LEFT.get();
    if parts < left {
        LEFT.set(left - parts);
        return true;
    }
    ask()
}

/// Asks the host; returns `false` once everything must end.
pub(crate) fn goes_on() -> bool {
    ask()
}

/// Does work with values, such as parsing one, until a host says that the time is up. Returns `None` then.
pub fn interruptible<T>(goes_on: GoesOn, work: impl FnOnce() -> T) -> Option<T> {
    let meter = Meter::install(Some(goes_on));
    let done = work();
    (!meter.has_ended()).then_some(done)
}

#[cold]
fn ask() -> bool {
    if ENDED.get() {
        return false;
    }
    let goes_on = HOST.with_borrow(|host| host.as_ref().is_none_or(|goes_on| goes_on()));
    if goes_on {
        LEFT.set(INTERVAL);
    } else {
        ENDED.set(true);
        LEFT.set(0);
    }
    goes_on
}

/// A meter that is installed on this thread, until it is dropped.
pub(crate) struct Meter {
    before: (usize, bool, Option<GoesOn>),
}

impl Meter {
    /// Installs a meter.
    pub(crate) fn install(host: Option<GoesOn>) -> Self {
        let before = HOST.with_borrow_mut(|own| std::mem::replace(own, host));
        Self { before: (LEFT.replace(INTERVAL), ENDED.replace(false), before) }
    }

    /// Returns `true` if something ended, so that no result since the meter was installed counts.
    pub(crate) fn has_ended(&self) -> bool {
        ENDED.get()
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let (left, ended, host) = (self.before.0, self.before.1, self.before.2.take());
        LEFT.set(left);
        ENDED.set(ended);
        HOST.with_borrow_mut(|own| *own = host);
    }
}
