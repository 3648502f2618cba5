//! Batched, one at a time, one in flight and in a task: the same answer for every policy, on each of
//! the two engines. Where regorus differs from OPA, nothing is compared here.

use std::collections::BTreeSet;

use rego_platform::Value;
use rego_platform::evaluate::{Answers, EvaluateOptions, Evaluated, Policies, Replay};
use rego_platform::regorus::Engine;
use rego_platform::{Error, Platform};

use super::engines;
use super::generate::policy;
use super::world::{Server, input};
use crate::support::try_policies;

/// The end of a case: the value, or the kind, function and message of the error.
type Ending = Result<String, (String, Option<String>, String)>;

fn ending(result: Result<Option<Value>, Error>) -> Ending {
    ending_of(result.map(|value| value.map_or("undefined".to_owned(), |value| value.to_string())))
}

fn ending_of(result: Result<String, Error>) -> Ending {
    result.map_err(|error| {
        let function = error.function().map(str::to_owned);
        // The wording of the policy's own errors differs by their reporter.
        let said = if function.is_some() { error.to_string() } else { String::new() };
        (error.kind().to_string(), function, said)
    })
}

fn of(evaluated: &Evaluated) -> Ending {
    let value = evaluated.result.as_ref().map(|output| output.value().cloned());
    ending(value.map_err(Clone::clone))
}

/// Without blocking: no thread waits for a call.
fn in_a_task(policies: &Policies, platform: &Platform, input: &str) -> Ending {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let query = policies.query("data.p.out").unwrap();
    let options = platform.options();
    let input = Value::from_json(input).unwrap();
    of(&runtime.block_on(policies.evaluate_async(query, Some(input), options)))
}

fn needed(evaluated: &Evaluated) -> BTreeSet<(String, String)> {
    evaluated.ledger.needed().map(|e| (e.function.clone(), e.arguments.clone())).collect()
}

struct Bench {
    server: Server,
    many: Platform,
    single: Platform,
}

/// Statistics of the cases, so that a generator that degenerates is noticed.
#[derive(Default, Debug)]
struct Tally {
    values: usize,
    errors: usize,
    kinds: std::collections::BTreeMap<String, usize>,
    refused: usize,
    prompted: usize,
    in_passes: usize,
    guessed_wrong: usize,
    on_regorus: usize,
}

fn case(bench: &Bench, world: u64, tally: &mut Tally) {
    let text = policy(world);
    let Ok(policies) = try_policies(&[("p.rego", &text)]) else {
        tally.refused += 1;
        return;
    };
    let query = policies.query("data.p.out").unwrap();
    let given = input(world);
    let value = Value::from_json(&given).unwrap();
    let run = |options: &EvaluateOptions| {
        let evaluated = policies.evaluate(&query, Some(&value), options);
        let prompts = bench.server.take_prompts(world);
        (of(&evaluated), evaluated, prompts)
    };
    let options = |platform: &Platform| platform.options();
    let mut one = options(&bench.many);
    one.budget.one_at_a_time = true;
    let (expected, exact, prompts) = run(&one);
    let (batched, evaluated, batched_prompts) = run(&options(&bench.many));
    let (single, _, single_prompts) = run(&options(&bench.single));
    let about = || format!("world {world}\n{text}\n{}", evaluated.ledger.table());
    assert_eq!(batched, expected, "batched; {}", about());
    assert_eq!(single, expected, "one in flight; {}", about());
    assert_eq!(batched_prompts, prompts, "prompts; {}", about());
    assert_eq!(single_prompts, prompts, "prompts; {}", about());
    assert_eq!(evaluated.prints, exact.prints, "prints; {}", about());
    assert_eq!(evaluated.failed_at, exact.failed_at, "{}", about());
    assert_eq!(needed(&evaluated), needed(&exact), "{}", about());
    assert!(exact.ledger.calls.iter().all(|call| call.needed), "{}", about());
    assert_eq!(in_a_task(&policies, &bench.many, &given), expected, "in a task; {}", about());
    bench.server.take_prompts(world);

    let mut replay = options(&bench.many);
    replay.answers = Answers::Replay(Replay::new(evaluated.recording().unwrap()).into());
    let requests = bench.server.requests();
    assert_eq!(run(&replay).0, expected, "replayed in passes; {}", about());
    replay.budget.one_at_a_time = true;
    assert_eq!(run(&replay).0, expected, "replayed; {}", about());
    assert_eq!(bench.server.requests(), requests, "a replay sends no requests");

    if world.is_multiple_of(3) {
        on_regorus(bench, world, &text, &given, tally);
    }

    if let Err((kind, ..)) = &expected {
        *tally.kinds.entry(kind.clone()).or_default() += 1;
    }
    *(if expected.is_ok() { &mut tally.values } else { &mut tally.errors }) += 1;
    tally.prompted += usize::from(!prompts.is_empty());
    tally.in_passes += usize::from(evaluated.ledger.passes > 1);
    tally.guessed_wrong += usize::from(evaluated.ledger.calls.iter().any(|call| !call.needed));
}

/// The same on regorus.
fn on_regorus(bench: &Bench, world: u64, text: &str, given: &str, tally: &mut Tally) {
    let options = |platform: &Platform| platform.options();
    let run = |options: &EvaluateOptions| {
        let ended = engines::on_regorus(&bench.many, text, "data.p.out", given, options);
        let end = ending_of(ended.value.clone());
        (end, ended, bench.server.take_prompts(world))
    };
    let mut one = options(&bench.many);
    one.budget.one_at_a_time = true;
    let (expected, exact, prompts) = run(&one);
    let (batched, evaluated, batched_prompts) = run(&options(&bench.many));
    let about = || format!("world {world} on regorus\n{text}\n{}", evaluated.ledger.table());
    assert_eq!(batched, expected, "batched; {}", about());
    assert_eq!(batched_prompts, prompts, "prompts; {}", about());
    assert_eq!(evaluated.prints, exact.prints, "prints; {}", about());
    assert!(exact.ledger.calls.iter().all(|call| call.needed), "{}", about());

    let (engine, functions) = engines::registered(&bench.many, text, given);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let out = |engine: &mut Engine| engine.eval_rule("data.p.out".to_owned());
    let in_a_task = functions.evaluate_async(engine, options(&bench.many), out);
    let in_a_task = runtime.block_on(in_a_task).result.map(|value| engines::shown(&value));
    assert_eq!(ending_of(in_a_task), expected, "in a task; {}", about());
    bench.server.take_prompts(world);

    let mut replay = options(&bench.many);
    let recording = evaluated.recording.clone().unwrap();
    replay.answers = Answers::Replay(Replay::new(recording).into());
    let requests = bench.server.requests();
    assert_eq!(run(&replay).0, expected, "replayed; {}", about());
    assert_eq!(bench.server.requests(), requests, "a replay sends no requests");
    tally.on_regorus += usize::from(evaluated.ledger.passes > 1 && expected.is_ok());
}

/// `PASSES_CASES=5000` runs more cases, as CI's second job does, `PASSES_FIRST=1234` starts at another seed.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn every_way_of_evaluating_gives_the_same() {
    let (first, cases) = (number("PASSES_FIRST", 0), number("PASSES_CASES", 250));
    let threads = 3;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let run = |thread| {
            let server = Server::start();
            let many = server.builder().build().unwrap();
            let single = server.builder().concurrency(1).build().unwrap();
            let bench = Bench { server, many, single };
            let mut tally = Tally::default();
            for world in (first..first + cases).filter(|world| world % threads == thread) {
                case(&bench, world, &mut tally);
            }
            tally
        };
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("{tallies:?}");
    let sum = |of: fn(&Tally) -> usize| tallies.iter().map(of).sum::<usize>();
    let cases = usize::try_from(cases).unwrap();
    assert!(sum(|t| t.refused) * 20 < cases, "{tallies:?}");
    let all: [fn(&Tally) -> usize; 6] = [
        |t| t.values,
        |t| t.errors,
        |t| t.prompted,
        |t| t.in_passes,
        |t| t.guessed_wrong,
        |t| t.on_regorus,
    ];
    for share in all {
        assert!(sum(share) * 40 > cases, "{tallies:?}");
    }
}
