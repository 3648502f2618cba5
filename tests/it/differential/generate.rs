//! Generated cases: policies over several files, data, an input, and questions about them.
//!
//! The same seed gives the same case, on every machine.

use serde_json::Value;

use super::documents;
use super::plan::Plan;
use super::rules;

/// A generated case.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    /// Names and texts.
    pub(crate) modules: Vec<(String, String)>,
    pub(crate) data: Value,
    pub(crate) input: Value,
    pub(crate) questions: Vec<Question>,
}

/// What is asked of a case.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Question {
    /// The document at a path of `data`.
    Document(Vec<String>),
    /// The bindings of a query.
    Bindings(String),
}

/// The case of `seed`.
pub(crate) fn case(seed: u64) -> Case {
    let mut plan = Plan::new(seed);
    let data = documents::data(&plan.root.clone(), &mut plan.random);
    let input = documents::input(&mut plan.random);
    for _ in 0..4 + plan.random.below(8) {
        rules::add(&mut plan);
    }
    let questions = questions(&mut plan);
    let name = |i: usize| format!("c{seed}_{i}.rego");
    let modules = plan.texts().into_iter().enumerate().map(|(i, text)| (name(i), text)).collect();
    Case { seed, modules, data, input, questions }
}

/// A `with` for a query, which has no files, and so no names of its own.
fn replacement(plan: &mut Plan) -> String {
    let root = plan.root.clone();
    let rules: Vec<_> = plan.symbols.iter().filter(|s| s.params.is_none()).cloned().collect();
    let rule = plan.random.pick(&rules).clone();
    let path = format!("data.{}.{}", plan.packages[rule.package].path, rule.name);
    match plan.random.below(4) {
        0 => format!(" with input as {{\"n\": {path}}}"),
        1 => format!(" with input.user as data.{root}.conf.owner with input.n as {path}"),
        2 => format!(" with data.{root}.conf.limit as [v | v := {path}][0]"),
        _ => format!(" with input as data.{root}.conf with data.{root}.conf.flag as true"),
    }
}

fn questions(plan: &mut Plan) -> Vec<Question> {
    let mut questions = vec![Question::Document(vec![plan.root.clone()])];
    let path = |text: &str| {
        let parts = text.split(['.', '[', ']', '"']).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect::<Vec<String>>()
    };
    questions.extend(plan.packages.iter().map(|p| Question::Document(path(&p.path))));
    for symbol in plan.symbols.clone().iter().filter(|s| s.params.is_none()) {
        let package = plan.packages[symbol.package].path.clone();
        let mut full = path(&package);
        full.push(symbol.name.clone());
        questions.push(Question::Document(full));
        let query = match plan.random.below(12) {
            3 => {
                let with = replacement(plan);
                format!("x := data.{package}.{}{with}", symbol.name)
            }
            4 => {
                let with = replacement(plan);
                format!("x := 1; not data.{package}.{} == x{with}", symbol.name)
            }
            0 => format!("x := data.{package}.{}; x != 3", symbol.name),
            // OPA's type checker refuses to iterate over anything else.
            1 if symbol.kind.iterable() => format!("data.{package}.{}[k] = v", symbol.name),
            2 if symbol.kind.iterable() => format!("some k, v in data.{package}.{}", symbol.name),
            _ => continue,
        };
        questions.push(Question::Bindings(query));
    }
    questions
}
