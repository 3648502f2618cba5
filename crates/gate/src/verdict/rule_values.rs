//! Reads a package's verdict from the values of its rules. A value of an unexpected shape is an error.
//!
//! Owns the forms of a verdict in Rego. Whether a violation fails the input, is waived or is below
//! the threshold is decided in `outcome`.

use std::collections::HashMap;

use rego_platform::check::shapes::{field_hint, list_hint, message_hint};
use rego_platform::evaluate::{QueryOutput, compact};
use rego_platform::functions::describe;
use rego_platform::load::roles::{RESULT_FIELDS, Role};
use rego_platform::rego::Value;
use rego_platform::{Diagnostic, Error};
use rego_platform_client::text::{shorten, size};

use crate::policy::{FindingType, VerdictPackage, VerdictRule};
use crate::report::model::{Class, Rule, Severity};

/// The reason for skipping a document that a policy doesn't apply to, as policy engines word it.
const NOT_RECOGNIZED: &str = "the file content is not recognized";

/// The fields that identify a finding; the first one present counts.
const IDS: &[&str] = &["id", "external_id", "rule_id", "vulnerability_id", "cve"];

/// A package's verdict, from the values of its rules.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RawVerdict {
    pub skipped: bool,
    pub ignored: bool,
    pub reason: Option<String>,
    pub items: Vec<Item>,
    /// The names of excepted rules, from the rule `exception`.
    pub exceptions: Vec<String>,
}

/// A violation, finding or warning of a package.
#[derive(Debug, PartialEq)]
pub(crate) struct Item {
    pub class: Class,
    /// The index of the verdict rule that reported it.
    pub rule: usize,
    pub message: String,
    pub severity: Option<String>,
    pub id: Option<String>,
    pub fields: serde_json::Map<String, serde_json::Value>,
    /// `true` for a finding that replaces a violation of unknown severity. No threshold exempts it.
    pub unrated: bool,
}

impl Item {
    /// Returns the severity of the item, or else of its rule.
    fn severity_in<'s>(&'s self, described: &'s [Rule]) -> Option<&'s str> {
        self.severity.as_deref().or_else(|| described.get(self.rule)?.severity.as_deref())
    }

    /// Returns `true` for a finding suppressed by a policy document.
    pub fn is_suppressed(&self) -> bool {
        self.fields.get("suppress") == Some(&serde_json::Value::Bool(true))
    }

    /// Returns `true` if this item has the other's message, severity (if any) and fields, with the same
    /// values.
    fn includes(&self, other: &Self, described: &[Rule]) -> bool {
        let of_other = other.severity_in(described);
        let severity = of_other.is_none() || self.severity_in(described) == of_other;
        let field = |(name, value)| self.fields.get(name) == Some(value);
        // A finding that doesn't count leaves the violation as it is.
        let counts = !self.is_suppressed() || other.is_suppressed();
        self.message == other.message && counts && severity && other.fields.iter().all(field)
    }
}

/// Reads the verdict from the result of a package's query. `described` are the rules with their annotations,
/// in the same order.
pub(crate) fn read(
    package: &VerdictPackage,
    described: &[Rule],
    output: &QueryOutput,
) -> Result<RawVerdict, Error> {
    let broken = || Error::internal("no result of the verdict's query");
    let rules = package.rules.as_slice();
    let Some(Value::Array(values)) = output.value() else { return Err(broken()) };
    let Some((values, beside)) = values.split_at_checked(rules.len()) else {
        return Err(broken());
    };
    let mut raw = RawVerdict::default();
    let (mut violations, mut findings) = (Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    for (index, (rule, value)) in rules.iter().zip(values.iter()).enumerate() {
        let value = match value {
            Value::Array(one) => one.first(),
            _ => return Err(broken()),
        };
        let at = ValueContext { finding: package.finding, ..ValueContext::of(rule, index) };
        match rule.role {
            Role::Result => {
                let raw = result(&at, value, described, package.any_field)?;
                return refuse_left_out(package, beside).and_then(|()| bounded(raw));
            }
            Role::Violations => violations.extend(list(&at, value, Class::Violation)?),
            Role::Findings => findings.extend(list(&at, value, Class::Finding)?),
            Role::Warnings => warnings.extend(list(&at, value, Class::Warning)?),
            Role::Skipped => raw.skipped |= at.boolean(at.defined(value)?)?,
            Role::Ignore => raw.ignored |= at.boolean(at.defined(value)?)?,
            Role::SkipReason => raw.reason = reason(&at, Some(at.defined(value)?))?,
            Role::Exception => raw.exceptions = exceptions(&at, value)?,
            Role::ValidInput => {}
        }
    }
    let has = |role| rules.iter().any(|rule| rule.role == role);
    let valid = rules.iter().zip(values.iter()).find(|(rule, _)| rule.role == Role::ValidInput);
    if let Some((rule, value)) = valid {
        let at = ValueContext::of(rule, 0);
        let valid = match value {
            Value::Array(one) => one.first().map_or(Ok(false), |v| at.boolean(v))?,
            _ => return Err(broken()),
        };
        // It decides only what the policy itself doesn't.
        if !valid && !has(Role::Skipped) {
            raw.skipped = true;
        }
        if !valid && !has(Role::SkipReason) {
            raw.reason = Some(NOT_RECOGNIZED.to_owned());
        }
    }
    let of_violations =
        |item: &Item| rules.get(item.rule).is_some_and(|rule| rule.name == "violations");
    raw.items = combined(of_violations, violations, findings, described);
    raw.items.extend(warnings);
    bounded(raw)
}

/// The maximum number of violations and warnings of a policy for one input.
const MAX_ITEMS: usize = 100_000;

/// The maximum size of their messages, in bytes.
const MAX_MESSAGES: usize = 64 << 20;

/// Refuses a verdict beyond the limits of reports.
fn bounded(raw: RawVerdict) -> Result<RawVerdict, Error> {
    let bytes: usize = {
        let messages = raw.items.iter().map(|item| item.message.len());
        messages.chain(raw.exceptions.iter().map(String::len)).sum()
    };
    let message = if raw.exceptions.len() > MAX_ITEMS {
        format!("too many exceptions of the policy: the limit is {MAX_ITEMS}")
    } else if raw.items.len() > MAX_ITEMS {
        format!("too many violations and warnings of the policy: the limit is {MAX_ITEMS}")
    } else if bytes > MAX_MESSAGES {
        let limit = size(MAX_MESSAGES as u64);
        format!("violations and warnings of the policy too large: the limit is {limit}")
    } else {
        return Ok(raw);
    };
    Err(Error::too_large(message))
}

/// Combines violations and findings. A finding replaces an item of `violations` that it includes, and fails
/// if that item would. Any other violation counts by itself, or it would be lost with a finding that is
/// waived or below the threshold.
fn combined(
    replaceable: impl Fn(&Item) -> bool,
    mut violations: Vec<Item>,
    mut findings: Vec<Item>,
    described: &[Rule],
) -> Vec<Item> {
    let mut by_message: HashMap<&str, Vec<(usize, &Item)>> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        by_message.entry(&finding.message).or_default().push((index, finding));
    }
    let repeated_by = |item: &Item| {
        let mut same = by_message.get(item.message.as_str())?.iter();
        same.find(|(_, finding)| finding.includes(item, described)).map(|(index, _)| *index)
    };
    let mut unrated = Vec::new();
    violations.retain(|item| {
        let Some(finding) = repeated_by(item).filter(|_| replaceable(item)) else { return true };
        // A violation of unknown severity fails at every threshold, so its replacement must too.
        if item.severity_in(described).and_then(Severity::parse).is_none() {
            unrated.push(finding);
        }
        false
    });
    for index in unrated {
        if let Some(finding) = findings.get_mut(index) {
            finding.unrated = true;
        }
    }
    violations.extend(findings);
    violations
}

/// Reads the verdict from the rule `result`.
fn result(
    at: &ValueContext<'_>,
    value: Option<&Value>,
    described: &[Rule],
    any_field: bool,
) -> Result<RawVerdict, Error> {
    let Some(value) = value else {
        return Err(at.misshapen("is undefined", "add a `default`"));
    };
    let Value::Object(object) = value else {
        return Err(at.misshapen(
            format!("is {}, not an object", describe(value)),
            "it is an object with `violations` or `findings`",
        ));
    };
    for key in object.keys().filter(|_| !any_field) {
        let Value::String(key) = key else {
            return Err(at.misshapen("has a key that isn't a string", "use strings as keys"));
        };
        if !RESULT_FIELDS.contains(&key.as_ref()) {
            let message = format!("has `{}`, which no verdict uses", shorten(key, 60));
            return Err(at.misshapen(message, field_hint(key)));
        }
    }
    let field = |name: &str| object.get(&Value::from(name));
    let inside = |name: &str| ValueContext { what: format!("`{name}` of `result`"), ..*at };
    let flag = |name: &str| field(name).map_or(Ok(false), |value| inside(name).boolean(value));
    let (skipped, ignored) = (flag("skipped")?, flag("ignore")?);
    let reason = reason(&inside("skip_reason"), field("skip_reason"))?;
    let (violations, findings) = (field("violations"), field("findings"));
    if !skipped && violations.is_none() && findings.is_none() {
        return Err(at.misshapen(
            "has neither `violations` nor `findings`",
            "add `violations`, empty if there are none",
        ));
    }
    let items = |name, value: Option<&Value>, class| match value {
        Some(_) => list(&inside(name), value, class),
        None => Ok(Vec::new()),
    };
    let violations = items("violations", violations, Class::Violation)?;
    let findings = items("findings", findings, Class::Finding)?;
    let items = combined(|_| true, violations, findings, described);
    Ok(RawVerdict { skipped, ignored, reason, items, exceptions: Vec::new() })
}

/// Reads a reason; an empty one counts as absent.
fn reason(at: &ValueContext<'_>, value: Option<&Value>) -> Result<Option<String>, Error> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string()).filter(|text| !text.is_empty())),
        Some(other) => Err(at.misshapen(
            format!("is {}, not a string", describe(other)),
            "write the reason as a string",
        )),
    }
}

/// Reads the names of excepted rules: a set of arrays of names.
fn exceptions(at: &ValueContext<'_>, value: Option<&Value>) -> Result<Vec<String>, Error> {
    let misshapen = |what: &str| {
        let hint = "write `exception contains [\"x\"]` to except `deny_x`; rename the rule if it isn't about exceptions";
        at.misshapen(what, hint)
    };
    let lists: Vec<&Value> = match value {
        None => Vec::new(),
        Some(Value::Set(set)) => set.iter().collect(),
        Some(Value::Array(list)) => list.iter().collect(),
        Some(_) => return Err(misshapen("isn't a set")),
    };
    let mut names = Vec::new();
    for list in lists {
        let list = list.as_array().ok_or_else(|| misshapen("has an item that isn't an array"))?;
        for name in list {
            let name = name.as_str().ok_or_else(|| misshapen("has a name that isn't a string"))?;
            names.push(name.to_owned());
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Returns `true` if an excepted name matches a rule: its name, or the part after `deny_`, `violation_` or
/// `warn_`.
pub(super) fn excepts(name: &str, rule: &str) -> bool {
    let family = ["deny_", "violation_", "warn_"].iter().find_map(|own| rule.strip_prefix(own));
    family.unwrap_or(rule) == name
}

/// Refuses an empty `result` next to a nonempty verdict rule.
fn refuse_left_out(package: &VerdictPackage, beside: &[Value]) -> Result<(), Error> {
    let is_empty = |value: &Value| match value {
        Value::Array(one) => one.iter().all(|value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Set(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }),
        _ => true,
    };
    let mut rules = package.beside.iter().zip(beside).enumerate();
    match rules.find(|(_, (_, value))| !is_empty(value)) {
        None => Ok(()),
        Some((index, (rule, _))) => {
            let at = ValueContext::of(rule, index);
            Err(at.misshapen(
                "isn't empty, but `result` has no violations",
                "use the rule in `result`, or rename it",
            ))
        }
    }
}

/// Reads a list of violations, findings or warnings.
fn list(at: &ValueContext<'_>, value: Option<&Value>, class: Class) -> Result<Vec<Item>, Error> {
    let ordered: Vec<&Value> = match value {
        None => {
            let hint = format!("{}, or add a `default`", list_hint(&at.rule.name));
            return Err(at.misshapen("is undefined", hint));
        }
        Some(Value::Set(set)) => set.iter().collect(),
        Some(Value::Array(array)) => array.iter().collect(),
        Some(other) => {
            return Err(at.misshapen(
                format!("is {}, not a set or an array", describe(other)),
                match at.rule.role {
                    Role::Result => "make it a set or an array, empty if there are none".to_owned(),
                    _ => list_hint(&at.rule.name),
                },
            ));
        }
    };
    ordered.into_iter().map(|value| item(at, value, class)).collect()
}

fn item(at: &ValueContext<'_>, value: &Value, class: Class) -> Result<Item, Error> {
    let of = match class {
        Class::Violation => "a violation",
        Class::Finding => "a finding",
        Class::Warning => "a warning",
    };
    let mut found = Item {
        class,
        rule: at.index,
        message: String::new(),
        severity: None,
        id: None,
        fields: serde_json::Map::new(),
        unrated: false,
    };
    match value {
        Value::String(text) => found.message = text.to_string(),
        Value::Object(_) => {
            found.fields = fields(value)?;
            if let Some(finding) = at.finding
                && let Some(mistake) = finding.mistake(&found.fields)
            {
                let needed: Vec<_> = finding.needed().map(|name| format!("`{name}`")).collect();
                let hint = format!(
                    "add the required fields of the type `{}`: {}",
                    finding.name,
                    needed.join(", ")
                );
                return Err(at.misshapen(format!("holds {of} {mistake}"), hint));
            }
            let key = if found.fields.contains_key("message") { "message" } else { "msg" };
            match found.fields.remove(key) {
                Some(serde_json::Value::String(text)) => found.message = text,
                other => {
                    let how = match other {
                        Some(_) => format!("whose `{key}` isn't a string"),
                        None => "without a `message`".to_owned(),
                    };
                    let hint = message_hint(found.fields.keys().map(String::as_str));
                    return Err(at.misshapen(format!("holds {of} {how}"), hint));
                }
            }
            found.severity = found.fields.remove("severity").map(|severity| match severity {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            });
            found.id = id(&found.fields);
        }
        other => {
            let wanted = "it is a string, or an object with a string `message` or `msg`";
            return Err(at.misshapen(format!("holds {of} that is {}", describe(other)), wanted));
        }
    }
    Ok(found)
}

/// Returns the identifier of a violation for waivers, from the first field that is present. A field of an
/// unexpected type isn't skipped, since the next one has a different meaning.
fn id(fields: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    let of = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    if let Some(found) = IDS.iter().find_map(|name| fields.get(*name)) {
        return of(found);
    }
    let vulnerability = fields.get("vulnerability")?;
    of(vulnerability).or_else(|| of(vulnerability.get("id")?))
}

/// The maximum nesting of a field. Readers of reports often have a limit of 128.
const MAX_DEPTH: usize = 100;

/// Returns `true` for a value within a nesting depth.
fn is_within(value: &serde_json::Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else { return false };
    match value {
        serde_json::Value::Array(items) => items.iter().all(|item| is_within(item, left)),
        serde_json::Value::Object(fields) => fields.values().all(|item| is_within(item, left)),
        _ => true,
    }
}

fn fields(value: &Value) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
    let broken = |error: serde_json::Error| {
        Error::internal("can't write a violation as JSON").with_source(error)
    };
    match serde_json::from_str(&compact(value)?).map_err(broken)? {
        serde_json::Value::Object(fields)
            if fields.values().any(|one| !is_within(one, MAX_DEPTH)) =>
        {
            let message = format!("violation nested too deeply: the limit is {MAX_DEPTH}");
            Err(Error::too_large(message))
        }
        serde_json::Value::Object(fields) => Ok(fields),
        _ => Ok(serde_json::Map::new()),
    }
}

/// The value that is being read, for errors.
struct ValueContext<'a> {
    rule: &'a VerdictRule,
    index: usize,
    what: String,
    /// The required type of objects.
    finding: Option<FindingType>,
}

impl<'a> ValueContext<'a> {
    fn of(rule: &'a VerdictRule, index: usize) -> Self {
        Self { rule, index, what: format!("`{}`", rule.name), finding: None }
    }

    /// Returns the value of a rule, or an error if it is undefined: the vendor's engine has no result without
    /// it.
    fn defined<'v>(&self, value: Option<&'v Value>) -> Result<&'v Value, Error> {
        let hint = format!("add `default {} := …`", self.rule.name);
        value.ok_or_else(|| self.misshapen("is undefined", hint))
    }

    fn boolean(&self, value: &Value) -> Result<bool, Error> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(self.misshapen(
                format!("is {}, not `true` or `false`", describe(other)),
                "make it a boolean",
            )),
        }
    }

    /// Returns an error about the value.
    fn misshapen(&self, message: impl AsRef<str>, hint: impl AsRef<str>) -> Error {
        let message = format!("{} {}", self.what, message.as_ref());
        Error::policy(vec![
            Diagnostic::error("wrong-shape", message)
                .with_hint(hint.as_ref())
                .at(self.rule.position.clone()),
        ])
    }
}

#[cfg(test)]
#[path = "rule_values_tests.rs"]
mod tests;
