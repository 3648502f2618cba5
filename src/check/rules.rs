//! The codes of findings.
//!
//! Owns the level, description and help of each code, which reports show. Finding them belongs to
//! the loader and the checks.

use crate::Level;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The stable code, such as `unknown-function`.
    pub code: &'static str,
    /// The level of its findings.
    pub level: Level,
    /// A description of its findings.
    pub summary: &'static str,
    /// The reason why it matters, and what to do.
    pub help: &'static str,
}

const fn error(code: &'static str, summary: &'static str, help: &'static str) -> Rule {
    Rule { code, level: Level::Error, summary, help }
}

const fn warning(code: &'static str, summary: &'static str, help: &'static str) -> Rule {
    Rule { code, level: Level::Warning, summary, help }
}

/// All codes, by name.
pub static RULES: &[Rule] = &[
    error(
        "arity",
        "a call with the wrong number of arguments",
        "Pass every argument that the function takes; a mock must take as many as the function.",
    ),
    error(
        "bundle",
        "a bundle that OPA rejects, or part of which would be left out",
        "Build it with `opa build -b`, or unpack it.",
    ),
    error(
        "compile-error",
        "an error of OPA's compile stages",
        "The message is OPA's: `opa check` rejects the same policy.",
    ),
    warning(
        "cut-list",
        "a list that a `limit` may have cut, used as a whole",
        "The service may have more than `limit` asks for, so a count, a negation or `every` over the list can be wrong. Leave `limit` out, so that every page is read.",
    ),
    error(
        "data-conflict",
        "data and rules, or two data documents, under one path",
        "Move one of them; OPA rejects it too.",
    ),
    error(
        "data-error",
        "a data file that isn't an object",
        "Fix the file, or don't load it as data.",
    ),
    error(
        "evaluation-error",
        "an error of the evaluation",
        "The message has OPA's code and wording.",
    ),
    error(
        "folder-loop",
        "a folder that contains itself through a link",
        "Remove the link, or name the folders to load one by one.",
    ),
    error(
        "gate-error",
        "something that a gate over the same paths rejects",
        "The message names what the gate would miss or misinterpret.",
    ),
    error(
        "invalid-argument",
        "an argument that is wrong whatever the input is",
        "The call would fail before anything is sent; the message states what the function expects.",
    ),
    error("module-conflict", "two modules with the same name", "Load each file once."),
    error(
        "name-collision",
        "a name that hides the functions",
        "Give the import or rule another name.",
    ),
    warning(
        "missing-data",
        "data that no loaded file of a gate defines",
        "It is undefined, so rules that use it never hold. Load the file that defines it with `-d`.",
    ),
    warning(
        "negated-call",
        "`not` over a call to one of the functions",
        "A failed call ends the evaluation, even under `not`, and `not f(x).field` holds if the answer lacks the field. Bind the answer with `:=` and compare its fields.",
    ),
    warning(
        "no-verdict",
        "a package without a verdict rule that nothing imports",
        "A gate only uses `result`, `deny`, `deny_*`, `violations`, `findings`, `warn` and `warn_*`. Rename the rule, or import the package where it is used.",
    ),
    warning(
        "optional-argument",
        "an argument that may be undefined",
        "According to the function that it comes from, or the schema, the field is optional. Without it the call is undefined, and a rule that should deny doesn't.",
    ),
    error("parse-error", "a syntax error", "The message and the position are OPA's."),
    error(
        "recursion",
        "rules that depend on themselves",
        "Rego has no recursion: write out the steps, or use `walk` or `graph.reachable`.",
    ),
    error("too-large", "a file or module that is too large", "Split it."),
    error(
        "type-error",
        "a type error",
        "The message is OPA's: the expression could never hold, or refers to something that doesn't exist.",
    ),
    error(
        "unsupported",
        "code that OPA accepts and this crate doesn't",
        "`docs/limits.md` lists the differences from OPA.",
    ),
    error(
        "unknown-file",
        "a file that is neither Rego nor data",
        "Pass `.rego`, `.json`, `.yaml` or `.yml` files.",
    ),
    warning(
        "unknown-field",
        "a near miss of a known field",
        "The field would be undefined. Only fields that resemble a known one are reported, since the service may send others.",
    ),
    warning(
        "unknown-value",
        "a comparison with a value that the service isn't known to send",
        "The value is nearly a known kind or status, or has another type than the field, so the comparison has the same result whatever the service sends. The hint has the likely form.",
    ),
    error(
        "unknown-function",
        "a call to a function that doesn't exist",
        "The hint suggests a similar name, if there is one.",
    ),
    warning(
        "unknown-rule",
        "a reference to something that a loaded package doesn't define",
        "It is undefined, so its `not` holds. Correct the name, or silence the finding if the data is only loaded elsewhere.",
    ),
    error(
        "unreadable",
        "a file or folder that can't be read",
        "Check the path and its permissions.",
    ),
    error(
        "unsafe-variable",
        "a variable that nothing binds",
        "Bind it in a statement that isn't negated.",
    ),
    error(
        "unsupported-builtin",
        "a built-in that isn't available here",
        "An evaluation that reaches the call ends with an error.",
    ),
    warning(
        "unused-argument",
        "an `--arg` that no policy mentions",
        "If the name is misspelt, the policy sees no argument, or its default.",
    ),
    warning(
        "unused-ignore",
        "a `# check:ignore` that silences nothing",
        "Remove it, or correct its code. Errors can't be silenced.",
    ),
    warning("unused-import", "an unused import", "Remove it."),
    warning(
        "unused-local",
        "an unused local variable or argument",
        "Use it, or replace it with `_` or a name that begins with `_`.",
    ),
    warning(
        "unused-set",
        "a set that no verdict of a gate depends on",
        "Its package has a verdict, and this set isn't part of it. Give it the name of a verdict rule, such as `deny_licences`, or remove it if nothing else needs it.",
    ),
    warning(
        "verdict-shape",
        "a verdict rule whose value a gate can't use",
        "A gate gives no verdict for such a value. Verdict rules are sets of strings, or of objects with a string `message`.",
    ),
    error(
        "wrong-shape",
        "a verdict rule whose value a gate can't use",
        "The message describes the expected shape; no other value is a verdict.",
    ),
    error(
        "no-verdict-rule",
        "a package without a verdict rule",
        "Name the rule `result`, `deny`, `violations`, `findings` or `warn`, or choose packages with `-n`.",
    ),
    error(
        "misspelt-verdict-rule",
        "a rule whose name is nearly that of a verdict rule",
        "Rename it: a gate that ignored it would pass.",
    ),
    error(
        "switched-off",
        "a verdict rule that `result` overrides",
        "Include it in `result`, or use only one of them.",
    ),
    error(
        "not-accounted-for",
        "a file in a folder of policies whose content doesn't match its name",
        "Pass it by name, rename it, or leave it out.",
    ),
    error(
        "alone",
        "a module of a policy document that refers to another file's data or package",
        "Each module is evaluated alone, so the reference is undefined. Include the code in the module, or load the module as a Rego file.",
    ),
    error(
        "verdict-rule",
        "a verdict rule that can't give a verdict",
        "Make it a rule without arguments whose value has the shape that the message names.",
    ),
    warning(
        "whole-answer",
        "an answer that is used instead of its list",
        "An answer is an object: counting it counts its fields, and iterating over it gives their values. Use its list, such as `.results`.",
    ),
];

/// Returns the description of a code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code == code)
}

/// Returns the code nearest to a word that isn't one.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    crate::text::nearest(word, RULES.iter().map(|rule| rule.code))
}
