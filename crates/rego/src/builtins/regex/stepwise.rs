//! Searches that check the deadline: automata that are built lazily, state by state.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Builder, Cache, Config, DFA};
use regex_automata::nfa::thompson::NFA;
use regex_automata::{Anchored, Input, MatchKind};

use crate::builtins::{Code, Error};

/// The limit on the size in bytes of what a search keeps of an expression's automaton.
pub(super) const MAX_SEARCH_BYTES: usize = 1 << 20;

/// A check of the deadline, called in loops.
pub(in crate::builtins) type Check<'c> = &'c dyn Fn() -> Result<(), Error>;

/// The number of states that are visited between two checks of the deadline.
const STEPS: usize = 1 << 16;

/// The automata of an expression that find the end of a match, and its start from there.
pub(super) struct Stepwise {
    forward: DFA,
    backward: DFA,
    /// The memory of both, between searches.
    space: Mutex<Option<(Cache, Cache)>>,
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::halt(Code::Limit, format!("the pattern can't be searched: {reason}"))
}

fn lazy(automaton: NFA, kind: MatchKind) -> Result<DFA, Error> {
    let config = Config::new()
        .match_kind(kind)
        .cache_capacity(MAX_SEARCH_BYTES)
        .skip_cache_capacity_check(true);
    Builder::new().configure(config).build_from_nfa(automaton).map_err(|error| failed(&error))
}

impl Stepwise {
    pub(super) fn new(forward: &NFA, backward: NFA) -> Result<Self, Error> {
        Ok(Self {
            forward: lazy(forward.clone(), MatchKind::LeftmostFirst)?,
            backward: lazy(backward, MatchKind::All)?,
            space: Mutex::new(None),
        })
    }

    /// Returns the bounds of the first match; with `earliest`, of any.
    pub(super) fn find(
        &self,
        input: &Input<'_>,
        check: Check<'_>,
    ) -> Result<Option<Range<usize>>, Error> {
        let lock = || self.space.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().take();
        let (mut forward, mut backward) =
            kept.unwrap_or_else(|| (self.forward.create_cache(), self.backward.create_cache()));
        let mut whole = None;
        if let Some(end) = end(&self.forward, &mut forward, input, check)? {
            let input = input.clone().range(input.start()..end).anchored(Anchored::Yes);
            let start = if input.get_earliest() {
                Some(input.start())
            } else {
                start(&self.backward, &mut backward, &input, check)?
            };
            whole = start.map(|start| start..end);
        }
        *lock() = Some((forward, backward));
        Ok(whole)
    }
}

/// A lazy automaton in a state.
struct Walk<'a> {
    automaton: &'a DFA,
    cache: &'a mut Cache,
    state: LazyStateID,
    /// The bytes until the next check, and between checks.
    left: usize,
    every: usize,
}

impl<'a> Walk<'a> {
    fn new(automaton: &'a DFA, cache: &'a mut Cache, state: LazyStateID) -> Self {
        let every = (STEPS / automaton.get_nfa().states().len().max(1)).max(1);
        Self { automaton, cache, state, left: 0, every }
    }

    /// Reads a byte, or the end of the text; returns `true` if a match ended before it.
    fn read(&mut self, byte: Option<u8>, check: Check<'_>) -> Result<bool, Error> {
        if self.left == 0 {
            check()?;
            self.left = self.every;
        }
        self.left -= 1;
        let next = match byte {
            Some(byte) => self.automaton.next_state(self.cache, self.state, byte),
            None => self.automaton.next_eoi_state(self.cache, self.state),
        };
        self.state = next.map_err(|error| failed(&error))?;
        Ok(self.state.is_match())
    }
}

/// Returns the end of the first match.
fn end(
    automaton: &DFA,
    cache: &mut Cache,
    input: &Input<'_>,
    check: Check<'_>,
) -> Result<Option<usize>, Error> {
    let state = automaton.start_state_forward(cache, input).map_err(|error| failed(&error))?;
    let mut walk = Walk::new(automaton, cache, state);
    let mut found = None;
    // A match is known one byte late.
    for at in input.start()..=input.end() {
        if walk.read(input.haystack().get(at).copied(), check)? {
            found = Some(at);
            if input.get_earliest() {
                break;
            }
        } else if walk.state.is_dead() {
            break;
        }
    }
    Ok(found)
}

/// Returns the start of the match that ends where the input does.
fn start(
    automaton: &DFA,
    cache: &mut Cache,
    input: &Input<'_>,
    check: Check<'_>,
) -> Result<Option<usize>, Error> {
    let state = automaton.start_state_reverse(cache, input).map_err(|error| failed(&error))?;
    let mut walk = Walk::new(automaton, cache, state);
    let mut found = None;
    for at in (input.start()..=input.end()).rev() {
        let before = at.checked_sub(1).and_then(|at| input.haystack().get(at));
        if walk.read(before.copied(), check)? {
            found = Some(at);
        } else if walk.state.is_dead() {
            break;
        }
    }
    Ok(found)
}
