//! `policies`: the collections of rules that `gate --collection` evaluates, and what each rule checks.
//!
//! Owns the listings. The collections belong to `collections`.

use clap::{Args, Subcommand, ValueEnum};
use rego_platform::Error;
use rego_platform_client::text::{did_you_mean, escape};
use serde_json::{Value, json};

use super::collections::{Rule, named, names, rules};
use super::{Exit, output};

/// List the collections of rules for `gate --collection`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Prints a line for each collection, with its name first.\n\n\
    Examples:\n  \
    rego-platform policies\n  \
    rego-platform policies show sbom\n  \
    rego-platform policies show sbom/unique"
)]
pub(super) struct PoliciesArgs {
    #[command(subcommand)]
    nested: Option<Nested>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Nested {
    Show(ShowArgs),
}

/// Show the rules of a collection, or what a rule checks
#[derive(Debug, Args)]
struct ShowArgs {
    /// A collection, a rule as `COLLECTION/RULE`, or the name of a rule that one collection has
    #[arg(value_name = "NAME")]
    name: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Human,
    Json,
}

pub(super) fn run(args: &PoliciesArgs) -> Result<Exit, Error> {
    let (format, text, value) = match &args.nested {
        None => {
            let all = names().into_iter().map(|name| Ok((name, rules(name)?)));
            let all = all.collect::<Result<Vec<_>, Error>>()?;
            let json = all.iter().map(|(name, rules)| {
                let rules = rules.iter().map(|rule| rule.name);
                json!({"name": name, "rules": rules.collect::<Vec<_>>()})
            });
            (args.format, collections(&all), json!({"collections": json.collect::<Vec<_>>()}))
        }
        Some(Nested::Show(args)) => {
            let (text, value) = show(&args.name)?;
            (args.format, text, value)
        }
    };
    let text = match format {
        Format::Human => text,
        Format::Json => output::json(&value)? + "\n",
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// Returns a line for each collection.
fn collections(all: &[(&str, Vec<Rule>)]) -> String {
    let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, rules): &(&str, Vec<Rule>)| {
        let names = rules.iter().map(|rule| rule.name).collect::<Vec<_>>().join(", ");
        format!("{name:width$}  {names}\n")
    };
    all.iter().map(line).collect()
}

/// Returns the description of a collection or a rule, for people and for programs.
fn show(name: &str) -> Result<(String, Value), Error> {
    if names().contains(name) {
        let rules = rules(named(name)?)?;
        let json = rules.iter().map(Rule::json).collect::<Vec<_>>();
        return Ok((listed(&rules), json!({"name": name, "rules": json})));
    }
    let rule = find(name)?;
    Ok((described(&rule), rule.json()))
}

/// Returns the rule with a name.
fn find(name: &str) -> Result<Rule, Error> {
    let in_collection = match name.split_once('/') {
        Some((collection, _)) => Some(named(collection)?),
        None => None,
    };
    let searched = in_collection.map_or_else(names, |one| [one].into());
    let mut all = Vec::new();
    for collection in searched {
        all.extend(rules(collection)?);
    }
    let is_named = |rule: &Rule| rule.name == name || rule.full_name() == name;
    let mut found = all.extract_if(.., |rule| is_named(rule)).collect::<Vec<_>>();
    match (found.pop(), found.is_empty()) {
        (Some(rule), true) => Ok(rule),
        (Some(rule), false) => {
            found.push(rule);
            let names = found.iter().map(|rule| format!("`{}`", rule.full_name()));
            Err(Error::configuration(format!("ambiguous name of a rule: `{}`", escape(name)))
                .with_hint(format!("use one of {}", names.collect::<Vec<_>>().join(", "))))
        }
        (None, _) => {
            let known: Vec<String> = all.iter().map(Rule::full_name).collect();
            let known = known.iter().map(String::as_str);
            let known = known.chain(all.iter().map(|rule| rule.name)).chain(names());
            Err(Error::configuration(format!("unknown collection or rule: `{}`", escape(name)))
                .with_hint(did_you_mean(name, known, "`rego-platform policies` lists them")))
        }
    }
}

/// Returns a line for each rule.
fn listed(rules: &[Rule]) -> String {
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or_default();
    let line = |rule: &Rule| format!("{:width$}  {:8}  {}\n", rule.name, rule.severity, rule.title);
    rules.iter().map(line).collect()
}

/// Returns what a rule checks and needs.
fn described(rule: &Rule) -> String {
    let mut text = format!("{}: {}\n", rule.full_name(), rule.title);
    if !rule.description.is_empty() {
        text += &format!("\n{}\n", rule.description);
    }
    text.push('\n');
    let controls = rule.controls.iter().map(|(of, names)| format!("{of}: {}", names.join(", ")));
    let date = rule.effective_on.as_ref().map(|date| format!("{date}; a warning before"));
    let members = [
        ("severity", rule.severity.clone()),
        ("remedy", rule.remediation.clone()),
        ("effective", date.unwrap_or_default()),
        ("inputs", rule.inputs.join(", ")),
        ("functions", rule.functions.join(", ")),
        ("controls", controls.collect::<Vec<_>>().join("; ")),
    ];
    for (name, value) in members.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:9}  {value}\n");
    }
    for own in &rule.parameters {
        let (name, default) = (&own.name, own.default.to_json());
        text += &format!("parameter  {name} [default: {default}]: {}\n", own.description);
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/collections.md");

    /// The marks around the generated lines, which `UPDATE_DOCS=1` replaces.
    const BEGIN: &str = "<!-- The tables from here on are generated: `UPDATE_DOCS=1 cargo test the_documented_rules` -->\n";
    const END: &str = "<!-- The end of the generated tables -->\n";

    /// Returns the row of a rule.
    fn row(rule: &Rule) -> String {
        let parameter = |own: &rego_platform_gate::Parameter| {
            let default = own.default.to_json();
            let shown: String = default.chars().take(100).collect();
            let more = if shown == default { "" } else { "…" };
            format!("`{}` (`{shown}{more}`)", own.name)
        };
        let parameters = rule.parameters.iter().map(parameter).collect::<Vec<_>>().join(", ");
        let controls = rule.controls.iter().map(|(of, names)| format!("{of} {}", names.join(", ")));
        let reads = [&*rule.inputs, &*rule.functions].concat().join(", ");
        format!(
            "| `{}` | {} | {} | {parameters} | {reads} | {} |\n",
            rule.name,
            rule.severity,
            rule.title,
            controls.collect::<Vec<_>>().join("; ")
        )
    }

    #[test]
    fn the_documented_rules_are_those_of_the_collections() {
        let mut generated = String::new();
        for name in names() {
            generated += &format!(
                "\n### `{name}`\n\n| rule | severity | check | parameters (default) | inputs, functions | controls |\n|---|---|---|---|---|---|\n"
            );
            generated.extend(rules(name).unwrap().iter().map(row));
        }
        let text = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = text.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let expected = format!("{before}{BEGIN}{generated}\n{END}{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(PAGE, &expected).unwrap();
        }
        let is = std::fs::read_to_string(PAGE).unwrap() == expected;
        assert!(is, "the rules have changed: UPDATE_DOCS=1 writes the tables anew");
    }
}
