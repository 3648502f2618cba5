//! Comparison with plain regorus: answered calls, evaluation without calls, the command's start,
//! loading. Both sides have the same policies, inputs and answers.
//!
//! ```text
//! cargo bench --bench layer [-- memo evaluation start load]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::pedantic,
    clippy::panic
)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{ModuleSource, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Replay};
use rego_platform::regorus::{self, Engine};
use rego_platform::{Platform, Token, Value};

use support::service::{Content, Service, TOKEN, digest};
use support::{Contender, again, bare_command, compare, is_measuring, role, run, wanted};

fn main() {
    match role().as_deref() {
        Some("regorus") => return regorus_command(),
        Some(other) => panic!("no role `{other}`"),
        None => {}
    }
    if !is_measuring() {
        return;
    }
    if wanted("memo") {
        memo();
    }
    if wanted("evaluation") {
        evaluation();
    }
    if wanted("start") {
        start();
    }
    if wanted("load") {
        load();
    }
}

fn loaded(modules: &[(String, String)]) -> Policies {
    let mut sources = Sources::default();
    for (path, text) in modules {
        sources.modules.push(ModuleSource::new(path, text));
    }
    Policies::load(&sources, LoadOptions::default()).unwrap()
}

fn engine_value(value: &Value) -> regorus::Value {
    regorus::Value::from_json_str(&value.to_json()).unwrap()
}

fn no_service() -> EvaluateOptions {
    EvaluateOptions::new(Answers::Unavailable("no calls here".to_owned()))
}

/// 10,000 equal calls whose answer is known, beside an extension that returns a constant.
fn memo() {
    const CALLS: usize = 10_000;
    // The first statement keeps the first pass, which asks, short; the second one measures hits.
    let module = |body: &str| {
        format!(
            "package p\nx := count(found) if {{\n\tplatform.discover(input.digest, \"\").kind\n\tfound := [1 | some i in input.numbers; {body}]\n}}\n"
        )
    };
    let calling = module("platform.discover(input.digest, \"\")");
    let idle = module("i >= 0");
    let numbers: Vec<_> = (0..CALLS).map(|n| n.to_string()).collect();
    let text = format!(r#"{{"digest":"{}","numbers":[{}]}}"#, digest(0, 0), numbers.join(","));
    let input = Value::from_json(&text).unwrap();
    let engine_input = regorus::Value::from_json_str(&text).unwrap();
    let service = Service::start(Content { width: 5, depth: 1, ..Content::default() });
    let platform = Platform::builder()
        .controlplane_url(service.url())
        .base_url(service.url())
        .token(Token::new(TOKEN.to_owned()).unwrap())
        .build()
        .unwrap();
    let arguments = [Value::from(digest(0, 0)), Value::from("")];
    let answer = engine_value(&platform.call("discover", &arguments).unwrap());
    let live = platform.options();

    let ours = |text: &str| {
        let policies = loaded(&[("p.rego".to_owned(), text.to_owned())]);
        let query = policies.query("data.p.x").unwrap();
        let recording = policies.evaluate(&query, Some(&input), &live).recording().unwrap();
        let replay = EvaluateOptions::new(Answers::Replay(Arc::new(Replay::new(recording))));
        let input = input.clone();
        move || {
            let result = policies.evaluate(&query, Some(&input), &replay).result.unwrap();
            assert_eq!(result.value().unwrap(), &Value::from(CALLS as u64));
        }
    };
    let bare = |text: &str| {
        let mut engine = Engine::new();
        let answer = answer.clone();
        let constant = Box::new(move |_| Ok(answer.clone()));
        engine.add_extension("platform.discover".to_owned(), 2, constant).unwrap();
        engine.add_policy("p.rego".to_owned(), text.to_owned()).unwrap();
        engine.eval_query("true".to_owned(), false).unwrap();
        let input = engine_input.clone();
        move || {
            let mut engine = engine.clone();
            engine.set_input(input.clone());
            let value = engine.eval_rule("data.p.x".to_owned()).unwrap();
            assert_eq!(value, regorus::Value::from(CALLS));
        }
    };
    let mut contenders = [
        Contender::new("the loop alone, rego-platform", ours(&idle)),
        Contender::new("the loop alone, regorus", bare(&idle)),
        Contender::new("known answers, rego-platform", ours(&calling)),
        Contender::new("a constant extension, regorus", bare(&calling)),
    ];
    compare("10,000 equal calls", 41, &mut contenders);
    let per_call = |with: usize, without: usize| {
        let [with, without] = [with, without].map(|i| contenders[i].median().as_secs_f64());
        (with - without) / CALLS as f64 * 1e9
    };
    println!(
        "  a call alone, without the loop: {:.0} ns here, {:.0} ns on regorus",
        per_call(2, 0),
        per_call(3, 1)
    );
}

const POLICY: &str = r#"package release

default allow := false

allow if count(violations) == 0

violations contains sprintf("%s has no fix for %s", [c.name, v.id]) if {
	some c in input.components
	some v in c.vulnerabilities
	severe(v)
	not excepted(v.id)
}

violations contains sprintf("%s has a licence that isn't allowed", [c.name]) if {
	some c in input.components
	not c.licence in allowed
}

allowed := {"Apache-2.0", "MIT", "BSD-3-Clause"}

severe(v) if v.severity == "critical"

severe(v) if {
	v.severity == "high"
	v.score > 8
}

excepted(id) if id in input.exceptions
"#;

fn sbom(components: usize) -> String {
    let component = |index: usize| {
        let severity = ["low", "high", "critical"][index % 3];
        let licence = ["MIT", "Apache-2.0", "GPL-3.0"][index % 3];
        format!(
            r#"{{"name":"component-{index}","licence":"{licence}","vulnerabilities":[{{"id":"CVE-{index}","severity":"{severity}","score":9}}]}}"#
        )
    };
    let components: Vec<_> = (0..components).map(component).collect();
    format!(r#"{{"components":[{}],"exceptions":["CVE-2"]}}"#, components.join(","))
}

/// The same policy with messages bound in the bodies, as most policies are written.
fn bound() -> String {
    let messages = [
        ("sprintf(\"%s has no fix for %s\", [c.name, v.id])", "not excepted(v.id)\n"),
        (
            "sprintf(\"%s has a licence that isn't allowed\", [c.name])",
            "not c.licence in allowed\n",
        ),
    ];
    messages.into_iter().fold(POLICY.to_owned(), |text, (message, last)| {
        assert!(text.contains(message) && text.contains(last));
        text.replace(message, "msg").replace(last, &format!("{last}\tmsg := {message}\n"))
    })
}

/// Evaluations without calls, of small and larger inputs.
fn evaluation() {
    for (style, policy) in [("bound messages", bound()), ("messages in heads", POLICY.to_owned())] {
        for (components, batch) in [(3, 40), (80, 2), (800, 1)] {
            evaluate(style, &policy, components, batch);
        }
    }
}

/// Samples are short, so that few of them are disturbed by other load on the machine.
fn evaluate(style: &str, policy: &str, components: usize, batch: u32) {
    let text = sbom(components);
    let input = Value::from_json(&text).unwrap();
    let engine_input = regorus::Value::from_json_str(&text).unwrap();
    let rule = "data.release.violations";
    let policies = loaded(&[("release.rego".to_owned(), policy.to_owned())]);
    let query = policies.query(rule).unwrap();
    let options = no_service();
    let ours = || {
        for _ in 0..batch {
            let evaluated = policies.evaluate(&query, Some(&input), &options);
            std::hint::black_box(evaluated.result.unwrap());
        }
    };
    let mut engine = Engine::new();
    engine.add_policy("release.rego".to_owned(), policy.to_owned()).unwrap();
    engine.set_strict_builtin_errors(true);
    engine.eval_query("true".to_owned(), false).unwrap();
    let alone = |engine: &Engine| {
        for _ in 0..batch {
            let mut engine = engine.clone();
            engine.set_input(engine_input.clone());
            std::hint::black_box(engine.eval_rule(rule.to_owned()).unwrap());
        }
    };
    let ours_value = policies.evaluate(&query, Some(&input), &options).result.unwrap();
    let mut clone = engine.clone();
    clone.set_input(engine_input.clone());
    let found = ours_value.value().and_then(Value::as_set).unwrap().len();
    assert_eq!(found, clone.eval_rule(rule.to_owned()).unwrap().as_set().unwrap().len());
    let mut contenders =
        [Contender::new("rego-platform", ours), Contender::new("regorus", || alone(&engine))];
    compare(&format!("{style}, {components} components, {batch} times"), 601, &mut contenders);
    let each = contenders[1].median() / batch;
    println!("  one evaluation on regorus: {}", support::show(each));
}

/// The smallest program that evaluates a policy with regorus.
fn regorus_command() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [policy, input, rule] = arguments.as_slice() else { panic!("three arguments") };
    let mut engine = Engine::new();
    engine.add_policy(policy.clone(), std::fs::read_to_string(policy).unwrap()).unwrap();
    engine.set_input(
        regorus::Value::from_json_str(&std::fs::read_to_string(input).unwrap()).unwrap(),
    );
    println!("{}", engine.eval_rule(rule.clone()).unwrap().to_json_str().unwrap());
}

/// The whole command beside that program.
fn start() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("release.rego").to_str().unwrap().to_owned();
    let input = folder.path().join("input.json").to_str().unwrap().to_owned();
    std::fs::write(&policy, POLICY).unwrap();
    std::fs::write(&input, sbom(3)).unwrap();
    let rule = "data.release.allow";
    let check = |(took, said): (Duration, String), end: &str| {
        assert!(said.trim_end().ends_with(end), "{said}");
        took
    };
    let mut contenders = [
        Contender::timed("rego-platform --version", || run(bare_command().arg("--version")).0),
        Contender::timed("rego-platform eval", || {
            let mut eval = bare_command();
            eval.args(["eval", "-d", &policy, "-i", &input, "-f", "raw", rule]);
            check(run(&mut eval), "false")
        }),
        Contender::timed("regorus", || {
            check(run(again("regorus").args([&policy, &input, rule])), "false")
        }),
    ];
    compare("cold start of the command", 61, &mut contenders);
    let more = contenders[1].median().as_secs_f64() - contenders[2].median().as_secs_f64();
    println!("  over regorus: {:.2} ms", more * 1e3);
}

/// 1,000 policies, from texts to ready for evaluation.
fn load() {
    let modules: Vec<(String, String)> = (0..1000)
        .map(|index| {
            let next = (index + 1) % 1000;
            // References go forward, so that there is no cycle.
            let other = if next == 0 {
                String::new()
            } else {
                format!("\nfrom_other contains v if some v in library_{next}.allowed\n")
            };
            let import =
                if next == 0 { String::new() } else { format!("import data.library_{next}\n") };
            let text = POLICY.replacen(
                "package release\n",
                &format!("package library_{index}\n\n{import}"),
                1,
            ) + &other;
            (format!("library_{index}.rego"), text)
        })
        .collect();
    let ours = || loaded(&modules);
    let bare = || {
        let mut engine = Engine::new();
        for (path, text) in &modules {
            engine.add_policy(path.clone(), text.clone()).unwrap();
        }
        engine.eval_query("true".to_owned(), false).unwrap();
        engine
    };
    let only_parsed = || {
        let mut engine = Engine::new();
        for (path, text) in &modules {
            engine.add_policy(path.clone(), text.clone()).unwrap();
        }
        engine
    };
    let mut contenders = [
        Contender::new("rego-platform", ours),
        Contender::new("regorus, parsed only", only_parsed),
        Contender::new("regorus, ready to evaluate", bare),
    ];
    compare("loading 1,000 policies", 11, &mut contenders);
    let started = Instant::now();
    let policies = loaded(&modules);
    println!("  once more: {}", support::show(started.elapsed()));
    let query = policies.query("data.library_7.from_other").unwrap();
    let result = policies.evaluate(&query, None, &no_service()).result.unwrap();
    assert_eq!(result.value().unwrap().as_set().unwrap().len(), 3);
}
