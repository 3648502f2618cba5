//! `fmt`: Rego in the formatting of `opa fmt`.
//!
//! Owns the options, the files and the exit status. The library's `rego::format` owns the
//! formatting, `embedded` the modules in policy documents, `diff` the form of a difference.

mod diff;
mod embedded;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rego_platform::Error;
use rego_platform::rego::syntax::BaseVersion;
use rego_platform::rego::{self, FormatOptions};
use rego_platform_client::text::{escape, escape_for_log, escape_lines, escape_path};

use super::option_files::bounded;
use super::output::{self, Reporter};
use super::stdin::{self, Stdin};
use super::unfinished::Unfinished;
use super::{Exit, paths};

/// The largest policy, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Format policies as `opa fmt` does
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
#[command(
    after_help = "Formatted policies go to standard output, except with `--write`, `--list`, \
        `--diff` and `--check`.\n\n\
    Exit status: 0 on success; 1 with `--check`, if a file isn't formatted; 2 if a file can't be \
    read or parsed.\n\n\
    Examples:\n  \
    rego-platform fmt --check policies\n  \
    rego-platform fmt --write --v0-v1 old.rego"
)]
pub(super) struct FmtArgs {
    /// Policies and policy documents, files or folders; `-` for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Write the formatted policies into their files
    #[arg(short, long, conflicts_with_all = ["list", "diff", "check"])]
    write: bool,
    /// Print the names of files that would change
    #[arg(short, long, conflicts_with = "diff")]
    list: bool,
    /// Show what would change
    #[arg(short, long)]
    diff: bool,
    /// Exit with status 1 if a file isn't formatted, and list such files
    #[arg(long, visible_alias = "fail")]
    check: bool,
    /// Read Rego v0 and write Rego that is both v0 and v1
    #[arg(long, visible_alias = "rego-v1")]
    v0_v1: bool,
    /// Read and write Rego v0
    #[arg(long, visible_alias = "v0")]
    v0_compatible: bool,
    /// Read Rego v1, the default without `--v0-v1`
    #[arg(long, hide = true)]
    v1_compatible: bool,
    /// Leave out imports that Rego v1 doesn't need, such as `rego.v1`
    #[arg(long)]
    drop_v0_imports: bool,
}

impl FmtArgs {
    fn format(&self) -> FormatOptions {
        let read = match () {
            () if self.v0_compatible => BaseVersion::V0,
            () if self.v1_compatible => BaseVersion::V1,
            () if self.v0_v1 => BaseVersion::V0,
            () => BaseVersion::V1,
        };
        let write = match () {
            () if self.v0_v1 => BaseVersion::V0CompatV1,
            () if self.v0_compatible => BaseVersion::V0,
            () => BaseVersion::V1,
        };
        let mut options = FormatOptions::between(read, write);
        options.drop_imports = self.drop_v0_imports;
        options
    }
}

pub(super) fn run(args: FmtArgs, reporter: Reporter) -> Result<Exit, Error> {
    let mut stdin = Stdin::default();
    let mut formatter = Formatter { reporter, ..Formatter::default() };
    let mut seen = 0_usize;
    for path in &args.paths {
        if path.as_os_str() == "-" {
            if args.write {
                return Err(Error::configuration("`--write` can't be used with standard input")
                    .with_hint("leave out `--write`: the result goes to standard output"));
            }
            let text = stdin::text(stdin.read("`-`")?, "<stdin>")?;
            formatter.text(&args, "<stdin>", &text)?;
            seen += 1;
            continue;
        }
        let is_folder = path.is_dir();
        for path in files(path)? {
            let name = paths::utf8(path.clone())?;
            let text = read(&path, &name);
            // A folder has other YAML as well.
            let is_own = |text: &String| embedded::is_document(&name, text);
            if is_folder && is_document(&path) && !text.as_ref().is_ok_and(is_own) {
                continue;
            }
            seen += 1;
            match text {
                Ok(text) => {
                    if let Some(formatted) = formatter.text(&args, &name, &text)?
                        && args.write
                    {
                        write(&path, &name, &formatted)?;
                    }
                }
                Err(error) => formatter.failed(&error),
            }
        }
    }
    if seen == 0 {
        return Err(Error::configuration("no policies found in these paths")
            .with_hint("name `.rego` files, or folders that hold some"));
    }
    Ok(formatter.exit(&args))
}

/// Formats texts, and keeps count for the exit status.
#[derive(Default)]
struct Formatter {
    reporter: Reporter,
    changed: usize,
    failed: bool,
}

impl Formatter {
    /// Formats a text and prints what the options ask for. Returns the formatted text if it
    /// differs.
    fn text(&mut self, args: &FmtArgs, name: &str, text: &str) -> Result<Option<String>, Error> {
        let formatted = if is_document(Path::new(name)) {
            embedded::format(name, text, args.format())
        } else {
            rego::format(name, text, args.format())
                .map_err(|error| Error::policy(rego_platform::load::diagnostics(&error)))
        };
        let formatted = match formatted {
            Ok(formatted) => formatted,
            Err(error) => {
                self.failed(&error);
                if args.v0_v1 && rego::format(name, text, FormatOptions::default()).is_ok() {
                    let name = escape(name);
                    self.reporter.note(&format!("nothing changed: already Rego v1: `{name}`"));
                }
                return Ok(None);
            }
        };
        let changed = formatted != text;
        self.changed += usize::from(changed);
        if args.diff {
            if changed {
                let shown = diff::unified(name, text, &formatted);
                let shown = if output::is_terminal() { escape_lines(&shown) } else { shown };
                output::to_stdout(shown.as_bytes())?;
            }
        } else if args.list || args.check {
            if changed {
                output::to_stdout(format!("{}\n", escape_for_log(name)).as_bytes())?;
            }
        } else if !args.write {
            output::to_stdout(formatted.as_bytes())?;
        }
        Ok(changed.then_some(formatted))
    }

    fn failed(&mut self, error: &Error) {
        self.failed = true;
        output::error(error);
    }

    fn exit(&self, args: &FmtArgs) -> Exit {
        let files = match self.changed {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        if args.check && self.changed > 0 {
            self.reporter.note(&format!("{files} not formatted: run `rego-platform fmt --write`"));
        } else if self.changed == 0 && !self.failed && (args.write || args.v0_v1) {
            self.reporter.note("nothing changed: already formatted");
        } else if args.write {
            self.reporter.note(&format!("{files} formatted"));
        }
        match () {
            () if self.failed => Exit::NoVerdict,
            () if args.check && self.changed > 0 => Exit::Failed,
            () => Exit::Passed,
        }
    }
}

/// Returns the policies at a path: the file itself, or all below a folder, sorted. Links to folders
/// aren't followed.
fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable =
        |path: &Path, error| rego_platform_client::unreadable::unreadable("", path, error);
    let meta = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if !meta.is_dir() {
        if is_policy(path) || is_document(path) {
            return Ok(vec![path.to_owned()]);
        }
        let shown = escape_path(path);
        return Err(Error::configuration(format!("`{shown}` isn't a policy")).with_hint(
            "name a policy (`.rego`), a policy document (`.yaml`), or `-` for standard input",
        ));
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder, error))?;
            // Removes the prefix `./` of paths in the current folder.
            let path = match entry.path().strip_prefix(".") {
                Ok(rest) => rest.to_owned(),
                Err(_) => entry.path(),
            };
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            if kind.is_dir() {
                folders.push(path);
            } else if (is_policy(&path) || is_document(&path)) && path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_policy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rego")
}

/// Returns `true` for the name of a file that may be a policy document.
fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn read(path: &Path, name: &str) -> Result<String, Error> {
    let failed = |error| rego_platform_client::unreadable::unreadable("", path, error);
    let bytes = bounded(path, MAX_BYTES).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        Error::configuration(format!("{}:{line}: invalid UTF-8", escape(name)))
    })
}

/// Writes a policy atomically. A link stays a link, and the permissions are kept.
pub(super) fn write(path: &Path, name: &str, text: &str) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::configuration(format!("`{}` can't be written", escape(name))).with_source(error)
    };
    let path = path.canonicalize().map_err(failed)?;
    let permissions = std::fs::metadata(&path).map_err(failed)?.permissions();
    if permissions.readonly() {
        return Err(failed(std::io::ErrorKind::PermissionDenied.into()));
    }
    let mut file = Unfinished::beside(&path, 0o600).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().set_permissions(permissions).map_err(failed)?;
    file.replace(&path).map_err(failed)
}
