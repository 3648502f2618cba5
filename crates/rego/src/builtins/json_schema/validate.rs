//! Validates documents against the rules of a schema.
//!
//! Owns the description of violations: kinds, fields, wording, and which of several alternatives is
//! explained (the closest match, by a score).

use std::cmp::Ordering;
use std::collections::HashMap;

use num_bigint::BigInt;
use num_traits::{ToPrimitive as _, Zero as _};

use super::super::{Code, Context, Error};
use super::formats;
use super::schema::{Additional, Dependency, Rules, Schema, SchemaId};
use super::{canonical, deeper};
use crate::value::{Array, Number, Object, Value, decimal_text};

/// A violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub kind: &'static str,
    pub field: String,
    pub description: String,
}

/// Returns the violations in a document; none if it is valid.
///
/// # Errors
/// Returns an error if the schema is infinitely recursive, or validation takes too long.
pub(super) fn validate(
    ctx: &dyn Context,
    schema: &Schema,
    document: &Value,
) -> Result<Vec<Problem>, Error> {
    let mut validator = Validator { ctx, schema, depth: 0 };
    Ok(validator.evaluate(schema.root, document, &Path::Root)?.problems)
}

/// A location in the document.
enum Path<'p> {
    Root,
    Part(&'p Path<'p>, &'p str),
}

impl Path<'_> {
    fn field(&self) -> String {
        let mut parts = Vec::new();
        let mut path = self;
        while let Path::Part(parent, name) = path {
            parts.push(*name);
            path = parent;
        }
        if parts.is_empty() {
            return "(Root)".to_owned();
        }
        parts.reverse();
        parts.join(".")
    }
}

/// A location and its outcome.
struct At<'p> {
    path: &'p Path<'p>,
    outcome: Outcome,
}

#[derive(Default)]
struct Outcome {
    problems: Vec<Problem>,
    score: i64,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.score += other.score;
    }

    fn fits(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Keeps the better of two outcomes, by score.
fn closest(best: &mut Option<Outcome>, outcome: Outcome) {
    if best.as_ref().is_none_or(|best| outcome.score > best.score) {
        *best = Some(outcome);
    }
}

/// The limit on nested schemas, including recursive ones.
const MAX_DEPTH: u32 = 30_000;

struct Validator<'s, 'c> {
    ctx: &'c dyn Context,
    schema: &'s Schema,
    depth: u32,
}

type Done = Result<(), Error>;

impl<'s> Validator<'s, '_> {
    fn problem(&self, at: &mut At<'_>, kind: &'static str, description: impl Into<String>) -> Done {
        let field = at.path.field();
        let description = description.into();
        self.ctx.charge((field.len() + description.len() + 128) as u64)?;
        at.outcome.problems.push(Problem { kind, field, description });
        at.outcome.score -= 2;
        Ok(())
    }

    /// Validates against a single schema, with an outcome of its own.
    fn evaluate(&mut self, id: SchemaId, node: &Value, path: &Path<'_>) -> Result<Outcome, Error> {
        let mut at = At { path, outcome: Outcome::default() };
        self.schema(id, node, &mut at)?;
        Ok(at.outcome)
    }

    fn schema(&mut self, id: SchemaId, node: &Value, at: &mut At<'_>) -> Done {
        self.ctx.check()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = "the schema refers to itself without end, or is nested too deeply";
            return Err(Error::halt(Code::Limit, message));
        }
        let done = deeper(|| self.rules(id, node, at));
        self.depth -= 1;
        done
    }

    fn rules(&mut self, id: SchemaId, node: &Value, at: &mut At<'_>) -> Done {
        let Some(rules) = self.schema.rules.get(id) else { return Ok(()) };
        if let Some(pass) = rules.pass {
            if !pass {
                self.problem(at, "false", "False always fails validation")?;
            }
            return Ok(());
        }
        if let Some(reference) = rules.reference {
            return self.schema(reference, node, at);
        }
        let given = match node {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_integer() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) | Value::Set(_) => "object",
        };
        let named = |name: &str| rules.types.contains(&name);
        if !rules.types.is_empty() && !named(given) && !(given == "integer" && named("number")) {
            let expected = match rules.types.as_slice() {
                [one] => (*one).to_owned(),
                many => format!("[{}]", many.join(",")),
            };
            let text = format!("Invalid type. Expected: {expected}, given: {given}");
            return self.problem(at, "invalid_type", text);
        }
        self.combined(rules, node, at)?;
        match node {
            Value::Array(array) => {
                self.array(rules, array, at)?;
                self.common(rules, node, at)?;
            }
            Value::Object(object) => {
                self.object(rules, object, at)?;
                self.common(rules, node, at)?;
                for (name, schema) in &rules.properties {
                    if let Some(value) = object.get(&Value::from(name.as_str())) {
                        at.outcome.merge(self.evaluate(
                            *schema,
                            value,
                            &Path::Part(at.path, name),
                        )?);
                    }
                }
            }
            Value::Number(number) => {
                self.number(rules, number, at)?;
                self.common(rules, node, at)?;
            }
            Value::String(text) => {
                self.common(rules, node, at)?;
                self.text(rules, text, at)?;
            }
            _ => self.common(rules, node, at)?,
        }
        at.outcome.score += 1;
        Ok(())
    }

    /// Applies combinations of schemas: `anyOf` and similar keywords.
    fn combined(&mut self, rules: &'s Rules, node: &Value, at: &mut At<'_>) -> Done {
        if !rules.any_of.is_empty() {
            let mut best = None;
            let mut fits = false;
            for id in &rules.any_of {
                let branch = self.evaluate(*id, node, at.path)?;
                if branch.fits() {
                    fits = true;
                    break;
                }
                closest(&mut best, branch);
            }
            if !fits {
                let text = "Must validate at least one schema (anyOf)";
                self.problem(at, "number_any_of", text)?;
                at.outcome.merge(best.unwrap_or_default());
            }
        }
        if !rules.one_of.is_empty() {
            let mut best = None;
            let mut fitting = 0_u32;
            for id in &rules.one_of {
                let branch = self.evaluate(*id, node, at.path)?;
                if branch.fits() {
                    fitting += 1;
                } else if fitting == 0 {
                    closest(&mut best, branch);
                }
            }
            if fitting != 1 {
                let text = "Must validate one and only one schema (oneOf)";
                self.problem(at, "number_one_of", text)?;
                if fitting == 0 {
                    at.outcome.merge(best.unwrap_or_default());
                }
            }
        }
        if !rules.all_of.is_empty() {
            let mut all = true;
            for id in &rules.all_of {
                let branch = self.evaluate(*id, node, at.path)?;
                all &= branch.fits();
                at.outcome.merge(branch);
            }
            if !all {
                let text = "Must validate all the schemas (allOf)";
                self.problem(at, "number_all_of", text)?;
            }
        }
        if let Some(not) = rules.not
            && self.evaluate(not, node, at.path)?.fits()
        {
            self.problem(at, "number_not", "Must not validate the schema (not)")?;
        }
        if let Value::Object(object) = node {
            self.dependencies(rules, object, node, at)?;
        }
        if let Some(condition) = rules.condition {
            let (branch, kind, text) = if self.evaluate(condition, node, at.path)?.fits() {
                (rules.then, "condition_then", "Must validate \"then\" as \"if\" was valid")
            } else {
                (
                    rules.otherwise,
                    "condition_else",
                    "Must validate \"else\" as \"if\" was not valid",
                )
            };
            if let Some(branch) = branch {
                let result = self.evaluate(branch, node, at.path)?;
                if !result.fits() {
                    self.problem(at, kind, text)?;
                    at.outcome.merge(result);
                }
            }
        }
        at.outcome.score += 1;
        Ok(())
    }

    fn dependencies(
        &mut self,
        rules: &'s Rules,
        object: &Object,
        node: &Value,
        at: &mut At<'_>,
    ) -> Done {
        for (name, dependency) in &rules.dependencies {
            if !object.contains_key(&Value::from(name.as_str())) {
                continue;
            }
            match dependency {
                Dependency::Properties(names) => {
                    for name in names {
                        if !object.contains_key(&Value::from(name.as_str())) {
                            let text = format!("Has a dependency on {name}");
                            self.problem(at, "missing_dependency", text)?;
                        }
                    }
                }
                Dependency::Schema(id) => self.schema(*id, node, at)?,
            }
        }
        Ok(())
    }

    /// Applies `const`, `enum` and `format`.
    fn common(&mut self, rules: &Rules, node: &Value, at: &mut At<'_>) -> Done {
        if rules.constant.is_some() || rules.enumeration.is_some() {
            self.ctx.charge(node.size())?;
            let text = canonical(node)?;
            if let Some(constant) = &rules.constant
                && text != *constant
            {
                let field = at.path.field();
                self.problem(at, "const", format!("{field} does not match: {constant}"))?;
            }
            if let Some(allowed) = &rules.enumeration
                && !allowed.contains(&text)
            {
                let (field, allowed) = (at.path.field(), allowed.join(", "));
                let text = format!("{field} must be one of the following: {allowed}");
                self.problem(at, "enum", text)?;
            }
        }
        if let Value::String(text) = node
            && !formats::fits(self.ctx, &rules.format, text)?
        {
            let text = format!("Does not match format '{}'", rules.format);
            self.problem(at, "format", text)?;
        }
        at.outcome.score += 1;
        Ok(())
    }

    fn array(&mut self, rules: &Rules, array: &Array, at: &mut At<'_>) -> Done {
        for (index, value) in array.iter().enumerate() {
            let id = if rules.items_for_all {
                rules.items.first().copied()
            } else if let Some(id) = rules.items.get(index) {
                Some(*id)
            } else {
                match rules.additional_items {
                    _ if rules.items.is_empty() => None,
                    Some(Additional::Schema(id)) => Some(id),
                    Some(Additional::Allowed(false)) if index == rules.items.len() => {
                        let text = "No additional items allowed on array";
                        self.problem(at, "array_no_additional_items", text)?;
                        None
                    }
                    _ => None,
                }
            };
            let Some(id) = id else { continue };
            let name = index.to_string();
            at.outcome.merge(self.evaluate(id, value, &Path::Part(at.path, &name))?);
        }
        let length = array.len() as u64;
        if let Some(min) = rules.min_items.filter(|min| length < *min) {
            let text = format!("Array must have at least {min} items");
            self.problem(at, "array_min_items", text)?;
        }
        if let Some(max) = rules.max_items.filter(|max| length > *max) {
            let text = format!("Array must have at most {max} items");
            self.problem(at, "array_max_items", text)?;
        }
        if rules.unique_items {
            let mut seen = HashMap::new();
            for (index, value) in array.iter().enumerate() {
                self.ctx.check()?;
                self.ctx.charge(value.size())?;
                if let Some(before) = seen.insert(canonical(value)?, index) {
                    let text = format!("array items[{before},{index}] must be unique");
                    self.problem(at, "unique", text)?;
                }
            }
        }
        if let Some(contains) = rules.contains {
            let mut best = None;
            let mut fits = false;
            for (index, value) in array.iter().enumerate() {
                let name = index.to_string();
                let result = self.evaluate(contains, value, &Path::Part(at.path, &name))?;
                if result.fits() {
                    fits = true;
                    break;
                }
                closest(&mut best, result);
            }
            if !fits {
                let text = "At least one of the items must match";
                self.problem(at, "contains", text)?;
                at.outcome.merge(best.unwrap_or_default());
            }
        }
        at.outcome.score += 1;
        Ok(())
    }

    fn object(&mut self, rules: &Rules, object: &Object, at: &mut At<'_>) -> Done {
        let length = object.len() as u64;
        if let Some(min) = rules.min_properties.filter(|min| length < *min) {
            let text = format!("Must have at least {min} properties");
            self.problem(at, "array_min_properties", text)?;
        }
        if let Some(max) = rules.max_properties.filter(|max| length > *max) {
            let text = format!("Must have at most {max} properties");
            self.problem(at, "array_max_properties", text)?;
        }
        for name in &rules.required {
            if object.contains_key(&Value::from(name.as_str())) {
                at.outcome.score += 1;
            } else {
                self.problem(at, "required", format!("{name} is required"))?;
            }
        }
        for (key, value) in object {
            let name = key.as_str().unwrap_or_default();
            let inner = Path::Part(at.path, name);
            let mut matched = false;
            for (pattern, id) in &rules.pattern_properties {
                self.ctx.check()?;
                if pattern.matches(self.ctx, name)? {
                    matched = true;
                    at.outcome.merge(self.evaluate(*id, value, &inner)?);
                }
            }
            at.outcome.score += i64::from(matched);
            // Properties are sorted by name, like the members of objects.
            let known = rules
                .properties
                .binary_search_by(|(property, _)| property.as_str().cmp(name))
                .is_ok();
            match rules.additional_properties {
                Some(Additional::Allowed(false)) if !known && !matched => {
                    let text = format!("Additional property {name} is not allowed");
                    self.problem(at, "additional_property_not_allowed", text)?;
                }
                Some(Additional::Schema(id)) if !known && !matched => {
                    at.outcome.merge(self.evaluate(id, value, &inner)?);
                }
                _ => {}
            }
        }
        if let Some(names) = rules.property_names {
            for key in object.keys() {
                let result = self.evaluate(names, key, at.path)?;
                if !result.fits() {
                    let name = key.as_str().unwrap_or_default();
                    let text = format!("Property name of \"{name}\" does not match");
                    self.problem(at, "invalid_property_name", text)?;
                    at.outcome.merge(result);
                }
            }
        }
        at.outcome.score += 1;
        Ok(())
    }

    fn text(&mut self, rules: &Rules, text: &str, at: &mut At<'_>) -> Done {
        if rules.min_length.is_some() || rules.max_length.is_some() {
            let length = text.chars().count() as u64;
            if let Some(min) = rules.min_length.filter(|min| length < *min) {
                let text = format!("String length must be greater than or equal to {min}");
                self.problem(at, "string_gte", text)?;
            }
            if let Some(max) = rules.max_length.filter(|max| length > *max) {
                let text = format!("String length must be less than or equal to {max}");
                self.problem(at, "string_lte", text)?;
            }
        }
        if let Some((pattern, source)) = &rules.pattern
            && !pattern.matches(self.ctx, text)?
        {
            let text = format!("Does not match pattern '{source}'");
            self.problem(at, "pattern", text)?;
        }
        at.outcome.score += 1;
        Ok(())
    }

    fn number(&mut self, rules: &Rules, number: &Number, at: &mut At<'_>) -> Done {
        if let Some(of) = &rules.multiple_of
            && !multiple(number, of)?
        {
            let text = format!("Must be a multiple of {}", shown(of));
            self.problem(at, "multiple_of", text)?;
        }
        let limits: [(_, fn(Ordering) -> bool, _, _); 4] = [
            (&rules.maximum, Ordering::is_gt, "number_lte", "less than or equal to"),
            (&rules.exclusive_maximum, Ordering::is_ge, "number_lt", "less than"),
            (&rules.minimum, Ordering::is_lt, "number_gte", "greater than or equal to"),
            (&rules.exclusive_minimum, Ordering::is_le, "number_gt", "greater than"),
        ];
        for (limit, exceeds, kind, words) in limits {
            if let Some(limit) = limit.as_ref().filter(|limit| exceeds(number.cmp(limit))) {
                let text = format!("Must be {words} {}", shown(limit));
                self.problem(at, kind, text)?;
            }
        }
        at.outcome.score += 1;
        Ok(())
    }
}

/// Returns the sign and digits of a number, and the power of ten to multiply them by.
fn decimal(number: &Number) -> Option<(bool, String, i64)> {
    let text = number.text();
    let (negative, text) = text.strip_prefix('-').map_or((false, &*text), |text| (true, text));
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let trimmed = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - trimmed.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let exponent = exponent.checked_sub(places)?.checked_add(zeros)?;
    Some((negative, trimmed.trim_start_matches('0').to_owned(), exponent))
}

/// Returns `true` if a number is an exact multiple of another.
fn multiple(number: &Number, of: &Number) -> Result<bool, Error> {
    /// The limit on the digits that the numbers are expanded to.
    const MAX_DIGITS: i64 = 10_000;
    let too_big = || Error::halt(Code::Limit, "number too big to compute with");
    let (_, digits, exponent) = decimal(number).ok_or_else(too_big)?;
    let (_, of_digits, of_exponent) = decimal(of).ok_or_else(too_big)?;
    if digits.is_empty() {
        return Ok(true);
    }
    let shift = exponent.checked_sub(of_exponent).ok_or_else(too_big)?;
    let length = digits.len().max(of_digits.len()).to_i64().ok_or_else(too_big)?;
    if shift < -length - 20 {
        // The last digits are far below the other number's first, so the quotient can't be an
        // integer.
        return Ok(false);
    }
    if shift.saturating_add(length) > MAX_DIGITS {
        return Err(too_big());
    }
    let big = |digits: &str, zeros: i64| {
        let zeros = usize::try_from(zeros).unwrap_or(0);
        let text = format!("{digits}{}", "0".repeat(zeros));
        BigInt::parse_bytes(text.as_bytes(), 10).ok_or_else(too_big)
    };
    let (left, right) = (big(&digits, shift)?, big(&of_digits, -shift)?);
    Ok((left % right).is_zero())
}

/// Formats a limit with all digits, in scientific notation from a million on.
fn shown(number: &Number) -> String {
    let Some((negative, digits, exponent)) = decimal(number) else { return number.to_string() };
    if digits.is_empty() {
        return "0".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    // The position of the point, counted from the first digit.
    let point = exponent.saturating_add(i64::try_from(digits.len()).unwrap_or(i64::MAX));
    format!("{sign}{}", decimal_text(digits.as_bytes(), point, false))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn limits_are_shown_with_all_digits() {
        for (text, expected) in [
            ("0", "0"),
            ("-1.50", "-1.5"),
            ("100", "100"),
            ("123456", "123456"),
            ("1000000", "1e+06"),
            ("12345678901", "1.2345678901e+10"),
            ("0.0001", "0.0001"),
            ("0.00001234", "1.234e-05"),
            ("0.1", "0.1"),
            ("1e3", "1000"),
            ("123456.789", "123456.789"),
        ] {
            assert_eq!(shown(&number(text)), expected, "{text}");
        }
    }

    #[test]
    fn multiples_are_exact() {
        let is = |a, b| multiple(&number(a), &number(b)).unwrap();
        assert!(is("0.3", "0.1") && is("1e3", "2.5") && is("-9", "3") && is("0.0", "7"));
        assert!(!is("1e-9", "3") && !is("1.00000000000000000001", "0.5") && !is("1e-99", "1"));
    }
}
