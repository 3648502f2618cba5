//! `report comment`: a comment on a pull request with the report of a gate, updated in place.
//!
//! Owns the variables of GitHub Actions and GitLab CI, and the form of the comment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;
use rego_platform_gate::reports::{self, ReportFormat};
use rego_platform_remote::{Published, Thread};
use serde_json::Value;
use url::Url;

use super::options::Options;
use super::output::Reporter;
use super::{Exit, option_files, remote, report_files};

/// The largest file with the event of a workflow, in bytes.
const MAX_EVENT: u64 = 64 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum ReportCommand {
    Comment(CommentArgs),
}

/// Comment on the pull request with a report of the gate, or update the comment
#[derive(Debug, Args)]
#[command(after_help = "An unchanged comment is left as it is, without output.\n\n\
    GitHub: `GITHUB_TOKEN` needs the permission `pull-requests: write`. The rest is in the variables of the job.\n\
    GitLab: `GITLAB_TOKEN` is a project access token with the scope `api`. The job's own token can't comment.\n\n\
    Exit status: 0 if the comment is there, whatever the verdict; 2 otherwise.\n\n\
    Example:\n  \
    rego-platform gate -d policies -i image.json -o json=gate.json\n  \
    rego-platform report comment --github gate.json")]
pub(super) struct CommentArgs {
    /// The report that `gate --output json=FILE` wrote
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Comment on a pull request of GitHub
    #[arg(long, required_unless_present = "gitlab", conflicts_with = "gitlab")]
    github: bool,
    /// Comment on a merge request of GitLab
    #[arg(long)]
    gitlab: bool,
    /// Number of the pull request or merge request [default: that of the job]
    #[arg(long, value_name = "N")]
    number: Option<u64>,
    /// Name of the comment, for several on one pull request
    #[arg(long, value_name = "NAME", default_value = "gate", value_parser = name)]
    name: String,
}

/// Parses the name of a comment, which must not end the comment in HTML that it stands in.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ' ');
    if text.is_empty() || text.contains("--") || !text.chars().all(is_plain) {
        return Err("expected letters, digits, spaces and `-_./`, without `--`".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(
    command: &ReportCommand,
    options: &Options,
    reporter: Reporter,
) -> Result<Exit, Error> {
    let ReportCommand::Comment(args) = command;
    let (thread, token) = if args.github { args.github(options.timeout)? } else { args.gitlab()? };
    let run = report_files::read(&args.report, options.timeout)?;
    let mut text = format!("<!-- rego-platform: {} -->\n", args.name).into_bytes();
    let mut format = reports::Options::default();
    format.more = Some(args.report.display().to_string());
    reports::write(&run, ReportFormat::Markdown, &mut text, &format)
        .map_err(|error| Error::internal("can't write the comment").with_source(error))?;
    let text = String::from_utf8_lossy(&text);
    let published = remote::client(options)?.comment(&thread, &token, &text);
    match published.map_err(|error| args.advised(error))? {
        Published::Created => reporter.note("comment created"),
        Published::Updated => reporter.note("comment updated"),
        Published::Unchanged => {}
    }
    Ok(Exit::Passed)
}

impl CommentArgs {
    fn github(&self, timeout: Duration) -> Result<(Thread, String), Error> {
        let number = match self.number {
            Some(number) => number,
            None => of_event(Path::new(&variable("GITHUB_EVENT_PATH")?), timeout)?,
        };
        let graphql = address("GITHUB_GRAPHQL_URL")?;
        let repository = variable("GITHUB_REPOSITORY")?;
        Ok((Thread::PullRequest { graphql, repository, number }, variable("GITHUB_TOKEN")?))
    }

    fn gitlab(&self) -> Result<(Thread, String), Error> {
        let number = match self.number {
            Some(number) => number,
            None => variable("CI_MERGE_REQUEST_IID")?.parse().map_err(|_| {
                Error::configuration("invalid value of `CI_MERGE_REQUEST_IID`: expected a number")
            })?,
        };
        // In a pipeline of a fork, the project is the fork.
        let project =
            variable("CI_MERGE_REQUEST_PROJECT_ID").or_else(|_| variable("CI_PROJECT_ID"))?;
        let api = address("CI_API_V4_URL")?;
        Ok((Thread::MergeRequest { api, project, number }, variable("GITLAB_TOKEN")?))
    }

    /// Adds the next step to an error of the service.
    fn advised(&self, error: Error) -> Error {
        let (token, permission) = if self.github {
            ("GITHUB_TOKEN", "the permission `pull-requests: write`")
        } else {
            ("GITLAB_TOKEN", "the scope `api` and the role Reporter")
        };
        match error.kind() {
            ErrorKind::Unauthenticated => error.with_hint(format!("check the token in `{token}`")),
            ErrorKind::PermissionDenied | ErrorKind::NotFound => {
                error.with_hint(format!("give the token in `{token}` {permission}"))
            }
            _ => error,
        }
    }
}

/// Reads the number of the pull request from the event of a workflow.
fn of_event(path: &Path, timeout: Duration) -> Result<u64, Error> {
    let bytes = option_files::read("the event of the workflow", path, MAX_EVENT, timeout)?;
    let event: Value = serde_json::from_slice(&bytes).map_err(|error| {
        Error::configuration("the event of the workflow isn't JSON").with_source(error)
    })?;
    event.pointer("/pull_request/number").and_then(Value::as_u64).ok_or_else(|| {
        Error::configuration("the workflow doesn't run for a pull request")
            .with_hint("run it on `pull_request`, or give `--number`")
    })
}

fn variable(name: &str) -> Result<String, Error> {
    let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let value = value.ok_or_else(|| {
        let (system, option) = if name.starts_with("GITHUB") {
            ("GitHub Actions", "--github")
        } else {
            ("GitLab CI", "--gitlab")
        };
        let hint = if name.ends_with("_TOKEN") {
            format!("set `{name}` in the environment of the job")
        } else {
            format!("{system} sets it for a pull request; `{option}` needs it")
        };
        Error::configuration(format!("missing environment variable: `{name}`")).with_hint(hint)
    })?;
    Ok(value.trim().to_owned())
}

fn address(name: &str) -> Result<Url, Error> {
    let text = variable(name)?;
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| {
        Error::configuration(format!("invalid value of `{name}`: `{}`", escape(&text)))
            .with_hint("set it to the address of the API")
    })
}
