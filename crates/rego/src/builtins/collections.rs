//! Arrays and sets.

use super::operands::{answer, array, charge_elements, integer, operand, set};
use super::{Answer, Context, Error, Value};
use crate::value::{Array, Set};

pub(super) fn concat(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (array(args, 0)?, array(args, 1)?);
    if a.is_empty() {
        return answer(operand(args, 1)?.clone());
    }
    if b.is_empty() {
        return answer(operand(args, 0)?.clone());
    }
    charge_elements(context, a.len().saturating_add(b.len()))?;
    answer(a.iter().chain(b).cloned().collect::<Array>())
}

pub(super) fn flatten(context: &dyn Context, args: &[Value]) -> Answer {
    let array = array(args, 0)?;
    if !array.iter().any(|item| matches!(item, Value::Array(_))) {
        return answer(operand(args, 0)?.clone());
    }
    let count = array.iter().map(|item| item.as_array().map_or(1, Vec::len));
    charge_elements(context, count.fold(0, usize::saturating_add))?;
    let mut flat = Array::new();
    for value in array {
        match value {
            Value::Array(inner) => flat.extend(inner.iter().cloned()),
            other => flat.push(other.clone()),
        }
    }
    answer(flat)
}

pub(super) fn reverse(context: &dyn Context, args: &[Value]) -> Answer {
    let array = array(args, 0)?;
    charge_elements(context, array.len())?;
    answer(array.iter().rev().cloned().collect::<Array>())
}

pub(super) fn slice(context: &dyn Context, args: &[Value]) -> Answer {
    let (array, from, to) = (array(args, 0)?, integer(args, 1)?, integer(args, 2)?);
    let clamp = |index: i64, end: usize| {
        if index < 0 { 0 } else { usize::try_from(index).map_or(end, |index| index.min(end)) }
    };
    let to = clamp(to, array.len());
    let from = clamp(from, to);
    let part = array.get(from..to).unwrap_or_default();
    charge_elements(context, part.len())?;
    answer(part.to_vec())
}

pub(super) fn and(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (set(args, 0)?, set(args, 1)?);
    charge_elements(context, a.len().min(b.len()))?;
    answer(common(a, b))
}

fn common(a: &Set, b: &Set) -> Set {
    let (few, many) = if b.len() < a.len() { (b, a) } else { (a, b) };
    few.iter().filter(|member| many.contains(member)).cloned().collect()
}

pub(super) fn or(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (set(args, 0)?, set(args, 1)?);
    if a.is_empty() {
        return answer(operand(args, 1)?.clone());
    }
    if b.is_empty() {
        return answer(operand(args, 0)?.clone());
    }
    charge_elements(context, a.len().saturating_add(b.len()))?;
    answer(a.union(b))
}

pub(super) fn difference(context: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (set(args, 0)?, set(args, 1)?);
    charge_elements(context, a.len())?;
    answer(a.difference(b))
}

fn inner(value: &Value) -> Result<&Set, Error> {
    value.as_set().ok_or_else(|| Error::operand(1, value, &["set"]))
}

pub(super) fn union(context: &dyn Context, args: &[Value]) -> Answer {
    let mut all = Set::new();
    for value in set(args, 0)? {
        let more = inner(value)?;
        charge_elements(context, more.len())?;
        context.check()?;
        all.extend(more.iter().cloned());
    }
    answer(all)
}

pub(super) fn intersection(context: &dyn Context, args: &[Value]) -> Answer {
    let mut result: Option<Set> = None;
    for value in set(args, 0)? {
        let next = inner(value)?;
        context.check()?;
        result = Some(match result {
            None => {
                charge_elements(context, next.len())?;
                next.clone()
            }
            Some(before) => common(&before, next),
        });
    }
    answer(result.unwrap_or_default())
}
