//! Caches of an evaluation: the results of rules and functions, for each `with` frame, and the
//! results of comprehensions, for the body that first needed them.
//!
//! A rule's result is cached under its path, a function's under its arguments, a part of a partial
//! rule's document under the operands of the reference that asked for it. `with` begins an empty
//! frame, which is dropped at its end. An attempt that may be given up works on a layer above the
//! frame, which is merged into it or dropped.
//!
//! As in OPA, comprehensions are cached for less long: what a body caches is shared with the bodies
//! entered from it afterwards, and dropped with it. The difference can be seen in prints and in
//! calls.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::core::{SetId, Slot};
use crate::value::Value;

/// A hasher for small numbers.
#[derive(Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
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

type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// One element of the key under which a part of a partial rule's document is cached.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PartialKey {
    /// The value of an operand.
    Value(Value),
    /// The operands after the first unbound one. They narrow what was evaluated, but aren't part of
    /// the path of the cached value.
    Scope(Vec<Option<Value>>),
}

/// The cached result of a complete rule.
#[derive(Debug, Clone)]
pub(super) enum CachedRule {
    Value(Value),
    Undefined,
}

/// The results of a comprehension, grouped by the values of its outer variables.
pub(super) type ComprehensionGroups = BTreeMap<Vec<Value>, CachedComprehension>;

/// The cached result of a comprehension for one group.
#[derive(Debug, Clone)]
pub(super) enum CachedComprehension {
    Value(Value),
    /// For each solution, the values that the body gave to the variables of the head.
    Heads(Vec<Vec<(Slot, Value)>>),
}

#[derive(Default)]
struct Frame {
    documents: NumberMap<SetId, CachedRule>,
    functions: NumberMap<SetId, BTreeMap<Box<[Value]>, Value>>,
    parts: NumberMap<SetId, BTreeMap<Vec<PartialKey>, Value>>,
    /// The documents of partial rules that were made to look operands up in.
    wholes: NumberMap<SetId, Value>,
    searches: NumberMap<SetId, Searches>,
    /// `true` if what isn't here is looked for in the frame below.
    layer: bool,
}

/// The cost so far of evaluating a partial rule key by key.
#[derive(Clone, Copy)]
pub(super) struct Searches {
    /// The steps.
    pub(super) spent: u64,
    /// The number of steps from which on making the whole document is worth an attempt.
    pub(super) enough: u64,
}

impl Default for Searches {
    fn default() -> Self {
        Self { spent: 0, enough: 1024 }
    }
}

/// The stack of frames, which is never empty.
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

    /// Begins a layer above the last frame.
    pub(super) fn push_layer(&mut self) {
        self.push();
        self.last.layer = true;
    }

    /// Ends a layer and keeps what it has.
    pub(super) fn merge_layer(&mut self) {
        let layer = std::mem::take(&mut self.last);
        self.pop();
        self.last.documents.extend(layer.documents);
        self.last.wholes.extend(layer.wholes);
        for (set, mut results) in layer.functions {
            self.last.functions.entry(set).or_default().append(&mut results);
        }
        for (set, mut parts) in layer.parts {
            self.last.parts.entry(set).or_default().append(&mut parts);
        }
    }

    #[inline]
    fn find<'c, T>(&'c self, look: impl Fn(&'c Frame) -> Option<&'c T>) -> Option<&'c T> {
        match look(&self.last) {
            None if self.last.layer => {
                let below = self.others.iter().rev();
                let mut last = false;
                let mut below =
                    below.take_while(|frame| !std::mem::replace(&mut last, !frame.layer));
                below.find_map(look)
            }
            found => found,
        }
    }

    #[inline]
    pub(super) fn document(&self, set: SetId) -> Option<&CachedRule> {
        self.find(|frame| frame.documents.get(&set))
    }

    pub(super) fn keep_document(&mut self, set: SetId, kept: CachedRule) {
        self.last.documents.insert(set, kept);
    }

    #[inline]
    pub(super) fn function(&self, set: SetId, args: &[Value]) -> Option<&Value> {
        self.find(|frame| frame.functions.get(&set)?.get(args))
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

    pub(super) fn part(&self, set: SetId, key: &[PartialKey]) -> Option<&Value> {
        self.find(|frame| frame.parts.get(&set)?.get(key))
    }

    pub(super) fn keep_part(&mut self, set: SetId, key: Vec<PartialKey>, value: Value) {
        self.last.parts.entry(set).or_default().insert(key, value);
    }

    pub(super) fn whole(&self, set: SetId) -> Option<&Value> {
        self.find(|frame| frame.wholes.get(&set))
    }

    pub(super) fn keep_whole(&mut self, set: SetId, document: Value) {
        self.last.wholes.insert(set, document);
    }

    pub(super) fn searches(&mut self, set: SetId) -> &mut Searches {
        self.last.searches.entry(set).or_default()
    }
}

/// The comprehensions that a body has cached, for each `with` frame. It is allocated on first use
/// and then shared with the bodies entered from there.
#[derive(Clone, Default)]
pub(super) struct ComprehensionCache(OnceCell<Rc<RefCell<Vec<ComprehensionFrame>>>>);

type ComprehensionFrame = NumberMap<u32, Rc<ComprehensionGroups>>;

impl ComprehensionCache {
    fn frames(&self) -> &RefCell<Vec<ComprehensionFrame>> {
        self.0.get_or_init(|| Rc::new(RefCell::new(vec![ComprehensionFrame::default()])))
    }

    /// Allocates the cache, so that the bodies entered from here on share it.
    pub(super) fn begin(&self) {
        self.frames();
    }

    pub(super) fn push(&self) {
        self.frames().borrow_mut().push(ComprehensionFrame::default());
    }

    pub(super) fn pop(&self) {
        self.frames().borrow_mut().pop();
    }

    pub(super) fn comprehension(&self, id: u32) -> Option<Rc<ComprehensionGroups>> {
        self.0.get()?.borrow().last()?.get(&id).cloned()
    }

    pub(super) fn keep_comprehension(&self, id: u32, grouped: Rc<ComprehensionGroups>) {
        if let Some(last) = self.frames().borrow_mut().last_mut() {
            last.insert(id, grouped);
        }
    }
}
