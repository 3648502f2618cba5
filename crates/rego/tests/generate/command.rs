//! The command: asks OPA and this crate about many cases and reports differences.
//!
//! `random FROM COUNT`, `small [EVERY]`, `calls FROM COUNT`, `compliance DIRECTORY [PART OF A
//! NAME]`, `stages FROM COUNT`, `small-stages [EVERY]`, `store FILE FROM COUNT EVERY`, `store-calls
//! FILE FROM COUNT`, `yaml FROM COUNT [DIRECTORY OF YAML FILES]`, `store-yaml FILE FROM COUNT`,
//! `vectors FILE…`, `remember FILE [SEED…]`, `check FILE`, `show SEED`; options `--oracle PATH`,
//! `--dialect v0|v1|v2|all`, `--biased` (each program prefers some productions), `--only-opa`,
//! `--productions`, `--all` (also wording and positions of errors), `--shrink N` (the number of
//! each kind), `--found FILE`.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use super::case::{Case, CaseOutcome};
use super::compare::{Compared, Verdict, compare};
use super::grammar::{self, Dialect};
use super::oracle::Oracle;
use super::report::{Report, message_pattern};
use super::{calls, compliance, shrink, small, stages, stored, subject, vectors, yaml};

struct Settings {
    words: Vec<String>,
    oracle: String,
    dialect: String,
    only_opa: bool,
    productions: bool,
    biased: bool,
    all: bool,
    shrink: usize,
    found: Option<String>,
    journal: Option<String>,
}

/// Runs the command with the process's arguments.
pub fn main() {
    // Deep programs need a large stack.
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    let result = worker.map(std::thread::JoinHandle::join);
    match result {
        Ok(Ok(Ok(wrong))) => std::process::exit(i32::from(wrong > 0)),
        Ok(Ok(Err(error))) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
        _ => std::process::exit(3),
    }
}

fn settings() -> Settings {
    let mut settings = Settings {
        words: Vec::new(),
        oracle: std::env::var("ORACLE")
            .unwrap_or_else(|_| "crates/rego/tests/oracle/oracle".to_owned()),
        dialect: "all".to_owned(),
        only_opa: false,
        productions: false,
        biased: false,
        all: false,
        shrink: 3,
        found: None,
        journal: std::env::var("JOURNAL").ok(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--oracle" => settings.oracle = value(),
            "--dialect" => settings.dialect = value(),
            "--only-opa" => settings.only_opa = true,
            "--productions" => settings.productions = true,
            "--biased" => settings.biased = true,
            "--all" => settings.all = true,
            "--shrink" => settings.shrink = value().parse().unwrap_or(3),
            "--found" => settings.found = Some(value()),
            _ => settings.words.push(arg),
        }
    }
    settings
}

/// Returns the random program of a seed.
fn program(name: &str, biased: bool, seed: u64) -> Case {
    let dialect = match name {
        "v0" => Dialect::V0,
        "v1" => Dialect::V1,
        "v2" => Dialect::V2,
        _ => match seed % 10 {
            0 | 1 => Dialect::V0,
            2 | 3 => Dialect::V2,
            _ => Dialect::V1,
        },
    };
    grammar::program(seed, dialect, biased)
}

/// Returns the random programs of some seeds.
fn programs(settings: &Settings, seeds: Range<u64>) -> impl Iterator<Item = Case> + Send + use<> {
    let (name, biased) = (settings.dialect.clone(), settings.biased);
    seeds.map(move |seed| program(&name, biased, seed))
}

fn run() -> std::io::Result<usize> {
    std::panic::set_hook(Box::new(|_| {}));
    let settings = settings();
    let number = |at: usize, default: u64| {
        settings.words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default)
    };
    match settings.words.first().map(String::as_str) {
        Some("random") => {
            let (from, count) = (number(1, 0), number(2, 1000));
            let cases = programs(&settings, from..from + count);
            many(&settings, cases)
        }
        Some("small") => many(&settings, small::cases(number(1, 1))),
        Some("calls") => {
            let (from, count) = (number(1, 0), number(2, calls::round()));
            many(&settings, (from..from + count).map(calls::case))
        }
        Some("yaml") => {
            let (from, count) = (number(1, 0), number(2, 1000));
            let bases = documents(settings.words.get(3))?;
            many(&settings, (from..from + count).map(move |seed| yaml::case(seed, &bases)))
        }
        Some("vectors") => {
            let cases = settings.words.iter().skip(1).map(|path| vectors::cases(path));
            let cases = cases.collect::<std::io::Result<Vec<_>>>()?;
            many(&settings, cases.into_iter().flatten())
        }
        Some("compliance") => {
            let directory = settings.words.get(1).cloned().unwrap_or_default();
            compliance::run(
                &settings.oracle,
                &directory,
                &settings.words.get(2).cloned().unwrap_or_default(),
                settings.shrink,
                settings.only_opa,
            )
        }
        Some("stages") => {
            let (from, count) = (number(1, 0), number(2, 1000));
            stages_of(&settings, programs(&settings, from..from + count))
        }
        Some("small-stages") => stages_of(&settings, small::cases(number(1, 1))),
        Some("store") => {
            let path = settings.words.get(1).cloned().unwrap_or_default();
            let cases = stored::programs(number(2, 0), number(3, 1000), number(4, 101));
            let stored = stored::store(&path, &mut Oracle::start(&settings.oracle)?, cases)?;
            println!("{stored} programs stored");
            Ok(0)
        }
        Some("remember") => {
            let path = settings.words.get(1).cloned().unwrap_or_default();
            let seeds = settings.words.iter().skip(2).filter_map(|word| word.parse().ok());
            let cases: Vec<Case> = seeds
                .map(|seed| program(&settings.dialect, settings.biased, seed))
                .map(|case| Case { productions: Vec::new(), ..case })
                .collect();
            let mut oracle = Oracle::start(&settings.oracle)?;
            println!("{} programs stored", stored::remember(&path, &mut oracle, &cases)?);
            Ok(0)
        }
        Some("store-calls") => {
            let path = settings.words.get(1).cloned().unwrap_or_default();
            let (from, count) = (number(2, 0), number(3, calls::round()));
            let cases = (from..from + count).map(calls::case);
            let stored = stored::store(&path, &mut Oracle::start(&settings.oracle)?, cases)?;
            println!("calls of {stored} seeds stored");
            Ok(0)
        }
        Some("store-yaml") => {
            let path = settings.words.get(1).cloned().unwrap_or_default();
            let (from, count) = (number(2, 0), number(3, 1000));
            let cases = (from..from + count).map(|seed| yaml::case(seed, &[]));
            let stored = stored::store(&path, &mut Oracle::start(&settings.oracle)?, cases)?;
            println!("YAML of {stored} seeds stored");
            Ok(0)
        }
        Some("check") => {
            let (report, wrong) =
                stored::check(&settings.words.get(1).cloned().unwrap_or_default())?;
            for (case, one) in wrong.iter().take(settings.shrink) {
                println!("{}{}", case.show(), difference(case, one));
            }
            println!("{}", report.show(false));
            Ok(report.wrong())
        }
        Some("show") => {
            let seed = number(1, 0);
            let case = program(&settings.dialect, settings.biased, seed);
            println!("{}", case.show());
            let opa = Oracle::start(&settings.oracle)?.ask(&case)?;
            println!("{}", outcome(&case, &opa));
            if !settings.only_opa {
                for one in compare(&case, &opa, &subject::ask(&case)) {
                    if one.verdict != Verdict::Agree {
                        println!("{}", difference(&case, &one));
                    }
                }
            }
            Ok(0)
        }
        _ => Err(std::io::Error::other(
            "random FROM COUNT | small EVERY | calls FROM COUNT | yaml FROM COUNT [DIRECTORY] | compliance DIRECTORY | stages FROM COUNT | small-stages EVERY | store FILE FROM COUNT EVERY | store-calls FILE FROM COUNT | vectors FILE… | remember FILE [SEED…] | check FILE | show SEED",
        )),
    }
}

/// Returns the short YAML files in a directory, and in those below it.
fn documents(directory: Option<&String>) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open: Vec<std::path::PathBuf> = directory.map(Into::into).into_iter().collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let mut inside: Vec<_> =
                std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            open.extend(inside);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            found.extend(std::fs::read_to_string(path).ok().filter(|text| text.len() < 4_000));
        }
    }
    Ok(found)
}

/// Compares the stages of cases.
fn stages_of(settings: &Settings, cases: impl Iterator<Item = Case>) -> std::io::Result<usize> {
    let mut judge = Oracle::start(&settings.oracle)?;
    let functions = stages::functions();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let ask = |judge: &mut Oracle, case: &Case| {
        let answer = judge.line(&stages::question(case)).ok()?;
        let compared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            stages::compare(case, &answer, &functions)
        }));
        compared.unwrap_or_else(|_| Some(("panic".to_owned(), String::new())))
    };
    for case in cases {
        let found = ask(&mut judge, &case);
        let kind = found.as_ref().map_or("same", |(kind, _)| kind).to_owned();
        let count = counts.entry(kind.clone()).or_default();
        *count += 1;
        if kind != "same" && *count <= settings.shrink {
            let small = shrink::shrink(&case, 3000, &mut |next| {
                ask(&mut judge, next).is_some_and(|(other, _)| other == kind)
            });
            let (kind, text) = ask(&mut judge, &small).unwrap_or_default();
            let files: String = small
                .files
                .iter()
                .map(|(path, text)| format!("# {path} ({})\n{text}\n", small.version))
                .collect();
            println!("=== {kind}\n{files}{text}\n");
        }
    }
    for (kind, count) in &counts {
        println!("{count:7} {kind}");
    }
    Ok(counts.iter().filter(|(kind, _)| *kind != "same").map(|(_, count)| *count).sum())
}

fn outcome(case: &Case, outcome: &CaseOutcome) -> String {
    match outcome {
        CaseOutcome::Refused(faults) => faults.iter().map(|fault| fault.show() + "\n").collect(),
        CaseOutcome::Broken(why) => why.clone(),
        CaseOutcome::Answers(answers) => {
            let mut out = format!("{} queries\n", case.queries.len());
            for answer in answers {
                let _ = match answer {
                    Ok(answer) => writeln!(out, "{}", answer.show()),
                    Err(faults) => writeln!(out, "{faults:?}"),
                };
            }
            out
        }
    }
}

fn difference(case: &Case, one: &Compared) -> String {
    let query = case.queries.get(one.query).cloned().unwrap_or_default();
    let input = case.inputs.get(one.input).cloned().unwrap_or_default();
    format!(
        "## {:?}: {query} with {input}\n  OPA:  {}\n  ours: {}\n",
        one.verdict, one.opa, one.ours
    )
}

/// Returns the case with only the query and input of a difference.
fn narrowed(case: &Case, one: &Compared) -> Case {
    let mut narrow = case.clone();
    narrow.queries = case.queries.get(one.query).cloned().into_iter().collect();
    narrow.inputs = case.inputs.get(one.input).cloned().into_iter().collect();
    narrow
}

/// Asks about many cases: OPA and this crate, at the same time.
fn many(
    settings: &Settings,
    cases: impl Iterator<Item = Case> + Send + 'static,
) -> std::io::Result<usize> {
    let mut oracle = Oracle::start(&settings.oracle)?;
    let mut judge = Oracle::start(&settings.oracle)?;
    let mut questions = oracle.questions().ok_or_else(|| std::io::Error::other("no questions"))?;
    let (send, receive) = std::sync::mpsc::sync_channel::<Case>(512);
    let asking = std::thread::spawn(move || -> std::io::Result<()> {
        for (index, case) in cases.enumerate() {
            questions.ask(&case)?;
            if index % 16 == 15 {
                questions.flush()?;
            }
            if send.try_send(case.clone()).is_err() {
                questions.flush()?;
                if send.send(case).is_err() {
                    break;
                }
            }
        }
        questions.flush()
    });
    let mut report = Report::default();
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = String::new();
    let started = std::time::Instant::now();
    while let Ok(case) = receive.recv() {
        let opa = oracle.next()?;
        if settings.only_opa {
            if let CaseOutcome::Broken(why) = &opa {
                println!("{}\nBROKEN {why}", case.show());
            }
            report.add(&case, &opa, &[], &CaseOutcome::Answers(Vec::new()));
            continue;
        }
        if let Some(path) = &settings.journal {
            std::fs::write(path, case.show())?;
        }
        let ours = subject::ask(&case);
        let mut compared = compare(&case, &opa, &ours);
        let mut opa = opa;
        // On a busy machine OPA may run out of time, which strict errors hide.
        if compared.iter().any(|one| one.verdict.is_wrong()) {
            opa = judge.ask(&case)?;
            compared = compare(&case, &opa, &subject::ask(&case));
        }
        report.add(&case, &opa, &compared, &ours);
        if report.programs % 20_000 == 0 {
            eprintln!(
                "{} programs, {} answers, {} wrong, {:?}",
                report.programs,
                report.answers,
                report.wrong(),
                started.elapsed()
            );
        }
        let mut done: HashSet<Verdict> = HashSet::new();
        for one in &compared {
            let allowed = one.verdict <= Verdict::OtherPosition
                && one.verdict != Verdict::OtherReason
                && !(settings.all && one.verdict != Verdict::Agree);
            if allowed || one.verdict == Verdict::Unknown {
                continue;
            }
            if !done.insert(one.verdict) {
                continue;
            }
            // A few differences of each kind are shrunk.
            let kind = cause(&mut judge, &case, one) + &kind(one);
            let count = shown.entry(kind.clone()).or_default();
            *count += 1;
            let name = kind
                .split(' ')
                .take(if kind.starts_with('[') { 3 } else { 1 })
                .collect::<Vec<_>>()
                .join(" ");
            *causes.entry(name).or_default() += 1;
            let limit = if kind.starts_with('[') { 1 } else { settings.shrink };
            if *count > limit {
                continue;
            }
            let text = shrunk(&mut judge, &case, one);
            if seen.insert(text.clone()) {
                println!("{text}");
                found.push_str(&text);
                found.push('\n');
            }
        }
    }
    asking.join().map_err(|_| std::io::Error::other("the asking side failed"))??;
    println!("{}", report.show(settings.productions));
    for (cause, count) in &causes {
        println!("{count:6} programs: {cause}");
    }
    println!("{:?}", started.elapsed());
    if let Some(path) = &settings.found {
        std::fs::write(path, found)?;
    }
    Ok(report.wrong())
}

fn kind(one: &Compared) -> String {
    let what = match one.verdict {
        Verdict::Refused | Verdict::FalselyRefused => message_pattern(&one.ours),
        Verdict::FalselyAccepted => message_pattern(&one.opa),
        Verdict::OtherReason => message_pattern(&one.opa) + &message_pattern(&one.ours),
        Verdict::Panic => one.ours.clone(),
        Verdict::Error => {
            message_pattern(&one.opa).chars().take(60).collect::<String>()
                + &message_pattern(&one.ours).chars().take(60).collect::<String>()
        }
        _ => String::new(),
    };
    format!("{:?} {}", one.verdict, what.split("; ").next().unwrap_or_default())
}

/// Returns the part of OPA that a difference comes from: its index or its early exit.
fn cause(judge: &mut Oracle, case: &Case, one: &Compared) -> String {
    let mut narrow = narrowed(case, one);
    let ours = subject::ask(&narrow);
    for without in ["index", "early exit"] {
        narrow.without = Some(without);
        let Ok(opa) = judge.ask(&narrow) else { continue };
        if compare(&narrow, &opa, &ours).iter().all(|one| !one.verdict.is_wrong()) {
            return format!("[{without}] ");
        }
    }
    String::new()
}

/// Returns a shrunk difference.
fn shrunk(judge: &mut Oracle, case: &Case, one: &Compared) -> String {
    let wanted = one.verdict;
    let about = kind(one);
    let start = narrowed(case, one);
    let why = cause(judge, &start, one);
    let same = |judge: &mut Oracle, case: &Case| -> Option<Compared> {
        let opa = judge.ask(case).ok()?;
        let found = compare(case, &opa, &subject::ask(case)).into_iter().find(|other| {
            other.verdict == wanted && (wanted == Verdict::Value || kind(other) == about)
        })?;
        (cause(judge, case, &found) == why).then_some(found)
    };
    if same(judge, &start).is_none() {
        return format!("# doesn't show alone\n{}{}", case.show(), difference(case, one));
    }
    let small = shrink::shrink(&start, 1200, &mut |next| same(judge, next).is_some());
    match same(judge, &small) {
        Some(one) => format!("{}{}", small.show(), difference(&small, &one)),
        None => format!("{}{}", start.show(), difference(&start, one)),
    }
}
