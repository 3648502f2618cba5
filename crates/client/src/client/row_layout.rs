//! The layout of a documented object, computed once for lists of many rows.
//!
//! Owns the matching of keys to fields, in either casing, the keys that all rows of a kind share,
//! the building of their objects, and the defaults of absent fields. `json` owns the values of
//! fields.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rego::Value;
use rego::value::Object;

use crate::resources::resource;
use crate::resources::types::{Field, Type, same_name};
use crate::text::other_casing;

type Slot = resource::Slot<Value>;

/// Documented fields, prepared for reading many rows.
pub(super) struct RowLayout {
    /// The fields in the order of their names, which is the order of an object's keys.
    pub columns: Vec<Column>,
    spellings: Vec<Spelling>,
    /// The memory of the last row's slots.
    slots: Cell<Vec<Slot>>,
}

/// A field as an entry of a row.
pub(super) struct Column {
    /// The index of the field.
    pub field: usize,
    /// The key, one string shared by all rows.
    pub key: Value,
    /// The value when the field is absent; `None` leaves it out.
    pub default: Option<Value>,
}

/// The accepted spellings of a field.
struct Spelling {
    documented: &'static str,
    other: String,
    /// The field that followed this one in the last row: rows of a list are alike.
    next: Cell<usize>,
}

impl Spelling {
    fn is(&self, key: &str) -> bool {
        self.documented == key || self.other == key
    }
}

thread_local! {
    /// Layouts by the address of their fields, which are statics.
    static LAYOUTS: RefCell<Vec<((usize, usize), Rc<RowLayout>)>> = RefCell::default();
}

impl RowLayout {
    /// Returns the layout of `fields`, cached per thread.
    pub fn of(fields: &'static [Field]) -> Rc<Self> {
        let address = (fields.as_ptr().addr(), fields.len());
        LAYOUTS.with_borrow_mut(|layouts| {
            if let Some((_, known)) = layouts.iter().find(|(known, _)| *known == address) {
                return Rc::clone(known);
            }
            let layout = Rc::new(Self::new(fields));
            layouts.push((address, Rc::clone(&layout)));
            layout
        })
    }

    fn new(fields: &'static [Field]) -> Self {
        let mut columns: Vec<Column> = fields
            .iter()
            .enumerate()
            .map(|(field, f)| Column {
                field,
                key: Value::from(f.name),
                default: f.required.then(|| default(&f.ty)),
            })
            .collect();
        columns.sort_by(|a, b| a.key.cmp(&b.key));
        let spellings = fields
            .iter()
            .enumerate()
            .map(|(index, field)| Spelling {
                documented: field.name,
                other: other_casing(field.name),
                next: Cell::new(index + 1),
            })
            .collect();
        Self { columns, spellings, slots: Cell::default() }
    }

    /// Returns an empty slot for each field.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = self.slots.take();
        slots.clear();
        slots.resize_with(self.columns.len(), Slot::default);
        slots
    }

    /// Returns the object of a row: what its slots have, and the defaults of absent fields.
    pub fn object(&self, mut slots: Vec<Slot>) -> Object {
        let members = self.columns.iter().filter_map(|column| {
            let slot = slots.get_mut(column.field)?;
            let value = if slot.is_read() { slot.value.take() } else { column.default.clone() };
            Some((column.key.clone(), value?))
        });
        let object = members.collect();
        self.slots.set(slots);
        object
    }

    /// Returns the field that `key` names. `before` is one more than the previous field's index, or
    /// 0.
    pub fn find(&self, key: &str, before: usize) -> Option<usize> {
        let previous = before.checked_sub(1).and_then(|index| self.spellings.get(index));
        let guess = previous.map_or(0, |previous| previous.next.get());
        if self.spellings.get(guess).is_some_and(|spelling| spelling.is(key)) {
            return Some(guess);
        }
        let exact = self.spellings.iter().position(|spelling| spelling.is(key));
        let found = exact.or_else(|| {
            self.spellings.iter().position(|spelling| same_name(spelling.documented, key))
        })?;
        if let Some(previous) = previous {
            previous.next.set(found);
        }
        Some(found)
    }
}

/// Returns the value of a documented field that the service leaves out, as proto3 JSON does with
/// defaults.
pub fn default(ty: &Type) -> Value {
    match ty {
        Type::Any | Type::Null => Value::Null,
        Type::String | Type::Digest | Type::Uuid | Type::Timestamp => Value::from(""),
        Type::Boolean => Value::Bool(false),
        Type::Integer | Type::Number => Value::from(0_u64),
        Type::Count => Value::from("0"),
        Type::Array(_) => Value::new_array(),
        Type::Map(_) => Value::new_object(),
        Type::Object(fields) => {
            let row: Object = fields
                .iter()
                .filter(|f| f.required)
                .map(|f| (Value::from(f.name), default(&f.ty)))
                .collect();
            Value::from(row)
        }
        Type::Either(first, _) => default(first),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    static FIELDS: &[Field] = &[
        Field::required("createdAt", Type::Timestamp, ""),
        Field::required("workflow_run_id", Type::String, ""),
        Field::optional("kind", Type::String, ""),
    ];

    #[test]
    fn keys_find_their_fields_in_any_order_and_casing() {
        let layout = RowLayout::of(FIELDS);
        for _ in 0..2 {
            for (key, field) in [
                ("workflowRunId", Some(1)),
                ("createdAt", Some(0)),
                ("created_at", Some(0)),
                ("kind", Some(2)),
                ("workflow_run_id", Some(1)),
                ("workflow_runId", Some(1)),
                ("Kind", None),
                ("_kind", None),
            ] {
                for before in 0..=FIELDS.len() {
                    assert_eq!(layout.find(key, before), field, "{key}");
                }
            }
        }
    }

    #[test]
    fn the_other_casing_spells_the_same_name() {
        for (name, other) in [("created_at", "createdAt"), ("createdAt", "created_at")] {
            assert_eq!(other_casing(name), other);
            assert!(same_name(name, other));
        }
    }
}
