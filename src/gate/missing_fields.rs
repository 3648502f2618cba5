//! Fields that a policy reads and no input has.
//!
//! Owns which of them are worth a note. A field may be missing because nothing is wrong, so only two
//! are: one with which the service would have been asked, so that a call is never made, unless the
//! policy tests for it; and one whose name is nearly that of a field that the inputs have and the
//! policy never reads, which is probably misspelt.

use std::collections::{BTreeMap, BTreeSet};

use strsim::damerau_levenshtein;

use super::input_use::{ARGUMENTS, How, METADATA, Step};
use super::reports::facts;
use crate::rego::Value;
use crate::rego::syntax::tree::Span;
use crate::text::{escape, nearest, shorten};
use crate::{Position, Setting};

/// The most values of an input that are looked at for one field.
const MAX_VISITS: usize = 10_000;

/// The most objects without a field whose other fields are compared with it.
const MAX_SIBLINGS: usize = 100;

/// The shortest name that may be a misspelt one: short names are near each other.
const MIN_NAME: usize = 4;

/// The shortest name that may be misspelt twice: `egress` isn't `ingress`.
const LONG_NAME: usize = 8;

/// A field that a policy reads.
#[derive(Debug)]
pub(super) struct ReadField {
    path: Vec<Step>,
    /// The first place.
    pub position: Position,
    /// Set if the service is asked with it, and the policy doesn't test for it.
    asked: bool,
}

/// What inputs have of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sighting {
    /// Nothing that could have it.
    #[default]
    Nothing,
    /// An object without it, perhaps with a field that it may be a misspelling of.
    Missing(Option<String>),
    Found,
}

/// The fields that the verdicts of a policy read.
#[derive(Debug, Default)]
pub(super) struct ReadFields {
    fields: Vec<ReadField>,
}

impl ReadFields {
    /// Returns the fields of paths below `input`.
    pub fn new(
        paths: &BTreeMap<(Vec<Step>, How), Span>,
        position: impl Fn(Span) -> Position,
    ) -> Self {
        let tested: BTreeSet<&[Step]> = paths
            .keys()
            .filter(|(_, how)| *how == How::Tested)
            .map(|(path, _)| path.as_slice())
            .collect();
        let mut found: BTreeMap<&[Step], (Span, bool)> = BTreeMap::new();
        for ((path, how), span) in paths {
            let prefixes = || (1..=path.len()).filter_map(|length| path.get(..length));
            let is_asked = *how == How::Asked && !prefixes().any(|start| tested.contains(start));
            for start in prefixes().filter(|start| matches!(start.last(), Some(Step::Name(_)))) {
                let (at, asked) = found.entry(start).or_insert((*span, is_asked));
                // The place of a call says more than that of any other use.
                if is_asked && !*asked {
                    *at = *span;
                }
                *asked |= is_asked;
            }
        }
        let field = |(path, (span, asked)): (&[Step], _)| ReadField {
            path: path.to_vec(),
            position: position(span),
            asked,
        };
        Self { fields: found.into_iter().map(field).collect() }
    }

    /// Returns what an input has of each field.
    pub fn sightings(&self, input: &Value) -> Vec<Sighting> {
        self.fields.iter().map(|field| self.sighting(&field.path, input)).collect()
    }

    fn sighting(&self, path: &[Step], input: &Value) -> Sighting {
        let Some((Step::Name(name), parent)) = path.split_last() else { return Sighting::Nothing };
        let (mut visits, mut without) = (0, Vec::new());
        let found = has(input, parent, name, &mut visits, &mut without);
        if found || visits > MAX_VISITS {
            return Sighting::Found;
        }
        if without.is_empty() {
            return Sighting::Nothing;
        }
        let is_read = |other: &str| {
            let same = |field: &ReadField| match field.path.split_last() {
                Some((Step::Name(own), before)) => **own == *other && before == parent,
                _ => false,
            };
            self.fields.iter().any(same)
        };
        let keys = without.iter().filter_map(|value| value.as_object());
        let keys = keys.flat_map(|object| object.keys()).filter_map(Value::as_str);
        let others: BTreeSet<&str> = keys.filter(|other| !is_read(other)).collect();
        let is_near = |near: &&str| {
            let (length, slips) = (near.len().min(name.len()), damerau_levenshtein(near, name));
            length >= MIN_NAME && (slips <= 1 || length >= LONG_NAME)
        };
        let near = nearest(name, others.iter().copied()).filter(is_near);
        let respelt = || others.iter().copied().find(|other| plain(other) == plain(name));
        Sighting::Missing(near.or_else(respelt).map(str::to_owned))
    }

    /// Returns the first field of an input that isn't there and with which the service would have been
    /// asked.
    pub fn unasked(&self, sightings: &[Sighting]) -> Option<&ReadField> {
        let mut both = self.fields.iter().zip(sightings);
        both.find_map(|(field, seen)| {
            (field.asked && matches!(seen, Sighting::Missing(_))).then_some(field)
        })
    }

    /// Returns notes about the fields that none of the inputs of a run has. `only_misspelt` leaves out
    /// those that aren't nearly the name of another field.
    pub fn notes(&self, policy: &str, seen: &[Sighting], only_misspelt: bool) -> Vec<String> {
        let note = |(field, seen): (&ReadField, &Sighting)| {
            let Sighting::Missing(near) = seen else { return None };
            if near.is_none() && (only_misspelt || !field.asked) {
                return None;
            }
            let (name, at) = (field.name(), facts::place(&field.position));
            let policy = escape(policy);
            let what = if field.asked {
                format!("so the call of the service at {at} in the policy `{policy}` isn't made")
            } else {
                format!("which the policy `{policy}` reads at {at}")
            };
            let hint = match (near, field.path.first()) {
                (Some(near), _) => format!("; did you mean `{}`?", shorten(near, 80)),
                (None, Some(Step::Name(head))) if **head == *ARGUMENTS => {
                    format!("; {}", crate::report::option(Setting::Arguments))
                }
                (None, Some(Step::Name(head))) if **head == *METADATA => {
                    format!("; {}", crate::report::option(Setting::Project))
                }
                (None, _) => String::new(),
            };
            Some(format!("no input has `{name}`, {what}{hint}"))
        };
        self.fields.iter().zip(seen).filter_map(note).collect()
    }
}

impl ReadField {
    /// Returns the field as it is written in a policy.
    pub fn name(&self) -> String {
        let mut name = "input".to_owned();
        for step in &self.path {
            match step {
                Step::Name(key) => {
                    name.push('.');
                    name.push_str(&shorten(key, 80));
                }
                Step::Member | Step::Any => name.push_str("[_]"),
            }
        }
        name
    }
}

/// Merges what an input has of each field with what others have.
pub(super) fn merge(all: &mut Vec<Sighting>, more: Vec<Sighting>) {
    all.resize(all.len().max(more.len()), Sighting::Nothing);
    for (all, more) in all.iter_mut().zip(more) {
        if more > *all {
            *all = more;
        }
    }
}

/// Returns `true` if a value at the path `parent` has the field `name`. Collects some of the values
/// there that don't have it.
fn has<'v>(
    value: &'v Value,
    parent: &[Step],
    name: &str,
    visits: &mut usize,
    without: &mut Vec<&'v Value>,
) -> bool {
    *visits += 1;
    if *visits > MAX_VISITS {
        return false;
    }
    let field = |name: &str| value.as_object()?.get(&Value::from(name));
    match parent.split_first() {
        None if field(name).is_some() => true,
        None => {
            if without.len() < MAX_SIBLINGS {
                without.push(value);
            }
            false
        }
        Some((Step::Name(key), rest)) => {
            field(key).is_some_and(|value| has(value, rest, name, visits, without))
        }
        Some((Step::Any, rest)) => match value {
            Value::Array(items) => items.iter().any(|it| has(it, rest, name, visits, without)),
            Value::Object(fields) => fields.values().any(|it| has(it, rest, name, visits, without)),
            _ => false,
        },
        Some((Step::Member, _)) => true,
    }
}

/// Returns a name without what separates its words, in lower case.
fn plain(name: &str) -> String {
    name.replace(['_', '-', '.', ' '], "").to_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::super::reach::Reach;
    use super::*;
    use crate::evaluate::Policies;
    use crate::load::{LoadOptions, position};
    use crate::sources::{ModuleSource, Sources};

    /// Returns the notes about a policy's rules and some inputs.
    fn notes(rules: &str, inputs: &[&str]) -> Vec<String> {
        let text = format!("package p\n\n{rules}\n");
        let module = ModuleSource { path: "p.rego".to_owned(), text };
        let sources = Sources { modules: vec![module], ..Sources::default() };
        let policies = Policies::load(&sources, LoadOptions::default()).unwrap();
        let used = Reach::new(&policies).input(&["p".to_owned()], ["deny"].into_iter());
        let fields =
            ReadFields::new(&used.paths, |span| position(policies.program().sources(), span));
        let mut seen = Vec::new();
        for input in inputs {
            merge(&mut seen, fields.sightings(&Value::from_json(input).unwrap()));
        }
        fields.notes("p", &seen, false)
    }

    #[test]
    fn a_field_that_no_input_has_and_the_service_is_asked_with_is_noted() {
        for (body, rules) in [
            ("platform.discover(input.imge, \"\").kind", ""),
            ("not platform.discover(input.imge, \"\").kind", ""),
            ("known(input.imge)", "known(it) if platform.discover(it, \"\").kind"),
            ("known(input)", "known(it) if platform.discover(it.imge, \"\").kind"),
            ("not known(input.imge)", "known(it) if platform.discover(it, \"\").kind"),
            ("platform.discover(digest, \"\").kind", "digest := input.imge"),
            ("platform.discover(digest(input), \"\").kind", "digest(it) := lower(it.imge)"),
            ("some it in input.imge\n\tplatform.discover(it, \"\").kind", ""),
            ("every it in input.imge { platform.discover(it, \"\").kind }", ""),
            (
                "it := concat(\":\", [\"sha256\", input.imge])\n\tplatform.discover(it, \"\").kind",
                "",
            ),
            ("platform.evidence({\"project_name\": input.imge}).results[0]", ""),
            ("its := [it | it := input.imge]\n\tsome it in its\n\tplatform.discover(it, \"\")", ""),
        ] {
            let rules = format!("deny contains \"x\" if {{\n\t{body}\n}}\n\n{rules}");
            let found = notes(&rules, &["{\"image\": 1, \"imge_1\": 1}", "{\"a\": {}}"]);
            let [note] = found.as_slice() else { panic!("{rules}: {found:?}") };
            assert!(note.starts_with("no input has `input.imge`, so the call"), "{note}");
            // One input that has it is enough.
            assert_eq!(notes(&rules, &["{}", "{\"imge\": 1}"]), [""; 0], "{rules}");
        }
    }

    #[test]
    fn a_field_whose_absence_the_policy_handles_is_not_noted() {
        for (body, rules) in [
            ("not input.image\n\tplatform.discover(input.image, \"\")", ""),
            ("input.image\n\tplatform.discover(input.image, \"\")", ""),
            ("input.image\n\tplatform.discover(input.image.digest, \"\")", ""),
            ("platform.discover(object.get(input, \"image\", 1), \"\")", ""),
            ("platform.discover(digest, \"\")", "digest := input.image\n\ndefault digest := \"\""),
            ("platform.discover(digest, \"\")", "digest := input.image if input.a else := input.b"),
            // There is nothing that could have it.
            ("platform.discover(input.list[_].image, \"\")", ""),
            // The service isn't asked with it.
            ("input.image == 1\n\tplatform.evidence({}).results", ""),
            ("input.args\n\tplatform.discover(input.args.image, \"\")", ""),
        ] {
            let rules = format!("deny contains \"x\" if {{\n\t{body}\n}}\n\n{rules}");
            assert_eq!(notes(&rules, &["{\"list\": [], \"a\": 1}"]), [""; 0], "{rules}");
        }
    }

    #[test]
    fn a_field_that_is_nearly_one_of_the_inputs_is_noted() {
        let input = "{\"critical\": 1, \"list\": [{\"severity\": 1}, {}], \"hostPID\": 1, \"ab\": 1, \"ingress\": 1, \
                     \"subject-name\": 1}";
        for (body, near) in [
            ("input.critcal > 0", Some("critical")),
            ("not input.critcal", Some("critical")),
            ("object.get(input, \"critcal\", 0) > 0", Some("critical")),
            ("input.Critical > 0", Some("critical")),
            ("input.list[_].serverity > 0", Some("severity")),
            ("some it in input.list\n\tit.severty > 0", Some("severity")),
            ("count(input.lists) > 0", Some("list")),
            ("input.subjectName == 1", Some("subject-name")),
            ("input.other > 0", None),
            ("input.ac > 0", None),
            ("input.egress > 0", None),
            ("input.critical.low > 0", None),
            // The policy reads both.
            ("input.critcal > input.critical", None),
            ("input.hostIPC == input.hostPID", None),
        ] {
            let found = notes(&format!("deny contains \"x\" if {{\n\t{body}\n}}"), &[input, "{}"]);
            match (near, found.as_slice()) {
                (None, []) => {}
                (Some(near), [note]) => {
                    assert!(note.ends_with(&format!("did you mean `{near}`?")), "{body}: {note}");
                }
                _ => panic!("{body}: {found:?}"),
            }
        }
    }
}
