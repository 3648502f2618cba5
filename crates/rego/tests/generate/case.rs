//! A case (policies, and the queries to them), and the form of an answer.

use std::collections::BTreeMap;

/// Policies and the queries to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The texts, by path.
    pub files: Vec<(String, String)>,
    /// `v0`, `v1` or `v2`.
    pub version: &'static str,
    /// The queries; each is evaluated with each input.
    pub queries: Vec<String>,
    /// The inputs as JSON texts.
    pub inputs: Vec<String>,
    /// Set if the inputs are constants in Rego's syntax instead.
    pub term_inputs: bool,
    /// The data as JSON text.
    pub data: String,
    /// `true` if a failure of a built-in function is the result's error.
    pub strict_errors: bool,
    /// The compiler's strict mode.
    pub strict: bool,
    /// OPA evaluates without its rule index, or without its early exit.
    pub without: Option<&'static str>,
    /// The origin, to find the case again.
    pub origin: String,
    /// The grammar's productions that it uses.
    pub productions: Vec<&'static str>,
}

impl Case {
    /// Creates a case of one file with queries for some of its rules.
    pub fn new(text: String, queries: Vec<String>, inputs: Vec<String>) -> Self {
        Self {
            files: vec![("policy.rego".to_owned(), text)],
            version: "v1",
            queries,
            inputs,
            term_inputs: false,
            data: "{}".to_owned(),
            strict_errors: true,
            strict: false,
            without: None,
            origin: String::new(),
            productions: Vec::new(),
        }
    }

    /// Returns the case in readable form.
    pub fn show(&self) -> String {
        let mut out = String::new();
        if !self.origin.is_empty() {
            out.push_str(&format!("# {}\n", self.origin));
        }
        for (path, text) in &self.files {
            out.push_str(&format!("# {path} ({})\n{}\n", self.version, text.trim_end()));
        }
        if self.data != "{}" {
            out.push_str(&format!("# data: {}\n", self.data));
        }
        for input in &self.inputs {
            out.push_str(&format!("# input: {input}\n"));
        }
        for query in &self.queries {
            out.push_str(&format!("# query: {query}\n"));
        }
        if self.strict_errors {
            out.push_str("# strict errors\n");
        }
        out
    }
}

/// An error: its code, its message, its line (0 if unknown) and its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub code: String,
    pub message: String,
    pub row: u32,
    pub file: String,
}

impl Fault {
    /// Returns the error in readable form.
    pub fn show(&self) -> String {
        format!("{}:{}: {}: {}", self.file, self.row, self.code, self.message)
    }
}

/// The answer of a query with an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The bindings of each solution by name, in canonical text, sorted. The value of a query that
    /// is a single reference is called `value`.
    pub rows: Vec<BTreeMap<String, String>>,
    /// The error that ended the evaluation.
    pub error: Option<Fault>,
    /// The first failure of a built-in function, if it didn't end the evaluation.
    pub failure: Option<Fault>,
    /// Calls of host functions: `name[args]`, in order.
    pub calls: Vec<String>,
    /// The prints: line and text.
    pub prints: Vec<(u32, String)>,
}

impl Answer {
    /// Returns the answer in readable form.
    pub fn show(&self) -> String {
        let mut out = match &self.error {
            Some(fault) => format!("error {}", fault.show()),
            None if self.rows.is_empty() => "undefined".to_owned(),
            None => {
                let rows = self.rows.iter().map(|row| match row.get("value") {
                    Some(value) if row.len() == 1 => value.clone(),
                    _ => format!("{row:?}"),
                });
                rows.collect::<Vec<_>>().join(" | ")
            }
        };
        if let Some(fault) = &self.failure {
            out.push_str(&format!("; first failure {}", fault.show()));
        }
        if !self.calls.is_empty() {
            out.push_str(&format!("; calls {}", self.calls.join(" ")));
        }
        if !self.prints.is_empty() {
            out.push_str(&format!("; prints {:?}", self.prints));
        }
        out
    }

    /// Returns `true` if the value is neither undefined nor empty.
    pub fn is_nonempty(&self) -> bool {
        self.error.is_none()
            && self.rows.iter().any(|row| {
                row.is_empty()
                    || row
                        .values()
                        .any(|value| !matches!(value.as_str(), "[]" | "{}" | "<>" | "\"\""))
            })
    }
}

/// The outcome of a case: the errors of its compilation, or an answer (or the errors of the query)
/// for each query and input, queries first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaseOutcome {
    /// It doesn't compile.
    Refused(Vec<Fault>),
    /// It compiles.
    Answers(Vec<Result<Answer, Vec<Fault>>>),
    /// It can't be determined: a panic, an invalid question.
    Broken(String),
}

/// A function of the host that programs can call: its name, its types, and its answer.
pub struct HostFunction {
    pub name: &'static str,
    pub args: &'static [&'static str],
    pub result: &'static str,
    pub answer: HostAnswer,
}

/// The answer of a host function.
#[derive(Clone, Copy)]
pub enum HostAnswer {
    /// The first argument.
    Echo,
    Undefined,
    /// A failure.
    Error(&'static str),
    /// A failure that ends the evaluation.
    Halt(&'static str),
    /// A number below 1,000, computed from the arguments.
    Hash,
    /// By the arguments: canonical text, and a constant (empty for undefined; `!` for a failure).
    Cases(&'static [(&'static str, &'static str)]),
}

pub const HOST: &[HostFunction] = &[
    HostFunction { name: "svc.ask", args: &["any"], result: "any", answer: HostAnswer::Echo },
    HostFunction { name: "svc.none", args: &["any"], result: "any", answer: HostAnswer::Undefined },
    HostFunction {
        name: "svc.fail",
        args: &["any"],
        result: "any",
        answer: HostAnswer::Error("no answer"),
    },
    HostFunction {
        name: "svc.stop",
        args: &["any"],
        result: "any",
        answer: HostAnswer::Halt("stopped"),
    },
    HostFunction {
        name: "svc.num",
        args: &["any", "any"],
        result: "number",
        answer: HostAnswer::Hash,
    },
    HostFunction {
        name: "svc.pick",
        args: &["string"],
        result: "any",
        answer: HostAnswer::Cases(&[
            ("[\"a\"]", "1"),
            ("[\"b\"]", "{\"k\":[1,\"b\",null]}"),
            ("[\"c\"]", "!"),
            ("[\"\"]", "false"),
        ]),
    },
];
