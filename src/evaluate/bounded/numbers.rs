//! Numbers: ranges, shifts, rounding, parsing.

use regorus::Value;

use super::arguments::{any, integer, string};
use super::{Fault, Outcome, Scope, differs, native, operand, size};

/// `numbers.range(a, b)`: from `a` to `b`, either way, both included.
pub(super) fn range(scope: &Scope, args: &[Value]) -> Outcome {
    count(scope, args, 1)
}

/// `numbers.range_step(a, b, step)`: as `numbers.range`, in steps of at least 1.
pub(super) fn range_step(scope: &Scope, args: &[Value]) -> Outcome {
    match integer(args, 2)? {
        Some(step) if step > 0 => count(scope, args, step),
        Some(_) => operand("step must be a positive number above zero"),
        None => operand("step needs more than 64 bits"),
    }
}

fn count(scope: &Scope, args: &[Value], step: i64) -> Outcome {
    let (Some(from), Some(to)) = (integer(args, 0)?, integer(args, 1)?) else {
        return size::too_large("a bound needs more than 64 bits");
    };
    let (from, to, step) = (i128::from(from), i128::from(to), i128::from(step));
    let many = from.abs_diff(to) / step.unsigned_abs() + 1;
    size::elements(scope, many)?;
    let step = if from <= to { step } else { -step };
    let mut next = from;
    let mut numbers = Vec::new();
    for index in 0..many {
        if index % 65_536 == 0 {
            scope.check()?;
        }
        numbers.push(Value::from(next));
        next += step;
    }
    Ok(Value::from(numbers))
}

/// The bits of `bits.lsh(n, by)` are bounded.
pub(super) fn lsh(scope: &Scope, args: &[Value]) -> Outcome {
    integer(args, 0)?;
    let Value::Number(number) = any(args, 0)? else { return Err(Fault::Undefined) };
    let limit = scope.bounds().bits;
    let by = match integer(args, 1)? {
        Some(by) if by < 0 => return operand("operand 2 must be an unsigned integer"),
        by => by.and_then(|by| u64::try_from(by).ok()).unwrap_or(u64::MAX),
    };
    let has = number.to_big().map_or(0, |big| big.bits());
    if has.saturating_add(by) > limit {
        let bits = has.saturating_add(by);
        return size::too_large(format!("would make {bits} bits, the limit is {limit}"));
    }
    native::call(scope, "bits.lsh", args)
}

/// `bits.rsh(n, by)`: nothing is left after very many bits.
pub(super) fn rsh(scope: &Scope, args: &[Value]) -> Outcome {
    integer(args, 0)?;
    match integer(args, 1)? {
        Some(by) if by < 0 => operand("operand 2 must be an unsigned integer"),
        Some(by) if by <= i64::from(u32::MAX) => native::call(scope, "bits.rsh", args),
        _ => {
            let negative = any(args, 0)? < &Value::from(0);
            Ok(Value::from(if negative { -1 } else { 0 }))
        }
    }
}

/// OPA 1.4 rounds numbers between -1 and 0 to a number that no other tool would: no answer.
pub(super) fn floor(scope: &Scope, args: &[Value]) -> Outcome {
    between(args)?;
    native::call(scope, "floor", args)
}

/// See [`floor`].
pub(super) fn ceil(scope: &Scope, args: &[Value]) -> Outcome {
    between(args)?;
    native::call(scope, "ceil", args)
}

fn between(args: &[Value]) -> Result<(), Fault> {
    match any(args, 0)?.as_f64() {
        Ok(float) if float > -1.0 && float < 0.0 => {
            differs("numbers between -1 and 0 are rounded differently by OPA and by arithmetic")
        }
        _ => Ok(()),
    }
}

/// `to_number`, which takes in text what JSON takes, and no white space.
pub(super) fn to_number(scope: &Scope, args: &[Value]) -> Outcome {
    if let Value::String(text) = any(args, 0)? {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.starts_with(|c: char| c.is_ascii_digit())
            || !digits.ends_with(|c: char| c.is_ascii_digit())
        {
            return operand("invalid number");
        }
        if text.len() > 1000 {
            return size::too_large("a number of more than 1000 characters");
        }
    }
    native::call(scope, "to_number", args)
}

/// `format_int`, which cuts off the fraction.
pub(super) fn format_int(scope: &Scope, args: &[Value]) -> Outcome {
    let fraction = any(args, 0)?.as_f64().is_ok_and(|float| float > -1.0 && float < 0.0);
    if fraction {
        let [_, base] = args else { return Err(Fault::Undefined) };
        return native::call(scope, "format_int", &[Value::from(0), base.clone()]);
    }
    native::call(scope, "format_int", args)
}

/// Arguments that OPA takes as whole numbers only, where regorus takes the fraction for none.
pub(super) fn whole<const AT: usize>(_: &Scope, args: &[Value]) -> Result<u64, Fault> {
    for index in AT..args.len() {
        if matches!(args.get(index), Some(Value::Number(_))) {
            integer(args, index)?;
        }
    }
    Ok(0)
}

/// `units.parse`: the suffixes that OPA knows, and no others.
pub(super) fn units(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?;
    let suffix = text.trim_matches('"').trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let known = ["m", "k", "g", "t", "p", "e", "ki", "mi", "gi", "ti", "pi", "ei", ""];
    if text.len() > 1000 {
        return size::too_large("a number of more than 1000 characters");
    }
    if is_scientific(text) {
        return differs("an amount in scientific notation");
    }
    if !text.is_ascii() || !known.contains(&suffix.to_ascii_lowercase().as_str()) {
        return operand("could not parse amount to a number: unknown suffix");
    }
    match native::call(scope, "units.parse", args)? {
        Value::Undefined => operand("could not parse amount to a number"),
        value => Ok(value),
    }
}

/// Whether a number has an exponent, which OPA reads.
fn is_scientific(text: &str) -> bool {
    let exponent = |at: usize| {
        let rest = text.get(at + 1..).unwrap_or("").trim_start_matches(['+', '-']);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    text.match_indices(['e', 'E']).any(|(at, _)| exponent(at))
}

/// `units.parse_bytes`: whole bytes, and the suffixes that OPA knows.
pub(super) fn unit_bytes(scope: &Scope, args: &[Value]) -> Outcome {
    let text = string(args, 0)?.trim_matches('"').to_ascii_lowercase();
    let amount = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = text.get(amount.len()..).unwrap_or_default();
    let suffix = suffix.strip_suffix('b').unwrap_or(suffix);
    let known = ["k", "m", "g", "t", "p", "e", "ki", "mi", "gi", "ti", "pi", "ei", ""];
    if text.len() > 1000 {
        return size::too_large("a number of more than 1000 characters");
    }
    if !known.contains(&suffix) || text == "b" || (suffix.is_empty() && text.ends_with('b')) {
        return operand("could not parse byte amount to a number: unknown unit");
    }
    let value = native::call(scope, "units.parse_bytes", args)?;
    if amount.contains('.') {
        // regorus rounds, OPA cuts off: only a number that both leave alone is sure.
        let exact = native::call(scope, "units.parse", &[Value::from(format!("{amount}{suffix}"))]);
        if !exact.is_ok_and(|exact| exact == value) {
            return differs("an amount that isn't a whole number of bytes");
        }
    }
    if value == Value::Undefined { operand("could not parse byte amount") } else { Ok(value) }
}
