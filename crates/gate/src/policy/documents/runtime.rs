//! Inputs of policies for one run, for all policies or for one. They replace or extend the values of
//! contracts and arguments.

use std::collections::BTreeMap;
use std::path::Path;

use rego_platform::Error;
use rego_platform_client::files::bounded;
use rego_platform_client::text::escape;

use super::columns::column;

/// The maximum size of a file of values, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Inputs of policies for one run.
#[derive(Debug, Clone, Default)]
pub struct PolicyInputs {
    /// The replacing inputs. The last one for a name counts.
    replaced: Vec<PolicyInput>,
    /// The inputs whose lines are appended.
    appended: Vec<PolicyInput>,
}

#[derive(Debug, Clone)]
struct PolicyInput {
    /// The policy, by name or reference; `None` for all policies.
    policy: Option<String>,
    name: String,
    text: String,
}

/// Splits `[POLICY:]NAME=VALUE`. Names have no colon, but references of policies do.
fn split(given: &str) -> Result<PolicyInput, Error> {
    let lacks = |what: &str| Error::configuration(format!("missing {what} in `{}`", escape(given)));
    let (key, text) = given.split_once('=').ok_or_else(|| lacks("`=`"))?;
    let (policy, name) = match key.rsplit_once(':') {
        Some((policy, name)) => (Some(policy.trim()), name),
        None => (None, key),
    };
    if policy == Some("") {
        return Err(lacks("policy before `:`"));
    }
    if name.trim().is_empty() || policy.is_some_and(|policy| policy.ends_with("@sha256")) {
        return Err(lacks("name of an input"));
    }
    let policy = policy.map(str::to_owned);
    Ok(PolicyInput { policy, name: name.trim().to_owned(), text: text.trim().to_owned() })
}

impl PolicyInputs {
    /// Adds `[POLICY:]NAME=VALUE`, which replaces the input's value.
    ///
    /// # Errors
    /// For a text of another form, and an empty value.
    pub fn replace(&mut self, given: &str) -> Result<(), Error> {
        let input = split(given)?;
        if input.text.is_empty() {
            return Err(Error::configuration(format!("missing value in `{}`", escape(given))));
        }
        self.replaced.push(input);
        Ok(())
    }

    /// Adds `[POLICY:]NAME=FILE[:COLUMN]`: the values of a column, in CSV, TSV or JSON, are added to the input's.
    /// The column has the input's name unless another is given.
    ///
    /// # Errors
    /// For a text of another form, and for a file that can't be read or lacks the column.
    pub fn append(&mut self, given: &str) -> Result<(), Error> {
        let mut input = split(given)?;
        let (file, name) = file_and_column(&input.text, &input.name);
        if file.is_empty() {
            return Err(Error::configuration(format!("missing file in `{}`", escape(given))));
        }
        let failed = |error: Error| {
            let message = format!(
                "can't read values from `{}` for `{}`: {error}",
                escape(file),
                escape(name)
            );
            let failed = Error::configuration(message);
            match error.hint() {
                Some(hint) => failed.with_hint(hint),
                None => failed,
            }
        };
        let bytes = bounded(Path::new(file), MAX_BYTES)
            .map_err(|error| failed(Error::configuration(error.to_string())))?;
        input.text = column(file, &bytes, name).map_err(failed)?.join("\n");
        self.appended.push(input);
        Ok(())
    }

    /// Returns `true` if there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.appended.is_empty()
    }

    /// Returns the value of each input, by `POLICY:NAME` or `NAME`.
    pub fn shown(&self) -> BTreeMap<String, String> {
        let all = self.appended.iter().chain(&self.replaced);
        all.map(|input| (input.key(), input.text.clone())).collect()
    }

    /// Returns the first unused input as written. `takes` gets its name and its policy.
    pub(crate) fn unused(&self, takes: impl Fn(&str, Option<&str>) -> bool) -> Option<String> {
        let mut all = self.appended.iter().chain(&self.replaced);
        all.find(|own| !takes(&own.name, own.policy.as_deref())).map(PolicyInput::key)
    }

    /// Returns `true` if an input, for all policies or for one, is for the policy with this name and reference.
    pub(crate) fn has(&self, name: &str, policy: Option<&str>, named: (&str, &str)) -> bool {
        let mut all = self.appended.iter().chain(&self.replaced);
        all.any(|own| {
            own.name == name && own.policy.as_deref() == policy && own.is_for(named.0, named.1)
        })
    }

    /// Applies the inputs to the arguments of a policy.
    pub(crate) fn apply(
        &self,
        (policy, reference): (&str, &str),
        given: &mut BTreeMap<String, String>,
    ) {
        for own in ordered(&self.appended, policy, reference) {
            let text = given.entry(own.name.clone()).or_default();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&own.text);
        }
        for own in ordered(&self.replaced, policy, reference) {
            given.insert(own.name.clone(), own.text.clone());
        }
    }
}

/// Splits a file and a column at the last colon, unless the colon belongs to the path.
fn file_and_column<'t>(text: &'t str, name: &'t str) -> (&'t str, &'t str) {
    match text.rsplit_once(':').map(|(file, column)| (file.trim(), column.trim())) {
        Some((file, column)) if !column.is_empty() && !column.contains(['/', '\\']) => {
            (file, column)
        }
        _ => (text, name),
    }
}

/// Returns the inputs for a policy, the most specific last.
fn ordered<'i>(all: &'i [PolicyInput], policy: &str, reference: &str) -> Vec<&'i PolicyInput> {
    let mut own: Vec<_> = all.iter().filter(|own| own.is_for(policy, reference)).collect();
    own.sort_by_key(|own| (own.specificity(), own.policy.clone()));
    own
}

impl PolicyInput {
    fn key(&self) -> String {
        let policy = self.policy.iter().map(|policy| format!("{policy}:"));
        policy.chain([self.name.clone()]).collect()
    }

    fn is_for(&self, policy: &str, reference: &str) -> bool {
        let Some(scope) = self.policy.as_deref() else { return true };
        if scope == policy || scope == reference {
            return true;
        }
        let ((own, own_digest), (other, digest)) = (bare(scope), bare(reference));
        (own == policy || own == other && !own.is_empty())
            && (own_digest.is_none() || own_digest == digest)
    }

    /// Returns the specificity of the scope: a digest and a reference rank above a name.
    fn specificity(&self) -> u8 {
        let Some(scope) = self.policy.as_deref() else { return 0 };
        let head = scope.split('@').next().unwrap_or(scope);
        1 + 2 * u8::from(bare(scope).1.is_some()) + u8::from(head.contains([':', '/']))
    }
}

/// Returns the name in a reference, without scheme, provider and organization, and its digest.
fn bare(reference: &str) -> (&str, Option<&str>) {
    let (head, digest) = match reference.split_once("@sha256:") {
        Some((head, digest)) => (head, Some(digest)),
        None => (reference, None),
    };
    let parts = ["://", ":", "/"];
    let after = |text, part| str::split_once(text, part).map_or(text, |(_, own)| own);
    (parts.into_iter().fold(head, after), digest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// As the vendor's client 1.106.1 merges them.
    #[test]
    fn an_input_replaces_or_adds() {
        let mut inputs = PolicyInputs::default();
        for given in ["a=1", "a=2", "p:a=3", " q : b = x=y ", "o/p@sha256:0:c=4", "p:c=5", "r:a=9"]
        {
            inputs.replace(given).unwrap();
        }
        let file = tempfile::tempdir().unwrap().keep().join("f.csv");
        std::fs::write(&file, "d,e\n1,2\n3,\n").unwrap();
        let file = file.to_str().unwrap();
        inputs.append(&format!("d={file}")).unwrap();
        inputs.append(&format!("p:d={file}:e")).unwrap();
        let applied = |policy, reference, given: &[(&str, &str)]| {
            let own = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            let mut given = own.collect();
            inputs.apply((policy, reference), &mut given);
            given.iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(";")
        };
        assert_eq!(applied("p", "", &[("d", "0")]), "a=3;c=5;d=0\n1\n3\n2");
        assert_eq!(applied("p", "chainloop://o/p@sha256:0", &[]), "a=3;c=4;d=1\n3\n2");
        assert_eq!(applied("q", "", &[("a", "0")]), "a=2;b=x=y;d=1\n3");
        for (given, says) in [
            ("a", "missing `=` in `a`"),
            ("a= ", "missing value"),
            (":a=1", "missing policy before `:`"),
            ("p:=1", "missing name of an input"),
            ("p@sha256:00=1", "missing name of an input"),
        ] {
            assert!(inputs.replace(given).unwrap_err().to_string().contains(says), "{given}");
        }
        for (given, says) in
            [("a=", "missing file"), ("a=no-such.csv", "can't read values from"), ("a=f.csv:x", "")]
        {
            assert!(inputs.append(given).unwrap_err().to_string().contains(says), "{given}");
        }
    }
}
