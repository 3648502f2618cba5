//! A gate in a program of the host's own.

use rego_platform::evaluate::{Answers, EvaluateOptions};
use rego_platform_gate::model::{AnsweredBy, Tool};
use rego_platform_gate::{Gate, GateOptions, RunOptions};

#[test]
fn a_gate_without_its_inputs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.rego");
    std::fs::write(&file, "package p\n\ndeny contains \"x\" if input.bad\n").unwrap();
    let gate = Gate::load(&[file.display().to_string()], &GateOptions::default()).unwrap();
    let tool = Tool::new("host", "1");
    let mut how = RunOptions::new(
        EvaluateOptions::new(Answers::Unavailable(String::new())),
        AnsweredBy::None,
        tool,
    );
    let error = gate.run(Vec::new(), &how, &mut ()).unwrap_err();
    assert!(error.to_string().contains("no input was given"), "{error}");
    how.without_input = true;
    assert!(gate.run(Vec::new(), &how, &mut ()).is_ok());
}
