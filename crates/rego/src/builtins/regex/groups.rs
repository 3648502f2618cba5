//! The groups of a match, by simulating an automaton: Pike's algorithm, which checks the deadline.

use regex_automata::Input;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::{NonMaxUsize, StateID};

use super::stepwise::Check;
use crate::builtins::{Code, Error};

/// The limit on the size in bytes of a table with the groups of each state.
const MAX_TABLE_BYTES: usize = 32 << 20;

/// The number of states and bounds of groups that are visited between two checks of the deadline.
const STEPS: usize = 1 << 16;

type Bound = Option<NonMaxUsize>;

/// Checks that the groups of all states fit in memory.
///
/// # Errors
/// One that ends the evaluation if they don't.
pub(super) fn bounded(automaton: &NFA) -> Result<(), Error> {
    let (states, bounds) = (automaton.states().len(), automaton.group_info().slot_len());
    if states.saturating_mul(bounds).saturating_mul(size_of::<Bound>()) <= MAX_TABLE_BYTES {
        return Ok(());
    }
    let message = format!("the pattern is too large: {} groups, {states} states", bounds / 2);
    Err(Error::halt(Code::Limit, message))
}

/// The states that the automaton is in, by priority, each with its groups.
struct Threads {
    states: Vec<StateID>,
    /// The position of each state in `states`; valid only if that has it.
    positions: Vec<usize>,
    bounds: Vec<Bound>,
    width: usize,
}

impl Threads {
    fn new(automaton: &NFA, width: usize) -> Self {
        let count = automaton.states().len();
        Self {
            states: Vec::new(),
            positions: vec![0; count],
            bounds: vec![None; count * width],
            width,
        }
    }

    /// Adds a state; returns `false` if it exists.
    fn add(&mut self, state: StateID) -> bool {
        let Some(position) = self.positions.get_mut(state.as_usize()) else { return false };
        if self.states.get(*position) == Some(&state) {
            return false;
        }
        *position = self.states.len();
        self.states.push(state);
        true
    }

    fn bounds(&mut self, state: StateID) -> &mut [Bound] {
        let from = state.as_usize() * self.width;
        self.bounds.get_mut(from..from + self.width).unwrap_or_default()
    }
}

/// A pending step from a state: a further state, or a bound to restore.
enum Step {
    Follow(StateID),
    Restore(usize, Bound),
}

/// A simulation over a text.
struct Simulation<'a> {
    automaton: &'a NFA,
    input: &'a Input<'a>,
    stack: Vec<Step>,
    check: Check<'a>,
    steps: usize,
}

/// Finds the groups of the match that begins where the input does, and ends within it.
pub(super) fn find(
    automaton: &NFA,
    input: &Input<'_>,
    bounds: &mut [Bound],
    check: Check<'_>,
) -> Result<bool, Error> {
    let width = bounds.len();
    let mut simulation = Simulation { automaton, input, stack: Vec::new(), check, steps: 0 };
    let mut now = Threads::new(automaton, width);
    let mut next = Threads::new(automaton, width);
    let mut current = vec![None; width];
    let mut found = false;
    simulation.follow(automaton.start_anchored(), input.start(), &mut current, &mut now)?;
    for at in input.start()..=input.end() {
        for index in 0..now.states.len() {
            let Some(&state) = now.states.get(index) else { break };
            if matches!(automaton.state(state), State::Match { .. }) {
                bounds.copy_from_slice(now.bounds(state));
                found = true;
                // The states after it have a lower priority.
                break;
            }
            if let Some(target) = simulation.target(state, at) {
                current.copy_from_slice(now.bounds(state));
                simulation.follow(target, at + 1, &mut current, &mut next)?;
            }
        }
        std::mem::swap(&mut now, &mut next);
        next.states.clear();
        if now.states.is_empty() {
            break;
        }
    }
    Ok(found)
}

impl Simulation<'_> {
    /// The state that a byte leads to.
    fn target(&self, state: StateID, at: usize) -> Option<StateID> {
        let text = self.input.haystack();
        if at >= self.input.end() {
            return None;
        }
        match self.automaton.state(state) {
            State::ByteRange { trans } => trans.matches(text, at).then_some(trans.next),
            State::Sparse(sparse) => sparse.matches(text, at),
            State::Dense(dense) => dense.matches(text, at),
            _ => None,
        }
    }

    /// Adds a state and those that are reached from it without a byte.
    fn follow(
        &mut self,
        state: StateID,
        at: usize,
        bounds: &mut [Bound],
        threads: &mut Threads,
    ) -> Result<(), Error> {
        self.stack.push(Step::Follow(state));
        while let Some(step) = self.stack.pop() {
            let mut state = match step {
                Step::Follow(state) => state,
                Step::Restore(slot, bound) => {
                    if let Some(place) = bounds.get_mut(slot) {
                        *place = bound;
                    }
                    continue;
                }
            };
            while threads.add(state) {
                self.steps += 1 + bounds.len();
                if self.steps >= STEPS {
                    self.steps = 0;
                    (self.check)()?;
                }
                match self.automaton.state(state) {
                    State::Look { look, next } => {
                        let text = self.input.haystack();
                        if !self.automaton.look_matcher().matches(*look, text, at) {
                            break;
                        }
                        state = *next;
                    }
                    State::Union { alternates } => {
                        let Some((first, others)) = alternates.split_first() else { break };
                        self.stack.extend(others.iter().rev().copied().map(Step::Follow));
                        state = *first;
                    }
                    State::BinaryUnion { alt1, alt2 } => {
                        self.stack.push(Step::Follow(*alt2));
                        state = *alt1;
                    }
                    State::Capture { next, slot, .. } => {
                        if let Some(place) = bounds.get_mut(slot.as_usize()) {
                            self.stack.push(Step::Restore(slot.as_usize(), *place));
                            *place = NonMaxUsize::new(at);
                        }
                        state = *next;
                    }
                    State::Fail => break,
                    _ => {
                        threads.bounds(state).copy_from_slice(bounds);
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}
