//! A regorus engine with the functions: add policies, check, evaluate.
//!
//! `cargo run --example regorus`
use std::error::Error;

use rego_platform::{Platform, Token, Value};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};

const POLICY: &str = r#"package release
image := platform.discover(input.image, "CONTAINER_IMAGE")
sboms := [r.digest | some r in image.references; r.kind == "SBOM_CYCLONEDX_JSON"]

deny contains "no SBOM" if count(sboms) == 0
deny contains sprintf("an SBOM in %s", [sbom.bomFormat]) if {
	some digest in sboms
	sbom := json.unmarshal(platform.download_artifact(digest))
	sbom.bomFormat != "CycloneDX"
}
deny contains "no test report" if {
	filters := {"project_name": input.project, "project_version_name": input.version}
	every row in platform.evidence(filters).results { row.kind != "JUNIT_XML" }
}
deny contains sprintf("%s: %s", [row.name, row.status]) if {
	filters := {"project_version_id": input.project_version_id}
	some row in platform.project_compliance(filters).evaluations
	row.status != "pass"
}
deny contains message if {
	answer := platform.evidence_prompt(input.documents[0].digest, "What does this model lack?")
	some message in answer.violations
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    // A real host leaves the emulator out and calls `Platform::from_context()?`.
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let service = Emulator::start(dataset, EmulatorOptions::default())?;
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token())?)
        .build()?;

    let mut host = platform.regorus()?;
    host.add_policy("release.rego", POLICY)?;
    host.check()?; // a misspelled function is refused here, reached or not

    let input = std::fs::read_to_string("testdata/inputs/release/fail.json")?;
    let evaluated = host.evaluate("data.release.deny", Value::from_json(&input)?);
    println!("{}", evaluated.ledger.table());
    let output = evaluated.result?;
    for violation in output.value().and_then(Value::as_set).ok_or("the rule isn't a set")? {
        println!("{}", violation.to_json());
    }

    // Without an image, the call is never made: that is an error, and not a pass.
    let error = host.eval_rule("data.release.deny", Value::from_json("{}")?);
    println!("{:?}", error.err().ok_or("an empty input passed")?);
    Ok(())
}
