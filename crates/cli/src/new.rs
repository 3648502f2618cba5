//! `new`: files to start from: a project for a policy, the examples, or a copy of a collection.
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
use rego_platform_client::text::{escape, escape_path};

use super::collections::{self, LIBRARY, PARAMETERS};
use super::options::Options;
use super::{Exit, output, shipped};

/// A project that is written: templates of its files, and how its policy is evaluated.
struct Template {
    /// The extension of the policy's file.
    extension: &'static str,
    policy: &'static str,
    test: &'static str,
    /// The path and content of an input that passes, and of one that fails, with the sample service.
    inputs: [(&'static str, &'static str); 2],
    /// The option that names the inputs' kind.
    kind: &'static str,
    /// `true` if the policy calls the service.
    calls: bool,
}

const IMAGE: Template = Template {
    extension: "rego",
    policy: include_str!("new/image/policy.rego.txt"),
    test: include_str!("new/image/test.rego.txt"),
    inputs: [
        ("inputs/pass/image.json", include_str!("new/image/pass.json.txt")),
        ("inputs/fail/image.json", include_str!("new/image/fail.json.txt")),
    ],
    kind: "",
    calls: true,
};

const RELEASE: Template = Template {
    policy: include_str!("new/release/policy.rego.txt"),
    test: include_str!("new/release/test.rego.txt"),
    inputs: [
        ("inputs/pass/release.json", include_str!("new/release/pass.json.txt")),
        ("inputs/fail/release.json", include_str!("new/release/fail.json.txt")),
    ],
    ..IMAGE
};

const CHAINLOOP: Template = Template {
    extension: "yaml",
    policy: include_str!("new/chainloop/policy.yaml.txt"),
    test: include_str!("new/chainloop/test.rego.txt"),
    inputs: [
        ("inputs/pass/evidence.json", "{\n  \"approved_by\": [\"ana\", \"ben\"]\n}\n"),
        ("inputs/fail/evidence.json", "{\n  \"approved_by\": [\"ana\"]\n}\n"),
    ],
    kind: " --kind EVIDENCE",
    calls: false,
};

const SETTINGS: &str = "# Options of `rego-platform gate` in this folder.\n[gate]\n";
const WORKFLOW: &str = include_str!("new/workflow.yml.txt");

/// The subject of a project's policy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Project {
    /// The SBOM and the attestations of an image
    #[default]
    Image,
    /// The compliance of a project's version
    Release,
    /// A policy document about evidence
    Chainloop,
}

/// Create a project for a policy, example policies, or a copy of a collection
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("contents").args(["name", "examples", "from"]).required(true).multiple(true)),
    after_help = "Writes a policy (NAME.rego, or NAME.yaml for `chainloop`), NAME_test.rego, an input that passes \
    and one that fails, rego-platform.toml with the gate's options, and a workflow for GitHub Actions; with \
    `--examples` the folders `policies`, `release_gate`, `inputs` and `service`; or with `--from` a folder with \
    the rules of a collection, their tests and their library. Never overwrites files.\n\n\
    Examples:\n  \
    rego-platform new --examples\n  \
    rego-platform new --from sbom\n  \
    rego-platform new image_policy\n  \
    rego-platform new shipping --for release --dir policies/shipping\n  \
    rego-platform new approvals --for chainloop"
)]
pub(super) struct NewArgs {
    /// The policy's name, which becomes its package
    name: Option<String>,
    /// Write example policies, inputs for them and the data of a sample service instead
    #[arg(long)]
    examples: bool,
    /// Copy a collection of rules (see `policies`) for editing, into a folder of its name
    #[arg(long, value_name = "COLLECTION", conflicts_with_all = ["name", "examples"])]
    from: Option<String>,
    /// Subject of the policy
    #[arg(long = "for", value_name = "SUBJECT", value_enum, default_value_t)]
    #[arg(conflicts_with_all = ["examples", "from"])]
    project: Project,
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
        let message = format!("`{}` isn't a folder", escape_path(&args.dir));
        return Err(Error::configuration(message));
    }
    let text = match (&args.name, &args.from) {
        (Some(name), _) => project(checked(name, &product)?, args, product)?,
        (None, Some(collection)) => copy(collection, &args.dir, &product)?,
        (None, None) => examples(&args.dir, &product)?,
    };
    output::to_stdout(text.as_bytes())?;
    Ok(Exit::Passed)
}

/// Writes a project. Returns what to print.
fn project(name: &str, args: &NewArgs, product: Product) -> Result<String, Error> {
    let (template, product) = match args.project {
        Project::Image => (IMAGE, product),
        Project::Release => (RELEASE, product),
        Project::Chainloop => (CHAINLOOP, Product::new("chainloop")?),
    };
    let option = option(&product);
    let policy = format!("{name}.{}", template.extension);
    let fill = |text: &str| {
        // The names of documents have hyphens, those of packages have none.
        let document =
            if template.extension == "yaml" { name.replace('_', "-") } else { name.to_owned() };
        let text =
            text.replace("PACKAGE", name).replace("POLICY", &policy).replace("OPTION", &option);
        let text = text.replace("PREFIX_", &product.env("")).replace("KIND", template.kind);
        text.replace("NAME", &document).replace("PRODUCT", product.as_str())
    };
    let settings =
        format!("{SETTINGS}data = [\"{policy}\"]\ninput = [\"{}\"]\n", template.inputs[0].0);
    let [pass, fail] = template.inputs.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let files = [
        (policy.clone(), fill(template.policy)),
        (format!("{name}_test.rego"), fill(template.test)),
        pass,
        fail,
        ("rego-platform.toml".to_owned(), settings),
        (format!(".github/workflows/{name}.yml"), fill(WORKFLOW)),
    ];
    let files = files.map(|(file, text)| (args.dir.join(file), text.into_bytes().into()));
    let paths = files.clone().map(|(path, _)| path);
    refuse_existing(&paths)?;
    write(&files)?;
    let paths = paths.map(|path| shown(&path));
    let [policy, test, pass, fail, ..] = &paths;
    let (sample, service) = if template.calls {
        let sample = "--examples --dir examples  # with a sample service\n  ";
        (format!("rego-platform new{option} {sample}"), " --local examples/service")
    } else {
        (String::new(), "")
    };
    let kind = template.kind;
    Ok(format!(
        "wrote {}\n\nnext:\n  \
        rego-platform test{option} {policy} {test}\n  \
        rego-platform check{option} {policy} {test}\n  \
        {sample}rego-platform gate{option}{service}{kind} -d {policy} -i {pass}\n  \
        rego-platform gate{option}{service}{kind} -d {policy} -i {fail}  # fails\n",
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

/// Writes a copy of a collection. Returns what to print.
fn copy(collection: &str, dir: &Path, product: &Product) -> Result<String, Error> {
    let collection = collections::named(collection)?;
    let folder = dir.join(collection);
    let own = || collections::files(collection);
    let library = collections::library(own().map(|(_, text)| text), true);
    let library =
        library.into_iter().map(|(name, text)| (folder.join(LIBRARY).join(name), name, text));
    let own = own().map(|(name, text)| (folder.join(name), name, text));
    let (name, text) = PARAMETERS;
    let all = own.chain(library).chain([(folder.join(name), name, text)]);
    let files: Vec<_> =
        all.map(|(path, name, text)| (path, shipped::of_product(name, text, product))).collect();
    refuse_existing(std::slice::from_ref(&folder))?;
    write(&files)?;
    let (count, folder, product) = (files.len(), shown(&folder), option(product));
    Ok(format!(
        "wrote {folder} ({count} files): the rules, their tests and their library\n\nnext:\n  \
        rego-platform test{product} {folder}\n  \
        rego-platform gate{product} -d {folder} -i FILE\n"
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
        .map(|path| format!("`{}`", escape_path(path)))
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
    let message = format!("`{}` can't be written", escape_path(path));
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
