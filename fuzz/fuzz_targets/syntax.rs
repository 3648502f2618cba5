//! Any bytes as a policy: parsed in every dialect, and formatted. What parses can be formatted, and
//! what was formatted stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use rego_platform::rego::{self, FormatOptions};

fuzz_target!(|bytes: &[u8]| {
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
});
