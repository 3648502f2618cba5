//! Compiled expressions, and the cache that the evaluations of a program share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::backtrack::{self, BoundedBacktracker};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Input, PatternID, meta};

use crate::builtins::{Code, Error};

/// The limit on the size of a compiled expression in bytes, which also bounds compile and match
/// time.
const MAX_COMPILED_BYTES: usize = 32 << 20;

/// The limit on the size in bytes of what a search keeps of an expression's automaton.
const MAX_SEARCH_BYTES: usize = 2 << 20;

/// The number of bytes after which an expression is compiled again for speed: about as many as are
/// searched, without that, in the time it takes.
const ENOUGH_SEARCHED: usize = 4096;

/// An expression in the crate's syntax, compiled.
///
/// Most patterns are matched with a few short texts. Such a search takes a fraction of the time
/// that compiling all engines of the crate does, so that is left until it pays.
pub(in crate::builtins) struct Compiled {
    text: String,
    simple: BoundedBacktracker,
    fast: OnceLock<Option<meta::Regex>>,
    searched: AtomicUsize,
}

thread_local! {
    /// The compiler, whose tables for Unicode take longer to make than to use.
    static COMPILER: thompson::Compiler = {
        let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let mut compiler = thompson::Compiler::new();
        compiler.configure(config);
        compiler
    };
    static SPACE: RefCell<Option<backtrack::Cache>> = const { RefCell::new(None) };
}

fn syntax_config() -> syntax::Config {
    syntax::Config::new().utf8(false).nest_limit(4000)
}

fn simple(text: &str) -> Result<BoundedBacktracker, Error> {
    let failed =
        |reason: &dyn std::fmt::Display| Error::failed(format!("error parsing regexp: {reason}"));
    let parsed = syntax::parse_with(text, &syntax_config()).map_err(|error| failed(&error))?;
    let compiled = COMPILER.with(|compiler| {
        compiler.build_from_hir(&parsed).map_err(|error| match error.size_limit() {
            Some(_) => Error::halt(Code::Limit, "the pattern is too large"),
            None => failed(&error),
        })
    });
    BoundedBacktracker::builder().build_from_nfa(compiled?).map_err(|error| failed(&error))
}

fn fast(text: &str) -> Option<meta::Regex> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(MAX_COMPILED_BYTES))
        .hybrid_cache_capacity(MAX_SEARCH_BYTES);
    meta::Regex::builder().configure(config).syntax(syntax_config()).build(text).ok()
}

impl Compiled {
    /// Compiles an expression that is already in the crate's syntax.
    pub(in crate::builtins) fn new(text: String) -> Result<Self, Error> {
        let simple = simple(&text)?;
        Ok(Self { text, simple, fast: OnceLock::new(), searched: AtomicUsize::new(0) })
    }

    /// The engines for speed, if a search of this many bytes makes them pay.
    fn fast(&self, bytes: usize) -> Option<&meta::Regex> {
        let before = self.searched.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) < ENOUGH_SEARCHED && bytes <= self.simple.max_haystack_len()
        {
            return None;
        }
        self.fast.get_or_init(|| fast(&self.text)).as_ref()
    }

    /// Searches from a byte on, and sets as many of the bounds of groups as there is room for.
    fn search(&self, text: &str, at: usize, bounds: &mut [Option<NonMaxUsize>]) -> bool {
        let Some(left) = text.len().checked_sub(at) else { return false };
        let input = Input::new(text).range(at..);
        if let Some(fast) = self.fast(left) {
            return fast.search_slots(&input, bounds).is_some();
        }
        let found = SPACE.with_borrow_mut(|space| {
            let space = space.get_or_insert_with(|| self.simple.create_cache());
            space.reset(&self.simple);
            self.simple.try_search_slots(space, &input, bounds)
        });
        if let Ok(found) = found {
            return found.is_some();
        }
        // Only an expression that is too large for the engines for speed gets this far with a text
        // that is too long for the simple one.
        let slow = PikeVM::new_from_nfa(self.simple.get_nfa().clone());
        slow.is_ok_and(|slow| slow.search_slots(&mut slow.create_cache(), &input, bounds).is_some())
    }

    /// Returns `true` if the expression matches somewhere in a text.
    pub(in crate::builtins) fn is_match(&self, text: &str) -> bool {
        self.search(text, 0, &mut [])
    }

    /// Returns the first match from a byte on.
    pub(super) fn find_at(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let mut bounds = [None; 2];
        self.search(text, at, &mut bounds).then(|| group(&bounds, 0))?
    }

    /// Returns the groups of the first match from a byte on; the first is the whole match.
    pub(super) fn groups_at(&self, text: &str, at: usize) -> Option<Vec<Option<Range<usize>>>> {
        let count = self.simple.get_nfa().group_info().group_len(PatternID::ZERO);
        let mut bounds = vec![None; 2 * count];
        let found = self.search(text, at, &mut bounds);
        found.then(|| (0..count).map(|index| group(&bounds, index)).collect())
    }
}

/// A group, by the bounds of all of them.
fn group(bounds: &[Option<NonMaxUsize>], index: usize) -> Option<Range<usize>> {
    let bound = |at: usize| bounds.get(at).copied().flatten().map(NonMaxUsize::get);
    Some(bound(2 * index)?..bound(2 * index + 1)?)
}

/// The number of patterns, and their size in bytes, after which the cache begins to forget.
const MAX_PATTERNS: usize = 1000;
const MAX_BYTES: usize = 16 << 20;

/// Compiled patterns by their text, of limited number and size. It forgets those that haven't been
/// used since as many others were added.
pub(in crate::builtins) struct PatternCache<T>(Mutex<Generations<T>>);

struct Generations<T> {
    new: HashMap<String, Arc<T>>,
    old: HashMap<String, Arc<T>>,
    /// The size of the patterns in `new`.
    bytes: usize,
}

impl<T> Default for PatternCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Generations { new: HashMap::new(), old: HashMap::new(), bytes: 0 }))
    }
}

impl<T: Weight> PatternCache<T> {
    /// Returns the pattern of a text, or compiles it with `make`, whose errors aren't cached.
    pub(in crate::builtins) fn get(
        &self,
        text: &str,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().find(text) {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        lock().insert(text.to_owned(), Arc::clone(&made));
        Ok(made)
    }
}

/// The size of a value in memory.
pub(in crate::builtins) trait Weight {
    /// The approximate size in bytes.
    fn bytes(&self) -> usize;
}

impl Weight for Compiled {
    /// Without what searches take.
    fn bytes(&self) -> usize {
        self.text.len() + self.simple.get_nfa().memory_usage()
    }
}

impl<T: Weight> Generations<T> {
    fn find(&mut self, text: &str) -> Option<Arc<T>> {
        if let Some(found) = self.new.get(text) {
            return Some(Arc::clone(found));
        }
        let (text, found) = self.old.remove_entry(text)?;
        self.insert(text, Arc::clone(&found));
        Some(found)
    }

    fn insert(&mut self, text: String, pattern: Arc<T>) {
        let bytes = pattern.bytes();
        if self.new.len() >= MAX_PATTERNS || self.bytes.saturating_add(bytes) > MAX_BYTES {
            self.old = std::mem::take(&mut self.new);
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.new.insert(text, pattern);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    impl Weight for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    #[test]
    fn patterns_in_use_stay_and_others_are_forgotten() {
        let cache = PatternCache::default();
        let mut compiled = Vec::new();
        for text in 0..3 * MAX_PATTERNS {
            for text in [text, 7] {
                cache
                    .get(&text.to_string(), || {
                        compiled.push(text);
                        Ok(1)
                    })
                    .unwrap();
            }
        }
        assert_eq!(compiled.iter().filter(|&&text| text == 7).count(), 1);
        cache.get("0", || Err(Error::failed("forgotten"))).expect_err("it was used once");
        let kept = cache.0.lock().unwrap();
        assert!(kept.new.len() + kept.old.len() <= 2 * MAX_PATTERNS);
    }

    #[test]
    fn large_patterns_are_forgotten_sooner() {
        let cache = PatternCache::default();
        for text in 0..10_usize {
            cache.get(&text.to_string(), || Ok(MAX_BYTES / 2)).unwrap();
        }
        let kept = cache.0.lock().unwrap();
        assert!(kept.new.len() + kept.old.len() <= 4);
    }

    #[test]
    fn all_engines_find_the_same() {
        let text = "k=v; κ=ν; x=; =y ".repeat(400);
        for pattern in [r"(\pL)=(\pL?)", r"^k", r"=(?P<rest>[^;]*)$", "", r"(?:a|ν|y)*"] {
            let compiled = Compiled::new(pattern.to_owned()).unwrap();
            for at in [0, 1, 6, 7, 8, 40, text.len()] {
                let fresh = Compiled::new(pattern.to_owned()).unwrap();
                let fast = fast(pattern).unwrap();
                let mut groups = fast.create_captures();
                fast.captures(Input::new(&text).range(at..), &mut groups);
                let groups = groups.is_match().then(|| {
                    groups.iter().map(|group| group.map(|group| group.range())).collect::<Vec<_>>()
                });
                assert_eq!(compiled.groups_at(&text, at), groups, "{pattern} {at}");
                assert_eq!(fresh.groups_at(&text, at), groups, "{pattern} {at}");
                let whole = groups.and_then(|group| group.into_iter().next()?);
                assert_eq!(compiled.find_at(&text, at), whole, "{pattern} {at}");
                let last = &text[text.len() - 30..];
                assert_eq!(fresh.is_match(last), fast.is_match(last), "{pattern} {at}");
            }
            assert!(compiled.fast.get().is_some_and(Option::is_some));
        }
    }
}
