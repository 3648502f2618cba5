//! A host with a function of its own, a fixed clock, prints, and a limit on time.

use std::error::Error;
use std::time::{Duration, Instant};

use rego_platform_rego::{
    Halt, Host, HostAnswer, HostCall, HostFunction, Options, Program, Run, SourceText, Span, Value,
};

const POLICY: &str = r#"package release

deny contains msg if {
    some image in input.images
    owner := acme.owner(image)
    print("owner of", image, "is", owner)
    owner == "nobody"
    msg := sprintf("%s has no owner", [image])
}
"#;

struct Registry {
    until: Instant,
}

impl Host for Registry {
    fn call(&self, call: &HostCall<'_>) -> HostAnswer {
        match (call.name, call.args) {
            ("acme.owner", [image]) => match image.as_str() {
                Some("web") => HostAnswer::Value(Value::from("team-web")),
                Some(_) => HostAnswer::Value(Value::from("nobody")),
                // As a built-in function of Rego answers an operand of another type.
                None => HostAnswer::Undefined,
            },
            _ => HostAnswer::fail(format!("`{}` isn't implemented", call.name)),
        }
    }

    fn print(&self, _: Span, text: &str) {
        eprintln!("{text}");
    }

    fn check(&self) -> Result<(), Halt> {
        if Instant::now() < self.until { Ok(()) } else { Err(Halt::new("out of time")) }
    }

    fn now_ns(&self) -> i64 {
        1_700_000_000_000_000_000
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options::default();
    options.host_functions = vec![HostFunction::new("acme.owner", "string -> string")];
    let program = Program::compile(vec![SourceText::new("release.rego", POLICY)], &options)?;
    let query = program.query("data.release.deny")?;

    let host = Registry { until: Instant::now() + Duration::from_secs(5) };
    let input = Value::from_json(r#"{"images": ["web", "batch"]}"#)?;
    let outcome = program.evaluate(&query, &Run::new(&host).input(&input));
    let denied: Vec<String> = outcome.value().ok_or("no answer")?.deserialize()?;
    println!("{}", denied.join("\n"));
    Ok(())
}
