//! Any bytes as a policy, as far as it goes: loaded, and `data` evaluated within bounds. There is a
//! result or an error with a reason; a panic, which evaluation reports as an internal error, is
//! neither. A refused policy has at least one finding with a message.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::sources::{ModuleSource, Sources};
use rego_platform::{ErrorKind, Value};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let mut sources = Sources::default();
    sources.modules.push(ModuleSource { path: "fuzz.rego".to_owned(), text: text.to_owned() });
    let mut options = LoadOptions::default();
    options.rego_v0 = first & 1 == 1;
    let policies = match Policies::load(&sources, options) {
        Ok(policies) => policies,
        Err(error) => {
            let found = error.diagnostics();
            assert!(!found.is_empty() && found.iter().all(|f| !f.message.is_empty()), "{error}");
            return;
        }
    };
    let input = Value::from_json(
        r#"{"image": "sha256:8f", "n": 7, "xs": [1, "a", null, {"b": [2.5]}], "s": "text"}"#,
    );
    let mut options = EvaluateOptions::new(Answers::Unavailable("fuzz".to_owned()));
    options.budget.timeout = Duration::from_secs(2);
    options.budget.memory = 64 << 20;
    options.strict_builtin_errors = first & 2 == 2;
    let evaluated = policies.evaluate(&policies.query_path(&[]), input.ok().as_ref(), &options);
    if let Err(error) = evaluated.result {
        assert_ne!(error.kind(), ErrorKind::Internal, "{}", error.report());
    }
});
