//! A gate in a program of the host's own.

use std::io::{BufReader, Read};
use std::sync::mpsc::{Receiver, Sender, channel};

use rego_platform::evaluate::{Answers, EvaluateOptions};
use rego_platform_gate::model::{AnsweredBy, Input, Outcome, Tool};
use rego_platform_gate::{Gate, GateOptions, InputSource, RunObserver, RunOptions};

fn gate(policy: &str) -> Gate {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.rego");
    std::fs::write(&file, policy).unwrap();
    Gate::load(&[file.display().to_string()], &GateOptions::default()).unwrap()
}

fn options() -> RunOptions {
    let evaluate = EvaluateOptions::new(Answers::Unavailable(String::new()));
    RunOptions::new(evaluate, AnsweredBy::None, Tool::new("host", "1"))
}

#[test]
fn a_gate_without_its_inputs_is_refused() {
    let gate = gate("package p\n\ndeny contains \"x\" if input.bad\n");
    let mut how = options();
    let error = gate.run(Vec::new(), &how, &mut ()).unwrap_err();
    assert!(error.to_string().contains("no input for policies that use `input"), "{error}");
    how.without_input = true;
    assert!(gate.run(Vec::new(), &how, &mut ()).is_ok());
}

/// A stream whose last part comes once `ended` says that its first input has a verdict.
struct Waiting {
    parts: Vec<&'static [u8]>,
    ended: Receiver<()>,
}

impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Some(part) = self.parts.pop() else { return Ok(0) };
        if self.parts.is_empty() {
            self.ended.recv().map_err(std::io::Error::other)?;
        }
        into.get_mut(..part.len()).unwrap().copy_from_slice(part);
        Ok(part.len())
    }
}

struct Ended(Sender<()>);

impl RunObserver for Ended {
    fn ended(&mut self, _: &Input) {
        let _ = self.0.send(());
    }
}

#[test]
fn what_is_read_is_evaluated_while_a_stream_waits() {
    let gate = gate("package p\n\ndeny contains \"x\" if input.bad\n");
    let (sender, ended) = channel();
    let parts = vec![&b" \"bad\": true}"[..], &b"{\"bad\": false}\n{"[..]];
    let stream = Box::new(BufReader::new(Waiting { parts, ended }));
    let places = vec![InputSource::Stream("-".to_owned(), stream)];
    let (run, _) = gate.run(places, &options(), &mut Ended(sender)).unwrap();
    let outcomes: Vec<_> = run.inputs.iter().map(|input| input.outcome).collect();
    assert_eq!(outcomes, [Outcome::Passed, Outcome::Failed]);
}

#[test]
fn many_small_inputs_have_their_verdicts_in_order() {
    let gate = gate(
        "package p\n\ndeny contains \"third\" if input.n % 3 == 0\n\nwarn contains \"x\" if input.n < 0\n",
    );
    let document = |n: usize| {
        let text = if n % 100 == 99 { "{".to_owned() } else { format!("{{\"n\": {n}}}") };
        InputSource::Document(n.to_string(), text.into())
    };
    let (run, _) = gate.run((0..5_000).map(document).collect(), &options(), &mut ()).unwrap();
    for (n, input) in run.inputs.iter().enumerate() {
        assert_eq!(input.name, n.to_string());
        let expected = match n {
            _ if n % 100 == 99 => Outcome::NoVerdict,
            _ if n % 3 == 0 => Outcome::Failed,
            _ => Outcome::Passed,
        };
        assert_eq!(input.outcome, expected, "{n}");
    }
    assert_eq!(run.inputs.len(), 5_000);
    let mut how = options();
    how.fail_fast = true;
    let (run, _) = gate.run((1..5_000).map(document).collect(), &how, &mut ()).unwrap();
    let names: Vec<_> = run.inputs.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["1", "2", "3"]);
    assert_eq!(run.totals.not_evaluated, 4_996);
}
