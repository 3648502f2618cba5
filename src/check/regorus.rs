//! Places in policies where the interpreter regorus is known to differ from OPA.
//!
//! Owns one table ([`ROWS`]), whose codes are those of `docs/reference/regorus.md`, and a small function for
//! each row. Tests aren't looked at: hosts don't load them. What depends on values, such as numbers
//! beyond 64 bits, isn't visible in a policy's text; `--engine both` compares that.

mod calls;
mod lacking;
mod packages;
mod statements;
mod undefined;

use std::collections::HashMap;

use super::infer::Types;
use super::{Constants, File, Inspected, Rule, names::rule_path};
use crate::load::Package;
use crate::rego::syntax::tree::{self, Span};
use crate::{Diagnostic, Level};

/// A known difference, and the function that finds its places.
pub(super) struct Row {
    pub rule: Rule,
    find: fn(&View<'_>, &mut Places),
}

/// Positions with a description of each finding.
type Places = Vec<(Span, String)>;

/// The modules and types that the functions of the rows inspect.
struct View<'a> {
    all: &'a Inspected<'a>,
    /// The files, without tests, each with its index among all files.
    files: Vec<(usize, &'a File<'a>)>,
    types: &'a Types<'a>,
    constants: &'a Constants<'a>,
    /// The definitions of each rule by its path below `data`, with the index of their file.
    rules: HashMap<Vec<&'a str>, Vec<(usize, &'a tree::Rule)>>,
}

impl View<'_> {
    /// Returns the number of a package's files that aren't tests.
    fn file_count(&self, package: &Package) -> usize {
        self.files_of(package).count()
    }

    fn files_of<'v>(&'v self, package: &'v Package) -> impl Iterator<Item = &'v File<'v>> {
        let of_package = |file: &&File<'_>| {
            super::names::package_path(file.module).iter().eq(package.path.iter())
        };
        self.files.iter().map(|(_, file)| *file).filter(of_package)
    }
}

const fn answers(code: &'static str, summary: &'static str, help: &'static str) -> Rule {
    Rule { code, level: Level::Warning, summary, help }
}

const fn fails(code: &'static str, summary: &'static str, help: &'static str) -> Rule {
    Rule { code, level: Level::Error, summary, help }
}

/// The differences: a warning where regorus gives another answer, an error where it gives none.
pub(super) static ROWS: &[Row] = &[
    Row {
        rule: fails(
            "regorus/function",
            "a function that regorus lacks",
            "`Registration::replace_builtins` adds most of those that OPA has.",
        ),
        find: lacking::functions,
    },
    Row {
        rule: fails(
            "regorus/syntax",
            "syntax that regorus doesn't know",
            "Write it without: `sprintf` for a template string, a rule for `or` and `not { … }`.",
        ),
        find: lacking::syntax,
    },
    Row {
        rule: answers(
            "regorus/whole-package",
            "a reference to a whole package that has several files",
            "regorus evaluates only some of its rules. Refer to the rule, or keep the package in one file.",
        ),
        find: packages::whole,
    },
    Row {
        rule: answers(
            "regorus/import",
            "an import whose name means something else in another file of the package",
            "In regorus, one of them holds in both files. Give the import another name with `as`.",
        ),
        find: packages::imports,
    },
    Row {
        rule: answers(
            "regorus/package-import",
            "an import of a package whose rules call the service, or that imports this one",
            "regorus evaluates all of its rules: every call is made, and imports in a circle are an error. Import the rule, or write `data.….rule`.",
        ),
        find: packages::evaluated,
    },
    Row {
        rule: answers(
            "regorus/negated-operand",
            "`not` over a call with an operand that may be undefined",
            "Without the operand, the statement holds in regorus; in OPA it is undefined. Ask for the operand in a statement before.",
        ),
        find: undefined::negated,
    },
    Row {
        rule: answers(
            "regorus/membership",
            "the value of `x in y` with an operand that may be undefined",
            "Without the operand it is false in regorus; in OPA it is undefined. Use it as a statement, or ask for the operand before.",
        ),
        find: undefined::membership,
    },
    Row {
        rule: answers(
            "regorus/every",
            "`=` with the variable of an `every`",
            "In regorus it gives the variable a value, and holds. Use `==`.",
        ),
        find: statements::every,
    },
    Row {
        rule: answers(
            "regorus/second-body",
            "a rule with a second body, `{ … } { … }`",
            "In regorus its value is true, and a function's body is missing. Write a second rule.",
        ),
        find: statements::bodies,
    },
    Row {
        rule: answers(
            "regorus/with-open",
            "a `with` whose value has a variable without a value",
            "In OPA a later statement gives it one. Write that before.",
        ),
        find: statements::open_variables,
    },
    Row {
        rule: answers(
            "regorus/object-pattern",
            "an object as a pattern",
            "regorus also accepts objects with further keys. Compare the fields instead.",
        ),
        find: statements::object_patterns,
    },
    Row {
        rule: answers(
            "regorus/head",
            "a variable in the path of a rule's head",
            "Where nothing holds, regorus lacks the object that OPA has, or has one too many.",
        ),
        find: statements::heads,
    },
    Row {
        rule: answers(
            "regorus/walk",
            "the value of `walk`",
            "It is undefined in regorus. Pass the pattern as the second argument: `walk(x, [path, value])`.",
        ),
        find: calls::walk,
    },
    Row {
        rule: answers(
            "regorus/with-some",
            "`with` on `some … in`",
            "In regorus it also holds for the statements after it. Bind the collection in a statement before.",
        ),
        find: statements::with_on_some,
    },
    Row {
        rule: answers(
            "regorus/with-undefined",
            "a `with` whose value may be undefined, before another `with`",
            "OPA makes the statement undefined; regorus only looks at the last one. Ask for the value in a statement before.",
        ),
        find: undefined::with_values,
    },
    Row {
        rule: answers(
            "regorus/with-value",
            "a `with` whose value reads a rule",
            "In regorus the rule is then undefined for what the statement evaluates. Read it in a statement before.",
        ),
        find: calls::with_value,
    },
    Row {
        rule: answers(
            "regorus/with-function",
            "a `with` for a function under another name than the calls use",
            "regorus compares the names as they are written, and calls the real function.",
        ),
        find: calls::with_function,
    },
    Row {
        rule: fails(
            "regorus/mock",
            "a `with` for, or by, a function that isn't a policy's",
            "regorus replaces its own functions by values and by functions of policies only.",
        ),
        find: calls::mocks,
    },
    Row {
        rule: fails(
            "regorus/result-argument",
            "a call with one argument too many, for its result",
            "Write `x := f(…)`.",
        ),
        find: calls::result_arguments,
    },
    Row {
        rule: fails(
            "regorus/shadow",
            "`some x in` where `x` is a rule of the package, or declared outside; `some input`",
            "Give the variable another name.",
        ),
        find: statements::shadows,
    },
    Row {
        rule: fails(
            "regorus/nesting",
            "literals in literals, twelve deep or more",
            "regorus takes twice as long to parse for each level. Put the value into data.",
        ),
        find: statements::nesting,
    },
];

/// The beginning of all codes here.
pub(crate) const PREFIX: &str = "regorus/";

/// Finds the places that are known to differ.
pub(super) fn differences(all: &Inspected<'_>) -> Vec<Diagnostic> {
    let files = all.files();
    let types = Types::new(all, &files);
    let constants = all.constants();
    let mut rules: HashMap<_, Vec<_>> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        for rule in &file.module.rules {
            if let Some(path) = rule_path(file.module, rule) {
                rules.entry(path).or_default().push((at, rule));
            }
        }
    }
    let view = View {
        all,
        files: files.iter().enumerate().filter(|(_, file)| !file.is_test).collect(),
        types: &types,
        constants: &constants,
        rules,
    };
    let mut found = Vec::new();
    for Row { rule, find } in ROWS {
        let mut places = Vec::new();
        find(&view, &mut places);
        found.extend(places.into_iter().map(|(span, message)| {
            let make = match rule.level {
                Level::Error => Diagnostic::error,
                _ => Diagnostic::warning,
            };
            make(rule.code, message).with_hint(rule.help).at(all.position(span))
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The table of the documentation has a row for each code.
    #[test]
    fn every_row_is_documented() {
        let page = include_str!("../../docs/reference/regorus.md");
        let codes: HashSet<_> = ROWS.iter().map(|row| row.rule.code).collect();
        assert_eq!(codes.len(), ROWS.len());
        for code in codes {
            assert!(page.contains(&format!("| `{code}` |")), "{code}");
        }
    }
}
