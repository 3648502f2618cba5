//! A case: policies, and what is asked of them. And what an answer is.

use std::collections::BTreeMap;

/// Policies and what is asked of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Texts by path.
    pub files: Vec<(String, String)>,
    /// `v0`, `v1` or `v2`.
    pub version: &'static str,
    /// Queries; each is asked with each input.
    pub queries: Vec<String>,
    /// Inputs as JSON texts.
    pub inputs: Vec<String>,
    /// The inputs are constants in Rego's syntax instead.
    pub term_inputs: bool,
    /// Data as JSON text.
    pub data: String,
    /// Whether a failure of a built-in function is the result's error.
    pub strict_errors: bool,
    /// The compiler's strict mode.
    pub strict: bool,
    /// OPA is asked without its index of rules, or without its early exit.
    pub without: Option<&'static str>,
    /// Where it is from, for whoever wants to see it again.
    pub origin: String,
    /// The productions of the grammar that it uses.
    pub productions: Vec<&'static str>,
}

impl Case {
    /// One file, asked for some rules of it.
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

    /// As a person reads it.
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

/// An error: its code, its message, its line (0: none) and its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub code: String,
    pub message: String,
    pub row: u32,
    pub file: String,
}

impl Fault {
    /// As a person reads it.
    pub fn show(&self) -> String {
        format!("{}:{}: {}: {}", self.file, self.row, self.code, self.message)
    }
}

/// What a query gives with an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The bindings of each solution by name, in canonical text, sorted. The value of a query that is
    /// a reference alone is called `value`.
    pub rows: Vec<BTreeMap<String, String>>,
    /// What ended the evaluation.
    pub error: Option<Fault>,
    /// The first failure of a built-in function, where that ended nothing.
    pub failure: Option<Fault>,
    /// Calls of host functions: `name[args]`, in order.
    pub calls: Vec<String>,
    /// What was printed: the line, the text.
    pub prints: Vec<(u32, String)>,
}

impl Answer {
    /// As a person reads it.
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

    /// Whether it has a value that says something: neither undefined nor empty.
    pub fn is_telling(&self) -> bool {
        self.error.is_none()
            && self.rows.iter().any(|row| {
                row.is_empty()
                    || row
                        .values()
                        .any(|value| !matches!(value.as_str(), "[]" | "{}" | "<>" | "\"\""))
            })
    }
}

/// What a case gives: the errors of its compilation, or an answer (or the errors of the query) for
/// each query and input, queries first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It doesn't compile.
    Refused(Vec<Fault>),
    /// It compiles.
    Answers(Vec<Result<Answer, Vec<Fault>>>),
    /// It can't be told: a panic, a broken question.
    Broken(String),
}

/// A function of the host that programs may call: its name, its types, and how it answers.
pub struct HostFunction {
    pub name: &'static str,
    pub args: &'static [&'static str],
    pub result: &'static str,
    pub answer: HostAnswer,
}

/// How a host function answers.
#[derive(Clone, Copy)]
pub enum HostAnswer {
    /// Its first argument.
    Echo,
    /// Nothing.
    Undefined,
    /// A failure.
    Error(&'static str),
    /// A failure that ends the evaluation.
    Halt(&'static str),
    /// A number below 1,000 made of its arguments.
    Hash,
    /// By its arguments: canonical text, and a constant (nothing: undefined; `!`: a failure).
    Cases(&'static [(&'static str, &'static str)]),
}

/// The host's functions.
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
