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
        "Give every argument that the function takes; a function in another's place must take as many.",
    ),
    error(
        "bundle",
        "a bundle that OPA refuses, or of which something would be left out",
        "Build it with `opa build -b`, or unpack it.",
    ),
    error(
        "compile-error",
        "what the language's compiler refuses",
        "The message is OPA's: `opa check` refuses the same policy.",
    ),
    warning(
        "cut-list",
        "a list that a `limit` may have cut, used as a whole",
        "The service may have more than `limit` asks for, so a count, a negation or `every` over the list can come out wrong. Leave `limit` out: every page is read then.",
    ),
    error(
        "data-conflict",
        "data and rules, or two data documents, under one path",
        "Move one of them: OPA refuses it too.",
    ),
    error(
        "data-error",
        "a data file that can't be read as an object",
        "Fix the file, or don't load it as data.",
    ),
    error(
        "evaluation-error",
        "an error of the evaluation",
        "The message has OPA's code and words.",
    ),
    error(
        "folder-loop",
        "a folder that contains itself through a link",
        "Remove the link, or name the folders to load one by one.",
    ),
    error(
        "gate-error",
        "what a gate over the same paths refuses",
        "The message says what the gate would miss, or would take for something else.",
    ),
    error(
        "invalid-argument",
        "an argument that is wrong whatever the input is",
        "The call would fail before anything is sent; the message says what the function expects.",
    ),
    error("module-conflict", "two modules of one name", "Load each file once."),
    error(
        "name-collision",
        "a name that the functions need",
        "Give the import or rule another name.",
    ),
    warning(
        "missing-data",
        "data that no loaded file of a gate defines",
        "It is undefined, so a rule that needs it never holds. Load the file that defines it with `-d`.",
    ),
    warning(
        "negated-call",
        "`not` over a call of one of the functions",
        "A failed call ends the evaluation, also under `not`, and `not f(x).field` holds when the answer lacks the field. Bind the answer with `:=` and say what it must or must not be.",
    ),
    warning(
        "no-verdict",
        "a package without a verdict rule that nothing imports",
        "A gate looks at `result`, `deny`, `deny_*`, `violations`, `findings`, `warn` and `warn_*`; a misspelt one would never be seen. Name the rule so, or import the package where it is used.",
    ),
    warning(
        "optional-argument",
        "an argument of a call that may be absent",
        "The function that it comes from, or the schema of `input`, says that the field is optional: without it the call is undefined, and a rule that would deny doesn't.",
    ),
    error("parse-error", "text that isn't Rego", "Only the first error of a file is reported."),
    error(
        "recursion",
        "rules that need their own value",
        "Rego refuses recursion: write out the steps, or use `walk` or `graph.reachable`.",
    ),
    error("too-large", "a file or a module that is too large", "Split it."),
    error(
        "type-error",
        "types that can't fit",
        "The message is OPA's: the expression could never hold, or names what isn't there.",
    ),
    error(
        "unsupported",
        "what OPA takes and this doesn't",
        "`docs/conformance.md` has the list, each with its reason.",
    ),
    error(
        "unknown-file",
        "a file that is neither Rego nor data",
        "Name `.rego`, `.json`, `.yaml` or `.yml` files.",
    ),
    warning(
        "unknown-field",
        "a near miss of a known field",
        "The field would be undefined. Fields that resemble no documented or known one are not reported, since the service may send more.",
    ),
    warning(
        "unknown-value",
        "a comparison with a value that the service isn't known to send",
        "The value is nearly a known kind or status, or of another type than the field: the comparison comes out the same whatever the service sends. The hint has the likely form.",
    ),
    error(
        "unknown-function",
        "a call of a function that doesn't exist",
        "The hint names the nearest one, if one is near.",
    ),
    warning(
        "unknown-rule",
        "a reference into a loaded package to what isn't there",
        "It is undefined: `not` of it holds, and a test that expects nothing of it passes. Correct the name; if other data brings the value, silence the finding.",
    ),
    error(
        "unreadable",
        "a file or folder that can't be read",
        "Check the path and its permissions.",
    ),
    error(
        "unsafe-variable",
        "a variable that nothing gives a value",
        "Bind it in a statement that isn't negated.",
    ),
    error(
        "unsupported-builtin",
        "a built-in that isn't available here",
        "The evaluation ends with an error where it reaches the call.",
    ),
    warning(
        "unused-argument",
        "an `--arg` of a gate whose name no policy mentions",
        "The name may be misspelt: the policy then sees no argument, or its default.",
    ),
    warning(
        "unused-ignore",
        "a `# check:ignore` that silences nothing",
        "Remove it, or correct its code. Errors can't be silenced.",
    ),
    warning("unused-import", "an import that nothing uses", "Remove it."),
    warning(
        "unused-local",
        "a local variable or an argument that nothing uses",
        "Use it, or write `_`, or a name that begins with `_`, in its place.",
    ),
    warning(
        "unused-set",
        "a set that no verdict of a gate depends on",
        "Its package has a verdict, and this set isn't part of it. Give it the name of a verdict rule, such as `deny_licences`, or remove it if nothing else needs it.",
    ),
    warning(
        "verdict-shape",
        "a verdict rule whose value isn't what a gate reads",
        "A gate refuses the value when it meets it. Verdict rules are sets of strings, or of objects with a string `message`.",
    ),
    error(
        "wrong-shape",
        "a verdict rule whose value isn't what a gate reads",
        "Give the shape that the message names; a gate takes no other for a pass.",
    ),
    error(
        "no-verdict-rule",
        "a package without a verdict rule, in a gate",
        "Name the rule `result`, `deny`, `violations`, `findings` or `warn`, or choose packages with `-n`.",
    ),
    error(
        "misspelt-verdict-rule",
        "a rule whose name is nearly a verdict rule's, in a gate",
        "Rename it: a gate that overlooked it would pass.",
    ),
    error(
        "switched-off",
        "a verdict rule beside a `result` that doesn't look at it, in a gate",
        "Let `result` include it, or use only one of them.",
    ),
    error(
        "not-accounted-for",
        "a file in a folder whose name doesn't say what its content is, in a gate",
        "Name it outright, rename it, or leave it out.",
    ),
    error(
        "alone",
        "a module of a policy document that refers to data or packages of other files",
        "Write what it needs into the module, or load the module as Rego: it would be undefined.",
    ),
    error(
        "verdict-rule",
        "a verdict rule that can't give a verdict",
        "Make it a rule without arguments whose value has the shape that the message names.",
    ),
    warning(
        "whole-answer",
        "an answer that is counted or iterated over instead of its list",
        "An answer is an object: its count is the number of its fields, and its elements are their values. Name the list: `.results`.",
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
