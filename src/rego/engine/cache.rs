//! What an evaluation remembers: the results of rules and functions, by `with` frame, and
//! comprehensions, by the body that they were first needed in.
//!
//! A rule's result is kept under its path, a function's under its arguments, a part of a partial
//! rule's under the operands that it was asked with. `with` begins an empty frame, which is
//! dropped at its end.
//!
//! As in OPA, comprehensions are kept with less: what a body remembers is known to the bodies that
//! are entered from it afterwards, and forgotten with it. It shows in prints and in calls.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::rego::core::{SetId, Slot};
use crate::rego::value::Value;

/// A hasher for small numbers.
#[derive(Default)]
pub(super) struct Numbers(u64);

impl Hasher for Numbers {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Numbers>>;

/// A part of the key of a part of a partial rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// An operand.
    Value(Value),
    /// Operands after one without value: they narrow what was evaluated, but aren't part of the
    /// path of what is kept.
    Scope(Vec<Option<Value>>),
}

/// What is kept of a complete rule.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    Value(Value),
    Undefined,
}

/// Results of a comprehension by the values of its variables.
pub(super) type Grouped = BTreeMap<Vec<Value>, Made>;

/// What is kept of a comprehension.
#[derive(Debug, Clone)]
pub(super) enum Made {
    /// Its value.
    Value(Value),
    /// For each solution, the values of its head's variables that the body gave.
    Heads(Vec<Vec<(Slot, Value)>>),
}

#[derive(Default)]
struct Frame {
    documents: Map<SetId, Kept>,
    functions: Map<SetId, BTreeMap<Box<[Value]>, Value>>,
    parts: Map<SetId, BTreeMap<Vec<Part>, Value>>,
}

/// The frames; there is always one.
pub(super) struct Caches {
    last: Frame,
    others: Vec<Frame>,
}

impl Caches {
    pub(super) fn new() -> Self {
        Self { last: Frame::default(), others: Vec::new() }
    }

    pub(super) fn push(&mut self) {
        self.others.push(std::mem::take(&mut self.last));
    }

    pub(super) fn pop(&mut self) {
        self.last = self.others.pop().unwrap_or_default();
    }

    #[inline]
    pub(super) fn document(&self, set: SetId) -> Option<&Kept> {
        self.last.documents.get(&set)
    }

    pub(super) fn keep_document(&mut self, set: SetId, kept: Kept) {
        self.last.documents.insert(set, kept);
    }

    #[inline]
    pub(super) fn function(&self, set: SetId, args: &[Value]) -> Option<&Value> {
        self.last.functions.get(&set)?.get(args)
    }

    pub(super) fn keep_function(&mut self, set: SetId, args: &[Value], value: Value) {
        let results = self.last.functions.entry(set).or_default();
        match results.get_mut(args) {
            Some(kept) => *kept = value,
            None => {
                results.insert(args.into(), value);
            }
        }
    }

    pub(super) fn part(&self, set: SetId, key: &[Part]) -> Option<&Value> {
        self.last.parts.get(&set)?.get(key)
    }

    pub(super) fn keep_part(&mut self, set: SetId, key: Vec<Part>, value: Value) {
        self.last.parts.entry(set).or_default().insert(key, value);
    }
}

/// The comprehensions that a body remembers, by `with` frame: shared with the bodies entered from
/// it once there are any.
#[derive(Clone, Default)]
pub(super) struct Remembered(OnceCell<Rc<RefCell<Vec<Comprehensions>>>>);

type Comprehensions = Map<u32, Rc<Grouped>>;

impl Remembered {
    fn frames(&self) -> &RefCell<Vec<Comprehensions>> {
        self.0.get_or_init(|| Rc::new(RefCell::new(vec![Comprehensions::default()])))
    }

    /// Begins to remember, so that the bodies entered from here on share what is.
    pub(super) fn begin(&self) {
        self.frames();
    }

    pub(super) fn push(&self) {
        self.frames().borrow_mut().push(Comprehensions::default());
    }

    pub(super) fn pop(&self) {
        self.frames().borrow_mut().pop();
    }

    pub(super) fn comprehension(&self, id: u32) -> Option<Rc<Grouped>> {
        self.0.get()?.borrow().last()?.get(&id).cloned()
    }

    pub(super) fn keep_comprehension(&self, id: u32, grouped: Rc<Grouped>) {
        if let Some(last) = self.frames().borrow_mut().last_mut() {
            last.insert(id, grouped);
        }
    }
}
