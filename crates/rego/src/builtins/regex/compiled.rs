//! Compiled expressions, and the cache that the evaluations of a program share.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex_automata::nfa::thompson::backtrack::{self, BoundedBacktracker};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, PatternID, meta};

use super::groups;
use super::stepwise::{Check, MAX_SEARCH_BYTES, Stepwise};
use crate::builtins::{Code, Error};

/// The limit on the size in bytes of an expression's automaton, which also bounds the time to
/// compile it.
const MAX_COMPILED_BYTES: usize = 32 << 20;

/// The limit on the size in bytes of an automaton that all engines of the crate are compiled for.
const MAX_FAST_BYTES: usize = 128 << 10;

/// The number of bytes after which an expression is compiled again for speed: about as many as are
/// searched, without that, in the time it takes.
const ENOUGH_SEARCHED: usize = 4096;

/// The limit on states × bytes of a search that doesn't check the deadline meanwhile: about a tenth
/// of a second, in the worst case.
const MAX_UNCHECKED_STEPS: usize = 1 << 24;

/// An expression in the crate's syntax, compiled.
///
/// Most patterns are matched with a few short texts. Such a search takes a fraction of the time
/// that compiling all engines of the crate does, so that is left until it pays. Groups are compiled
/// when they are first asked for, since their memory grows with groups × states.
pub(in crate::builtins) struct Compiled {
    text: String,
    /// Without groups.
    simple: BoundedBacktracker,
    fast: OnceLock<Option<meta::Regex>>,
    stepwise: OnceLock<Result<Stepwise, Error>>,
    grouped: OnceLock<Result<BoundedBacktracker, Error>>,
    searched: AtomicUsize,
}

thread_local! {
    /// The compilers without and with groups, whose tables for Unicode take longer to make than to
    /// use.
    static COMPILERS: [thompson::Compiler; 2] = [
        compiler(WhichCaptures::Implicit, false),
        compiler(WhichCaptures::All, false),
    ];
    static SPACE: RefCell<Option<backtrack::Cache>> = const { RefCell::new(None) };
}

fn compiler(captures: WhichCaptures, reverse: bool) -> thompson::Compiler {
    let config = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(MAX_COMPILED_BYTES))
        .which_captures(captures)
        .reverse(reverse);
    let mut compiler = thompson::Compiler::new();
    compiler.configure(config);
    compiler
}

fn syntax_config() -> syntax::Config {
    syntax::Config::new().utf8(false).nest_limit(4000)
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("error parsing regexp: {reason}"))
}

fn automaton(text: &str, compiler: &thompson::Compiler) -> Result<NFA, Error> {
    let parsed = syntax::parse_with(text, &syntax_config()).map_err(|error| failed(&error))?;
    compiler.build_from_hir(&parsed).map_err(|error| match error.size_limit() {
        Some(_) => Error::halt(Code::Limit, "the pattern is too large"),
        None => failed(&error),
    })
}

/// Compiles the automaton that finds where a match begins, backward from its end.
pub(super) fn reversed(text: &str) -> Result<NFA, Error> {
    automaton(text, &compiler(WhichCaptures::None, true))
}

fn simple(text: &str, grouped: bool) -> Result<BoundedBacktracker, Error> {
    let compiled =
        COMPILERS.with(|[whole, groups]| automaton(text, if grouped { groups } else { whole }))?;
    BoundedBacktracker::builder().build_from_nfa(compiled).map_err(|error| failed(&error))
}

fn fast(text: &str) -> Option<meta::Regex> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .which_captures(WhichCaptures::Implicit)
        .nfa_size_limit(Some(MAX_COMPILED_BYTES))
        .hybrid_cache_capacity(MAX_SEARCH_BYTES);
    meta::Regex::builder().configure(config).syntax(syntax_config()).build(text).ok()
}

/// Searches with backtracking, whose memory the thread keeps.
fn backtrack(
    engine: &BoundedBacktracker,
    input: &Input<'_>,
    bounds: &mut [Option<NonMaxUsize>],
) -> Option<bool> {
    let found = SPACE.with_borrow_mut(|space| {
        let space = space.get_or_insert_with(|| engine.create_cache());
        space.reset(engine);
        engine.try_search_slots(space, input, bounds)
    });
    found.ok().map(|found| found.is_some())
}

impl Compiled {
    /// Compiles an expression that is already in the crate's syntax.
    pub(in crate::builtins) fn new(text: String) -> Result<Self, Error> {
        Ok(Self {
            simple: simple(&text, false)?,
            text,
            fast: OnceLock::new(),
            stepwise: OnceLock::new(),
            grouped: OnceLock::new(),
            searched: AtomicUsize::new(0),
        })
    }

    /// Returns `true` if a search of this many bytes pays for the engines for speed.
    fn pays(&self, bytes: usize) -> bool {
        let before = self.searched.fetch_add(bytes, Ordering::Relaxed);
        before.saturating_add(bytes) >= ENOUGH_SEARCHED || bytes > self.simple.max_haystack_len()
    }

    /// Returns the bounds of the first match in a part of a text.
    fn search(&self, input: &Input<'_>, check: Check<'_>) -> Result<Option<Range<usize>>, Error> {
        let mut bounds = [None; 2];
        let bytes = input.end().saturating_sub(input.start());
        let found = if !self.pays(bytes) {
            backtrack(&self.simple, input, &mut bounds)
        } else if self.simple.get_nfa().memory_usage() <= MAX_FAST_BYTES
            && self.simple.get_nfa().states().len().saturating_mul(bytes) <= MAX_UNCHECKED_STEPS
        {
            check()?;
            let fast = self.fast.get_or_init(|| fast(&self.text)).as_ref();
            fast.map(|fast| fast.search_slots(input, &mut bounds).is_some())
        } else {
            None
        };
        if let Some(found) = found {
            return Ok(found.then(|| group(&bounds, 0)).flatten());
        }
        check()?;
        let stepwise = self
            .stepwise
            .get_or_init(|| Stepwise::new(self.simple.get_nfa(), reversed(&self.text)?));
        stepwise.as_ref().map_err(Clone::clone)?.find(input, check)
    }

    /// Returns `true` if the expression matches somewhere in a text.
    pub(in crate::builtins) fn is_match(
        &self,
        text: &str,
        check: Check<'_>,
    ) -> Result<bool, Error> {
        Ok(self.search(&Input::new(text).earliest(true), check)?.is_some())
    }

    /// Returns the first match from a byte on.
    pub(super) fn find_at(
        &self,
        text: &str,
        at: usize,
        check: Check<'_>,
    ) -> Result<Option<Range<usize>>, Error> {
        if at > text.len() {
            return Ok(None);
        }
        self.search(&Input::new(text).range(at..), check)
    }

    /// Returns the groups of the first match from a byte on; the first is the whole match.
    ///
    /// # Errors
    /// Those of `check`, and one that ends the evaluation where groups × states are too many.
    pub(super) fn groups_at(
        &self,
        text: &str,
        at: usize,
        check: Check<'_>,
    ) -> Result<Option<Vec<Option<Range<usize>>>>, Error> {
        if at > text.len() {
            return Ok(None);
        }
        check()?;
        let grouped = self.grouped.get_or_init(|| {
            let grouped = simple(&self.text, true)?;
            groups::bounded(grouped.get_nfa()).map(|()| grouped)
        });
        let grouped = grouped.as_ref().map_err(Clone::clone)?;
        let count = grouped.get_nfa().group_info().group_len(PatternID::ZERO);
        let mut bounds = vec![None; 2 * count];
        let mut input = Input::new(text).range(at..);
        let direct = text.len() - at <= grouped.max_haystack_len().min(ENOUGH_SEARCHED);
        let mut found = direct.then(|| backtrack(grouped, &input, &mut bounds)).flatten();
        if found.is_none() {
            // The groups are those of a search within the match.
            let Some(whole) = self.search(&input, check)? else { return Ok(None) };
            input = input.range(whole).anchored(Anchored::Yes);
            found = backtrack(grouped, &input, &mut bounds);
        }
        let found = match found {
            Some(found) => found,
            None => groups::find(grouped.get_nfa(), &input, &mut bounds, check)?,
        };
        Ok(found.then(|| (0..count).map(|index| group(&bounds, index)).collect()))
    }
}

/// A group, by the bounds of all of them.
fn group(bounds: &[Option<NonMaxUsize>], index: usize) -> Option<Range<usize>> {
    let bound = |at: usize| bounds.get(at).copied().flatten().map(NonMaxUsize::get);
    Some(bound(2 * index)?..bound(2 * index + 1)?)
}

/// The number of patterns, and their size in bytes, after which the cache begins to forget.
const MAX_PATTERNS: usize = 1000;
const MAX_BYTES: usize = 64 << 20;

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
    /// With everything that is compiled later: the engines for speed, backward, and with groups.
    fn bytes(&self) -> usize {
        self.text.len() + 6 * self.simple.get_nfa().memory_usage()
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
        let check: Check<'_> = &|| Ok(());
        for pattern in
            [r"(\pL)=(\pL?)", r"^k", r"=(?P<rest>[^;]*)$", "", r"(?:a|ν|y)*", r"(?-u:\b)y"]
        {
            let compiled = Compiled::new(pattern.to_owned()).unwrap();
            let config = meta::Config::new().utf8_empty(false);
            let mut builder = meta::Regex::builder();
            let whole = builder.configure(config).syntax(syntax_config()).build(pattern).unwrap();
            for at in [0, 1, 6, 7, 8, 40, text.len()] {
                let input = Input::new(&text).range(at..);
                let fresh = Compiled::new(pattern.to_owned()).unwrap();
                let mut groups = whole.create_captures();
                whole.captures(input.clone(), &mut groups);
                let groups = groups.is_match().then(|| {
                    groups.iter().map(|group| group.map(|group| group.range())).collect::<Vec<_>>()
                });
                assert_eq!(
                    compiled.groups_at(&text, at, check),
                    Ok(groups.clone()),
                    "{pattern} {at}"
                );
                assert_eq!(fresh.groups_at(&text, at, check), Ok(groups.clone()), "{pattern} {at}");
                let found = groups.as_ref().and_then(|group| group.first().cloned()?);
                assert_eq!(compiled.find_at(&text, at, check), Ok(found.clone()), "{pattern} {at}");
                let backward = reversed(pattern).unwrap();
                let stepwise = Stepwise::new(compiled.simple.get_nfa(), backward).unwrap();
                assert_eq!(stepwise.find(&input, check), Ok(found.clone()), "{pattern} {at}");
                if let (Some(groups), Some(found)) = (groups, found) {
                    let grouped = simple(pattern, true).unwrap();
                    let mut bounds = vec![None; 2 * groups.len()];
                    let within = input.range(found).anchored(Anchored::Yes);
                    assert_eq!(
                        groups::find(grouped.get_nfa(), &within, &mut bounds, check),
                        Ok(true)
                    );
                    let simulated: Vec<_> =
                        (0..groups.len()).map(|at| group(&bounds, at)).collect();
                    assert_eq!(simulated, groups, "{pattern} {at}");
                }
                let last = &text[text.len() - 30..];
                assert_eq!(fresh.is_match(last, check), Ok(whole.is_match(last)), "{pattern} {at}");
            }
            assert!(compiled.fast.get().is_some_and(Option::is_some));
        }
    }

    /// A table of groups × states would take gigabytes.
    #[test]
    fn thousands_of_groups_match_and_their_groups_are_refused() {
        let compiled = Compiled::new("(a)?".repeat(16_000)).unwrap();
        let text = "a".repeat(300);
        let check: Check<'_> = &|| Ok(());
        assert_eq!(compiled.find_at(&text, 0, check), Ok(Some(0..300)));
        assert!(compiled.bytes() < 64 << 20);
        let error = compiled.groups_at(&text, 0, check).unwrap_err();
        assert!(error.halt && error.code == Code::Limit, "{error:?}");
        let fewer = Compiled::new("(a)?".repeat(200)).unwrap();
        let groups = fewer.groups_at(&text, 0, check).unwrap().unwrap();
        assert_eq!(groups.last(), Some(&Some(199..200)));
    }

    #[test]
    fn a_search_ends_at_its_deadline() {
        let ended = || Error::halt(Code::Cancelled, "ended");
        let check: Check<'_> = &|| Err(ended());
        let large = Compiled::new(r"(?:[^a]?[^b]?[^c]?){1000}x(y)".to_owned()).unwrap();
        let text = "é".repeat(100_000);
        assert_eq!(large.find_at(&text, 0, check), Err(ended()));
        assert_eq!(large.groups_at(&text, 0, check), Err(ended()));
        let input = Input::new(&text).anchored(Anchored::Yes);
        let grouped = simple(r"(?:(.)*.*)*", true).unwrap();
        assert_eq!(groups::find(grouped.get_nfa(), &input, &mut [None; 4], check), Err(ended()));
    }
}
