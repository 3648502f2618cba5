//! Compares what isn't the language's alone: `regorus FILE…` compares regorus' answers to stored cases
//! with this crate's, and `store-bundles FILE FROM COUNT` stores what the command `opa` (the variable
//! `OPA`) answers about generated bundles.

use rego_platform::rego;

#[path = "../../tests/compare/mod.rs"]
mod compare;

use compare::{bundles, differences::Differences};

fn main() {
    // Deep programs need a large stack.
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(run);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(unknown))) => std::process::exit(i32::from(unknown > 0)),
        Ok(Ok(Err(error))) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
        _ => std::process::exit(3),
    }
}

/// Returns the number of differences that belong to no row.
fn run() -> std::io::Result<usize> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["regorus", files @ ..] => {
            let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
            let found = Differences::of_files(&files, 1)?;
            for unknown in found.unknown.iter().take(3) {
                println!("{unknown}\n");
            }
            println!("{}", found.table());
            Ok(found.unknown.len())
        }
        ["store-bundles", file, from, count] => {
            let number = |text: &str| text.parse::<u64>().map_err(std::io::Error::other);
            let (from, count) = (number(from)?, number(count)?);
            let opa = std::env::var("OPA").unwrap_or_else(|_| "opa".to_owned());
            let folder = std::env::temp_dir().join(format!("bundles-{}", std::process::id()));
            std::fs::create_dir_all(&folder)?;
            let stored = bundles::store(file, &opa, &folder, from..from + count);
            std::fs::remove_dir_all(&folder)?;
            println!("{} bundles stored", stored?);
            Ok(0)
        }
        _ => Err(std::io::Error::other("regorus FILE… | store-bundles FILE FROM COUNT")),
    }
}
