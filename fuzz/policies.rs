//! Policies and documents: any bytes as a text of Rego or JSON, as far as it goes.
//!
//! Shared by the fuzz targets of these names and by the smoke run of the library's tests.

use std::time::Duration;

use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::load::LoadOptions;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use rego_platform::rego::{self, FormatOptions};
use rego_platform::sources::Sources;
use rego_platform::{ErrorKind, Value};

/// The targets by their names.
pub const TARGETS: &[(&str, fn(&[u8]))] =
    &[("syntax", syntax), ("pipeline", pipeline), ("documents", documents)];

/// Parses a policy in every dialect, and formats it. What parses can be formatted, and what was formatted
/// stays as it is.
fn syntax(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for version in [BaseVersion::V0, BaseVersion::V1] {
        let parsed = parse_module(FileId(0), text, &ParseOptions::version(version));
        let options = FormatOptions::between(version, version);
        let Ok(formatted) = rego::format("fuzz.rego", text, options) else { continue };
        assert!(parsed.is_ok(), "formatted what doesn't parse");
        let format = |text: &str| match rego::format("fuzz.rego", text, options) {
            Ok(formatted) => Some(formatted),
            // OPA reads `import future.keywords.x.not` and adds a second import of `not`.
            Err(error) if error.to_string().contains("import must not shadow") => None,
            Err(error) => panic!("formatted text can't be formatted: {error}"),
        };
        // OPA needs a second time where an import appears or disappears, and moves one of the
        // comments behind a `not` each time.
        let times = 2 + formatted.matches('#').count();
        let mut last = formatted;
        let mut stable = false;
        for _ in 0..times {
            let Some(again) = format(&last) else { return };
            stable = again == last;
            if stable {
                break;
            }
            last = again;
        }
        assert!(stable, "formatting {times} times differs");
    }
}

/// Loads a policy, after a byte of options, and evaluates `data` within bounds. There is a result or an error
/// with a reason; a panic, which evaluation reports as an internal error, is neither. A refused policy has at
/// least one finding with a message.
fn pipeline(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let mut options = LoadOptions::default();
    options.rego_v0 = first & 1 == 1;
    let policies = match Policies::load(&Sources::text("fuzz.rego", text), options) {
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
}

/// Reads a document of JSON: what is read is written and read again as the same value, whatever its numbers
/// and keys.
fn documents(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(value) = Value::from_json(text) {
        let written = value.to_json();
        let again = Value::from_json(&written).expect("what was written is JSON");
        assert_eq!(value, again);
        assert_eq!(written, again.to_json());
    }
}
