//! Rounds: independent calls travel together, whatever holds them.
//!
//! Programs are random expressions in which each call has a known depth: the longest chain of calls whose
//! responses its arguments need. An evaluation may take as many rounds as the deepest call, and no more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rego_platform::evaluate::Evaluated;

use super::world::{NODES, Server, WIDE, input, mix};
use crate::support::{evaluate, options, policies};

/// The forms that hold several calls.
const FORMS: [&str; 8] = [
    "array",
    "object",
    "assignment",
    "arithmetic",
    "function",
    "rule",
    "comprehension",
    "iteration",
];

struct Generator {
    seed: u64,
    state: u64,
    rules: String,
    count: u64,
}

/// An expression, with the number of rounds that its value takes.
type Expression = (String, u32);

impl Generator {
    fn below(&mut self, n: u64) -> u64 {
        self.state += 1;
        mix(&[self.seed, self.state]) % n
    }

    fn name(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    /// A call whose argument is constant, or needs the responses to other calls.
    fn call(&mut self, level: u32) -> Expression {
        let (node, kind) = (self.below(NODES), self.below(3));
        if level == 0 || self.below(3) > 0 {
            return (format!("platform.discover(input.d[{node}], \"K{kind}\")"), 1);
        }
        let (inner, depth) = self.of_form(self.seed + u64::from(level), level - 1);
        let digest = format!("input.d[(count(json.marshal({inner})) + {node}) % {NODES}]");
        (format!("platform.discover({digest}, \"K{kind}\")"), depth + 1)
    }

    /// An expression of a form, with calls in each of its places.
    fn of_form(&mut self, form: u64, level: u32) -> Expression {
        let (a, first) = self.call(level);
        let (b, second) = self.call(level);
        let depth = first.max(second);
        let at = usize::try_from(form).unwrap() % FORMS.len();
        let text = match FORMS[at] {
            "array" => format!("[{a}, {b}]"),
            "object" => format!("{{\"a\": {a}, \"b\": {b}}}"),
            "arithmetic" => format!("count({a}.references) + count({b}.references)"),
            "assignment" => {
                let rule = self.name("r");
                let text = format!("{rule} := [x, y] if {{\n\tx := {a}\n\ty := {b}\n}}\n");
                self.add(rule, &text)
            }
            "function" => {
                let function = self.name("f");
                let text = format!("{function}(_) := [{a}, {b}]\n");
                format!("{}(1)", self.add(function, &text))
            }
            "rule" => {
                let (x, y) = (self.name("r"), self.name("r"));
                let (x, y) = (
                    self.add(x.clone(), &format!("{x} := {a}\n")),
                    self.add(y.clone(), &format!("{y} := {b}\n")),
                );
                format!("[{x}, {y}]")
            }
            "comprehension" => format!("[v | some v in [[1, {a}.kind], [2, {b}.kind]]]"),
            _ => {
                let rule = self.name("r");
                let digests = "some d in [input.d[0], input.d[1]]";
                let text = format!(
                    "{rule} contains [d, platform.discover(d, \"K9\").kind, {a}.kind, {b}.kind] if {digests}\n"
                );
                self.add(rule, &text)
            }
        };
        (text, depth)
    }

    fn add(&mut self, name: String, text: &str) -> String {
        let _ = writeln!(self.rules, "{text}");
        name
    }
}

#[test]
fn an_evaluation_takes_as_many_rounds_as_its_deepest_call() {
    let server = Server::start();
    let platform = server.builder().build().unwrap();
    let cases = std::env::var("ROUNDS_CASES").map_or(40, |text| text.parse().unwrap());
    let mut together: BTreeMap<&str, usize> = BTreeMap::new();
    for (form, name) in (0_u64..).zip(FORMS) {
        for case in 0..cases {
            let seed = case * 100 + form;
            let mut generator = Generator { seed, state: 0, rules: String::new(), count: 0 };
            let level = u32::try_from(generator.below(4)).unwrap();
            let (expression, depth) = generator.of_form(form, level);
            let text = format!("package p\n\n{}x := {expression}\n", generator.rules);
            let policies = policies(&[("p.rego", &text)]);
            let input = input(WIDE + seed % 7);
            let evaluated = evaluate(&policies, "data.p.x", &input, &options(&platform));
            let mut one = options(&platform);
            one.budget.one_at_a_time = true;
            let expected = evaluate(&policies, "data.p.x", &input, &one);
            let table = || format!("{text}\n{}", evaluated.ledger.table());
            let value = |evaluated: &Evaluated| match &evaluated.result {
                Ok(output) => output.value().map(ToString::to_string),
                Err(error) => panic!("{}", error.report()),
            };
            assert_eq!(value(&evaluated), value(&expected), "{}", table());
            assert!(evaluated.ledger.passes <= depth + 1, "depth {depth}: {}", table());
            let mut rounds: BTreeMap<u32, usize> = BTreeMap::new();
            for call in &evaluated.ledger.calls {
                *rounds.entry(call.pass).or_default() += 1;
            }
            *together.entry(name).or_default() += usize::from(rounds.values().any(|n| *n > 1));
        }
    }
    println!("programs with several calls in a round, of {cases}: {together:?}");
    assert!(
        FORMS.iter().all(|form| together.get(form).is_some_and(|n| *n as u64 * 2 > cases)),
        "{together:?}"
    );
}
