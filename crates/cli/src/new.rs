//! `new`: files to start from: a small policy with its tests and an input, or the examples.
//!
//! Owns the contents and locations of the files. Nothing that exists is ever overwritten: either
//! all files are new, or none is written.

mod examples;

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use rego_platform::{Error, Product};
use rego_platform_client::text::escape;

use super::options::Options;
use super::{Exit, output};

const POLICY: &str = include_str!("new/policy.rego.txt");
const TEST: &str = include_str!("new/test.rego.txt");
/// An image that the sample service knows.
const INPUT: &str = "{\n  \"image\": \
    \"sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477\"\n}\n";

const DOCUMENT: &str = include_str!("new/document.yaml.txt");
const DOCUMENT_TEST: &str = include_str!("new/document_test.rego.txt");
/// An input of the document that passes, and one that fails.
const PASSING: &str = "{\n  \"approved_by\": [\"ana\", \"ben\"]\n}\n";
const FAILING: &str = "{\n  \"approved_by\": [\"ana\"]\n}\n";

/// The engines that a policy can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// A policy document
    Chainloop,
}

/// Create a starter policy with tests, or example policies with a sample service
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("contents").args(["name", "examples"]).required(true).multiple(true)),
    after_help = "Writes NAME.rego, NAME_test.rego and input.json, or with `--examples` the folders \
    `policies`, `release_gate`, `inputs` and `service`, or with `--for chainloop` NAME.yaml, NAME_test.rego \
    and two inputs. Never overwrites files.\n\n\
    Examples:\n  \
    rego-platform new --examples\n  \
    rego-platform new release --dir policies/release\n  \
    rego-platform new approvals --for chainloop"
)]
pub(super) struct NewArgs {
    /// The policy's name, which becomes its package
    name: Option<String>,
    /// Write example policies, inputs for them and the data of a sample service instead
    #[arg(long)]
    examples: bool,
    /// Write a policy document, a test of it and inputs, for the engine of this product
    #[arg(long = "for", value_name = "PRODUCT", value_enum, conflicts_with = "examples")]
    engine: Option<Engine>,
    /// The folder; created if it doesn't exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

pub(super) fn run(args: &NewArgs, options: &Options) -> Result<Exit, Error> {
    let product = options.product()?;
    if args.examples
        && let Some(name) = &args.name
    {
        let message = "the examples have their own names, so `--examples` takes none";
        let hint = format!("`--dir {}` writes them into that folder", shown(Path::new(name)));
        return Err(Error::configuration(message).with_hint(hint));
    }
    if args.dir.exists() && !args.dir.is_dir() {
        let message = format!("`{}` isn't a folder", escape(&args.dir.display().to_string()));
        return Err(Error::configuration(message));
    }
    let text = match &args.name {
        Some(name) if args.engine.is_some() => document(checked(name, &product)?, &args.dir)?,
        Some(name) => policy(checked(name, &product)?, &args.dir, &product)?,
        None => examples(&args.dir, &product)?,
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// Writes a policy with its tests and an input. Returns what to print.
fn policy(name: &str, dir: &Path, product: &Product) -> Result<String, Error> {
    let fill = |text: &str| text.replace("NAME", name).replace("PRODUCT", product.as_str());
    let paths = [format!("{name}.rego"), format!("{name}_test.rego"), "input.json".to_owned()]
        .map(|file| dir.join(file));
    refuse_existing(&paths)?;
    let contents = [fill(POLICY), fill(TEST), INPUT.to_owned()];
    let files: Vec<_> =
        paths.iter().cloned().zip(contents.map(|text| text.into_bytes().into())).collect();
    write(&files)?;
    let paths = paths.map(|path| shown(&path));
    let [policy, test, input] = &paths;
    let product = option(product);
    Ok(format!(
        "wrote {}\n\nnext:\n  \
        rego-platform test{product} {policy} {test}\n  \
        rego-platform check{product} {policy} {test}\n  \
        rego-platform new{product} --examples --dir examples  # with a sample service\n  \
        rego-platform gate{product} --local examples/service -d {policy} -i {input}\n",
        paths.join("\nwrote "),
    ))
}

/// Writes a policy document with a test and inputs. Returns what to print.
fn document(name: &str, dir: &Path) -> Result<String, Error> {
    // The names of documents have hyphens, those of packages have none.
    let fill = |text: &str| text.replace("PACKAGE", name).replace("NAME", &name.replace('_', "-"));
    let files = [
        (format!("{name}.yaml"), fill(DOCUMENT)),
        (format!("{name}_test.rego"), fill(DOCUMENT_TEST)),
        ("inputs/pass/evidence.json".to_owned(), PASSING.to_owned()),
        ("inputs/fail/evidence.json".to_owned(), FAILING.to_owned()),
    ];
    let files = files.map(|(file, text)| (dir.join(file), text.into_bytes().into()));
    let paths = files.clone().map(|(path, _)| path);
    refuse_existing(&paths)?;
    write(&files)?;
    let paths = paths.map(|path| shown(&path));
    let [document, test, pass, fail] = &paths;
    Ok(format!(
        "wrote {}\n\nnext:\n  \
        rego-platform test {document} {test}\n  \
        rego-platform check {document} {test}\n  \
        rego-platform gate --product chainloop -d {document} --kind EVIDENCE -i {pass}\n  \
        rego-platform gate --product chainloop -d {document} --kind EVIDENCE -i {fail}  # fails\n",
        paths.join("\nwrote "),
    ))
}

/// Writes the examples. Returns what to print.
fn examples(dir: &Path, product: &Product) -> Result<String, Error> {
    let folders = examples::FOLDERS.map(|(folder, purpose)| (dir.join(folder), purpose));
    refuse_existing(&folders.clone().map(|(folder, _)| folder))?;
    let files = examples::files(dir, product);
    write(&files)?;
    let mut text = String::new();
    for (folder, purpose) in &folders {
        let count = files.iter().filter(|(path, _)| path.starts_with(folder)).count();
        text += &format!("wrote {} ({count} files): {purpose}\n", shown(folder));
    }
    let at = |path: &str| shown(&dir.join(path));
    let (policies, inputs) = (at("policies"), at("inputs/release/pass.json"));
    let (service, product) = (at("service"), option(product));
    Ok(format!(
        "{text}\nnext:\n  \
        rego-platform test{product} {policies}\n  \
        rego-platform gate{product} --local {service} -d {policies} -i {inputs}\n"
    ))
}

/// Returns the option for a product, with a space before it; nothing for the default.
fn option(product: &Product) -> String {
    match product.as_str() {
        "platform" => String::new(),
        other => format!(" --product {other}"),
    }
}

/// Checks that a name needs no quotes as a package, and hides nothing of Rego's own.
fn checked<'a>(name: &'a str, product: &Product) -> Result<&'a str, Error> {
    let wrong = |why: &str, hint: &str| {
        let message = format!("`{}` {why}", escape(name));
        Err(Error::configuration(message).with_hint(hint))
    };
    // The same words and forms are refused for a product.
    if Product::is_reserved(name) {
        return wrong("is reserved in Rego", &format!("try `{name}_policy`"));
    }
    if Product::new(name).is_err() {
        let form = "use a lowercase letter, then lowercase letters, digits and `_`";
        return match similar(name, product) {
            Some(similar) => wrong("isn't a valid policy name", &format!("{form}: `{similar}`")),
            None => wrong("isn't a valid policy name", form),
        };
    }
    if name == product.as_str() {
        return wrong("is the prefix of the functions", "choose another name for the policy");
    }
    if name.ends_with("_test") {
        return wrong("is a name for tests", "leave out `_test`: the tests get their own file");
    }
    Ok(name)
}

/// Returns a valid name that resembles one that isn't.
fn similar(name: &str, product: &Product) -> Option<String> {
    let plain = name.to_lowercase();
    let parts = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let similar = parts.collect::<Vec<_>>().join("_");
    let valid = Product::new(&similar).is_ok();
    (valid && similar != product.as_str() && !similar.ends_with("_test")).then_some(similar)
}

fn refuse_existing(paths: &[PathBuf]) -> Result<(), Error> {
    let taken: Vec<_> = paths
        .iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("`{}`", escape(&path.display().to_string())))
        .collect();
    if taken.is_empty() {
        return Ok(());
    }
    let verb = if taken.len() == 1 { "exists" } else { "exist" };
    let message = format!("{} already {verb}", taken.join(", "));
    Err(Error::configuration(message)
        .with_hint("choose another name, or another folder with `--dir`"))
}

/// Writes the files. If one can't be written, the others are removed, with the folders for them.
fn write(files: &[(PathBuf, Cow<'_, [u8]>)]) -> Result<(), Error> {
    let mut made = WrittenFiles::default();
    for (path, content) in files {
        if let Err(error) = made.file(path, content) {
            made.remove();
            return Err(failed(path, error));
        }
    }
    Ok(())
}

/// The files and folders created so far.
#[derive(Default)]
struct WrittenFiles {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl WrittenFiles {
    fn folder(&mut self, path: &Path) -> std::io::Result<()> {
        if path.as_os_str().is_empty() || path.is_dir() {
            return Ok(());
        }
        path.parent().map_or(Ok(()), |parent| self.folder(parent))?;
        std::fs::create_dir(path)?;
        self.folders.push(path.to_owned());
        Ok(())
    }

    fn file(&mut self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        path.parent().map_or(Ok(()), |parent| self.folder(parent))?;
        // Created anew: a file that appeared in the meantime is kept.
        let mut file = File::create_new(path)?;
        self.files.push(path.to_owned());
        file.write_all(content)
    }

    fn remove(self) {
        for file in self.files {
            let _ = std::fs::remove_file(file);
        }
        // Only empty folders are removed.
        for folder in self.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    let message = format!("`{}` can't be written", escape(&path.display().to_string()));
    Error::configuration(message).with_source(error)
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
