//! `new`: a small policy with its tests and an input, to start from.
//!
//! Owns the contents and locations of the files. Nothing that exists is ever overwritten: either
//! all three files are new, or none is written.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::options::Options;
use super::{Exit, output};
use crate::text::escape;
use crate::{Error, ErrorKind, Product};

const POLICY: &str = include_str!("policy.rego.txt");
const TEST: &str = include_str!("test.rego.txt");
const INPUT: &str = "{\n  \"image\": \
    \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"\n}\n";

/// Write a policy, its tests and an input to start from
#[derive(Debug, Args)]
#[command(
    after_help = "Writes NAME.rego, NAME_test.rego and input.json, and never overwrites.\n\n\
    Example:\n  rego-platform new release --dir policies/release"
)]
pub(super) struct NewArgs {
    /// The policy's name, which becomes its package
    name: String,
    /// The folder; created if it doesn't exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(super) fn run(args: &NewArgs, options: &Options) -> Result<Exit, Error> {
    let product = Product::new(&options.product)?;
    let name = checked(&args.name, &product)?;
    let fill = |text: &str| text.replace("NAME", name).replace("PRODUCT", product.as_str());
    let files = [
        (args.dir.join(format!("{name}.rego")), fill(POLICY)),
        (args.dir.join(format!("{name}_test.rego")), fill(TEST)),
        (args.dir.join("input.json"), INPUT.to_owned()),
    ];
    write(&args.dir, &files)?;
    let paths = files.map(|(path, _)| shown(&path));
    let text = format!("wrote {}\n{}", paths.join("\nwrote "), next(&paths, name, &product));
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// Returns the commands to run next.
fn next([policy, test, input]: &[String; 3], name: &str, product: &Product) -> String {
    let product = match product.as_str() {
        "platform" => String::new(),
        other => format!(" --product {other}"),
    };
    format!(
        "\nnext:\n  \
        rego-platform test{product} {policy} {test}\n  \
        rego-platform check{product} {policy} {test}\n  \
        rego-platform eval{product} -d {policy} -i {input} data.{name}.deny  \
        # with a digest that the service knows\n"
    )
}

/// Checks that a name needs no quotes as a package, and hides nothing of Rego's own.
fn checked<'a>(name: &'a str, product: &Product) -> Result<&'a str, Error> {
    let wrong = |why: &str, hint: &str| {
        let message = format!("`{}` {why}", escape(name));
        Err(Error::new(ErrorKind::Configuration, message).with_hint(hint))
    };
    // The same words and forms are refused for a product.
    if Product::new(name).is_err() {
        return wrong(
            "isn't a valid policy name",
            "use a lowercase letter, then lowercase letters, digits and `_`, and no word, \
            built-in or namespace of Rego's own",
        );
    }
    if name == product.as_str() {
        return wrong("is what the functions begin with", "choose another name for the policy");
    }
    if name.ends_with("_test") {
        return wrong(
            "is a name for tests",
            "leave out `_test`: the tests get a file of their own",
        );
    }
    Ok(name)
}

fn write(dir: &Path, files: &[(PathBuf, String)]) -> Result<(), Error> {
    let taken: Vec<_> = files
        .iter()
        .filter(|(path, _)| path.symlink_metadata().is_ok())
        .map(|(path, _)| format!("`{}`", escape(&path.display().to_string())))
        .collect();
    if !taken.is_empty() {
        let verb = if taken.len() == 1 { "exists" } else { "exist" };
        let message = format!("{} {verb}", taken.join(" and "));
        return Err(Error::new(ErrorKind::Configuration, message)
            .with_hint("choose another name, or another folder with `--dir`"));
    }
    std::fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for (count, (path, text)) in files.iter().enumerate() {
        // Created anew: a file that appeared in the meantime is kept.
        let made = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
        if let Err(error) = made {
            for (path, _) in files.iter().take(count) {
                let _ = std::fs::remove_file(path);
            }
            return Err(failed(path, error));
        }
    }
    Ok(())
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    let message = format!("`{}` can't be written", escape(&path.display().to_string()));
    Error::new(ErrorKind::Configuration, message).with_source(error)
}

/// Quotes a path for a shell.
fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path).display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    if path.chars().all(plain) && !path.starts_with('-') {
        path
    } else {
        format!("'{}'", escape(&path).replace('\'', "'\\''"))
    }
}
