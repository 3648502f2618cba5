//! Sharing of strings that repeat between the rows of a list.
//!
//! Owns their sharing: a hundred thousand rows name the same projects, workflows and kinds, and a
//! string that was read lately needn't be allocated again.

use std::cell::{Cell, RefCell};

use rego::Text;

/// The number of remembered strings, a power of two.
const SLOTS: usize = 1024;

/// The maximum length of a remembered string, in bytes.
const MAX_BYTES: usize = 64;

/// The number of strings of a response before the first is remembered: small responses don't pay for the
/// table.
const FEW: u32 = 100;

/// The recent strings of a response.
#[derive(Default)]
pub struct Repeated {
    slots: RefCell<Vec<Slot>>,
    read: Cell<u32>,
}

/// A slot of the table. A string is stored at its second occurrence: unique identifiers and digests would
/// replace repeating strings.
#[derive(Clone, Default)]
struct Slot {
    /// The hash of the last string.
    last: u64,
    /// The hash of the stored string.
    hash: u64,
    kept: Option<Text>,
}

impl Repeated {
    /// Returns `text` as a string value, shared with an equal recent one.
    pub fn text(&self, text: &str) -> Text {
        let read = self.read.get();
        if read < FEW || text.len() > MAX_BYTES {
            self.read.set(read.saturating_add(1));
            return Text::from(text);
        }
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize(SLOTS, Slot::default());
        }
        // The only slot that the string can be in. Strings that collide, on purpose or not, replace
        // each other.
        let hash = fast_hash(text);
        let Some(slot) = slots.get_mut((hash >> 32) as usize % SLOTS) else {
            return Text::from(text);
        };
        if slot.hash == hash
            && let Some(kept) = &slot.kept
            && **kept == *text
        {
            return kept.clone();
        }
        let new = Text::from(text);
        if slot.last == hash {
            slot.hash = hash;
            slot.kept = Some(new.clone());
        } else {
            slot.last = hash;
        }
        new
    }
}

/// Returns a fast hash without resistance to chosen collisions.
pub(super) fn fast_hash(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let rest = rest.iter().map(|byte| u64::from(*byte));
    words.chain(rest).fold(text.len() as u64, combined_hash)
}

/// Returns a hash of `hash` and `next`, as fast.
pub(super) const fn combined_hash(hash: u64, next: u64) -> u64 {
    (hash.rotate_left(5) ^ next).wrapping_mul(0x9e37_79b9_7f4a_7c15)
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
        let [_, first, second] = ["kind"; 3].map(|text| repeated.text(text));
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
