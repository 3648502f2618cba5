//! The values of files: lines of `FORMAT<TAB>PATH` in, lines of JSON out. `.ci/formats` compares them with conftest's.

use std::io::BufRead as _;

use rego::Value;
use rego_platform_formats::Format;

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((format, path)) = line.split_once('\t') else { continue };
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let value = text.and_then(|text| {
            let format = Format::named(format).ok_or("unknown format")?;
            format
                .read(&text)
                .map_err(|own| format!("{}:{}: {}", own.line, own.column, own.message))
        });
        let shown = Value::from(path).to_json();
        match value {
            Ok(value) => println!("{{\"path\":{shown},\"value\":{}}}", value.to_json()),
            Err(error) => {
                println!("{{\"path\":{shown},\"error\":{}}}", Value::from(error).to_json());
            }
        }
    }
}
