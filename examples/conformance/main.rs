//! Runs OPA's compliance cases on bare regorus and through this crate's evaluation, and says how
//! many agree, are refused, and disagree.
//!
//! The cases are in the Go module `github.com/open-policy-agent/opa`, folder
//! `v1/test/cases/testdata`; they are read from wherever that was unpacked:
//!
//! ```text
//! cargo run --example conformance -- PATH/v1/test/cases/testdata
//! cargo run --example conformance -- PATH/v1/test/cases/testdata --list disagrees --subject layer
//! ```

mod bare;
mod cases;
mod judge;
mod layer;
mod worker;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};

use crate::cases::Case;
use crate::judge::{Answer, Verdict};
use crate::worker::Worker;

/// Run OPA's compliance cases on bare regorus and through this crate.
#[derive(Parser)]
struct Options {
    /// The folder of cases.
    #[arg(env = "CONFORMANCE_CASES")]
    folder: PathBuf,
    /// Evaluate on this alone.
    #[arg(long)]
    subject: Option<Subject>,
    /// List cases one by one, with reasons.
    #[arg(long, num_args = 0..=1, default_missing_value = "all")]
    list: Option<Listed>,
    /// Only cases whose name contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Seconds one case may take.
    #[arg(long, default_value_t = 10)]
    limit: u64,
    /// Evaluate the cases whose numbers come on standard input.
    #[arg(long, hide = true)]
    child: Option<Subject>,
}

/// What evaluates a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// Regorus as it comes.
    Bare,
    /// Through this crate.
    Layer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Listed {
    All,
    Agrees,
    Refuses,
    Disagrees,
}

impl Subject {
    const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Layer => "layer",
        }
    }

    fn evaluate(self, case: &Case) -> Answer {
        match self {
            Self::Bare => bare::evaluate(case),
            Self::Layer => layer::evaluate(case),
        }
    }
}

impl Listed {
    fn includes(self, verdict: Verdict) -> bool {
        match self {
            Self::All => true,
            Self::Agrees => verdict == Verdict::Agrees,
            Self::Refuses => verdict == Verdict::Refuses,
            Self::Disagrees => verdict == Verdict::Disagrees,
        }
    }
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let cases = cases::read(&options.folder)?;
    if let Some(subject) = options.child {
        return worker::serve(subject, &cases);
    }
    let subjects = match options.subject {
        Some(subject) => vec![subject],
        None => Subject::value_variants().to_vec(),
    };
    for subject in subjects {
        run(subject, &cases, &options)?;
    }
    Ok(())
}

fn run(subject: Subject, cases: &[Case], options: &Options) -> anyhow::Result<()> {
    let mut worker =
        Worker::new(subject, Path::new(&options.folder), Duration::from_secs(options.limit));
    let (mut agrees, mut refuses, mut disagrees) = (0_u32, 0_u32, 0_u32);
    for (number, case) in cases.iter().enumerate() {
        let name = case.name();
        if options.filter.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            continue;
        }
        let judgement = worker.judge(number).with_context(|| name.clone())?;
        match judgement.verdict {
            Verdict::Agrees => agrees += 1,
            Verdict::Refuses => refuses += 1,
            Verdict::Disagrees => disagrees += 1,
        }
        if options.list.is_some_and(|listed| listed.includes(judgement.verdict)) {
            let reason = judgement.reason.replace('\n', "\\n");
            println!("{} {:?} {name}: {reason}", subject.name(), judgement.verdict);
        }
    }
    println!("{}: {agrees} agree, {refuses} refused, {disagrees} disagree", subject.name());
    Ok(())
}
