//! Collections that are searched again and again for elements with certain values, as the second
//! one in `some b in input.wanted; some x in input.list; x.name == b`.
//!
//! All elements are tried the first time. The second time, they are grouped by the values that are
//! compared, and from then on only those of one group are tried. What is left out had no effect:
//! looking up names in an element and comparing the results can't fail, and what they find of the
//! input was found the first time.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::groups::Search;
use super::machine::{Machine, Run, Stop};
use super::reference::each_member;
use super::results::OtherSide;
use crate::core::{Head, Op, OpKind, Ref, Side, Slot, Term};
use crate::value::{Shared, Value};

/// The size of a collection from which on grouping its elements is worth it.
const LARGE: usize = 16;

/// The number of searches that are remembered at once.
const REMEMBERED: usize = 64;

/// Looks up a name in an element.
type LookUp = for<'v> fn(&'v Value, &'v Value) -> Option<&'v Value>;

/// The names that lead to a value within an element, and the value that has to be there.
struct Filter<'p> {
    path: &'p [Term],
    wanted: Value,
}

impl<'p> Machine<'p, '_> {
    /// Returns the keys of the elements of a collection that can hold, in order; `None` if all have
    /// to be tried. `rest` and `other` are the operands after the key, and what their value is
    /// unified with.
    #[inline]
    pub(super) fn matches(
        &mut self,
        run: &Run<'p>,
        value: &Value,
        rest: &'p [Term],
        other: OtherSide<'_, 'p>,
        look_up: LookUp,
    ) -> Result<Option<Rc<[Value]>>, Stop> {
        let size = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            Value::Set(items) => items.len(),
            _ => 0,
        };
        if size < LARGE || self.tracer.is_some() || self.survey.is_some() || self.reading.is_some()
        {
            return Ok(None);
        }
        let filters = self.filters(run, rest, other);
        self.search(value, size, filters, look_up)
    }

    fn search(
        &mut self,
        value: &Value,
        size: usize,
        filters: Vec<Filter<'p>>,
        look_up: LookUp,
    ) -> Result<Option<Rc<[Value]>>, Stop> {
        let Some(first) = filters.first() else { return Ok(None) };
        let address = match value {
            Value::Array(items) => Shared::address(items),
            Value::Object(members) => Shared::address(members),
            Value::Set(items) => Shared::address(items),
            _ => return Ok(None),
        };
        let search = (address, first.path.as_ptr().addr(), filters.len());
        match self.groupings.0.get(&search) {
            Some(Search::Grouped { .. }) => {}
            Some(Search::Once) => {
                let memory = self.context.memory();
                if self.context.spend(64 * size as u64).is_err() {
                    self.context.give_back(memory);
                    return Ok(None);
                }
                let grouped = self.group_elements(value, &filters, look_up)?;
                self.groupings.0.insert(search, grouped);
            }
            None => {
                if self.groupings.0.len() >= REMEMBERED {
                    self.groupings.0.clear();
                }
                self.groupings.0.insert(search, Search::Once);
            }
        }
        let Some(Search::Grouped { groups, .. }) = self.groupings.0.get(&search) else {
            return Ok(None);
        };
        let wanted: Vec<Value> = filters.into_iter().map(|filter| filter.wanted).collect();
        Ok(Some(groups.get(&wanted).map(Rc::clone).unwrap_or_default()))
    }

    fn group_elements(
        &mut self,
        value: &Value,
        filters: &[Filter<'p>],
        look_up: LookUp,
    ) -> Result<Search, Stop> {
        let mut groups: BTreeMap<Vec<Value>, Vec<Value>> = BTreeMap::new();
        each_member(value, |key, item| {
            self.step()?;
            let found = filters.iter().map(|filter| {
                filter.path.iter().try_fold(item, |item, name| match name {
                    Term::Const(name) => look_up(item, name),
                    _ => None,
                })
            });
            if let Some(found) = found.map(Option::<&Value>::cloned).collect() {
                groups.entry(found).or_default().push(key.clone());
            }
            Ok::<(), Stop>(())
        })?;
        let groups = groups.into_iter().map(|(found, keys)| (found, keys.into())).collect();
        Ok(Search::Grouped { _collection: value.clone(), groups })
    }

    /// The filters that follow the choice of an element.
    fn filters(
        &self,
        run: &Run<'p>,
        rest: &'p [Term],
        other: OtherSide<'_, 'p>,
    ) -> Vec<Filter<'p>> {
        if !rest.is_empty() {
            let wanted = self.known_value(other);
            return wanted
                .filter(|_| is_names(rest))
                .map(|wanted| Filter { path: rest, wanted })
                .into_iter()
                .collect();
        }
        let OtherSide::Element(element @ Term::Var(slot), base, after) = other else {
            return Vec::new();
        };
        if base != run.base || !self.is_free(element, base) {
            return Vec::new();
        }
        after.iter().map_while(|op| self.filter(run, *slot, op)).collect()
    }

    /// The filter that an expression is for the elements in a variable.
    fn filter(&self, run: &Run<'p>, element: Slot, op: &'p Op) -> Option<Filter<'p>> {
        let OpKind::Unify(sides) = &op.kind else { return None };
        if op.operand_of > 0 {
            return None;
        }
        let (path, wanted) = match (&sides.0, &sides.1) {
            (Side::Ref(reference), wanted) if is_member(reference, element) => {
                (&reference.path, wanted)
            }
            (wanted, Side::Ref(reference)) if is_member(reference, element) => {
                (&reference.path, wanted)
            }
            _ => return None,
        };
        let wanted = match wanted {
            Side::Term(term) => self.value(term, run.base)?.into_owned(),
            Side::Ref(reference) => self.found_before(run, reference)?,
            Side::Comprehension(_) => return None,
        };
        Some(Filter { path, wanted })
    }
}

fn is_member(reference: &Ref, element: Slot) -> bool {
    matches!(reference.head, Head::Var(slot) if slot == element) && is_names(&reference.path)
}

/// Returns `true` for one or more constant strings, which are all names of members.
fn is_names(path: &[Term]) -> bool {
    !path.is_empty() && path.iter().all(|term| matches!(term, Term::Const(Value::String(_))))
}
