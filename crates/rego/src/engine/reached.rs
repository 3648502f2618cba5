//! The records and the state of a survey.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::core::SetId;
use crate::syntax::tree::Span;
use crate::value::{Shared, Value};

/// The largest number of records of one kind.
pub(super) const MAX_RECORDS: usize = 1000;

/// The findings of a survey.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The reached calls that couldn't be made, the first operand of each.
    pub unmade: Vec<Unmade>,
    /// The reached references to fields of values that aren't objects.
    pub misshapen: Vec<Misshapen>,
    /// The reached references to members that objects can't have.
    pub absent: Vec<Span>,
    /// `true` if a reference to a field of the input was reached.
    pub read_fields: bool,
    /// `true` if one of them found something.
    pub found_field: bool,
    /// The orderings of values of different types.
    pub misordered: Vec<Misordered>,
    /// The values that were given to functions that decode.
    pub decoded: HashSet<Value>,
}

/// A call that couldn't be made, because an operand is undefined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmade {
    /// The call in the policy.
    pub call: Span,
    /// The operand that is undefined.
    pub operand: Span,
    /// The missing reference to the input that makes it undefined, if any.
    pub field: Option<Span>,
    /// `true` if all operands have values, and the head of no definition of the function fits them.
    pub unfit: bool,
}

/// An ordering of values of different types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misordered {
    /// The comparison, or the call of a function that orders elements.
    pub ordering: Span,
    /// The type of the first value.
    pub left: &'static str,
    /// The type of the second.
    pub right: &'static str,
}

/// The known properties of an input.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct InputKind {
    /// `true` for an array of documents, each in the member `contents` of its element.
    pub combined: bool,
    /// The objects that can't have further members.
    pub closed: Vec<ClosedObject>,
    /// The paths below `data` of such objects in what the query itself replaces. An array on a path stands for its
    /// elements.
    pub closed_data: Vec<Vec<Value>>,
}

/// An object in the input that can have no other members than it has.
#[derive(Debug, Clone)]
pub struct ClosedObject {
    /// The path below the input; empty for the input itself. An array on the path stands for its elements.
    pub path: Vec<Value>,
    /// The members that it may lack nevertheless.
    pub except: Arc<[String]>,
    /// `true` if a policy that reads the object as a whole lacks it where the input doesn't have it.
    pub required: bool,
}

impl InputKind {
    /// Nothing.
    pub(crate) const UNKNOWN: &'static Self =
        &Self { combined: false, closed: Vec::new(), closed_data: Vec::new() };
}

/// The objects that can't have further members.
#[derive(Debug)]
pub(super) struct ClosedObjects<'k> {
    kind: &'k InputKind,
    /// Their places in memory, each with what it lacks.
    places: HashMap<usize, Lacking>,
    /// The members of the input that would be such objects, and that it lacks; with `true` if required.
    absent: Vec<(Value, Lacking, bool)>,
    /// `true` once those in the data that the query replaces are added.
    has_data: bool,
    /// Prevents reuse of their memory addresses.
    kept: Vec<Value>,
}

/// The members that an object can't have.
#[derive(Debug, Clone)]
enum Lacking {
    Only(&'static str),
    AllBut(Arc<[String]>),
}

impl Lacking {
    fn has(&self, key: &Value) -> bool {
        match self {
            Self::Only(name) => key.as_str() == Some(name),
            Self::AllBut(names) => !names.iter().any(|name| key.as_str() == Some(name)),
        }
    }
}

impl<'k> ClosedObjects<'k> {
    pub(super) fn new(kind: &'k InputKind, input: Option<&Value>) -> Self {
        let (places, absent) = (HashMap::new(), Vec::new());
        let mut closed = Self { kind, places, absent, has_data: false, kept: Vec::new() };
        // The gate makes the elements that hold documents.
        let documents = input.filter(|_| kind.combined).and_then(Value::as_array);
        for element in documents.into_iter().flat_map(|items| items.iter()) {
            closed.add(element, Lacking::AllBut(Arc::default()));
        }
        for ClosedObject { path, except, required } in &kind.closed {
            let lacking = Lacking::AllBut(Arc::clone(except));
            if let Some(input) = input {
                each(input, path, &mut |object| closed.add(object, lacking.clone()));
            }
            if let [key] = &path[..] {
                match input.and_then(|input| input.get(key)) {
                    Some(Value::Object(_)) => {}
                    // Nothing has members there.
                    found => {
                        closed.absent.push((key.clone(), lacking, *required && found.is_none()))
                    }
                }
            }
        }
        closed
    }

    fn add(&mut self, value: &Value, lacking: Lacking) {
        if let (Value::Object(_), Some(place)) = (value, address(value)) {
            self.places.insert(place, lacking);
        }
    }

    /// Adds the objects in the data that a query replaces.
    pub(super) fn add_data(&mut self, data: &Value) {
        if std::mem::replace(&mut self.has_data, true) {
            return;
        }
        for path in &self.kind.closed_data {
            let Some((first, rest)) = path.split_first() else { continue };
            let Some(found) = data.get(first) else { continue };
            each(found, rest, &mut |object| self.add(object, Lacking::AllBut(Arc::default())));
            self.kept.push(found.clone());
        }
    }

    /// Adds the copies of closed objects that a modifier made, since it replaces something within them. Returns
    /// their places, for [`Self::remove`].
    pub(super) fn add_copies(
        &mut self,
        document: &Value,
        replaced: &[Value],
        of_input: bool,
    ) -> Vec<usize> {
        let (kind, mut places) = (self.kind, Vec::new());
        let mut add = |path: &[Value], except: &Arc<[String]>| {
            let is_above = replaced.len() > path.len() && replaced.starts_with(path);
            if is_above
                && let Some(copy @ Value::Object(_)) = at(document, path)
                && !self.contains(copy)
            {
                self.add(copy, Lacking::AllBut(Arc::clone(except)));
                places.extend(address(copy));
            }
        };
        if of_input {
            kind.closed.iter().for_each(|own| add(&own.path, &own.except));
        } else {
            kind.closed_data.iter().for_each(|path| add(path, &Arc::default()));
        }
        places
    }

    /// Removes objects by their places.
    pub(super) fn remove(&mut self, places: &[usize]) {
        places.iter().for_each(|place| drop(self.places.remove(place)));
    }

    /// Adds the objects of an answer, itself and those in its lists, that don't have a member.
    pub(super) fn add_answer(&mut self, answer: &Value, member: &'static str) {
        let Value::Object(fields) = answer else { return };
        if self.contains(answer) {
            return;
        }
        let in_lists = fields.values().filter_map(Value::as_array).flat_map(|list| list.iter());
        for object in std::iter::once(answer).chain(in_lists) {
            if object.get_str(member).is_none() {
                self.add(object, Lacking::Only(member));
            }
        }
        self.kept.push(answer.clone());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.absent.is_empty()
    }

    /// Returns `true` for an object that can't have further members.
    pub(super) fn contains(&self, value: &Value) -> bool {
        address(value).is_some_and(|place| self.places.contains_key(&place))
    }

    /// Returns `true` if an object can't have a member.
    pub(super) fn excludes(&self, value: &Value, key: &Value) -> bool {
        let place = address(value).and_then(|place| self.places.get(&place));
        place.is_some_and(|lacking| lacking.has(key))
    }

    /// Returns `true` if the input lacks a member that is required, or that can't have the given member.
    pub(super) fn excludes_below(&self, member: &Value, key: Option<&Value>) -> bool {
        self.absent.iter().any(|(own, lacking, required)| {
            own == member && key.map_or(*required, |key| lacking.has(key))
        })
    }
}

/// Visits the values at a path of members. An array stands for its elements.
fn each(document: &Value, path: &[Value], visit: &mut impl FnMut(&Value)) {
    match (document, path) {
        (Value::Array(items), _) => items.iter().for_each(|item| each(item, path, visit)),
        (_, []) => visit(document),
        (_, [key, rest @ ..]) => {
            if let Some(value) = document.get(key) {
                each(value, rest, visit);
            }
        }
    }
}

/// Returns the value at a path of members.
fn at<'v>(document: &'v Value, path: &[Value]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, key| value.get(key))
}

/// Returns the place in memory of a value that has one of its own.
pub(super) fn address(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(Shared::address(items)),
        Value::Object(members) => Some(Shared::address(members)),
        Value::String(text) => Some(text.as_ptr().addr()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Set(_) => None,
    }
}

/// A reference to a field of the input, or of an element of it, that isn't an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misshapen {
    /// The reference in the policy.
    pub reference: Span,
    /// `true` if it is an element of the input, `false` for the input itself.
    pub of_element: bool,
    /// The type that is there.
    pub found: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct SurveyState {
    pub(super) found: Survey,
    /// `true` to spare nothing in bodies from which no call site is reached either.
    pub(super) fields: bool,
    /// The match between the arguments of the current call and the heads of the function's definitions.
    pub(super) heads: Heads,
    /// `true` once a call found no definition whose head fits, and none that selects other arguments.
    pub(super) unfit: bool,
    /// Set once no head fits a call, and a part of the input that a head takes apart is no object.
    pub(super) misshapen: Option<(bool, &'static str)>,
    /// The last reference to the input that found nothing.
    pub(super) missing: Option<Span>,
    /// The same for each rule that is undefined.
    pub(super) missing_of: BTreeMap<SetId, Option<Span>>,
    /// The elements of the input, once they are asked for.
    pub(super) elements: Option<Elements>,
    /// `true` if the input holds documents in the member `contents` of its elements.
    pub(super) combined: bool,
}

/// The match between a call's arguments and the heads of a function's definitions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heads {
    /// A head fits.
    pub(super) fit: bool,
    /// A head doesn't fit, although no value in it differs.
    pub(super) lacking: bool,
    /// A head takes an object, and a part of the input isn't one; with `true` for an element.
    pub(super) misshapen: Option<(bool, &'static str)>,
}

/// The identities of an input's elements.
#[derive(Debug)]
pub(super) struct Elements {
    /// The documents, where the input holds several.
    pub(super) documents: Places,
    /// The elements of the input, or of its documents.
    pub(super) items: Places,
}

/// Values that are identified: by their place in memory, or scalars by what they are.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) allocated: HashSet<usize>,
    pub(super) scalars: HashSet<Value>,
}

/// The fate of the look-ups of a reference that computes an operand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lookups {
    /// A collection was iterated over.
    pub(super) iterated: bool,
    /// An operand wasn't found.
    pub(super) missed: bool,
}

/// The look-ups of the expression that is being run, where they matter.
pub(super) type Watched = Option<Rc<Cell<Lookups>>>;

impl SurveyState {
    pub(super) fn new(fields: bool, kind: &InputKind) -> Self {
        Self { fields, combined: kind.combined, ..Self::default() }
    }
}
