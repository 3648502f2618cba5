//! The codes of findings.
//!
//! Owns the level, description and help of each code, which reports show. Finding them belongs to
//! the loader and the checks.

use crate::Level;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
        "absent-member",
        "a reference, reached by a gate's evaluation, to a member that only the gate or the service supplies and didn't",
        "Give the argument, or read it with a default: `object.get`.",
    ),
    warning(
        "argument-ordering",
        "an ordering of a number and an argument, which is a string",
        "Rego orders numbers before strings. Write `to_number(input.args.NAME)`.",
    ),
    error(
        "bundle",
        "a bundle that OPA rejects, or that would be loaded incompletely",
        "Build it with `opa build -b`, or unpack it.",
    ),
    error(
        "compile-error",
        "an error of OPA's compile stages",
        "The message is OPA's: `opa check` rejects the same policy.",
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
    warning(
        "dead-rule",
        "a rule that no verdict, test or other package uses, and whose value an input can change",
        "The verdict of its package doesn't use this rule: perhaps its name should be a verdict rule's. Use it, rename it, or remove it.",
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
        super::unknown::MISSING_DATA,
        "data that no loaded file defines, or that has no members",
        "It is undefined, so rules that use it never hold. Load the file that defines it, too.",
    ),
    warning(
        "no-verdict",
        "a package without a verdict rule that nothing imports",
        "A gate only uses `result`, `deny`, `deny_*`, `violation`, `violation_*`, `violations`, `findings`, `warn` and `warn_*`. Rename the rule, or import the package where it is used.",
    ),
    error("parse-error", "a syntax error", "The message and the position are OPA's."),
    error(
        "other-shape",
        "a gate's input that isn't an object where the policy reads a field",
        "Give the policy the documents that it is written for.",
    ),
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
        "`docs/reference/opa-differences.md` lists the differences from OPA.",
    ),
    error(
        "unknown-file",
        "a file that is neither Rego nor data",
        "Pass `.rego`, `.json`, `.yaml` or `.yml` files.",
    ),
    warning(
        "unknown-field",
        "a field that is neither documented nor known",
        "The field is undefined. If a newer service sends it, silence the finding.",
    ),
    warning(
        "unknown-value",
        "a comparison with a value that a field isn't known to have",
        "The value isn't a known kind or status, or has another type than the field, so the comparison has the same result whatever the service sends. If a newer service sends the value, silence the finding.",
    ),
    error(
        "unknown-function",
        "a call to a function that doesn't exist",
        "The hint suggests a similar name, if there is one.",
    ),
    warning(
        "unknown-rule",
        "a reference to something that a loaded package doesn't define",
        "It is undefined, so its `not` holds. Correct the name, or silence the finding if other runs load the data.",
    ),
    error(
        "unreadable",
        "a file or folder that can't be read",
        "Check the path and its permissions.",
    ),
    error(
        "mixed-ordering",
        "an ordering of values of different types that a gate's evaluation reached",
        "Convert both sides to one type, or test the type in a statement before.",
    ),
    error(
        "undecided-call",
        "a call of which a gate's evaluation can't tell whether it is needed, since something is missing",
        "State before the call what the rule needs of the input.",
    ),
    error(
        "undecided-negation",
        "a negated call without its operand, which is neither true nor false, and would make a violation",
        "If the rule is meant only for inputs that have the operand, add a statement before that requires it; if not, `import future.keywords.not`.",
    ),
    error(
        "undecoded-content",
        "content that isn't text, and that a policy passed without decoding it",
        "Pass it to `base64.decode`, or distinguish it from text with `json.is_valid`.",
    ),
    warning(
        "unguarded-negation",
        "a negated call on a member of the input that no statement before requires",
        "A gate gives no verdict for an input without it. State before what the rule is meant for, or `import future.keywords.not`.",
    ),
    error(
        "unmade-call",
        "a call that a gate's evaluation reached and couldn't make, since an operand is undefined",
        "If the rule is meant only for inputs that have the operand, add a statement before the call that requires it.",
    ),
    error(
        "unreported-violation",
        "a violation whose conditions hold, and whose message has no value",
        "Give what is missing a default, as with `object.get`, or make it a condition.",
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
        "always-true",
        "a test's statement that is a set or an object, and holds even if that is empty",
        "The test can't fail there. Compare the value: `count(p.deny) == 0`.",
    ),
    warning(
        "wrong-mock",
        "a mock that isn't of the type of the function's result",
        "The service never returns such a value, so the test proves nothing. If a newer service does, silence the finding.",
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
        "unused-rule",
        "a function that nothing calls, or a literal that nothing uses",
        "The verdict of its package doesn't use it. A gate reports a note. Use it, or remove it.",
    ),
    warning(
        "vendor-answer",
        "a use of a result that differs in the vendor's engine",
        "There, fields that are empty or false are left out, and times are objects. Write it so that both agree, or silence the finding in a policy that runs here alone.",
    ),
    error(
        "verdict-in-tests",
        "a verdict rule in a package of tests, which a gate doesn't evaluate",
        "Rename the package or the rule, or leave the package out of the gate.",
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
        "Name the rule `result`, `deny`, `violations`, `findings` or `warn`, or choose the packages that have one.",
    ),
    error(
        "switched-off",
        "a verdict rule that `result` overrides",
        "Include it in `result`, or use only one of them.",
    ),
    error(
        "alone",
        "a module of a policy document that refers to another file's data or package",
        "Each module is evaluated alone, so the reference is undefined. Include the code in the module, or load the module as a Rego file.",
    ),
    error(
        "policy-document",
        "a reference, template or argument in a policy document or a group that leads nowhere",
        "Name a file, an input or an argument that exists.",
    ),
    error(
        "supplied-data",
        "a rule in the place of data that the gate supplies for each input",
        "Rename the package or the rule.",
    ),
    error(
        "verdict-rule",
        "a verdict rule that can't give a verdict",
        "Make it a rule without arguments whose value has the shape that the message names.",
    ),
];

/// Returns all codes, those about regorus last.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().chain(super::regorus::ROWS.iter().map(|row| &row.rule))
}

/// Returns the description of a code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.code == code)
}

/// Returns the code nearest to a word that isn't one.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    crate::text::nearest(word, rules().map(|rule| rule.code))
}
