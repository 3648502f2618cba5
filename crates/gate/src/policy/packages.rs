//! Packages with verdicts, and their verdict rules.
//!
//! Owns refusing verdict rules of the wrong kind, and packages that were chosen and have none; any other
//! package without one is a library. The names belong to `load::roles`, the meaning of the rules' values to
//! `rule_values`, and the rules that nothing uses to `check`.

use rego_platform::evaluate::{Policies, Query};
use rego_platform::load::roles::{PackageOrigin, Role, role};
use rego_platform::load::{Package, RuleDefinition, RuleInfo, RuleKind};
use rego_platform::rego::syntax::tree::{Span, TermKind};
use rego_platform::{Diagnostic, Error, Position};
use rego_platform_client::text::{data_reference, did_you_mean};

use super::finding_types::FindingType;
use super::reach::Reach;
use crate::pattern::matches;

/// A rule that contributes to a verdict.
#[derive(Debug, Clone)]
pub(crate) struct VerdictRule {
    pub role: Role,
    pub name: String,
    /// The position of its first definition.
    pub position: Position,
    pub definitions: Vec<RuleDefinition>,
}

impl VerdictRule {
    /// Returns the position of the definition that created a message. If several may have, the first is
    /// returned.
    pub fn origin_of(&self, message: &str) -> &Position {
        let found = self.definitions.iter().find(|definition| definition.can_say(message));
        found.map_or(&self.position, |definition| &definition.position)
    }
}

/// A package with a verdict, and its query.
#[derive(Debug, Clone)]
pub(crate) struct VerdictPackage {
    /// The dotted name.
    pub name: String,
    /// The path below `data`.
    pub path: Vec<String>,
    pub files: Vec<String>,
    pub query: Query,
    pub rules: Vec<VerdictRule>,
    /// The verdict rules next to `result`, which is the verdict. They count for nothing, but may show that
    /// `result` left something out.
    pub beside: Vec<VerdictRule>,
    /// `true` if `result` may have unknown fields.
    pub any_field: bool,
    /// The type of its findings, if a policy document declares one.
    pub finding: Option<FindingType>,
}

/// Returns the packages with verdicts, among the selected ones or all except test suites.
pub(crate) fn verdict_packages(
    policies: &Policies,
    (chosen, skip): (&[String], &[String]),
    origin: PackageOrigin,
    reach: &Reach,
) -> Result<Vec<VerdictPackage>, Error> {
    let (mut found, mut asked) = (Vec::new(), Vec::new());
    for package in policies.packages() {
        let name = dotted(&package.path);
        let is_named = chosen.contains(&name);
        if !is_named && (package.is_suite || !chosen.is_empty() && !is_chosen(chosen, &name)) {
            if package.is_suite && chosen.is_empty() && !is_chosen(skip, &name) {
                found.extend(verdict_in_tests(package, &name));
            }
            continue;
        }
        match verdict_rules(package, origin, reach) {
            Err(diagnostics) => found.extend(diagnostics),
            Ok((rules, _)) if !gives_verdict(&rules, origin) => {
                if is_named || origin == PackageOrigin::Document {
                    found.push(without_verdict(package, origin));
                }
            }
            Ok((rules, beside)) => {
                let plain = || query(package, &rules, &[]);
                // A `result` that can't be an object is an error of types in a query of its fields.
                let of_fields = policies.query(&query(package, &rules, &beside));
                asked.push(VerdictPackage {
                    query: of_fields.or_else(|_| policies.query(&plain()))?,
                    files: package.files.clone(),
                    path: package.path.clone(),
                    any_field: is_silenced(policies, package),
                    finding: None,
                    name,
                    rules,
                    beside,
                });
            }
        }
    }
    if found.is_empty() { Ok(asked) } else { Err(Error::policy(found)) }
}

/// Returns `true` if a package is selected, by name or by a glob.
pub(super) fn is_chosen(chosen: &[String], name: &str) -> bool {
    chosen.iter().any(|given| matches(given, name))
}

/// Refuses selected packages that don't exist.
pub(super) fn refuse_unknown<'a>(
    chosen: &[String],
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Error> {
    for name in chosen {
        let one = std::slice::from_ref(name);
        if !known.clone().any(|known| is_chosen(one, known)) {
            let message = format!("no package matches `{name}`");
            let hint = did_you_mean(name, known, "use the name of a `package` line");
            return Err(Error::configuration(message).with_hint(hint));
        }
    }
    Ok(())
}

/// Returns the dotted name of a package, such as `a.b`. A part that isn't an identifier is put in
/// brackets, as in `a["b.c"]`, so that names are unique.
pub(super) fn dotted(path: &[String]) -> String {
    let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
        return String::new();
    };
    let shown = data_reference(rest);
    format!("{first}{}", shown.strip_prefix("data").unwrap_or(&shown))
}

/// Refuses a verdict rule in a test package, which is never evaluated.
fn verdict_in_tests(package: &Package, package_name: &str) -> Option<Diagnostic> {
    let name = |rule: &RuleInfo| rule.path.get(package.path.len()).cloned();
    let gives_verdict = |rule: &&RuleInfo| {
        let role = name(rule).and_then(|name| role(&name, PackageOrigin::Plain));
        !is_function(rule) && role.is_some_and(Role::gives_verdict)
    };
    let rule = package.rules.iter().find(gives_verdict)?;
    let message = format!(
        "verdict rule `{}` never evaluated: the package `{package_name}` has tests",
        name(rule)?
    );
    let diagnostic = Diagnostic::error("verdict-in-tests", message)
        .with_hint("move the rule to a package without tests, or rename it");
    Some(diagnostic.at(rule.position.clone()))
}

/// Returns `true` if one of the rules can fail an input. A document that only warns isn't: the vendor's
/// engine has no warnings.
fn gives_verdict(rules: &[VerdictRule], origin: PackageOrigin) -> bool {
    let warns = |role| origin == PackageOrigin::Document && role == Role::Warnings;
    rules.iter().any(|rule| rule.role.gives_verdict() && !warns(rule.role))
}

fn without_verdict(package: &Package, origin: PackageOrigin) -> Diagnostic {
    let name = dotted(&package.path);
    let message = format!("the package `{name}` has no verdict rule");
    let hint = match origin {
        PackageOrigin::Plain => "give it `deny`, `violations`, `findings`, `warn` or `result`",
        PackageOrigin::Document => "give it `result`, `violations` or `findings`",
    };
    let diagnostic = Diagnostic::error("no-verdict-rule", message).with_hint(hint);
    match package.rules.first() {
        Some(rule) => diagnostic.at(rule.position.clone()),
        None => diagnostic,
    }
}

/// Returns `true` if a comment suppresses findings about the shape of a package's `result`.
fn is_silenced(policies: &Policies, package: &Package) -> bool {
    let program = policies.program();
    program.modules().iter().any(|module| {
        let Some(source) = program.sources().get(module.span.file) else { return false };
        if !package.files.iter().any(|file| file == source.path()) {
            return false;
        }
        let silenced = rego_platform::check::silenced(module, source.all(), "verdict-shape");
        let line = |span: Span| program.sources().position(span).line;
        module.rules.iter().any(|rule| {
            let named = rule.head.reference.first().map(|first| &first.kind);
            let is_result = matches!(named, Some(TermKind::Var(name)) if &**name == "result");
            let last = line(Span { start: rule.span.end, ..rule.span });
            is_result && silenced.iter().any(|at| (line(rule.span)..=last).contains(at))
        })
    })
}

/// The rules of a verdict, and the rules next to `result`.
type VerdictRules = (Vec<VerdictRule>, Vec<VerdictRule>);

/// Returns the rules of a package that contribute to its verdict.
fn verdict_rules(
    package: &Package,
    origin: PackageOrigin,
    reach: &Reach,
) -> Result<VerdictRules, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let (mut rules, mut beside) = (Vec::new(), Vec::new());
    let is_called = |function: &String| {
        let rules = package.rules.iter().filter(|rule| !is_function(rule));
        let mut names = rules.filter_map(|rule| rule.path.get(package.path.len()));
        names.any(|name| {
            role(name, origin).is_some() && reach.reaches(&package.path, name, function)
        })
    };
    for rule in &package.rules {
        let Some(first) = rule.path.get(package.path.len()) else { continue };
        let Some(role) = role(first, origin) else { continue };
        // A function that a verdict rule calls is its helper, whatever its name is.
        if is_function(rule) && (role == Role::Exception || is_called(first)) {
            continue;
        }
        let (message, hint) = if rule.path.len() > package.path.len() + 1 {
            let hint = match role {
                Role::Result => "write `result := {\"violations\": …}`".to_owned(),
                _ => format!("write `{first} contains …`"),
            };
            (format!("verdict rule with a longer name: `{first}`"), hint)
        } else if is_function(rule) {
            let hint = "write it as a rule, or rename it".to_owned();
            (format!("verdict rule is a function: `{first}`"), hint)
        } else {
            rules.push(VerdictRule {
                role,
                name: first.clone(),
                position: rule.position.clone(),
                definitions: rule.definitions.clone(),
            });
            continue;
        };
        let refused = Diagnostic::error("verdict-rule", message).with_hint(hint);
        found.push(refused.at(rule.position.clone()));
    }
    // The rule `result` is the whole verdict of its package.
    if let Some(result) = rules.iter().find(|rule| rule.role == Role::Result) {
        let verdict_reaches = |rule: &str| reach.reaches(&package.path, &result.name, rule);
        let lost = rules.iter().filter(|rule| would_be_lost(rule.role));
        for rule in lost.filter(|rule| !verdict_reaches(&rule.name)) {
            let message = format!(
                "verdict rule `{}` never evaluated: `result` ({}:{}) doesn't use it",
                rule.name, result.position.file, result.position.line
            );
            found.push(
                Diagnostic::error("switched-off", message)
                    .with_hint("use the rule in `result`, or remove `result`")
                    .at(rule.position.clone()),
            );
        }
        beside = rules.extract_if(.., |rule| rule.role != Role::Result).collect();
        beside.retain(|rule| would_be_lost(rule.role));
    }
    if found.is_empty() { Ok((rules, beside)) } else { Err(found) }
}

/// Returns `true` if the violations of a rule with this role would be lost next to `result`.
fn would_be_lost(role: Role) -> bool {
    matches!(role, Role::Violations | Role::Findings | Role::Warnings)
}

fn is_function(rule: &RuleInfo) -> bool {
    matches!(rule.kind, RuleKind::Function { .. })
}

/// Returns a query for all rules at once, so that their calls are batched. An undefined rule gives
/// an empty list. The rules beside `result` are evaluated only if it is empty and doesn't skip.
fn query(package: &Package, rules: &[VerdictRule], beside: &[VerdictRule]) -> String {
    let path = |name: &str| {
        let path: Vec<String> = package.path.iter().cloned().chain([name.to_owned()]).collect();
        data_reference(&path)
    };
    let lists = rules.iter().map(|rule| format!("[value | value := {}]", path(&rule.name)));
    let beside = beside.iter().map(|rule| {
        format!(
            "[value | result := {}; object.get(result, \"skipped\", false) != true; \
             object.get(result, \"violations\", []) in [[], set()]; \
             object.get(result, \"findings\", []) in [[], set()]; value := {}]",
            path("result"),
            path(&rule.name)
        )
    });
    format!("[\n{}\n]", lists.chain(beside).collect::<Vec<_>>().join(",\n"))
}
