//! The strings of a list that repeat from row to row.
//!
//! Owns their sharing: a hundred thousand rows name the same projects, workflows and kinds, and a
//! string that was read lately needn't be allocated again.

use std::cell::{Cell, RefCell};

use crate::rego::Text;

/// The number of strings that are remembered; a power of two.
const SLOTS: usize = 1024;

/// The longest string that is remembered, in bytes.
const MAX_BYTES: usize = 64;

/// The number of strings that an answer has before any is remembered: small answers don't pay for
/// the table.
const FEW: u32 = 100;

/// The strings that were read lately from one answer.
#[derive(Default)]
pub(crate) struct Repeated {
    slots: RefCell<Vec<Option<Text>>>,
    read: Cell<u32>,
}

impl Repeated {
    /// Returns `text` as a string of a value, shared with an equal one that was read lately.
    pub fn text(&self, text: &str) -> Text {
        let read = self.read.get();
        if read < FEW || text.len() > MAX_BYTES {
            self.read.set(read.saturating_add(1));
            return Text::from(text);
        }
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize(SLOTS, None);
        }
        let Some(slot) = slots.get_mut(slot_of(text)) else { return Text::from(text) };
        match slot {
            Some(known) if **known == *text => known.clone(),
            slot => slot.insert(Text::from(text)).clone(),
        }
    }
}

/// Returns the index of the only slot that a string can be in. Strings that collide, on purpose or
/// not, replace each other.
fn slot_of(text: &str) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(text.len() as u64, |h, word| mix(h, u64::from_le_bytes(*word)));
    let hash = rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)));
    (hash >> 32) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_of_a_long_answer_are_shared() {
        let repeated = Repeated::default();
        for index in 0..10_000 {
            let text = format!("project-{}", index % 50);
            assert_eq!(&*repeated.text(&text), text);
            let unique = format!("{index:040}");
            assert_eq!(&*repeated.text(&unique), unique);
        }
        let (first, second) = (repeated.text("kind"), repeated.text("kind"));
        assert!(Text::ptr_eq(&first, &second));
        let long = "x".repeat(MAX_BYTES + 1);
        assert!(!Text::ptr_eq(&repeated.text(&long), &repeated.text(&long)));
        assert!(repeated.text("").is_empty());
    }

    #[test]
    fn the_first_strings_of_an_answer_are_not_remembered() {
        let repeated = Repeated::default();
        assert!(!Text::ptr_eq(&repeated.text("kind"), &repeated.text("kind")));
        assert!(repeated.slots.borrow().is_empty());
    }
}
